"""A study played through the choice alone: no database, no clock, a seed."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from rating.choice import (
    Candidate,
    Had,
    Limits,
    Seen,
    even_enough,
    far_enough,
    linked,
    looks,
    ranked,
)
from rating.dealing import Deal, Rates, deal, pick

WINDOW = 64


@dataclass
class Study:
    """What came of it: each rater's cards in order, and what nobody could be given."""

    orders: dict[int, list[Candidate]]
    left: int
    uneven_subjects: int
    uneven_arms: int
    groups: int
    largest_share: float = 0.0
    # The place of each agreed response in its rater's order, from 1.
    seeds: dict[int, list[int]] = field(default_factory=dict)
    # How often the draw asked for one, and none that the rater had not had lay far enough.
    short: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def play(
    *,
    pairs: int,
    trials: int,
    subjects: int,
    raters: int,
    seed: int,
    limits: Limits,
    rates: Rates = Rates(),  # noqa: B008 - frozen
    pool: int = 0,
) -> Study:
    """Let raters come and go by chance until nobody can be given anything.

    ``pool`` agreed responses, of the same items, are dealt at the declared rate.
    """
    chance = random.Random(seed)
    slots: dict[int, Candidate] = {}
    number = 0
    for subject in range(subjects):
        for pair in range(pairs):
            for arm in (1, 2):
                for trial in range(trials):
                    response = ((subject * pairs + pair) * 2 + arm) * trials + trial
                    for _ in range(2):
                        number += 1
                        slots[number] = Candidate(
                            slot=number,
                            response=response,
                            item=pair * 2 + arm,
                            pair=pair,
                            draw=chance.getrandbits(60),
                            subject=subject,
                            arm=arm,
                        )
    agreed = [
        Candidate(
            slot=-n,
            response=-n,
            item=n % pairs * 2 + 1 + n // pairs % 2,
            pair=n % pairs,
            draw=0,
        )
        for n in range(1, pool + 1)
    ]
    places: dict[int, list[int]] = {rater: [] for rater in range(raters)}
    short = 0
    siblings: dict[int, list[int]] = {}
    for slot in slots.values():
        siblings.setdefault(slot.response, []).append(slot.slot)
    orders: dict[int, list[Candidate]] = {rater: [] for rater in range(raters)}
    by_subject = {rater: dict.fromkeys(range(subjects), 0) for rater in orders}
    by_arm = {rater: {1: 0, 2: 0} for rater in orders}
    partners: dict[int, Counter[int]] = {rater: Counter() for rater in orders}
    had: dict[int, set[int]] = {rater: set() for rater in orders}
    given: list[tuple[int, int]] = []
    waiting = set(orders)
    while waiting:
        rater = chance.choice(sorted(waiting))
        found = _offered(
            [c for c in slots.values() if c.response not in had[rater]],
            [Seen(c.item, c.pair) for c in reversed(orders[rater][-limits.distance :])],
            Had({0: by_subject[rater]}, {0: by_arm[rater]}, {0: partners[rater]}, {0: raters}),
            limits,
            f"r-{rater}",
        )
        if not found:
            waiting.discard(rater)
            continue
        waiting = set(orders)
        name, place = f"r-{seed}-{rater}", len(orders[rater]) + 1
        if deal(name, place, rates) is Deal.SEED:
            check = pick(
                [one for one in agreed if one.response not in had[rater]],
                [Seen(c.item, c.pair) for c in reversed(orders[rater][-limits.distance :])],
                distance=limits.distance,
                rater=name,
            )
            if check is not None:
                orders[rater].append(check)
                had[rater].add(check.response)
                places[rater].append(place)
                continue
            short += 1
        card = found[0]
        del slots[card.slot]
        orders[rater].append(card)
        had[rater].add(card.response)
        by_subject[rater][card.subject] += 1
        by_arm[rater][card.arm] += 1
        if card.partner is not None:
            given.append((rater, card.partner))
            partners[rater][card.partner] += 1
            partners[card.partner][rater] += 1
        for sibling in siblings[card.response]:
            if sibling in slots:
                other = slots[sibling]
                slots[sibling] = replace(other, partner=rater)
    return Study(
        orders=orders,
        left=len(slots),
        uneven_subjects=max(max(c.values()) - min(c.values()) for c in by_subject.values()),
        uneven_arms=max(abs(c[1] - c[2]) for c in by_arm.values()),
        groups=len(linked(given, orders)),
        seeds=places,
        short=short,
        largest_share=max(
            max(shared.values(), default=0) / max(1, sum(shared.values()))
            for shared in partners.values()
        ),
    )


def _offered(
    opened: list[Candidate], near: list[Seen], had: Had, limits: Limits, rater: str
) -> list[Candidate]:
    """What the queue would offer: look after look, as much of each group as a look takes in."""
    for groups in looks({(0, c.partner) for c in opened}, had, limits=limits, rater=rater):
        window = []
        for _, partner in groups:
            of_group = [c for c in opened if c.partner == partner and even_enough(c, had, limits)]
            of_group = sorted(far_enough(of_group, near, limits.distance), key=lambda c: c.draw)
            window += of_group[: -(-WINDOW // len(groups))]
        if found := ranked(window, near, had, limits=limits, rater=rater):
            return found
    return []
