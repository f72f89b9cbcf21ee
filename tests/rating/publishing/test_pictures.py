"""The pictures of a report: named, described, and empty of what is withheld."""

import re
from xml.etree import ElementTree

import pytest

from rating.charts import NARROW, WIDE
from rating.publishing.pictures import (
    differences_picture,
    parity_picture,
    ranges_picture,
    ranges_sentence,
    shared_in,
)
from rating.publishing.results import results_of
from tests.rating.publishing.made import QUICK, index_data, parity_data, report

SVG = "{http://www.w3.org/2000/svg}"
LEVELS = [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def data():
    return index_data({"b-alike": 4.0, "a-alike": 4.0, "c-apart": 2.0}, items=3)


@pytest.fixture(scope="module")
def content(data):
    return report(data)


@pytest.fixture(scope="module", params=[WIDE, NARROW])
def pictures(request, content):
    pairs = report(parity_data({"a": 0.6}, pairs=3))["parity"][0]
    return [
        ranges_picture(content["results"], LEVELS, width=request.param),
        differences_picture(content["results"], width=request.param),
        parity_picture(pairs, width=request.param),
    ]


def test_each_is_one_image_with_a_name_and_a_description(pictures):
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        ids = {part.get("id"): part.text for part in root.iter() if part.get("id")}
        name, said = ids[root.get("aria-labelledby")], ids[root.get("aria-describedby")]
        assert root.get("role") == "img"
        assert name != said
        assert "The table that follows gives every number." in said


def test_a_strict_content_policy_lets_them_be(pictures):
    for picture in pictures:
        assert "style" not in picture
        assert "<script" not in picture
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', picture)) <= {
            "none",
            *re.findall(r"var\(--[\w-]+\)", picture),
        }


def test_text_stays_inside_the_picture(pictures):
    for picture in pictures:
        root = ElementTree.fromstring(picture)
        width, height = float(root.get("width")), float(root.get("height"))
        for text in root.iter(f"{SVG}text"):
            assert 0 <= float(text.get("x")) <= width
            assert 0 <= float(text.get("y")) <= height


def test_models_stand_from_a_to_z_and_only_the_one_told_apart_has_a_point(content):
    root = ElementTree.fromstring(ranges_picture(content["results"], LEVELS))

    words = [part.text for part in root.iter(f"{SVG}text")]
    shown = [word for word in words if word in ("a-alike", "b-alike", "c-apart")]
    assert shown == ["a-alike", "b-alike", "c-apart"] * 9
    assert len(list(root.iter(f"{SVG}circle"))) == 9


def test_no_byte_of_a_picture_holds_what_is_withheld(data, content):
    scores = results_of(data, QUICK).index.scores
    members = {row["subject"] for row in content["results"]["groups"][0]["members"]}
    picture = ranges_picture(content["results"], LEVELS) + differences_picture(content["results"])

    for score in scores:
        if score.subject in members:
            for mean in (score.composite, *(own.value for own in score.dimensions.values())):
                assert f"{mean:.6g}" not in re.findall(r'="([\d.]+)"', picture)


def test_hostile_names_are_inert(content):
    results = {
        **content["results"],
        "alone": [{**content["results"]["alone"][0], "subject": "<script>alert(1)</script>\u202e"}],
    }

    picture = ranges_picture(results, LEVELS)

    assert "<script" not in picture
    ElementTree.fromstring(picture)


def test_a_report_without_any_range_has_a_picture_that_says_so():
    content = report(index_data({"a": 3.0}, items=3, lost={"a": 30}))

    assert "No range can be given." in ranges_picture(content["results"], LEVELS)


# Names as the registry makes them: developer--family--snapshot


@pytest.fixture(scope="module")
def long_names():
    names = [f"northern-lights-research--polar--polar-large-2026-0{n}-01" for n in (1, 2, 3)]
    return report(index_data(dict(zip(names, (2.0, 3.0, 4.2), strict=True)), items=3))["results"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_of_long_names_both_halves_of_a_difference_can_be_told_from_each_other(long_names, width):
    picture = differences_picture(long_names, width=width)

    words = [part.text for part in ElementTree.fromstring(picture).iter(f"{SVG}text")]
    assert shared_in(long_names) == "northern-lights-research--polar--"
    assert words.count("polar-large-2026-01-01") == 2
    assert words.count("minus polar-large-2026-02-01") == 1
    assert words.count("minus polar-large-2026-03-01") == 2


def test_names_that_share_nothing_or_are_alone_stay_whole():
    alone = report(index_data({"dev--kind--one": 3.0}, items=3))["results"]
    apart = report(index_data({"dev--kind": 3.0, "dev--kind--one": 4.5}, items=3))["results"]

    assert shared_in(alone) == ""
    assert shared_in(apart) == "dev--"


def test_that_ranges_overlap_is_never_said_without_the_differences_that_are_clear(content):
    assert ranges_sentence(content["results"]).endswith(
        "After correction, 2 of the 3 declared differences stay clear of zero."
    )
