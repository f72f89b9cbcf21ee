"""Judges stand beside a report and never in it: planted levels move no figure by a bit."""

import json
from copy import deepcopy
from dataclasses import asdict, replace

import pytest

from rating.agreement_page import Look, agreement_page
from rating.counted import state_of
from rating.publishing.bundle import data_in, internal_bundle, read_bundle, reproduce
from rating.publishing.confounded import ledger_of
from rating.publishing.content import content_of
from rating.publishing.data import JudgeRow
from rating.publishing.gather import data_of
from rating.publishing.hashes import data_hash
from rating.publishing.results import Draws, results_of
from rating.publishing.schema import check
from rating.stats.confounds import State
from runs.canonical import digest
from tests.factories import make_judge, make_judging
from tests.rating.publishing.made import index_data, report
from tests.rating.publishing.waves import pairs_wave, rated_wave

pytestmark = pytest.mark.django_db

DRAWS = Draws(items=100, units=100, trials=100)
SUBJECTS = {"mild": 4.2, "plain": 3.0, "stern": 2.1}
# What says that there were judges, and what is computed over all the rows.
DISCLOSED = ("design", "confounds", "hashes")


def figures_of(content):
    """All of a report but what discloses the judges."""
    found = {
        name: value for name, value in deepcopy(dict(content)).items() if name not in DISCLOSED
    }
    del found["cite"]  # it ends in the hash of the rows
    if found["results"]:
        del found["results"]["caption"]
    return found


@pytest.mark.parametrize("make", [rated_wave, pairs_wave])
def test_judges_are_disclosed_and_change_no_score_range_gap_agreement_nor_the_gate(make):
    wave = make(SUBJECTS)
    before = content_of(results_of(data_of(wave), DRAWS))
    page = agreement_page(wave, Look(), state_of(wave))
    # The lowest for everything, which would move each of them.
    lowest = wave.bank.levels[0]
    make_judging(wave, judges=[make_judge("Alder"), make_judge("Birch")], level=lowest)

    after = content_of(results_of(data_of(wave), DRAWS))

    assert figures_of(after) == figures_of(before)
    assert (after["gate"], after["official"]) == (before["gate"], before["official"])
    again = agreement_page(wave, Look(), state_of(wave))
    assert (again.lines, again.overall, again.notes) == (page.lines, page.overall, page.notes)
    assert after["hashes"]["data"] != before["hashes"]["data"]

    check(after)
    [entry] = [row for row in after["confounds"] if row["code"] == "judge-family"]
    assert entry["state"] == "disclosed"
    assert "2 models judged the replies as well, of the families Alder, Birch" in entry["said"]
    assert not after["results"] or entry["said"] in after["results"]["caption"]
    assert any("Models judged the replies too, in 1 round" in line for line in after["design"])


def test_without_judges_a_person_gave_every_rating_and_the_hash_is_what_it_was():
    data = index_data({"mild": 4.0, "stern": 2.0})

    [entry] = [one for one in ledger_of(data).entries if one.code == "judge-family"]

    assert (entry.state, entry.sentence) == (
        State.RESOLVED,
        "Every rating here was given by a person.",
    )


def test_a_judge_of_a_subjects_family_is_named_by_the_gate_and_by_the_ledger():
    row = JudgeRow("judge-a", "Lab", "j1", "self", 12, own=("mild",))
    data = replace(index_data({"mild": 4.0, "stern": 2.0}), judges=(row,))

    content = report(data)

    [two] = [one for one in content["gate"] if one["name"].startswith("Two human raters")]
    assert "Judges of other families than the subjects': not judge-a." in two["missing"]
    [entry] = [one for one in content["confounds"] if one["code"] == "judge-family"]
    assert entry["said"].endswith("Judged by a model of its own family: mild.")


def test_the_hash_of_rows_is_that_of_all_they_hold():
    data = data_of(rated_wave({"mild": 4.2}, items=3, trials=1))
    whole = asdict(data)
    del whole["judges"]

    assert data_hash(data) == digest(whole)


def test_an_internal_bundle_keeps_who_judged_and_one_from_before_still_reads(tmp_path):
    wave = rated_wave({"mild": 4.2}, items=3, trials=1)
    make_judging(wave)
    data = data_of(wave)
    path = tmp_path / "bundle.zip"
    path.write_bytes(internal_bundle(data, DRAWS))

    files = read_bundle(path)

    assert data_in(files).judges == data.judges
    assert data_hash(data_in(files)) == data_hash(data)
    assert reproduce(path).identical
    older = json.loads(files["data.json"])
    del older["judges"]
    assert data_in({**files, "data.json": json.dumps(older)}).judges == ()
