"""Which open response a rater is offered next: a pure function of a small set of candidates.

Half-rated responses come first, so that work is finished before more is begun. Cards of one item,
and of the two arms of a pair, are kept apart. Among equals chance decides, drawn from the slot's
own draw and the rater, so that an order can be replayed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runs.canonical import draw


@dataclass(frozen=True)
class Candidate:
    """An open slot as far as the choice looks at it."""

    slot: int
    response: int
    item: int
    pair: int | None
    urgency: int
    draw: int


@dataclass(frozen=True)
class Seen:
    """A card that a rater has had before; with its ``response`` if that one may come straight back."""

    item: int
    pair: int | None
    response: int | None = None


def ranked(
    candidates: Sequence[Candidate],
    recent: Sequence[Seen],
    *,
    distance: int,
    rater: str,
) -> list[Candidate]:
    """The candidates that may be offered, the best first; none too near an earlier card.

    Parameters
    ----------
    candidates
        Open slots of responses the rater has not had.
    recent
        The rater's last cards, newest first.
    distance
        How many other cards lie between two of one item or one pair, at the least.
    """
    left = Counter(_kin(candidate) for candidate in candidates)
    return sorted(
        far_enough(candidates, recent, distance),
        # Those with most cards left go first, or their cards would meet at the end.
        key=lambda c: (c.urgency, -left[_kin(c)], draw(str(c.draw), rater), c.slot),
    )


def far_enough(
    candidates: Iterable[Candidate], recent: Sequence[Seen], distance: int
) -> list[Candidate]:
    """Those whose item and pair are none of the last ``distance`` other cards."""
    near = recent[:distance]
    return [
        c
        for c in candidates
        if not any(
            seen.response != c.response
            and (seen.item == c.item or (c.pair is not None and seen.pair == c.pair))
            for seen in near
        )
    ]


def _kin(candidate: Candidate) -> tuple[int | None, int]:
    """What the cards that must lie apart have in common."""
    return (candidate.pair, 0) if candidate.pair is not None else (None, candidate.item)
