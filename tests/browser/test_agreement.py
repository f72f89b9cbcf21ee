"""A maintainer in a real browser: filters a wave's agreement, opens the quotes behind a difference."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Role
from runs.models import Wave
from tests.browser.test_care import fits
from tests.browser.test_room import faults_of
from tests.browser.test_settle import tab_to
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave
from tests.rating.test_agreement_page import TWO, rate_all

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")


@pytest.fixture
def wave(settings) -> Wave:
    """Eight items and two subjects, rated by two people who differ on one item by far."""
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99
    wave = make_wave(make_bank(bank_data(8)), subjects=TWO)
    codes = list(wave.bank.items.values_list("code", flat=True))
    for pseudonym, levels in (
        ("r-ann", (1, 2, 3, 4, 5, 3, 2, 4)),
        ("r-ben", (1, 2, 4, 4, 2, 3, 2, 5)),
    ):
        rater = make_rater(pseudonym=pseudonym)
        rate_all(rater, dict(zip(codes, levels, strict=True)), note="It names the weight.")
    return wave


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("script", [True, False])
def test_a_maintainer_filters_and_opens_the_quotes_behind_a_difference(sign_in, wave, script):
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    page.goto(reverse("rating:report", args=[wave.code]))
    page.get_by_role("link", name="By item, rater, pair or day").click()

    if script:  # by keyboard; without script it is the browser's own
        tab_to(page, "#id_by")
        page.keyboard.type("Item")
        tab_to(page, "#id_dimension")
        page.keyboard.type("Boundaries")
        page.keyboard.press("Enter")
    else:
        page.get_by_label("A line for each").select_option("Item")
        page.get_by_label("Dimension", exact=True).select_option("Boundaries")
    page.get_by_role("button", name="Show", exact=True).click()

    expect(page.get_by_role("heading", name="By item: Boundaries")).to_be_visible()
    assert {"by=item", "dimension=Boundaries"} <= set(page.url.partition("?")[2].split("&"))
    expect(page.get_by_role("table").first).not_to_contain_text("Awareness")
    page.get_by_role("link", name="2 and 5").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Two ratings of one response")
    for name in ("r-ann", "r-ben"):
        expect(page.get_by_role("region", name=name)).to_contain_text("I hear how heavy this is")


def test_pictures_have_names_and_tables_with_the_same_numbers(sign_in, wave):
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("rating:agreement", args=[wave.code]) + "?rater=r-ann")

    pictures = page.get_by_role("img").and_(page.locator("svg:visible"))
    expect(pictures).to_have_count(3)
    expect(pictures.nth(1)).to_have_accessible_name(
        "They chose the same level in 62% and differed by more than one in 12%."
    )
    page.get_by_text("Show the numbers").nth(1).click()
    expect(page.get_by_role("table", name="Responses by the level of r-ann")).to_contain_text("5")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_the_pages_of_agreement(sign_in, wave, scheme, width):
    page = sign_in(
        make_user(Role.MAINTAINER), color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    for name, query in (("by-dimension", ""), ("by-rater", "?by=rater"), ("wrong", "?first=x")):
        page.goto(reverse("rating:agreement", args=[wave.code]) + query)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        picture(page, f"agreement-{name}-{scheme}-{width}")
        assert faults_of(page) == [], name
        assert fits(page, width), name
    page.goto(reverse("rating:report", args=[wave.code]))
    page.get_by_role("button", name="Make all files").click()
    expect(page.get_by_text("Being made since")).to_be_visible()
    assert faults_of(page) == []
    assert fits(page, width)
    page.goto(reverse("rating:agreement", args=[wave.code]))
    page.get_by_role("link", name="2 and 5").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Two ratings")
    picture(page, f"readings-{scheme}-{width}")
    assert faults_of(page) == []
    assert fits(page, width)
