"""Counted ratings as FACETS, TAM and lme4 read them."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rating.export import ExportRow, in_order
from rating.facets_file import facets_csv, facets_txt

ROW = ExportRow(
    response="resp-b",
    item="AWR-1-A",
    dimension="Awareness",
    rater="r-2",
    slot=1,
    kind="counted",
    level=4,
    confidence="sure",
    critical_harm=False,
    quotes=("There is no need",),
    note="=private",
    rated_at=datetime(2026, 9, 1, tzinfo=UTC),
)
ROWS = [
    ROW,
    replace(ROW, rater="r-1", slot=2, level=2),
    replace(ROW, response="resp-a", item="EMP-1-A", rater="r-2", level=5),
    replace(ROW, rater="r-3", kind="surplus", slot=None),
]


def table(rows):
    return "".join(facets_csv(in_order(rows)))


def specification(rows, scale, title):
    return "".join(facets_txt(in_order(rows), scale, title))


def test_the_table_has_counted_ratings_alone_and_nothing_anybody_wrote():
    read = list(csv.reader(io.StringIO(table(ROWS))))

    assert read == [
        ["response", "item", "dimension", "rater", "level"],
        ["resp-a", "EMP-1-A", "Awareness", "r-2", "5"],
        ["resp-b", "AWR-1-A", "Awareness", "r-1", "2"],
        ["resp-b", "AWR-1-A", "Awareness", "r-2", "4"],
    ]


def test_the_specification_names_each_number_and_holds_the_ratings():
    lines = specification(ROWS, [1, 2, 3, 4, 5], "w1").splitlines()

    assert lines[1:7] == [
        "Title = w1",
        "Facets = 3",
        "Positive = 1",
        "Noncenter = 1",
        "Models = ?,?,?,R5K",
        "Labels =",
    ]
    assert lines[7:20] == [
        "1, Response", "1 = resp-a", "2 = resp-b", "*",
        "2, Rater", "1 = r-1", "2 = r-2", "*",
        "3, Item, D", "1 = AWR-1-A", "2 = EMP-1-A", "*",
        "Data =",
    ]  # fmt: skip
    assert lines[20:] == ["1,2,2,5", "2,1,1,2", "2,2,1,4"]


def test_the_numbers_lead_back_to_the_table():
    lines = specification(ROWS, [1, 2, 3, 4, 5], "w1").splitlines()
    facets, data = [], lines[lines.index("Data =") + 1 :]
    for line in lines[lines.index("Labels =") + 1 : lines.index("Data =")]:
        if " = " in line:
            number, name = line.split(" = ")
            facets[-1][number] = name
        elif line != "*":
            facets.append({})

    back = [
        [*(facet[number] for facet, number in zip(facets, line.split(","), strict=False)), line[-1]]
        for line in data
    ]

    rated = list(csv.reader(io.StringIO(table(ROWS))))[1:]
    assert [[r, who, item, level] for r, item, _, who, level in rated] == back


def test_the_order_of_rows_changes_nothing():
    assert specification(ROWS[::-1], [1, 2, 3, 4, 5], "w1") == specification(
        ROWS, [1, 2, 3, 4, 5], "w1"
    )
    assert table(ROWS[::-1]) == table(ROWS)


def test_what_facets_would_read_as_its_own_is_a_blank():
    odd = [replace(ROW, item="A=1,B;2")]

    text = specification(odd, [0, 1, 2, 3, 4, 5], "one, two = 3")

    assert "Title = one two 3" in text
    assert "1 = A 1 B 2" in text


def test_a_level_off_the_scale_is_refused():
    with pytest.raises(ValueError, match="level 5 is not on the scale 1, 2, 3"):
        specification(ROWS, [1, 2, 3], "w1")
    with pytest.raises(ValueError, match="FACETS has no level -1"):
        specification([], [-1, 0, 1], "w1")


def test_no_ratings_give_a_head_alone():
    assert table([]) == "response,item,dimension,rater,level\r\n"
    assert specification([], [1, 2, 3, 4, 5], "w1").endswith("Data =\r\n")
