"""The rest of tests/oracles/intervals.json: what the statistics on other pages rest on."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from rating.stats.agreement import alpha_for_ordinal, interval, tally, value
from rating.stats.blinding import share_unknown
from rating.stats.student import ALPHA, Estimate

FOLDER = Path(__file__).parents[1] / "oracles"
ORACLES = json.loads((FOLDER / "intervals.json").read_text())
RATINGS = {
    case["id"]: case for case in json.loads((FOLDER / "agreement.json").read_text())["cases"]
}


def cases(kind):
    found = [case for case in ORACLES["cases"] if case["kind"] == kind]
    assert found
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


@cases("bootstrap_alpha_ordinal")
def test_units_drawn_anew_move_alpha_as_far_as_in_other_packages(case):
    ratings = RATINGS[case["input"]["agreement_case"]]
    levels = np.array(
        [[np.nan if one is None else one for one in row] for row in ratings["ratings"]]
    )
    patterns = tally(levels, ratings["categories"])

    found = interval(alpha_for_ordinal, patterns, seed=case["id"], replicates=10_000)

    wanted = case["expected"]
    low, high = case["tol_ci95_by_replicates"]["10000"]
    assert value(alpha_for_ordinal, patterns) == pytest.approx(wanted["alpha_ordinal"])
    assert found.low == pytest.approx(wanted["ci95"][0], abs=low)
    assert found.high == pytest.approx(wanted["ci95"][1], abs=high)


@cases("binomial_interval")
def test_a_share_has_wilsons_interval(case):
    for (count, n), wanted in zip(case["input"]["k_n"], case["expected"]["wilson"], strict=True):
        found = share_unknown(count, n)
        assert (found.low, found.high) == pytest.approx(tuple(wanted), abs=case["tol"])


@cases("bonferroni_levels")
def test_a_corrected_range_shares_alpha_among_the_comparisons(case):
    """With very many degrees of freedom Student's range is the normal one."""
    for comparisons, z in zip(case["input"]["m"], case["expected"]["z"], strict=True):
        found = Estimate(0.0, 1.0, 1e9).interval(ALPHA / comparisons)
        assert found.high == pytest.approx(z, abs=1e-6)
        assert -ndtri(ALPHA / comparisons / 2) == pytest.approx(z)
