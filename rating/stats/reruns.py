"""Whether running a subject again gives the same levels, as far as trials allow to tell.

Each item was asked several times in a first run and several times in a second one, of the same
snapshot under the same system message. If nothing but chance lies between the runs, the trials of
an item could have been dealt to them in any way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import Floats, Undefined, generator
from rating.stats.verdict import Outcome

DRAWS: Final = 10_000
ALPHA: Final = 0.05
MARGIN: Final = 0.5  # levels; a rerun that differs by less is taken for the same
MOST_TRIALS: Final = 100
CELLS: Final = 2_000_000  # numbers held at once while trials are dealt anew


@dataclass(frozen=True)
class ItemRerun:
    """One item: how far its two means are apart, in levels and in standard errors of trials.

    ``p`` is adjusted for there being many items: under no difference in any, the chance that one
    of them looks as different is ``p``.
    """

    difference: float
    error: float
    ratio: float
    p: float


@dataclass(frozen=True)
class Rerun:
    """What two runs of one snapshot show, over ``n_items`` items and ``n_trials`` trials.

    ``trial_sd`` is the standard deviation between trials of an item in a run, pooled.
    ``mean_difference`` is the second run less the first, with ``p_shift``. ``p_spread`` asks
    whether items differ by more than trials do, in whatever direction. ``excess`` estimates how far
    an item's own level moved, as a standard deviation over items, in levels, and ``most`` is its
    one-sided 95% limit.
    """

    outcome: Outcome
    missing: str
    n_items: int
    n_trials: int
    trial_sd: float
    mean_difference: float
    p_shift: float
    p_spread: float
    excess: float
    most: float
    margin: float
    items: tuple[ItemRerun, ...]
    draws: int

    @property
    def small(self) -> bool:
        """Whether items moved by less than the margin, be it beyond chance or not."""
        return self.most < self.margin

    @property
    def beyond(self) -> int:
        """How many items differ beyond chance, with all of them allowed for."""
        return sum(one.p <= ALPHA for one in self.items)


def rerun(
    first: Sequence[Floats],
    second: Sequence[Floats],
    *,
    seed: str,
    margin: float = MARGIN,
    draws: int = DRAWS,
) -> Rerun:
    """Compare two runs item by item with the standard error that trials give.

    The null: the trials of an item are alike in both runs. They are dealt anew to the runs within
    each item, so that items may differ in level and in spread, and levels need not be normal. The
    mean shift and the spread of the differences are tested at half of 5% each: *refuted* if either
    is beyond chance. *Holds* only if the limit of how far items moved is below the margin, that is
    if a difference worth minding would have been seen. All else *cannot be told yet*.

    Parameters
    ----------
    first, second : sequence of array, one for each item, shape (trials,)
        The level of each response: the mean of its ratings. Items in the same order; trials may
        differ in number.
    seed : str
        What the dealings are drawn from: raw words of its generator alone.
    margin : float
        In levels, declared beforehand.
    draws : int
        How many dealings are drawn.

    Returns
    -------
    Rerun
        ``items`` in the order given.

    Raises
    ------
    Undefined
        If there is no item with a response in both runs, or no item with two responses in one run,
        or all trials of every item are alike, so that there is no standard error.
    ValueError
        If the two differ in how many items they have, or an item lacks a response in a run.

    References
    ----------
    Westfall and Young (1993), Resampling-Based Multiple Testing: the adjusted p of items.
    """
    table = _Table.of(first, second)
    random = generator(seed).bit_generator
    observed = table.differences(table.values)
    spread, shift, _ = _statistics(observed, table.weights)
    hits = np.zeros(2)
    beyond = np.zeros(len(observed))
    scaled = np.abs(observed) / np.sqrt(table.weights)
    batch = max(1, CELLS // table.values.size)
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        dealt = table.differences(table.dealt(random, size))
        spreads, shifts, widest = _statistics(dealt, table.weights)
        hits += [(spreads >= spread - 1e-9).sum(), (shifts >= shift - 1e-9).sum()]
        beyond += (widest[:, None] >= scaled[None, :] - 1e-9).sum(axis=0)
    p_spread, p_shift = ((1 + hits) / (1 + draws)).tolist()
    deviation = table.trial_sd
    excess, most = _excess(table)
    outcome = Outcome.OPEN
    if min(p_spread, p_shift) <= ALPHA / 2:
        outcome = Outcome.REFUTED
    elif most < margin:
        outcome = Outcome.HOLDS
    return Rerun(
        outcome=outcome,
        missing=_missing(table, margin) if outcome is Outcome.OPEN else "",
        n_items=len(observed),
        n_trials=table.n_trials,
        trial_sd=deviation,
        mean_difference=float(observed.mean()),
        p_shift=p_shift,
        p_spread=p_spread,
        excess=excess,
        most=most,
        margin=margin,
        items=tuple(
            ItemRerun(
                float(one), deviation * sqrt(weight), float(one / deviation / sqrt(weight)), p
            )
            for one, weight, p in zip(
                observed, table.weights, ((1 + beyond) / (1 + draws)).tolist(), strict=True
            )
        ),
        draws=draws,
    )


@dataclass(frozen=True)
class _Table:
    """Both runs side by side: the trials of the first, then of the second, then nothing.

    ``values`` has shape (items, places), 0 where there is no trial; ``counts`` of both runs have
    shape (items,); ``weights`` are the squared standard errors of a difference, in those of one
    trial.
    """

    values: Floats
    n_first: NDArray[np.int64]
    n_second: NDArray[np.int64]
    trial_sd: float
    freedom: int

    @classmethod
    def of(cls, first: Sequence[Floats], second: Sequence[Floats]) -> "_Table":
        if len(first) != len(second):
            raise ValueError(
                f"There are {len(first)} items in one run and {len(second)} in the other."
            )
        if not len(first):
            raise Undefined("No item has a rated response in both runs.")
        runs = [[np.asarray(one, dtype=np.float64) for one in run] for run in (first, second)]
        counts = [np.array([one.size for one in run]) for run in runs]
        if min(counts[0].min(), counts[1].min()) < 1:
            raise ValueError("An item has no response in one of the runs. Leave it out of both.")
        freedom = int(sum((count - 1).sum() for count in counts))
        if not freedom:
            raise Undefined(
                "No item has two rated trials in a run, so that nothing says how far trials differ."
            )
        squares = sum(float(((one - one.mean()) ** 2).sum()) for run in runs for one in run)
        if squares < 1e-12:
            raise Undefined(
                "All trials of each item have the same level, so that there is no standard error."
            )
        values = np.zeros((len(first), int((counts[0] + counts[1]).max())))
        for place, pair in enumerate(zip(*runs, strict=True)):
            both = np.concatenate(pair)
            values[place, : both.size] = both
        return cls(values, counts[0], counts[1], sqrt(squares / freedom), freedom)

    @property
    def weights(self) -> Floats:
        return 1 / self.n_first + 1 / self.n_second

    @property
    def n_trials(self) -> int:
        return int((self.n_first + self.n_second).sum())

    def differences(self, values: Floats) -> Floats:
        """The second mean less the first, of each item. Any number of dealings may come before."""
        places = np.arange(self.values.shape[1])
        in_first = places < self.n_first[:, None]
        in_second = ~in_first & (places < (self.n_first + self.n_second)[:, None])
        mixed = in_second / self.n_second[:, None] - in_first / self.n_first[:, None]
        return np.asarray(np.einsum("...ip,ip->...i", values, mixed))

    def dealt(self, random: np.random.BitGenerator, size: int) -> Floats:
        """The values with the trials of each item in another order; shape (size, items, places)."""
        keys = random.random_raw(size * self.values.size).reshape(size, *self.values.shape)
        places = np.arange(self.values.shape[1])
        # Places without a trial stay at the end.
        keys = np.where(
            places < (self.n_first + self.n_second)[:, None], keys >> np.uint64(1), 2**63
        )
        order = np.argsort(keys, axis=2, kind="stable")
        return np.take_along_axis(np.broadcast_to(self.values, keys.shape), order, axis=2)


def _statistics(differences: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean square, shift and widest of the differences, for each dealing."""
    scaled = differences**2 / weights
    return (
        np.asarray(scaled.mean(axis=-1)),
        np.abs(differences.sum(axis=-1)),
        np.sqrt(scaled.max(axis=-1)),
    )


def _excess(table: _Table) -> tuple[float, float]:
    """How far items moved beyond what trials explain, and its one-sided 95% limit, in levels.

    Over items the mean square of differences, in squared standard errors, is 1 plus the squared
    excess in the same measure, times an F ratio. The limit solves that for the F quantile at 5%.
    """
    from scipy.stats import f  # slow to load

    differences = table.differences(table.values)
    error2 = table.trial_sd**2
    ratio = float((differences**2 / table.weights).mean() / error2)
    one = error2 * float(table.weights.mean())
    low = float(f.ppf(ALPHA, len(differences), table.freedom))
    return sqrt(max(0.0, ratio - 1) * one), sqrt(max(0.0, ratio / low - 1) * one)


def _missing(table: _Table, margin: float) -> str:
    """How many trials an item would need in each run for "holds", were nothing between the runs."""
    from scipy.stats import f

    items = len(table.values)
    for trials in range(2, MOST_TRIALS + 1):
        low = float(f.ppf(ALPHA, items, 2 * items * (trials - 1)))
        if table.trial_sd**2 * 2 / trials * (1 / low - 1) < margin**2:
            break
    else:
        return (
            f"More than {items} items: with these no number of trials up to {MOST_TRIALS} suffices."
        )
    had = table.n_trials / (2 * items)
    if trials <= had:
        return f"More trials or items: these {items} with {had:.3g} trials in each run came out undecided."
    return f"{trials} rated trials of each of these {items} items in each run; there are {had:.3g}."
