"""How far a wave has come, from its draft to its publication, in words and dates."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min

from runs.models import Response, Run, Wave

NAMES = ("Draft", "Locked", "Asking", "Rating", "Frozen", "Unblinded", "Published")


@dataclass(frozen=True)
class Stage:
    """One step of a wave: when it was reached, and whether the wave is at it now."""

    name: str
    since: datetime | None
    current: bool


def stages(moments: Sequence[datetime | None]) -> tuple[Stage, ...]:
    """The stages with the moment each was reached. The last one reached is the current one."""
    last = max(number for number, moment in enumerate(moments) if moment)
    return tuple(
        Stage(name, moment, number == last)
        for number, (name, moment) in enumerate(zip(NAMES, moments, strict=True))
    )


def stages_of(wave: Wave) -> tuple[Stage, ...]:
    """Those of a wave. Rating begins with the first reply, which opens its slots at once."""
    asked = Run.objects.filter(wave=wave).aggregate(at=Min("started_at"))["at"]
    came = Response.objects.of_wave(wave).aggregate(at=Min("completed_at"))["at"]
    return stages(
        (
            wave.created_at,
            wave.locked_at,
            asked,
            came,
            wave.ratings_frozen_at,
            wave.unblinded_at,
            wave.published_at,
        )
    )
