"""Items x trials, in an order drawn from a seed, with what is alike kept apart."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runs.canonical import draw


class PlanRefused(ValueError):
    """A plan that cannot be carried out, with the reason."""


@dataclass(frozen=True)
class Slot:
    """One asking: the trial-th of an item."""

    item: str
    trial: int


def plan_order(
    seed: str,
    subject: str,
    condition: str,
    items: Iterable[str],
    trials: int,
    pairs: Iterable[tuple[str, str]] = (),
) -> list[Slot]:
    """Every trial of every item once, in an order that is the same for the same arguments.

    Two trials of one item never stand next to each other, nor do two arms of a pair.

    Raises
    ------
    PlanRefused
        If no order keeps them apart.
    """
    slots = [Slot(item, trial) for item in sorted(set(items)) for trial in range(1, trials + 1)]
    slots.sort(key=lambda slot: draw(seed, f"{subject}|{condition}|{slot.trial}|{slot.item}"))
    kin = {arm: a for a, b in pairs for arm in (a, b)}
    return _keep_apart(slots, [kin.get(slot.item, slot.item) for slot in slots])


def _keep_apart(slots: Sequence[Slot], groups: Sequence[str]) -> list[Slot]:
    """The slots in nearly their order, none beside another of its group.

    Take the first that differs from the one before, unless a group fills every second place that
    is left: then it must be taken now. So an order is found whenever there is one.
    """
    left = Counter(groups)
    for group, count in left.most_common(1):
        if count > (len(slots) + 1) // 2:
            raise PlanRefused(
                f"{count} of the {len(slots)} askings are of {group} or its pair, so two of them "
                "would stand next to each other. Plan more items, or fewer trials."
            )
    waiting = list(zip(slots, groups, strict=True))
    order: list[Slot] = []
    before = ""
    while waiting:
        largest, count = left.most_common(1)[0] if len(waiting) % 2 else ("", 0)
        urgent = largest if 2 * count > len(waiting) else ""
        place = next(
            index
            for index, (_, group) in enumerate(waiting)
            if (group == urgent if urgent else group != before)
        )
        slot, before = waiting.pop(place)
        left[before] -= 1
        order.append(slot)
    return order


def reply_seed(run: str, subject: str, item: str, trial: int) -> int:
    """The seed sent with the first attempt: 31 bits that only these four decide."""
    drawn = hashlib.sha256(f"{run}|{subject}|{item}|{trial}".encode()).digest()
    return int.from_bytes(drawn[:4], "big") >> 1


def retry_seed(seed: int, retry: int) -> int:
    """The seed of the n-th retry: another one, so that a repeat is not the same repeat."""
    return (seed + retry) % 2**31
