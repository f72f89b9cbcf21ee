"""What intervals generalise to: other responses, other items, other raters; and chance in items."""

import math
from itertools import permutations

import numpy as np
import pytest

from rating.stats import alpha, weights
from rating.stats.agreement import (
    Undefined,
    alpha_for_ordinal,
    interval,
    ordinal_alpha,
    tally,
    tally_rows,
    value,
)
from rating.stats.chance import coefficient, fleiss_chance, gwet_chance
from rating.stats.permutation import chance_test
from rating.stats.spans import cross, estimate_for_raters_like_these, interval_by_item

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
POOLED = {
    "ordinal alpha": (alpha_for_ordinal, 2),
    "nominal alpha": (alpha.alpha_for_nominal, 2),
    "quadratic AC2": (coefficient(gwet_chance, weights.quadratic(5)), 1),
    "Fleiss": (coefficient(fleiss_chance, weights.identity(5)), 1),
}


def rows_of(levels):
    """Raters, units and places of an array (raters, units)."""
    rater, unit = np.nonzero(~np.isnan(levels))
    return rater, unit, levels[rater, unit].astype(np.int64) - 1


def pool(n_raters=7, n_units=40, per_unit=3, seed=3):
    """A pool in which each unit is rated by a few, chosen by chance."""
    random = np.random.default_rng(seed)
    true = random.integers(1, 6, n_units)
    levels = np.clip(true + random.integers(-1, 2, (n_raters, n_units)), 1, 5).astype(float)
    for unit in range(n_units):
        levels[random.permutation(n_raters)[per_unit:], unit] = math.nan
    return levels


def crossed(levels, items=None):
    rater, unit, place = rows_of(levels)
    item = unit if items is None else np.asarray(items)[unit]
    return cross(rater, unit, place, item, SCALE)


def value_of(of, fewest, levels):
    if fewest == 2:
        return value(of, tally(levels, SCALE))
    patterns = tally(levels, SCALE)
    return float(of(patterns, patterns.times[None, :].astype(float))[0])


@pytest.mark.parametrize(("of", "fewest"), POOLED.values(), ids=POOLED)
def test_a_rater_or_an_item_left_out_of_the_table_is_left_out_of_the_ratings(of, fewest):
    levels, items = pool(), np.arange(40) // 4
    table = crossed(levels, items).with_ratings(fewest)
    base = table.patterns.times

    of_raters = of(table.patterns, base + table.by_rater)
    of_items = of(table.patterns, base - table.by_item)

    for rater in range(7):
        without = np.delete(levels, rater, axis=0)
        assert of_raters[rater] == pytest.approx(value_of(of, fewest, without))
    expected = sorted(value_of(of, fewest, levels[:, items != item]) for item in range(10))
    assert sorted(np.repeat(of_items, table.items)) == pytest.approx(expected)


def test_items_of_one_kind_are_held_once():
    levels = np.array([[1.0, 2, 1, 2, 3], [1, 3, 1, 3, 3]])

    table = crossed(levels, [0, 0, 1, 1, 2])

    assert table.items.tolist() == [2, 1]
    assert table.n_items == 3
    assert table.nested


def test_the_interval_by_item_is_that_of_drawing_items_one_by_one():
    levels, items = pool(n_units=60), np.arange(60) // 3
    random = np.random.default_rng(11)
    slow = [
        ordinal_alpha(
            np.hstack([levels[:, items == item] for item in random.integers(0, 20, 20)]), SCALE
        )
        for _ in range(1_000)
    ]

    found = interval_by_item(alpha_for_ordinal, crossed(levels, items).with_ratings(2), seed="1")

    # Both ends are estimates; 0.02 is about four of their standard errors.
    low, high = np.quantile(slow, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)
    assert found.standard_error == pytest.approx(np.std(slow), rel=0.1)


def test_responses_that_hang_together_by_item_make_the_interval_wider():
    random = np.random.default_rng(2)
    item_level = random.integers(1, 6, 12)
    hard = random.random(12) < 0.5  # raters part on all responses of a hard item
    levels = np.repeat(item_level, 8).astype(float)[None, :].repeat(2, axis=0)
    levels[1, np.repeat(hard, 8)] = np.clip(levels[1, np.repeat(hard, 8)] - 3, 1, 5)
    items = np.arange(96) // 8

    by_item = interval_by_item(alpha_for_ordinal, crossed(levels, items).with_ratings(2), seed="1")
    by_unit = interval(alpha_for_ordinal, tally(levels, SCALE), seed="1")

    assert by_item.high - by_item.low > 1.5 * (by_unit.high - by_unit.low)


def test_the_error_for_other_raters_adds_that_of_items_and_that_of_raters():
    levels = pool()

    found = estimate_for_raters_like_these(alpha_for_ordinal, crossed(levels).with_ratings(2))

    def jackknife(values):
        n = len(values)
        return (n - 1) / n * ((np.array(values) - np.mean(values)) ** 2).sum()

    raters = jackknife([ordinal_alpha(np.delete(levels, one, axis=0), SCALE) for one in range(7)])
    units = jackknife([ordinal_alpha(np.delete(levels, one, axis=1), SCALE) for one in range(40)])
    assert found.value == pytest.approx(ordinal_alpha(levels, SCALE))
    assert found.standard_error == pytest.approx(math.sqrt(raters + units))
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("levels", "items", "reason"),
    [
        (pool(2, 20, 2), None, "at least 3 raters .* there are 2"),
        (pool(), [0] * 40, "but one item"),
        (np.ones((3, 4)), None, "All paired ratings are one level"),
        (np.array([[1, 2.0], [2, math.nan], [math.nan, 3]]), None, "no unit has two ratings"),
    ],
)
def test_no_interval_for_other_raters_without_enough_of_them(levels, items, reason):
    with pytest.raises(Undefined, match=reason):
        estimate_for_raters_like_these(alpha_for_ordinal, crossed(levels, items).with_ratings(2))


def test_no_interval_by_item_with_but_one_item():
    with pytest.raises(Undefined, match="but one item"):
        interval_by_item(alpha_for_ordinal, crossed(pool(), [0] * 40).with_ratings(2), seed="1")


def test_a_table_too_large_to_hold_is_refused_and_not_tried():
    random = np.random.default_rng(1)
    unit, rater = np.repeat(np.arange(6_000), 2), np.tile([0, 1], 6_000)
    place = random.integers(0, 101, 12_000)

    with pytest.raises(Undefined, match="too large to resample"):
        cross(rater, unit, place, unit, tuple(map(float, range(101))))


# Simulated truth


def studies(n, n_units, n_raters, *, severity, seed):
    """Ratings on 0 to 20 whose units vary by 4, raters by ``severity``, and single ratings by 2.

    The interval alpha of raters like these is 16 / (16 + severity^2 + 4 + 1/12): rounding adds a
    twelfth.
    """
    random = np.random.default_rng(seed)
    for _ in range(n):
        levels = (
            10
            + random.normal(0, 4, n_units)
            + random.normal(0, severity, (n_raters, 1))
            + random.normal(0, 2, (n_raters, n_units))
        )
        yield np.clip(np.rint(levels), 0, 20) + 1


def truth(severity):
    return 16 / (16 + severity**2 + 4 + 1 / 12)


LONG = tuple(float(level) for level in range(1, 22))


def test_the_true_alpha_is_recovered_from_many_units():
    (levels,) = studies(1, 20_000, 2, severity=0, seed=4)

    assert alpha.interval_alpha(levels, LONG) == pytest.approx(truth(0), abs=0.01)


@pytest.mark.parametrize("right", [0.5, 0.8])
def test_every_nominal_coefficient_is_the_share_of_true_agreement_where_levels_are_even(right):
    """Who knows the level says it, and who does not says any: kappa is the share who know, twice."""
    random = np.random.default_rng(9)
    true = random.integers(1, 6, 40_000)
    knows = random.random((2, 40_000)) < right
    levels = np.where(knows, true, random.integers(1, 6, (2, 40_000))).astype(float)

    for of, fewest in (
        POOLED["nominal alpha"],
        POOLED["Fleiss"],
        (coefficient(gwet_chance, weights.identity(5)), 1),
    ):
        assert value_of(of, fewest, levels) == pytest.approx(right**2, abs=0.015)


def test_the_interval_by_response_holds_the_true_alpha_about_as_often_as_it_says():
    inside = 0
    for number, levels in enumerate(studies(100, 80, 2, severity=0, seed=6)):
        patterns = tally(levels, LONG)
        found = interval(alpha.alpha_for_interval, patterns, seed=str(number), replicates=300)
        inside += found.low < truth(0) < found.high

    assert 86 <= inside <= 99  # 95 in 100, less what a percentile interval is short of; 3 errors


def test_the_interval_for_other_raters_holds_what_the_one_by_response_misses():
    wide = narrow = 0
    for number, levels in enumerate(studies(60, 40, 8, severity=3, seed=7)):
        rater, unit, place = rows_of(levels)
        patterns = tally_rows(unit, place, LONG)
        table = cross(rater, unit, place, unit, LONG).with_ratings(2)
        for_others = estimate_for_raters_like_these(alpha.alpha_for_interval, table)
        these = interval(alpha.alpha_for_interval, patterns, seed=str(number), replicates=100)
        wide += for_others.low < truth(3) < for_others.high
        narrow += these.low < truth(3) < these.high

    assert wide >= 52
    assert narrow < wide


# Against chance within items


def test_the_share_of_deals_is_that_of_all_there_are():
    """Two raters and one item of five units: 120 deals of the second against the first."""
    first, second = [1, 2, 3, 4, 5], [2, 1, 3, 5, 4]
    levels = np.array([first, second], dtype=float)
    rater, unit, place = rows_of(levels)
    alphas = [ordinal_alpha(np.array([first, deal]), SCALE) for deal in permutations(second)]
    found = chance_test(rater, unit, place, np.zeros(10, int), seed="1", permutations=4_000)

    reached = np.mean([one >= ordinal_alpha(levels, SCALE) - 1e-12 for one in alphas])
    assert found.alpha == pytest.approx(ordinal_alpha(levels, SCALE))
    assert found.p == pytest.approx(reached, abs=0.015)
    assert found.by_chance == pytest.approx(np.mean(alphas), abs=0.03)


def test_units_with_unequal_numbers_of_ratings_give_the_alpha_of_the_report():
    levels = pool(per_unit=3)
    levels[np.flatnonzero(~np.isnan(levels[:, 0]))[0], 0] = math.nan
    levels[:, 1] = math.nan
    levels[0, 1] = 2  # a unit with one rating, left out
    rater, unit, place = rows_of(levels)

    found = chance_test(rater, unit, place, np.zeros(len(unit), int), seed="1", permutations=50)

    assert found.alpha == pytest.approx(ordinal_alpha(levels, SCALE))


def items_and_raters(heard, seed, *, strict=0):
    """30 items of 4 responses by 3 raters, who hear ``heard`` of what a response differs by."""
    random = np.random.default_rng(seed)
    of_item = np.repeat(random.integers(1, 6, 30), 4)
    of_response = random.integers(-1, 2, 120)
    noise = random.integers(-1, 2, (3, 120))
    levels = of_item + heard * of_response + noise
    levels[0] -= strict
    return np.clip(levels, 1, 5).astype(float), np.arange(120) // 4


def against_chance(levels, items, seed="1", permutations=200):
    rater, unit, place = rows_of(levels)
    return chance_test(rater, unit, place, items[unit], seed=seed, permutations=permutations)


def test_raters_who_hear_no_difference_inside_an_item_agree_globally_but_not_within():
    above_globally = found_within = 0
    for seed in range(40):
        levels, items = items_and_raters(heard=0, seed=seed, strict=seed % 2)
        span = interval(alpha_for_ordinal, tally(levels, SCALE), seed="1", replicates=100)
        above_globally += span.low > 0
        found_within += against_chance(levels, items, str(seed)).p <= 0.05

    assert above_globally == 40
    assert found_within <= 6  # 5% of 40 is 2; more than 6 is once in two hundred


def test_raters_who_hear_the_difference_agree_within_items():
    levels, items = items_and_raters(heard=1, seed=1)

    found = against_chance(levels, items, permutations=2_000)

    assert found.p == pytest.approx(1 / 2_001)
    assert found.alpha > found.by_chance


def test_one_seed_gives_one_test_and_another_seed_another():
    levels, items = items_and_raters(heard=0, seed=3)

    assert against_chance(levels, items, "a") == against_chance(levels, items, "a")
    assert against_chance(levels, items, "a") != against_chance(levels, items, "b")


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        (np.full((2, 3), math.nan), "There are no ratings"),
        (np.array([[1, math.nan], [math.nan, 2]]), "No unit has two ratings"),
        (np.ones((2, 3)), "All paired ratings are one level"),
        (np.array([[1.0, 1], [2, 2]]), "No rater gave different levels to two responses"),
    ],
)
def test_a_test_that_nothing_could_come_out_of_is_not_made(levels, reason):
    with pytest.raises(Undefined, match=reason):
        against_chance(levels, np.zeros(levels.shape[1], dtype=int))


def test_a_rater_with_one_response_of_an_item_keeps_that_level():
    levels = np.array([[1.0, 5, 2], [2, 4, 1]])

    with pytest.raises(Undefined, match="No rater gave different levels to two responses"):
        against_chance(levels, np.arange(3))
