"""The question who made a response, in a real browser: by keyboard, without script, for everybody."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Guess, Rating
from tests.browser.test_room import faults_of
from tests.factories import REPLY, bank_data, make_bank, make_rater, make_wave

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

HEADING = "One question about that response"


@pytest.fixture
def asked(sign_in, settings):
    """The page of a rater who has just rated a response and is asked who made it."""
    settings.GUESS_PERCENT = 100

    def enter(**options) -> Page:
        make_wave(make_bank(bank_data(4)))
        page = sign_in(make_rater(), **options)
        page.goto(reverse("rating:queue"))
        page.get_by_role("button", name="Start rating").click()
        page.locator(".level", has=page.locator("#level-3")).click()
        page.get_by_label("Words from the response").fill(REPLY[:33])
        page.get_by_role("button", name="Submit rating").click()
        expect(page.get_by_role("heading", name=HEADING)).to_be_visible()
        return page

    return enter


def test_it_is_answered_with_the_keyboard_alone(asked):
    page = asked()
    expect(page.locator("#title")).to_be_focused()
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    expect(page).to_have_title("One question about that response · Compassion")

    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("I don’t know")).to_be_focused()
    page.keyboard.press("Space")
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Anthropic")).to_be_checked()
    page.keyboard.press("Tab")
    expect(page.get_by_label("The name of another")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Save answer")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="A response to rate")).to_be_focused()
    guess = Guess.objects.get()
    assert (guess.maker, guess.sure) == ("Anthropic", "unsure")


@pytest.mark.parametrize("script", [True, False])
def test_it_can_be_left_out_and_the_next_card_comes(asked, script):
    page = asked(java_script_enabled=script)

    page.get_by_role("button", name="Not now").click()

    expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
    assert Guess.objects.get().answered_at is None


@pytest.mark.parametrize("script", [True, False])
def test_the_rating_can_be_undone_meanwhile(asked, script):
    page = asked(java_script_enabled=script)

    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
    expect(page.locator("#level-3")).to_be_checked()
    assert Rating.objects.standing().count() == 0


@pytest.mark.parametrize("script", [True, False])
def test_enter_in_the_field_saves_the_name_and_nothing_said_is_asked_again(asked, script):
    page = asked(java_script_enabled=script)
    page.get_by_role("button", name="Save answer").click()
    wanted = "Error: Choose an answer, or go on with “Not now”."
    expect(page.locator("#maker-error").get_by_text(wanted)).to_be_visible()
    if script:
        expect(page.locator("#said")).to_contain_text("Error: Choose an answer")
    expect(page.locator("#title")).to_be_focused()

    page.get_by_label("The name of another").fill("Some Lab")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
    assert Guess.objects.get().maker == "Some Lab"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 360])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(asked, scheme, width):
    page = asked(color_scheme=scheme, viewport={"width": width, "height": 740})
    for _ in range(2):
        assert faults_of(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        one, other = (
            page.get_by_role("button", name=name).bounding_box()
            for name in ("Save answer", "Not now")
        )
        assert (one["width"], one["height"]) == (other["width"], other["height"])
        assert one["height"] >= 44
        page.get_by_role("button", name="Save answer").click()
        expect(page.locator("#maker-error")).to_be_visible()
