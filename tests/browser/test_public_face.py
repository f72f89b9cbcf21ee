"""The public pages in a real browser, by somebody who has no account."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.bank import read_bank
from runs.models import Bank
from tests.browser.test_room import faults_of

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

FIXTURES = Path(__file__).parents[2] / "fixtures"
PICTURES = os.environ.get("PICTURES")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_anyone_reads_the_method_without_an_account(new_page, scheme, width):
    Bank.objects.import_file(read_bank(FIXTURES / "demo_bank.json"))
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 800})

    page.goto("/")

    expect(page.get_by_role("heading", level=1)).to_have_text(
        "How we measure the compassion of AI models"
    )
    page.get_by_text("Awareness", exact=True).last.click()
    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"about-{scheme}-{width}.png", full_page=True)
    page.goto(reverse("rating:published"))
    assert faults_of(page) == []


def test_the_method_reads_at_320_and_without_script(new_page):
    page = new_page(viewport={"width": 320, "height": 640}, java_script_enabled=False)

    page.goto(reverse("rating:about"))

    page.get_by_role("link", name="What would show that this is wrong").click()
    expect(
        page.get_by_role("heading", name="What would show that this is wrong")
    ).to_be_in_viewport()


def test_on_paper_every_table_stands_open(new_page):
    page = new_page()
    page.goto(reverse("rating:about"))

    page.emulate_media(media="print")

    shown = page.evaluate(
        "getComputedStyle(document.querySelector('details.opens'), '::details-content')"
        ".contentVisibility"
    )
    assert shown == "visible"
