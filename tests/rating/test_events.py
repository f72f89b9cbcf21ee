"""The log: what is in it, and how a change to it shows."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from rating.events import Walk, last_sealed, seal_events, walk_events
from rating.integrity.sealing import seal_rows
from rating.models import Event, EventKind, Slot, Tally
from runs.guards import lifted
from tests.factories import make_rater, make_wave, rated

pytestmark = pytest.mark.django_db


@pytest.fixture
def log():
    make_wave()
    rater = make_rater()
    for _ in range(3):
        rated(rater)
    return Event.objects.order_by("pk")


def test_every_rating_is_in_the_log_and_the_log_is_sealed_in_order(log):
    assert seal_events() == 3
    assert seal_events() == 0

    assert walk_events() == Walk(3, 0, None)
    assert [event.previous for event in log[1:]] == [event.seal for event in log[:2]]


def test_the_database_refuses_to_change_or_delete_an_event(log):
    seal_events()
    for change in ({"kind": "void"}, {"about": {}}, {"seal": "x"}, {"actor": None}):
        with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
            log.filter(pk=log[0].pk).update(**change)
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        log.filter(pk=log[0].pk)._raw_delete("default")


@pytest.mark.parametrize(
    "change", [{"kind": "void"}, {"about": {"rating": "other"}}, {"actor": None}]
)
def test_whoever_gets_past_the_database_is_found_by_the_chain(log, change):
    seal_events()
    with lifted():
        log.filter(pk=log[1].pk).update(**change)

    assert walk_events().broken_at == log[1].pk
    with pytest.raises(CommandError, match=f"event {log[1].pk} is not what was sealed"):
        call_command("verify")


def test_a_missing_event_is_found_by_the_chain(log):
    seal_events()
    after = log[2].pk
    with lifted():
        log.filter(pk=log[1].pk)._raw_delete("default")

    assert walk_events().broken_at == after


def test_verify_says_that_all_is_well(log):
    said = io.StringIO()

    call_command("verify", stdout=said)

    assert "The log holds: 3 events, 3 of them sealed now." in said.getvalue()


def test_verify_finds_a_tally_and_a_slot_that_are_not_what_the_ratings_say(log):
    Tally.objects.filter(of="subject").update(count=9)
    Slot.objects.filter(state="rated").first().__class__.objects.filter(state="open").update(
        state="held"
    )

    with pytest.raises(CommandError) as why:
        call_command("verify")

    assert "is tallied 9 times and rated 3 times" in str(why.value)
    assert "held slots" in str(why.value)


def test_an_event_that_is_committed_after_one_with_a_higher_number_takes_the_next_place(log):
    """Of two transactions at once, the one that began later may end earlier."""
    late = Event(pk=log[2].pk + 1, kind=EventKind.VOID)
    Event.objects.create(pk=late.pk + 1, kind=EventKind.VOID)
    seal_events()
    late.save(force_insert=True)
    seal_events()

    assert walk_events() == Walk(5, 0, None)
    assert last_sealed() == late
    assert seal_rows() > 0
    assert seal_rows() == 0


def test_the_database_refuses_a_seal_without_a_place_and_a_place_without_a_seal(log):
    for half in ({"seal": "x"}, {"place": 1}):
        with pytest.raises(IntegrityError, match="in_its_place"), transaction.atomic():
            log.filter(pk=log[0].pk).update(**half)
