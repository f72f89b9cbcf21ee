"""What changed between two wordings."""

from rating.changes import changes, is_small
from runs.word_diff import Piece

LONG = (
    "It names the weight of three years without sleep, and then gives one step that she can take."
)


def test_a_change_shows_the_words_that_went_and_those_that_came():
    (change,) = changes({"a": "one two three", "b": "same"}, {"a": "one 2 three", "b": "same"})

    assert change.where == "a"
    assert change.parts == (
        Piece("same", "one "),
        Piece("removed", "two"),
        Piece("added", "2"),
        Piece("same", " three"),
    )


def test_a_text_that_came_or_went_whole_is_a_change():
    found = {change.where: change.parts for change in changes({"old": "x"}, {"added": "y"})}

    assert found == {"added": (Piece("added", "y"),), "old": (Piece("removed", "x"),)}


def test_one_word_of_many_is_a_small_change_and_another_text_is_not():
    assert is_small({"a": LONG}, {"a": LONG.replace("three", "four")})
    assert not is_small({"a": LONG}, {"a": "Something else is asked here altogether."})
    assert not is_small({"a": LONG}, {"a": LONG})
