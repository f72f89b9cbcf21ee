"""The ledger of confounds, and the figures that may resolve one."""

import numpy as np
import pytest

from rating.stats.agreement import Undefined
from rating.stats.confounds import KNOWN, Confound, State, judged, ledger, left_out, trend
from rating.stats.student import Estimate


def test_what_nobody_has_looked_into_is_open():
    found = ledger([Confound("length", State.DISCLOSED, "Measured: +0.24 levels.")])

    assert [entry.code for entry in found.entries] == list(KNOWN)
    assert {entry.code for entry in found.open} == set(KNOWN) - {"length"}


def test_a_caption_says_all_that_is_not_resolved():
    found = ledger(
        [
            *(Confound(code, State.RESOLVED, "Not so here.") for code in KNOWN if code != "drift"),
            Confound("drift", State.DISCLOSED, "Measured: +0.30 levels."),
        ]
    )

    assert found.open == ()
    assert found.caption == "Raters may grow stricter or milder with time. Measured: +0.30 levels."


def test_a_confound_is_known_entered_once_and_says_why():
    with pytest.raises(ValueError, match="no confound 'weather': length, order"):
        Confound("weather", State.OPEN, "It rained.")
    with pytest.raises(ValueError, match="Say of the confound 'drift' why"):
        Confound("drift", State.RESOLVED, "")
    with pytest.raises(ValueError, match="'drift' is entered twice"):
        ledger([Confound("drift", State.OPEN, "One."), Confound("drift", State.OPEN, "Two.")])


def test_a_trend_is_the_mean_of_the_slopes_of_its_groups():
    """Slopes 1 and 3 for each place over a span of 2: 2 and 6; mean 4, variance 8 / 2."""
    found = trend(
        np.array([0.0, 1, 2, 0, 3, 6]), np.array([1.0, 2, 3, 1, 2, 3]), np.array([0] * 3 + [1] * 3)
    )

    assert (found.value, found.variance, found.freedom) == pytest.approx((4, 4, 1))
    with pytest.raises(Undefined, match="at least two runs or raters"):
        trend(np.array([1.0, 2]), np.array([1.0, 2]), np.array([0, 0]))


def test_replies_left_out_move_an_item_by_what_they_are_above_the_others():
    """Item 0: 4 and 2, the 4 flagged: 3 less 2; item 1: 3 alone, kept; item 2 is all flagged."""
    levels, items = np.array([4.0, 2, 3, 5]), np.array([0, 0, 1, 2])

    found = left_out(levels, items, np.array([True, False, False, True]))

    assert (found.value, found.variance) == pytest.approx((0.5, 0.25))
    with pytest.raises(Undefined, match="No reply is flagged"):
        left_out(levels, items, np.zeros(4, dtype=bool))
    with pytest.raises(Undefined, match="at least two values"):
        left_out(levels, items, np.array([True, True, False, True]))


def test_an_effect_shown_to_be_small_is_resolved_and_one_not_shown_is_disclosed():
    small = judged("drift", Estimate(0.01, 0.02**2, 30))
    vague = judged("drift", Estimate(0.01, 0.2**2, 30))

    assert small.state is State.RESOLVED
    assert "within 0.1 level" in small.sentence
    assert vague.state is State.DISCLOSED
    assert vague.sentence == "Measured: +0.01 levels (90% interval -0.33 to +0.35)."


def test_a_measured_effect_of_nothing_has_no_minus():
    found = judged("drift", Estimate(-0.001, 0.0001, 30.0))

    assert found.sentence.startswith("Measured: 0.00 levels (90% interval -0.02 to +0.02).")
