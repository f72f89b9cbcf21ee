"""What the probes of a wave show, on its page and out of its rows."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from runs.exposure import Verdict
from runs.models import Probe, Probing, RunState, Status, Wave
from runs.probed import contamination_of, probes_progress, probes_state, repeated_texts
from runs.probes import begin_probes
from tests.factories import make_user
from tests.runs.factories import ResponseFactory, RunFactory, SubjectFactory, WaveFactory
from tests.runs.test_probes import bank_of, wave_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def maintainer(client):
    client.force_login(user := make_user("maintainer"))
    return user


def answer(rows, *, score=0.1, status=Status.COMPLETED, text="It was about a neighbour."):
    """Have these rows answered."""
    rows.update(
        status=status,
        text=text if status == Status.COMPLETED else "",
        text_hash="f" * 64,
        score=score if status == Status.COMPLETED else None,
        completed_at=timezone.now(),
    )


def answered(run, *, right=1):
    """A run whose every question was answered, so many choices right."""
    answer(run.probes.filter(kind="recall"))
    answer(run.probes.filter(kind="choice", number__lte=right), score=1.0, text="A")
    answer(run.probes.filter(kind="choice", number__gt=right), score=0.0, text="A")
    answer(run.probes.filter(kind="determinism"), score=None)
    Probing.objects.filter(run=run).update(state=RunState.DONE)


def asked(**changes):
    wave = wave_of(**changes)
    begin_probes(wave)
    return wave


def verdicts(wave):
    return [found.verdict for found in contamination_of(wave).values()]


def test_a_subject_that_answered_all_and_knew_nothing_is_not_flagged():
    wave = asked()
    answered(wave.runs.get())

    assert verdicts(wave) == [Verdict.NOT_FLAGGED]


def test_four_right_choices_flag_one_subject_and_not_the_other():
    wave = asked(subjects=2)
    one, other = wave.runs.order_by("subject__code")
    answered(one, right=4)
    answered(other, right=3)

    assert verdicts(wave) == [Verdict.FLAGGED, Verdict.NOT_FLAGGED]


def test_each_missing_answer_is_named_with_its_reason():
    wave = asked()
    run = wave.runs.get()
    answered(run)
    with_status = run.probes.filter(kind="recall", number=1)
    Probe.objects.bulk_create(
        Probe(
            run=run, item=row.item, kind=row.kind, part=row.part, number=10 + place, seed=1,
            status=status,
        )
        for row in with_status
        for place, status in enumerate((Status.PENDING, Status.FILTERED, Status.FAILED, Status.MALFORMED))
    )  # fmt: skip

    (found,) = contamination_of(wave).values()

    assert found.verdict == Verdict.INCOMPLETE
    reasons = [one.rpartition(": ")[2] for one in found.missing]
    assert reasons == ["not answered yet", "filtered", "failed", "malformed"]


def test_an_answer_that_never_could_be_read_says_how_often_it_was_asked_for():
    wave = asked()
    run = wave.runs.get()
    answered(run)
    first = run.probes.get(kind="choice", number=6)
    Probe.objects.create(
        run=run, item=first.item, kind="choice", part="choice", number=7, seed=1, ask=1,
        status=Status.COMPLETED, text="A or B", text_hash="f" * 64,
    )  # fmt: skip
    Probe.objects.create(
        run=run, item=first.item, kind="choice", part="choice", number=7, seed=2, ask=2,
        status=Status.COMPLETED, text="B or C", text_hash="f" * 64,
    )  # fmt: skip

    (found,) = contamination_of(wave).values()

    assert found.verdict == Verdict.INCOMPLETE
    (said,) = found.missing
    assert said.endswith("asked 2 times, and no answer is one option's letter")


def test_a_wave_whose_probes_were_never_put_is_incomplete_and_says_what_to_do():
    (found,) = contamination_of(wave_of()).values()

    assert found.verdict == Verdict.INCOMPLETE
    assert "run probe WAVE" in found.missing[0]


def test_a_subject_that_cannot_be_asked_is_incomplete_and_says_so():
    wave = wave_of(subjects=0)
    RunFactory(wave=wave, subject=SubjectFactory(provider="import"))

    (found,) = contamination_of(wave).values()

    assert (found.verdict, found.missing) == (
        Verdict.INCOMPLETE,
        ("Its responses are imported, so that it cannot be asked.",),
    )


def test_an_unpublished_pool_is_judged_by_recall_alone():
    wave = asked(bank=bank_of(pool="secret-2026", exposureStatus="unpublished"))
    answered(wave.runs.get())

    (found,) = contamination_of(wave).values()

    assert (found.verdict, found.choices) == (Verdict.NOT_FLAGGED, ())
    assert "not published" in found.no_choice


def test_identical_calls_are_counted_and_those_that_failed_are_no_reply():
    wave = asked()
    run = wave.runs.get()
    answered(run)
    Probe.objects.create(
        run=run, item=run.probes.first().item, kind="determinism", number=21, seed=1,
        status=Status.FAILED,
    )  # fmt: skip

    ((_, texts, calls),) = repeated_texts(wave).values()

    assert (len(texts), calls) == (20, 21)


def test_what_a_kept_report_rests_on_changes_with_each_answer():
    wave = wave_of()
    states = [probes_state(wave)]
    begin_probes(wave)
    states.append(probes_state(wave))
    answer(Probe.objects.filter(kind="recall", number=1))
    states.append(probes_state(wave))

    assert len({str(state) for state in states}) == 3


def test_the_questions_to_the_database_do_not_grow_with_the_subjects():
    def asked_of(wave):
        with CaptureQueriesContext(
            connection,
        ) as found:
            contamination_of(wave)
            probes_progress(wave)
        return len(found)

    assert asked_of(asked(subjects=1)) == asked_of(asked(subjects=4))


# The page of the wave


def page_of(client, wave):
    return client.get(reverse("runs:wave", args=[wave.code]))


def test_the_page_of_a_wave_says_how_far_its_probes_are(client, maintainer):
    wave = asked()
    answer(wave.runs.get().probes.filter(kind="recall"))

    page = page_of(client, wave)

    assertContains(page, '<td class="number">9 of 35</td>')
    assertContains(page, "<td>incomplete</td>")
    assertNotContains(page, "Put the probes")


def test_a_wave_without_probes_offers_to_put_them(client, maintainer):
    wave = wave_of()
    Wave.objects.filter(pk=wave.pk).update(locked_at=timezone.now())
    assertContains(page_of(client, wave), "Put the probes")

    answer_ = client.post(reverse("runs:probe", args=[wave.code]), follow=True)

    assert Probe.objects.of_wave(wave).count() == 35
    assertNotContains(answer_, "Put the probes")


def test_a_missing_key_is_said_on_the_page(client, maintainer, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    wave = wave_of(subjects=0)
    RunFactory(wave=wave, subject=SubjectFactory(provider="openai"))

    page = client.post(reverse("runs:probe", args=[wave.code]), follow=True)

    assertContains(page, "set OPENAI_API_KEY")


@pytest.mark.parametrize("role", ["rater", "item reviewer", "adjudicator", "admin"])
def test_nobody_but_a_maintainer_puts_probes(client, role):
    wave = wave_of()
    client.force_login(make_user(role))

    assert client.post(reverse("runs:probe", args=[wave.code])).status_code == 404
    assert not Probe.objects.exists()


def test_no_answer_to_a_probe_is_on_the_page(client, maintainer):
    wave = asked()
    answered(wave.runs.get())

    assertNotContains(page_of(client, wave), "It was about a neighbour.")


# What replies are like


def test_the_page_says_what_replies_are_like_once_nothing_is_asked(client, maintainer):
    wave = WaveFactory()
    run = RunFactory(wave=wave, state=RunState.DONE)
    items = list(wave.bank.items.all())
    ResponseFactory(run=run, item=items[0], text="I can't help with that.")
    ResponseFactory(run=run, item=items[1], text="You are not alone in", finish_reason="length")
    ResponseFactory(run=run, item=items[2], status=Status.FAILED, text="")

    page = page_of(client, wave)

    assertContains(page, "Of 2 completed replies")
    assertContains(page, "<dt>Look like a refusal</dt><dd>1</dd>")
    assertContains(page, "<dt>Cut off</dt><dd>1</dd>")
    assertContains(page, "<dt>Words</dt><dd>5 to 5, median 5</dd>")


def test_while_replies_come_in_they_are_not_read_again_at_each_look(client, maintainer):
    run = RunFactory(rows=True)
    ResponseFactory(run=RunFactory(wave=run.wave, state=RunState.DONE))

    assertNotContains(page_of(client, run.wave), "What replies are like")
