"""Statements in SQL, on PostgreSQL and on SQLite alike, and rows as instances of their models.

The trip from one card to the next is made thousands of times a day, and building its statements
anew each time took three quarters of its processor time: they are written out here instead.
Whatever is asked less often is a queryset.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar
from uuid import UUID

import psycopg
from django.db import connection, models
from django.db.backends.utils import CursorWrapper

M = TypeVar("M", bound=models.Model)
Row = tuple[Any, ...]


def rows(sql: str, *values: object) -> list[Row]:
    """What a statement returns. Moments and UUIDs go in as this database keeps them."""
    with _cursor() as cursor:
        cursor.execute(sql, [_as_kept(value) for value in values])
        return list(cursor.fetchall())


def do(sql: str, *values: object) -> None:
    """Carry out a statement that returns nothing."""
    with _cursor() as cursor:
        cursor.execute(sql, [_as_kept(value) for value in values])


def marks(values: Sequence[object]) -> str:
    """As many placeholders as there are values: ``%s, %s``."""
    return ", ".join(["%s"] * len(values))


def locking(clause: str) -> str:
    """``FOR`` so much, where rows are locked one by one; SQLite has one writer at a time."""
    return f" FOR {clause}" if connection.features.has_select_for_update else ""


def moment(value: Any) -> datetime:
    """A moment as it came out of a statement: SQLite keeps it without its zone, which is UTC."""
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def store(instances: Sequence[models.Model]) -> None:
    """Insert new rows of one table, all in one statement. Their numbers are not read back."""
    if not instances:
        return
    sql, fields = _insert(type(instances[0]))
    one = f"({marks(fields)})"
    with _cursor() as cursor:
        cursor.execute(
            f"{sql} VALUES {', '.join([one] * len(instances))}",
            [
                field.get_db_prep_save(getattr(instance, field.attname), connection)
                for instance in instances
                for field in fields
            ],
        )


def _cursor() -> CursorWrapper:
    """Where a statement is sent. PostgreSQL plans one that comes again and again only once.

    So its values travel beside it, and not within its text as they do from a queryset, and as
    they do here while somebody keeps a list of what is asked.
    """
    postgresql: Any = connection
    if connection.vendor != "postgresql" or connection.queries_logged:
        return connection.cursor()
    postgresql.ensure_connection()
    cursor: CursorWrapper = postgresql._prepare_cursor(psycopg.Cursor(postgresql.connection))
    return cursor


@lru_cache
def _insert(model: type[models.Model]) -> "tuple[str, list[models.Field[Any, Any]]]":
    fields = [f for f in model._meta.concrete_fields if not isinstance(f, models.AutoField)]
    names = ", ".join(f'"{field.column}"' for field in fields)
    return f"INSERT INTO {model._meta.db_table} ({names})", fields


def _as_kept(value: object) -> Any:
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    if isinstance(value, UUID) and not connection.features.has_native_uuid_field:
        return value.hex
    return value


class Columns(Generic[M]):
    """The columns of a table under an alias, and the instance made of a row of them."""

    def __init__(self, model: type[M], alias: str, *names: str) -> None:
        self.model, self.alias = model, alias
        self.fields = [
            field
            for field in model._meta.concrete_fields
            if not names or field.attname in names or field.primary_key
        ]
        self.names = [field.attname for field in self.fields]
        self.key = self.names.index(model._meta.pk.attname)
        self.sql = ", ".join(f'{alias}."{field.column}"' for field in self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @cached_property
    def _converters(self) -> list[tuple[int, list[Callable[..., Any]]]]:
        found = []
        for place, field in enumerate(self.fields):
            column = field.get_col(self.alias)
            converters = connection.ops.get_db_converters(column)
            converters += column.get_db_converters(connection)
            if converters:
                found.append((place, [_bound(convert, column) for convert in converters]))
        return found

    def make(self, row: Sequence[Any]) -> M | None:
        """The instance in the first columns of a row; None where an outer join found none."""
        values = list(row[: len(self.fields)])
        if values[self.key] is None:
            return None
        for place, converters in self._converters:
            for convert in converters:
                values[place] = convert(values[place])
        return self.model.from_db(connection.alias, self.names, values)


def _bound(convert: Callable[..., Any], column: Any) -> Callable[[Any], Any]:
    return lambda value: convert(value, column, connection)
