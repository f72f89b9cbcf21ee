"""One short write transaction: what it begins with, and what it leaves in the log."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from rating.models import Event, EventKind
from rating.queue.rows import locking, rows, store


@contextmanager
def writing() -> Iterator[None]:
    """One short write transaction.

    On SQLite all writers of the queue, in every thread and process, first wait in one line:
    without it, many at once get "database is locked".
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with open(f"{connection.settings_dict['NAME']}.queue", "w") as line:
        fcntl.flock(line, fcntl.LOCK_EX)
        with transaction.atomic():
            yield


def lock(rater: int) -> None:
    """Let one request of a rater through at a time; what refers to the rater goes on."""
    rows(f"SELECT id FROM rating_user WHERE id = %s{locking('NO KEY UPDATE')}", rater)


def log(kind: EventKind, actor: int | None, /, **about: object) -> None:
    """Keep in the log that this was done, with the ids of what it was done to."""
    names = {name: str(value) for name, value in about.items()}
    store([Event(kind=kind, actor_id=actor, about=names)])


def hold_from(now: datetime) -> datetime:
    """When a card ends that is taken or renewed now."""
    return now + timedelta(minutes=settings.LEASE_MINUTES)
