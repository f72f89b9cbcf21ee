"""Figures of a large wave, worked out by a worker and kept where every process finds them.

Of few ratings a page works its figures out itself. Of many that takes longer than anybody waits
for a page: there a worker does it, once for all who ask. What it made last is shown, with the
moment it was made, while newer figures are under way; where nothing was made yet, ``BeingMade``
says since when somebody is at it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

from django.conf import settings
from django.core.cache import caches
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from rating.models import Tally
from runs.canonical import digest
from runs.models import Wave

LARGE: Final = 30_000  # counted ratings: with more, a worker does it
FRESH: Final = timedelta(minutes=10)  # how old figures grow while rating goes on
SETTLED: Final = timedelta(hours=1)  # and once ratings are frozen
PATIENCE: Final = timedelta(minutes=30)  # then a worker is asked again
KEPT: Final = 14 * 86_400  # seconds

F = TypeVar("F", bound=Callable[..., Any])
_makers: dict[str, Callable[..., Any]] = {}


@dataclass(frozen=True)
class Made:
    """What was worked out, when, and how long that took. ``again`` is whether newer is under way."""

    value: Any
    version: str
    made_at: datetime
    seconds: float
    again: bool = False


class BeingMade(Exception):
    """Nothing is kept yet: a worker is at it since ``since``, and last time took ``seconds``."""

    def __init__(self, since: datetime, seconds: float | None) -> None:
        self.since, self.seconds = since, seconds
        super().__init__(f"being worked out since {since:%H:%M}")


def maker(what: str) -> Callable[[F], F]:
    """Name what makes figures of a wave, or of all waves where it is given None."""

    def named(make: F) -> F:
        _makers[what] = make
        return make

    return named


def size_of(wave: Wave | None) -> int:
    """How many counted ratings a wave has, or all have, by the queue's own tallies."""
    tallies = Tally.objects.filter(of=Tally.Of.SUBJECT)
    if wave:
        tallies = tallies.filter(wave=wave)
    return tallies.aggregate(n=Sum("count"))["n"] or 0


def is_large(wave: Wave | None) -> bool:
    return size_of(wave) > LARGE


def figures(what: str, wave: Wave | None, **about: Any) -> Made:
    """The figures of a wave: of a small one as of now, of a large one as a worker made them last.

    Raises ``BeingMade`` where a worker has not made them yet.
    """
    now = timezone.now()
    size = size_of(wave)
    if size <= LARGE:
        return Made(_makers[what](wave, **about), "", now, 0.0)
    version, key = _version(wave, size, now), _key(what, wave, about)
    kept: Made | None = caches["figures"].get(key)
    if kept is not None and kept.version == version:
        return kept
    since = _asked(key, what, wave, about, now)
    if kept is None:
        raise BeingMade(since, caches["figures"].get(f"took:{what}"))
    return Made(kept.value, kept.version, kept.made_at, kept.seconds, again=True)


def make(what: str, wave: Wave | None, about: dict[str, Any]) -> None:
    """Work figures out and keep them: what a worker does when it is asked to."""
    now, began = timezone.now(), time.monotonic()
    key, version = _key(what, wave, about), _version(wave, size_of(wave), now)
    kept: Made | None = caches["figures"].get(key)
    try:
        if kept is None or kept.version != version:
            value = _makers[what](wave, **about)
            took = time.monotonic() - began
            caches["figures"].set(key, Made(value, version, now, took), KEPT)
            caches["figures"].set(f"took:{what}", took, KEPT)
    finally:
        caches["figures"].delete(f"asked:{key}")


def _asked(
    key: str, what: str, wave: Wave | None, about: dict[str, Any], now: datetime
) -> datetime:
    """Have a worker asked, unless one is; return since when."""
    from rating.tasks import work_out

    if caches["figures"].add(f"asked:{key}", now, PATIENCE.total_seconds()):
        ask = partial(work_out.delay, what=what, wave_id=wave.pk if wave else None, about=about)
        transaction.on_commit(ask, robust=True)
        return now
    since: datetime = caches["figures"].get(f"asked:{key}", now)
    return since


def _version(wave: Wave | None, size: int, now: datetime) -> str:
    """A word that changes once the figures are to be made anew."""
    fresh = SETTLED if wave and wave.ratings_frozen_at else FRESH
    if wave is None:
        fresh = timedelta(days=1)
        size = 0  # figures of all waves go up to yesterday
    return f"{size} {int(now.timestamp() // fresh.total_seconds())}"


def _key(what: str, wave: Wave | None, about: dict[str, Any]) -> str:
    # By what the wave is, not by its number: another database may share the cache.
    named = wave and [
        wave.code,
        str(wave.created_at),
        wave.bank.content_hash,
        str(wave.ratings_frozen_at),
        str(wave.unblinded_at),
    ]
    around = [
        settings.DATABASES["default"]["NAME"],
        settings.GUESS_PERCENT,
        settings.ITEM_WITHIN_ONE_PERCENT,
        settings.ITEM_MEAN_MARGIN,
        settings.SEVERITY_TOLERANCE,
        settings.TIME_ZONE,
    ]
    return "figures:" + digest([what, named, about, [str(one) for one in around]])
