"""One rater beside those who rated the same responses, held to values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats.agreement import Undefined, generator
from rating.stats.raters import (
    drift,
    partners,
    raw_severity,
    slope_of,
    spread,
)


def array(*values) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_each_of_two_is_held_against_the_other_and_one_alone_against_nobody():
    response, rater = np.array([7, 3, 7, 3, 9]), np.array([1, 0, 0, 2, 1])

    assert partners(response, rater).tolist() == [2, 3, 0, 1, -1]


def test_each_of_three_is_held_against_the_next_and_the_last_against_the_first():
    response, rater = np.array([0, 0, 0]), np.array([2, 0, 1])

    # By number 0, 1, 2 stand in the places 1, 2, 0.
    assert partners(response, rater).tolist() == [1, 2, 0]


def test_raw_severity_is_students_mean_of_the_differences():
    """Ten pairs, five of them one level lower: mean -.5, deviation .52705, t for 9 is 2.26216."""
    partner = array(*[3] * 10)
    found = raw_severity(partner - array(0, 1) .repeat(5), partner)  # fmt: skip

    assert found.value == pytest.approx(-0.5)
    assert found.high == pytest.approx(-0.5 + 2.26216 * 0.52705 / 10**0.5, abs=1e-4)


def test_spread_is_the_ratio_of_the_deviations():
    own, partner = array(2, 3, 3, 3, 4) .repeat(2), array(1, 2, 3, 4, 5).repeat(2)  # fmt: skip

    found = spread(own, partner)

    # Sums of squares 4 and 20.
    assert found.value == pytest.approx((4 / 20) ** 0.5)
    assert found.low < found.value < found.high
    back = spread(partner, own)
    assert (back.value, back.low) == pytest.approx((1 / found.value, 1 / found.high))


def test_who_keeps_to_the_middle_has_a_spread_below_1_and_who_does_not_has_none_to_tell():
    random = generator("middle")
    partner = random.integers(1, 6, 200).astype(float)
    usual = np.clip(partner + random.integers(-1, 2, 200), 1, 5)
    middling = np.round(3 + (usual - 3) / 2)

    assert spread(middling, partner).high < 1
    assert spread(usual, partner).low < 1 < spread(usual, partner).high


def test_drift_is_the_slope_on_weeks():
    weeks = np.arange(12, dtype=np.float64)
    random = generator("drift")
    partner = random.integers(2, 5, 12).astype(float)

    found = drift(partner - 0.1 * weeks + 0.01 * array(1, -1, 0) .repeat(4), partner, weeks)  # fmt: skip

    assert found.value == pytest.approx(-0.1, abs=0.01)
    assert found.low < found.value < found.high < 0


def test_the_slope_is_that_of_numpys_least_squares():
    random = generator("slope")
    at, values = random.random(30), random.random(30)

    found = slope_of(values, at)

    (expected, _), covariance = np.polyfit(at, values, 1, cov="unscaled")
    left = values - np.polyval(np.polyfit(at, values, 1), at)
    assert found.value == pytest.approx(expected)
    assert found.error == pytest.approx((covariance[0, 0] * (left @ left) / 28) ** 0.5)


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (lambda: raw_severity(array(1, 2), array(1, 3)), "at least 10 pairs of ratings; there are 2"),
        (lambda: raw_severity(array(*[2] * 10), array(*[3] * 10)), r"All 10 pairs differ by -1 levels"),
        (lambda: spread(array(*[2] * 10), array(*range(10))), "This rater gave the level 2 every"),
        (lambda: spread(array(*range(10)), array(*[2] * 10)), "The partners gave the level 2"),
        (lambda: spread(array(*range(10)), array(*range(10))), "spread their levels alike"),
        (lambda: drift(array(*range(10)), array(*[2] * 10), array(*[1] * 10)), "at least 14 days"),
        (lambda: drift(array(*range(10)), array(*[2] * 10), array(*range(10))), "lie on one line"),
    ],
)  # fmt: skip
def test_what_is_left_open_has_a_reason(ask, reason):
    with pytest.raises(Undefined, match=reason):
        ask()


@settings(max_examples=30, deadline=None)
@given(constant=st.integers(-9, 9), seed=st.integers(0, 99))
def test_a_constant_added_to_both_changes_nothing(constant, seed):
    random = generator(str(seed))
    own, partner = random.integers(1, 6, (2, 40)).astype(float)

    assert raw_severity(own + constant, partner + constant) == raw_severity(own, partner)
    before, after = spread(own, partner), spread(own + constant, partner + constant)
    assert (after.value, after.low) == pytest.approx((before.value, before.low))


def test_responses_twice_over_leave_the_mean_and_shrink_its_error():
    own, partner = generator("twice").integers(1, 6, (2, 500)).astype(float)

    one, other = raw_severity(own, partner), raw_severity(np.tile(own, 2), np.tile(partner, 2))

    assert other.value == pytest.approx(one.value)
    assert other.high - other.low == pytest.approx((one.high - one.low) / 2**0.5, rel=1e-2)
