"""What pages ask of the database does not grow with what is in it, and no text is read unseen.

Two simulated worlds are walked, one three times as large as the other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.core.cache import cache, caches
from django.core.management import CommandError, call_command
from django.db import transaction

from rating.at_hand import forget
from rating.models import Event, Quote, Rating, Slot, Tally, User
from rating.rules_kept import rules_broken
from runs.guards import lifted
from runs.models import Response, Wave
from tests.walk import (
    NOT_WALKED,
    VISITS,
    Cost,
    Visit,
    World,
    all_names,
    client_of,
    kind_of,
    visit,
)

SMALL, LARGE = (500, 5), (1500, 15)  # responses and raters
# Their figures take seconds of a processor, however small the wave: walked in tests/proof.
HEAVY = ("results", "parity", "health", "gate", "whole_report", "whole_file", "effects")
# Long columns, and the visits that show what is in them. Elsewhere nobody reads them.
LONG = re.compile(
    r'(?<!AS )"(text|raw|prompt|turns|attempts|usage|description|content|bundle)"(?!\()'
)
CARD = {"text", "turns", "prompt", "description"}
BANK = {"turns", "prompt", "description", "content"}
# What settles reads the one row it is about as a whole.
ROW = {*CARD, "raw", "attempts", "usage"}
SHOWN = {
    "rating:about": CARD,  # an item as an example, and the reports that are published
    "rating:published": {"text"},  # the reports
    "rating:queue": CARD,
    "rating:start the next card": {*CARD, "content"},  # with its draft
    "rating:agree": ROW,
    "rating:settle_queue": ROW,
    "rating:settle_next": ROW,
    "rating:review_queue": CARD,
    "rating:review_next": CARD,
    "rating:names": {"text"},  # the words around a name
    "rating:key_file": {"text", "prompt"},  # how long it is, how hard to read, what it repeats
    "rating:readings": {"turns", "prompt", "description"},
    "rating:why pairs": {"prompt", "turns"},
    "rating:bank_of": BANK,
    "rating:item": BANK,
    "rating:draft_version": BANK,
    "rating:draft_item": BANK,
    # What replies are like, what failed, the items it asks and the probes with their answers.
    "runs:wave being asked": {*ROW, "text"},
}


def is_heavy(one: Visit) -> bool:
    return any(name in one.name for name in HEAVY) or (
        one.name in ("rating:agreement", "rating:report", "rating:report_file", "runs:wave")
        and one.title not in ("sim-3", "facets.csv", "being asked")
    )


LIGHT = [one for one in VISITS if not is_heavy(one) and one.name != "readyz"]


@dataclass
class Walked:
    """The cost of each visit in both worlds, or why there is none."""

    small: dict[str, Cost]
    large: dict[str, Cost]


def build(size: tuple[int, int]) -> None:
    responses, raters = size
    call_command(
        "simulate", responses=responses, raters=raters, no_check=True, verbosity=0, stderr=Silent()
    )


class Silent:
    def write(self, *_: object, **__: object) -> None:
        pass


def walk(size: tuple[int, int], visits: list[Visit]) -> dict[str, Cost]:
    """Build a world, make the visits, and leave nothing of it."""
    costs = {}
    with transaction.atomic():
        build(size)
        world = World()
        for one in visits:
            with transaction.atomic():
                client = client_of(world, one.role)
                cache.clear()
                caches["figures"].clear()
                forget()
                costs[one.said] = visit(client, one, world)
                transaction.set_rollback(True)
        transaction.set_rollback(True)
    return costs


@pytest.fixture(scope="module")
def walked(django_db_setup, django_db_blocker) -> Iterator[Walked]:
    with django_db_blocker.unblock():
        yield Walked(walk(SMALL, LIGHT), walk(LARGE, LIGHT))


def test_every_page_is_walked_or_it_is_said_why_not():
    names = set(all_names())
    assert {one.name for one in VISITS} | set(NOT_WALKED) >= names
    assert {one.name for one in VISITS}.isdisjoint(NOT_WALKED)


@pytest.mark.parametrize("one", LIGHT, ids=lambda one: one.said)
def test_a_page_asks_no_more_of_a_world_three_times_as_large(walked, one):
    small, large = walked.small[one.said], walked.large[one.said]

    assert small.status in one.status
    assert large.status in one.status
    if one.grows:
        assert len(large.statements) < 4 * len(small.statements)
        return
    assert len(large.statements) <= len(small.statements), [
        sql for sql in map(kind_of, large.statements) if sql not in map(kind_of, small.statements)
    ] + [max(map(kind_of, large.statements), key=[*map(kind_of, large.statements)].count)]


@pytest.mark.parametrize("one", LIGHT, ids=lambda one: one.said)
def test_a_page_reads_no_long_text_that_it_does_not_show(walked, one):
    read = {
        column
        for sql in walked.large[one.said].statements
        if sql.lstrip().upper().startswith("SELECT")
        for column in LONG.findall(_selected(sql))
    }
    assert read <= SHOWN.get(one.said, set())
    if SHOWN.get(one.said) is not ROW:
        selected = " ".join(map(_selected, walked.large[one.said].statements))
        assert '"runs_response"."raw"' not in selected
        assert '"runs_response"."usage"' not in selected


def _selected(sql: str) -> str:
    """What a statement selects, without what functions make of a column."""
    columns = sql.split(" FROM ", 1)[0]
    while (less := re.sub(r"\w*\([^()]*\)", "", columns)) != columns:
        columns = less
    return columns


def test_a_simulated_world_breaks_no_rule_and_what_breaks_one_is_found(db):
    build(SMALL)
    assert list(rules_broken()) == []
    assert Rating.objects.count() > 1.5 * Response.objects.count()
    assert not Event.objects.filter(seal="").exists()
    assert set(Wave.objects.values_list("kind", flat=True)) == {"local"}
    assert all(
        title.startswith("Simulated") for title in Wave.objects.values_list("title", flat=True)
    )

    rating = Rating.objects.filter(kind="counted").first()
    with lifted():
        Quote.objects.filter(rating=rating).update(end=100_000)
        Tally.objects.filter(pk=Tally.objects.first().pk).update(count=99)
        Slot.objects.filter(pk=Slot.objects.filter(state="rated").first().pk).update(state="open")
    found = " ".join(rules_broken())
    assert "A quote lies inside the text" in found
    assert "is tallied 99 times" in found
    assert "is not kept" in found


def test_no_world_is_made_beside_other_data(db):
    User.objects.create_user("somebody@example.org")
    with pytest.raises(CommandError, match="never stands beside other data"):
        build(SMALL)
