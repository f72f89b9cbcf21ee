"""A thousand raters' orders over twenty pairs and three trials, played through the choice."""

from math import ceil, sqrt

import pytest

from rating.choice import Limits
from rating.dealing import Rates, seeds_needed
from tests.simulation import play

pytestmark = pytest.mark.proof

LIMITS = Limits(distance=6, uneven=4)
STUDIES, RATERS = 100, 10


def test_a_thousand_orders_keep_every_promise_to_the_end():
    orders = 0
    for seed in range(STUDIES):
        study = play(pairs=20, trials=3, subjects=3, raters=RATERS, seed=seed, limits=LIMITS)
        orders += len(study.orders)
        assert study.left == 0, "nothing is left that nobody may be given"
        assert study.groups == 1, "all raters are linked by shared responses"
        assert study.uneven_subjects <= LIMITS.uneven
        assert study.uneven_arms <= LIMITS.uneven
        assert study.largest_share <= LIMITS.partner_share
        for cards in study.orders.values():
            for place, card in enumerate(cards):
                near = cards[max(0, place - LIMITS.distance) : place]
                assert card.item not in {other.item for other in near}
                assert card.pair not in {other.pair for other in near}
            assert len({card.response for card in cards}) == len(cards)
    assert orders == 1000


@pytest.mark.parametrize("raters", [3, 4, 20])
def test_few_and_many_raters_come_to_the_end_too(raters):
    for seed in range(10):
        study = play(pairs=20, trials=3, subjects=3, raters=raters, seed=seed, limits=LIMITS)
        assert (study.left, study.groups) == (0, 1)


def test_a_thousand_orders_with_a_tenth_of_agreed_responses():
    """They are uniform over the places, nobody has one twice, and every other promise still holds.

    Places are told apart in tenths of each order. With n agreed responses in m cards, a tenth of
    the cards holds n / 10 on average; the sum of squares over the ten is held to the 99.9% point of
    chi-squared with nine degrees of freedom, 27.88.
    """
    # 20 pairs, 3 trials and 3 subjects are 720 slots: 72 for each rater, and a tenth beside them.
    pool = seeds_needed(RATERS, ceil(72 / 0.9), 0.1)
    cards, tenths, seeds_in, orders, short = 0, [0] * 10, [0] * 10, 0, 0
    for seed in range(STUDIES):
        study = play(
            pairs=20,
            trials=3,
            subjects=3,
            raters=RATERS,
            seed=seed,
            limits=LIMITS,
            rates=Rates(seed=10),
            pool=pool,
        )
        orders += len(study.orders)
        short += study.short
        assert (study.left, study.groups) == (0, 1)
        assert study.uneven_subjects <= LIMITS.uneven
        assert study.uneven_arms <= LIMITS.uneven
        assert study.largest_share <= LIMITS.partner_share
        for rater, dealt in study.orders.items():
            cards += len(dealt)
            assert len({card.response for card in dealt}) == len(dealt)
            for place, card in enumerate(dealt):
                near = dealt[max(0, place - LIMITS.distance) : place]
                assert card.pair not in {other.pair for other in near}
                tenths[place * 10 // len(dealt)] += 1
            for place in study.seeds[rater]:
                seeds_in[(place - 1) * 10 // len(dealt)] += 1
    assert orders == 1000
    n = sum(seeds_in)
    assert short <= 0.05 * n
    assert abs(n - 0.1 * cards) <= 4 * sqrt(cards * 0.1 * 0.9) + short
    expected = [n * share / cards for share in tenths]
    assert sum((o - e) ** 2 / e for o, e in zip(seeds_in, expected, strict=True)) < 27.88
