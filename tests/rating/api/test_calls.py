"""What calls answer, and how everything that is wrong is told."""

import hashlib
import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from rating import unblinding
from rating.agreement_page import declared_floor
from rating.exports import Exports
from rating.models import Assignment, Rating, Role
from rating.publishing import acts
from rating.publishing.files import as_json
from rating.publishing.schema import check
from rating.queue import NoWork, lease
from rating.tokens import ApiCall, Elsewhere, forget_calls
from runs.models import Response, RunState, Status, Wave
from tests.factories import bank_data, make_bank, make_user, make_wave, rated
from tests.rating.api.conftest import ROOT, program_of
from tests.rating.api.test_doors import ONE_SET
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    return RunFactory(
        subject=SubjectFactory(provider="import"),
        state=RunState.PLANNED,
        wave__bank__items=2,
        wave__trials=2,
        rows=True,
    )


@pytest.fixture
def wave():
    """A wave of three replies by two models each, all rated by two people."""
    wave = make_wave(subjects=("kind-1-2026-01-01", "kind-2-2026-01-01"))
    one, two = make_user(Role.RATER), make_user(Role.RATER)
    for level in (2, 4, 3):
        rated(one, level)
        rated(two, level)
    return wave


def opened(wave, person):
    unblinding.freeze(wave, person, "Done.", now=timezone.now())
    wave.refresh_from_db()
    unblinding.unblind_alone(wave, person, "To report it.", now=timezone.now())
    wave.refresh_from_db()
    return wave


LONG = "I hear you, and this is a reply of more than a few words."


def locked(run):
    Wave.objects.filter(pk=run.wave_id).update(locked_at=timezone.now())
    run.wave.refresh_from_db()
    return run.wave


def reply(item="AWR-0", trial=1, text="Hello", **more):
    return {"item": item, "trial": trial, "text": text, **more}


def replies(run, *rows):
    return {"subject": run.subject.code, "responses": list(rows)}


def test_progress_is_what_the_page_says(program, run):
    run.responses.filter(item__code="AWR-0", trial=1).update(status=Status.FAILED)

    told = program.get(f"/waves/{run.wave.code}/progress").json()

    assert (told["total"], told["ended"]) == (4, 1)
    assert told["counts"]["failed"] == 1
    [one] = told["runs"]
    assert (one["subject"], one["provider"], one["state"]) == (
        run.subject.code,
        "import",
        "planned",
    )
    assert one["counts"]["pending"] == 3


def test_how_many_are_rated_is_told_pooled(program, wave):
    told = program.get(f"/waves/{wave.code}/progress").json()

    rated = told["rated"]
    assert rated["responses"] == 6
    assert rated["once"] + 2 * rated["twice"] == Rating.objects.count() == 6
    assert not any("rated" in run for run in told["runs"])


def test_a_wave_names_its_stages(program, wave):
    stages = program.get(f"/waves/{wave.code}").json()["stages"]

    assert [stage["name"] for stage in stages if stage["current"]] == ["Rating"]


def test_agreement_is_that_of_the_file_of_the_report(program, wave):
    told = program.get(f"/waves/{wave.code}/agreement").json()

    file = json.loads(Exports(wave).file("report.json"))
    assert told["overall"] == file["overall"]
    assert told["dimensions"] == file["dimensions"]
    assert (told["counted"], told["unblinded"]) == (True, False)
    assert told["floor"] == declared_floor(wave)


def test_before_unblinding_no_answer_joins_a_rating_to_a_model(program, wave):
    models = list(wave.runs.values_list("subject__code", flat=True))
    codes = [str(code) for code in Response.objects.of_wave(wave).values_list("code", flat=True)]
    for path in ("", "/progress", "/agreement", "/gate", "/ratings", "/results"):
        body = program.get(f"/waves/{wave.code}{path}").content.decode()
        joined = any(model in body for model in models) and any(code in body for code in codes)
        assert not joined, path
    for row in program.get(f"/waves/{wave.code}/ratings").json()["items"]:
        assert (row["subject"], row["condition"], row["trial"]) == (None, None, None)
    gate = program.get(f"/waves/{wave.code}/gate").json()
    assert gate["before_results"] == ["Its ratings must be frozen.", "It must be unblinded."]
    results = program.get(f"/waves/{wave.code}/results")
    assert results.status_code == 409
    assert results.json()["missing"] == gate["before_results"]


def test_an_item_that_one_model_alone_has_answered_tells_no_level(program, run, settings):
    """Who knows which model has answered what would know whose it is."""
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99
    other = RunFactory(wave=run.wave, subject=SubjectFactory(provider="import"), rows=True)
    path = f"/waves/{locked(run).code}"
    sent = [(run, "AWR-0"), (other, "AWR-0"), (other, "AWR-1")]
    for number, (one, item) in enumerate(sent):
        body = replies(one, reply(item, text=LONG))
        assert program.post(f"{path}/responses", body, key=f"{number}").status_code == 201
    for rater in (make_user(Role.RATER), make_user(Role.RATER)):
        for _ in sent:
            rated(rater, 2)

    told = [row["item"] for row in program.get(f"{path}/ratings").json()["items"]]
    files = b"".join(part for _, parts in Exports(run.wave).files() for part in parts).decode(
        errors="replace"
    )

    assert told == ["AWR-0", "AWR-0"]
    assert "AWR-0" in files
    assert "AWR-1" not in files
    program.post(f"{path}/responses", replies(run, reply("AWR-1", text=LONG)), key="last")
    told = [row["item"] for row in program.get(f"{path}/ratings").json()["items"]]
    assert sorted(told) == ["AWR-0", "AWR-0", "AWR-1"]


def test_what_workers_ask_for_is_not_told_trial_by_trial(program, wave):
    subject = wave.runs.first().subject

    found = program.get(f"/waves/{wave.code}/pending?subject={subject.code}")

    assert (found.status_code, found.json()["type"].rpartition("#")[2]) == (409, "refused")


def test_whoever_sent_replies_rates_none_of_their_wave(run):
    locked(run)
    program = program_of(make_user(Role.MAINTAINER, Role.RATER))
    assert program.post(f"/waves/{run.wave.code}/responses", replies(run, reply(text=LONG)))

    assert isinstance(lease(program.person, now=timezone.now()), NoWork)
    assert isinstance(lease(make_user(Role.RATER), now=timezone.now()), Assignment)


def test_no_reply_comes_into_a_wave_whose_ratings_are_frozen(program, run):
    """Else whoever has seen the results could make up for what was lost."""
    locked(run)
    path = f"/waves/{run.wave.code}/responses"
    assert program.post(path, replies(run, reply()), key="early").status_code == 201
    opened(run.wave, program.person)
    before = program.get(f"/waves/{run.wave.code}/results").content

    late = program.post(path, replies(run, reply(trial=2)), key="late")

    assert late.status_code == 409
    assert "are frozen: a reply that comes now would not be rated" in late.json()["detail"]
    assert program.get(f"/waves/{run.wave.code}/results").content == before


def test_after_unblinding_ratings_and_results_are_those_of_the_pages(program, wave):
    opened(wave, program.person)

    rows = program.walk(f"/waves/{wave.code}/ratings", limit=2)
    results = program.get(f"/waves/{wave.code}/results")

    of = dict(Response.objects.of_wave(wave).values_list("code", "run__subject__code"))
    assert all(of_row == row["subject"] for row in rows for code, of_row in of.items()
               if str(code) == row["response"])  # fmt: skip
    assert sum(len(row["ratings"]) for row in rows) == 6
    assert results.json() == json.loads(as_json(acts.report_of(wave)))
    check(results.json())
    saw = program.person.exposures.filter(wave=wave).values_list("saw", flat=True)
    assert {"ratings", "subjects"} <= set(saw)


def test_published_reports_are_read_without_a_token_byte_for_byte(client, wave):
    maintainer = make_user(Role.MAINTAINER)
    assert client.get(f"{ROOT}/reports/{wave.code}").status_code == 404
    made = acts.publish(opened(wave, maintainer), maintainer, "It is done.", now=timezone.now())
    wave.refresh_from_db()
    acts.correct(wave, maintainer, "A name was misspelt; it is right now.", now=timezone.now())

    [line] = client.get(f"{ROOT}/reports").json()["items"]
    answer = client.get(f"{ROOT}/reports/{wave.code}")

    assert line["sha256"] == hashlib.sha256(answer.content).hexdigest()
    assert answer.content.decode() == made.text
    assert (line["corrections"][0]["text"], answer["Corrections"]) == (
        "A name was misspelt; it is right now.",
        "1",
    )
    again = client.get(f"{ROOT}/reports/{wave.code}", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_an_unpublished_item_keeps_its_text(program):
    data = bank_data(2)
    data["items"][0]["pool"] = "unpublished"
    bank = make_bank(data)

    items = program.get(f"/banks/{bank.pk}/items").json()["items"]

    hidden, shown = sorted(items, key=lambda item: not item["unpublished"])
    assert (hidden["prompt"], hidden["turns"], hidden["anchors"]) == (None, None, None)
    assert shown["prompt"]
    assert [anchor["level"] for anchor in shown["anchors"]] == [1, 2, 3, 4, 5]
    assert shown["measures"]


# Replies


def test_replies_are_stored_as_those_of_a_file_are(program, run):
    at = f"/waves/{run.wave.code}"
    text = " Verbatim\r\n❤ "

    first = program.post(
        f"{at}/responses", replies(run, reply(text=text, finish_reason="stop")), key="a"
    )
    waiting = program.walk(f"{at}/pending?subject={run.subject.code}", limit=2)
    rest = program.post(
        f"{at}/responses", replies(run, *(reply(**one) for one in waiting)), key="b"
    )

    assert (first.status_code, first.json()["stored"], first.json()["pending"]) == (201, 1, 3)
    assert (rest.json()["stored"], rest.json()["pending"]) == (3, 0)
    run.refresh_from_db()
    stored = run.responses.get(item__code="AWR-0", trial=1)
    assert (stored.text, stored.finish_reason, run.state) == (text, "stop", RunState.DONE)


@pytest.mark.parametrize(
    ("bad", "pointer", "said"),
    [
        (reply("AWR-9"), "#/responses/1", "no item that this wave serves"),
        (reply(trial=3), "#/responses/1", "trial 3 is not one of 1 to 2"),
        (reply(), "#/responses/1", "AWR-0 trial 1 stands in the request twice"),
        (reply("AWR-1", text="a\x00"), "#/responses/1", "holds '\\x00'"),
        (reply(trial="1"), "#/responses/1/trial", "valid integer"),
        (reply(trial=True), "#/responses/1/trial", "valid integer"),
        (reply(text=7), "#/responses/1/text", "valid string"),
        (reply("AWR-1", text="\ud800"), "#/responses/1", "holds '\\ud800'"),
        (reply(reply="x"), "#/responses/1/reply", "not permitted"),
        ([], "#/responses/1", "valid dictionary"),
    ],
)
def test_a_fault_names_its_row_and_nothing_is_stored(program, run, bad, pointer, said):
    answer = program.post(f"/waves/{run.wave.code}/responses", replies(run, reply(), bad))

    assert answer.status_code == 422
    [fault] = answer.json()["errors"]
    assert fault["pointer"] == pointer
    assert said in fault["detail"]
    assert run.responses.pending().count() == 4


def test_a_stored_reply_is_not_replaced_and_faults_are_told_up_to_a_hundred(program, run):
    at = f"/waves/{run.wave.code}/responses"
    program.post(at, replies(run, reply()), key="a")

    again = program.post(at, replies(run, reply(text="Other")), key="b")
    many = program.post(at, replies(run, *[reply("X")] * 150), key="c")

    assert again.json()["errors"][0]["detail"] == "AWR-0 trial 1 is stored already."
    assert run.responses.get(item__code="AWR-0", trial=1).text == "Hello"
    assert len(many.json()["errors"]) == 100


def test_a_run_that_takes_no_replies_says_so(program, wave, run, settings):
    asked = replies(wave.runs.first(), reply())
    settings.API_ROWS = 1

    closed = program.post(f"/waves/{wave.code}/responses", asked)
    absent = program.post(f"/waves/{wave.code}/responses", asked | {"condition": "warm"})
    many = program.post(f"/waves/{run.wave.code}/responses", replies(run, reply(), reply(trial=2)))

    assert (closed.status_code, "is asked by demo" in closed.json()["detail"]) == (409, True)
    assert absent.status_code == 404
    assert (many.status_code, many.json()["most"]) == (413, 1)


# Ratings from elsewhere


def test_a_set_has_so_many_dimensions_and_no_more(program):
    rows = [
        {"rater": rater, "unit": "1", "level": 3, "dimension": f"d{number}"}
        for number in range(51)
        for rater in ("a", "b")
    ]

    found = program.post("/elsewhere", ONE_SET | {"ratings": rows})

    assert (found.status_code, found.json()["most"]) == (413, 50)


@pytest.mark.parametrize("level", [0.00000001, 1234567.5, 100.0])
def test_a_level_is_read_as_it_was_sent(program, level):
    rows = [{"rater": rater, "unit": "1", "level": level} for rater in ("a", "b")]
    scale = f"0, {level:.8f}"

    found = program.post("/elsewhere", ONE_SET | {"ratings": rows, "scale": scale})

    assert found.status_code == 201
    assert [row[2] for row in Elsewhere.objects.get().rows] == [level, level]


def test_ratings_from_elsewhere_are_told_apart_and_never_count(program):
    made = program.post("/elsewhere", ONE_SET).json()

    told = program.get(f"/elsewhere/{made['code']}").json()

    assert (made["ratings"], made["raters"], made["units"]) == (6, 2, 3)
    assert (told["counted"], told["overall"]["n_pairable_units"]["value"]) == (False, 3)
    assert told["overall"]["percent_within_one"]["value"] == 1
    assert "count in no wave" in told["caution"]
    assert not Rating.objects.exists()


def test_words_dimensions_and_levels_that_were_not_given_are_read(program):
    rows = [
        {"rater": rater, "unit": "1", "level": level, "dimension": "Warmth"}
        for rater, level in (("a", "low"), ("b", "high"), ("c", None))
    ]

    made = program.post("/elsewhere", {**ONE_SET, "scale": "low,mid,high", "ratings": rows})
    told = program.get(f"/elsewhere/{made.json()['code']}").json()

    assert (made.json()["ratings"], made.json()["raters"]) == (2, 2)
    assert told["scale"] == ["low", "mid", "high"]
    assert told["dimensions"]["Warmth"]["unused_levels"] == ["mid"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"level": 9}, "#/ratings/1/level"),
        ({"level": "x"}, "#/ratings/1/level"),
        ({"rater": " b"}, "#/ratings/1/rater"),
        ({"rater": "a"}, "#/ratings/1"),
        ({"dimension": "D"}, "#/ratings/0/dimension"),
        ({"unit": "a\x00"}, "#/ratings/1/unit"),
    ],
)
def test_each_fault_in_ratings_from_elsewhere_names_its_place(program, change, pointer):
    rows = [{"rater": "a", "unit": "1", "level": 2}, {"rater": "b", "unit": "1", "level": 3}]
    rows[1] |= change

    answer = program.post("/elsewhere", {**ONE_SET, "ratings": rows})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Elsewhere.objects.exists()


def test_whoever_brought_a_set_may_let_go_of_it(program, programs):
    code = program.post("/elsewhere", ONE_SET).json()["code"]

    assert programs().delete(f"/elsewhere/{code}").status_code == 404
    assert program.delete(f"/elsewhere/{code}").status_code == 204
    assert program.get(f"/elsewhere/{code}").status_code == 404


# What is sent twice


def test_a_request_that_is_sent_twice_is_carried_out_once(program):
    first, second = program.post("/elsewhere", ONE_SET), program.post("/elsewhere", ONE_SET)

    assert first.content == second.content
    assert (first.get("Idempotent-Replayed"), second["Idempotent-Replayed"]) == (None, "true")
    assert Elsewhere.objects.count() == 1


def test_a_key_stands_for_one_body_and_one_token_alone(program, programs):
    program.post("/elsewhere", ONE_SET)

    other = program.post("/elsewhere", {**ONE_SET, "name": "Another"})
    somebody = programs().post("/elsewhere", {**ONE_SET, "name": "Another"})

    assert (other.status_code, other.json()["type"]) == (422, "/api/#key-reused")
    assert somebody.status_code == 201


def test_a_refused_request_takes_no_key(program):
    assert program.post("/elsewhere", {**ONE_SET, "scale": "none"}).status_code == 422
    assert program.post("/elsewhere", ONE_SET).status_code == 201


def test_a_key_is_forgotten_after_two_days(program):
    program.post("/elsewhere", ONE_SET)
    ApiCall.objects.update(made_at=timezone.now() - timedelta(hours=49))

    program.post("/elsewhere", ONE_SET)

    assert Elsewhere.objects.count() == 2
    assert forget_calls(timezone.now() + timedelta(hours=49)) == 1


# Everything that is wrong


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON"),
        (b"\xff", "Byte 1 is not UTF-8"),
        (b'{"name": "a", "name": "b"}', "the key 'name' stands twice"),
        (b'{"name": NaN}', "NaN is no JSON number"),
        (b"[" * 30 + b"]" * 30, "deeper than 20"),
        (b"[" * 200_000, "deeper than 20"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "stands twice"),
        (b"1" * 5000, "not JSON"),
    ],
)
def test_json_that_cannot_be_meant_is_refused(program, body, said):
    answer = program.post("/elsewhere", body)

    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert said in answer.json()["detail"]


def test_a_body_of_another_type_or_size_or_length_is_refused(program, settings):
    settings.API_BODY_BYTES = 100
    text = json.dumps(ONE_SET)

    large = program.post("/elsewhere", text)
    form = program.post("/elsewhere", "a=1", content_type="application/x-www-form-urlencoded")
    none = program.client.post(
        f"{ROOT}/elsewhere",
        text[:10],
        content_type="application/json",
        headers={"Authorization": f"Bearer {program.secret}", "Transfer-Encoding": "chunked"},
    )

    assert [large.status_code, form.status_code, none.status_code] == [413, 415, 411]
    assert large.json()["most"] == 100


def test_more_than_a_form_may_hold_is_read(program, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert program.post("/elsewhere", ONE_SET).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing/here", 404),
        ("GET", "/", 404),
        ("GET", "/waves/no-such-wave", 404),
        ("GET", "/waves/a%20b", 404),
        ("GET", "/waves/a%0Ab", 404),
        ("GET", "/banks/99999999999999999999999999", 404),
        ("PUT", "/waves", 405),
        ("HEAD", "/waves", 405),
        ("POST", "/openapi.json", 405),
        ("GET", "/waves?limit=0", 422),
        ("GET", "/waves?limit=x", 422),
        ("GET", "/waves?unknown=1", 422),
        ("GET", "/waves?limit=5&limit=6", 422),
        ("GET", "/waves?after=%00", 422),
        ("GET", "/waves?after=made-up", 422),
    ],
)
def test_every_fault_is_a_problem_with_the_id_of_its_request(program, method, path, status):
    answer = program.client.generic(
        method, ROOT + path, headers={"Authorization": f"Bearer {program.secret}"}
    )

    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"
    if method != "HEAD":
        told = answer.json()
        assert (told["status"], told["request_id"]) == (status, answer["X-Request-ID"])
        assert told["type"].startswith("/api/#")


def test_what_nobody_expected_is_a_problem_without_its_words(program, monkeypatch, caplog):
    def break_down(*_):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("rating.api.waves.progress_of", break_down)
    code = make_wave().code

    answer = program.get(f"/waves/{code}/progress")

    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert "secret" not in answer.content.decode()
    assert "a secret of the inside" in caplog.text


def test_a_wrong_host_is_a_problem_too(settings):
    settings.ALLOWED_HOSTS = ["rate.example.org"]
    answer = Client().get(f"{ROOT}/waves", headers={"Host": "elsewhere.example.org"})

    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


# Limits


def test_a_token_has_so_many_requests_in_a_minute(program, programs, settings, monkeypatch):
    monkeypatch.setattr("rating.api.limits.time.time", lambda: 1_000_020.0)
    settings.API_REQUESTS_A_MINUTE = 2

    found = [program.get("/waves") for _ in range(3)]

    assert [one.status_code for one in found] == [200, 200, 429]
    assert [one["RateLimit"] for one in found] == [
        '"token";r=1;t=60',
        '"token";r=0;t=60',
        '"token";r=0;t=60',
    ]
    assert found[0]["RateLimit-Policy"] == '"token";q=2;w=60'
    assert found[2]["Retry-After"] == "60"
    assert programs().get("/waves").status_code == 200, "somebody else still may"
    monkeypatch.setattr("rating.api.limits.time.time", lambda: 1_000_080.0)
    assert program.get("/waves").status_code == 200


def test_guessing_from_one_address_comes_to_an_end_and_harms_no_right_token(program, settings):
    settings.API_REQUESTS_A_MINUTE_BY_ADDRESS = 3
    wrong = {"Authorization": "Bearer cmpn_wrong"}

    tries = [program.client.get(f"{ROOT}/waves", headers=wrong).status_code for _ in range(5)]

    assert tries == [401, 401, 401, 429, 429]
    assert program.get("/waves").status_code == 200


# What has not changed


def test_what_has_not_changed_is_not_sent_again(program, run):
    path = f"/waves/{run.wave.code}/progress"
    first = program.get(path)

    same = program.get(path, **{"If-None-Match": first["ETag"]})
    run.responses.filter(trial=1).update(status=Status.FAILED)
    other = program.get(path, **{"If-None-Match": first["ETag"]})

    assert (same.status_code, same.content) == (304, b"")
    assert (other.status_code, other["ETag"] == first["ETag"]) == (200, False)
    assert first["Cache-Control"] == "private, no-cache"
    assert program_of().get(path)["ETag"]
