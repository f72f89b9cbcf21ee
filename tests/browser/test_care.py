"""Care in a real browser: the support line, the notice of work, hours and exposure, severity."""

import csv
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import Event, Kind, Role, User
from rating.queue import hand, rate
from tests.browser.test_room import faults_of
from tests.browser.test_settle import tab_to
from tests.factories import given, make_rater, make_seeds, make_user, make_wave, rated

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

# A first picture loads what draws it.
PATIENCE = 90_000


@pytest.fixture(autouse=True)
def _a_site_that_can_write(settings):
    settings.MAIL, settings.SITE_URL = True, "https://rate.example.org"
    settings.CARD_DISTANCE = 0


@pytest.fixture
def measured() -> User:
    """A rater with a severity, among others without."""
    rater = make_rater()
    for place, seed in enumerate(make_seeds(10)):
        at = timezone.now() - timedelta(days=20 - 2 * place)
        rate(hand(rater, seed.response, Kind.SEED, now=at), given(2 + place % 2), now=at)
    return rater


def fits(page: Page, width: int) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_country_is_chosen_by_keyboard_and_its_number_can_be_tapped(sign_in):
    page = sign_in(make_rater())
    page.goto(reverse("rating:text"))
    tab_to(page, "#id_country")
    page.keyboard.type("Irel")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
    call = page.get_by_role("contentinfo").get_by_role("link", name="116 123")
    expect(call).to_have_attribute("href", "tel:116123")
    assert call.bounding_box()["height"] >= 16


@pytest.mark.parametrize("script", [True, False])
def test_a_rater_asks_to_be_written_to_and_takes_it_back(sign_in, script):
    rater = make_rater()
    page = sign_in(rater, java_script_enabled=script)
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing to rate")
    page.get_by_role("button", name="Write to me when there is work").click()

    expect(page.locator("main")).to_contain_text(f"We will write to {rater.email} once")
    rater.refresh_from_db()
    assert rater.write_at_work is not None
    page.get_by_role("button", name="Do not write to me").click()
    expect(page.locator("main")).to_contain_text("We will not write to you.")
    rater.refresh_from_db()
    assert rater.write_at_work is None


def test_the_count_of_the_day_is_hidden_and_shown_by_keyboard(sign_in):
    make_wave()
    rater = make_rater()
    rated(rater, active_seconds=4320)
    page = sign_in(rater)
    expect(page.locator("main")).to_contain_text("Today 1 rated · 1 h 12 min")

    tab_to(page, "[value='hide']")
    page.keyboard.press("Enter")
    expect(page.locator("main")).not_to_contain_text("Today 1 rated")
    tab_to(page, "[value='show']")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Today 1 rated · 1 h 12 min")


def test_a_maintainer_fetches_the_hours_of_some_days_by_keyboard(sign_in):
    make_wave()
    rater = make_rater()
    rated(rater, active_seconds=60)
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("rating:raters"))
    page.get_by_role("link", name="Care: hours and exposure").click()
    page.get_by_label("From").fill(timezone.localdate().isoformat())
    tab_to(page, "main form .button")
    with page.expect_download() as download:
        page.keyboard.press("Enter")

    with open(download.value.path(), newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["rater"], row["ratings"], row["active_minutes"]) == (rater.pseudonym, "1", "1.0")
    assert Event.objects.get(kind="look").about["from"] == timezone.localdate().isoformat()


def test_days_the_wrong_way_round_are_said_at_their_field(sign_in):
    page = sign_in(make_user(Role.ADMIN))
    page.goto(reverse("rating:care"))
    page.get_by_label("From").fill("2026-10-04")
    page.get_by_label("To").fill("2026-10-03")
    page.get_by_role("button", name="Get exposure").click()

    expect(page.get_by_label("To")).to_have_accessible_description(
        "Error: The last day lies before the first. Change one of them."
    )
    assert faults_of(page) == []


@pytest.mark.parametrize("width", [1280, 360])
def test_severity_is_a_picture_with_its_table(sign_in, measured, width):
    page = sign_in(make_user(Role.MAINTAINER), viewport={"width": width, "height": 800})
    page.set_default_navigation_timeout(PATIENCE)
    page.goto(reverse("rating:effects"))

    picture = page.get_by_role("img").and_(page.locator("svg:visible"))
    expect(picture).to_have_count(1)
    expect(picture).to_have_accessible_name(
        "0 of 1 rater differs from the agreed level, on average, by more than 0.5 levels."
    )
    tab_to(page, "summary")
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name=measured.pseudonym).first
    expect(row).to_contain_text("-0.50 levels, between")
    names = page.locator("#effects-table").locator("xpath=..").locator("tbody th").all_inner_texts()
    assert names == sorted(names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_the_pages_of_care(sign_in, measured, scheme, width):
    person = make_user(Role.RATER, Role.MAINTAINER, Role.ADMIN)
    person.country = "GB"
    page = sign_in(person, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.set_default_navigation_timeout(PATIENCE)

    def clean(path: str = "") -> None:
        if path:
            page.goto(path)
        assert faults_of(page) == [], page.url
        assert fits(page, width), page.url

    clean()
    for name in ("care", "standing", "text", "raters", "effects"):
        clean(reverse(f"rating:{name}"))
    for summary in page.locator("summary").all():
        summary.click()
    clean()
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing to rate")
    clean()
    page.get_by_role("button", name="Write to me when there is work").click()
    expect(page.get_by_role("button", name="Do not write to me")).to_be_visible()
    clean()
