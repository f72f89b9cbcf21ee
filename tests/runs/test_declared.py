"""What a plan declares: comparisons, rules, prices, and what its kind must not leave out."""

import pytest

from runs.declared import (
    Comparison,
    Declared,
    Price,
    costs_of,
    declared_of,
    lacking,
    possible_comparisons,
)
from runs.plan_file import PlanFileRefused, parse_plan
from tests.runs.test_plan_file import PLAN

DECLARED = """
[declared]
margin = 0.4
exclusion_rule = "A subject with over 10% failed is left out."
agreement_floor = 0.6
correction = "holm"

[[declared.comparisons]]
kind = "arm"
a = "kind-2026-01-01/default"
b = "kind-2026-01-01/warm"

[cost]
currency = "EUR"
ceiling = 20
reply_tokens = 300

[[cost.prices]]
snapshot = "kind-2026-01-01"
input = 1.5
output = 6
"""
RUNS = [("a-1", "default"), ("a-1", "warm"), ("b-1", "default"), ("b-1", "warm")]


def faults(text):
    with pytest.raises(PlanFileRefused) as refused:
        parse_plan(text.encode())
    return "\n".join(refused.value.faults)


def test_what_is_declared_is_read_as_written():
    plan = parse_plan((PLAN + DECLARED).encode())

    assert plan.declared == Declared(
        (Comparison("arm", "kind-2026-01-01/default", "kind-2026-01-01/warm"),),
        margin=0.4,
        exclusion_rule="A subject with over 10% failed is left out.",
        agreement_floor=0.6,
        correction="holm",
    )
    assert plan.costs.ceiling == 20
    assert plan.costs.prices == {"kind-2026-01-01": Price(1.5, 6.0)}


def test_a_plan_that_declares_nothing_has_the_usual_rules():
    assert declared_of({}) == Declared(margin=0.5, correction="bonferroni")
    assert costs_of({}).prices == {}


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("margin = 0.4", "margin = 0", "margin: 0 is not a number from 0.01 to 5"),
        ("margin = 0.4", "margins = 0.4", "declared: there is no key 'margins'"),
        ("agreement_floor = 0.6", "agreement_floor = 60", "agreement_floor: 60"),
        ('"holm"', '"fdr"', "correction: 'fdr' is not one of: bonferroni, holm, none"),
        ("01/warm", "01/cold", "b: 'kind-2026-01-01/cold' is no run of this plan; the runs are:"),
        ('kind = "arm"', 'kind = "build"', "of two subjects under one condition"),
        ('kind = "arm"', 'kind = "other"', "kind: 'other' is not one of: build, arm"),
        ("01/warm", "01/default", "an arm comparison is of one subject under two conditions"),
        ("input = 1.5", "input = -1", "prices 1: input: -1 is not a number"),
        ("output = 6", "", "prices 1: output: missing"),
        ('snapshot = "kind-2026-01-01"\ninput', 'snapshot = "x"\ninput', "'x' is not planned"),
        ("ceiling = 20", "ceiling = 0", "ceiling: 0 is not a number"),
        ("reply_tokens = 300", "reply_tokens = 0.5", "reply_tokens: 0.5 is not a whole number"),
        ("[[declared.comparisons]]", "[declared.comparisons]", "[[declared.comparisons]] table"),
    ],
)
def test_a_fault_in_what_is_declared_names_the_key_and_the_value(written, instead, said):
    assert said in faults((PLAN + DECLARED).replace(written, instead, 1))


def test_a_comparison_stands_once_whichever_way_round():
    again = """
[[declared.comparisons]]
kind = "arm"
a = "kind-2026-01-01/warm"
b = "kind-2026-01-01/default"
"""
    assert "stand 2 times" in faults(PLAN + DECLARED.replace("\n[cost]", again + "\n[cost]"))


def test_a_ceiling_without_prices_could_not_be_kept():
    assert "without a price of kind-2026-01-01" in faults(PLAN + "[cost]\nceiling = 5\n")


def test_runs_that_differ_in_one_thing_can_be_compared():
    assert [str(one) for one in possible_comparisons(RUNS)] == [
        "build: a-1/default and b-1/default",
        "build: a-1/warm and b-1/warm",
        "arm: a-1/default and a-1/warm",
        "arm: b-1/default and b-1/warm",
    ]


@pytest.mark.parametrize(
    ("trials", "alone", "said"),
    [
        (2, False, "trials: 2 is too few: plan at least 3, or 1 with ranges_only = true"),
        (1, False, "trials: 1 is too few"),
        (2, True, "a wave that tells ranges only has 1 trial, not 2"),
        (3, True, "a wave that tells ranges only has 1 trial, not 3"),
    ],
)
def test_each_item_is_asked_three_times_or_once_for_ranges_only(trials, alone, said):
    text = f"trials = {trials}\nranges_only = {str(alone).lower()}"
    assert said in faults(PLAN.replace("trials = 3", text))


def test_one_trial_is_enough_where_ranges_only_are_told():
    plan = parse_plan(PLAN.replace("trials = 3", "trials = 1\nranges_only = true").encode())
    assert (plan.trials, plan.ranges_only) == (1, True)


@pytest.mark.parametrize("kind", ["pilot", "official"])
def test_a_wave_that_is_published_lacks_whatever_it_does_not_declare(kind):
    missing = " ".join(lacking(kind, " ", Declared(), RUNS))

    for thing in ("pre-registration", "exclusion rule", "agreement floor", "comparisons"):
        assert thing in missing


def test_a_local_wave_may_declare_nothing():
    assert lacking("local", "", Declared(), RUNS) == ()


def test_where_there_is_one_run_nothing_can_be_compared():
    whole = Declared(exclusion_rule="None is excluded.", agreement_floor=0.5)
    assert lacking("pilot", "We ask.", whole, RUNS[:1]) == ()
    assert "comparisons" in lacking("pilot", "We ask.", whole, RUNS)[0]


def test_a_page_has_its_name_before_a_wave():
    assert "code: 'new' is the name of a page" in faults(PLAN.replace('"demo"', '"new"'))


def test_two_subjects_of_one_snapshot_could_not_be_told_apart():
    other = PLAN[PLAN.index("[[subjects]]") :].replace('"Lab"', '"Other lab"')
    assert "kind-2026-01-01 is of 2 subjects" in faults(PLAN + other)
