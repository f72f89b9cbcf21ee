"""Agreement as a report tells it: two coefficients side by side, and one picture of both."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from django.template.loader import render_to_string

from rating.charts import NARROW, WIDE
from rating.document import Picture, Table
from rating.publishing.agreed_picture import agreement_picture, agreement_sentence
from rating.publishing.data import DeclaredRow
from rating.publishing.document import document_of
from rating.publishing.files import figures_csv
from rating.publishing.results import places_of
from rating.publishing_views import pictures_of
from rating.stats.agreement import tally_rows
from rating.stats.chance import estimate, gwet_chance
from rating.stats.weights import ordinal
from tests.rating.publishing.made import index_data, parity_data, report
from tests.rating.publishing.test_document import AT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def data():
    return index_data({"a": 2.0, "b": 4.0}, items=5, declared=DeclaredRow(agreement_floor=0.6))


@pytest.fixture(scope="module")
def content(data):
    return report(data)


def numbered(units):
    return np.unique(units, return_inverse=True)[1]


def words_in(picture):
    return [part.text or "" for part in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def page_of(content):
    return render_to_string(
        "public/_agreed.html", {"report": content, "pictures": pictures_of(content)}
    )


def test_ac2_with_its_interval_stands_beside_ordinal_alpha_in_each_row(data, content):
    _, place = places_of(data)
    units = {code: number for number, code in enumerate(sorted(data.twice))}
    for row in content["agreement"]["rows"]:
        units_of, levels = np.array(
            [
                (units[one.response], one.level - 1)
                for one in data.ratings
                if row["name"] in ("All together", place[data.reply[one.response].item])
            ]
        ).T
        wanted = estimate(
            gwet_chance, tally_rows(numbered(units_of), levels, data.bank.levels), ordinal(5)
        )
        told = [row["ac2"][end] for end in ("value", "low", "high")]
        assert told == pytest.approx([wanted.value, wanted.low, wanted.high], abs=1e-4)


def test_the_page_the_paper_and_the_table_of_figures_tell_it(content):
    value = content["agreement"]["rows"][0]["ac2"]["value"]
    parts = document_of(content, [], AT).parts

    assert f'<td class="ranged">{value:.2f} (' in page_of(content)
    assert f'"All together, ac2",{value}' in figures_csv(content)
    [table] = [part for part in parts if isinstance(part, Table) and "Agreement" in part.caption]
    assert table.head[2:4] == ("Ordinal alpha", "AC2")
    assert any(
        isinstance(part, Picture) and part.title == agreement_sentence(content["agreement"])
        for part in parts
    )


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_picture_has_both_marks_of_each_dimension_in_order_and_the_floor(content, width):
    picture = agreement_picture(content["agreement"], width=width)

    names = [row["name"] for row in content["agreement"]["rows"]]
    assert [word for word in words_in(picture) if word in names] == [*names[1:], names[0]]
    root = ElementTree.fromstring(picture)
    for mark in ("circle", "rect"):
        assert len(list(root.iter(f"{SVG}{mark}"))) == len(names) + 1  # one says what it is
    dashed = [line for line in root.iter(f"{SVG}line") if line.get("stroke-dasharray")]
    assert len(dashed) == len(names)
    assert "0 = chance" in words_in(picture)
    assert "style" not in picture


def test_its_sentence_says_the_floor_or_that_none_was_declared(data, content):
    without = report(replace(data, declared=DeclaredRow()))
    pairs = report(parity_data({"a": 0.5}, pairs=3))

    assert agreement_sentence(content["agreement"]).endswith("of 8 dimensions; the floor was 0.6.")
    assert agreement_sentence(without["agreement"]).endswith("; no floor was declared.")
    assert "of 8 chambers" in agreement_sentence(pairs["agreement"])


def test_a_dimension_without_a_figure_keeps_its_row_and_its_reason():
    data = index_data({"a": 3.0}, items=3)
    gone = {reply.code for reply in data.replies if reply.item.startswith("AWR")}
    bare = replace(data, ratings=tuple(one for one in data.ratings if one.response not in gone))
    content = report(bare)

    row = content["agreement"]["rows"][1]
    assert row["ac2"]["value"] is None
    assert row["ac2"]["reason"]
    picture = agreement_picture(content["agreement"])
    assert row["name"] in words_in(picture)
    assert row["alpha"]["reason"].split(".")[0] in " ".join(words_in(picture))


def test_a_report_published_before_ac2_was_told_is_shown_as_it_was(content):
    old = json.loads(json.dumps(content))
    for row in old["agreement"]["rows"]:
        del row["ac2"]

    page = page_of(old)

    assert agreement_picture(old["agreement"]) == ""
    assert "AC2</th>" not in page
    assert "The floor declared beforehand is 0.6." in page
    [table] = [
        part
        for part in document_of(old, [], AT).parts
        if isinstance(part, Table) and part.caption.startswith("Agreement")
    ]
    assert "AC2" not in table.head


def test_the_picture_on_the_page_is_named_and_described(content):
    ids = re.findall(r'id="(breakdown-\d+-(?:title|description))"', page_of(content))

    assert sorted(ids) == sorted(
        f"breakdown-{width}-{part}" for width in (WIDE, NARROW) for part in ("title", "description")
    )
