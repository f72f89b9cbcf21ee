"""Rules about rows that no column constraint can say, kept by triggers in the database itself.

A guard refuses an event on a table when a condition holds. The same condition, over OLD and NEW,
runs on PostgreSQL and SQLite. A mark is a trigger beside them that refuses nothing: it notes that
a row was written. Both are lifted before migrations and put back after every
``migrate``: SQLite drops them silently whenever a migration rebuilds their table, and refuses to
rebuild one that a guard elsewhere mentions.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from django.apps import AppConfig, apps
from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

GUARDED = ("runs", "rating")
MARKED_IN = "rating_touch"  # the table that marks are left in


@dataclass(frozen=True)
class Guard:
    """Refuses ``event`` on ``table`` when ``condition`` holds, and says ``message``."""

    name: str
    table: str
    event: Literal["INSERT", "UPDATE", "DELETE", "TRUNCATE"]
    condition: str
    message: str
    timing: Literal["BEFORE", "AFTER"] = "BEFORE"


@dataclass(frozen=True)
class Mark:
    """Carries out ``action`` after ``event`` on ``table``, when ``condition`` holds."""

    name: str
    table: str
    event: Literal["INSERT", "UPDATE", "DELETE"]
    condition: str
    action: str


def no_delete(model: type[models.Model], message: str, *, when: str = "TRUE") -> Guard:
    table = model._meta.db_table
    return Guard(f"{table}_no_delete", table, "DELETE", when, message)


def no_change(
    model: type[models.Model],
    message: str,
    *,
    but: Iterable[str] = (),
    when: str = "TRUE",
    name: str = "no_change",
) -> Guard:
    """Refuses an update that changes any column except those in ``but``, while ``when`` holds."""
    free = set(but)
    columns = [
        field.column
        for field in model._meta.concrete_fields
        if field.name not in free and field.column not in free
    ]
    changed = " OR ".join(f'NEW."{column}" IS DISTINCT FROM OLD."{column}"' for column in columns)
    table = model._meta.db_table
    return Guard(f"{table}_{name}", table, "UPDATE", f"({when}) AND ({changed})", message)


def no_truncate(guards: Iterable[Guard], vendor: str) -> list[Guard]:
    """For each table that refuses a deletion: it refuses to be emptied at one stroke, too.

    PostgreSQL's TRUNCATE asks no trigger of a row; SQLite has no such thing.
    """
    if vendor != "postgresql":
        return []
    messages = {guard.table: guard.message for guard in guards if guard.event == "DELETE"}
    return [
        Guard(f"{table}_no_truncate", table, "TRUNCATE", "TRUE", message)
        for table, message in messages.items()
    ]


def sql_for(guard: Guard | Mark, vendor: str) -> list[str]:
    """The statements that create one trigger, replacing an earlier one of its name."""
    if isinstance(guard, Mark):
        return _marking(guard, vendor)
    message = guard.message.replace("'", "''")
    if vendor == "postgresql":
        each = "STATEMENT" if guard.event == "TRUNCATE" else "ROW"
        return [
            f"""CREATE OR REPLACE FUNCTION {guard.name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF {guard.condition} THEN
                    RAISE EXCEPTION '%', '{message}' USING ERRCODE = 'integrity_constraint_violation';
                END IF;
                RETURN COALESCE(NEW, OLD);
            END $$""",
            f"CREATE OR REPLACE TRIGGER {guard.name} {guard.timing} {guard.event} ON {guard.table} "
            f"FOR EACH {each} EXECUTE FUNCTION {guard.name}()",
        ]
    return [
        f"DROP TRIGGER IF EXISTS {guard.name}",
        f"CREATE TRIGGER {guard.name} {guard.timing} {guard.event} ON {guard.table} FOR EACH ROW "
        f"WHEN {condition_for(guard.condition, vendor)} BEGIN SELECT RAISE(ABORT, '{message}'); END",
    ]


def _marking(mark: Mark, vendor: str) -> list[str]:
    if vendor == "postgresql":
        return [
            f"""CREATE OR REPLACE FUNCTION {mark.name}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                {mark.action};
                RETURN NULL;
            END $$""",
            f"CREATE OR REPLACE TRIGGER {mark.name} AFTER {mark.event} ON {mark.table} "
            f"FOR EACH ROW WHEN ({mark.condition}) EXECUTE FUNCTION {mark.name}()",
        ]
    return [
        f"DROP TRIGGER IF EXISTS {mark.name}",
        f"CREATE TRIGGER {mark.name} AFTER {mark.event} ON {mark.table} FOR EACH ROW "
        f"WHEN {condition_for(mark.condition, vendor)} BEGIN {mark.action}; END",
    ]


def condition_for(condition: str, vendor: str) -> str:
    """A condition as this database understands it."""
    if vendor == "postgresql":
        return condition
    # SQLite before 3.39 does not know IS DISTINCT FROM, and says the same with IS NOT.
    condition = condition.replace("IS NOT DISTINCT FROM", "IS")
    condition = condition.replace("IS DISTINCT FROM", "IS NOT")
    # Nor does it know ->> before 3.38.
    return re.sub(r"([\w.]+) ->> '(\w+)'", r"json_extract(\1, '$.\2')", condition)


def all_guards() -> list[Guard]:
    """The guards of every app, as its ``rules`` module lists them."""
    return [guard for name in GUARDED for guard in guards_of(apps.get_app_config(name))]


def guards_of(app: AppConfig) -> list[Guard]:
    from importlib import import_module

    rules: list[Guard] = import_module(f"{app.name}.rules").GUARDS
    return rules


def marks_of(app: AppConfig) -> list[Mark]:
    from importlib import import_module

    marks: list[Mark] = getattr(import_module(f"{app.name}.rules"), "MARKS", [])
    return marks


def all_marks() -> list[Mark]:
    """The marks of every app, as its ``rules`` module lists them."""
    return [mark for name in GUARDED for mark in marks_of(apps.get_app_config(name))]


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The names of triggers that should stand in the database, and do not, or not as they should.

    One that is switched off, or does something else, does not stand.
    """
    guards = all_guards()
    wanted: list[Guard | Mark] = [*guards, *no_truncate(guards, connection.vendor), *all_marks()]
    standing = _doing(connection)
    return sorted(
        {one.name for one in wanted if standing.get(one.name) != _does(one, connection.vendor)}
    )


def _does(one: Guard | Mark, vendor: str) -> str:
    """What a trigger does, as its database keeps it: on PostgreSQL, the text of its function."""
    first, second = sql_for(one, vendor)
    return first.split("$$")[1] if vendor == "postgresql" else second


def _doing(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """What each trigger in the database does, of those that are not switched off."""
    question = (
        "SELECT t.tgname, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
        " WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A')"
        if connection.vendor == "postgresql"
        else "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
    )
    with connection.cursor() as cursor:
        cursor.execute(question)
        return dict(cursor.fetchall())


def install(sender: AppConfig, using: str = DEFAULT_DB_ALIAS, **_: Any) -> None:
    """Put the guards of one app in place, where its tables exist."""
    connection = connections[using]
    tables = set(connection.introspection.table_names())
    present = [guard for guard in guards_of(sender) if guard.table in tables]
    marks = [mark for mark in marks_of(sender) if {mark.table, MARKED_IN} <= tables]
    with transaction.atomic(using=using), connection.cursor() as cursor:
        wanted: list[Guard | Mark] = [*present, *no_truncate(present, connection.vendor), *marks]
        for one in wanted:
            for statement in sql_for(one, connection.vendor):
                cursor.execute(statement)


def installed(connection: BaseDatabaseWrapper) -> set[str]:
    """The names of all triggers that stand in the database."""
    question = (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        if connection.vendor == "postgresql"
        else "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    )
    with connection.cursor() as cursor:
        cursor.execute(question)
        return {name for (name,) in cursor.fetchall()}


def lift(using: str = DEFAULT_DB_ALIAS, plan: object = True, **_: Any) -> None:
    """Take the guards away: before migrations, and to empty a test database. Nothing else may.

    SQLite cannot rename a table while a trigger of another one mentions it, and so could not
    rebuild it.
    """
    if not plan:
        return
    connection = connections[using]
    standing = installed(connection)
    guards = all_guards()
    with connection.cursor() as cursor:
        there: list[Guard | Mark] = [
            *guards,
            *no_truncate(guards, connection.vendor),
            *all_marks(),
        ]
        for one in there:
            if one.name in standing:
                on_table = f" ON {one.table}" if connection.vendor == "postgresql" else ""
                cursor.execute(f"DROP TRIGGER {one.name}{on_table}")


@contextmanager
def lifted(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    lift(using)
    try:
        yield
    finally:
        for name in GUARDED:
            install(apps.get_app_config(name), using)
