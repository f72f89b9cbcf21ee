"""Coefficients of agreement, and how far they would move with other responses.

A unit matters to these coefficients only through how often each level was chosen in it.
So ratings are first tallied into distinct patterns and how many units show each: a million
units rated twice on five levels are at most twenty patterns, and drawing units anew is one
multinomial draw over the patterns.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

REPLICATES = 2_000
COVERAGE = 0.95
MOST_UNDEFINED = 0.05  # a larger share of replicates without a value withholds the interval
FEWEST_REPLICATES = 40  # below this, a 95% interval lies outside the outermost replicate
EXACT_INTEGERS = 2**53  # float64 holds every whole number up to here
CELLS = 2**19  # replicates x patterns held at once

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Undefined(ValueError):
    """The data leave this number open; the message says why."""


class Tallied(Protocol):
    """Units as distinct patterns, each with how many units show it."""

    @property
    def times(self) -> Whole: ...

    @property
    def n_units(self) -> int: ...

    @property
    def pairable(self) -> "Tallied": ...


Tally = TypeVar("Tally", bound=Tallied)


@dataclass(frozen=True)
class Patterns:
    """Units with at least one rating, as distinct patterns in a fixed order.

    ``counts`` has shape (patterns, levels): how often each level was chosen in such a unit.
    ``times`` has shape (patterns,): how many units are such.
    """

    scale: tuple[float, ...]
    counts: Whole
    times: Whole

    @property
    def pairable(self) -> "Patterns":
        """Only the units with two or more ratings."""
        paired = self.counts.sum(axis=1) >= 2
        return Patterns(self.scale, self.counts[paired], self.times[paired])

    @property
    def n_units(self) -> int:
        return int(self.times.sum())

    @property
    def level_counts(self) -> Whole:
        """Shape (levels,): the ratings at each level of the scale."""
        return self.times @ self.counts


@dataclass(frozen=True)
class Interval:
    """A 95% range of resamples. ``undefined`` of the ``replicates`` had no value."""

    low: float
    high: float
    replicates: int
    undefined: int
    standard_error: float


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and 95% interval. ``reason`` says why either is missing.

    ``undefined`` is the share of resamples without a value, where the interval is of resamples.
    """

    value: float
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    undefined: float | None = None


#: Takes patterns and draws of shape (replicates, patterns), the number of units of each pattern;
#: returns shape (replicates,), NaN where a draw leaves the value open.
Coefficient = Callable[[Patterns, Floats], Floats]


def percent_exact(levels: Floats, scale: Sequence[float]) -> float:
    """Return the mean over units of the share of rater pairs that chose the same level.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The level each rater gave each unit, NaN where they gave none.
    scale : sequence of float
        Every level that could be given, lowest first.

    Returns
    -------
    float
        A share from 0 to 1, over the units with two or more ratings.

    Raises
    ------
    Undefined
        If no unit has two ratings.
    ValueError
        If a level is not on the scale.
    """
    return value(exact_share, tally(levels, scale))


def percent_within_one(levels: Floats, scale: Sequence[float]) -> float:
    """Return the share of units whose largest and smallest rating differ by at most 1.

    Parameters
    ----------
    levels : array, shape (raters, units)
        The level each rater gave each unit, NaN where they gave none.
    scale : sequence of float
        Every level that could be given, lowest first; the 1 is in its units.

    Returns
    -------
    float
        A share from 0 to 1, over the units with two or more ratings.

    Raises
    ------
    Undefined
        If no unit has two ratings.
    ValueError
        If a level is not on the scale.
    """
    return value(within_one_share, tally(levels, scale))


def ordinal_alpha(levels: Floats, scale: Sequence[float]) -> float:
    """Return Krippendorff's alpha for ordinal levels.

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
    return value(alpha_for_ordinal, tally(levels, scale))


def tally(levels: Floats, scale: Sequence[float]) -> Patterns:
    """Count the patterns in an array of shape (raters, units), NaN where there is no rating.

    Raises ``ValueError`` for a level that is not on the scale.
    """
    steps = checked_scale(scale)
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 2:
        raise ValueError(f"Levels have shape (raters, units), but these have {levels.shape}.")
    base = max(2, len(levels) + 1)
    weights = _weights(len(steps), base)
    keys = [np.zeros(levels.shape[1]) for _ in weights]
    # One rater at a time, so that no more than a few rows are in memory beside the array.
    for row in levels:
        places = places_on(row, steps)
        for key, weight in zip(keys, weights, strict=True):
            key += weight[places]
    return _patterns(keys, weights, base, steps)


def tally_rows(units: Whole, levels: Whole, scale: Sequence[float]) -> Patterns:
    """Count the patterns in ratings given as rows, for many raters who each rated a few units.

    Parameters
    ----------
    units, levels : array, shape (ratings,)
        For each rating the number of its unit, from 0, and the place of its level on the
        scale, from 0. A rater twice in a unit cannot be seen here; the report refuses it.
    scale : sequence of float
        Every level that could be given, lowest first.

    Raises
    ------
    ValueError
        If the arrays differ in shape, or a place is not on the scale.
    """
    steps = checked_scale(scale)
    if units.shape != levels.shape or units.ndim != 1:
        raise ValueError(
            f"Each rating has a unit and a level, but the shapes are "
            f"{units.shape} and {levels.shape}."
        )
    if levels.size and not (levels.min() >= 0 and levels.max() < len(steps)):
        raise ValueError(f"Places on this scale run from 0 to {len(steps) - 1}.")
    base = max(2, int(np.bincount(units).max(initial=0)) + 1)
    weights = _weights(len(steps), base)
    keys = [
        np.asarray(np.bincount(units, weights=weight[levels]), dtype=np.float64)
        for weight in weights
    ]
    return _patterns(keys, weights, base, steps)


def value(coefficient: Callable[[Tally, Floats], Floats], patterns: Tally) -> float:
    """Return a coefficient of tallied ratings. Raises ``Undefined`` with the reason."""
    pairable = pairable_of(patterns)
    found = float(coefficient(pairable, pairable.times[None, :].astype(np.float64))[0])
    if math.isnan(found):
        raise Undefined("All paired ratings are one level.")
    return found


def interval(
    coefficient: Callable[[Tally, Floats], Floats],
    patterns: Tally,
    *,
    seed: str,
    replicates: int = REPLICATES,
) -> Interval:
    """Return the 95% percentile interval of a coefficient, drawing units with replacement.

    It says how far the number would move with these raters and other responses. It does not
    say how far it would move with other raters. Units that cannot be paired are left out, so
    each replicate has as many pairable units as the data.

    Equal seeds give equal intervals to the printed digits; the draws themselves may change
    with a release of NumPy.

    Raises
    ------
    Undefined
        If the coefficient is undefined, if it has no value in more than 5% of the replicates,
        or if it is the same in all of them: a range of no width would claim certainty.
    ValueError
        If there are fewer than 40 replicates.
    """
    value(coefficient, patterns)
    pairable = pairable_of(patterns)
    shares = pairable.times / pairable.n_units
    draws = multinomial(pairable.n_units, shares, seed=seed, replicates=replicates)
    return percentiles((coefficient(pairable, times) for times in draws), replicates)


def multinomial(n: int, shares: Floats, *, seed: str, replicates: int) -> Iterator[Floats]:
    """Yield how often each kind was drawn among ``n``, in batches of shape (replicates, kinds)."""
    random = generator(seed)
    batch = max(1, CELLS // len(shares))
    for start in range(0, replicates, batch):
        size = min(batch, replicates - start)
        yield random.multinomial(n, shares, size=size).astype(np.float64)


def percentiles(drawn: Iterable[Floats], replicates: int) -> Interval:
    """Return the 95% percentile interval of a number, NaN in the draws that leave it open.

    Raises
    ------
    Undefined
        If more than 5% of the draws leave it open, or all give the same number.
    ValueError
        If there are fewer than 40 replicates.
    """
    if replicates < FEWEST_REPLICATES:
        raise ValueError(
            f"A 95% interval needs at least {FEWEST_REPLICATES} replicates, not {replicates}."
        )
    values = np.concatenate(list(drawn))
    values = values[~np.isnan(values)]
    undefined = replicates - len(values)
    if undefined > MOST_UNDEFINED * replicates:
        raise Undefined(
            f"In {undefined:,} of {replicates:,} resamples the number has no value, "
            f"which is more than {MOST_UNDEFINED:.0%}."
        )
    if np.ptp(values) < 1e-12:
        raise Undefined("Every resample of these units gives the same number.")
    outside = (1 - COVERAGE) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return Interval(float(low), float(high), replicates, undefined, float(values.std(ddof=1)))


def exact_share(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``percent_exact``."""
    counts = pairable.counts.astype(np.float64)
    ratings = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (ratings * (ratings - 1))
    return np.asarray(times @ agreeing / times.sum(axis=1))


def within_one_share(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``percent_within_one``."""
    chosen = pairable.counts > 0
    lowest = chosen.argmax(axis=1)
    highest = chosen.shape[1] - 1 - chosen[:, ::-1].argmax(axis=1)
    agreeing = near(pairable.scale)[lowest, highest]
    return np.asarray(times @ agreeing / times.sum(axis=1))


def near(scale: Sequence[float]) -> NDArray[np.bool_]:
    """Which levels are at most one apart, in units of the scale; shape (levels, levels)."""
    steps = np.asarray(scale, dtype=np.float64)
    return np.abs(steps[:, None] - steps) <= 1 + 1e-9  # 1.3 - 0.3 is a hair more than 1 in binary


def alpha_for_ordinal(pairable: Patterns, times: Floats) -> Floats:
    """The coefficient behind ``ordinal_alpha``.

    The ordinal difference between two levels is the number of paired ratings between their
    middles, that is the difference of their mid-ranks. So alpha compares the squared
    differences of ranks within units to those among all paired ratings.
    """
    totals = times @ pairable.counts
    n = totals.sum(axis=1, keepdims=True)
    return alpha_of_scores(pairable, times, np.cumsum(totals, axis=1) - totals / 2 - n / 2)


def alpha_of_scores(pairable: Patterns, times: Floats, scores: Floats) -> Floats:
    """Alpha whose difference of two levels is the square of that of their ``scores``.

    ``scores`` has shape (replicates, levels), or (1, levels) where they are the same in all.
    """
    counts = pairable.counts.astype(np.float64)
    in_unit = counts.sum(axis=1)
    totals = times @ counts
    n = totals.sum(axis=1)
    scores = scores - (totals * scores).sum(axis=1, keepdims=True) / n[:, None]
    within = in_unit * (scores**2 @ counts.T) - (scores @ counts.T) ** 2
    observed = (times * within / (in_unit - 1)).sum(axis=1) / n
    expected = (totals * scores**2).sum(axis=1) / (n - 1)
    varied = (totals > 0).sum(axis=1) > 1
    alpha = np.full(len(times), np.nan)
    alpha[varied] = 1 - observed[varied] / expected[varied]
    return alpha


def generator(seed: str) -> np.random.Generator:
    """A generator whose state begins with the SHA-256 of ``seed``, the same everywhere."""
    words = np.frombuffer(hashlib.sha256(seed.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.PCG64([int(word) for word in words]))


def pairable_of(patterns: Tally) -> Tally:
    """Only the units with two or more ratings. Raises ``Undefined`` where there is none."""
    if not patterns.n_units:
        raise Undefined("There are no ratings.")
    pairable = patterns.pairable
    if not pairable.n_units:
        raise Undefined("No unit has two ratings.")
    return pairable  # type: ignore[return-value]  # of the kind it was asked of


def checked_scale(scale: Sequence[float]) -> Floats:
    steps = np.asarray(scale, dtype=np.float64)
    if steps.ndim != 1 or not steps.size or not np.isfinite(steps).all():
        raise ValueError(f"A scale is a list of numbers, lowest first, not {scale!r}.")
    if (np.diff(steps) <= 0).any():
        raise ValueError(f"A scale names each level once, lowest first, not {scale!r}.")
    return steps


def places_on(row: Floats, steps: Floats) -> Whole:
    """The place of each level on the scale; one past its end where there is no level."""
    places = np.searchsorted(steps, row)  # NaN sorts past the end
    known = np.append(steps, np.nan)[places]
    strange = (known != row) & ~np.isnan(row)
    if strange.any():
        raise ValueError(
            f"The level {row[strange][0]:g} is not on the scale "
            f"{', '.join(f'{step:g}' for step in steps)}."
        )
    return places


def _weights(n_levels: int, base: int) -> Floats:
    """Weights that turn the counts of a unit, each below ``base``, into whole-number keys.

    A key is the counts read as the digits of one number, the lowest level last. The levels are
    split into as many keys as keep each exact. Shape (keys, levels + 1); the last column is
    for "no rating" and weighs nothing.
    """
    digits = max(1, int(math.log(EXACT_INTEGERS, base)))
    weights = np.zeros((-(-n_levels // digits), n_levels + 1))
    for level in range(n_levels):
        weights[level // digits, level] = float(base ** (level % digits))
    return weights


def _patterns(keys: list[Floats], weights: Floats, base: int, steps: Floats) -> Patterns:
    """Reduce the keys of all units to the distinct ones, units without a rating left out."""
    if len(keys) == 1:
        distinct, times = np.unique(keys[0], return_counts=True)
        rows = [distinct]
    else:
        rank = np.zeros(len(keys[0]), dtype=np.int64)
        for key in reversed(keys):  # the higher levels lead, as they do within a key
            distinct, places = np.unique(key, return_inverse=True)
            _, rank = np.unique(rank * len(distinct) + places, return_inverse=True)
        _, first, times = np.unique(rank, return_index=True, return_counts=True)
        rows = [key[first] for key in keys]
    counts = np.zeros((len(times), len(steps)), dtype=np.int64)
    for row, weight in zip(rows, weights.astype(np.int64), strict=True):
        for level in np.flatnonzero(weight):
            counts[:, level] = row.astype(np.int64) // weight[level] % base
    rated = counts.any(axis=1)
    return Patterns(tuple(steps.tolist()), counts[rated], times[rated].astype(np.int64))
