"""Practice, the qualification and the norming round in a real browser."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from rating import seeding
from rating.models import Norming, Qualification, Rating, Role, Seed
from rating.queue import pause
from tests.browser.test_room import faults_of
from tests.factories import bank_data, make_bank, make_rater, make_seeds, make_user, make_wave, vote

pytestmark = [pytest.mark.browser, pytest.mark.proof, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def short(settings):
    settings.QUALIFY_ITEMS, settings.QUALIFY_WITHIN_ONE, settings.QUALIFY_EXACT = 2, 2, 1
    settings.CARD_DISTANCE = 0
    return settings


def rate(page: Page, level: int) -> None:
    """Rate the card in hand as any other."""
    expect(page.get_by_role("heading", name="A response to rate")).to_be_visible()
    expect(page.locator(f"#level-{level}")).not_to_be_checked()
    page.locator(".level", has=page.locator(f"#level-{level}")).click()
    page.get_by_label("Words from the response").fill("how heavy this is for you")
    page.get_by_role("button", name="Submit rating").click()


@pytest.mark.parametrize("script", [True, False])
def test_practice_shows_what_was_agreed_and_goes_on(sign_in, short, script):
    make_seeds(2, "practice")
    page = sign_in(make_rater(), java_script_enabled=script)
    page.get_by_role("link", name="Practice and qualification").click()
    page.get_by_role("button", name="Practise").click()
    rate(page, 5)

    expect(page.get_by_role("heading", level=1)).to_have_text("What the panel agreed on")
    expect(page.locator("main")).to_contain_text(
        "You chose 5, Exemplary. The panel agreed on 3, Functional. Here is why."
    )
    page.get_by_role("button", name="Next practice response").click()
    rate(page, 3)
    expect(page.locator("main")).to_contain_text("2 of 2 done")
    assert Rating.objects.filter(kind="practice").count() == 2


def test_a_qualification_without_feedback_ends_on_its_result(sign_in, short):
    make_seeds(2, "qualification")
    page = sign_in(make_rater())
    page.goto(reverse("rating:practice"))
    page.get_by_role("button", name="Begin").click()
    rate(page, 3)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    rate(page, 1)

    expect(page.get_by_role("heading", level=1)).to_have_text("Model Index: not yet")
    expect(page.locator("main")).to_contain_text(
        "Not yet. 1 of 2 were within one level; the rule asks for 2."
    )
    assert not Qualification.objects.get().passed


def test_a_vote_and_its_settlement(sign_in, short):
    wave = make_wave(make_bank(bank_data(1)))
    seeding.nominate(wave, 1, make_user(), now=timezone.now())
    vote(make_rater(), 2)
    senior = make_rater()
    senior.senior = True
    senior.save()
    page = sign_in(senior)
    page.get_by_role("link", name="Vote").click()
    page.get_by_role("button", name="Vote on the next").click()
    rate(page, 4)
    expect(page.locator("main")).to_contain_text("There is nothing for you to vote on right now.")

    page = sign_in(make_user(Role.ADJUDICATOR))
    page.goto(reverse("rating:norming"))
    page.get_by_role("link", name="Settle").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Settle what was agreed")
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("#summary")).to_be_focused()
    page.locator(".level", has=page.locator("#level-3")).click()
    page.get_by_label("how heavy this is for you").first.check()
    page.locator("#reasons").fill("It hears her.")
    page.get_by_label("Practice: raters see").check()
    page.get_by_role("button", name="Settle").click()

    expect(page.locator("main")).to_contain_text("Agreed at")
    assert Seed.objects.get().anchor.level == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_while_somebody_becomes_a_rater(sign_in, short, scheme, width):
    make_seeds(1, "practice")
    make_seeds(2, "qualification")
    wave = make_wave(make_bank(bank_data(1)))
    seeding.nominate(wave, 1, make_user(), now=timezone.now())
    for level in (2, 4):
        vote(make_rater(), level)
    person = make_user(Role.RATER, Role.ADJUDICATOR, Role.MAINTAINER)
    person.senior = True
    person.save()
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    page = sign_in(person, **options)

    def clean(path: str = "") -> None:
        if path:
            page.goto(path)
        assert faults_of(page) == [], page.url
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url

    clean(reverse("rating:practice"))
    page.get_by_role("button", name="Practise").click()
    rate(page, 5)
    expect(page.get_by_role("heading", level=1)).to_have_text("What the panel agreed on")
    clean()
    page.goto(reverse("rating:practice"))
    page.get_by_role("button", name="Begin").click()
    rate(page, 3)
    expect(page.locator("#said")).to_contain_text("Rating saved at")
    rate(page, 1)
    expect(page.get_by_role("heading", level=1)).to_have_text("Model Index: not yet")
    page.locator("summary").first.click()
    clean()
    clean(reverse("rating:practice"))
    clean(reverse("rating:vote"))
    clean(reverse("rating:norming"))
    clean(reverse("rating:agree", args=[Norming.objects.get(response__run__wave=wave).code]))
    page.get_by_role("button", name="Settle").click()
    expect(page.locator("#summary")).to_be_visible()
    clean()
    pause(person, None, "5 of your last 10.", "They stay.", now=timezone.now())
    clean(reverse("rating:standing"))
