"""What a report says of the subjects themselves: before and after unblinding, with its reasons."""

import json
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating.exports import Exports
from rating.models import Exposure, Kind, Rating, Saw
from rating.probe_report import (
    LATER,
    NO_CALLS,
    NO_RERUN,
    NOT_ALTERED,
    as_json,
    rerun_row,
    sameness_row,
    sensitivity_row,
)
from rating.probing import levels_of, probes_of, reruns_of, sensitivities_of
from rating.stats.verdict import Outcome
from rating.wave_report import wave_report
from runs.guards import lifted
from runs.models import Anchor, Probe, ProbeKind, Probing, Response, Run, RunState, Status, Wave
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave

pytestmark = pytest.mark.django_db

ITEMS = 12


@pytest.fixture
def wave():
    """A wave of one subject, whose twelve items were asked twice each."""
    return make_wave(make_bank(bank_data(ITEMS)), trials=2, locked=False)


def another_run(wave, condition, **changes):
    """The same subject once more, under another condition, with replies of its own."""
    first = wave.runs.first()
    run = Run.objects.create(wave=wave, subject=first.subject, condition=condition, **changes)
    rows = list(Response.objects.filter(run=first))
    for row in rows:
        row.pk, row.run, row.code = None, run, uuid4()
    Response.objects.bulk_create(rows)
    return run


def rate_as(run, level, people=2):
    """Have each response of a run rated: ``level`` of its item's place and the trial.

    Without the cards of a queue, which the tests of the queue are about.
    """
    raters = [make_rater() for _ in range(people)]
    anchors = {(a.item_id, a.level): a for a in Anchor.objects.filter(item__bank=run.wave.bank)}
    with lifted():
        Rating.objects.bulk_create(
            Rating(
                response=row,
                rater=rater,
                anchor=anchors[row.item_id, level(row.item.position, row.trial)],
                kind=Kind.COUNTED,
                slot=slot,
            )
            for row in Response.objects.filter(run=run).select_related("item")
            for slot, rater in enumerate(raters, start=1)
        )


def unblinded(wave):
    now = timezone.now()
    Wave.objects.filter(pk=wave.pk).update(locked_at=now, ratings_frozen_at=now, unblinded_at=now)
    return Wave.objects.select_related("bank").get(pk=wave.pk)


def middling(place, trial):
    return 3 + (place + trial) % 2


def calls(run, *texts):
    Probing.objects.create(run=run, state=RunState.DONE)
    item = run.wave.bank.items.first()
    for number, text in enumerate(texts, start=1):
        Probe.objects.create(
            run=run, item=item, kind=ProbeKind.DETERMINISM, number=number, seed=1, text=text,
            status=Status.COMPLETED, text_hash="f" * 64,
        )  # fmt: skip


def test_before_unblinding_no_subject_is_named_and_no_figure_of_one_given(wave):
    calls(wave.runs.get(), "One.", "Two.")

    report = probes_of(wave)

    assert report.verdicts == {"flagged": 0, "not flagged": 0, "incomplete": 1}
    assert (report.contamination, report.sameness) == ({}, ())
    assert {report.no_contamination, report.no_sameness, report.no_reruns} == {LATER}


def test_after_unblinding_each_part_is_there_or_says_why_it_is_not(wave):
    report = probes_of(unblinded(wave))

    assert list(report.contamination) == [wave.runs.get().subject.code]
    assert (report.no_sameness, report.no_reruns, report.no_sensitivities) == (
        NO_CALLS,
        NO_RERUN,
        NOT_ALTERED,
    )


def test_identical_calls_are_told_of_each_subject(wave):
    calls(wave.runs.get(), "One two.", "One two.", "One three.")

    (row,) = probes_of(unblinded(wave)).sameness

    assert (row.calls, row.found.distinct, row.found.same_pairs) == (3, 2, pytest.approx(1 / 3))


def test_a_single_reply_says_why_nothing_can_be_told():
    row = sameness_row("lab--kind--one", "AWR-1-A", ["One."], 20)

    assert (row.found, row.reason) == (None, "It takes two replies to compare; one came.")


def test_the_level_of_a_response_is_the_mean_of_its_two_ratings(wave):
    run = wave.runs.get()
    rate_as(run, middling)

    levels = levels_of(run)

    assert len(levels) == ITEMS
    assert {tuple(one) for one in levels.values()} == {(3.0, 4.0), (4.0, 3.0)}


def test_a_response_rated_once_is_in_no_comparison(wave):
    run = wave.runs.get()
    rate_as(run, middling, people=1)

    assert levels_of(run) == {}


def test_two_runs_under_the_same_system_message_are_a_rerun(wave):
    rate_as(wave.runs.get(), middling)
    rate_as(another_run(wave, "rerun"), middling)
    another_run(wave, "warm", system_message="Be warm.")

    (row,) = reruns_of(unblinded(wave))

    assert (row.first, row.second) == (f"{wave.code}, default", f"{wave.code}, rerun")
    assert (row.found.n_items, row.found.n_trials) == (ITEMS, 4 * ITEMS)
    assert row.found.mean_difference == 0
    assert row.found.outcome in (Outcome.HOLDS, Outcome.OPEN)


def test_a_rerun_that_stands_elsewhere_is_refuted(wave):
    rate_as(wave.runs.get(), middling)
    rate_as(another_run(wave, "rerun"), lambda place, trial: middling(place, trial) - 2)

    (row,) = reruns_of(unblinded(wave))

    assert (row.found.outcome, row.found.mean_difference) == (Outcome.REFUTED, -2)


def test_an_earlier_wave_counts_once_it_is_unblinded(wave):
    rate_as(wave.runs.get(), middling)
    later = make_wave(wave.bank, trials=2, locked=False)
    rate_as(later.runs.get(), middling)
    later = unblinded(later)
    assert list(reruns_of(later)) == []

    unblinded(wave)

    (row,) = reruns_of(later)
    assert (row.first, row.second) == (f"{wave.code}, default", f"{later.code}, default")


def test_an_altered_subject_is_compared_with_the_plain_one(wave):
    rate_as(wave.runs.get(), middling)
    cold = another_run(
        wave, "cold", system_message="Be cold.", expected="lower", expected_why="It is cold."
    )
    rate_as(cold, lambda place, trial: middling(place, trial) - 1 - (place % 3 == 0))

    (row,) = sensitivities_of(unblinded(wave))

    assert (row.condition, row.expected, row.why) == ("cold", "lower", "It is cold.")
    assert (row.found.outcome, row.found.n) == (Outcome.HOLDS, ITEMS)
    assert row.found.moved == pytest.approx(1 + 4 / ITEMS)


def test_an_altered_subject_without_ratings_says_what_is_missing(wave):
    another_run(wave, "cold", system_message="Be cold.", expected="lower", expected_why="It is.")

    (row,) = sensitivities_of(unblinded(wave))

    assert row.found is None
    assert "at least two items" in row.reason


def test_runs_without_an_item_in_common_say_so():
    row = rerun_row("s", ("a", "b"), ({"x": [1.0]}, {"y": [2.0]}), seed="7")
    assert (row.found, row.reason) == (None, "No item has a rated response in both runs.")

    altered = sensitivity_row("s", "cold", "lower", "It is.", ({"x": [1.0]}, {"y": [2.0]}))
    assert "there are 0" in altered.reason


def test_all_of_it_is_in_the_report_and_its_files(wave, client):
    run = wave.runs.get()
    calls(run, "One.", "Two.")
    rate_as(run, middling)
    rate_as(another_run(wave, "rerun"), middling)
    cold = another_run(wave, "cold", system_message="x", expected="lower", expected_why="It is cold.")  # fmt: skip
    rate_as(cold, lambda place, trial: middling(place, trial) - 1 - (place % 3 == 0))
    wave = unblinded(wave)
    client.force_login(maintainer := make_user("maintainer"))

    page = client.get(reverse("rating:report", args=[wave.code]))
    data = json.loads(Exports(wave).file("report.json"))["probes"]

    for words in ("Whether they knew the items", "cold", "lower: It is cold.", run.subject.code):
        assertContains(page, words)
        assert words in Exports(wave).file("report.html").decode()
    assert data["contamination"]["subjects"][0]["verdict"] == "incomplete"
    assert data["determinism"]["subjects"][0]["n"] == 2
    assert data["reruns"]["pairs"][0]["n_items"] == ITEMS
    assert data["sensitivity"]["conditions"][0]["outcome"] == "holds"
    assert set(Exposure.objects.filter(person=maintainer).values_list("saw", flat=True)) == {
        Saw.FIGURES,
        Saw.SUBJECTS,
    }


def test_before_unblinding_the_page_names_nobody_and_its_reader_stays_blind(wave, client):
    run = wave.runs.get()
    calls(run, "One.", "Two.")
    client.force_login(maintainer := make_user("maintainer"))

    page = client.get(reverse("rating:report", args=[wave.code]))

    assertContains(page, "0 flagged, 0 not flagged, 1 incomplete.")
    assertNotContains(page, run.subject.code)
    assert not Exposure.objects.filter(person=maintainer, saw=Saw.SUBJECTS).exists()


def test_the_report_follows_each_answer_to_a_probe(wave):
    wave = unblinded(wave)
    before = wave_report(wave).probes
    calls(wave.runs.get(), "One.", "Two.")

    assert (before.sameness, len(wave_report(wave).probes.sameness)) == ((), 1)


def test_the_data_hold_no_number_that_is_none(wave):
    calls(wave.runs.get(), "One.", "One.")

    assert json.dumps(as_json(probes_of(unblinded(wave))), allow_nan=False)
