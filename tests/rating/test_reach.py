"""What a rater may have, asked in two ways: as a queryset by all, as a statement by each lease."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from rating.choice import FEW, MANY, Had, Limits, looks
from rating.models import (
    Assignment,
    Conflict,
    Exposure,
    Outcome,
    Qualification,
    Saw,
    SkipReason,
    Slot,
    SlotState,
    User,
)
from rating.queue import open_to
from rating.queue.leasing import _candidates, _Desk
from rating.queue.reach import open_groups, reach_of
from runs.guards import lifted
from runs.models import Instrument, Subject, Wave, WaveKind
from tests.factories import bank_data, make_bank, make_rater, make_wave, pair_bank_data

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def a_world(seed: int) -> list[User]:
    """Waves, raters and a past between them, by chance."""
    chance = random.Random(seed)
    raters = [make_rater() for _ in range(4)]
    waves = [
        make_wave(make_bank(bank_data(4)), subjects=("kind-1-2026-01-01", "kind-2-2026-01-01")),
        make_wave(make_bank(pair_bank_data(2)), subjects=("kind-1-2026-01-01",)),
        make_wave(make_bank(bank_data(3)), trials=2, subjects=("kind-3-2026-01-01",)),
    ]
    with lifted():
        Wave.objects.filter(pk=waves[2].pk).update(kind=WaveKind.PILOT)
        for slot in Slot.objects.order_by("pk"):
            Slot.objects.filter(pk=slot.pk).update(
                partner=chance.choice([None, None, *raters]),
                state=chance.choice([SlotState.OPEN] * 4 + [SlotState.RATED, SlotState.ASIDE]),
                language=chance.choice(["en", "en", "fr"]),
                topic=chance.choice(["", "", "", "grief"]),
            )
        Subject.objects.filter(snapshot__startswith="kind-2").update(developer="Other")
    for rater in raters:
        rater.languages = chance.choice([["en"], ["en", "fr"], ["fr"]])
        rater.save()
        for slot in chance.sample(list(Slot.objects.filter(number=1)), 6):
            outcome = chance.choice(Outcome.values)
            Assignment.objects.create(
                slot=slot,
                response_id=slot.response_id,
                rater=rater,
                leased_at=NOW - timedelta(days=2),
                expires_at=NOW,
                ended_at=NOW,
                outcome=outcome,
                skip_reason=chance.choice(SkipReason.values) if outcome == "skipped" else "",
            )
        if chance.random() < 0.3:
            Conflict.objects.create(person=rater, developer="Other")
        if chance.random() < 0.3:
            Conflict.objects.create(person=rater, item_code=waves[0].bank.items.first().code)
        if chance.random() < 0.3:
            Exposure.objects.create(person=rater, saw=Saw.RATINGS, wave=chance.choice(waves))
        if chance.random() < 0.5:
            Qualification.objects.create(
                rater=rater,
                instrument=Instrument.MODEL_INDEX,
                items=1,
                within_one=1,
                exact=1,
                need_within_one=1,
                need_exact=1,
                passed=chance.random() < 0.7,
            )
    return raters


@pytest.mark.parametrize("seed", range(12))
def test_a_lease_reaches_exactly_what_is_open_to_its_rater(seed):
    for rater in a_world(seed):
        asked = open_to(rater).filter(language__in=rater.languages)
        reach = reach_of(rater, bound=_Desk.of(rater, NOW).bound)
        found = {
            candidate.slot
            for group in reach.groups
            for candidate in _candidates(reach, [group], [], {}, hard_topics=True)
        }

        assert found == set(asked.values_list("pk", flat=True))


def test_the_groups_are_all_there_are_and_each_wave_has_one_that_nobody_rated():
    a_world(1)

    there = set(Slot.objects.filter(state=SlotState.OPEN).values_list("wave", "partner"))

    found = open_groups()
    assert there - set(found) == set()
    assert len(found) == len(set(found))
    assert {wave for wave, _ in there} == {wave for wave, partner in found if partner is None}
    assert {group for group in found if group[1] is not None} == {
        group for group in there if group[1] is not None
    }


def test_no_open_slot_leaves_no_group():
    assert open_groups() == []


def test_partners_met_least_are_looked_at_first_and_those_met_too_often_never():
    had = Had(partners={1: {8: 40, 9: 2, 10: 1}}, raters={1: 5})
    groups = [(1, 8), (1, 9), (1, 10), (1, 11), (1, None)]

    assert looks(groups, had, limits=Limits(6, 4), rater="r-1") == [
        [(1, 11), (1, 10)],
        [(1, 9)],
        [(1, None)],
    ]


def test_many_partners_are_looked_at_a_few_at_first_then_many_at_a_time():
    groups = [(1, partner) for partner in range(100)]

    found = looks(groups, Had(raters={1: 100}), limits=Limits(6, 4), rater="r-1")

    assert sorted(group for look in found for group in look) == groups
    assert [len(look) for look in found] == [FEW, MANY, MANY, MANY, 100 - FEW - 3 * MANY]
