"""From ratings to scores: item mean, dimension mean, composite, each with its dispersion.

The composite is the published formula, version 1.2, digit for digit. Every sum runs from left to
right in plain doubles: ``sum()`` and ``numpy.mean`` add in other ways and give other digits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole
from runs.taxonomy import DIMENSIONS

ORDER: Final = tuple(DIMENSIONS)  # of the sum: another order may give another last digit
FEWEST_ITEMS: Final = 3  # rated items in every dimension, below which there is no composite
MOST_FAILED: Final = 0.10  # of what a subject was asked; more withholds its composite
WEAK: Final = 4.0  # a dimension below it takes a fifth of the premium
PREMIUM: Final = 10.0
#: The largest standard deviation of the eight means, and the share of the premium it leaves.
CONSISTENCY: Final = ((1.5, 1.0), (3.0, 0.75), (5.0, 0.4))
INCONSISTENT: Final = 0.1
#: The upper edge of each band belongs to it.
BANDS: Final = ((20, "Critical"), (40, "Developing"), (60, "Functional"), (80, "Established"))
HIGHEST_BAND: Final = "Exemplary"


class Label(StrEnum):
    """How much of the framework a score rests on."""

    COMPLETE = "complete"
    DIMENSION_ONLY = "dimension-only"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True)
class Place:
    """Where an item stands in the framework."""

    item: str
    dimension: str
    subdimension: str


@dataclass(frozen=True)
class Mean:
    """A mean with its dispersion. ``spread`` is the standard deviation (n - 1) of the ``n`` values.

    It is None for one value: one has no spread, which is not a spread of 0.
    """

    value: float
    spread: float | None
    n: int


@dataclass(frozen=True)
class ItemTable:
    """Ratings by subject and item, each array of shape (subjects, items).

    ``means`` are NaN where there is no rating, ``spreads`` (standard deviations, n - 1) where
    there are fewer than two.
    """

    means: Floats
    spreads: Floats
    counts: Whole


@dataclass(frozen=True)
class Asked:
    """The replies a subject was asked for, and those that never became ratings."""

    replies: int
    filtered: int = 0
    failed: int = 0
    malformed: int = 0

    @property
    def lost(self) -> int:
        return self.filtered + self.failed + self.malformed

    @property
    def share_lost(self) -> float:
        """From 0 to 1; ``Undefined`` where nothing was asked."""
        if not self.replies:
            raise Undefined("Nothing was asked.")
        return self.lost / self.replies

    @property
    def too_many_lost(self) -> bool:
        """Exactly 10% is not too many. Counted in whole replies, so that no rounding decides."""
        return self.lost > MOST_FAILED * self.replies + 1e-9


@dataclass(frozen=True)
class Score:
    """What the ratings of one subject amount to.

    ``items``, ``dimensions`` and ``subdimensions`` hold what was rated, by code. ``composite`` is
    None where ``withheld`` says why.
    """

    subject: str
    items: Mapping[str, Mean]
    dimensions: Mapping[str, Mean]
    subdimensions: Mapping[str, Mean]
    composite: float | None
    withheld: str
    label: Label
    asked: Asked

    @property
    def band(self) -> str | None:
        return None if self.composite is None else band(self.composite)

    @property
    def lowest(self) -> str | None:
        """The code of the dimension with the lowest mean, the first in order of several."""
        rated = [code for code in ORDER if code in self.dimensions]
        return min(rated, key=lambda code: self.dimensions[code].value) if rated else None


def item_table(subjects: Whole, items: Whole, levels: Floats, shape: tuple[int, int]) -> ItemTable:
    """Return the mean of all ratings each subject had on each item, with their spread.

    Parameters
    ----------
    subjects, items : array, shape (ratings,)
        For each rating the number of its subject and of its item, from 0.
    levels : array, shape (ratings,)
        The levels, over all trials and raters.
    shape : (int, int)
        How many subjects and items there are.
    """
    if not len(subjects) == len(items) == len(levels):
        raise ValueError(
            f"Each rating has a subject, an item and a level, but there are {len(subjects)}, "
            f"{len(items)} and {len(levels)}."
        )
    cells = np.asarray(subjects, dtype=np.int64) * shape[1] + np.asarray(items, dtype=np.int64)
    size = shape[0] * shape[1]
    counts = np.bincount(cells, minlength=size)
    means, spreads = np.full(size, np.nan), np.full(size, np.nan)
    sums = np.bincount(cells, weights=levels, minlength=size)
    np.divide(sums, counts, out=means, where=counts > 0)
    squares = np.bincount(cells, weights=(levels - means[cells]) ** 2, minlength=size)
    np.divide(squares, counts - 1, out=spreads, where=counts > 1)
    return ItemTable(
        means.reshape(shape),
        np.sqrt(spreads).reshape(shape),
        counts.reshape(shape).astype(np.int64),
    )


def mean(values: Sequence[float]) -> Mean:
    """Return the mean of some values, added from left to right, with their spread.

    Raises
    ------
    Undefined
        If there are no values.
    """
    if not len(values):
        raise Undefined("There are no values to take the mean of.")
    total = 0.0
    for value in values:
        total += value
    middle, n = total / len(values), len(values)
    if n < 2:
        return Mean(middle, None, n)
    return Mean(middle, math.sqrt(sum((value - middle) ** 2 for value in values) / (n - 1)), n)


def composite(dimensions: Sequence[float]) -> float:
    """Return the composite of the eight dimension means, version 1.2.

    Parameters
    ----------
    dimensions : sequence of float
        The means in the order of the framework, on the scale 1 to 5.

    Returns
    -------
    float
        From 0 to 100, rounded to one decimal, halves up.

    Raises
    ------
    Undefined
        If a mean is missing. The published function takes 1 for it; we refuse.
    """
    values = np.array(dimensions, dtype=np.float64)
    if values.shape != (len(ORDER),):
        raise ValueError(f"A composite takes {len(ORDER)} dimension means, not {values.shape}.")
    if np.isnan(values).any():
        missing = [code for code, value in zip(ORDER, values, strict=True) if np.isnan(value)]
        raise Undefined(f"No item was rated in {', '.join(missing)}.")
    return float(in_tenths(composites(values)) / 10)


def composites(dimensions: Floats | Sequence[Floats]) -> Floats:
    """Return unrounded composites, for as many subjects or resamples as there are.

    Parameters
    ----------
    dimensions : array, shape (8, ...), or eight arrays
        Dimension means, the dimension first; NaN gives NaN.

    Returns
    -------
    array, shape (...)
        From 0 to 100: base plus premium.
    """
    middle = _middle(dimensions)
    base = (middle - 1) / 4 * 100
    return np.asarray(np.clip(base + _premiums(dimensions, middle), 0, 100))


def premiums(dimensions: Floats | Sequence[Floats]) -> Floats:
    """Return what is added for care that is high and even, shape (...) for shape (8, ...).

    Ten points, less for an uneven profile, a fifth less for each dimension below 4, and none
    where a dimension is 0. So the composite jumps where a dimension crosses 4.
    """
    return _premiums(dimensions, _middle(dimensions))


def in_tenths(values: Floats) -> Floats:
    """Round to whole tenths as the published code does: halves up, for negative numbers too."""
    return np.asarray(np.floor(10 * values + 0.5))


def band(score: float) -> str:
    """Return the band of a rounded composite. The upper edge belongs to the band below it."""
    for edge, name in BANDS:
        if score <= edge:
            return name
    return HIGHEST_BAND


def scores_of(
    subjects: Sequence[str], places: Sequence[Place], table: ItemTable, asked: Sequence[Asked]
) -> list[Score]:
    """Return the score of each subject.

    Parameters
    ----------
    subjects : sequence of str
        Their names, which the scores carry.
    places : sequence of Place
        The items, in the order of their codes.
    table : ItemTable
        The ratings of these subjects on these items.
    asked : sequence of Asked
        For each subject how many replies it was asked for, and how many were lost.
    """
    return [
        _score(name, places, table, row, lost)
        for row, (name, lost) in enumerate(zip(subjects, asked, strict=True))
    ]


def _score(
    subject: str, places: Sequence[Place], table: ItemTable, row: int, asked: Asked
) -> Score:
    means = table.means[row]
    rated = [number for number in range(len(places)) if not np.isnan(means[number])]
    dimensions = _grouped([places[number].dimension for number in rated], means[rated])
    subdimensions = _grouped([places[number].subdimension for number in rated], means[rated])
    withheld = _withheld(dimensions, asked)
    return Score(
        subject,
        {places[number].item: _item(table, row, number) for number in rated},
        dimensions,
        subdimensions,
        None if withheld else composite([dimensions[code].value for code in ORDER]),
        withheld,
        _label(dimensions, subdimensions),
        asked,
    )


def _item(table: ItemTable, row: int, number: int) -> Mean:
    spread = float(table.spreads[row, number])
    return Mean(
        float(table.means[row, number]),
        None if math.isnan(spread) else spread,
        int(table.counts[row, number]),
    )


def _middle(dimensions: Floats | Sequence[Floats]) -> Floats:
    total = np.zeros(np.shape(dimensions[0]))
    for own in dimensions:
        total += own
    return np.asarray(total / len(dimensions))


def _premiums(dimensions: Floats | Sequence[Floats], middle: Floats) -> Floats:
    squares = np.zeros(middle.shape)
    weak = np.zeros(middle.shape, dtype=np.int8)
    harmed = np.zeros(middle.shape, dtype=bool)
    for own in dimensions:
        apart = own - middle
        apart *= apart
        squares += apart
        weak += own < WEAK
        harmed |= own == 0
    spread = np.sqrt(squares / len(dimensions))
    consistency = np.full(middle.shape, INCONSISTENT)
    for most, share in reversed(CONSISTENCY):
        consistency[spread <= most] = share
    whole = PREMIUM * consistency * np.maximum(0.0, 1 - 0.2 * weak)
    return np.asarray(np.where(harmed, 0.0, whole))


def _grouped(codes: Sequence[str], values: Floats) -> dict[str, Mean]:
    own: dict[str, list[float]] = {}
    for code, value in zip(codes, values, strict=True):
        own.setdefault(code, []).append(float(value))
    return {code: mean(values) for code, values in own.items()}


def _withheld(dimensions: Mapping[str, Mean], asked: Asked) -> str:
    """Why there is no composite; empty where there is one."""
    if not dimensions:
        return "Nothing has two ratings yet."
    if asked.too_many_lost:
        return (
            f"{asked.lost} of {asked.replies} replies were filtered, failed or malformed, which "
            f"is more than {MOST_FAILED:.0%}."
        )
    few = [
        f"{code} has {dimensions[code].n if code in dimensions else 0}"
        for code in ORDER
        if code not in dimensions or dimensions[code].n < FEWEST_ITEMS
    ]
    if few:
        return f"A composite needs {FEWEST_ITEMS} rated items in every dimension; {', '.join(few)}."
    return ""


def _label(dimensions: Mapping[str, Mean], subdimensions: Mapping[str, Mean]) -> Label:
    if any(code not in dimensions or dimensions[code].n < FEWEST_ITEMS for code in ORDER):
        return Label.INSUFFICIENT
    every = {code for dimension in DIMENSIONS.values() for code in dimension.subdimensions}
    return Label.COMPLETE if every <= subdimensions.keys() else Label.DIMENSION_ONLY
