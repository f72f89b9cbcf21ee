"""The figures of the blinding, held to printed and hand-worked values and to what must hold."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rating.blinding_report import BLINDED, Answer, Keyed, as_json, blinding_report
from rating.makers import folded, is_drawn, is_same, numbered
from rating.report import Figure
from rating.stats.agreement import Undefined
from rating.stats.blinding import (
    bang_index,
    james_index,
    permutation_test,
    share_right,
    share_unknown,
)

# Guesses (first, second, "I don't know") by true group. Counts of Bang et al. (2004), table 7, and
# of the investigators of Houweling et al. (2014), table 2, as the manual of the R package BI 1.2.0
# gives them; the values of the latter as the README of BlindingIndex.jl prints them.
CRISP = ((82, 27), (25, 29), (170, 83))
HOUWELING = ((48, 22), (4, 30), (330, 319))
JAMES_OF_HOUWELING = (0.896, 0.011, 0.875, 0.918)
BANG_OF_HOUWELING = ((0.115, 0.018, 0.080, 0.150), (0.022, 0.019, -0.016, 0.060))


def answers_of(table) -> tuple[np.ndarray, np.ndarray]:
    """Guesses and makers, one each for each answer counted in the table."""
    rows = [
        (guess, maker)
        for guess, counts in zip((0, 1, -1), table, strict=True)
        for maker, count in enumerate(counts)
        for _ in range(count)
    ]
    guesses, makers = zip(*rows, strict=True)
    return np.array(guesses), np.array(makers)


def in_full(index) -> tuple[float, ...]:
    return (index.value, index.error, *index.interval())


def test_james_index_equals_the_printed_value():
    assert in_full(james_index(*answers_of(HOUWELING))) == pytest.approx(
        JAMES_OF_HOUWELING, abs=5e-4
    )


@pytest.mark.parametrize("maker", [0, 1])
def test_bang_index_equals_the_printed_value(maker):
    assert in_full(bang_index(*answers_of(HOUWELING), maker)) == pytest.approx(
        BANG_OF_HOUWELING[maker], abs=5e-4
    )


def test_the_indices_of_a_second_trial_equal_those_worked_by_hand():
    """(82 - 25) / 277 and (29 - 27) / 139. James: d = 253/416, O = .5 (27 + 25)/416,
    E = .5 (109 × 56 + 54 × 107)/416², so that d + (163/416)² O / (2 E) = .747928."""
    guesses, makers = answers_of(CRISP)

    assert bang_index(guesses, makers, 0).value == pytest.approx(57 / 277)
    assert bang_index(guesses, makers, 1).value == pytest.approx(2 / 139)
    by_hand = 253 / 416 + (163 / 416) ** 2 * (26 / 416) * 416**2 / (109 * 56 + 54 * 107)
    assert james_index(guesses, makers).value == pytest.approx(by_hand)
    assert by_hand == pytest.approx(0.747928, abs=1e-6)


def test_the_error_of_james_index_is_how_far_it_moves_when_answers_are_drawn_anew():
    guesses, makers = answers_of(CRISP)
    chance = np.random.default_rng(5)
    values = []
    for _ in range(2_000):
        drawn = chance.integers(0, len(guesses), len(guesses))
        values.append(james_index(guesses[drawn], makers[drawn]).value)

    assert np.std(values) == pytest.approx(james_index(guesses, makers).error, rel=0.06)


@pytest.mark.parametrize(
    ("guesses", "james", "bang"),
    [
        ([-1, -1, -1, -1], 1, 0),  # nobody knows
        ([0, 0, 1, 1], 0, 1),  # all right
        ([1, 1, 0, 0], 1, -1),  # all wrong
        ([0, 1, 0, 1], 0.5, 0),  # no better than chance
        ([-1, 1, 0, -1], 1, -0.5),
    ],
)
def test_the_ends_and_the_middle_of_both_scales(guesses, james, bang):
    makers = np.array([0, 0, 1, 1])

    assert james_index(np.array(guesses), makers).value == pytest.approx(james)
    assert bang_index(np.array(guesses), makers, 0).value == pytest.approx(bang)


def test_where_all_answers_are_alike_there_is_an_index_and_no_interval():
    makers = np.array([0, 0, 1, 1])
    for index in (james_index(np.full(4, -1), makers), bang_index(makers, makers, 1)):
        with pytest.raises(Undefined, match="All answers are alike"):
            index.interval()


numbers = st.integers(0, 3)
some = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 3), numbers), min_size=1, max_size=30)


def found(figure):
    """What a figure gives, or the reason in words."""
    try:
        return figure()
    except Undefined as why:
        return str(why)


@given(some)
def test_every_figure_is_finite_and_on_its_scale_or_has_a_reason(rows):
    raters, guesses, makers = (np.array(column) for column in zip(*rows, strict=True))
    for figure, low in (
        (found(lambda: share_right(guesses, makers)), 0),
        (found(lambda: james_index(guesses, makers)), 0),
        (found(lambda: bang_index(guesses, makers, 0)), -1),
    ):
        assert isinstance(figure, str) or low <= figure.value <= 1 + 1e-9
    test = found(lambda: permutation_test(raters, guesses, makers, seed="7", draws=20))
    if isinstance(test, str):
        assert "changes nothing" in test
    else:
        assert 1 / 21 <= test.p <= 1
        assert test.right == int((guesses == makers).sum())


def exactly(raters, guesses, makers) -> tuple[float, float]:
    """The mean number right, and how often it is at least what it was, over all permutations."""
    own = [np.flatnonzero(raters == rater) for rater in np.unique(raters)]
    counts = [
        [int((makers[list(order)] == guesses[places]).sum()) for order in permutations(places)]
        for places in own
    ]
    sums = [sum(chosen) for chosen in product(*counts)]
    return float(np.mean(sums)), float(np.mean(np.array(sums) >= (guesses == makers).sum()))


@pytest.mark.parametrize(
    ("raters", "guesses", "makers"),
    [
        ([0, 0, 0, 0, 1, 1, 1], [0, 1, 2, -1, 0, 0, 1], [0, 1, 2, 0, 0, 1, 1]),
        ([1, 0, 1, 0, 1, 0, 0], [1, 1, -1, 0, 0, 3, 1], [1, 0, 0, 0, 1, 1, 1]),
        ([0, 0, 0, 1, 2, 2], [0, 0, 1, 5, 4, 4], [0, 1, 1, 5, 4, 2]),
    ],
)
def test_the_permutation_test_agrees_with_all_permutations_counted(raters, guesses, makers):
    raters, guesses, makers = map(np.array, (raters, guesses, makers))
    expected, p = exactly(raters, guesses, makers)

    test = permutation_test(raters, guesses, makers, seed="a seed")

    assert test.expected == pytest.approx(expected)
    # Four standard errors of a share of 10,000 draws.
    assert test.p == pytest.approx(p, abs=4 * np.sqrt(max(p * (1 - p), 1e-4) / 10_000))


def test_a_liking_for_one_name_is_not_knowledge():
    """Each rater always says the name that most of their responses have."""
    makers = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    raters, guesses = np.repeat([0, 1], 4), np.repeat([0, 1], 4)

    assert share_right(guesses, makers).value == 0.75
    with pytest.raises(Undefined, match="changes nothing"):
        permutation_test(raters, guesses, makers, seed="7")


def test_not_knowing_one_maker_and_naming_the_other_is_knowledge():
    makers = np.tile([0, 1], 12)
    guesses = np.where(makers == 1, 1, -1)

    assert permutation_test(np.repeat([0, 1], 12), guesses, makers, seed="7").p < 0.001


def test_blind_raters_fall_under_five_percent_about_five_times_in_a_hundred():
    chance = np.random.default_rng(3)
    raters = np.repeat(np.arange(6), 12)
    below = 0
    for study in range(400):
        makers, guesses = chance.integers(0, 4, 72), chance.integers(-1, 4, 72)
        below += permutation_test(raters, guesses, makers, seed=str(study), draws=199).p <= 0.05
    # The binomial's middle 99.9% for 400 studies at 5%; discreteness keeps the truth a little under.
    assert 7 <= below <= 36


def test_the_same_seed_gives_the_same_draws_and_the_order_of_answers_does_not_matter_much():
    raters, (guesses, makers) = np.arange(416) % 9, answers_of(CRISP)

    one = permutation_test(raters, guesses, makers, seed="7")

    assert one == permutation_test(raters, guesses, makers, seed="7")
    assert one.p == pytest.approx(
        permutation_test(raters[::-1], guesses[::-1], makers[::-1], seed="7").p, abs=0.01
    )
    assert one != permutation_test(raters, guesses, makers, seed="8")


def test_a_share_has_wilsons_interval():
    """For 0 of 10: 0 to 1.96² / (10 + 1.96²) = 0.2775."""
    share = share_unknown(0, 10)

    assert (share.value, share.low) == (0, 0)
    assert share.high == pytest.approx(0.2775, abs=5e-5)


def test_what_the_answers_leave_open_is_said():
    nothing = np.array([], dtype=np.int64)
    for figure in (
        lambda: share_right(nothing, nothing),
        lambda: share_unknown(0, 0),
        lambda: james_index(nothing, nothing),
        lambda: james_index(np.array([0, -1]), np.array([0, 0])),
        lambda: bang_index(np.array([0]), np.array([0]), 1),
        lambda: permutation_test(nothing, nothing, nothing, seed="7"),
    ):
        with pytest.raises(Undefined):
            figure()
    with pytest.raises(ValueError, match="1 guesses for 2 makers"):
        james_index(np.array([0]), np.array([0, 1]))


def test_names_are_compared_without_case_or_spaces_around():
    assert is_same("  open  ai", "Open AI")
    assert folded("STRASSE ") == folded("straße")
    assert not is_same("", "")
    assert not is_same("Mistral", "Mistral AI")


def test_names_become_numbers_from_a_to_z():
    names, guesses, makers = numbered(
        ["", "beta ", "Gamma", "gamma"], ["Beta", "alpha", "BETA", "x"]
    )

    assert names == ["alpha", "Beta", "x"]
    assert guesses == [-1, 1, 3, 3]
    assert makers == [1, 0, 1, 2]


def test_a_tenth_is_drawn_and_drawn_alike_each_time():
    codes = [f"code {number}" for number in range(4_000)]
    drawn = [code for code in codes if is_drawn("7", code, 10)]

    assert 330 <= len(drawn) <= 470  # four standard errors around 400
    assert drawn == [code for code in codes if is_drawn("7", code, 10)]
    assert set(drawn) <= {code for code in codes if is_drawn("7", code, 20)}
    assert drawn != [code for code in codes if is_drawn("8", code, 10)]
    assert not any(is_drawn("7", code, 0) for code in codes)
    assert all(is_drawn("7", code, 100) for code in codes)


def report(answers, **changes):
    fields = {"asked": 9, "apart": 2, "unasked": 1, "percent": 10, "seed": "7", "draws": 99}
    return blinding_report(answers, **{**fields, "unblinded": True, **changes})


def test_before_the_unblinding_there_are_counts_and_no_figure_that_needs_the_makers():
    said = as_json(report([Answer("a", "Dev", None), Answer("a", "", None)], unblinded=False))

    assert [said[name]["value"] for name in ("asked", "answered", "unknown")] == [9, 2, 1]
    assert said["share_unknown"]["value"] == 0.5
    for name in ("share_right", "right", "right_by_chance", "permutation_p", "james"):
        assert said[name] == {"value": None, "low": None, "high": None, "reason": BLINDED}
    assert said["bang"] == {"makers": None, "reason": BLINDED}


def test_after_the_unblinding_each_figure_stands_or_says_why_not():
    answers = [
        Answer("a", "alpha", "Alpha"),
        Answer("a", "", "Beta"),
        Answer("a", "Gamma", "Beta"),
    ]
    said = as_json(report(answers))

    assert said["share_right"]["value"] == 0.5
    assert said["right"]["value"] == 1
    assert said["right_by_chance"]["value"] == pytest.approx(1 / 3)
    assert said["bang"]["makers"][0] == {
        "maker": "Alpha",
        "n": 1,
        "value": 1.0,
        "low": None,
        "high": None,
        "reason": "All answers are alike, and an interval of no width would claim certainty.",
    }
    assert said["bang"]["makers"][1]["value"] == -0.5
    assert not said["sufficient"]
    assert "Only 2 of the answers name somebody." in report(answers).caution


def test_a_report_without_an_answer_gives_reasons_alone():
    said = as_json(report([], asked=0))

    assert said["share_unknown"]["reason"] == "Nobody has answered."
    assert said["share_right"]["reason"] == "Nobody guessed."
    assert said["permutation_p"]["reason"] == "Nobody has answered."
    assert said["bang"] == {"makers": None, "reason": "Nobody has answered."}


def test_an_answer_whose_maker_is_missing_after_the_unblinding_is_refused():
    with pytest.raises(ValueError, match="has no maker"):
        report([Answer("a", "Dev", None)])


@pytest.mark.parametrize(
    ("p", "words"), [(0.0001, "less than 0.001"), (0.0042, "0.004"), (0.238, "0.24")]
)
def test_a_small_p_is_never_shown_as_nothing(p, words):
    none = Figure(None, reason="none")
    assert Keyed(none, none, none, Figure(p), none).p_in_words == words
