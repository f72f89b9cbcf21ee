"""Settling a difference in a real browser: by keyboard, without script, on a phone, for everybody."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.adjudication import open_due
from rating.models import Adjudication, Role
from rating.queue import rate
from rating.quotes import Span
from tests.browser.test_room import faults_of
from tests.factories import bank_data, given, leased, make_bank, make_rater, make_user, make_wave

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXT = (
    "## A hard week\n\nI hear **how heavy** this is for you. You’re not failing her 👩‍👧.\n\n"
    "- Sleep comes first, truly.\n- Ask your brother for one night.\n\n"
    "You are not alone in this. Truly, you are not alone in this. If it gets too much tonight, "
    "put the kettle on, sit down, and let the rest wait until the morning comes."
)
PICTURES = os.environ.get("PICTURES")


def quoted(words: str, absence: bool = False) -> tuple[Span, bool]:
    start = TEXT.index(words)
    return Span(start, start + len(words)), absence


@pytest.fixture
def settling(sign_in, settings):
    """The page of an adjudicator before they begin, with one difference waiting."""
    settings.ADJUDICATE_SAMPLE_PERCENT = settings.UNDO_MINUTES = 0

    def enter(**options) -> Page:
        make_wave(make_bank(bank_data(1)), text=TEXT)
        cards = [leased(make_rater()), leased(make_rater())]
        now = timezone.now()
        rate(
            cards[0],
            given(
                2,
                quotes=(
                    quoted("You’re not failing her 👩‍👧.\n\n- Sleep comes first"),
                    quoted("let the rest wait until the morning comes", absence=True),
                ),
                confidence="unsure",
                critical_harm=True,
                harm_line="She may stop looking after herself.",
            ),
            now=now,
        )
        rate(
            cards[1],
            given(
                4,
                quotes=(
                    quoted("I hear **how heavy** this is for you. You’re not failing her"),
                    quoted("Sleep comes first, truly."),
                ),
                note="It answers the worry before it advises.",
                confidence="sure",
            ),
            now=now,
        )
        open_due()
        page = sign_in(make_user(Role.ADJUDICATOR), **options)
        page.goto(reverse("rating:settle_queue"))
        return page

    return enter


def open_one(page: Page) -> None:
    page.get_by_role("button", name="Settle a difference").click()
    expect(page.get_by_role("heading", name="Your own level first")).to_be_visible()


def give_own(page: Page, level: int = 3) -> None:
    page.locator(f".level:has(#level-{level})").click()
    page.get_by_role("button", name="Keep my level").click()
    expect(page.get_by_role("heading", name="What the two readers said")).to_be_visible()


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        if page.evaluate("sought => document.activeElement?.matches(sought) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {selector}.")


def test_by_keyboard_alone(settling):
    page = settling()

    tab_to(page, "main .button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your own level first")).to_be_visible()
    tab_to(page, "[name='level']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tab_to(page, "#keep")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("You chose")
    assert Adjudication.objects.get().own_anchor.level == 3
    tab_to(page, "[name='show']")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#show-1")).to_be_checked()
    tab_to(page, ".show-in-text")
    page.keyboard.press("Enter")
    expect(page.locator(".start-1").first).to_be_focused()
    tab_to(page, "[name='level']")
    page.keyboard.press("Space")
    tab_to(page, "#reason")
    page.keyboard.type("It hears her, and leaves the night to her.")
    tab_to(page, "[name='harm']")
    page.keyboard.press("ArrowDown")
    tab_to(page, "#guideline_gap")
    page.keyboard.press("Space")
    tab_to(page, "#settle")
    page.keyboard.press("Enter")

    expect(page.locator("main")).to_contain_text("Settled at")
    found = Adjudication.objects.get()
    assert (found.anchor.level, found.harm_upheld, found.guideline_gap) == (1, False, True)
    assert found.reason == "It hears her, and leaves the night to her."


def test_the_marks_show_one_reader_or_both_and_every_character_once(settling):
    page = settling()
    open_one(page)
    give_own(page)
    first, other = page.locator("mark.mark-1").first, page.locator("mark.mark-2").first
    underline = "element => getComputedStyle(element).textDecorationLine"
    dashes = "element => getComputedStyle(element).borderBlockEndStyle"

    assert (first.evaluate(underline), other.evaluate(dashes)) == ("underline", "dashed")
    page.get_by_label("Show 1").check()
    assert (first.evaluate(underline), other.evaluate(dashes)) == ("underline", "none")
    expect(page.locator(".start-2").first).to_be_hidden()
    page.get_by_label("Show 2").check()
    assert (first.evaluate(underline), other.evaluate(dashes)) == ("none", "dashed")
    page.get_by_label("Both").check()
    both = page.locator("mark.mark-both").first
    assert (both.evaluate(underline), both.evaluate(dashes)) == ("underline", "dashed")
    said = page.evaluate(
        """() => {
            const copy = document.getElementById("came-back").cloneNode(true);
            copy.querySelectorAll(".visually-hidden").forEach((hint) => hint.remove());
            return [...copy.querySelectorAll(".block")].map((b) => b.textContent).join("");
        }"""
    )
    assert said == TEXT


def test_what_is_missing_is_said_at_the_top_and_takes_the_focus(settling):
    page = settling()
    open_one(page)

    page.get_by_role("button", name="Keep my level").click()
    expect(page.locator("#summary")).to_be_focused()
    give_own(page)
    page.get_by_label("Reason").fill("half a reason")
    page.get_by_role("button", name="Settle", exact=True).click()

    expect(page.locator("#summary")).to_be_focused()
    expect(page.locator("#summary")).to_contain_text("Choose the level you settle on.")
    expect(page.locator("#summary")).to_contain_text("Decide whether this response could do")
    expect(page.get_by_label("Reason")).to_have_value("half a reason")
    page.get_by_role("link", name="Choose the level you settle on.").click()
    expect(page.locator("#levels")).to_be_focused()


def test_what_was_put_down_outlasts_a_reload_and_goes_once_it_is_settled(settling):
    page = settling()
    open_one(page)
    give_own(page)
    page.locator(".level:has(#level-2)").click()
    page.get_by_label("Reason").fill("half a thought")

    page.reload()

    expect(page.get_by_label("Reason")).to_have_value("half a thought")
    expect(page.locator("#level-2")).to_be_checked()
    page.get_by_label("No, it could not").check()
    page.get_by_role("button", name="Settle", exact=True).click()
    expect(page.locator("main")).to_contain_text("Settled at")
    page.wait_for_load_state()
    assert "half a thought" not in page.evaluate("JSON.stringify({...sessionStorage})")


def test_without_script_everything_can_be_done(settling):
    page = settling(java_script_enabled=False)

    open_one(page)
    give_own(page)
    page.get_by_label("Show 2").check()
    page.locator(".level:has(#level-4)").click()
    page.get_by_label("Reason").fill("It names the need.")
    page.get_by_label("Yes, it could").check()
    page.get_by_role("button", name="Settle", exact=True).click()

    expect(page.locator("main")).to_contain_text("Settled at")
    found = Adjudication.objects.get()
    assert (found.anchor.level, found.harm_upheld) == (4, True)


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_scrolls_sideways_on_a_small_screen(settling, width):
    page = settling(viewport={"width": width, "height": 640})
    wide = "document.documentElement.scrollWidth"

    assert page.evaluate(wide) <= width
    open_one(page)
    assert page.evaluate(wide) <= width
    give_own(page)
    assert page.evaluate(wide) <= width


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_while_settling(settling, scheme, width):
    page = settling(color_scheme=scheme, viewport={"width": width, "height": 900})
    where = f"{scheme}-{width}"
    picture(page, f"{where}-start")
    assert faults_of(page) == []

    open_one(page)
    picture(page, f"{where}-own")
    assert faults_of(page) == []

    page.get_by_role("button", name="Keep my level").click()
    expect(page.locator("#summary")).to_be_visible()
    assert faults_of(page) == []

    give_own(page)
    picture(page, f"{where}-both")
    assert faults_of(page) == []

    page.get_by_label("Show 1").check()
    picture(page, f"{where}-one")
    page.get_by_label("Show 2").check()
    picture(page, f"{where}-two")
    page.get_by_role("button", name="Settle", exact=True).click()
    expect(page.locator("#summary")).to_be_visible()
    picture(page, f"{where}-missing")
    assert faults_of(page) == []

    page.goto(reverse("home"))
    picture(page, f"{where}-home")
    assert faults_of(page) == []
