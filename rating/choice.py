"""Which open response a rater is offered next: a pure function of a small set of candidates.

In this order: half-rated responses come first, so that work is finished before more is begun;
then partners the rater has met least, so that all raters stay linked; then what the rater has had
least of, so that severe and mild raters fall evenly on every subject and arm; then items with most
cards left, or their cards would meet at the end. Among equals chance decides, drawn from the
slot's own draw and the rater, so that an order can be replayed.

Three things are never offered: a card too near another of its item or pair, one that would make
what the rater has had more uneven than the cap, and one more with a partner they have met too often.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runs.canonical import draw

# How many partners a first look takes in, and any further one.
FEW, MANY = 2, 32


@dataclass(frozen=True)
class Candidate:
    """An open slot as far as the choice looks at it."""

    slot: int
    response: int
    item: int
    pair: int | None
    draw: int
    wave: int = 0
    subject: int = 0
    arm: int = 0
    partner: int | None = None
    topic: str = ""


@dataclass(frozen=True)
class Seen:
    """A card that a rater has had before; with its ``response`` if that one may come straight back."""

    item: int
    pair: int | None
    response: int | None = None


@dataclass(frozen=True)
class Limits:
    """What the choice never goes beyond, as declared.

    ``distance``: how many other cards lie between two of one item or pair, at the least.
    ``uneven``: how far a rater's counts over the subjects, or over the arms, of a wave may differ.
    ``partner_share``: the largest share of a rater's ratings that one partner may have shared,
    once they have given ``partner_floor`` with them and there are others to share with.
    """

    distance: int
    uneven: int
    partner_share: float = 0.5
    partner_floor: int = 10


@dataclass(frozen=True)
class Had:
    """What a rater has given so far in each wave, by subject, arm and partner.

    Subjects and arms of the wave that they have had nothing of are in it, with 0.
    """

    subjects: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    arms: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    partners: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    raters: Mapping[int, int] = field(default_factory=dict)


def looks(
    groups: Iterable[tuple[int, int | None]], had: Had, *, limits: Limits, rater: str
) -> list[list[tuple[int, int | None]]]:
    """Where to look for candidates, one after the other, until something is found.

    Parameters
    ----------
    groups
        Wave and partner (None: nobody yet) of the open slots there are.

    Returns
    -------
    list
        First the half-rated ones of the few partners met least, then those of all others whom the
        rater may still meet, then those that nobody has rated.
    """
    half: list[tuple[int, int, bytes, int]] = []
    fresh: list[tuple[int, int | None]] = []
    for wave, partner in groups:
        if partner is None:
            fresh.append((wave, None))
        elif not met_too_often(wave, partner, had, limits):
            met = had.partners.get(wave, {}).get(partner, 0)
            half.append((met, wave, draw(f"{wave} {partner}", rater), partner))
    least_met: list[tuple[int, int | None]] = [
        (wave, partner) for _, wave, _, partner in sorted(half, key=lambda one: (one[0], one[2]))
    ]
    rest = least_met[FEW:]
    further = [rest[at : at + MANY] for at in range(0, len(rest), MANY)]
    return [look for look in (least_met[:FEW], *further, fresh) if look]


def ranked(
    candidates: Sequence[Candidate],
    recent: Sequence[Seen],
    had: Had,
    *,
    limits: Limits,
    rater: str,
) -> list[Candidate]:
    """The candidates that may be offered, the best first.

    Parameters
    ----------
    candidates
        Open slots of responses the rater has not had.
    recent
        The rater's last cards, newest first.
    had
        What the rater has given so far.
    """
    left = Counter(_kin(candidate) for candidate in candidates)
    enough = {wave: _enough(wave, had, limits) for wave in {c.wave for c in candidates}}
    return sorted(
        (
            c
            for c in far_enough(candidates, recent, limits.distance)
            if _even(c, *enough[c.wave]) and not met_too_often(c.wave, c.partner, had, limits)
        ),
        key=lambda c: (
            c.partner is None,
            had.partners.get(c.wave, {}).get(c.partner, 0) if c.partner is not None else 0,
            had.subjects.get(c.wave, {}).get(c.subject, 0),
            had.arms.get(c.wave, {}).get(c.arm, 0) if c.arm else 0,
            -left[_kin(c)],
            draw(str(c.draw), rater),
            c.slot,
        ),
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


def even_enough(candidate: Candidate, had: Had, limits: Limits) -> bool:
    """Whether one more of its subject, and of its arm, stays within the cap."""
    return _even(candidate, *_enough(candidate.wave, had, limits))


def _even(candidate: Candidate, subjects: Sequence[int], arms: Sequence[int]) -> bool:
    return candidate.subject not in subjects and not (candidate.arm and candidate.arm in arms)


def _enough(wave: int, had: Had, limits: Limits) -> tuple[list[int], list[int]]:
    """The subjects and the arms of a wave that the rater has had enough of."""
    return full(had.subjects.get(wave, {}), limits), full(had.arms.get(wave, {}), limits)


def full(counts: Mapping[int, int], limits: Limits) -> list[int]:
    """What the rater has had so much of that one more would go beyond the cap."""
    least = min(counts.values(), default=0)
    return [
        which for which, n in counts.items() if n + 1 - least > limits.uneven and len(counts) > 1
    ]


def met_too_often(wave: int, partner: int | None, had: Had, limits: Limits) -> bool:
    """Whether somebody has shared too much of the rater's work in a wave already."""
    if partner is None or had.raters.get(wave, 0) < 3:
        return False
    shared = had.partners.get(wave, {})
    # Of few others, each must share much: no cap below twice an even share can be kept.
    share = max(limits.partner_share, 2 / (had.raters[wave] - 1))
    allowed = max(limits.partner_floor, share * sum(shared.values()))
    return shared.get(partner, 0) + 1 > allowed


def linked(pairs: Iterable[tuple[int, int]], raters: Iterable[int]) -> list[set[int]]:
    """The groups of raters that shared responses tie together, the largest first.

    With more than one group, no adjusted figure can compare them.
    """
    group: dict[int, set[int]] = {rater: {rater} for rater in raters}
    for one, other in pairs:
        a, b = group.setdefault(one, {one}), group.setdefault(other, {other})
        if a is not b:
            small, large = sorted((a, b), key=len)
            large |= small
            for rater in small:
                group[rater] = large
    groups = {id(members): members for members in group.values()}
    return sorted(groups.values(), key=lambda members: (-len(members), min(members)))


def _kin(candidate: Candidate) -> tuple[int | None, int]:
    """What the cards that must lie apart have in common."""
    return (candidate.pair, 0) if candidate.pair is not None else (None, candidate.item)
