"""Whether raters knew who made what: told of all makers together, and computed again from rows."""

import json
import random
from dataclasses import asdict, replace
from datetime import timedelta

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from rating.guessing import blinding_of as blinding_of_wave
from rating.models import Exposure, Guess, Rating, Saw
from rating.publishing import acts
from rating.publishing.blinded import blinding_of
from rating.publishing.bundle import internal_bundle, public_bundle, reproduce
from rating.publishing.data import AskingRow, GuessRow
from rating.publishing.document import document_of
from rating.publishing.files import figures_csv
from rating.publishing.gather import data_of
from runs.models import Wave
from tests.factories import make_rater
from tests.rating.publishing.made import QUICK, index_data, report, run_of
from tests.rating.publishing.test_document import AT
from tests.rating.publishing.waves import rated_wave, unblind

CONDITION = "Subjects frozen, access tier stated, subject access blinded"


def guessed(data, chance=7, right=0.5):
    """Every tenth rating asked about: so many right, some "I don't know", the rest wrong."""
    draw = random.Random(chance)
    developer = {run.subject: run.developer for run in data.runs}
    rows = []
    for one in data.ratings[::10]:
        maker = developer[data.reply[one.response].subject]
        others = [name for name in sorted(set(developer.values())) if name != maker]
        said = draw.choices([maker, draw.choice(others), ""], [right, 0.7 - right, 0.3])[0]
        rows.append(GuessRow(one.rater, one.response, said, True))
    rows[0] = replace(rows[0], maker="", answered=False)
    return replace(data, guesses=tuple(rows), asking=AskingRow(10, 2, 1))


@pytest.fixture(scope="module")
def data():
    runs = [run_of("maple", developer="Northern"), run_of("birch", developer="Southern")]
    return guessed(index_data({"maple": 2.0, "birch": 4.0}, items=5, runs=runs))


@pytest.fixture(scope="module")
def content(data):
    return report(data)


def test_answers_are_counted_and_right_ones_held_against_chance_within_each_rater(data, content):
    told, rows = content["blinding"], [row for row in data.guesses if row.answered]
    developer = {run.subject: run.developer for run in data.runs}
    right = sum(row.maker == developer[data.reply[row.response].subject] for row in rows)

    assert (told["asked"], told["answered"]) == (len(data.guesses), len(rows))
    assert told["unknown"] == sum(row.maker == "" for row in rows)
    assert told["right"]["value"] == right
    assert told["expected"]["value"] < right
    assert 0 < told["p"]["value"] < 0.05
    assert f"{right} named the maker; chance alone would give" in told["sentence"]


def test_nothing_is_told_of_a_single_maker(data, content):
    told = json.dumps(content["blinding"])

    assert "Northern" not in told
    assert "Southern" not in told
    lines = [line for line in figures_csv(content).splitlines() if line.startswith("blinding,")]
    assert len(lines) == 5
    assert not any("maple" in line or "birch" in line for line in lines)


def test_the_bundle_carries_the_answers_and_gives_the_same_figures(tmp_path, data, content):
    for made in (internal_bundle(data, QUICK), public_bundle(content, data)):
        path = tmp_path / "w1.zip"
        path.write_bytes(made)

        assert reproduce(path).identical


def test_a_wave_in_which_nobody_was_asked_says_so():
    content = report(index_data({"a": 3.0}, items=3))

    assert content["blinding"]["sentence"] == "Nobody was asked who made a response."
    page = render_to_string("public/_blinded.html", {"blinding": content["blinding"]})
    assert "<table" not in page


def test_page_and_paper_tell_the_figures_and_an_older_report_has_no_such_part(content):
    page = render_to_string("public/_blinded.html", {"blinding": content["blinding"]})
    paper = json.dumps(asdict(document_of(content, [], AT)), default=str)
    old = {key: value for key, value in content.items() if key != "blinding"}

    for text in (page, paper):
        assert f"{content['blinding']['p']['value']:.4f}" in text
        assert "Right answers that chance alone would give" in text
    assert "Right answers" not in json.dumps(asdict(document_of(old, [], AT)), default=str)


@pytest.mark.django_db
def test_the_report_tells_what_the_page_of_the_blinding_tells():
    wave = rated_wave({"a": 4.0, "b": 2.0}, items=8)
    now = timezone.now()
    for place, rating in enumerate(Rating.objects.of_wave(wave).order_by("pk")[:20]):
        answered = place % 5 != 4
        Guess.objects.create(
            rating=rating,
            maker=rating.response.run.subject.developer if place % 2 and answered else "",
            asked_at=now + timedelta(seconds=place),
            answered_at=now if answered else None,
        )

    assert blinding_of(data_of(wave)) == blinding_of_wave(wave)


# Who had looked


def subjects_condition(wave):
    gate = acts.gate_of_wave(wave)
    return next(one for one in gate.conditions if one.name == CONDITION)


def looked(person, wave, at, saw=Saw.SUBJECTS):
    Exposure.objects.create(person=person, saw=saw, wave=wave, seen_at=at)


@pytest.mark.django_db
def test_a_rater_who_saw_figures_by_subject_before_the_unblinding_keeps_a_wave_from_official():
    raters = [make_rater(), make_rater()]
    wave = rated_wave({"a": 4.0, "b": 2.0}, items=8, raters=raters, unblinded=False)
    missing = "Ratings by others than 1 rater who knew the subjects."
    assert missing not in subjects_condition(wave).missing

    looked(raters[0], wave, timezone.now())

    assert missing in subjects_condition(wave).missing
    unblind(wave)
    opened = Wave.objects.get(pk=wave.pk)
    assert data_of(opened).people.no_longer_blind == (raters[0].pseudonym,)
    assert missing in subjects_condition(opened).missing


@pytest.mark.django_db
def test_what_others_saw_or_what_was_seen_afterwards_or_in_another_wave_is_no_such_thing():
    raters = [make_rater(), make_rater()]
    wave = rated_wave({"a": 4.0, "b": 2.0}, items=8, raters=raters)
    other = Wave.objects.create(code="other", title="Other", bank=wave.bank, seed="o", trials=1)
    before = wave.unblinded_at - timedelta(hours=1)

    looked(make_rater(), wave, before)
    looked(raters[0], wave, before, Saw.FIGURES)
    looked(raters[0], other, before)
    looked(raters[1], wave, wave.unblinded_at + timedelta(hours=1))

    assert data_of(wave).people.no_longer_blind == ()
