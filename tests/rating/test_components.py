"""What makes ratings differ, and what one more of each thing would buy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats import components
from rating.stats.agreement import Undefined, generator
from rating.stats.components import (
    SOURCES,
    Components,
    Plan,
    decide,
    limits,
    variance_components,
    what_more_buys,
)

TRUTH = np.array([0.3, 0.2, 0.1, 0.4])


def study(seed, *, groups=8, items=10, trials=3, raters=8, each=2, truth=TRUTH):
    """Group, item, response, rater and level of simulated ratings, levels unrounded."""
    random = generator(seed)
    n = groups * items * trials
    group, item = np.repeat(np.arange(groups), items * trials), np.arange(n) // trials % items
    quality = (
        random.normal(3, 0.5, groups)[group]
        + random.normal(0, truth[0] ** 0.5, groups * items).repeat(trials)
        + random.normal(0, truth[1] ** 0.5, n)
    )
    response = np.repeat(np.arange(n), each)
    rater = random.random((n, raters)).argsort(axis=1)[:, :each].ravel()
    level = (
        quality[response]
        + random.normal(0, truth[2] ** 0.5, raters)[rater]
        + random.normal(0, truth[3] ** 0.5, n * each)
    )
    return group[response], item[response], response, rater, level


def known(item, response, rater, rest) -> Components:
    """As if the variances were known to a hundredth."""
    values = dict(zip(SOURCES, (item, response, rater, rest), strict=True))
    parts = tuple(
        components.Component(name, one, 0.9 * one, 1.1 * one) for name, one in values.items()
    )
    return Components(parts, np.eye(4) * 1e-4, 1, 1, 1, 1, 1)


# The estimates


@pytest.fixture(scope="module")
def many():
    return [variance_components(*study(f"{n}", groups=4, raters=12)) for n in range(40)]


def test_the_variances_behind_simulated_ratings_come_back(many):
    found = [one.values for one in many]

    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / len(found) ** 0.5
    assert (np.abs(mean - TRUTH) < 3 * error).all()


def test_complete_ratings_give_what_equating_mean_squares_gives():
    """One group, 3 items x 2 trials, all rated by 3 raters: sums of squares worked out below."""
    random = generator("complete")
    means = random.normal(0, 1.0, 6)[None, :, None] + np.repeat([0.0, 2.0, 4.0], 2)[None, :, None]
    levels = (means + random.normal(0, 0.8, 3)[:, None, None])[:, :, 0]
    levels = levels + random.normal(0, 0.5, (3, 6))
    rater, response = (one.ravel() for one in np.indices((3, 6)))

    found = variance_components(response * 0, response // 2, response, rater, levels.ravel())

    of_rater, of_response = levels.mean(axis=1), levels.mean(axis=0)
    of_item = of_response.reshape(3, 2).mean(axis=1)
    left = levels - of_rater[:, None] - of_response[None, :] + levels.mean()
    rest = (left**2).sum() / (2 * 5)
    between_raters = 6 * of_rater.var(ddof=1)
    between_items = 6 * of_item.var(ddof=1)
    within_items = 3 * ((of_response.reshape(3, 2) - of_item[:, None]) ** 2).sum() / 3
    assert found.values == pytest.approx(
        [
            (between_items - within_items) / 6,
            (within_items - rest) / 3,
            (between_raters - rest) / 6,
            rest,
        ],
        rel=1e-3,
    )


def test_the_likelihood_is_that_of_the_whole_covariance_matrix():
    group, item, response, rater, level = study("dense", groups=2, items=4, trials=2, raters=4)
    likelihood = components._Likelihood(group, item, response, rater, level)
    fixed = (group[:, None] == np.arange(2)).astype(float)
    same = [
        (one[:, None] == one[None, :]).astype(float) for one in (group * 9 + item, response, rater)
    ]

    for variances in (TRUTH, np.array([0.0, 0.5, 0.3, 0.2])):
        whole = sum(v * m for v, m in zip(variances, [*same, np.eye(len(level))], strict=True))
        inverse = np.linalg.inv(whole)
        information = fixed.T @ inverse @ fixed
        left = level - fixed @ np.linalg.solve(information, fixed.T @ inverse @ level)
        expected = (
            np.linalg.slogdet(whole)[1] + np.linalg.slogdet(information)[1] + left @ inverse @ left
        )
        assert likelihood.minus_twice(variances) == pytest.approx(expected)


def test_the_error_is_as_large_as_the_estimates_of_many_studies_scatter(many):
    scattered = np.std([one.values for one in many], axis=0, ddof=1)
    claimed = np.mean([np.sqrt(np.diag(one.covariance)) for one in many], axis=0)
    # The deviation of 40 draws is known to about 1 in 9.
    assert claimed == pytest.approx(scattered, rel=0.35)


def test_a_variance_of_0_is_found_near_0_with_an_interval_from_0():
    found = variance_components(*study("no raters differ", truth=np.array([0.3, 0.2, 0.0, 0.4])))

    rater = found.of("rater")
    assert rater.variance < 0.02
    assert rater.low < 0.005 < rater.high < 0.1


def test_the_limits_of_a_variance_are_those_of_its_mean_square_without_the_noise():
    """Ten degrees of freedom; a mean square of 1.5 holds the variance 1 and noise of .5."""
    low, high = limits(1.0, 1.5 * (2 / 10) ** 0.5, 10)

    # Chi-square for 10: 3.247 and 20.483 cut off 2.5% to each side.
    assert (low, high) == pytest.approx((15 / 20.483 - 0.5, 15 / 3.247 - 0.5), abs=1e-3)
    assert limits(0.0, 0.5 * (2 / 10) ** 0.5, 10)[0] == 0


# What must not matter


@settings(max_examples=8, deadline=None)
@given(constant=st.floats(-5, 5), order=st.permutations(range(4)))
def test_a_constant_and_other_names_for_raters_change_nothing(constant, order):
    group, item, response, rater, level = study("same", groups=3, items=5, raters=4)
    before = variance_components(group, item, response, rater, level)
    after = variance_components(group, item, response, np.array(order)[rater], level + constant)

    assert after.values == pytest.approx(before.values, rel=1e-3, abs=1e-4)


def test_levels_twice_as_far_apart_have_four_times_the_variance():
    group, item, response, rater, level = study("scaled", groups=3, items=5, raters=4)
    before = variance_components(group, item, response, rater, level)

    after = variance_components(group, item, response, rater, 2 * level)

    assert after.values == pytest.approx(4 * before.values, rel=1e-3, abs=1e-4)


# What the data leave open


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"raters": 1, "each": 1}, "one rater alone"),
        ({"each": 1}, "No response has two ratings"),
        ({"items": 1}, "No group has two items"),
        ({"trials": 1}, "No item has two trials"),
    ],
)
def test_what_occurs_once_only_has_a_reason(changes, reason):
    with pytest.raises(Undefined, match=reason):
        variance_components(*study("once", groups=2, **changes))


def test_no_ratings_and_no_variation_are_reasons():
    none = np.array([], dtype=np.int64)
    group, item, response, rater, level = study("flat", groups=1)

    with pytest.raises(Undefined, match="There are no ratings"):
        variance_components(none, none, none, none, none.astype(float))
    with pytest.raises(Undefined, match="All ratings are one level, 3"):
        variance_components(group, item, response, rater, level * 0 + 3)


def test_raters_who_agree_wholly_leave_nothing_over():
    group, item, response, rater, level = study("whole", truth=np.array([0.3, 0.2, 0.0, 0.0]))

    with pytest.raises(Undefined, match="leave nothing over"):
        variance_components(group, item, response, rater, level)


def test_a_response_under_two_items_and_a_rater_twice_are_refused():
    group, item, response, rater, level = study("wrong", groups=1)

    moved = item.copy()
    moved[0] += 1
    with pytest.raises(ValueError, match="Response 0 stands under two items"):
        variance_components(group, moved, response, rater, level)
    again = rater.copy()
    again[1] = again[0]
    with pytest.raises(ValueError, match=f"Rater {again[0]} rated response 0 more than once"):
        variance_components(group, item, response, again, level)


# The decision study


def test_the_error_of_a_mean_worked_by_hand():
    """.3/10 + .2/30 + .1/5 + .6/60 = .03 + .006667 + .02 + .01 = .066667, root .258199."""
    found = decide(known(0.3, 0.2, 0.1, 0.6), Plan(items=10, trials=3, ratings=2, raters=5))

    assert found.error == pytest.approx(0.258199, abs=1e-6)
    assert found.same_items == pytest.approx(0.036667**0.5, abs=1e-5)
    # .5 of what .5 + (.1 + .6)/2 = .85 is.
    assert found.dependability == pytest.approx(0.5 / 0.85)
    assert found.low < found.error < found.high


def test_one_more_of_anything_never_makes_a_mean_less_precise():
    made = known(0.3, 0.2, 0.1, 0.6)

    (_, now), *more = what_more_buys(made, Plan(items=10, trials=3, ratings=2, raters=5))

    assert [words for words, _ in more] == [
        "One more rater to share the work",
        "One more rater for each response",
        "One more trial of each item",
        "One more item",
    ]
    assert all(one.error < now.error for _, one in more)


def test_where_all_raters_rate_everything_one_more_for_each_joins_them():
    rows = dict(what_more_buys(known(0.3, 0.2, 0.1, 0.6), Plan(10, 3, ratings=2, raters=2)))

    assert rows["One more rater, for each response too"].plan == Plan(10, 3, ratings=3, raters=3)


def test_a_plan_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="3 ratings of a response take as many raters"):
        Plan(10, 3, ratings=3, raters=2)
    with pytest.raises(ValueError, match="at least one of everything"):
        Plan(0, 3, 2, 4)


def test_the_decision_study_says_what_simulated_means_do():
    """The deviation of a dimension's mean around its true one over many studies, all drawn anew."""
    off = []
    for n in range(400):
        random_true = generator(f"mean {n}").normal(3, 0.5, 1)[0]
        *_, level = study(f"mean {n}", groups=1, items=10, trials=3, raters=6)
        off.append(level.mean() - random_true)

    said = decide(known(*TRUTH), Plan(items=10, trials=3, ratings=2, raters=6)).error
    # The deviation of 400 draws is known to 1 in 28. Raters are not dealt quite evenly here.
    assert np.std(off) == pytest.approx(said, rel=0.12)
