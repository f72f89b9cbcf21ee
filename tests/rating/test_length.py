"""How far levels go with length: values worked by hand, and how often intervals miss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats.agreement import Undefined, generator
from rating.stats.length import pooled_slope, within_slope

E = np.e


def replies(random, items, *, subjects=2, trials=3, slope=0.4, between=0.0):
    """Replies whose level goes with their length by ``slope``, and with who wrote them."""
    shape = (items, subjects, trials)
    habit = 0.3 * random.normal(size=(1, subjects, 1))
    length = 5 + habit + 0.4 * random.normal(size=shape)
    own = slope + 0.3 * random.normal(size=(items, 1, 1))
    words = np.maximum(1, np.rint(np.exp(length)))
    level = random.normal(size=(items, 1, 1)) + own * np.log(words) + between * habit
    level = level + 0.6 * random.normal(size=shape)
    item, subject, _ = np.indices(shape)
    return level.ravel(), words.ravel(), item.ravel(), subject.ravel()


def test_a_slope_worked_by_hand():
    """Lengths 1 and e² in two items, so x is -1 and 1; levels rise by 1 and by 2: slopes 0.5, 1.

    The sums are 1.5 · 2 over 4. Each item pulls by 2 · 0.25, and leaves 2 of the sum without it:
    the variance is 2 · 0.25² / 2, and t(1) at 97.5% is 12.706.
    """
    found = pooled_slope(
        np.array([2.0, 3, 1, 3]), np.array([1, E**2, 1, E**2]), np.array([1, 1, 2, 2])
    )

    assert found.value == pytest.approx(0.75)
    assert found.high - found.value == pytest.approx(12.7062 * 0.25, abs=1e-4)
    assert (found.n, found.n_items, found.sufficient) == (4, 2, False)
    assert found.correlation == pytest.approx(3 / np.sqrt(4 * 2.5))
    assert found.per_doubling == pytest.approx(0.75 * np.log(2))


def test_within_a_subject_what_lies_between_subjects_is_left_out():
    """One subject always writes twice as much and stands a level higher; within, nothing moves."""
    words = np.array([50, 60, 100, 120, 55, 66, 110, 130.0])
    levels = np.array([2, 2, 3, 3, 2, 2.5, 3.5, 3])
    items, subjects = np.repeat([1, 2], 4), np.tile([1, 1, 2, 2], 2)

    pooled = pooled_slope(levels, words, items)
    within = within_slope(levels, words, items, subjects)

    assert pooled.value > 1.2
    assert abs(within.value) < 0.6


def test_for_one_subject_alone_both_are_the_same():
    levels, words, items, subjects = replies(generator("one"), 12, subjects=1)

    assert pooled_slope(levels, words, items) == within_slope(levels, words, items, subjects)


@pytest.mark.parametrize(
    ("levels", "words", "items", "why"),
    [
        ([1, 2], [10, 20], [1, 1], "two items"),
        ([1, 2, 3, 4], [10, 10, 20, 20], [1, 1, 2, 2], "there are 0"),
        ([1, 2, 1, 2], [10, 20, 10, 20], [1, 1, 2, 2], "on one line"),
    ],
)
def test_what_cannot_be_told_is_undefined(levels, words, items, why):
    with pytest.raises(Undefined, match=why):
        pooled_slope(np.array(levels), np.array(words), np.array(items))


def test_a_reply_without_a_word_is_refused():
    with pytest.raises(ValueError, match="no word"):
        pooled_slope(np.array([1, 2]), np.array([0, 3]), np.array([1, 1]))
    with pytest.raises(ValueError, match="2 levels, 1 lengths and 2 items"):
        pooled_slope(np.array([1, 2]), np.array([3]), np.array([1, 1]))


@settings(max_examples=40, deadline=None)
@given(st.floats(1.5, 50), st.floats(-2, 2), st.integers(0, 1000))
def test_the_measure_of_length_does_not_matter_nor_the_level_of_an_item(factor, lift, seed):
    levels, words, items, _ = replies(generator(f"{seed}"), 6)
    before = pooled_slope(levels, words, items)

    after = pooled_slope(levels + lift * items, words * factor, items)

    assert (after.value, after.low, after.high) == pytest.approx(
        (before.value, before.low, before.high), abs=1e-6
    )


@pytest.mark.parametrize(("items", "least"), [(20, 0.90), (83, 0.92)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(items, least):
    random = generator(f"coverage|{items}")
    held = np.zeros(2)
    studies = 400
    for _ in range(studies):
        levels, words, item, subject = replies(random, items)
        for place, found in enumerate(
            (pooled_slope(levels, words, item), within_slope(levels, words, item, subject))
        ):
            held[place] += found.low <= 0.4 <= found.high
    assert (held / studies).min() > least
    assert (held / studies).max() < 0.985
