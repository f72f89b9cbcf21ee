import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertTemplateUsed

from runs.models import RunState, Status
from runs.progress import progress_of
from tests.factories import make_user
from tests.runs.factories import ResponseFactory, RunFactory, SubjectFactory, WaveFactory

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def maintainer(client):
    user = make_user("maintainer")
    client.force_login(user)
    return user


def page_of(run):
    return reverse("runs:wave", args=[run.wave.code])


def attempt(outcome, detail="", minute=0):
    at = timezone.now().replace(minute=minute).isoformat()
    return {"outcome": outcome, "detail": detail, "at": at, "seed": 1}


@pytest.mark.parametrize("role", ["rater", "item reviewer", "adjudicator", "admin", None])
def test_for_anyone_but_a_maintainer_there_is_no_such_page(client, role):
    run = RunFactory(rows=True, state=RunState.PLANNED)
    client.force_login(make_user(*[role] if role else []))

    assert client.get(page_of(run)).status_code == 404
    assert client.get(reverse("runs:waves")).status_code == 404
    assert client.post(reverse("runs:start", args=[run.wave.code])).status_code == 404
    run.refresh_from_db()
    assert run.state == RunState.PLANNED


def test_nobody_sees_a_wave_without_signing_in(client):
    answer = client.get(page_of(RunFactory()))
    assert answer.status_code == 302
    assert answer.url.startswith(reverse("account_login"))


def test_waves_stand_from_a_to_z(client, maintainer):
    for code in ("b-wave", "a-wave", "c-wave"):
        WaveFactory(code=code)
    ResponseFactory(run__wave__code="d-wave")

    page = client.get(reverse("runs:waves"))

    assert re.findall(r">([a-d]-wave)<", page.content.decode()) == [
        "a-wave",
        "b-wave",
        "c-wave",
        "d-wave",
    ]
    assertContains(page, "1 of 1")


def test_with_no_wave_the_page_says_how_one_begins(client, maintainer):
    page = client.get(reverse("runs:waves"))
    assertContains(page, "There is no wave yet.")
    assertContains(page, "run plan")


def test_the_plan_is_shown_with_what_can_be_checked(client, maintainer):
    run = RunFactory(rows=True, wave__trials=3)
    RunFactory(wave=run.wave, rows=True, condition="warm")

    page = client.get(page_of(run))

    assertContains(page, "4 items × 3 trials × 2 runs = 24 responses")
    for fact in (run.wave.bank.content_hash, run.wave.seed, run.wave.preregistration_hash):
        assertContains(page, fact)


def test_each_run_shows_how_its_trials_ended(client, maintainer):
    run = RunFactory(wave__trials=1, wave__bank__items=5)
    for item, status in zip(run.wave.bank.items.all(), Status, strict=True):
        text = "Hello" if status == Status.COMPLETED else ""
        ResponseFactory(run=run, item=item, status=status, text=text)

    page = client.get(page_of(run))

    assertContains(page, "4 of 5")
    assertContains(page, "1 completed, 1 failed, 1 filtered, 1 malformed, 1 pending")
    for status in Status:
        assertContains(page, f'class="share-{status.value}"')
    assertNotContains(page, "style=")


def test_the_numbers_change_in_place_while_a_run_is_asked(client, maintainer):
    run = RunFactory(rows=True)
    page = client.get(page_of(run))
    assertTemplateUsed(page, "runs/wave.html")
    assertContains(page, 'hx-trigger="every 5s"')

    part = client.get(page_of(run), **HTMX)

    assertTemplateUsed(part, "runs/_progress.html")
    assertNotContains(part, "<html")
    assertContains(part, 'hx-trigger="every 5s"')


def test_updates_can_be_stilled_and_resumed(client, maintainer):
    run = RunFactory(rows=True)
    assertContains(client.get(page_of(run)), "Pause updates")

    still = client.get(page_of(run) + "?still")

    assertNotContains(still, "hx-trigger")
    assertContains(still, "Resume updates")
    assertContains(still, "Refresh")


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.STOPPED, RunState.DONE])
def test_updates_end_when_nothing_is_asked(client, maintainer, state):
    run = RunFactory(rows=True, state=state)
    assertNotContains(client.get(page_of(run), **HTMX), "hx-trigger")


def test_only_what_is_new_is_said_aloud(client, maintainer):
    run = RunFactory(rows=True)
    told = progress_of(run.wave).milestone

    assertNotContains(client.get(page_of(run), {"told": told}, **HTMX), "hx-swap-oob")
    run.responses.filter(trial=1).update(status=Status.FAILED)
    assertContains(client.get(page_of(run), {"told": told}, **HTMX), "hx-swap-oob")


def test_the_rate_and_the_time_left_follow_from_the_last_minute():
    run = RunFactory(wave__trials=10, rows=True)
    ids = list(run.responses.values_list("pk", flat=True)[:30])
    then = timezone.now() - timedelta(seconds=30)
    run.responses.filter(pk__in=ids).update(status=Status.FAILED, completed_at=then)

    told = progress_of(run.wave)

    assert told.per_second == pytest.approx(1.0, abs=0.05)
    assert told.seconds_left == pytest.approx(10, abs=1)


def test_the_last_faults_are_listed_by_kind_even_those_made_good(client, maintainer):
    run = RunFactory(wave__bank__items=3, wave__trials=1)
    one, two, three = run.wave.bank.items.all()
    ResponseFactory(
        run=run,
        item=one,
        attempts=[attempt("rate_limit", "429: slow down", 1), attempt("completed")],
    )
    ResponseFactory(
        run=run, item=two, status=Status.FILTERED, text="", attempts=[attempt("filtered", "<b>", 2)]
    )
    ResponseFactory(run=run, item=three, attempts=[attempt("completed", "all well")])

    page = client.get(page_of(run))

    assert [fault.kind for fault in progress_of(run.wave).faults] == ["filtered", "rate_limit"]
    assertContains(page, "429: slow down")
    assertContains(page, "&lt;b&gt;")
    assertNotContains(page, "all well")


def test_at_most_twenty_faults_are_listed():
    run = RunFactory(wave__bank__items=30, wave__trials=1)
    for item in run.wave.bank.items.all():
        ResponseFactory(
            run=run, item=item, status=Status.FAILED, text="", attempts=[attempt("empty")]
        )
    assert len(progress_of(run.wave).faults) == 20


def test_a_stopped_run_says_why_and_can_go_on(client, maintainer):
    run = RunFactory(rows=True, state=RunState.STOPPED, stop_reason="401: no such key.")

    page = client.get(page_of(run))

    assertContains(page, "401: no such key.")
    assertContains(page, "Go on asking")


def test_asking_begins_at_a_button(client, maintainer):
    run = RunFactory(rows=True, state=RunState.PLANNED)
    assertContains(client.get(page_of(run)), "Start asking")

    answer = client.post(reverse("runs:start", args=[run.wave.code]), follow=True)

    run.refresh_from_db()
    assert run.state == RunState.ASKING
    assertNotContains(answer, "Start asking")


def test_what_keeps_a_wave_from_starting_is_said(client, maintainer, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = RunFactory(rows=True, state=RunState.PLANNED, subject=SubjectFactory(provider="openai"))

    page = client.post(reverse("runs:start", args=[run.wave.code]), follow=True)

    assertContains(page, "set OPENAI_API_KEY")


def test_a_wave_whose_replies_come_from_a_file_is_not_started(client, maintainer):
    run = RunFactory(rows=True, state=RunState.PLANNED, subject=SubjectFactory(provider="import"))
    assertNotContains(client.get(page_of(run)), "Start asking")


def test_starting_is_never_done_by_looking(client, maintainer):
    run = RunFactory(rows=True, state=RunState.PLANNED)
    assert client.get(reverse("runs:start", args=[run.wave.code])).status_code == 405


def test_the_page_asks_the_database_as_often_for_many_rows_as_for_few(
    client, maintainer, django_assert_num_queries
):
    few = RunFactory(wave__bank__items=2, rows=True)
    many = RunFactory(wave__bank__items=60, wave__trials=5, rows=True)
    for condition in "abcde":
        RunFactory(wave=many.wave, condition=condition, rows=True)
    many.responses.filter(trial=1).update(
        status=Status.FAILED, completed_at=timezone.now(), attempts=[attempt("empty")]
    )

    for run in (few, many):
        with django_assert_num_queries(12):
            client.get(page_of(run), **HTMX)


def test_the_maintainers_group_is_there():
    assert Group.objects.filter(name="maintainer").exists()


def test_each_run_tells_its_own_rate_and_time_left(client, maintainer):
    run = RunFactory(wave__trials=1, wave__bank__items=5, rows=True)
    still = RunFactory(wave=run.wave, condition="warm", rows=True)
    ago = timezone.now() - timedelta(seconds=20)
    for row in run.responses.all()[:2]:
        type(row).objects.filter(pk=row.pk).update(
            status=Status.FAILED, completed_at=ago, attempts=[attempt("empty")]
        )

    told = {one.condition: one for one in progress_of(run.wave).runs}

    assert told["default"].per_second == pytest.approx(0.1, rel=0.05)
    assert told["default"].seconds_left == pytest.approx(30, abs=2)
    assert (told["warm"].per_second, told["warm"].time_left) == (0.0, "")
    assert still.responses.pending().count() == 5


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (RunState.ASKING, "asking"),
        (RunState.PAUSED, "paused or stopped"),
        (RunState.PLANNED, "not started"),
        (RunState.CANCELLED, "asked to its end"),
    ],
)
def test_the_list_says_how_each_wave_stands(client, maintainer, state, said):
    RunFactory(state=state)
    assertContains(client.get(reverse("runs:waves")), f"<td>{said}</td>", html=True)


def test_a_paused_run_says_why_and_a_cancelled_one_what_was_not_asked(client, maintainer):
    run = RunFactory(rows=True, state=RunState.PAUSED, stop_reason="Lunch.")
    RunFactory(
        wave=run.wave, condition="warm", rows=True, state=RunState.CANCELLED, stop_reason="Enough."
    )

    page = client.get(page_of(run))

    assertContains(page, "is paused: Lunch. Everything stored so far is safe.")
    assertContains(page, "is cancelled: Enough. 8 trials not asked.")
    assertContains(page, "Asking is paused.")
