"""Pausing, resuming and cancelling runs, and what pauses them by itself."""

import asyncio
from collections import Counter
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from rating.models import Event
from runs import tasks
from runs.control import MOST_FAILURES, cancel, move_ceiling, over_ceiling, pause, spent
from runs.models import Response, Run, RunState, Status, Wave
from runs.probes import ProbesRefused, ask_probes, begin_probes
from runs.providers import RunStopped
from runs.refusals import WaveRefused
from runs.replies import Reply
from runs.signals import responses_completed
from runs.waves import import_responses, resume, start_wave
from tests.runs.factories import PRICES, RunFactory, SubjectFactory, WaveFactory, priced
from tests.runs.test_fetch import asking
from tests.runs.test_progress_page import attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def at_the_first_reply():
    """Does something in the moment in which the first reply of anybody is stored."""
    hearing = []

    def arrange(act):
        def hear(**_):
            if hearing:
                hearing.clear()
                act()

        hearing.append(hear)
        responses_completed.connect(hear, weak=False, dispatch_uid="test")

    yield arrange
    responses_completed.disconnect(dispatch_uid="test")


def again(run):
    """The run as it stands, asked by a worker once more."""
    tasks.fetch_chunk(run_id=run.pk)
    run.refresh_from_db()
    return run


def log():
    return [(event.kind, event.about["reason"]) for event in Event.objects.order_by("pk")]


def failed(row):
    return row, Reply("failed", detail="500", attempts=(attempt("server", "500"),))


def completed(row, text="Hello", **usage):
    return row, Reply("completed", text=text, usage=usage, attempts=(attempt("completed"),))


def claimed(run, holder="me"):
    return tasks.claim(run, holder, 0)[0]


# By hand


def test_a_worker_stops_asking_when_its_run_is_paused(settings, at_the_first_reply):
    settings.ASK_IN_FLIGHT = 2
    run = asking(items=30)
    at_the_first_reply(lambda: pause(run.wave, "Lunch."))

    again(run)

    assert (run.state, run.stop_reason) == (RunState.PAUSED, "Lunch.")
    assert 0 < run.responses.pending().count() < 60
    assert not run.responses.exclude(held_by="").exists()


def test_a_resumed_run_fills_its_empty_rows_and_asks_none_twice(settings, at_the_first_reply):
    settings.ASK_IN_FLIGHT = 2
    run = asking(items=10)
    at_the_first_reply(lambda: pause(run.wave, "Lunch."))
    again(run)
    stored = dict(run.responses.exclude(status="pending").values_list("pk", "completed_at"))

    assert resume(run.wave, "After lunch.") == [run]
    again(run)

    assert run.state == RunState.DONE
    assert run.responses.count_by_status()["completed"] == 20
    assert {len(row.attempts) for row in run.responses.all()} == {1}
    assert dict(run.responses.filter(pk__in=stored).values_list("pk", "completed_at")) == stored
    assert log() == [("pause", "Lunch."), ("resume", "After lunch.")]


def test_what_never_answers_does_not_keep_a_paused_run(monkeypatch, at_the_first_reply):
    class Hanging:
        calls = 0

        async def ask_once(self, messages, seed):
            self.calls += 1
            if self.calls > 1:
                await asyncio.sleep(3600)
            return Reply("completed", text="Hello")

        async def close(self):
            pass

    monkeypatch.setattr(tasks, "provider_for", lambda subject: Hanging())
    monkeypatch.setattr(tasks, "GRACE_SECONDS", 0.05)
    run = asking()
    at_the_first_reply(lambda: pause(run.wave, "It hangs."))

    again(run)

    assert run.responses.count_by_status() == Counter(
        completed=1, pending=7, failed=0, filtered=0, malformed=0
    )
    assert not run.responses.exclude(held_by="").exists()


def test_what_is_on_its_way_when_a_run_is_cancelled_is_stored_and_no_more(
    settings, at_the_first_reply
):
    settings.ASK_IN_FLIGHT = 2
    run = asking(items=30)
    at_the_first_reply(lambda: cancel(run.wave, "The wrong bank."))

    again(run)

    counts = run.responses.count_by_status()
    assert run.state == RunState.CANCELLED
    assert counts["completed"] + counts["pending"] == 60
    assert counts["pending"] > 50


def test_a_cancelled_run_is_over_for_good(capsys):
    run = asking()
    cancel(run.wave, "The wrong bank.")

    assert resume(run.wave, "Once more.") == start_wave(run.wave) == []
    with pytest.raises(WaveRefused, match="is cancelled, for good"):
        import_responses(
            RunFactory(state=RunState.CANCELLED, subject__provider="import"), path=None
        )

    call_command("run", "status", run.wave.code)
    assert "8 were not asked." in capsys.readouterr().out
    assert again(run).state == RunState.CANCELLED


def test_the_last_reply_of_a_cancelled_run_does_not_make_it_done():
    run = asking(items=1, trials=1)
    (row,) = claimed(run)
    cancel(run.wave, "Enough.")

    tasks.store(run, "me", [completed(row)])

    run.refresh_from_db()
    assert (run.state, run.responses.pending().count()) == (RunState.CANCELLED, 0)


@pytest.mark.parametrize(("act", "state"), [(pause, RunState.PAUSED), (cancel, RunState.CANCELLED)])
def test_doing_it_twice_does_it_once(act, state):
    run = asking()

    assert [act(run.wave, "Enough."), act(run.wave, "Again.")] == [[run], []]

    run.refresh_from_db()
    assert (run.state, run.stop_reason, len(log())) == (state, "Enough.", 1)


def test_one_run_is_paused_and_the_other_goes_on(capsys):
    run = asking()
    other = RunFactory(wave=run.wave, subject=run.subject, condition="warm", rows=True)

    call_command(
        "run", "pause", run.wave.code, "--subject", run.subject.code, "--condition", "warm",
        "--reason", "It is slow.",
    )  # fmt: skip

    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.state, other.state) == (RunState.ASKING, RunState.PAUSED)
    assert f"{other} is paused." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "state", "said"),
    [
        (["pause"], RunState.PAUSED, "is paused."),
        (["pause", "resume"], RunState.ASKING, "is being asked again."),
        (["pause", "cancel"], RunState.CANCELLED, "is cancelled."),
    ],
)
def test_a_whole_wave_is_paused_resumed_and_cancelled_by_command(words, state, said, capsys):
    run = asking()

    for word in words:
        call_command("run", word, run.wave.code, "--reason", "To see it.")

    run.refresh_from_db()
    assert run.state == state
    assert said in capsys.readouterr().out


def test_a_condition_alone_names_no_run():
    run = asking()
    with pytest.raises(CommandError, match="add --subject"):
        call_command("run", "pause", run.wave.code, "--condition", "default", "--reason", "x")


def test_nothing_is_resumed_once_ratings_are_frozen():
    run = asking()
    pause(run.wave, "Enough.")
    Wave.objects.filter(pk=run.wave.pk).update(
        locked_at=timezone.now(), ratings_frozen_at=timezone.now()
    )

    with pytest.raises(WaveRefused, match="frozen"):
        resume(run.wave, "More.")

    assert [kind for kind, _ in log()] == ["pause"]


# By failures in a row


def test_five_failures_in_a_row_pause_every_run_of_the_subject(capsys):
    run = asking(items=10)
    other = RunFactory(wave=run.wave, subject=run.subject, condition="warm", rows=True)
    unlike = RunFactory(wave=run.wave, rows=True)
    rows = claimed(run)

    tasks.store(run, "me", [failed(row) for row in rows[:4]])
    assert tasks.heed(run)
    tasks.store(run, "me", [failed(row) for row in rows[4:5]])
    assert not tasks.heed(run)

    for one in (run, other, unlike):
        one.refresh_from_db()
    assert (run.state, other.state, unlike.state) == ("paused", "paused", "asking")
    assert run.stop_reason.startswith("5 replies in a row failed.")
    call_command("run", "status", run.wave.code)
    assert "paused: 5 replies in a row failed" in capsys.readouterr().out


def test_any_reply_between_failures_begins_the_count_again():
    run = asking(items=10)
    rows = claimed(run)

    tasks.store(run, "me", [failed(row) for row in rows[:4]])
    tasks.store(run, "me", [completed(rows[4]), *(failed(row) for row in rows[5:9])])

    assert tasks.heed(run)
    assert run.responses.count_by_status()["failed"] == 8


def test_what_fails_in_an_outage_after_the_fifth_is_left_to_be_asked_again():
    run = asking(items=10)
    rows = claimed(run)

    tasks.store(run, "me", [failed(row) for row in rows[:12]])

    counts = run.responses.count_by_status()
    assert (counts["failed"], counts["pending"]) == (MOST_FAILURES, 15)
    # The attempts are on record all the same.
    assert run.responses.pending().exclude(attempts=[]).count() == 7
    tasks.heed(run)
    tasks.let_go(run, "me")
    resume(run.wave, "The server is back.")
    assert again(run).state == RunState.DONE
    assert run.responses.count_by_status()["completed"] == 15
    assert run.failures_in_a_row == 0


def test_a_subject_whose_server_is_gone_is_paused_by_its_worker(monkeypatch):
    monkeypatch.setattr("runs.providers.FIRST_WAIT", 0.0)
    subject = SubjectFactory(provider="openai", base_url="http://127.0.0.1:9/v1")
    run = RunFactory(subject=subject, wave__bank__items=20, rows=True)

    again(run)

    counts = run.responses.count_by_status()
    assert run.state == RunState.PAUSED
    assert (counts["failed"], counts["pending"]) == (5, 35)


def test_a_filtered_reply_is_an_answer_and_a_malformed_one_is_not():
    kept, failures = tasks.worth_keeping(
        [Reply("malformed"), Reply("failed"), Reply("filtered"), Reply("malformed")], 0, asked=True
    )
    assert (kept, failures) == ([True] * 4, 1)


def test_a_stopped_call_is_no_failure_of_its_trial():
    assert tasks.worth_keeping([RunStopped("401")], 3, asked=True) == ([False], 3)


# By what they cost


def test_a_wave_is_paused_when_its_ceiling_is_reached():
    run = priced("25", also=["warm"])
    other = Run.objects.get(condition="warm")
    rows = claimed(run)

    tasks.store(run, "me", [completed(row, completion_tokens=8) for row in rows[:3]])
    assert tasks.heed(run)
    tasks.store(run, "me", [completed(rows[3], completion_tokens=2)])
    assert not tasks.heed(run)

    run.refresh_from_db()
    other.refresh_from_db()
    said = "The ceiling of 25.00 EUR is reached: 26.00 EUR are spent."
    assert (run.state, run.stop_reason) == (other.state, other.stop_reason) == ("paused", said)


def test_a_wave_at_its_ceiling_goes_on_once_the_ceiling_is_moved(capsys):
    run = priced("5")
    tasks.store(run, "me", [completed(claimed(run)[0], completion_tokens=5)])
    tasks.heed(run)

    with pytest.raises(WaveRefused, match="Raise it first"):
        resume(run.wave, "More.")
    call_command("run", "ceiling", run.wave.code, "50", "--reason", "Agreed with all.")

    assert resume(run.wave, "More.") == [run]
    assert [kind for kind, _ in log()] == ["pause", "ceiling", "resume"]
    assert "may cost 50.00 EUR" in capsys.readouterr().out


@pytest.mark.parametrize("amount", ["much", "-1", "0"])
def test_a_ceiling_is_an_amount(amount):
    run = priced()
    with pytest.raises(CommandError, match="is no"):
        call_command("run", "ceiling", run.wave.code, amount, "--reason", "x")


def test_no_ceiling_is_kept_without_prices():
    with pytest.raises(WaveRefused, match="names no prices"):
        move_ceiling(WaveFactory(), Decimal(5), "x")


def test_retries_are_counted_in_what_is_spent():
    run = priced("100")
    rows = claimed(run)
    usage = {"prompt_tokens": 3, "completion_tokens": 7}
    told_once = Reply(
        "completed",
        text="Hello",
        usage=usage,
        attempts=({"outcome": "empty"}, {"outcome": "server"}, {"outcome": "completed"}),
    )
    told_each = Reply(
        "failed",
        attempts=({"outcome": "empty", "usage": usage}, {"outcome": "empty", "usage": usage}),
    )

    tasks.store(run, "me", [(rows[0], told_once), (rows[1], told_each)])

    run.refresh_from_db()
    assert (run.tokens_in, run.tokens_out) == (3 + 3 + 3 + 3, 7 + 7 + 7)
    assert spent(run.wave) == 21


def test_where_no_usage_is_reported_tokens_are_counted_by_the_rule():
    run = priced("100")
    (row, *_) = claimed(run)

    tasks.store(run, "me", [completed(row, text="four" * 5)])

    run.refresh_from_db()
    assert run.tokens_out == 5
    assert run.tokens_in == 4 + -(-len(row.item.prompt) // 4)


def test_a_call_that_brought_nothing_costs_nothing():
    run = priced()
    tasks.store(run, "me", [failed(claimed(run)[0])])
    assert spent(run.wave) == 0


def test_probes_count_towards_the_ceiling_and_end_at_it():
    run = priced("100", state="paused")
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
    begin_probes(run.wave)

    ask_probes(run_id=run.pk)  # each answer of the scripted subject is over 20 tokens

    run.refresh_from_db()
    assert 100 <= spent(run.wave) < 400
    assert run.probing.state == RunState.STOPPED
    assert run.probing.stop_reason.startswith("The ceiling of 100.00 EUR is reached")
    assert run.probes.filter(status=Status.PENDING).exists()
    with pytest.raises(ProbesRefused, match="Raise it first"):
        begin_probes(run.wave)


def test_without_a_ceiling_nothing_is_over_it():
    assert over_ceiling(WaveFactory(plan=PRICES, trials=3)) == ""


def test_a_worker_ends_a_wave_at_its_ceiling(settings):
    settings.ASK_IN_FLIGHT = 2
    run = priced("100", items=40)  # the scripted subject's replies are over 20 tokens each

    again(run)

    assert run.state == RunState.PAUSED
    assert 0 < run.responses.count_by_status()["completed"] <= 10
    assert Run.objects.get().stop_reason.startswith("The ceiling of 100.00 EUR is reached")
    assert not Response.objects.filter(status=Status.FAILED).exists()


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "0.001"])
def test_what_is_no_amount_of_money_is_no_ceiling(amount):
    run = priced()

    with pytest.raises(CommandError, match="is none"):
        call_command("run", "ceiling", run.wave.code, amount, "--reason", "x")


def test_the_ceiling_of_a_draft_is_changed_in_the_draft():
    wave = WaveFactory(plan=PRICES, trials=3, locked_at=None)

    with pytest.raises(WaveRefused, match="change the draft"):
        move_ceiling(wave, Decimal(5), "x")
