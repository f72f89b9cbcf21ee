"""The whole way: a bank file, a run, replies, two people in a browser, the maintainer's report."""

import json

import pytest
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Rating, Role
from runs.models import Run
from runs.tasks import fetch_chunk
from tests.browser.conftest import press_until
from tests.factories import bank_data, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PLAN = """
code = "walk"
title = "A walk"
kind = "local"
bank = "Model Index walk"
seed = "1"
trials = 1
ranges_only = true
preregistration = "Nothing is compared."

[[subjects]]
developer = "Compassion"
family = "Scripted demo"
snapshot = "demo-2026-11-30"
provider = "demo"

[[subjects.conditions]]
name = "default"
system_message = ""
"""
LEVELS = {"AWR-1-A": (2, 2), "EMP-1-A": (1, 3), "ACT-1-A": (4, 5), "EQU-1-A": (5, 5)}


@pytest.fixture
def responses(tmp_path):
    """A bank out of a file, a plan out of a file, and a scripted subject's replies to it."""
    (tmp_path / "bank.json").write_text(json.dumps(bank_data(4, bankVersion="walk")))
    (tmp_path / "plan.toml").write_text(PLAN)
    call_command("bank", "import", str(tmp_path / "bank.json"), verbosity=0)
    call_command("run", "plan", str(tmp_path / "plan.toml"), "--lock", verbosity=0)
    run = Run.objects.get()
    Run.objects.update(state="asking")
    fetch_chunk(run_id=run.pk)
    assert run.responses.count_by_status()["completed"] == 4
    return run.responses


def select_words(page: Page, words: int) -> None:
    """Select the first words of the response and stop inside the last one, as a mouse does."""
    page.evaluate(
        """(words) => {
            const node = document.querySelector("#came-back [data-at]").firstChild;
            const found = [...node.data.matchAll(/\\S+/g)][words - 1];
            const end = found.index + Math.ceil(found[0].length / 2);
            document.getSelection().setBaseAndExtent(node, 0, node, end);
        }""",
        words,
    )


def rate_four_cards(page: Page, place: int) -> None:
    """Rate all four responses by keyboard: select, Q, a digit, Ctrl+Enter."""
    page.get_by_role("link", name="Start rating").or_(
        page.get_by_role("button", name="Start rating")
    ).first.click()
    start = page.get_by_role("button", name="Start rating")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("Hello")
    if start.is_visible():
        start.click()
    for rated in range(4):
        heading = page.get_by_role("heading", name="A response to rate")
        if rated:
            expect(heading).to_be_focused()
        expect(heading).to_be_visible()
        asked = page.locator(".turn-text").inner_text()
        code = next(
            code for number, code in enumerate(LEVELS) if asked.endswith(f"number {number}?")
        )
        select_words(page, 5)
        expect(page.locator("#pick-count")).to_have_text("5 words")
        quotes = page.locator("#quotes > li")
        press_until(
            page, "q", lambda wait, quotes=quotes: expect(quotes).to_have_count(1, timeout=wait)
        )
        level = page.locator(f"#level-{LEVELS[code][place]}")
        press_until(
            page,
            str(LEVELS[code][place]),
            lambda wait, level=level: expect(level).to_be_checked(timeout=wait),
        )
        page.keyboard.press("Control+Enter")
        if rated < 3:
            expect(page.locator("#said")).to_contain_text("Rating saved at")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing to rate")


def test_from_a_bank_file_to_the_numbers_of_a_report(responses, sign_in):
    one, other = make_user(Role.RATER), make_user(Role.RATER)
    maintainer = make_user(Role.MAINTAINER)

    for place, rater in enumerate((one, other)):
        rate_four_cards(sign_in(rater), place)

    counted = Rating.objects.counted()
    for code, levels in LEVELS.items():
        given = counted.filter(response__item__code=code).order_by("slot")
        assert {rating.rater: rating.anchor.level for rating in given} == {
            one: levels[0],
            other: levels[1],
        }
        for rating in given:
            [quote] = rating.quotes.all()
            assert len(rating.response.text[quote.start : quote.end].split()) == 5

    page = sign_in(maintainer)
    page.goto(reverse("rating:report", args=["walk"]))
    page.get_by_text("Show the numbers").click()
    overall = page.get_by_role("row").filter(has_text="All together")
    # Ratings, units, pairable units, raters; the same level in 2 of 4, within one in 3 of 4.
    cells = overall.get_by_role("cell").all_inner_texts()
    assert cells[:4] == ["8", "4", "4", "2"]
    assert cells[4].startswith("50%")
    assert cells[5].startswith("75%")
    # Krippendorff's ordinal alpha of (2,2) (1,3) (4,5) (5,5), by an independent computation.
    assert cells[6].startswith("0.71")
