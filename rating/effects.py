"""How each rater stands beside what was agreed: to help, not to rank.

By code name, from A to Z, in the blocks and up to the day that raters see themselves. One query
for each kind of figure, however many raters there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone

from rating.clock import midnight
from rating.models import Kind, Pause, Rating, Role, User
from rating.standing import (
    Estimate,
    Reading,
    Share,
    drift,
    in_blocks,
    severity,
    share_of,
)


@dataclass(frozen=True)
class DayMean:
    """The mean of own minus agreed level on one day, of ``n`` readings."""

    day: date
    mean: float
    n: int


@dataclass(frozen=True)
class RaterEffect:
    """One rater beside what was agreed, and beside themselves."""

    pseudonym: str
    within: Share
    severity: Estimate
    drift: Estimate
    same: Share
    days: tuple[DayMean, ...]
    pauses: tuple[Pause, ...]


@dataclass(frozen=True)
class Effects:
    """All raters, from A to Z, with the tolerance that was declared beforehand, in levels."""

    raters: tuple[RaterEffect, ...]
    tolerance: float

    @property
    def known(self) -> int:
        """How many have a severity at all."""
        return sum(rater.severity.value is not None for rater in self.raters)

    @property
    def beyond(self) -> int:
        """How many of those lie, on average, further from what was agreed than the tolerance."""
        return sum(
            abs(rater.severity.value) > self.tolerance
            for rater in self.raters
            if rater.severity.value is not None
        )

    @property
    def readings(self) -> int:
        """How many ratings of agreed responses the figures stand on."""
        return sum(rater.within.n for rater in self.raters)

    @property
    def tolerance_in_words(self) -> str:
        return f"{self.tolerance:g} levels"

    @property
    def sentence(self) -> str:
        if not self.known:
            return "No rater has a severity yet."
        who = "rater differs" if self.known == 1 else "raters differ"
        return (
            f"{self.beyond} of {self.known} {who} from the agreed level, on average, "
            f"by more than {self.tolerance_in_words}."
        )


def effect_of(
    pseudonym: str,
    readings: Sequence[Reading],
    repeats: Sequence[tuple[int, int]],
    pauses: Sequence[Pause] = (),
) -> RaterEffect:
    """The figures of one rater, of whole blocks, oldest first."""
    readings = in_blocks(readings)
    return RaterEffect(
        pseudonym,
        share_of([reading.within for reading in readings]),
        severity(readings),
        drift(readings),
        share_of([first == second for first, second in in_blocks(repeats)]),
        tuple(_by_day(readings)),
        tuple(pauses),
    )


def rater_effects(*, now: datetime) -> Effects:
    """Everybody who may rate, or has rated an agreed response."""
    today = midnight(now)
    readings = _of_each(
        Rating.objects.standing()
        .filter(kind=Kind.SEED, rated_at__lt=today)
        .order_by("rater", "rated_at", "pk")
        .values_list(
            "rater",
            "anchor__level",
            "response__agreed__anchor__level",
            "response__agreed__tolerance",
            "rated_at",
        )
    )
    first = Rating.objects.counted().filter(rater=OuterRef("rater"), response=OuterRef("response"))
    repeats = _of_each(
        Rating.objects.standing()
        .filter(kind=Kind.REPEAT, rated_at__lt=today)
        .annotate(first=Subquery(first.values("anchor__level")[:1]))
        .exclude(first=None)
        .order_by("rater", "rated_at", "pk")
        .values_list("rater", "first", "anchor__level")
    )
    pauses: dict[int, list[Pause]] = {}
    for pause in Pause.objects.order_by("paused_at", "pk"):
        pauses.setdefault(pause.person_id, []).append(pause)
    people = (
        User.objects.filter(Q(groups__name=Role.RATER) | Q(pk__in=readings.keys() | repeats.keys()))
        .distinct()
        .values_list("pk", "pseudonym")
    )
    return Effects(
        tuple(
            effect_of(
                pseudonym,
                [Reading(*row) for row in readings.get(pk, ())],
                repeats.get(pk, ()),
                pauses.get(pk, ()),
            )
            for pk, pseudonym in sorted(people, key=itemgetter(1))
        ),
        settings.SEVERITY_TOLERANCE,
    )


def _of_each(rows: Any) -> Mapping[int, list[Any]]:
    """The rest of each row, by the rater that it begins with."""
    return {rater: [row[1:] for row in some] for rater, some in groupby(rows, key=itemgetter(0))}


def _by_day(readings: Sequence[Reading]) -> Iterator[DayMean]:
    for day, some in groupby(readings, key=lambda reading: timezone.localdate(reading.at)):
        away = [reading.own - reading.agreed for reading in some]
        yield DayMean(day, sum(away) / len(away), len(away))
