"""A real Chromium, as people have it, and what they do in it."""

from collections.abc import Callable, Iterator

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from rating.models import User
from tests.chromium import CHROMIUM, FLAGS

PASSWORD = "a-quiet-morning-walk"

SignIn = Callable[..., Page]

#: Only what never comes is not there by then, also on a machine that does much else.
PATIENT_MS = 60_000
expect.set_options(timeout=PATIENT_MS)


# By module: while it is open, Playwright's loop runs in this thread, and no other test could start one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: Browser, live_server) -> Iterator[Callable[..., Page]]:
    """Pages of people who share nothing, each of which must end without a fault in its console."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_page(**options) -> Page:
        site = options.setdefault("base_url", live_server.url)
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(f"script: {error}"))
        page.on(
            "console",
            lambda said: (
                faults.append(said.text)
                if said.type == "error" and "Content Security Policy" in said.text
                else None
            ),
        )
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith((site, "data:", "about:", "blob:"))
                else faults.append(f"left the site: {asked.url}")
            ),
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def sign_in(new_page) -> SignIn:
    """The home page of somebody who has signed in with their password."""

    def enter(user: User, **options) -> Page:
        user.set_password(PASSWORD)
        user.save()
        page = new_page(**options)
        page.goto(reverse("account_login"))
        page.locator("#id_login").fill(user.email)
        page.locator("#id_password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
        return page

    return enter


def press_until(page: Page, key: str, effect: Callable[[float], None]) -> None:
    """Press a key until it does what it does: single keys rest for a moment after each swap."""
    for _ in range(9):
        page.keyboard.press(key)
        try:
            effect(500)
        except AssertionError:
            continue
        return
    page.keyboard.press(key)
    effect(PATIENT_MS)
