"""A wave before it is locked, and what can be said of it afterwards."""

import hashlib
import re

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError
from django.utils import timezone

from rating.models import Event
from runs.models import Response, Run, Subject, Wave
from runs.plan_file import parse_data
from runs.refusals import WaveRefused
from runs.waves import (
    as_registered,
    deviate,
    kept_from_locking,
    lock_wave,
    save_draft,
    start_wave,
)
from tests.runs.factories import BankFactory, ResponseFactory, RunFactory
from tests.runs.test_declared import DECLARED
from tests.runs.test_run_command import DEMO_PLAN

pytestmark = pytest.mark.django_db

PILOT = DEMO_PLAN.replace('"local"', '"pilot"')
WHOLE = PILOT + DECLARED


@pytest.fixture(autouse=True)
def bank():
    return BankFactory(name="Model Index demo", version="demo-1", items=5, pairs=2)


@pytest.fixture
def plan(tmp_path):
    def write(text=DEMO_PLAN, *options, **instead):
        for written, other in instead.items():
            text = text.replace(written, other)
        file = tmp_path / "plan.toml"
        file.write_text(text)
        call_command("run", "plan", str(file), *options)
        return Wave.objects.get()

    return write


def draft(text=DEMO_PLAN):
    return save_draft(parse_data(text.encode()))


def test_a_file_is_stored_as_a_draft_without_a_row(plan, capsys):
    wave = plan()

    assert wave.is_draft
    assert not Run.objects.exists()
    assert not Subject.objects.exists()
    assert "Lock it, for good, with: run lock demo" in capsys.readouterr().out


def test_a_draft_is_renewed_by_its_file(plan):
    plan()
    wave = plan(**{"We ask.": "We ask twice.", "trials = 3": "trials = 4"})

    assert (wave.preregistration, wave.trials) == ("We ask twice.", 4)
    assert wave.preregistration_hash == hashlib.sha256(b"We ask twice.").hexdigest()


def test_a_draft_says_what_keeps_it_from_being_locked(plan, capsys):
    plan(PILOT)

    said = capsys.readouterr().out
    assert "It cannot be locked yet:" in said
    for thing in ("exclusion rule", "agreement floor", "comparisons"):
        assert thing in said


def test_a_draft_is_locked_in_a_second_step(plan, capsys):
    plan(WHOLE)

    call_command("run", "lock", "demo")

    wave = Wave.objects.get()
    assert wave.locked_at is not None
    assert Response.objects.of_wave(wave).count() == 9 * 3 * 2
    assert "9 items × 3 trials × 2 runs = 54 responses" in capsys.readouterr().out
    event = Event.objects.get()
    assert (event.kind, event.about["preregistration"]) == ("lock", wave.preregistration_hash)


def test_a_pilot_that_does_not_declare_its_rules_is_not_locked(plan):
    with pytest.raises(CommandError, match="exclusion rule"):
        plan(PILOT, "--lock")

    assert not Wave.objects.exists()


def test_a_locked_plan_is_neither_renewed_nor_locked_again(plan):
    plan(DEMO_PLAN, "--lock")

    with pytest.raises(CommandError, match="There is a wave demo already"):
        plan()
    with pytest.raises(CommandError, match="locked already"):
        call_command("run", "lock", "demo")


def test_a_draft_is_not_started():
    wave = draft()
    with pytest.raises(WaveRefused, match=r"not locked\. Lock it first: run lock demo"):
        start_wave(wave)


def test_what_keeps_a_draft_from_being_locked_is_all_said_at_once():
    text = PILOT.replace("kind-2026-01-01", "kind-latest").replace("We ask.", "")
    said = " ".join(kept_from_locking(draft(text)))

    for thing in ("alias that moves", "pre-registration", "exclusion rule"):
        assert thing in said


def test_a_draft_may_lack_what_only_locking_asks_for():
    data = parse_data(DEMO_PLAN.encode())
    del data["subjects"], data["preregistration"]

    wave = save_draft(data)

    faults = kept_from_locking(wave)
    assert any("preregistration: missing" in fault for fault in faults)
    assert any("at least one [[subjects]]" in fault for fault in faults)
    with pytest.raises(WaveRefused):
        lock_wave(wave)


def test_the_ceiling_of_a_plan_is_that_of_its_wave():
    assert str(draft(WHOLE).cost_ceiling) == "20.00"


# Deviations


def locked():
    return lock_wave(draft(WHOLE))


def test_deviations_are_numbered_and_dated_and_say_whether_data_had_come():
    wave = locked()

    deviate(wave, "  The server moved. ")
    row = Response.objects.first()
    Response.objects.filter(pk=row.pk).update(status="failed", completed_at=timezone.now())
    deviate(wave, "One item was asked late.")

    day = timezone.now().strftime("%Y-%m-%d")
    assert as_registered(wave) == (
        "We ask.\n\n## Deviations\n\n"
        f"D1 ({day}, before any data): The server moved.\n"
        f"D2 ({day}, after data had come): One item was asked late.\n"
    )


def test_the_hash_stays_that_of_the_text_as_written():
    wave = locked()
    deviate(wave, "The server moved.")

    wave.refresh_from_db()
    assert wave.preregistration_hash == hashlib.sha256(b"We ask.").hexdigest()
    assert as_registered(wave).startswith(wave.preregistration)


def test_each_deviation_is_in_the_log(capsys):
    locked()

    call_command("run", "deviate", "demo", "The server moved.")

    assert re.search(r"D1 is appended, \d{4}-\d\d-\d\d, before any data", capsys.readouterr().out)
    event = Event.objects.get(kind="deviate")
    assert event.about == {"wave": "demo", "deviation": "D1"}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_deviation_says_something(text):
    with pytest.raises(WaveRefused, match="Say in a sentence"):
        deviate(locked(), text)


def test_from_a_draft_nothing_deviates():
    with pytest.raises(WaveRefused, match="change the draft"):
        deviate(draft(), "We changed our minds.")


def test_a_text_without_deviations_is_as_it_was_written():
    assert as_registered(locked()) == "We ask."


def test_a_wave_planned_before_drafts_is_none():
    assert not RunFactory(rows=True).wave.is_draft
    assert not ResponseFactory().run.wave.is_draft


@pytest.mark.parametrize(("trials", "ranges_only"), [(2, False), (1, False), (2, True)])
def test_the_database_refuses_a_plan_of_too_few_trials(trials, ranges_only):
    wave = draft()
    with pytest.raises(IntegrityError, match="runs_wave_has_enough_trials"):
        Wave.objects.filter(pk=wave.pk).update(trials=trials, ranges_only=ranges_only)
