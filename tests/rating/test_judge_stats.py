"""Judges beside people: values worked by hand, what must hold of all, and how often intervals miss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from rating.stats.agreement import Undefined, generator, ordinal_alpha, tally
from rating.stats.chance import estimate, gwet_chance
from rating.stats.judges import (
    apart_by_item,
    beside_people,
    between_judges,
    by_level,
    length_preference,
    leniency,
    stretch,
)
from rating.stats.weights import ordinal
from tests.judged import SCALE, Judged, held, named_by_chance, study


def whole(*values):
    return np.array(values, dtype=np.int64)


def floats(*values):
    return np.array(values, dtype=np.float64)


# Agreement


def test_shares_worked_by_hand():
    """Three responses: the judge meets one rater of two, none, and both.

    Pairs with a rater: (2,2) (2,3) | (1,3) (1,3) | (4,4) (4,4). The same level in halves 1, 0 and 2
    of 2: 3 of 6. Within one in 2, 0 and 2: 4 of 6. The raters: (2,3) (3,3) (4,4): 2 of 3, all near.
    """
    found = beside_people(
        whole(2, 1, 4), whole(2, 3, 4), whole(3, 3, 4), whole(0, 1, 2), whole(0, 0, 1), SCALE
    )

    assert found.exact.judge.value == pytest.approx(1 / 2)
    assert found.exact.people.value == pytest.approx(2 / 3)
    assert found.exact.difference.value == pytest.approx(-1 / 6)
    assert found.within_one.judge.value == pytest.approx(2 / 3)
    assert found.within_one.people.value == 1
    assert (found.n, found.n_items, found.sufficient) == (3, 2, False)


def test_errors_worked_by_hand():
    """The halves of the same level are 1/2, 0 and 1 over three responses, one of them to each item.

    Without each, the mean is 1/2, 3/4 and 1/4; squares about their mean 1/2 add up to 1/8, times
    2/3 is 1/12. t(2) at 97.5% is 4.3027, so it reaches beyond both ends of a share, and is cut.
    """
    found = beside_people(
        whole(2, 1, 4), whole(2, 3, 4), whole(3, 3, 4), whole(0, 1, 2), whole(0, 1, 2), SCALE
    ).exact.judge

    assert found.by_response.standard_error == pytest.approx(np.sqrt(1 / 12))
    assert (found.by_response.low, found.by_response.high) == (0, 1)
    assert found.by_item == found.by_response


def test_alpha_and_ac2_of_a_judge_are_those_of_its_pairs_with_each_rater():
    judge, first, second = whole(0, 1, 3, 2, 4), whole(0, 2, 3, 1, 4), whole(1, 2, 4, 2, 3)
    number = np.arange(5)

    found = beside_people(judge, first, second, number, number, SCALE)

    levels = np.array(SCALE)
    people = np.stack([levels[first], levels[second]])
    pairs = np.stack([levels[np.tile(judge, 2)], levels[np.concatenate([first, second])]])
    assert found.alpha.people.value == pytest.approx(ordinal_alpha(people, SCALE))
    assert found.alpha.judge.value == pytest.approx(alpha_of_pairs(pairs, weight=0.5))
    assert found.ac2.people.value == pytest.approx(ac2(people))
    assert found.ac2.judge.value == pytest.approx(ac2(pairs))
    assert found.alpha.difference.value == pytest.approx(
        found.alpha.judge.value - found.alpha.people.value
    )


def alpha_of_pairs(pairs, *, weight):
    """Krippendorff (2011), by his coincidences: each pair of values counts ``weight`` both ways."""
    q = len(SCALE)
    coincidences = np.zeros((q, q))
    for one, other in pairs.T.astype(int) - 1:
        coincidences[one, other] += weight
        coincidences[other, one] += weight
    counts, n = coincidences.sum(axis=0), coincidences.sum()
    apart = np.array(
        [
            [
                (counts[min(c, k) : max(c, k) + 1].sum() - (counts[c] + counts[k]) / 2) ** 2
                for k in range(q)
            ]
            for c in range(q)
        ]
    )
    observed = (coincidences * apart).sum() / n
    expected = (np.outer(counts, counts) * apart).sum() / (n * (n - 1))
    return 1 - observed / expected


def ac2(pairs):
    return estimate(gwet_chance, tally(pairs, SCALE), ordinal(len(SCALE))).value


def test_a_response_that_two_judges_judged_counts_once():
    """The second response has one judgement and the first two: (1 + 0) / 2 and 1 are alike heavy."""
    found = beside_people(
        whole(2, 0, 3), whole(2, 2, 3), whole(2, 2, 3), whole(0, 0, 1), whole(0, 0, 1), SCALE
    )

    assert found.n == 2
    assert found.exact.judge.value == pytest.approx(3 / 4)
    assert found.exact.people.value == 1


def test_two_judges_are_held_against_each_other_as_two_raters_are():
    judges, people = (whole(1, 2, 3, 3), whole(1, 3, 3, 2)), (whole(1, 2, 4, 0), whole(2, 2, 4, 1))

    found = between_judges(*judges, *people, np.arange(4), SCALE)
    turned = between_judges(*people, *judges, np.arange(4), SCALE)

    assert found.exact.judge.value == 1 / 2
    assert found.alpha.judge == turned.alpha.people
    assert found.alpha.people == turned.alpha.judge


def test_where_there_is_one_level_alone_alpha_has_a_reason_and_the_shares_stay():
    one = whole(2, 2, 2)

    found = beside_people(one, one, one, np.arange(3), np.arange(3), SCALE)

    assert found.alpha.judge.value is None
    assert found.alpha.judge.reason == "All these levels are the same."
    assert found.exact.judge.value == 1
    assert found.exact.judge.by_item.reason.startswith("Leaving out")


def test_one_item_has_a_number_and_no_interval_by_item():
    found = beside_people(
        whole(1, 2, 3), whole(1, 2, 2), whole(1, 3, 3), np.arange(3), whole(0, 0, 0), SCALE
    )

    assert found.exact.judge.by_response.low is not None
    assert found.exact.judge.by_item.low is None
    assert "but one item" in found.exact.judge.by_item.reason


def test_nothing_judged_and_shapes_that_differ_are_refused():
    none = np.array([], dtype=np.int64)
    with pytest.raises(Undefined, match="No judged response has two ratings"):
        beside_people(none, none, none, none, none, SCALE)
    with pytest.raises(ValueError, match=r"\(2,\), \(1,\)"):
        beside_people(whole(1, 2), whole(1), whole(1), whole(1), whole(1), SCALE)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_which_rater_stands_first_and_the_order_of_rows_do_not_matter(data):
    n = data.draw(st.integers(4, 20))
    column = st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array)
    judge, first, second = (data.draw(column) for _ in range(3))
    item = np.arange(n) % 3
    turned = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    order = np.array(data.draw(st.permutations(range(n))))
    sides = np.where(turned, second, first)[order], np.where(turned, first, second)[order]

    before = beside_people(judge, first, second, np.arange(n), item, SCALE)
    after = beside_people(judge[order], *sides, np.arange(n)[order], item[order], SCALE)

    for name in ("exact", "within_one", "alpha", "ac2"):
        one, other = getattr(before, name).judge, getattr(after, name).judge
        assert one.value == pytest.approx(other.value)
        assert one.reason == other.reason


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_a_judge_who_copies_a_rater_agrees_with_people_half_way_to_all(seed):
    """With one of the two raters it agrees always, with the other as often as they do."""
    random = generator(f"{seed}")
    first, second = random.integers(5, size=(2, 12))
    judge = np.where(random.integers(2, size=12) == 1, first, second)

    found = beside_people(judge, first, second, np.arange(12), np.arange(12), SCALE)

    assert found.exact.judge.value == pytest.approx((1 + found.exact.people.value) / 2)


# Leniency, and where on the scale


def test_leniency_worked_by_hand():
    """Differences 1, 0 in one item and 2 in another: mean 1; without each, 2 and 1/2.

    Squares about 5/4 add up to 9/8, by half is 9/16: an error of 3/4; t(1) is 12.706.
    """
    found = leniency(floats(4, 3, 5), floats(3, 3, 3), whole(0, 1, 2), whole(0, 0, 1))

    assert found.value == pytest.approx(1)
    assert found.standard_error == pytest.approx(3 / 4)
    assert found.high == pytest.approx(1 + 12.7062 * 3 / 4, abs=1e-3)


def test_leniency_of_one_item_has_no_interval():
    found = leniency(floats(4, 3), floats(3, 3), whole(0, 1), whole(0, 0))

    assert found.value == pytest.approx(0.5)
    assert "two items" in found.reason


def test_by_level_one_rater_says_where_and_the_other_is_compared_with():
    """One response, judged 3, rated 2 and 4: at 2 the judge is a level under 4, at 4 one over 2."""
    found = by_level(floats(3), floats(2), floats(4), whole(0), whole(0), SCALE)

    assert [row.level for row in found] == list(SCALE)
    assert (found[1].apart.value, found[3].apart.value) == (-1, 1)
    assert found[0].apart is None
    assert found[0].n == 0
    assert "no such response" in found[0].reason


def test_a_judge_who_is_like_any_rater_parts_at_no_level():
    """Put together by the mean of both raters, the same judge would seem to part at both ends."""
    made = study(generator("like"), Judged(items=1500))

    found = by_level(made.judge, made.first, made.second, made.response, made.item, SCALE)

    assert all(abs(row.apart.value) < 0.12 for row in found)
    mean = (made.first + made.second) / 2
    assert (made.judge - mean)[mean <= 1.5].mean() > 0.2
    assert (made.judge - mean)[mean >= 4.5].mean() < -0.2


def test_a_judge_who_keeps_to_the_middle_has_a_stretch_below_one_and_one_like_a_rater_has_one():
    like = study(generator("stretch"), Judged(items=1500))
    middle = study(generator("stretch"), Judged(items=1500, compression=0.5))

    plain, kept = (
        stretch(made.judge, made.first, made.second, made.response, made.item)
        for made in (like, middle)
    )

    assert plain.value == pytest.approx(1, abs=0.06)
    assert kept.value == pytest.approx(0.5, abs=0.08)
    assert kept.high < plain.low


def test_stretch_worked_by_hand():
    """Raters 1,1 | 3,3 | 5,5 have variance 8/3; a judge of 2, 3, 4 goes with them by 4/3."""
    found = stretch(
        floats(2, 3, 4, 2, 3, 4), *[floats(1, 3, 5, 1, 3, 5)] * 2, np.arange(6), np.arange(6)
    )

    assert found.value == pytest.approx(1 / 2)


def test_where_raters_do_not_go_together_there_is_no_stretch():
    random = generator("apart")
    first, second, judge = random.integers(1, 6, size=(3, 40)).astype(float)
    with pytest.raises(Undefined, match="do not go together"):
        stretch(judge, first, second, np.arange(40), np.arange(40) % 10)


# Length


def test_a_judge_who_prefers_length_as_much_as_people_do_has_no_slope():
    words = floats(50, 100, 200, 60, 120, 250)
    levels, noise = np.log2(words), floats(0.1, -0.1, 0, -0.1, 0.2, 0)
    item, subject = whole(0, 0, 0, 1, 1, 1), np.zeros(6, dtype=np.int64)

    alike = length_preference(levels + noise, levels, words, item, subject, same_item=True)
    keen = length_preference(1.5 * levels + noise, levels, words, item, subject, same_item=True)

    assert abs(alike.per_doubling) < 0.15
    assert keen.per_doubling - alike.per_doubling == pytest.approx(0.5)


def test_with_one_trial_of_an_item_length_is_held_against_all_that_a_subject_wrote():
    words, apart = floats(50, 100, 200, 400), floats(0, 0.5, 1, 1.4)
    item, subject = whole(0, 1, 2, 3), np.zeros(4, dtype=np.int64)

    with pytest.raises(Undefined, match="two items with replies that differ in length"):
        length_preference(apart, np.zeros(4), words, item, subject, same_item=True)
    found = length_preference(apart, np.zeros(4), words, item, subject, same_item=False)

    assert found.per_doubling == pytest.approx(0.47, abs=0.01)


def test_that_one_subject_writes_more_and_is_judged_better_is_no_preference_for_length():
    """Between subjects all goes together; within each nothing moves."""
    words = floats(50, 55, 50, 55, 400, 440, 400, 440)
    apart = floats(0, 0.1, 0.1, 0.05, 2, 2.1, 2.0, 2.0)
    item, subject = whole(0, 1, 1, 0, 0, 1, 1, 0), whole(0, 0, 0, 0, 1, 1, 1, 1)

    for same_item in (True, False):
        found = length_preference(apart, np.zeros(8), words, item, subject, same_item=same_item)
        assert found.low < 0 < found.high


# Items


def test_an_item_is_held_against_the_others_so_a_mild_judge_parts_nowhere():
    random = generator("mild")
    apart = 1.5 + 0.4 * random.normal(size=200)
    item = np.arange(200) % 20

    assert not any(row.systematic for row in apart_by_item(apart, item))


def test_the_item_on_which_judges_part_is_found_and_its_value_is_worked_by_hand():
    apart = np.concatenate([np.tile([2.0, 2.5, 1.5, 2.0], 2), np.tile([0.0, 0.5, -0.5, 0.0], 10)])
    item = np.repeat(np.arange(12), 4)

    found = apart_by_item(apart, item)

    assert found[0].value == pytest.approx(2 - 2 / 11)
    assert [row.item for row in found if row.systematic] == [0, 1]
    # Spread of an item sqrt(1/6) on 4 responses; of the others' means, 2, 0 ... 0, over 11 of them.
    error = np.sqrt(1 / 6 / 4 + (4 / 11 - 4 / 121) / 10)
    steps = error**4 / ((1 / 24) ** 2 / 3 + (error**2 - 1 / 24) ** 2 / 10)
    half = student.ppf(0.975, steps) * error
    assert (found[0].low, found[0].high) == pytest.approx((20 / 11 - half, 20 / 11 + half))


def test_an_item_whose_few_responses_differ_alike_is_not_certain_for_that():
    """Three differences of exactly 0.5 have no spread of their own: they are given the usual one."""
    random = generator("few")
    apart = np.concatenate([np.full(3, 0.5), 0.7 * random.normal(size=60)])
    item = np.concatenate([np.zeros(3, dtype=np.int64), 1 + np.arange(60) % 20])

    assert not apart_by_item(apart, item)[0].systematic


def test_an_item_with_two_responses_says_why_nothing_is_said_of_it():
    found = apart_by_item(
        floats(1, 1, 0, 0.2, 0.1, 0.3, 0, 0.4, 0), whole(0, 0, *[1] * 4, *[2] * 3)
    )

    assert found[0].p is None
    assert "at least 3 responses" in found[0].reason
    [one, _] = apart_by_item(floats(1, 0.5, 1, 0), whole(0, 0, 1, 1))
    assert "more than 2 items" in one.reason
    assert apart_by_item(floats(), whole()) == ()


# How often; tests/proof/test_judge_intervals.py plays more studies of more kinds


@pytest.mark.proof
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """In 500 studies of 20 items that judges see otherwise than people do."""
    for name, (share, told) in held(Judged(items=20), studies=500, seed="quick").items():
        assert 0.91 < share < 0.995, f"{name}: {share}"
        assert told > 0.9, f"{name} is told in {told}"


def test_where_no_item_is_judged_otherwise_one_is_named_in_one_study_of_twenty():
    assert named_by_chance(Judged(items=20, judge_by_item=0.0), studies=100, seed="none") < 0.1
