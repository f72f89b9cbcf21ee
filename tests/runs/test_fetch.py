"""The fetching task, run in this process against the stand-in service and the scripted subject."""

import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError, connections
from django.utils import timezone

from runs import tasks
from runs.models import Response, RunState, Status
from runs.replies import Reply
from runs.signals import responses_completed
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db


def asking(service=None, items=4, trials=2, **subject):
    """A run whose every row is pending, asked of a service or of the scripted subject."""
    if service:
        subject |= {"provider": "openai", "base_url": service.base_url}
    return RunFactory(
        subject=SubjectFactory(**subject),
        wave__trials=trials,
        wave__bank__items=items,
        rows=True,
    )


@pytest.fixture
def told():
    """The ids that were announced as completed."""
    heard = []

    def hear(sender, response_ids, **_):
        assert not Response.objects.filter(pk__in=response_ids).exclude(status="completed").exists()
        heard.extend(response_ids)

    responses_completed.connect(hear)
    yield heard
    responses_completed.disconnect(hear)


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts(monkeypatch):
    monkeypatch.setattr("runs.providers.FIRST_WAIT", 0.01)
    monkeypatch.setattr("runs.providers.LONGEST_RETRY_AFTER", 0.01)


def test_a_run_is_asked_to_its_end(told):
    run = asking()

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.ended_at is not None) == (RunState.DONE, True)
    rows = list(run.responses.all())
    assert {row.status for row in rows} == {Status.COMPLETED}
    assert all(row.text_hash and row.message_hash and row.completed_at for row in rows)
    assert all(row.held_by == "" and row.held_until is None for row in rows)
    assert Counter(told) == Counter(row.pk for row in rows)


def test_every_kind_of_trouble_ends_in_a_status(stub, told):
    service = stub(delay=0.01, jitter=0, r429=0.1, r500=0.1, rempty=0.2, rfilter=0.1)
    run = asking(service, items=40)

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    counts = run.responses.count_by_status()
    assert run.state == RunState.DONE
    assert counts["pending"] == 0
    assert counts["completed"] == len(set(told)) == len(told)
    assert counts["filtered"] > 0
    attempts = Counter(a["outcome"] for row in run.responses.all() for a in row.attempts)
    assert sum(attempts.values()) == service.stats()["requests"]
    assert {"completed", "rate_limit", "server", "empty", "filtered"} <= set(attempts)


def test_no_more_calls_are_in_flight_than_the_run_may_have(stub, settings):
    settings.ASK_IN_FLIGHT = 5
    service = stub(delay=0.05, jitter=0.02)

    tasks.fetch_chunk(run_id=asking(service, items=15).pk)

    assert service.stats()["peak_inflight"] == 5


def test_what_others_hold_counts_as_in_flight(settings):
    settings.ASK_IN_FLIGHT = 5
    run = asking()

    first, room = tasks.claim(run, "one", 0)
    second, no_room = tasks.claim(run, "two", 0)

    assert (len(first), room) == (8, 5)
    assert (second, no_room) == ([], 0)


def test_a_row_that_is_held_is_left_to_its_holder():
    run = asking()
    held = run.responses.first()
    Response.objects.filter(pk=held.pk).update(
        held_by="other", held_until=timezone.now() + timedelta(seconds=60)
    )

    tasks.fetch_chunk(run_id=run.pk)

    assert list(run.responses.pending()) == [held]
    run.refresh_from_db()
    assert run.state == RunState.ASKING


def test_a_row_whose_holder_died_is_asked_again():
    run = asking()
    run.responses.update(held_by="dead", held_until=timezone.now() - timedelta(seconds=1))

    tasks.fetch_chunk(run_id=run.pk)

    assert not run.responses.pending().exists()


def test_who_stalled_until_another_took_over_stores_nothing(told):
    run = asking()
    (row, *_), _ = tasks.claim(run, "slow", 0)
    run.responses.update(held_by="quick")

    lost = tasks.store(run, "slow", [(row, Reply("completed", text="Too late"))])

    row.refresh_from_db()
    assert lost == 1
    assert (row.status, row.text, row.held_by, told) == (Status.PENDING, "", "quick", [])


def test_a_reply_is_stored_once_though_it_comes_twice(told):
    run = asking()
    (row, *_), _ = tasks.claim(run, "me", 0)
    ended = [(row, Reply("completed", text="Hello"))]

    assert [tasks.store(run, "me", ended), tasks.store(run, "me", ended)] == [0, 1]
    assert told == [row.pk]


def test_a_malformed_reply_keeps_its_bytes():
    run = asking()
    (row, *_), _ = tasks.claim(run, "me", 0)

    tasks.store(run, "me", [(row, Reply("malformed", raw=b"\x00\xff"))])

    row.refresh_from_db()
    assert (row.status, bytes(row.raw), row.text, row.text_hash) == (
        "malformed",
        b"\x00\xff",
        "",
        "",
    )


def test_a_wrong_key_stops_the_run_and_the_rest_stays_pending(server):
    server.answers = [(401, {}, b'{"error": {"message": "No such key.", "code": "invalid"}}')]
    run = asking(server, items=30)

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.stop_reason) == (RunState.STOPPED, "401: No such key.")
    assert run.responses.pending().count() == 60
    assert not run.responses.exclude(held_by="").exists()
    assert run.responses.exclude(attempts=[]).exists()
    assert len(server.seen) <= settings.ASK_IN_FLIGHT


def test_a_fault_of_ours_stops_the_run_instead_of_asking_for_ever(monkeypatch):
    class Broken:
        async def ask_once(self, messages, seed):
            raise ZeroDivisionError

        async def close(self):
            pass

    monkeypatch.setattr(tasks, "provider_for", lambda subject: Broken())
    run = asking()

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert "ZeroDivisionError" in run.stop_reason


def test_a_subject_that_cannot_be_asked_stops_its_run(monkeypatch):
    monkeypatch.delenv(settings.OPENAI_API_KEY_ENV, raising=False)
    run = asking(provider="openai")

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert "OPENAI_API_KEY" in run.stop_reason


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.STOPPED, RunState.DONE])
def test_only_a_run_that_is_being_asked_is_asked(state):
    run = asking()
    type(run).objects.filter(pk=run.pk).update(state=state)

    tasks.fetch_chunk(run_id=run.pk)

    assert run.responses.pending().count() == 8


def test_a_wake_up_for_a_run_that_is_gone_is_nothing():
    tasks.fetch_chunk(run_id=0)


def test_when_its_time_is_up_a_task_leaves_the_rest_to_a_next(
    monkeypatch, settings, django_capture_on_commit_callbacks
):
    settings.ASK_IN_FLIGHT = 2
    monkeypatch.setattr(tasks, "WORK_SECONDS", 0.05)
    run = asking(items=30)

    with django_capture_on_commit_callbacks() as woken:
        tasks.fetch_chunk(run_id=run.pk)

    assert 0 < run.responses.pending().count() < 60
    assert not run.responses.exclude(held_by="").exists()
    assert len(woken) == 1


@pytest.fixture
def woken(monkeypatch):
    """The runs for which a message was sent, in place of the broker."""
    sent = []
    monkeypatch.setattr(tasks.fetch_chunk, "delay", lambda run_id: sent.append(run_id))
    return sent


def test_the_reaper_wakes_a_run_that_has_work_and_nobody(woken):
    run, _ = asking(), RunFactory(state=RunState.DONE, rows=True)

    assert tasks.wake_what_is_left() == woken == [run.pk]


def test_the_reaper_wakes_a_run_once_in_a_while(woken):
    run = asking()
    assert [tasks.wake_what_is_left(), tasks.wake_what_is_left()] == [[run.pk], []]

    type(run).objects.update(woken_at=timezone.now() - tasks.WAKE_AGAIN)

    assert tasks.wake_what_is_left() == [run.pk]


def test_the_reaper_leaves_a_run_whose_every_call_is_taken(woken, settings):
    settings.ASK_IN_FLIGHT = 3
    run = asking()
    tasks.claim(run, "busy", 3)

    assert tasks.wake_what_is_left() == []
    assert run.responses.unheld(timezone.now()).exists()


def test_the_reaper_looks_again_after_the_database_failed(monkeypatch):
    looks = threading.Semaphore(0)

    def look():
        looks.release()
        raise OperationalError("The database has gone away.")

    monkeypatch.setattr(tasks, "wake_what_is_left", look)
    monkeypatch.setattr(tasks, "REAP_SECONDS", 0.01)
    reaper = tasks.reaper()
    reaper.start()

    assert all(looks.acquire(timeout=5) for _ in range(3))

    reaper.stopping.set()
    reaper.join(5)
    assert not reaper.is_alive()


@pytest.mark.django_db(transaction=True)
def test_two_tasks_at_once_store_each_trial_once(stub, told, settings):
    settings.ASK_IN_FLIGHT = 8
    service = stub(delay=0.02, jitter=0.01)
    run = asking(service, items=50)

    def fetch():
        tasks.fetch_chunk(run_id=run.pk)
        connections.close_all()

    # The second finds no room at first, and comes again, as a worker would.
    threads = [threading.Thread(target=fetch) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert run.responses.filter(status=Status.COMPLETED).count() == 100
    assert Counter(told).most_common(1)[0][1] == 1
    assert service.stats()["requests"] == 100
    assert service.stats()["peak_inflight"] <= 8
