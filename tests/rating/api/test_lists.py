"""Lists in pages: nothing twice, nothing left out, and as dear for many rows as for few."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rating.api import paging
from rating.models import Role
from rating.tokens import Elsewhere
from runs.models import Response, Wave
from tests.factories import bank_data, make_bank, make_user, make_wave, rated
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db


def sets(number):
    person = make_user(Role.MAINTAINER)
    return [
        Elsewhere.objects.create(
            name=f"Set {place}",
            source="Somewhere.",
            scale="1-5",
            rows=[["a", "1", 2.0, "", ""], ["b", "1", 3.0, "", ""]],
            row_count=2,
            raters=2,
            units=1,
            sha256="0" * 64,
            brought_by=person,
        )
        for place in range(number)
    ]


def test_a_walk_finds_everything_once_whatever_is_added_meanwhile(program):
    bank = make_bank()
    first = [make_wave(bank).code for _ in range(5)]
    found, after = [], ""
    while after is not None:
        page = program.get(f"/waves?limit=2&after={after}").json()
        found += [one["code"] for one in page["items"]]
        after = page["next"]
        # Before, after and among what was read.
        for code in (f"a{uuid.uuid4().hex[:8]}", f"{found[-1]}-b", f"z{uuid.uuid4().hex[:8]}")[
            : 3 if len(found) < 8 else 0
        ]:
            Wave.objects.create(
                code=code, title=code, bank=bank, seed="1", trials=1, preregistration_hash="0" * 64
            )

    assert len(found) == len(set(found))
    assert set(first) <= set(found)


def test_the_ratings_of_a_wave_are_walked_in_an_order_that_says_nothing(program):
    wave = make_wave(make_bank(bank_data(5)), subjects=("kind-1-2026", "kind-2-2026"))
    rater, late = make_user(Role.RATER), make_user(Role.RATER)
    for _ in range(4):
        rated(rater)
    path = f"/waves/{wave.code}/ratings"
    page = program.get(f"{path}?limit=2").json()
    before = set(Response.objects.filter(ratings__isnull=False).values_list("code", flat=True))
    for _ in range(3):
        rated(late)
    rest = program.get(f"{path}?limit=100&after={page['next']}").json()["items"]

    codes = [row["response"] for row in page["items"] + rest]
    assert codes == sorted(set(codes))
    assert {str(code) for code in before} <= set(codes)


def test_a_cursor_is_of_its_own_list(program):
    sets(3)
    make_wave(), make_wave()
    waves = program.get("/waves?limit=1").json()["next"]

    other = program.get(f"/elsewhere?after={waves}")
    changed = program.get(f"/waves?after={waves[:-1]}{'a' if waves[-1] != 'a' else 'b'}")

    assert {other.json()["type"], changed.json()["type"]} == {"/api/#cursor"}


def grown(few, many):
    """The statements of each of these, as numbers."""
    counts = []
    for one in (few, many):
        with CaptureQueriesContext(connection) as captured:
            answer = one()
        assert answer.status_code in (200, 201), answer.content
        counts.append(len(captured))
    return counts


def test_a_list_takes_as_many_statements_for_many_rows_as_for_few(program):
    """Each list is asked for one row, and then for all of them."""
    sets(6)
    wave = make_wave(make_bank(bank_data(6)), subjects=("kind-1-2026", "kind-2-2026"))
    rater = make_user(Role.RATER)
    for _ in range(4):
        rated(rater)
    run = RunFactory(subject=SubjectFactory(provider="import"), wave__bank__items=6, rows=True)
    for path, most in (
        ("/waves", 5),
        (f"/waves/{run.wave.code}/pending?subject={run.subject.code}", 6),
        (f"/waves/{wave.code}/ratings", 12),
        ("/reports", 3),
        ("/banks", 4),
        (f"/banks/{wave.bank_id}/items", 6),
        ("/elsewhere", 4),
    ):
        mark = "&" if "?" in path else "?"
        program.get(path)
        few, many = grown(
            lambda at=f"{path}{mark}limit=1": program.get(at),
            lambda at=f"{path}{mark}limit=100": program.get(at),
        )
        assert few == many <= most, path


def test_one_thing_takes_as_many_statements_however_large_it_is(program):
    small, large = (
        make_wave(make_bank(bank_data(number)), subjects=subjects)
        for number, subjects in ((2, ("kind-1-2026",)), (9, ("kind-1-2026", "kind-2-2026")))
    )
    program.get("/waves")
    for path in ("", "/progress", "/agreement", "/gate"):
        few, many = grown(
            lambda at=path: program.get(f"/waves/{small.code}{at}"),
            lambda at=path: program.get(f"/waves/{large.code}{at}"),
        )
        assert few == many <= 60, path


def test_a_batch_is_stored_in_few_statements(program):
    run = RunFactory(
        subject=SubjectFactory(provider="import"),
        wave__bank__items=5,
        wave__trials=8,
        rows=True,
    )
    program.get("/waves")

    def send(trials):
        rows = [
            {"item": f"AWR-{item}", "trial": trial, "text": "I hear you."}
            for item in range(5)
            for trial in trials
        ]
        body = {"subject": run.subject.code, "responses": rows}
        return program.post(f"/waves/{run.wave.code}/responses", body, key=f"{trials.start}")

    few, many = grown(lambda: send(range(1, 2)), lambda: send(range(2, 8)))
    assert many <= few + 2  # SQLite stores many rows in several statements


def test_no_list_reads_texts_it_does_not_show(program):
    sets(2)
    wave = make_wave()
    rated(make_user(Role.RATER))
    run = RunFactory(subject=SubjectFactory(provider="import"), wave__bank__items=2, rows=True)
    for path in (
        "/waves",
        f"/waves/{wave.code}",
        f"/waves/{wave.code}/progress",
        f"/waves/{run.wave.code}/pending?subject={run.subject.code}",
        f"/waves/{wave.code}/ratings",
        "/banks",
        "/reports",
        "/elsewhere",
    ):
        with CaptureQueriesContext(connection) as captured:
            assert program.get(path).status_code == 200
        for query in captured:
            # Of a reply, what was quoted is cut out by the database.
            chosen = query["sql"].split(" FROM ")[0].replace('SUBSTR("runs_response"."text"', "")
            chosen = chosen.replace('SUBSTRING("runs_response"."text"', "")
            for column in (
                '"runs_response"."text"',
                '"runs_item"."prompt"',
                '"runs_wave"."preregistration",',
                '"rating_elsewhere"."rows"',
                '"rating_publication"."bundle"',
                '"rating_publication"."text",',
            ):
                assert column not in chosen, (path, query["sql"])


def test_each_page_is_read_along_an_index(program, monkeypatch):
    sets(3)
    wave = make_wave(make_bank(bank_data(6)))
    run = RunFactory(subject=SubjectFactory(provider="import"), wave__bank__items=6, rows=True)
    for path in (
        "/waves?limit=1",
        f"/waves/{run.wave.code}/pending?subject={run.subject.code}&limit=1",
        f"/banks/{wave.bank_id}/items?limit=1",
        "/elsewhere?limit=1",
        "/reports?limit=1",
    ):
        after = program.get(path).json()["next"]
        with CaptureQueriesContext(connection) as captured:
            program.get(f"{path}&after={after}" if after else path)
        [paged] = [one["sql"] for one in captured if one["sql"].endswith("LIMIT 2")]
        plan = plan_of(paged)
        assert "INDEX" in plan.upper() or "PRIMARY KEY" in plan.upper(), (path, plan)
        assert "TEMP B-TREE" not in plan, (path, plan)
        assert "Sort" not in plan, (path, plan)


def plan_of(sql):
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # A handful of rows is read whole and sorted, whatever there is to walk along.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
            cursor.execute("EXPLAIN " + sql)
        else:
            cursor.execute("EXPLAIN QUERY PLAN " + sql)
        return "\n".join(" ".join(map(str, row)) for row in cursor.fetchall())


def test_more_than_a_hundred_at_once_are_not_given(program):
    assert program.get(f"/waves?limit={paging.MOST}").status_code == 200
    assert program.get(f"/waves?limit={paging.MOST + 1}").status_code == 422


def test_the_shapes_of_all_answers_stand_in_the_description(program):
    told = program.client.get("/api/v1/openapi.json").json()

    assert told["openapi"] == "3.1.0"
    for methods in told["paths"].values():
        for call in methods.values():
            good = [one for status, one in call["responses"].items() if status in ("200", "201")]
            assert all("schema" in one["content"]["application/json"] for one in good)
            assert {"429", "500"} <= set(call["responses"])
