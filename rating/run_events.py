"""What runs ask of ratings and tell them: the log of what is done to a wave, the time cards took."""

from typing import Any

from django.db.models import Avg, Count

from rating.models import EventKind, Rating
from rating.queue.writing import log


def keep(act: str, by: int | None, about: dict[str, Any], **_: Any) -> None:
    """Keep one act, within the transaction that does it."""
    log(EventKind(act), by, **about)


def card_seconds(instrument: str, **_: Any) -> tuple[int, float]:
    """How many counted ratings of an instrument were timed, and the mean of their active seconds."""
    timed = (
        Rating.objects.counted()
        .filter(response__run__wave__bank__instrument=instrument, active_seconds__isnull=False)
        .aggregate(n=Count("pk"), mean=Avg("active_seconds"))
    )
    return timed["n"], float(timed["mean"] or 0.0)
