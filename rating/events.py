"""The log of what was done: sealed into a chain, and walked to see whether anything was changed.

Events are written without a seal, so that nobody waits for the last one; then each gets its place
and is sealed with the seal before it. The database refuses to change or delete an event; a chain
shows it even where somebody got past the database.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection
from django.db.models import F

from rating.models import Event
from rating.queue.writing import writing
from runs.canonical import digest

BATCH = 1000
LOCK: Final = 7_353_001  # the number of the lock that PostgreSQL keeps for sealing


@dataclass(frozen=True)
class Walk:
    """How far the chain holds. ``broken_at`` is the first event that is not what was sealed."""

    sealed: int
    unsealed: int
    broken_at: int | None


@contextmanager
def sealing() -> Iterator[None]:
    """One short transaction, of which there is one at a time, in whatever process.

    Two that sealed at once could both go on from the same last seal.
    """
    with writing():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        yield


def seal_events() -> int:
    """Seal what is not yet sealed; return how many. One process at a time does it."""
    total = 0
    while True:
        with sealing():
            waiting = list(Event.objects.select_for_update().filter(seal="").order_by("pk")[:BATCH])
            place, previous = end_of_chain()
            for event in waiting:
                place += 1
                event.place, event.previous = place, previous
                event.seal = previous = seal_of(event, previous)
            Event.objects.bulk_update(waiting, ["place", "previous", "seal"], batch_size=200)
        total += len(waiting)
        if len(waiting) < BATCH:
            return total


def last_sealed() -> Event | None:
    """The event at the end of the chain."""
    return Event.objects.filter(place__isnull=False).order_by("-place").first()


def end_of_chain() -> tuple[int, str]:
    """The place and the seal that the next event goes on from."""
    last = last_sealed()
    return (last.place or 0, last.seal) if last else (0, "")


def walk_events() -> Walk:
    """Walk the chain from its beginning."""
    previous, sealed = "", 0
    # What has a seal and no place is seen last, and is none of the chain.
    chain = Event.objects.exclude(seal="", place=None).order_by(F("place").asc(nulls_last=True))
    for event in chain.iterator(chunk_size=BATCH):
        own = event.place, event.previous, event.seal
        if own != (sealed + 1, previous, seal_of(event, previous)):
            return Walk(sealed, Event.objects.filter(seal="").count(), event.pk)
        previous, sealed = event.seal, sealed + 1
    return Walk(sealed, Event.objects.filter(seal="").count(), None)


def seal_of(event: Event, previous: str) -> str:
    """The hash of an event and of the seal before it."""
    at = event.happened_at.astimezone(UTC)
    return seal_from(event.pk, event.kind, event.actor_id, event.about, at, previous)


def seal_from(
    pk: int, kind: str, actor: int | None, about: dict[str, Any], at: datetime, previous: str
) -> str:
    """The same from plain values, the moment in UTC."""
    return digest([pk, kind, actor, about, at.isoformat(), previous])
