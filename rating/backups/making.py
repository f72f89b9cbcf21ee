"""Write a backup while people go on working: all that is in it is of one moment."""

import contextlib
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings
from django.db import connection, models

from compassion.snapshots import snapshot
from rating.backups.form import (
    FORMAT,
    MANIFEST,
    BadBackup,
    as_line,
    member,
    migrations,
    not_migrated,
    tables,
)
from rating.integrity.anchors import head, key_name
from rating.integrity.declared import columns_of
from rating.integrity.sealing import seal_all

CHUNK: Final = 500
STAMP: Final = "last_backup.json"
Say = Callable[[str], None]


def write_backup(path: Path, *, now: datetime, say: Say = lambda line: None) -> dict[str, Any]:
    """Write a whole file, readable by its owner alone, or none. Returns its manifest.

    Raises ``BadBackup`` where it cannot be written.
    """
    if path.exists():
        raise BadBackup(f"{path} exists. Name another file, or take that one away.")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent or ".")
    except OSError as why:
        raise BadBackup(f"{path} cannot be written: {why.strerror}.") from None
    beside = Path(name)  # made for its owner alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            manifest = stream_backup(file, now=now, say=say)
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)  # never over a file that came meanwhile
    except OSError as why:
        raise BadBackup(f"{path} cannot be written: {why.strerror}.") from None
    finally:
        beside.unlink(missing_ok=True)
    leave_stamp(path, manifest)
    return manifest


def stream_backup(out: IO[bytes], *, now: datetime, say: Say = lambda line: None) -> dict[str, Any]:
    """Write a backup to wherever bytes go. Returns its manifest."""
    if missing := not_migrated():
        raise BadBackup(f"This database lacks {missing[0]}: run manage.py migrate first.")
    seal_all()
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "made_at": now.astimezone(UTC).isoformat(),
        "database": connection.vendor,
        "key": key_name(),
        "migrations": migrations(),
    }
    with (
        snapshot(),
        zipfile.ZipFile(
            out, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=3
        ) as archive,
    ):
        manifest["head"] = asdict(head())
        manifest["tables"] = {
            model._meta.db_table: _table(archive, model, say) for model in tables()
        }
        manifest["files"] = dict(_files(archive))
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True) + "\n")
    return manifest


def leave_stamp(path: Path, manifest: dict[str, Any]) -> None:
    """Note when the last backup was made, for ``manage.py doctor``."""
    said = {"made_at": manifest["made_at"], "file": str(path), "head": manifest["head"]}
    # A container may write nowhere; then the backup is whole, and its age is not known here.
    with contextlib.suppress(OSError):
        (settings.VAR_DIR / STAMP).write_text(json.dumps(said) + "\n", "utf-8")


def _table(archive: zipfile.ZipFile, model: type[models.Model], say: Say) -> dict[str, Any]:
    """Write the rows of a table; say how many there are, and their hash."""
    columns, table = columns_of(model), model._meta.db_table
    sha, rows = hashlib.sha256(), 0
    found = model._base_manager.order_by("pk").values_list(*columns)
    with archive.open(member(table), "w", force_zip64=True) as out:
        for row in found.iterator(chunk_size=CHUNK):
            line = as_line(row)
            sha.update(line)
            out.write(line)
            rows += 1
    if rows:
        say(f"{table}: {rows:,} rows")
    return {"columns": columns, "rows": rows, "sha256": sha.hexdigest()}


def _files(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """What matters beside the database: the list of support lines, where a site has its own."""
    path: Path = settings.SUPPORT_LINES_FILE
    if path.is_file() and path.parent != settings.BASE_DIR / "fixtures":
        content = path.read_bytes()
        archive.writestr(f"files/{path.name}", content)
        yield path.name, hashlib.sha256(content).hexdigest()
