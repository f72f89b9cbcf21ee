"""Keeping many calls in flight for rows that one task holds: what all that is asked have in common.

The database is the only truth. A task claims rows for a few seconds at a time, asks for them,
stores what comes, and renews its hold while it lives. What differs between replies of subjects and
answers of judges is a ``Work``.
"""

from collections.abc import Collection, Mapping, Sequence
from threading import Event
from time import monotonic
from typing import Any, Protocol, TypeVar

from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings
from django.db import connection, models

from runs.providers import Calls, Outcome, Question
from runs.wire import RunStopped

R = TypeVar("R", bound=models.Model)

RENEW_SECONDS = 1.5
LINGER_SECONDS = 0.01  # each batch is a transaction: a few more replies in it cost little

_shutting_down = Event()


class Work(Protocol[R]):
    """Rows of one kind that are asked for by one task."""

    def claim(self, held: int) -> tuple[list[R], int]:
        """More rows that are this task's from now on, and how many calls it may have in flight."""

    def question(self, row: R) -> Question:
        """What is sent for a row. Raises ``RunStopped`` if it must not be sent."""

    def store(self, ended: Sequence[tuple[R, Outcome]]) -> object:
        """Keep what has ended, as far as the rows are still this task's."""

    def is_held_back(self) -> bool:
        """Whether rows are left that wait for a limit of whoever is asked."""

    def is_asked(self) -> bool:
        """Whether it is still wanted; what must end by a rule is ended here."""

    def stop(self, reason: str) -> None:
        """Ask no more, and say why."""

    def renew(self, rows: Collection[Any], *, taking: bool) -> None:
        """Hold on to these rows; and while more are taken, nobody else need be woken."""

    def let_go(self, rows: Collection[Any]) -> None:
        """Leave these rows to whoever comes next."""


def keep_asking(work: Work[R], calls: Calls, *, seconds: float, grace_seconds: float) -> None:
    """Keep calls in flight until nothing is left; after so many seconds, begin no more of them.

    Once it is not asked any longer, what is on its way may still end for ``grace_seconds``.
    """
    held: dict[Any, R] = {}
    room = settings.ASK_IN_FLIGHT
    ends = monotonic() + seconds
    renews = monotonic() + RENEW_SECONDS
    taking = asked = True
    grace = monotonic()
    while True:
        if taking and (monotonic() > ends or is_ending() or not asked):
            taking = False
            unasked = set(calls.take_back())
            work.let_go(unasked)
            held = {pk: row for pk, row in held.items() if pk not in unasked}
        if not asked and monotonic() > grace:
            # What is still on its way is asked again when it is resumed.
            return
        if taking and len(held) <= room + room // 4:
            rows, room = work.claim(len(held))
            # Where a limit holds it back, this task waits; it does not leave that to a next.
            taking = bool(rows) or work.is_held_back()
            held |= {row.pk: row for row in rows}
            calls.ask([(row.pk, work.question(row)) for row in rows], room=room)
        if not held and not taking:
            return
        ended = calls.finished(
            within=0.25, linger=LINGER_SECONDS, most=settings.ASK_IN_FLIGHT // 4 + 1
        )
        if ended:
            work.store([(held.pop(pk), outcome) for pk, outcome in ended.items()])
            calls.stored(len(ended))
        for outcome in ended.values():
            if isinstance(outcome, RunStopped):
                work.stop(outcome.reason)
                return
        if asked and (ended or monotonic() > renews) and not work.is_asked():
            asked, grace = False, monotonic() + grace_seconds
        if monotonic() > renews:
            work.renew(held, taking=taking)
            renews = monotonic() + RENEW_SECONDS


def update_rows(model: type[models.Model], columns: Mapping[Any, dict[str, Any]]) -> None:
    """Write each row its columns, as one statement sent many times: it is built only once."""
    if not columns:
        return
    names = next(iter(columns.values()))
    fields = [field for field in model._meta.concrete_fields if field.attname in names]
    key = model._meta.pk
    places = ", ".join(f'"{field.column}" = %s' for field in fields)
    with connection.cursor() as cursor:
        cursor.executemany(
            f'UPDATE {model._meta.db_table} SET {places} WHERE "{key.column}" = %s',
            [
                [
                    *(field.get_db_prep_save(row[field.attname], connection) for field in fields),
                    key.get_db_prep_save(pk, connection),
                ]
                for pk, row in columns.items()
            ],
        )


@worker_ready.connect
def begin_again(**_: Any) -> None:
    _shutting_down.clear()


@worker_shutting_down.connect
def begin_no_more(**_: Any) -> None:
    """What is in flight may still end; what has not begun is left to the next worker."""
    _shutting_down.set()


def is_ending() -> bool:
    """Whether this worker was told to end: whoever asks begins nothing more."""
    return _shutting_down.is_set()
