"""Reading a bank file: every fault is said with its item and field, and nothing else gets in."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.bank import (
    LARGEST_FILE,
    BankRefused,
    check_bank,
    leaking_brackets,
    parse_bank,
    read_bank,
    unfilled_placeholders,
    word_ratio,
)
from tests.factories import bank_data, pair_bank_data

FIXTURES = Path(__file__).parents[2] / "fixtures"
SEEDS = {1: 1.40, 2: 1.17, 3: 1.00, 4: 1.50, 5: 1.36, 6: 2.00, 7: 2.12, 8: 1.33}


def faults_of(data) -> list[str]:
    with pytest.raises(BankRefused) as refused:
        check_bank(data)
    return [str(fault) for fault in refused.value.faults]


def changed(**fields):
    data = bank_data()
    data["items"][0] |= fields
    return data


def test_a_bank_is_read_into_items_with_their_own_anchors():
    bank = check_bank(bank_data(3))

    assert [item.code for item in bank.items] == ["AWR-1-A", "EMP-1-A", "ACT-1-A"]
    assert [anchor.level for anchor in bank.items[0].anchors] == [1, 2, 3, 4, 5]
    assert bank.levels == (1, 2, 3, 4, 5)


def test_the_order_of_keys_does_not_change_what_a_bank_is():
    data = bank_data()
    turned = {"items": [dict(reversed(row.items())) for row in data["items"]], "meta": data["meta"]}

    assert check_bank(turned).content_hash == check_bank(data).content_hash


def test_an_unchanged_item_keeps_its_hash_in_the_next_version():
    one = bank_data()
    other = copy.deepcopy(one)
    other["meta"]["bankVersion"] = "next"
    other["items"][1]["anchors"][0]["description"] += "!"

    before, after = check_bank(one).items, check_bank(other).items

    assert before[0].content_hash == after[0].content_hash
    assert before[1].content_hash != after[1].content_hash


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": "EMP-1-A"}, "EMP-1-A: id: stands 2 times"),
        ({"anchors": bank_data()["items"][0]["anchors"][:4]}, "AWR-1-A: anchors: has 4"),
        ({"dimension": "LUV"}, "AWR-1-A: dimension: 'LUV' is not a dimension"),
        ({"indicator": "E1"}, "AWR-1-A: indicator: 'E1' is not a subdimension of Awareness"),
        ({"prompt": "Is [drug name] safe?"}, "AWR-1-A: prompt: '[drug name]' is a placeholder"),
        ({"prompt": "Is {{drug}} safe?"}, "is a placeholder that nobody filled"),
        ({"prompt": "Is <DRUG NAME> safe?"}, "is a placeholder that nobody filled"),
        (
            {"prompt": 'Is [invented drug: "Zorvex"] safe?'},
            "AWR-1-A: prompt: '[invented drug: \"Zorvex\"]' tells the subject more than its value",
        ),
        ({"prompt": "  "}, "AWR-1-A: prompt: missing or empty"),
        (
            {"prompt": bank_data()["items"][1]["prompt"]},
            "EMP-1-A: prompt: is the prompt of AWR-1-A",
        ),
        ({"prompt": "half \ud83d of a smile"}, "AWR-1-A: prompt: holds half a character (U+D83D)"),
        ({"construct": "a\x00b"}, "AWR-1-A: construct: holds a NUL"),
        ({"validationStatus": "great"}, "AWR-1-A: validationStatus: 'great' is not one of"),
        ({"validationStatus": "draft"}, "AWR-1-A: reviewRequired: missing"),
        ({"id": "A" * 60}, "id: has 60 characters; it may have 50."),
        ({"construct": "c" * 201}, "AWR-1-A: construct: has 201 characters; it may have 200."),
        ({"construct": {"a": 1}}, "AWR-1-A: construct: {'a': 1} is not a text."),
        ({"language": ["en"]}, "AWR-1-A: language: ['en'] is not a text."),
        ({"pool": "p" * 80}, "AWR-1-A: pool: name the pool in 1 to 50 characters."),
        ({"topic": "t" * 101, "sensitivity": "high"}, "AWR-1-A: topic: has 101 characters"),
        ({"promptIntegrity": "yes"}, "AWR-1-A: promptIntegrity: 'yes' is not an object."),
        ({"sensitivity": "some"}, "AWR-1-A: sensitivity: 'some' is neither standard nor high"),
        ({"exposureStatus": "secret"}, "AWR-1-A: exposureStatus"),
        ({"supersedes": {"prompt": "x"}}, "AWR-1-A: supersedes: must keep the earlier prompt"),
        ({"variants": [{"variantId": "a", "prompt": "one"}]}, "AWR-1-A: variants: fewer than two"),
        (
            {"promptIntegrity": {"hasUnfilledPlaceholder": True}},
            "AWR-1-A: promptIntegrity.hasUnfilledPlaceholder: says True",
        ),
        ({"turns": [{"role": "assistant", "content": "Hi"}]}, "AWR-1-A: turns: must alternate"),
        (
            {
                "turns": [
                    {"role": "user", "content": "[name]"},
                    {"role": "assistant", "content": "Hi"},
                ]
            },
            "AWR-1-A: turns[0].content: '[name]' is a placeholder",
        ),
    ],
)
def test_each_fault_is_said_with_its_item_and_field(fields, said):
    assert any(said in fault for fault in faults_of(changed(**fields)))


@pytest.mark.parametrize(
    ("field", "value"), [("label", "l" * 101), ("note", 5), ("level", True), ("level", "1")]
)
def test_a_fault_in_an_anchor_is_said_with_its_level(field, value):
    data = bank_data()
    data["items"][0]["anchors"][0][field] = value

    assert any("AWR-1-A: anchors[level 1]" in fault for fault in faults_of(data))


@pytest.mark.parametrize("field", ["bankVersion", "name"])
def test_a_bank_has_a_short_name_and_version(field):
    for value in ("v" * 101, 5):
        data = bank_data()
        data["meta"][field] = value
        assert any(f"meta.{field}" in fault for fault in faults_of(data))


def test_all_faults_are_said_at_once():
    data = bank_data()
    data["items"][0]["dimension"] = "LUV"
    data["items"][1]["prompt"] = ""
    data["items"][2]["anchors"][2]["description"] = data["items"][2]["anchors"][3]["description"]

    assert len(faults_of(data)) == 3


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1, 2]", "a bank is a JSON object"),
        (b'{"meta": {}, "items": [], "notes": 1}', "notes: is no part of a bank"),
        (b'{"meta": {}, "items": []}', "meta.fieldSeparationPolicy.modelFacingFields"),
        (b'{"meta": {}, "meta": {}}', "the key 'meta' stands twice"),
        (b'{"meta": NaN}', "NaN is not a JSON number"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_bank_file_is_refused_in_words(raw, said):
    with pytest.raises(BankRefused, match=said):
        parse_bank(raw)


def test_a_file_of_200_megabytes_is_refused_unread(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(200_000_000)

    with pytest.raises(BankRefused, match=f"200,000,000 bytes; a bank may have {LARGEST_FILE:,}"):
        read_bank(path)


def test_a_byte_order_mark_is_no_fault():
    assert parse_bank(b"\xef\xbb\xbf" + json.dumps(bank_data()).encode()).items


def test_a_filled_bracket_and_ordinary_brackets_are_no_placeholder():
    assert unfilled_placeholders('Is ["Zorvex"] safe? x < Y and a > b') == []
    assert leaking_brackets('Is ["Zorvex"] safe?') == []


def test_arms_that_differ_in_length_are_a_fault_and_on_founding_pairs_a_warning():
    data = pair_bank_data()
    data["items"][1]["prompt"] += " And it has been so for very many days."
    assert any("UNC-1-00: prompt: the longer arm has" in fault for fault in faults_of(data))

    data["pairs"][0]["founding"] = True
    assert [warning.item for warning in check_bank(data).warnings] == ["UNC-1-00"]


def test_another_pool_than_the_public_one_is_allowed():
    bank = check_bank(changed(pool="secure-1", exposureStatus="unpublished"))

    assert bank.items[0].pool == "secure-1"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"validationStatus": "draft", "reviewRequired": "x", "author": "y"}, "draft"),
        ({"validationStatus": "retired"}, "retired"),
        ({"sensitivity": "high"}, "crisis topic"),
        (
            {"variants": [{"variantId": v, "prompt": f"as {v} asks"} for v in "ab"]},
            "its anchors compare two replies",
        ),
        ({"conversationState": "after a wrong answer"}, "needs an earlier turn"),
    ],
)
def test_what_is_not_asked_by_default_says_why(fields, why):
    assert check_bank(changed(**fields)).items[0].withheld.startswith(why)


def test_the_demo_bank_passes_with_two_items_a_dimension_and_the_founding_one():
    bank = read_bank(FIXTURES / "demo_bank.json")

    dimensions = [item.dimension for item in bank.items]
    assert {d: dimensions.count(d) for d in dimensions} == {
        "AWR": 3, "EMP": 2, "ACT": 2, "EQU": 2, "BND": 2, "ACC": 2, "SYS": 2, "INT": 2,
    }  # fmt: skip
    assert not bank.warnings
    assert all(not item.withheld for item in bank.items)


def test_the_founding_pairs_pass_and_their_word_ratios_are_the_known_ones():
    bank = read_bank(FIXTURES / "unconditionality.json")
    prompts = {item.code: item.prompt for item in bank.items}

    ratios = {
        int(pair.chamber): round(word_ratio(prompts[pair.a], prompts[pair.b]), 2)
        for pair in bank.pairs
        if pair.details.get("founding")
    }

    assert ratios == SEEDS
    assert len(bank.warnings) == sum(ratio > 1.25 for ratio in SEEDS.values())
    assert all(anchor.note for item in bank.items for anchor in item.anchors)


def test_the_demo_subject_has_replies_of_its_own_for_every_founding_and_demo_prompt():
    replies = json.loads((FIXTURES / "demo_replies.json").read_text())["replies"]
    demo = read_bank(FIXTURES / "demo_bank.json").items
    pairs = read_bank(FIXTURES / "unconditionality.json").items
    prompts = {item.prompt for item in demo}
    prompts |= {item.prompt for item in pairs if item.details.get("founding")}

    assert {row["prompt"] for row in replies} == prompts
    assert all(len(set(row["texts"])) >= 2 for row in replies)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value, path=()):
    """Every place in a JSON value at which something else could stand."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in children:
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))
        else:
            yield (*path, key)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_whatever_stands_in_a_bank_it_is_read_or_refused_in_words(data):
    bank = data.draw(st.sampled_from([bank_data(2), pair_bank_data()]))
    bank["items"][0] |= {
        "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        "variants": [{"variantId": v, "prompt": f"as {v} asks"} for v in "ab"],
        "supersedes": {"prompt": "before", "priorBankVersion": "t0"},
        "promptIntegrity": {"hasUnfilledPlaceholder": False},
    }
    check_bank(bank)
    *path, last = data.draw(st.sampled_from(list(_places(bank))))
    inside = bank
    for key in path:
        inside = inside[key]
    inside[last] = data.draw(json_values)

    try:
        check_bank(bank)
    except BankRefused as refused:
        assert refused.faults  # noqa: PT017
