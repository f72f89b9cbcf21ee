"""Student's t, equivalence, exact sign flips and Holm, held to tests/oracles/intervals.json: each
value found by R and at least one Python package, named there."""

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from rating.stats.agreement import Undefined
from rating.stats.student import Estimate, holm, mean_of, pooled, sign_flip_p, welch

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "intervals.json").read_text())


def cases(*kinds):
    found = [case for case in ORACLES["cases"] if case["kind"] in kinds]
    assert found
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


@cases("paired_gap")
def test_a_paired_gap_has_the_t_of_r(case):
    wanted = case["expected"]
    gaps = np.subtract(case["input"]["a"], case["input"]["b"]).astype(float)
    found = mean_of(gaps)

    assert found.value == pytest.approx(wanted["mean_gap"], abs=1e-9)
    if wanted.get("t") is None:
        with pytest.raises(Undefined, match="no width"):
            found.p_differs()
        return
    assert found.value / found.error == pytest.approx(wanted["t"])
    assert found.freedom == wanted["df"]
    assert found.p_differs() == pytest.approx(wanted["p_two_sided"], rel=1e-6)
    assert astuple(found.interval()) == pytest.approx(wanted["ci95_t"])
    assert astuple(found.interval(0.1)) == pytest.approx(wanted["ci90_t"])
    bounds = wanted["tost_bound_0.5"]
    assert found.p_above(-0.5) == pytest.approx(bounds["p_low"], rel=1e-6)
    assert found.p_below(0.5) == pytest.approx(bounds["p_upp"], rel=1e-6)
    for margin, name in ((0.5, "tost_bound_0.5"), (1, "tost_bound_1")):
        assert found.p_within(margin) == pytest.approx(wanted[name]["p"], rel=1e-6)
        assert (found.p_within(margin) < 0.05) == wanted[name]["equivalent_at_0.05"]


@cases("paired_gap")
def test_sign_flips_are_counted_exactly_with_ties_and_zeros(case):
    wanted = case["expected"]
    gaps = np.subtract(case["input"]["a"], case["input"]["b"])
    ranks = (2 * rankdata(np.abs(gaps[gaps != 0]))).astype(int) * np.sign(gaps[gaps != 0])

    for name, values in (
        ("sign_flip_permutation_p", gaps),
        ("sign_test_p", np.sign(gaps)),
        ("wilcoxon_exact_p_zeros_dropped", ranks),
    ):
        if wanted.get(name) is None:
            with pytest.raises(Undefined, match="No pair differs"):
                sign_flip_p(values)
        else:
            assert sign_flip_p(values) == pytest.approx(wanted[name], rel=1e-6)


@cases("tost_independent_welch", "tost_independent_pooled")
def test_two_independent_means_have_the_equivalence_test_of_r(case):
    given, wanted = case["input"], case["expected"]
    ask = welch if case["kind"].endswith("welch") else pooled

    found = ask(np.array(given["a"], dtype=float), np.array(given["b"], dtype=float))

    assert (found.value, found.freedom) == pytest.approx((wanted["difference"], wanted["df"]))
    assert found.p_within(given["bound"]) == pytest.approx(wanted["p"], rel=1e-6)
    assert found.p_above(-given["bound"]) == pytest.approx(wanted["p_low"], rel=1e-6)
    assert found.p_below(given["bound"]) == pytest.approx(wanted["p_upp"], rel=1e-6)
    assert found.p_differs() == pytest.approx(wanted["p_difference_test"])
    assert astuple(found.interval(0.1)) == pytest.approx(wanted["ci90"])


@cases("p_adjust")
def test_holm_equals_that_of_r(case):
    assert holm(case["input"]["p"]) == pytest.approx(case["expected"]["holm"])


def test_holm_of_several_in_any_order_stays_in_that_order():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []


def test_values_all_the_same_have_no_interval_unless_a_spread_is_given():
    alike = np.array([0.2, 0.2, 0.2])

    with pytest.raises(Undefined, match="no width"):
        mean_of(alike).interval()
    assert mean_of(alike, fewest_spread=0.01).interval().excludes_zero
    with pytest.raises(Undefined, match="at least two values"):
        mean_of(np.array([1.0]))


@given(st.floats(-2, 2), st.floats(0.01, 4), st.integers(2, 60), st.floats(0.1, 2))
def test_within_the_margin_at_five_percent_is_the_ninety_percent_interval_within_it(
    value, variance, freedom, margin
):
    found = Estimate(value, variance, freedom)
    interval = found.interval(0.1)

    shown = -margin < interval.low and interval.high < margin
    assert shown == (found.p_within(margin) < 0.05) or abs(found.p_within(margin) - 0.05) < 1e-9


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=10).filter(any))
def test_sign_flips_equal_trying_every_one(differences):
    signs = np.array(np.meshgrid(*[[-1, 1]] * len(differences))).reshape(len(differences), -1)
    sums = np.abs(np.array(differences) @ signs)

    assert sign_flip_p(np.array(differences)) == pytest.approx(
        (sums >= abs(sum(differences))).mean()
    )
