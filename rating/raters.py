"""Those who rate, as maintainers see them: by code name, from A to Z, never by a result."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from rating.choice import linked
from rating.models import Pause, Rating, Role, Tally, User
from runs.models import Wave


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
    standing = Q(ratings__superseded_by=None, ratings__withdrawn_at=None)
    people = (
        User.objects.filter(Q(groups__name=Role.RATER) | Q(ratings__isnull=False))
        .distinct()
        .annotate(
            counted=Count("ratings", filter=standing & Q(ratings__kind="counted"), distinct=True),
            surplus=Count("ratings", filter=standing & Q(ratings__kind="surplus"), distinct=True),
            last_at=Max("ratings__rated_at"),
        )
        .order_by("pseudonym")
    )
    seconds = dict(Rating.objects.order_by().values_list("rater").annotate(Sum("active_seconds")))
    return [
        RaterLine(
            person.pk,
            person.pseudonym,
            person.counted,
            person.surplus,
            (seconds.get(person.pk) or 0) / 3600,
            person.last_at,
            pauses.get(person.pk),
        )
        for person in people
    ]


def links_of(wave: Wave) -> Links:
    """The groups of raters that shared responses tie together, by code name."""
    pairs = list(
        Tally.objects.filter(wave=wave, of=Tally.Of.PARTNER, count__gt=0).values_list(
            "rater", "which"
        )
    )
    raters = set(
        Tally.objects.filter(wave=wave, of=Tally.Of.SUBJECT, count__gt=0).values_list(
            "rater", flat=True
        )
    )
    names = dict(User.objects.filter(pk__in=raters).values_list("pk", "pseudonym"))
    return Links(
        wave,
        len(raters),
        tuple(
            tuple(sorted(names[rater] for rater in group if rater in names))
            for group in linked(pairs, raters)
        ),
    )
