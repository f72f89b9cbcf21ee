"""What an interval generalises to: other items with these raters, or other raters as well.

Responses to one item are not independent: an item that is hard to rate is hard in all of them. So
items are drawn whole, each with its row of a table of items and patterns. And these raters are a
few of those who might have rated, so their sampling adds variance of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import (
    CELLS,
    REPLICATES,
    Coefficient,
    Estimate,
    Floats,
    Interval,
    Patterns,
    Undefined,
    Whole,
    multinomial,
    percentiles,
    value,
)
from rating.stats.chance import by_t

FEWEST_RATERS = 3  # without one of two, nobody is left to agree with


@dataclass(frozen=True)
class Crossed:
    """Who rated what, as patterns and what each item and each rater accounts for in them.

    ``by_item`` has shape (item kinds, patterns): how many units of each pattern such an item has;
    ``items``, shape (item kinds,), is how many items are such. ``by_rater`` has shape (raters,
    patterns): how the number of units of each pattern changes where a rater had not rated. So
    ``patterns`` also holds what would then be left, 0 times where the data have none.
    """

    patterns: Patterns
    by_item: Floats
    items: Whole
    by_rater: Floats

    @property
    def n_items(self) -> int:
        return int(self.items.sum())

    @property
    def n_raters(self) -> int:
        return len(self.by_rater)

    @property
    def nested(self) -> bool:
        """Whether some item has more than one unit."""
        return bool((self.by_item.sum(axis=1) > 1).any())

    def with_ratings(self, fewest: int) -> "Crossed":
        """Only the patterns with so many ratings: 2 for alpha, 1 for what also reads single ones."""
        return self._only(self.patterns.counts.sum(axis=1) >= fewest)

    def as_they_are(self) -> "Crossed":
        """Only the patterns that the data have."""
        return self._only(self.patterns.times > 0)

    def _only(self, kept: NDArray[np.bool_]) -> "Crossed":
        patterns = self.patterns
        return replace(
            self,
            patterns=Patterns(patterns.scale, patterns.counts[kept], patterns.times[kept]),
            by_item=self.by_item[:, kept],
            by_rater=self.by_rater[:, kept],
        )


def cross(
    rater: Whole, unit: Whole, place: Whole, item: Whole, scale: tuple[float, ...]
) -> Crossed:
    """Cross ratings given as rows.

    Parameters
    ----------
    rater, unit, place, item : array, shape (ratings,)
        For each rating a number of its rater, its unit and the item the unit is of, and the place
        of its level on the scale, from 0. All ratings of a unit are of one item.
    scale : sequence of float
        Every level that could be given, lowest first.

    Raises
    ------
    Undefined
        If there are no ratings, or the table would not fit in memory.
    """
    if not len(unit):
        raise Undefined("There are no ratings.")
    n_levels = len(scale)
    units, unit = np.unique(unit, return_inverse=True)
    raters, rater = np.unique(rater, return_inverse=True)
    counts = np.zeros((len(units), n_levels), dtype=np.int64)
    np.add.at(counts, (unit, place), 1)
    kinds, kind = _distinct(counts)
    # What is left of a pattern without a rating of one level, once for each pattern and level.
    pairs, pair = np.unique(kind[unit] * n_levels + place, return_inverse=True)
    rest = kinds[pairs // n_levels]
    rest[np.arange(len(pairs)), pairs % n_levels] -= 1
    every, at = _distinct(np.concatenate([kinds, rest]))
    of_unit = at[: len(kinds)][kind]
    item_of_unit = np.empty(len(units), dtype=np.int64)
    item_of_unit[unit] = np.unique(item, return_inverse=True)[1]
    rows, items = _kinds_of_items(item_of_unit, of_unit)
    if max(len(rows), len(raters)) * len(every) > 16 * CELLS:
        raise Undefined(
            f"A table of {len(rows):,} kinds of items, {len(raters):,} raters and "
            f"{len(every):,} patterns is too large to resample."
        )
    by_item = np.zeros((len(rows), len(every)))
    for row, (patterns, times) in enumerate(rows):
        by_item[row, patterns] = times
    by_rater = np.zeros((len(raters), len(every)))
    np.add.at(by_rater, (rater, at[len(kinds) :][pair]), 1)
    np.add.at(by_rater, (rater, of_unit[unit]), -1)
    times = np.bincount(of_unit, minlength=len(every))
    return Crossed(Patterns(scale, every, times), by_item, items, by_rater)


def interval_by_item(
    coefficient: Coefficient, crossed: Crossed, *, seed: str, replicates: int = REPLICATES
) -> Interval:
    """Return the 95% percentile interval of a coefficient, drawing items with replacement.

    It says how far the number would move with these raters and other items, each with as many
    responses. ``crossed`` holds the patterns that the coefficient reads, as ``with_ratings`` gives
    them. Raises ``Undefined`` where there is but one item, and as ``interval`` does.
    """
    value(coefficient, crossed.patterns)
    if crossed.n_items < 2:
        raise Undefined("There is but one item, which says nothing of how items differ.")
    table = crossed.as_they_are()
    pairs = table.patterns.counts.sum(axis=1) > 1

    def of(drawn: Floats) -> Floats:
        times = drawn @ table.by_item
        found, paired = np.full(len(times), np.nan), times @ pairs > 0
        found[paired] = coefficient(table.patterns, times[paired])
        return found

    shares = table.items / table.n_items
    draws = multinomial(table.n_items, shares, seed=seed, replicates=replicates)
    return percentiles(map(of, draws), replicates)


def estimate_for_raters_like_these(coefficient: Coefficient, crossed: Crossed) -> Estimate:
    """Return a coefficient with a 95% interval for other items and other raters like these.

    The variance is that of leaving out one item at a time plus that of leaving out one rater at a
    time. The noise of single ratings is in both, so the interval is rather too wide than too
    narrow. It is by Student's t with Satterthwaite's degrees of freedom, cut at 1. ``crossed`` is
    as for ``interval_by_item``.

    Raises
    ------
    Undefined
        If the coefficient has no value, there are fewer than three raters or two items, or
        without one of them it has no value.

    References
    ----------
    Gwet (2008), as in ``chance``, for adding the variances of units and raters; Efron and Stein
    (1981), as in ``alpha``; Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics
    1, 386-411, on the noise being counted twice.
    """
    found = value(coefficient, crossed.patterns)
    if crossed.n_raters < FEWEST_RATERS:
        raise Undefined(
            f"It takes at least {FEWEST_RATERS} raters to say how far other raters would differ; "
            f"there are {crossed.n_raters}."
        )
    if crossed.n_items < 2:
        raise Undefined("There is but one item, which says nothing of how items differ.")
    of_items = _jackknife(coefficient, crossed, -crossed.by_item, crossed.items)
    of_raters = _jackknife(
        coefficient, crossed, crossed.by_rater, np.ones(crossed.n_raters, dtype=np.int64)
    )
    total = of_items + of_raters
    if total < 1e-24:
        return Estimate(found, 0.0, reason="Leaving out any item or rater changes nothing.")
    freedom = total**2 / (
        of_items**2 / (crossed.n_items - 1) + of_raters**2 / (crossed.n_raters - 1)
    )
    return by_t(found, total**0.5, freedom)


def _jackknife(coefficient: Coefficient, crossed: Crossed, change: Floats, times: Whole) -> float:
    """The variance by leaving out one of n, each with how many there are of its kind."""
    n, values = int(times.sum()), []
    base = crossed.patterns.times
    pairs = crossed.patterns.counts.sum(axis=1) > 1
    for rows in _batches(change):
        without = base + rows
        if (without @ pairs < 1).any():
            raise Undefined("Without one of the items or raters, no unit has two ratings.")
        values.append(coefficient(crossed.patterns, without))
    found = np.concatenate(values)
    if np.isnan(found).any():
        raise Undefined("Without one of the items or raters, all paired ratings are one level.")
    mean = float(times @ found) / n
    return (n - 1) / n * float(times @ (found - mean) ** 2)


def _batches(rows: Floats) -> Iterator[Floats]:
    size = max(1, CELLS // max(1, rows.shape[1]))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _distinct(counts: Whole) -> tuple[Whole, Whole]:
    """The distinct rows, and for each row which of them it is."""
    if counts.shape[1] * np.log2(counts.max(initial=0) + 1) < 62:  # a row is one whole number
        key = counts @ (int(counts.max(initial=0)) + 1) ** np.arange(counts.shape[1])
        _, first, at = np.unique(key, return_index=True, return_inverse=True)
        return counts[first], at
    rows, at = np.unique(counts, axis=0, return_inverse=True)
    return rows, at.ravel()


def _kinds_of_items(item: Whole, pattern: Whole) -> tuple[list[tuple[Whole, Whole]], Whole]:
    """The distinct items, each as its patterns and their numbers; how many items are of each."""
    if len(np.unique(item)) == len(item):  # an item is a unit
        alike, how_many_units = np.unique(pattern, return_counts=True)
        return [(one, np.ones(1, dtype=np.int64)) for one in alike[:, None]], how_many_units
    cells, times = np.unique(item * (int(pattern.max()) + 1) + pattern, return_counts=True)
    of_item, of_pattern = np.divmod(cells, int(pattern.max()) + 1)
    starts: NDArray[np.int64] = np.flatnonzero(np.diff(of_item, prepend=-1))
    kinds: dict[bytes, int] = {}
    rows: list[tuple[Whole, Whole]] = []
    how_many: list[int] = []
    for patterns, numbers in zip(
        np.split(of_pattern, starts[1:]), np.split(times, starts[1:]), strict=True
    ):
        key = patterns.tobytes() + b"|" + numbers.tobytes()
        place = kinds.setdefault(key, len(kinds))
        if place == len(rows):
            rows.append((patterns, numbers))
            how_many.append(0)
        how_many[place] += 1
    return rows, np.array(how_many, dtype=np.int64)
