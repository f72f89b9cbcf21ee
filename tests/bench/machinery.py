"""What every measurement stands on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection, connections


@contextmanager
def a_database_of_its_own() -> Iterator[None]:
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.ALLOWED_HOSTS = ["testserver"]
    settings.GUESS_PERCENT = 0  # the question would come between a rating and the next card
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connections.close_all()
        connection.creation.destroy_test_db(name, verbosity=0)


def settled() -> None:
    """Let the database learn what is in it, as it does by itself after a while."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def in_ms(seconds: list[float], share: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))] * 1000


def load() -> str:
    """How busy the machine is beside this: a figure taken on a busy one says little."""
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
