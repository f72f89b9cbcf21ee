"""The quotes of two readers on one text, without losing a character."""

from hypothesis import given
from hypothesis import strategies as st

from rating.layout import blocks
from rating.marks import marked, numbered
from rating.quotes import Span

TEXT = "I hear **how heavy** this is.\n\n- Sleep first.\n- Ask for help."


def parts_of(text, *spans):
    return [part for block in marked(blocks(text), *spans) for part in block.parts]


def at(words):
    return Span(TEXT.index(words), TEXT.index(words) + len(words))


def test_quotes_that_overlap_share_the_words_in_both():
    parts = parts_of("one two three four", [Span(0, 13)], [Span(4, 18)])

    assert [(part.text, part.shown_as) for part in parts] == [
        ("one ", "1"),
        ("two three", "both"),
        (" four", "2"),
    ]


def test_each_quote_starts_and_ends_once():
    parts = parts_of(TEXT, [at("heavy** this"), at("Ask for help.")], [at("how heavy")])

    assert [(p.text, p.starts, p.ends) for p in parts if p.starts or p.ends] == [
        ("how ", (2,), ()),
        ("heavy", (1,), (2,)),
        (" this", (), (1,)),
        ("Ask for help.", (1,), (1,)),
    ]


def test_a_quote_over_several_paragraphs_is_marked_in_each():
    parts = parts_of(TEXT, [at("this is.\n\n- Sleep")], [])

    assert [part.text for part in parts if part.readers == (1,) and not part.gap] == [
        "this is.\n",
        "- ",
        "Sleep",
    ]


def test_markdown_marks_stay_dimmed_and_blocks_stay_as_they_were():
    laid = marked(blocks(TEXT), [at("how heavy")], [])

    assert [block.kind for block in laid] == [block.kind for block in blocks(TEXT)]
    assert [part.text for part in parts_of(TEXT, [], []) if part.dimmed] == ["**", "**", "- ", "- "]


def test_a_space_between_two_quotes_is_no_gap():
    [_, space, _] = parts_of("rest now", [Span(0, 4)], [Span(5, 8)])

    assert space.text == " "
    assert not space.gap


def test_quotes_of_one_reader_go_by_their_number_and_blocks_know_which_touch_them():
    laid = numbered(blocks(TEXT), [at("how heavy"), at("heavy** this"), at("Ask for help.")])

    assert [(p.text, p.starts, p.ends) for b in laid for p in b.parts if p.starts or p.ends] == [
        ("how ", (1,), ()),
        ("heavy", (2,), (1,)),
        (" this", (), (2,)),
        ("Ask for help.", (3,), (3,)),
    ]
    assert [block.number for block in laid if block.touches(at("Sleep first"))] == [2]


texts = st.text(alphabet=st.sampled_from(list("ab .*_#>-1)\n\r\té👍")), min_size=1, max_size=80)


@given(st.data(), texts)
def test_every_character_stands_there_once_in_order_and_in_its_quotes(data, text):
    edge = st.integers(0, len(text))
    span = st.tuples(edge, edge).map(sorted).filter(lambda e: e[0] < e[1]).map(lambda e: Span(*e))
    quotes = {reader: data.draw(st.lists(span, max_size=4)) for reader in (1, 2)}

    parts = parts_of(text, *quotes.values())

    assert "".join(part.text for part in parts) == text
    for part in parts:
        assert text.startswith(part.text, part.start)
        for place in range(part.start, part.start + len(part.text)):
            inside = tuple(
                r for r, spans in quotes.items() if any(s.start <= place < s.end for s in spans)
            )
            assert part.readers == inside
    for reader, spans in quotes.items():
        starts = {part.start for part in parts if reader in part.starts}
        ends = {part.start + len(part.text) for part in parts if reader in part.ends}
        assert starts == {span.start for span in spans}
        assert ends == {span.end for span in spans}
