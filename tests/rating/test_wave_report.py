"""The agreement report of a wave has exactly the numbers of the ratings made."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains

from rating.exports import FILES, MANIFEST
from rating.models import Assignment, Exposure, Role, SkipReason
from rating.queue import NoWork, lease, rate, reclaim, skip
from rating.wave_report import export_rows, wave_report
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)

pytestmark = pytest.mark.django_db


def rate_all(rater, levels):
    """The rater's cards, each rated with the level given for its item, or put off for good."""
    while isinstance(card := lease(rater, now=timezone.now()), Assignment):
        level = levels.get(card.response.item.code)
        if level is None:
            skip(card, SkipReason.RATHER_NOT, "", now=timezone.now())
        else:
            rate(card, given(level), now=timezone.now())


@pytest.fixture
def wave():
    """Three responses in three dimensions: rated 2 and 2, 1 and 3, and 4 by one person alone."""
    wave = make_wave(make_bank(bank_data(3)))
    rate_all(make_rater(), {"AWR-1-A": 2, "EMP-1-A": 1, "ACT-1-A": 4})
    rate_all(make_rater(), {"AWR-1-A": 2, "EMP-1-A": 3})
    return wave


def test_the_figures_are_those_of_the_ratings(wave):
    """Worked by hand: o(1,3) = 2, so D_o = 18/4; D_e = 2 (4.5 + 9 + 4.5)/12; alpha = 1 - 4.5/3."""
    report = wave_report(wave).agreement

    overall = report.overall
    assert (overall.n_ratings, overall.n_units, overall.n_pairable_units) == (5, 3, 2)
    assert overall.n_raters == 2
    assert overall.percent_exact.value == 0.5
    assert overall.percent_within_one.value == 0.5
    assert overall.alpha_ordinal.value == pytest.approx(-0.5)
    assert overall.unused_levels == (5,)


def test_each_dimension_has_its_own_figures_or_the_reason(wave):
    report = wave_report(wave).agreement

    assert list(report.dimensions) == ["Awareness", "Empathy", "Action"]
    assert report.dimensions["Awareness"].percent_exact.value == 1.0
    assert report.dimensions["Empathy"].percent_within_one.value == 0.0
    action = report.dimensions["Action"].percent_exact
    assert (action.value, action.reason) == (None, "No unit has two ratings.")


def test_the_report_follows_each_new_rating():
    wave = make_wave(make_bank(bank_data(1)))
    before = wave_report(wave).agreement.overall.n_ratings
    rated(make_rater())

    assert (before, wave_report(wave).agreement.overall.n_ratings) == (0, 1)


def test_a_surplus_rating_is_in_the_file_and_in_no_figure():
    wave = make_wave(make_bank(bank_data(1)))
    late = leased(make_rater())
    reclaim(timezone.now() + timedelta(hours=2))
    for _ in range(2):
        rated(make_rater(), 2)
    rate(late, given(5), now=timezone.now())

    assert wave_report(wave).agreement.overall.n_ratings == 2
    assert sorted(row.kind for row in export_rows(wave)) == ["counted", "counted", "surplus"]


def test_pairs_are_reported_by_chamber():
    wave = make_wave(make_bank(pair_bank_data()))

    assert list(wave_report(wave).agreement.dimensions) == ["Moral Status"]


def test_the_page_shows_the_report_to_maintainers_alone(client, wave):
    url = reverse("rating:report", args=[wave.code])
    for role in (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN):
        client.force_login(make_user(role))
        assert client.get(url).status_code == 404

    client.force_login(make_user(Role.MAINTAINER))
    page = client.get(url)

    assertContains(page, "official: false, comparability: none")
    assertContains(page, "<svg")
    assertContains(page, "Awareness")


def test_who_looks_is_put_on_record_and_whoever_saw_ratings_rates_no_more(client, wave):
    both = make_user(Role.MAINTAINER, Role.RATER)
    client.force_login(both)

    client.get(reverse("rating:report", args=[wave.code]))
    client.get(reverse("rating:report_file", args=[wave.code, "ratings.csv"]))

    seen = Exposure.objects.filter(person=both).values_list("saw", flat=True)
    assert set(seen) == {"figures", "ratings"}
    assert isinstance(lease(both, now=timezone.now()), NoWork)


@pytest.mark.parametrize("name", FILES)
def test_each_file_can_be_fetched(client, wave, name):
    client.force_login(make_user(Role.MAINTAINER))

    answer = client.get(reverse("rating:report_file", args=[wave.code, name]))

    assert answer.status_code == 200
    assert f'filename="{wave.code}-{name}"' in answer["Content-Disposition"]


def test_no_other_file_can_be_fetched(client, wave):
    client.force_login(make_user(Role.MAINTAINER))

    assert client.get(f"/reports/{wave.code}/key.csv").status_code == 404


def test_the_command_writes_the_files_and_they_name_no_subject(wave, tmp_path):
    call_command("report", wave.code, out=tmp_path / "new", stdout=io.StringIO())

    written = {path.name: path.read_text("latin-1") for path in (tmp_path / "new").iterdir()}
    assert set(written) == {*FILES, MANIFEST}
    subject = wave.runs.get().subject
    assert not any(subject.snapshot in text or subject.code in text for text in written.values())
    content = json.loads(written["report.json"])
    assert content["official"] is False
    assert content["overall"]["n_ratings"]["value"] == len(export_rows(wave))
    rows = list(csv.DictReader(io.StringIO(written["ratings.csv"])))
    assert {row["level"] for row in rows} == {str(row.level) for row in export_rows(wave)}
    assert {row["response"] for row in rows} <= {
        str(code) for code in wave.runs.get().responses.values_list("code", flat=True)
    }


def test_a_note_that_would_be_a_formula_is_made_harmless(tmp_path):
    wave = make_wave(make_bank(bank_data(1)))
    rated(make_rater(), note='=HYPERLINK("http://example.org")')

    call_command("report", wave.code, out=tmp_path, stdout=io.StringIO())

    [row] = csv.DictReader((tmp_path / "ratings.csv").open(newline=""))
    assert row["note"] == '\'=HYPERLINK("http://example.org")'


def test_an_unknown_wave_is_named_with_those_there_are(wave, tmp_path):
    with pytest.raises(CommandError, match=f"There is no wave x; the waves are: {wave.code}"):
        call_command("report", "x", out=tmp_path)
