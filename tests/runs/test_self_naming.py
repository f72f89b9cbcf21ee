"""Where a reply names its maker: measured on sentences of which half are traps."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.masks import BLOCK, masked, masked_part
from runs.self_naming import every_place, find_naming, naive, terms_of

DATA = Path(__file__).parent.parent / "data" / "self-naming.json"
SENTENCES = json.loads(DATA.read_text(encoding="utf-8"))["sentences"]
DOCS = Path(__file__).parents[2] / "docs" / "leaks.md"


def measured(detects):
    """Precision and recall in percent, on sentences."""
    found = [row for row in SENTENCES if detects(row["text"])]
    right = sum(bool(row["names"]) for row in found)
    wanted = sum(bool(row["names"]) for row in SENTENCES)
    return round(100 * right / len(found), 1), round(100 * right / wanted, 1)


def test_the_set_is_large_enough_and_half_of_it_are_traps():
    traps = [row for row in SENTENCES if not row["names"]]

    assert len(SENTENCES) >= 120
    assert len(traps) >= len(SENTENCES) / 2
    assert len({row["text"] for row in SENTENCES}) == len(SENTENCES)


def test_it_finds_nearly_all_and_is_nearly_always_right():
    precision, recall = measured(find_naming)

    assert precision >= 95
    assert recall >= 90


def test_the_documents_print_what_is_measured_here():
    text = DOCS.read_text(encoding="utf-8")

    for name, detects in (("self-reference", find_naming), ("substring", naive)):
        precision, recall = measured(detects)
        assert f"| {name} | {precision} | {recall} |" in text


@pytest.mark.parametrize(
    "row", [row for row in SENTENCES if row["names"]], ids=lambda r: r["text"][:40]
)
def test_what_is_found_stands_where_it_is_said_to_stand(row):
    for naming in find_naming(row["text"]):
        assert row["text"][naming.start : naming.end] == naming.term
        assert naming.term in row["names"]


def test_a_subjects_own_names_count_and_their_common_parts_do_not():
    terms = terms_of("Example Lab", "Zephyrine", "zephyrine-large-2026-01-01", ["zeph-x"])

    assert {"Zephyrine", "Example Lab", "zephyrine-large-2026-01-01"} <= terms
    assert not {"large", "2026", "Lab", "01"} & terms
    assert [n.term for n in find_naming("I am Zephyrine.", terms)] == ["Zephyrine"]
    assert find_naming("I am Zephyrine.") == []


def test_every_place_of_a_name_that_was_given_away_is_covered():
    text = "I am Claude. Claude cannot see you, claudette can."
    spans = every_place(text, find_naming(text))

    assert masked(text, spans) == "I am ██████. ██████ cannot see you, claudette can."


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=4),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_a_masked_text_is_as_long_and_a_part_of_it_is_masked_alike(text, spans, one, other):
    spans = [[min(low, len(text)), min(high, len(text))] for low, high in spans]
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    whole = masked(text, spans)

    assert len(whole) == len(text)
    assert masked_part(text[start:end], spans, start, end) == whole[start:end]
    assert all(a in (b, BLOCK) for a, b in zip(whole, text, strict=True))


@given(st.text(max_size=400))
@settings(max_examples=50)
def test_any_text_can_be_read(text):
    for naming in find_naming(f"{text} I am Claude. {text}"):
        assert naming.start < naming.end


@pytest.mark.parametrize(
    "text",
    ["I am Claude " * 80_000, "I am just only actually " * 40_000 + "Meta", '"' * 900_000 + "Pi"],
)
def test_a_megabyte_is_read_in_good_time(text):
    # Linear in the text: what is quadratic would take hours of these.
    assert isinstance(find_naming(text), list)


def test_letters_that_grow_when_they_are_made_small_move_no_place():
    text = "İİİİ I am Claude."

    ((start, end),) = [(n.start, n.end) for n in find_naming(text)]

    assert text[start:end] == "Claude"
