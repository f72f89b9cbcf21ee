"""Whether raters agree by more than chance about the responses to one item.

Raters who hear nothing of how one response differs from another, but know which item is hard, would
still agree when items are thrown together: their levels follow the item. So levels are dealt anew
within items only. And each rater keeps their own levels, since a strict rater is strict on all.
"""

from dataclasses import dataclass, field

import numpy as np

from rating.stats.agreement import CELLS, REPLICATES, Floats, Undefined, Whole, generator


@dataclass(frozen=True)
class ChanceTest:
    """Ordinal alpha, the mean alpha of levels dealt anew, and how often they come up to it.

    ``p`` is the share of deals, the data among them, whose alpha is at least that of the data.
    ``dealt`` holds the alpha of each deal, for a picture.
    """

    alpha: float
    by_chance: float
    p: float
    permutations: int
    dealt: tuple[float, ...] = field(default=(), repr=False)


def chance_test(
    rater: Whole,
    unit: Whole,
    place: Whole,
    item: Whole,
    *,
    seed: str,
    permutations: int = REPLICATES,
) -> ChanceTest:
    """Test ordinal alpha against levels that have nothing to do with the response.

    Under the null, a rater's levels within an item could as well have gone to each other's
    responses. So that is done many times, for all raters and items at once. Difficulty of items
    and severity of raters stay as they are.

    Parameters
    ----------
    rater, unit, place, item : array, shape (ratings,)
        For each rating a number of its rater, its unit and the item the unit is of, and the place
        of its level on the scale, from 0. Units with one rating are left out first.
    seed : str
        What the deals are drawn from.

    Raises
    ------
    Undefined
        If no unit has two ratings, all paired ratings are one level, or no rater gave two levels
        to responses of one item, so that nothing can be dealt otherwise.

    References
    ----------
    Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd edition, on
    permuting within blocks; Phipson and Smyth (2010), Permutation p-values should never be zero,
    Statistical Applications in Genetics and Molecular Biology 9, for counting the data as one.
    """
    paired = np.bincount(unit, minlength=1)[unit] > 1 if len(unit) else np.zeros(0, dtype=bool)
    if not paired.any():
        raise Undefined("No unit has two ratings." if len(unit) else "There are no ratings.")
    order = np.lexsort((unit[paired], item[paired], rater[paired]))
    rater, unit, place, item = (column[paired][order] for column in (rater, unit, place, item))
    blocks = np.flatnonzero(np.diff(rater, prepend=-1) | np.diff(item, prepend=-1))
    sizes = np.diff(np.append(blocks, len(rater)))
    totals = np.bincount(place).astype(np.float64)
    if (totals > 0).sum() < 2:
        raise Undefined("All paired ratings are one level.")
    if not _can_move(place, blocks):
        raise Undefined(
            "No rater gave different levels to two responses of one item, "
            "so nothing could have come out otherwise."
        )
    # Dealing anew leaves the totals of levels, and with them ranks and expected disagreement.
    n = totals.sum()
    ranks = np.cumsum(totals) - totals / 2 - n / 2
    expected = float(totals @ ranks**2) / (n - 1)
    units, unit = np.unique(unit, return_inverse=True)
    in_unit = np.bincount(unit).astype(np.float64)

    def alphas(scores: Floats) -> Floats:
        shape = (len(scores), len(units))
        at = unit + len(units) * np.arange(len(scores))[:, None]
        sums = np.bincount(at.ravel(), scores.ravel(), shape[0] * shape[1]).reshape(shape)
        squares = scores**2 @ (in_unit / (in_unit - 1))[unit]
        observed = (squares - sums**2 @ (1 / (in_unit - 1))) / n
        return np.asarray(1 - observed / expected)

    scores, random = ranks[place], generator(seed)
    found = float(alphas(scores[None, :])[0])
    dealt = []
    batch = max(1, CELLS // len(scores))
    for start in range(0, permutations, batch):
        dealt.append(alphas(_deal(scores, blocks, sizes, min(batch, permutations - start), random)))
    values = np.concatenate(dealt)
    reached = int((values >= found - 1e-12).sum())
    return ChanceTest(
        found,
        float(values.mean()),
        (1 + reached) / (1 + permutations),
        permutations,
        tuple(values.tolist()),
    )


def _can_move(place: Whole, blocks: Whole) -> bool:
    lowest, highest = np.minimum.reduceat(place, blocks), np.maximum.reduceat(place, blocks)
    return bool((lowest < highest).any())


def _deal(
    scores: Floats, blocks: Whole, sizes: Whole, times: int, random: np.random.Generator
) -> Floats:
    """Scores dealt anew within each block, shape (times, ratings). Blocks of one size go together."""
    dealt = np.repeat(scores[None, :], times, axis=0)
    for size in np.unique(sizes[sizes > 1]):
        at = blocks[sizes == size][:, None] + np.arange(size)
        dealt[:, at] = random.permuted(dealt[:, at], axis=2)
    return dealt
