"""A row as a hash: the same on every database that holds the same row."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import F

from rating.integrity.declared import Sealed, columns_of, model_of
from runs.canonical import digest

SHORT: Final = 32  # hexadecimal digits of a row's hash that are kept: 128 bits
PAGE: Final = 500  # rows; an older SQLite takes at most 999 values in a statement
SALT: Final = "salt"
AS_IT_IS: Final = frozenset({str, int, bool, type(None)})

Row = dict[str, Any]


def key_text(key: Any) -> str:
    """A primary key as text, one way for all databases."""
    return str(key).replace("-", "")


def fixed_digest(one: Sealed, row: Row, columns: Sequence[str]) -> str:
    """The hash of what never changes in a row, and of the rows that belong to it."""
    parts = [row[part] for part, _ in one.parts]
    return digest([one.table, [[name, plain(row[name])] for name in columns], parts])[:SHORT]


def moving_digest(one: Sealed, row: Row, moving: Sequence[str], personal: Sequence[str]) -> str:
    """The hash of what may change in it; of what is personal, by its salted hash."""
    own = [[name, plain(row[name])] for name in moving]
    own += [[name, commitment(row[name], row[SALT])] for name in personal]
    return digest([one.table, own])[:SHORT] if own else ""


def commitment(value: Any, salt: str | None) -> str:
    """A hash that says nothing of a value without its salt; empty where the value is."""
    if value in ("", None, [], {}, False):
        return ""
    return digest([salt or "", plain(value)])


def plain(value: Any) -> Any:
    """A value as JSON has it, one way for all databases."""
    if type(value) in AS_IT_IS:  # nearly all are: not asked for one kind after the other
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, Decimal):
        return str(value.normalize())
    if isinstance(value, bytes | memoryview):
        return hashlib.sha256(bytes(value)).hexdigest()
    if isinstance(value, float):
        # JSON columns of PostgreSQL write a whole number without its point.
        return int(value) if value.is_integer() else repr(value)
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    return value


def rows_of(one: Sealed, keys: Iterable[str]) -> dict[str, Row]:
    """The rows with these keys, by key."""
    found = one.model._base_manager.filter(pk__in=list(keys))
    return {key_text(row[one.model._meta.pk.attname]): row for row in _filled(one, found)}


def pages_of(one: Sealed, size: int = PAGE) -> Iterator[list[tuple[str, Row]]]:
    """All rows of a table in the order of their keys, a page at a time."""
    pk = one.model._meta.pk.attname
    last: Any = None
    while True:
        found = one.model._base_manager.order_by("pk")
        if last is not None:
            found = found.filter(pk__gt=last)
        page = _filled(one, found[:size])
        if not page:
            return
        last = page[-1][pk]
        yield [(key_text(row[pk]), row) for row in page]


def _filled(one: Sealed, found: Any) -> list[Row]:
    """The rows of a query, each with its salt and the rows that belong to it."""
    # Of what is left out nothing is read, which may be large, but the key and what seals it.
    names = [name for name in columns_of(one.model) if name not in one.left_out]
    salts = {SALT: F(one.salt)} if one.salt else {}
    page: list[Row] = list(found.values(*names, **salts))
    pk = one.model._meta.pk.attname
    for table, leads in one.parts:
        part = model_of(table)
        own: dict[Any, list[Any]] = {row[pk]: [] for row in page}
        columns = columns_of(part)
        for row in (
            part._base_manager.filter(**{f"{leads}__in": list(own)}).order_by("pk").values(*columns)
        ):
            own[row[leads]].append([plain(row[name]) for name in columns])
        for line in page:
            line[table] = own[line[pk]]
    return page
