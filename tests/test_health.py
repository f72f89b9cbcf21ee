"""What a machine asks to know how the product is."""

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from compassion import views

pytestmark = pytest.mark.django_db


def test_the_site_says_that_it_is_up_and_that_it_is_ready(client):
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_without_a_database_it_is_up_and_not_ready(client, monkeypatch):
    def refuse(*_):
        raise OperationalError

    monkeypatch.setattr("compassion.views.MigrationRecorder", refuse)

    answer = client.get("/readyz")

    assert client.get("/healthz").status_code == 200
    assert (answer.status_code, answer.json()["faults"]) == (503, {"database": "does not answer"})


def test_without_its_guards_it_is_not_ready(client):
    with connection.cursor() as cursor:
        on_table = " ON runs_bank" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER runs_bank_no_change{on_table}")

    assert "guards are missing" in client.get("/readyz").json()["faults"]["database"]


def test_with_a_migration_that_was_not_made_it_is_not_ready(client, monkeypatch):
    monkeypatch.setattr(views, "_done", set())
    with connection.cursor() as cursor:
        newest = "SELECT MAX(id) FROM django_migrations WHERE app = 'rating'"
        cursor.execute(f"DELETE FROM django_migrations WHERE id = ({newest})")

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert "not migrated" in answer.json()["faults"]["database"]


def test_asking_whether_it_is_ready_costs_a_few_small_statements(client):
    client.get("/readyz")

    with CaptureQueriesContext(connection) as asked:
        client.get("/readyz")

    assert len(asked) <= 4


def test_being_up_asks_nothing_of_the_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        client.get("/healthz")
