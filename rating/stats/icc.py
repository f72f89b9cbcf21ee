"""Intraclass correlations: how much of the variance of ratings lies between units.

They read levels as numbers with equal steps. The names are Shrout and Fleiss's: the first figure
is the model (1: raters differ from unit to unit; 2: raters are a sample, all rate all; 3: these
raters alone), the second is how many ratings the number is the reliability of, one or the mean of
k. Models 1 and 2 ask for the same level, model 3 for the same order and distances.
"""

from collections.abc import Callable
from math import inf, nan
from typing import Final

import numpy as np

from rating.stats.agreement import COVERAGE, Estimate, Patterns, Undefined, pairable_of
from rating.stats.fixed import NO_RATING, Ordered

NO_VARIANCE: Final = "All ratings are one level."
NO_ERROR: Final = "The raters differ by nothing that a range could be told from."
NO_LOWER_END: Final = "It has no lower end: the one for a single rater lies below -1 / (k - 1)."
MEANS_ALIKE: Final = "All units have the same mean, so the mean of the raters tells nothing apart."


def icc_1(patterns: Patterns, *, averaged: bool = False) -> Estimate:
    """Return ICC(1,1), or ICC(1,k) where ``averaged``, by one-way analysis of variance.

    Parameters
    ----------
    patterns : Patterns
        Units with two or more ratings are read. Their raters may be anyone.

    Returns
    -------
    Estimate
        The 95% interval is exact for normal ratings where all units have as many, and else
        approximate, from the plain variance of the units' means and the harmonic mean of their
        numbers. It says how far the number would move with other units and other raters like
        these, one drawn for each rating.

    Raises
    ------
    Undefined
        If fewer than two units have two ratings, nothing varies, or a mean of k ratings is asked
        for where units have unequal numbers.

    References
    ----------
    Shrout and Fleiss (1979), Intraclass correlations: uses in assessing rater reliability,
    Psychological Bulletin 86, 420-428; for unequal numbers Donner (1986), A review of inference
    procedures for the intraclass correlation coefficient in the one-way random effects model,
    International Statistical Review 54, 67-82, and Thomas and Hultquist (1978), Interval
    estimation for the unbalanced case of the one-way random effects model, Annals of Statistics
    6, 582-587.
    """
    pairable = pairable_of(patterns)
    times, counts = pairable.times, pairable.counts.astype(np.float64)
    steps = np.array(pairable.scale)
    in_unit, n = counts.sum(axis=1), pairable.n_units
    _refuse_few_units(n)
    if averaged and np.ptp(in_unit) > 0:
        raise Undefined(
            f"Units have {in_unit.min():.0f} to {in_unit.max():.0f} ratings, so there is no one "
            f"number of ratings to take the mean of."
        )
    ratings = float(times @ in_unit)
    means = counts @ steps / in_unit
    grand = float(times @ (means * in_unit)) / ratings
    between = float(times @ (in_unit * (means - grand) ** 2)) / (n - 1)
    inside = times @ (counts * (steps - means[:, None]) ** 2).sum(axis=1)
    within = float(inside) / (ratings - n)
    if between + within < 1e-12:
        raise Undefined(NO_VARIANCE)
    usual = (ratings - float(times @ in_unit**2) / ratings) / (n - 1)
    harmonic = n / float(times @ (1 / in_unit))
    plain = float(times @ (means - float(times @ means) / n) ** 2) / (n - 1)
    single = _ratio(between - within, between + (usual - 1) * within)
    raise_to = _spearman_brown(usual) if averaged else _itself
    if averaged and between < 1e-12:
        raise Undefined(MEANS_ALIKE)
    if within < 1e-12 or plain < 1e-12:
        return _within(raise_to(single), why=NO_ERROR)
    low, high = _f_limits(harmonic * plain / within, n - 1, ratings - n)
    ends = [raise_to((f - 1) / (f + harmonic - 1)) for f in (low, high)]
    return _within(raise_to(single), *ends)


def icc_2(ordered: Ordered, *, averaged: bool = False) -> Estimate:
    """Return ICC(2,1), or ICC(2,k) where ``averaged``: raters as a sample, absolute agreement.

    Parameters
    ----------
    ordered : Ordered
        Units that every rater rated.

    Returns
    -------
    Estimate
        The 95% interval is McGraw and Wong's, with Satterthwaite's degrees of freedom; that of
        ICC(2,k) is the Spearman-Brown transform of that of ICC(2,1), as the number itself is. It
        says how far the number would move with other units and other raters like these.

    Raises
    ------
    Undefined
        If a rating is missing, there are fewer than two raters or units, or nothing varies.

    References
    ----------
    Shrout and Fleiss (1979), as for ``icc_1``; McGraw and Wong (1996), Forming inferences about
    some intraclass correlation coefficients, Psychological Methods 1, 30-46, with the corrections
    on page 390.
    """
    from scipy.special import fdtri

    units, raters, residual, n, k = _two_way(ordered)
    if averaged and units < 1e-12:
        raise Undefined(MEANS_ALIKE)
    raise_to = _spearman_brown(k) if averaged else _itself
    found = _ratio(units - residual, units + (k - 1) * residual + k * (raters - residual) / n)
    if residual < 1e-12 and raters < 1e-12:
        return _within(raise_to(found), why=NO_ERROR)
    if units < 1e-12:
        return _within(raise_to(found), why=MEANS_ALIKE)
    a = k * found / (n * (1 - found))
    b = 1 + k * found * (n - 1) / (n * (1 - found))
    freedom = (a * raters + b * residual) ** 2 / (
        (a * raters) ** 2 / (k - 1) + (b * residual) ** 2 / ((n - 1) * (k - 1))
    )
    outside = (1 - COVERAGE) / 2
    upper = float(fdtri(n - 1, freedom, 1 - outside))
    lower = float(fdtri(freedom, n - 1, 1 - outside))
    noise = k * raters + (k * n - k - n) * residual
    low = n * (units - upper * residual) / (upper * noise + n * units)
    high = n * (lower * units - residual) / (noise + n * lower * units)
    return _within(raise_to(found), raise_to(low), raise_to(high))


def icc_3(ordered: Ordered, *, averaged: bool = False) -> Estimate:
    """Return ICC(3,1), or ICC(3,k) where ``averaged``: these raters, consistency.

    A rater who is always a level higher costs nothing here. The interval is McGraw and Wong's:
    these raters, other units. Parameters, errors and sources are as for ``icc_2``.
    """
    units, _, residual, n, k = _two_way(ordered)
    if averaged and units < 1e-12:
        raise Undefined(MEANS_ALIKE)
    raise_to = _spearman_brown(k) if averaged else _itself
    found = _ratio(units - residual, units + (k - 1) * residual)
    if residual < 1e-12 or units < 1e-12:
        return _within(raise_to(found), why=NO_ERROR if residual < 1e-12 else MEANS_ALIKE)
    low, high = _f_limits(units / residual, n - 1, (n - 1) * (k - 1))
    ends = [raise_to((f - 1) / (f + k - 1)) for f in (low, high)]
    return _within(raise_to(found), *ends)


def refuse_incomplete(ordered: Ordered, what: str) -> None:
    """Raise ``Undefined``, with how much is missing, unless every rater rated every unit."""
    if not ordered.n_units:
        raise Undefined("There are no ratings.")
    if ordered.n_raters < 2:
        raise Undefined("No unit has two ratings.")
    if not ordered.complete:
        short = (ordered.places == NO_RATING).any(axis=1)
        n_short, n = int(ordered.times[short].sum()), ordered.n_units
        raise Undefined(
            f"{what} needs every rater on every unit, but {n_short:,} of {n:,} units lack a "
            f"rating by some of the {ordered.n_raters:,} raters."
        )


def _two_way(ordered: Ordered) -> tuple[float, float, float, int, int]:
    """Mean squares of units, raters and the residual; the numbers of units and raters."""
    refuse_incomplete(ordered, "An ICC of model 2 or 3")
    levels, times = np.array(ordered.scale)[ordered.places], ordered.times
    n, k = ordered.n_units, ordered.n_raters
    _refuse_few_units(n)
    of_unit, of_rater = levels.mean(axis=1), times @ levels / n
    grand = float(times @ of_unit) / n
    units = k * float(times @ (of_unit - grand) ** 2) / (n - 1)
    raters = n * float(((of_rater - grand) ** 2).sum()) / (k - 1)
    left = levels - of_unit[:, None] - of_rater + grand
    residual = float(times @ (left**2).sum(axis=1)) / ((n - 1) * (k - 1))
    if units + raters + residual < 1e-12:
        raise Undefined(NO_VARIANCE)
    if units + residual < 1e-12:
        raise Undefined("Each rater gave one level throughout.")
    return units, raters, residual, n, k


def _refuse_few_units(n: int) -> None:
    if n < 2:
        raise Undefined("One unit has no variance between units.")


def _f_limits(ratio: float, between: float, within: float) -> tuple[float, float]:
    """The 95% limits of a ratio of mean squares, with their degrees of freedom."""
    from scipy.special import fdtri

    outside = (1 - COVERAGE) / 2
    low = ratio / float(fdtri(between, within, 1 - outside))
    return low, ratio * float(fdtri(within, between, 1 - outside))


def _within(found: float, low: float = nan, high: float = nan, *, why: str = "") -> Estimate:
    """The estimate, with what is wrong with its interval in words."""
    if found == -inf:
        raise Undefined("The mean of k raters has no reliability: single ratings agree too badly.")
    if why:
        return Estimate(found, reason=why)
    if low == -inf:
        return Estimate(found, reason=NO_LOWER_END)
    return Estimate(found, None, low, high)


def _ratio(upper: float, lower: float) -> float:
    if abs(lower) < 1e-12:
        raise Undefined("The ratings are too few: the variances cancel out.")
    return upper / lower


def _itself(single: float) -> float:
    return single


def _spearman_brown(k: float) -> Callable[[float], float]:
    """How reliable the mean of k ratings is where a single one is so reliable.

    At and below -1 / (k - 1), which a single one can come to in model 2, there is no such number.
    """

    def mean_of_k(single: float) -> float:
        lower = 1 + (k - 1) * single
        return k * single / lower if lower > 1e-12 else -inf

    return mean_of_k
