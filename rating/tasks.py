"""What a worker does beside asking: now and then it seals the log and writes to who waits for work;
when it is asked to, it makes the files of a report."""

from celery import shared_task
from django.utils import timezone

from rating.events import seal_events
from rating.notices import write_to_those_waiting
from runs.periodic import BesideWorkers, Periodic

LOOK_SECONDS = 300.0


def look_after() -> None:
    """Seal what is to be sealed, and write to who asked for it."""
    seal_events()
    write_to_those_waiting(timezone.now())


@shared_task
def make_export(*, export_id: int) -> None:
    """Make all files of a wave's report, as somebody asked. Safe to run twice."""
    from rating import exports  # heavy, and no other work of a worker wants it

    exports.make(export_id, now=timezone.now())


caretakers = BesideWorkers(lambda: Periodic("caretaker", LOOK_SECONDS, look_after))
