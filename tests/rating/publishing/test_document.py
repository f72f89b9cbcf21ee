"""The report for paper: the same words and numbers, nothing that is withheld, hostile text inert."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

import pytest

from rating.document import Heading, Table
from rating.pdf import as_pdf
from rating.publishing.document import document_of
from rating.publishing.results import results_of
from tests.rating.publishing.made import QUICK, index_data, parity_data, report, run_of

AT = datetime(2026, 4, 1, 9, 30, tzinfo=UTC)
HOSTILE = '#set page(fill: red) $x$ *b* @import "x" \\u{0}'


@pytest.fixture(scope="module")
def data():
    return index_data({"b-alike": 4.0, "a-alike": 4.0, "c-apart": 2.0}, items=3)


def test_it_has_the_parts_of_the_page_in_their_order(data):
    made = document_of(report(data), [(AT, "A name was misspelt.")], AT)

    assert made.care.startswith("Nothing on this site tells you which AI")
    assert [part.text for part in made.parts if isinstance(part, Heading)] == [
        "Status",
        "What may and may not be said",
        "Design",
        "Results",
        "Agreement",
        "Blinding",
        "Contamination",
        "The tests that could refute the method",
        "Confounds",
        "Deviations from the plan",
        "What an official wave needs",
        "Hashes",
        "How to cite",
        "Corrections",
    ]
    assert "1 April 2026: A name was misspelt." in json.dumps(asdict(made), default=str)


def test_it_holds_no_point_of_a_model_in_a_group(data):
    content = report(data)
    made = document_of(content, [], AT)

    [ranges] = [
        part for part in made.parts if isinstance(part, Table) and "ranges from A" in part.caption
    ]
    of_group = [row for row in ranges.rows if row[0].endswith("alike")]
    assert {row[-1] for row in of_group} == {"withheld: in a group"}
    said = [
        cell for part in made.parts if isinstance(part, Table) for row in part.rows for cell in row
    ]
    for score in results_of(data, QUICK).index.scores:
        if score.subject.endswith("alike"):
            assert f"{score.composite:g}, {score.label}" not in said


def test_every_row_has_a_cell_for_each_column():
    runs = [run_of("a", condition=arm) for arm in ("default", "brief")]
    for content in (
        report(index_data({"a": 3.0}, items=3, runs=runs)),
        report(parity_data({"a": 0.3}, pairs=3)),
    ):
        for part in document_of(content, [], AT).parts:
            if isinstance(part, Table):
                assert {len(row) for row in part.rows} <= {len(part.head)}
                assert len(part.widths) == len(part.head)


def test_it_is_set_as_a_pdf_in_which_hostile_text_is_text(data):
    content = report(data) | {"cite": HOSTILE}

    made = as_pdf(document_of(content, [(AT, HOSTILE)], AT))

    assert made.startswith(b"%PDF")
    assert as_pdf(document_of(content, [(AT, HOSTILE)], AT)) == made
