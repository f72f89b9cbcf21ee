"""Percents, ordinal alpha, their intervals and the report that says them."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.report import Figure, RatingRow, agreement_report, as_json
from rating.stats import agreement
from rating.stats.agreement import (
    Undefined,
    alpha_for_ordinal,
    exact_share,
    interval,
    ordinal_alpha,
    percent_exact,
    percent_within_one,
    tally,
    tally_rows,
)
from tests.rating.agreement_oracles import ORACLES, array_of

COEFFICIENTS = {
    "percent_agreement": percent_exact,
    "percent_within_one": percent_within_one,
    "alpha_ordinal": ordinal_alpha,
}
ONE_TO_FIVE = (1, 2, 3, 4, 5)


def expectations():
    for case in ORACLES["cases"]:
        for name in sorted(COEFFICIENTS.keys() & case["expected"].keys()):
            yield pytest.param(case, name, id=f"{case['id']}-{name}")


@pytest.mark.parametrize(("case", "name"), list(expectations()))
def test_a_coefficient_equals_the_value_found_elsewhere(case, name):
    levels = array_of(case)
    expected = case["expected"][name]

    if expected.get("undefined"):
        with pytest.raises(Undefined):
            COEFFICIENTS[name](levels, case["categories"])
    else:
        found = COEFFICIENTS[name](levels, case["categories"])
        assert found == pytest.approx(expected["value"], abs=expected["tol"])


@pytest.mark.parametrize("coefficient", COEFFICIENTS.values())
def test_without_a_unit_rated_twice_the_reason_is_said(coefficient):
    levels = np.array([[1, math.nan], [math.nan, 2]])

    with pytest.raises(Undefined, match="No unit has two ratings"):
        coefficient(levels, ONE_TO_FIVE)


@pytest.mark.parametrize("coefficient", COEFFICIENTS.values())
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0), (2, 3)])
def test_without_ratings_the_reason_is_said(coefficient, shape):
    with pytest.raises(Undefined, match="There are no ratings"):
        coefficient(np.full(shape, math.nan), ONE_TO_FIVE)


def test_alpha_of_a_single_level_is_undefined_and_not_one():
    with pytest.raises(Undefined, match="All paired ratings are one level"):
        ordinal_alpha(np.array([[2, 2], [2, 2]]), ONE_TO_FIVE)


def test_a_level_off_the_scale_is_refused_by_name():
    with pytest.raises(ValueError, match="level 6 is not on the scale 1, 2, 3, 4, 5"):
        percent_exact(np.array([[1, 6], [1, 5]]), ONE_TO_FIVE)
    with pytest.raises(ValueError, match="level inf"):
        percent_exact(np.array([[1, math.inf], [1, 5]]), ONE_TO_FIVE)


@pytest.mark.parametrize("scale", [(), (1, 1, 2), (2, 1), (1, math.nan), (1, math.inf)])
def test_a_scale_is_numbers_in_rising_order(scale):
    with pytest.raises(ValueError, match="A scale"):
        percent_exact(np.array([[1.0], [1.0]]), scale)


def test_levels_that_are_not_raters_by_units_are_refused():
    with pytest.raises(ValueError, match="shape"):
        percent_exact(np.array([1.0, 2.0]), ONE_TO_FIVE)


def test_within_one_holds_for_steps_that_binary_cannot_write():
    assert percent_within_one(np.array([[0.3], [1.3]]), (0.3, 0.8, 1.3)) == 1


def test_the_pattern_table_is_the_same_from_rows_as_from_an_array():
    levels = np.array([[1, 2, math.nan, 5], [1, math.nan, 3, 4], [2, 2, math.nan, 4]])
    raters, units = np.nonzero(~np.isnan(levels))

    from_rows = tally_rows(units, levels[raters, units].astype(np.int64) - 1, ONE_TO_FIVE)

    from_array = tally(levels, ONE_TO_FIVE)
    assert from_rows.counts.tolist() == from_array.counts.tolist()
    assert from_rows.times.tolist() == from_array.times.tolist()


def test_rows_that_do_not_fit_the_scale_are_refused():
    with pytest.raises(ValueError, match="from 0 to 4"):
        tally_rows(np.array([0, 0]), np.array([1, 5]), ONE_TO_FIVE)
    with pytest.raises(ValueError, match="shapes"):
        tally_rows(np.array([0, 0]), np.array([1]), ONE_TO_FIVE)


def test_many_raters_on_a_long_scale_are_counted_without_loss():
    # 400 raters and 101 levels are counts of more digits than one exact number can hold.
    scale = range(101)
    levels = np.random.default_rng(1).integers(0, 101, size=(400, 12)).astype(float)
    levels[:, 6:] = levels[::-1, :6]  # the same patterns, given by other people

    patterns = tally(levels, scale)

    counted = [tuple(np.bincount(unit, minlength=101)) for unit in levels.astype(int).T[:6]]
    assert sorted(map(tuple, patterns.counts)) == sorted(counted)
    assert patterns.times.tolist() == [2] * 6


# Properties

tables = st.integers(1, 5).flatmap(
    lambda raters: st.lists(
        st.lists(
            st.sampled_from([math.nan, 1, 2, 3, 4, 5]), min_size=raters, max_size=raters
        ),
        min_size=1,
        max_size=12,
    )
).map(lambda units: np.array(units, dtype=float).T)  # fmt: skip


def values(levels, scale=ONE_TO_FIVE):
    """Each coefficient, or the reason for none."""
    found = []
    for coefficient in COEFFICIENTS.values():
        try:
            found.append(coefficient(levels, scale))
        except Undefined as why:
            found.append(str(why))
    return found


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_raters_and_units_changes_nothing(levels, random):
    raters, units = list(range(levels.shape[0])), list(range(levels.shape[1]))
    random.shuffle(raters)
    random.shuffle(units)

    assert values(levels[raters][:, units]) == values(levels)


@given(tables)
def test_a_unit_or_a_rater_without_ratings_changes_nothing(levels):
    empty_unit = np.full((len(levels), 1), math.nan)
    empty_rater = np.full((1, levels.shape[1]), math.nan)

    assert values(np.hstack([levels, empty_unit])) == values(levels)
    assert values(np.vstack([levels, empty_rater])) == values(levels)


@given(tables)
def test_a_unit_rated_once_changes_nothing_where_another_is_rated_twice(levels):
    once = np.full((len(levels), 1), math.nan)
    once[0, 0] = 3

    if (np.isfinite(levels).sum(axis=0) >= 2).any():
        assert values(np.hstack([levels, once])) == values(levels)


@given(tables)
def test_levels_that_nobody_used_change_nothing(levels):
    assert values(levels, (0, 1, 2, 2.5, 3, 4, 5, 9)) == values(levels)


@given(tables)
def test_ordinal_alpha_and_exact_agreement_know_only_the_order_of_levels(levels):
    # Within-one is left out: it is in units of the scale.
    stretched = levels**3

    exact, _, alpha = values(stretched, [step**3 for step in ONE_TO_FIVE])

    assert [exact, alpha] == [values(levels)[0], values(levels)[2]]


@given(tables)
def test_ordinal_alpha_is_the_same_when_the_scale_is_turned_round(levels):
    turned = values(6 - levels)[2]

    assert turned == (
        pytest.approx(values(levels)[2]) if isinstance(turned, float) else values(levels)[2]
    )


@given(
    st.lists(st.sampled_from(ONE_TO_FIVE), min_size=2, max_size=12).filter(
        lambda units: len(set(units)) > 1
    ),
    st.integers(2, 6),
)
def test_full_agreement_with_variation_is_one(units, raters):
    assert values(np.array([units] * raters, dtype=float)) == [1, 1, pytest.approx(1)]


@given(tables)
@settings(max_examples=50)
def test_alpha_is_at_most_one_and_shares_lie_between_none_and_all(levels):
    exact, near, alpha = values(levels)

    assert isinstance(alpha, str) or alpha <= 1
    assert isinstance(exact, str) or 0 <= exact <= 1
    assert isinstance(near, str) or 0 <= near <= 1


# Intervals


def two_raters(n_units, seed=5):
    random = np.random.default_rng(seed)
    first = random.integers(1, 6, n_units)
    second = np.clip(first + random.integers(-1, 2, n_units), 1, 5)
    return np.array([first, second], dtype=float)


def test_the_interval_is_that_of_drawing_units_one_by_one():
    levels = two_raters(80)
    random = np.random.default_rng(11)
    slow = [ordinal_alpha(levels[:, random.integers(0, 80, 80)], ONE_TO_FIVE) for _ in range(3_000)]

    found = interval(alpha_for_ordinal, tally(levels, ONE_TO_FIVE), seed="1", replicates=3_000)

    # Both ends are estimates; 0.01 is about four of their standard errors.
    low, high = np.quantile(slow, [0.025, 0.975])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_one_seed_gives_one_interval_and_another_seed_another():
    patterns = tally(two_raters(60), ONE_TO_FIVE)

    assert interval(exact_share, patterns, seed="a") == interval(exact_share, patterns, seed="a")
    assert interval(exact_share, patterns, seed="a") != interval(exact_share, patterns, seed="b")


def test_the_interval_does_not_depend_on_how_many_replicates_are_held_at_once(monkeypatch):
    patterns = tally(two_raters(60), ONE_TO_FIVE)
    at_once = interval(alpha_for_ordinal, patterns, seed="1")
    monkeypatch.setattr(agreement, "CELLS", 100)

    in_batches = interval(alpha_for_ordinal, patterns, seed="1")

    assert in_batches.low == pytest.approx(at_once.low)
    assert in_batches.high == pytest.approx(at_once.high)


def test_units_rated_once_or_not_at_all_leave_the_interval_as_it_is():
    levels = two_raters(60)
    more = np.hstack([levels, [[3, math.nan], [math.nan, math.nan]]])

    assert interval(exact_share, tally(more, ONE_TO_FIVE), seed="1") == interval(
        exact_share, tally(levels, ONE_TO_FIVE), seed="1"
    )


def test_an_interval_is_withheld_when_many_resamples_have_no_value():
    # Resamples that miss the one unit with another level have no variation: about (1 - 1/8)^8.
    levels = np.array([[2, 2, 2, 2, 2, 2, 2, 3]] * 2, dtype=float)
    levels[1, 7] = 4

    with pytest.raises(Undefined, match="has no value, which is more than 5%"):
        interval(alpha_for_ordinal, tally(levels, ONE_TO_FIVE), seed="1")


def test_resamples_without_a_value_are_counted_and_left_out():
    levels = np.full((2, 60), 2.0)
    levels[:, :4] = [[3, 4, 3, 1], [4, 4, 3, 2]]

    found = interval(alpha_for_ordinal, tally(levels, ONE_TO_FIVE), seed="1")

    assert 0 < found.undefined <= 0.05 * found.replicates
    assert math.isfinite(found.low)


def test_an_interval_of_no_width_is_withheld():
    one_unit = tally(np.array([[1.0], [2.0]]), ONE_TO_FIVE)

    with pytest.raises(Undefined, match="Every resample of these units gives the same number"):
        interval(exact_share, one_unit, seed="1")


def test_too_few_replicates_for_a_95_percent_interval_are_refused():
    with pytest.raises(ValueError, match="at least 40 replicates, not 39"):
        interval(exact_share, tally(two_raters(9), ONE_TO_FIVE), seed="1", replicates=39)


# The report


def rows_of(levels, dimension=""):
    return [
        RatingRow(f"r{rater}", f"u{unit}", dimension, level)
        for rater, row in enumerate(levels.tolist())
        for unit, level in enumerate(row)
        if not math.isnan(level)
    ]


def test_a_report_gives_each_dimension_and_all_together():
    warmth, honesty = two_raters(40, seed=1), two_raters(50, seed=2)
    rows = rows_of(warmth, "warmth") + rows_of(honesty, "honesty")

    report = agreement_report(rows, ONE_TO_FIVE, seed="1")

    assert list(report.dimensions) == ["honesty", "warmth"]
    assert report.dimensions["warmth"].alpha_ordinal.value == ordinal_alpha(warmth, ONE_TO_FIVE)
    assert report.overall.n_units == 90
    assert report.overall.alpha_ordinal.value == ordinal_alpha(
        np.hstack([warmth, honesty]), ONE_TO_FIVE
    )
    assert report.sentence == "Agreement is above chance in 2 of 2 dimensions."


def test_the_order_of_dimensions_is_the_instruments_where_it_is_given():
    rows = rows_of(two_raters(40), "warmth")

    report = agreement_report(rows, ONE_TO_FIVE, seed="1", dimensions=["warmth", "honesty"])

    assert list(report.dimensions) == ["warmth", "honesty"]
    assert report.dimensions["honesty"].alpha_ordinal == Figure(
        None, reason="There are no ratings."
    )
    assert report.sentence == (
        "Agreement is above chance in 1 of 2 dimensions, and cannot be told in 1."
    )


def test_a_dimension_that_the_instrument_does_not_have_is_refused():
    with pytest.raises(ValueError, match="no dimension 'warmth'; the dimensions are: honesty"):
        agreement_report(
            rows_of(two_raters(3), "warmth"), ONE_TO_FIVE, seed="1", dimensions=["honesty"]
        )


def test_rows_with_and_without_a_dimension_do_not_mix():
    rows = rows_of(two_raters(3), "warmth") + rows_of(two_raters(3))

    with pytest.raises(ValueError, match="Some rows have a dimension and some have none"):
        agreement_report(rows, ONE_TO_FIVE, seed="1")


def test_a_rater_twice_in_a_unit_is_refused_by_name():
    row = RatingRow("Ada", "u1", "warmth", 3)

    with pytest.raises(ValueError, match="Ada rated unit u1 in dimension warmth more than once"):
        agreement_report([row, row], ONE_TO_FIVE, seed="1")


def test_a_rater_may_rate_one_unit_in_two_dimensions():
    rows = [RatingRow("Ada", "u1", "warmth", 3), RatingRow("Ada", "u1", "honesty", 3)]

    assert agreement_report(rows, ONE_TO_FIVE, seed="1").overall.n_units == 2


def test_a_level_off_the_scale_is_refused_with_who_and_where():
    rows = [RatingRow("Ada", "u1", "", 0)]

    with pytest.raises(ValueError, match="Ada gave unit u1 the level 0, which is not on the scale"):
        agreement_report(rows, ONE_TO_FIVE, seed="1")


def test_below_thirty_pairable_units_alpha_is_given_and_said_not_to_suffice():
    report = agreement_report(rows_of(two_raters(29)), ONE_TO_FIVE, seed="1")

    assert report.overall.alpha_ordinal.value is not None
    assert not report.overall.sufficient
    assert "Only 29 units have two ratings" in report.overall.caution
    assert report.sentence == "Whether agreement is above chance cannot be told."


def test_at_thirty_pairable_units_alpha_suffices():
    report = agreement_report(rows_of(two_raters(30)), ONE_TO_FIVE, seed="1")

    assert report.overall.sufficient
    assert report.overall.caution == ""
    assert report.sentence == "Agreement is above chance."


def test_unused_levels_and_coverage_are_told():
    rows = [
        RatingRow("Ada", "u1", "", 2),
        RatingRow("Ben", "u1", "", 3),
        RatingRow("Ada", "u2", "", 3),
        RatingRow("Ada", "u3", "", 5),
        RatingRow("Ada", "u4", "", 5),
    ]

    overall = agreement_report(rows, ONE_TO_FIVE, seed="1").overall

    assert overall.unused == "1 and 4"
    assert overall.level_counts == ((1, 0), (2, 1), (3, 2), (4, 0), (5, 2))
    assert overall.coverage.value == 0.25


def test_the_order_of_rows_changes_nothing_in_the_report():
    rows = rows_of(two_raters(40), "warmth") + rows_of(two_raters(30), "honesty")

    assert as_json(agreement_report(rows[::-1], ONE_TO_FIVE, seed="1")) == as_json(
        agreement_report(rows, ONE_TO_FIVE, seed="1")
    )


def test_no_rows_make_a_report_of_reasons():
    report = agreement_report([], ONE_TO_FIVE, seed="1")

    assert report.overall.n_ratings == 0
    assert report.overall.coverage == Figure(None, reason="There are no ratings.")
    json.dumps(as_json(report), allow_nan=False)


@pytest.mark.parametrize(
    ("figure", "number", "percent"),
    [
        (
            Figure(0.714, 0.62, 0.79),
            "0.71 (95% interval 0.62 to 0.79)",
            "71% (95% interval 62% to 79%)",
        ),
        (
            Figure(None, reason="No unit has two ratings."),
            "This number cannot be given: No unit has two ratings.",
            "This number cannot be given: No unit has two ratings.",
        ),
        (
            Figure(1.0, reason="Every resample of these units gives the same number."),
            "1.00. This interval cannot be given: "
            "Every resample of these units gives the same number.",
            "100%. This interval cannot be given: "
            "Every resample of these units gives the same number.",
        ),
        (
            Figure(0.9996, 0.9991, 1.0),
            "over 0.99 (95% interval over 0.99 to 1.00)",
            "over 99% (95% interval over 99% to 100%)",
        ),
        (
            Figure(0.0, 0.0, 0.004),
            "0.00 (95% interval 0.00 to 0.00)",
            "0% (95% interval 0% to under 1%)",
        ),
    ],
)
def test_a_figure_is_said_with_its_interval_or_its_reason(figure, number, percent):
    assert figure.as_number() == number
    assert figure.as_percent() == percent


def test_an_alpha_just_below_chance_is_not_said_with_a_lone_minus():
    assert Figure(-0.001, -0.02, 0.01).as_number() == "0.00 (95% interval -0.02 to 0.01)"
