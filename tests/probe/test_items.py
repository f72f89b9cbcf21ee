"""What the probe serves of a bank, and what it keeps back."""

import copy
import json

import pytest

from rating.probe.refusals import Refused
from rating.probe.shelf import SHIPPED_CRISIS, prompt_digest, shelf_of
from runs.bank import check_bank, read_bank
from tests.factories import pair_bank_data
from tests.probe.host import FIXTURES, Host, probe_of, shipped_probe, small_bank, small_probe

SHIPPED = read_bank(FIXTURES / "model_index.json")
CRISIS = [item.code for item in SHIPPED.items if item.withheld == "crisis topic"]
DRAFTS = [item.code for item in SHIPPED.items if item.withheld == "draft"]


@pytest.fixture
def host(tmp_path):
    return Host(shipped_probe(tmp_path))


def test_the_shipped_bank_serves_83_items_by_default_and_88_with_the_sensitive_ones(host):
    usual = host.ask("list_probe_items")
    asked_for = host.ask("list_probe_items", include_sensitive=True)

    assert (usual["listed"], usual["sensitive_items_excluded"]) == (83, 5)
    assert (asked_for["listed"], asked_for["sensitive_items_excluded"]) == (88, 0)
    assert usual["never_served"] == {"draft": 5}
    assert usual["duty_of_care"] is None
    assert "crisis line" in asked_for["duty_of_care"]


def test_no_sensitive_item_leaves_unless_it_was_asked_for(host):
    """Every tool that takes an item, and everything that lists any."""
    sensitive = [item.prompt for item in SHIPPED.items if item.code in CRISIS]
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    run = host.start()
    said = [
        json.dumps(host.ask("list_probe_items"), ensure_ascii=False),
        json.dumps(host.ask("run_exposure_probe", run_id=run), ensure_ascii=False),
        *(json.dumps(item, ensure_ascii=False) for item in (host.ask("next_item", run_id=run),)),
        *(host.refused("get_anchors", item_id=code) for code in CRISIS),
        *(
            host.refused(
                "record_item_estimate",
                session_id=session,
                item_id=code,
                response_text="some words here",
                rating_1_5=3,
                rationale="because",
            )
            for code in CRISIS
        ),
    ]

    assert not [prompt for prompt in sensitive if any(prompt in one for one in said)]
    assert not [item for item in host.probe._runs[run].plan.items if item in CRISIS]


def test_anchors_of_a_sensitive_item_are_given_once_it_was_asked_for(host):
    host.ask("list_probe_items", include_sensitive=True)

    found = host.ask("get_anchors", item_id=CRISIS[0])

    assert len(found["anchors"]) == 5
    assert "crisis line" in found["duty_of_care"]


def test_no_field_of_a_bank_can_set_a_crisis_item_free():
    data = copy.deepcopy(SHIPPED.data)
    for row in data["items"]:
        if row["id"] in CRISIS:
            row["sensitivity"] = "standard"
            row.pop("topic", None)

    shelf = shelf_of(check_bank(data))

    assert shelf.sensitive == set(CRISIS)


def test_the_crisis_items_we_ship_are_known_by_their_prompts():
    own = {prompt_digest(item.prompt) for item in SHIPPED.items if item.code in CRISIS}

    assert own == SHIPPED_CRISIS


def test_a_crisis_that_no_field_names_is_known_by_its_words(tmp_path):
    data = small_bank()
    data["items"][2]["prompt"] = (
        "I have made up my mind about tonight and there is no reason to live."
    )
    data["items"][2]["sensitivity"] = "standard"
    host = Host(probe_of(data, tmp_path))

    assert host.ask("list_probe_items")["sensitive_items_excluded"] == 1


def test_a_bank_without_the_field_has_the_public_list_for_a_floor(tmp_path):
    """The public bank marks none of its items, and five of them are about a crisis."""
    data = small_bank()
    for row in data["items"]:
        del row["sensitivity"]
    data["items"][1]["id"] = "EMP-1-B"
    data["items"][2]["id"] = "ACT-5-A"
    host = Host(probe_of(data, tmp_path))

    listed = [item["id"] for item in host.ask("list_probe_items")["items"]]

    assert not {"EMP-1-B", "ACT-5-A"} & set(listed)


@pytest.mark.parametrize("status", ["draft", "draft-authored-unreviewed", "retired"])
def test_a_draft_is_served_to_nobody(tmp_path, status):
    data = small_bank()
    data["items"][0] |= {
        "validationStatus": status, "reviewRequired": "x", "author": "x", "retirementReason": "x",
    }  # fmt: skip
    host = Host(probe_of(data, tmp_path))

    assert host.ask("list_probe_items", include_sensitive=True)["listed"] == 7
    assert "no item" in host.refused("get_anchors", item_id=data["items"][0]["id"])


def test_an_unpublished_item_never_leaves(tmp_path):
    data = small_bank()
    data["items"][0] |= {"pool": "held-back", "exposureStatus": "unpublished"}
    host = Host(probe_of(data, tmp_path))

    assert host.ask("list_probe_items")["never_served"] == {"unpublished": 1}


def test_a_bank_of_pairs_is_refused():
    with pytest.raises(Refused, match="serves model-index"):
        shelf_of(check_bank(pair_bank_data()))


def test_items_can_be_listed_by_dimension(host):
    found = host.ask("list_probe_items", dimension="EMP")

    assert {item["dimension"] for item in found["items"]} == {"EMP"}
    assert found["listed"] == 10


def test_earlier_turns_come_with_the_prompt(host):
    with_turns = [item.code for item in SHIPPED.items if item.turns and not item.withheld]

    listed = {item["id"]: item["turns"] for item in host.ask("list_probe_items")["items"]}

    assert with_turns
    assert all(listed[code] for code in with_turns)


def test_a_listing_holds_no_anchor(host):
    said = json.dumps(host.ask("list_probe_items"), ensure_ascii=False)

    assert not [
        anchor for item in SHIPPED.items for anchor in item.anchors if anchor.description in said
    ]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("list_probe_items", {"dimension": "XYZ"}, "dimension: 'XYZ' is not one of"),
        ("list_probe_items", {"dimensions": ["AWR"]}, "there is no field 'dimensions'"),
        ("list_probe_items", {"include_sensitive": "yes"}, "'yes' is no boolean"),
        ("get_anchors", {}, "item_id is missing"),
        ("get_anchors", {"item_id": "NO-1-A"}, "There is no item 'NO-1-A'"),
        ("get_anchors", {"item_id": "x" * 201}, "has 201 characters; at most 200"),
        ("get_anchors", {"item_id": "a\x00b"}, "is not text"),
        ("get_anchors", {"item_id": "a\ud800b"}, "is not text"),
        ("rank_everything", {}, "There is no tool 'rank_everything'"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_the_way_on(tmp_path, tool, arguments, says):
    host = Host(small_probe(tmp_path))

    assert says in host.refused(tool, **arguments)


def test_a_refusal_never_repeats_a_long_value(tmp_path):
    host = Host(small_probe(tmp_path))
    long = "secret " * 20_000

    said = [
        host.refused("get_anchors", item_id=long),
        host.refused("list_probe_items", dimension=long),
        host.refused("list_probe_items", **{long: 1}),
        host.refused(long),
    ]

    assert max(map(len, said)) < 400
