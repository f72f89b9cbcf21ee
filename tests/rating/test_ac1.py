"""AC1 against values worked by hand."""

import numpy as np
import pytest

from rating.stats.agreement import Undefined
from rating.stats.chance import ac1


def table(both_yes: int, first: int, second: int, both_no: int) -> np.ndarray:
    """Two raters' answers, shape (2, units), from the four cells of their table."""
    cells = {(1, 1): both_yes, (1, 0): first, (0, 1): second, (0, 0): both_no}
    return np.array([pair for pair, times in cells.items() for _ in range(times)], float).T


def test_ac1_is_high_where_two_agree_and_one_category_is_rare():
    # 118 of 125 agree, and "yes" has 123/125 and 120/125 of the answers. p = 0.972, so chance is
    # 2 x 0.972 x 0.028 = 0.054432 and AC1 = (0.944 - 0.054432) / (1 - 0.054432). Kappa is -0.02.
    assert ac1(table(118, 5, 2, 0), (0, 1)) == pytest.approx(0.889568 / 0.945568)
    assert ac1(table(118, 5, 2, 0), (0, 1)) == pytest.approx(0.9408, abs=5e-5)


def test_ac1_with_categories_in_balance_is_that_of_chance_one_half():
    # p = 1/2, so chance is 1/2: AC1 = (0.8 - 0.5) / 0.5.
    assert ac1(table(4, 1, 1, 4), (0, 1)) == pytest.approx(0.6)


def test_ac1_of_three_categories_divides_chance_by_two():
    # Shares 4/6, 1/6, 1/6: chance is (8/36 + 5/36 + 5/36) / 2 = 1/4; observed 2/3.
    levels = np.array([[1, 1, 2], [1, 1, 3]], float)

    assert ac1(levels, (1, 2, 3)) == pytest.approx((2 / 3 - 1 / 4) / (3 / 4))


def test_two_who_always_agree_are_at_one_also_in_one_category():
    assert ac1(np.ones((2, 5)), (0, 1)) == 1.0


def test_a_unit_with_one_answer_has_no_pair_but_counts_among_what_people_choose():
    # p = (4 + 1 + 1) / 11, so chance is 2 x 6/11 x 5/11 = 60/121: (0.8 - 60/121) / (61/121).
    with_gap = np.column_stack([table(4, 1, 1, 4), [1, np.nan]])

    assert ac1(with_gap, (0, 1)) == pytest.approx(36.8 / 61)


@pytest.mark.parametrize(
    ("levels", "scale"), [(np.array([[1.0], [np.nan]]), (0, 1)), (np.ones((2, 5)), (1,))]
)
def test_without_two_answers_or_two_categories_there_is_no_number(levels, scale):
    with pytest.raises(Undefined):
        ac1(levels, scale)
