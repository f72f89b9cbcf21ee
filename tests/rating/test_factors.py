"""Factors are held to tests/oracles/intervals.json: R's eigen, factanal, psych and nFactors, and
statsmodels, named there beside each value."""

import json
from pathlib import Path

import numpy as np
import pytest

from rating.stats.agreement import Undefined
from rating.stats.factors import (
    bartlett,
    components_above_chance,
    correlations,
    cronbach,
    eigenvalues,
    eigenvalues_of_chance,
    kmo,
    maximum_likelihood,
)

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "intervals.json").read_text())


def cases(kind):
    found = [case for case in ORACLES["cases"] if case["kind"] == kind]
    assert found
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


def given(case):
    """The correlations, the number of runs, and the covariances where there are data."""
    if "correlation" in case["input"]:
        own = np.array(case["input"]["correlation"], dtype=float)
        return own, case["input"].get("n"), own
    runs = np.array(case["input"]["rows_are_runs"], dtype=float)
    return correlations(runs), len(runs), np.cov(runs, rowvar=False)


@cases("eigenvalues")
def test_eigenvalues_equal_their_closed_form(case):
    correlation, _, _ = given(case)

    assert eigenvalues(correlation) == pytest.approx(case["expected"]["eigenvalues"], abs=1e-10)


@cases("factor_structure")
def test_the_structure_of_factors_equals_that_of_r(case):
    correlation, runs, covariance = given(case)
    wanted = case["expected"]

    assert eigenvalues(correlation) == pytest.approx(wanted["eigenvalues"], abs=1e-8)
    assert kmo(correlation) == pytest.approx(wanted["kmo"], abs=1e-8)
    found, freedom, p = bartlett(correlation, runs)
    assert found == pytest.approx(wanted["bartlett"]["chi2"], rel=1e-6)
    assert freedom == wanted["bartlett"]["df"]
    assert p == pytest.approx(wanted["bartlett"]["p"], rel=1e-4, abs=1e-200)
    alpha = wanted.get("cronbach_alpha", wanted.get("cronbach_alpha_standardised"))
    assert cronbach(covariance) == pytest.approx(alpha, abs=1e-8)


@cases("factor_structure")
def test_a_factor_model_equals_factanal(case):
    correlation, runs, _ = given(case)
    one = case["expected"]["ml_1_factor"]

    found = maximum_likelihood(correlation, runs)

    loadings = np.abs(found.loadings[:, 0])
    assert loadings == pytest.approx(one["absolute_loadings"], abs=one["tol_loadings"])
    assert found.uniquenesses == pytest.approx(one["uniquenesses"], abs=1e-3)
    assert (found.chi2, found.freedom) == (
        pytest.approx(one["chi2"], rel=one["tol_chi2_relative"]),
        one["df"],
    )
    assert found.p == pytest.approx(one["p"], rel=0.01, abs=1e-100)
    if two := case["expected"].get("ml_2_factors"):
        found = maximum_likelihood(correlation, runs, factors=2)
        assert found.uniquenesses == pytest.approx(two["uniquenesses"], abs=two["tol_uniquenesses"])
        assert found.chi2 == pytest.approx(two["chi2"], rel=1e-3)
        assert found.freedom == two["df"]


@cases("parallel_analysis_reference")
def test_the_eigenvalues_of_chance_equal_those_of_horn(case):
    runs, dimensions = case["input"]["n"], case["input"]["p"]

    found = eigenvalues_of_chance(runs, dimensions, seed=case["id"])

    for name, values in (
        ("mean", found.mean(axis=0)),
        ("q95", np.quantile(found, 0.95, axis=0)),
    ):
        allowed = case["tol_at_500_repetitions"][name]
        for value, wanted, tolerance in zip(values, case["expected"][name], allowed, strict=True):
            assert value == pytest.approx(wanted, abs=tolerance)


@cases("factor_structure")
def test_parallel_analysis_finds_as_many_traits_as_there_are(case):
    wanted = case["expected"].get("parallel_analysis")
    if wanted is None:
        wanted = {"components_above_q95_of_random": 2}  # Harman's body measures: size and girth
    correlation, runs, _ = given(case)

    found = components_above_chance(
        eigenvalues(correlation), eigenvalues_of_chance(runs, len(correlation), seed="1")
    )

    assert found == wanted["components_above_q95_of_random"]


def test_dimensions_that_cannot_be_correlated_say_why():
    with pytest.raises(Undefined, match="at least three runs"):
        correlations(np.ones((2, 8)))
    with pytest.raises(Undefined, match="same mean in every run"):
        correlations(np.ones((5, 8)))
