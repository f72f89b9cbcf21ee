"""Tags by arm: counts, and an exact test over pairs."""

import numpy as np
import pytest

from rating.stats.parity_tags import tags_by_arm


def study(*pairs, name="judgment"):
    """Each pair is (tags of the ratings of A, of B)."""
    rows = [
        (number, arm, tagged)
        for number, arms in enumerate(pairs)
        for arm, tags in enumerate(arms)
        for tagged in tags
    ]
    numbers, arms, tagged = (np.array(column) for column in zip(*rows, strict=True))
    return tags_by_arm(numbers, arms, {name: tagged.astype(bool)})


def test_a_tag_given_to_one_arm_alone_in_eight_pairs_differs():
    """Eight signs all alike: 2 of 256 ways."""
    (found,) = study(*[([0, 0], [1, 1])] * 8)

    assert (found.given, found.ratings, found.pairs) == ((0, 16), (16, 16), 8)
    assert (found.difference, found.p) == (-1, 2 / 256)
    assert found.differs


def test_ratings_of_one_pair_count_together():
    """Twenty ratings of two pairs show no more than two pairs can."""
    (found,) = study(*[([0] * 10, [1] * 10)] * 2)

    assert found.p == 0.5
    assert not found.differs


def test_unequal_numbers_of_ratings_are_compared_as_shares():
    """1/2 - 1/3 and 0 - 1/2: sixths 1 and -3; both ways of flipping the 3 are as far apart."""
    (found,) = study(([1, 0], [1, 0, 0]), ([0, 0], [1, 0]))

    assert found.difference == pytest.approx((1 / 6 - 1 / 2) / 2)
    assert found.p == 1


def test_several_tags_share_the_error_rate():
    pairs, arms = np.repeat(np.arange(8), 2), np.tile([0, 1], 8)
    tagged, never = arms.astype(bool), np.zeros(16, dtype=bool)

    alone = tags_by_arm(pairs, arms, {"pity": tagged})
    found = tags_by_arm(pairs, arms, {"pity": tagged, "deference": ~tagged, "neglect": never})

    assert [own.tag for own in found] == ["pity", "deference", "neglect"]
    assert found[0].p == 2 * alone[0].p
    assert (found[2].p, found[2].reason) == (None, "No pair differs.")


def test_a_pair_with_one_arm_alone_is_left_out_but_its_tags_are_counted():
    (found,) = study(([1], []), ([0], [0]))

    assert (found.given, found.pairs) == ((1, 0), 1)
    (none,) = study(([1], []))
    assert none.difference is None
    assert none.reason == "No pair has a rated reply in both arms."
