"""A bundle, looked at by itself and beside the database it came from."""

import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import DatabaseError

from rating.integrity.anchors import head_in, unlike
from rating.publications import Publication
from rating.publishing.bundle import INTERNAL, MANIFEST, PUBLIC, REPORT, BadBundle, reproduce

__all__ = ["BadBundle", "Checked", "check_bundle"]


@dataclass(frozen=True)
class Checked:
    """What was found of a bundle, in sentences: what holds, and what does not."""

    name: str
    kind: str
    figures: int
    said: tuple[str, ...]
    wrong: tuple[str, ...]


def check_bundle(path: Path) -> Checked:
    """Its hashes, its schema, its figures computed again, its place in the log of this database.

    ``path`` is the bundle, or a folder with its files as they were unpacked. Raises ``BadBundle``.
    """
    if path.is_dir():
        with TemporaryDirectory(prefix="bundle-") as folder:
            return _checked(_packed(path, Path(folder) / f"{path.name}.zip"))
    return _checked(path)


def _packed(folder: Path, target: Path) -> Path:
    """The files of a folder as the bundle they were unpacked from."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(folder.iterdir()):
            if file.is_file():
                archive.write(file, file.name)
    return target


def _checked(path: Path) -> Checked:
    found = reproduce(path)
    said = [f"{path.name}: every hash is right."]
    wrong = list(found.differences)
    what = "figures" if found.kind == INTERNAL else "figures of agreement"
    if found.identical:
        said.append(f"{found.figures} {what} were computed again and are the same.")
    if not found.same_code:
        said.append("Its figures were computed by another version of this program.")
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
        report = archive.read(REPORT)
    wave = str(json.loads(report)["wave"]["code"])
    try:
        _beside_the_database(found.kind, wave, manifest, said, wrong)
    except DatabaseError:
        said.append("No database was asked: none answers.")
    return Checked(path.name, found.kind, found.figures, tuple(said), tuple(wrong))


def _beside_the_database(
    kind: str, wave: str, manifest: dict[str, object], said: list[str], wrong: list[str]
) -> None:
    published = Publication.objects.filter(wave__code=wave).first()
    if published is None:
        said.append(f"This database has not published {wave}: the bundle was looked at by itself.")
        return
    log = manifest.get("log")
    if isinstance(log, dict):
        places = [f"{table} {key} {what}" for table, key, what in unlike(head_in(log))]
        wrong += [
            f"The log of this database is not the one it was made from: {one}." for one in places
        ]
        if not places:
            said.append(f"The log of this database goes through event {log['event']}, as it says.")
    if kind != PUBLIC:
        said.append(
            "It is an internal bundle: its rows were not compared with those of this database. "
            "It agrees with itself, which whoever made it anew could bring about."
        )
    if kind == PUBLIC:
        # A manifest holds the hashes of all other files; unpacked files are zipped in another way.
        same = manifest == json.loads(read_manifest(bytes(published.bundle)))
        (said if same else wrong).append(
            f"It is the one that was published of {wave}."
            if same
            else f"It is not the one that was published of {wave}."
        )


def read_manifest(bundle: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return archive.read(MANIFEST)
