"""A backup made while people rate, restored into an empty database of each kind there is."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections
from django.utils import timezone
from psycopg import sql

from rating.backups.making import write_backup
from rating.models import Assignment, Rating
from rating.queue import lease, rate
from tests.factories import bank_data, given, make_bank, make_rater, make_wave

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

RATERS, ITEMS, TRIALS = 3, 60, 3
#: What a person does who comes back after the restore.
GO_ON = """
from django.utils import timezone
from rating.models import Assignment, Rating, User
from rating.queue import Given, lease, rate
from rating.quotes import Span
before = Rating.objects.count()
for person in User.objects.filter(groups__name="rater"):
    card = lease(person, now=timezone.now())
    if isinstance(card, Assignment):
        rate(card, Given(level=3, quotes=((Span(0, 33), False),)), now=timezone.now())
print(before, Rating.objects.count())
"""


def rating_on(person: int, stop: Signal, given_by: dict[int, int]) -> None:
    from rating.models import User

    try:
        rater = User.objects.get(pk=person)
        while not stop.is_set():
            card = lease(rater, now=timezone.now())
            if not isinstance(card, Assignment):
                return
            rate(card, given(), now=timezone.now())
            given_by[person] += 1
            stop.wait(0.05)  # so that they are not through before the backup is
    finally:
        connections.close_all()


@pytest.fixture
def postgresql():
    """The address of a new PostgreSQL database, where this run has a PostgreSQL."""
    if connection.vendor != "postgresql":
        yield None
        return
    name = f"restored_{uuid4().hex[:12]}"
    where = connection.settings_dict
    address = {
        "host": where["HOST"] or None,
        "port": where["PORT"] or None,
        "user": where["USER"] or None,
        "password": where["PASSWORD"] or None,
    }
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as line:
        line.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    user, port = where["USER"] or "postgres", where["PORT"] or 5432
    host = (where["HOST"] or "127.0.0.1").replace("/", "%2F")
    secret = f":{where['PASSWORD']}" if where["PASSWORD"] else ""
    yield f"postgres://{user}{secret}@{host}:{port}/{name}"
    with psycopg.connect(**address, dbname="postgres", autocommit=True) as line:
        line.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_what_was_stored_when_it_began_is_restored_and_people_go_on(tmp_path: Path, postgresql):
    make_wave(make_bank(bank_data(ITEMS)), trials=TRIALS)
    people = [make_rater() for _ in range(RATERS)]
    given_by = {person.pk: 0 for person in people}
    stop = Signal()
    threads = [Thread(target=rating_on, args=(one.pk, stop, given_by)) for one in people]
    for thread in threads:
        thread.start()
    while not all(given_by.values()):
        stop.wait(0.05)

    before = Rating.objects.count()
    backup = tmp_path / "backup.zip"
    write_backup(backup, now=timezone.now())
    after = Rating.objects.count()
    stop.set()
    for thread in threads:
        thread.join()
    assert after > before  # they rated meanwhile

    targets = [f"sqlite:///{tmp_path / 'restored.sqlite3'}", *filter(None, [postgresql])]
    for address in targets:
        manage = Manage(tmp_path, address)
        assert "The log holds" in manage("restore", str(backup), "--quiet")
        kept, later = map(int, manage("shell", "-v", "0", "-c", GO_ON).split()[-2:])
        assert before <= kept <= after
        assert later > kept
        assert "The log holds" in manage("verify", "--quiet")
        # And from there into a database of the first kind again.
        again = tmp_path / f"again-{len(address)}.zip"
        manage("backup", str(again), "--quiet")
        other = Manage(tmp_path, f"sqlite:///{tmp_path / f'{again.stem}.sqlite3'}")
        assert "The log holds" in other("restore", str(again), "--quiet")


class Manage:
    """Runs our commands on another database, under the same key."""

    def __init__(self, folder: Path, address: str) -> None:
        self.environment = os.environ | {
            "VAR_DIR": str(folder / "var"),
            "DATABASE_URL": address,
            "SECRET_KEY": settings.SECRET_KEY,
            "CELERY_BROKER_URL": "filesystem://",
            "LOG_FORMAT": "plain",
        }

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=settings.BASE_DIR, env=self.environment, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout
