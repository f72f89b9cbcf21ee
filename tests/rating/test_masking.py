"""Names in replies: decided before anybody rates, covered on every card, and every place stays."""

import pytest
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.adjudication import card_of
from rating.blinding import Card
from rating.masking import Refused, decide, handle_of, named_in
from rating.models import Adjudication, Assignment, Event, Exposure, Saw, Slot
from rating.queue import lease, rate
from rating.quotes import Span, find
from rating.wave_report import export_rows
from runs.masks import masked
from runs.models import Response
from runs.self_naming import find_naming
from tests.factories import bank_data, given, leased, make_bank, make_rater, make_user, make_wave

pytestmark = pytest.mark.django_db

TEXT = "I hear how heavy this is. I am Claude, and I stay with you. Claude is only a name."
COVERED = "I hear how heavy this is. I am ██████, and I stay with you. ██████ is only a name."


@pytest.fixture
def named() -> Response:
    """A response that names its maker, as it comes from the wire: nobody is dealt it yet."""
    found = [(one.start, one.end, one.term) for one in find_naming(TEXT)]
    make_wave(make_bank(bank_data(1)), text=TEXT, naming=found)
    return Response.objects.select_related("run__wave").get()


def cover(response, *, how=True):
    decide(response, make_user("maintainer"), cover=how, now=timezone.now())
    response.refresh_from_db()


def test_a_reply_that_names_its_maker_is_not_dealt_before_somebody_decides(named):
    assert not Slot.objects.exists()

    cover(named, how=False)

    assert Slot.objects.count() == 2
    assert Card.of(leased(make_rater())).text == TEXT


def test_raters_and_adjudicators_see_blocks_and_the_text_stays_verbatim(named, client):
    cover(named)
    rater = make_rater()
    card = Card.of(leased(rater))
    settling = Adjudication(response=named, opened_at=timezone.now())

    assert card.text == card_of(settling).text == COVERED
    assert card.covered
    assert named.text == TEXT
    client.force_login(rater)
    page = client.get(reverse("rating:queue"))
    assertContains(page, "██████")
    assertContains(page, "stands where a name is covered")
    assertNotContains(page, "Claude, and I stay")


def test_a_quote_is_kept_as_places_in_the_verbatim_text_and_shown_covered(named):
    cover(named)
    card = leased(make_rater())
    span = find(Card.of(card).text, "I am ██████, and I stay")

    rating = rate(card, given(quotes=((span, False),)), now=timezone.now())

    kept = rating.quotes.get()
    assert TEXT[kept.start : kept.end] == "I am Claude, and I stay"
    (row,) = export_rows(named.run.wave)
    assert row.quotes == ("I am ██████, and I stay",)


def test_the_place_of_every_other_word_is_as_before(named):
    cover(named)

    for words in ("I hear how heavy", "and I stay with you", "is only a name"):
        assert (
            find(COVERED, words)
            == find(TEXT, words)
            == Span(TEXT.index(words), TEXT.index(words) + len(words))
        )


def test_once_somebody_has_it_what_raters_see_stays(named):
    cover(named)
    card = leased(make_rater())
    with pytest.raises(Refused, match="Somebody has this response already"):
        cover(named, how=False)
    rate(card, given(), now=timezone.now())

    with pytest.raises(Refused):
        cover(named, how=False)
    with pytest.raises(DatabaseError, match="before any of them reads"), transaction.atomic():
        Response.objects.filter(pk=named.pk).update(mask=[])
    with pytest.raises(DatabaseError, match="before any of them reads"), transaction.atomic():
        Response.objects.filter(pk=named.pk).update(mask_decided_at=None)


def test_freezing_says_how_many_wait(named, client):
    client.force_login(make_user("maintainer"))

    page = client.get(reverse("rating:freeze", args=[named.run.wave.code]))

    assertContains(page, "Replies that name their maker, not decided")


def test_until_then_it_can_be_decided_otherwise_and_each_time_is_in_the_log(named):
    cover(named)
    cover(named, how=False)

    assert named.mask == []
    assert [event.about for event in Event.objects.filter(kind="mask").order_by("pk")] == [
        {"response": str(named.code), "names": "2"},
        {"response": str(named.code), "names": "0"},
    ]
    assert Slot.objects.count() == 2


def test_nothing_is_decided_once_rating_has_closed(named):
    wave = named.run.wave
    type(wave).objects.filter(pk=wave.pk).update(ratings_frozen_at=timezone.now())

    with pytest.raises(Refused, match="Rating has closed"):
        cover(named)


def test_the_page_shows_the_words_about_the_name_and_no_code_of_the_response(named, client):
    client.force_login(make_user("maintainer"))

    page = client.get(reverse("rating:names", args=[named.run.wave.code]))

    assertContains(page, '<mark class="name">Claude</mark>', count=2)
    assertContains(page, "Not decided")
    for hidden in (named.code, named.code.hex, named.run.subject.snapshot, named.item.code):
        assertNotContains(page, str(hidden))


def test_whoever_reads_it_no_longer_rates_that_wave(named, client):
    both = make_user("maintainer", "rater")
    client.force_login(both)

    client.get(reverse("rating:names", args=[named.run.wave.code]))
    cover(named)

    assert Exposure.objects.filter(person=both, saw=Saw.SUBJECTS).count() == 1
    assert not isinstance(lease(both, now=timezone.now()), Assignment)


def test_a_maintainer_covers_a_name_on_the_page(named, client):
    client.force_login(make_user("maintainer"))
    wave = named.run.wave.code
    address = reverse("rating:cover", args=[wave, handle_of(named)])

    assert client.post(address, {"do": "nothing"}).status_code == 404
    answer = client.post(address, {"do": "cover"}, follow=True)

    assertRedirects(answer, reverse("rating:names", args=[wave]))
    assertContains(answer, "The name is covered")
    named.refresh_from_db()
    assert masked(named.text, named.mask) == COVERED


@pytest.mark.parametrize("role", ["rater", "item reviewer", "adjudicator", "admin"])
def test_nobody_else_has_such_a_page(named, client, role):
    client.force_login(make_user(role))
    wave = named.run.wave.code

    assert client.get(reverse("rating:names", args=[wave])).status_code == 404
    address = reverse("rating:cover", args=[wave, handle_of(named)])
    assert client.post(address, {"do": "cover"}).status_code == 404


def test_a_wave_without_such_replies_says_so_and_nothing_is_put_on_record(client):
    wave = make_wave()
    client.force_login(make_user("maintainer"))

    page = client.get(reverse("rating:names", args=[wave.code]))

    assertContains(page, "No reply of this wave says who made it.")
    assert not Exposure.objects.exists()


def test_many_are_shown_a_page_at_a_time_and_deciding_stays_on_it(client, monkeypatch):
    monkeypatch.setattr("rating.masking.ON_A_PAGE", 2)
    found = [(one.start, one.end, one.term) for one in find_naming(TEXT)]
    wave = make_wave(make_bank(bank_data(1)), text=TEXT, naming=found, trials=5)
    client.force_login(make_user("maintainer"))
    names = reverse("rating:names", args=[wave.code])

    first, last = client.get(names), client.get(names, {"page": "3"})
    handle = first.context["page"][0].handle
    answer = client.post(
        reverse("rating:cover", args=[wave.code, handle]), {"do": "cover", "page": "2"}
    )

    assertContains(first, "Reply 2 of 5")
    assertContains(last, "Reply 5 of 5")
    assertNotContains(last, "Reply 2 of 5")
    assertRedirects(answer, f"{names}?page=2")
    shown = [one.handle for page in "123" for one in named_in(wave, page)]
    assert (len(set(shown)), shown[-1]) == (5, handle), "what is decided goes to the end"


def test_the_undecided_come_first(named):
    twin = Response.objects.get()
    assert [one.decided_at for one in named_in(twin.run.wave)] == [None]

    cover(named)

    assert named_in(twin.run.wave)[0].covered
