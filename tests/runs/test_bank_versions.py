"""Versions of a bank: what is stored comes back the same, and what changed can be read."""

import copy
import json
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs.bank import check_bank, read_bank
from runs.bank_diff import as_text, diff_banks, marked
from runs.bank_text import write_bank
from runs.models import Bank
from tests.factories import bank_data, item_data, pair_bank_data

FIXTURES = Path(__file__).parents[2] / "fixtures"
TURNS = [{"role": "user", "content": "שלום 👋🏽"}, {"role": "assistant", "content": "Hello."}]


def everything():
    """A bank with variants, turns, a very long prompt, right-to-left text, emoji and extras."""
    data = bank_data(6, name="Everything", language="en")
    one, two, three, four, five, six = data["items"]
    one["prompt"] = "long " * 20_000
    two |= {"prompt": "مرحبا، كيف أنام؟ \u202bשלום\u202c", "language": "ar", "turns": TURNS}
    three |= {
        "prompt": "👩🏽‍🚀\r\n\ttabs, \u2028 and e\u0301 \u200d",
        "variants": [{"variantId": v, "label": v, "prompt": f"as {v} asks 🙂"} for v in "ab"],
    }
    four |= {"turns": None, "construct": None, "indicator": None, "pool": "core-public"}
    five |= {"turns": [], "sensitivity": "high", "topic": "grief", "language": "en"}
    five["turns"] = [{**turn, "note": "kept"} for turn in TURNS]
    six["anchors"] = [{**anchor, "weight": 1.5, "note": None} for anchor in six["anchors"]]
    six |= {"asked": {"at": [1, 2.0, True, None, {}]}, "pool": "community"}
    six["exposureStatus"] = "public-permanent"
    return data


def stored(data):
    bank, _ = Bank.objects.import_file(check_bank(data))
    return Bank.objects.get(pk=bank.pk)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["model_index", "unconditionality", "demo_bank"])
def test_our_banks_come_back_as_they_were_stored(name):
    raw = (FIXTURES / f"{name}.json").read_bytes()

    data = stored(json.loads(raw)).as_data()

    assert data == json.loads(raw)
    assert write_bank(data) == write_bank(json.loads(raw))


@pytest.mark.django_db
@pytest.mark.parametrize("make", [everything, pair_bank_data, lambda: pair_bank_data(5)])
def test_import_export_import_is_the_identity(make):
    data = make()
    before = copy.deepcopy(data)

    exported = stored(data).as_data()
    again, new = Bank.objects.import_file(check_bank(json.loads(write_bank(exported))))

    assert json.dumps(exported, sort_keys=True) == json.dumps(before, sort_keys=True)
    assert not new
    assert write_bank(again.as_data()) == write_bank(before)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
extras = st.dictionaries(texts.map("x {}".format), json_values, max_size=3)


@pytest.mark.django_db
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    prompt=texts.filter(str.strip),
    more=extras,
    anchor=extras,
    turn=extras,
    nulls=st.sets(st.sampled_from(["turns", "construct", "indicator", "language"])),
    number=st.integers(0, 7),
)
def test_whatever_an_item_holds_comes_back(prompt, more, anchor, turn, nulls, number):
    row = item_data(number, prompt=f"{prompt} so", **more)
    row["anchors"][0] |= anchor
    row["turns"] = [{**one, **turn} for one in TURNS]
    row |= dict.fromkeys(nulls)
    data = bank_data() | {"items": [row]}
    before = json.dumps(data, sort_keys=True)

    assert json.dumps(stored(data).as_data(), sort_keys=True) == before


@pytest.mark.django_db
def test_a_bank_whose_rows_do_not_give_its_hash_is_not_written_as_if_they_did():
    file = check_bank(bank_data())
    bank = Bank.objects.create(
        name=file.name,
        version=file.version,
        instrument=file.instrument,
        levels=list(file.levels),
        meta=file.meta,
        content_hash=file.content_hash,
    )

    with pytest.raises(ValidationError, match="cannot be written back as it was"):
        bank.as_data()


def test_to_have_no_pairs_is_the_same_bank_as_not_to_mention_them():
    data = bank_data()

    assert check_bank(data | {"pairs": []}).content_hash == check_bank(data).content_hash


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "Something else?"},
        {"construct": "else"},
        {"indicator": "A2"},
        {"turns": TURNS},
        {"variants": [{"variantId": v, "prompt": f"as {v}"} for v in "ab"]},
        {"sensitivity": "high", "topic": "grief"},
    ],
)
def test_whatever_a_rater_or_subject_sees_is_in_the_hash_of_an_item(change):
    before, after = bank_data(), bank_data()
    after["items"][0] |= change

    assert check_bank(before).items[0].content_hash != check_bank(after).items[0].content_hash


def test_each_part_of_variants_turns_anchors_and_rubric_is_in_the_hash():
    def hashes(data):
        return [item.content_hash for item in check_bank(data).items]

    data = bank_data(1)
    data["items"][0]["turns"] = copy.deepcopy(TURNS)
    data["items"][0]["variants"] = [{"variantId": v, "prompt": f"as {v}"} for v in "ab"]
    first = hashes(data)
    for path in (("turns", 1, "content"), ("variants", 1, "prompt"), ("anchors", 4, "description")):
        changed = copy.deepcopy(data)
        field, index, key = path
        changed["items"][0][field][index][key] += "!"
        assert hashes(changed) != first, path

    pairs = pair_bank_data()
    pairs["meta"]["rubric"][5]["note"] = "In this reply alone: near."
    noted = hashes(pairs)
    pairs["meta"]["rubric"][5]["note"] += "!"
    assert all(one != other for one, other in zip(noted, hashes(pairs), strict=True))


def test_either_arm_of_a_pair_is_in_the_hash_of_both_and_of_no_other_item():
    data = pair_bank_data(2)
    before = [item.content_hash for item in check_bank(data).items]

    data["items"][1]["prompt"] += " Still."
    after = [item.content_hash for item in check_bank(data).items]

    assert [one != other for one, other in zip(before, after, strict=True)] == [
        *(True, True),
        *(False, False),
    ]


def test_what_only_reviewers_and_keepers_see_is_not_in_the_hash():
    before, after = bank_data(), bank_data()
    after["items"][0] |= {"reviewRequired": "all", "sourceOnlyFields": {"title": "t"}}

    assert check_bank(before).items[0].content_hash == check_bank(after).items[0].content_hash


def two_versions():
    """A bank, and its next version: a typo mended, a prompt changed, one item gone, one new."""
    old = bank_data(4, name="Two", bankVersion="1")
    old["items"][0]["anchors"][2]["description"] = "Names the wieght and stays with her."
    new = copy.deepcopy(old)
    new["meta"] |= {
        "bankVersion": "2",
        "changelog": [
            {"version": "2", "date": "2026-12-01", "summary": "A typo, and a clearer worry."},
            {"itemId": "AWR-1-A", "priorBankVersion": "1", "change": "Spelling at level 3."},
        ],
    }
    new["items"][0]["anchors"][2]["description"] = "Names the weight and stays with her."
    new["items"][1]["prompt"] = "What can I do about my worry?"
    new["items"][2]["reviewRequired"] = "Whether it is clear."
    del new["items"][3]
    new["items"].append(item_data(8))
    return old, new


def diffed():
    old, new = two_versions()
    return diff_banks(check_bank(old), check_bank(new))


def test_a_diff_says_what_came_what_went_and_which_items_keep_their_reviews():
    diff = diffed()

    assert (diff.added, diff.removed) == (("AWR-1-B",), ("EQU-1-A",))
    assert [change.code for change in diff.changed] == ["AWR-1-A", "EMP-1-A", "ACT-1-A"]
    assert diff.lost == ("AWR-1-A", "EMP-1-A")
    assert diff.kept == 1
    assert diff.reason == "A typo, and a clearer worry."


def test_a_diff_names_changes_that_nobody_explained_and_prompts_that_nobody_kept():
    diff = diffed()

    assert diff.changed[0].reason == "Spelling at level 3."
    assert diff.unexplained == ("EMP-1-A",)
    assert diff.forgetful == ("EMP-1-A",)

    old, new = two_versions()
    new["items"][1]["supersedes"] = {
        "priorBankVersion": "1",
        "prompt": old["items"][1]["prompt"],
    }
    assert diff_banks(check_bank(old), check_bank(new)).forgetful == ()


def test_a_diff_is_read_word_by_word():
    assert marked("Names the wieght.", "Names the weight.") == "Names the [-wieght-]{+weight+}."
    assert marked("a b", "a b c") == "a b{+ c+}"
    assert marked("so very sad.", "not at all.") == "[-so very sad-]{+not at all+}."
    assert marked("", "new") == "{+new+}"
    assert marked("שלום לך", "שלום לכם") == "שלום [-לך-]{+לכם+}"

    said = as_text(diffed())
    assert "AWR-1-A (gets a new hash): Spelling at level 3." in said
    assert "  anchors[level 3].description: Names the [-wieght-]{+weight+} and stays" in said
    assert "ACT-1-A (keeps its hash)" in said
    assert "  reviewRequired: {+Whether it is clear.+}" in said
    assert "1 item added, 1 removed, 3 changed; 1 keep their hash" in said


def test_a_text_as_long_as_a_book_is_compared_at_once():
    one, other = "word " * 20_000, "else " * 20_000

    assert marked(one, one + "end") == one + "{+end+}"
    assert marked(one, other).startswith("[-word ")


def test_rows_of_a_list_are_compared_by_their_own_name_and_twins_by_their_order():
    old = bank_data(1)
    old["meta"]["changelog"] = [{"itemId": "A", "change": "x"}, {"itemId": "A", "change": "y"}]
    new = copy.deepcopy(old)
    new["meta"]["changelog"][0]["change"] = "z"
    new["meta"]["changelog"].insert(0, {"version": "2", "summary": "s"})

    said = as_text(diff_banks(check_bank(old), check_bank(new)))

    assert "  changelog[itemId A].change: [-x-]{+z+}" in said
    assert "changelog[itemId A, 2]" not in said


def test_a_changed_rubric_reaches_every_item_and_a_changed_pair_is_said():
    old = pair_bank_data(2)
    new = copy.deepcopy(old)
    new["meta"]["rubric"][0]["description"] = "Turns away."
    new["pairs"][0]["need"] = "Both are lonely."

    diff = diff_banks(check_bank(old), check_bank(new))

    assert len(diff.lost) == 4
    assert "rubric[level 0].description: [-Level 0-]{+Turns away+}." in as_text(diff)
    assert "  need: {+Both are lonely.+}" in as_text(diff)


def test_the_same_bank_has_no_diff():
    bank = read_bank(FIXTURES / "demo_bank.json")

    assert as_text(diff_banks(bank, bank)).endswith("hold the same.\n")


def test_the_founding_pairs_keep_their_hash_in_the_bank_that_grew_around_them():
    first = read_bank(FIXTURES / "demo_pairs.json").items
    now = {
        item.code: item.content_hash for item in read_bank(FIXTURES / "unconditionality.json").items
    }

    assert len(first) == 16
    assert all(now[item.code] == item.content_hash for item in first)


@pytest.mark.django_db
def test_export_writes_the_file_and_its_bytes_do_not_change(tmp_path, capsys):
    path = tmp_path / "out.json"
    call_command("bank", "import", str(FIXTURES / "model_index.json"))
    capsys.readouterr()

    call_command("bank", "export", "Compassion Model Index", "1.0-draft", out=path)
    call_command("bank", "export", "Compassion Model Index", "1.0-draft")

    assert path.read_bytes() == (FIXTURES / "model_index.json").read_bytes()
    assert path.read_text() in capsys.readouterr().out


@pytest.mark.django_db
def test_an_unpublished_bank_is_exported_and_compared_only_as_one(capsys):
    data = bank_data(2, name="Kept", bankVersion="1")
    for row in data["items"]:
        row |= {"pool": "kept-1", "exposureStatus": "unpublished"}
    later = copy.deepcopy(data)
    later["meta"]["bankVersion"] = "2"
    later["items"][0]["prompt"] = "A zebra?"
    stored(data)
    stored(later)

    with pytest.raises(CommandError, match=r"2 unpublished items.*Add --unpublished"):
        call_command("bank", "export", "Kept", "1")
    call_command("bank", "diff", "Kept 1", "Kept 2")
    assert "zebra" not in capsys.readouterr().out

    call_command("bank", "diff", "Kept 1", "Kept 2", "--unpublished")
    assert "zebra" in capsys.readouterr().out
    call_command("bank", "export", "Kept", "2", "--unpublished")
    assert json.loads(capsys.readouterr().out) == later


@pytest.mark.django_db
def test_a_stored_bank_and_a_file_are_compared_alike(tmp_path, capsys):
    old, new = two_versions()
    stored(old)
    path = tmp_path / "next.json"
    path.write_text(json.dumps(new))

    call_command("bank", "diff", "Two 1", str(path))

    assert "Two 1 → Two 2" in capsys.readouterr().out
    with pytest.raises(CommandError, match="no bank Three 1; the banks are: Two 1"):
        call_command("bank", "diff", "Three 1", str(path))
    with pytest.raises(CommandError, match=r"no file none\.json"):
        call_command("bank", "diff", "none.json", str(path))


@pytest.mark.django_db
def test_check_prints_a_table_the_findings_and_the_counts(tmp_path, capsys):
    call_command("bank", "check", str(FIXTURES / "model_index.json"))
    said = capsys.readouterr().out

    assert "reading level                  0         1" in said
    assert "warning: AWR-1-A: anchors: read as LIX 54" in said
    assert "all                           93        88      83" in said

    data = bank_data()
    data["items"][0]["anchors"][0]["description"] = "Less than in the other reply."
    path = tmp_path / "bank.json"
    path.write_text(json.dumps(data))
    with pytest.raises(CommandError, match="1 fault to mend"):
        call_command("bank", "check", str(path), "--json")
    told = json.loads(capsys.readouterr().out)[str(path)]
    assert told["checks"]["compares replies"] == {"faults": 1, "warnings": 0}
    assert {"AWR-1-A"} == {f["item"] for f in told["found"] if f["check"] == "compares replies"}
    assert told["counts"]["whole"]["served"] == 3


@pytest.mark.django_db
def test_check_takes_several_banks_stored_ones_too_and_names_what_is_no_bank(tmp_path, capsys):
    stored(bank_data(8, name="Stored", bankVersion="1"))
    broken = tmp_path / "broken.json"
    broken.write_text("{")

    with pytest.raises(CommandError, match="1 fault to mend"):
        call_command("bank", "check", str(broken), bank=["Stored 1"])

    said = capsys.readouterr().out
    assert "not valid JSON" in said
    assert "The wording is checked, and items are counted, once" in said
    assert "Stored 1" in said
    with pytest.raises(CommandError, match="Name a bank file"):
        call_command("bank", "check")
    with pytest.raises(CommandError, match=r"gone\.json cannot be read"):
        call_command("bank", "check", "gone.json")
