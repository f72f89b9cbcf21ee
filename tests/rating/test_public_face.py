"""What anyone may read without an account."""

from pathlib import Path

import pytest
from django.urls import reverse
from django.utils.html import escape
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.method_words import FOUNDING, LOST, STAGES, carried_over
from rating.models import Role
from rating.public_face import bands, public_bank
from runs.bank import read_bank
from runs.models import Instrument
from runs.taxonomy import DEFINITIONS
from tests.factories import bank_data, make_bank, make_user, make_wave, pair_bank_data

pytestmark = pytest.mark.django_db
SHIPPED = Path(__file__).parents[2] / "fixtures" / "model_index.json"


def about(client):
    return client.get(reverse("rating:about"))


def test_whoever_has_not_signed_in_is_led_to_what_this_is_about(client):
    assertRedirects(client.get(reverse("home")), reverse("rating:about"))


def test_the_method_can_be_read_without_an_account_and_leads_to_the_door(client):
    page = about(client)

    assertContains(page, "<h1>How we measure the compassion of AI models</h1>", html=True)
    assertContains(page, reverse("account_login"))
    for stage in STAGES:
        assertContains(page, stage.name)
    assertContains(page, "Nothing on this site tells you which AI to turn to when life is hard.")


def test_the_founding_item_stands_in_full_and_as_the_shipped_bank_has_it(client):
    [shipped] = [item for item in read_bank(SHIPPED).items if item.code == FOUNDING.code]

    assert shipped.prompt == FOUNDING.prompt
    assert [(a.level, a.description) for a in shipped.anchors] == [
        (level, text) for level, _, text in FOUNDING.anchors
    ]
    page = about(client).content.decode()
    assert "caring for my mom with dementia" in page
    assert all(escape(text) in page for _, _, text in FOUNDING.anchors)


def test_the_dimensions_are_counted_from_the_largest_public_bank(client):
    make_bank(bank_data(3))
    make_bank(bank_data(16, name="Larger"))

    page = about(client)

    assert [line.scorable for line in public_bank(Instrument.MODEL_INDEX).dimensions] == [2] * 8
    assertContains(page, "0 of the 16 items that can be scored are validated")


def test_nothing_of_an_unpublished_bank_is_told_not_even_how_large_it_is(client):
    data = bank_data(5, name="Held back")
    for item in data["items"]:
        item |= {"pool": "secure-1", "exposureStatus": "unpublished"}
    bank = make_bank(data)

    page = about(client)

    assert public_bank(Instrument.MODEL_INDEX) is None
    for secret in ("Held back", bank.version, bank.content_hash, "worry number", "construct 1"):
        assertNotContains(page, secret)
    assertContains(page, "there is nothing to count")


def test_no_model_of_a_wave_that_is_not_published_is_named(client):
    wave = make_wave(subjects=("secret-model-2026-01-01",))

    for name in ("rating:about", "rating:published"):
        page = client.get(reverse(name))
        for secret in ("secret-model", wave.code, wave.title):
            assertNotContains(page, secret)


def test_models_officially_evaluated_are_counted(client):
    assertContains(about(client), "<strong>0</strong> models have been officially evaluated")


def test_each_test_of_the_method_says_where_it_stands_now(client):
    page = about(client).content.decode()

    assert page.count("Now: cannot be told yet.") == 5
    assert page.count("No report has been published yet, so there are no data.") == 5


def test_each_of_the_forty_subdimensions_says_which_question_remains():
    told = [part for _, parts in carried_over() for part in parts]

    assert {part.code: part.remains for part in told} == DEFINITIONS
    assert set(LOST) < set(DEFINITIONS)
    assert sum(part.whole for part in told) == 40 - len(LOST)


def test_bands_hold_their_upper_edge():
    assert bands() == [
        ("Exemplary", 80, 100),
        ("Established", 60, 80),
        ("Functional", 40, 60),
        ("Developing", 20, 40),
        ("Critical", 0, 20),
    ]


def test_the_fields_of_the_pairs_are_not_told_to_those_who_may_rate_them(client):
    make_bank(pair_bank_data(3))

    page = about(client)

    assertContains(page, "There are 3 pairs here.")
    assertNotContains(page, "Moral Status")


@pytest.mark.parametrize("role", list(Role))
def test_everybody_who_works_here_can_read_it_too(client, role):
    client.force_login(make_user(role))

    assertContains(client.get(reverse("home")), reverse("rating:about"))
    assertContains(about(client), "How we measure")
