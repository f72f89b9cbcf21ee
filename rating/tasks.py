"""What a worker does now and then beside asking: it seals the log, and writes to who waits for work."""

from django.utils import timezone

from rating.events import seal_events
from rating.notices import write_to_those_waiting
from runs.periodic import BesideWorkers, Periodic

LOOK_SECONDS = 300.0


def look_after() -> None:
    """Seal what is to be sealed, and write to who asked for it."""
    seal_events()
    write_to_those_waiting(timezone.now())


caretakers = BesideWorkers(lambda: Periodic("caretaker", LOOK_SECONDS, look_after))
