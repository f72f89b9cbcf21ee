"""The product with a clock that a test sets: seconds to add to the time, in a file.

``gunicorn tests.clocked:application`` and ``celery -A tests.clocked worker`` serve and work by it.
The clock is in place before any module takes ``timezone.now`` as its own.
"""

import mmap
import os
import struct
from datetime import datetime, timedelta

from django.utils import timezone

_true_now = timezone.now
SECONDS = "d"


class Clock:
    """A clock that several processes read, and one sets."""

    def __init__(self, path: str) -> None:
        size = struct.calcsize(SECONDS)
        if not os.path.exists(path) or os.path.getsize(path) < size:
            with open(path, "wb") as file:
                file.write(struct.pack(SECONDS, 0.0))
        with open(path, "r+b") as file:
            self._seconds = mmap.mmap(file.fileno(), size)

    def now(self) -> datetime:
        return _true_now() + timedelta(seconds=struct.unpack(SECONDS, self._seconds[:])[0])

    def set(self, moment: datetime) -> None:
        self._seconds[:] = struct.pack(SECONDS, (moment - _true_now()).total_seconds())


if path := os.environ.get("CLOCK_FILE", ""):
    timezone.now = Clock(path).now

    from django.conf import settings

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }

    from compassion.celery import app  # noqa: F401
    from compassion.wsgi import application  # noqa: F401
    from rating import tasks

    tasks.LOOK_SECONDS = 2.0  # of true time, while a night takes none
