"""Those who rate, as maintainers see them: by code name, from A to Z, never by a result."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from rating.choice import linked
from rating.models import Kind, Pause, Rating, Role, Tally, User
from runs.models import Wave

FIRST = 10_000  # pairs of raters


@dataclass(frozen=True)
class RaterLine:
    """One person who rates. ``pause`` is the one that lasts, if any."""

    pk: int
    pseudonym: str
    counted: int
    surplus: int
    active_hours: float
    last_at: datetime | None
    pause: Pause | None


@dataclass(frozen=True)
class Links:
    """Whether the raters of a wave are tied together by responses they share."""

    wave: Wave
    raters: int
    groups: tuple[tuple[str, ...], ...]

    @property
    def whole(self) -> bool:
        return len(self.groups) <= 1


def rater_lines() -> list[RaterLine]:
    """Everybody who may rate or has rated."""
    pauses = {pause.person_id: pause for pause in Pause.objects.filter(ended_at=None)}
    ratings = Rating.objects.order_by().values_list("rater")
    # The first two are kept or few; the last is answered by an index alone.
    counted = dict(
        Tally.objects.filter(of=Tally.Of.SUBJECT)
        .order_by()
        .values_list("rater")
        .annotate(Sum("count"))
    )
    surplus = dict(
        ratings.filter(kind=Kind.SURPLUS, superseded_by=None, withdrawn_at=None).annotate(
            Count("pk")
        )
    )
    work = {
        rater: (seconds or 0, last)
        for rater, seconds, last in ratings.annotate(Sum("active_seconds"), Max("rated_at"))
    }
    people = (
        User.objects.filter(Q(groups__name=Role.RATER) | Q(pk__in=work))
        .distinct()
        .order_by("pseudonym")
    )
    lines = []
    for person in people.only("pseudonym"):
        seconds, last = work.get(person.pk, (0, None))
        lines.append(
            RaterLine(
                person.pk,
                person.pseudonym,
                counted.get(person.pk, 0),
                surplus.get(person.pk, 0),
                seconds / 3600,
                last,
                pauses.get(person.pk),
            )
        )
    return lines


def links_of(wave: Wave) -> Links:
    """The groups of raters that shared responses tie together, by code name."""
    pairs = (
        Tally.objects.filter(wave=wave, of=Tally.Of.PARTNER, count__gt=0)
        .order_by("rater")
        .values_list("rater", "which")
    )
    raters = set(
        Tally.objects.filter(wave=wave, of=Tally.Of.SUBJECT, count__gt=0).values_list(
            "rater", flat=True
        )
    )
    # Of many who rate, the first few tie all together: the rest is read only where they do not.
    first = list(pairs[:FIRST])
    groups = linked(first, raters)
    if len(groups) > 1 and len(first) == FIRST:
        groups = linked(pairs.iterator(), raters)
    names = dict(User.objects.filter(pk__in=raters).values_list("pk", "pseudonym"))
    return Links(
        wave,
        len(raters),
        tuple(tuple(sorted(names[rater] for rater in group if rater in names)) for group in groups),
    )
