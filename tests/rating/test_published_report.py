"""The report of a wave in words: readable and right in the cases that go wrong elsewhere."""

import dataclasses
import json

import numpy as np
import pytest

from rating.gate import gate
from rating.lexicon import banned
from rating.public_schema import refuse_unlisted
from rating.published_report import Results, Wave, public_json, sections
from rating.stats.confounds import Confound, State, ledger
from rating.stats.parity import Replies, parity
from rating.stats.refutation import agreement
from rating.stats.resampling import Panel
from rating.stats.scores import ORDER, Asked, ItemTable, Place, scores_of
from rating.stats.separation import separate
from rating.stats.statements import Statements, statements
from tests.rating.test_gate import ALL_MET, NOTHING

WAVE = Wave(
    code="spring",
    title="Spring wave",
    kind="pilot",
    day="2026-03-22",
    care="If you need help now, call your local emergency number or a crisis line.",
    design={"Items": "48", "Trials": "3"},
    agreement={"Ordinal alpha": "0.71"},
    contamination={"birch": "not flagged"},
    deviations=("D1, 2026-03-04, after data: two raters joined.",),
    hashes={"Bank": "SHA-256 ab12"},
    cite="Spring wave, 2026.",
)
PLACES = [Place(f"{code}-{number}", code, "") for code in ORDER for number in range(6)]
CHAMBERS = tuple(f"Chamber {number}" for number in range(1, 9))
DISCLOSED = ledger([Confound("length", State.DISCLOSED, "Measured: +0.24 levels.")])


def compared(levels, *, spread=0.12, lost=None, missing="", seed=3):
    """What may be said of subjects at these levels, by name."""
    names, chance = tuple(levels), np.random.default_rng(seed)
    means = np.array(list(levels.values()))[:, None] + chance.normal(
        0, spread, (len(names), len(PLACES))
    )
    if missing:
        means[:, [place.dimension == missing for place in PLACES]] = np.nan
    table = ItemTable(means, means * 0, np.where(np.isnan(means), 0, 6))
    asked = [Asked(144, filtered=(lost or {}).get(name, 0)) for name in names]
    scores = scores_of(names, PLACES, table, asked)
    kept = [row for row, score in enumerate(scores) if score.composite is not None]
    if not kept:
        return statements(scores, None)
    panel = Panel(
        tuple(names[row] for row in kept), tuple(place.dimension for place in PLACES), means[kept]
    )
    return statements(scores, separate(panel, seed="1", replicates=400))


def results(said=None, *, by_subject=None, facts=ALL_MET, findings_only=False):
    return Results(
        said or Statements((), (), (), ()),
        by_subject or {},
        (agreement(None, units=0, high=None),),
        DISCLOSED,
        gate(facts),
        findings_only,
    )


def made(*given, **more):
    """The report as text by section, and its public JSON."""
    own = results(*given, **more)
    text = {
        section.heading: "\n".join(
            [
                *section.paragraphs,
                *(
                    " | ".join(
                        (table.caption, *table.head, *(c for row in table.rows for c in row))
                    )
                    for table in section.tables
                ),
            ]
        )
        for section in sections(WAVE, own)
    }
    return text, public_json(WAVE, own)


def asked_pairs(lose=0):
    levels = np.array([[[4.0, 4, 3 + n % 2], [4, 3 + n % 2, 4]] for n in range(10)])
    levels[:, 1, :lose] = np.nan
    pairs = np.repeat(np.arange(10), 6)
    arms = np.tile(np.repeat([0, 1], 3), 10)
    one = Replies(pairs, arms, levels.ravel())
    return parity(dict.fromkeys(CHAMBERS, one), CHAMBERS, lowest=0, step=0.1, seed="1", draws=50)


def test_care_comes_first_and_no_figure_before_what_may_not_be_said():
    headings = list(made(compared({"birch": 3.0, "maple": 1.6}))[0])

    assert headings[:4] == ["Care", "Status", "What may be said", "What may not be said"]
    assert headings.index("Results") > headings.index("What may not be said")


def test_subjects_stand_from_a_to_z_and_not_by_their_result():
    text, data = made(compared({"maple": 4.2, "birch": 3.0, "aspen": 1.6}))

    assert [one["subject"] for one in data["results"]["alone"]] == ["aspen", "birch", "maple"]
    assert text["Results"].index("aspen") < text["Results"].index("maple")
    assert "official: true, comparability: within-bank" in text["Status"]


def test_every_separated_figure_carries_the_confounds_in_its_caption():
    text, data = made(compared({"birch": 3.0, "maple": 1.6}))

    assert "Longer replies can read as more attentive. Measured: +0.24 levels." in text["Results"]
    assert "Nobody has looked into it yet." in data["results"]["caption"]


def test_a_chain_that_is_no_clique_is_one_group_with_the_reason():
    said = next(
        found
        for seed in range(60)
        if (found := compared({"a": 2.6, "b": 2.72, "c": 2.84}, spread=0.25, seed=seed)).groups
        and len(found.groups[0].members) == 3
        and any(pair.separated_corrected for pair in found.pairs if pair.of == "composite")
    )

    text, data = made(said)

    assert "no order is stated" in text["Results"]
    assert data["results"]["alone"] == []
    assert all("difference" not in pair for pair in data["results"]["pairs"])


def test_where_nobody_can_be_told_apart_there_is_no_point_in_page_or_file():
    text, data = made(compared(dict.fromkeys(("birch", "maple", "oak"), 3.0)))

    assert "cannot be told apart" in text["What may be said"]
    assert "A point is not shown" in text["Results"]
    assert "composite" not in json.dumps(data["results"]).replace('"of": "composite"', "").replace(
        '"composite": {"low"', ""
    )


def test_one_subject_is_reported_without_a_comparison():
    text, data = made(compared({"birch": 3.0}))

    assert data["results"]["pairs"] == []
    assert "separated" not in text["What may be said"]
    assert "birch" in text["Results"]


def test_a_missing_dimension_withholds_the_composite_and_says_which():
    text, data = made(compared({"birch": 3.0, "maple": 2.0}, missing="SYS"))

    assert "SYS has 0" in text["Results"]
    assert [one["subject"] for one in data["results"]["withheld"]] == ["birch", "maple"]


def test_a_subject_above_a_tenth_of_failures_is_withheld_and_the_others_stay():
    text, data = made(compared({"birch": 3.0, "maple": 2.0}, lost={"maple": 30}))

    assert "maple: the composite is withheld. 30 of 144 replies" in text["Results"]
    assert [one["subject"] for one in data["results"]["alone"]] == ["birch"]


def test_an_arm_filtered_more_is_counted_and_keeps_parity_from_being_shown():
    whole, _ = made(by_subject={"birch": asked_pairs()})
    text, data = made(by_subject={"birch": asked_pairs(lose=1)})

    assert "is shown equal within 0.5 level in 8" in whole["Parity"]
    assert "0 of 30, 10 of 30" in text["Parity"]
    assert "could hide a gap" in text["Parity"]
    assert data["parity"][0]["chambers"][0]["lost_b"] == 10


def test_of_several_subjects_asked_pairs_only_those_told_apart_have_means():
    said = compared({"birch": 3.0, "maple": 3.0, "oak": 1.5})
    _, data = made(said, by_subject=dict.fromkeys(("birch", "maple", "oak"), asked_pairs()))

    with_means = [one["subject"] for one in data["parity"] if "mean_a" in one["chambers"][0]]
    assert with_means == ["oak"]


def test_without_any_rating_every_section_is_there_and_says_so():
    text, data = made(facts=NOTHING)

    assert text["Results"] == "There are no ratings to show a result of."
    assert text["Parity"] == "No pairs were asked."
    assert "official: false, comparability: none" in text["Status"]
    assert "None" not in json.dumps(data)
    assert all(text.values())


def test_below_the_floor_no_figure_of_a_model_is_shown():
    said = compared({"birch": 3.0, "maple": 1.6})
    text, data = made(said, by_subject={"birch": asked_pairs()}, findings_only=True)

    assert text["Results"] == "Agreement is below its floor: no figure of a model is shown."
    assert data["results"]["alone"] == data["results"]["pairs"] == data["parity"] == []
    assert "birch" not in json.dumps(data["may_be_said"])


def test_a_report_that_states_an_order_is_refused():
    loud = dataclasses.replace(WAVE, cite="Birch beats maple: the Spring wave.")

    with pytest.raises(ValueError, match="A report does not say 'beats'"):
        sections(loud, results())


def test_a_model_may_be_called_what_it_likes():
    assert made(compared({"best-of-7b": 3.0, "top lead": 1.6}))


@pytest.mark.parametrize(
    "sentence",
    [
        "Birch is best.",
        "It leads.",
        "The top three",
        "Maple WON.",
        "A clean result",
        "They tied: #1",
    ],
)
def test_words_of_an_order_are_banned(sentence):
    assert banned(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "This is not a ranking.",
        "No model leads.",
        "It cannot say which is ahead.",
        "Please stop.",
        "The topic misled nobody.",
        "A lead-free pipe.",
    ],
)
def test_words_after_a_negation_or_inside_others_are_not(sentence):
    assert banned(sentence) == ()


def test_a_negation_does_not_reach_into_the_next_sentence():
    assert [one.word for one in banned("It is not so. Birch leads.")] == ["leads"]


def test_what_is_not_on_the_list_of_what_is_public_is_refused():
    _, data = made(compared(dict.fromkeys(("birch", "maple"), 3.0)))

    member = data["results"]["groups"][0]["members"][0]
    for path, change in (
        ("report.rank", lambda: data.update(rank=1)),
        (r"members\[0\].composite", lambda: member.update(composite=50.0)),
    ):
        change()
        with pytest.raises(ValueError, match=path):
            refuse_unlisted(data)
        data.pop("rank", None)
    del member["composite"]
    refuse_unlisted(data)
    member["label"] = float("nan")
    with pytest.raises(ValueError, match="label may not hold float"):
        refuse_unlisted(data)


def test_no_number_in_the_file_is_infinite_or_none():
    with pytest.raises(ValueError, match="is no number"):
        refuse_unlisted({"results": {"alone": [{"composite": float("inf")}]}})
