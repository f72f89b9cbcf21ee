"""How far two reviewers of one item agree, and who could review next."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from rating.models import CRITERIA, ItemReview, ReviewHold, Role, User, Verdict
from rating.review_choice import Standing
from rating.reviews import Wording, waiting_for, wordings
from rating.stats.agreement import (
    Coefficient,
    Floats,
    Interval,
    Patterns,
    Undefined,
    exact_share,
    interval,
    tally,
    value,
)
from rating.stats.chance import coefficient, gwet_chance
from rating.stats.weights import identity

SCALE = (0.0, 1.0)
AC1 = coefficient(gwet_chance, identity(len(SCALE)))
SEED = "item reviews"
TITLES = {
    "applicable": "Applicable",
    "discriminating": "Discriminating",
    "monotonic": "On one axis",
    "on_construct": "On the construct",
    "safe_and_accurate": "Safe and accurate",
    "verdict": "Verdict",
}


@dataclass(frozen=True)
class Figure:
    """A number with its interval, or the reason for either that is missing."""

    value: float | None
    interval: Interval | None
    reason: str = ""

    @property
    def as_percent(self) -> dict[str, str]:
        return self._shown("{:.0%}")

    @property
    def as_number(self) -> dict[str, str]:
        return self._shown("{:.2f}")

    def _shown(self, form: str) -> dict[str, str]:
        numbers: dict[str, float | None] = {"value": self.value}
        if self.interval:
            numbers |= {"low": self.interval.low, "high": self.interval.high}
        return {name: form.format(one) for name, one in numbers.items() if one is not None}


@dataclass(frozen=True)
class Line:
    """Two answers to one question about each of ``items`` items."""

    title: str
    items: int
    percent: Figure
    ac1: Figure


def agreement() -> list[Line]:
    """Agreement of the first two independent reviews of each wording, by criterion and verdict."""
    said = answers()
    return [_line(title, patterns) for title, patterns in said.patterns()]


@dataclass(frozen=True)
class Answers:
    """What two reviewers each said of a wording; ``said`` has shape (wordings, 2, questions).

    1 is yes, or a wording that is validated. ``reviewers`` is how many people gave these.
    """

    said: Floats
    reviewers: int

    def patterns(self) -> list[tuple[str, Patterns]]:
        """The answers to each question, tallied, with its title."""
        return [
            (title, tally(self.said[:, :, place].T, SCALE))
            for place, title in enumerate(TITLES.values())
        ]


def answers(hashes: Collection[str] | None = None) -> Answers:
    """The first two independent reviews of each wording; of these wordings alone, if given.

    A third review, and one that confirms an earlier one after a change, are not independent of
    what is compared, and stay out.
    """
    names = (*CRITERIA, "verdict")
    rows = ItemReview.objects.live().filter(number__in=[1, 2], still_stands_of=None)
    if hashes is not None:
        rows = rows.filter(content_hash__in=hashes)
    said: dict[str, list[tuple[float, ...]]] = {}
    people: dict[str, set[int]] = {}
    for wording, reviewer, *met, verdict in rows.order_by("content_hash", "number").values_list(
        "content_hash", "reviewer", *names
    ):
        said.setdefault(wording, []).append(
            (*(float(one) for one in met), float(verdict == Verdict.VALIDATED))
        )
        people.setdefault(wording, set()).add(reviewer)
    twice = {wording: both for wording, both in said.items() if len(both) == 2}
    return Answers(
        np.array(list(twice.values()), dtype=np.float64).reshape(len(twice), 2, len(names)),
        len({one for wording in twice for one in people[wording]}),
    )


def _line(title: str, patterns: Patterns) -> Line:
    return Line(
        title,
        patterns.pairable.n_units,
        _figure(exact_share, patterns, f"{SEED} {title} percent"),
        _figure(AC1, patterns, f"{SEED} {title} ac1"),
    )


def _figure(coefficient: Coefficient, patterns: Patterns, seed: str) -> Figure:
    try:
        found = value(coefficient, patterns)
    except Undefined:
        return Figure(None, None, "no item has two independent reviews yet.")
    try:
        return Figure(found, interval(coefficient, patterns, seed=seed))
    except Undefined as why:
        return Figure(found, None, str(why))


@dataclass(frozen=True)
class ReviewerLine:
    """One reviewer, by code name: what they have done, and how much they could take now."""

    pseudonym: str
    expert: bool
    sent: int
    in_hand: bool
    open: int
    why_not: str


@dataclass(frozen=True)
class Overview:
    """Where the reviewing stands: how many reviews are to come, and how many items want an expert."""

    standings: tuple[tuple[Standing, int], ...]
    to_come: int
    for_experts: int
    experts: int
    reviewers: tuple[ReviewerLine, ...]


def overview(now: datetime) -> Overview:
    """What is open, and who could take it, from A to Z by code name."""
    people = list(
        User.objects.filter(groups__name__in=[Role.ITEM_REVIEWER, Role.ADMIN], is_active=True)
        .distinct()
        .order_by("pseudonym")
    )
    everything = wordings(now)
    waiting = [one for one in everything if one.wants]
    return Overview(
        standings=tuple(
            (standing, sum(one.standing == standing for one in everything)) for standing in Standing
        ),
        to_come=sum(one.wants for one in waiting),
        for_experts=sum(_waits_for_an_expert(one) for one in waiting),
        experts=sum(bool(person.expertise) for person in people),
        reviewers=tuple(_reviewer_line(person, everything, now) for person in people),
    )


def _waits_for_an_expert(wording: Wording) -> bool:
    return wording.needs_expert and not any(one.expert for one in wording.said)


def _reviewer_line(person: User, everything: list[Wording], now: datetime) -> ReviewerLine:
    waiting = waiting_for(person, now=now, everything=everything)
    return ReviewerLine(
        person.pseudonym,
        bool(person.expertise),
        ItemReview.objects.live().filter(reviewer=person).count(),
        ReviewHold.objects.live().filter(reviewer=person, parked=False).exists(),
        waiting.count,
        "" if waiting.count else waiting.why_not.reason,
    )
