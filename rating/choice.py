"""Which open response a rater is offered next: a pure function of a small set of candidates.

Half-rated responses come first, so that work is finished before more is begun. Cards of one item,
and of the two arms of a pair, are kept apart. Among equals chance decides, drawn from the slot's
own draw and the rater, so that an order can be replayed.
"""

from collections import Counter
from collections.abc import Sequence
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
    """A card that a rater has had before."""

    item: int
    pair: int | None


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
    near = recent[:distance]
    items = {seen.item for seen in near}
    pairs = {seen.pair for seen in near if seen.pair is not None}
    left = Counter(_kin(candidate) for candidate in candidates)
    return sorted(
        (c for c in candidates if c.item not in items and c.pair not in pairs),
        # Those with most cards left go first, or their cards would meet at the end.
        key=lambda c: (c.urgency, -left[_kin(c)], draw(str(c.draw), rater), c.slot),
    )


def _kin(candidate: Candidate) -> tuple[int | None, int]:
    """What the cards that must lie apart have in common."""
    return (candidate.pair, 0) if candidate.pair is not None else (None, candidate.item)
