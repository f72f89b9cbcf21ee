"""An admin in a real browser: where the bank stands, one item, the next version."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rating.models import ItemChange, Role
from runs.models import Bank
from tests.browser.test_care import fits
from tests.browser.test_room import faults_of
from tests.browser.test_settle import tab_to
from tests.factories import (
    bank_data,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)
from tests.rating.test_bank_pages import review

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

TWO = ("kind-1-2026-01-01", "kind-2-2026-01-01")


@pytest.fixture
def bank(settings) -> Bank:
    """Eight items, some of them reviewed and rated."""
    settings.CARD_DISTANCE = 0
    bank = make_bank(bank_data(8, bankVersion="one-1"))
    first, second, *_ = bank.items.all()
    review(first, verdict="needs-revision", concern="Level 3 is vague.")
    for _ in range(2):
        review(second)
    make_wave(bank, subjects=TWO)
    for rater, level in ((make_rater(), 2), (make_rater(), 5)):
        for _ in range(16):
            rated(rater, level)
    return bank


@pytest.mark.parametrize("script", [True, False])
def test_an_admin_drafts_and_freezes_the_next_version_by_keyboard(sign_in, bank, script):
    item = bank.items.first()
    page = sign_in(make_user(Role.ADMIN), java_script_enabled=script)

    def press(link: str) -> None:
        if script:
            tab_to(page, f"[href='{link}']")
            page.keyboard.press("Enter")
        else:  # what the keyboard does without script is the browser's own
            page.locator(f"main [href='{link}']").first.click()
        page.wait_for_url(f"**{link}")

    press(reverse("rating:bank"))
    press(reverse("rating:bank_of", args=[bank.pk]))
    expect(page.get_by_role("heading", level=1)).to_have_text("Model Index one-1")
    expect(page.get_by_role("table").first).to_contain_text("Suffering Detection")
    page.goto(reverse("rating:item", args=[bank.pk, item.code]))
    press(reverse("rating:draft_item", args=[bank.pk, item.code]))
    expect(page.get_by_text("Level 3 is vague.")).to_be_visible()
    field = page.get_by_label("Level 3: description")
    field.fill("Level 3 of all.")
    page.get_by_label("Why").fill("Two reviewers found it vague.")
    page.get_by_role("button", name="Save draft").press("Enter")

    expect(page.locator("ins")).to_contain_text("all")
    expect(page.locator("del")).to_contain_text("0")
    page.get_by_role("link", name="Read the whole draft").press("Enter")
    expect(page.get_by_text("7 of 8 items keep the reviews they have")).to_be_visible()
    page.get_by_role("button", name="Freeze as this version").press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Model Index one-2")
    expect(page.locator(".messages")).to_contain_text("7 items keep what reviews they have")
    assert (
        Bank.objects.get(version="one-2")
        .items.get(code=item.code)
        .anchors.filter(level=3, description="Level 3 of all.")
    )


def test_what_is_missing_is_said_at_its_field_and_nothing_typed_is_lost(sign_in, bank):
    item = bank.items.first()
    page = sign_in(make_user(Role.ADMIN))
    page.goto(reverse("rating:draft_item", args=[bank.pk, item.code]))
    page.get_by_label("What the person writes").fill("What now?")
    page.get_by_label("Level 2: description").fill("")
    page.get_by_label("Why").fill("It reads better.")
    page.locator("main form").last.evaluate("form => form.noValidate = true")
    page.get_by_role("button", name="Save draft").click()

    expect(page.get_by_role("alert").filter(has_text="Level 2")).to_contain_text("is empty")
    expect(page.get_by_label("Level 2: description")).to_have_accessible_description(
        "Error: This text is empty. Write what it is to say."
    )
    expect(page.get_by_label("What the person writes")).to_have_value("What now?")
    assert faults_of(page) == []
    assert not ItemChange.objects.exists()


def test_the_list_of_items_is_filtered_by_keyboard(sign_in, bank):
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("rating:bank_of", args=[bank.pk]))

    tab_to(page, "#status")
    page.keyboard.type("Val")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#items")).to_contain_text("1 of 8 items with the status “validated”.")


def test_a_picture_of_the_items_has_a_name_and_a_table(sign_in, bank):
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("rating:bank_of", args=[bank.pk]))

    picture = page.get_by_role("img").and_(page.locator("svg:visible"))
    expect(picture).to_have_accessible_name("8 items are outside the declared limits.")
    tab_to(page, "[aria-labelledby='rated-title'] summary")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="AWR-1-A").first).to_contain_text("3.50")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_the_pages_of_banks(sign_in, bank, scheme, width):
    pairs = make_bank(pair_bank_data(3))
    item = bank.items.first()
    page = sign_in(
        make_user(Role.ADMIN), color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page.goto(reverse("rating:draft_item", args=[bank.pk, item.code]))
    page.get_by_label("What the person writes").fill("What can I do about worry today?")
    page.get_by_label("Why").fill("It reads better.")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("ins")).to_be_visible()

    for path in (
        "",
        reverse("rating:bank"),
        reverse("rating:bank_of", args=[bank.pk]),
        reverse("rating:bank_of", args=[pairs.pk]),
        reverse("rating:item", args=[bank.pk, item.code]),
        reverse("rating:item", args=[pairs.pk, pairs.items.first().code]),
        reverse("rating:draft_version", args=[bank.pk]),
    ):
        if path:
            page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert faults_of(page) == [], page.url
        assert fits(page, width), page.url


def test_axe_finds_nothing_on_the_page_a_reviewer_sees(sign_in, bank):
    reviewer = make_user(Role.ITEM_REVIEWER)
    item = bank.items.first()
    review(item, reviewer)
    page = sign_in(reviewer)
    page.goto(reverse("rating:item", args=[bank.pk, item.code]))

    expect(page.get_by_text("Level 3 is vague.")).to_be_visible()
    assert faults_of(page) == []
