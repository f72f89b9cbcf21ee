"""The log of what was done: sealed into a chain, and walked to see whether anything was changed.

Events are written without a seal, so that nobody waits for the last one; they are sealed in the
order of their numbers, each with the seal before it. The database refuses to change or delete
an event; a chain shows it even where somebody got past the database.
"""

from dataclasses import dataclass
from datetime import UTC

from django.db import transaction

from rating.models import Event
from runs.canonical import digest

BATCH = 1000


@dataclass(frozen=True)
class Walk:
    """How far the chain holds. ``broken_at`` is the first event that is not what was sealed."""

    sealed: int
    unsealed: int
    broken_at: int | None


def seal_events() -> int:
    """Seal what is not yet sealed; return how many. One process at a time does it."""
    total = 0
    while True:
        with transaction.atomic():
            # The last sealed one is locked, so that two processes never continue from the same.
            last = Event.objects.select_for_update().exclude(seal="").order_by("-pk").first()
            waiting = list(Event.objects.select_for_update().filter(seal="").order_by("pk")[:BATCH])
            previous = last.seal if last else ""
            for event in waiting:
                event.previous, event.seal = previous, seal_of(event, previous)
                previous = event.seal
            Event.objects.bulk_update(waiting, ["previous", "seal"], batch_size=200)
        total += len(waiting)
        if len(waiting) < BATCH:
            return total


def walk_events() -> Walk:
    """Walk the chain from its beginning."""
    previous, sealed = "", 0
    for event in Event.objects.exclude(seal="").order_by("pk").iterator(chunk_size=BATCH):
        if event.previous != previous or event.seal != seal_of(event, previous):
            return Walk(sealed, Event.objects.filter(seal="").count(), event.pk)
        previous, sealed = event.seal, sealed + 1
    return Walk(sealed, Event.objects.filter(seal="").count(), None)


def seal_of(event: Event, previous: str) -> str:
    """The hash of an event and of the seal before it."""
    return digest(
        [
            event.pk,
            event.kind,
            event.actor_id,
            event.about,
            event.happened_at.astimezone(UTC).isoformat(),
            previous,
        ]
    )
