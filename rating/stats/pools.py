"""Whether scores rise on published items while they do not on unpublished ones.

A difference in differences: each item has a change from the first snapshot to the last, and the
mean change of the published items is held against that of the unpublished ones. What makes a later
snapshot better on both cancels; what it has read of the published items does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined
from rating.stats.student import Estimate, welch

FEWEST_SNAPSHOTS: Final = 2


@dataclass(frozen=True)
class Family:
    """Snapshots of one family of models, in the order of their days.

    ``public`` and ``unpublished`` hold item means, of shape (snapshots, items), NaN where there
    is none; the items are the same in every family. ``days`` has shape (snapshots,).
    """

    public: Floats
    unpublished: Floats
    days: Floats

    def __post_init__(self) -> None:
        if not len(self.public) == len(self.unpublished) == len(self.days):
            raise ValueError(
                f"There are {len(self.days)} snapshots, but {len(self.public)} on published and "
                f"{len(self.unpublished)} on unpublished items."
            )


@dataclass(frozen=True)
class Pools:
    """Mean changes from the first snapshot to the last, in levels, and their difference."""

    public: float
    unpublished: float
    difference: Estimate
    items: tuple[int, int]
    snapshots: int


def difference_of_pools(families: Sequence[Family]) -> Pools:
    """Return how much more the published items rose than the unpublished ones.

    Parameters
    ----------
    families : sequence of Family
        The changes of an item are averaged over families first, since its items are what varies.

    Returns
    -------
    Pools
        The change of an item is its least-squares slope over the days, times the span of them. The
        difference has Welch's standard error over items.

    Raises
    ------
    Undefined
        If no family has two snapshots on different days, or a pool has fewer than two items that
        were rated for all snapshots of a family.
    """
    usable = [
        family
        for family in families
        if len(family.days) >= FEWEST_SNAPSHOTS and np.ptp(family.days) > 0
    ]
    if not usable:
        raise Undefined("No family has two snapshots that were asked items of both pools.")
    public = _changes([(family.public, family.days) for family in usable])
    unpublished = _changes([(family.unpublished, family.days) for family in usable])
    for name, own in (("published", public), ("unpublished", unpublished)):
        if len(own) < 2:
            raise Undefined(
                f"It takes at least two {name} items rated for every snapshot; there are {len(own)}."
            )
    return Pools(
        float(public.mean()),
        float(unpublished.mean()),
        welch(public, unpublished),
        (len(public), len(unpublished)),
        sum(len(family.days) for family in usable),
    )


def _changes(pools: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The change of each item that has one, from the first snapshot of a family to its last."""
    changes = []
    for means, days in pools:
        apart = days - days.mean()
        changes.append(apart @ means / (apart @ apart) * np.ptp(days))
    whole = np.array(changes)
    known = ~np.isnan(whole)
    counts = known.sum(axis=0)
    sums = np.where(known, whole, 0.0).sum(axis=0)
    return np.asarray(sums[counts > 0] / counts[counts > 0])
