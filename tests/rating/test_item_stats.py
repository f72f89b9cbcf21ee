"""What ratings say of one item, held to values worked out by hand."""

import random

import numpy as np
import pytest

from rating.stats import items
from rating.stats.agreement import Undefined, percent_exact, percent_within_one

SCALE = [1, 2, 3, 4, 5]


def crossed(*ratings: tuple[int, int], scale=SCALE):
    table = np.zeros((len(scale), len(scale)), dtype=np.int64)
    for first, second in ratings:
        table[scale.index(first), scale.index(second)] += 1
    return table


def test_the_figures_of_four_responses_worked_by_hand():
    """Ratings 2 2, 3 4, 5 3, 1 1: mean 21/8; squares 4+4+9+16+25+9+1+1 = 69."""
    table = crossed((2, 2), (3, 4), (5, 3), (1, 1))

    assert items.mean_level(table, SCALE) == pytest.approx(21 / 8)
    assert items.spread(table, SCALE) == pytest.approx(((69 - 8 * (21 / 8) ** 2) / 7) ** 0.5)
    assert items.anchor_use(table).tolist() == [2, 2, 2, 1, 1]
    assert (items.same_level(table), items.within_one(table, SCALE)) == (2, 3)


def test_the_interval_counts_a_response_once():
    """Means 2, 3.5, 4, 1, so deviation 1.3769; Student's t for 3 degrees of freedom is 3.1824."""
    limits = items.mean_limits(crossed((2, 2), (3, 4), (5, 3), (1, 1)), SCALE)

    assert limits.high == pytest.approx(2.625 + 3.1824 * 1.3769 / 2, abs=1e-3)
    assert limits.low == 1  # 0.434 lies beyond the scale


def test_what_the_ratings_leave_open_says_why():
    none = crossed()

    for ask in (items.mean_level, items.spread):
        with pytest.raises(Undefined, match="No response has two ratings yet"):
            ask(none, SCALE)
    with pytest.raises(Undefined, match="at least two responses"):
        items.mean_limits(crossed((2, 3)), SCALE)
    with pytest.raises(Undefined, match="All 2 responses have the same mean"):
        items.mean_limits(crossed((2, 3), (3, 2)), SCALE)


def test_agreement_is_that_of_the_coefficients_of_the_report():
    random.seed(11)
    for _ in range(30):
        ratings = [(random.choice(SCALE), random.choice(SCALE)) for _ in range(20)]
        table, levels = crossed(*ratings), np.array(ratings, dtype=np.float64).T
        assert items.same_level(table) / 20 == pytest.approx(percent_exact(levels, SCALE))
        assert items.within_one(table, SCALE) / 20 == pytest.approx(
            percent_within_one(levels, SCALE)
        )


def test_no_figure_depends_on_which_rating_came_first():
    random.seed(12)
    ratings = [(random.choice(SCALE), random.choice(SCALE)) for _ in range(20)]
    one, other = crossed(*ratings), crossed(*((b, a) for a, b in ratings))

    for ask in (items.mean_level, items.spread, items.within_one, items.mean_limits):
        assert ask(one, SCALE) == ask(other, SCALE)


def test_discrimination_is_the_correlation_with_the_rest():
    item = np.array([1.0, 2, 3, 4, 5])
    rest = np.array([2.0, 1, 4, 3, 5])  # Spearman's and Pearson's 0.8

    assert items.discrimination(item, rest) == pytest.approx(0.8)
    assert items.discrimination(item, -rest) == pytest.approx(-0.8)
    assert items.discrimination(item, 3 + 0.1 * item) == pytest.approx(1)


def test_discrimination_says_why_there_is_none():
    few, flat, rising = np.array([1.0, 2, 3, 4]), np.full(5, 3.0), np.arange(5.0)

    with pytest.raises(Undefined, match="at least 5 subjects; there are 4"):
        items.discrimination(few, few)
    with pytest.raises(Undefined, match="on this item"):
        items.discrimination(flat, rising)
    with pytest.raises(Undefined, match="on the other items"):
        items.discrimination(rising, flat)
