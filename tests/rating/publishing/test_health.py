"""What is shown of the tests that could refute the method: pictures, tables, and what is withheld."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from rating.models import Role
from rating.publishing import schema
from rating.publishing.content import content_of
from rating.publishing.data import EarlierRun
from rating.publishing.gather import rows_of
from rating.publishing.health import health_of
from rating.publishing.health_pictures import shown_of
from rating.publishing.results import results_of
from rating.publishing.tested import Scree, levels_of
from rating.publishing_views import pictures_of
from rating.stats.refutation import NO_SIZE
from tests.factories import make_user, make_wave
from tests.rating.publishing.made import QUICK, index_data, report, run_of
from tests.rating.publishing.waves import rated_wave

SVG = "{http://www.w3.org/2000/svg}"


def wave():
    """Two snapshots of one family and a third that is in no group with them, and one altered."""
    runs = [
        run_of("a", family="one", registered_on="2026-01-01"),
        run_of("b", family="one", registered_on="2026-02-01"),
        run_of("c", family="two", registered_on="2026-01-01"),
        run_of(
            "c",
            family="two",
            condition="cold",
            system_message="Be cold.",
            expected="lower",
            expected_why="It is told to be cold.",
        ),
    ]
    data = index_data({"a": 2.2, "b": 3.0, "c": 4.2}, items=4, runs=runs)
    items = tuple(
        replace(item, unpublished=item.code.endswith(("-0", "-1"))) for item in data.items
    )
    flagged = {one.code for one in data.replies if one.condition == "cold"}
    ratings = tuple(
        replace(one, level=max(1, one.level - 1)) if one.response in flagged else one
        for one in data.ratings
    )
    levels = {item: tuple(own) for item, own in levels_of(data, data.runs[0]).items()}
    earlier = (EarlierRun("a", "w0, default", "", levels),)
    return replace(data, items=items, ratings=ratings, earlier=earlier)


@pytest.fixture(scope="module")
def content():
    return report(wave())


RUNS = frozenset(
    {("a", "w0, default"), ("a", "w1, default"), ("b", "w1, default"), ("c", "w1, cold")}
)


@pytest.fixture(scope="module")
def every(content):
    """The same where the points of all runs are told, as in a wave of pairs."""
    return {**content, "health": health_of(results_of(wave(), QUICK).tested, "w1", RUNS)}


@pytest.fixture(scope="module")
def shown(every):
    schema.check(every)
    return {one.number: one for one in shown_of(every)}


@pytest.fixture(scope="module")
def many():
    """As of a hundred runs, whose eigenvalues have one above chance."""
    results = results_of(index_data({"a": 2.0, "b": 4.0}, items=3), QUICK)
    scree = Scree(100, 1, (4.2, 1.1, 0.8, 0.6, 0.5, 0.4, 0.25, 0.15), (1.6, 1.4, 1.2) + (1.0,) * 5)
    return content_of(replace(results, tested=replace(results.tested, scree=scree)))


def test_four_of_the_five_have_a_picture_and_each_has_a_table(shown, many):
    assert [number for number, one in shown.items() if one.wide and one.narrow] == [1, 2, 4, 5]
    assert all(one.rows for one in shown.values())
    assert shown[4].sentence == (
        "Of 1 rerun whose size is told, items moved by less than 0.5 level in 1."
    )
    [scree] = [one for one in shown_of(many) if one.number == 3]
    assert scree.wide
    assert scree.sentence == "1 of 8 eigenvalues is above those of chance."


def test_each_picture_is_one_image_with_a_name_a_description_and_a_table_after_it(shown, many):
    every = [*shown.values(), *shown_of(many)]
    for picture in [one for row in every for one in (row.wide, row.narrow) if one]:
        root = ElementTree.fromstring(picture)
        ids = {part.get("id"): part.text for part in root.iter() if part.get("id")}
        assert root.get("role") == "img"
        assert ids[root.get("aria-labelledby")] != ids[root.get("aria-describedby")]
        assert ids[root.get("aria-describedby")].endswith(
            "The table that follows gives every number."
        )
        assert "style" not in picture


def test_text_stays_inside_each_picture(shown, many):
    for row in [*shown.values(), *shown_of(many)]:
        for picture in filter(None, (row.wide, row.narrow)):
            root = ElementTree.fromstring(picture)
            width, height = float(root.get("width")), float(root.get("height"))
            for text in root.iter(f"{SVG}text"):
                x, wide = float(text.get("x")), 5.6 * len(text.text)
                left = {"middle": x - wide / 2, "end": x - wide}.get(text.get("text-anchor"), x)
                assert -2 <= left <= left + wide <= width + 2, text.text
                assert 0 <= float(text.get("y")) <= height


def test_the_bins_of_the_null_hold_every_deal(content):
    chance = content["health"]["chance"]

    assert sum(own["deals"] for own in chance["bins"]) == chance["permutations"] == QUICK.units
    assert chance["bins"][0]["low"] <= chance["by_chance"] <= chance["bins"][-1]["high"]
    assert chance["bins"][-1]["high"] < chance["alpha"]


def test_where_both_points_are_told_the_size_of_a_rerun_and_of_an_alteration_is(every):
    [rerun], [altered] = every["health"]["reruns"], every["health"]["altered"]

    assert rerun["shift"] == 0
    assert rerun["excess"] <= rerun["most"] < rerun["margin"]
    assert altered["low"] < altered["moved"] < altered["high"]
    assert altered["moved"] > 0.5
    assert rerun["reason"] == altered["reason"] == ""


def test_a_point_of_one_run_and_a_size_would_give_the_point_of_the_other(content):
    """Of the earlier wave and of the altered run no point is told, though the subject has one."""
    assert [row["subject"] for row in content["results"]["alone"]] == ["a", "b", "c"]
    [rerun], [altered] = content["health"]["reruns"], content["health"]["altered"]

    assert (rerun["shift"], rerun["most"], rerun["reason"]) == (None, None, NO_SIZE)
    assert (altered["moved"], altered["high"], altered["reason"]) == (None, None, NO_SIZE)
    assert content["health"]["pools"]["snapshots"] == 2


def test_a_member_of_a_group_has_no_size_anywhere_and_is_told_why():
    data = wave()
    # Each reply of the third is rated as that of the first.
    level = {
        (one.response.removeprefix("a"), one.slot): one.level
        for one in data.ratings
        if one.response.startswith("a-")
    }
    ratings = tuple(
        replace(one, level=level[one.response.removeprefix("c"), one.slot])
        if one.response.startswith("c-default")
        else one
        for one in data.ratings
    )
    content = report(replace(data, ratings=ratings))

    assert "c" not in [row["subject"] for row in content["results"]["alone"]]
    [rerun], [altered] = content["health"]["reruns"], content["health"]["altered"]
    assert (rerun["shift"], rerun["excess"], rerun["most"]) == (None, None, None)
    assert (altered["moved"], altered["low"], altered["high"]) == (None, None, None)
    assert rerun["reason"] == altered["reason"] == NO_SIZE
    assert content["health"]["pools"] is None
    assert NO_SIZE in content["tests"][1]["evidence"][0]
    shown = {one.number: one for one in shown_of(content)}
    assert shown[4].wide == shown[5].wide == ""
    assert NO_SIZE in shown[4].rows[0][-1]


def test_below_the_floor_no_model_has_a_size(content):
    floor = replace(wave().declared, agreement_floor=0.99)

    found = report(replace(wave(), declared=floor))["health"]

    assert found["reruns"][0]["most"] is None
    assert found["altered"][0]["moved"] is None


def test_the_page_shows_each_picture_under_its_test_with_its_numbers(every):
    page = render_to_string("public/_tests.html", {"report": every, "pictures": pictures_of(every)})

    sections = re.split(r"<h3>", page)[1:]
    for number in (1, 2, 4, 5):
        assert f'id="test-{number}-' in sections[number - 1]
    assert all(f'id="test-table-{number}"' in sections[number - 1] for number in range(1, 6))


def test_a_report_published_before_there_were_pictures_shows_none(content):
    old = {key: value for key, value in json.loads(json.dumps(content)).items() if key != "health"}

    assert shown_of(old) == []
    assert "test-table" not in render_to_string(
        "public/_tests.html", {"report": old, "pictures": pictures_of(old)}
    )


def test_hostile_names_are_inert(every):
    planted = json.loads(json.dumps(every))
    for row in (*planted["health"]["reruns"], *planted["health"]["altered"]):
        row["subject"] = "<script>alert(1)</script>"

    page = render_to_string(
        "public/_tests.html", {"report": planted, "pictures": pictures_of(planted)}
    )

    assert "<script" not in page


@pytest.mark.django_db
def test_the_page_of_instrument_health_has_the_null_distribution_and_its_numbers(
    client, monkeypatch
):
    monkeypatch.setattr("rating.publishing.results.DRAWS", QUICK)
    wave = rated_wave({"a": 4.0, "b": 2.0})
    client.force_login(make_user(Role.MAINTAINER))

    page = client.get(reverse("rating:health", args=[wave.code])).content.decode()

    assert 'id="test-1-chance-720-title"' in page
    assert 'id="test-table-1"' in page


@pytest.mark.django_db
def test_how_often_a_reply_names_its_maker_comes_from_what_was_stored():
    wave = make_wave(naming=[[0, 3, "Dev"], [9, 12, "Dev"]])

    data = rows_of(wave)

    assert data.self_naming == len(data.replies) > 0
    assert {one.naming for one in data.replies} == {2}
