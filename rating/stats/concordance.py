"""Kendall's W: how far raters put units in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.fixed import Ordered, tally_ordered
from rating.stats.icc import refuse_incomplete


@dataclass(frozen=True)
class Concordance:
    """W, and the test of no common order: chi-square with units less one degrees of freedom."""

    w: float
    chi_square: float
    p: float


def kendall_w(levels: Floats, scale: Sequence[float]) -> Concordance:
    """Return Kendall's coefficient of concordance, corrected for ties.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The level each rater gave each unit; every rater on every unit.
    scale : sequence of float
        Every level that could be given, lowest first.

    Returns
    -------
    Concordance
        W is 1 where all raters rank the units alike and 0 where their ranks cancel out; with k
        raters and no common order it is 1 / k on average. The test is for many units.

    Raises
    ------
    Undefined
        If a rating is missing, there are fewer than two raters or units, or every rater gave one
        level throughout.

    References
    ----------
    Kendall and Babington Smith (1939), The problem of m rankings, Annals of Mathematical
    Statistics 10, 275-287; Siegel and Castellan (1988), Nonparametric Statistics, section 9.5.
    """
    from scipy.special import chdtrc

    ordered = tally_ordered(levels, scale)
    w = concordance(ordered)
    chi_square = ordered.n_raters * (ordered.n_units - 1) * w
    return Concordance(w, chi_square, float(chdtrc(ordered.n_units - 1, chi_square)))


def concordance(ordered: Ordered) -> float:
    """W alone, of ordered patterns. Raises ``Undefined`` as ``kendall_w`` does."""
    refuse_incomplete(ordered, "Kendall's W")
    if ordered.n_units < 2:
        raise Undefined("One unit has no order.")
    found = float(w_for_ordered(ordered, ordered.times[None, :].astype(np.float64))[0])
    if np.isnan(found):
        raise Undefined("Each rater gave one level throughout.")
    return found


def w_for_ordered(ordered: Ordered, times: Floats) -> Floats:
    """W in each draw of units; shape (replicates,). Units are ranked anew in each.

    A rater's rank of a unit is the middle of those that share its level. Ranks are taken from
    their mean.
    """
    n = times.sum(axis=1, keepdims=True)
    sums = np.zeros_like(times)
    spread = np.zeros(len(times))
    for own in ordered.places.T:
        at = _at_level(own, len(ordered.scale))
        used = times @ at
        ranks = np.cumsum(used, axis=1) - used / 2 - n / 2
        spread += (used * ranks**2).sum(axis=1)
        sums += ranks @ at.T
    highest = ordered.n_raters * spread
    w = np.full(len(times), np.nan)
    varied = spread > 1e-9
    w[varied] = (times * sums**2).sum(axis=1)[varied] / highest[varied]
    return w


def _at_level(places: Whole, n_levels: int) -> Floats:
    return np.asarray(places[:, None] == np.arange(n_levels), dtype=np.float64)
