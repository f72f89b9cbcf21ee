"""Gwet's AC1: agreement on named categories that does not break down where one is rare.

Item reviewers mostly agree that a criterion is met. Kappa and alpha then come out near zero, or
below, however often two people agree, because their chance term takes the rarity for chance.
"""

from collections.abc import Sequence

import numpy as np

from rating.stats.agreement import Floats, Patterns, Undefined, exact_share, tally, value


def ac1(levels: Floats, scale: Sequence[float]) -> float:
    """Return Gwet's AC1 for nominal categories.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The category each rater gave each unit, as a number, NaN where they gave none.
    scale : sequence of float
        Every category that could be given: at least two.

    Returns
    -------
    float
        No unit of measure: 1 is full agreement, 0 is chance, less is worse than chance. Over the
        units with two or more ratings, raters treated alike.

    Raises
    ------
    Undefined
        If no unit has two ratings, or there is but one category.
    ValueError
        If a category is not on the scale.

    References
    ----------
    Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
    agreement, British Journal of Mathematical and Statistical Psychology 61, 29-48.
    """
    if len(scale) < 2:
        raise Undefined("There is but one category.")
    return value(ac1_for_nominal, tally(levels, scale))


def ac1_for_nominal(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``ac1``.

    Chance agreement is the sum of p(1 - p) over the categories, divided by their number less one,
    where p is the mean share of a category in a unit.
    """
    observed = exact_share(pairable, times)
    counts = pairable.counts.astype(np.float64)
    shares = times @ (counts / counts.sum(axis=1, keepdims=True)) / times.sum(axis=1)[:, None]
    chance = (shares * (1 - shares)).sum(axis=1) / (len(pairable.scale) - 1)
    return np.asarray((observed - chance) / (1 - chance))
