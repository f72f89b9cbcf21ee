"""Which card comes next, decided on plain values."""

from hypothesis import given
from hypothesis import strategies as st

from rating.choice import Candidate, Had, Limits, Seen, linked, ranked


def candidate(slot: int, **changes) -> Candidate:
    fields = {"response": slot, "item": slot, "pair": None, "draw": slot, **changes}
    return Candidate(slot=slot, **fields)


def order(candidates, recent=(), had=Had(), *, rater="r-1", **limits) -> list[int]:  # noqa: B008
    bounds = Limits(**{"distance": 3, "uneven": 4, **limits})
    return [c.slot for c in ranked(candidates, recent, had, limits=bounds, rater=rater)]


def test_half_rated_responses_come_first():
    assert order([candidate(1), candidate(2), candidate(3, partner=9)])[0] == 3


def test_items_with_most_cards_left_come_before_others():
    assert order([candidate(1, item=7), candidate(2, item=8), candidate(3, item=8)])[-1] == 1


def test_cards_of_an_item_or_a_pair_just_seen_are_left_out():
    cards = [candidate(1, item=7), candidate(2, pair=9), candidate(3)]

    assert order(cards, [Seen(item=7, pair=None), Seen(item=50, pair=9)]) == [3]


def test_what_was_seen_beyond_the_distance_no_longer_matters():
    seen = [Seen(item=90 + n, pair=None) for n in range(3)] + [Seen(item=7, pair=None)]

    assert order([candidate(1, item=7)], seen, distance=3) == [1]


def test_the_order_is_the_same_each_time_and_another_for_another_rater():
    cards = [candidate(slot) for slot in range(1, 30)]

    assert order(cards) == order(list(reversed(cards)))
    assert order(cards) != order(cards, rater="r-2")


def test_partners_met_least_come_first_and_then_what_the_rater_has_had_least_of():
    cards = [
        candidate(1, partner=8, subject=1),
        candidate(2, partner=9, subject=1),
        candidate(3, partner=9, subject=2),
    ]
    had = Had(partners={0: {8: 3, 9: 1}}, subjects={0: {1: 2, 2: 1}})

    assert order(cards, had=had) == [3, 2, 1]


def test_nobody_gets_more_of_one_subject_than_the_cap_allows():
    cards = [candidate(1, subject=1), candidate(2, subject=2)]
    had = Had(subjects={0: {1: 5, 2: 3, 3: 1}})

    assert order(cards, had=had, uneven=4) == [2]


def test_nobody_gets_more_of_one_arm_than_the_cap_allows():
    cards = [candidate(1, arm=1, pair=1), candidate(2, arm=2, pair=2)]
    had = Had(arms={0: {1: 6, 2: 2}})

    assert order(cards, had=had, uneven=4) == [2]


def test_a_single_subject_is_never_withheld():
    assert order([candidate(1, subject=1)], had=Had(subjects={0: {1: 99}})) == [1]


def test_one_partner_has_no_more_than_their_share_where_there_are_others():
    cards = [candidate(1, partner=8), candidate(2)]
    shared = Had(partners={0: {8: 10, 9: 5}}, raters={0: 9})

    assert order(cards, had=shared) == [2]
    assert order(cards, had=Had(partners=shared.partners, raters={0: 2})) == [1, 2]


def test_raters_are_linked_by_the_responses_they_share():
    assert linked([(1, 2), (2, 3), (5, 6)], [1, 2, 3, 4, 5, 6]) == [{1, 2, 3}, {5, 6}, {4}]


cards = st.builds(
    Candidate,
    slot=st.integers(1, 10_000),
    response=st.integers(1, 50),
    item=st.integers(1, 9),
    pair=st.none() | st.integers(1, 4),
    draw=st.integers(0, 99),
)


@given(
    st.lists(cards, max_size=40),
    st.lists(
        st.builds(Seen, item=st.integers(1, 9), pair=st.none() | st.integers(1, 4)), max_size=8
    ),
)
def test_nothing_near_is_offered_and_nothing_far_is_withheld(candidates, recent):
    near = recent[:3]
    far = [
        c
        for c in candidates
        if all(c.item != s.item and (c.pair is None or c.pair != s.pair) for s in near)
    ]

    found = ranked(candidates, recent, Had(), limits=Limits(3, 4), rater="r-1")

    assert sorted(found, key=hash) == sorted(far, key=hash)
    assert [c.partner is None for c in found] == sorted(c.partner is None for c in found)
