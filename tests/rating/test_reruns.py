"""Whether a rerun gives the same: values worked by hand, and how often outcomes err."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats.agreement import Undefined, generator
from rating.stats.reruns import rerun
from rating.stats.verdict import Outcome
from tests.rating.simulated_levels import run_twice

FIRST = [np.array([1.0, 2.0]), np.array([2.0, 2.0])]
SECOND = [np.array([3.0, 4.0]), np.array([2.0, 2.0])]


def outcomes(items, trials, studies, seed, **truth):
    """The share of studies that end in each outcome."""
    random = generator(seed)
    found = [
        rerun(*map(list, run_twice(random, items, trials, **truth)), seed=f"{seed}|{n}", draws=399)
        for n in range(studies)
    ]
    return {outcome: sum(one.outcome == outcome for one in found) / studies for outcome in Outcome}


def at_most(share, of, studies):
    """Whether a simulated share is no more than a true one would give, 3 standard errors up."""
    return share <= of + 3 * np.sqrt(of * (1 - of) / studies)


def test_the_standard_error_is_that_of_trials_pooled():
    """Squares 0.5 + 0.5 over 4 degrees: 0.25, so a trial's deviation is 0.5; two and two trials."""
    found = rerun(FIRST, SECOND, seed="7")

    assert found.trial_sd == 0.5
    assert [one.difference for one in found.items] == [2, 0]
    assert [one.error for one in found.items] == [0.5, 0.5]
    assert [one.ratio for one in found.items] == [4, 0]
    assert (found.n_items, found.n_trials, found.mean_difference) == (2, 8, 1)


def test_chance_deals_the_trials_of_an_item_anew():
    """Of the six ways to deal 1, 2, 3 and 4 two are as far apart; the other item never differs."""
    found = rerun(FIRST, SECOND, seed="7")

    assert found.p_spread == pytest.approx(1 / 3, abs=0.02)
    assert found.p_shift == pytest.approx(1 / 3, abs=0.02)
    assert found.items[0].p == pytest.approx(1 / 3, abs=0.02)
    assert found.items[1].p == 1


def test_every_p_is_that_of_all_dealings_counted_out():
    first = [np.array([1.0, 2.5, 2.0]), np.array([3.0, 4.0]), np.array([2.0])]
    second = [np.array([3.0, 3.5]), np.array([3.5, 4.5]), np.array([1.0, 2.0])]
    weights = np.array([1 / 3 + 1 / 2, 1.0, 1.5])

    def dealings(a, b):
        both = np.concatenate([a, b])
        for chosen in combinations(range(len(both)), len(a)):
            yield np.delete(both, chosen).mean() - both[list(chosen)].mean()

    every = np.array(list(product(*map(dealings, first, second))))
    seen = np.array([b.mean() - a.mean() for a, b in zip(first, second, strict=True)])
    spread = ((every**2 / weights).mean(axis=1) >= (seen**2 / weights).mean() - 1e-9).mean()
    shift = (np.abs(every.sum(axis=1)) >= abs(seen.sum()) - 1e-9).mean()
    widest = (np.abs(every) / np.sqrt(weights)).max(axis=1)

    found = rerun(first, second, seed="7", draws=20_000)

    assert found.p_spread == pytest.approx(spread, abs=0.015)
    assert found.p_shift == pytest.approx(shift, abs=0.015)
    for one, difference, weight in zip(found.items, seen, weights, strict=True):
        adjusted = (widest >= abs(difference) / np.sqrt(weight) - 1e-9).mean()
        assert one.p == pytest.approx(adjusted, abs=0.015)


def test_the_same_seed_gives_the_same():
    assert rerun(FIRST, SECOND, seed="7") == rerun(FIRST, SECOND, seed="7")
    assert rerun(FIRST, SECOND, seed="7").p_shift != rerun(FIRST, SECOND, seed="8").p_shift


def test_what_cannot_be_told_says_how_many_trials_would_do():
    """For two items the F quantile at 5% is (d/2)(0.95^(-2/d) - 1), d = 4(T - 1): 0.05131.

    0.25 (2/T)(1/0.05131 - 1) falls below 0.5² between T = 36 and 37.
    """
    found = rerun(FIRST, SECOND, seed="7")

    assert found.outcome == Outcome.OPEN
    assert found.missing == "37 rated trials of each of these 2 items in each run; there are 2."


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([], [], "No item has a rated response in both runs"),
        ([[1.0]], [[2.0]], "No item has two rated trials"),
        ([[1.0, 1.0]], [[2.0, 2.0]], "All trials of each item have the same level"),
    ],
)
def test_without_a_standard_error_it_is_undefined(first, second, why):
    with pytest.raises(Undefined, match=why):
        rerun(list(map(np.array, first)), list(map(np.array, second)), seed="7")


def test_runs_of_other_items_are_refused():
    with pytest.raises(ValueError, match="2 items in one run and 1 in the other"):
        rerun(FIRST, SECOND[:1], seed="7")
    with pytest.raises(ValueError, match="no response in one of the runs"):
        rerun(FIRST, [SECOND[0], np.array([])], seed="7")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 5), min_size=2, max_size=4),
            st.lists(st.integers(1, 5), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_the_order_of_runs_turns_the_differences_and_nothing_else(items):
    first, second = (
        [np.array(one, dtype=float) for one in run] for run in zip(*items, strict=True)
    )
    try:
        there = rerun(first, second, seed="7", draws=200)
    except Undefined:
        return

    back = rerun(second, first, seed="7", draws=200)

    assert back.mean_difference == pytest.approx(-there.mean_difference)
    # Roots of what is nothing but for rounding differ in their first eight places.
    assert (back.excess, back.most) == pytest.approx((there.excess, there.most), abs=1e-6)
    for one in there.items:
        assert 0 < one.p <= 1


def test_where_nothing_lies_between_the_runs_it_is_seldom_refuted():
    studies = 300

    shares = outcomes(20, 3, studies, "null")

    assert at_most(shares[Outcome.REFUTED], 0.05, studies)
    assert shares[Outcome.HOLDS] > 0.3


def test_a_wave_of_the_usual_size_shows_that_a_rerun_is_the_same():
    assert outcomes(83, 3, 60, "size")[Outcome.HOLDS] > 0.7


@pytest.mark.parametrize(("trials", "refuted"), [(3, 0.3), (10, 0.8)])
def test_items_that_moved_by_the_margin_are_seldom_called_the_same(trials, refuted):
    """A scatter of 0.56 before rounding and the ends of the scale is 0.50 after."""
    studies = 300

    shares = outcomes(20, trials, studies, "margin", scatter=0.56)

    assert at_most(shares[Outcome.HOLDS], 0.05, studies)
    assert shares[Outcome.REFUTED] > refuted


def test_a_shift_of_a_third_of_a_level_is_found():
    assert outcomes(83, 3, 60, "shift", moved=0.35)[Outcome.REFUTED] > 0.8
