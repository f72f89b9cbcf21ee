"""What a walk must remember of millions of rows, in a file of its own: memory stays flat."""

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TABLES = """
CREATE TABLE sealed (
    t TEXT, k TEXT, shape INTEGER, f TEXT, m TEXT, twice INTEGER DEFAULT 0, seen INTEGER DEFAULT 0,
    gone INTEGER DEFAULT 0, PRIMARY KEY (t, k)
) WITHOUT ROWID;
CREATE TABLE before (t TEXT, k TEXT, shape INTEGER, f TEXT, PRIMARY KEY (t, k, shape)) WITHOUT ROWID;
CREATE TABLE touched (t TEXT, k TEXT, PRIMARY KEY (t, k)) WITHOUT ROWID;
CREATE TABLE acts (k TEXT PRIMARY KEY, rated INTEGER, taken INTEGER) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Kept:
    """The last that was sealed of a row.

    ``twice``: what never changes was sealed differently. ``gone``: it was sealed as taken away once.
    ``before``: what never changes as it was sealed by other columns, by their shape.
    """

    shape: int
    fixed: str | None
    moving: str | None
    twice: bool
    gone: bool = False
    before: tuple[tuple[int, str], ...] = ()


class Shelf:
    """What was sealed of each row, which rows wait to be, and what the log says of each rating."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {TABLES} BEGIN;")
        self._shapes: dict[str, set[int]] = {}

    def seal(self, table: str, shape: int, rows: Sequence[Sequence[str | None]]) -> None:
        shapes = self._shapes.setdefault(table, set())
        shapes.add(shape)
        if len(shapes) > 1:
            self.db.executemany(
                "INSERT OR IGNORE INTO before SELECT t, k, shape, f FROM sealed"
                " WHERE t = ? AND k = ? AND shape <> ? AND f IS NOT NULL",
                ((table, key, shape) for key, *_ in rows),
            )
        self.db.executemany(
            "INSERT INTO sealed (t, k, shape, f, m, gone) VALUES (?1, ?2, ?3, ?4, ?5, ?4 IS NULL)"
            " ON CONFLICT (t, k) DO UPDATE SET"
            # A row that was taken away, or sealed with other columns, is no change of this one.
            " twice = twice OR (f IS NOT NULL AND excluded.f IS NOT NULL"
            " AND shape = excluded.shape AND f <> excluded.f),"
            " gone = gone OR excluded.f IS NULL,"
            " shape = excluded.shape, f = excluded.f, m = excluded.m",
            ((table, key, shape, fixed, moving) for key, fixed, moving in rows),
        )

    def touch(self, rows: Iterable[tuple[str, str]]) -> None:
        self.db.executemany("INSERT OR IGNORE INTO touched VALUES (?, ?)", rows)

    def act(self, ratings: Iterable[tuple[str, bool, bool]]) -> None:
        """What the log says, in its order: the rating, whether it was given, whether taken out."""
        self.db.executemany(
            "INSERT INTO acts VALUES (?, ?, ?) ON CONFLICT (k)"
            " DO UPDATE SET rated = rated OR excluded.rated, taken = excluded.taken",
            ratings,
        )

    def kept(self, table: str, keys: Sequence[str]) -> dict[str, Kept]:
        marks = ", ".join("?" * len(keys))
        found = self.db.execute(
            f"SELECT k, shape, f, m, twice, gone FROM sealed WHERE t = ? AND k IN ({marks})",
            [table, *keys],
        )
        before: dict[str, list[tuple[int, str]]] = {}
        if len(self._shapes.get(table, ())) > 1:
            for key, shape, fixed in self.db.execute(
                f"SELECT k, shape, f FROM before WHERE t = ? AND k IN ({marks})", [table, *keys]
            ):
                before.setdefault(key, []).append((shape, fixed))
        return {
            key: Kept(shape, f, m, bool(twice), bool(gone), tuple(before.get(key, ())))
            for key, shape, f, m, twice, gone in found
        }

    def touched(self, table: str, keys: Sequence[str]) -> set[str]:
        marks = ", ".join("?" * len(keys))
        found = self.db.execute(
            f"SELECT k FROM touched WHERE t = ? AND k IN ({marks})", [table, *keys]
        )
        return {key for (key,) in found}

    def acts(self, keys: Sequence[str]) -> dict[str, tuple[bool, bool]]:
        marks = ", ".join("?" * len(keys))
        found = self.db.execute(f"SELECT k, rated, taken FROM acts WHERE k IN ({marks})", keys)
        return {key: (bool(rated), bool(taken)) for key, rated, taken in found}

    def forget_acts(self, keys: Sequence[str]) -> None:
        self.db.executemany("DELETE FROM acts WHERE k = ?", ((key,) for key in keys))

    def acts_left(self) -> Iterator[str]:
        """The ratings that the log says were given, of those that are not forgotten."""
        for (key,) in self.db.execute("SELECT k FROM acts WHERE rated ORDER BY k"):
            yield key

    def see(self, table: str, keys: Iterable[str]) -> None:
        self.db.executemany(
            "UPDATE sealed SET seen = 1 WHERE t = ? AND k = ?", ((table, key) for key in keys)
        )

    def unseen(self, table: str) -> Iterator[tuple[str, bool]]:
        """The rows that were sealed and are no more there; and whether their going was noted."""
        found = self.db.execute(
            "SELECT s.k, s.f IS NULL OR EXISTS (SELECT 1 FROM touched w WHERE w.t = s.t AND w.k = s.k)"
            " FROM sealed s WHERE s.t = ? AND s.seen = 0 ORDER BY s.k",
            [table],
        )
        for key, noted in found:
            yield key, bool(noted)


@contextmanager
def shelf() -> Iterator[Shelf]:
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        made = Shelf(Path(folder) / "shelf.sqlite3")
        try:
            yield made
        finally:
            made.db.close()
