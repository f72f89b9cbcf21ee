"""A backup: whole or none, of one moment, and a working product again wherever it is restored."""

import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from rating.backups import restoring
from rating.backups.form import MANIFEST, BadBackup, as_line, from_line, member, tables
from rating.backups.making import STAMP, stream_backup, write_backup
from rating.backups.restoring import read_manifest, restore
from rating.heartbeats import Heartbeat
from rating.integrity.anchors import head
from rating.integrity.declared import all_models
from rating.models import Rating
from tests.rating import sealed_world

BASE = settings.BASE_DIR


@pytest.fixture
def backup(db, tmp_path) -> Path:
    sealed_world.build()
    path = tmp_path / "backup.zip"
    write_backup(path, now=timezone.now())
    return path


@pytest.fixture
def small(db, tmp_path) -> Path:
    """One of a database in which there are the roles alone."""
    path = tmp_path / "backup.zip"
    write_backup(path, now=timezone.now())
    return path


@pytest.fixture
def elsewhere(tmp_path):
    """Runs a command of ours on another, empty SQLite database."""
    var = tmp_path / "var"

    def run(*words: str, expect: int = 0, given: bytes | None = None) -> Any:
        environment = os.environ | {
            "VAR_DIR": str(var),
            "DATABASE_URL": f"sqlite:///{tmp_path / 'other.sqlite3'}",
            "SECRET_KEY": settings.SECRET_KEY,
            "CELERY_BROKER_URL": "filesystem://",
        }
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=BASE, env=environment, input=given, capture_output=True, timeout=900,
        )  # fmt: skip
        assert done.returncode == expect, done.stderr.decode()
        return done

    return run


def manifest_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(MANIFEST))


def changed(path: Path, change: Any) -> Path:
    """The same backup with its members as ``change(name, content)`` returns them."""
    other = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return other


@pytest.fixture
def empty(monkeypatch):
    """As if nothing were there: what comes after the file was looked at is not reached."""
    monkeypatch.setattr(restoring, "_see_that_nothing_is_there", lambda: None)
    monkeypatch.setattr(restoring, "_load", lambda *_: None)


def test_all_tables_are_in_it_and_no_session_and_no_key(backup):
    manifest = manifest_of(backup)

    assert manifest["tables"].keys() == all_models().keys() - {"django_session"}
    for table, own in manifest["tables"].items():
        assert own["rows"] == all_models()[table]._base_manager.count(), table
    assert manifest["head"]["seal"] == head().seal
    with zipfile.ZipFile(backup) as archive:
        for name in archive.namelist():
            assert settings.SECRET_KEY.encode() not in archive.read(name)


def test_it_is_readable_by_its_owner_alone_and_never_over_another_file(backup):
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    before = backup.read_bytes()

    with pytest.raises(CommandError, match="Name another file"):
        call_command("backup", str(backup))

    assert backup.read_bytes() == before
    assert [one.name for one in backup.parent.iterdir() if "backup.zip" in one.name] == [
        backup.name
    ]


def test_a_backup_that_fails_leaves_no_file(db, tmp_path, monkeypatch):
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rating.backups.making.as_line", full)
    with pytest.raises(BadBackup, match="No space left on device"):
        write_backup(tmp_path / "backup.zip", now=timezone.now())
    assert [one.name for one in tmp_path.iterdir() if "backup" in one.name] == []


def test_it_leaves_a_note_of_when_it_was_made(backup):
    said = json.loads((settings.VAR_DIR / STAMP).read_text())
    assert said["file"] == str(backup)


@pytest.mark.proof
def test_restored_elsewhere_all_rows_are_the_same_and_the_product_goes_on(
    backup, elsewhere, tmp_path
):
    done = elsewhere("restore", "-", "--quiet", given=backup.read_bytes())
    out = elsewhere("backup", "-", "--quiet").stdout

    assert "rows are restored" in done.stdout.decode()
    assert "The log holds" in done.stdout.decode()  # it was verified
    with zipfile.ZipFile(io.BytesIO(out)) as archive:
        again, before = read_manifest(archive), manifest_of(backup)
    assert again["tables"] == before["tables"]
    assert again["head"] == before["head"]
    with sqlite3.connect(tmp_path / "other.sqlite3") as database:
        with pytest.raises(sqlite3.IntegrityError, match="never edited"):
            database.execute("UPDATE rating_rating SET note = 'x'")
        last = database.execute("SELECT MAX(id) FROM rating_event").fetchone()[0]
        database.execute(
            "INSERT INTO rating_event (kind, about, happened_at, previous, seal)"
            " VALUES ('look', '{}', '2026-01-01', '', '')"
        )
        assert database.execute("SELECT MAX(id) FROM rating_event").fetchone()[0] == last + 1


def test_a_database_with_something_in_it_is_left_alone(backup):
    before = Rating.objects.count()

    with pytest.raises(CommandError, match="This database is not empty"):
        call_command("restore", str(backup))

    assert Rating.objects.count() == before > 0


def test_a_worker_that_has_been_there_is_no_reason_to_refuse(db):
    Heartbeat.objects.create(worker="w", seen_at=timezone.now(), database_at=timezone.now())

    restoring._see_that_nothing_is_there()


def with_a_file(named):
    def change(name, old):
        if name != MANIFEST:
            return old
        return json.dumps(json.loads(old) | {"files": {named: "0"}}).encode()

    return change


@pytest.mark.parametrize("name", ["..", "", "a/b", "/a"])
def test_a_file_beside_it_is_named_by_a_name_alone(small, empty, name):
    with pytest.raises(BadBackup, match="which is a path and no name"):
        restore(changed(small, with_a_file(name)))


def test_what_stood_beside_and_cannot_be_written_is_said_once_all_is_restored(tmp_path, settings):
    settings.VAR_DIR = tmp_path
    (tmp_path / "restored").touch()
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as archive:
        archive.writestr("files/lines.toml", "x")
    said: list[str] = []

    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        restoring._put_files(archive, {"files": {"lines.toml": "0"}}, said.append)

    [line] = said
    assert line.startswith("The database is restored.")
    assert "take files/lines.toml out of the backup yourself" in line


@pytest.mark.parametrize("left", [0, 1, 100, 0.5, 0.99])
def test_a_torn_file_is_refused(small, empty, left):
    whole = small.read_bytes()
    small.write_bytes(whole[: int(left * len(whole)) if isinstance(left, float) else left])

    with pytest.raises(BadBackup):
        restore(small)


def test_a_changed_byte_anywhere_is_refused_or_changes_nothing(small, empty):
    """Some bytes of a zip file say nothing, such as the time of a member."""
    whole, wanted = small.read_bytes(), manifest_of(small)
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        small.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert restore(small) == wanted
        except BadBackup:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda name, old: old.replace(b"maintainer", b"superhuman"), "the file was changed"),
        (lambda name, old: None if name == member("rating_quote") else old, "cannot be read"),
        (lambda name, old: old[:-1] if name == member("auth_group") else old, "middle of a row"),
        (lambda name, old: None if name == MANIFEST else old, "no manifest"),
        (lambda name, old: b"[]" if name == MANIFEST else old, "no manifest"),
    ],
)
def test_a_file_that_was_changed_is_refused(small, empty, change, why):
    with pytest.raises(BadBackup, match=why):
        restore(changed(small, change))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("format", "compassion/backup/9", "this program reads"),
        (
            "migrations",
            lambda old: [*old, "rating.9999_next"],
            "a newer version, which has rating.9999",
        ),
        ("migrations", lambda old: old[:-1], "an older version, before"),
        (
            "tables",
            lambda old: {**old, "evil": {"columns": [], "rows": 0, "sha256": ""}},
            "not those",
        ),
    ],
)
def test_another_version_is_refused_by_its_name(small, empty, key, value, why):
    def change(name: str, old: bytes) -> bytes:
        if name != MANIFEST:
            return old
        manifest = json.loads(old)
        manifest[key] = value(manifest[key]) if callable(value) else value
        return json.dumps(manifest).encode()

    with pytest.raises(BadBackup, match=why):
        restore(changed(small, change))


def test_every_value_of_every_row_comes_back_as_it_was(backup):
    for model in tables():
        fields = list(model._meta.concrete_fields)
        for row in model._base_manager.values_list(*[field.attname for field in fields]):
            again = from_line(as_line(row), fields)
            before = [
                field.get_db_prep_save(value, connection)
                for field, value in zip(fields, row, strict=True)
            ]
            # What PostgreSQL is given for JSON is never equal to another, but for what it holds.
            assert [getattr(one, "obj", one) for one in again] == [
                getattr(one, "obj", one) for one in before
            ]


def test_tables_come_after_those_they_refer_to():
    order = [model._meta.db_table for model in tables()]

    assert order.index("runs_bank") < order.index("runs_item") < order.index("runs_response")
    assert order.index("rating_user") < order.index("rating_rating") < order.index("rating_quote")


def test_one_that_streams_says_how_far_it_is(db):
    said: list[str] = []
    stream_backup(io.BytesIO(), now=timezone.now(), say=said.append)
    assert any(line.startswith("auth_group: 5 rows") for line in said)
