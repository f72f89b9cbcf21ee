"""How far the rating of each wave is, counted from the ratings themselves."""

from dataclasses import dataclass

from django.db.models import Count, Q

from rating.models import Slot, SlotState
from runs.models import Status, Wave


@dataclass(frozen=True)
class WaveProgress:
    code: str
    title: str
    kind: str
    done: int
    total: int
    rated: int


def waves_for_home() -> list[WaveProgress]:
    """Each wave from A to Z: replies that came, all that are planned, those with two ratings."""
    waves = Wave.objects.annotate(
        total=Count("runs__responses"),
        done=Count("runs__responses", filter=~Q(runs__responses__status=Status.PENDING)),
    ).order_by("title", "code")
    rated = dict(
        Slot.objects.filter(number=1, state=SlotState.RATED)
        .filter(response__slots__number=2, response__slots__state=SlotState.RATED)
        .order_by()
        .values_list("wave")
        .annotate(Count("pk"))
    )
    return [
        WaveProgress(wave.code, wave.title, wave.kind, wave.done, wave.total, rated.get(wave.pk, 0))
        for wave in waves
    ]
