"""Figures of a large wave: a worker makes them, and pages show what it made last."""

import pytest
from django.core.cache import caches
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import aside
from rating.models import Exposure, Role
from rating.publications import Publication
from rating.tasks import work_out
from runs.models import Wave
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave, rated

LOOKS_AGAIN = {"HX-Request": "true", "HX-Trigger": "being-made"}


@pytest.fixture
def wave(db, monkeypatch):
    """A wave that counts as large, rated twice."""
    monkeypatch.setattr(aside, "LARGE", 0)
    caches["figures"].clear()
    made = make_wave(make_bank(bank_data(4)), subjects=("a-2026-01-01", "b-2026-01-01"))
    for rater in (make_rater(), make_rater()):
        for level in (2, 3, 4):
            rated(rater, level)
    return made


@pytest.fixture
def asked(monkeypatch):
    """What workers are asked to do, in order."""
    found = []
    monkeypatch.setattr(work_out, "delay", lambda **about: found.append(about))
    return found


@pytest.fixture
def look(client, django_capture_on_commit_callbacks):
    client.force_login(make_user(Role.MAINTAINER))

    def ask(name, *args, **more):
        with django_capture_on_commit_callbacks(execute=True):
            return client.get(reverse(name, args=args), **more)

    return ask


PAGES = ("rating:agreement", "rating:report", "rating:gate")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_waits_for_a_worker_and_then_shows_what_it_made(wave, look, asked, name):
    assertContains(look(name, wave.code), "Being worked out")
    assert not Exposure.objects.exists()

    work_out(**asked[0])

    page = look(name, wave.code)
    assertContains(page, "worked out by a worker at")
    assertNotContains(page, "Newer ones")
    assert len(asked) == 1


def test_the_effects_of_raters_wait_too(wave, look, asked):
    assertContains(look("rating:effects"), "Being worked out")
    work_out(**asked[0])
    assertContains(look("rating:effects"), "worked out by a worker at")


def test_many_who_wait_have_it_made_once(wave, look, asked):
    for _ in range(3):
        look("rating:agreement", wave.code)
    assert len(asked) == 1


def test_after_another_rating_the_old_figures_stand_while_new_ones_are_made(wave, look, asked):
    look("rating:agreement", wave.code)
    work_out(**asked[0])
    rated(make_rater(), 5)

    assertContains(look("rating:agreement", wave.code), "Newer ones are being worked out now")
    work_out(**asked[1])
    assertNotContains(look("rating:agreement", wave.code), "Newer ones")


def test_the_waiting_part_looks_again_until_the_page_is_loaded_anew(wave, look, asked):
    look("rating:agreement", wave.code)
    part = look("rating:agreement", wave.code, headers=LOOKS_AGAIN)
    assertContains(part, 'hx-trigger="every 5s"')
    assertNotContains(part, "<html")

    work_out(**asked[0])

    assert look("rating:agreement", wave.code, headers=LOOKS_AGAIN)["HX-Refresh"] == "true"


def test_what_fails_is_asked_for_again(wave, look, asked, monkeypatch):
    look("rating:agreement", wave.code)
    monkeypatch.setitem(aside._makers, "agreement", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        work_out(**asked[0])

    look("rating:agreement", wave.code)

    assert len(asked) == 2


def test_another_look_is_made_by_itself(wave, look, asked):
    look("rating:agreement", wave.code)
    work_out(**asked[0])

    page = look("rating:agreement", wave.code, query_params={"by": "item"})

    assertContains(page, "Being worked out")
    assert [one["about"]["by"] for one in asked] == ["dimension", "item"]


@pytest.mark.parametrize("name", ["ratings.csv", "ratings_wide.csv", "facets.csv", "facets.txt"])
def test_a_file_of_single_ratings_is_made_with_all_the_others(wave, look, asked, name):
    answer = look("rating:report_file", wave.code, name)

    to = f"{reverse('rating:report', args=[wave.code])}#files-title"
    assertRedirects(answer, to, fetch_redirect_response=False)
    assert not Exposure.objects.exists()


def test_a_file_of_figures_is_made_of_what_is_kept(wave, look, asked):
    assertContains(look("rating:report_file", wave.code, "report.json"), "Being worked out")
    work_out(**asked[0])
    assertContains(look("rating:report_file", wave.code, "report.json"), "Being worked out")
    work_out(**asked[1])
    assert look("rating:report_file", wave.code, "report.json").json()["wave"] == wave.code


def test_of_few_ratings_a_page_works_it_out_itself(wave, look, asked, monkeypatch):
    monkeypatch.setattr(aside, "LARGE", 1_000)
    assertNotContains(look("rating:agreement", wave.code), "worked out by a worker")
    assert asked == []


def test_a_large_report_is_ready_before_its_form_is_shown_and_published_as_it_was_read(
    wave, look, asked, client
):
    end = timezone.now()
    Wave.objects.filter(pk=wave.pk).update(ratings_frozen_at=end)
    Wave.objects.filter(pk=wave.pk).update(unblinded_at=end)
    page = reverse("rating:whole_report", args=[wave.code])

    assertContains(look("rating:whole_report", wave.code), "Being worked out")
    work_out(**asked[0])
    assertContains(look("rating:whole_report", wave.code), "Being worked out")
    work_out(**asked[1])
    assertContains(look("rating:whole_report", wave.code), "Publish")
    ready = aside.figures("publishable", Wave.objects.get(pk=wave.pk)).value
    answer = client.post(page, {"do": "publish", "reason": "It is done.", "read": "on"})

    assert [one["what"] for one in asked] == ["publishable", "content"]
    assertRedirects(answer, page, fetch_redirect_response=False)
    made = Publication.objects.get()
    assert (made.text, bytes(made.bundle)) == (ready.text, ready.bundle)
