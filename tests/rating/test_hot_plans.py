"""The statements asked most often find their rows by an index, in the database's own words.

A small table is read whole, whatever indexes there are: PostgreSQL is told not to, so that where
it still does there is no index to use.
"""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from rating.models import Assignment, Role
from tests.rating.test_scale import SMALL, build
from tests.walk import World

BIG = (
    "runs_response",
    "rating_slot",
    "rating_rating",
    "rating_assignment",
    "rating_quote",
    "rating_event",
)
HTMX = {"HX-Request": "true"}


def start(client: Client, world: World) -> None:
    client.post(reverse("rating:start"), headers=HTMX)


def submit(client: Client, world: World) -> None:
    code = Assignment.objects.live().get(rater=world.of(Role.RATER), parked=False).code
    text = Assignment.objects.get(code=code).response.text
    answer = client.post(
        reverse("rating:rate", args=[code]),
        {"do": "submit", "level": 3, "words": text[:60].rsplit(" ", 1)[0]},
        headers=HTMX,
    )
    assert answer.status_code == 200


def home(client: Client, world: World) -> None:
    client.get(reverse("home"))


STEPS = {
    "home": (Role.RATER, (home,)),
    "the next card": (Role.RATER, (start,)),
    "submit and next": (Role.RATER, (start, submit)),
    "settle": (
        Role.ADJUDICATOR,
        (lambda client, world: client.post(reverse("rating:settle_next"), headers=HTMX),),
    ),
}


@pytest.fixture
def world(db):
    build(SMALL)
    return World()


@pytest.mark.parametrize("step", STEPS)
def test_the_hot_statements_find_rows_by_an_index(world, step):
    role, acts = STEPS[step]
    client = Client()
    client.force_login(world.of(role))
    asked: list[tuple[str, Any]] = []

    def watch(execute, sql, params, many, context):
        if not many:
            asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        for act in acts:
            act(client, world)

    whole = {}
    for sql, params in asked:
        if sql.lstrip().split()[0] in ("SELECT", "UPDATE", "DELETE"):
            for table in read_whole(sql, params):
                whole.setdefault(table, sql)
    assert len(asked) > 3
    if connection.vendor == "sqlite" and role == Role.ADJUDICATOR:
        # It begins a join with the smallest table, which here is this one.
        whole.pop("runs_response", None)
    assert whole == {}


def test_a_statement_without_an_index_is_seen(world):
    assert read_whole("SELECT COUNT(*) FROM rating_rating WHERE note = %s", ["x"]) == {
        "rating_rating"
    }
    assert read_whole("SELECT id FROM runs_response WHERE text = %s", ["x"]) == {"runs_response"}


def test_parts_of_a_statement_are_told_apart():
    asked = (
        'SELECT 1 FROM "a" WHERE NOT EXISTS(SELECT 1 FROM "b" U0 WHERE (U0."x" = "a"."x" AND U0."y"'
        ' IN (SELECT V0."y" FROM "c" V0 WHERE V0."z" = U0."z"))) AND "a"."x" IN (SELECT U0."x" FROM'
        ' "d" U0 INNER JOIN "e" U1 ON (U0."p" = U1."p"))'
    )

    assert _told_apart(asked) == (
        'SELECT 1 FROM "a" WHERE NOT EXISTS(SELECT 1 FROM "b" U0_2 WHERE (U0_2."x" = "a"."x" AND'
        ' U0_2."y" IN (SELECT V0_1."y" FROM "c" V0_1 WHERE V0_1."z" = U0_2."z"))) AND "a"."x" IN'
        ' (SELECT U0_0."x" FROM "d" U0_0 INNER JOIN "e" U1_0 ON (U0_0."p" = U1_0."p"))'
    )


def read_whole(sql: str, params: Any) -> set[str]:
    """The big tables that a statement reads from end to end."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
            found = cursor.fetchone()[0]
            cursor.execute("SET LOCAL enable_seqscan = on")
            plan = found if isinstance(found, list) else json.loads(found)
            return {name for name in _scanned(plan[0]["Plan"]) if name in BIG}
        sql = _told_apart(sql)
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        lines = [row[3] for row in cursor.fetchall()]
    names = _aliases(sql)
    return {
        names.get(word, word)
        for line in lines
        if line.startswith("SCAN ") and "USING" not in line
        for word in [line.split()[1]]
        if names.get(word, word) in BIG
    }


def _scanned(node: dict[str, Any]) -> set[str]:
    found = {node["Relation Name"]} if node["Node Type"] == "Seq Scan" else set()
    return found.union(*(_scanned(one) for one in node.get("Plans", [])))


def _told_apart(sql: str) -> str:
    """The statement with aliases of its own for each part of it, where U0 stands for several."""
    for number, begin in enumerate(
        sorted((one.start() for one in re.finditer(r"\(SELECT", sql)), reverse=True)
    ):
        depth, end = 1, begin + 1
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        part = sql[begin:end]
        for name in set(re.findall(r'(?:FROM|JOIN) "\w+" ([U-Z]\d+)\b', part)):
            part = re.sub(rf"\b{name}\b", f"{name}_{number}", part)
        sql = sql[:begin] + part + sql[end:]
    return sql


def _aliases(sql: str) -> dict[str, str]:
    """What each alias stands for: SQLite's plan says the alias alone."""
    words = sql.replace('"', "").replace("(", " ").replace(")", " ").split()
    return {after.rstrip(","): table for table, after in pairwise(words) if table in BIG} | {
        name: name for name in BIG
    }
