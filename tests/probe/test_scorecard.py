"""What a finished run amounts to, held to one that was worked by hand."""

import json
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from itertools import count
from pathlib import Path

import pytest

from rating.probe import words
from rating.probe.rated import JUDGES
from rating.probe.schemas import FEWEST_TRIALS
from rating.probe.scorecard import JudgeEstimate, scorecard_of
from rating.stats.resampling import TRIAL_REPLICATES
from rating.stats.scores import FEWEST_ITEMS, MOST_FAILED, ORDER
from runs.taxonomy import DIMENSIONS
from tests.probe.host import JUDGE, SUBJECT, Host, rating, small_probe

WORKED = json.loads((Path(__file__).parent / "worked_card.json").read_text())


def worked_host(folder):
    """Three items in each dimension, and the levels of the worked card in the order of trials."""
    host = Host(small_probe(folder, 24))
    listed = host.ask("list_probe_items")["items"]
    levels = {}
    for code in ORDER:
        own = sorted(item["id"] for item in listed if item["dimension"] == code)
        levels |= dict(zip(own, WORKED["levels"][code], strict=True))
    return host, lambda item, trial: levels[item][trial - 1]


@pytest.fixture
def worked(tmp_path):
    host, level = worked_host(tmp_path)
    return host.finished(host.start(seed=7, temperature=0.7), level=level)


def test_a_scripted_run_gives_the_card_that_was_worked_by_hand(worked):
    assert worked["dimensions"] == WORKED["dimensions"]
    assert worked["composite"] == WORKED["composite"]
    assert worked["band"] == WORKED["band"]
    assert worked["integration_premium"] == WORKED["integration_premium"]
    assert worked["composite_withheld_reason"] is None
    assert worked["dimension_item_counts"] == dict.fromkeys(ORDER, 3)
    assert worked["coverage"] == {
        "level": "dimension-only",
        "items_rated": 24,
        "subdimensions_rated": 8,
        "subdimensions_total": 40,
    }


def test_every_item_stands_with_its_levels_mean_and_spread(worked):
    of = {code: [one for one in worked["items"] if one["dimension"] == code] for code in ORDER}

    assert [one["mean"] for one in of["INT"]] == WORKED["item_means"]["INT"]
    assert [one["mean"] for one in of["AWR"]] == WORKED["item_means"]["AWR"]
    assert [one["levels"] for one in of["ACT"]] == WORKED["levels"]["ACT"]
    assert {one["spread"] for one in of["ACT"]} == {WORKED["spread_of_5_4_3"]}


def test_every_dimension_has_an_interval_or_the_reason_for_none(worked):
    ranges = worked["uncertainty"]["dimensions"]

    assert list(ranges) == list(ORDER)
    for code in ("EMP", "BND", "SYS", "AWR", "EQU"):  # no item of theirs moved
        assert ranges[code]["low"] is None
        assert not ranges[code]["sufficient"]
        assert "same mean" in ranges[code]["reason"]
    for code in ("ACT", "ACC", "INT"):
        assert ranges[code]["low"] < WORKED["dimensions"][code] < ranges[code]["high"]
        assert ranges[code]["sufficient"]


def test_the_interval_of_a_dimension_is_that_of_drawing_its_trials_anew(worked):
    """ACT: nine draws of 3, 4 or 5. Their sum is counted out, and its ends are the interval's."""
    ways = {0: Fraction(1)}
    for _ in range(9):
        after = {}
        for total, chance in ways.items():
            for level in (3, 4, 5):
                after[total + level] = after.get(total + level, 0) + chance / 3
        ways = after

    def quantile(share):
        reached = Fraction(0)
        for total in sorted(ways):
            reached += ways[total]
            if reached >= share:
                return total / 9
        raise AssertionError

    found = worked["uncertainty"]["dimensions"]["ACT"]

    assert found["low"] == pytest.approx(quantile(Fraction(1, 40)), abs=0.12)  # a step is 0.11
    assert found["high"] == pytest.approx(quantile(Fraction(39, 40)), abs=0.12)


def test_the_interval_of_the_composite_holds_it_and_is_drawn_from_the_run(worked):
    found = worked["uncertainty"]["composite_interval"]

    assert found["low"] < worked["composite"] < found["high"]
    assert (found["fewest_trials"], found["sufficient"]) == (3, True)


def test_a_composite_is_withheld_below_three_items_in_every_dimension(tmp_path):
    host = Host(small_probe(tmp_path, 23))

    card = host.finished(host.start())

    assert card["composite"] is card["band"] is card["integration_premium"] is None
    assert card["uncertainty"]["composite_interval"] is None
    assert "INT has 2" in card["composite_withheld_reason"]
    assert card["coverage"]["level"] == "insufficient"
    assert list(card["uncertainty"]["dimensions"]) == list(ORDER)


def test_a_run_of_some_dimensions_has_no_composite(tmp_path):
    host = Host(small_probe(tmp_path, 24))

    card = host.finished(host.start(dimensions=["AWR", "EMP"]))

    assert list(card["dimensions"]) == ["AWR", "EMP"]
    assert card["composite"] is None
    assert card["provenance"]["dimensions_requested"] == ["AWR", "EMP"]


def test_a_card_says_what_it_is(worked):
    assert worked["artifact_kind"] == "self-run-scorecard"
    assert worked["official"] is False
    assert worked["is_index_entry"] is False
    assert worked["publishable_as_a_compassion_benchmark_score"] is False
    assert worked["comparability"] == "none"
    assert len(worked["what_an_official_score_requires"]) == 8


def test_a_card_says_where_it_comes_from(worked):
    told = worked["provenance"]

    assert (told["subject_label"], told["judge_label"]) == (SUBJECT, JUDGE)
    assert told["subject_label_self_reported"] is told["judge_label_self_reported"] is True
    assert (told["judge_configuration"], told["trials_per_item"]) == ("cross", 3)
    assert (told["seed"], told["temperature"]) == (7, 0.7)
    assert len(told["item_hashes"]) == 24
    assert told["records"] == 72 + 4  # and the plan, the questions, the answers, the end
    assert told["started_at"] < told["finished_at"]


def test_both_contamination_probes_stand_on_the_card(worked):
    """One half was once dropped as the run was finished."""
    assert worked["contamination"]["recall"]["asked"] == 6  # words and continuation of three
    assert worked["contamination"]["identification"]["asked"] == 6


def test_the_counts_told_in_words_are_those_of_the_code():
    """Counts in prose went stale before."""
    subdimensions = sum(len(one.subdimensions) for one in DIMENSIONS.values())

    assert (FEWEST_ITEMS, len(ORDER), subdimensions) == (3, 8, 40)
    assert "three rated items in each of the eight dimensions" in words.COVERAGE
    assert "all forty subdimensions" in words.COVERAGE
    assert f"{TRIAL_REPLICATES:,} draws" in words.TRIALS
    assert f"more than {MOST_FAILED:.0%}" in " ".join(words.OFFICIAL_NEEDS)
    assert (FEWEST_TRIALS, JUDGES["panel"]) == (3, 2)


def test_a_copy_of_the_card_lies_in_the_folder(worked, tmp_path):
    run = worked["provenance"]["local_run_reference"]

    assert json.loads((tmp_path / "scorecards" / f"{run}.json").read_text()) == worked


def test_a_card_cannot_be_official(tmp_path):
    host, level = worked_host(tmp_path)
    run = host.start()
    host.finished(run, level=level)
    card = scorecard_of(host.probe._runs[run], host.probe.shelf)

    with pytest.raises(TypeError):
        replace(card, official=True)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        card.official = True
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(card, "official", True)
    assert card.figures()["official"] is False


def test_two_judges_of_one_reply_are_not_two_trials(tmp_path):
    """They widen nothing: the interval draws replies, each at the mean of its two levels."""
    host = Host(small_probe(tmp_path, 24))
    run = host.start(judgeConfiguration="panel")
    for item in host.items_of(run):
        text = f"{rating('x')['response_text']} Trial {item['trial_index']}."
        two = [
            rating(item["id"], level, judge_label=judge, response_text=text)
            for judge, level in (("one", 3), ("two", 5))
        ]
        host.ask("record_item_rating", run_id=run, ratings=two)
    host.answer_probes(run)

    card = host.ask("finish_scored_run", run_id=run)

    assert card["provenance"]["trials_per_item"] == 3
    assert all(len(one["levels"]) == 6 for one in card["items"])
    assert {one["low"] for one in card["uncertainty"]["dimensions"].values()} == {None}
    panel = card["judge_panel"]
    assert panel["judge_labels"] == ["one", "two"]
    assert (panel["replies"], panel["exact_agreement"], panel["two_or_more_apart"]) == (72, 0, 72)
    assert {one["largest_minus_smallest_judge_mean"] for one in panel["items"]} == {2.0}


@pytest.mark.parametrize(
    ("configuration", "judge", "says"),
    [
        ("self", SUBJECT, "upper bound"),
        ("cross", JUDGE, "One model rated"),
        ("panel", JUDGE, "Two"),
    ],
)
def test_each_configuration_has_its_notice(tmp_path, configuration, judge, says):
    host = Host(small_probe(tmp_path))

    found = host.ask(
        "start_scored_run",
        subject_label=SUBJECT,
        judge_label=judge,
        judgeConfiguration=configuration,
    )

    assert says in found["judge_configuration_notice"]


# Judge sessions


def test_a_session_gives_estimates_and_counts_and_no_mean(tmp_path):
    host = Host(small_probe(tmp_path))
    opened = host.ask("open_judge_session", subject_label=SUBJECT, judge_model_label=JUDGE)
    session = opened["session_id"]
    numbers = count(1)

    def estimate(item, level):
        return host.ask(
            "record_item_estimate",
            session_id=session,
            item_id=item,
            response_text="some words of a reply",
            rating_1_5=level,
            rationale=f"reason {next(numbers)}",
        )["replaces"]

    replaced = [estimate("AWR-1-A", 2), estimate("EMP-1-A", 5), estimate("AWR-1-A", 3)]
    found = host.ask("summarise_judge_session", session_id=session)

    assert opened["labels_self_reported"] is True
    assert replaced == [0, 0, 1]
    assert [(one["item_id"], one["level"], one["rationale"]) for one in found["estimates"]] == [
        ("AWR-1-A", 3, "reason 3"),
        ("EMP-1-A", 5, "reason 2"),
    ]
    assert found["dimension_item_counts"] == {"AWR": 1, "EMP": 1}
    assert (found["official"], found["comparability"]) == (False, "none")
    assert not {"composite", "band", "mean", "dimensions"} & set(found)
    assert JudgeEstimate.official is False


def test_both_estimates_of_an_item_are_kept_on_disk(tmp_path):
    host = Host(small_probe(tmp_path))
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    for level in (2, 3):
        host.ask(
            "record_item_estimate",
            session_id=session,
            item_id="AWR-1-A",
            response_text="some words",
            rating_1_5=level,
            rationale="because",
        )

    assert len(list((tmp_path / "sessions" / session).iterdir())) == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rating_1_5": 0}, "too small"),
        ({"rating_1_5": 2.5}, "no integer"),
        ({"item_id": "NO-1-A"}, "no item"),
        ({"response_text": " "}, "is blank"),
        ({"rationale": ""}, "is empty"),
        ({"session_id": "session-1"}, "no id of a session"),
        ({"session_id": "session-" + "f" * 32}, "There is no session"),
    ],
)
def test_an_estimate_that_does_not_hold_is_refused(tmp_path, changes, says):
    host = Host(small_probe(tmp_path))
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    given = {
        "session_id": session,
        "item_id": "AWR-1-A",
        "response_text": "some words",
        "rating_1_5": 3,
        "rationale": "because",
    }

    assert says in host.refused("record_item_estimate", **(given | changes))


def test_an_edited_session_is_not_summarised(tmp_path):
    host = Host(small_probe(tmp_path))
    session = host.ask("open_judge_session", subject_label="a", judge_model_label="b")["session_id"]
    path = tmp_path / "sessions" / session / "000000.json"
    path.write_text(path.read_text().replace('"a"', '"b"'))

    said = host.refused("summarise_judge_session", session_id=session)

    assert "was changed after it was written" in said
