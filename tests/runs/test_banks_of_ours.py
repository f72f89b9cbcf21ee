"""The two banks in fixtures/: what they count up to, derived from the files alone."""

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from runs.bank import read_bank, word_ratio
from runs.bank_checks import WORD, check_whole, overlap, shingles
from runs.bank_text import write_bank
from runs.taxonomy import DIMENSIONS

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCORABLE = {"AWR": 11, "EMP": 12, "ACT": 13, "EQU": 11, "BND": 11, "ACC": 10, "SYS": 10, "INT": 10}
OURS = ("model_index", "unconditionality")


def data_of(name):
    return json.loads((FIXTURES / f"{name}.json").read_text())


@pytest.mark.parametrize("name", OURS)
def test_no_check_finds_a_fault(name):
    assert check_whole(data_of(name)).faults == []


def test_the_warnings_are_the_known_ones_of_founding_texts_and_one_of_past_violence():
    found = {
        name: [(fault.check, fault.item) for fault in check_whole(data_of(name)).found]
        for name in OURS
    }

    assert found["model_index"] == [("reading level", "AWR-1-A")]
    assert Counter(check for check, _ in found["unconditionality"]) == {
        "length symmetry": 6,
        "unmarked crisis": 2,
    }
    assert ("unmarked crisis", "UNC-1-06-B") in found["unconditionality"]


def test_the_model_index_counts_up_to_93_items_88_scorable_and_83_served():
    counts = check_whole(data_of("model_index")).counts

    assert (counts.whole.items, counts.whole.scorable, counts.whole.served) == (93, 88, 83)
    assert {code: count.scorable for code, count in counts.dimensions.items()} == SCORABLE
    assert (len(counts.drafts), len(counts.crisis)) == (5, 5)
    assert len(counts.subdimensions) == 40
    assert counts.thin() == []


def test_unconditionality_has_ten_pairs_in_each_of_eight_chambers():
    counts = check_whole(data_of("unconditionality")).counts

    assert counts.whole.items == counts.whole.served == 160
    assert counts.chambers == dict.fromkeys("12345678", 10)


def test_items_stand_in_the_order_of_dimension_subdimension_and_letter():
    codes = [item.code for item in read_bank(FIXTURES / "model_index.json").items]
    order = list(DIMENSIONS)

    assert codes == sorted(codes, key=lambda code: (order.index(code[:3]), code))


def test_the_demo_items_are_in_the_model_index_with_the_same_hash():
    whole = {i.code: i.content_hash for i in read_bank(FIXTURES / "model_index.json").items}

    for item in read_bank(FIXTURES / "demo_bank.json").items:
        assert whole[item.code] == item.content_hash


def test_whoever_made_an_item_is_said_and_nobody_is_said_to_have_validated_one():
    for name in OURS:
        for row in data_of(name)["items"]:
            assert row["author"].startswith(("Founding document", "Compassion team, drafted with"))
            assert row["validationStatus"] in ("unvalidated", "draft-authored-unreviewed")
            assert not row.get("reviewers")


def test_every_item_says_what_its_trainer_and_reviewers_should_look_at():
    for row in data_of("model_index")["items"]:
        assert row["reviewRequired"]
        assert row["sourceOnlyFields"]["title"]
        assert row["sourceOnlyFields"]["whatToObserve"]
    for row in data_of("unconditionality")["items"]:
        assert row["sourceOnlyFields"]["title"]
        assert row["sourceOnlyFields"]["whatToObserve"]


def test_crisis_items_name_what_is_announced_and_what_would_do_harm():
    crisis = [row for row in data_of("model_index")["items"] if row["sensitivity"] == "high"]

    assert len({row["topic"] for row in crisis}) == len(crisis) == 5
    assert all(row["criticalHarmRules"] for row in crisis)


def test_our_own_pairs_are_of_one_length_and_tell_their_ratio_truly():
    data = data_of("unconditionality")
    prompts = {row["id"]: row["prompt"] for row in data["items"]}

    for pair in data["pairs"]:
        one, other = prompts[pair["a"]], prompts[pair["b"]]
        ratio = word_ratio(one, other)
        words = f"({len(one.split())} and {len(other.split())} words)"
        assert f"ratio {ratio:.2f}," in pair["symmetryCheck"].lower()
        assert words in pair["symmetryCheck"]
        assert ratio <= 1.25 or pair["founding"]


def test_the_pairs_of_a_chamber_differ_in_situation():
    """No two of a chamber share more than a few runs of words, as renamed copies would."""
    data = data_of("unconditionality")
    prompts = {row["id"]: row["prompt"] for row in data["items"]}

    for one, other in combinations([pair["a"] for pair in data["pairs"]], 2):
        assert overlap(shingles(prompts[one]), shingles(prompts[other])) < 0.1


def test_what_an_arm_asks_observers_to_see_gives_the_other_arm_away_nowhere():
    told = re.compile(r"\b(the other arm|chamber|both arms|arm [AB])\b", re.IGNORECASE)

    for row in data_of("unconditionality")["items"]:
        assert not told.search(row["sourceOnlyFields"]["whatToObserve"])


def test_the_anchors_of_our_own_items_are_of_a_readable_size():
    for row in data_of("model_index")["items"]:
        if row["author"].startswith("Founding"):
            continue
        for anchor in row["anchors"]:
            assert 15 <= len(WORD.findall(anchor["description"])) <= 75, row["id"]


@pytest.mark.parametrize("name", OURS)
def test_the_files_stand_as_an_export_would_write_them(name):
    raw = (FIXTURES / f"{name}.json").read_bytes()

    assert write_bank(json.loads(raw)) == raw
