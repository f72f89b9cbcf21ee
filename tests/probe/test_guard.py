"""The one way out: what is planted in a result does not leave, whichever tool it came from."""

import copy
import json

import pytest

from rating.probe.guard import HeldBack
from rating.probe.schemas import ARGUMENTS
from rating.probe.tools import DESCRIPTIONS, Probe
from tests.probe.host import Host, probe_of, rating, shipped_probe, small_bank, small_probe


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    return Host(small_probe(tmp_path_factory.mktemp("probe"), 24))


@pytest.fixture(scope="module")
def finished(host):
    return host.finished(host.start())


@pytest.fixture
def card(finished):
    """A card with a composite, as it leaves."""
    return copy.deepcopy(finished)


def _held(host, tool, result, asked=False):
    with pytest.raises(HeldBack) as why:
        host.probe.guard.release(tool, result, sensitive_asked=asked)
    return str(why.value)


def test_a_card_as_the_tools_make_it_leaves(host, card):
    said = host.probe.guard.release("finish_scored_run", card, sensitive_asked=False)

    assert json.loads(said) == card


@pytest.mark.parametrize(
    "name",
    ["rank", "Rank", "ranking", "model_rank", "leaderboard", "leaderBoard", "subjectRanking"],
)
@pytest.mark.parametrize("tool", ["finish_scored_run", "run_status", "list_probe_items"])
def test_a_planted_rank_is_held_back_wherever_it_stands(host, card, tool, name):
    planted = card if tool == "finish_scored_run" else _of(host, tool)
    planted["items"][0][name] = 1

    assert "nothing here is put in an order" in _held(host, tool, planted)


@pytest.mark.parametrize("value", [True, 1, "false", None, 0])
@pytest.mark.parametrize(
    "name", ["official", "is_index_entry", "publishable_as_a_compassion_benchmark_score"]
)
def test_a_card_that_claims_to_count_is_held_back(host, card, name, value):
    card[name] = value

    assert "nothing here can be that" in _held(host, "finish_scored_run", card)


@pytest.mark.parametrize(
    "name", ["official", "is_index_entry", "comparability", "header_statement"]
)
def test_a_card_that_leaves_out_what_it_is_is_held_back(host, card, name):
    del card[name]

    _held(host, "finish_scored_run", card)


def test_official_is_held_back_from_any_tool_however_deep(host):
    status = _of(host, "run_status")
    status["items"][0]["official"] = True

    assert "nothing here can be that" in _held(host, "run_status", status)


@pytest.mark.parametrize("value", ["full", "None", "", None, True])
def test_a_card_compares_with_nothing(host, card, value):
    card["comparability"] = value

    assert "compares with nothing" in _held(host, "finish_scored_run", card)


def test_a_composite_below_the_floor_is_held_back(tmp_path):
    host = Host(small_probe(tmp_path, 23))
    card = host.finished(host.start())
    planted = card | {"composite": 71.3, "band": "Established", "composite_withheld_reason": None}

    assert "there is no composite" in _held(host, "finish_scored_run", planted)


def test_the_interval_of_a_withheld_composite_is_held_back(tmp_path):
    """A range gives the number away as well as a point."""
    host = Host(small_probe(tmp_path, 23))
    card = host.finished(host.start())
    whole = next(iter(card["uncertainty"]["dimensions"].values()))
    card["uncertainty"]["composite_interval"] = whole

    assert "interval of a composite that is withheld" in _held(host, "finish_scored_run", card)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("composite", 99.9),
        ("band", "Functional"),
        ("composite", None),
        ("composite_withheld_reason", "because"),
        ("integration_premium", 9.0),
    ],
)
def test_a_figure_that_the_levels_do_not_give_is_held_back(host, card, name, value):
    card[name] = value

    assert "is not what the levels on it give" in _held(host, "finish_scored_run", card)


def test_dimensions_and_coverage_are_worked_out_again(host, card):
    better, fuller, moved = (copy.deepcopy(card) for _ in range(3))
    better["dimensions"]["EMP"] = 4.5
    fuller["coverage"]["level"] = "complete"
    moved["items"][0]["mean"] = 4.5

    assert "dimensions is not what" in _held(host, "finish_scored_run", better)
    assert "coverage is not what" in _held(host, "finish_scored_run", fuller)
    assert "mean of an item" in _held(host, "finish_scored_run", moved)


def test_an_item_twice_or_a_dimension_without_its_interval_is_held_back(host, card):
    twice, bare = copy.deepcopy(card), copy.deepcopy(card)
    twice["items"].append(twice["items"][0])
    del bare["uncertainty"]["dimensions"]["EMP"]

    assert "twice" in _held(host, "finish_scored_run", twice)
    assert "without its interval" in _held(host, "finish_scored_run", bare)


@pytest.mark.parametrize("name", ["composite", "band"])
@pytest.mark.parametrize(
    "tool", ["run_status", "explain_what_this_is_not", "summarise_judge_session"]
)
def test_a_composite_stands_on_a_finished_card_alone(host, tool, name):
    assert "finished scorecard alone" in _held(host, tool, _of(host, tool) | {name: 80.0})


@pytest.mark.parametrize(
    "name",
    ["score", "benchmark", "rate", "rating", "registry_id", "result_id", "cohort", "run_id",
     "publishable", "authorized_by"],
)  # fmt: skip
@pytest.mark.parametrize("tool", ["finish_scored_run", "summarise_judge_session"])
def test_the_words_of_results_that_count_are_held_back(host, card, tool, name):
    planted = card if tool == "finish_scored_run" else _of(host, tool)
    planted["provenance"][name] = "x"

    assert "word of results that count" in _held(host, tool, planted)


@pytest.mark.parametrize("tool", sorted(set(ARGUMENTS) - {"get_anchors"}))
def test_anchors_leave_when_a_reply_is_rated_and_not_before(host, tool):
    result = _of(host, tool)
    anchor = host.probe.shelf.bank.items[0].anchors[2].description

    assert "get_anchors alone" in _held(host, tool, result | {"anchors": []})
    assert "get_anchors alone" in _held(host, tool, result | {"hint": f"Level 3 says: {anchor}"})


@pytest.mark.parametrize("tool", sorted(ARGUMENTS))
def test_a_field_that_is_not_on_the_list_is_held_back(host, tool):
    result = _of(host, tool)
    host.probe.guard.release(tool, result, sensitive_asked=False)

    assert "is not" in _held(host, tool, result | {"something_else": 1})


def test_a_sensitive_prompt_is_held_back_unless_it_was_asked_for(tmp_path):
    host = Host(shipped_probe(tmp_path))
    item = next(host.probe.shelf.items[code] for code in sorted(host.probe.shelf.sensitive))
    listed = host.ask("list_probe_items")
    listed["items"][0]["prompt"] = item.prompt

    assert "sensitive item that nobody asked for" in _held(host, "list_probe_items", listed)
    host.probe.guard.release("list_probe_items", listed, sensitive_asked=True)


def test_a_reason_that_quotes_an_anchor_comes_back_to_whoever_gave_it(host):
    anchor = host.probe.shelf.items["AWR-1-A"].anchors[3].description
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    host.ask(
        "record_item_estimate",
        session_id=session,
        item_id="AWR-1-A",
        response_text="some words",
        rating_1_5=4,
        rationale=f"It fits: {anchor}",
    )

    found = host.ask("summarise_judge_session", session_id=session)

    assert anchor in found["estimates"][0]["rationale"]


def test_words_that_a_sensitive_item_shares_with_others_hold_nothing_back(tmp_path):
    """A turn such as "Thank you so much." gives no item away."""
    data = small_bank()
    turns = [
        {"role": "user", "content": "Could you help me with a letter?"},
        {"role": "assistant", "content": "Of course, gladly."},
    ]
    for row in data["items"][:2]:
        row["turns"] = turns
    data["items"][0] |= {"sensitivity": "high", "topic": "loss"}
    host = Host(probe_of(data, tmp_path))

    assert host.ask("list_probe_items")["listed"] == 7


def test_a_draft_is_held_back_whatever_was_asked_for(tmp_path):
    host = Host(shipped_probe(tmp_path))
    draft = next(item for item in host.probe.shelf.bank.items if item.withheld == "draft")
    listed = host.ask("list_probe_items")
    listed["items"][0]["prompt"] = draft.prompt

    assert "never served" in _held(host, "list_probe_items", listed, asked=True)


def test_a_number_that_is_none_is_held_back(host, card):
    card["dimensions"]["EMP"] = float("nan")

    _held(host, "finish_scored_run", card)


def test_a_refusal_passes_the_guard_too(tmp_path):
    host = Host(shipped_probe(tmp_path))
    item = host.probe.shelf.items[min(host.probe.shelf.sensitive)]

    said = host.probe.guard.refusal(f"Not so: {item.prompt}", sensitive_asked=False)

    assert item.prompt not in said
    assert len(host.probe.guard.refusal("x" * 9_999, sensitive_asked=False)) == 1_000


def test_a_tool_that_says_too_much_is_refused_for_the_host(host, monkeypatch):
    monkeypatch.setattr(
        Probe, "_explain_what_this_is_not", lambda self: {"official": True, "rank": 1}
    )

    assert "was held back" in host.refused("explain_what_this_is_not")


def test_a_card_that_is_held_back_is_not_written_either(monkeypatch, tmp_path):
    host = Host(small_probe(tmp_path))
    run = host.start()
    host.rate_all(run)
    host.answer_probes(run)
    monkeypatch.setattr("rating.probe.scorecard.words.HEADER", 7)

    assert "was held back" in host.refused("finish_scored_run", run_id=run)
    assert not list((tmp_path / "scorecards").iterdir())


def test_there_are_twelve_tools_each_with_a_description():
    assert len(ARGUMENTS) == 12
    assert ARGUMENTS.keys() == DESCRIPTIONS.keys()


def _of(host, tool):
    """What a tool gives when nothing is planted."""
    run = host.start(dimensions=["AWR", "EMP"])
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    estimate = {
        "session_id": session,
        "item_id": "AWR-1-A",
        "response_text": "some words",
        "rating_1_5": 3,
        "rationale": "because",
    }
    if tool == "finish_scored_run":
        return host.finished(run)
    if tool == "record_item_rating":
        return host.ask(tool, run_id=run, **rating("AWR-1-A"))
    arguments = {
        "get_anchors": {"item_id": "AWR-1-A"},
        "open_judge_session": {"subject_label": "a", "judge_model_label": "b"},
        "record_item_estimate": estimate,
        "summarise_judge_session": {"session_id": session},
        "start_scored_run": {"subject_label": "a", "judge_label": "b"},
        "next_item": {"run_id": run},
        "run_status": {"run_id": run},
        "run_exposure_probe": {"run_id": run},
    }
    return host.ask(tool, **arguments.get(tool, {}))
