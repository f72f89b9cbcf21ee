"""Krippendorff's alpha for nominal, interval and ratio levels, and standard errors of any alpha.

Ordinal alpha stands in ``agreement``, with the table of patterns that all of them read.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from rating.stats.agreement import (
    CELLS,
    Coefficient,
    Estimate,
    Floats,
    Patterns,
    Undefined,
    alpha_of_scores,
    pairable_of,
    tally,
    value,
)
from rating.stats.chance import by_t, linearised

MOST_KINDS = 4_000  # patterns left out one by one


def nominal_alpha(levels: Floats, scale: Sequence[float]) -> float:
    """Return Krippendorff's alpha where levels are names, and two differ or do not.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The level each rater gave each unit, NaN where they gave none.
    scale : sequence of float
        Every level that could be given, lowest first.

    Returns
    -------
    float
        No unit of measure: 1 is full agreement, 0 is chance, less is worse than chance.

    Raises
    ------
    Undefined
        If no unit has two ratings, or all paired ratings are one level.
    ValueError
        If a level is not on the scale.

    References
    ----------
    Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    return value(alpha_for_nominal, tally(levels, scale))


def interval_alpha(levels: Floats, scale: Sequence[float]) -> float:
    """Return Krippendorff's alpha where two levels differ by the square of their distance.

    Distances are in units of the scale. The rest is as for ``nominal_alpha``.
    """
    return value(alpha_for_interval, tally(levels, scale))


def ratio_alpha(levels: Floats, scale: Sequence[float]) -> float:
    """Return Krippendorff's alpha where c and k differ by ((c - k) / (c + k))^2.

    For levels with a true zero, such as counts. The rest is as for ``nominal_alpha``; a scale
    with a level below 0 is a ``ValueError``.
    """
    if min(scale) < 0:
        raise ValueError(f"A ratio scale begins at 0 or above, not at {min(scale):g}.")
    return value(alpha_for_ratio, tally(levels, scale))


def alpha_for_nominal(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``nominal_alpha``."""
    return alpha_of_differences(pairable, times, 1 - np.eye(len(pairable.scale)))


def alpha_for_interval(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``interval_alpha``."""
    return alpha_of_scores(pairable, times, np.array([pairable.scale]))


def alpha_for_ratio(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``ratio_alpha``."""
    steps = np.array(pairable.scale)
    total = steps[:, None] + steps
    apart = steps[:, None] - steps
    relative = np.divide(apart, total, out=np.zeros_like(apart), where=total > 0)
    return alpha_of_differences(pairable, times, relative**2)


def alpha_of_differences(pairable: Patterns, times: Floats, differences: Floats) -> Floats:
    """Alpha from the difference of each two levels, shape (levels, levels)."""
    counts = pairable.counts.astype(np.float64)
    in_unit = counts.sum(axis=1)
    totals = times @ counts
    n = totals.sum(axis=1)
    within = ((counts @ differences) * counts).sum(axis=1) / (in_unit - 1)
    observed = times @ within / n
    expected = ((totals @ differences) * totals).sum(axis=1) / (n * (n - 1))
    varied = (totals > 0).sum(axis=1) > 1
    alpha = np.full(len(times), np.nan)
    alpha[varied] = 1 - observed[varied] / expected[varied]
    return alpha


def alpha_estimate(patterns: Patterns, weights: Floats) -> Estimate:
    """Return alpha with its linearised standard error, for fixed differences between levels.

    Parameters
    ----------
    patterns : Patterns
        All units with a rating; those with one alone are left out.
    weights : array, shape (levels, levels)
        One less the difference of two levels: ``identity`` for nominal alpha, ``quadratic`` for
        interval alpha on a scale of equal steps.

    Returns
    -------
    Estimate
        The interval is by Student's t with a degree of freedom less than pairable units. It says
        how far alpha would move with these raters and other units.

    Raises
    ------
    Undefined
        If no unit has two ratings, or all paired ratings are one level.

    References
    ----------
    Gwet (2011), On the Krippendorff's alpha coefficient; the share of observed agreement that
    varies with the number of ratings is that of its corrected version, which an infinitesimal
    jackknife confirms.
    """
    pairable = pairable_of(patterns)
    counts, times = pairable.counts.astype(np.float64), pairable.times
    in_unit = counts.sum(axis=1)
    mean = float(times @ in_unit / times.sum())
    pairs = (counts * (counts @ weights - 1)).sum(axis=1) / (mean * (in_unit - 1))
    plain = float(times @ pairs / times.sum())
    correction = 1 / float(times @ in_unit)
    shares = times @ counts / (mean * times.sum())
    expected = float(shares @ weights @ shares)
    if 1 - expected < 1e-12:
        raise Undefined("All paired ratings are one level.")
    uneven = (in_unit - mean) / mean
    uncorrected = (plain - expected) / (1 - expected)
    own = (pairs - plain * uneven - expected) / (1 - expected)
    of_unit = counts @ (weights @ shares) / mean - expected * uneven
    own -= 2 * (1 - uncorrected) * (of_unit - expected) / (1 - expected)
    found = ((1 - correction) * plain + correction - expected) / (1 - expected)
    return linearised(found, own - uncorrected, times)


def jackknife_estimate(coefficient: Coefficient, patterns: Patterns) -> Estimate:
    """Return a coefficient with its jackknife error and 95% interval by Student's t, cut at 1.

    These raters, other units; for few units it holds the truth more often than percentiles do.
    Raises ``Undefined`` as ``jackknife_error`` does.
    """
    error = jackknife_error(coefficient, patterns)
    return by_t(value(coefficient, patterns), error, patterns.pairable.n_units - 1)


def jackknife_error(coefficient: Coefficient, patterns: Patterns) -> float:
    """Return the standard error of a coefficient by leaving out one pairable unit at a time.

    Units of one pattern give the same number, so each pattern is left out once.

    Raises
    ------
    Undefined
        If there is one pairable unit, the coefficient has no value without one of them, or there
        are more than 4,000 patterns of units.

    References
    ----------
    Efron and Stein (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596.
    """
    value(coefficient, patterns)
    pairable = pairable_of(patterns)
    n = pairable.n_units
    if n < 2:
        raise Undefined("One unit does not say how far units differ.")
    kinds = len(pairable.times)
    if kinds > MOST_KINDS:
        raise Undefined(f"There are {kinds:,} patterns of units, too many to leave each out.")
    values = np.empty(kinds)
    batch = max(1, CELLS // kinds)
    for start in range(0, kinds, batch):
        left_out = np.arange(start, min(start + batch, kinds))
        times = np.repeat(pairable.times[None, :].astype(np.float64), len(left_out), axis=0)
        times[np.arange(len(left_out)), left_out] -= 1
        values[left_out] = coefficient(pairable, times)
    if np.isnan(values).any():
        raise Undefined("Without one of the units, all paired ratings are one level.")
    mean = float(pairable.times @ values) / n
    return sqrt((n - 1) / n * float(pairable.times @ (values - mean) ** 2))
