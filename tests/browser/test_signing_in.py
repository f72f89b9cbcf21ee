"""The second factor in a real browser: with script and without, in both themes, on a phone too.

With PICTURES set to a folder each page is also taken, to be looked at.
"""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating import second_factor
from rating.models import Role, User
from tests.browser.conftest import PASSWORD
from tests.browser.test_room import faults_of
from tests.factories import make_user
from tests.test_second_factor import SECRET, code_of

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
LOOKS = [("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE)]


@pytest.fixture(autouse=True)
def demanded(settings):
    settings.SECOND_FACTOR = True


def person(*roles: Role, factor: bool) -> User:
    made = make_user(*roles, password=PASSWORD)
    if factor:
        second_factor.set_up(made, SECRET, code_of(steps=-1), now=timezone.now())
    return made


def give_password(page: Page, who: User, to: str = "/") -> None:
    page.goto(f"{reverse('account_login')}?next={to}")
    page.locator("#id_login").fill(who.email)
    page.locator("#id_password").fill(PASSWORD)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


def give_code(page: Page, code: str) -> None:
    page.locator("#id_code").fill(code)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("script", [True, False])
def test_a_new_maintainer_sets_it_up_goes_on_and_signs_in_with_it_the_next_day(new_page, script):
    who = person(Role.MAINTAINER, factor=False)
    page = new_page(java_script_enabled=script, viewport=PHONE)
    give_password(page, who, to=reverse("subjects:all"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Set up your second factor")
    secret = page.locator(".key-words").inner_text().replace(" ", "")
    give_code(page, code_of(secret, steps=-1))
    expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
    codes = page.locator(".codes li").all_inner_texts()
    assert len(codes) == 10
    with page.expect_download() as file:
        page.get_by_role("link", name="Save them as a file").click()
    assert set(codes) < set(Path(file.value.path()).read_text().splitlines())
    page.get_by_role("link", name="Go on").click()
    expect(page).to_have_url(re.compile(r"/subjects/$"))

    page.get_by_role("button", name="Sign out").click()
    give_password(page, who, to=reverse("runs:waves"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Your code")
    give_code(page, "000000")
    expect(page.locator("main")).to_contain_text("Error: This code does not fit.")
    give_code(page, code_of(secret))
    expect(page).to_have_url(re.compile(r"/waves/$"))


def states(page: Page) -> Iterator[tuple[str, str]]:
    """Each new page in the order an admin meets it, who then lets another set up anew."""
    admin, lost = person(Role.ADMIN, factor=False), person(Role.RATER, factor=True)
    give_password(page, admin)
    yield "set-up", "Set up your second factor"
    secret = page.locator(".key-words").inner_text().replace(" ", "")
    give_code(page, "000000")
    yield "set-up-wrong", "Set up your second factor"
    give_code(page, code_of(secret, steps=-1))
    yield "codes", "Recovery codes"
    page.goto("/second-factor/")
    yield "on", "Second factor"
    page.goto("/second-factor/turn-off/")
    yield "stays-on", "Turn off your second factor"
    page.goto("/people/")
    yield "people", "People"
    page.goto(f"/people/{lost.pk}/second-factor/")
    yield "anew", "Let Person"
    with page.expect_navigation():
        page.get_by_role("button", name="Let them set up anew").click()
    yield "anew-wrong", "Let Person"
    page.goto(f"/people/{admin.pk}/second-factor/")
    yield "anew-own", "Let Person"
    page.goto("/sign-in/again/code/")
    yield "again", "Your code, once more"
    page.goto("/second-factor/")
    with page.expect_navigation():
        page.get_by_role("button", name="Sign out").click()
    give_password(page, admin)
    yield "code", "Your code"
    give_code(page, "000000")
    yield "code-wrong", "Your code"
    for _ in range(5):
        give_code(page, "000000")
    yield "too-often", "Tried too often"
    page.context.clear_cookies()
    rater = person(Role.RATER, factor=False)
    give_password(page, rater)
    page.goto("/password/change/")
    yield "password", "Change your password"
    page.goto("/second-factor/")
    yield "off", "Second factor"
    page.goto("/sign-in/again/")
    yield "password-again", "Your password, once more"
    page.context.clear_cookies()
    give_password(page, lost)
    give_code(page, second_factor.codes_left(lost)[0])
    page.goto("/second-factor/turn-off/")
    yield "turn-off", "Turn off your second factor"
    page.goto("/second-factor/codes/")
    yield "codes-kept", "Recovery codes"


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_each_page_is_for_everybody(new_page, theme, size):
    page = new_page(color_scheme=theme, viewport=size)
    seen = []
    for state, heading in states(page):
        seen.append(state)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        assert faults_of(page) == [], state
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], state
        if PICTURES:
            name = f"{state}-{theme}-{size['width']}.png"
            page.screenshot(path=str(Path(PICTURES) / name), full_page=True)
    assert len(seen) == 18


def test_the_picture_stays_dark_on_light_for_cameras_in_the_dark_theme(new_page):
    page = new_page(color_scheme="dark")
    give_password(page, person(Role.ADMIN, factor=False))

    fills = page.locator(".qr *").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
    assert fills == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


def test_codes_leave_the_screen_when_their_time_is_over(new_page, monkeypatch):
    page = new_page()
    give_password(page, person(Role.RATER, factor=False))
    page.goto("/second-factor/set-up/")
    give_code(page, code_of(page.locator(".key-words").inner_text().replace(" ", "")))
    expect(page.locator(".codes li")).to_have_count(10)
    later = timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("rating.second_factor_views.timezone.now", lambda: later)

    page.reload()

    expect(page.locator(".codes li")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("10 of 10 are left.")
