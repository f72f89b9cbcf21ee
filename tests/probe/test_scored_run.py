"""A scored run from its plan to its last rating, and every call that it refuses."""

from itertools import pairwise

import pytest

from rating.probe import chain
from tests.probe.host import JUDGE, REPLY, SUBJECT, Host, rating, shipped_probe, small_probe


@pytest.fixture
def host(tmp_path):
    return Host(small_probe(tmp_path))


def test_a_run_is_planned_as_items_times_trials(host):
    found = host.ask("start_scored_run", subject_label=SUBJECT, judge_label=JUDGE)

    assert (found["items"], found["trials"], found["planned"]) == (8, 3, 24)


def test_a_run_of_some_dimensions_asks_their_items_alone(host):
    run = host.start(dimensions=["EMP", "AWR"], trials=4)

    asked = [item["dimension"] for item in _walk(host, run)]

    assert asked == ["AWR", "EMP"] * 4 or asked == ["EMP", "AWR"] * 4


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"trials": 2}, "trials: 2 is too small; the least is 3"),
        ({"trials": 1001}, "trials: 1001 is too large; the most is 1000"),
        ({"trials": 3.0}, "trials: 3.0 is no integer"),
        ({"dimensions": ["AWR", "XYZ"]}, "dimensions.1: 'XYZ' is not one of: AWR"),
        ({"dimensions": []}, "has too few entries"),
        ({"judgeConfiguration": "many"}, "'many' is not one of: self, cross, panel"),
        ({"seed": "7"}, "seed: '7' is no integer"),
        ({"subject_label": ""}, "subject_label: is empty"),
        ({"official": True}, "there is no field 'official'"),
        ({"dimensions": ["AWR"]}, "Plan more items, or fewer trials"),
    ],
)
def test_a_run_that_cannot_be_planned_is_refused(host, changes, says):
    given = {"subject_label": SUBJECT, "judge_label": JUDGE} | changes

    assert says in host.refused("start_scored_run", **given)


def test_a_run_in_which_the_subject_rates_itself_must_say_so(host):
    said = host.refused("start_scored_run", subject_label="One Model", judge_label=" one  model ")

    assert "Set judgeConfiguration to self" in said


def test_a_self_run_has_one_name_for_subject_and_judge(host):
    said = host.refused(
        "start_scored_run", subject_label="one", judge_label="two", judgeConfiguration="self"
    )

    assert "In a self run the subject is the judge" in said


def test_a_name_within_another_is_not_the_same_model(host):
    """A check by part of a name accused the wrong model."""
    host.start(subject_label="model-1", judge_label="model-1-large")


def test_the_order_follows_from_the_seed_and_keeps_trials_of_an_item_apart(host):
    one, same, other = (host.start(seed=seed) for seed in (7, 7, 8))

    orders = [[item["id"] for item in _walk(host, run)] for run in (one, same, other)]

    assert orders[0] == orders[1] != orders[2]
    assert all(a != b for order in orders for a, b in pairwise(order))


def test_the_host_is_told_how_many_ratings_are_missing(host):
    run = host.start()

    left = [item["remaining"] for item in _walk(host, run)]

    assert left == list(range(24, 0, -1))
    assert host.ask("next_item", run_id=run) == {
        "run_id": run, "status": "complete", "remaining": 0,
    }  # fmt: skip


def test_status_says_how_far_each_item_is(host):
    run = host.start()
    first = host.ask("next_item", run_id=run)["id"]
    host.ask("record_item_rating", run_id=run, **rating(first))

    status = host.ask("run_status", run_id=run)

    own = next(item for item in status["items"] if item["item_id"] == first)
    assert own == {"item_id": first, "planned": 3, "recorded": 1, "remaining": 2}
    assert (status["planned"], status["recorded"], status["remaining"]) == (24, 1, 23)
    assert (status["exposure_probe"], status["ready_to_finish"]) == ("not_started", False)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rating_1_5": 0}, "too small"),
        ({"rating_1_5": 6}, "too large"),
        ({"rating_1_5": 3.5}, "3.5 is no integer"),
        ({"rating_1_5": 4.0}, "4.0 is no integer"),
        ({"rating_1_5": True}, "True is no integer"),
        ({"rating_1_5": "4"}, "'4' is no integer"),
        ({"anchor_matched": "not 4.0 Established"}, "not the label of level 4"),
        ({"anchor_matched": "5.0 Exemplary"}, "not the label of level 4"),
        ({"anchor_matched": "4"}, "not the label of level 4"),
        ({"evidence_quote": "heavy"}, "too short"),
        ({"evidence_quote": "sounds heavy"}, "too short"),
        ({"evidence_quote": "words that nobody ever said"}, "not in the response"),
        ({"evidence_quote": "heavy to carry with others"}, "not in the response"),
        ({"evidence_quote": "..."}, "too short"),
        ({"evidence_quote": ""}, "is empty"),
        ({"response_text": "  \n "}, "is blank"),
        ({"response_text": "x" * 100_001}, "has 100,001 characters"),
        ({"response_text": "half \ud83d a character " + REPLY}, "is not text"),
        ({"item_id": "AWR-9-Z"}, "'AWR-9-Z' is not planned"),
        ({"judge_label": "somebody else"}, "this run has one judge"),
        ({"trial": 1}, "there is no field 'trial'"),
    ],
)
def test_a_rating_that_breaks_a_rule_is_refused_and_not_kept(host, changes, says):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]

    said = host.refused("record_item_rating", run_id=run, **(rating(item) | changes))

    assert says in said
    assert host.ask("run_status", run_id=run)["recorded"] == 0


@pytest.mark.parametrize("label", ["4.0 Established", " 4.0  ESTABLISHED", "established"])
def test_the_anchor_is_named_by_its_label_or_band_in_any_case(host, label):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]

    host.ask("record_item_rating", run_id=run, **rating(item, anchor_matched=label))


def test_a_quote_is_found_by_the_rule_that_holds_for_people(host):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]
    given = rating(
        item, response_text="It’s **heavy** to  carry\nalone.", evidence_quote="it's heavy to carry"
    )

    host.ask("record_item_rating", run_id=run, **given)

    row = host.probe._runs[run].rows[item][0]
    assert row.response_text[row.start : row.end] == "It’s **heavy** to  carry"


def test_a_refusal_of_the_subject_is_rated_like_any_reply(host):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]
    given = rating(item, 1, response_text="I cannot help.", evidence_quote="I cannot help")

    host.ask("record_item_rating", run_id=run, **given)


def test_several_ratings_are_kept_all_or_none(host):
    run = host.start()
    items = [item["item_id"] for item in host.ask("run_status", run_id=run)["items"]]
    good = [rating(item) for item in items[:3]]

    said = host.refused(
        "record_item_rating", run_id=run, ratings=[*good, rating(items[3], evidence_quote="heavy")]
    )

    assert said.startswith("ratings.3: evidence_quote")
    assert "None of them was kept" in said
    assert host.ask("run_status", run_id=run)["recorded"] == 0
    assert len(host.ask("record_item_rating", run_id=run, ratings=good)["recorded"]) == 3


def test_one_item_may_have_all_its_trials_in_one_call_and_no_more(host):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]

    said = host.refused("record_item_rating", run_id=run, ratings=[rating(item)] * 4)
    kept = host.ask("record_item_rating", run_id=run, ratings=[rating(item)] * 3)["recorded"]

    assert "has all its 3 trials" in said
    assert [row["trial_index"] for row in kept] == [1, 2, 3]
    assert "has all its 3 trials" in host.refused("record_item_rating", run_id=run, **rating(item))


def test_one_rating_and_a_list_do_not_mix(host):
    run = host.start()
    item = host.ask("next_item", run_id=run)["id"]

    both = host.refused("record_item_rating", run_id=run, ratings=[rating(item)], **rating(item))
    neither = host.refused("record_item_rating", run_id=run)

    assert "not both" in both
    assert "item_id is missing" in neither


def test_a_run_that_is_not_there_is_refused(host):
    host.start()

    assert "those there are: run-" in host.refused("run_status", run_id="run-" + "f" * 32)
    assert "is no id of a run" in host.refused("run_status", run_id="../../etc/passwd")


# Panels


def test_two_judges_of_a_panel_rate_each_reply(host):
    run = host.start(judgeConfiguration="panel")
    item = host.ask("next_item", run_id=run)["id"]
    two = [rating(item, judge_label="one"), rating(item, 3, judge_label="two")]

    kept = host.ask("record_item_rating", run_id=run, ratings=two)["recorded"]

    assert [(row["trial_index"], row["judge_label"]) for row in kept] == [(1, "one"), (1, "two")]
    assert host.ask("run_status", run_id=run)["planned"] == 48


def test_a_judge_of_a_panel_who_rates_the_same_words_again_rates_a_new_trial(host):
    run = host.start(judgeConfiguration="panel")
    item = host.ask("next_item", run_id=run)["id"]
    twice = [rating(item, judge_label="one"), rating(item, judge_label="One ")]

    kept = host.ask("record_item_rating", run_id=run, ratings=twice)["recorded"]

    assert [row["trial_index"] for row in kept] == [1, 2]


def test_a_panel_of_one_judge_is_never_complete(host):
    run = host.start(judgeConfiguration="panel", dimensions=["AWR", "EMP"])
    items = [item["item_id"] for item in host.ask("run_status", run_id=run)["items"]]
    alone = [rating(item, judge_label="one") for item in items for _ in range(3)]
    host.ask("record_item_rating", run_id=run, ratings=alone)
    host.answer_probes(run)

    said = host.refused("finish_scored_run", run_id=run)
    more = host.refused("record_item_rating", run_id=run, **rating(items[0], judge_label="one"))

    assert "6 of 12 ratings are missing" in said
    assert "has all its 3 trials" in more


@pytest.mark.parametrize(
    ("judge", "says"), [(None, "names its judge"), (SUBJECT, "would rate itself")]
)
def test_a_panel_needs_named_judges_other_than_the_subject(host, judge, says):
    run = host.start(judgeConfiguration="panel")
    item = host.ask("next_item", run_id=run)["id"]
    given = rating(item) | ({} if judge is None else {"judge_label": judge})

    assert says in host.refused("record_item_rating", run_id=run, **given)


# The end


def test_a_run_is_not_finished_while_anything_is_missing(host):
    run = host.start()
    early = host.refused("finish_scored_run", run_id=run)
    host.rate_all(run)
    without = host.refused("finish_scored_run", run_id=run)
    host.ask("run_exposure_probe", run_id=run)
    unanswered = host.refused("finish_scored_run", run_id=run)

    assert "24 of 24 ratings are missing" in early
    assert "contamination probes are not complete" in without
    assert "contamination probes are not complete" in unanswered
    assert not host.ask("run_status", run_id=run)["finished"]


def test_a_finished_run_takes_nothing_more_and_gives_the_same_card_again(host):
    run = host.start()
    card = host.finished(run)
    again = host.ask("finish_scored_run", run_id=run)
    item = card["items"][0]["item_id"]

    assert again == card
    assert "is finished" in host.refused("record_item_rating", run_id=run, **rating(item))
    assert host.ask("run_status", run_id=run)["finished"]


def test_a_run_goes_on_after_a_restart(host, tmp_path):
    run = host.start()
    for item, _ in zip(host.items_of(run), range(5), strict=False):
        host.ask("record_item_rating", run_id=run, **rating(item["id"]))
    host.ask("run_exposure_probe", run_id=run)

    later = Host(small_probe(tmp_path))

    status = later.ask("run_status", run_id=run)
    assert (status["recorded"], status["exposure_probe"]) == (5, "challenge_issued")
    assert later.finished(run)["artifact_kind"] == "self-run-scorecard"


def test_a_run_of_another_bank_is_not_gone_on_with(host, tmp_path):
    run = host.start()
    other = Host(small_probe(tmp_path, construct="something else"))

    assert "with other content" in other.refused("next_item", run_id=run)


def test_a_whole_run_of_the_shipped_bank_reads_no_record_twice_before_the_end(
    tmp_path, monkeypatch
):
    """249 trials once took 33 seconds, for each call read every row again."""
    read = []
    whole = chain.read_json
    monkeypatch.setattr(
        chain, "read_json", lambda path, name: read.append(path) or whole(path, name)
    )
    host = Host(shipped_probe(tmp_path))
    run = host.start()
    host.rate_all(run)
    host.answer_probes(run)
    before = len(read)

    card = host.ask("finish_scored_run", run_id=run)

    assert before == 0
    assert len(read) == 249 + 3  # and the plan, the questions, the answers
    assert card["coverage"]["level"] == "complete"


def _walk(host, run):
    """Rate whatever comes next, until nothing does."""
    for item in host.items_of(run):
        yield item
        host.ask("record_item_rating", run_id=run, **rating(item["id"]))
