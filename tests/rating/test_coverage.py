"""The map of where a bank stands, and the picture of what ratings say, from plain values."""

from xml.etree import ElementTree

import pytest

from rating.coverage import (
    GLYPHS,
    ItemLine,
    PairLine,
    counts_of,
    map_of_chambers,
    map_of_dimensions,
)
from rating.item_map import NARROW, WIDE, Dot, ItemMap, Limits, item_map
from rating.reviews import Standing

VALID, NONE, ONE = Standing.VALIDATED, Standing.UNVALIDATED, Standing.SINGLE


def line(code="AWR-1-A", standing=NONE, *, sub="A1", withheld=""):
    return ItemLine(code, "", "AWR", sub, withheld, f"hash {code}", standing)


def test_a_bank_is_counted_from_its_items():
    items = [("", VALID), ("", NONE), ("draft", VALID), ("crisis topic", NONE), ("retired", VALID)]

    counts = counts_of(items)

    assert (counts.items, counts.scorable, counts.served) == (5, 3, 2)
    assert (counts.drafts, counts.crisis, counts.validated, counts.percent) == (1, 1, 1, 33)
    assert counts_of([("draft", NONE)]).percent is None


def test_the_model_index_is_eight_rows_of_five_places():
    found = map_of_dimensions(
        [line("a", VALID), line("b", NONE), line("c", ONE, sub="A2"), line("d", withheld="draft")]
    )

    assert [len(row.cells) for row in found.rows] == [5] * 8
    first, second, third, *_ = found.rows[0].cells
    assert (first.name, first.glyphs, first.count) == ("Suffering Detection", "●○", 2)
    assert (first.said, first.drafts) == ("2 items: 1 validated, 1 unvalidated", 1)
    assert (second.glyphs, third.said, third.percent) == ("◐", "empty", None)
    assert found.sentence == "0 of 40 cells have two validated items."


def test_a_cell_with_two_validated_items_is_counted():
    found = map_of_dimensions([line("a", VALID), line("b", VALID)])

    assert found.sentence == "1 of 40 cells has two validated items."


@pytest.mark.parametrize(
    ("validated", "of", "step"), [(0, 3, 0), (1, 9, 1), (1, 2, 3), (2, 3, 4), (3, 3, 5), (0, 0, 0)]
)
def test_the_ground_of_a_cell_tells_the_validated_share(validated, of, step):
    items = [line(f"i{n}", VALID if n < validated else NONE) for n in range(of)]

    assert map_of_dimensions(items).rows[0].cells[0].step == step


def test_unconditionality_is_chambers_by_pairs():
    items = [
        line(code, standing)
        for code, standing in zip("abcdef", [VALID] * 3 + [NONE] * 3, strict=False)
    ]
    pairs = [
        PairLine("p1", "1", "a", "b"),
        PairLine("p2", "1", "d", "c"),
        PairLine("p3", "2", "e", "f"),
    ]

    found = map_of_chambers(items, [("1", "Moral Status"), ("2", "Proximity")], pairs)

    assert [[cell.glyphs for cell in row.cells] for row in found.rows] == [["●●", "○●"], ["○○", ""]]
    assert found.rows[1].cells[1].said == "empty"
    assert found.sentence == "1 of 3 pairs has both arms validated."


def test_each_status_has_a_shape_of_its_own():
    assert set(GLYPHS) == set(Standing)
    assert len(set(GLYPHS.values())) == len(GLYPHS)


LIMITS = Limits(1, 5, 0.5, 0.8)


def drawn(*dots: Dot, width=WIDE):
    found = ItemMap(dots, ("Awareness", "Empathy"), LIMITS)
    return found, ElementTree.fromstring(item_map(found, width=width))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_only_items_outside_the_limits_are_labelled(width):
    found, svg = drawn(
        Dot("AWR-1-A", "Awareness", 3, 0.9, False),
        Dot("EMP-1-A", "Empathy", 4.9, 0.4, True),
        width=width,
    )
    words = [part.text for part in svg.iter() if part.tag.endswith("text")]

    assert found.sentence == "1 item is outside the declared limits."
    assert "EMP-1-A" in words
    assert "AWR-1-A" not in words
    assert sum(part.tag.endswith("circle") for part in svg.iter()) == 2
    assert svg.get("role") == "img"


def test_labels_never_cover_one_another():
    dots = [Dot(f"AWR-{n}-A", "Awareness", 1.1 + n / 50, 0.3, True) for n in range(12)]
    _, svg = drawn(*dots)
    places = [
        (float(part.get("x")), float(part.get("y")))
        for part in svg.iter()
        if part.tag.endswith("text") and (part.text or "").startswith("AWR-")
    ]

    assert places
    for place, (x, y) in enumerate(places):
        for other_x, other_y in places[place + 1 :]:
            assert abs(x - other_x) > 40 or abs(y - other_y) >= 14


def test_every_word_of_the_picture_lies_inside_it():
    _, svg = drawn(Dot("AWR-1-A", "Awareness", 1, 0, True), Dot("AWR-2-A", "Awareness", 5, 1, True))
    width, height = float(svg.get("width")), float(svg.get("height"))

    for part in svg.iter():
        if part.tag.endswith("text"):
            assert 0 <= float(part.get("x")) <= width
            assert 0 <= float(part.get("y")) <= height
