"""Where agreed responses come from, who is given them, and what never comes of them."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from rating import queue, seeding
from rating.consistency import faults
from rating.dealing import Deal, Rates, deal
from rating.models import (
    Assignment,
    Conflict,
    Event,
    Kind,
    Norming,
    Outcome,
    Pause,
    Qualification,
    Rating,
    Role,
    Seed,
    SkipReason,
    Slot,
    SlotState,
)
from rating.queue import Elsewhere, NoWork, Paused, TooLate, lease, rate, rate_and_lease, undo
from rating.standing import standing_of
from runs.models import Wave
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
    vote,
)
from tests.rating.test_guards import store

pytestmark = pytest.mark.django_db

INSTRUMENT = "model-index"


@pytest.fixture
def apart(settings):
    """Cards need not lie apart: these tests are of other things."""
    settings.CARD_DISTANCE = 0
    return settings


@pytest.fixture
def ten(apart):
    apart.SEED_PERCENT = 10
    return apart


def nominated(number: int = 1) -> Norming:
    wave = make_wave(make_bank(bank_data(number)))
    seeding.nominate(wave, number, make_user(Role.MAINTAINER), now=timezone.now())
    return Norming.objects.first()


def settled(norming: Norming, by=None, **changes) -> Seed:
    fields = {
        "level": 3,
        "tolerance": 1,
        "reasons": "It stays with her.",
        "quotes": [(0, 33, False)],
        "use": "live",
        "now": timezone.now(),
        **changes,
    }
    return seeding.settle(norming, by or make_user(Role.ADJUDICATOR), **fields)


# The norming round


def test_nominated_responses_are_spread_over_the_items_and_dealt_to_nobody():
    wave = make_wave(make_bank(bank_data(4)), trials=3)
    by, now = make_user(Role.MAINTAINER), timezone.now()

    assert seeding.nominate(wave, 4, by, now=now) == 4
    assert len(set(Norming.objects.values_list("response__item", flat=True))) == 4
    assert seeding.nominate(wave, 99, by, now=now) == 8

    assert set(Slot.objects.values_list("state", flat=True)) == {SlotState.ASIDE}
    assert isinstance(lease(make_rater(), now=now), NoWork)


def test_the_same_seed_nominates_the_same_responses():
    wave = make_wave(make_bank(bank_data(9)))
    by, now = make_user(Role.MAINTAINER), timezone.now()
    with transaction.atomic():
        seeding.nominate(wave, 3, by, now=now)
        first = set(Norming.objects.values_list("response", flat=True))
        transaction.set_rollback(True)

    seeding.nominate(wave, 3, by, now=now)

    assert set(Norming.objects.values_list("response", flat=True)) == first


def test_what_somebody_has_had_is_not_nominated():
    wave = make_wave(make_bank(bank_data(2)))
    card = leased(make_rater())

    assert seeding.nominate(wave, 2, make_user(), now=timezone.now()) == 1
    assert Norming.objects.get().response != card.response


def test_two_seniors_vote_blind_and_a_third_person_settles():
    norming = nominated()
    one, other, third = make_rater(), make_rater(), make_rater()

    vote(one, 2)
    assert not seeding.may_settle(norming, make_user(Role.ADJUDICATOR))
    vote(other, 4)

    assert [v.anchor.level for v in seeding.votes_on(norming.response_id)] == [2, 4]
    assert isinstance(seeding.next_vote(third, now=timezone.now()), NoWork)
    seed = settled(norming)
    assert (seed.anchor.level, seed.tolerance, seed.quotes) == (3, 1, [[0, 33, False]])
    assert Rating.objects.filter(kind=Kind.NORMING).count() == 2
    assert not Rating.objects.counted().exists()
    assert list(faults()) == []


def test_no_third_vote_is_begun_while_two_are_under_way():
    nominated()
    for _ in range(2):
        seeding.next_vote(make_rater(), now=timezone.now())

    assert isinstance(seeding.next_vote(make_rater(), now=timezone.now()), NoWork)


def test_nobody_settles_what_they_voted_on():
    norming = nominated()
    both = make_user(Role.RATER, Role.ADJUDICATOR)
    vote(both)
    vote(make_rater())

    assert not seeding.may_settle(norming, both)
    with pytest.raises(seeding.NotSettled):
        settled(norming, both)


def test_what_was_agreed_once_is_agreed():
    norming = nominated()
    vote(make_rater())
    vote(make_rater())
    settled(norming)

    with pytest.raises(seeding.NotSettled, match="meanwhile"):
        settled(norming)


def test_a_vote_can_be_undone_until_it_is_settled():
    norming = nominated()
    senior = make_rater()
    first = vote(senior, 2)

    card = undo(first, now=timezone.now())
    again, _ = rate_and_lease(card, given(4), now=timezone.now())
    vote(make_rater())
    settled(norming)

    assert next(v.anchor.level for v in seeding.votes_on(norming.response_id)) == 4
    with pytest.raises(TooLate):
        undo(again, now=timezone.now())


def test_a_senior_votes_on_nothing_of_their_own():
    norming = nominated()
    author = make_rater()
    Conflict.objects.create(person=author, item_code=norming.response.item.code)

    assert isinstance(seeding.next_vote(author, now=timezone.now()), NoWork)
    assert seeding.waiting_votes(author) == 0


def test_after_a_vote_the_next_one_comes_and_then_the_page_of_votes():
    nominated(2)
    senior = make_rater()
    card = seeding.next_vote(senior, now=timezone.now())

    _, second = rate_and_lease(card, given(), now=timezone.now())
    assert second.kind == Kind.NORMING
    _, then = rate_and_lease(second, given(), now=timezone.now())

    assert then == Elsewhere("rating:vote")


# What the database itself refuses


def test_counting_a_nominated_response_and_nominating_a_counted_one():
    nominated()
    counted = rated_somewhere()

    with pytest.raises(IntegrityError, match="never counted"):
        store(seeding.next_vote(make_rater(), now=timezone.now()), kind="counted", slot=1)
    with pytest.raises(IntegrityError, match="is not nominated"), transaction.atomic():
        Norming.objects.create(response=counted.response)


def rated_somewhere() -> Rating:
    make_wave()
    return rated(make_rater())


def test_agreeing_without_two_votes_or_by_one_who_voted():
    norming = nominated()
    senior = make_rater()
    anchor = norming.response.item.anchors.first()
    fields = {"response": norming.response, "anchor": anchor, "reasons": "so", "use": "live"}

    with pytest.raises(IntegrityError, match="two people"), transaction.atomic():
        Seed.objects.create(settled_by=make_user(), **fields)
    vote(senior)
    vote(make_rater())
    with pytest.raises(IntegrityError, match="did not vote"), transaction.atomic():
        Seed.objects.create(settled_by=senior, **fields)


def test_editing_or_deleting_what_was_agreed_or_decided():
    [seed] = make_seeds(1)
    decided = Qualification.objects.create(
        rater=make_rater(),
        instrument=INSTRUMENT,
        items=1,
        within_one=1,
        exact=1,
        need_within_one=1,
        need_exact=1,
        passed=True,
    )

    for rows, change in (
        (Seed.objects.filter(pk=seed.pk), {"tolerance": 0}),
        (Norming.objects.all(), {"nominated_at": timezone.now()}),
        (Qualification.objects.filter(pk=decided.pk), {"passed": False}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**change)
        with pytest.raises(IntegrityError), transaction.atomic():
            rows._raw_delete("default")
    seeding.retire(seed, make_user(), now=timezone.now())
    assert not Seed.objects.standing("live").exists()


# Practice


def test_practice_goes_through_all_and_then_begins_again_and_counts_nothing(apart):
    make_seeds(2, "practice")
    rater, now = make_rater(), timezone.now()
    had = []
    for _ in range(3):
        card = seeding.next_practice(rater, INSTRUMENT, now=now)
        _, then = rate_and_lease(card, given(), now=timezone.now())
        assert then == Elsewhere("rating:practised", str(card.code))
        had.append(card.response_id)

    assert had[0] != had[1]
    assert had[2] in had[:2]
    assert not Rating.objects.counted().exists()
    assert list(faults()) == []


def test_the_card_in_hand_waits_while_somebody_practises(apart):
    make_seeds(1, "practice")
    make_wave()
    rater = make_rater()
    in_hand = leased(rater)

    practice = seeding.next_practice(rater, INSTRUMENT, now=timezone.now())
    assert queue.current(rater) == practice
    rate_and_lease(practice, given(), now=timezone.now())

    assert leased(rater) == in_hand


def test_practice_that_had_its_feedback_is_not_undone(apart):
    make_seeds(1, "practice")
    rater = make_rater()
    card = seeding.next_practice(rater, INSTRUMENT, now=timezone.now())
    rating, _ = rate_and_lease(card, given(), now=timezone.now())

    assert queue.undoable(rater, now=timezone.now()) == []
    with pytest.raises(TooLate):
        undo(rating, now=timezone.now())


def test_nobody_practises_on_what_they_voted_on(apart):
    make_seeds(1, "practice")
    voter = Rating.objects.filter(kind=Kind.NORMING).first().rater

    assert isinstance(seeding.next_practice(voter, INSTRUMENT, now=timezone.now()), NoWork)


# Qualification


@pytest.mark.parametrize(
    ("pairs", "counts"),
    [
        ([], (0, 0, 0)),
        ([(3, 3), (3, 4), (2, 3), (1, 3), (5, 5)], (5, 4, 2)),
    ],
)
def test_what_an_attempt_counts(pairs, counts):
    found = seeding.counts_of(pairs)

    assert (found.items, found.within_one, found.exact) == counts


@pytest.mark.parametrize(
    ("within", "exact", "passes"),
    [(16, 10, True), (15, 15, False), (20, 9, False), (20, 20, True)],
)
def test_an_attempt_is_held_to_both_halves_of_the_rule(within, exact, passes):
    rule = seeding.Rule(20, 16, 10, 7)

    assert seeding.Counts(20, within, exact).meet(rule) is passes


@pytest.fixture
def short(apart):
    """A rule of four, three within one, two the same."""
    apart.QUALIFY_ITEMS, apart.QUALIFY_WITHIN_ONE, apart.QUALIFY_EXACT = 4, 3, 2
    return apart


def attempt(rater, *levels: int, now=None):
    """Rate an attempt through, and return what comes after its last response."""
    found = seeding.next_qualifying(rater, INSTRUMENT, now=now or timezone.now())
    for level in levels:
        assert isinstance(found, Assignment), found
        _, found = rate_and_lease(found, given(level), now=now or timezone.now())
    return found


def official(number: int = 2) -> Wave:
    wave = make_wave(make_bank(bank_data(number)), locked=False)
    Wave.objects.filter(pk=wave.pk).update(kind="official")
    return wave


def test_official_work_goes_to_the_qualified_alone_and_the_others_learn_the_way_on(short):
    make_seeds(4, "qualification")
    official()
    rater = make_rater()

    found = lease(rater, now=timezone.now())
    assert isinstance(found, NoWork)
    assert found.reason.startswith("What is open asks for a qualification in Model Index.")

    then = attempt(rater, 3, 3, 4, 5)

    decided = Qualification.objects.get()
    assert then == Elsewhere("rating:qualification", str(decided.pk))
    assert (decided.within_one, decided.exact, decided.passed) == (3, 2, True)
    assert leased(rater).kind == Kind.COUNTED
    assert list(faults()) == []


def test_a_qualification_is_of_one_instrument(short):
    official()
    rater = make_rater()
    Qualification.objects.create(
        rater=rater,
        instrument="unconditionality",
        items=4,
        within_one=4,
        exact=4,
        need_within_one=3,
        need_exact=2,
        passed=True,
    )

    assert isinstance(lease(rater, now=timezone.now()), NoWork)


def test_who_is_not_there_yet_tries_again_after_the_declared_days(short):
    make_seeds(4, "qualification")
    rater, now = make_rater(), timezone.now()
    attempt(rater, 3, 3, 5, 5, now=now)

    early = seeding.next_qualifying(rater, INSTRUMENT, now=now + timedelta(days=6))
    assert early == NoWork("You can try again later.", now + timedelta(days=7))
    attempt(rater, 3, 3, 3, 3, now=now + timedelta(days=7, minutes=1))

    passed = Qualification.objects.order_by("decided_at")
    assert [(row.passed, row.seen_before) for row in passed] == [(False, 0), (True, 4)]


def test_a_second_attempt_has_fresh_responses_first(short):
    make_seeds(8, "qualification")
    rater, now = make_rater(), timezone.now()
    attempt(rater, 1, 1, 1, 1, now=now)
    attempt(rater, 1, 1, 1, 1, now=now + timedelta(days=8))

    assert [row.seen_before for row in Qualification.objects.all()] == [0, 0]


def test_an_attempt_can_be_corrected_until_it_is_decided(short):
    make_seeds(4, "qualification")
    rater = make_rater()
    attempt(rater, 1)
    [rating] = queue.undoable(rater, now=timezone.now())

    card = undo(rating, now=timezone.now())
    rate_and_lease(card, given(3), now=timezone.now())
    attempt(rater, 3, 3, 3)

    assert Qualification.objects.get().exact == 4
    assert queue.undoable(rater, now=timezone.now()) == []


def test_skipping_chooses_no_easier_attempt(short):
    make_seeds(4, "qualification")
    rater = make_rater()
    card = seeding.next_qualifying(rater, INSTRUMENT, now=timezone.now())
    queue.skip(card, SkipReason.RATHER_NOT, "", now=timezone.now())

    attempt(rater, 3, 3, 3, 3)

    assert Rating.objects.filter(kind=Kind.QUALIFYING, response=card.response).exists()


def test_too_few_agreed_responses_begin_no_attempt(short):
    make_seeds(3, "qualification")

    found = seeding.next_qualifying(make_rater(), INSTRUMENT, now=timezone.now())

    assert found.reason == (
        "There are not enough agreed responses yet: 3 of the 4 that the rule asks for."
    )


# Live


def work_through(rater, level: int = 3, now=None) -> list[Rating]:
    """Rate until nothing is left."""
    done = []
    while isinstance(found := lease(rater, now=now or timezone.now()), Assignment):
        done.append(rate(found, given(level), now=now or timezone.now()))
    return done


def test_agreed_responses_come_where_the_draw_says_so_and_are_never_counted(ten):
    seeds = make_seeds(12)
    make_wave(make_bank(bank_data(60)))
    rater = make_rater()

    done = work_through(rater)

    places = [n for n, rating in enumerate(done, start=1) if rating.kind == Kind.SEED]
    said = [deal(rater.draws_by, n, Rates(10)) is Deal.SEED for n in range(1, len(done) + 1)]
    assert places == [n for n, yes in enumerate(said, start=1) if yes][: len(seeds)]
    given_to = [rating.response_id for rating in done if rating.kind == Kind.SEED]
    assert len(given_to) == len(set(given_to)) > 0
    assert Rating.objects.counted().count() == 60
    assert [a.ordinal for a in Assignment.objects.filter(rater=rater).order_by("pk")] == list(
        range(1, len(done) + 1)
    )
    assert list(faults()) == []


def all_seeds(settings):
    """Each card is an agreed response, while there is one."""
    settings.SEED_PERCENT = 100


def test_when_none_is_left_counted_work_goes_on_and_the_shortage_is_known(ten):
    all_seeds(ten)
    make_seeds(2)
    make_wave(make_bank(bank_data(4)))
    rater = make_rater()

    kinds = [rating.kind for rating in work_through(rater)]

    assert kinds == ["seed", "seed", "counted", "counted", "counted", "counted"]
    [pool] = seeding.pools()
    assert (pool.live, pool.enough, pool.without) == (2, False, 1)
    assert pool.in_words.endswith("too few.")


def test_verify_says_whether_the_pool_is_large_enough(ten, capsys):
    make_seeds(1)
    make_rater()
    make_wave(make_bank(bank_data(9)))

    call_command("verify")

    assert "Agreed responses for Model Index: 1 live, " in capsys.readouterr().out


def test_where_no_counted_work_is_left_no_agreed_response_comes_either(ten):
    all_seeds(ten)
    make_seeds(2)

    assert isinstance(lease(make_rater(), now=timezone.now()), NoWork)


def test_nobody_is_given_what_they_voted_on_settled_or_saw(ten):
    all_seeds(ten)
    [seed] = make_seeds(1)
    make_wave(make_bank(bank_data(3)))
    onlooker = make_user(Role.RATER, Role.ADJUDICATOR)
    seeding.look(Norming.objects.get(), onlooker, now=timezone.now())
    settler = seed.settled_by
    settler.groups.add(*make_rater().groups.all())
    voters = [rating.rater for rating in Rating.objects.filter(kind=Kind.NORMING)]

    for person in (*voters, settler, onlooker):
        assert leased(person).kind == Kind.COUNTED
    assert leased(make_rater()).kind == Kind.SEED


def test_only_those_of_the_right_language_instrument_and_use_are_dealt(ten):
    all_seeds(ten)
    make_seeds(2, "practice")
    make_seeds(1, bank=make_bank(bank_data(1, language="fr")))
    make_wave(make_bank(bank_data(3)))

    assert leased(make_rater()).kind == Kind.COUNTED


def test_agreed_responses_keep_the_distance_too(settings):
    settings.CARD_DISTANCE = 3
    settings.SEED_PERCENT = 50
    bank = make_bank(bank_data(8))
    make_seeds(8, bank=bank)
    make_wave(bank, trials=3)
    rater = make_rater()

    items = [rating.response.item_id for rating in work_through(rater)]

    assert Rating.objects.filter(kind=Kind.SEED, rater=rater).exists()
    for place, item in enumerate(items):
        assert item not in items[max(0, place - 3) : place]


def test_an_agreed_response_runs_out_is_renewed_skipped_and_undone_like_any_other(ten):
    all_seeds(ten)
    ten.CARD_DISTANCE = 1
    make_seeds(3)
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    card, now = leased(rater), timezone.now()
    queue.keep_draft(card, {"note": "half"}, now=now)
    queue.reclaim(now + timedelta(hours=2))

    assert queue.current(rater) == card
    assert queue.renew(card, now=now)
    rating, second = rate_and_lease(card, given(), now=now)
    assert (rating.kind, rating.slot) == ("seed", None)
    assert undo(rating, now=now) == card
    assert queue.current(rater) == card
    assert card.slot is None
    rate(card, given(4), now=now)
    queue.skip(leased(rater), SkipReason.LATER, "", now=now)
    assert leased(rater) != second
    assert Rating.objects.standing().get(kind=Kind.SEED).anchor.level == 4
    assert list(faults()) == []


def test_an_agreed_response_put_off_till_later_comes_back_with_what_was_typed(ten):
    all_seeds(ten)
    ten.CARD_DISTANCE = 1
    make_seeds(2)
    make_wave(make_bank(bank_data(3)))
    rater, now = make_rater(), timezone.now()
    card = leased(rater)
    queue.keep_draft(card, {"note": "half"}, now=now)
    queue.skip(card, SkipReason.LATER, "", now=now)
    rate(leased(rater), given(), now=now)

    again = leased(rater)

    assert (again.pk, again.code, again.kind) == (card.pk, card.code, Kind.SEED)
    assert again.draft.content == {"note": "half"}


def test_an_agreed_response_skipped_for_another_reason_does_not_come_back(ten):
    all_seeds(ten)
    ten.CARD_DISTANCE = 0
    make_seeds(1)
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    card = leased(rater)
    queue.skip(card, SkipReason.RATHER_NOT, "", now=timezone.now())

    assert leased(rater).kind == Kind.COUNTED


def test_a_late_rating_of_an_agreed_response_is_kept_as_what_it_is(ten):
    all_seeds(ten)
    make_seeds(1)
    make_wave(make_bank(bank_data(3)))
    card = leased(make_rater())
    queue.reclaim(timezone.now() + timedelta(hours=2))

    assert rate(card, given(), now=timezone.now()).kind == Kind.SEED


# Repeats


def test_a_response_comes_again_after_enough_cards_and_only_once(apart):
    apart.REPEAT_PERCENT, apart.REPEAT_AFTER = 30, 5
    make_wave(make_bank(bank_data(80)))
    rater = make_rater()

    done = work_through(rater)

    again = [rating for rating in done if rating.kind == Kind.REPEAT]
    first = {r.response_id: r.assignment.ordinal for r in done if r.kind == Kind.COUNTED}
    assert len(again) > 2
    assert len({rating.response_id for rating in again}) == len(again)
    assert all(r.assignment.ordinal - first[r.response_id] >= 5 for r in again)
    assert Rating.objects.counted().count() == 80
    assert list(faults()) == []


# Standing and pausing


def days_ago(rater, days: int) -> None:
    """Move a rater's past, as only time can: tests of the database's own rules are elsewhere."""
    from runs.guards import lifted

    with lifted():
        for rating in Rating.objects.filter(rater=rater):
            rating.rated_at -= timedelta(days=days)
            rating.save(update_fields=["rated_at"])


def test_figures_of_agreed_responses_come_in_tens_and_the_next_day(ten):
    all_seeds(ten)
    ten.SEED_MISSES = 10
    make_seeds(13)
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    work_through(rater, 4)

    assert standing_of(rater, now=timezone.now()).within.n == 0
    days_ago(rater, 1)
    found = standing_of(rater, now=timezone.now())

    assert (found.rated, found.within.n, found.within.count) == (16, 10, 10)
    assert found.severity.value == 1
    assert found.drift.reason == "It takes at least 14 days between first and last."


def test_too_many_misses_in_a_block_pause_but_never_at_once(ten):
    all_seeds(ten)
    make_seeds(10)
    make_wave(make_bank(bank_data(20)))
    rater, now = make_rater(), timezone.now()
    for level in (5, 5, 5, 5, 5, 3, 3, 3, 3, 3):
        rate(leased(rater), given(level), now=now)

    assert leased(rater).kind == Kind.COUNTED
    later = now + timedelta(minutes=11)
    rate(leased(rater), given(), now=later)
    found = lease(rater, now=later)

    assert isinstance(found, Paused)
    pause = Pause.objects.get()
    assert pause.paused_by is None
    assert pause.reason.startswith("5 of your last 10 ratings of agreed responses")
    assert pause.earlier_ratings == ten.SEED_EARLIER_RATINGS
    assert Event.objects.filter(kind="pause").count() == 1

    queue.resume(rater, make_user(Role.MAINTAINER), now=later)
    assert isinstance(lease(rater, now=later), Assignment)


def test_as_many_misses_as_the_rule_allows_pause_nobody(ten):
    all_seeds(ten)
    make_seeds(10)
    make_wave(make_bank(bank_data(3)))
    rater, now = make_rater(), timezone.now()
    for level in (5, 5, 5, 5, 4, 3, 3, 3, 3, 2):
        rate(leased(rater), given(level), now=now)

    assert isinstance(lease(rater, now=now + timedelta(minutes=11)), Assignment)


def test_a_card_seen_while_settling_stands_as_given_back():
    norming = nominated()
    vote(make_rater())
    vote(make_rater())
    adjudicator = make_user(Role.ADJUDICATOR)

    seeding.look(norming, adjudicator, now=timezone.now())
    seeding.look(norming, adjudicator, now=timezone.now())

    card = Assignment.objects.get(rater=adjudicator)
    assert (card.kind, card.outcome) == (Kind.NORMING, Outcome.RELEASED)
    assert seeding.may_settle(norming, adjudicator)
