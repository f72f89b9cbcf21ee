"""The probes of a wave in a real browser: put from its page, and told in its report."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rating.models import Role
from runs.models import Probe
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_user, make_wave
from tests.rating.test_probe_report import another_run, calls, middling, rate_as, unblinded

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]

# A first picture loads what draws it.
PATIENCE = 90_000


@pytest.fixture
def wave():
    """An unblinded wave with identical calls, a rerun and an altered subject."""
    wave = make_wave(make_bank(bank_data(12)), trials=2, locked=False)
    run = wave.runs.get()
    rate_as(run, middling)
    rate_as(another_run(wave, "rerun"), middling)
    cold = another_run(wave, "cold", system_message="x", expected="lower", expected_why="It is cold.")  # fmt: skip
    rate_as(cold, lambda place, trial: middling(place, trial) - 1)
    calls(run, "One.", "Two.")
    return unblinded(wave)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_axe_finds_nothing_on_a_page_with_all_probes_and_nothing_is_cut(
    sign_in, wave, scheme, width
):
    page = sign_in(
        make_user(Role.MAINTAINER), color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    page.set_default_navigation_timeout(PATIENCE)
    for name in ("rating:report", "runs:wave"):
        page.goto(reverse(name, args=[wave.code]))
        for summary in page.locator("summary").all():
            summary.click()
        assert faults_of(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("script", [True, False])
def test_the_probes_are_put_from_the_page_of_a_wave(sign_in, script):
    wave = make_wave(make_bank(bank_data(8)))
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    page.goto(reverse("runs:wave", args=[wave.code]))
    row = page.get_by_role("region", name="Probes by subject").get_by_role("row").nth(1)
    expect(row).to_contain_text("not put")

    page.get_by_role("button", name="Put the probes").click()

    expect(row).to_contain_text("asking")
    expect(row).to_contain_text("incomplete")
    expect(page.get_by_role("button", name="Put the probes")).to_have_count(0)
    assert Probe.objects.of_wave(wave).exists()
