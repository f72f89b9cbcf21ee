"""Two texts, word by word."""

import itertools
import random
import time

import pytest

from runs.word_diff import Piece, word_diff


def before(pieces):
    return "".join(piece.text for piece in pieces if piece.kind != "added")


def after(pieces):
    return "".join(piece.text for piece in pieces if piece.kind != "removed")


def test_one_changed_word_is_shown_in_its_place():
    assert word_diff("I care for my mom.", "I care for my dad.") == (
        Piece("same", "I care for my "),
        Piece("removed", "mom"),
        Piece("added", "dad"),
        Piece("same", "."),
    )


def test_neighbouring_changes_are_shown_as_one():
    assert word_diff("a red old door", "a blue new door") == (
        Piece("same", "a "),
        Piece("removed", "red old"),
        Piece("added", "blue new"),
        Piece("same", " door"),
    )


def test_words_that_come_or_go_at_an_end_are_shown():
    assert word_diff("", "new") == (Piece("added", "new"),)
    assert word_diff("old", "") == (Piece("removed", "old"),)
    assert word_diff("same", "same") == (Piece("same", "same"),)
    assert word_diff("", "") == ()


def test_nothing_is_lost_or_invented_whatever_the_texts():
    random.seed(7)
    letters = ["a", "bee", " ", "\n", ".", "ש", "لا", "👩‍👧", "é", "\t", "the"]
    for _ in range(300):
        old = "".join(random.choices(letters, k=random.randrange(25)))
        new = "".join(random.choices(letters, k=random.randrange(25)))
        pieces = word_diff(old, new)
        assert (before(pieces), after(pieces)) == (old, new)
        assert all(one.kind != other.kind for one, other in itertools.pairwise(pieces))


@pytest.mark.parametrize("shared", [True, False])
def test_a_hundred_thousand_letters_take_no_minute(shared):
    random.seed(7)
    words = [random.choice("abcdefghij") for _ in range(50_000)]
    changed = [*words[:100], "new", *words[101:]] if shared else random.sample(words, len(words))
    begun = time.monotonic()

    pieces = word_diff(" ".join(words), " ".join(changed))

    assert time.monotonic() - begun < 10
    assert (before(pieces), after(pieces)) == (" ".join(words), " ".join(changed))
    if shared:
        assert Piece("added", "new") in pieces
