import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string

from rating.charts import NARROW, TOKENS, WIDE, agreement_chart
from rating.report import RatingRow, agreement_report

SVG = "{http://www.w3.org/2000/svg}"


def rows(dimension, pairs):
    return [
        RatingRow(rater, f"u{unit}", dimension, level)
        for unit, pair in enumerate(pairs)
        for rater, level in zip("ab", pair, strict=True)
    ]


VARIED = [(1 + n % 5, 1 + n % 4) for n in range(40)]
FEW = [(1, 2), (3, 3), (4, 5)]
ONE_LEVEL = [(3, 3)] * 40


@pytest.fixture(scope="module")
def report():
    return agreement_report(
        [*rows("warmth", VARIED), *rows("honesty & <care>", FEW), *rows("rest", ONE_LEVEL)],
        range(1, 6),
        seed="1",
        dimensions=["warmth", "rest", "honesty & <care>"],
    )


@pytest.fixture(scope="module", params=[WIDE, NARROW])
def svg(request, report):
    return agreement_chart(report, width=request.param)


def texts(svg):
    return ["".join(part.itertext()) for part in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_picture_is_one_image_with_a_name_and_a_description(svg, report):
    root = ElementTree.fromstring(svg)
    ids = {part.get("id"): part.text for part in root.iter() if part.get("id")}

    assert root.get("role") == "img"
    assert ids[root.get("aria-labelledby")] == report.sentence
    assert "0 is chance" in ids[root.get("aria-describedby")]
    assert "The table that follows gives every number" in ids[root.get("aria-describedby")]
    inside = [part for part in root.iter() if part is not root]
    assert not [part for part in inside if part.get("role") or part.get("aria-label")]


def test_a_strict_content_policy_lets_the_picture_be(svg):
    assert "style" not in svg
    assert "<script" not in svg
    assert "href" not in svg
    assert "url(" not in svg


def test_every_colour_is_a_token(svg):
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg))

    assert colours - {"none", "transparent"} <= set(TOKENS.values())
    assert TOKENS["chart-1"] in colours


def test_real_colours_can_be_given_for_a_picture_outside_a_page(report):
    svg = agreement_chart(report, colours=dict.fromkeys(TOKENS, "#25231F"))

    assert "var(" not in svg


def test_dimensions_stand_in_the_instruments_order_and_all_together_last(svg):
    named = [
        text
        for text in texts(svg)
        if text in {"warmth", "rest", "honesty & <care>", "All together"}
    ]

    assert named == ["warmth", "rest", "honesty & <care>", "All together"]


def test_a_row_without_a_number_stays_with_its_reason(svg):
    assert "This number cannot be given: All paired ratings" in " ".join(texts(svg))
    assert ElementTree.fromstring(svg).find(f"{SVG}desc").text.count("in its place: 1.") == 1


def test_a_row_that_does_not_suffice_says_so(svg):
    assert "too few for a claim" in " ".join(texts(svg))


def test_chance_is_marked(svg):
    assert "0 = chance" in texts(svg)


def test_text_is_never_smaller_than_twelve_pixels(svg):
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)px"', svg)} == {12}


def test_two_pictures_on_a_page_share_no_identifier(report):
    both = agreement_chart(report, width=WIDE) + agreement_chart(report, width=NARROW)
    identifiers = re.findall(r' id="([^"]*)"', both)

    assert len(identifiers) == len(set(identifiers)) == 4


def test_a_report_without_any_number_still_makes_a_picture():
    svg = agreement_chart(agreement_report([], range(1, 6), seed="1"))

    assert "This number cannot be given: There are no ratings." in " ".join(texts(svg))
    assert not re.findall(r'stroke="var\(--chart-1\)"|fill="var\(--chart-1\)"', svg)


def test_an_alpha_far_below_chance_widens_the_axis():
    reversed_ratings = rows("", [(1, 5), (5, 1), (1, 5), (5, 1)] * 10)

    svg = agreement_chart(agreement_report(reversed_ratings, range(1, 6), seed="1"))

    assert "ordinal alpha from -1 to 1" in svg


def test_a_name_with_control_characters_is_drawn_without_them():
    bad = rows("a\x00b\x1b[31m", VARIED)

    svg = agreement_chart(agreement_report(bad, range(1, 6), seed="1"))

    ElementTree.fromstring(svg)
    assert "\x1b" not in svg


# The templates


def test_the_fragment_gives_every_figure_or_its_reason(report):
    page = render_to_string("rating/_agreement.html", {"report": report, "chart": "<svg></svg>"})

    assert "<svg></svg>" in page
    assert "<caption>" in page
    assert page.count('<th scope="row">') == 4
    assert "This number cannot be given: All paired ratings are one level." in page
    assert report.overall.alpha_ordinal.as_number() in page
    assert "honesty &amp; &lt;care&gt;" in page
    assert "rest: nobody chose 1, 2, 4 and 5." in page
    assert "It does not say how far it would move with other raters." in page
    assert "Show the numbers" in page
    assert "<details>" in page


def test_the_fragment_has_no_inline_style_or_script(report):
    page = render_to_string(
        "rating/_agreement.html", {"report": report, "chart": agreement_chart(report)}
    )

    assert "style" not in page
    assert "<script" not in page
    assert not re.search(r"\son\w+=", page)


def test_the_report_file_stands_alone(report):
    page = render_to_string(
        "rating/report_file.html",
        {
            "report": report,
            "title": "Agreement in <wave 1>",
            "chart": agreement_chart(report),
            "chart_narrow": agreement_chart(report, width=NARROW),
            "made_at": datetime(2026, 10, 3, 14, 3, tzinfo=UTC),
            "facts": [("Wave", "wave-1"), ("Seed", "1")],
            "care": "Nothing on this site tells you which AI to turn to when life is hard.",
        },
    )

    assert "<title>Agreement in &lt;wave 1&gt;</title>" in page
    assert "3 October 2026 at 14:03" in page
    assert "<dt>Wave</dt>" in page
    assert "Nothing on this site" in page
    assert "<details open>" in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r"(src|href)=|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    for token in TOKENS:
        assert page.count(f"--{token}:") == 3
