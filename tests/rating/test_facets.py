"""How severe each rater is, held to other programs, to simulated truth and to its own symmetries."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats import facets
from rating.stats.agreement import Undefined, generator
from rating.stats.facets import Facets, Unlinked, linked_groups, severity_model

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "facets.json").read_text())
CASES = {case["id"]: case for case in ORACLES["cases"]}
SCALE = (1, 2, 3, 4, 5)
STEPS = (-1.5, -0.5, 0.5, 1.5)


def fitted(case: dict) -> Facets:
    if "long" in case:
        response, rater, item, level = np.array(case["long"]["rows"]).T
    else:
        table = np.array(case["ratings"], dtype=np.float64)
        rater, response = np.nonzero(~np.isnan(table))
        level, item = table[rater, response].astype(int), None
    names = [f"r{number}" for number in range(case["raters"])]
    return severity_model(response, rater, level - 1, case["categories"], raters=names, item=item)


def fit(rows, scale=SCALE, names="abcdefghij") -> Facets:
    """From rows of response, rater and level."""
    response, rater, level = np.array(rows).T
    places = np.searchsorted(scale, level)
    return severity_model(response, rater, places, scale, raters=names[: rater.max() + 1])


def logits(found: Facets) -> np.ndarray:
    return np.array([one.logits for one in found.severities], dtype=np.float64)


def study(seed, severities, n, *, quality=1.3, steps=STEPS, each=2):
    """Rows of simulated ratings: ``each`` of the raters, drawn anew, rate each response."""
    random = generator(seed)
    severities = np.asarray(severities, dtype=np.float64)
    rater = random.random((n, len(severities))).argsort(axis=1)[:, :each].ravel()
    response = np.repeat(np.arange(n), each)
    place = random.normal(0, quality, n)[response] - severities[rater]
    scores = np.arange(len(steps) + 1)
    shares = np.exp(scores * place[:, None] - np.append(0, np.cumsum(steps)))
    shares /= shares.sum(axis=1, keepdims=True)
    level = 1 + (shares.cumsum(axis=1) < random.random((n * each, 1))).sum(axis=1)
    return np.stack([response, rater, level], axis=1)


# What other programs find


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_severities_are_those_of_other_programs_within_the_tolerance_stated(case):
    found, expected = fitted(case), case["expected"]

    for peer in ("severity_logits_tam", "severity_logits_erm_cml"):
        if peer in expected:
            tolerance = expected[peer]["tol"]
            assert logits(found) == pytest.approx(expected[peer]["value"], abs=tolerance)
    variance = expected["ability_variance_tam"]
    assert found.variance == pytest.approx(variance["value"], abs=variance["tol"])
    if "item_difficulty_tam" in expected:
        items = expected["item_difficulty_tam"]
        assert found.difficulties == pytest.approx(items["value"], abs=items["tol"])


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_the_same_likelihood_as_that_of_tam(case):
    """Much closer than two estimators must be: one deviance to the second decimal."""
    found, expected = fitted(case), case["expected"]

    assert found.deviance == pytest.approx(expected["deviance_tam"], abs=0.01)
    assert logits(found) == pytest.approx(expected["severity_logits_tam"]["value"], abs=1e-3)
    # TAM states the middle of its steps another way where there are items.
    theirs = np.array(expected["steps_tam"])
    ours = np.array(found.thresholds)
    assert ours - ours.mean() == pytest.approx(theirs - theirs.mean(), abs=1e-3)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_severities_follow_the_truth_and_rank_as_the_oracle_demands(case):
    found = logits(fitted(case))
    truth = np.array(case["true_severity_centred"])
    floor = float(case["checks"][0].rsplit(" ", 1)[1])

    assert np.corrcoef(found, truth)[0, 1] > floor
    theirs = case["expected"]["severity_logits_tam"]["value"]
    order = case["expected"]["rank_most_lenient_first"]["value"]
    for lenient, severe in pairwise(order):
        if theirs[severe] - theirs[lenient] > 0.2:
            assert found[severe] > found[lenient]


# The truth behind simulated ratings


def test_simulated_severities_thresholds_and_variance_come_back():
    truth = np.array([-0.8, -0.3, -0.1, 0.2, 0.4, 0.6])
    found = fit(study("recover", truth, 4000))

    # Three deviations of such studies: .04 of a severity, .11 of the variance, .06 of a step.
    assert logits(found) == pytest.approx(truth, abs=0.12)
    assert found.variance == pytest.approx(1.3**2, abs=0.33)
    assert found.thresholds == pytest.approx(STEPS, abs=0.18)
    for one, true in zip(found.severities, truth, strict=True):
        assert abs(one.logits - true) < 4 * one.error
        assert one.fit == pytest.approx(1, abs=0.12)


def test_the_error_is_as_large_as_the_severities_of_many_studies_scatter():
    truth = np.array([-0.5, 0.0, 0.1, 0.4])
    found = [fit(study(f"scatter {n}", truth, 150)) for n in range(80)]

    scattered = np.array([logits(one) for one in found]).var(axis=0, ddof=1).mean() ** 0.5
    claimed = np.mean([[s.error for s in one.severities] for one in found])
    # The deviation of 80 draws of 4 severities that sum to 0 is known to 1 in 22.
    assert claimed == pytest.approx(scattered, rel=0.14)


def test_severity_in_levels_is_what_the_rater_would_give_more_than_the_mean():
    rows = study("levels", [-0.8, 0.0, 0.8], 6000, each=3)
    found = fit(rows)

    # All three rated every response, so that plain means say the same.
    means = np.array([rows[rows[:, 1] == rater, 2].mean() for rater in range(3)])
    assert [one.levels for one in found.severities] == pytest.approx(means - means.mean(), abs=0.02)
    assert found.severities[0].levels_low > 0 > found.severities[2].levels_high


def test_a_rater_who_answers_by_chance_fits_less_than_the_others():
    rows = study("careless", [0.0] * 5, 600)
    careless = rows[:, 1] == 2
    rows[careless, 2] = generator("dice").integers(1, 6, careless.sum())

    fits = [one.fit for one in fit(rows).severities]

    assert np.argmax(fits) == 2
    assert fits[2] > 1.3


def test_quality_that_varies_much_gets_the_nodes_it_needs():
    """With 11 ratings of a response its quality is known closely: too few nodes would miss it."""
    rows = study("eleven", np.linspace(-0.5, 0.5, 11), 120, quality=2.5, each=11)
    found = fit(rows, names="abcdefghijk")

    assert found.variance == pytest.approx(2.5**2, rel=0.35)
    assert logits(found) == pytest.approx(np.linspace(-0.5, 0.5, 11), abs=0.35)


def test_responses_that_do_not_differ_have_a_variance_near_0_and_raters_a_severity():
    found = fit(study("alike", [-0.5, 0.0, 0.5], 800, quality=0))

    assert found.variance < 0.05
    assert logits(found) == pytest.approx([-0.5, 0, 0.5], abs=0.2)


# What the data leave open


def test_raters_without_a_common_response_are_refused_and_the_groups_named():
    rows = [(0, 0, 2), (0, 1, 3), (1, 2, 3), (1, 3, 2), (2, 0, 4), (2, 1, 3), (3, 2, 1), (3, 3, 4)]

    with pytest.raises(
        Unlinked, match=r"2 groups that share no response.*: a, b; c, d\."
    ) as refused:
        fit(rows)

    assert refused.value.groups == (("a", "b"), ("c", "d"))


def test_one_common_response_links_two_groups():
    response = np.array([0, 0, 1, 1, 2, 2])
    rater = np.array([0, 1, 2, 3, 1, 2])

    assert linked_groups(response[:4], rater[:4]) == [[0, 1], [2, 3]]
    assert linked_groups(response, rater) == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(0, 0, 2), (1, 0, 3), (2, 0, 4), (3, 0, 3)], "only a is left to compare"),
        ([(0, 0, 3), (0, 1, 3), (1, 0, 3), (1, 1, 3)], "All ratings are one level, 3"),
        ([(0, 0, 2), (1, 1, 3), (2, 0, 3), (3, 1, 2)], "share no response"),
        ([(0, 0, 1), (0, 1, 5), (1, 0, 1), (1, 1, 5)], "none is left to compare"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(rows, reason):
    with pytest.raises(Undefined, match=reason):
        fit(rows)


def test_no_ratings_at_all_is_a_reason_too():
    none = np.array([], dtype=np.int64)

    with pytest.raises(Undefined, match="There are no ratings"):
        severity_model(none, none, none, SCALE, raters=["a"])


def test_a_rater_twice_on_a_response_is_refused_by_name():
    with pytest.raises(ValueError, match="b rated response 1 more than once"):
        fit([(0, 0, 2), (0, 1, 3), (1, 1, 3), (1, 1, 4)])


def test_a_place_beyond_the_scale_is_refused():
    ones = np.array([0, 1])

    with pytest.raises(ValueError, match="run from 0 to 4"):
        severity_model(ones * 0, ones, np.array([2, 5]), SCALE, raters=["a", "b"])


def test_a_level_nobody_used_is_named_and_the_others_keep_their_distance():
    """Levels 1, 2, 4 and 5: from 2 to 4 are two steps, whoever used 3."""
    rows = study("unused", [-0.5, 0.0, 0.5], 500)
    rows[:, 2] = np.where(rows[:, 2] == 3, np.where(rows[:, 0] % 2, 2, 4), rows[:, 2])
    found = fit(rows)

    assert found.unused == (3,)
    assert [step is None for step in found.thresholds] == [False, True, True, False]
    assert logits(found)[0] < logits(found)[1] < logits(found)[2]
    assert all(one.fit is not None for one in found.severities)


def test_a_rater_who_gave_the_lowest_level_alone_has_a_reason_and_the_rest_a_severity():
    rows = study("one end", [-0.3, 0.0, 0.1, 0.2], 300)
    rows[rows[:, 1] == 3, 2] = 1
    found = fit(rows)

    *others, last = found.severities
    assert (last.logits, last.levels) == (None, None)
    assert last.reason == "All their ratings are the lowest level: nothing limits a severity."
    assert last.n == (rows[:, 1] == 3).sum()
    assert sum(one.logits for one in others) == pytest.approx(0, abs=1e-9)


def test_a_name_without_ratings_keeps_its_place():
    rows = study("absent", [-0.3, 0.0, 0.3], 200)
    response, rater, level = rows.T
    found = severity_model(response, rater, level - 1, SCALE, raters=["a", "b", "c", "d"])

    assert found.severities[3].reason == "No ratings yet."


def test_a_scale_from_0_to_5_is_as_good():
    rows = study("six", [-0.4, 0.4], 800, steps=(-2, -1, 0, 1, 2))
    rows[:, 2] -= 1
    found = fit(rows, scale=range(6))

    assert len(found.thresholds) == 5
    assert logits(found) == pytest.approx([-0.4, 0.4], abs=0.15)


# What must not matter, and what must


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(4)), shuffle=st.integers(0, 9))
def test_who_is_called_what_and_the_order_of_rows_change_nothing(order, shuffle):
    rows = study("names", [-0.5, 0.0, 0.2, 0.3], 120)
    before = fit(rows)
    renamed = rows.copy()
    renamed[:, 1] = np.array(order)[rows[:, 1]]
    generator(str(shuffle)).shuffle(renamed)

    after = fit(renamed)

    assert logits(after)[list(order)] == pytest.approx(logits(before), abs=1e-4)
    assert after.deviance == pytest.approx(before.deviance, abs=1e-5)


@settings(max_examples=10, deadline=None)
@given(constant=st.integers(-3, 40))
def test_a_constant_added_to_all_levels_changes_no_severity(constant):
    rows = study("constant", [-0.5, 0.1, 0.4], 120)
    moved = np.add(rows, [0, 0, constant])

    after = fit(moved, scale=[step + constant for step in SCALE])

    assert logits(after) == pytest.approx(logits(fit(rows)))


def test_responses_twice_over_leave_the_severities_and_shrink_the_errors_by_the_root_of_two():
    rows = study("twice", [-0.5, 0.1, 0.4], 150)
    before = fit(rows)
    after = fit(np.concatenate([rows, np.add(rows, [1000, 0, 0])]))

    assert logits(after) == pytest.approx(logits(before), abs=1e-4)
    for one, other in zip(before.severities, after.severities, strict=True):
        assert other.error == pytest.approx(one.error / 2**0.5, rel=1e-3)


def test_a_scale_turned_round_turns_the_severities_round():
    rows = study("round", [-0.5, 0.1, 0.4], 150)
    turned = np.add(rows * [1, 1, -1], [0, 0, 6])

    assert logits(fit(turned)) == pytest.approx(-logits(fit(rows)), abs=1e-4)


def test_the_gradient_is_the_slope_of_the_likelihood():
    response, rater, level = study("slope", [-0.4, 0.0, 0.4], 60).T
    item = response % 2
    model = facets._Model(response, rater, level - 1, item, SCALE)
    x = generator("at").normal(0, 0.5, 2 + 1 + 4 + 1)

    _, gradient = model.minus_log_likelihood(x)

    for place, slope in enumerate(gradient):
        step = np.zeros(len(x))
        step[place] = 1e-5
        rise = model.minus_log_likelihood(x + step)[0] - model.minus_log_likelihood(x - step)[0]
        assert slope == pytest.approx(rise / 2e-5, rel=1e-4, abs=1e-4)
