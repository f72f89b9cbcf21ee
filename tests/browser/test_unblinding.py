"""Freezing and unblinding in a real browser: one person for a local wave, two for any other."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating.models import Role, Unblinding
from runs.models import Wave, WaveKind
from tests.browser.conftest import PASSWORD
from tests.browser.test_room import faults_of
from tests.factories import bank_data, leased, make_bank, make_rater, make_user, make_wave, rated

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")


def make(kind: WaveKind) -> Wave:
    """A wave with a rating in it and a card held by somebody."""
    wave = make_wave(make_bank(bank_data(3)))
    rated(make_rater())
    leased(make_rater())
    if kind == WaveKind.LOCAL:
        return wave
    pilot = make_wave(make_bank(bank_data(3)), locked=False)
    Wave.objects.filter(pk=pilot.pk).update(kind=kind, locked_at=timezone.now())
    return Wave.objects.get(pk=pilot.pk)


def picture(page: Page, name: str) -> None:
    """For people to look at: PICTURES=folder keeps them."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def open_wave(page: Page, wave: Wave) -> None:
    page.goto(reverse("runs:wave", args=[wave.code]))


def freeze(page: Page, wave: Wave) -> None:
    open_wave(page, wave)
    page.get_by_role("link", name="Freeze ratings").click()
    page.get_by_label("Reason").fill("The time is over.")
    page.get_by_label("I have read what is still open").check()
    page.get_by_role("button", name="Freeze ratings").click()
    expect(page.locator(".messages")).to_contain_text("Ratings are frozen.")


def sign(page: Page, reason: str, password: str, button: str) -> None:
    page.get_by_label("Reason").fill(reason)
    page.get_by_label("Your password").fill(password)
    page.get_by_role("button", name=button).click()


@pytest.mark.parametrize("script", [True, False])
def test_a_local_wave_is_frozen_and_unblinded_by_one_person(sign_in, script):
    wave = make(WaveKind.LOCAL)
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    open_wave(page, wave)
    expect(page.locator("[aria-current='step']")).to_contain_text("Rating, now")
    page.get_by_role("link", name="Freeze ratings").click()
    expect(page.locator("main")).to_contain_text("Cards held now")
    page.get_by_role("button", name="Freeze ratings").click()
    expect(page.locator("main")).to_contain_text("Error: Say why, in a few words.")
    freeze(page, wave)
    expect(page.locator("[aria-current='step']")).to_contain_text("Frozen, now")

    page.get_by_role("link", name="Unblind").click()
    page.get_by_label("Reason").fill("To report it.")
    page.get_by_role("button", name="Unblind").click()

    expect(page.locator("[aria-current='step']")).to_contain_text("Unblinded, now")
    page.get_by_role("link", name="The key").click()
    expect(page.get_by_role("row", name="dev--kind--kind-1-2026-01-01")).to_contain_text("3")
    with page.expect_download() as file:
        page.get_by_role("link", name="key.csv").click()
    assert "dev--kind--kind-1-2026-01-01" in Path(file.value.path()).read_text()


def test_a_pilot_wave_is_unblinded_by_two_who_each_sign_in_again(sign_in):
    wave = make(WaveKind.PILOT)
    first, second = make_user(Role.MAINTAINER), make_user(Role.MAINTAINER)
    page = sign_in(first)
    freeze(page, wave)
    page.get_by_role("link", name="Unblind").click()

    sign(page, "To report it.", "not-my-password", "Ask to unblind")
    expect(page.locator("main")).to_contain_text("Error: This is not your password.")
    expect(page.get_by_label("Reason")).to_have_value("To report it.")
    sign(page, "To report it.", PASSWORD, "Ask to unblind")
    expect(page.locator("main")).to_contain_text(
        f"Two people must agree to unblind. {first.name} has agreed at"
    )
    # The same person is offered to take it back, and nothing else.
    expect(page.get_by_role("button", name="Agree and unblind")).to_have_count(0)
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("main")).to_contain_text("Nobody has asked yet.")
    sign(page, "After all.", PASSWORD, "Ask to unblind")

    other = sign_in(second)
    open_wave(other, wave)
    other.get_by_role("link", name="Unblind").click()
    expect(other.locator("main")).to_contain_text(f"{first.name} has agreed at")
    expect(other.get_by_role("button", name="Take it back")).to_have_count(0)
    sign(other, "I agree.", PASSWORD, "Agree and unblind")

    expect(other.locator("[aria-current='step']")).to_contain_text("Unblinded, now")
    request = Unblinding.objects.standing().get()
    assert (request.asked_by, request.agreed_by) == (first, second)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_from_freezing_to_the_key(sign_in, scheme, width):
    wave = make(WaveKind.PILOT)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    first, second = make_user(Role.MAINTAINER), make_user(Role.MAINTAINER)
    page = sign_in(first, **options)

    def clean(page: Page, name: str) -> None:
        picture(page, f"{name}-{scheme}-{width}")
        assert faults_of(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name

    open_wave(page, wave)
    clean(page, "wave")
    page.goto(reverse("rating:freeze", args=[wave.code]))
    clean(page, "freeze")
    page.get_by_role("button", name="Freeze ratings").click()
    clean(page, "freeze-errors")
    freeze(page, wave)
    page.get_by_role("link", name="Unblind").click()
    clean(page, "ask")
    sign(page, "To report it.", "not-my-password", "Ask to unblind")
    expect(page.locator(".error-text")).to_be_visible()
    clean(page, "ask-wrong")
    sign(page, "To report it.", PASSWORD, "Ask to unblind")
    expect(page.get_by_role("button", name="Take it back")).to_be_visible()
    clean(page, "asked")
    page = sign_in(second, **options)
    page.goto(reverse("rating:unblind", args=[wave.code]))
    clean(page, "agree")
    sign(page, "I agree.", PASSWORD, "Agree and unblind")
    clean(page, "wave-unblinded")
    page.get_by_role("link", name="The key").click()
    clean(page, "key")
    page.goto(reverse("rating:unblind", args=[wave.code]))
    clean(page, "unblinded")
    page.goto(reverse("rating:who_sees_what"))
    clean(page, "who-sees-what")
