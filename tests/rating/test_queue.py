"""Who gets which response, and what becomes of what they hold."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from rating.models import (
    Assignment,
    Conflict,
    Draft,
    Event,
    Exposure,
    Kind,
    Outcome,
    Rating,
    Saw,
    SkipReason,
    Slot,
    SlotState,
    Tally,
)
from rating.queue import (
    AlreadyRated,
    Announced,
    NotHeld,
    NoWork,
    Overtaken,
    Paused,
    TooLate,
    current,
    keep_draft,
    lease,
    let_go,
    open_slots,
    own_card,
    pause,
    rate,
    rate_and_lease,
    reclaim,
    renew,
    restore,
    resume,
    skip,
    undo,
    undoable,
    void,
)
from rating.queue.cards import item_at_hand
from runs.models import Item, Response
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)

pytestmark = pytest.mark.django_db

LATER = timedelta(hours=2)


def test_a_rater_keeps_the_card_in_hand_until_it_is_rated():
    make_wave()
    rater = make_rater()

    first = leased(rater)

    assert leased(rater) == first
    rate(first, given(), now=timezone.now())
    assert leased(rater) != first


def test_a_response_gets_two_counted_ratings_by_two_people_and_then_is_offered_to_nobody():
    make_wave(make_bank(bank_data(1)))
    raters = [make_rater() for _ in range(3)]

    ratings = [rated(rater) for rater in raters[:2]]

    assert [(rating.kind, rating.slot) for rating in ratings] == [("counted", 1), ("counted", 2)]
    assert lease(raters[2], now=timezone.now()) == NoWork("All that is open has had its ratings.")


def test_nobody_rates_a_response_twice():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    rated(rater)

    assert isinstance(lease(rater, now=timezone.now()), NoWork)


def test_a_half_rated_response_comes_before_an_untouched_one():
    make_wave(make_bank(bank_data(8)))
    half = rated(make_rater()).response

    assert leased(make_rater()).response == half


def test_one_person_holds_one_card_and_one_slot_has_one_holder():
    make_wave()
    held = leased(make_rater())
    fields = {"response": held.response, "leased_at": held.leased_at, "expires_at": held.expires_at}

    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(slot=held.slot, rater=make_rater(), **fields)
    other = Slot.objects.filter(state=SlotState.OPEN).first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Assignment.objects.create(slot=other, rater=held.rater, **fields)


def test_when_others_hold_all_that_is_left_it_says_when_the_next_may_come_free():
    make_wave(make_bank(bank_data(1)))
    holders = [leased(make_rater()) for _ in range(2)]

    found = lease(make_rater(), now=timezone.now())

    assert found == NoWork("All that is left is held by others.", holders[0].expires_at)


def test_a_card_held_too_long_goes_to_somebody_else():
    make_wave(make_bank(bank_data(1)))
    for _ in range(2):
        leased(make_rater())

    found = lease(make_rater(), now=timezone.now() + LATER)

    assert isinstance(found, Assignment)
    assert Assignment.objects.filter(outcome=Outcome.EXPIRED).count() == 2


def test_a_late_rating_counts_while_a_slot_is_free():
    make_wave(make_bank(bank_data(1)))
    late = leased(make_rater())
    reclaim(timezone.now() + LATER)

    rating = rate(late, given(), now=timezone.now() + LATER)

    assert rating.kind == Kind.COUNTED


def test_a_late_rating_takes_the_other_slot_when_its_own_is_gone():
    make_wave(make_bank(bank_data(1)))
    late = leased(make_rater())
    reclaim(timezone.now() + LATER)
    taken = rated(make_rater())

    rating = rate(late, given(), now=timezone.now())

    assert {taken.slot, rating.slot} == {1, 2}


def test_a_late_rating_is_kept_as_surplus_when_two_have_come():
    make_wave(make_bank(bank_data(1)))
    late = leased(make_rater())
    reclaim(timezone.now() + LATER)
    for _ in range(2):
        rated(make_rater())

    rating = rate(late, given(2), now=timezone.now())

    assert (rating.kind, rating.slot, rating.anchor.level) == ("surplus", None, 2)
    assert rating.quotes.count() == 1
    assert Rating.objects.counted().count() == 2


def test_sending_a_rating_twice_stores_it_once():
    make_wave()
    card = leased(make_rater())
    first = rate(card, given(3), now=timezone.now())

    with pytest.raises(AlreadyRated) as why:
        rate(card, given(5), now=timezone.now())

    assert why.value.rating == first
    assert Rating.objects.count() == 1


def test_a_skipped_response_is_free_for_others_and_not_offered_again():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    card = leased(rater)

    skip(card, SkipReason.RATHER_NOT, "", now=timezone.now())

    assert isinstance(lease(rater, now=timezone.now()), NoWork)
    assert leased(make_rater()).response == card.response
    with pytest.raises(NotHeld):
        rate(card, given(), now=timezone.now())


def test_a_response_put_off_till_later_comes_back_after_the_declared_distance(settings):
    settings.CARD_DISTANCE = 2
    make_wave(make_bank(bank_data(4)))
    rater = make_rater()
    card = leased(rater)
    skip(card, SkipReason.LATER, "", now=timezone.now())

    order = [rated(rater).response for _ in range(4)]

    assert card.response in order[2:]


def test_no_two_cards_of_one_item_lie_nearer_than_the_declared_distance(settings):
    settings.CARD_DISTANCE = 3
    make_wave(make_bank(bank_data(6)), trials=3)
    rater = make_rater()

    items = [rated(rater).response.item_id for _ in range(18)]

    for place, item in enumerate(items):
        assert item not in items[max(0, place - 3) : place]


def test_the_two_arms_of_a_pair_lie_apart(settings):
    settings.CARD_DISTANCE = 2
    make_wave(make_bank(pair_bank_data(4)))
    rater = make_rater()

    pairs = [rated(rater).response.slots.first().pair_id for _ in range(8)]

    for place, pair in enumerate(pairs):
        assert pair not in pairs[max(0, place - 2) : place]


def test_when_only_cards_too_near_are_left_the_rater_learns_when_to_come_back(settings):
    settings.CARD_DISTANCE = 3
    make_wave(make_bank(pair_bank_data(1)))
    rater = make_rater()
    rated(rater)

    found = lease(rater, now=timezone.now())

    assert isinstance(found, NoWork)
    assert found.reason == "What is left is too like what you have just read."
    assert isinstance(lease(rater, now=found.try_at + timedelta(minutes=1)), Assignment)


def test_cards_too_near_do_not_hide_the_rest_of_the_queue():
    make_wave(make_bank(bank_data(2)), trials=40)
    for rater in (make_rater(), make_rater()):
        while isinstance(lease(rater, now=timezone.now()), Assignment):
            rated(rater)
    first = make_wave(make_bank(bank_data(8)))
    rater = make_rater()

    cards = [rated(rater).response for _ in range(6)]

    assert any(card.run.wave == first for card in cards)


def test_whoever_has_seen_the_single_ratings_of_a_wave_rates_it_no_more():
    wave = make_wave()
    rater = make_rater()
    Exposure.objects.create(person=rater, saw=Saw.RATINGS, wave=wave)

    assert isinstance(lease(rater, now=timezone.now()), NoWork)


def test_a_crisis_topic_is_never_dealt_unasked():
    crisis = bank_data(1)
    crisis["items"][0] |= {"sensitivity": "high", "topic": "grief"}
    make_wave(make_bank(crisis))

    assert isinstance(lease(make_rater(), now=timezone.now()), NoWork)


def test_work_in_hand_is_held_for_longer_while_it_is_used():
    make_wave()
    card = leased(make_rater())

    assert renew(card, now=timezone.now() + LATER)

    reclaim(timezone.now() + LATER)
    card.refresh_from_db()
    assert card.ended_at is None


def test_a_card_that_ran_out_is_taken_up_again_with_its_draft_while_it_is_free():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    card = leased(rater)
    keep_draft(card, {"note": "half a thought"}, now=timezone.now())
    reclaim(timezone.now() + LATER)

    assert current(rater) == card
    assert renew(card, now=timezone.now())
    assert current(rater).draft.content == {"note": "half a thought"}


def test_a_card_that_ran_out_and_went_to_others_can_be_let_go():
    make_wave(make_bank(bank_data(2)))
    rater = make_rater()
    card = leased(rater)
    keep_draft(card, {"note": "half a thought"}, now=timezone.now())
    reclaim(timezone.now() + LATER)
    Slot.objects.filter(response=card.response).update(state=SlotState.HELD)

    assert not renew(card, now=timezone.now())
    let_go(card)

    assert current(rater) is None
    assert not Draft.objects.exists()


def test_opening_slots_twice_opens_two():
    wave = make_wave(make_bank(bank_data(1)))

    open_slots(list(Response.objects.of_wave(wave).values_list("pk", flat=True)))

    assert Slot.objects.count() == 2


def test_what_a_lease_asks_of_the_database_does_not_grow_with_the_queue():
    make_wave(make_bank(bank_data(3)))
    rated(make_rater())
    with CaptureQueriesContext(connection) as few:
        leased(make_rater())
    make_wave(make_bank(bank_data(40)), trials=3)
    leased(make_rater())
    for pk in Item.objects.values_list("pk", flat=True):
        item_at_hand(pk)  # read once
    with CaptureQueriesContext(connection) as many:
        leased(make_rater())

    assert len(many) <= len(few)


def test_an_undone_rating_opens_its_card_again_just_as_it_was_left():
    make_wave()
    rater = make_rater()
    rating = rated(rater, 4, note="steady")
    in_hand = leased(rater)

    card = undo(rating, now=timezone.now())

    assert current(rater) == card == rating.assignment
    assert card.draft.content["level"] == 4
    assert card.draft.content["quotes"] == [[0, 33, False]]
    assert card.draft.content["note"] == "steady"
    rate(card, given(2), now=timezone.now())
    assert lease(rater, now=timezone.now()) == in_hand
    assert [r.anchor.level for r in Rating.objects.standing()] == [2]
    assert Rating.objects.count() == 2


def test_undoing_the_first_of_two_ratings_leaves_the_second_and_counts_a_new_first():
    make_wave(make_bank(bank_data(1)))
    one, other = make_rater(), make_rater()
    first, second = rated(one), rated(other)

    rate(undo(first, now=timezone.now()), given(5), now=timezone.now())

    assert {r.slot for r in Rating.objects.counted()} == {1, 2}
    assert second in Rating.objects.counted()
    assert tallies_of(one) == tallies_of(other)


def test_after_its_minutes_a_rating_stays():
    make_wave()
    rating = rated(make_rater())

    with pytest.raises(TooLate):
        undo(rating, now=timezone.now() + timedelta(minutes=11))
    assert undoable(rating.rater, now=timezone.now()) == [rating]
    assert undoable(rating.rater, now=timezone.now() + timedelta(minutes=11)) == []


def test_a_voided_rating_makes_room_for_another_persons_and_can_be_restored_till_then():
    make_wave(make_bank(bank_data(1)))
    rating = rated(make_rater())
    admin = make_user()

    void(rating, admin, "rated while paused", now=timezone.now())
    assert not Rating.objects.counted().exists()
    restore(rating, admin, "a mistake", now=timezone.now())
    assert Rating.objects.counted().get() == rating
    void(rating, admin, "rated while paused", now=timezone.now())
    for _ in range(2):
        rated(make_rater())
    with pytest.raises(TooLate):
        restore(rating, admin, "a mistake", now=timezone.now())

    assert Rating.objects.counted().count() == 2
    kinds = Event.objects.filter(about__rating=str(rating.pk)).values_list("kind", flat=True)
    assert list(kinds.order_by("pk")) == ["rate", "void", "restore", "void"]


def test_a_paused_rater_gets_no_work_and_learns_why_and_what_they_held_is_free():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    held = leased(rater)
    admin = make_user()

    pause(rater, admin, "Let us talk.", "They stay as they are.", now=timezone.now())

    assert lease(rater, now=timezone.now()) == Paused("Let us talk.", "They stay as they are.")
    assert Slot.objects.get(pk=held.slot_id).state == SlotState.OPEN
    resume(rater, admin, now=timezone.now())
    assert isinstance(lease(rater, now=timezone.now()), Assignment)


@pytest.mark.parametrize("conflict", [{"developer": "Dev"}, {"item_code": "AWR-1-A"}])
def test_nobody_is_given_what_they_have_an_interest_in(conflict):
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    Conflict.objects.create(person=rater, **conflict)

    assert isinstance(lease(rater, now=timezone.now()), NoWork)


def test_saying_that_one_wrote_the_item_keeps_all_replies_to_it_away():
    make_wave(make_bank(bank_data(1)), trials=3)
    rater = make_rater()

    skip(leased(rater), SkipReason.CONFLICT, "", now=timezone.now())

    assert isinstance(lease(rater, now=timezone.now()), NoWork)


def test_a_response_that_two_people_call_broken_is_set_aside():
    make_wave(make_bank(bank_data(1)))
    for _ in range(2):
        skip(leased(make_rater()), SkipReason.BROKEN, "cut off", now=timezone.now())

    assert set(Slot.objects.values_list("state", flat=True)) == {SlotState.ASIDE}


def test_responses_in_other_languages_are_not_dealt_and_it_says_so():
    make_wave(make_bank(bank_data(1, language="fr")))
    rater = make_rater()

    assert lease(rater, now=timezone.now()) == NoWork(
        "What is left is in languages you have not chosen."
    )
    rater.languages = ["en", "fr"]
    rater.save()
    assert isinstance(lease(rater, now=timezone.now()), Assignment)


def test_a_hard_topic_is_announced_before_it_is_fetched_and_limited_by_the_day(settings):
    settings.HARD_TOPICS_A_DAY = 1
    settings.CARD_DISTANCE = 0
    crisis = bank_data(2)
    for item in crisis["items"]:
        item |= {"sensitivity": "high", "topic": "grief"}
    make_wave(make_bank(crisis))
    rater = make_rater()
    rater.hard_topics = True
    rater.save()

    assert lease(rater, now=timezone.now()) == Announced("grief", 0, 1)
    assert not Assignment.objects.exists()
    assert isinstance(lease(rater, now=timezone.now(), topic="other"), NoWork)
    card = lease(rater, now=timezone.now(), topic="open")
    assert isinstance(card, Assignment)
    rate(card, given(), now=timezone.now())
    assert isinstance(lease(rater, now=timezone.now(), topic="open"), NoWork)


def test_after_the_days_limit_rating_opens_again_tomorrow(settings):
    settings.RATINGS_A_DAY = 1
    make_wave()
    rater = make_rater()
    rated(rater)

    found = lease(rater, now=timezone.now())

    assert isinstance(found, NoWork)
    assert found.try_at.date() == (timezone.localtime() + timedelta(days=1)).date()


def test_the_next_card_comes_with_the_rating_in_one_transaction():
    make_wave()
    rater = make_rater()

    rating, found = rate_and_lease(leased(rater), given(), now=timezone.now())

    assert isinstance(found, Assignment)
    assert found.response != rating.response


def tallies_of(rater) -> list[tuple[str, int]]:
    """What the rater has had, without whom they had it with."""
    return sorted(Tally.objects.filter(rater=rater).exclude(count=0).values_list("of", "count"))


def test_the_tallies_are_those_of_the_ratings_that_stand(settings):
    settings.CARD_DISTANCE = 0
    wave = make_wave(make_bank(pair_bank_data(3)), subjects=["a-1", "b-1"])
    raters = [make_rater() for _ in range(3)]
    now = timezone.now()
    made = [rated(raters[n % 3]) for n in range(12)]
    undo(made[-1], now=now)
    void(made[0], make_user(), "a test", now=now)

    counted: Counter[tuple[int, str, int]] = Counter()
    for rating in Rating.objects.counted():
        slot = rating.response.slots.get(number=rating.slot)
        counted[rating.rater_id, "subject", slot.subject_id] += 1
        counted[rating.rater_id, "arm", slot.arm] += 1
        for other in Rating.objects.counted().filter(response=rating.response):
            if other.rater_id != rating.rater_id:
                counted[rating.rater_id, "partner", other.rater_id] += 1

    kept = Tally.objects.filter(wave=wave).exclude(count=0)
    assert dict(counted) == {(t.rater_id, t.of, t.which): t.count for t in kept}


def test_a_draft_saved_in_another_tab_meanwhile_is_not_written_over():
    make_wave()
    card = leased(make_rater())
    in_both_tabs = own_card(card.rater, card.code)
    keep_draft(card, {"note": "first tab", "tab": "1"}, now=timezone.now())

    with pytest.raises(Overtaken):
        keep_draft(in_both_tabs, {"note": "second tab", "tab": "2"}, now=timezone.now())
    assert Draft.objects.get().content["note"] == "first tab"
    assert keep_draft(in_both_tabs, {"note": "again", "tab": "1"}, now=timezone.now())
