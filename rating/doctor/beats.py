"""A worker notes that it is there; doctor reads it."""

import socket
from datetime import datetime

from django.db import connection
from django.utils import timezone

from rating.heartbeats import Heartbeat


def beat(now: datetime) -> None:
    """Note that this worker is there. Called by its caretaker."""
    Heartbeat.objects.update_or_create(
        worker=socket.gethostname()[:200],
        defaults={"seen_at": now, "database_at": database_now()},
    )


def database_now() -> datetime:
    """What the clock of the database says."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        found: datetime = cursor.fetchone()[0]
        return found
