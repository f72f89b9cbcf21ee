"""The rating room in a real browser: by keyboard, without script, on a phone, for everybody."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import Assignment, Draft, Rating, Role
from rating.queue import reclaim
from tests.browser.conftest import press_until
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave, pair_bank_data

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXT = (
    "## A hard week\n\nI hear **how heavy** this is for you. You’re not failing her 👩‍👧.\n\n"
    "- Sleep comes first, truly.\n- Ask your brother for one night.\n\n"
    "You are not alone in this. Truly, you are not alone in this."
)
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture
def room(sign_in):
    """The page of a rater with a card open."""

    def enter(text: str = TEXT, **options) -> Page:
        make_wave(make_bank(bank_data(4)), text=text)
        page = sign_in(make_rater(), **options)
        page.goto(reverse("rating:queue"))
        page.get_by_role("button", name="Start rating").click()
        expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
        return page

    return enter


def quotes_of(rating: Rating) -> list[str]:
    return [rating.response.text[q.start : q.end] for q in rating.quotes.all()]


def expect_rated(count: int, page: Page) -> None:
    """Wait for the page to say so, then look at what is stored."""
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    assert Rating.objects.count() == count


def test_by_keyboard_alone_with_sentences(room):
    page = room()

    press_until(
        page, "v", lambda wait: expect(page.locator("#view-sentences")).to_be_checked(timeout=wait)
    )
    boxes = page.locator("input[name='sentence']")
    boxes.nth(1).focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Add marked sentences").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#quotes > li")).to_have_count(1)
    press_until(
        page, "4", lambda wait: expect(page.locator("#level-4")).to_be_checked(timeout=wait)
    )
    page.keyboard.press("Control+Enter")

    expect_rated(1, page)
    assert quotes_of(Rating.objects.get()) == [
        "I hear **how heavy** this is for you. You’re not failing her 👩‍👧."
    ]


def test_words_pasted_into_the_field_are_found_and_a_wrong_word_is_named(room):
    page = room()
    field = page.get_by_label("Words from the response")

    field.fill("I hear how light this is for you")
    page.get_by_role("button", name="Add quote").last.click()
    expect(page.locator("#panel")).to_contain_text("These words are not in the response.")
    expect(field).to_have_value("I hear how light this is for you")
    page.get_by_role("button", name="Use this passage").click()

    expect(page.locator("#quotes > li")).to_have_count(1)
    expect(page.locator("#quotes > li")).to_contain_text("how heavy")


def test_a_selection_of_the_second_repeat_quotes_the_second_one(room):
    page = room()
    page.evaluate(
        """() => {
            const all = [...document.querySelectorAll("#came-back [data-at]")];
            const last = all.filter((e) => e.textContent.includes("not alone")).at(-1);
            const node = last.firstChild;
            const from = node.data.lastIndexOf("not alone");
            document.getSelection().setBaseAndExtent(node, from, node, from + 17);
        }"""
    )
    expect(page.locator("#pick-count")).to_have_text("4 words")
    quotes = page.locator("#quotes > li")
    press_until(page, "q", lambda wait: expect(quotes).to_have_count(1, timeout=wait))

    [[start, end, _]] = Draft.objects.get().content["quotes"]
    assert (TEXT[start:end], start) == ("not alone in this", TEXT.rindex("not alone"))


def test_digits_in_the_note_are_only_digits_and_enter_never_submits(room):
    page = room()

    page.get_by_label("Note").fill("")
    page.get_by_label("Note").press_sequentially("5 of 5")
    page.locator("#level-2").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Words from the response").press("Enter")

    expect(page.get_by_label("Note")).to_have_value("5 of 5")
    expect(page.locator("#level-5")).not_to_be_checked()
    assert not Rating.objects.exists()


def test_what_was_put_down_is_there_again_after_a_reload(room):
    page = room()
    page.locator(".level", has=page.locator("#level-3")).click()
    page.get_by_label("Note").fill("half a thought")
    expect(page.locator("#saved")).to_contain_text("Draft saved at")

    page.reload()

    expect(page.locator("#level-3")).to_be_checked()
    expect(page.get_by_label("Note")).to_have_value("half a thought")


def test_what_is_missing_is_said_at_the_top_and_takes_the_focus(room):
    page = room()

    page.get_by_role("button", name="Submit rating").click()

    expect(page.locator("#summary")).to_be_focused()
    expect(page.locator("#summary")).to_contain_text("Choose a level before you submit.")
    expect(page.locator("#summary")).to_contain_text("Add at least one quote before you submit.")
    assert not Rating.objects.exists()


def test_a_late_rating_is_taken_with_an_explanation(room):
    page = room()
    page.locator(".level", has=page.locator("#level-3")).click()
    page.get_by_label("Words from the response").fill("Sleep comes first, truly")
    reclaim(timezone.now() + timedelta(hours=2))
    assert Assignment.objects.get().outcome == "expired"

    page.get_by_role("button", name="Submit rating").click()

    expect_rated(1, page)


def test_without_script_everything_can_be_done(room):
    page = room(java_script_enabled=False)

    page.locator(".level", has=page.locator("#level-3")).click()
    page.get_by_label("Words from the response").fill("sleep comes first, truly")
    page.get_by_role("button", name="Add quote").last.click()
    expect(page.locator("#quotes > li")).to_have_count(1)
    expect(page.locator("#level-3")).to_be_checked()
    page.locator("label", has_text="Sentences").click()
    page.get_by_role("button", name="Show").click()
    page.locator("input[name='sentence']").nth(1).check()
    page.get_by_role("button", name="Add marked sentences").click()
    expect(page.locator("#quotes > li")).to_have_count(2)
    page.get_by_role("button", name="Submit rating").click()

    expect(page.locator("main")).to_contain_text("Rating saved at")
    expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
    assert Rating.objects.get().quotes.count() == 2


def test_without_script_skipping_asks_for_a_reason(room):
    page = room(java_script_enabled=False)

    page.get_by_role("link", name="Skip").click()
    page.get_by_label("I would rather not read this").check()
    page.get_by_role("button", name="Skip").click()

    expect(page.locator("main")).to_contain_text("Skipped.")
    assert Assignment.objects.get(outcome="skipped").skip_reason == "rather-not"


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_scrolls_sideways_on_a_small_screen(room, width):
    page = room(viewport={"width": width, "height": 640})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_response_of_300_kilobytes_is_shown_whole_and_can_be_quoted(room):
    sentence = "I hear how heavy this is for you and I am not going anywhere tonight. "
    page = room(sentence * 4300 + "The very last words stand here.")

    page.get_by_label("Words from the response").fill("the very last words stand here")
    page.get_by_role("button", name="Add quote").last.click()

    expect(page.locator("#quotes > li")).to_contain_text("The very last words stand here")


def faults_of(page: Page) -> list[str]:
    options = {
        "runOnly": {"type": "tag", "values": WCAG},
        "rules": {"target-size": {"enabled": True}},
    }
    found = Axe().run(page, options=options).response["violations"]
    return [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]]


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_in_the_rating_room(room, scheme, width):
    page = room(color_scheme=scheme, viewport={"width": width, "height": 800})
    assert faults_of(page) == []

    page.get_by_label("Words from the response").fill("I hear how light this is for you")
    page.get_by_role("button", name="Submit rating").click()
    expect(page.locator("#panel")).to_contain_text("These words are not in the response.")
    assert faults_of(page) == []

    page.locator("label", has_text="Sentences").click()
    expect(page.locator("input[name='sentence']").first).to_be_visible()
    assert faults_of(page) == []


OTHER_PAGES = (
    "home",
    "rating:queue",
    "rating:guidelines",
    "rating:pause",
    "rating:people",
    "rating:raters",
    "runs:waves",
    "account_change_password",
    "account_logout",
)


def test_no_other_page_scrolls_sideways_at_320(sign_in):
    wave = make_wave(make_bank(pair_bank_data()))
    page = sign_in(make_user(*Role.values), viewport={"width": 320, "height": 640})
    own = (reverse("rating:report", args=[wave.code]), reverse("runs:wave", args=[wave.code]))
    for path in (*map(reverse, OTHER_PAGES), *own):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path


@pytest.mark.proof
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_other_pages(sign_in, new_page, scheme):
    wave = make_wave(make_bank(pair_bank_data()))
    page = new_page(color_scheme=scheme)
    for path in (reverse("account_login"), "/no/such/page", "/password/forgotten/"):
        page.goto(path)
        assert faults_of(page) == [], path
    page = sign_in(make_user(*Role.values), color_scheme=scheme)
    own = (reverse("rating:report", args=[wave.code]), reverse("runs:wave", args=[wave.code]))
    for path in (*map(reverse, OTHER_PAGES), *own):
        page.goto(path)
        assert faults_of(page) == [], path
