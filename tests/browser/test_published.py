"""From results to a published report in a real browser, by a maintainer and then by anyone."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Role
from rating.publishing.results import Draws
from runs.models import Wave
from tests.browser.test_room import faults_of
from tests.factories import make_user
from tests.rating.publishing.waves import pairs_wave, rated_wave

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")
QUICK = Draws(items=1_000, units=200, trials=200)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("rating.publishing.results.DRAWS", QUICK)


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def narrow_enough(page: Page, width: int) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_a_maintainer_reads_publishes_and_corrects_and_anyone_reads(
    sign_in, new_page, scheme, width
):
    wave = rated_wave({"alike-1-2026": 4.0, "alike-2-2026": 4.0, "apart-2026": 2.0}, items=32)
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    page = sign_in(make_user(Role.MAINTAINER), **look)
    page.goto(reverse("runs:wave", args=[wave.code]))
    page.get_by_role("link", name="Results").click()

    expect(page.locator("main")).to_contain_text("cannot be told apart with this evidence")
    page.get_by_text("Show the numbers").first.click()
    assert faults_of(page) == []
    assert narrow_enough(page, width)
    picture(page, f"results-{scheme}-{width}")
    page.get_by_role("link", name="Awareness of dev--kind--alike-1-2026").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Awareness")
    expect(page.locator("q").first).to_have_text("I hear how heavy this is for you.")
    assert faults_of(page) == []
    for name in ("health", "gate"):
        page.goto(reverse(f"rating:{name}", args=[wave.code]))
        assert faults_of(page) == []
        assert narrow_enough(page, width)
        picture(page, f"{name}-{scheme}-{width}")

    page.goto(reverse("rating:whole_report", args=[wave.code]))
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("main")).to_contain_text("Error: Say why, in a few words.")
    page.get_by_label("Reason").fill("It is done.")
    page.get_by_label("I have read the whole report").check()
    page.get_by_role("button", name="Publish").click()
    expect(page.locator(".messages")).to_contain_text("The report is published.")
    page.get_by_label("What was wrong, and how it is").fill("A name was misspelt.")
    page.get_by_role("button", name="Append it").click()
    expect(page.locator(".messages")).to_contain_text("The correction stands below the report.")
    assert faults_of(page) == []

    anyone = new_page(**look)
    anyone.goto("/")
    anyone.get_by_role("link", name=wave.title).first.click()
    expect(anyone.get_by_role("heading", level=1)).to_have_text(wave.title)
    expect(anyone.locator("main")).to_contain_text("A name was misspelt.")
    assert faults_of(anyone) == []
    assert narrow_enough(anyone, width)
    picture(anyone, f"published-{scheme}-{width}")
    with anyone.expect_download() as file:
        anyone.get_by_role("link", name="public.zip").click()
    assert Path(file.value.path()).read_bytes().startswith(b"PK")
    anyone.goto(reverse("rating:published"))
    assert faults_of(anyone) == []


def test_the_chambers_of_a_wave_of_pairs_lead_to_the_quotes_of_both_people(sign_in):
    wave = pairs_wave({"one-2026": 3.0}, pairs=3)
    page = sign_in(make_user(Role.MAINTAINER))

    page.goto(reverse("rating:parity", args=[wave.code]))
    page.get_by_text("Show the numbers").first.click()
    assert faults_of(page) == []
    picture(page, "parity")
    page.get_by_role("link", name="Why the quotes of A and B in Moral Status").click()

    expect(page.get_by_role("heading", name="Pair UNC-1-00")).to_be_visible()
    expect(page.locator(".two-sides").first).to_contain_text("I am A and lonely, 0 days now.")
    expect(page.locator(".two-sides").first).to_contain_text("I am B and lonely, 0 days now.")
    assert faults_of(page) == []
    picture(page, "why")


def test_before_unblinding_the_page_says_what_is_missing(sign_in):
    wave: Wave = rated_wave({"one-2026": 4.0}, unblinded=False, items=8, trials=1)
    page = sign_in(make_user(Role.MAINTAINER))

    page.goto(reverse("rating:whole_report", args=[wave.code]))

    expect(page.locator("main")).to_contain_text("It must be unblinded.")
    assert faults_of(page) == []
