"""Make a database again from a backup: all of it or nothing, and only where there is none yet."""

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, models, transaction

from rating.backups.form import (
    FORMAT,
    MADE_BY_MIGRATE,
    MADE_BY_WORKERS,
    MANIFEST,
    BadBackup,
    chunks,
    from_line,
    member,
    migrations,
    not_migrated,
    tables,
)
from rating.integrity.declared import columns_of
from runs.guards import GUARDED, install, lift

CHUNK: Final = 500
LONGEST: Final = (
    1_400_000_000  # bytes of one row: PostgreSQL's longest value, as it is written here
)
#: What reading a file raises that is no zip file, or not all of one.
TORN: Final = (
    OSError,
    EOFError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
LARGEST_MANIFEST: Final = 10_000_000
Say = Callable[[str], None]


def restore(path: Path, *, say: Say = lambda line: None) -> dict[str, Any]:
    """Restore a backup into the database of this installation. Returns its manifest.

    Raises
    ------
    BadBackup
        If the file is not whole, is of another version of this program, or something is there
        already. The database stays as it was.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = read_manifest(archive)
            _see_that_it_is_whole(archive, manifest)
            say("The file is whole.")
            _see_that_nothing_is_there()
            if not_migrated():
                call_command("migrate", verbosity=0, interactive=False)
            _see_that_nothing_is_there()
            _load(archive, manifest, say)
            _put_files(archive, manifest, say)
    except BadBackup:
        raise
    except TORN as why:
        raise BadBackup(f"{path} is no backup, or not all of it: {why}") from None
    return manifest


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """What the file says of itself. Raises ``BadBackup`` if this program cannot restore it."""
    try:
        if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise BadBackup("Its manifest is too large to be one.")
        manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
        form, listed = manifest["format"], dict(manifest["tables"])
        theirs = set(manifest["migrations"])
        files = dict(manifest["files"])
    except (KeyError, TypeError, ValueError) as why:
        if isinstance(why, BadBackup):
            raise
        raise BadBackup("It has no manifest that can be read: it is no backup, or torn.") from None
    if strange := [name for name in files if Path(name).name != name or name in ("", "..")]:
        raise BadBackup(f"It names a file {strange[0]!r}, which is a path and no name.")
    if form != FORMAT:
        raise BadBackup(f"It is of the format {form}; this program reads {FORMAT}.")
    ours = set(migrations())
    if newer := sorted(theirs - ours):
        raise BadBackup(
            f"It was made by a newer version, which has {newer[-1]}. Restore it with that version."
        )
    if older := sorted(ours - theirs):
        raise BadBackup(
            f"It was made by an older version, before {older[0]}. Restore it with that version, "
            "then put this one in its place and run manage.py migrate."
        )
    wanted = {model._meta.db_table: columns_of(model) for model in tables()}
    if {name: list(own["columns"]) for name, own in listed.items()} != wanted:
        raise BadBackup("Its tables are not those of this version.")
    return manifest


def _see_that_it_is_whole(archive: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    """Hold every table to its count and hash before anything is written."""
    for table, own in manifest["tables"].items():
        sha, rows = hashlib.sha256(), 0
        for line in _lines(archive, table):
            sha.update(line)
            rows += 1
        if (sha.hexdigest(), rows) != (own["sha256"], own["rows"]):
            raise BadBackup(f"{member(table)} is not what was written: the file was changed.")
    for name, wanted in manifest["files"].items():
        if hashlib.sha256(_read(archive, f"files/{name}")).hexdigest() != wanted:
            raise BadBackup(f"files/{name} is not what was written: the file was changed.")


def _lines(archive: zipfile.ZipFile, table: str) -> Iterator[bytes]:
    try:
        with archive.open(member(table)) as lines:
            while line := lines.readline(LONGEST):
                if not line.endswith(b"\n"):
                    raise BadBackup(f"{member(table)} ends in the middle of a row.")
                yield line
    except BadBackup:
        raise
    except (KeyError, *TORN) as why:
        raise BadBackup(f"{member(table)} cannot be read: {why}") from None


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError:
        raise BadBackup(f"{name} is missing.") from None


def _see_that_nothing_is_there() -> None:
    there = set(connection.introspection.table_names())
    for model in tables():
        table = model._meta.db_table
        if table in (*MADE_BY_MIGRATE, *MADE_BY_WORKERS) or table not in there:
            continue
        if model._base_manager.order_by().exists():
            raise BadBackup(
                f"This database is not empty: {table} has rows. Restore into a new one, named in "
                "DATABASE_URL."
            )


def _load(archive: zipfile.ZipFile, manifest: dict[str, Any], say: Say) -> None:
    every = tables()
    with transaction.atomic(), connection.cursor() as cursor:
        # A trigger asks who was there first; the rows come in the order of their tables instead.
        lift()
        for model in reversed(every):
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
        for model in every:
            table, rows = model._meta.db_table, 0
            fields = list(model._meta.concrete_fields)
            names = ", ".join(f'"{field.column}"' for field in fields)
            places = ", ".join(["%s"] * len(fields))
            sql = f"INSERT INTO {table} ({names}) VALUES ({places})"
            lines = (from_line(line, fields) for line in _lines(archive, table))
            for some in chunks(lines, CHUNK):
                cursor.executemany(sql, some)
                rows += len(some)
            if rows:
                say(f"{table}: {rows:,} rows")
        _go_on_counting(cursor, every)
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        else:
            connection.check_constraints()
        for name in GUARDED:
            install(apps.get_app_config(name))


def _go_on_counting(cursor: Any, every: list[type[models.Model]]) -> None:
    """New rows get numbers after those that were restored."""
    for statement in connection.ops.sequence_reset_sql(no_style(), every):
        cursor.execute(statement)


def _put_files(archive: zipfile.ZipFile, manifest: dict[str, Any], say: Say) -> None:
    """What stood beside the database. By now that is restored, whatever becomes of these."""
    for name in manifest["files"]:
        target = Path(settings.VAR_DIR) / "restored" / name
        content = _read(archive, f"files/{name}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as why:
            say(
                f"The database is restored. {target} cannot be written ({why.strerror}): take "
                f"files/{name} out of the backup yourself, and name it in SUPPORT_LINES_FILE."
            )
            continue
        say(f"{target} is the list of support lines: name it in SUPPORT_LINES_FILE.")
