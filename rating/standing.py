"""How somebody rates, held against agreed responses and against themselves.

Figures come in blocks of ten and never on the day itself, so that nobody can tell which responses
were agreed ones. A figure that the data leave open is a reason in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from django.conf import settings
from django.db.models import F, Max, OuterRef, Subquery, Sum

from rating.clock import midnight
from rating.models import Kind, Pause, Qualification, Rating, User
from rating.stats.raters import slope_of
from rating.stats.student import NO_WIDTH, mean_of
from runs.models import Instrument

T = TypeVar("T")

BLOCK = 10
COVERAGE = 0.95
# A slope over less time than this would say more about one day than about the rater.
DRIFT_DAYS = 14


# The pure part


@dataclass(frozen=True)
class Reading:
    """One agreed response as somebody rated it."""

    own: int
    agreed: int
    tolerance: int
    at: datetime

    @property
    def within(self) -> bool:
        return abs(self.own - self.agreed) <= self.tolerance


@dataclass(frozen=True)
class Share:
    """``count`` of ``n``, with a Wilson interval; without one where there is nothing to share."""

    count: int
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def percent(self) -> int | None:
        return round(100 * self.count / self.n) if self.n else None


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval, or the reason for none of either."""

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    @property
    def in_words(self) -> str:
        """The number of levels with its interval, or why there is none."""
        if self.value is None:
            return f"This number cannot be given. {self.reason}"
        if self.low is None or self.high is None:
            return f"{self.value:+.2f} levels. {self.reason}"
        return f"{self.value:+.2f} levels, between {self.low:+.2f} and {self.high:+.2f}"


def share_of(hits: Sequence[bool]) -> Share:
    """How many of them, in Wilson's 95% interval (1927), as shares from 0 to 1."""
    n, count = len(hits), sum(hits)
    if not n:
        return Share(0, 0)
    z = NormalDist().inv_cdf((1 + COVERAGE) / 2)
    middle = (count + z * z / 2) / (n + z * z)
    half = z * sqrt(count * (n - count) / n + z * z / 4) / (n + z * z)
    return Share(count, n, max(0.0, middle - half), min(1.0, middle + half))


def severity(readings: Sequence[Reading]) -> Estimate:
    """The mean of own minus agreed level; below 0 is more severe than what was agreed.

    The interval is Student's, over the responses of this rater.
    """
    n = len(readings)
    if n < BLOCK:
        return Estimate(n, reason=f"It takes at least {BLOCK} agreed responses; there are {n}.")
    away = np.array([reading.own - reading.agreed for reading in readings], dtype=np.float64)
    found = mean_of(away)
    if found.variance < NO_WIDTH**2:
        return Estimate(n, found.value, reason=f"There are no limits: all {n} are alike.")
    span = found.interval()
    return Estimate(n, found.value, span.low, span.high)


def drift(readings: Sequence[Reading]) -> Estimate:
    """How much own minus agreed moves in a week: the least-squares slope on time."""
    n = len(readings)
    if n < BLOCK:
        return Estimate(n, reason=f"It takes at least {BLOCK} agreed responses; there are {n}.")
    first = min(reading.at for reading in readings)
    weeks = np.array([(r.at - first) / timedelta(weeks=1) for r in readings], dtype=np.float64)
    if weeks.max() < DRIFT_DAYS / 7:
        return Estimate(n, reason=f"It takes at least {DRIFT_DAYS} days between first and last.")
    away = np.array([r.own - r.agreed for r in readings], dtype=np.float64)
    found = slope_of(away, weeks)
    if found.variance < NO_WIDTH**2:
        return Estimate(n, found.value, reason=f"There are no limits: all {n} lie on one line.")
    span = found.interval()
    return Estimate(n, found.value, span.low, span.high)


def last_block(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The last whole block, oldest first; empty before there is one."""
    whole = len(readings) // BLOCK * BLOCK
    return readings[max(0, whole - BLOCK) : whole]


def misses(readings: Sequence[Reading]) -> int:
    """How many of the last whole block lie beyond their tolerance."""
    return sum(not reading.within for reading in last_block(readings))


def in_blocks(rows: Sequence[T]) -> Sequence[T]:
    """The rows of whole blocks alone."""
    return rows[: len(rows) // BLOCK * BLOCK]


# The part that asks the database


@dataclass(frozen=True)
class Standing:
    """What a rater may know of their own work."""

    rated: int
    active_hours: float
    within: Share
    severity: Estimate
    drift: Estimate
    same: Share
    pauses: tuple[Pause, ...]


def qualified_for(rater: User) -> list[str]:
    """The instruments that somebody has qualified for, by name."""
    passed = Qualification.objects.filter(rater=rater, passed=True)
    return [
        Instrument(one).label
        for one in passed.order_by("instrument").values_list("instrument", flat=True).distinct()
    ]


def readings_of(rater: User, *, before: datetime, since: datetime | None = None) -> list[Reading]:
    """What the rater said of agreed responses, oldest first."""
    rows = Rating.objects.standing().filter(rater=rater, kind=Kind.SEED, rated_at__lt=before)
    if since:
        rows = rows.filter(rated_at__gt=since)
    return [
        Reading(*row)
        for row in rows.order_by("rated_at", "pk").values_list(
            "anchor__level",
            "response__agreed__anchor__level",
            "response__agreed__tolerance",
            "rated_at",
        )
    ]


def repeats_of(rater: User, *, before: datetime) -> list[tuple[int, int]]:
    """The levels of the first and of the second time, oldest first."""
    first = Rating.objects.counted().filter(rater=rater, response=OuterRef("response"))
    rows = (
        Rating.objects.standing()
        .filter(rater=rater, kind=Kind.REPEAT, rated_at__lt=before)
        .annotate(first=Subquery(first.values("anchor__level")[:1]))
        .exclude(first=None)
    )
    return list(rows.order_by("rated_at", "pk").values_list("first", "anchor__level"))


def missed(rater: User, now: datetime) -> str:
    """Why rating is to be paused, by the declared rule; nothing, where it is not.

    What can still be undone is left out, so that a pause never follows at once on what caused it.
    A block begins anew after each pause.
    """
    since = Pause.objects.filter(person=rater).aggregate(last=Max("paused_at"))["last"]
    before = now - timedelta(minutes=settings.UNDO_MINUTES)
    beyond = misses(readings_of(rater, before=before, since=since))
    if beyond <= settings.SEED_MISSES:
        return ""
    return (
        f"{beyond} of your last {BLOCK} ratings of agreed responses were further from the agreed "
        f"level than the tolerance. The rule allows {settings.SEED_MISSES}."
    )


def standing_of(rater: User, *, now: datetime) -> Standing:
    """A rater's own figures, up to yesterday."""
    today = midnight(now)
    readings = in_blocks(readings_of(rater, before=today))
    given = (
        Rating.objects.standing()
        .filter(rater=rater)
        .exclude(kind__in=(Kind.PRACTICE, Kind.QUALIFYING, Kind.NORMING))
    )
    seconds = given.aggregate(total=Sum("active_seconds"))["total"] or 0
    return Standing(
        rated=given.count(),
        active_hours=seconds / 3600,
        within=share_of([reading.within for reading in readings]),
        severity=severity(readings),
        drift=drift(readings),
        same=share_of([a == b for a, b in in_blocks(repeats_of(rater, before=today))]),
        pauses=tuple(Pause.objects.filter(person=rater).order_by(F("paused_at").desc())),
    )
