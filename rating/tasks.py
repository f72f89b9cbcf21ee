"""What a worker does beside asking: now and then it seals log and rows, writes to who waits for work
and clears away what has ended; when it is asked to, it makes the files of a report."""

from typing import Any

from celery import shared_task
from django.contrib.sessions.models import Session
from django.utils import timezone

from rating.doctor.beats import beat
from rating.events import seal_events
from rating.integrity.sealing import seal_rows
from rating.notices import write_to_those_waiting
from rating.tokens import forget_calls
from runs.models import Wave
from runs.periodic import BesideWorkers, Periodic

LOOK_SECONDS = 300.0
LOTS = 100  # of some hundred rows each: a minute of sealing


def look_after() -> None:
    """Write to who asked for it, clear away what has ended, and seal what is to be sealed.

    Sealing comes last and says now and then that it is at it: after an upgrade there may be millions.
    """
    beat(timezone.now())
    write_to_those_waiting(timezone.now())
    clear_ended_sessions()
    forget_calls(timezone.now())
    seal_events()
    while seal_rows(LOTS):
        beat(timezone.now())


def clear_ended_sessions() -> int:
    """Delete sessions whose time is over, which nothing else would ever do; return how many."""
    ended = Session.objects.filter(expire_date__lt=timezone.now())
    return ended.delete()[0]


@shared_task
def make_export(*, export_id: int) -> None:
    """Make all files of a wave's report, as somebody asked. Safe to run twice."""
    from rating import exports  # heavy, and no other work of a worker wants it

    exports.make(export_id, now=timezone.now())


@shared_task
def work_out(*, what: str, wave_id: int | None, about: dict[str, Any]) -> None:
    """Work out figures of a large wave, or of all, as a page asked. Safe to run twice."""
    from rating import aside, makers_aside  # noqa: F401 - heavy, and names what there is

    wave = None if wave_id is None else Wave.objects.select_related("bank").get(pk=wave_id)
    aside.make(what, wave, about)


caretakers = BesideWorkers(lambda: Periodic("caretaker", LOOK_SECONDS, look_after))
