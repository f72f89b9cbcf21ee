"""How far the rating of each wave is, counted from the ratings themselves."""

from dataclasses import dataclass

from django.db.models import Sum

from rating.models import Tally
from runs.models import Wave
from runs.progress import counts_of_waves


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
    counts = counts_of_waves()
    # Each response with two ratings is in the tallies of both its raters as shared with the other.
    shared = dict(
        Tally.objects.filter(of=Tally.Of.PARTNER)
        .order_by()
        .values_list("wave")
        .annotate(Sum("count"))
    )
    return [
        WaveProgress(
            wave.code,
            wave.title,
            wave.kind,
            counts.get(wave.pk, (0, 0))[1],
            counts.get(wave.pk, (0, 0))[0],
            shared.get(wave.pk, 0) // 2,
        )
        for wave in Wave.objects.order_by("title", "code").only("code", "title", "kind")
    ]
