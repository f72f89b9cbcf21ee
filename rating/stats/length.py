"""How far levels go with the length of replies: a confound of any difference between subjects."""

from dataclasses import dataclass
from math import log2, sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import COVERAGE, Floats, Undefined, Whole

FEWEST_ITEMS: Final = 20
DOUBLING: Final = log2(np.e)  # a slope on the natural logarithm is so many slopes of a doubling


@dataclass(frozen=True)
class Slope:
    """Levels gained for each natural logarithm of length, with a 95% interval over items.

    ``n`` replies to ``n_items`` items take part; ``correlation`` is between what the slope is of.
    """

    value: float
    low: float
    high: float
    correlation: float
    n: int
    n_items: int

    @property
    def per_doubling(self) -> float:
        """Levels gained where a reply is twice as long."""
        return self.value / DOUBLING

    @property
    def sufficient(self) -> bool:
        """Whether there are as many items as a claim asks for."""
        return self.n_items >= FEWEST_ITEMS


def pooled_slope(levels: Floats, words: Floats, items: Whole) -> Slope:
    """Return the slope of level on log length, among replies to the same item by any subject.

    It mixes two things: that longer replies of a subject are rated otherwise, and that subjects
    who write more are rated otherwise. ``within_slope`` is of the first alone.

    Parameters
    ----------
    levels : array, shape (replies,)
        The level of each reply: the mean of its ratings.
    words : array, shape (replies,)
        Its length; one of no word is not allowed.
    items : array, shape (replies,)
        The number of its item.

    Returns
    -------
    Slope
        Both are taken from the mean of the item. The interval lets replies to one item hang
        together in any way (errors clustered by item, Student's t with items - 1 degrees).

    Raises
    ------
    Undefined
        If fewer than two items have replies that differ in length.
    ValueError
        If the shapes differ, or a reply has no word.

    References
    ----------
    Liang and Zeger (1986), Longitudinal data analysis using generalized linear models. Biometrika
    73, 13-22. Cameron and Miller (2015), A practitioner's guide to cluster-robust inference.
    Journal of Human Resources 50, 317-372, section VI on few clusters.
    """
    levels, lengths, items = _checked(levels, words, items)
    return _slope(levels, lengths, items, items)


def within_slope(
    levels: Floats, words: Floats, items: Whole, subjects: Whole, *, same_item: bool = True
) -> Slope:
    """Return the slope of level on log length, among replies to one item by one subject.

    As ``pooled_slope``, with ``subjects`` of shape (replies,): both are taken from the mean of the
    subject's own replies to the item. Give one subject's replies alone for that subject's slope.
    Without ``same_item`` both are taken from the mean of all the subject wrote: for what does not
    go with the item, such as a difference of two levels of one reply.
    """
    levels, lengths, items = _checked(levels, words, items)
    subjects = np.asarray(subjects, dtype=np.int64)
    if subjects.shape != items.shape:
        raise ValueError(f"There are {subjects.size} subjects for {items.size} replies.")
    if not same_item:
        return _slope(levels, lengths, items, subjects)
    _, numbered = np.unique(np.stack([subjects, items]), axis=1, return_inverse=True)
    return _slope(levels, lengths, items, numbered.reshape(-1))


def _slope(levels: Floats, lengths: Floats, items: Whole, groups: Whole) -> Slope:
    from scipy.stats import t  # slow to load

    x, y = _centred(lengths, groups), _centred(levels, groups)
    _, clusters = np.unique(items, return_inverse=True)
    by_item = np.bincount(clusters, weights=x * x)
    able = int((by_item > 1e-12).sum())
    if able < 2:
        raise Undefined(f"It takes two items with replies that differ in length; there are {able}.")
    total = float(by_item.sum())
    slope = float(x @ y) / total
    # Leaving one item out at a time is how far the slope hangs on each: its own residuals are
    # divided by what of the sum is left without it, as in the jackknife (CR3).
    pulls = np.bincount(clusters, weights=x * (y - slope * x))[by_item > 1e-12]
    left = total - by_item[by_item > 1e-12]
    if left.min() <= 1e-12 * total:
        raise Undefined("All that differs in length are the replies to one item.")
    error = sqrt(float(((pulls / left) ** 2).sum()) * (able - 1) / able)
    if error < 1e-12:
        raise Undefined("The levels lie on one line, so that there is no error to judge it by.")
    reach = float(t.ppf((1 + COVERAGE) / 2, able - 1)) * error
    spread = sqrt(float(y @ y))
    return Slope(
        value=slope,
        low=slope - reach,
        high=slope + reach,
        correlation=float(x @ y) / (sqrt(total) * spread) if spread else 0.0,
        n=len(levels),
        n_items=able,
    )


def _centred(values: Floats, groups: Whole) -> Floats:
    _, places = np.unique(groups, return_inverse=True)
    means = np.bincount(places, weights=values) / np.bincount(places)
    return np.asarray(values - means[places])


def _checked(levels: Floats, words: Floats, items: Whole) -> tuple[Floats, Floats, Whole]:
    levels, words = np.asarray(levels, dtype=np.float64), np.asarray(words, dtype=np.float64)
    items = np.asarray(items, dtype=np.int64)
    if not levels.shape == words.shape == items.shape or levels.ndim != 1:
        raise ValueError(
            f"There are {levels.size} levels, {words.size} lengths and {items.size} items."
        )
    if (words < 1).any():
        raise ValueError("A reply has no word, and so no logarithm of a length. Leave it out.")
    return levels, np.log(words), items
