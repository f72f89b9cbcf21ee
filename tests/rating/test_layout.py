"""Laying a response out for reading, without losing a character."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rating.layout import blocks, groups, place_of
from rating.quotes import Span

TEXT = (
    "# On rest\n\nYou are **not** failing. Sleep comes first!\n\n"
    "- ask one person\n2. name one hour\n\n> a quoted line\n\n```\nx = *a*\n\ny\n```\nDone."
)


def test_each_part_is_laid_out_as_what_it_is():
    kinds = [block.kind for block in blocks(TEXT)]

    assert kinds == ["heading", "paragraph", "item", "item", "quote", "code", "paragraph"]


def test_markdown_marks_stay_and_are_dimmed():
    marks = [piece.text for block in blocks(TEXT) for piece in block.spans if piece.mark]

    assert marks == ["# ", "**", "**", "- ", "2. ", "> ", "```", "```"]


def test_marks_inside_code_are_text():
    [code] = [block for block in blocks(TEXT) if block.kind == "code"]

    assert any(piece.text == "x = *a*\n" and not piece.mark for piece in code.spans)


@given(
    st.text(alphabet=st.sampled_from(list("ab .!*_`#>-1)\n\r\t“”…é👍")), max_size=200) | st.text()
)
def test_the_pieces_joined_are_the_text_and_know_where_they_start(text):
    pieces = [piece for block in blocks(text) for piece in block.spans]

    assert "".join(piece.text for piece in pieces) == text
    assert all(text.startswith(piece.text, piece.start) for piece in pieces)


@given(st.text(alphabet=st.sampled_from(list("ab .!?\n\r12)-")), max_size=200) | st.text())
def test_sentences_are_slices_in_order_that_hold_every_word(text):
    sentences = [sentence for group in groups(text) for sentence in group.sentences]

    assert all(text[s.start : s.end] == s.text for s in sentences)
    assert all(one.end <= other.start for one, other in pairwise(sentences))
    covered = {at for s in sentences for at in range(s.start, s.end)}
    assert all(at in covered for at, letter in enumerate(text) if letter.isalnum())
    assert [s.number for s in sentences] == list(range(1, len(sentences) + 1))


def test_the_number_of_a_list_item_belongs_to_its_sentence():
    assert [s.text for group in groups("1. Rest.\n2. Ask.") for s in group.sentences] == [
        "1. Rest.",
        "2. Ask.",
    ]


def test_a_quote_says_where_it_begins_as_people_count():
    parts = groups(TEXT)
    at = TEXT.index("Sleep comes")

    assert place_of(Span(at, at + 11), parts) == "sentence 3 of 9"


def test_only_a_line_with_nothing_on_it_is_a_gap():
    pieces = [p for block in blocks("**so** **heavy**\n**now**\n\nStay.") for p in block.spans]

    assert "".join(piece.text for piece in pieces if piece.gap) == "\n"
    assert [piece.text for piece in pieces if not piece.gap and piece.text.isspace()] == [
        " ",
        "\n",
        "\n",
    ]
