"""Power and widths, held to published values and to studies played through."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from runs.estimate import percent
from runs.power import ASSUMED, Spread, half_width, parity_power, power_table, tost_power

# The power of two one-sided tests in a 2 x 2 crossover, ratio 0.95, limits 0.80 to 1.25, as printed
# by PowerTOST (R, method "exact"; its vignette on average bioequivalence): CV, n, power.
CROSSOVER = [(0.20, 20, 0.834680), (0.25, 28, 0.807439), (0.30, 40, 0.815845)]


@pytest.mark.parametrize(("cv", "n", "power"), CROSSOVER)
def test_the_power_of_two_one_sided_tests_equals_the_published_value(cv, n, power):
    within = math.sqrt(math.log(1 + cv**2))
    found = tost_power(math.log(0.95), within * math.sqrt(2 / n), n - 2, math.log(1.25))

    assert found == pytest.approx(power, abs=5e-7)


def test_power_equals_the_share_of_studies_that_show_parity():
    chance = np.random.default_rng(20261130)
    pairs, trials, studies = 10, 5, 40_000
    gaps = chance.normal(0, ASSUMED.of_gap(trials), size=(studies, pairs))
    error = gaps.std(axis=1, ddof=1) / math.sqrt(pairs)
    # t(.95, 9) = 1.8331, any table of Student's distribution
    shown = np.abs(gaps.mean(axis=1)) + 1.8331129 * error < 0.5

    # Four standard errors of a share of 40,000 are 0.007.
    assert parity_power(pairs, trials) == pytest.approx(shown.mean(), abs=0.007)


def test_ten_pairs_and_five_trials_show_parity_in_about_87_studies_of_100():
    assert parity_power(10, 5) == pytest.approx(0.87, abs=0.005)


def test_at_the_margin_itself_parity_is_shown_in_at_most_five_of_a_hundred():
    for pairs in (5, 10, 40):
        assert parity_power(pairs, 5, gap=0.5) <= 0.05 + 1e-9


def test_more_pairs_and_more_trials_never_show_less():
    table = np.array([row for _, row in power_table()])

    assert (np.diff(table, axis=0) > 0).all()
    assert (np.diff(table, axis=1) > 0).all()
    assert ((table >= 0) & (table <= 1)).all()


def test_one_pair_shows_nothing():
    assert parity_power(1, 100) == 0


def test_without_any_error_parity_is_certain_within_the_margin():
    assert tost_power(0.4, 0, 9, 0.5) == 1
    assert tost_power(0.6, 0, 9, 0.5) == 0


@pytest.mark.parametrize("wrong", [(0, 1, 9, 0), (0, -1, 9, 0.5), (0, 1, 0, 0.5)])
def test_what_has_no_power_is_refused(wrong):
    with pytest.raises(ValueError, match="above 0"):
        tost_power(*wrong)


def test_half_a_t_interval_is_what_a_table_gives():
    # t(.975, 9) = 2.262157; deviation 2, n 10: 2.262157 * 2 / sqrt(10)
    assert half_width(2.0, 10) == pytest.approx(1.430713, abs=1e-6)
    with pytest.raises(ValueError, match="1 values tell nothing"):
        half_width(2.0, 1)


def test_the_variance_of_a_gap_is_that_of_two_arms():
    spread = Spread(items=1, pairs=0.3, trials=0.5, raters=0.6)
    # 0.09 + 2 * (0.25 + 0.36 / 2) / 5
    assert spread.of_gap(5) ** 2 == pytest.approx(0.262)
    # 1 + (0.25 + 0.18) / 3
    assert spread.of_item(3) ** 2 == pytest.approx(1.1433333)


def test_the_table_in_the_documents_is_the_one_that_is_told():
    text = (Path(__file__).parents[2] / "docs/statistics/power.md").read_text()
    printed = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    assert printed == [
        [str(pairs), *(percent(power) for power in row)] for pairs, row in power_table()
    ]
