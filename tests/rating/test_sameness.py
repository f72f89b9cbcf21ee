"""How alike replies to one call are, held to values worked by hand and to a plain table."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.stats.agreement import Undefined
from rating.stats.sameness import distances, sameness


def plainly(one, other):
    """The edit distance as the textbook has it, one cell at a time."""
    table = [list(range(len(other) + 1))]
    for i, a in enumerate(one, start=1):
        row = [i]
        for j, b in enumerate(other, start=1):
            row.append(min(table[-1][j] + 1, row[-1] + 1, table[-1][j - 1] + (a != b)))
        table.append(row)
    return table[-1][-1]


def test_replies_that_are_all_the_same_have_no_distance():
    found = sameness(["I am here."] * 20)

    assert (found.n, found.distinct, found.same_pairs) == (20, 1, 1.0)
    assert found.distances == (0, 0, 0, 0, 0)
    assert (found.mean_words, found.variance_words) == (3, 0)


def test_figures_of_three_replies_worked_by_hand():
    """Two are the same; the third changes one word of four and adds one: 2 of 5."""
    found = sameness(["a b c d", "a b c d", "a x c d e"])

    assert found.distinct == 2
    assert found.same_pairs == pytest.approx(1 / 3)
    assert found.distances == pytest.approx((0, 0.2, 0.4, 0.4, 0.4))
    assert found.mean_words == pytest.approx(13 / 3)
    assert found.variance_words == pytest.approx(1 / 3)


def test_other_spaces_make_other_replies_with_the_same_words():
    found = sameness(["a b", "a  b"])

    assert (found.same_pairs, found.distances[-1]) == (0, 0)


def test_few_replies_do_not_suffice_and_one_is_none():
    assert not sameness(["a", "b"]).sufficient
    with pytest.raises(Undefined, match="one came"):
        sameness(["a"])
    with pytest.raises(Undefined, match="none came"):
        sameness([])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abc"), max_size=7), min_size=2, max_size=5))
def test_each_distance_is_that_of_the_textbook(replies):
    found = distances([" ".join(words) for words in replies])

    expected = [
        plainly(one, other) / max(len(one), len(other), 1)
        for place, one in enumerate(replies)
        for other in replies[place + 1 :]
    ]
    assert found.tolist() == pytest.approx(expected)
