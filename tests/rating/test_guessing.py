"""Asking who made a response: of whom, when, how often, and what is kept and shown of it."""

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating import guessing
from rating.makers import is_drawn
from rating.models import Assignment, Guess, Kind, Rating, Role
from rating.queue import hand, rate, rate_and_lease, undo, void
from rating.wave_report import wave_report
from runs.models import Response, Wave
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    rated,
)
from tests.rating.test_becoming import FORBIDDEN, words_of
from tests.rating.test_guards import store

pytestmark = pytest.mark.django_db

QUESTION = "Which model do you think wrote the response you have just rated?"
QUOTE = "0-24"


@pytest.fixture(autouse=True)
def everybody_is_asked(settings):
    settings.GUESS_PERCENT, settings.CARD_DISTANCE = 100, 0
    return settings


@pytest.fixture
def rater(client):
    rater = make_rater()
    client.force_login(rater)
    return rater


def post(client, name, card, *, htmx=False, **fields):
    headers = {"HX-Request": "true"} if htmx else {}
    return client.post(reverse(f"rating:{name}", args=[card.code]), fields, headers=headers)


def submit(client, card, **options):
    return post(client, "rate", card, do="submit", level=3, quote=QUOTE, **options)


def asked(rating) -> bool:
    return guessing.ask(rating, now=timezone.now())


@pytest.mark.parametrize("htmx", [False, True])
def test_after_the_rating_is_stored_its_rater_is_asked_once_and_then_gets_the_next_card(
    client, rater, htmx
):
    make_wave()
    card = leased(rater)

    page = submit(client, card, htmx=htmx)

    assertContains(page, QUESTION)
    assertContains(page, "It changes nothing about your rating, and you are never told.")
    assertContains(page, "Rating saved at")
    assert Rating.objects.count() == 1
    held = Assignment.objects.live().get()
    page = post(client, "guess", card, htmx=htmx, do="answer", maker="OpenAI", sure="unsure")
    if not htmx:
        page = client.get(page.url)
    assertContains(page, held.response.item.prompt)
    assertContains(page, "Rating saved at")
    guess = Guess.objects.get()
    assert (guess.maker, guess.sure) == ("OpenAI", "unsure")
    assert guess.answered_at is not None


def test_i_do_not_know_comes_first_and_no_answer_is_chosen_beforehand(client, rater):
    make_wave()

    page = submit(client, leased(rater)).content.decode()

    names = ["I don’t know", "Alibaba", "Anthropic", "xAI", "Another"]
    places = [page.index(f"> {name}</label>") for name in names]
    assert places == sorted(places)
    form = page[page.index('id="guess-form"') :].partition("</form>")[0]
    assert " checked" not in form
    assert form.count('class="button-quiet"') == 2


def test_the_page_of_the_question_holds_no_forbidden_word(client, rater):
    make_wave()

    assert FORBIDDEN.findall(words_of(submit(client, leased(rater)))) == []


def test_not_knowing_is_an_answer_and_not_now_is_none(client, rater):
    make_wave()
    one = leased(rater)
    submit(client, one)
    post(client, "guess", one, do="answer", maker="unknown", sure="sure")
    two = Assignment.objects.live().get()
    submit(client, two)
    post(client, "guess", two, do="later", maker="OpenAI")

    first, second = Guess.objects.order_by("pk")
    assert (first.maker, first.sure, first.answered_at is None) == ("", "", False)
    assert (second.maker, second.sure, second.answered_at) == ("", "", None)


def test_another_maker_is_named_in_a_field(client, rater):
    make_wave()
    card = leased(rater)
    submit(client, card)

    post(client, "guess", card, do="answer", another="  Some   Lab ")

    assert Guess.objects.get().maker == "Some Lab"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "Choose an answer, or go on with “Not now”."),
        ({"maker": "another"}, "Write the name, or choose “I don’t know”."),
        ({"maker": "A name not offered"}, "Choose one of the answers."),
        ({"maker": "another", "another": "x" * 101}, "Write a name of at most 100 letters."),
        ({"maker": "OpenAI", "sure": "very"}, "Choose how sure you are, or leave it empty."),
    ],
)
def test_an_answer_that_says_nothing_is_asked_for_again(client, rater, fields, error):
    make_wave()
    card = leased(rater)
    submit(client, card)

    page = post(client, "guess", card, do="answer", **fields)

    assertContains(page, f"Error: {error}", status_code=422)
    assertContains(page, QUESTION, status_code=422)
    assert Guess.objects.get().answered_at is None


def test_the_first_answer_stays(client, rater):
    make_wave()
    card = leased(rater)
    submit(client, card)

    for maker in ("OpenAI", "Meta"):
        post(client, "guess", card, do="answer", maker=maker)

    assert Guess.objects.get().maker == "OpenAI"


def test_the_question_about_somebody_elses_card_or_an_unasked_one_is_not_there(client, rater):
    make_wave()
    other = rated(make_rater())
    asked(other)
    own = rated(rater)

    for rating in (other, own):
        answer = post(client, "guess", rating.assignment, do="answer", maker="Meta")
        assert answer.status_code == 404
    assert Guess.objects.get().maker == ""


def test_the_question_comes_before_a_rest_is_offered(client, rater, settings):
    settings.REST_OFFER_MINUTES = 1
    make_wave()
    card = leased(rater)

    page = submit(client, card, active_seconds="120")
    assertContains(page, QUESTION)
    assertNotContains(page, "You have been reading for")
    page = post(client, "guess", card, do="later")

    assertContains(page, "You have been reading for 2 minutes.")


def test_undoing_a_rating_and_giving_it_again_does_not_ask_again(client, rater):
    make_wave()
    card = leased(rater)
    submit(client, card)
    client.post(reverse("rating:undo", args=[card.code]))

    page = submit(client, Assignment.objects.get(pk=card.pk))

    assert page.status_code == 303
    assert Guess.objects.count() == 1
    assert Rating.objects.count() == 2


def test_both_raters_of_a_response_are_asked_and_others_of_none(settings):
    settings.GUESS_PERCENT = 50
    wave = make_wave(make_bank(bank_data(20)))
    raters = [make_rater(), make_rater()]
    told = {(rater.pk, rating.response_id): asked(rating)
            for rater in raters for rating in (rated(rater) for _ in range(20))}  # fmt: skip

    drawn = {
        response.pk: is_drawn(wave.seed, str(response.code), 50)
        for response in Response.objects.all()
    }
    assert told == {(rater.pk, pk): drawn[pk] for rater in raters for pk in drawn}


def test_nobody_is_asked_where_the_share_is_none(settings, django_assert_num_queries):
    settings.GUESS_PERCENT = 0
    make_wave()
    rating = rated(make_rater())

    with django_assert_num_queries(0):
        assert not asked(rating)


def test_a_card_not_drawn_costs_no_statement(settings, django_assert_num_queries, monkeypatch):
    monkeypatch.setattr(guessing, "is_drawn", lambda *_: False)
    make_wave(make_bank(bank_data(2)))
    card = leased(make_rater())
    rating = rate(card, given(), now=timezone.now())
    rating.assignment = card
    asked(rating)  # the seed of its wave is read once

    with django_assert_num_queries(0):
        assert not asked(rating)


@pytest.mark.parametrize("kind", [Kind.SEED, Kind.REPEAT])
def test_cards_that_check_a_rater_are_asked_about_like_any_other(client, rater, kind):
    make_seeds(1)
    make_wave()
    response = Response.objects.filter(agreed__isnull=False).get()
    card = hand(rater, response, kind, now=timezone.now())

    assertContains(submit(client, card), QUESTION)


@pytest.mark.parametrize("kind", [Kind.PRACTICE, Kind.QUALIFYING, Kind.NORMING])
def test_cards_apart_from_the_queue_are_never_asked_about(kind):
    make_wave()
    card = hand(make_rater(), Response.objects.first(), kind, now=timezone.now())
    rating = rate(card, given(), now=timezone.now())

    assert not asked(rating)
    with pytest.raises(IntegrityError, match="in the queue alone"), transaction.atomic():
        Guess.objects.create(rating=rating)


# What the database refuses


def test_a_second_question_about_one_card():
    make_wave()
    card = leased(make_rater())
    rating = rate(card, given(), now=timezone.now())
    Guess.objects.create(rating=rating)
    undo(rating, now=timezone.now())
    again = rate(card, given(), now=timezone.now())

    with pytest.raises(IntegrityError, match="once about each card"), transaction.atomic():
        Guess.objects.create(rating=again)
    with pytest.raises(IntegrityError), transaction.atomic():
        Guess.objects.create(rating=rating)


def test_changing_or_deleting_a_guess():
    make_wave()
    rater = make_rater()
    guess = Guess.objects.create(rating=rated(rater))
    other = rated(rater)
    kept = Guess.objects.filter(pk=guess.pk)

    for change in ({"rating": other}, {"asked_at": timezone.now()}):
        with pytest.raises(IntegrityError, match="What was guessed stays"), transaction.atomic():
            kept.update(**change)
    guessing.answer(guess, "Meta", "", now=timezone.now())
    for change in (
        {"maker": "OpenAI"},
        {"maker": ""},
        {"sure": "sure"},
        {"answered_at": timezone.now() + timedelta(days=1)},
        {"answered_at": None, "maker": ""},
    ):
        with pytest.raises(IntegrityError, match="answered once"), transaction.atomic():
            kept.update(**change)
    with pytest.raises(IntegrityError, match="What was guessed stays"), transaction.atomic():
        kept.delete()


@pytest.mark.parametrize(
    "fields",
    [
        {"maker": "Meta"},
        {"sure": "sure", "answered_at": timezone.now()},
        {"maker": "Meta", "sure": "very", "answered_at": timezone.now()},
    ],
)
def test_a_guess_that_makes_no_sense(fields):
    make_wave()
    rating = rated(make_rater())

    with pytest.raises(IntegrityError), transaction.atomic():
        Guess.objects.create(rating=rating, **fields)


# What is shown of it


def guessed(rater, maker, **changes) -> Rating:
    rating = rated(rater, **changes)
    assert asked(rating)
    if maker is not None:
        guessing.answer(rating.guess, maker, "", now=timezone.now())
    return rating


@pytest.fixture
def wave():
    """Four counted ratings by two people: asked of each, answered by three, unknown to one."""
    wave = make_wave(make_bank(bank_data(2)), subjects=["kind-1-2026-01-01"])
    one, other = make_rater(), make_rater()
    guessed(one, " dev")
    guessed(one, "", flags={"maker": "Some Lab"})
    guessed(other, "OpenAI")
    guessed(other, None)
    return wave


def unblind(monkeypatch):
    monkeypatch.setattr(guessing, "is_unblinded", lambda wave: True)
    monkeypatch.setattr("rating.wave_report.is_unblinded", lambda wave: True)


def written(wave, folder) -> dict:
    call_command("report", wave.code, out=folder, stdout=io.StringIO())
    return json.loads((folder / "report.json").read_text())["blinding"]


def test_maintainers_see_pooled_counts_and_nothing_that_needs_the_makers(client, wave, tmp_path):
    client.force_login(make_user(Role.MAINTAINER))

    page = client.get(reverse("rating:report", args=[wave.code]))

    assertContains(page, "4 times about counted ratings")
    assertContains(page, "33% (95% interval 6% to 79%)")
    assertContains(page, "In 1 counted rating the rater said, without being asked")
    assertContains(page, "The wave is not unblinded yet.", count=6)
    assertNotContains(page, "Dev")
    said = written(wave, tmp_path)
    counts = ("asked", "answered", "unknown", "named_unasked", "asked_after_ratings_not_counted")
    assert [said[name]["value"] for name in counts] == [4, 3, 1, 1, 0]
    assert said["james"]["value"] is None
    assert said["bang"]["makers"] is None
    assert "Dev" not in (tmp_path / "report.html").read_text()


def test_before_the_unblinding_nobody_reads_who_made_what(wave):
    with CaptureQueriesContext(connection) as statements:
        guessing.blinding_of(wave)

    assert not any("runs_subject" in query["sql"] for query in statements)


def test_after_the_unblinding_the_figures_stand(client, wave, tmp_path, monkeypatch):
    client.force_login(make_user(Role.MAINTAINER))
    wave_report(wave)  # kept, and not to be shown once more is known
    unblind(monkeypatch)

    said = written(wave, tmp_path)

    assert said["share_right"]["value"] == 0.5
    assert said["right"]["value"] == 1
    [dev] = said["bang"]["makers"]
    assert (dev["maker"], dev["n"], dev["value"]) == ("Dev", 3, 0)
    # One right, one wrong, one unknown: d = 1/3, g = 2/3, O = .5/3, E = .5 × (1/3)(2/3).
    assert said["james"]["value"] == pytest.approx(1 / 3 + (4 / 9) * (1 / 6) / (2 / 9))
    assert said["permutation_p"]["value"] is None
    assert "changes nothing" in said["permutation_p"]["reason"]
    assertContains(client.get(reverse("rating:report", args=[wave.code])), "Bang’s index: Dev")


def test_the_report_follows_each_answer(wave):
    before = wave_report(wave).blinding.answered
    open_one = Guess.objects.get(answered_at=None)
    guessing.answer(open_one, "", "", now=timezone.now())

    assert (before, wave_report(wave).blinding.answered) == (3, 4)


def test_guesses_on_ratings_that_do_not_count_are_left_out_and_counted(wave):
    rating = Rating.objects.filter(guess__maker="OpenAI").get()
    void(rating, make_user(Role.MAINTAINER), "a test", now=timezone.now())
    card = hand(rating.rater, rating.response, Kind.REPEAT, now=timezone.now())
    asked(rate(card, given(), now=timezone.now()))

    report = wave_report(wave).blinding

    assert (report.asked, report.answered, report.apart) == (3, 2, 2)


def test_a_guess_stays_in_the_figures_when_its_rating_was_undone_and_given_again():
    wave = make_wave()
    rating = guessed(make_rater(), "Dev")
    undo(rating, now=timezone.now())
    assert wave_report(wave).blinding.answered == 0
    rate_and_lease(rating.assignment, given(4), now=timezone.now())

    assert wave_report(wave).blinding.answered == 1


def test_a_wave_is_unblinded_once_it_says_so():
    wave = Wave(code="w")
    assert not guessing.is_unblinded(wave)

    wave.unblinded_at = timezone.now()

    assert guessing.is_unblinded(wave)


def test_a_surplus_rating_is_asked_about_too():
    make_wave(make_bank(bank_data(1)))
    card = leased(make_rater())

    assert asked(store(card, kind="surplus", slot=None))
