"""Names in replies and the pages of subjects, in a real browser."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rating.models import Role
from runs.models import Response, Run, Subject
from runs.self_naming import find_naming
from runs.subjects import set_limits
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")
TEXT = "I hear how heavy this is for you tonight. I am Claude, and I stay with you."


def make():
    naming = [(one.start, one.end, one.term) for one in find_naming(TEXT)]
    return make_wave(make_bank(bank_data(2)), text=TEXT, naming=naming)


@pytest.mark.parametrize("script", [True, False])
def test_a_name_is_covered_and_a_rater_quotes_around_it(sign_in, script):
    wave = make()
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    page.goto(reverse("runs:wave", args=[wave.code]))
    expect(page.locator("#progress")).to_contain_text("2 replies seem to say who made them.")
    page.locator("#progress").get_by_role("link", name="Names in replies").click()
    for _ in range(2):
        waiting = page.locator("article", has_text="Not decided.").first
        waiting.get_by_role("button", name="Cover the name").click()
        expect(page.locator(".messages")).to_contain_text("The name is covered.")

    other = sign_in(make_rater(), java_script_enabled=script)
    other.goto(reverse("rating:queue"))
    other.get_by_role("button", name="Start rating").click()
    expect(other.locator("#came-back")).to_contain_text("I am ██████, and I stay with you.")
    other.get_by_label("Words from the response").fill("I am ██████, and I stay")
    other.get_by_role("button", name="Add quote").first.click()

    expect(other.locator("#panel")).to_contain_text("I am ██████, and I stay")
    assert Response.objects.filter(text=TEXT).count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_names_and_subjects(sign_in, scheme, width):
    wave = make()
    subject = Subject.objects.get()
    set_limits(subject, {"requests_a_minute": 60})
    seen = [{"fingerprint": f"fp-{number}", "at": "2026-11-30T12:00:00+00:00"} for number in (1, 2)]
    Run.objects.update(fingerprints=seen)
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    page = sign_in(make_user(Role.MAINTAINER), **options)

    for name, address in (
        ("names", reverse("rating:names", args=[wave.code])),
        ("wave-flagged", reverse("runs:wave", args=[wave.code])),
        ("waves", reverse("runs:waves")),
        ("subjects", reverse("subjects:all")),
        ("subject", reverse("subjects:one", args=[subject.code])),
    ):
        page.goto(address)
        if PICTURES:
            file = Path(PICTURES) / f"{name}-{scheme}-{width}.png"
            page.screenshot(path=file, full_page=True)
        assert faults_of(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
