"""From the rows of a wave to its scores: the statistics themselves are tested beside them."""

import pytest
from django.utils import timezone

from rating.models import Assignment, Slot, SlotState
from rating.queue import lease, rate
from rating.stats.parity import Finding
from rating.wave_results import StillBlinded, wave_parity, wave_scores
from runs.models import Response, Status, Wave
from tests.factories import bank_data, given, make_bank, make_rater, make_wave, pair_bank_data

pytestmark = pytest.mark.django_db
LOW, HIGH = "maple-2026-01-01", "birch-2026-01-01"


def rate_all(rater, level_of):
    while isinstance(card := lease(rater, now=timezone.now()), Assignment):
        rate(card, given(level_of(card.response)), now=timezone.now())


def unblinded(wave):
    now = timezone.now()
    Wave.objects.filter(pk=wave.pk).update(ratings_frozen_at=now, unblinded_at=now)
    wave.refresh_from_db()
    return wave


def by_subject(response):
    """Maple is rated 2, birch 4, and one item of each a level higher."""
    level = 2 if response.run.subject.snapshot == LOW else 4
    return level + (response.item.code == "AWR-1-A")


@pytest.fixture
def wave():
    wave = make_wave(make_bank(bank_data(24)), subjects=(LOW, HIGH))
    for _ in range(2):
        rate_all(make_rater(), by_subject)
    return wave


def test_before_unblinding_there_is_no_figure_by_subject(wave):
    with pytest.raises(StillBlinded, match="is not unblinded"):
        wave_scores(wave)
    with pytest.raises(StillBlinded, match="is not unblinded"):
        wave_parity(wave)


def test_the_scores_are_those_of_the_ratings(wave):
    found = wave_scores(unblinded(wave))

    by_name = {score.subject: score for score in found.scores}
    low = by_name["dev--kind--maple-2026-01-01"]
    assert low.dimensions["AWR"].value == pytest.approx(7 / 3)
    assert low.dimensions["EMP"].value == 2
    assert low.items["EMP-1-A"].n == 2
    assert low.composite == 26.0  # mean 2 + 1/24: 26.04
    assert [one.subject for one in found.said.groups[0].members] == sorted(by_name)
    assert found.half_rated == 0


def test_what_was_declared_is_compared_and_nothing_else(wave):
    comparison = {"kind": "build", "a": f"{HIGH}/default", "b": f"{LOW}/default"}
    declared = {"comparisons": [comparison], "correction": "none"}

    found = wave_scores(unblinded_as(wave, {"declared": declared}))

    (pair,) = found.separation.pairs
    assert {pair.a, pair.b} == {score.subject for score in found.scores}
    assert found.separation.dimension_pairs[0].comparisons == 1


def unblinded_as(wave, plan):
    """Unblinded, with a plan that the row itself no longer takes."""
    unblinded(wave).plan = plan
    return wave


def test_a_half_rated_response_is_left_out_and_counted():
    wave = make_wave(make_bank(bank_data(24)))
    rate_all(make_rater(), lambda response: 3)

    found = wave_scores(unblinded(wave))

    assert found.half_rated == 24
    assert found.separation is None
    assert found.said.withheld[0].reason == "Nothing has two ratings yet."


def test_lost_replies_of_a_run_are_counted_and_withhold_its_composite():
    wave = make_wave(make_bank(bank_data(32)), subjects=(LOW, HIGH), locked=False)
    run = wave.runs.get(subject__snapshot=LOW)
    Response.objects.bulk_create(
        Response(run=run, item=item, trial=2, position=100, seed=1, status=Status.FILTERED)
        for item in wave.bank.items.all()[:4]
    )
    wave.locked_at = timezone.now()
    wave.save(update_fields=["locked_at"])
    for _ in range(2):
        rate_all(make_rater(), by_subject)

    found = wave_scores(unblinded(wave))

    assert [one.subject for one in found.said.withheld] == ["dev--kind--maple-2026-01-01"]
    assert "4 of 36 replies" in found.said.withheld[0].reason
    assert [one.subject for one in found.said.alone] == ["dev--kind--birch-2026-01-01"]


def test_the_parity_of_a_wave_of_pairs_is_by_run_and_chamber():
    wave = make_wave(make_bank(pair_bank_data(6)))

    def colder(response):
        return 4 if response.item.code.endswith("A") else 1 + response.item.position % 4 // 2

    while Slot.objects.filter(wave=wave, state=SlotState.OPEN).exists():
        rate_all(make_rater(), colder)  # nobody is given both arms of a pair so near each other

    found = wave_parity(unblinded(wave))["dev--kind--kind-1-2026-01-01"]

    (chamber,) = found.chambers
    assert (chamber.name, len(chamber.gaps)) == ("Moral Status", 6)
    assert chamber.mean_a == 4
    assert chamber.gap > 2
    assert chamber.finding is Finding.GAP
