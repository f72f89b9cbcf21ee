"""What a backup file is: a zip with a file of JSON lines for each table, and a manifest."""

import base64
import binascii
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor

from rating.integrity.declared import all_models

FORMAT: Final = "compassion/backup/1"
MANIFEST: Final = "manifest.json"
#: Who is signed in just now is nothing to keep, and would let in whoever reads the file.
LEFT_OUT: Final = ("django_session",)
#: What ``migrate`` puts into a new database by itself.
MADE_BY_MIGRATE: Final = ("auth_group", "auth_permission", "django_content_type", "rating_touch")

#: What a worker writes by itself: that it is there, and seals of what ``migrate`` made.
MADE_BY_WORKERS: Final = ("rating_heartbeat", "rating_seal")


class BadBackup(ValueError):
    """A file that cannot be restored, with the fault and the way on."""


def tables() -> list[type[models.Model]]:
    """The tables of a backup: each after those it refers to, where that can be."""
    waiting = {name: one for name, one in all_models().items() if name not in LEFT_OUT}
    ordered: list[type[models.Model]] = []
    done: set[str] = set()
    while waiting:
        ready = [name for name, one in sorted(waiting.items()) if _refers_to(one) <= done | {name}]
        for name in ready or sorted(waiting)[:1]:
            ordered.append(waiting.pop(name))
            done.add(name)
    return ordered


def member(table: str) -> str:
    return f"tables/{table}.jsonl"


def migrations() -> list[str]:
    """The migrations that this program has, as ``app.name``."""
    loader = MigrationExecutor(connection).loader
    return sorted(f"{app}.{name}" for app, name in loader.disk_migrations)


def not_migrated() -> list[str]:
    """The migrations that this database has not had, as ``app.name``."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{one.app_label}.{one.name}" for one, _ in plan]


def as_line(row: tuple[Any, ...]) -> bytes:
    return (
        json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_plain).encode() + b"\n"
    )


def from_line(line: bytes, fields: "list[models.Field[Any, Any]]") -> list[Any]:
    """The values of a row, as this database takes them. Raises ``BadBackup``."""
    try:
        row = json.loads(line)
        if not isinstance(row, list) or len(row) != len(fields):
            raise BadBackup("it has a line that is no row of its table")
        return [_prepared(field, value) for field, value in zip(fields, row, strict=True)]
    except (ValueError, TypeError, ArithmeticError, binascii.Error) as why:
        raise BadBackup(f"it has a line that is no row of its table: {why}") from None


def _refers_to(model: type[models.Model]) -> set[str]:
    return {
        one.related_model._meta.db_table
        for one in model._meta.concrete_fields
        if one.related_model is not None and not isinstance(one.related_model, str)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    raise TypeError(f"no way to write down a {type(value).__name__}")


def _prepared(field: "models.Field[Any, Any]", value: Any) -> Any:
    if isinstance(field, models.JSONField):
        if value is None and field.null:
            return None
        return field.get_db_prep_value(value, connection)
    if value is not None and isinstance(field, models.BinaryField):
        value = base64.b64decode(value, validate=True)
    elif value is not None and isinstance(field, models.DateTimeField):
        value = datetime.fromisoformat(value)
    return field.get_db_prep_save(value, connection)


def chunks(lines: Iterator[list[Any]], size: int) -> Iterator[list[list[Any]]]:
    some: list[list[Any]] = []
    for line in lines:
        some.append(line)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
