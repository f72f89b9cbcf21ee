"""Agreement corrected for chance, with raters treated alike: AC1 and AC2, Fleiss, Brennan-Prediger.

All are (observed - chance) / (1 - chance) with one observed agreement, the mean over units of the
weighted share of agreeing pairs of ratings. They differ in what they take for chance. Units with
one rating have no pair, but their level counts among the levels that people choose.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np

from rating.stats.agreement import (
    COVERAGE,
    Coefficient,
    Estimate,
    Floats,
    Patterns,
    Undefined,
    Whole,
    pairable_of,
    tally,
)
from rating.stats.weights import identity

ONE_LEVEL = "All ratings are one level."
NO_WIDTH = "Every unit agrees as much as the next, so there is nothing to tell a range from."
ONE_UNIT = "One unit does not say how far units differ."

#: Takes shares of levels, shape (replicates, levels), and weights; returns what agrees by chance,
#: shape (replicates,), and how a unit's own shares move that, shape (replicates, levels).
Chance = Callable[[Floats, Floats], tuple[Floats, Floats]]


def ac1(levels: Floats, scale: Sequence[float]) -> float:
    """Return Gwet's AC1 for nominal categories.

    Agreement on named categories that does not break down where one is rare. Item reviewers mostly
    agree that a criterion is met; kappa and alpha then come out near zero however often two people
    agree, because their chance term takes the rarity for chance.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The category each rater gave each unit, as a number, NaN where they gave none.
    scale : sequence of float
        Every category that could be given: at least two.

    Returns
    -------
    float
        No unit of measure: 1 is full agreement, 0 is chance, less is worse than chance.

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
    return estimate(gwet_chance, tally(levels, scale), identity(len(scale))).value


def gwet_chance(shares: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Chance as Gwet has it: the sum of p(1 - p), times the sum of the weights over q(q - 1)."""
    n_levels = shares.shape[1]
    factor = weights.sum() / (n_levels * (n_levels - 1))
    return factor * (shares * (1 - shares)).sum(axis=1), factor * (1 - shares)


def fleiss_chance(shares: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Chance as Fleiss (1971) has it: two ratings drawn from the pooled shares of levels."""
    expected = shares @ weights
    return (expected * shares).sum(axis=1), expected


def uniform_chance(shares: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Chance as Brennan and Prediger (1981) have it: all levels of the scale alike."""
    expected = np.full_like(shares, weights.mean())
    return expected[:, 0], expected


def coefficient(chance: Chance, weights: Floats) -> Coefficient:
    """The coefficient of patterns and draws, as ``interval`` and others take it."""

    def of(patterns: Patterns, times: Floats) -> Floats:
        observed, shares = _observed(patterns, times, weights)
        expected, _ = chance(shares, weights)
        return _corrected(observed, expected)

    return of


def estimate(chance: Chance, patterns: Patterns, weights: Floats) -> Estimate:
    """Return a coefficient with its linearised standard error and 95% interval.

    Parameters
    ----------
    chance : function
        ``gwet_chance`` for AC1 and AC2, ``fleiss_chance`` or ``uniform_chance``.
    patterns : Patterns
        All units with a rating.
    weights : array, shape (levels, levels)
        How much two levels agree; ``identity`` gives AC1 and plain kappas, the others AC2.

    Returns
    -------
    Estimate
        The interval is by Student's t with a degree of freedom less than units, cut at 1. It says
        how far the number would move with these raters and other units.

    Raises
    ------
    Undefined
        If no unit has two ratings, the scale has one level, or chance agreement is full.

    References
    ----------
    Gwet (2008), as above; Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition, chapters
    2 to 5; Fleiss (1971), Measuring nominal scale agreement among many raters, Psychological
    Bulletin 76, 378-382; Brennan and Prediger (1981), Coefficient kappa: some uses, misuses, and
    alternatives, Educational and Psychological Measurement 41, 687-699.
    """
    if len(patterns.scale) < 2:
        raise Undefined("There is but one category.")
    pairable_of(patterns)
    times = patterns.times[None, :].astype(np.float64)
    observed, shares = _observed(patterns, times, weights)
    expected, moved = chance(shares, weights)
    found = float(_corrected(observed, expected)[0])
    if np.isnan(found):
        raise Undefined(ONE_LEVEL)
    counts, in_unit = patterns.counts.astype(np.float64), patterns.counts.sum(axis=1)
    pairs = agreeing(patterns.counts, weights)
    lift = patterns.n_units / patterns.pairable.n_units
    left = 1 - expected[0]
    own = lift * (pairs - expected[0] * (in_unit > 1)) / left
    of_unit = counts @ moved[0] / in_unit
    own -= 2 * (1 - found) * (of_unit - expected[0]) / left
    return linearised(found, own - found, patterns.times)


def linearised(value: float, influence: Floats, times: Whole) -> Estimate:
    """An estimate whose units move it by ``influence``; ``times`` is how many units do so each."""
    n = int(times.sum())
    if n < 2:
        return Estimate(value, reason=ONE_UNIT)
    error = sqrt(float(times @ influence**2) / (n * (n - 1)))
    return by_t(value, error, n - 1)


def by_t(value: float, error: float, freedom: float) -> Estimate:
    """An estimate with its 95% interval by Student's t, cut at 1."""
    from scipy.special import stdtrit

    if error < 1e-12:
        return Estimate(value, 0.0, reason=NO_WIDTH)
    half = float(stdtrit(freedom, (1 + COVERAGE) / 2)) * error
    return Estimate(value, error, value - half, min(1.0, value + half))


def agreeing(counts: Whole, weights: Floats) -> Floats:
    """The weighted share of agreeing pairs of ratings in each pattern, 0 where there is no pair.

    ``counts`` has shape (patterns, levels).
    """
    in_unit = counts.sum(axis=1)
    pairs = (counts * (counts @ weights - 1)).sum(axis=1)
    return np.asarray(pairs / np.maximum(in_unit * (in_unit - 1), 1))


def _observed(patterns: Patterns, times: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Observed agreement, shape (replicates,), and mean shares of levels, (replicates, levels)."""
    in_unit = patterns.counts.sum(axis=1)
    paired = times @ (in_unit > 1)
    pairs = times @ agreeing(patterns.counts, weights)
    observed = np.divide(pairs, paired, out=np.full(len(times), np.nan), where=paired > 0)
    shares = times @ (patterns.counts / in_unit[:, None]) / times.sum(axis=1, keepdims=True)
    return observed, shares


def _corrected(observed: Floats, expected: Floats) -> Floats:
    left = 1 - expected
    return np.asarray(
        np.divide(
            observed - expected, left, out=np.full(len(left), np.nan), where=np.abs(left) > 1e-12
        )
    )
