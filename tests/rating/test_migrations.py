"""What a migration makes of rows that were there before it."""

import json

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from rating.events import Walk, last_sealed, seal_events, seal_from, walk_events
from rating.models import Adjudication, Ended, Event, EventKind, Role
from rating.queue import rate, void
from runs.guards import all_guards, installed, lift
from tests.factories import bank_data, given, leased, make_bank, make_rater, make_user, make_wave


def read_twice():
    make_wave(make_bank(bank_data(1)))
    cards = [leased(make_rater()), leased(make_rater())]
    for card, level in zip(cards, (1, 5), strict=True):
        rate(card, given(level), now=timezone.now())
    return cards[0].response


def log(kind, about, pk=None, previous="", sealed=False):
    """An event as it was kept before it had a place; return its seal."""
    now = timezone.now()
    seal = seal_from(pk, kind, None, about, now, previous) if sealed else ""
    row = {"kind": kind, "about": json.dumps(about), "happened_at": now}
    row |= {"previous": previous, "seal": seal} | ({"id": pk} if pk else {})
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rating_event ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})",
            list(row.values()),
        )
    return seal


@pytest.fixture
def _back_at_the_last_migration(transactional_db):
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.proof
@pytest.mark.usefixtures("_back_at_the_last_migration")
def test_what_was_opened_before_adjudications_could_end_stands_on_the_ratings_it_showed(settings):
    standing, shown, gone, undue = read_twice(), read_twice(), read_twice(), read_twice()
    ratings = [str(rating.pk) for rating in shown.ratings.order_by("-pk")]
    void(gone.ratings.first(), make_user(Role.ADMIN), "by mistake", now=timezone.now())
    person = make_user(Role.ADJUDICATOR)
    call_command("migrate", "rating", "0010", verbosity=0)
    lift()  # the guards of today, over the tables of then
    codes = {}
    began = timezone.now()
    level_3 = shown.item.anchors.get(level=3).pk
    with connection.cursor() as cursor:
        for number, response in enumerate((standing, shown, gone, undue)):
            codes[response] = f"{number:08}-0000-4000-8000-000000000000"
            code = codes[response]
            cursor.execute(
                "INSERT INTO rating_adjudication (response_id, triggers, opened_at, code, reason,"
                " guideline_gap, adjudicator_id, own_anchor_id, own_at, held_until)"
                " VALUES (%s, %s, %s, %s, '', %s, %s, %s, %s, %s)",
                [
                    response.pk,
                    "[]" if response == undue else '["distance"]',
                    began,
                    code if connection.vendor == "postgresql" else code.replace("-", ""),
                    False,
                    *((person.pk, level_3, began, began) if response == shown else [None] * 4),
                ],
            )
    log(EventKind.LOOK, {"adjudication": codes[shown], "ratings": " ".join(ratings)})

    call_command("migrate", "rating", verbosity=0)

    found = {one.response: one for one in Adjudication.objects.select_related("response")}
    assert {response: one.ended for response, one in found.items()} == {
        standing: "",
        shown: "",
        gone: Ended.TAKEN_BACK,
        undue: Ended.NOT_DUE,
    }
    assert [str(found[shown].first_side_id), str(found[shown].second_side_id)] == ratings
    assert (found[shown].held_until - began).days == settings.SETTLE_DAYS
    assert {found[standing].first_side_id, found[standing].second_side_id} == {
        rating.pk for rating in standing.ratings.all()
    }
    assert {guard.name for guard in all_guards()} <= installed(connection)


@pytest.mark.proof
@pytest.mark.usefixtures("_back_at_the_last_migration")
def test_a_log_that_was_sealed_out_of_the_order_of_its_numbers_holds():
    call_command("migrate", "rating", "0028", verbosity=0)
    seal = ""
    for pk in (1, 2, 5, 3, 4):
        seal = log(EventKind.LOOK, {}, pk, seal, sealed=True)
    log(EventKind.LOOK, {}, 6)

    call_command("migrate", "rating", verbosity=0)

    assert walk_events() == Walk(5, 1, None)
    assert last_sealed().pk == 4
    assert seal_events() == 1
    assert walk_events() == Walk(6, 0, None)
    assert [event.pk for event in Event.objects.order_by("place")] == [1, 2, 5, 3, 4, 6]
