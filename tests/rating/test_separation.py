"""Intervals and separation are held to tests/oracles/intervals.json (R's boot with strata, 200,000
replicates) and to the public pilot of 2 October 2026, draw for draw."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats.agreement import Undefined
from rating.stats.resampling import (
    Panel,
    corrected_percentile,
    draw_indices,
    draw_items,
    percentile,
    resample,
    trial_interval,
    trial_mean_interval,
)
from rating.stats.scores import ORDER, composite
from rating.stats.separation import COMPOSITE, dimension_estimate, grouped, separate
from rating.stats.student import Range
from tests.rating import pilot
from tests.rating.pilot import PILOT, printed

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "intervals.json").read_text())
MANY = 10_000


def cases(kind):
    found = [case for case in ORACLES["cases"] if case["kind"] == kind]
    assert found
    return pytest.mark.parametrize("case", found, ids=[case["id"] for case in found])


def near(found, expected, tolerances):
    for value, wanted, tolerance in zip((found.low, found.high), expected, tolerances, strict=True):
        assert value == pytest.approx(wanted, abs=tolerance)


def panel_of(*means, sizes=(4,) * 8, names="ABCDEFGH"):
    dimensions = [code for code, size in zip(ORDER, sizes, strict=True) for _ in range(size)]
    return Panel(tuple(names[: len(means)]), tuple(dimensions), np.array(means, dtype=float))


# Against R


@cases("bootstrap_mean")
def test_the_percentile_interval_of_a_mean_equals_the_exact_one(case):
    values = np.array(case["input"]["values"], dtype=float)
    indices = draw_indices(case["id"], MANY, [len(values)])[0]
    drawn = values[indices].mean(axis=1)[None]

    near(percentile(drawn)[0], case["expected"]["ci95"], case["tol_ci95_by_replicates"]["10000"])
    near(
        corrected_percentile(drawn, 6)[0],
        case["expected"]["ci95_bonferroni_6"],
        case["tol_bonferroni_by_replicates"]["10000"],
    )


@cases("bootstrap_trials_within_items")
def test_trials_are_drawn_within_their_item_and_items_are_kept(case):
    trials = case["input"]["trials_by_item"]
    items = np.repeat(np.arange(len(trials)), [len(own) for own in trials])
    values = np.array([level for own in trials for level in own], dtype=float)

    found = trial_mean_interval(items, values, seed=case["id"], replicates=MANY)

    near(found, case["expected"]["ci95"], case["tol_ci95_by_replicates"]["10000"])


@cases("bootstrap_items_stratified_paired")
def test_items_are_drawn_within_their_dimension_and_alike_for_every_subject(case):
    given, expected = case["input"], case["expected"]
    names = tuple(given["models"])
    ratings = np.array([given["ratings_item_trial_judge"][name] for name in names], dtype=float)
    panel = Panel(names, tuple(given["dims_of_items"]), ratings.mean(axis=(2, 3)))

    found = separate(panel, seed=case["id"], replicates=MANY)

    tolerances = case["tol_by_replicates"]["10000"]
    for name in names:
        tolerance = [tolerances["composite_ci95"]] * 2
        near(found.ranges[name][COMPOSITE], expected["composite_ci95"][name], tolerance)
        of = [panel.means[names.index(name), panel.items_in(code)].mean() for code in ORDER]
        assert of == pytest.approx(expected["dimension_means"][name])
        assert composite(of) == expected["composite"][name]
    assert [(pair.a, pair.b) for pair in found.pairs] == [
        (pair["a"], pair["b"]) for pair in expected["pairs"]
    ]
    for pair, wanted in zip(found.pairs, expected["pairs"], strict=True):
        assert pair.value == pytest.approx(wanted["difference"])
        near(pair.percentile, wanted["ci95"], [tolerances["pair_ci95"]] * 2)
        bonferroni = [tolerances["pair_bonferroni"]] * 2
        near(pair.corrected_percentile, wanted["ci_bonferroni_pairs"], bonferroni)
        stable = wanted["decision_stable_at_10000_replicates"]
        if stable["ci95"]:
            assert pair.percentile.excludes_zero == wanted["separated95"]
        if stable["bonferroni"]:
            assert pair.corrected_percentile.excludes_zero == wanted["separated_bonferroni"]
        own = [d for d in found.dimension_pairs if (d.a, d.b) == (pair.a, pair.b)]
        assert [d.value for d in own] == pytest.approx(wanted["dimension_differences"])
        for dimension, plain, corrected in zip(
            own, wanted["dimension_ci95"], wanted["dimension_ci_bonferroni"], strict=True
        ):
            near(dimension.percentile, plain, [tolerances["dimension_ci95"]] * 2)
            near(
                dimension.corrected_percentile,
                corrected,
                [tolerances["dimension_bonferroni"]] * 2,
            )
    for flag, level in (("ci95", "percentile"), ("bonferroni", "corrected_percentile")):
        alike = [(pair.a, pair.b) for pair in found.pairs if not getattr(pair, level).excludes_zero]
        wanted_groups = expected["models_not_told_apart"][flag]["connected_components"]
        assert sorted(group.members for group in grouped(names, alike)) == sorted(
            tuple(sorted(members)) for members in wanted_groups if len(members) > 1
        )


# Against the public pilot


def test_the_pilot_from_its_ratings_to_its_published_scores():
    for subject, score in pilot.scores().items():
        published, exact = PILOT["expected"]["subjects"][subject], PILOT["unrounded"][subject]
        assert score.composite == published["composite"]
        assert score.label == "complete"
        assert score.band == PILOT["server_scorecard"][subject]["band"]
        means = {code: own.value for code, own in score.dimensions.items()}
        assert means == pytest.approx(exact["dimension_means"], abs=1e-9)
        assert {code: printed(value, 2) for code, value in means.items()} == published["dimensions"]
        subdimensions = {code: own.value for code, own in score.subdimensions.items()}
        assert subdimensions == pytest.approx(exact["subdimension_means"], abs=1e-9)


def test_the_draws_of_the_pilot_give_its_published_ranges_and_flags_to_the_digit():
    panel = pilot.panel()

    found = separate(panel, seed="pilot", drawn=resample(panel, pilot.published_indices()))

    for subject, published in PILOT["expected"]["subjects"].items():
        ranges = found.ranges[subject]
        assert [ranges[COMPOSITE].low, ranges[COMPOSITE].high] == published["interval95"]
        for code, wanted in published["dimension_intervals95"].items():
            assert [printed(ranges[code].low, 2), printed(ranges[code].high, 2)] == wanted
    oriented = PILOT["analysis_orientation"]
    (pair,), (wanted,) = found.pairs, oriented["pairwise"]
    assert [pair.percentile.low, pair.percentile.high] == wanted["interval95"]
    assert pair.value == pytest.approx(wanted["difference"])
    for pair, wanted in zip(found.dimension_pairs, oriented["dimension_pairwise"], strict=True):
        assert pair.of == wanted["dimension"]
        assert [printed(end, 2) for end in dataclasses.astuple(pair.percentile)] == wanted[
            "interval95"
        ]
        assert dataclasses.astuple(pair.corrected_percentile) == pytest.approx(
            wanted["bonferroni_interval_unrounded"], abs=1e-9
        )
        assert pair.percentile.excludes_zero == wanted["separated"]
        assert pair.corrected_percentile.excludes_zero == wanted["bonferroni_separated"]
    assert [list(group.members) for group in found.groups] == PILOT["expected"]["derived"][
        "not_separated_groups"
    ]


def test_our_draws_give_the_ranges_of_the_pilot_within_their_error():
    found = separate(pilot.panel(), seed="pilot-2026-10-02")

    tolerance = PILOT["reference_bootstrap"]["tolerance_for_B_20000"]
    for bound in PILOT["reference_bootstrap"]["bounds"]:
        names, kind = bound["key"], bound["kind"]
        if kind in ("composite", "dimension"):
            code = names[1] if kind == "dimension" else COMPOSITE
            near(found.ranges[names[0]][code], bound["bounds"], [tolerance[kind]] * 2)
            continue
        of = names[2] if kind == "dimension_pair" else COMPOSITE
        pair = next(d for d in found.pairs + found.dimension_pairs if d.of == of)
        turned = (
            pair.percentile.mirrored if (pair.a, pair.b) != tuple(names[:2]) else pair.percentile
        )
        near(turned, bound["bounds"], [tolerance[kind]] * 2)
        assert turned.excludes_zero == (bound["separated_in_10"] == 10)


def test_the_flag_of_integrity_in_the_pilot_does_not_survive_the_sound_interval():
    """Ten differences by item: mean 0.583, Student's t with 9 degrees of freedom."""
    found = separate(pilot.panel(), seed="pilot-2026-10-02")

    integrity = next(pair for pair in found.dimension_pairs if pair.of == "INT")

    assert integrity.percentile.excludes_zero
    assert not integrity.separated
    assert dataclasses.astuple(integrity.studentised) == pytest.approx((-0.103, 1.270), abs=1e-3)
    assert not any(pair.separated for pair in found.dimension_pairs)


def test_the_trials_of_a_run_drawn_anew_give_the_range_of_the_scoring_server():
    """The server takes two ratings of a reply for two trials; so does this test, and nothing else."""
    number = {place.item: index for index, place in enumerate(pilot.places())}
    for subject in pilot.SUBJECTS:
        rows = [row for row in PILOT["ratings"] if row["subject"] == subject]
        items = np.array([number[row["item"]] for row in rows for _ in row["ratings"]])
        levels = np.array([level for row in rows for _, _, level in row["ratings"]], dtype=float)
        dimensions = [place.dimension for place in pilot.places()]

        found = trial_interval(items, levels, dimensions, seed=subject)

        published = PILOT["server_scorecard"][subject]["trial_bootstrap"]["composite_ci95"]
        near(found, published, [0.3, 0.3])


# Properties


def test_the_draws_come_from_raw_words_and_never_change():
    """The first words of PCG64 seeded with SHA-256 of "seed": a change would change every range."""
    assert draw_indices("seed", 2, [5])[0].tolist() == GOLDEN


GOLDEN = [[0, 2, 0, 0, 3], [3, 0, 3, 4, 4]]


@pytest.mark.parametrize("missing", [False, True])
def test_a_draw_is_the_mean_of_the_items_drawn_those_without_a_rating_left_out(missing):
    means = np.random.default_rng(5).uniform(1, 5, (2, 32))
    if missing:
        means[1, [0, 9, 30]] = np.nan
    panel = panel_of(*means)
    # Each draw holds the last item, so that none is left out.
    indices = [
        np.append(own, np.full((2_500, 1), 3), axis=1) for own in draw_indices("1", 2_500, [3] * 8)
    ]

    found = resample(panel, indices)

    for code, places in zip(ORDER, indices, strict=True):
        own = means[:, panel.items_in(code)]
        for replicate in (0, 1, 1_999, 2_000, 2_499):
            drawn = own[:, places[replicate]]
            wanted = [np.nanmean(row) for row in drawn]
            assert found.dimensions[code][:, replicate] == pytest.approx(wanted)


def test_draws_that_hold_no_rated_item_of_a_subject_are_left_out_while_they_are_few():
    means = np.tile([2.0, 3, 4, 3], (2, 8))
    means[1, 1] = np.nan

    found = separate(panel_of(*means), seed="1", replicates=2_000)

    assert 0.9 * 2_000 < found.replicates < 2_000  # 1/256 of the draws, in one dimension
    means[1, 2:4] = np.nan
    with pytest.raises(Undefined, match="no rated item of some subject"):
        separate(panel_of(*means), seed="1", replicates=200)


def test_equal_seeds_give_equal_ranges_and_others_give_others():
    panel = pilot.panel()

    one, again, other = (
        separate(panel, seed=seed, replicates=1000) for seed in ("one", "one", "other")
    )

    assert one == again
    assert one.ranges != other.ranges


def test_every_place_is_drawn_as_often_as_any_other():
    drawn = draw_indices("even", 20_000, [10])[0]

    counts = np.bincount(drawn.ravel(), minlength=10)
    assert np.abs(counts / drawn.size - 0.1).max() < 0.003  # six standard errors


def test_a_dimension_difference_has_students_paired_interval():
    """Differences 1, 0, 1, 2: mean 1, variance 2/3; t for 3 degrees of freedom is 3.1824."""
    found = dimension_estimate(np.array([3.0, 2, 4, 5]), np.array([2.0, 2, 3, 3]))

    assert (found.value, found.variance, found.freedom) == pytest.approx((1, 1 / 6, 3))
    half = 3.18245 * math.sqrt(1 / 6)
    assert dataclasses.astuple(found.interval()) == pytest.approx((1 - half, 1 + half), abs=1e-4)


def test_an_item_only_one_of_two_was_rated_on_counts_for_that_one():
    """Alone, the mean of k items has its variance over those k, whatever else was asked."""
    alone = dimension_estimate(np.array([1.0, 2, 4, np.nan]))
    assert (alone.value, alone.variance) == pytest.approx((7 / 3, 7 / 9))

    both = dimension_estimate(np.array([1.0, 2, 4, np.nan]), np.array([1.0, 2, 3, 5]))
    assert both.value == pytest.approx(7 / 3 - 11 / 4)
    assert both.freedom == 2


def test_the_premium_widens_a_range_where_dimensions_cross_four_and_nowhere_else():
    """Far below 4 the composite is 25 times the mean; at 4 it jumps, which no formula shows."""
    chance = np.random.default_rng(3).normal(0, 0.3, (2, 80))

    def widths(level):
        panel = panel_of(*(level + chance), sizes=(10,) * 8)
        pair = separate(panel, seed="1", replicates=4_000).pairs[0]
        parts = [
            dimension_estimate(*panel.means[:, panel.items_in(code)]).variance for code in ORDER
        ]
        return (pair.studentised.high - pair.studentised.low), 25 / 8 * math.sqrt(sum(parts))

    plain, linear = widths(2.5)
    assert plain == pytest.approx(2 * 1.99 * linear, rel=0.01)  # Student's t of 70 or so
    crossing, linear = widths(4.0)
    assert crossing > 1.1 * 2 * 1.99 * linear


def test_a_chain_of_subjects_not_told_apart_is_one_group_without_an_order():
    """D is like E and E like F, yet D and F differ: the case at which an exporter elsewhere stops."""
    (group,) = grouped("FED", [("D", "E"), ("E", "F")])

    assert group.members == ("D", "E", "F")
    assert not group.clique
    assert "no order is stated" in group.sentence


def test_groups_stand_largest_first_then_by_name_and_single_subjects_are_in_none():
    found = grouped("abcdefg", [("g", "f"), ("b", "a"), ("c", "d"), ("d", "e"), ("c", "e")])

    assert [group.members for group in found] == [("c", "d", "e"), ("a", "b"), ("f", "g")]
    assert all(group.clique for group in found)
    assert grouped(["one"], []) == ()


def test_a_pair_that_was_not_compared_was_not_told_apart():
    means = np.repeat([[1.5], [3.0], [4.5]], 32, axis=1) + np.tile([0, 0.1, 0.2, 0.1], 8)
    means[0] += np.tile([0.1, 0, 0, 0], 8)
    means[1] -= np.tile([0, 0.2, 0, 0], 8)
    panel = panel_of(*means)

    every = separate(panel, seed="1", replicates=200)
    some = separate(panel, seed="1", replicates=200, pairs=[("B", "A"), ("B", "C")])

    assert every.alone == ("A", "B", "C")
    assert [group.members for group in some.groups] == [("A", "C")]
    assert some.pairs[0].comparisons == 2
    assert some.dimension_pairs[0].comparisons == 16


def test_the_declared_correction_is_the_one_that_is_made():
    panel = pilot.panel()

    def corrected(correction):
        found = separate(panel, seed="1", replicates=400, correction=correction)
        return [(pair.comparisons, pair.corrected) for pair in found.dimension_pairs]

    assert [count for count, _ in corrected("bonferroni")] == [8] * 8
    assert corrected("holm") == corrected("bonferroni")
    plain = separate(panel, seed="1", replicates=400, correction="none").dimension_pairs
    assert [pair.corrected for pair in plain] == [pair.studentised for pair in plain]
    with pytest.raises(ValueError, match="no correction 'tukey': bonferroni, holm, none"):
        separate(panel, seed="1", correction="tukey")


def test_where_all_are_alike_they_are_one_group_and_no_range_has_no_width():
    level = np.tile([2.0, 3, 4, 3], 8)

    found = separate(panel_of(level, level, level), seed="1", replicates=200)

    assert [group.members for group in found.groups] == [("A", "B", "C")]
    assert all(pair.corrected is None and "no width" in pair.reason for pair in found.pairs)


def test_one_subject_has_ranges_and_no_comparison():
    found = separate(panel_of(np.tile([2.0, 3, 4, 3], 8)), seed="1", replicates=200)

    assert found.pairs == found.dimension_pairs == found.groups == ()
    assert found.alone == ("A",)
    assert found.ranges["A"][COMPOSITE].low < 50 < found.ranges["A"][COMPOSITE].high


def test_without_a_dimension_there_is_no_composite_pair_and_nobody_stands_alone():
    means = np.array([np.tile([1.0, 1.2, 1.1, 1.4], 8), np.tile([4.0, 4.4, 4.1, 4.3], 8)])
    means[1, -4:] = np.nan

    found = separate(panel_of(*means), seed="1", replicates=200)

    assert found.pairs == ()
    assert found.alone == ()
    assert {pair.of for pair in found.dimension_pairs} == set(ORDER[:-1])
    assert all(pair.separated_corrected for pair in found.dimension_pairs)
    assert COMPOSITE not in found.ranges["A"]


def test_what_cannot_be_compared_says_why():
    with pytest.raises(Undefined, match="no dimension in which every subject"):
        separate(panel_of([np.nan] * 32, [3.0] * 32), seed="1")
    with pytest.raises(ValueError, match="no subject Z; the subjects are: A, B"):
        separate(panel_of([3.0] * 32, [2.0] * 32), seed="1", pairs=[("A", "Z")])
    with pytest.raises(ValueError, match="stands once"):
        separate(panel_of([3.0] * 32, [2.0] * 32), seed="1", pairs=[("A", "B"), ("B", "A")])
    with pytest.raises(ValueError, match="A subject stands twice"):
        panel_of([3.0] * 32, [2.0] * 32, names="AA")
    with pytest.raises(ValueError, match="at least 40"):
        draw_items(panel_of([3.0] * 32), seed="1", replicates=39)
    with pytest.raises(Undefined, match="No response was rated in EMP"):
        trial_interval(np.array([0, 0]), np.array([1.0, 2]), ["AWR"], seed="1")


def test_touching_zero_does_not_tell_apart():
    assert not Range(0.0, 2.0).excludes_zero
    assert not Range(-2.0, 0.0).excludes_zero
    assert Range(1e-6, 2).excludes_zero
    assert Range(-3, -1).mirrored == Range(1, 3)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 9))
def test_the_order_of_the_subjects_turns_ranges_and_changes_no_flag(order, seed):
    means = np.random.default_rng(seed).integers(6, 31, (4, 32)) / 6
    names = "ABCD"
    straight = separate(panel_of(*means), seed="1", replicates=100)
    turned = separate(
        Panel(tuple(names[i] for i in order), panel_of(means[0]).dimensions, means[list(order)]),
        seed="1",
        replicates=100,
    )

    flags = {frozenset((d.a, d.b, d.of)): d.separated for d in straight.dimension_pairs}
    assert {frozenset((d.a, d.b, d.of)): d.separated for d in turned.dimension_pairs} == flags
    assert turned.groups == straight.groups
    assert turned.ranges == straight.ranges


def test_a_family_larger_than_the_pairs_that_are_left_corrects_for_all_of_it():
    panel = panel_of([3.0, 3.5, 4, 3] * 8, [2.0, 3, 3, 2.5] * 8)
    few, many = (separate(panel, seed="1", replicates=200, family=n) for n in (None, 6))

    assert (few.pairs[0].comparisons, many.pairs[0].comparisons) == (1, 6)
    assert many.dimension_pairs[0].comparisons == 48
    assert many.pairs[0].corrected.low < few.pairs[0].corrected.low
    with pytest.raises(ValueError, match="A family of 2 cannot hold 3 comparisons"):
        separate(panel_of([3.0] * 32, [2.0] * 32, [4.0] * 32), seed="1", family=2)
