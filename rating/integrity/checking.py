"""Walk the log, the seals and every sealed row, and say what is not as it was sealed."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from django.db import connection

from compassion.snapshots import snapshot
from rating.consistency import faults
from rating.events import walk_events
from rating.integrity.anchors import Head, head, is_stamped, keys, unlike
from rating.integrity.declared import Sealed, columns_of, declared
from rating.integrity.digests import Row, fixed_digest, key_text, moving_digest, pages_of
from rating.integrity.sealing import OPEN, lot_of, seal_all, seal_hash
from rating.integrity.shelf import Kept, Shelf, shelf
from rating.models import Event, EventKind
from rating.publications import Export
from rating.publishing.acts import unlike_published
from rating.seals import Seal, Touch
from runs.guards import missing

#: What to do, by what was found.
RESTORE: Final = "Compare it with the last backup that verifies; see docs/integrity.md."
MIGRATE: Final = "Run manage.py migrate, which puts them back; find out who took them away."
KEY: Final = "Put the SECRET_KEY it was sealed under into SECRET_KEY_FALLBACKS."
GIVEN: Final = (EventKind.RATE,)
TAKEN: Final = (EventKind.UNDO, EventKind.VOID)
ACTS: Final = (*GIVEN, *TAKEN, EventKind.RESTORE)


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was: in which row, what, and what to do."""

    table: str
    key: str
    what: str
    way_on: str = RESTORE

    def __str__(self) -> str:
        return f"{self.table} {self.key}: {self.what}" if self.table else self.what


@dataclass
class Walked:
    """What was looked at, and how much is sealed under a key that is not at hand."""

    sealed_now: tuple[int, int] = (0, 0)
    events: int = 0
    seals: int = 0
    rows: int = 0
    waiting: int = 0
    unknown_keys: int = 0
    head: Head = field(default_factory=Head)


Say = Callable[[str, int], None]


def check(
    walked: Walked, anchors: Sequence[Head] = (), say: Say = lambda what, rows: None
) -> Iterator[Finding]:
    """Everything that is wrong, as it is found. ``walked`` is filled meanwhile."""
    if gone := missing(connection):
        yield Finding("", "", f"the database lacks triggers: {', '.join(gone)}", MIGRATE)
    walked.sealed_now = seal_all()
    with snapshot(), shelf() as kept:
        walked.head = head()
        walked.waiting = Touch.objects.count()
        for anchor in anchors:
            for table, key, what in unlike(anchor):
                yield Finding(table, key, what)
        yield from _log(walked, kept, say)
        shapes: list[dict[str, Any]] = []
        yield from _seals(walked, kept, shapes, say)
        kept.touch((t, key_text(k)) for t, k in _touches())
        for one in declared():
            yield from _rows(one, walked, kept, shapes, say)
        for said in faults():
            yield Finding("", "", said)
        for said in unlike_published():
            yield Finding("", "", said)


def _log(walked: Walked, kept: Shelf, say: Say) -> Iterator[Finding]:
    walk = walk_events()
    walked.events = walk.sealed
    say("rating_event", walk.sealed)
    if walk.broken_at is not None:
        yield Finding(
            "rating_event",
            str(walk.broken_at),
            f"event {walk.broken_at} is not what was sealed, or one before it is gone",
        )
    acts = (
        Event.objects.filter(kind__in=ACTS, about__has_key="rating")
        .order_by("pk")
        .values_list("kind", "about")
    )
    kept.act(
        (key_text(about["rating"]), kind in GIVEN, kind in TAKEN)
        for kind, about in acts.iterator(chunk_size=2000)
    )


def _seals(
    walked: Walked, kept: Shelf, shapes: list[dict[str, Any]], say: Say
) -> Iterator[Finding]:
    """Walk the chain of seals, and put what they hold on the shelf."""
    known = keys()
    before, number = "", 0
    for seal in Seal.objects.order_by("number").iterator(chunk_size=50):
        number += 1
        found = str(seal.number)
        if seal.number != number or seal.previous != before:
            yield Finding("rating_seal", found, "the seal before it is gone, or another one")
            number = seal.number
        log = seal.log_event, seal.log_seal
        try:
            own = seal_hash(seal.number, seal.sealed_at, bytes(seal.content), log, seal.previous)
            lot = lot_of(seal)
        except Exception:
            # Whatever stands there instead of JSON was not written by us.
            own, lot = "", {}
        if own != seal.seal:
            yield Finding("rating_seal", found, "it is not what was sealed")
        stamped = is_stamped(seal.seal, seal.stamp, seal.key_name, known)
        if stamped is None:
            walked.unknown_keys += 1
        elif not stamped:
            yield Finding("rating_seal", found, "its stamp is not of the key of this installation")
        if (
            seal.log_event
            and not Event.objects.filter(pk=seal.log_event, seal=seal.log_seal).exists()
        ):
            yield Finding(
                "rating_event", str(seal.log_event), f"seal {found} has seen it, and it is gone"
            )
        for table, part in lot.items():
            shape = {name: part[name] for name in ("fixed", "moving", "personal")}
            if shape not in shapes:
                shapes.append(shape)
            kept.seal(table, shapes.index(shape), part["rows"])
        before = seal.seal
        walked.seals += 1
    say("rating_seal", walked.seals)


def _touches() -> Iterator[tuple[str, str]]:
    return Touch.objects.values_list("table", "key").iterator(chunk_size=2000)


def _rows(
    one: Sealed, walked: Walked, kept: Shelf, shapes: list[dict[str, Any]], say: Say
) -> Iterator[Finding]:
    rows = 0
    columns = set(columns_of(one.model))
    for page in pages_of(one):
        keys = [key for key, _ in page]
        sealed, waiting = kept.kept(one.table, keys), kept.touched(one.table, keys)
        for key, row in page:
            what = _wrong(one, row, sealed.get(key), key in waiting, shapes, columns)
            if what:
                yield Finding(one.table, key, what)
        kept.see(one.table, sealed)
        if one.table in MORE:
            yield from MORE[one.table](page, kept)
        rows += len(page)
        say(one.table, rows)
    walked.rows += rows
    for key, noted in kept.unseen(one.table):
        if not noted:
            yield Finding(one.table, key, "it was sealed, and is gone")
        elif not one.may_go:
            yield Finding(one.table, key, "it was sealed, and was taken away")
    if one.table == "rating_rating":
        for key in kept.acts_left():
            yield Finding(one.table, key, "the log says that it was given, and it is not there")


def _wrong(
    one: Sealed,
    row: Row,
    kept: Kept | None,
    waiting: bool,
    shapes: list[dict[str, Any]],
    columns: set[str],
) -> str:
    """What is wrong with a row, if anything is."""
    if kept is None:
        if waiting or not one.settled(row):
            return ""
        return "it is not sealed: it was put in past the triggers"
    if kept.fixed is None:
        return "" if waiting else "it was taken away, and put back past the triggers"
    if kept.gone and not one.may_go:
        return "it was taken away, and put back"
    if kept.twice:
        return "what never changes in it was changed after it was sealed"
    for number, fixed in kept.before:
        # Sealed before a column came: of what never changes by today's list, it is still held to that.
        names = shapes[number]["fixed"]
        if set(names) <= set(one.fixed) & columns and fixed_digest(one, row, names) != fixed:
            return f"{_it(one)} is not what was sealed, in what never changes"
    shape = shapes[kept.shape]
    if lost := sorted({*shape["fixed"], *shape["moving"], *shape["personal"]} - columns):
        return f"it was sealed with a column that is no more: {lost[0]}"
    if fixed_digest(one, row, shape["fixed"]) != kept.fixed:
        return f"{_it(one)} is not what was sealed, in what never changes"
    if waiting:
        return ""
    if kept.moving == OPEN:
        return "it was changed past the triggers" if one.settled(row) else ""
    if not one.settled(row):
        return "it was put back to before it was done, past the triggers"
    if moving_digest(one, row, shape["moving"], shape["personal"]) != kept.moving:
        return "it was changed past the triggers, in what may change"
    return ""


def _it(one: Sealed) -> str:
    return " or ".join(("it", *(f"a row of {part} that belongs to it" for part, _ in one.parts)))


def _ratings(page: list[tuple[str, Row]], kept: Shelf) -> Iterator[Finding]:
    """Each rating was given in the log, and is out of the count just if the log says so."""
    acts = kept.acts([key for key, _ in page])
    for key, row in page:
        rated, taken = acts.get(key, (False, False))
        if not rated:
            yield Finding("rating_rating", key, "the log does not know that it was given")
        elif taken != (row["withdrawn_at"] is not None):
            said = "taken out" if taken else "standing"
            yield Finding("rating_rating", key, f"by the log it is {said}, and it is not")
    kept.forget_acts([key for key, _ in page])


def _exports(page: list[tuple[str, Row]], kept: Shelf) -> Iterator[Finding]:
    for key, row in page:
        content = Export.objects.values_list("content", flat=True).get(pk=key)
        if content is not None and hashlib.sha256(bytes(content)).hexdigest() != row["sha256"]:
            yield Finding("rating_export", key, "its file is not what was made")


MORE: Final[dict[str, Callable[[list[tuple[str, Row]], Shelf], Iterator[Finding]]]] = {
    "rating_rating": _ratings,
    "rating_export": _exports,
}


def first(findings: Iterator[Finding], most: int) -> tuple[list[Finding], int]:
    """The first few, and how many there are."""
    shown = list(islice(findings, most))
    return shown, len(shown) + sum(1 for _ in findings)
