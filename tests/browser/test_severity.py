"""A maintainer in a real browser: raters among each other, and what one more would buy."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rating.models import Role
from tests.browser.test_care import PATIENCE, fits
from tests.browser.test_room import faults_of
from tests.factories import make_user
from tests.rating.test_severity import raters  # noqa: F401 - a fixture

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.proof
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_the_figures_stand_as_a_picture_and_a_table_and_axe_finds_nothing(
    sign_in,
    raters,  # noqa: F811
    scheme,
    width,
):
    page = sign_in(
        make_user(Role.MAINTAINER),
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
    )
    page.set_default_navigation_timeout(PATIENCE)
    page.goto(reverse("rating:effects"))

    picture = page.get_by_role("img").and_(page.locator("svg:visible"))
    expect(picture).to_have_count(1)
    for summary in page.locator("summary").all():
        summary.click()
    for rater in raters:
        expect(page.get_by_role("row", name=rater.pseudonym).last).to_contain_text("levels")
    choices = page.get_by_role("table", name="standard error of a dimension’s mean")
    expect(choices.get_by_role("row")).to_have_count(6)
    assert faults_of(page) == []
    assert fits(page, width)
