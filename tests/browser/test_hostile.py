"""Hostile texts in a real Chromium: nothing runs, nothing is asked for, nothing is complained of."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Role
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave
from tests.hostile.corpus import KINDS, corpus
from tests.hostile.ways import storable
from tests.hostile.world import ROLES, build

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What a text could have done to the page it stands on.
DONE = """() => [
    ...document.querySelectorAll("*"),
].flatMap((one) => [one.localName, ...one.getAttributeNames(), ...(
    ["src", "href", "action", "srcdoc", "style", "id"].map((name) => one.getAttribute(name) || "")
)]).filter((said) => /zqjxk/i.test(said) && !/^[/#?]/.test(said))"""


def watched(page: Page) -> list[str]:
    """What the page does by itself from now on: dialogs, errors, windows, refusals of its policy."""
    done: list[str] = []
    page.on("dialog", lambda one: (done.append(f"dialog: {one.message}"), one.dismiss()))
    page.on("console", lambda one: done.append(one.text) if one.type == "error" else None)
    page.on("popup", lambda one: done.append("a window"))
    page.on("pageerror", lambda one: done.append(str(one)))
    page.on("download", lambda one: done.append("a download"))
    return done


def test_a_real_browser_does_nothing_with_any_of_them(sign_in):
    """Of each kind three, as replies, seen in each view and moved over; then the rater's own words."""
    texts = [one.text for one in storable(corpus(3 * len(KINDS), seed="browser", long_every=0))]
    make_wave(make_bank(bank_data(2)), text="I hear how heavy this is.\n\n" + "\n\n".join(texts))
    page = sign_in(make_rater())
    done = watched(page)
    page.goto(reverse("rating:queue"))
    page.get_by_role("button", name="Start rating").click()

    for view in ("sentences", "plain", "rendered", "reading"):
        page.locator(f"#view-{view}").check(force=True)
        expect(page.locator("#response")).to_have_attribute("data-view", view)
        page.mouse.move(300, 400)
        assert page.evaluate(DONE) == [], view
    for one in texts[:12]:
        page.locator("#note").fill(one)
        page.locator("#words").fill(one)
        # Some of them stand in the reply and are taken; of the others the server says so.
        with page.expect_response("**/rate/**"):
            page.locator("#add-quote").click()
    assert page.evaluate(DONE) == []
    assert page.locator("#came-back script, #came-back img, #came-back a[href]").count() == 0
    # Words that were not taken are told by the server; the browser notes each such answer.
    assert [one for one in done if "422" not in one] == []


@pytest.mark.parametrize("role", ROLES)
def test_no_page_of_a_hostile_site_does_anything_by_itself(sign_in, role, settings):
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99
    world = build()
    person = world.people[role]
    person.email = (
        f"{role.name.lower()}@example.org"  # a browser lets nobody type the one they have
    )
    page = sign_in(person)
    done = watched(page)
    codes = {"wave": world.told_wave.code}
    pages = {
        Role.RATER: ["rating:queue", "rating:standing", "home"],
        Role.ITEM_REVIEWER: ["rating:review_queue", "home"],
        Role.ADJUDICATOR: ["rating:settle_queue", "home"],
        Role.MAINTAINER: ["runs:waves", "rating:results", "rating:agreement", "rating:whole_report", "rating:key"],
        Role.ADMIN: ["rating:people", "rating:bank", "rating:reviews"],
    }  # fmt: skip

    for name in pages[role]:
        needs_wave = role == Role.MAINTAINER and name.startswith("rating:")
        page.goto(reverse(name, kwargs=codes if needs_wave else None))
        assert page.evaluate(DONE) == [], name
    if role == Role.MAINTAINER:
        page.goto(reverse("rating:published_report", kwargs=codes))
        assert page.evaluate(DONE) == []
    assert done == []


def test_what_would_act_is_seen_by_this_test(sign_in):
    page = sign_in(make_user(Role.RATER))

    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b zqjxk000000>x</b>')")

    assert page.evaluate(DONE) == ["zqjxk000000"]
