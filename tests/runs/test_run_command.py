import hashlib
import json
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from compassion.celery import app
from runs.models import Response, Run, RunState, Subject, Wave
from runs.tasks import fetch_chunk
from tests.runs.factories import BankFactory, RunFactory, SubjectFactory, WaveFactory, priced
from tests.runs.test_plan_file import PLAN

pytestmark = pytest.mark.django_db

DEMO_PLAN = PLAN.replace('"openai"', '"demo"').replace('base_url = "http://127.0.0.1:8080/v1"', "")


@pytest.fixture
def bank():
    return BankFactory(name="Model Index demo", version="demo-1", items=5, pairs=2, withheld=3)


@pytest.fixture
def plan(tmp_path):
    """Plans a file with some of its words replaced, and returns nothing: the database knows."""

    def write(text=DEMO_PLAN, **instead):
        for written, other in instead.items():
            text = text.replace(written, other)
        file = tmp_path / "plan.toml"
        file.write_text(text)
        call_command("run", "plan", str(file), "--lock")

    return write


def test_a_plan_is_stored_whole_and_locked(bank, plan, capsys):
    plan()

    wave = Wave.objects.get()
    assert wave.locked_at is not None
    assert wave.preregistration_hash == hashlib.sha256(b"We ask.").hexdigest()
    assert [run.condition for run in wave.runs.order_by("condition")] == ["default", "warm"]
    assert Response.objects.of_wave(wave).count() == 9 * 3 * 2
    assert not Response.objects.exclude(item__withheld="").exists()
    said = capsys.readouterr().out
    assert "9 items × 3 trials × 2 runs = 54 responses" in said
    assert wave.preregistration_hash in said


def test_each_run_has_an_order_and_seeds_of_its_own(bank, plan):
    plan()

    first, second = (list(run.responses.order_by("position")) for run in Run.objects.all())
    assert [row.item_id for row in first] != [row.item_id for row in second]
    assert [row.position for row in first] == list(range(27))
    assert len({row.seed for row in first + second}) == 54
    kin = [row.item.code.removesuffix("-A").removesuffix("-B") for row in first]
    assert all(one != other for one, other in pairwise(kin))


def test_a_subject_that_is_known_is_the_same_subject(bank, plan):
    plan()
    plan(**{'code = "demo"': 'code = "again"'})

    assert Subject.objects.count() == 1


def test_a_known_subject_with_another_identity_is_refused_whole(bank, plan):
    plan()

    with pytest.raises(CommandError, match=r"sampling .*0\.7.* and not .*0\.9"):
        plan(**{'code = "demo"': 'code = "again"', "temperature = 0.7": "temperature = 0.9"})

    assert Wave.objects.count() == 1


def test_an_alias_that_moves_is_refused(bank, plan):
    with pytest.raises(CommandError, match="alias that moves"):
        plan(**{"kind-2026-01-01": "kind-latest"})


def test_a_plan_that_exists_is_not_planned_again(bank, plan):
    plan()
    with pytest.raises(CommandError, match="There is a wave demo already"):
        plan()


def test_an_unknown_bank_is_named_with_those_there_are(bank, plan):
    with pytest.raises(
        CommandError, match="no bank Other 2; the banks are: Model Index demo demo-1"
    ):
        plan(**{"Model Index demo demo-1": "Other 2"})


def test_a_plan_that_cannot_keep_trials_apart_stores_nothing(plan):
    BankFactory(name="Model Index demo", version="demo-1", items=1)

    with pytest.raises(CommandError, match="next to each other"):
        plan()

    assert not Wave.objects.exists()
    assert not Subject.objects.exists()


def test_faults_of_the_file_are_all_said(bank, plan):
    with pytest.raises(CommandError) as refused:
        plan(**{"trials = 3": "trials = 0", '"local"': '"big"'})
    assert "trials: 0" in str(refused.value)
    assert "kind: 'big'" in str(refused.value)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(CommandError, match=r"none\.toml cannot be read: No such file"):
        call_command("run", "plan", "none.toml")


@pytest.fixture
def _worker_in_this_process():
    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = False


@pytest.mark.usefixtures("_worker_in_this_process")
def test_a_wave_is_planned_started_and_asked_to_its_end(
    bank, plan, capsys, django_capture_on_commit_callbacks
):
    plan()
    with django_capture_on_commit_callbacks(execute=True):
        call_command("run", "start", "demo")
    capsys.readouterr()

    call_command("run", "status", "demo", "--json")

    told = json.loads(capsys.readouterr().out)
    assert (told["state"], told["ended"], told["total"]) == ("done", 54, 54)
    assert told["counts"]["completed"] == 54
    assert [run["condition"] for run in told["runs"]] == ["default", "warm"]


def test_a_stopped_run_can_be_started_again_and_says_why_it_stopped(capsys):
    run = RunFactory(rows=True, state=RunState.STOPPED, stop_reason="401: no such key")

    call_command("run", "status", run.wave.code)
    assert "stopped: 401: no such key" in capsys.readouterr().out

    call_command("run", "start", run.wave.code)
    run.refresh_from_db()
    assert (run.state, run.stop_reason) == (RunState.ASKING, "")


def test_a_wave_is_not_started_without_the_key_it_needs(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = RunFactory(
        rows=True, state=RunState.PLANNED, subject=SubjectFactory(provider="openai", base_url="")
    )

    with pytest.raises(CommandError, match="set OPENAI_API_KEY"):
        call_command("run", "start", run.wave.code)

    run.refresh_from_db()
    assert run.state == RunState.PLANNED


def test_starting_twice_starts_once(capsys):
    run = RunFactory(rows=True, state=RunState.PLANNED)
    call_command("run", "start", run.wave.code)

    call_command("run", "start", run.wave.code)

    assert "Nothing waits to be asked" in capsys.readouterr().out


def test_a_run_with_nothing_pending_is_done_when_started():
    run = RunFactory(state=RunState.STOPPED)

    call_command("run", "start", run.wave.code)

    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_an_unknown_wave_is_named_with_those_there_are():
    WaveFactory(code="b-wave")
    WaveFactory(code="a-wave")
    with pytest.raises(CommandError, match="There is no wave x; the waves are: a-wave, b-wave"):
        call_command("run", "status", "x")


def test_a_status_that_is_followed_is_said_again_until_the_wave_has_ended(capsys, monkeypatch):
    run = RunFactory(rows=True)
    waited = []

    def a_worker_goes_on(seconds):
        waited.append(seconds)
        if len(waited) == 2:
            fetch_chunk(run_id=run.pk)

    monkeypatch.setattr("runs.management.commands.run.time.sleep", a_worker_goes_on)

    call_command("run", "status", run.wave.code, "--follow")

    said = capsys.readouterr().out
    # What has not changed is not said again.
    assert said.count("asking, 0 of 8 responses.") == 1
    assert said.count("done, 8 of 8 responses.") == 1
    assert len(waited) == 2


def test_what_a_wave_has_cost_is_in_its_status(capsys):
    run = priced("50")
    Run.objects.filter(pk=run.pk).update(tokens_out=12)

    call_command("run", "status", run.wave.code)
    assert "Spent: 12.00 of 50.00 EUR." in capsys.readouterr().out

    call_command("run", "status", run.wave.code, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["cost"], told["ceiling"], told["currency"]) == (12, 50, "EUR")
    assert told["runs"][0]["cost"] == 12
