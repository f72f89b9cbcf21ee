"""One trait or eight: whether subjects differ between dimensions, with few subjects.

With few subjects there is no factor analysis. But if the eight dimensions were one trait, subjects
would keep their distance from each other in every dimension, up to how strongly a dimension shows
the trait. So what is left of the subject by dimension means, once each dimension has had a straight
line on the subjects' overall means, is held against the scatter of items.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.student import ALPHA

FEWEST_SUBJECTS: Final = 3  # two points lie on every line


@dataclass(frozen=True)
class Profiles:
    """How far subjects' profiles are more than one trait.

    ``own`` estimates the standard deviation, in levels, of what a subject has in a dimension beyond
    one trait; ``low`` and ``high`` are one-sided 95% limits of it. ``p`` is of the null that there
    is none, ``p_subjects`` of the null that the subjects do not differ at all.
    """

    subjects: int
    items: int
    own: float
    low: float
    high: float
    p: float
    p_subjects: float
    left_out: int


def profiles(means: Floats, dimensions: Whole) -> Profiles:
    """Return how far the profiles of subjects over dimensions are more than one trait.

    Parameters
    ----------
    means : array, shape (subjects, items)
        Item means. Items that a subject has no rating of are left out, and counted.
    dimensions : array, shape (items,)
        The number of the dimension of each item.

    Returns
    -------
    Profiles
        By mean squares: the subject by dimension means, weighted by their items, less a line for
        each dimension, over the subject by item scatter within dimensions.

    Raises
    ------
    Undefined
        If there are fewer than three subjects, fewer than two dimensions with two items, or items
        do not scatter.

    References
    ----------
    Mandel (1961), Non-additivity in two-way analysis of variance, for the lines; Searle, Casella
    and McCulloch (1992), Variance components, for the component and its limits.
    """
    from scipy.stats import f  # slow to load

    values, places, sizes = _complete(means, np.asarray(dimensions))
    subjects, items, count = len(values), values.shape[1], len(sizes)
    apart = values - values.mean(axis=0)
    cells = np.stack([apart[:, places == place].mean(axis=1) for place in range(count)], axis=1)
    overall = cells @ sizes / items
    scatter = apart - cells[:, places]
    freedom = (subjects - 1) * (items - count)
    error = float((scatter**2).sum()) / freedom
    if error < 1e-12:
        raise Undefined("Subjects keep the same distance on every item of a dimension.")
    spread = float(overall @ overall)
    slopes = overall @ cells / spread if spread > 1e-12 else np.zeros(count)
    rest = cells - np.outer(overall, slopes)
    rest_freedom = (subjects - 2) * (count - 1)
    ratio = float((rest**2 @ sizes).sum()) / rest_freedom / error
    weight = (items - float((sizes**2).sum()) / items) / (count - 1)

    def deviation(quantile: float) -> float:
        beyond = ratio / float(f.ppf(quantile, rest_freedom, freedom)) - 1
        return sqrt(max(0.0, beyond) * error / weight)

    return Profiles(
        subjects,
        items,
        sqrt(max(0.0, ratio - 1) * error / weight),
        deviation(1 - ALPHA),
        deviation(ALPHA),
        float(f.sf(ratio, rest_freedom, freedom)),
        float(f.sf(spread * items / (subjects - 1) / error, subjects - 1, freedom)),
        means.shape[1] - items,
    )


def _complete(means: Floats, dimensions: Whole) -> tuple[Floats, Whole, Whole]:
    """Items rated for every subject in dimensions of two or more; their dimension; its size."""
    known = ~np.isnan(means).any(axis=0)
    names, sizes = np.unique(dimensions[known], return_counts=True)
    names, sizes = names[sizes > 1], sizes[sizes > 1]
    known &= np.isin(dimensions, names)
    if len(means) < FEWEST_SUBJECTS:
        raise Undefined(
            f"It takes at least {FEWEST_SUBJECTS} subjects to tell one trait from several; "
            f"there are {len(means)}."
        )
    if len(names) < 2:
        raise Undefined("It takes at least two dimensions with two items rated for every subject.")
    return means[:, known], np.searchsorted(names, dimensions[known]), sizes
