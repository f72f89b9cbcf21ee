"""Limits of a subject, shared by all workers through the database."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from runs import pacing, probes, tasks
from runs.models import RunState, Status, SubjectLimit
from runs.pacing import AHEAD, moments
from runs.probes import begin_probes
from runs.subjects import set_limits
from tests.runs.factories import RunFactory, SubjectFactory

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_without_a_limit_all_may_begin_at_once():
    assert moments([1, 1], None, NOON, NOON) == ([NOON, NOON], NOON)


def test_calls_are_spread_and_none_waits_for_long():
    begin, free = moments([1] * 10, 60, NOON, NOON)

    assert begin == [NOON, NOON + SECOND, NOON + 2 * SECOND]
    assert free == NOON + 3 * SECOND


def test_what_was_taken_before_counts_and_a_quiet_time_is_not_saved_up():
    begin, _ = moments([1] * 10, 60, NOON + SECOND, NOON)
    late, _ = moments([1] * 10, 60, NOON - timedelta(hours=1), NOON)

    assert begin == [NOON + SECOND, NOON + 2 * SECOND]
    assert late[0] == NOON
    assert moments([1], 60, NOON + timedelta(minutes=1), NOON) == ([], NOON + timedelta(minutes=1))


@given(
    st.integers(1, 6000),
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 50)), min_size=1, max_size=30),
)
def test_no_minute_ever_holds_more_than_the_limit(a_minute, claims):
    now, free, begun = NOON, NOON, []
    for pause, wanted in claims:
        now += timedelta(seconds=pause)
        begin, free = moments([1] * wanted, a_minute, free, now)
        begun += begin

    apart = timedelta(minutes=1) / a_minute
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert all(gap >= apart - timedelta(microseconds=len(begun)) for gap in gaps)
    assert all(at <= now + AHEAD for at in begun)


def asking(subject, **more):
    return RunFactory(subject=subject, wave__bank__items=40, rows=True, **more)


@pytest.mark.django_db
def test_two_runs_of_a_subject_share_its_places(settings):
    settings.ASK_IN_FLIGHT = 10
    subject = SubjectFactory()
    one, other = asking(subject), asking(subject)

    first, room = tasks.claim(one, "one", 0)
    rows, left = tasks.claim(other, "other", 0)

    assert (len(first), room) == (20, 10)
    assert (rows, left) == ([], 0)
    assert tasks.claim(asking(SubjectFactory()), "else", 0)[1] == 10


@pytest.mark.django_db
def test_a_subject_may_state_fewer_places(settings):
    subject = SubjectFactory()
    set_limits(subject, {"in_flight": 3})

    _, room = tasks.claim(asking(subject), "one", 0)

    assert room == 3


@pytest.mark.django_db
def test_two_workers_together_keep_the_requests_a_minute():
    subject = SubjectFactory()
    set_limits(subject, {"requests_a_minute": 60})
    one, other = asking(subject), asking(subject)

    first, _ = tasks.claim(one, "one", 0)
    second, _ = tasks.claim(other, "other", 0)

    assert len(first) == 3
    assert second == []
    starts = [row.begins_at for row in first]
    assert starts == [starts[0] + place * SECOND for place in range(3)]
    assert tasks.is_held_back(one)
    assert SubjectLimit.objects.get().requests_free_at > timezone.now() + 2 * SECOND


@pytest.mark.django_db
def test_tokens_are_taken_by_a_guess_and_put_right_by_what_was_used():
    subject = SubjectFactory(sampling={"max_tokens": 500})
    set_limits(subject, {"tokens_a_minute": 600})
    run = asking(subject)

    rows, _ = tasks.claim(run, "one", 0)
    limit = SubjectLimit.objects.get()
    guessed = limit.tokens_free_at
    pacing.settle(pacing.limit_of(run), extra_requests=0, extra_tokens=-300, now=timezone.now())

    assert len(rows) == 1
    limit.refresh_from_db()
    assert limit.tokens_free_at == guessed - timedelta(seconds=30)


@pytest.mark.django_db
def test_attempts_beyond_the_first_are_requests_too():
    subject = SubjectFactory()
    set_limits(subject, {"requests_a_minute": 60})
    run = asking(subject)
    now = timezone.now() + timedelta(minutes=5)

    pacing.settle(pacing.limit_of(run), extra_requests=3, extra_tokens=0, now=now)

    assert SubjectLimit.objects.get().requests_free_at == now + 3 * SECOND


@pytest.mark.django_db
def test_a_run_that_is_held_back_is_asked_to_its_end(monkeypatch):
    monkeypatch.setattr(pacing, "AHEAD", timedelta(seconds=0.05))
    subject = SubjectFactory()
    set_limits(subject, {"requests_a_minute": 1200})
    run = RunFactory(subject=subject, wave__bank__items=8, wave__trials=1, rows=True)

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == RunState.DONE
    at = sorted(datetime.fromisoformat(row.attempts[0]["at"]) for row in run.responses.all())
    # Eight calls, 50 ms apart; a sleep may end a little early.
    assert at[-1] - at[0] >= 7 * timedelta(seconds=0.045)


# Probes


@pytest.fixture
def probing():
    """A run whose probes have been put."""

    def put(**limits):
        subject = SubjectFactory()
        set_limits(subject, limits)
        run = asking(subject)
        begin_probes(run.wave)
        return run

    return put


@pytest.mark.django_db
def test_probes_are_requests_of_their_subject(probing):
    run = probing(requests_a_minute=60)

    rows = probes._claim(run, "probes", 4)
    replies, _ = tasks.claim(run, "replies", 0)

    starts = [row.begins_at for row in rows]
    assert starts == [starts[0] + place * SECOND for place in range(3)]
    assert replies == []


@pytest.mark.django_db
def test_replies_make_room_for_probes(probing):
    run = probing(in_flight=5)

    probes._claim(run, "probes", probes._room_of(run))

    assert tasks.claim(run, "replies", 0)[1] == 1


@pytest.mark.django_db
def test_no_more_probes_are_on_their_way_than_a_subject_may_have(probing):
    assert probes._room_of(probing(in_flight=1)) == 1
    assert probes._room_of(probing(in_flight=9)) == probes.IN_FLIGHT


@pytest.mark.django_db
def test_probes_that_are_held_back_are_asked_to_their_end(monkeypatch, probing):
    monkeypatch.setattr(pacing, "AHEAD", timedelta(seconds=0.05))
    run = probing(requests_a_minute=1200)

    probes.ask_probes(run_id=run.pk)

    rows = list(run.probes.all())
    assert {row.status for row in rows} == {Status.COMPLETED}
    at = sorted(datetime.fromisoformat(row.attempts[0]["at"]) for row in rows)
    assert at[-1] - at[0] >= (len(rows) - 1) * timedelta(seconds=0.045)


@pytest.mark.parametrize(
    ("attempts", "beyond"),
    [
        ([{"usage": {"total_tokens": 30}}, {}, {"usage": {"total_tokens": 50}}], 80 - 60),
        ([{"usage": {"prompt_tokens": 30}}], 0),
        ([{}], 0),
    ],
)
def test_a_guess_is_put_right_by_what_all_attempts_used(attempts, beyond):
    assert pacing.tokens_beyond(attempts, 60) == beyond
