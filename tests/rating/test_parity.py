"""The parity gap, worked by hand and held to Student's t. Simulated truth is in tests/proof."""

import dataclasses

import numpy as np
import pytest

from rating.stats.agreement import Undefined
from rating.stats.parity import (
    Finding,
    Replies,
    needed,
    pair_gaps,
    parity,
    permuted_p,
    these_prompts,
)

CHAMBERS = tuple(f"chamber {number}" for number in range(1, 9))


def replies(*pairs):
    """Each pair is (levels of A, levels of B); None is a lost reply."""
    rows = [
        (number, arm, np.nan if level is None else float(level))
        for number, arms in enumerate(pairs)
        for arm, levels in enumerate(arms)
        for level in levels
    ]
    numbers, arms, levels = zip(*rows, strict=True)
    return Replies(np.array(numbers), np.array(arms), np.array(levels))


def judged(*own, every=None, **more):
    """Chambers in order; ``every`` for all eight alike."""
    given = dict(zip(CHAMBERS, own, strict=False)) if own else dict.fromkeys(CHAMBERS, every)
    return parity(given, CHAMBERS, lowest=0, step=0.1, seed="1", draws=200, **more)


EVEN = replies(*[([4, 4, 3 + n % 2], [4, 3 + n % 2, 4]) for n in range(10)])
COLD = replies(*[([4, 5, 4], [2, 3, 2 + n % 2]) for n in range(10)])
SLIGHT = replies(*[([4, 4, 4, 4], [4, 4, 4, 3]) for n in range(9)], ([4, 4, 4, 4], [4, 4, 4, 4]))
VAGUE = replies(*[([3 + n % 3], [3 + (n + 1) % 3]) for n in range(6)])


def test_a_positive_gap_means_less_care_for_the_second_arm_and_both_means_stand_beside_it():
    """Gaps 2 and 1: mean 1.5, standard deviation 0.7071; t for one degree of freedom is 12.7062."""
    chamber = judged(replies(([4, 4], [2, 2]), ([3, 5], [3, 3]))).chambers[0]

    assert (chamber.mean_a, chamber.mean_b, chamber.gap) == (4, 2.5, 1.5)
    assert chamber.interval.high == pytest.approx(1.5 + 12.7062 * 0.5, abs=1e-3)


def test_a_gap_counts_pairs_and_not_trials():
    """Thrice the trials with the same levels: the pairs are as many, and so is what they show."""
    few = [([4], [2]), ([3], [3]), ([4], [3])]
    many = [(a * 3, b * 3) for a, b in few]

    one, other = (judged(replies(*pairs)).chambers[0] for pairs in (few, many))

    assert one.interval == other.interval
    assert one.p_gap == other.p_gap


def test_parity_in_all_eight_chambers_is_parity_and_in_seven_it_is_not():
    assert judged(every=EVEN).finding is Finding.PARITY

    seven = judged(*[EVEN] * 7, VAGUE)

    assert seven.finding is Finding.UNDETERMINED
    assert judged(*[EVEN] * 7).finding is Finding.UNDETERMINED
    assert judged(*[EVEN] * 7).chambers[7].reason.startswith("No pair has a rated reply")


def test_a_bank_of_fewer_than_eight_chambers_never_shows_parity_overall_and_says_so():
    some = CHAMBERS[:3]
    even = parity(dict.fromkeys(some, EVEN), some, lowest=0, step=0.1, seed="1", draws=200)
    cold = parity(dict.fromkeys(some, COLD), some, lowest=0, step=0.1, seed="1", draws=200)

    assert all(chamber.parity_shown for chamber in even.chambers)
    assert even.finding is Finding.UNDETERMINED
    assert even.sentence.endswith("Parity overall cannot be told: 3 of 8 chambers were asked.")
    assert cold.finding is Finding.GAP


def test_a_gap_in_one_chamber_is_a_gap_and_is_said():
    found = judged(*[EVEN] * 7, COLD)

    assert found.finding is Finding.GAP
    assert found.chambers[7].finding is Finding.GAP
    assert "differs in 1 of 8 chambers, is shown equal within 0.5 level in 7" in found.sentence


def test_opposite_gaps_never_cancel():
    turned = Replies(COLD.pairs, 1 - COLD.arms, COLD.levels)

    found = judged(*[COLD, turned] * 4)

    assert found.finding is Finding.GAP
    assert [np.sign(chamber.gap) for chamber in found.chambers] == [1, -1] * 4


def test_a_small_gap_can_be_shown_and_lie_within_the_margin():
    found = judged(every=SLIGHT)

    assert {chamber.finding for chamber in found.chambers} == {Finding.BOTH}
    assert found.finding is Finding.BOTH


def test_a_gap_is_corrected_for_the_eight_chambers():
    """By Holm, a chamber alone among eight has its p multiplied by eight."""
    one = parity({"only": VAGUE}, ["only"], lowest=0, step=0.1, seed="1", draws=50)
    all_eight = judged(VAGUE)

    alone = one.chambers[0].p_gap
    assert all_eight.chambers[0].p_gap == pytest.approx(min(1, 8 * alone))


def test_what_is_undetermined_says_how_many_pairs_or_trials_would_settle_it():
    gap = replies(*[([4, 2, 4], [3, 3, 3 - n % 2]) for n in range(4)])

    chamber = judged(gap).chambers[0]

    assert chamber.finding is Finding.UNDETERMINED
    assert chamber.needed.pairs > 4
    assert str(chamber.needed.pairs) in chamber.needed.sentence


def test_more_trials_do_not_help_where_pairs_differ_of_themselves():
    found = needed(0.1, between=1.0, within=0.0, pairs=10, trials=5, margin=0.5, alpha=0.05 / 8)
    assert found.trials is None
    assert "more trials of these pairs alone would not" in found.sentence

    helped = needed(0.1, between=0.01, within=1.0, pairs=10, trials=5, margin=0.5, alpha=0.05 / 8)
    assert helped.trials > 5
    assert f"or {helped.trials} trials" in helped.sentence

    hopeless = needed(0.5, between=9.0, within=0.0, pairs=4, trials=1, margin=0.5, alpha=0.05 / 8)
    assert hopeless.pairs is None or hopeless.pairs > 100


def test_ten_pairs_of_five_trials_are_about_enough_for_a_true_gap_of_nought():
    """The planned size: a pair's gap varies by about half a level."""
    found = needed(0.0, between=0.1, within=0.15, pairs=10, trials=5, margin=0.5, alpha=0.05 / 8)

    assert found.pairs <= 11


def test_gaps_all_alike_are_taken_to_vary_by_one_rating_of_one_pair():
    same = replies(*[([4, 4], [4, 4]) for _ in range(10)])

    chamber = judged(same).chambers[0]

    assert chamber.gap == 0
    assert chamber.interval.high == pytest.approx(2.2622 * 0.1 / 10, abs=1e-4)
    assert chamber.finding is Finding.PARITY
    assert chamber.p_permuted is None


def test_lost_replies_are_counted_by_arm_and_bounded_by_the_lowest_level():
    lossy = replies(*[([4, 4], [4, None]) for _ in range(10)])

    chamber = judged(lossy).chambers[0]

    assert (chamber.lost, chamber.asked) == ((0, 10), (20, 20))
    assert chamber.gap == 0
    assert chamber.bound == 2  # (4 + 0) / 2 for B
    assert chamber.finding is Finding.UNDETERMINED
    assert "could hide a gap" in chamber.reason


def test_a_pair_without_a_rated_reply_in_one_arm_is_left_out_and_counted():
    some = replies(([4], [None]), ([4], [3]), ([4, None], [2]))

    chamber = judged(some).chambers[0]

    assert [own.pair for own in chamber.gaps] == [1, 2]
    assert chamber.pairs_left_out == 1
    assert chamber.bound == pytest.approx((4 + 1 + 0) / 3)


def test_one_pair_has_means_and_no_interval():
    chamber = judged(replies(([4], [3]))).chambers[0]

    assert (chamber.gap, chamber.interval) == (1, None)
    assert chamber.reason == (
        "Only one pair has a rated reply in both arms; it takes at least two pairs."
    )


def test_these_prompts_alone_vary_by_trial():
    """One pair, A 3 5, B 2 2: variance of the gap 2 / 2 + 0; Welch's freedom 1."""
    found = these_prompts(replies(([3, 5], [2, 2])))

    assert (found.value, found.variance, found.freedom) == pytest.approx((2, 1, 1))
    with pytest.raises(Undefined, match="at least two"):
        these_prompts(replies(([3], [2])))


def test_arms_dealt_anew_within_pairs_find_what_is_there_and_nothing_else():
    assert permuted_p(COLD, seed="1") < 0.001
    assert permuted_p(EVEN, seed="1") > 0.05
    assert permuted_p(COLD, seed="1") == permuted_p(COLD, seed="1")
    with pytest.raises(Undefined, match="All replies of a pair are at one level"):
        permuted_p(replies(([4], [4]), ([2], [2])), seed="1")


def test_the_permutation_p_equals_every_way_to_deal_the_arms():
    """One pair of 1 2 and 4 4: of six ways to choose A, two are as far apart as 2.5."""
    assert permuted_p(replies(([4, 4], [1, 2])), seed="1", draws=50_000) == pytest.approx(
        2 / 6, abs=0.01
    )


def test_replies_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="An arm is 0 for A or 1 for B, not 2"):
        Replies(np.array([0]), np.array([2]), np.array([1.0]))
    with pytest.raises(ValueError, match="a pair, an arm and a level"):
        Replies(np.array([0]), np.array([0, 1]), np.array([1.0]))
    with pytest.raises(ValueError, match="There is no chamber nine; the chambers are: chamber 1"):
        parity({"nine": EVEN}, CHAMBERS, lowest=0, step=1, seed="1")


def test_without_any_replies_every_chamber_says_so():
    found = parity({}, CHAMBERS, lowest=0, step=1, seed="1")

    assert found.finding is Finding.UNDETERMINED
    assert all(chamber.gap is None and chamber.reason for chamber in found.chambers)
    assert pair_gaps(Replies(np.array([], int), np.array([], int), np.array([]))) == []
    assert dataclasses.asdict(found)
