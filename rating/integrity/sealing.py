"""Seal the rows that were written since: a few hundred at a time, each lot chained to the one before.

A lot holds two hashes of each row: of what never changes in it, and of what may. A row that is
written again is sealed again, and a row that was taken away leaves that it was.
"""

import json
import zlib
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from django.db import connection
from django.db.models import Max
from django.utils import timezone

from rating.events import last_sealed, seal_events, sealing
from rating.integrity.anchors import head, key_name, stamp_of
from rating.integrity.declared import Sealed, declared, settled_in
from rating.integrity.digests import PAGE, fixed_digest, key_text, moving_digest, rows_of
from rating.seals import Seal, Touch
from runs.canonical import digest
from runs.guards import MARKED_IN

GONE: Final = None  # in place of its hashes: the row was taken away
OPEN: Final = "-"  # in place of the second hash: the row is being worked on


def seal_all() -> tuple[int, int]:
    """Seal the log, then the rows; return how many events and how many rows."""
    return seal_events(), seal_rows()


def seal_rows(lots: int | None = None) -> int:
    """Seal the rows that were written until now, in so many lots at most; return how many."""
    total = 0
    # What comes meanwhile waits for the next time: where people rate all the time, this ends too.
    last = Touch.objects.aggregate(last=Max("pk"))["last"] or 0
    # What is sealed is deleted, and PostgreSQL would walk over it again for each lot.
    behind: int | None = None
    for lot in count() if lots is None else range(lots):
        with sealing():
            waiting = Touch.objects.filter(pk__lte=last).order_by("pk")
            if behind is not None:
                waiting = waiting.filter(pk__gt=behind)
            touches = list(waiting[:PAGE])
            if not touches and (lot or not _log_went_on()):
                break
            behind = touches[-1].pk if touches else last
            total += _seal(touches, timezone.now())
            Touch.objects.filter(pk__in=[touch.pk for touch in touches]).delete()
    return total


def seal_hash(number: int, at: datetime, content: bytes, log: tuple[int, str], before: str) -> str:
    """The hash of a lot and of the seal before it."""
    moment = at.astimezone(UTC).isoformat()
    return digest([number, moment, zlib.decompress(content).decode(), *log, before])


def lot_of(seal: Seal) -> dict[str, Any]:
    """What a seal holds: by table, the columns that were sealed, and key and hashes of each row."""
    lot: dict[str, Any] = json.loads(zlib.decompress(bytes(seal.content)))
    return lot


def mark_all(*tables: str) -> None:
    """Mark all rows to be sealed again, of these tables or of every one.

    For what came in while triggers were lifted, and after a migration that adds a column.
    """
    with connection.cursor() as cursor:
        for one in declared():
            if not tables or one.table in tables:
                key = one.model._meta.pk.column
                cursor.execute(
                    f'INSERT INTO {MARKED_IN} ("table", "key") SELECT \'{one.table}\','
                    f' CAST("{key}" AS VARCHAR(40)) FROM {one.table} WHERE {settled_in(one)}'
                )


def _log_went_on() -> bool:
    """Whether events were sealed that no seal over rows has seen."""
    seen = Seal.objects.order_by("-number").values_list("log_event", flat=True).first() or 0
    last = last_sealed()
    return last is not None and last.pk != seen


def _seal(touches: list[Touch], now: datetime) -> int:
    wanted: dict[str, dict[str, None]] = {}
    for touch in touches:
        wanted.setdefault(touch.table, {})[key_text(touch.key)] = None
    known = {one.table: one for one in declared()}
    lot = {
        table: _lot(known[table], list(keys)) for table, keys in wanted.items() if table in known
    }
    content = zlib.compress(json.dumps(lot, separators=(",", ":")).encode(), 6)
    before = head()
    log = before.event, before.event_seal
    number = before.seal + 1
    seal = seal_hash(number, now, content, log, before.seal_hash)
    Seal.objects.create(
        number=number,
        sealed_at=now,
        content=content,
        log_event=log[0],
        log_seal=log[1],
        previous=before.seal_hash,
        seal=seal,
        key_name=key_name(),
        stamp=stamp_of(seal),
    )
    return sum(len(own["rows"]) for own in lot.values())


def _lot(one: Sealed, keys: list[str]) -> dict[str, Any]:
    fixed, moving, personal = one.fixed, one.moving, one.personal
    found = rows_of(one, keys)
    rows: list[list[str | None]] = []
    for key in keys:
        row = found.get(key)
        if row is None:
            rows.append([key, GONE, GONE])
            continue
        if not one.settled(row) and one.until and one.until[0] in fixed:
            continue  # it is sealed once it is done, and not before
        second = moving_digest(one, row, moving, personal) if one.settled(row) else OPEN
        rows.append([key, fixed_digest(one, row, fixed), second])
    return {"fixed": fixed, "moving": moving, "personal": personal, "rows": rows}
