"""The maintainers' page of those who rate."""

import pytest
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from rating.models import Pause, Role
from rating.raters import links_of, rater_lines
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave, rated

pytestmark = pytest.mark.django_db


@pytest.fixture
def maintainer(client):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


def test_raters_stand_by_code_name_with_their_counts_and_no_result(client, maintainer):
    make_wave()
    busy, idle = make_rater(), make_rater()
    rated(busy, active_seconds=1800)
    rated(busy, active_seconds=1800)

    lines = {line.pseudonym: line for line in rater_lines()}

    assert (lines[busy.pseudonym].counted, lines[busy.pseudonym].active_hours) == (2, 1.0)
    assert (lines[idle.pseudonym].counted, lines[idle.pseudonym].last_at) == (0, None)
    assert [line.pseudonym for line in rater_lines()] == sorted(lines)
    page = client.get(reverse("rating:raters"))
    assertContains(page, busy.pseudonym)
    assert busy.email not in page.content.decode()


def test_it_says_whether_raters_are_linked_by_responses_they_share():
    wave = make_wave(make_bank(bank_data(2)))
    assert links_of(wave).raters == 0

    one, other = make_rater(), make_rater()
    rated(one)
    assert links_of(wave).whole
    rated(other)
    assert links_of(wave).groups == (tuple(sorted([one.pseudonym, other.pseudonym])),)


def test_a_maintainer_pauses_somebody_with_words_they_will_read_and_ends_it(client, maintainer):
    rater = make_rater()
    url = reverse("rating:pause_rater", args=[rater.pseudonym])
    assert client.post(url, {"reason": ""}).status_code == 422
    assert not Pause.objects.exists()

    fields = {"reason": "Let us talk.", "earlier_ratings": "They stay."}
    assertRedirects(client.post(url, fields), reverse("rating:raters"))
    pause = Pause.objects.get()
    assert (pause.person, pause.paused_by, pause.reason) == (rater, maintainer, "Let us talk.")
    assertContains(client.get(reverse("rating:raters")), "Let us talk. They stay.")

    client.post(reverse("rating:resume_rater", args=[rater.pseudonym]))
    pause.refresh_from_db()
    assert pause.ended_by == maintainer


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN])
def test_only_maintainers_see_it(client, role):
    person = make_user(role)
    client.force_login(person)

    assert client.get(reverse("rating:raters")).status_code == 404
    url = reverse("rating:pause_rater", args=[person.pseudonym])
    assert client.post(url, {"reason": "x", "earlier_ratings": "y"}).status_code == 404


def test_the_page_asks_no_more_for_more_raters(client, maintainer, django_assert_max_num_queries):
    make_wave()
    for _ in range(12):
        make_rater()

    with django_assert_max_num_queries(12):
        client.get(reverse("rating:raters"))
