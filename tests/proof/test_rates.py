"""Every declared error rate, on studies made up with known truth. See docs/statistics/error-rates.md."""

import pytest
from scipy.stats import binomtest

from tests.rates import SCENARIOS

pytestmark = pytest.mark.proof
STUDIES = 300
#: So seldom may chance alone make a right program fail here.
CHANCE = 1e-4


@pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=[f"{own.part}: {own.truth}" for own in SCENARIOS]
)
def test_each_verdict_comes_as_often_as_declared(scenario):
    # Other studies than those of the table.
    counts = scenario.count(STUDIES, start=1_000_000)

    for rate, count in zip(scenario.rates, counts, strict=True):
        if rate.most is not None:
            p = binomtest(count, STUDIES, rate.most, alternative="greater").pvalue
            assert p > CHANCE, f"{rate.of}: {count} of {STUDIES}"
        if rate.least is not None:
            p = binomtest(count, STUDIES, rate.least, alternative="less").pvalue
            assert p > CHANCE, f"{rate.of}: {count} of {STUDIES}"
