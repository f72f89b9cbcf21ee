"""The pages of judges in a real browser: read without script, accessible, and never wider than a phone."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rating.models import Rating, Role
from runs.models import Response, Wave
from tests.browser.test_agreement import picture
from tests.browser.test_care import fits
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_judging, make_rater, make_user, make_wave
from tests.rating.test_agreement_page import TWO, rate_all

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def judging(settings):
    """Sixteen items and two subjects; one judge reads like people, the other keeps to the middle."""
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99
    wave = make_wave(make_bank(bank_data(16)), subjects=TWO)
    codes = list(wave.bank.items.values_list("code", flat=True))
    for turn in range(2):
        levels = [(at * 3 + turn * (at % 3 == 0)) % 5 + 1 for at in range(len(codes))]
        rate_all(make_rater(), dict(zip(codes, levels, strict=True)))

    def level(response, judge):
        given = [one.anchor.level for one in Rating.objects.filter(response=response)]
        if judge.number == 1:
            return min(given)
        return None if response.item.code == codes[5] else 3

    return make_judging(wave, judges=2, level=level)


def addresses(wave: Wave, judging):
    return {
        "judges": reverse("rating:judges", args=[wave.code]),
        "judges-beside": reverse("rating:judges_beside", args=[wave.code]),
        "judges-wrong": reverse("rating:judges_beside", args=[wave.code]) + "?round=none",
        "judgements": reverse(
            "rating:judgements",
            args=[wave.code, judging.code, Response.objects.of_wave(wave).first().code],
        ),
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_on_the_pages_of_judges(sign_in, judging, scheme, width):
    page = sign_in(
        make_user(Role.MAINTAINER), color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    for name, address in addresses(judging.wave, judging).items():
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        picture(page, f"{name}-{scheme}-{width}")
        assert faults_of(page) == [], name
        assert fits(page, width), name


@pytest.mark.parametrize("script", [True, False])
def test_a_maintainer_goes_from_the_wave_to_what_a_judge_gave_one_response(
    sign_in, judging, script
):
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    page.goto(reverse("runs:wave", args=[judging.wave.code]))

    page.get_by_role("link", name="Judges", exact=True).click()
    expect(page.get_by_role("table", name="The panel of round")).to_contain_text("judge-")
    page.get_by_role("link", name="Judges beside people").first.click()
    said = page.locator("figure p").first.inner_text()
    expect(page.get_by_role("img").first).to_have_accessible_name(said)
    page.get_by_role("table", name="Responses on which judges").get_by_role("link").first.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Judgements of one response")
    expect(page.get_by_role("heading", name="Judgement 1: one of its judges")).to_be_visible()
