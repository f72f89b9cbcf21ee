"""The pages for those who write programs, in a real browser: readable, in both schemes, on a phone."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rating.models import Role
from tests.browser.test_room import faults_of
from tests.factories import make_user, make_wave

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.proof]

PICTURES = os.environ.get("PICTURES")


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_a_token_is_made_and_ended_and_the_calls_are_read(sign_in, scheme, width):
    make_wave()
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    page = sign_in(make_user(Role.MAINTAINER, Role.ADMIN), **look)

    page.get_by_role("link", name="API tokens").click()
    page.get_by_label("What it is for").fill("the nightly script")
    page.get_by_label("read:progress").check()
    page.get_by_role("button", name="Make the token").click()
    expect(page.get_by_label("Token", exact=True)).to_have_value(re.compile(r"^cmpn_[\w-]{43}$"))
    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"api-tokens-{scheme}-{width}")

    page.get_by_role("button", name="End the token the nightly script").click()
    expect(page.locator("main")).to_contain_text("It opens nothing any more")

    page.get_by_role("link", name="What a program may ask and send").click()
    page.get_by_text("What comes back").first.click()
    assert faults_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"api-{scheme}-{width}")
