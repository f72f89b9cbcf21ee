"""Settling what two readers saw differently: who may, when, once, and blind."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
    Ended,
    Event,
    EventKind,
    Exposure,
    Rating,
    Role,
    Saw,
    User,
)
from rating.people import give_roles
from rating.queue import Announced, NoWork, Paused, pause, rate, restore, undo, void
from rating.queue import lease as queue_lease
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

DAY = 24 * 60  # in minutes
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
    assert not room.open_for(response)
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
    void(had.ratings.get(), make_user(Role.ADMIN), "by mistake", now=timezone.now())
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


def take_back_by(admin: User, rating: Rating) -> None:
    void(rating, admin, "by mistake", now=timezone.now())


def take_back(rating: Rating) -> None:
    take_back_by(make_user(Role.ADMIN), rating)


def put_back(rating: Rating) -> None:
    restore(rating, make_user(Role.ADMIN), "it stands", now=timezone.now())


def rate_anew(level: int) -> Rating:
    return rate(leased(make_rater()), given(level), now=timezone.now())


def standing() -> Adjudication | None:
    return Adjudication.objects.standing().first()


def test_without_two_ratings_it_is_offered_to_nobody():
    response = read_twice()
    room.open_due()
    person = make_adjudicator()
    assert room.waiting_for(person).count == 1
    undo(response.ratings.first(), now=response.ratings.first().rated_at)

    assert room.waiting_for(person).count == 0
    assert lease(person) == NoWork(room.NOTHING)
    assert Adjudication.objects.get().ended == Ended.TAKEN_BACK


def test_what_waits_is_counted_as_far_as_anybody_needs_to_know(client, monkeypatch):
    for _ in range(3):
        read_twice()
    room.open_due()
    person = make_adjudicator()
    client.force_login(person)

    assert room.waiting_for(person).said == "3"
    monkeypatch.setattr(room, "MOST_COUNTED", 2)
    assert room.waiting_for(person).count == 2
    for name in ("home", "rating:settle_queue"):
        assertContains(client.get(reverse(name)), "2 or more responses wait")

    assert not isinstance(lease(person), NoWork)
    assert room.waiting_for(person) == room.Waiting(2, in_hand=True)


def test_when_the_new_rating_agrees_there_is_nothing_to_settle_and_when_it_differs_there_is():
    response = read_twice(2, 4)
    room.open_due()
    person = make_adjudicator()
    take_back(response.ratings.get(anchor__level=2))
    agreeing = rate_anew(4)

    assert lease(person) == NoWork(room.NOTHING)
    assert standing() is None

    take_back(agreeing)
    rate_anew(1)

    assert held(person).triggers == ["distance"]
    assert Adjudication.objects.count() == 2


def test_what_no_declared_rule_asks_for_any_more_is_left_on_record(settings):
    read_twice(2, 4)
    room.open_due()
    settings.ADJUDICATE_AT = 3

    assert lease(make_adjudicator()) == NoWork(room.NOTHING)
    assert Adjudication.objects.get().ended == Ended.NOT_DUE
    settings.ADJUDICATE_AT = 2
    assert held(make_adjudicator()) == standing()


def test_a_rating_taken_back_while_it_is_settled_stops_the_settling():
    response = read_twice()
    person = make_adjudicator()
    found = begun(person)
    take_back(response.ratings.first())

    with pytest.raises(room.NoLongerTwo):
        room.settle(found, person, 2, "Because.", False, None, now=timezone.now())
    assert isinstance(lease(person), NoWork)


def test_what_was_settled_stays_on_record_and_stands_no_longer_once_a_rating_is_taken_back():
    response = read_twice()
    before = settled(make_adjudicator(), 2)
    rating = response.ratings.first()

    take_back(rating)

    found = Adjudication.objects.get()
    assert (found.ended, found.anchor, found.settled_at) == (
        Ended.TAKEN_BACK,
        before.anchor,
        before.settled_at,
    )
    assert standing() is None
    assert Event.objects.get(kind=EventKind.END).about == {
        "adjudication": str(found.code),
        "why": "taken back",
        "rating": str(rating.pk),
    }


def test_when_the_second_rating_comes_in_anew_another_settles_who_has_seen_neither():
    response = read_twice(2, 4)
    first = make_adjudicator()
    settled(first)
    take_back(response.ratings.get(anchor__level=2))
    rate_anew(1)

    assert lease(first) == NoWork(room.NOTHING)
    again = settled(make_adjudicator(), 3)

    assert standing() == again
    assert {side.anchor.level for side in room.sides(again)} == {1, 4}
    assert Adjudication.objects.filter(settled_at__isnull=False).count() == 2


def test_a_rating_put_back_brings_back_what_stood_on_it():
    response = read_twice()
    before = settled(make_adjudicator())
    rating = response.ratings.first()
    take_back(rating)

    put_back(rating)

    assert standing() == before
    assert standing().settled_at
    assert room.open_due() == 0
    assert Event.objects.filter(kind=EventKind.RESTORE, about__has_key="adjudication").count() == 1


def test_what_was_begun_comes_back_to_whoever_began_it_with_their_days_anew(settings):
    response = read_twice()
    person = make_adjudicator()
    found = begun(person)
    rating = response.ratings.first()
    take_back(rating)
    assert isinstance(lease(person), NoWork)
    now = timezone.now() + timedelta(days=30)

    restore(rating, make_user(Role.ADMIN), "it stands", now=now)

    assert lease(person) == found
    assert standing().held_until == now + timedelta(days=settings.SETTLE_DAYS)


def test_a_rating_put_back_brings_nothing_back_while_its_other_half_is_another():
    response = read_twice(1, 3)
    settled(make_adjudicator())
    was = {rating.slot: rating for rating in response.ratings.all()}
    for rating in was.values():
        take_back(rating)
    rate_anew(5)

    put_back(was[response.slots.get(state="open").number])

    assert standing() is None
    found = held(make_adjudicator())
    assert 5 in {side.anchor.level for side in room.sides(found)}


def test_of_all_that_stood_on_the_same_two_the_newest_comes_back():
    response = read_twice(2, 4)
    rating = response.ratings.get(anchor__level=2)
    settled(make_adjudicator())
    take_back(rating)
    newer = rate_anew(1)
    second = settled(make_adjudicator())
    take_back(newer)
    put_back(newer)
    assert standing() == second

    take_back(newer)
    put_back(rating)

    assert standing().settled_at
    assert standing() != second
    assert {side.anchor.level for side in room.sides(standing())} == {2, 4}


# Somebody who does not come back


def test_what_is_begun_stays_with_whoever_began_it_for_the_declared_days(settings):
    settings.SETTLE_DAYS = 3
    read_twice()
    slow, other = make_adjudicator(), make_adjudicator()
    found = begun(slow)

    assert isinstance(lease(other, later=3 * DAY - 1), NoWork)
    handed = lease(other, later=3 * DAY + 1)

    assert isinstance(handed, Adjudication)
    assert (handed.response, handed.own_at) == (found.response, None)
    assert handed != found


def test_the_first_level_stays_on_record_just_as_it_was_and_nothing_of_it_is_taken_over():
    read_twice()
    slow = make_adjudicator()
    found = begun(slow, 5)
    lease(make_adjudicator(), later=7 * DAY + 1)

    left = Adjudication.objects.get(pk=found.pk)
    assert (left.ended, left.own_anchor, left.own_at, left.adjudicator) == (
        Ended.HANDED_OVER,
        found.own_anchor,
        found.own_at,
        slow,
    )
    [event] = Event.objects.filter(kind=EventKind.END)
    assert (event.actor, event.about["why"]) == (None, "handed over")
    with pytest.raises(room.NotYours):
        room.settle(found, slow, 2, "At last.", False, None, now=timezone.now())


def test_a_late_decision_is_welcome_while_nobody_else_asks(settings):
    read_twice()
    person = make_adjudicator()
    found = begun(person)
    late = timezone.now() + timedelta(days=settings.SETTLE_DAYS + 30)

    assert room.waiting_for(person, now=late).in_hand
    assert room.lease(person, now=late) == found
    assert room.settle(found, person, 2, "Because.", False, None, now=late).settled_at == late


def test_what_waits_is_counted_once_its_days_are_over():
    read_twice()
    begun(make_adjudicator())
    other = make_adjudicator()

    assert room.waiting_for(other).count == 0
    assert room.waiting_for(other, now=timezone.now() + timedelta(days=8)).count == 1


@pytest.mark.parametrize("how", ["paused", "left", "no longer an adjudicator"])
def test_what_somebody_began_who_gets_no_work_goes_to_another_at_once(how):
    read_twice()
    gone = make_adjudicator()
    begun(gone)
    if how == "paused":
        pause(gone, None, "We look at it together.", "They stay.", now=timezone.now())
    elif how == "left":
        User.objects.filter(pk=gone.pk).update(is_active=False)
    else:
        gone.groups.clear()

    assert held(make_adjudicator()).own_at is None


def test_whoever_saw_the_two_never_rates_the_response_nor_settles_it_again():
    response = read_twice()
    slow = make_adjudicator()
    found = begun(slow)
    assert room.hand_over(found, make_user(Role.MAINTAINER), "On leave.", now=timezone.now())

    assert lease(slow) == NoWork(room.NOTHING)
    assert list(responses_seen_by(slow)) == [response]
    take_back(response.ratings.first())
    assert list(responses_seen_by(slow)) == [response]
    give_roles(slow, [Role.RATER, Role.ADJUDICATOR])
    assert isinstance(queue_lease(slow, now=timezone.now()), NoWork)


def test_what_somebody_gave_back_does_not_come_to_them_as_another_one_either():
    read_twice()
    unwilling = make_adjudicator()
    room.give_back(held(unwilling), unwilling, conflict=False, now=timezone.now())
    begun(make_adjudicator())

    assert lease(unwilling, later=8 * DAY) == NoWork(room.NOTHING)
    assert isinstance(lease(make_adjudicator(), later=8 * DAY), Adjudication)


def test_handing_over_is_done_once_and_never_what_is_settled():
    read_twice()
    person, admin = make_adjudicator(), make_user(Role.MAINTAINER)
    found = begun(person)

    assert room.hand_over(found, admin, "On leave.", now=timezone.now())
    assert not room.hand_over(found, admin, "On leave.", now=timezone.now())
    assert Adjudication.objects.count() == 2
    done = settled(make_adjudicator())
    assert not room.hand_over(done, admin, "On leave.", now=timezone.now())
    assert [event.actor for event in Event.objects.filter(kind=EventKind.END)] == [admin]


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
    firsts = [room.sides(one)[0].anchor.level for one in Adjudication.objects.all()]
    again = [room.sides(one)[0].anchor.level for one in Adjudication.objects.all()]

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


def test_changing_who_saw_the_two_or_what_it_is_about():
    response = read_twice()
    other = make_adjudicator()
    room.open_for(response)
    opened = Adjudication.objects.all()
    first, second = room.sides(opened.get())

    for change in ({"first_side": second, "second_side": first}, {"opened_at": timezone.now()}):
        with refused("is about never changes"), transaction.atomic():
            opened.update(**change)
    begun(make_adjudicator())
    with refused("before seeing the others is never edited"), transaction.atomic():
        opened.update(adjudicator=other)


def test_two_that_stand_for_one_response():
    read_twice()
    found = held(make_adjudicator())

    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.create(
            response=found.response, first_side=found.first_side, second_side=found.second_side
        )


def test_one_that_stands_on_less_than_the_two_counted_ratings_of_its_response():
    read_twice()
    elsewhere = held(make_adjudicator())
    response = read_twice()
    one, other = response.ratings.all()

    for sides in ((one, None), (one, one), (one, elsewhere.first_side)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Adjudication.objects.create(
                response=response, first_side=sides[0], second_side=sides[1]
            )
    take_back(other)
    with refused("stands on the two counted ratings"), transaction.atomic():
        Adjudication.objects.create(response=response, first_side=one, second_side=other)


def test_taking_a_rating_back_from_under_what_stands_on_it():
    response = read_twice()
    settled(make_adjudicator())
    one = response.ratings.first()

    with refused("while an adjudication stands on it"), transaction.atomic():
        Rating.objects.filter(pk=one.pk).update(withdrawn_at=timezone.now())
    take_back(one)
    assert standing() is None


def test_bringing_back_what_has_lost_a_rating_or_was_handed_over():
    response = read_twice()
    found = begun(make_adjudicator())
    mine = Adjudication.objects.filter(pk=found.pk)
    take_back(response.ratings.first())

    with refused("comes back with both its ratings"), transaction.atomic():
        mine.update(ended_at=None, ended="")
    with refused("stays as it was"), transaction.atomic():
        mine.update(settled_at=timezone.now(), anchor=found.own_anchor, reason="Because.")
    put_back(response.ratings.first())
    room.hand_over(found, None, "", now=timezone.now())
    for change in ({"ended_at": None, "ended": ""}, {"ended": "taken back"}):
        with refused("does not come back"), transaction.atomic():
            mine.update(**change)


@pytest.mark.parametrize(
    "change",
    [
        {"ended": "taken back"},
        {"ended_at": timezone.now()},
        {"ended": "x", "ended_at": timezone.now()},
    ],
)
def test_an_end_without_its_moment_or_its_reason(change):
    read_twice()
    found = held(make_adjudicator())

    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.filter(pk=found.pk).update(**change)


def test_handing_over_what_is_settled():
    read_twice()
    found = settled(make_adjudicator())

    with pytest.raises(IntegrityError), transaction.atomic():
        Adjudication.objects.filter(pk=found.pk).update(
            ended="handed over", ended_at=timezone.now()
        )


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


@pytest.mark.django_db(transaction=True)
def test_ratings_taken_back_and_put_back_while_many_settle_leave_one_that_stands_at_most():
    responses = [read_twice() for _ in range(2)]
    people = [make_adjudicator() for _ in range(3)]
    admin = make_user(Role.ADMIN)
    together = Barrier(len(people) + len(responses))

    def work(person: User) -> None:
        together.wait(30)
        try:
            for _ in range(6):
                found = lease(person)
                if not isinstance(found, Adjudication):
                    continue
                now = timezone.now()
                with suppress(room.NoLongerTwo, room.NotYours, room.OwnLevelFirst):
                    room.give_own_level(found, person, 3, now=now)
                    room.hand_over(found, admin, "Let us see.", now=now)
                    room.settle(found, person, 2, "Because.", False, None, now=now)
        finally:
            connection.close()

    def meddle(response: Response) -> None:
        together.wait(30)
        try:
            for _ in range(6):
                for rating in response.ratings.all():
                    take_back_by(admin, rating)
                    restore(rating, admin, "it stands", now=timezone.now())
        finally:
            connection.close()

    with ThreadPoolExecutor(len(people) + len(responses)) as pool:
        jobs = [pool.submit(work, one) for one in people]
        jobs += [pool.submit(meddle, one) for one in responses]
        for job in jobs:
            job.result()

    for response in responses:
        room.open_for(response)
        stands = Adjudication.objects.standing().get(response=response)
        assert {side.pk for side in room.sides(stands)} == {
            rating.pk for rating in Rating.objects.counted().filter(response=response)
        }


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


def test_a_rating_taken_back_meanwhile_is_said_and_the_words_typed_are_given_back(client, person):
    response = read_twice()
    found = begun(person)
    fields = {"do": "settle", "level": 2, "reason": "My long <reason>."}
    take_back(response.ratings.first())

    page = client.post(url(found), fields)

    assertContains(page, "was taken back", status_code=409)
    assertContains(page, "My long &lt;reason&gt;.", status_code=409)
    assert Adjudication.objects.get().settled_at is None


def test_what_was_handed_over_meanwhile_says_so_and_gives_the_words_back(client, person):
    read_twice()
    found = begun(person)
    lease(make_adjudicator(), later=8 * DAY)

    page = client.post(url(found), {"do": "settle", "level": 2, "reason": "My long reason."})

    assertContains(page, "somebody else has it now", status_code=409)
    assertContains(page, "My long reason.", status_code=409)
    assertContains(client.get(url(found)), "somebody else has it now", status_code=409)


def test_the_page_says_until_when_what_is_begun_stays_ones_own(client, person):
    read_twice()
    found = begun(person)

    page = client.get(reverse("rating:settle_queue"))

    assertContains(page, f"{timezone.localtime(found.held_until):%-d %B %Y, %H:%M}")


def test_a_maintainer_hands_over_what_is_begun_and_sees_no_level(client):
    read_twice()
    begun(make_adjudicator(), 3)
    slow = Adjudication.objects.get()
    client.force_login(make_user(Role.MAINTAINER))

    page = client.get(reverse("rating:raters"))
    assertContains(page, slow.adjudicator.pseudonym)
    assertNotContains(page, "Functional")
    where = reverse("rating:hand_over", args=[slow.code])
    assertContains(client.post(where), "Error: Why", status_code=422)
    said = client.post(where, {"reason": "On leave."}, follow=True)

    assertContains(said, "Somebody else can settle it now.")
    assertContains(said, "Nothing is begun and not settled.")
    assert Event.objects.get(kind=EventKind.END).about["reason"] == "On leave."
    again = client.post(where, {"reason": "On leave."}, follow=True)
    assertContains(again, "Nothing was changed")


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN])
def test_nobody_but_maintainers_hands_over(client, role):
    read_twice()
    found = begun(make_adjudicator())
    client.force_login(make_user(role))

    answer = client.post(reverse("rating:hand_over", args=[found.code]), {"reason": "x"})

    assert answer.status_code == 404
    assert Adjudication.objects.get().ended == ""


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
    with lifted():
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
