"""What a migration makes of rows that were there before it."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from runs.guards import lift
from runs.models import Subject


@pytest.fixture
def _back_at_the_last_migration(transactional_db):
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.proof
@pytest.mark.usefixtures("_back_at_the_last_migration")
def test_what_earlier_subjects_left_open_is_said_to_be_so():
    call_command("migrate", "runs", "0004", verbosity=0)
    lift()  # the guards of today, over the tables of then
    columns = ("developer", "family", "snapshot", "digest", "code", "provider", "base_url",
               "sampling", "access_tier", "quantisation", "registered_at")  # fmt: skip
    with connection.cursor() as cursor:
        for snapshot, tier in (("old-2026-01-01", ""), ("old", "paid")):
            cursor.execute(
                f"INSERT INTO runs_subject ({', '.join(columns)})"
                f" VALUES ({', '.join(['%s'] * len(columns))})",
                [
                    "Lab",
                    "Old",
                    snapshot,
                    "",
                    snapshot,
                    "openai",
                    "",
                    "{}",
                    tier,
                    "",
                    timezone.now(),
                ],
            )

    call_command("migrate", "runs", verbosity=0)

    told = Subject.objects.order_by("pk").values_list("pinned_by", "access_tier", "quantisation")
    assert list(told) == [
        ("date", "none stated", "none stated"),
        ("earlier", "paid", "none stated"),
    ]
