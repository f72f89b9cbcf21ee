"""Records on disk, each tied to the one before it.

A record is a file named by its number and made whole in one step that fails where the file is
there already. So a crash leaves no half of a record, and of two writers who would take one number
the second is told. What is there is read once; later reads look for the next number only.

The chain shows an edit, a gap and a stranger among the files. It cannot show that somebody wrote
all of it anew: the folder belongs to its owner, and so does the evidence.
"""

import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rating.probe.refusals import Refused, Tampered
from runs.canonical import NOT_TEXT, digest
from runs.plain_json import read_plain

LARGEST_RECORD: Final = 64 * 1024 * 1024  # bytes
NAME: Final = re.compile(r"[0-9]{6}\.json")
UNFINISHED: Final = ".writing-"
FIELDS: Final = frozenset({"number", "kind", "at", "previous", "body", "hash"})


class Overtaken(Exception):
    """Another writer took this number: catch up, look again, and write after it if still right."""


@dataclass(frozen=True)
class Record:
    """One thing that happened, in its place in the chain."""

    number: int
    kind: str
    at: str
    body: dict[str, Any]
    hash: str


class Chain:
    """The records of one run or session, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.length = 0
        self.last_hash = ""

    def catch_up(self) -> Iterator[Record]:
        """Yield the records that were not read yet. Raises ``Tampered`` at one that does not fit."""
        while self._path(self.length).exists():
            yield self._take(self._read(self.length))

    def append(self, kind: str, body: dict[str, Any], at: datetime) -> Record:
        """Write the next record; ``catch_up`` does not yield it again.

        Raises ``Overtaken`` where another writer was quicker. Then nothing was written.
        """
        moment = at.isoformat()
        fields = {
            "number": self.length,
            "kind": kind,
            "at": moment,
            "previous": self.last_hash,
            "body": body,
        }
        record = Record(self.length, kind, moment, body, digest(fields))
        content = json.dumps(fields | {"hash": record.hash}, ensure_ascii=False, indent=1).encode()
        if len(content) > LARGEST_RECORD:
            raise Refused(
                f"This is {len(content):,} bytes at once; at most {LARGEST_RECORD:,} are kept. "
                "Record fewer replies in one call."
            )
        create(self._path(self.length), content)
        return self._take(record)

    def refuse_strangers(self) -> None:
        """Raise ``Tampered`` for a file that is no record, or stands beyond a gap."""
        for path in sorted(self.folder.iterdir()):
            if path.name.startswith(UNFINISHED):
                continue  # a write that was cut off, and that nobody was told had happened
            if not NAME.fullmatch(path.name) or int(path.stem) >= self.length:
                raise Tampered(
                    f"{path.name} is no record of {self.folder.name}: its records are 000000.json "
                    f"to {self.length - 1:06}.json. A record before it may be missing."
                )

    def _take(self, record: Record) -> Record:
        self.length = record.number + 1
        self.last_hash = record.hash
        return record

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"

    def _read(self, number: int) -> Record:
        name = f"Record {number:06}.json of {self.folder.name}"
        data = read_json(self._path(number), name)
        if not isinstance(data, dict) or data.keys() != FIELDS or type(data["body"]) is not dict:
            raise Tampered(f"{name} is not as the probe wrote it: its fields differ.")
        rest = {key: value for key, value in data.items() if key != "hash"}
        if any(NOT_TEXT.search(text) for text in texts_in(data)) or data["hash"] != digest(rest):
            raise Tampered(f"{name} was changed after it was written: its hash does not fit.")
        if data["number"] != number or data["previous"] != self.last_hash:
            raise Tampered(f"{name} does not follow the record before it.")
        return Record(number, data["kind"], data["at"], data["body"], data["hash"])


def read_json(path: Path, name: str) -> Any:
    """What a file holds that may have been written by anybody. Raises ``Tampered``."""
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise Tampered(f"{name} is not a plain file.")
        if about.st_size > LARGEST_RECORD:
            raise Tampered(f"{name} has {about.st_size:,} bytes, more than any record has.")
        return read_plain(path.read_bytes())
    except ValueError as why:
        if isinstance(why, Tampered):
            raise
        raise Tampered(f"{name} is no JSON that the probe wrote.") from None


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, the names of its fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def create(path: Path, content: bytes) -> None:
    """Make a file whole in one step. Raises ``Overtaken`` where there is one of that name."""
    temporary = _written_beside(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise Overtaken(path.name) from None
    except OSError as why:
        raise Refused(
            f"{path.parent} is on a file system that cannot make a file in one step "
            f"({why.strerror}). Choose a folder on a disk of this machine."
        ) from None
    finally:
        os.unlink(temporary)
    _flush(path.parent)


def replace(path: Path, content: bytes) -> None:
    """Write a file anew in one step: a reader finds the old one or the new one."""
    os.replace(_written_beside(path, content), path)
    _flush(path.parent)


def _written_beside(path: Path, content: bytes) -> str:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _flush(folder: Path) -> None:
    """Have the folder itself written to disk, where the system lets one."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
