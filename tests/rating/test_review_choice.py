"""What reviews amount to, who may give the next one, and what comes first."""

import pytest

from rating.review_choice import (
    Offer,
    Standing,
    Taken,
    needs_expert,
    place_for,
    ranked,
    standing_of,
    wanted,
)

YES, NO = "validated", "needs-revision"


def said(*verdicts: str, experts: tuple[int, ...] = ()) -> list[Taken]:
    return [
        Taken(number, 100 + number, number in experts, verdict)
        for number, verdict in enumerate(verdicts, start=1)
    ]


@pytest.mark.parametrize(
    ("verdicts", "standing"),
    [
        ([], Standing.UNVALIDATED),
        ([YES], Standing.SINGLE),
        ([NO], Standing.SINGLE),
        ([YES, YES], Standing.VALIDATED),
        ([NO, NO], Standing.NEEDS_REVISION),
        ([YES, NO], Standing.DISPUTED),
        ([YES, NO, YES], Standing.VALIDATED),
        ([YES, NO, NO], Standing.NEEDS_REVISION),
    ],
)
def test_a_standing_follows_from_the_verdicts(verdicts, standing):
    assert standing_of(said(*verdicts), needs_expert=False) == standing


def test_without_an_expert_two_reviews_of_a_crisis_count_as_one():
    assert standing_of(said(YES, YES), needs_expert=True) == Standing.SINGLE
    assert standing_of(said(YES, YES, experts=(2,)), needs_expert=True) == Standing.VALIDATED


def test_a_third_is_wanted_where_two_differ_or_neither_is_the_expert_that_is_needed():
    assert wanted(said(YES), needs_expert=False) == 2
    assert wanted(said(YES, YES), needs_expert=False) == 2
    assert wanted(said(YES, NO), needs_expert=False) == 3
    assert wanted(said(YES, YES), needs_expert=True) == 3
    assert wanted(said(YES, YES, experts=(1,)), needs_expert=True) == 2
    assert wanted(said(YES, NO, YES), needs_expert=False) == 3


def place(reviewer=1, *, expert=False, said=(), held=(), asks=False):
    return place_for(reviewer, expert=expert, said=said, held=held, needs_expert=asks)


def test_nobody_has_two_places_of_one_item():
    assert place(said=[Taken(1, 1, False, YES)]) is None
    assert place(held=[Taken(1, 1, False)]) is None
    assert place(said=[Taken(1, 2, False, YES)]) == 2


def test_a_place_that_came_free_is_taken_again():
    assert place(said=[Taken(2, 7, False, YES)]) == 1
    assert place(said=said(YES, YES)) is None
    assert place(said=said(YES, NO)) == 3
    assert place(said=said(YES, NO), held=[Taken(3, 9, False)]) is None


def test_the_last_place_of_a_crisis_is_kept_for_an_expert():
    assert place(asks=True) == 1
    assert place(asks=True, held=[Taken(1, 2, False)]) is None
    assert place(asks=True, expert=True, held=[Taken(1, 2, False)]) == 2
    assert place(asks=True, held=[Taken(1, 2, True)]) == 2
    assert place(asks=True, said=said(YES, NO)) is None
    assert place(asks=True, expert=True, said=said(YES, YES)) == 3


def test_an_item_asks_for_an_expert_where_its_bank_declares_so():
    assert not needs_expert("", {"sensitivity": "standard"})
    assert needs_expert("a crisis", {})
    assert needs_expert("", {"sensitivity": "high"})
    assert needs_expert("", {"identity": True})
    assert needs_expert("", {"needsExpertise": ["lived experience"]})


def test_what_is_begun_comes_first_then_a_crisis_for_experts_then_the_thin_parts():
    offers = [
        Offer(1, 1, "late", begun=True, put_off=True),
        Offer(2, 2, "full", thin=(2, 3)),
        Offer(3, 3, "thin", thin=(0, 2)),
        Offer(4, 4, "crisis", topic="a crisis", thin=(2, 3)),
        Offer(5, 5, "begun", begun=True, thin=(2, 3)),
        Offer(6, 6, "changed", changed=True, thin=(2, 3)),
    ]

    expert = [offer.key for offer in ranked(offers, expert=True, seed="s")]
    other = [offer.key for offer in ranked(offers, expert=False, seed="s")]

    assert expert == ["changed", "begun", "crisis", "thin", "full", "late"]
    assert other[:3] == ["changed", "begun", "thin"]
    assert set(other[3:5]) == {"full", "crisis"}


def test_reviewers_begin_in_different_places():
    offers = [Offer(n, n, str(n)) for n in range(9)]

    one, other = (ranked(offers, expert=False, seed=seed) for seed in ("one", "other"))

    assert one != other
    assert one == ranked(reversed(offers), expert=False, seed="one")
