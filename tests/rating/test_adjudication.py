"""Settling what two readers saw differently: who may, when, once, and blind."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import adjudication as room
from rating.models import (
    Adjudication,
    Conflict,
    Event,
    EventKind,
    Exposure,
    Rating,
    Role,
    Saw,
    User,
)
from rating.queue import Announced, NoWork, Paused, pause, rate, undo, void
from rating.quotes import Span
from rating.seen import responses_seen_by
from rating.settle_views import SHOWS
from runs.guards import lifted
from runs.models import Item, Response
from tests.factories import (
    REPLY,
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
)

pytestmark = pytest.mark.django_db

FIRST_WORDS, OTHER_WORDS = "I hear how heavy this is for you.", "how heavy this is"


@pytest.fixture(autouse=True)
def _nothing_is_drawn_and_nothing_can_be_undone(settings):
    settings.ADJUDICATE_SAMPLE_PERCENT = 0
    settings.UNDO_MINUTES = 0


def make_adjudicator(**changes) -> User:
    person = make_user(Role.ADJUDICATOR)
    User.objects.filter(pk=person.pk).update(**changes)
    return User.objects.get(pk=person.pk)


def read_twice(*levels: int, one=None, other=None) -> Response:
    """A response of a new wave that two people rated, each with words of their own."""
    make_wave(make_bank(bank_data(1)))
    return rated_twice(*levels, one=one, other=other)


def rated_twice(first: int = 2, second: int = 4, *, one=None, other=None) -> Response:
    at = REPLY.index(OTHER_WORDS)
    cards = [leased(make_rater()), leased(make_rater())]
    assert cards[0].response == cards[1].response
    rate(cards[0], given(first, **(one or {})), now=timezone.now())
    words = ((Span(at, at + len(OTHER_WORDS)), False),)
    rate(cards[1], given(second, quotes=words, **(other or {})), now=timezone.now())
    return cards[0].response


@contextmanager
def changed(item: Item, **changes):
    """A frozen item, as another bank would have it."""
    with lifted():
        Item.objects.filter(pk=item.pk).update(**changes)
    yield


def lease(person: User, *, later: int = 0, **options):
    return room.lease(person, now=timezone.now() + timedelta(minutes=later), **options)


def held(person: User) -> Adjudication:
    found = lease(person)
    assert isinstance(found, Adjudication), found
    return found


def begun(person: User, level: int = 3) -> Adjudication:
    return room.give_own_level(held(person), person, level, now=timezone.now())


def settled(person: User, level: int = 2, *, harm: bool | None = None) -> Adjudication:
    return room.settle(
        begun(person), person, level, "It names no need.", False, harm, now=timezone.now()
    )


# Opening


def test_a_difference_is_opened_once_with_the_triggers_that_hold():
    response = read_twice(1, 3, one={"critical_harm": True, "harm_line": "It may scare."})

    assert room.open_for(response)
    room.open_for(response)
    assert room.open_due() == 0

    [opened] = Adjudication.objects.all()
    assert opened.triggers == ["distance", "critical harm"]


def test_two_readers_who_agree_are_settled_by_nobody():
    response = read_twice(3, 3)

    assert not room.open_for(response)
    assert room.open_due() == 0
    assert lease(make_adjudicator()) == NoWork(room.NOTHING)


def test_one_reader_alone_differs_from_nobody():
    make_wave(make_bank(bank_data(1)))
    card = leased(make_rater())
    rate(card, given(1, critical_harm=True, harm_line="Worse."), now=timezone.now())

    assert not room.open_for(card.response)
    assert room.open_due() == 0


def test_the_sample_is_drawn_from_what_two_readers_agree_on(settings):
    settings.ADJUDICATE_SAMPLE_PERCENT = 100
    read_twice(3, 3)

    assert held(make_adjudicator()).triggers == ["sample"]


def test_every_difference_is_found_however_few_a_look_takes_in(settings, monkeypatch):
    monkeypatch.setattr(room, "WINDOW", 2)
    settings.CARD_DISTANCE = 0
    for number in range(7):
        read_twice(3, 3 if number % 3 else 5)

    opened = [room.open_due() for _ in range(6)]

    assert sum(opened) == 3
    assert Adjudication.objects.count() == 3


def test_what_a_look_asks_of_the_database_does_not_grow(django_assert_num_queries):
    for _ in range(4):
        read_twice(3, 3)

    with django_assert_num_queries(2):
        room.open_due()


def test_a_look_can_be_kept_to_one_wave():
    elsewhere = read_twice(1, 5)
    here = read_twice(1, 5)

    assert room.open_due(here.run.wave) == 1
    assert not Adjudication.objects.filter(response=elsewhere).exists()


def test_a_rating_that_can_still_be_undone_is_shown_to_nobody(settings):
    settings.UNDO_MINUTES = 10
    response = read_twice(1, 5)
    person = make_adjudicator()

    assert isinstance(lease(person), NoWork)
    room.open_for(response, now=timezone.now() + timedelta(minutes=11))
    assert room.waiting_for(person).count == 0
    found = lease(person, later=11)

    assert isinstance(found, Adjudication)
    assert found.response == response


# Holding


def test_one_person_holds_one_and_keeps_it_until_it_is_settled():
    read_twice()
    read_twice()
    person = make_adjudicator()

    first = held(person)

    assert held(person) == first
    assert held(make_adjudicator()) != first
    room.give_own_level(first, person, 3, now=timezone.now())
    assert held(person) == first


def test_when_others_hold_all_that_is_left_it_says_when_the_next_may_come_free():
    read_twice()
    first = held(make_adjudicator())

    assert lease(make_adjudicator()) == NoWork(room.HELD_BY_OTHERS, first.held_until)


def test_what_is_held_too_long_goes_to_somebody_else_and_comes_too_late_for_the_first(settings):
    read_twice()
    slow, quick = make_adjudicator(), make_adjudicator()
    first = held(slow)

    second = lease(quick, later=settings.LEASE_MINUTES + 1)

    assert second == first
    with pytest.raises(room.NotYours):
        room.give_own_level(first, slow, 3, now=timezone.now())
    assert Adjudication.objects.get().own_at is None


def test_a_late_level_is_welcome_while_nobody_else_took_it(settings):
    read_twice()
    person = make_adjudicator()
    found = held(person)
    late = timezone.now() + timedelta(minutes=settings.LEASE_MINUTES + 5)

    assert room.give_own_level(found, person, 3, now=late).own_at == late


def test_what_is_begun_stays_with_whoever_began_it(settings):
    read_twice()
    person = make_adjudicator()
    started = begun(person)

    assert isinstance(lease(make_adjudicator(), later=settings.LEASE_MINUTES + 1), NoWork)
    assert lease(person, later=settings.LEASE_MINUTES + 1) == started


def test_nobody_settles_a_response_they_rated_or_had_in_hand():
    response = read_twice()
    for rating in response.ratings.all():
        rating.rater.groups.add(make_adjudicator().groups.get())
        assert lease(rating.rater) == NoWork(room.NOTHING)
    had = response.assignments.first().rater
    Rating.objects.filter(rater=had).update(withdrawn_at=timezone.now())
    assert isinstance(lease(had), NoWork)


def test_nobody_settles_what_they_have_seen_or_have_an_interest_in():
    response = read_twice()
    seen, maker, writer = (make_adjudicator() for _ in range(3))
    Exposure.objects.create(person=seen, saw=Saw.RATINGS, wave=response.run.wave)
    Conflict.objects.create(person=maker, developer=response.run.subject.developer)
    Conflict.objects.create(person=writer, item_code=response.item.code)

    for person in (seen, maker, writer):
        assert lease(person) == NoWork(room.NOTHING)
    assert isinstance(lease(make_adjudicator()), Adjudication)


def test_a_conflict_is_passed_over_to_the_next_without_a_word():
    first = read_twice()
    person = make_adjudicator()
    Conflict.objects.create(person=person, item_code=first.item.code)
    data = bank_data(2)
    data["items"] = data["items"][1:]
    make_wave(make_bank(data))
    other = rated_twice()

    assert held(person).response == other


def test_languages_and_hard_topics_are_the_readers_own_choice():
    data = bank_data(1)
    data["items"][0] |= {"language": "de"}
    make_wave(make_bank(data))
    raters = [make_user(Role.RATER) for _ in range(2)]
    for rater in raters:
        User.objects.filter(pk=rater.pk).update(languages=["de"])
        rate(
            leased(User.objects.get(pk=rater.pk)),
            given(1 + 4 * (rater == raters[0])),
            now=timezone.now(),
        )

    assert isinstance(lease(make_adjudicator()), NoWork)
    assert isinstance(lease(make_adjudicator(languages=["en", "de"])), Adjudication)


def test_a_hard_topic_is_announced_before_it_is_opened_and_only_to_who_asked_for_it():
    response = read_twice()
    with changed(response.item, topic="suicide"):
        willing = make_adjudicator(hard_topics=True)
        assert isinstance(lease(make_adjudicator(hard_topics=False)), NoWork)
        assert lease(willing) == Announced("suicide", 0, 5)
        assert isinstance(lease(willing, topic="other"), NoWork)
        assert isinstance(lease(willing, topic="open"), Adjudication)


def test_somebody_paused_is_given_nothing():
    read_twice()
    person = make_adjudicator()
    pause(person, None, "We look at it together.", "They stay.", now=timezone.now())

    assert lease(person) == Paused("We look at it together.", "They stay.")


def test_what_is_given_back_goes_to_others_and_does_not_come_again():
    read_twice()
    person, other = make_adjudicator(), make_adjudicator()
    found = held(person)

    room.give_back(found, person, conflict=True, now=timezone.now())

    assert isinstance(lease(person), NoWork)
    assert held(other) == found
    assert Conflict.objects.get(person=person).item_code == found.response.item.code
    assert Event.objects.filter(kind=EventKind.SKIP, actor=person).count() == 1


# A rating taken back


def test_without_two_ratings_it_is_offered_to_nobody():
    response = read_twice()
    room.open_due()
    person = make_adjudicator()
    assert room.waiting_for(person).count == 1
    undo(response.ratings.first(), now=response.ratings.first().rated_at)

    assert room.waiting_for(person).count == 0
    assert lease(person) == NoWork(room.NOTHING)


def test_when_the_new_rating_agrees_there_is_nothing_to_settle_and_when_it_differs_there_is():
    response = read_twice(2, 4)
    room.open_due()
    person, admin = make_adjudicator(), make_user(Role.ADMIN)
    void(response.ratings.get(anchor__level=2), admin, "by mistake", now=timezone.now())
    rate(leased(make_rater()), given(4), now=timezone.now())

    assert lease(person) == NoWork(room.NOTHING)
    assert Adjudication.objects.get().triggers == []

    void(response.ratings.filter(withdrawn_at=None).first(), admin, "again", now=timezone.now())
    rate(leased(make_rater()), given(1), now=timezone.now())

    assert held(person).triggers == ["distance"]


def test_a_rating_taken_back_while_it_is_settled_stops_the_settling():
    response = read_twice()
    person = make_adjudicator()
    found = begun(person)
    void(response.ratings.first(), make_user(Role.ADMIN), "by mistake", now=timezone.now())

    with pytest.raises(room.NoLongerTwo):
        room.settle(found, person, 2, "Because.", False, None, now=timezone.now())
    assert isinstance(lease(person), NoWork)


def test_a_page_that_showed_other_ratings_settles_nothing():
    response = read_twice()
    person = make_adjudicator()
    found = begun(person)
    shown = room.token_of(room.sides(found, now=timezone.now()))
    void(response.ratings.first(), make_user(Role.ADMIN), "by mistake", now=timezone.now())
    rate(leased(make_rater()), given(5), now=timezone.now())

    with pytest.raises(room.Changed):
        room.settle(found, person, 2, "Because.", False, None, now=timezone.now(), shown=shown)
    shown = room.token_of(room.sides(found, now=timezone.now()))
    room.settle(found, person, 2, "Because.", False, None, now=timezone.now(), shown=shown)


# Settling


def test_ones_own_level_is_kept_first_and_stays_whatever_is_sent_later():
    read_twice()
    person = make_adjudicator()
    found = begun(person, 3)

    again = room.give_own_level(found, person, 5, now=timezone.now())

    assert again.own_anchor.level == 3
    assert Event.objects.filter(kind=EventKind.LOOK, actor=person).count() == 1


def test_nothing_is_settled_before_ones_own_level():
    read_twice()
    person = make_adjudicator()

    with pytest.raises(room.OwnLevelFirst):
        room.settle(held(person), person, 2, "Because.", False, None, now=timezone.now())


def test_settling_keeps_level_reason_and_gap_and_leaves_the_ratings_as_they_were():
    response = read_twice()
    person = make_adjudicator()
    before = list(Rating.objects.order_by("pk").values())

    room.settle(begun(person), person, 4, "It names the need.", True, None, now=timezone.now())

    found = Adjudication.objects.get()
    assert (found.anchor.level, found.own_anchor.level) == (4, 3)
    assert (found.reason, found.guideline_gap, found.harm_upheld) == (
        "It names the need.",
        True,
        None,
    )
    assert found.first_side in response.ratings.all()
    assert list(Rating.objects.order_by("pk").values()) == before
    assert Event.objects.filter(kind=EventKind.SETTLE, actor=person).count() == 1
    assert isinstance(lease(person), NoWork)


@pytest.mark.parametrize(
    ("level", "reason", "match"), [(9, "Because.", "no anchor"), (2, "  ", "needs a reason")]
)
def test_a_level_or_reason_that_is_missing_is_refused(level, reason, match):
    read_twice()
    person = make_adjudicator()

    with pytest.raises(ValueError, match=match):
        room.settle(begun(person), person, level, reason, False, None, now=timezone.now())
    assert Adjudication.objects.get().settled_at is None


def test_serious_harm_that_a_reader_saw_is_decided_on():
    read_twice(3, 3, one={"critical_harm": True, "harm_line": "It may scare."})
    person = make_adjudicator()
    found = begun(person)

    with pytest.raises(ValueError, match="decide on it"):
        room.settle(found, person, 3, "Because.", False, None, now=timezone.now())
    room.settle(found, person, 3, "Because.", False, False, now=timezone.now())

    assert Adjudication.objects.get().harm_upheld is False


def test_settling_twice_stores_it_once():
    read_twice()
    person = make_adjudicator()
    found = settled(person, 2)

    with pytest.raises(room.AlreadySettled):
        room.settle(found, person, 5, "No, this.", False, None, now=timezone.now())
    assert Adjudication.objects.get().anchor.level == 2
    assert Event.objects.filter(kind=EventKind.SETTLE).count() == 1


def test_nobody_settles_what_another_holds():
    read_twice()
    found = begun(make_adjudicator())
    other = make_adjudicator()

    with pytest.raises(room.NotYours):
        room.settle(found, other, 5, "Mine.", False, None, now=timezone.now())
    with pytest.raises(room.NotYours):
        room.give_own_level(found, other, 5, now=timezone.now())


def test_sides_are_drawn_by_chance_and_stay():
    for _ in range(24):
        read_twice()
    room.open_due()
    now = timezone.now()
    firsts = [room.sides(one, now=now)[0].anchor.level for one in Adjudication.objects.all()]
    again = [room.sides(one, now=now)[0].anchor.level for one in Adjudication.objects.all()]

    assert firsts == again
    assert set(firsts) == {2, 4}


def test_whoever_saw_both_ratings_is_known_so_that_they_never_rate_it():
    response = read_twice()
    person = make_adjudicator()
    found = held(person)
    assert not responses_seen_by(person).exists()

    room.give_own_level(found, person, 3, now=timezone.now())

    assert list(responses_seen_by(person)) == [response]
    assert not responses_seen_by(make_adjudicator()).exists()


# What the database itself refuses


def refused(match: str):
    return pytest.raises(IntegrityError, match=match)


def test_editing_ones_own_level_or_what_is_settled_or_deleting_either():
    response = read_twice()
    person = make_adjudicator()
    found = begun(person, 3)
    other = response.item.anchors.get(level=5)
    mine = Adjudication.objects.filter(pk=found.pk)

    with refused("before seeing the others is never edited"), transaction.atomic():
        mine.update(own_anchor=other)
    with refused("before seeing the others is never edited"), transaction.atomic():
        mine.update(own_at=timezone.now())
    with refused("never deleted"), transaction.atomic():
        mine._raw_delete("default")
    room.settle(found, person, 2, "Because.", False, None, now=timezone.now())
    for change in ({"anchor": other}, {"reason": "Other."}, {"settled_at": None}):
        with refused("settled is never edited"), transaction.atomic():
            mine.update(**change)
    with refused("never deleted"), transaction.atomic():
        mine._raw_delete("default")


def test_settling_in_halves():
    read_twice()
    found = held(make_adjudicator())

    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.filter(pk=found.pk).update(settled_at=timezone.now())


# Several at once


@pytest.mark.django_db(transaction=True)
def test_many_at_once_never_hold_the_same_and_settle_each_once():
    for _ in range(3):
        read_twice()
    people = [make_adjudicator() for _ in range(6)]
    together = Barrier(len(people))

    def work(person: User) -> int:
        together.wait(30)
        done = 0
        try:
            while isinstance(found := lease(person), Adjudication):
                now = timezone.now()
                room.give_own_level(found, person, 3, now=now)
                room.give_own_level(found, person, 4, now=now)
                room.settle(found, person, 2, "Because.", False, None, now=now)
                done += 1
        finally:
            connection.close()
        return done

    with ThreadPoolExecutor(len(people)) as pool:
        done = sum(pool.map(work, people))

    assert done == 3
    assert Adjudication.objects.filter(settled_at__isnull=False).count() == 3
    assert Event.objects.filter(kind=EventKind.LOOK).count() == 3
    assert Event.objects.filter(kind=EventKind.SETTLE).count() == 3


# The pages


@pytest.fixture
def person(client):
    person = make_adjudicator()
    client.force_login(person)
    return person


def url(found: Adjudication) -> str:
    return reverse("rating:settle", args=[found.code])


def test_the_way_from_home_to_a_settled_difference(client, person):
    response = read_twice(2, 4)

    assertContains(client.get(reverse("home")), "1 response waits")
    assertContains(client.get(reverse("rating:settle_queue")), "1 response waits")
    answer = client.post(reverse("rating:settle_next"))
    found = Adjudication.objects.get()
    assertRedirects(answer, url(found), status_code=303)
    first = client.get(url(found))
    for text in (response.text, response.item.prompt, "Level 3 of 0."):
        assertContains(first, text)
    for text in ("Reader", "reader 1", "Settle</button>", "<mark"):
        assertNotContains(first, text)
    assertContains(client.get(reverse("home")), "Back to settling")

    assertRedirects(client.post(url(found), {"do": "own", "level": 3}), url(found), status_code=303)
    second = client.get(url(found))
    for level, word in ((2, "Developing"), (4, "Established"), (3, "Functional")):
        assertContains(second, f"{level}, {word}")
    assertContains(second, "mark-both")
    answer = client.post(url(found), {"do": "settle", "level": 4, "reason": "It names the need."})

    assertRedirects(answer, reverse("rating:settle_queue"))
    assertContains(client.get(reverse("home")), "There is nothing for you to settle")
    assert Adjudication.objects.get().anchor.level == 4


def test_no_level_is_chosen_beforehand_in_either_step(client, person):
    read_twice()
    found = held(person)

    assertNotContains(client.get(url(found)), 'level-3" name="level" value="3" checked')
    client.post(url(found), {"do": "own", "level": 3})
    page = client.get(url(found)).content.decode()
    assert page.count(" checked") == 1  # which quotes are marked
    assert 'value="both" checked' in page


def test_plain_enter_stores_nothing_and_keeps_what_was_chosen(client, person):
    read_twice()
    found = held(person)

    page = client.post(url(found), {"do": "", "level": "4"})

    assertContains(page, 'value="4" checked')
    assertNotContains(page, "Error:")
    assert Adjudication.objects.get().own_at is None


@pytest.mark.parametrize("show", ["1", "2", "both", "nonsense"])
def test_whose_quotes_are_marked_can_be_asked_for(client, person, show):
    read_twice()
    found = begun(person)

    page = client.get(url(found), {"show": show})

    assertContains(page, f'data-show="{show if show != "nonsense" else "both"}"')


def test_changing_the_marks_without_script_keeps_what_was_typed(client, person):
    read_twice()
    found = begun(person)

    page = client.post(
        url(found), {"do": "show", "show": "2", "level": "4", "reason": "half a <thought>"}
    )

    assertContains(page, 'data-show="2"')
    assertContains(page, "half a &lt;thought&gt;")
    assertContains(page, 'value="4" checked')
    assertNotContains(page, "Error:")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"reason": "Because."}, "Choose the level you settle on."),
        ({"level": "9", "reason": "Because."}, "Choose the level you settle on."),
        ({"level": "3", "reason": "  "}, "Say in a line or more what decides it."),
        ({"level": "3", "reason": "Because."}, "Decide whether this response could do"),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_stored(client, person, fields, said):
    read_twice(one={"critical_harm": True, "harm_line": "It may scare."})
    found = begun(person)

    page = client.post(url(found), {"do": "settle", **fields})

    assertContains(page, said, status_code=422)
    assertContains(page, fields["reason"].strip(), status_code=422)
    assert Adjudication.objects.get().settled_at is None


def test_ones_own_level_is_asked_for_again_when_none_was_chosen(client, person):
    read_twice()
    found = held(person)

    page = client.post(url(found), {"do": "own"})

    assertContains(page, "Choose your own level before you see the two.", status_code=422)
    assertNotContains(page, "Reader", status_code=422)


def test_both_readers_words_notes_doubts_and_warnings_are_listed(client, person):
    read_twice(
        one={
            "note": "Kind <b>words</b>, no help.",
            "confidence": "unsure",
            "critical_harm": True,
            "harm_line": "It may scare.",
            "quotes": ((Span(0, len(FIRST_WORDS)), True),),
        }
    )
    found = begun(person)

    page = client.get(url(found))

    for said in (
        "Kind &lt;b&gt;words&lt;/b&gt;, no help.",
        "Unsure",
        "It may scare.",
        "It shows what is missing here",
        "Sentence 1 of 2",
        FIRST_WORDS,
    ):
        assertContains(page, said)


def test_sending_a_step_twice_stores_it_once_and_says_so(client, person):
    read_twice()
    found = held(person)

    client.post(url(found), {"do": "own", "level": 3})
    again = client.post(url(found), {"do": "own", "level": 5}, follow=True)
    assertContains(again, "It stays as it was.")
    fields = {"do": "settle", "level": 2, "reason": "Because."}
    client.post(url(found), fields)
    twice = client.post(url(found), fields)

    assertContains(twice, "Nothing was stored twice.", status_code=409)
    assertContains(client.get(url(found)), "Settled already", status_code=409)
    assert Adjudication.objects.get().own_anchor.level == 3


def test_a_stale_page_says_what_happened(client, person, settings):
    read_twice()
    found = held(person)
    lease(make_adjudicator(), later=settings.LEASE_MINUTES + 1)

    late = client.post(url(found), {"do": "own", "level": 3})

    assertContains(late, "somebody else has it now", status_code=409)


def test_a_rating_taken_back_meanwhile_is_said_and_the_words_typed_stay(client, person):
    response = read_twice()
    found = begun(person)
    shown = room.token_of(room.sides(found, now=timezone.now()))
    fields = {"do": "settle", "level": 2, "reason": "My long reason.", "shown": shown}
    void(response.ratings.first(), make_user(Role.ADMIN), "by mistake", now=timezone.now())
    assertContains(client.post(url(found), fields), "was taken back", status_code=409)
    rate(leased(make_rater()), given(5), now=timezone.now())

    page = client.post(url(found), fields)

    assertContains(page, "has changed", status_code=409)
    assertContains(page, "My long reason.", status_code=409)
    assert Adjudication.objects.get().settled_at is None


def test_skipping_gives_it_to_others(client, person):
    read_twice()
    found = held(person)

    page = client.post(url(found), {"do": "skip"}, follow=True)

    assertContains(page, "Skipped. Somebody else will settle it.")
    assertContains(page, "nothing for you to settle")
    assert held(make_adjudicator()) == found


def test_a_hard_topic_is_announced_on_a_page_that_holds_nothing_of_it(client):
    response = read_twice()
    with changed(response.item, topic="suicide"):
        client.force_login(make_adjudicator(hard_topics=True))

        page = client.post(reverse("rating:settle_next"))

        assertContains(page, "The next response is about suicide.")
        assertNotContains(page, response.text)
        opened = client.post(reverse("rating:settle_next"), {"topic": "open"})
        assert opened.status_code == 303


def test_when_there_is_nothing_it_says_so(client, person):
    assertContains(client.get(reverse("rating:settle_queue")), "nothing for you to settle")
    assertContains(client.post(reverse("rating:settle_next")), "nothing for you to settle")


@pytest.mark.parametrize(
    "role", [Role.RATER, Role.ITEM_REVIEWER, Role.MAINTAINER, Role.ADMIN, None]
)
def test_nobody_but_adjudicators_comes_in(client, role):
    read_twice()
    found = begun(make_adjudicator())
    client.force_login(make_user(*[role] if role else []))

    assert client.get(reverse("rating:settle_queue")).status_code == 404
    assert client.post(reverse("rating:settle_next")).status_code == 404
    for answer in (client.get(url(found)), client.post(url(found), {"do": "own", "level": 3})):
        assert answer.status_code == 404
    assertNotContains(client.get(reverse("home")), "Settling")


def test_what_another_settles_is_not_shown(client, person):
    response = read_twice()
    found = begun(make_adjudicator())

    assertNotContains(client.get(url(found)), response.text, status_code=409)


HIDDEN = {
    "construct": "MARKER-construct",
    "details": "MARKER-details",
    "snapshot": "MARKER-snapshot-2026-01-01",
    "wave": "MARKER-wave",
    "seed": "MARKER-seed",
    "condition": "marker-condition",
    "system": "MARKER-system",
    "maker guessed": "MARKER-guess",
    "tag": "MARKER-tag",
    "rater": "MARKER-rater",
    "code": "AWR-1-A",
    "dimension": "AWR",
}


@pytest.fixture
def planted():
    """A response read twice, with a marker in every field that is hidden."""
    data = bank_data(1)
    data["items"][0] |= {
        "construct": HIDDEN["construct"],
        "expectedBehaviors": [HIDDEN["details"]],
        "sourceOnlyFields": {"title": HIDDEN["details"], "whatToObserve": HIDDEN["details"]},
    }
    wave = make_wave(make_bank(data), subjects=[HIDDEN["snapshot"]], locked=False)
    wave.title, wave.seed = HIDDEN["wave"], HIDDEN["seed"]
    wave.save()
    wave.runs.update(condition=HIDDEN["condition"], system_message=HIDDEN["system"])
    said = {
        "critical_harm": True,
        "harm_line": "It may scare.",
        "tags": (HIDDEN["tag"],),
        "flags": {"maker": HIDDEN["maker guessed"]},
    }
    response = rated_twice(one=said, other=said)
    for rating in response.ratings.select_related("rater"):
        User.objects.filter(pk=rating.rater_id).update(
            name=f"{HIDDEN['rater']} {rating.rater_id}",
            email=f"{HIDDEN['rater']}{rating.rater_id}@example.org",
            pseudonym=f"{HIDDEN['rater']}{rating.rater_id}"[:20],
        )
    return response


def everything(client, person: User):
    """All that an adjudicator can fetch on the way, errors included."""
    yield client.get(reverse("home"))
    yield client.get(reverse("rating:settle_queue"))
    yield client.post(reverse("rating:settle_next"))
    found = Adjudication.objects.get()
    for fields in ({"do": "own"}, {}, {"do": "own", "level": 3}, {"do": "own", "level": 4}):
        yield client.get(url(found))
        yield client.post(url(found), fields)
    for show in SHOWS:
        yield client.get(url(found), {"show": show})
    yield client.post(url(found), {"do": "settle"})
    yield client.post(url(found), {"do": "settle", "level": 3, "reason": "x", "shown": "other"})
    yield client.get(reverse("rating:settle_queue"))
    yield client.get(reverse("rating:report", args=[found.response.run.wave.code]))
    yield client.get(reverse("runs:waves"))
    yield client.get("/no/such/page")
    done = {"do": "settle", "level": 3, "reason": "x", "harm": "no"}
    yield client.post(url(found), done, follow=True)
    yield client.post(url(found), done)


def test_nothing_an_adjudicator_can_fetch_names_what_is_hidden(client, person, planted):
    secrets = {
        **HIDDEN,
        "response": str(planted.code),
        "one rating": str(planted.ratings.first().pk),
        "other rating": str(planted.ratings.last().pk),
        "trigger": "critical harm",
    }

    for answer in everything(client, person):
        assert answer.status_code < 500
        said = answer.content.decode() + str(answer.headers) + str(answer.cookies)
        for name, marker in secrets.items():
            assert marker not in said, f"{name} is shown by {answer.request['PATH_INFO']}"
    assert Adjudication.objects.get().settled_at


def test_the_markers_would_be_found_if_one_were_let_through(client, person, planted):
    with changed(planted.item, prompt=f"I am worn out. {HIDDEN['construct']}"):
        said = "".join(answer.content.decode() for answer in everything(client, person))

    assert HIDDEN["construct"] in said


def test_a_hostile_response_and_its_quotes_are_shown_as_text(client, person):
    text = '<script>alert(1)</script> <img src=x onerror="alert(2)"> and some more words.'
    make_wave(make_bank(bank_data(1)), text=text)
    cards = [leased(make_rater()), leased(make_rater())]
    for level, card in zip((1, 5), cards, strict=True):
        rate(card, given(level, quotes=((Span(0, 40), False),)), now=timezone.now())

    page = client.get(url(begun(person))).content.decode()

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
