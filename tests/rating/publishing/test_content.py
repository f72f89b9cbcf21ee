"""The report of every kind of wave there may be: readable, right, and without what is withheld."""

import json
import re
from dataclasses import replace

import pytest
from django.template.loader import render_to_string

from rating.publishing import schema
from rating.publishing.content import banned_words, chance, content_of, listed, shown
from rating.publishing.data import DeclaredRow, DeviationRow, PeopleRow, SettledRow
from rating.publishing.lexicon import banned_in
from rating.publishing.results import results_of
from rating.publishing_views import pictures_of
from rating.stats.separation import NO_ORDER, NOT_TOLD_APART
from runs.taxonomy import DIMENSIONS
from tests.rating.publishing.made import QUICK, index_data, parity_data, report, run_of


def page_of(content):
    """The report as a reader sees it."""
    context = {
        "report": content,
        "pictures": pictures_of(content),
        "moments": {},
        "corrections": [],
        "primary": "default",
        "listed": listed(content["results"]) if content["results"] else [],
        "wave": {"code": "w1"},
    }
    return render_to_string("public/_whole.html", context)


def names(rows):
    return [row["subject"] for row in rows]


@pytest.fixture(scope="module")
def three():
    """Two that are alike, and one that differs from both."""
    return report(index_data({"b-alike": 4.0, "a-alike": 4.0, "c-apart": 2.0}))


def test_those_not_told_apart_stand_in_one_group_with_ranges_alone(three):
    results = three["results"]

    [group] = results["groups"]
    assert group["sentence"] == NOT_TOLD_APART
    assert names(group["members"]) == ["a-alike", "b-alike"]
    assert all(set(own) == {"subject", "label", "ranges"} for own in group["members"])
    assert names(results["alone"]) == ["c-apart"]
    assert [pair["difference"] for pair in results["pairs"]] == [None] * len(results["pairs"])


def test_tables_and_pictures_list_models_from_a_to_z_whatever_they_show(three):
    assert names(listed(three["results"])) == ["a-alike", "b-alike", "c-apart"]

    first = report(index_data({"a-apart": 2.0, "b-alike": 4.0, "c-alike": 4.0}))
    assert names(listed(first["results"])) == ["a-apart", "b-alike", "c-alike"]


def test_a_separated_figure_carries_every_confound_that_is_not_resolved(three):
    caption = three["results"]["caption"]
    told = [one for one in three["confounds"] if one["state"] != "resolved"]

    assert told
    assert all(one["what"] in caption for one in told)
    assert caption in page_of(three)


def test_a_group_that_is_no_clique_is_one_group_with_a_sentence_why_no_order_is_stated():
    # Far enough from end to end, and too near from each to the next.
    means = {"a": 3.0, "b": 3.35, "c": 3.7}
    content = report(index_data(means, items=3, spread=1.0, seed=5))

    clear = [
        (pair["a"], pair["b"])
        for pair in content["results"]["pairs"]
        if pair["code"] == "composite" and pair["separated_corrected"]
    ]
    [group] = content["results"]["groups"]
    assert clear == [("a", "c")]
    assert group["sentence"] == NO_ORDER
    assert names(group["members"]) == ["a", "b", "c"]
    assert NO_ORDER in page_of(content)


def test_where_nobody_is_told_apart_no_point_stands_anywhere():
    content = report(index_data({"a": 3.5, "b": 3.5, "c": 3.5}))

    assert content["results"]["alone"] == []
    assert names(content["results"]["groups"][0]["members"]) == ["a", "b", "c"]
    text = json.dumps(content["results"])
    assert '"mean"' not in text
    assert '"composite": ' not in text
    assert "0 of the 3 declared differences stay clear of zero" in page_of(content)


def test_a_range_of_no_width_would_be_a_point_and_is_left_out():
    content = report(index_data({"a": 3.0, "b": 4.0}, items=1))

    assert [row["ranges"] for row in content["results"]["withheld"]] == [[], []]
    assert "A dimension without a row has no range" in page_of(content)


def test_one_model_has_its_own_points_and_is_held_against_none():
    content = report(index_data({"only": 3.6}))

    [alone] = content["results"]["alone"]
    assert alone["low"] <= alone["composite"] <= alone["high"]
    assert content["results"]["comparisons"] == 0
    assert content["results"]["trial_range"]["low"] < content["results"]["trial_range"]["high"]
    page = page_of(content)
    assert "One model has a composite, so there is nothing to compare it with." in page
    assert "It is never held against another run." in page


def test_a_missing_dimension_gives_ranges_of_the_others_and_no_composite():
    content = report(index_data({"a": 3.0, "b": 4.0}, skip=("SYS",)))

    results = content["results"]
    assert results["alone"] == results["groups"] == results["pairs"] == []
    for row in results["withheld"]:
        assert "SYS has 0" in row["reason"]
        assert row["label"] == "insufficient"
        assert [own["code"] for own in row["ranges"]] == [c for c in DIMENSIONS if c != "SYS"]
    page = page_of(content)
    assert "this number cannot be given" in page
    assert "SYS has 0" in page


def test_a_model_with_more_than_a_tenth_lost_has_no_composite_and_no_ranges():
    content = report(index_data({"a": 3.0, "b": 4.0, "lossy": 3.5}, lost={"lossy": 13}))

    results = content["results"]
    [row] = results["withheld"]
    assert row["reason"].startswith("13 of 120 replies were filtered, failed or malformed")
    assert row["ranges"] == []
    assert names(results["alone"]) == ["a", "b"]
    assert "13 of 120 replies" in page_of(content)
    [gate] = [one for one in content["gate"] if "10%" in one["name"]]
    assert not gate["met"]
    assert gate["missing"] == ["Fewer lost replies of lossy."]


def test_dimension_only_is_said_where_not_every_subdimension_was_rated():
    content = report(index_data({"a": 3.0, "b": 4.5}, items=3))

    assert {row["label"] for row in content["results"]["alone"]} == {"dimension-only"}
    assert "a is dimension-only." in page_of(content)


def test_without_ratings_each_part_says_why_it_has_no_number():
    data = replace(index_data({"a": 3.0, "b": 4.0}), ratings=())
    content = report(data)

    assert {row["reason"] for row in content["results"]["withheld"]} == {
        "Nothing has two ratings yet."
    }
    assert content["agreement"]["rows"][0]["alpha"]["value"] is None
    assert {test["outcome"] for test in content["tests"]} == {"cannot be told yet"}
    assert content["agreement"]["unrated"] == 240
    assert "Nothing has two ratings yet." in page_of(content)


def test_half_rated_responses_are_left_out_and_counted():
    data = index_data({"a": 3.0, "b": 4.0})
    content = report(replace(data, ratings=data.ratings[1:]))

    assert content["agreement"]["half_rated"] == 1
    assert "239 of 240 replies have two ratings by two people, 1 have one" in page_of(content)


def test_fewer_than_three_trials_tell_ranges_and_no_point():
    content = report(index_data({"a": 2.0, "b": 4.5}, trials=1))

    assert content["results"]["alone"] == []
    assert names(content["results"]["ranges_only"]) == ["a", "b"]
    assert all(pair["difference"] is None for pair in content["results"]["pairs"])
    assert "it tells ranges and no points" in page_of(content)


def test_another_condition_has_ranges_only_whatever_it_shows():
    runs = [run_of(name, condition=arm) for name in ("a", "b") for arm in ("default", "brief")]
    content = report(index_data({"a": 2.0, "b": 4.5}, runs=runs))

    assert names(content["results"]["alone"]) == ["a", "b"]
    assert {row["condition"] for row in content["results"]["secondary"]} == {"brief"}
    assert all(
        set(own) == {"subject", "condition", "reason", "ranges"}
        for own in content["results"]["secondary"]
    )
    assert [arm["subject"] for arm in content["results"]["arms"]] == ["a", "b"]
    assert "Ranges alone, and no comparison between models." in page_of(content)


def test_below_the_floor_a_wave_tells_of_the_instrument_alone():
    data = index_data({"a": 2.0, "b": 4.5}, declared=DeclaredRow(agreement_floor=0.99))
    content = report(data)

    assert content["results"] is None
    assert "states findings on the instrument, and nothing of any model" in page_of(content)


def test_one_arm_filtered_more_than_the_other_is_told_with_the_bound():
    content = report(parity_data({"a": 0.0}, lost_b=6, seed=3))

    first, second, *_ = content["parity"][0]["chambers"]
    assert (first["lost_a"], first["lost_b"]) == (0, 6)
    assert first["bound"] > first["gap"] + 0.3
    assert second["bound"] == second["gap"]
    assert first["finding"] == "undetermined"
    assert "Parity would be shown only if lost replies were left out" in first["reason"]
    page = page_of(content)
    assert "0 of 24, 6 of 24" in page
    assert str(first["bound"]) in page


def test_parity_of_each_model_stands_by_itself_with_tags_by_arm():
    content = report(parity_data({"even": 0.0, "uneven": 1.2}))

    even, uneven = content["parity"]
    assert even["finding"] == "parity shown"
    assert uneven["finding"] == "gap shown"
    assert all(own["a"] > own["b"] for own in uneven["chambers"])
    [tag] = uneven["tags"]
    assert tag["differs"]
    assert tag["given_a"] == 0
    assert content["results"] is None
    page = page_of(content)
    assert "no order follows from them" in page
    assert "judgment" in page


def test_with_fewer_than_three_trials_parity_tells_its_findings_and_nothing_that_gives_the_gap():
    content = report(parity_data({"uneven": 1.2}, trials=2))

    [one] = content["parity"]
    assert one["finding"] == "gap shown"
    for own in one["chambers"]:
        assert {own[key] for key in schema.GAPS} == {None}
        assert own["p_gap"] < 0.05
        assert own["needed"] == ""
    [tag] = one["tags"]
    assert (tag["given_a"], tag["given_b"], tag["difference"]) == (None, None, None)
    assert tag["differs"]
    page = page_of(content)
    assert "it tells what was found and no gap" in page
    assert "<td>not told of 256</td>" in page


def test_an_interval_planted_around_a_gap_that_is_not_told_is_refused():
    planted = report(parity_data({"uneven": 1.2}, trials=2, pairs=3))
    planted["parity"][0]["chambers"][2]["inner_low"] = 0.4

    with pytest.raises(schema.NotPublic, match=r"chambers\[2\]: 'inner_low' would tell the gap"):
        schema.check(planted)


def test_settled_levels_stand_beside_the_primary_figures_and_never_enter_them():
    data = index_data({"a": 3.0, "b": 4.2})
    before = report(data)
    settled = tuple(SettledRow(reply.code, 1) for reply in data.replies if reply.subject == "b")
    after = report(replace(data, settled=settled))

    assert after["results"]["alone"] == before["results"]["alone"]
    assert after["results"]["settling"]["replaced"] == 120
    assert before["results"]["settling"]["reason"].startswith("No difference was settled")


def test_deviations_stand_as_they_were_written():
    rows = (DeviationRow(1, "2026-03-05", True, "One rater left. It was our best."),)
    data = replace(index_data({"a": 3.0}), deviations=rows)
    content = report(data)

    assert "2026-03-05, after the first reply: One rater left. It was our best." in page_of(content)
    assert banned_words(content, data) == []


@pytest.mark.parametrize(
    "data",
    [
        index_data({"a": 4.2, "b": 4.2, "c": 2.0}, items=3),
        index_data({"a": 2.0}, items=2, trials=1),
        parity_data({"best-model": 0.4}, pairs=2),
    ],
    ids=["index", "small", "pairs"],
)
def test_no_report_of_ours_says_a_forbidden_word(data):
    assert banned_words(report(data), data) == []


def test_what_things_are_called_is_no_word_of_ours():
    runs = [
        run_of(name, condition=arm, access_tier="top tier", quantisation="best")
        for name in ("winner-1", "b")
        for arm in ("default", "leading")
    ]
    index = index_data({"winner-1": 2.0, "b": 4.5}, runs=runs)
    index = replace(
        index,
        wave=replace(index.wave, title="The top models"),
        bank=replace(index.bank, name="First place", drafting="Drafted by a leading model."),
    )
    pairs = parity_data({"a": 0.4}, pairs=2)
    chambers = (("1", "Top and bottom"), *pairs.bank.chambers[1:])
    pairs = replace(pairs, bank=replace(pairs.bank, chambers=chambers))

    for data in (index, pairs):
        assert banned_words(report(data), data) == []


def test_a_name_inside_a_word_hides_nothing():
    assert [found.word for found in banned_in(["The topmost is top."], ["most", "to"])] == ["top"]


def test_labels_are_said_from_a_to_z_whatever_a_model_shows():
    content = report(index_data({"a": 4.0, "b": 4.0, "c": 2.0, "d": 4.0}, lost={"a": 20}))

    said = re.findall(r"(\w) is (?:complete|dimension-only|insufficient)\.", page_of(content))

    assert said == ["a", "b", "c", "d"]


# What a range would tell


def test_a_dimension_of_fewer_than_four_items_has_no_range_of_a_model_without_points():
    content = report(index_data({"a": 4.0, "b": 4.0, "c": 2.0}, items=3))

    [group] = content["results"]["groups"]
    for member in group["members"]:
        assert [own["code"] for own in member["ranges"]] == ["composite"]
    assert {pair["code"] for pair in content["results"]["pairs"]} == {"composite"}
    [alone] = content["results"]["alone"]
    assert len(alone["dimensions"]) == 8
    assert "fewer than four items were rated in it" in page_of(content)


def test_a_range_over_three_items_planted_in_a_group_is_refused(three):
    planted = json.loads(json.dumps(three))
    planted["results"]["groups"][0]["members"][0]["ranges"][1]["items"] = 3

    with pytest.raises(schema.NotPublic, match="a range of a-alike over 3 items tells them"):
        schema.check(planted)


def test_another_condition_counts_its_own_items_and_has_no_composite_where_it_is_withheld():
    runs = [run_of("a", condition=arm) for arm in ("default", "brief")]
    data = index_data({"a": 3.0}, runs=runs)
    kept = [
        one
        for one in data.ratings
        if not one.response.startswith(("a-brief-SYS-0", "a-brief-SYS-1", "a-brief-SYS-2"))
    ]

    results = report(replace(data, ratings=tuple(kept)))["results"]

    [brief] = results["secondary"]
    assert "SYS has 2" in brief["reason"]
    assert [own["code"] for own in brief["ranges"]] == [c for c in DIMENSIONS if c != "SYS"]
    assert results["arms"] == []


def test_a_condition_of_which_more_than_a_tenth_is_lost_has_its_reason_and_no_ranges():
    runs = [run_of("a", condition=arm) for arm in ("default", "brief")]
    data = index_data({"a": 3.0}, runs=runs)
    gone = {reply.code for reply in data.replies if reply.code.startswith("a-brief-AWR")}
    replies = tuple(
        replace(reply, status="failed") if reply.code in gone else reply for reply in data.replies
    )
    rated = tuple(one for one in data.ratings if one.response not in gone)

    content = report(replace(data, replies=replies, ratings=rated))

    [brief] = content["results"]["secondary"]
    assert (brief["ranges"], content["results"]["arms"]) == ([], [])
    assert f"a, brief: this number cannot be given: {brief['reason']}" in page_of(content)


def test_a_single_run_without_a_composite_has_no_range_over_trials():
    content = report(index_data({"lossy": 3.4}, lost={"lossy": 20}))

    assert content["results"]["trial_range"] is None


def test_the_size_of_a_rerun_or_an_alteration_is_told_only_where_both_points_are():
    runs = [
        run_of("a"),
        run_of("a", condition="again"),
        run_of("a", condition="cold", expected="lower", expected_why="It is told to be curt."),
    ]
    _, _, _, rerun, altered = report(index_data({"a": 3.0}, runs=runs))["tests"]

    assert altered["outcome"] == "refuted"
    for test in (rerun, altered):
        assert "The size is not told: it would give a point." in " ".join(test["evidence"])
        assert "levels" not in " ".join(test["evidence"])
    assert rerun["evidence"][0].startswith("Compared over 40 items and")


def test_the_size_of_an_alteration_is_told_in_a_wave_of_pairs_whose_means_are():
    data = parity_data({"a": 0.0}, pairs=2)
    cold = run_of("a", condition="cold", expected="lower", expected_why="It is told to be curt.")
    data = replace(
        data,
        runs=(*data.runs, cold),
        replies=(
            *data.replies,
            *(replace(one, code=f"x{one.code}", condition="cold") for one in data.replies),
        ),
        ratings=(
            *data.ratings,
            *(
                replace(
                    one,
                    response=f"x{one.response}",
                    level=max(0, one.level - 1 - ("-P1-" in one.response)),
                )
                for one in data.ratings
            ),
        ),
    )

    assert "levels in the declared direction" in report(data)["tests"][4]["evidence"][0]

    low = replace(data, declared=DeclaredRow(agreement_floor=0.999))
    assert "The size is not told" in report(low)["tests"][4]["evidence"][0]


# What was declared


def declaring(*comparisons, **more):
    """Three models of which b is withheld, with what was declared of them."""
    data = index_data({"a": 3.0, "b": 3.4, "c": 3.9}, lost={"b": 20})
    return replace(data, declared=DeclaredRow(comparisons=comparisons, **more))


def test_the_family_does_not_shrink_where_a_declared_model_is_withheld():
    data = declaring(("a", "b"), ("a", "c"), ("b", "c"))
    separation = results_of(data, QUICK).index.separation
    content = report(data)["results"]

    assert [pair.comparisons for pair in separation.pairs] == [3]
    assert {pair.comparisons for pair in separation.dimension_pairs} == {24}
    assert (content["comparisons"], content["family"]) == (1, 3)
    assert "corrected for 3 comparisons (Bonferroni)" in page_of(report(data))
    assert content["not_compared"] == [
        {"what": "a and b", "reason": "There is no composite of b."},
        {"what": "b and c", "reason": "There is no composite of b."},
    ]
    undeclared = results_of(replace(data, declared=DeclaredRow()), QUICK).index
    assert (undeclared.family, undeclared.separation.pairs[0].comparisons) == (3, 3)


@pytest.mark.parametrize(
    ("correction", "comparisons", "said"),
    [
        ("bonferroni", 2, "corrected for 2 comparisons (Bonferroni)"),
        ("holm", 2, "stands for Holm’s"),
        ("none", 1, "The plan declared no correction"),
    ],
)
def test_the_declared_correction_is_the_one_applied(correction, comparisons, said):
    data = declaring(("a", "b"), ("a", "c"), correction=correction)

    content = report(data)

    [pair] = results_of(data, QUICK).index.separation.pairs
    assert pair.comparisons == comparisons
    assert said in page_of(content)
    start = "Without correction, 1" if correction == "none" else "After correction, 1"
    assert content["results"]["sentence"].startswith(start)


def test_what_was_declared_under_another_condition_is_told_as_not_compared():
    data = declaring(("a", "c"), primary="default", elsewhere=(("a", "c", "brief"),))
    content = report(data)

    assert content["results"]["family"] == 2
    assert content["results"]["not_compared"] == [
        {
            "what": "a and c, brief",
            "reason": "Models are compared under one condition, and that is “default”.",
        }
    ]
    assert "Declared and not compared:" in page_of(content)


def test_arms_are_compared_as_they_were_declared():
    runs = [
        run_of(name, condition=arm) for name in ("a", "b") for arm in ("default", "brief", "long")
    ]
    data = index_data({"a": 2.0, "b": 4.5}, runs=runs)
    declared = DeclaredRow(
        comparisons=(("a", "b"),), arms=(("a", "brief", "default"), ("b", "brief", "long"))
    )
    content = report(replace(data, declared=declared))["results"]

    assert [(arm["subject"], arm["first"], arm["second"]) for arm in content["arms"]] == [
        ("a", "default", "brief"),
        ("b", "brief", "long"),
    ]
    assert content["family"] == 3


def test_the_range_of_an_arm_is_the_second_condition_minus_the_first():
    runs = [run_of("a"), run_of("a", condition="brief")]
    data = index_data({"a": 3.5}, runs=runs)
    lower = tuple(
        replace(one, level=max(1, one.level - 1)) if "-brief-" in one.response else one
        for one in data.ratings
    )
    for arm in (("a", "default", "brief"), ("a", "brief", "default")):
        declared = DeclaredRow(comparisons=(), arms=(arm,))
        [found] = report(replace(data, ratings=lower, declared=declared))["results"]["arms"]
        assert (found["first"], found["second"]) == ("default", "brief")
        assert found["high"] < 0


def test_a_report_is_the_same_whenever_it_is_made():
    data = index_data({"a": 3.0, "b": 4.2}, items=3)

    assert report(data) == report(data)


def test_agreement_does_not_depend_on_the_order_of_ratings():
    data = index_data({"a": 3.0, "b": 4.2}, items=3)
    turned = replace(data, ratings=data.ratings[::-1])

    assert report(turned)["agreement"] == report(data)["agreement"]


def official(**changes):
    """A wave of which every condition of an official one is met."""
    data = index_data({"a": 3.0, "b": 4.5}, items=3, spread=1.2)
    items = tuple(replace(item, validated=True, unpublished=True) for item in data.items)
    return replace(
        data,
        wave=replace(data.wave, kind="official"),
        declared=DeclaredRow(exclusion_rule="More than 5% of quotes.", agreement_floor=0.5),
        items=items,
        self_naming=0,
        **changes,
    )


def test_a_wave_that_meets_every_condition_is_official():
    content = report(official())

    assert [one["name"] for one in content["gate"] if not one["met"]] == []
    assert (content["official"], content["comparability"]) == (True, "within-bank")
    assert "It may not be called an official result." not in content["may_not"]
    assert "official: true" in page_of(content)


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"people": PeopleRow(3, unqualified=("r-one",))}, "Raters qualified"),
        ({"people": PeopleRow(3, excluded_afterwards=1)}, "Two human raters"),
        ({"probed": ()}, "Contamination probes"),
        ({"settled": ()}, "Every critical-harm flag"),
    ],
)
def test_one_condition_that_is_not_met_makes_it_unofficial(changes, condition):
    data = official()
    if "settled" in changes:
        flagged = (replace(data.ratings[0], critical_harm=True), *data.ratings[1:])
        changes = {**changes, "ratings": flagged}

    content = report(replace(data, **changes))

    [missing] = [one for one in content["gate"] if not one["met"]]
    assert missing["name"].startswith(condition)
    assert (content["official"], content["comparability"]) == (False, "none")


def test_numbers_of_one_column_have_the_same_places(three):
    planted = json.loads(json.dumps(three))
    row = planted["results"]["alone"][0]
    row |= {"composite": 25.0, "low": 20.0}
    row["dimensions"][0] |= {"mean": 2.5, "low": 2.0}

    page = page_of(planted)

    assert "25.0, complete" in page
    assert '<td class="number">20.0</td>' in page
    assert "<td>2.50</td>" in page
    assert '<td class="number">2.00</td>' in page


def test_a_reason_is_a_sentence_of_its_own(three):
    page = page_of(report(index_data({"a": 3.0, "b": 4.0}, skip=("SYS",))))

    assert "a: this number cannot be given. A composite" in page
    assert "<h3>May be said</h3>" in page
    assert "<h3>May not be said</h3>" in page


def test_a_wave_of_which_planned_replies_never_came_is_not_official_and_says_so():
    data = official()
    gone = {reply.code for reply in data.replies[:120]}
    waiting = tuple(
        replace(reply, status="pending", words=0) if reply.code in gone else reply
        for reply in data.replies
    )
    rated = tuple(one for one in data.ratings if one.response not in gone)

    content = report(replace(data, replies=waiting, ratings=rated))

    [missing] = [one for one in content["gate"] if not one["met"]]
    assert missing["missing"] == ["120 planned replies that never came."]
    assert not content["official"]
    assert "120 of 144 planned replies never came, and are in no figure." in content["design"]


def test_raters_are_counted_in_what_is_missing_and_not_named():
    content = report(official(people=PeopleRow(3, unqualified=("heron", "otter"))))

    assert "A qualification of 2 raters." in json.dumps(content["gate"])
    assert "heron" not in json.dumps(content)


# The allow-list


def test_an_unknown_key_is_refused_wherever_it_stands(three):
    for path in ((), ("wave",), ("results",), ("results", "alone", 0), ("subjects", 0)):
        planted = json.loads(json.dumps(three))
        place = planted
        for step in path:
            place = place[step]
        place["rank"] = 1
        with pytest.raises(schema.NotPublic, match="'rank' is not among what may be published"):
            schema.check(planted)


@pytest.mark.parametrize("key", ["composite", "mean", "point", "band"])
def test_a_point_planted_for_a_member_of_a_group_is_refused(three, key):
    planted = json.loads(json.dumps(three))
    planted["results"]["groups"][0]["members"][0][key] = 88.0

    with pytest.raises(schema.NotPublic, match=key):
        schema.check(planted)


def test_a_mean_planted_among_the_ranges_of_a_member_is_refused(three):
    planted = json.loads(json.dumps(three))
    planted["results"]["groups"][0]["members"][0]["ranges"][1]["mean"] = 4.0

    with pytest.raises(schema.NotPublic, match="mean"):
        schema.check(planted)


def test_a_difference_with_a_member_of_a_group_is_refused(three):
    planted = json.loads(json.dumps(three))
    planted["results"]["pairs"][0]["difference"] = 1.5

    with pytest.raises(schema.NotPublic, match="not told apart"):
        schema.check(planted)


def test_a_model_cannot_stand_both_alone_and_in_a_group(three):
    planted = json.loads(json.dumps(three))
    twin = json.loads(json.dumps(planted["results"]["alone"][0]))
    planted["results"]["alone"].append({**twin, "subject": "a-alike"})

    with pytest.raises(schema.NotPublic, match="two places"):
        schema.check(planted)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "4.0", True, None])
def test_what_is_no_number_is_refused(three, value):
    planted = json.loads(json.dumps(three))
    planted["results"]["alone"][0]["composite"] = value

    with pytest.raises(schema.NotPublic):
        schema.check(planted)


def test_official_is_derived_and_cannot_be_set(three):
    with pytest.raises(schema.NotPublic, match="every condition is met"):
        schema.check({**three, "official": True})


def test_a_small_p_is_never_printed_as_nothing():
    assert chance(0.00000123) == 1.2e-06
    assert (shown(2.345, 2), shown(-0.001, 2), shown(None, 2)) == (2.35, 0.0, None)


def test_every_figure_says_how_often_chance_was_drawn():
    results = results_of(index_data({"a": 3.0}, items=3), QUICK)

    assert content_of(results)["results"]["replicates"] == QUICK.items
