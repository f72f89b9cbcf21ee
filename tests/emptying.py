"""Emptying the test database after a test that committed: what has rows, and that alone.

Django's own way empties every table and makes types, permissions and guards anew, which took longer
than most tests. Rows of the append-only tables refuse to go while their guards stand.
"""

from django.db import connection, transaction

from rating.people import create_roles
from runs.guards import lifted

# Made by `migrate`, the same for every test.
KEPT = {"auth_permission", "django_content_type", "django_migrations"}


def empty() -> None:
    """Delete every row that a test left, and make the roles that `migrate` makes."""
    with transaction.atomic():
        _delete_all()
        create_roles()


def _delete_all() -> None:
    tables = sorted(
        set(connection.introspection.django_table_names(only_existing=True, include_views=False))
        - KEPT
    )
    with connection.cursor() as cursor:
        asked = " UNION ALL ".join(
            f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in tables
        )
        cursor.execute(asked)
        full = [table for (table,) in cursor.fetchall()]
        if connection.vendor == "postgresql":
            cursor.execute("SELECT current_setting('is_superuser')")
            if cursor.fetchone() != ("on",):
                with lifted():
                    cursor.execute(f"TRUNCATE {', '.join(full)} CASCADE" if full else "SELECT 1")
                return
            # No trigger of this transaction fires, neither a guard nor a foreign key.
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table in full:
                cursor.execute(f"DELETE FROM {table}")
            cursor.execute("SET LOCAL session_replication_role = origin")
            return
        cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
        guards = [(name, sql) for name, table, sql in cursor.fetchall() if table in full]
        for name, _ in guards:
            cursor.execute(f"DROP TRIGGER {name}")
        for table in full:
            cursor.execute(f"DELETE FROM {table}")
        for _, sql in guards:
            cursor.execute(sql)
