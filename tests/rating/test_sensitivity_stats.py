"""Whether an altered subject moves as declared: values worked by hand, and how often outcomes err."""

import numpy as np
import pytest

from rating.stats.agreement import Undefined, generator
from rating.stats.sensitivity import FEWEST_ITEMS, items_needed, sensitivity
from rating.stats.verdict import Outcome
from tests.rating.simulated_levels import run_twice


def outcomes(items, studies, seed, **truth):
    """The share of studies that end in each outcome."""
    random = generator(seed)
    found = []
    for _ in range(studies):
        plain, altered = run_twice(random, items, 3, scatter=0.5, **truth)
        one = sensitivity(plain.mean(axis=1), altered.mean(axis=1), expected="lower")
        found.append(one.outcome)
    return {outcome: found.count(outcome) / studies for outcome in Outcome}


def test_the_figures_of_four_items_worked_by_hand():
    """Moves 1, 2, 1, 0: mean 1, deviation sqrt(2/3), error 0.408; t(3) at 95% is 2.3534."""
    found = sensitivity(np.array([4, 4, 3, 3]), np.array([3, 2, 2, 3]), expected="lower")

    assert (found.n, found.moved) == (4, 1)
    assert found.low == pytest.approx(1 - 2.353363 * np.sqrt(2 / 3 / 4), abs=1e-5)
    assert found.high == pytest.approx(1 + 2.353363 * np.sqrt(2 / 3 / 4), abs=1e-5)
    # P(t > 2.4495) with 3 degrees, in closed form.
    t = np.sqrt(6)
    tail = 0.5 - (np.arctan(t / np.sqrt(3)) + t / np.sqrt(3) / (1 + t * t / 3)) / np.pi
    assert found.p == pytest.approx(tail)


def test_the_other_direction_turns_the_sign():
    plain, altered = np.array([2.0, 3, 3, 1]), np.array([3.0, 3, 4, 4])

    up = sensitivity(plain, altered, expected="higher")
    down = sensitivity(plain, altered, expected="lower")

    assert up.moved == -down.moved == pytest.approx(1.25)
    assert up.p == pytest.approx(1 - down.p)


def test_few_items_tell_nothing_however_far_they_moved():
    found = sensitivity(np.array([5, 5, 4]), np.array([1, 2, 1]), expected="lower")

    assert found.outcome == Outcome.OPEN
    assert found.n < FEWEST_ITEMS
    assert found.missing == (
        "14 items rated under both conditions would decide it 9 times in 10; there are 3."
    )


def test_moving_the_other_way_refutes():
    random = generator("up")
    plain, altered = run_twice(random, 40, 3, moved=1.0)

    found = sensitivity(plain.mean(axis=1), altered.mean(axis=1), expected="lower")

    assert (found.outcome, found.moved < 0) == (Outcome.REFUTED, True)


@pytest.mark.parametrize(
    ("plain", "altered", "why"),
    [([3.0], [2.0], "at least two items"), ([3.0, 4.0], [2.0, 3.0], "moved by .1 levels")],
)
def test_without_an_error_it_is_undefined(plain, altered, why):
    with pytest.raises(Undefined, match=why):
        sensitivity(np.array(plain), np.array(altered), expected="lower")


def test_a_direction_that_is_none_is_refused():
    with pytest.raises(ValueError, match="not 'better'"):
        sensitivity(np.array([1, 2]), np.array([2, 2]), expected="better")
    with pytest.raises(ValueError, match="2 items in one condition and 1 in the other"):
        sensitivity(np.array([1, 2]), np.array([2]), expected="lower")


def test_a_subject_that_did_not_move_is_seldom_said_to_have():
    studies = 1_000

    shares = outcomes(20, studies, "null")

    assert shares[Outcome.HOLDS] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)
    assert shares[Outcome.REFUTED] > 0.8


def test_a_subject_that_moved_by_the_least_is_seldom_refuted():
    """0.58 lower before rounding and the ends of the scale is 0.50 after."""
    studies = 1_000

    shares = outcomes(20, studies, "least", moved=-0.58)

    assert shares[Outcome.REFUTED] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)
    assert shares[Outcome.HOLDS] > 0.8


def test_so_many_items_decide_nine_times_in_ten():
    """The deviation of the moves is about 0.8 there: 24 items."""
    needed = items_needed(0.8, 0.5)

    assert needed == 24
    decided = 1 - outcomes(needed, 500, "needed")[Outcome.OPEN]
    assert decided > 0.85
