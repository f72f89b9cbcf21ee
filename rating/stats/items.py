"""What the ratings of one item say about the item.

Two people rate each response, so all that matters here is a square table: how many responses had
which level as their first and which as their second rating.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from rating.stats.agreement import COVERAGE, Floats, Undefined, Whole, near

FEWEST_SUBJECTS = 5  # with fewer, a correlation over subjects says next to nothing


@dataclass(frozen=True)
class Limits:
    """A 95% range for these raters with other responses."""

    low: float
    high: float


def mean_level(crossed: Whole, scale: Sequence[float]) -> float:
    """Return the mean of all ratings.

    Parameters
    ----------
    crossed : array, shape (levels, levels)
        The responses whose first rating is the level of the row and whose second is that of the
        column.
    scale : sequence of float
        The levels, lowest first.

    Returns
    -------
    float
        On the scale of levels.

    Raises
    ------
    Undefined
        If no response has two ratings.
    """
    use = anchor_use(crossed)
    if not use.sum():
        raise Undefined("No response has two ratings yet.")
    return float(use @ np.array(scale, dtype=np.float64) / use.sum())


def mean_limits(crossed: Whole, scale: Sequence[float]) -> Limits:
    """Return the 95% interval of the mean level, by Student's t over the means of responses.

    The two ratings of a response are not independent, so a response counts once. What would lie
    beyond the scale is cut off at its ends.

    Raises
    ------
    Undefined
        If fewer than two responses have two ratings, or all have one mean.

    References
    ----------
    Student (1908), The probable error of a mean, Biometrika 6, 1-25.
    """
    from scipy.stats import t  # slow to load

    steps = np.array(scale, dtype=np.float64)
    n = int(crossed.sum())
    if n < 2:
        raise Undefined(f"It takes at least two responses with two ratings; there are {n}.")
    means = (steps[:, None] + steps[None, :]) / 2
    mean = float((crossed * means).sum() / n)
    variance = float((crossed * (means - mean) ** 2).sum() / (n - 1))
    if variance < 1e-12:
        raise Undefined(f"All {n} responses have the same mean.")
    half = float(t.ppf((1 + COVERAGE) / 2, n - 1)) * sqrt(variance / n)
    return Limits(max(mean - half, float(steps[0])), min(mean + half, float(steps[-1])))


def spread(crossed: Whole, scale: Sequence[float]) -> float:
    """Return the standard deviation of all ratings, with n - 1 below the line.

    Returns
    -------
    float
        On the scale of levels.

    Raises
    ------
    Undefined
        If no response has two ratings.
    """
    use, steps = anchor_use(crossed), np.array(scale, dtype=np.float64)
    mean = mean_level(crossed, scale)
    return sqrt(float(use @ (steps - mean) ** 2) / (int(use.sum()) - 1))


def anchor_use(crossed: Whole) -> Whole:
    """Return how many ratings each level had, shape (levels,)."""
    return np.asarray(crossed.sum(axis=0) + crossed.sum(axis=1), dtype=np.int64)


def same_level(crossed: Whole) -> int:
    """Return the responses whose two ratings are one level."""
    return int(np.trace(crossed))


def within_one(crossed: Whole, scale: Sequence[float]) -> int:
    """Return the responses whose two ratings are at most one apart, on the scale of levels."""
    return int(crossed[near(scale)].sum())


def discrimination(item: Floats, rest: Floats) -> float:
    """Return how far an item tells subjects apart as the others of its dimension do.

    Pearson's correlation of the mean of the item with the mean of the other items: corrected, in
    that the item is no part of what it is held against.

    Parameters
    ----------
    item : array, shape (subjects,)
        The mean level of each subject on the item.
    rest : array, shape (subjects,)
        The mean level of the same subjects on the other items.

    Returns
    -------
    float
        From -1 to 1; at 0 the item says nothing of what the others measure.

    Raises
    ------
    Undefined
        If there are fewer than five subjects, or all have one mean on either side.

    References
    ----------
    Henrysson (1963), Correction of item-total correlations in item analysis, Psychometrika 28,
    211-218.
    """
    if len(item) < FEWEST_SUBJECTS:
        raise Undefined(f"It takes at least {FEWEST_SUBJECTS} subjects; there are {len(item)}.")
    one, other = item - item.mean(), rest - rest.mean()
    if (one @ one) < 1e-12:
        raise Undefined("All subjects have the same mean on this item.")
    if (other @ other) < 1e-12:
        raise Undefined("All subjects have the same mean on the other items.")
    return float(np.clip(one @ other / sqrt((one @ one) * (other @ other)), -1, 1))
