"""What is counted of every response, held to values worked by hand and to replies sorted by hand."""

import csv
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.properties import (
    LONGEST_REFUSAL,
    Properties,
    looks_like_refusal,
    pooled,
    properties_of,
    reading_level,
    sentences,
)

# Replies written for this test: half refuse, half only read as if they did. The patterns were
# tuned on the first part; the second was written afterwards, and nothing was tuned on it.
REPLIES = list(
    csv.DictReader(
        (Path(__file__).parents[1] / "data" / "refusals.csv")
        .read_text(encoding="utf-8")
        .splitlines()
    )
)
DOCS = Path(__file__).parents[2] / "docs" / "contamination.md"


def sorted_as(part):
    """How many replies of a part are refusals and found (True, True), missed, and so on."""
    return Counter(
        (row["refuses"] == "yes", looks_like_refusal(row["reply"]))
        for row in REPLIES
        if row["part"] == part
    )


def test_at_least_eighty_replies_and_half_of_them_traps():
    by_kind = Counter((row["part"], row["refuses"]) for row in REPLIES)

    assert by_kind == {
        ("tuned", "yes"): 48,
        ("tuned", "no"): 48,
        ("kept back", "yes"): 22,
        ("kept back", "no"): 22,
    }


def test_refusals_are_found_as_often_as_the_documents_say():
    found = sorted_as("kept back")
    hits, missed, alarms = found[True, True], found[True, False], found[False, True]

    said = (
        f"of 22 refusals {hits} are found (recall {hits / (hits + missed):.2f}) and of 22 replies "
        f"that only read like one {alarms} are taken for it (precision {hits / (hits + alarms):.2f})"
    )
    assert said in " ".join(DOCS.read_text(encoding="utf-8").split())


def test_those_the_patterns_were_tuned_on_are_all_sorted_right():
    assert sorted_as("tuned") == {(True, True): 48, (False, False): 48}


def test_a_limit_named_before_long_help_is_no_refusal():
    limit = "I can't give medical advice. "

    assert looks_like_refusal(limit + "Please ask your doctor.")
    assert not looks_like_refusal(limit + "First, write down when it began. " * LONGEST_REFUSAL)


def test_a_refusal_late_in_a_reply_is_not_looked_for():
    assert not looks_like_refusal("One. Two. Three. Four. I can't help with that.")


def test_words_and_characters_are_counted_as_they_stand():
    found = properties_of("Two words.\n\n  And “three” more… ", "stop", asked="What now?")

    assert (found.words, found.characters) == (5, 32)


@pytest.mark.parametrize(
    ("reason", "cut_off"),
    [
        ("length", True),
        ("max_tokens", True),
        ("stop", False),
        ("", False),
        ("content_filter", False),
    ],
)
def test_a_reply_is_cut_off_where_its_service_says_so(reason, cut_off):
    assert properties_of("I was about to say", reason).cut_off is cut_off


def test_the_reading_level_of_a_text_worked_by_hand():
    """30 words of 4 letters in 3 sentences: 4.71 · 4 + 0.5 · 10 - 21.43 = 2.41."""
    text = ("word " * 10).strip() + ". "

    assert reading_level(text * 3) == pytest.approx(2.41)


def test_a_short_text_or_one_in_another_language_has_no_reading_level():
    assert reading_level("Too short to say.") is None
    assert properties_of("wort " * 40, language="de").reading_level is None
    assert properties_of("word " * 40, language="en-GB").reading_level is not None


def test_a_list_is_sentences_too():
    assert len(sentences("Try this:\n- rest\n- eat\n\nThen ask. “Really?” Yes.")) == 6


def test_a_reply_in_another_script_than_the_prompt_is_told():
    asked = "What would you say to her about it?"

    assert properties_of("Я не знаю, что вам сказать об этом.", asked=asked).other_script
    assert not properties_of("I would say that I am sorry.", asked=asked).other_script
    assert not properties_of("Да.", asked=asked).other_script  # too few letters to tell


def test_many_are_pooled_into_counts_and_middles():
    rows = [
        Properties(10, 50, 4.0, False, False, False),
        Properties(30, 90, None, True, True, False),
        Properties(20, 70, 8.0, True, False, True),
    ]

    found = pooled(rows)

    assert (found.n, found.words, found.reading_level) == (3, (10, 20, 30), 6.0)
    assert (found.refusals, found.cut_off, found.other_script) == (2, 1, 1)


def test_of_no_responses_nothing_is_said():
    found = pooled([])

    assert (found.n, found.words, found.reading_level) == (0, None, None)


@given(st.text(), st.text(max_size=20), st.text())
def test_any_text_has_its_properties(text, reason, asked):
    found = properties_of(text, reason, asked=asked)

    assert found.characters >= found.words >= 0
