"""What reviews amount to, who may give the next one, and which item comes first.

Pure decisions over plain values. Two people review each wording of an item; a third settles where
they differ. What touches a crisis or an identity is not settled by people who are not marked with
any expertise: one place is kept for somebody who is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runs.canonical import draw

PLACES = 2
MOST_PLACES = 3


class Standing(StrEnum):
    """How it stands with one wording of an item. Derived from its reviews, never stored."""

    UNVALIDATED = "unvalidated"
    SINGLE = "single review"
    VALIDATED = "validated"
    NEEDS_REVISION = "needs revision"
    DISPUTED = "disputed"


VERDICTS = {"validated": Standing.VALIDATED, "needs-revision": Standing.NEEDS_REVISION}


@dataclass(frozen=True)
class Taken:
    """A place that somebody has: by a review, which has a verdict, or by holding the item."""

    number: int
    reviewer: int
    expert: bool
    verdict: str = ""


def standing_of(said: Sequence[Taken], *, needs_expert: bool) -> Standing:
    """What the live reviews of a wording amount to."""
    if not said:
        return Standing.UNVALIDATED
    if len(said) == 1 or (needs_expert and not any(one.expert for one in said)):
        return Standing.SINGLE
    verdicts = [one.verdict for one in said]
    for verdict, standing in VERDICTS.items():
        if verdicts.count(verdict) * 2 > len(verdicts):
            return standing
    return Standing.DISPUTED


def needs_expert(topic: str, details: Mapping[str, Any]) -> bool:
    """Whether an item is about a crisis or an identity, as its bank declares."""
    return bool(
        topic
        or details.get("sensitivity") == "high"
        or details.get("identity") is True
        or details.get("needsExpertise")
    )


def wanted(said: Sequence[Taken], *, needs_expert: bool) -> int:
    """How many reviews this wording wants: two, and one more where those do not suffice."""
    if len(said) < PLACES:
        return PLACES
    agree = len({one.verdict for one in said}) == 1
    served = not needs_expert or any(one.expert for one in said)
    return PLACES if agree and served and len(said) == PLACES else MOST_PLACES


def place_for(
    reviewer: int,
    *,
    expert: bool,
    said: Sequence[Taken],
    held: Sequence[Taken],
    needs_expert: bool,
) -> int | None:
    """The number of the place that this reviewer may take, or None.

    Nobody reviews a wording twice. The last place is kept for an expert, if one is needed.
    """
    taken = [*said, *held]
    if any(one.reviewer == reviewer for one in taken):
        return None
    numbers = {one.number for one in taken}
    most = wanted(said, needs_expert=needs_expert)
    free = [number for number in range(1, most + 1) if number not in numbers]
    if not free:
        return None
    kept = needs_expert and not expert and not any(one.expert for one in taken)
    return None if kept and len(free) == 1 else free[0]


@dataclass(frozen=True)
class Offer:
    """An item that a reviewer could have now.

    ``changed``: they reviewed an earlier wording of it. ``thin``: how many
    validated items, and how many items, its part of the bank has.
    """

    work: int
    item: int
    key: str
    topic: str = ""
    begun: bool = False
    changed: bool = False
    put_off: bool = False
    thin: tuple[int, int] = (0, 0)


def ranked(offers: Iterable[Offer], *, expert: bool, seed: str) -> list[Offer]:
    """What to try first: what changed since, the half-reviewed, a crisis for experts, the thin parts.

    The rest comes by a hash of ``seed``; what was put off till later comes last.
    """
    return sorted(
        offers,
        key=lambda offer: (
            offer.put_off,
            not offer.changed,
            not offer.begun,
            not (offer.topic and expert),
            offer.thin,
            draw(seed, offer.key),
        ),
    )
