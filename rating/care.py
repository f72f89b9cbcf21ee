"""Who worked for how long, and who was shown what: the ground of fair pay and of care.

Lines are made one by one, so that a file of any length is never whole in memory. They hold code
names and random handles: no name, no address, no level, and nothing of what is asked about.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from rating.export import Cell, guarded
from rating.models import Assignment, Event, EventKind, Exposure, Outcome, Rating, Saw, User

HOURS: Final = (
    "rater",
    "day",
    "cards_opened",
    "hard_topic_cards",
    "ratings",
    "active_minutes",
)
EXPOSURE: Final = (
    "person",
    "saw",
    "response",
    "topic",
    "wave",
    "opened_at",
    "ended_at",
    "ended",
    "active_seconds",
)
# A rater's own file names nothing that others could join it by.
OWN_EXPOSURE: Final = tuple(name for name in EXPOSURE if name != "wave")
CHUNK = 2000

Line = tuple[Cell, ...]


@dataclass(frozen=True)
class Days:
    """The days that a file is about, the last one included; open at an end that is not given."""

    first: date | None = None
    last: date | None = None

    def of(self, field: str) -> Q:
        """The rows whose moment lies in these days, as the site has them."""
        wanted = Q()
        if self.first:
            wanted &= Q(**{f"{field}__gte": _begin(self.first)})
        if self.last:
            wanted &= Q(**{f"{field}__lt": _begin(self.last + timedelta(days=1))})
        return wanted


ALL_DAYS = Days()


def hours_lines(days: Days = ALL_DAYS, *, only: User | None = None) -> Iterator[Line]:
    """A line for each person and day on which they opened a card or rated, after the header.

    ``active_minutes`` are those of ratings that were sent, to a tenth. A rating that its rater
    took back and gave again is there once, as it was given last.
    """
    yield HOURS
    yield from _hours_of(_people(only), only, days)


def exposure_lines(days: Days = ALL_DAYS) -> Iterator[Line]:
    """A line for each card somebody opened, and for each time they saw figures or ratings."""
    yield EXPOSURE
    for person in _people(None):
        yield from _cards_of(person, days, handle="response__code", wave=True)
        yield from _looks_of(person, days, wave=True)


def own_exposure_lines(person: User, days: Days = ALL_DAYS) -> Iterator[Line]:
    """The same of one person, for themselves: a card that came back has another handle."""
    yield OWN_EXPOSURE
    yield from _cards_of(person, days, handle="code", wave=False)
    yield from _looks_of(person, days, wave=False)


def as_csv(lines: Iterable[Line]) -> Iterator[str]:
    """Each line as CSV, as ``rating.export`` has it: no cell is taken for a formula."""
    for line in lines:
        file = io.StringIO()
        csv.writer(file, lineterminator="\r\n").writerow(
            [guarded(cell) if isinstance(cell, str) else cell for cell in line]
        )
        yield file.getvalue()


def record_look(person: User | None, what: str, days: Days = ALL_DAYS) -> None:
    """Put on record that somebody read what is about others. None: it was done at a terminal."""
    about = {"what": what, "from": str(days.first or ""), "to": str(days.last or "")}
    Event.objects.create(kind=EventKind.LOOK, actor=person, about=about)


def _people(only: User | None) -> list[User]:
    """By code name, from A to Z, as Python has it: databases differ."""
    if only:
        return [only]
    return sorted(User.objects.only("pseudonym"), key=lambda person: person.pseudonym)


def _hours_of(people: list[User], only: User | None, days: Days) -> Iterator[Line]:
    """Of all at once, whoever they are: asked one by one, 500 people would take minutes."""
    cards = Assignment.objects.filter(days.of("leased_at"))
    work = _work().filter(days.of("rated_at"))
    if only:
        cards, work = cards.filter(rater=only), work.filter(rater=only)
    opened = {
        (person, day): (count, hard)
        for person, day, count, hard in cards.annotate(day=TruncDate("leased_at"))
        .order_by()
        .values_list("rater", "day")
        .annotate(cards=Count("pk"), hard=Count("pk", filter=Q(slot__topic__gt="")))
    }
    rated = {
        (person, day): (ratings, seconds or 0)
        for person, day, ratings, seconds in work.annotate(day=TruncDate("rated_at"))
        .order_by()
        .values_list("rater", "day")
        .annotate(ratings=Count("pk"), seconds=Sum("active_seconds"))
    }
    worked: dict[int, set[date]] = {}
    for pk, day in opened.keys() | rated.keys():
        worked.setdefault(pk, set()).add(day)
    for person in people:
        for day in sorted(worked.get(person.pk, ())):
            shown, hard = opened.get((person.pk, day), (0, 0))
            ratings, seconds = rated.get((person.pk, day), (0, 0))
            minutes = f"{seconds / 60:.1f}"
            yield (person.pseudonym, day.isoformat(), shown, hard, ratings, minutes)


def _work() -> QuerySet[Rating]:
    """Ratings as they were given last: also those that somebody else took out of the count."""
    later = Rating.objects.filter(
        assignment=OuterRef("assignment"), rated_at__gt=OuterRef("rated_at")
    )
    voided = Q(assignment__outcome=Outcome.WITHDRAWN) & ~Exists(later)
    return Rating.objects.filter(Q(withdrawn_at=None) | voided, superseded_by=None)


def _cards_of(person: User, days: Days, *, handle: str, wave: bool) -> Iterator[Line]:
    last = Rating.objects.filter(assignment=OuterRef("pk")).order_by("-rated_at")
    cards = (
        Assignment.objects.filter(days.of("leased_at"), rater=person)
        .annotate(seconds=Subquery(last.values("active_seconds")[:1]), topic=F("slot__topic"))
        .order_by("leased_at", "pk")
        .values_list(
            handle,
            "topic",
            "response__run__wave__code",
            "leased_at",
            "ended_at",
            "outcome",
            "seconds",
        )
    )
    for code, topic, of, opened_at, ended_at, outcome, seconds in cards.iterator(CHUNK):
        yield (
            person.pseudonym,
            "response",
            str(code),
            topic or "",
            *((of,) if wave else ()),
            _moment(opened_at),
            _moment(ended_at),
            outcome or "open",
            seconds,
        )


def _looks_of(person: User, days: Days, *, wave: bool) -> Iterator[Line]:
    looks = (
        Exposure.objects.filter(days.of("seen_at"), person=person)
        .order_by("seen_at", "pk")
        .values_list("saw", "wave__code", "seen_at")
    )
    for saw, of, seen_at in looks.iterator(chunk_size=CHUNK):
        named = (of,) if wave else ()
        yield (person.pseudonym, Saw(saw).label, "", "", *named, _moment(seen_at), "", "", None)


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def _moment(at: Any) -> str:
    return at.astimezone(UTC).isoformat() if at else ""
