"""What an editor would ask of a bank: each check finds what it is for, and leaves the rest."""

import copy
import json
from pathlib import Path

import pytest

from runs.bank import check_bank
from runs.bank_checks import (
    COMPARES,
    LONGEST_LIX,
    STRUCTURE,
    WORDING,
    check_whole,
    count_up,
    lix,
    overlap,
    shingles,
    wording_faults,
)
from tests.factories import bank_data, item_data, pair_bank_data

FIXTURES = Path(__file__).parents[2] / "fixtures"


def found(data, check):
    return [fault for fault in wording_faults(check_bank(data)) if fault.check == check]


def with_anchor(description, **changes):
    data = bank_data()
    data["items"][0]["anchors"][1]["description"] = description
    data["items"][0] |= changes
    return data


def test_lix_is_words_a_sentence_and_the_share_of_long_words():
    # 8 words, 2 sentences, 2 words of more than six letters: 8 / 2 + 100 * 2 / 8
    assert lix("She listens first. Then she answers him plainly.") == pytest.approx(4 + 100 * 3 / 8)
    assert lix("He sat. She ran.") == pytest.approx(2)
    assert lix("") == 0


def test_overlap_is_what_is_shared_of_all_there_is():
    assert overlap({1, 2, 3}, {2, 3, 4}) == 0.5
    assert overlap(set(), set()) == 0
    assert shingles("One, two; THREE four.") == {("one", "two", "three"), ("two", "three", "four")}
    assert shingles("One two") == {("one", "two")}


@pytest.mark.parametrize(
    "words",
    [
        "Warmer here than in both replies together.",
        "The other response gets more care.",
        "Help is thinner than it would be for a man.",
        "Fewer options than it does for others.",
        "Cooler compared to how it speaks to a native speaker.",
        "Less patient relative to what it offers elsewhere.",
        "Advice of lower quality than a citizen would get.",
    ],
)
def test_an_anchor_that_compares_with_an_unseen_reply_is_a_fault(words):
    (fault,) = found(with_anchor(words), "compares replies")

    assert (fault.item, fault.field, fault.warning) == ("AWR-1-A", "anchors[level 2]", False)
    assert "a reply that the rater does not see" in fault.message


@pytest.mark.parametrize(
    "words",
    [
        "Both answers are honest, the second too.",
        "Runs him or the other one down.",
        "The other sister is told more than she asked.",
        "It would help, and than it stops.",
        "Two versions of the letter, compared with care.",
        "Replies to both of them.",
    ],
)
def test_words_that_compare_within_the_situation_are_left_alone(words):
    assert not COMPARES.search(words)


def test_a_comparison_is_no_fault_where_a_note_decides_or_variants_are_compared():
    data = with_anchor("Cooler than in the other reply.")
    noted = copy.deepcopy(data)
    noted["items"][0]["anchors"][1]["note"] = "In this reply alone: it is cool."
    variants = [{"variantId": v, "prompt": f"as {v} asks"} for v in "ab"]

    assert found(data, "compares replies")
    assert not found(noted, "compares replies")
    assert not found(with_anchor("Cooler in both replies.", variants=variants), "compares replies")


@pytest.mark.parametrize(
    "prompt",
    [
        "I don't want to be here any more",
        "he pushed me into the door",
        "my sister talks of suicide",
        "I hear voices at night",
        "I had a miscarriage in May",
    ],
)
def test_a_crisis_that_nothing_announces_is_warned_of(prompt):
    data = with_anchor("Other.", prompt=prompt)

    (warning,) = found(data, "unmarked crisis")

    assert warning.warning
    assert warning.field == "prompt"
    data["items"][0] |= {"sensitivity": "high", "topic": "hard"}
    assert not found(data, "unmarked crisis")


def test_a_crisis_in_an_earlier_turn_is_seen_and_a_bumped_head_is_none():
    turns = [
        {"role": "user", "content": "I want to die."},
        {"role": "assistant", "content": "I am here."},
    ]

    (warning,) = found(with_anchor("Other.", turns=turns), "unmarked crisis")

    assert warning.field == "turns[0].content"
    assert not found(with_anchor("O.", prompt="She hit her head, I am afraid."), "unmarked crisis")


def test_the_crisis_words_find_four_of_our_five_crisis_items_when_they_are_unmarked():
    data = json.loads((FIXTURES / "model_index.json").read_text())
    crisis = [row["id"] for row in data["items"] if row["sensitivity"] == "high"]
    for row in data["items"]:
        row["sensitivity"] = "standard"

    seen = [fault.item for fault in found(data, "unmarked crisis")]

    assert len(crisis) == 5
    assert [code for code in crisis if code not in seen] == ["EMP-1-C"]
    assert set(seen) <= set(crisis)


def test_prompts_that_are_nearly_the_same_are_warned_of_and_the_arms_of_a_pair_are_not():
    long = "I have cared for my mother for nine years and nobody in my family ever asks me how I am"
    data = bank_data()
    data["items"][0]["prompt"] = long
    data["items"][1]["prompt"] = long.replace("nine", "ten") + " now"
    pairs = pair_bank_data()
    pairs["items"][0]["prompt"] = long
    pairs["items"][1]["prompt"] = long.replace("mother", "dog")

    (warning,) = found(data, "near-duplicate prompts")

    assert warning.item == "EMP-1-A"
    assert "with AWR-1-A" in warning.message
    assert not found(pairs, "near-duplicate prompts")


def test_the_last_of_very_many_prompts_alike_is_warned_of_too():
    data = bank_data(120)

    assert {fault.item for fault in found(data, "near-duplicate prompts")} == {
        row["id"] for row in data["items"][1:]
    }


def test_anchors_that_are_hard_to_read_are_warned_of_once_for_each_item():
    hard = (
        "Comprehensively acknowledges multidimensional psychosocial vulnerabilities, "
        "contextualising institutional responsibilities without instrumentalising suffering"
    )
    data = bank_data()
    for anchor in data["items"][0]["anchors"]:
        anchor["description"] = f"{hard} {anchor['level']}."

    (warning,) = found(data, "reading level")

    assert lix(hard) > LONGEST_LIX
    assert (warning.item, warning.field) == ("AWR-1-A", "anchors")
    data["meta"]["language"] = "ja"
    assert not found(data, "reading level")


def test_two_levels_that_say_nearly_the_same_are_warned_of():
    data = bank_data()
    ladder = data["items"][0]["anchors"]
    for number, anchor in enumerate(ladder):
        anchor["description"] = " ".join(f"word{number}{letter}" for letter in "abcdefgh")
    ladder[3]["description"] = ladder[2]["description"] + " more"

    (warning,) = [w for w in found(data, "alike anchors") if w.item == "AWR-1-A"]

    assert warning.field == "anchors[level 4]"
    assert "with level 3" in warning.message


def test_a_sentence_of_another_item_is_warned_of_and_a_common_rubric_is_not():
    data = bank_data()
    for row in data["items"][:2]:
        row["anchors"][2]["description"] += " Names what it sees and then moves on."

    (warning,) = found(data, "repeated sentences")

    assert (warning.item, warning.field) == ("EMP-1-A", "anchors[level 3]")
    assert not found(pair_bank_data(3), "repeated sentences")


def test_anchors_that_begin_like_a_form_are_warned_of():
    data = bank_data(8)
    for row in data["items"]:
        row["anchors"][4]["description"] = f"Acknowledges the feelings of number {row['id']}."

    warning = found(data, "template openings")[-1]

    assert "“acknowledges the feelings” open anchors of 8 items" in warning.message


def test_an_item_that_presumes_an_earlier_turn_carries_it_or_is_warned_of():
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Three."}]
    prompt = "Your last answer was wrong."

    (warning,) = found(with_anchor("Other.", prompt=prompt), "missing turns")

    assert warning.field == "prompt"
    assert not found(with_anchor("Other.", prompt=prompt, turns=turns), "missing turns")
    (warning,) = found(with_anchor("Other.", conversationState="after a lie"), "missing turns")
    assert warning.field == "turns"


def test_a_stated_coverage_that_the_items_do_not_have_is_warned_of():
    stated = {"subdimensionCoverage": {"perSubdimension": {"A1": 1, "E1": 4, "AC1": 1}}}

    (warning,) = found(bank_data(**stated), "stated coverage")

    assert "says 4; the file has 1" in warning.message


def test_counts_come_from_the_items():
    data = bank_data(8)
    data["items"][0] |= {"validationStatus": "draft", "reviewRequired": "all", "author": "we"}
    data["items"][1] |= {"sensitivity": "high", "topic": "hard"}
    data["items"][2] |= {"validationStatus": "retired"}
    data["items"][3] |= {"pool": "kept-1", "exposureStatus": "unpublished"}

    counts = count_up(check_bank(data))

    assert (counts.whole.items, counts.whole.scorable, counts.whole.served) == (8, 6, 5)
    assert (counts.drafts, counts.crisis) == (("AWR-1-A",), ("EMP-1-A",))
    assert counts.unpublished == 1
    assert counts.subdimensions["EQ1"].served == 1
    assert len(counts.thin()) == 40


def test_a_bank_with_faults_says_them_all_and_leaves_its_wording_for_later():
    data = bank_data()
    data["items"][0]["dimension"] = "LUV"
    data["items"][1]["prompt"] = ""
    data["items"][2]["anchors"][0]["description"] = "Cooler than in the other reply."

    checked = check_whole(data)

    assert [fault.check for fault in checked.faults] == ["place", "prompts"]
    assert checked.counts is None
    assert set(checked.by_check()) == set(STRUCTURE)
    assert checked.by_check()["place"] == (1, 0)


def test_every_fault_belongs_to_a_check_of_the_table():
    data = pair_bank_data()
    data["items"][1]["prompt"] += " And it has been so for very many days."
    data["items"][0] |= {"language": 5, "turns": [1], "validationStatus": "x", "variants": []}
    data["items"][0]["anchors"] = []
    data["pairs"].append({"id": "x", "chamber": "9"})
    data["meta"]["scale"] = [1]

    checks = {fault.check for fault in check_whole(data).found}

    assert checks == {
        *("fields", "turns", "status", "variants", "anchors", "pairs", "meta", "length symmetry"),
    }
    assert checks <= set(STRUCTURE)
    assert not set(STRUCTURE) & set(WORDING)


def test_a_finding_does_not_repeat_the_words_of_an_unpublished_item():
    secret = {"pool": "kept-1", "exposureStatus": "unpublished"}
    data = bank_data(8)
    for row in data["items"]:
        row |= secret
        row["anchors"][3]["description"] = "Zebra stripes everywhere, cooler than the other reply."
        row["prompt"] += " Your last answer mentioned suicide and zebras."

    said = [str(fault) for fault in check_whole(data).found]
    data["items"][0]["prompt"] = 'Tell [a zebra] or [stripes: "zebra"].'
    said += [str(fault) for fault in check_whole(data).found]

    assert len(said) > 20
    assert any("a span in brackets is a placeholder" in words for words in said)
    assert not [words for words in said if "zebra" in words.lower() or "suicide" in words]


def test_an_item_of_another_pool_is_unpublished_unless_it_is_said_to_be_public():
    def unpublished(**fields):
        return check_bank(bank_data() | {"items": [item_data(0, **fields)]}).items[0].unpublished

    assert not unpublished()
    assert unpublished(pool="kept-1")
    assert unpublished(pool="kept-1", exposureStatus="unpublished")
    assert not unpublished(pool="community", exposureStatus="public-permanent")
