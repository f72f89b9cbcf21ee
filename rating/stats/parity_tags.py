"""Tags and failure modes by arm: how often each was given to replies about either person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import Undefined, Whole
from rating.stats.parity import A, B
from rating.stats.student import ALPHA, holm, sign_flip_p

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class TagByArm:
    """One tag in one chamber. ``given`` of ``ratings`` in arm A and in arm B.

    ``difference`` is the mean over pairs of the share in A minus that in B; ``p`` is exact, over
    sign flips of the pairs, and adjusted for all tags tested together. Each is None where
    ``reason`` says why.
    """

    tag: str
    given: tuple[int, int]
    ratings: tuple[int, int]
    pairs: int
    difference: float | None
    p: float | None
    reason: str = ""

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p < ALPHA


def tags_by_arm(pairs: Whole, arms: Whole, tags: Mapping[str, Flags]) -> tuple[TagByArm, ...]:
    """Return each tag by arm, in the order given.

    Parameters
    ----------
    pairs, arms : array, shape (ratings,)
        The pair of each rating, from 0, and its arm: 0 for A, 1 for B.
    tags : mapping of str to array, shape (ratings,)
        Whether the rating carries the tag.

    Returns
    -------
    tuple of TagByArm
        Pairs are what is independent here, so ratings of one pair count together. Holm's
        adjustment is over the tags that could be tested.

    References
    ----------
    Fisher (1935), The design of experiments, section 21, for sign flips of paired differences.
    """
    found = [_tag(name, pairs, arms, flags) for name, flags in tags.items()]
    tested = [place for place, own in enumerate(found) if own.p is not None]
    adjusted = holm([p for p in (found[place].p for place in tested) if p is not None])
    for place, p in zip(tested, adjusted, strict=True):
        own = found[place]
        found[place] = TagByArm(own.tag, own.given, own.ratings, own.pairs, own.difference, p)
    return tuple(found)


def _tag(name: str, pairs: Whole, arms: Whole, flags: Flags) -> TagByArm:
    if not pairs.shape == arms.shape == flags.shape:
        raise ValueError(f"Each rating has a pair, an arm and {name!r} or not; the lengths differ.")
    given = int(flags[arms == A].sum()), int(flags[arms == B].sum())
    ratings = int((arms == A).sum()), int((arms == B).sum())
    counts = [
        own
        for own in (_counts(pairs == pair, arms, flags) for pair in np.unique(pairs))
        if own[1] and own[3]
    ]
    if not counts:
        return TagByArm(
            name, given, ratings, 0, None, None, "No pair has a rated reply in both arms."
        )
    shares = [a / of_a - b / of_b for a, of_a, b, of_b in counts]
    difference = float(np.mean(shares))
    try:
        p = sign_flip_p(_whole(counts))
    except Undefined as why:
        return TagByArm(name, given, ratings, len(counts), difference, None, str(why))
    return TagByArm(name, given, ratings, len(counts), difference, p)


def _counts(own: Flags, arms: Whole, flags: Flags) -> tuple[int, int, int, int]:
    a, b = own & (arms == A), own & (arms == B)
    return int(flags[a].sum()), int(a.sum()), int(flags[b].sum()), int(b.sum())


def _whole(counts: Sequence[tuple[int, int, int, int]]) -> Whole:
    """Differences of shares over their common denominator, in lowest terms."""
    common = lcm(*(size for _, of_a, _, of_b in counts for size in (of_a, of_b)))
    values = np.array(
        [a * (common // of_a) - b * (common // of_b) for a, of_a, b, of_b in counts],
        dtype=np.int64,
    )
    return values // max(1, int(np.gcd.reduce(values)))
