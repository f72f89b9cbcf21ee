"""What the database itself refuses, whoever asks."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from rating.models import Exposure, Quote, Rating, Saw
from runs.guards import all_guards, installed
from runs.models import Anchor
from tests.factories import REPLY, bank_data, leased, make_bank, make_rater, make_wave, rated

pytestmark = pytest.mark.django_db


def refused(match: str):
    return pytest.raises(IntegrityError, match=match)


def store(card, level: int = 3, *, quotes=((0, 10),), **changes) -> Rating:
    """A rating as a fault in the queue might store it."""
    fields = {
        "response": card.response,
        "rater": card.rater,
        "anchor": Anchor.objects.get(item=card.response.item, level=level),
        "assignment": card,
        "kind": "counted",
        "slot": 1,
        **changes,
    }
    rating = Rating(**fields)
    with transaction.atomic():
        for start, end in quotes:
            Quote.objects.create(rating_id=rating.pk, start=start, end=end)
        rating.save(force_insert=True)
    return rating


def test_every_guard_stands_after_all_migrations():
    assert {guard.name for guard in all_guards()} <= installed(connection)


def test_a_third_counted_rating():
    make_wave(make_bank(bank_data(1)))
    spare = leased(make_rater())
    first = rated(make_rater())
    store(spare, slot=2 if first.slot == 1 else 1)
    card = leased_again(spare)

    for slot in (1, 2):
        with pytest.raises(IntegrityError):
            store(card, slot=slot)
    with pytest.raises(IntegrityError):
        store(card, slot=3)
    assert Rating.objects.count() == 2


def leased_again(card):
    """Another assignment of the same response, as a fault in the queue might make it."""
    return type(card).objects.create(
        slot=card.slot,
        response=card.response,
        rater=make_rater(),
        leased_at=timezone.now(),
        expires_at=timezone.now(),
        ended_at=timezone.now(),
        outcome="expired",
    )


def test_two_cards_of_one_response_for_one_person():
    make_wave(make_bank(bank_data(1)))
    card = leased(make_rater())
    again = leased_again(card)

    with pytest.raises(IntegrityError), transaction.atomic():
        type(again).objects.filter(pk=again.pk).update(rater=card.rater)


def test_two_counted_ratings_by_one_person():
    make_wave(make_bank(bank_data(1)))
    card = leased(make_rater())
    store(card, slot=1)

    with pytest.raises(IntegrityError):
        store(card, slot=2)


def test_a_counted_rating_by_somebody_who_has_seen_single_ratings_of_the_wave():
    wave = make_wave()
    card = leased(make_rater())
    Exposure.objects.create(person=card.rater, saw=Saw.RATINGS, wave=wave)

    with refused("adds none that counts"):
        store(card)
    store(card, kind="surplus", slot=None)


def test_superseding_a_rating_by_itself_or_by_one_of_another_response():
    make_wave()
    rater = make_rater()
    one, other = rated(rater), rated(rater)

    for successor in (one, other):
        with refused("superseded by another"), transaction.atomic():
            Rating.objects.filter(pk=one.pk).update(superseded_by=successor)


def test_changing_what_a_slot_is_of():
    make_wave()
    slot = leased(make_rater()).slot

    with refused("never changes"), transaction.atomic():
        type(slot).objects.filter(pk=slot.pk).update(item_id=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        type(slot).objects.filter(pk=slot.pk).update(state="zzz")


def test_a_level_that_is_no_anchor_of_the_item():
    make_wave(make_bank(bank_data(2)))
    card = leased(make_rater())
    foreign = Anchor.objects.exclude(item=card.response.item).first()

    with refused("one of the anchors of the item"):
        store(card, anchor=foreign)


def test_a_counted_rating_without_a_slot_and_a_surplus_one_with_a_slot():
    make_wave()
    card = leased(make_rater())

    for kind, slot in (("counted", None), ("surplus", 1)):
        with pytest.raises(IntegrityError):
            store(card, kind=kind, slot=slot)


def test_a_rating_by_somebody_else_than_the_one_who_holds_the_card():
    make_wave()
    card = leased(make_rater())

    with refused("of its assignment"):
        store(card, rater=make_rater())


def test_editing_or_deleting_a_rating():
    make_wave()
    rating = rated(make_rater())

    with refused("never edited"), transaction.atomic():
        Rating.objects.filter(pk=rating.pk).update(note="other")
    with refused("never deleted"), transaction.atomic():
        Rating.objects.filter(pk=rating.pk)._raw_delete("default")


@pytest.mark.parametrize(("start", "end"), [(0, len(REPLY) + 1), (9, 9), (10, 5), (-1, 20)])
def test_a_quote_outside_the_text(start, end):
    make_wave()
    card = leased(make_rater())

    with pytest.raises(IntegrityError):
        store(card, quotes=[(0, 10), (start, end)])


def test_a_rating_without_a_quote():
    make_wave()

    with refused("at least one quote"):
        store(leased(make_rater()), quotes=[])


def test_a_quote_added_to_a_rating_that_stands():
    make_wave()
    rating = rated(make_rater())

    with refused("none is added"), transaction.atomic():
        Quote.objects.create(rating=rating, start=0, end=5)


def test_editing_or_deleting_a_quote():
    make_wave()
    quote = rated(make_rater()).quotes.get()

    with refused("never edited"), transaction.atomic():
        Quote.objects.filter(pk=quote.pk).update(end=quote.end - 1)
    with refused("never deleted"), transaction.atomic():
        Quote.objects.filter(pk=quote.pk)._raw_delete("default")


def test_forgetting_what_somebody_has_seen():
    exposure = Exposure.objects.create(person=make_rater(), saw=Saw.FIGURES, wave=make_wave())

    with refused("stays on record"), transaction.atomic():
        Exposure.objects.filter(pk=exposure.pk)._raw_delete("default")
