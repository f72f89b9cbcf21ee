"""Drawing items, or trials, anew: how far scores would move.

Items are drawn within their dimension, the same for every subject, so that differences between
subjects are paired. Draws are whole numbers made from the raw words of a generator: those keep
their order from one release of NumPy to the next, while its methods do not promise to. A replicate
matters only through how often each item was drawn, so all of them are one product of matrices.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import (
    FEWEST_REPLICATES,
    MOST_UNDEFINED,
    Floats,
    Undefined,
    Whole,
    generator,
)
from rating.stats.scores import ORDER, composites, in_tenths
from rating.stats.student import ALPHA, Range

REPLICATES: Final = 20_000
TRIAL_REPLICATES: Final = 2_000
CHUNK: Final = 2_000  # replicates worked on at once, so that they stay near the processor
HALF_WORD: Final = np.uint64(32)
Tenths = NDArray[np.int16]  # composites in whole tenths: quick to sort, and without noise
NOISE: Final = 1e-9  # a bound nearer to zero than this is zero: sums of doubles leave as much


@dataclass(frozen=True)
class Panel:
    """Item means of some subjects on the same items.

    ``means`` has shape (subjects, items), NaN where a subject has no rating of an item.
    ``dimensions`` names the dimension of each item. The order of the subjects is that in which
    differences are taken, the earlier minus the later.
    """

    subjects: tuple[str, ...]
    dimensions: tuple[str, ...]
    means: Floats

    def __post_init__(self) -> None:
        if self.means.shape != (len(self.subjects), len(self.dimensions)):
            raise ValueError(
                f"There are {len(self.subjects)} subjects and {len(self.dimensions)} items, but "
                f"the means have shape {self.means.shape}."
            )
        if len(set(self.subjects)) < len(self.subjects):
            raise ValueError(f"A subject stands twice among {', '.join(self.subjects)}.")
        if strange := set(self.dimensions) - set(ORDER):
            raise ValueError(f"There is no dimension {sorted(strange)[0]}: {', '.join(ORDER)}.")

    def items_in(self, dimension: str) -> Whole:
        """The places of its items, in their order."""
        return np.flatnonzero([own == dimension for own in self.dimensions])

    @property
    def measured(self) -> tuple[str, ...]:
        """The dimensions in which every subject has a rated item, in the framework's order."""
        return tuple(
            code
            for code in ORDER
            if len(self.items_in(code))
            and (~np.isnan(self.means[:, self.items_in(code)])).any(axis=1).all()
        )


@dataclass(frozen=True)
class Replicates:
    """Dimension means drawn anew: each array of shape (subjects, replicates), by dimension."""

    dimensions: dict[str, Floats]

    @cached_property
    def composites(self) -> Floats:
        """Unrounded composites, shape (subjects, replicates).

        Raises ``Undefined`` where a dimension is missing.
        """
        missing = [code for code in ORDER if code not in self.dimensions]
        if missing:
            raise Undefined(f"Not every subject has a rated item in {', '.join(missing)}.")
        # One subject at a time, so that what is worked on stays near the processor.
        whole = [self.dimensions[code] for code in ORDER]
        return np.stack([composites([own[row] for own in whole]) for row in range(len(whole[0]))])

    @cached_property
    def tenths(self) -> Tenths:
        """Composites in whole tenths, shape (subjects, replicates).

        What lies halfway but for the noise of a sum is rounded up, so that machines that add in
        another order give the same.
        """
        return in_tenths(self.composites + NOISE).astype(np.int16)

    @cached_property
    def bases(self) -> Floats:
        """Composites before the premium and the ends of the scale, shape (subjects, replicates)."""
        total = sum(self.dimensions[code] for code in ORDER)
        return np.asarray((total / len(ORDER) - 1) * 25)


def draw_indices(seed: str, replicates: int, sizes: Sequence[int]) -> list[Whole]:
    """Draw, for each size n, ``n`` numbers from 0 to n - 1 in each replicate.

    Returns
    -------
    list of array, shape (replicates, n)
        One for each size. A number is floor(h n / 2**32) of half a raw word h, the lower half
        first, so that no number is likelier than another by more than n / 2**32.
    """
    words = generator(seed).bit_generator
    drawn = []
    for size in sizes:
        count = replicates * size
        halves = words.random_raw((count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]
        places = halves.astype(np.uint64)
        places *= np.uint64(size)
        places >>= HALF_WORD
        drawn.append(places.view(np.int64).reshape(replicates, size))
    return drawn


def resample(panel: Panel, indices: Sequence[Whole]) -> Replicates:
    """Return the dimension means of every subject under each draw of items.

    Parameters
    ----------
    panel : Panel
        The item means.
    indices : sequence of array, shape (replicates, n)
        For each measured dimension the items drawn, by their place within it.

    Returns
    -------
    Replicates
        Without the draws that hold no rated item of some subject in a dimension.

    Raises
    ------
    Undefined
        If that is more than 5% of the draws.
    """
    drawn = {
        code: _resampled(panel.means[:, panel.items_in(code)], places)
        for code, places in zip(panel.measured, indices, strict=True)
    }
    if not np.isnan(panel.means).any():
        return Replicates(drawn)
    empty = np.array([np.isnan(own).any(axis=0) for own in drawn.values()]).any(axis=0)
    if empty.mean() > MOST_UNDEFINED:
        raise Undefined(
            f"{empty.mean():.0%} of the draws hold no rated item of some subject in a dimension, "
            f"which is more than {MOST_UNDEFINED:.0%}."
        )
    return Replicates({code: own[:, ~empty] for code, own in drawn.items()})


def draw_items(panel: Panel, *, seed: str, replicates: int = REPLICATES) -> Replicates:
    """``resample`` with items drawn from ``seed``."""
    sizes = [len(panel.items_in(code)) for code in panel.measured]
    return resample(panel, draw_indices(seed, _enough(replicates), sizes))


def percentile(values: Floats | Tenths, alpha: float = ALPHA) -> list[Range]:
    """Return the percentile interval of each row, as the public pilots take it.

    Parameters
    ----------
    values : array, shape (rows, replicates)
        The values drawn.
    alpha : float
        What lies outside: 0.05 for 95%.

    Returns
    -------
    list of Range
        Of the sorted values those at the places floor(alpha B / 2) and floor((1 - alpha / 2) B),
        from 0.
    """
    return _at(values, [_plain(values.shape[1], alpha)])[0]


def corrected_percentile(
    values: Floats | Tenths, comparisons: int, alpha: float = ALPHA
) -> list[Range]:
    """``percentile`` for the alpha shared among so many comparisons (Bonferroni).

    The places are floor(alpha B / 2) and ceil((1 - alpha / 2) B) - 1: with few replicates the
    outermost ones.
    """
    return _at(values, [_shared(values.shape[1], alpha / comparisons)])[0]


def both_percentiles(values: Floats | Tenths, comparisons: int) -> tuple[list[Range], list[Range]]:
    """``percentile`` and ``corrected_percentile``, sorted once."""
    count = values.shape[1]
    plain, corrected = _at(values, [_plain(count, ALPHA), _shared(count, ALPHA / comparisons)])
    return plain, corrected


def trial_interval(
    items: Whole,
    values: Floats,
    dimensions: Sequence[str],
    *,
    seed: str,
    replicates: int = TRIAL_REPLICATES,
) -> Range:
    """Return the 95% range of the composite of one run over its trials, the items kept.

    It says how far the run would move if its subject were asked again. It covers neither other
    items nor other raters, and is never held against another run.

    Parameters
    ----------
    items : array, shape (responses,)
        For each response the number of its item, from 0.
    values : array, shape (responses,)
        The mean of its ratings: two ratings of one response are not two trials.
    dimensions : sequence of str
        The dimension of each item.
    seed : str
        The id of the run.

    Raises
    ------
    Undefined
        If a dimension has no rated response, or no item has two different ones.
    """
    drawn, columns = _trials_drawn(items, values, len(dimensions), seed, _enough(replicates))
    means = {code: drawn[[dimensions[column] == code for column in columns]] for code in ORDER}
    missing = [code for code, own in means.items() if not len(own)]
    if missing:
        raise Undefined(f"No response was rated in {', '.join(missing)}.")
    found = composites(np.stack([means[code].mean(axis=0) for code in ORDER]))
    if np.ptp(found) < NOISE:
        raise Undefined("Every draw of the trials gives the same composite.")
    ends = np.sort(in_tenths(found)) / 10
    return Range(*(float(ends[_nearest(share, replicates)]) for share in (0.025, 0.975)))


def trial_mean_interval(
    items: Whole, values: Floats, *, seed: str, replicates: int = TRIAL_REPLICATES
) -> Range:
    """``trial_interval`` of the mean over the items of one dimension."""
    drawn, _ = _trials_drawn(items, values, int(items.max()) + 1, seed, _enough(replicates))
    ends = np.sort(drawn.mean(axis=0))
    return Range(*(float(ends[_nearest(share, replicates)]) for share in (0.025, 0.975)))


def _enough(replicates: int) -> int:
    if replicates < FEWEST_REPLICATES:
        raise ValueError(
            f"A 95% interval needs at least {FEWEST_REPLICATES} replicates, not {replicates}."
        )
    return replicates


def _resampled(means: Floats, places: Whole) -> Floats:
    """Means over drawn items, shape (subjects, replicates); NaN where no drawn item is rated."""
    known = ~np.isnan(means)
    filled = np.where(known, means, 0.0)
    drawn = np.empty((len(means), len(places)))
    for start in range(0, len(places), CHUNK):
        own = slice(start, start + CHUNK)
        weights = _times(places[own], means.shape[1])
        sums = filled @ weights.T
        if known.all():
            drawn[:, own] = sums / places.shape[1]
            continue
        counts = known.astype(np.float64) @ weights.T
        drawn[:, own] = np.nan
        np.divide(sums, counts, out=drawn[:, own], where=counts > 0)
    return drawn


def _times(places: Whole, size: int) -> Floats:
    """How often each item was drawn, shape (replicates, items)."""
    offsets = np.arange(len(places))[:, None] * size
    times = np.bincount((places + offsets).ravel(), minlength=len(places) * size)
    return times.reshape(len(places), size).astype(np.float64)


def _plain(count: int, alpha: float) -> tuple[int, int]:
    high = math.floor((1 - alpha / 2) * count + NOISE)
    return math.floor(alpha / 2 * count + NOISE), min(count - 1, high)


def _shared(count: int, alpha: float) -> tuple[int, int]:
    high = math.ceil((1 - alpha / 2) * count - NOISE) - 1
    return math.floor(alpha / 2 * count + NOISE), high


def _at(values: Floats | Tenths, places: list[tuple[int, int]]) -> list[list[Range]]:
    """The sorted values at each two places, for each row."""
    wanted = sorted({place for pair in places for place in pair})
    # A whole sort is quicker than ``np.partition`` at several places: it uses wide registers.
    ends = np.sort(values, axis=1)[:, wanted].astype(np.float64)
    ends[np.abs(ends) < NOISE] = 0.0
    column = {place: ends[:, number].tolist() for number, place in enumerate(wanted)}
    return [
        [Range(*ends_of_row) for ends_of_row in zip(column[low], column[high], strict=True)]
        for low, high in places
    ]


def _nearest(share: float, count: int) -> int:
    return math.floor(share * (count - 1) + 0.5)


def _trials_drawn(
    items: Whole, values: Floats, size: int, seed: str, replicates: int
) -> tuple[Floats, list[int]]:
    """Item means over drawn trials, shape (rated items, replicates), and which items those are."""
    rated = [number for number in range(size) if (items == number).any()]
    trials = [values[items == number] for number in rated]
    indices = draw_indices(seed, replicates, [len(own) for own in trials])
    drawn = [own[places].mean(axis=1) for own, places in zip(trials, indices, strict=True)]
    return np.array(drawn), rated
