"""Which cards check their rater: by value, in a bare interpreter."""

from collections import Counter

import pytest

from rating.choice import Candidate, Seen
from rating.dealing import Deal, Rates, deal, pick, seeds_needed

TEN = Rates(seed=10, repeat=5)


def options(*items: int) -> list[Candidate]:
    return [Candidate(n, n, item, None, 0, 0) for n, item in enumerate(items, start=1)]


def test_nothing_is_checked_where_no_rate_is_declared():
    assert {deal("r-1", n, Rates()) for n in range(1, 2000)} == {Deal.COUNTED}
    assert not Rates().any


def test_the_same_card_of_the_same_rater_is_always_dealt_alike():
    order = [deal("r-1", n, TEN) for n in range(1, 200)]

    assert order == [deal("r-1", n, TEN) for n in range(1, 200)]
    assert order != [deal("r-2", n, TEN) for n in range(1, 200)]


def test_the_shares_are_those_declared():
    n = 40_000
    dealt = Counter(deal(f"r-{one % 50}", one, TEN) for one in range(n))

    assert dealt[Deal.SEED] == pytest.approx(0.10 * n, abs=4 * (n * 0.10 * 0.90) ** 0.5)
    assert dealt[Deal.REPEAT] == pytest.approx(0.05 * n, abs=4 * (n * 0.05 * 0.95) ** 0.5)


def test_what_is_too_near_the_last_cards_is_not_picked():
    recent = [Seen(1, None), Seen(2, None)]

    assert pick(options(1, 2, 3), recent, distance=2, rater="r-1").item == 3
    assert pick(options(1, 2), recent, distance=2, rater="r-1") is None
    assert pick(options(2), recent, distance=1, rater="r-1").item == 2


def test_raters_meet_agreed_responses_in_different_orders():
    many = options(*range(100, 130))

    assert len({pick(many, [], distance=6, rater=f"r-{n}").item for n in range(30)}) > 10


@pytest.mark.parametrize(
    ("raters", "each", "rate", "needed"),
    [
        (0, 100, 0.1, 0),
        (5, 0, 0.1, 0),
        (5, 100, 0, 0),
        # 10 on average; one rater in twenty is given more than 10 + 1.645 x 3.
        (1, 100, 0.1, 15),
        # 0.95 ** (1 / 10) is 0.99488, whose normal quantile is 2.568: 10 + 2.568 x 3 is 17.7.
        (10, 100, 0.1, 18),
        (3, 40, 1, 40),
        (50, 2, 0.5, 2),
    ],
)
def test_the_pool_holds_what_each_needs_and_what_chance_may_ask(raters, each, rate, needed):
    assert seeds_needed(raters, each, rate) == needed


def test_a_rate_that_is_no_share_is_refused():
    with pytest.raises(ValueError, match="not a share"):
        seeds_needed(1, 1, 10)


def test_the_pool_suffices_as_often_as_it_says():
    raters, each, studies = 5, 60, 400
    needed = seeds_needed(raters, each, 0.1)

    enough = sum(
        all(
            sum(deal(f"r-{s}-{r}", n, Rates(seed=10)) is Deal.SEED for n in range(each)) <= needed
            for r in range(raters)
        )
        for s in range(studies)
    )

    assert enough / studies > 0.92
