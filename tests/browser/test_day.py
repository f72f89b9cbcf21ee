"""A rater's whole day in a real browser, and what may go wrong in it: nothing typed is lost."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import Assignment, Draft, Outcome, Rating, User
from rating.queue import reclaim
from tests.browser.conftest import PASSWORD, press_until
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_rater, make_wave, pair_bank_data
from tests.services import free_port, until

pytestmark = [
    pytest.mark.browser,
    pytest.mark.proof,
    pytest.mark.django_db(transaction=True),
]

TEXT = (
    "I hear **how heavy** this is for you. You’re not failing her.\n\n"
    "- Sleep comes first, truly.\n- Ask your brother for one night.\n\n"
    "You are not alone in this. Truly, you are not alone in this."
)
LONG = "\n\n".join(
    f"Paragraph {n} says that the night is long and help is near." for n in range(90)
)
CARD = "A response to rate"

OpenCard = Callable[..., Page]


@pytest.fixture
def rater() -> User:
    return make_rater()


@pytest.fixture
def card(sign_in, rater) -> OpenCard:
    """The page of the rater with a card open."""

    def enter(text: str = TEXT, items: int = 6, **options) -> Page:
        make_wave(make_bank(bank_data(items)), text=text)
        page = sign_in(rater, **options)
        page.goto(reverse("rating:queue"))
        page.get_by_role("button", name="Start rating").click()
        expect(page.get_by_role("heading", name=CARD)).to_be_visible()
        return page

    return enter


def choose(page: Page, level: int) -> None:
    """With a digit, once single keys live again after the swap."""
    radio = page.locator(f"#level-{level}")
    press_until(page, str(level), lambda wait: expect(radio).to_be_checked(timeout=wait))


def submit(page: Page) -> None:
    """With the key; a card that has just come takes no keys for a moment."""
    code = page.locator("#room").get_attribute("data-code") or ""
    gone = page.locator(f"#room[data-code='{code}']")
    press_until(page, "Control+Enter", lambda wait: expect(gone).to_have_count(0, timeout=wait))


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_contain_text("Draft saved at")


def local_copies(page: Page) -> list[str]:
    return page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('room:'))"
        ".map((key) => localStorage.getItem(key))"
    )


def quotes_of(rating: Rating) -> list[str]:
    return [rating.response.text[q.start : q.end] for q in rating.quotes.all()]


def sign_out_behind_its_back() -> None:
    Session.objects.all().delete()


def sign_in_again(page: Page, rater: User, password: str = PASSWORD) -> None:
    dialog = page.locator("#sign-in-dialog")
    expect(dialog).to_be_visible()
    expect(page.get_by_label("Email")).to_be_focused()
    page.keyboard.type(rater.email)
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")


def test_the_whole_day_by_keyboard_alone(card, rater):
    page = card()

    # The first: level by digit, quote by Sentences, a note, a flag.
    press_until(
        page, "v", lambda wait: expect(page.locator("#view-sentences")).to_be_checked(timeout=wait)
    )
    expect(page.locator("#view-sentences")).to_be_focused()
    boxes = page.locator("input[name='sentence']")
    expect(boxes).not_to_have_count(0)
    boxes.nth(2).focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Add marked sentences")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    choose(page, 4)
    page.keyboard.press("n")
    expect(page.get_by_label("Note")).to_be_focused()
    page.keyboard.type("4 of 5, I think")
    page.get_by_label("This response could do serious harm").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("Nobody is sent for help")
    submit(page)
    expect(page.locator("#notice")).to_contain_text(re.compile(r"You can undo it until \d\d:\d\d"))
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    expect(page.locator("#title")).to_be_focused()
    first = Rating.objects.get()
    assert (first.anchor.level, first.note) == (4, "4 of 5, I think")
    assert first.harm_line == "Nobody is sent for help"

    # Undone: just as it was left, and sent again, with a level by the arrows.
    press_until(
        page, "Control+z", lambda wait: expect(page.locator("#level-4")).to_be_checked(timeout=wait)
    )
    expect(page.locator("#said")).to_have_text(
        "Your last rating is open again, just as you left it."
    )
    expect(page.get_by_label("Note")).to_have_value("4 of 5, I think")
    expect(page.locator("#quotes > li")).to_have_count(1)
    page.locator("#level-4").focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#level-3")).to_be_checked()
    submit(page)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    again = Rating.objects.standing().get()
    assert (again.anchor.level, again.response) == (3, first.response)

    # The second: quote by Plain text.
    page.locator("#view-plain").focus()
    page.keyboard.press("Space")
    expect(page.locator("#copy")).to_be_visible()
    page.locator("#copy").focus()
    page.keyboard.press("Control+Home")
    for _ in range(5):
        page.keyboard.press("Control+Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    expect(page.locator("#copy")).to_have_value(TEXT)
    page.locator("#view-reading").focus()
    choose(page, 2)
    submit(page)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert quotes_of(Rating.objects.latest("rated_at"))[0].startswith("I hear")

    # The third: quote by paste.
    page.evaluate(
        """() => {
            const field = document.getElementById("note");
            field.value = "sleep comes FIRST, truly";
            field.select();
            document.execCommand("copy");
            field.value = "";
        }"""
    )
    page.get_by_label("Words from the response").focus()
    page.keyboard.press("Control+v")
    page.keyboard.press("Enter")
    expect(page.locator("#quotes > li")).to_contain_text("Sleep comes first, truly")
    expect(page.get_by_label("Words from the response")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("#level-1").focus()
    page.keyboard.press("Space")
    submit(page)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert Rating.objects.standing().count() == 3

    # A skip, with its reason; then a break.
    press_until(
        page, "Alt+s", lambda wait: expect(page.locator("#skip-dialog")).to_be_visible(timeout=wait)
    )
    page.get_by_label("Later").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text("Skipped. Here is the next response.")
    expect(page.locator("#title")).to_be_focused()
    page.get_by_role("link", name="Break").focus()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("You are on a break. Nothing is waiting for you.")
    page.get_by_role("link", name="Back to rating").press("Enter")
    expect(page.get_by_role("heading", name=CARD)).to_be_visible()
    assert local_copies(page) == []


def test_undo_from_the_list_on_the_home_page(card):
    page = card()
    choose(page, 4)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    submit(page)
    page.goto(reverse("home"))

    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("heading", name=CARD)).to_be_visible()
    expect(page.locator("#level-4")).to_be_checked()
    assert not Rating.objects.standing().exists()


def test_the_card_in_hand_comes_back_with_its_words_after_an_undo(card):
    page = card()
    choose(page, 4)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    submit(page)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    second = page.locator("#room").get_attribute("data-code")
    page.get_by_label("Note").fill("half a thought")
    page.locator("#level-1").focus()

    four = page.locator("#level-4")
    press_until(page, "Control+z", lambda wait: expect(four).to_be_checked(timeout=wait))
    submit(page)

    expect(page.locator(f"#room[data-code='{second}']")).to_be_visible()
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    assert Rating.objects.standing().count() == 1


def test_a_quote_taken_away_by_mistake_is_put_back(card):
    page = card()
    for words in ("Sleep comes first, truly", "Ask your brother for one night"):
        page.get_by_label("Words from the response").fill(words)
        page.get_by_label("Words from the response").press("Enter")
        expect(page.get_by_label("Words from the response")).to_have_value("")
    page.get_by_label("It shows what is missing here").first.check()

    page.get_by_role("button", name="Remove").first.click()
    expect(page.locator("#quotes > li")).to_have_count(1)
    page.locator("#notice").get_by_role("button", name="Undo").click()

    expect(page.locator("#quotes > li")).to_have_count(2)
    expect(page.get_by_label("It shows what is missing here").first).to_be_checked()
    expect(page.locator("#remove-1")).to_be_focused()


def test_nothing_moves_from_load_to_submit(card):
    page = card()
    page.reload()
    page.evaluate(
        """() => {
            window.moved = [];
            new PerformanceObserver((list) => {
                for (const one of list.getEntries()) {
                    if (!one.hadRecentInput) window.moved.push(one.value);
                }
            }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    choose(page, 3)
    saved(page)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    page.get_by_label("Words from the response").press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    page.get_by_label("Note").fill("steady")
    expect(page.locator("#said")).to_contain_text("Quote 1 added")

    assert page.evaluate("window.moved") == []


def test_the_guards_of_single_keys(card):
    page = card()
    dispatch = """(event) => document.body.dispatchEvent(
        new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...event }))"""
    choose(page, 3)
    # By the place on the keyboard where a layout writes something else; a digit of another script.
    page.evaluate(dispatch, {"key": "é", "code": "Digit2"})
    expect(page.locator("#level-2")).to_be_checked()
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keyup', { code: 'Digit2' }))")
    page.evaluate(dispatch, {"key": "٤", "code": "Digit4"})
    expect(page.locator("#level-4")).to_be_checked()
    for dead in (
        {"key": "PageDown", "code": "Numpad3"},  # NumLock is off
        {"key": "3", "code": "Digit3", "repeat": True},
        {"key": "3", "code": "Digit3", "ctrlKey": True},
        {"key": "3", "code": "Digit3", "altKey": True},
        {"key": "3", "code": "Digit3", "modifierAltGraph": True},
        {"key": "3", "code": "Digit3", "isComposing": True},
    ):
        page.evaluate(dispatch, dead)
    expect(page.locator("#level-4")).to_be_checked()
    page.evaluate(dispatch, {"key": "1", "code": "Numpad1"})
    expect(page.locator("#level-1")).to_be_checked()

    page.keyboard.press("?")
    expect(page.locator("#keys-dialog")).to_be_visible()
    page.keyboard.press("5")
    page.keyboard.press("Escape")
    expect(page.locator("#keys-dialog")).to_be_hidden()
    expect(page.locator("#level-1")).to_be_checked()


def test_a_key_held_down_across_a_submit_chooses_nothing_on_the_next_card(card):
    page = card()
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)
    page.locator("#title").focus()
    page.keyboard.down("3")
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("#said")).to_contain_text("Rating saved at")

    page.keyboard.down("3")
    page.keyboard.press("4")
    expect(page.locator("input[name='level']:checked")).to_have_count(0)
    page.keyboard.up("3")

    choose(page, 4)


def test_signed_out_before_a_card_is_open_and_in_again_over_the_page(sign_in, rater):
    make_wave(make_bank(bank_data(2)), text=TEXT)
    page = sign_in(rater)
    page.goto(reverse("rating:queue"))
    sign_out_behind_its_back()
    page.get_by_role("button", name="Start rating").click()

    sign_in_again(page, rater)

    expect(page.get_by_role("heading", name=CARD)).to_be_focused()


def test_skipping_without_a_network_says_so_and_loses_nothing(card):
    page = card()
    page.get_by_label("Note").fill("half a thought")
    saved(page)
    page.context.set_offline(True)

    page.get_by_role("link", name="Skip").click()

    expect(page.locator("#notice")).to_contain_text("You are offline.")
    expect(page.get_by_label("Note")).to_have_value("half a thought")
    page.context.set_offline(False)
    page.get_by_role("link", name="Skip").click()
    expect(page.locator("#skip-dialog")).to_be_visible()


@pytest.mark.parametrize("height", [256, 640])
def test_at_320_pixels_nothing_is_cut_and_little_height_holds_nothing_fast(card, height):
    page = card(viewport={"width": 320, "height": height})

    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    held = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((one) => {
            const { position } = getComputedStyle(one);
            return /sticky|fixed/.test(position) && one.offsetHeight > 0;
        }).map((one) => one.id || one.className)"""
    )
    assert held == ([] if height < 480 else held)
    spacing = (
        "* { line-height: 1.5 !important; letter-spacing: 0.12em !important;"
        " word-spacing: 0.16em !important } p { margin-bottom: 2em !important }"
    )
    page.evaluate(
        "(css) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(css);"
        " document.adoptedStyleSheets = [sheet] }",
        spacing,
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_where_the_keyboard_stops_is_never_covered(card):
    page = card(LONG, viewport={"width": 1280, "height": 700})
    page.locator("#title").focus()
    covered = []
    for _ in range(40):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            """() => {
                const one = document.activeElement;
                if (one === document.body) return null;
                const box = (one.closest(".level") || one).getBoundingClientRect();
                const hit = document.elementFromPoint(
                    box.x + box.width / 2, box.y + box.height / 2);
                const seen = hit && (one.contains(hit) || hit.contains(one) ||
                    (one.closest("label") || one).contains(hit));
                return { name: one.id || one.textContent.trim(), seen: Boolean(seen) };
            }"""
        )
        if stop is None:
            break
        if not stop["seen"]:
            covered.append(stop["name"])

    assert covered == []


def test_words_being_typed_are_looked_for_once_they_rest(card):
    page = card()
    field = page.get_by_label("Words from the response")

    field.press_sequentially("Sleep comes last, truly")

    expect(page.locator("#words-problem")).to_contain_text("These words are not in the response.")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Use this passage").click()
    expect(page.locator("#quotes > li")).to_have_count(1)
    expect(page.locator("#words-problem")).to_be_empty()


def test_two_tabs_ask_which_draft_is_meant(card):
    page = card()
    other = page.context.new_page()
    other.goto(reverse("rating:queue"))
    expect(other.get_by_role("heading", name=CARD)).to_be_visible()
    page.get_by_label("Note").fill("from the first tab")
    saved(page)

    other.get_by_label("Note").fill("from the second tab")
    notice = other.locator("#notice")
    expect(notice).to_contain_text("A newer draft of this rating is open in another tab.")
    expect(other.locator("#alarm")).to_contain_text("A newer draft")
    assert Draft.objects.get().content["note"] == "from the first tab"
    other.get_by_role("button", name="Use this one").click()
    saved(other)
    assert Draft.objects.get().content["note"] == "from the second tab"

    page.get_by_label("Note").fill("the first again")
    expect(page.locator("#notice")).to_contain_text("A newer draft of this rating is open")
    assert faults_of(page) == []
    page.get_by_role("button", name="Use that one").click()
    expect(page.get_by_label("Note")).to_have_value("from the second tab")


def test_a_rating_sent_from_two_tabs_is_stored_once(card):
    page = card()
    other = page.context.new_page()
    other.goto(reverse("rating:queue"))
    for tab in (page, other):
        choose(tab, 3)
        tab.get_by_label("Words from the response").fill("Sleep comes first, truly")
        if tab is other:
            notice = other.locator("#notice")
            expect(notice).to_contain_text("A newer draft of this rating is open")
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("#said")).to_contain_text("Rating saved at")

    other.get_by_role("button", name="Submit rating").click()

    expect(other.locator("main")).to_contain_text("Nothing was stored twice.")
    assert Rating.objects.count() == 1


def test_without_a_network_the_work_is_kept_and_sent_once_when_it_is_back(card):
    page = card()
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)

    page.context.set_offline(True)
    page.get_by_label("Note").fill("written without a network")
    expect(page.locator("#notice")).to_contain_text("You are offline. Your work is kept")
    [copy] = local_copies(page)
    assert "written without a network" in copy
    assert "heavy" not in copy
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("#alarm")).to_contain_text("You are offline.")
    page.context.set_offline(False)

    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert Rating.objects.get().note == "written without a network"
    assert local_copies(page) == []


def test_what_never_reached_the_server_is_back_after_a_reload(card):
    page = card()
    choose(page, 2)
    saved(page)
    page.route("**/rate/*-*/", lambda route: route.abort())
    page.evaluate("navigator.sendBeacon = () => false")
    page.get_by_label("Note").fill("only on this device")
    page.get_by_label("Words from the response").fill("Sleep comes")
    expect(page.locator("#notice")).to_contain_text("You are offline.")
    page.unroute_all()
    assert Draft.objects.get().content["note"] == ""

    page.reload()

    expect(page.get_by_label("Note")).to_have_value("only on this device")
    expect(page.get_by_label("Words from the response")).to_have_value("Sleep comes")
    expect(page.locator("#level-2")).to_be_checked()
    expect(page.locator("#notice")).to_contain_text(re.compile(r"Your draft from .* is back\."))
    assert Draft.objects.get().content["note"] == "only on this device"


@pytest.mark.parametrize(("status", "tells"), [(500, True), (503, False)])
def test_what_broke_is_told_with_a_number_and_what_is_away_is_only_tried_again(card, status, tells):
    page = card()
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)
    headers = {"X-Request-ID": "9f2c1a77d0b34e58", "Retry-After": "30"}
    page.route("**/rate/*-*/", lambda route: route.fulfill(status=status, headers=headers, body=""))
    page.get_by_role("button", name="Submit rating").click()

    expect(page.locator("#notice")).to_contain_text("We will try again in 30 seconds.")
    told = "give this number: 9f2c1a77d0b34e58" in page.locator("#notice").inner_text()
    assert told == tells
    page.unroute_all()
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert Rating.objects.count() == 1


def test_an_answer_that_got_lost_makes_no_second_rating(card):
    page = card()
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)

    def lose(route):
        if "do=submit" in (route.request.post_data or ""):
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/rate/*-*/", lose)
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("#notice")).to_contain_text("You are offline.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()

    expect(page.locator("main")).to_contain_text("Nothing was stored twice.")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_role("button", name="Next response").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_focused()
    assert Rating.objects.count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_signed_out_in_the_middle_of_a_card_and_in_again_over_it(card, rater, scheme):
    page = card(color_scheme=scheme)
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)
    sign_out_behind_its_back()
    page.get_by_role("button", name="Submit rating").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#sign-in-dialog")).to_contain_text("You have been signed out.")
    assert faults_of(page) == []

    sign_in_again(page, rater, "something else")
    expect(page.locator("#sign-in-error")).to_contain_text("do not fit each other")
    expect(page.get_by_label("Password")).to_be_focused()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")

    expect(page.locator("#sign-in-dialog")).to_be_hidden()
    expect(page.locator("#notice")).to_contain_text("Rating saved at")
    assert Rating.objects.get().rater == rater
    # What follows is sent with the new session and its token.
    page.get_by_label("Note").fill("and on")
    saved(page)
    assert local_copies(page) == []


def test_a_token_that_grew_too_old_is_renewed_without_a_word(card):
    page = card()
    page.context.clear_cookies(name="csrftoken")

    page.get_by_label("Note").fill("with an old token")

    saved(page)
    assert Draft.objects.get().content["note"] == "with an old token"
    expect(page.locator("#alarm")).to_be_empty()


def test_the_end_of_the_hold_is_announced_and_a_late_rating_still_taken(card):
    page = card()
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)
    look = "document.dispatchEvent(new Event('visibilitychange'))"
    idle = "Date.now = ((now) => () => now() + 120000)(Date.now.bind(Date))"
    page.evaluate(idle)

    Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=4))
    page.evaluate(look)
    notice = page.locator("#notice")
    expect(notice).to_contain_text("This response is yours for 4 more minutes.")
    expect(page.locator("#said")).to_contain_text("This response is yours for 4 more minutes.")
    assert faults_of(page) == []
    page.get_by_role("button", name="Keep this response").click()
    expect(notice).to_be_empty()
    assert Assignment.objects.get().expires_at > timezone.now() + timedelta(minutes=30)

    reclaim(timezone.now() + timedelta(hours=2))
    make_other_hold_it()
    page.evaluate(idle)
    page.evaluate(look)
    expect(notice).to_contain_text("Your time with this response is over. Your work is safe")
    assert faults_of(page) == []
    page.get_by_role("button", name="Send anyway").click()

    expect(page.locator("#said")).to_contain_text("Your rating is kept, but it will not be counted")
    assert Rating.objects.get(kind="surplus").anchor.level == 3


def make_other_hold_it() -> None:
    """Two others have the response by now."""
    late = Assignment.objects.get(outcome=Outcome.EXPIRED)
    for slot in late.response.slots.all():
        slot.state = "held"
        slot.save()
        Assignment.objects.create(
            slot=slot,
            response=late.response,
            rater=make_rater(),
            leased_at=timezone.now(),
            expires_at=timezone.now() + timedelta(hours=1),
        )


def test_back_after_a_submit_shows_what_is_open_now(card):
    page = card()
    first = page.locator("#room").get_attribute("data-code")
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    submit(page)
    page.goto(reverse("rating:guidelines"))

    page.go_back()

    expect(page.get_by_role("heading", name=CARD)).to_be_visible()
    assert page.locator("#room").get_attribute("data-code") not in (first, None)
    expect(page.locator("#level-3")).not_to_be_checked()


def serve(address: str) -> subprocess.Popen[bytes]:
    """Another process that serves the database of this test."""
    server = subprocess.Popen(
        [sys.executable, "manage.py", "runserver", "--noreload", "--skip-checks", address],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DEBUG": "1", "DATABASE_URL": url_of(connection.settings_dict)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: answers(address), f"{address} answers")
    return server


def answers(address: str) -> bool:
    try:
        return urlopen(f"http://{address}/healthz", timeout=5).status == 200
    except OSError:
        return False


def url_of(database: dict[str, Any]) -> str:
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    who = f"{database['USER']}:{database['PASSWORD']}".rstrip(":")
    return f"postgres://{who}@{database['HOST']}:{database['PORT'] or 5432}/{database['NAME']}"


def test_the_server_is_killed_and_started_again_between_open_and_submit(new_page, rater, client):
    make_wave(make_bank(bank_data(3)), text=TEXT)
    client.force_login(rater)
    address = f"127.0.0.1:{free_port()}"
    server = serve(address)
    try:
        page = new_page(base_url=f"http://{address}")
        key = client.cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": key, "url": f"http://{address}"}])
        page.goto(reverse("rating:queue"))
        page.get_by_role("button", name="Start rating").click()
        choose(page, 3)
        page.get_by_label("Words from the response").fill("Sleep comes first, truly")
        saved(page)
        server.kill()
        server.wait()
        page.get_by_role("button", name="Submit rating").click()
        expect(page.locator("#notice")).to_contain_text("You are offline.")
        server = serve(address)

        page.get_by_role("button", name="Try again").click()

        expect(page.locator("#said")).to_contain_text("Rating saved at")
        assert Rating.objects.count() == 1
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_hard_topic_is_announced_with_three_equal_ways_on(sign_in, rater, scheme):
    data = bank_data(1)
    data["items"][0] |= {"sensitivity": "high", "topic": "losing a child"}
    make_wave(make_bank(data), text=TEXT)
    rater.hard_topics = True
    page = sign_in(rater, color_scheme=scheme)
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()

    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.locator("main")).to_contain_text("The next response is about losing a child.")
    assert "worry number" not in page.content()
    assert not Assignment.objects.exists()
    ways = [page.locator(".equals > .button-quiet").nth(n).bounding_box() for n in range(3)]
    assert len({(round(box["width"]), round(box["height"])) for box in ways}) == 1
    assert faults_of(page) == []
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_focused()


def test_a_rest_is_offered_after_a_submit_and_never_inside_a_card(card, settings):
    page = card()
    settings.REST_OFFER_MINUTES = 1
    page.locator("#active").evaluate("field => { field.value = '90' }")
    choose(page, 3)
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    saved(page)
    draft = Draft.objects.get()
    draft.content["active_seconds"] = 90
    draft.save()
    page.reload()
    submit(page)

    expect(page.locator("main")).to_contain_text("You have been reading for 1 minutes.")
    assert faults_of(page) == []
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_focused()


def test_the_end_of_a_long_response_not_reached_is_said_and_blocks_nothing(card):
    page = card(LONG)
    choose(page, 3)
    expect(page.locator("#notice")).to_contain_text(
        "You have not reached the end of this response."
    )
    assert faults_of(page) == []

    page.locator("#response-end").scroll_into_view_if_needed()

    expect(page.locator("#notice")).to_be_empty()


def test_a_long_prompt_is_folded_and_shown_whole_when_asked(sign_in, rater):
    data = bank_data(1)
    data["items"][0]["prompt"] = "I have been caring for my mother for years. " * 60
    make_wave(make_bank(data), text=TEXT)
    page = sign_in(rater)
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()
    turn = page.locator(".turn-text")
    expect(turn).to_be_visible()
    before = turn.bounding_box()["height"]

    page.get_by_role("button", name="Show all").click()

    assert turn.bounding_box()["height"] > before
    expect(page.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")


def test_single_keys_can_be_turned_off_and_a_size_chosen(sign_in, rater):
    make_wave(make_bank(bank_data(2)), text=TEXT)
    page = sign_in(rater, viewport={"width": 1280, "height": 800})
    page.goto(reverse("rating:text"))
    page.get_by_label("Off").check()
    page.get_by_label("Very large").check()
    page.get_by_label("Dark").check()
    page.get_by_role("button", name="Save and look").click()
    expect(page.locator("html")).to_have_class(re.compile("size-150"))
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(21, 24, 26)"
    assert faults_of(page) == []
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_focused()

    page.keyboard.press("3")
    page.keyboard.press("n")

    expect(page.locator("#title")).to_be_focused()
    expect(page.locator("#level-3")).not_to_be_checked()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    page.get_by_label("Words from the response").press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    page.locator("#level-3").focus()
    page.keyboard.press("Space")
    submit(page)
    expect(page.locator("#said")).to_contain_text("Rating saved at")


def test_a_day_on_a_phone_by_touch(card):
    page = card(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page.locator("label", has_text="Sentences").tap()
    page.locator(".sentence").nth(2).tap()
    page.get_by_role("button", name="Add marked sentences").tap()
    expect(page.locator("#told")).to_contain_text("1 quote")
    page.locator("#to-levels").tap()
    page.locator(".level", has=page.locator("#level-4")).tap()
    expect(page.locator("#told")).to_contain_text("Level 4")
    page.get_by_role("button", name="Submit rating").tap()
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert faults_of(page) == []

    page.get_by_role("button", name="Undo").first.tap()

    expect(page.locator("#level-4")).to_be_checked()


def test_a_day_without_script(card):
    page = card(java_script_enabled=False)
    page.locator(".level", has=page.locator("#level-3")).click()
    page.get_by_label("Words from the response").fill("sleep comes first, truly")
    page.get_by_text("More", exact=True).click()
    page.get_by_label("The response is cut off").check()
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("main")).to_contain_text("You can undo it until")

    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator("#level-3")).to_be_checked()
    expect(page.get_by_label("The response is cut off")).to_be_checked()
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("main")).to_contain_text("You can undo it until")
    assert Rating.objects.standing().get().flags == {"cut-off": "yes"}

    page.goto(reverse("rating:text"))
    page.get_by_label("Sans serif").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("html")).to_have_class(re.compile("font-sans"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_a_card_with_tags(sign_in, rater, scheme, width):
    data = pair_bank_data()
    data["meta"]["tags"] = ["judgment", "moral distancing", "conditional warmth"]
    make_wave(make_bank(data), text=TEXT)
    page = sign_in(rater, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", name=CARD)).to_be_visible()
    page.get_by_label("Moral distancing").check()
    page.get_by_text("More", exact=True).click()
    page.get_by_label("I think I know which model wrote this").check()
    page.get_by_label("Its name").fill("Some model")
    saved(page)

    assert faults_of(page) == []


def test_a_response_of_300_kilobytes_is_scrolled_selected_and_quoted(card):
    """How long each takes is printed, since a busy machine is no fault of the page."""
    words = "I hear how heavy this is for you and I am not going anywhere tonight. "
    page = card("\n\n".join([words * 6] * 720))

    page.reload()
    timing = page.evaluate(
        "(() => { const one = performance.getEntriesByType('navigation')[0];"
        " return one.domContentLoadedEventEnd - one.startTime })()"
    )
    print(f"300 kB in {timing:.0f} ms")
    expect(page.locator(".block")).to_have_count(720)

    begun = page.evaluate("performance.now()")
    page.evaluate(
        """() => {
            const last = [...document.querySelectorAll("#came-back [data-at]")].at(-1).firstChild;
            last.parentElement.scrollIntoView();
            document.getSelection().setBaseAndExtent(last, 7, last, 34);
        }"""
    )
    expect(page.locator("#pick-count")).to_have_text("7 words", timeout=30_000)
    print(f"scrolled and selected in {page.evaluate('performance.now()') - begun:.0f} ms")

    begun = page.evaluate("performance.now()")
    page.locator("#pick-add").click()
    mark = page.locator("mark.quoted-words")
    expect(mark).to_have_text("how heavy this is for you and", timeout=30_000)
    print(f"quoted in {page.evaluate('performance.now()') - begun:.0f} ms")

    begun = page.evaluate("performance.now()")
    page.locator("label", has_text="Sentences").click()
    expect(page.locator("input[name='sentence']")).to_have_count(720 * 6, timeout=30_000)
    print(f"as sentences in {page.evaluate('performance.now()') - begun:.0f} ms")


def test_signing_out_leaves_nothing_on_the_device(card):
    page = card()
    page.evaluate("localStorage.setItem('room:x', '{\"at\": 9e12}')")

    page.get_by_role("button", name="Sign out").click()

    expect(
        page.get_by_role("heading", name="How we measure the compassion of AI models")
    ).to_be_visible()
    assert local_copies(page) == []
