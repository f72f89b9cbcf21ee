"""Each look of the doctor: all is well, and then that one thing broken."""

import io
import json
import os
import re
import sqlite3
import sys
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from rating.backups.making import STAMP
from rating.doctor import looks
from rating.doctor.beats import beat
from rating.doctor.lines import State
from rating.events import seal_events
from rating.heartbeats import Heartbeat
from rating.integrity.sealing import seal_all
from rating.models import Event, EventKind, Role
from runs.guards import lifted
from runs.models import Response, Run, RunState, Status, Subject
from tests.factories import make_user, make_wave

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def states(one, now=NOW) -> list[str]:
    return [line.state.value for line in one(now)]


def worst(one, now=NOW):
    """The worst line of a look."""
    order = list(State)
    return max(one(now), key=lambda line: order.index(line.state))


def is_wrong(one, about: str, now=NOW) -> None:
    line = worst(one, now)
    assert line.state == State.WRONG, line
    assert about in f"{line.what} {line.found} {line.fix}"
    assert line.why
    assert line.fix


def is_to_look_at(one, about: str, now=NOW) -> None:
    line = worst(one, now)
    assert line.state == State.LOOK, line
    assert about in f"{line.what} {line.found} {line.fix}"
    assert line.why
    assert line.fix


def test_python(monkeypatch):
    assert states(looks.python) == ["ok"]
    monkeypatch.setattr(sys, "version_info", (3, 10, 1))
    is_wrong(looks.python, "3.10.1")


def test_the_database_answers_with_its_version():
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = on")  # tests do without it

    assert worst(looks.database).state == State.OK


@pytest.mark.parametrize(
    ("asked", "answer", "about"),
    [
        ("server_version_num", "130005", "14 or newer"),
        ("default_transaction_isolation", "serializable", "read committed"),
        ("pg_stat_activity", 98, "98 of 100"),
        ("fsync", "off", "synchronous_commit"),
    ],
)
def test_what_is_wrong_with_a_postgresql(asked, answer, about):
    class Cursor:
        said = {
            "server_version_num": "150020", "server_version": "15.2", "max_connections": "100",
            "default_transaction_isolation": "read committed", "pg_stat_activity": 5,
            "synchronous_commit": "on", "fsync": "on",
        } | {asked: answer}  # fmt: skip

        def execute(self, question):
            self.question = question.split()[-1]

        def fetchone(self):
            return [self.said[self.question]]

    lines = list(looks._postgresql(Cursor()))
    bad = [line for line in lines if line.state != State.OK]
    assert len(bad) == 1
    assert about in f"{bad[0].found} {bad[0].why} {bad[0].fix}" or about in bad[0].found


class InWal:
    """A SQLite that keeps its journal as it should."""

    def execute(self, question): ...

    def fetchone(self):
        return ["wal"]


def test_a_sqlite_that_is_too_old(monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 20, 0))

    [line] = [line for line in looks._sqlite(InWal()) if line.state == State.WRONG]

    assert (line.what, line.fix) == ("Database", "use a newer Python")


def test_sqlite_for_too_many(monkeypatch):
    monkeypatch.setattr(looks, "MANY_PEOPLE", 0)
    make_user(Role.RATER)

    assert [line.what for line in looks._sqlite(InWal()) if line.state == State.LOOK] == ["Size"]


def test_a_journal_that_is_not_wal(monkeypatch):
    class Cursor:
        def execute(self, question): ...

        def fetchone(self):
            return ["delete"]

    class Kept:
        def is_in_memory_db(self):
            return False

    monkeypatch.setattr(looks, "connection", Kept())
    assert any(line.what == "Journal" for line in looks._sqlite(Cursor()))


def test_migrations_and_triggers(monkeypatch):
    assert states(looks.migrations) == states(looks.triggers) == ["ok"]
    with lifted():
        is_wrong(looks.triggers, "are missing")
    monkeypatch.setattr(looks, "not_migrated", lambda: ["rating.0099_next"])
    is_wrong(looks.migrations, "rating.0099_next")


def test_a_database_that_does_not_answer(monkeypatch):
    def silent(now):
        raise OperationalError("connection refused")
        yield

    monkeypatch.setattr(looks, "FIRST", (silent,))
    monkeypatch.setattr(looks, "THEN", ())
    (line,) = looks.all_looks(NOW)
    assert (line.state, line.what) == (State.WRONG, "Database")
    assert "connection refused" in line.found


def test_broker(monkeypatch):
    assert states(looks.broker) == ["ok"]

    def refused(**_):
        raise OSError

    monkeypatch.setattr(looks.app, "connection_for_write", refused)
    is_wrong(looks.broker, "does not answer")


def test_worker_and_clocks():
    is_wrong(looks.worker, "none was ever seen")
    beat(timezone.now())
    assert states(looks.worker, timezone.now()) == ["ok"]
    assert states(looks.clocks, timezone.now()) == ["ok"]
    later = timezone.now() + timedelta(hours=1)
    is_wrong(looks.worker, "the last was seen", later)

    now = timezone.now()
    Heartbeat.objects.update(seen_at=now + timedelta(seconds=5), database_at=now)
    is_to_look_at(looks.clocks, "NTP", now)
    Heartbeat.objects.update(seen_at=now - timedelta(minutes=5), database_at=now)
    is_wrong(looks.clocks, "NTP", now)


def test_what_waits_while_no_worker_is_there():
    wave = make_wave(locked=False)
    Run.objects.filter(wave=wave).update(state=RunState.ASKING)
    Response.objects.of_wave(wave).filter(trial=1)
    with lifted():
        Response.objects.of_wave(wave).update(status=Status.PENDING)
    is_wrong(looks.worker, "3 responses wait")


def test_cache(settings, monkeypatch):
    assert worst(looks.caching).state == State.OK or connection.vendor == "postgresql"

    class Silent:
        def set(self, *_):
            raise OSError

    monkeypatch.setattr(looks, "cache", Silent())
    is_wrong(looks.caching, "does not answer")


def test_a_cache_of_each_process_own(settings, monkeypatch):
    class Postgresql:
        vendor = "postgresql"

    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    monkeypatch.setattr(looks, "connection", Postgresql())
    is_wrong(looks.caching, "each process")


def test_disk_and_rights(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    usage = namedtuple("usage", "free")
    for free, state in ((10**12, State.OK), (10**9, State.LOOK), (10**6, State.WRONG)):
        monkeypatch.setattr(looks.shutil, "disk_usage", lambda _, free=free: usage(free))
        assert worst(looks.disk).state == state
    monkeypatch.setattr(looks.shutil, "disk_usage", lambda _: usage(10**12))
    key = tmp_path / "secret_key"
    key.write_text("x")
    key.chmod(0o644)
    is_wrong(looks.disk, "chmod 600")
    key.chmod(0o600)
    assert states(looks.disk) == ["ok"]
    if connection.vendor == "sqlite":
        monkeypatch.setattr(os, "access", lambda *_: False)
        is_wrong(looks.disk, "chown")


@pytest.mark.parametrize("key", ["short", "a" * 60, "django-insecure-" + "abcdefghijklmnop" * 4])
def test_secret_key(settings, key):
    assert states(looks.secret_key) == ["ok"]
    settings.SECRET_KEY = key
    line = worst(looks.secret_key)
    assert line.state == State.WRONG
    assert key not in str(line)


@pytest.mark.parametrize(
    ("changes", "state", "about"),
    [
        ({}, State.OK, "over HTTPS"),
        ({"ALLOWED_HOSTS": ["localhost"], "CSRF_TRUSTED_ORIGINS": []}, State.OK, "this machine"),
        ({"DEBUG": True}, State.WRONG, "DEBUG"),
        ({"ALLOWED_HOSTS": ["*"]}, State.WRONG, "any name"),
        ({"HTTPS": False}, State.WRONG, "in clear"),
        ({"CSRF_TRUSTED_ORIGINS": ["http://rate.example.org"]}, State.WRONG, "not https"),
        ({"CSRF_TRUSTED_ORIGINS": ["https://other.example.org"]}, State.WRONG, "not in ALLOWED"),
        ({"CSRF_TRUSTED_ORIGINS": []}, State.LOOK, "is empty"),
        ({"ALLOWED_HOSTS": [".example.org"]}, State.OK, "over HTTPS"),
    ],
)
def test_addresses(settings, changes, state, about):
    settings.ALLOWED_HOSTS = ["rate.example.org"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://rate.example.org"]
    settings.HTTPS, settings.DEBUG = True, False
    for name, value in changes.items():
        setattr(settings, name, value)

    lines = list(looks.addresses(NOW))

    assert worst(looks.addresses).state == state
    assert any(about in str(line) for line in lines)


def test_mail(settings, monkeypatch):
    settings.SITE_URL = "https://rate.example.org"
    assert states(looks.mail) == ["ok"]
    settings.SITE_URL = ""
    is_to_look_at(looks.mail, "SITE_URL")

    def refused(**_):
        raise ConnectionRefusedError

    monkeypatch.setattr(looks, "get_connection", refused)
    is_wrong(looks.mail, "does not take it")
    settings.MAIL = False
    is_to_look_at(looks.mail, "no server is named")


def test_support_lines(settings, tmp_path):
    assert states(looks.support, datetime(2026, 12, 1, tzinfo=UTC)) == ["ok"]
    is_to_look_at(looks.support, "last checked", datetime(2029, 1, 1, tzinfo=UTC))
    settings.SUPPORT_LINES_FILE = tmp_path / "none.toml"
    is_wrong(looks.support, "cannot be read")
    settings.SUPPORT_LINES_FILE.write_text("")
    settings.SUPPORT_LINE = ""
    assert {line.what for line in looks.support(NOW)} == {"Support lines", "Support line"}


def test_a_look_that_breaks_off_is_told_and_the_others_go_on(settings, tmp_path):
    settings.SUPPORT_LINES_FILE = tmp_path / "lines.toml"
    lines = Path("fixtures/support_lines.toml").read_text("utf-8")
    settings.SUPPORT_LINES_FILE.write_text(
        re.sub(r"(?m)^checked = .*$", 'checked = "spring"', lines)
    )

    told = {line.what: line for line in looks.all_looks(NOW)}

    assert told["Support"].state == State.WRONG
    assert "could not be looked at: ValueError" in told["Support"].found
    assert len(told) > 10


def test_what_reports_are_made_with(settings, tmp_path, monkeypatch):
    assert states(looks.pictures) == ["ok"]
    monkeypatch.setattr(looks, "_there", lambda name: name != "typst")
    is_wrong(looks.pictures, "typst missing")
    monkeypatch.undo()
    settings.BASE_DIR = tmp_path
    is_wrong(looks.pictures, "fonts are missing")


def test_provider_keys_are_told_by_name_and_never_by_value(monkeypatch, settings):
    wave = make_wave()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings.ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY"
    assert states(looks.keys) == ["ok"]
    subject = Subject.objects.create(
        developer="Dev", family="Other", snapshot="other-2026-01-01", provider="anthropic"
    )
    with lifted():
        Run.objects.create(wave=wave, subject=subject)
    is_to_look_at(looks.keys, "set ANTHROPIC_API_KEY")

    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    assert states(looks.keys) == ["ok"]
    assert "sk-very-secret" not in "".join(map(str, looks.keys(NOW)))


def test_second_factor(settings):
    settings.ALLOWED_HOSTS = ["rate.example.org"]
    settings.SECOND_FACTOR = False
    is_wrong(looks.second_factor, "is off")
    settings.ALLOWED_HOSTS = ["localhost"]
    is_to_look_at(looks.second_factor, "is off")
    settings.SECOND_FACTOR = True
    assert states(looks.second_factor) == ["ok"]
    make_user(Role.ADMIN)
    is_to_look_at(looks.second_factor, "1 of the maintainers and admins")


def test_what_is_not_sealed():
    seal_all()
    assert states(looks.sealing) == ["ok"]
    Event.objects.create(kind=EventKind.LOOK, happened_at=NOW - timedelta(hours=2))
    is_wrong(looks.sealing, "are not sealed")
    seal_events()
    assert states(looks.sealing) == ["ok"]
    make_user(Role.RATER)
    is_wrong(looks.sealing, "are not sealed", timezone.now() + timedelta(hours=2))


def test_how_old_the_last_backup_is(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    is_to_look_at(looks.backups, "none is known")
    (tmp_path / STAMP).write_text(json.dumps({"made_at": NOW.isoformat(), "file": "b.zip"}))
    assert states(looks.backups) == ["ok"]
    is_to_look_at(looks.backups, "b.zip", NOW + timedelta(days=2))
    is_wrong(looks.backups, "b.zip", NOW + timedelta(days=8))
    for text in ("", "[]", "{}", '{"made_at": 3}'):
        (tmp_path / STAMP).write_text(text)
        is_to_look_at(looks.backups, "none is known")


def test_static_files(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    is_wrong(looks.static_files, "collectstatic")
    (tmp_path / "staticfiles.json").write_text("{}")
    assert states(looks.static_files) == ["ok"]


def test_admins():
    is_wrong(looks.admins, "--role admin")
    make_user(Role.ADMIN)
    assert states(looks.admins) == ["ok"]


def test_the_command_tells_each_line_and_ends_with_one_where_something_is_wrong(settings):
    said = io.StringIO()
    with pytest.raises(CommandError, match="wrong") as why:
        call_command("doctor", stdout=said)  # no worker, no admin

    assert why.value.returncode == 1
    assert "wrong Worker: none was ever seen" in said.getvalue()
    assert "ok    Python" in said.getvalue()
    assert "Do: manage.py invite ADDRESS --role admin" in said.getvalue()
    assert settings.SECRET_KEY not in said.getvalue()


def test_the_command_tells_a_program(monkeypatch):
    monkeypatch.setattr(looks, "FIRST", (looks.python,))
    monkeypatch.setattr(looks, "THEN", ())
    said = io.StringIO()
    call_command("doctor", "--json", stdout=said)
    assert [line["state"] for line in json.loads(said.getvalue())] == ["ok"]
