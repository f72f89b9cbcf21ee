"""A whole wave by the pages alone, as a new maintainer would plan, lock, start and watch it."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rating.models import Role
from runs.models import RunState, Wave
from runs.plan_file import parse_data
from runs.tasks import fetch_chunk
from runs.waves import lock_wave, save_draft, start_wave
from tests.browser.test_room import faults_of
from tests.factories import make_bank, make_user, pair_bank_data
from tests.runs.factories import BankFactory
from tests.runs.test_run_command import DEMO_PLAN

pytestmark = [pytest.mark.proof, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PICTURES = os.environ.get("PICTURES")


@pytest.fixture(autouse=True)
def _no_message_leaves(monkeypatch):
    monkeypatch.setattr(fetch_chunk, "delay", lambda run_id: None)


def save(page: Page) -> None:
    page.locator("main").get_by_role("button", name="Save draft").last.click()
    expect(page.locator(".messages")).to_contain_text("Saved. It is a draft")


def worker() -> None:
    for run in Wave.objects.get().runs.filter(state=RunState.ASKING):
        fetch_chunk(run_id=run.pk)


@pytest.mark.parametrize("script", [True, False])
def test_a_whole_wave_is_run_by_the_pages_alone(sign_in, script):
    BankFactory(name="Model Index demo", version="demo-1", items=5)
    page = sign_in(make_user(Role.MAINTAINER), java_script_enabled=script)
    page.get_by_role("link", name="Waves").click()
    page.get_by_role("link", name="New wave").click()

    # What it is. A trial too few is said, and nothing is lost.
    page.get_by_label("Title").fill("Autumn pilot")
    page.get_by_label("Code").fill("autumn")
    page.get_by_label("Kind").select_option("pilot")
    page.get_by_label("Bank").select_option("Model Index demo demo-1")
    page.get_by_label("Trials of each item").fill("2")
    page.get_by_role("button", name="Save draft").click()
    expect(page.locator("#summary")).to_contain_text("2 is too few: plan at least 3")
    expect(page.get_by_label("Title")).to_have_value("Autumn pilot")
    page.get_by_label("Trials of each item").fill("3")
    save(page)
    expect(page.locator("main")).to_contain_text("Before the plan can be locked")

    # Who is asked: two subjects, one condition for both and one for the first alone.
    page.get_by_role("link", name="Change who is asked").click()
    page.get_by_role("button", name="Add a subject").click()
    page.get_by_role("button", name="Add a condition").click()
    for number, name in enumerate(("kind-2026-01-01", "kind-2026-02-02")):
        box = page.get_by_role("group", name=f"Subject {number + 1}")
        box.get_by_label("Developer").fill("Lab")
        box.get_by_label("Family").fill("Kind")
        box.get_by_label("Snapshot").fill(name)
        box.get_by_label("Provider").select_option("demo")
    box = page.get_by_role("group", name="Condition 2")
    box.get_by_label("Name").fill("warm")
    box.get_by_label("For").select_option("Subject 1")
    box.get_by_label("System message").fill("Be warm.")
    save(page)
    expect(page.locator("main")).to_contain_text("5 items × 3 trials × 3 runs = 45")

    # What is declared, and what it may cost.
    page.get_by_role("link", name="Change what is declared").click()
    page.get_by_label("Pre-registration").fill("We compare two builds, and one of them warm.")
    for box in page.get_by_role("group", name="Comparisons").get_by_role("checkbox").all():
        box.check()
    page.get_by_label("Exclusion rule").fill("A subject with over 10% failed is left out.")
    page.get_by_label("Agreement floor").fill("0.6")
    save(page)
    page.get_by_role("link", name="Change prices and ceiling").click()
    for field in page.get_by_label("A million tokens").all():
        field.fill("2")
    page.get_by_label("Ceiling").fill("10")
    save(page)

    # It is read, locked and started.
    page.get_by_role("link", name="Lock plan").click()
    expect(page.locator("main")).to_contain_text("90 ratings, 2 of each response")
    page.get_by_label("I have read what it takes").check()
    page.get_by_role("button", name="Lock plan").click()
    expect(page.locator("[aria-current='step']")).to_contain_text("Locked, now")
    page.get_by_role("button", name="Start asking").click()

    # One run is paused, resumed and asked to its end; another is cancelled.
    page.get_by_label("Which").select_option(index=1)
    page.get_by_label("Reason", exact=True).first.fill("To look at the first replies.")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator("#progress")).to_contain_text("is paused: To look at the first replies.")
    page.get_by_label("Which").select_option(index=2)
    page.get_by_label("Reason", exact=True).first.fill("It is not needed.")
    page.get_by_role("button", name="Cancel for good").click()
    expect(page.locator("#progress")).to_contain_text("15 trials not asked")
    page.get_by_label("Reason", exact=True).first.fill("They are as they should be.")
    page.get_by_role("button", name="Resume").click()
    worker()
    page.get_by_role("link", name="Refresh").click()
    expect(page.locator("#progress")).to_contain_text("30 of 45")

    # What was done otherwise is appended.
    page.get_by_text("Append a deviation").click()
    page.get_by_label("What is done otherwise").fill("One run was cancelled.")
    page.get_by_role("button", name="Append deviation").click()
    expect(page.locator(".deviations")).to_contain_text("after data had come: One run was")
    wave = Wave.objects.get()
    assert sorted(wave.runs.values_list("state", flat=True)) == ["cancelled", "done", "done"]


def test_a_plan_file_is_loaded_and_loaded_again(sign_in, tmp_path):
    BankFactory(name="Model Index demo", version="demo-1", items=5)
    file = tmp_path / "plan.toml"
    file.write_text(DEMO_PLAN)
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("runs:new"))
    page.get_by_label("Plan file", exact=True).set_input_files(file)
    page.get_by_role("button", name="Load file").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A demo")

    file.write_text(DEMO_PLAN.replace("A demo", "The same, renewed"))
    page.get_by_label("Plan file", exact=True).set_input_files(file)
    page.get_by_role("button", name="Load file").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("The same, renewed")
    assert Wave.objects.count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing_from_a_new_wave_to_its_progress(sign_in, scheme, width):
    bank = make_bank(pair_bank_data(10))
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    page = sign_in(make_user(Role.MAINTAINER), **options)

    def clean(name: str) -> None:
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{width}.png", full_page=True)
        assert faults_of(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name

    page.goto(reverse("runs:new"))
    clean("new")
    page.get_by_role("button", name="Save draft").click()
    clean("new-errors")
    wave = save_draft(parse_data(DEMO_PLAN.replace("Model Index demo demo-1", str(bank)).encode()))
    for name in ("wave", "basics", "subjects", "preregistration", "cost", "delete", "lock"):
        page.goto(reverse(f"runs:{name}", args=[wave.code]))
        clean(name)
    page.get_by_role("button", name="Lock plan").click()
    clean("lock-errors")
    for name in ("basics", "subjects", "preregistration", "cost", "lock"):
        page.goto(reverse(f"runs:{name}", args=[wave.code]))
        wave = save_draft({**wave.plan, "title": f"Changed while {name} is open"})
        if name == "lock":
            page.get_by_label("I have read").check()
        page.locator(".part-form button, form.stack button").last.click()
        expect(page.get_by_text("Somebody else changed this draft")).to_be_visible()
        clean(f"{name}-moved")
    start_wave(lock_wave(wave))
    worker()
    page.goto(reverse("runs:wave", args=[wave.code]) + "?still")
    clean("wave-asked")
    page.goto(reverse("runs:waves"))
    clean("waves")
