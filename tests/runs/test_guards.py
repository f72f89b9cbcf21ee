"""Each guard is met by somebody who tries to get past it, on the database at hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.core.management import call_command
from django.core.management.sql import emit_pre_migrate_signal
from django.db import DatabaseError, connection, models, transaction
from django.db.migrations import Migration
from django.utils import timezone

from runs.guards import all_guards, installed, lifted, no_truncate
from runs.models import (
    Anchor,
    Bank,
    Deviation,
    Item,
    Pair,
    Probe,
    Response,
    Run,
    RunState,
    Status,
    Subject,
    Wave,
)
from runs.rules import GUARDS
from tests.runs.factories import (
    AnchorFactory,
    BankFactory,
    ItemFactory,
    ResponseFactory,
    RunFactory,
    SubjectFactory,
    WaveFactory,
)


@dataclass
class World:
    """A frozen bank, and a locked wave with one stored and one pending response."""

    bank: Bank
    item: Item
    wave: Wave
    run: Run
    stored: Response
    pending: Response


@pytest.fixture
def world(db):
    bank = BankFactory(items=3, pairs=1)
    run = RunFactory(wave=WaveFactory(bank=bank))
    items = list(bank.items.all())
    stored = ResponseFactory(run=run, item=items[0])
    pending = ResponseFactory(run=run, item=items[1], status=Status.PENDING, text="")
    Wave.objects.filter(pk=run.wave.pk).update(locked_at=timezone.now())
    return World(bank, items[2], run.wave, run, stored, pending)


def of(rows: models.QuerySet, **changes: object) -> None:
    assert rows.update(**changes) == 1


def deviation(w: World, **changes: object) -> Deviation:
    fields = {"wave": w.wave, "number": 1, "text": "Asked later.", "after_data": True}
    return Deviation.objects.create(**fields | changes)


ATTEMPTS: dict[str, Callable[[World], object]] = {
    "runs_bank_no_change": lambda w: of(Bank.objects.filter(pk=w.bank.pk), meta={"a": 1}),
    "runs_bank_no_delete": lambda w: Bank.objects.filter(pk=w.bank.pk)._raw_delete("default"),
    "runs_item_frozen_insert": lambda w: ItemFactory(bank=w.bank, code="NEW"),
    "runs_item_frozen_update": lambda w: of(Item.objects.filter(pk=w.item.pk), prompt="Other"),
    "runs_item_frozen_delete": lambda w: Item.objects.filter(pk=w.item.pk)._raw_delete("default"),
    "runs_anchor_frozen_insert": lambda w: AnchorFactory(item=w.item, level=9),
    "runs_anchor_frozen_update": lambda w: of(w.item.anchors.filter(level=1), description="Other"),
    "runs_anchor_frozen_delete": lambda w: w.item.anchors.filter(level=1)._raw_delete("default"),
    "runs_pair_frozen_insert": lambda w: Pair.objects.create(
        bank=w.bank, code="NEW", chamber="1", arm_a=w.item, arm_b=w.stored.item
    ),
    "runs_pair_frozen_update": lambda w: of(w.bank.pairs.all(), chamber="2"),
    "runs_pair_frozen_delete": lambda w: w.bank.pairs.all()._raw_delete("default"),
    "runs_subject_no_change": lambda w: of(
        Subject.objects.filter(pk=w.run.subject_id), sampling={"temperature": 2}
    ),
    "runs_subject_no_delete": lambda w: Subject.objects.filter(pk=SubjectFactory().pk)._raw_delete(
        "default"
    ),
    "runs_wave_no_change": lambda w: of(Wave.objects.filter(pk=w.wave.pk), trials=9),
    "runs_wave_no_delete": lambda w: Wave.objects.filter(pk=w.wave.pk)._raw_delete("default"),
    "runs_wave_frozen_once": lambda w: (
        of(Wave.objects.filter(pk=w.wave.pk), ratings_frozen_at=timezone.now()),
        of(Wave.objects.filter(pk=w.wave.pk), ratings_frozen_at=timezone.now()),
    ),
    "runs_wave_unblinded_once": lambda w: (
        of(
            Wave.objects.filter(pk=w.wave.pk),
            ratings_frozen_at=timezone.now(),
            unblinded_at=timezone.now(),
        ),
        of(Wave.objects.filter(pk=w.wave.pk), unblinded_at=None),
    ),
    "runs_wave_published_once": lambda w: (
        of(
            Wave.objects.filter(pk=w.wave.pk),
            ratings_frozen_at=timezone.now(),
            unblinded_at=timezone.now(),
            published_at=timezone.now(),
        ),
        of(Wave.objects.filter(pk=w.wave.pk), published_at=timezone.now()),
    ),
    "runs_run_no_change": lambda w: of(Run.objects.filter(pk=w.run.pk), system_message="Other"),
    "runs_run_no_delete": lambda w: Run.objects.filter(pk=w.run.pk)._raw_delete("default"),
    "runs_run_no_late_insert": lambda w: RunFactory(wave=w.wave),
    "runs_run_cancelled_for_good": lambda w: (
        of(Run.objects.filter(pk=w.run.pk), state=RunState.CANCELLED),
        of(Run.objects.filter(pk=w.run.pk), state=RunState.ASKING),
    ),
    "runs_deviation_no_change": lambda w: (
        deviation(w),
        of(Deviation.objects.filter(wave=w.wave), text="Other"),
    ),
    "runs_deviation_no_delete": lambda w: (
        deviation(w),
        Deviation.objects.filter(wave=w.wave)._raw_delete("default"),
    ),
    "runs_deviation_in_order": lambda w: deviation(w, number=2),
    "runs_deviation_of_a_locked_plan": lambda w: deviation(w, wave=WaveFactory(bank=w.bank)),
    "runs_response_no_late_insert": lambda w: ResponseFactory(run=w.run, item=w.item),
    "runs_response_no_change": lambda w: of(Response.objects.filter(pk=w.pending.pk), seed=99),
    "runs_response_stored": lambda w: of(Response.objects.filter(pk=w.stored.pk), text="Other"),
    "runs_response_no_delete": lambda w: Response.objects.filter(pk=w.pending.pk)._raw_delete(
        "default"
    ),
    "runs_probe_no_change": lambda w: of(Probe.objects.filter(pk=_probe(w)), question="Other"),
    "runs_probe_stored": lambda w: of(
        Probe.objects.filter(pk=_probe(w, status="failed")), score=0.0
    ),
    "runs_probe_no_delete": lambda w: Probe.objects.filter(pk=_probe(w))._raw_delete("default"),
}


def _probe(world: World, **changes: object) -> int:
    probe = Probe(run=world.run, item=world.item, kind="recall", number=1, seed=1, **changes)
    probe.save()
    return probe.pk


def test_every_guard_is_met():
    assert ATTEMPTS.keys() == {guard.name for guard in GUARDS}


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_guard_refuses_and_says_why(world, guard):
    with pytest.raises(DatabaseError, match=guard.message), transaction.atomic():
        ATTEMPTS[guard.name](world)


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_without_its_guard_the_same_attempt_goes_through(world, guard):
    with lifted(), transaction.atomic():
        ATTEMPTS[guard.name](world)
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    "column",
    [
        "status",
        "text",
        "text_hash",
        "raw",
        "finish_reason",
        "fingerprint",
        "usage",
        "attempts",
        "message_hash",
        "completed_at",
        "trial",
        "position",
        "seed",
        "code",
    ],
)
def test_nothing_of_a_stored_response_can_change(world, column):
    other = {
        "status": Status.FAILED,
        "raw": b"x",
        "usage": {"a": 1},
        "attempts": [1],
        "completed_at": timezone.now(),
        "trial": 7,
        "position": 7000,
        "seed": 7,
        "code": "00000000-0000-0000-0000-000000000000",
    }
    with pytest.raises(DatabaseError, match=r"never changed|locked"), transaction.atomic():
        of(Response.objects.filter(pk=world.stored.pk), **{column: other.get(column, "Other")})


def test_a_pending_response_of_a_locked_wave_can_be_stored(world):
    of(Response.objects.filter(pk=world.pending.pk), status=Status.FAILED, held_by="x")


def test_a_run_of_a_locked_wave_can_be_asked(world):
    of(Run.objects.filter(pk=world.run.pk), state="stopped", stop_reason="x", woken_at=None)


def test_a_bank_that_is_not_frozen_can_still_be_filled(db):
    bank = BankFactory(freeze=False)
    item = ItemFactory(bank=bank, code="NEW")
    assert Anchor.objects.filter(item=item).count() == 5


@pytest.mark.django_db
def test_all_guards_stand_after_the_migrations():
    assert {guard.name for guard in all_guards()} <= installed(connection)


@contextmanager
def rebuilt(model: type[models.Model], name: str) -> Iterator[None]:
    """A column made wider and back again, as two migrations would."""
    old = model._meta.get_field(name)
    new = models.CharField(max_length=old.max_length + 50, blank=True)
    new.set_attributes_from_name(name)
    new.model = model
    plan = [(Migration("0002_wider", "runs"), False)]
    for before, after in ((old, new), (new, old)):
        emit_pre_migrate_signal(verbosity=0, interactive=False, db="default", plan=plan)
        with connection.schema_editor() as editor:
            editor.alter_field(model, before, after, strict=True)
        if after is new:
            yield
        call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_guards_are_back_after_a_table_was_rebuilt():
    """SQLite rebuilds a table to alter a column, and drops its triggers without a word."""
    with rebuilt(Subject, "access_tier"):
        if connection.vendor == "sqlite":
            assert "runs_subject_no_change" not in installed(connection)

        call_command("migrate", verbosity=0)

        assert {guard.name for guard in all_guards()} <= installed(connection)


@pytest.mark.django_db(transaction=True)
def test_a_table_that_other_guards_mention_can_be_rebuilt():
    with rebuilt(Response, "fingerprint"):
        pass
    assert {guard.name for guard in all_guards()} <= installed(connection)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "table", sorted({guard.table for guard in all_guards() if guard.event == "DELETE"})
)
def test_no_table_that_keeps_its_rows_is_emptied_at_one_stroke(table):
    knows_it = connection.vendor == "postgresql"  # SQLite has no such statement
    refused = r"never|stays|locked|frozen" if knows_it else "syntax error"
    with connection.cursor() as cursor:
        for statement in (f"TRUNCATE {table} CASCADE", "TRUNCATE rating_user, runs_bank CASCADE"):
            with pytest.raises(DatabaseError, match=refused):
                cursor.execute(statement)
        if knows_it:
            with lifted():
                cursor.execute(f"TRUNCATE {table} CASCADE")


def test_against_truncate_there_is_a_guard_wherever_deletion_is_refused():
    guards = all_guards()

    assert {guard.table for guard in no_truncate(guards, "postgresql")} == {
        guard.table for guard in guards if guard.event == "DELETE"
    }
    assert no_truncate(guards, "sqlite") == []
