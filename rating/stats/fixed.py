"""Kappas that know who rated: Cohen's for a fixed pair, Conger's and Light's for a fixed panel.

Here it matters which rater gave which level, so units are tallied into ordered patterns. Where
"first" and "second" rater are just whoever came first, these numbers mean nothing: swapping the
two in half of the units changes them. Fleiss, AC1 and alpha are for such pools.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import (
    COVERAGE,
    Estimate,
    Floats,
    Undefined,
    Whole,
    checked_scale,
    places_on,
)
from rating.stats.chance import NO_WIDTH, ONE_UNIT, agreeing, linearised

NO_RATING: Final = -1
FEW_KEYS: Final = 2**20  # patterns that could be, so that they are counted without a sort
MOST_CELLS: Final = 2**27  # units x raters of a table held at once


@dataclass(frozen=True)
class Ordered:
    """Units with at least one rating, as distinct ordered patterns.

    ``places`` has shape (patterns, raters): the place on the scale that each rater gave, from 0,
    or -1 for no rating. ``times`` has shape (patterns,): how many units are such. No rater is
    without a rating.
    """

    scale: tuple[float, ...]
    places: Whole
    times: Whole

    @property
    def n_units(self) -> int:
        return int(self.times.sum())

    @property
    def n_raters(self) -> int:
        return int(self.places.shape[1])

    @property
    def in_unit(self) -> Whole:
        """Shape (patterns,): the ratings of such a unit."""
        return np.asarray((self.places != NO_RATING).sum(axis=1))

    @property
    def counts(self) -> Whole:
        """Shape (patterns, levels): how often each level was chosen in such a unit."""
        levels = range(len(self.scale))
        return np.stack([(self.places == level).sum(axis=1) for level in levels], axis=1)

    @property
    def pairable(self) -> "Ordered":
        """Only the units with two or more ratings. All raters stay."""
        paired = self.in_unit >= 2
        return Ordered(self.scale, self.places[paired], self.times[paired])

    @property
    def complete(self) -> bool:
        """Whether every rater rated every unit."""
        return bool((self.places != NO_RATING).all())

    def pair(self, first: int, second: int) -> "Ordered":
        """The units that both of two raters rated, of these two alone."""
        places = self.places[:, [first, second]]
        both = (places != NO_RATING).all(axis=1)
        return Ordered(self.scale, places[both], self.times[both])


def tally_ordered(levels: Floats, scale: Sequence[float]) -> Ordered:
    """Count the ordered patterns in an array of shape (raters, units), NaN for no rating.

    Units and raters without any rating are dropped. Raises ``ValueError`` for a level that is not
    on the scale.
    """
    steps = checked_scale(scale)
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 2:
        raise ValueError(f"Levels have shape (raters, units), but these have {levels.shape}.")
    table = np.empty(levels.shape[::-1], dtype=np.int8)
    for rater, row in enumerate(levels):  # so that one row of places is in memory beside it
        places = places_on(row, steps)
        table[:, rater] = np.where(places < len(steps), places, NO_RATING)
    rated = table != NO_RATING
    if not rated.all():
        table = table[rated.any(axis=1)][:, rated.any(axis=0)]
    return _kinds(table, steps)


def tally_ordered_rows(rater: Whole, unit: Whole, place: Whole, scale: Sequence[float]) -> Ordered:
    """Count the ordered patterns in ratings given as rows.

    Parameters
    ----------
    rater, unit, place : array, shape (ratings,)
        For each rating a number of its rater and of its unit, and the place of its level on the
        scale, from 0. A rater twice in a unit cannot be seen here; the report refuses it.
    scale : sequence of float
        Every level that could be given, lowest first.

    Raises
    ------
    Undefined
        If units times raters would not fit in memory.
    """
    steps = checked_scale(scale)
    raters, rater = np.unique(rater, return_inverse=True)
    units, unit = np.unique(unit, return_inverse=True)
    if len(raters) * len(units) > MOST_CELLS:
        raise Undefined(
            f"A table of {len(units):,} units by {len(raters):,} raters is too large to hold."
        )
    table = np.full((len(units), len(raters)), NO_RATING, dtype=np.int8)
    table[unit, rater] = place
    return _kinds(table, steps)


def _kinds(table: NDArray[np.int8], steps: Floats) -> Ordered:
    """The distinct rows of a table of places, shape (units, raters), and how often each is there."""
    base, n_raters = len(steps) + 1, table.shape[1]
    if n_raters * np.log2(base) > 62:  # more than one whole number can hold
        kinds, times = np.unique(table, axis=0, return_counts=True)
        return Ordered(tuple(steps.tolist()), kinds.astype(np.int64), times.astype(np.int64))
    keys = np.zeros(len(table), dtype=np.int64)
    for own in table.T:
        keys = keys * base + (own + 1)
    if base**n_raters <= FEW_KEYS:
        times = np.bincount(keys, minlength=1)
        distinct = np.flatnonzero(times)
        times = times[distinct]
    else:
        distinct, times = np.unique(keys, return_counts=True)
    powers = base ** np.arange(n_raters - 1, -1, -1)
    return Ordered(tuple(steps.tolist()), distinct[:, None] // powers % base - 1, times)


def cohen(levels: Floats, scale: Sequence[float], weights: Floats) -> Estimate:
    """Return Cohen's kappa of two raters, over the units that both rated.

    Parameters
    ----------
    levels : array, shape (2, units)
        The level each of the two gave each unit, NaN where they gave none.
    scale : sequence of float
        Every level that could be given, lowest first.
    weights : array, shape (levels, levels)
        How much two levels agree: ``identity``, ``linear`` or ``quadratic`` of ``weights``.

    Returns
    -------
    Estimate
        The standard error is for many units, and the 95% interval is by the normal distribution,
        cut at 1. It says how far kappa would move with these two raters and other units.

    Raises
    ------
    Undefined
        If the raters are not two, no unit was rated by both, or both gave one level throughout.
    ValueError
        If a level is not on the scale.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales; Cohen (1968), Weighted kappa;
    Fleiss, Cohen and Everitt (1969), Large sample standard errors of kappa and weighted kappa,
    Psychological Bulletin 72, 323-327.
    """
    return cohen_estimate(tally_ordered(levels, scale), weights)


def cohen_estimate(ordered: Ordered, weights: Floats) -> Estimate:
    """As ``cohen``, of ordered patterns."""
    from scipy.special import ndtri

    shares, n = _crossed(ordered, len(weights))
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((weights * shares).sum()), float(rows @ weights @ columns)
    left = 1 - expected
    if left < 1e-12:
        raise Undefined("Both raters gave one and the same level throughout.")
    found = (observed - expected) / left
    if n < 2:
        return Estimate(found, reason=ONE_UNIT)
    margins = (weights @ columns)[:, None] + (rows @ weights)[None, :]
    spread = float((shares * (weights * left - margins * (1 - observed)) ** 2).sum())
    spread -= (observed * expected - 2 * expected + observed) ** 2
    error = sqrt(max(spread, 0.0) / n) / left**2
    if error < 1e-12:
        return Estimate(found, 0.0, reason=NO_WIDTH)
    half = float(ndtri((1 + COVERAGE) / 2)) * error
    return Estimate(found, error, found - half, min(1.0, found + half))


def light(levels: Floats, scale: Sequence[float], weights: Floats) -> float:
    """Return Light's kappa: the mean of Cohen's over all pairs of a panel.

    Raises ``Undefined`` as ``cohen`` does for any of the pairs.

    References
    ----------
    Light (1971), Measures of response agreement for qualitative data, Psychological Bulletin 76,
    365-377.
    """
    ordered = tally_ordered(levels, scale)
    pairs = combinations(range(ordered.n_raters), 2)
    found = [cohen_estimate(ordered.pair(*pair), weights).value for pair in pairs]
    if not found:
        raise Undefined(_not_two(ordered.n_raters))
    return sum(found) / len(found)


def conger(levels: Floats, scale: Sequence[float], weights: Floats) -> Estimate:
    """Return Conger's kappa: Cohen's for a panel of two or more, ratings missing or not.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The level each rater gave each unit, NaN where they gave none.
    scale, weights
        As for ``cohen``.

    Returns
    -------
    Estimate
        Each rater's shares of levels are over all units that rater rated. Standard error by
        linearisation, interval by Student's t with a degree of freedom less than units, cut at
        1: these raters, other units.

    Raises
    ------
    Undefined
        If no unit has two ratings, or all raters gave one and the same level throughout.

    References
    ----------
    Conger (1980), Integration and generalization of kappas for multiple raters, Psychological
    Bulletin 88, 322-328; Gwet (2014), Handbook of Inter-Rater Reliability, 4th edition, for
    ratings that are missing.
    """
    return conger_estimate(tally_ordered(levels, scale), weights)


def conger_estimate(ordered: Ordered, weights: Floats) -> Estimate:
    """As ``conger``, of ordered patterns."""
    in_unit, n = ordered.in_unit, ordered.n_units
    if not n:
        raise Undefined("There are no ratings.")
    if not (in_unit > 1).any():
        raise Undefined("No unit has two ratings.")
    shares, given = _shares_by_rater(ordered)
    pairs = agreeing(ordered.counts, weights)
    paired = int(ordered.times @ (in_unit > 1))
    observed = float(ordered.times @ pairs) / paired
    # How much the mean rater other than g agrees with each level: shape (raters, levels).
    others = (shares.sum(axis=0) - shares) @ weights / (ordered.n_raters - 1)
    meets = (shares * others).sum(axis=1)
    expected = float(meets.mean())
    left = 1 - expected
    if left < 1e-12:
        raise Undefined("All raters gave one and the same level throughout.")
    found = (observed - expected) / left
    # A rating moves its rater's shares by one of the units that the rater rated.
    moved = np.zeros(len(ordered.times))
    for g in range(ordered.n_raters):
        own = ordered.places[:, g]
        rated = own != NO_RATING
        moved[rated] += (others[g, own[rated]] - meets[g]) * 2 * n / (given[g] * ordered.n_raters)
    influence = n / paired * (pairs - expected * (in_unit > 1)) - (1 - found) * moved
    return linearised(found, influence / left - found, ordered.times)


def _crossed(ordered: Ordered, n_levels: int) -> tuple[Floats, int]:
    """Shares of units by the level of either rater, (levels, levels), and the number of units."""
    if ordered.n_raters != 2:
        raise Undefined(_not_two(ordered.n_raters))
    both = ordered.pairable
    if not both.n_units:
        raise Undefined("No unit has two ratings.")
    table = np.zeros((n_levels, n_levels))
    np.add.at(table, (both.places[:, 0], both.places[:, 1]), both.times)
    return table / both.n_units, both.n_units


def _not_two(n_raters: int) -> str:
    there = f"there are {n_raters:,}" if n_raters > 1 else f"there is {n_raters or 'none'}"
    return f"Cohen's kappa is for one fixed pair of raters; {there}."


def _shares_by_rater(ordered: Ordered) -> tuple[Floats, Floats]:
    """The share of each level in each rater's ratings, (raters, levels), and their number."""
    given = np.array(
        [ordered.times @ (ordered.places == place) for place in range(len(ordered.scale))],
        dtype=np.float64,
    ).T
    return given / given.sum(axis=1, keepdims=True), given.sum(axis=1)
