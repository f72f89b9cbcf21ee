"""The share of quotes that are not in the replies, and who is left out for it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rating.judges.validity import (
    Given,
    Outcome,
    Validity,
    bridge,
    excluded,
    outcome,
    sample,
    validity,
)
from rating.quotes import look


def counted(unfound: int, total: int, judge: str = "judge-a") -> Validity:
    return Validity(judge, total - unfound, 0, unfound)


@pytest.mark.parametrize(
    ("unfound", "total", "out"),
    [(1, 20, False), (2, 20, True), (5, 100, False), (6, 100, True), (1, 19, True), (0, 0, False)],
)
def test_exactly_five_percent_passes_and_anything_above_does_not(unfound, total, out):
    assert counted(unfound, total).exceeds(5) is out


def test_it_is_worked_with_whole_numbers_so_that_no_rounding_decides():
    # 5% of 1,000,000,020 is 50,000,001; a share in floating point would be 5.0000000 either way.
    assert not counted(50_000_001, 1_000_000_020).exceeds(5)
    assert counted(50_000_002, 1_000_000_020).exceeds(5)
    assert not counted(1, 40).exceeds(Decimal("2.5"))


def test_the_public_pilots_judge_is_left_out():
    # 73 of 498 quotes not found, 29 found after folding: 14.7%.
    pilot = Validity("judge-a", 498 - 73 - 29, 29, 73)

    assert round(pilot.percent, 1) == 14.7
    assert pilot.sentence(5) == (
        "73 of 498 quotes of judge-a are not in the replies (14.7%; the rule allows 5%): "
        "left out of the whole round."
    )


def test_a_judge_without_a_quote_is_not_measured():
    (none,) = validity(["judge-a"], [Given("judge-a", "")])

    assert (none.quotes, none.percent, none.unread, none.exceeds(5)) == (0, None, 1, False)
    assert none.sentence(5) == "judge-a gave no quote: not measured."


def test_quotes_are_counted_by_how_they_were_found():
    answers = [
        Given("judge-b", "verbatim"),
        Given("judge-b", "verbatim", valid=False),
        Given("judge-b", "folded"),
        Given("judge-b", "none", valid=False),
        Given("judge-a", "verbatim"),
        Given("judge-a", "", valid=False),
    ]

    first, second = validity(["judge-a", "judge-b"], answers)

    assert first == Validity("judge-a", 1, 0, 0, 0, 1)
    assert second == Validity("judge-b", 2, 1, 1, 1, 0)
    assert second.percent == 25


def test_one_judge_left_out_is_replaced_and_two_leave_findings_on_the_instrument():
    measured = [counted(0, 20, "judge-a"), counted(2, 20, "judge-b"), counted(3, 20, "judge-c")]

    assert excluded(measured, 5) == ("judge-b", "judge-c")
    assert outcome([]) is Outcome.WHOLE
    assert outcome(["judge-b"]) is Outcome.REROUTED
    assert outcome(["judge-b", "judge-c"]) is Outcome.FINDINGS_ONLY


TEXT = "I hear how **heavy** this is for you. You need not carry it alone."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("how **heavy** this is", (True, True)),
        ("how heavy this is", (False, True)),
        ("HOW  HEAVY THIS IS", (False, True)),
        ("I hear", (True, False)),
        ("heavy", (True, False)),
        ("eavy this is for", None),
        ("how heavy it is", None),
        ("...", None),
        ("", None),
        ("x" * 20_001, None),
    ],
)
def test_a_judges_quote_is_looked_for_as_a_raters_is(words, found):
    seen = look(TEXT, words)

    assert (seen and (seen.as_written, seen.long_enough)) == found


def test_words_that_stand_twice_are_found_and_the_first_place_is_taken():
    seen = look("You are not alone. You are not alone.", "You are not alone")

    assert (seen.span.start, seen.long_enough) == (0, True)


def test_a_bridge_tells_how_levels_moved_from_one_round_to_the_next():
    # By hand: moves 0, 1, -2, 0 and so |moves| 0, 1, 2, 0.
    found = bridge("judge-a", [(3, 3), (2, 3), (5, 3), (1, 1)])

    assert (found.pairs, found.exact, found.largest_absolute) == (4, 2, 2)
    assert (found.mean_absolute, found.signed_mean) == (0.75, -0.25)
    assert bridge("judge-a", []).mean_absolute is None


@given(
    st.dictionaries(st.text(max_size=3), st.sets(st.integers(0, 99)), max_size=4),
    st.integers(0, 40),
)
def test_a_sample_is_drawn_in_equal_parts_as_far_as_there_are_enough(sizes, size):
    groups = {name: [f"{name}/{one}" for one in ones] for name, ones in sizes.items()}

    drawn = sample(groups, size, seed="7")

    everything = [key for keys in groups.values() for key in keys]
    assert len(drawn) == len(set(drawn)) == min(size, len(everything))
    parts = {name: len(set(keys) & set(drawn)) for name, keys in groups.items()}
    for name, part in parts.items():
        if part < len(groups[name]):
            assert part >= max(parts.values()) - 1
    backwards = {name: keys[::-1] for name, keys in reversed(groups.items())}
    assert sample(backwards, size, seed="7") == drawn
