"""Take the pictures in docs/ from the running product.

    .venv/bin/python docs/take_pictures.py [FOLDER]

Fills a database of its own with the demo, serves it, signs in and takes each picture; wants a
Chromium. With a FOLDER, every page is taken in light, dark and phone width, to be looked at.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.chromium import CHROMIUM, FLAGS  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 360, "height": 740}
LOOKS = {
    "light": {"color_scheme": "light", "viewport": DESKTOP},
    "dark": {"color_scheme": "dark", "viewport": DESKTOP},
    "phone": {"color_scheme": "light", "viewport": PHONE},
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as var, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        said = Path(var) / "said"
        demo = subprocess.Popen(
            [sys.executable, "-u", "manage.py", "demo", "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, "VAR_DIR": var, "LOG_FORMAT": "plain", "LOG_LEVEL": "WARNING"},
            stdout=said.open("w"),
        )
        try:
            wait_for(said, "Open http")
            accounts = dict(re.findall(r"(\S+)@example\.org\s+(\S+)$", said.read_text(), re.M))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                site = f"http://127.0.0.1:{port}"
                if folder:
                    folder.mkdir(parents=True, exist_ok=True)
                    for look, options in LOOKS.items():
                        take_all(browser, site, accounts, folder, look, options)
                else:
                    PICTURES.mkdir(exist_ok=True)
                    environment = {**os.environ, "VAR_DIR": var}
                    sample = [sys.executable, "docs/sample_wave.py"]
                    subprocess.run(sample, cwd=ROOT, env=environment, check=True)
                    for_raters(signed_in(browser, site, "rater", accounts, LOOKS["light"]))
                    for_reviewers(signed_in(browser, site, "reviewer", accounts, LOOKS["light"]))
                    for_maintainers(
                        signed_in(browser, site, "maintainer", accounts, LOOKS["light"])
                    )
                browser.close()
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(30)


def for_raters(page: Page) -> None:
    """What docs/first-hour.md shows, and the README."""
    take(page, "rater-home")
    open_a_card(page)
    take(page, "rater-card")
    rate_in_part(page)
    take(page, "rater-in-part")
    page.goto(page.locator("#skip").get_attribute("href") or "/")
    take(page, "rater-skip", of="main")


def for_reviewers(page: Page) -> None:
    """What docs/reviewing-items.md shows."""
    page.goto("/review/")
    page.locator("main button, main a.button").first.click()
    page.locator("#panel").wait_for()
    take(page, "reviewer-item")


def for_maintainers(page: Page) -> None:
    """What docs/running-a-wave.md and docs/reading-a-report.md show."""
    for name, path in (
        ("wave-draft", "/waves/new/"),
        ("wave", "/waves/demo/"),
        ("wave-freeze", "/waves/demo/freeze/"),
        ("agreement", "/waves/sample/agreement/"),
        ("gate", "/waves/sample/gate/"),
        ("report-results", "/waves/sample/results/"),
        ("report", "/published/sample/"),
    ):
        page.goto(path)
        take(page, name)


def take(page: Page, name: str, *, of: str = "") -> None:
    """A picture for the docs: what the window shows, or one part of the page."""
    path = PICTURES / f"{name}.png"
    if of:
        page.locator(of).screenshot(path=path)
    else:
        page.screenshot(path=path)


def take_all(
    browser: Browser, site: str, accounts: dict[str, str], folder: Path, look: str, options: dict
) -> None:
    """Every page, as this look has it."""

    def take(page: Page, name: str, *, whole: bool = True) -> None:
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=whole)

    page = browser.new_context(base_url=site, **options).new_page()
    for name, path in (
        ("sign-in", "/sign-in/"),
        ("forgotten", "/password/forgotten/"),
        ("404", "/x"),
        ("about", "/about/"),
        ("published", "/published/"),
    ):
        page.goto(path)
        take(page, name)
    page = signed_in(browser, site, "rater", accounts, options)
    take(page, "home-rater")
    for name, path in (("guidelines", "/guidelines/"), ("break", "/break/")):
        page.goto(path)
        take(page, name)
    page.goto("/rate/")
    take(page, "start")
    open_a_card(page)
    take(page, "card")
    rate_in_part(page)
    take(page, "card-in-part", whole=False)
    page.locator("#words").fill("words that are nowhere in it")
    page.locator("#submit").click()
    page.get_by_text("These words are not in the response").first.wait_for()
    take(page, "card-refused")
    page.locator("label", has_text="Sentences").click()
    page.locator("input[name='sentence']").first.wait_for()
    take(page, "card-sentences")
    page.goto(page.locator("#skip").get_attribute("href") or "/")
    take(page, "skip")
    page = signed_in(browser, site, "reviewer", accounts, options)
    take(page, "home-reviewer")
    page.goto("/review/")
    take(page, "review-start")
    page.locator("main button, main a.button").first.click()
    page.locator("#panel").wait_for()
    take(page, "review")
    page = signed_in(browser, site, "maintainer", accounts, options)
    take(page, "home-maintainer")
    page.goto("/reviews/")
    take(page, "reviews")
    for name, path in (
        ("waves", "/waves/"),
        ("wave", "/waves/demo/"),
        ("wave-new", "/waves/new/"),
        ("subjects", "/subjects/"),
        ("agreement", "/waves/demo/agreement/"),
        ("results", "/waves/demo/results/"),
        ("health", "/waves/demo/health/"),
        ("gate", "/waves/demo/gate/"),
        ("whole-report", "/waves/demo/report/"),
        ("report", "/reports/demo/"),
        ("raters", "/raters/"),
        ("effects", "/raters/effects/"),
        ("care", "/care/"),
        ("freeze", "/waves/demo/freeze/"),
        ("who-sees-what", "/who-sees-what/"),
        ("banks", "/bank/"),
        ("password", "/password/change/"),
    ):
        page.goto(path)
        take(page, name)
    page = signed_in(browser, site, "admin", accounts, options)
    page.goto("/people/")
    take(page, "people")
    page.goto("/bank/1/")
    take(page, "bank")
    page.goto("/bank/1/items/AWR-5-A/")
    take(page, "item")
    page.goto("/bank/1/draft/AWR-5-A/")
    take(page, "item-draft")
    page.goto("/bank/1/draft/")
    take(page, "draft")


def signed_in(
    browser: Browser, site: str, who: str, accounts: dict[str, str], options: dict
) -> Page:
    page = browser.new_context(base_url=site, **options).new_page()
    page.goto("/sign-in/")
    page.locator("#id_login").fill(f"{who}@example.org")
    page.locator("#id_password").fill(accounts[who])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Hello").wait_for()
    return page


def open_a_card(page: Page) -> None:
    page.goto("/rate/")
    start = page.get_by_role("button", name="Start rating")
    if start.is_visible():
        start.click()
    page.get_by_role("heading", name="A response to rate").wait_for()


def rate_in_part(page: Page) -> None:
    """A quote and a level, as a rater has them in the middle of a card."""
    words = page.locator("#came-back").inner_text().split()
    page.locator("#words").fill(" ".join(words[3:12]))
    page.locator("#add-quote").click()
    page.locator("#quotes > li").first.wait_for()
    page.locator(".level", has=page.locator("#level-3")).click()
    page.locator("#came-back").scroll_into_view_if_needed()
    page.evaluate("window.scrollTo(0, 0)")


def wait_for(said: Path, words: str) -> None:
    for _ in range(1800):
        if words in said.read_text():
            return
        time.sleep(0.1)
    raise SystemExit(f"The demo did not start:\n{said.read_text()}")


if __name__ == "__main__":
    main()
