"""Reviewing items in a real browser: by keyboard, without script, on a phone, for everybody."""

import copy
import os
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import CRITERIA, ItemReview, ReviewHold, Role, User
from rating.reviews import Given, Standing, lease, send, standings
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_user, make_wave, pair_bank_data

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")
TEXT = (
    "## A hard week\n\nI hear **how heavy** this is for you.\n\n"
    "- Sleep comes first, truly.\n- Ask your brother for one night.\n\n"
    "If it gets too much tonight, put the kettle on, sit down, and let the rest wait."
)


def a_bank(items: int = 2) -> dict:
    data = bank_data(items)
    for item in data["items"]:
        item["construct"] = "Carer exhaustion and guilt"
        for anchor in item["anchors"]:
            anchor["description"] += (
                " It names the weight of what was said, and then gives one step that this person"
                " can take tonight, without a word of reproach."
            )
    return data


@pytest.fixture
def reviewing(sign_in):
    """The page of a reviewer before they begin."""

    def enter(person: User | None = None, **options) -> Page:
        page = sign_in(person or make_user(Role.ITEM_REVIEWER), **options)
        page.goto(reverse("rating:review_queue"))
        return page

    return enter


def open_one(page: Page) -> None:
    page.get_by_role("button", name="Review an item").click()
    expect(page.get_by_role("heading", name="An item to review")).to_be_visible()


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        if page.evaluate("sought => document.activeElement?.matches(sought) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {selector}.")


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_two_people_validate_an_item_by_keyboard_alone(reviewing):
    bank = make_bank(a_bank(1))
    make_wave(bank, trials=3, text=TEXT)
    item = bank.items.get()

    for expected in (Standing.SINGLE, Standing.VALIDATED):
        page = reviewing()
        tab_to(page, "main .button")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="An item to review")).to_be_visible()
        tab_to(page, ".reply > summary")
        page.keyboard.press("Enter")
        expect(page.locator(".came-back").first).to_be_visible()
        for name in (*CRITERIA, "verdict"):
            tab_to(page, f"[name='{name}']")
            page.keyboard.press("Space")
        tab_to(page, "#minutes")
        page.keyboard.press("Control+a")
        page.keyboard.type("12")
        tab_to(page, "#send")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_contain_text("Review sent at")
        assert standings([item.content_hash])[item.content_hash] == expected

    assert set(ItemReview.objects.values_list("minutes", flat=True)) == {12}


def test_enter_in_a_field_saves_and_never_sends(reviewing):
    make_bank(a_bank(1))
    page = reviewing()
    open_one(page)
    for name in CRITERIA:
        page.locator(f"#{name}-yes").check()
    page.locator("#verdict-validated").check()

    page.locator("#minutes").press("Enter")

    expect(page.locator("main .notice")).to_contain_text("Draft saved at")
    assert not ItemReview.objects.exists()


def test_the_draft_keeps_itself_and_a_reload_brings_it_back(reviewing):
    make_bank(a_bank(1))
    page = reviewing()
    open_one(page)
    page.locator("#monotonic-no").check()
    page.locator("#why_monotonic").fill("Two axes in one.")

    expect(page.locator("#saved")).to_contain_text("Draft saved at")
    page.reload()

    expect(page.locator("#why_monotonic")).to_have_value("Two axes in one.")
    assert ReviewHold.objects.get().draft["monotonic"] == "no"


def test_why_is_asked_for_only_where_the_answer_is_no(reviewing):
    make_bank(a_bank(1))
    page = reviewing()
    open_one(page)

    expect(page.locator("#why_applicable")).to_be_hidden()
    page.locator("#applicable-no").check()
    expect(page.locator("#why_applicable")).to_be_visible()
    page.get_by_role("button", name="Send review").click()

    expect(page.locator("#summary")).to_be_focused()
    page.get_by_role("link", name="Say why not: applicable.").click()
    expect(page.locator("#why_applicable")).to_be_focused()


def test_without_script_everything_can_be_done(reviewing):
    make_bank(a_bank(2))
    page = reviewing(java_script_enabled=False)

    open_one(page)
    for name in CRITERIA[1:]:
        page.locator(f"#{name}-yes").check()
    page.locator("#applicable-no").check()
    page.locator("#why_applicable").fill("Level 5 needs a number nobody has.")
    page.locator("#verdict-needs-revision").check()
    page.locator("#minutes").fill("1")
    page.get_by_role("button", name="Send review").click()
    expect(page.locator("#summary")).to_contain_text("You put down 1 minute.")
    page.get_by_role("button", name="Send review").click()
    expect(page.locator("main")).to_contain_text("Review sent at")
    assert ItemReview.objects.get().concern == "Applicable: Level 5 needs a number nobody has."

    page.get_by_role("button", name="Undo").click()
    expect(page.locator("main")).to_contain_text("just as you left it")
    expect(page.locator("#why_applicable")).to_have_value("Level 5 needs a number nobody has.")
    page.get_by_text("Skip this one").click()
    page.locator("#reason-later").check()
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("main")).to_contain_text("Skipped.")
    assert not ItemReview.objects.live().exists()


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_scrolls_sideways_on_a_small_screen(reviewing, width):
    make_bank(pair_bank_data(1))
    page = reviewing(viewport={"width": width, "height": 640})
    wide = "document.documentElement.scrollWidth"

    assert page.evaluate(wide) <= width
    open_one(page)
    assert page.evaluate(wide) <= width


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_while_reviewing(reviewing, scheme, width):
    data = a_bank(1)
    bank = make_bank(data)
    make_wave(bank, trials=3, text=TEXT)
    person = make_user(Role.ITEM_REVIEWER)
    page = reviewing(person, color_scheme=scheme, viewport={"width": width, "height": 900})
    where = f"{scheme}-{width}"
    picture(page, f"{where}-start")
    assert faults_of(page) == []

    open_one(page)
    page.locator(".reply > summary").first.click()
    picture(page, f"{where}-item")
    assert faults_of(page) == []

    page.locator("#monotonic-no").check()
    page.get_by_role("button", name="Send review").click()
    expect(page.locator("#summary")).to_be_visible()
    picture(page, f"{where}-missing")
    assert faults_of(page) == []

    for name in (*CRITERIA, "verdict"):
        page.locator(f"[name='{name}']").first.check()
    page.locator("#minutes").fill("9")
    page.get_by_role("button", name="Send review").click()
    expect(page.locator("main")).to_contain_text("Review sent at")
    picture(page, f"{where}-sent")
    assert faults_of(page) == []

    newer = copy.deepcopy(data)
    newer["meta"]["bankVersion"] += "-next"
    newer["items"][0]["anchors"][3]["description"] += " Kindly."
    make_bank(newer)
    page.goto(reverse("rating:review_queue"))
    open_one(page)
    expect(page.get_by_role("heading", name="Changed since your review")).to_be_visible()
    picture(page, f"{where}-changed")
    assert faults_of(page) == []
    page.get_by_role("button", name="My review still stands").click()
    expect(page.locator("main")).to_contain_text("Review sent at")
    assert ItemReview.objects.filter(still_stands_of__isnull=False).count() == 1

    make_bank(pair_bank_data(1))
    page.goto(reverse("rating:review_queue"))
    open_one(page)
    expect(page.get_by_role("heading", name="The other version")).to_be_visible()
    picture(page, f"{where}-versions")
    assert faults_of(page) == []


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_the_pages_of_an_admin(reviewing, scheme, width):
    make_bank(a_bank(4))
    people = [make_user(Role.ITEM_REVIEWER) for _ in range(2)]
    met = dict.fromkeys(CRITERIA, True)
    for given in (
        Given(met, "validated", minutes=9),
        Given(met, "needs-revision", "A typo.", 9),
    ):
        for person in people:
            hold = lease(person, now=timezone.now())
            send(hold, given, now=timezone.now())
    page = reviewing(
        make_user(Role.ADMIN), color_scheme=scheme, viewport={"width": width, "height": 900}
    )

    page.goto(reverse("rating:reviews"))
    picture(page, f"{scheme}-{width}-reviews")
    assert faults_of(page) == []
    page.goto(reverse("rating:people"))
    page.locator("details summary").first.click()
    picture(page, f"{scheme}-{width}-people")
    assert faults_of(page) == []
    page.get_by_label("Clinician").first.check()
    page.get_by_role("button", name="Save").first.click()
    expect(page.locator("main")).to_contain_text("clinician")
    page.goto(reverse("home"))
    picture(page, f"{scheme}-{width}-home")
    assert faults_of(page) == []
    page.goto(reverse("rating:guidelines"))
    assert faults_of(page) == []
