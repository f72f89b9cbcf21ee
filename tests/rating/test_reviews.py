"""Two people review each item, a third settles, and the bank's standing follows from that."""

import copy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from rating import queue
from rating.models import (
    Assignment,
    Conflict,
    Event,
    ItemReview,
    ReviewHold,
    ReviewSkip,
    ReviewWork,
    Role,
    Slot,
    User,
)
from rating.queue import Announced, NoWork, Paused, TooLate
from rating.reviews import (
    CRITERIA,
    AlreadySent,
    Given,
    NoPlace,
    NotHeld,
    Standing,
    WroteIt,
    current,
    earlier_review,
    keep_draft,
    lease,
    let_go,
    renew,
    reviews_of,
    send,
    skip,
    standings,
    still_stands,
    undo,
    undoable,
    what_changed,
)
from runs.models import Item, Wave, WaveKind
from tests.factories import (
    bank_data,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
)

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def reviewer(*, expertise: tuple[str, ...] = (), hard_topics: bool = False, **fields) -> User:
    person = make_user(Role.ITEM_REVIEWER)
    person.expertise, person.hard_topics = list(expertise), hard_topics
    for name, value in fields.items():
        setattr(person, name, value)
    person.save()
    return person


def taken(person: User, *, now=NOW, topic: str = "") -> ReviewHold:
    hold = lease(person, now=now, topic=topic)
    assert isinstance(hold, ReviewHold), hold
    return hold


YES = Given(dict.fromkeys(CRITERIA, True), "validated", minutes=12)
NO = Given(
    {**dict.fromkeys(CRITERIA, True), "monotonic": False},
    "needs-revision",
    "Levels 2 and 3 ask for different things.",
    9,
    {"monotonic": "Two axes."},
)


def reviewed(person: User, given: Given = YES, *, now=NOW) -> ItemReview:
    return send(taken(person, now=now), given, now=now)


def standing_of(item: Item) -> Standing:
    return standings([item.content_hash])[item.content_hash]


# What reviews amount to


def test_two_reviews_by_two_people_validate():
    item = make_bank(bank_data(1)).items.get()
    assert standing_of(item) == Standing.UNVALIDATED

    reviewed(reviewer())
    assert standing_of(item) == Standing.SINGLE
    reviewed(reviewer())

    assert standing_of(item) == Standing.VALIDATED
    assert [one.number for one in reviews_of(item.content_hash)] == [1, 2]


def test_one_person_is_never_given_an_item_twice():
    make_bank(bank_data(1))
    person = reviewer()
    reviewed(person)

    assert isinstance(lease(person, now=NOW), NoWork)


def test_two_who_differ_open_a_third_place_and_the_third_settles():
    item = make_bank(bank_data(1)).items.get()
    reviewed(reviewer())
    reviewed(reviewer(), NO)
    assert standing_of(item) == Standing.DISPUTED

    reviewed(reviewer(), NO)

    assert standing_of(item) == Standing.NEEDS_REVISION
    assert isinstance(lease(reviewer(), now=NOW), NoWork)


def test_a_wording_that_nobody_knows_is_unvalidated():
    assert standings(["0" * 64]) == {"0" * 64: Standing.UNVALIDATED}


def next_version(data, change=lambda items: None, **meta):
    """The bank again, under a new version, with its items changed."""
    newer = copy.deepcopy(data)
    newer["meta"] |= {"bankVersion": f"{data['meta']['bankVersion']}-next", **meta}
    change(newer["items"])
    return make_bank(newer)


def test_an_unchanged_item_keeps_its_reviews_in_the_next_version():
    data = bank_data(2)
    make_bank(data)
    people = [reviewer(), reviewer()]
    for person in people:
        reviewed(person)
        reviewed(person)

    newer = next_version(data, lambda items: items[0].update(author="Somebody else"))

    assert {standing_of(item) for item in newer.items.all()} == {Standing.VALIDATED}


def test_one_character_of_an_anchor_returns_the_item_to_unvalidated():
    data = bank_data(2)
    make_bank(data)
    for person in (reviewer(), reviewer()):
        reviewed(person)
        reviewed(person)

    def change(items):
        items[0]["anchors"][2]["description"] += "."

    first, second = next_version(data, change).items.all()

    assert standing_of(first) == Standing.UNVALIDATED
    assert standing_of(second) == Standing.VALIDATED


def test_what_the_newest_version_no_longer_holds_is_not_dealt():
    data = bank_data(1)
    make_bank(data)
    newer = next_version(data, lambda items: items[0].update(prompt="Another situation."))

    assert taken(reviewer()).item.bank == newer


# Still stands


def changed_a_word(items):
    items[0]["anchors"][0]["description"] += " Slightly."


def test_after_a_small_change_the_earlier_reviewer_confirms_on_the_difference():
    data = bank_data(2)
    make_bank(data)
    person = reviewer()
    old = reviewed(person, NO)
    if old.item.code != data["items"][0]["id"]:
        old = reviewed(person, NO)
    item = next_version(data, changed_a_word).items.first()

    hold = taken(person)
    assert hold.item == item
    assert earlier_review(person, item) == old
    (change,) = what_changed(old.item, item)
    assert (change.where, change.parts[-1].text.strip()) == ("Level 1", "Slightly.")
    new = still_stands(hold, 3, now=NOW)

    assert (new.still_stands_of, new.content_hash) == (old, item.content_hash)
    assert (new.verdict, new.concern, new.whys) == (old.verdict, old.concern, old.whys)
    assert standing_of(item) == Standing.SINGLE
    assert [one.pk for one in reviews_of(old.content_hash)] == [old.pk]


def test_after_a_large_change_nothing_still_stands():
    data = bank_data(1)
    make_bank(data)
    person = reviewer()
    reviewed(person)
    next_version(data, lambda items: items[0].update(prompt="A wholly different situation " * 9))

    hold = taken(person)

    assert earlier_review(person, hold.item) is None
    with pytest.raises(NotHeld):
        still_stands(hold, 3, now=NOW)


# Who may review what


def test_an_author_is_not_given_their_own_item():
    data = bank_data(1)
    named, by_mail, declared = reviewer(name="Ada Writer"), reviewer(), reviewer()
    data["items"][0]["author"] = "ada writer"
    item = make_bank(data).items.get()
    Conflict.objects.create(person=declared, item_code=item.code)
    other = next_version(data, lambda items: items[0].update(author=by_mail.email.upper()))

    assert isinstance(lease(named, now=NOW), ReviewHold)  # the author of an earlier version alone
    for person in (by_mail, declared):
        found = lease(person, now=NOW)
        assert isinstance(found, NoWork)
        assert "written by you" in found.reason
    assert other.items.get().content_hash == item.content_hash


def test_an_author_who_declares_it_after_taking_the_item_cannot_send():
    make_bank(bank_data(1))
    hold = taken(reviewer())
    Conflict.objects.create(person=hold.reviewer, item_code=hold.item.code)

    with pytest.raises(WroteIt):
        send(hold, YES, now=NOW)
    assert not ItemReview.objects.exists()


def test_hard_items_come_to_those_who_turned_them_on_and_are_announced(settings):
    settings.HARD_TOPICS_A_DAY = 1
    data = bank_data(2)
    for item in data["items"]:
        item |= {"sensitivity": "high", "topic": "losing a child"}
    make_bank(data)

    off = lease(reviewer(), now=NOW)
    assert isinstance(off, NoWork)
    assert "Hard topics are off" in off.reason
    person = reviewer(hard_topics=True, expertise=("clinician",))
    assert lease(person, now=NOW) == Announced("losing a child", 0, 1)
    reviewed_one = send(taken(person, topic="open"), YES, now=NOW)
    assert reviewed_one.expert

    assert isinstance(lease(person, now=NOW, topic="open"), NoWork)
    assert isinstance(lease(person, now=NOW + timedelta(days=1)), Announced)


def test_somebody_who_would_rather_see_a_different_one_is_given_one():
    data = bank_data(3)
    data["items"][0] |= {"sensitivity": "high", "topic": "losing a child"}
    make_bank(data)
    person = reviewer(hard_topics=True, expertise=("clinician",))

    assert isinstance(lease(person, now=NOW), Announced)
    assert taken(person, topic="other").item.topic == ""


def identity_item():
    data = bank_data(1)
    data["items"][0]["identity"] = True
    return make_bank(data).items.get()


def test_an_identity_item_stays_at_one_review_until_somebody_with_expertise_has_given_one():
    item = identity_item()
    reviewed(reviewer())

    kept = lease(reviewer(), now=NOW)
    assert isinstance(kept, NoWork)
    assert "kept for reviewers" in kept.reason
    reviewed(reviewer(expertise=("lived experience",)))

    assert standing_of(item) == Standing.VALIDATED


def test_an_item_that_came_to_need_expertise_after_two_reviews_opens_a_third_for_an_expert():
    data = bank_data(1)
    make_bank(data)
    reviewed(reviewer())
    reviewed(reviewer())
    item = next_version(data, lambda items: items[0].update(identity=True)).items.get()
    assert standing_of(item) == Standing.SINGLE

    assert isinstance(lease(reviewer(), now=NOW), NoWork)
    assert reviewed(reviewer(expertise=("clinician",))).number == 3
    assert standing_of(item) == Standing.VALIDATED


def test_somebody_paused_is_given_no_item():
    make_bank(bank_data(1))
    person = reviewer()
    queue.pause(person, None, "A rest.", "They stay.", now=NOW)

    assert isinstance(lease(person, now=NOW), Paused)


def test_an_item_in_another_language_waits_for_somebody_who_reads_it():
    make_bank(bank_data(1, language="fr"))

    found = lease(reviewer(), now=NOW)
    assert isinstance(found, NoWork)
    assert "languages" in found.reason
    assert taken(reviewer(languages=["fr"]))


def test_without_any_bank_there_is_no_item_to_review():
    assert lease(reviewer(), now=NOW) == NoWork("There is no item to review yet.")


# Order and places


def test_what_is_half_reviewed_comes_first():
    make_bank(bank_data(9))
    begun = reviewed(reviewer()).item

    assert {taken(reviewer()).item for _ in range(1)} == {begun}


def test_an_item_is_held_by_two_at_most_and_the_next_one_waits_or_has_another():
    make_bank(bank_data(1))
    first = taken(reviewer())
    taken(reviewer())

    found = lease(reviewer(), now=NOW)

    assert found == NoWork("All that is left is held by others.", first.expires_at)


def test_asking_again_gives_the_same_item():
    make_bank(bank_data(5))
    person = reviewer()

    assert taken(person) == taken(person) == current(person)


def test_skipping_gives_the_item_to_others_and_the_reason_decides_whether_it_comes_back():
    make_bank(bank_data(1))
    not_now, never, own = reviewer(), reviewer(), reviewer()
    for person, reason in (
        (not_now, ReviewSkip.LATER),
        (never, ReviewSkip.RATHER_NOT),
        (own, ReviewSkip.CONFLICT),
    ):
        skip(taken(person), reason, "a note", now=NOW)

    assert isinstance(lease(not_now, now=NOW), ReviewHold)
    assert isinstance(lease(never, now=NOW), NoWork)
    assert isinstance(lease(own, now=NOW), NoWork)
    assert Conflict.objects.get().person == own


# Time that runs out, and what is sent twice


def late(settings):
    return NOW + timedelta(minutes=settings.LEASE_MINUTES + 1)


def test_time_that_ends_loses_nothing(settings):
    make_bank(bank_data(1))
    person = reviewer()
    hold = taken(person)
    keep_draft(hold, {"concern": "half a thought"}, now=NOW)
    after = late(settings)
    taken(reviewer(), now=after)  # the other place; this also takes back what was overdue
    hold.refresh_from_db()
    assert hold.outcome == "expired"

    assert current(person) == hold
    assert renew(hold, now=after)
    hold.refresh_from_db()
    assert hold.draft == {"concern": "half a thought"}
    assert send(hold, YES, now=after).number == 2  # the other one has the first place now


def test_a_review_that_comes_too_late_is_refused_and_stays_as_a_draft(settings):
    make_bank(bank_data(1))
    person = reviewer()
    hold = taken(person)
    keep_draft(hold, {"concern": "half a thought"}, now=NOW)
    after = late(settings)
    reviewed(reviewer(), now=after)
    reviewed(reviewer(), now=after)

    with pytest.raises(NoPlace):
        send(hold, YES, now=after)
    assert not renew(hold, now=after)
    let_go(hold)

    hold.refresh_from_db()
    assert (hold.outcome, hold.draft) == ("released", {"concern": "half a thought"})
    assert current(person) is None
    assert ItemReview.objects.count() == 2


def test_writing_on_keeps_the_item():
    make_bank(bank_data(1))
    hold = taken(reviewer())

    keep_draft(hold, {}, now=NOW + timedelta(minutes=5))

    expires_at = hold.expires_at
    hold.refresh_from_db()
    assert hold.expires_at == expires_at + timedelta(minutes=5)


def test_what_is_sent_twice_is_stored_once():
    make_bank(bank_data(1))
    hold = taken(reviewer())
    review = send(hold, YES, now=NOW)

    with pytest.raises(AlreadySent) as told:
        send(hold, NO, now=NOW)
    assert told.value.review == review
    assert ItemReview.objects.get().verdict == "validated"


def test_a_review_is_undone_within_minutes_and_opens_just_as_it_was_left(settings):
    item = make_bank(bank_data(3)).items.first()
    person = reviewer()
    review = reviewed(person, NO)
    other = taken(person)
    assert undoable(person, now=NOW) == review

    hold = undo(review, now=NOW + timedelta(minutes=9))

    assert hold.draft["monotonic"] == "no"
    assert hold.draft["why_monotonic"] == "Two axes."
    assert hold.draft["concern"] == NO.concern
    assert standing_of(item) == Standing.UNVALIDATED
    assert current(person) == hold
    send(hold, YES, now=NOW + timedelta(minutes=9))
    assert taken(person, now=NOW + timedelta(minutes=9)) == other
    assert ItemReview.objects.live().get().verdict == "validated"
    assert set(Event.objects.values_list("kind", flat=True)) == {"review", "undo"}


def test_a_review_is_not_undone_after_its_minutes_nor_once_a_third_is_begun(settings):
    make_bank(bank_data(1))
    first = reviewed(reviewer())
    with pytest.raises(TooLate):
        undo(first, now=NOW + timedelta(minutes=settings.UNDO_MINUTES, seconds=1))
    second = reviewed(reviewer(), NO)
    taken(reviewer())

    with pytest.raises(TooLate, match="third"):
        undo(second, now=NOW)
    assert ItemReview.objects.live().count() == 2


# The replies beside an item


def replies_of(hold: ReviewHold) -> list[int]:
    return ReviewWork.objects.get(pk=hold.work_id).replies


def test_both_reviewers_see_the_same_three_replies_which_nobody_rates_any_more():
    bank = make_bank(bank_data(1))
    make_wave(bank, trials=5)

    first, second = taken(reviewer()), taken(reviewer())

    assert len(replies_of(first)) == 3
    assert replies_of(first) == replies_of(second)
    assert set(
        Slot.objects.filter(response__in=replies_of(first)).values_list("state", flat=True)
    ) == {"aside"}
    rater = make_rater()
    assert leased(rater).response_id not in replies_of(first)


@pytest.mark.parametrize("kind", [WaveKind.PILOT, WaveKind.OFFICIAL])
def test_replies_that_somebody_has_had_or_that_are_to_be_reported_are_left_to_the_raters(kind):
    bank = make_bank(bank_data(1))
    had = leased_of(make_wave(bank, trials=1))
    reported = make_wave(bank, trials=2, locked=False)
    Wave.objects.filter(pk=reported.pk).update(kind=kind)

    hold = taken(reviewer())

    assert replies_of(hold) == []
    assert Assignment.objects.get().response == had


def leased_of(wave):
    return leased(make_rater()).response


def test_replies_that_come_later_change_nothing_for_the_second_reviewer():
    bank = make_bank(bank_data(1))
    first = taken(reviewer())
    make_wave(bank, trials=3)

    assert replies_of(taken(reviewer())) == replies_of(first) == []


# What the database refuses


def refused(match: str):
    return pytest.raises(IntegrityError, match=match)


def store(person: User, item: Item, number: int = 1, **changes) -> ItemReview:
    """A review as a fault in the code might store it."""
    fields = {
        "content_hash": item.content_hash,
        "item": item,
        "reviewer": person,
        "number": number,
        **dict.fromkeys(CRITERIA, True),
        "verdict": "validated",
        "minutes": 10,
        **changes,
    }
    with transaction.atomic():
        return ItemReview.objects.create(**fields)


@pytest.fixture
def item() -> Item:
    return make_bank(bank_data(1)).items.get()


def test_two_live_reviews_by_one_person_for_one_wording(item):
    person = reviewer()
    store(person, item)

    with pytest.raises(IntegrityError):
        store(person, item, 2)


def test_two_reviews_in_one_place_and_a_fourth(item):
    store(reviewer(), item)

    for number in (1, 0, 4):
        with pytest.raises(IntegrityError):
            store(reviewer(), item, number)


def test_a_third_review_where_two_agree(item):
    with refused("third review"):
        store(reviewer(), item, 3)
    store(reviewer(), item)
    store(reviewer(), item, 2)
    with refused("third review"):
        store(reviewer(), item, 3)

    store(reviewer(expertise=("clinician",)), item, 3, expert=True)


def test_a_review_by_somebody_without_the_role_or_by_no_person(item):
    for person in (make_rater(), make_user(), make_user(Role.MAINTAINER)):
        with refused("by an item reviewer or an admin"):
            store(person, item)
    with pytest.raises(IntegrityError):
        store(reviewer(), item, reviewer=None)
    store(make_user(Role.ADMIN), item)


@pytest.mark.parametrize("name", ["name", "email", "pseudonym", "conflict"])
def test_a_review_by_the_author(name):
    person = reviewer(name="Ada Writer")
    data = bank_data(1)
    if name != "conflict":
        data["items"][0]["author"] = f" {getattr(person, name)} ".upper()
    item = make_bank(data).items.get()
    if name == "conflict":
        Conflict.objects.create(person=person, item_code=item.code)

    with refused("does not review it"):
        store(person, item)
    store(reviewer(name=""), item)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_failing_criterion_with_a_verdict_of_validated_or_without_a_concern(item, criterion):
    person = reviewer()

    with pytest.raises(IntegrityError):
        store(person, item, **{criterion: False})
    with pytest.raises(IntegrityError):
        store(person, item, **{criterion: False}, verdict="needs-revision")
    with pytest.raises(IntegrityError):
        store(person, item, verdict="needs-revision")
    with pytest.raises(IntegrityError):
        store(person, item, verdict="fine", concern="x")
    store(person, item, **{criterion: False}, verdict="needs-revision", concern="Why.")


def test_minutes_below_none(item):
    with pytest.raises(IntegrityError):
        store(reviewer(), item, minutes=-1)


def test_a_review_of_a_wording_that_the_item_does_not_have(item):
    with refused("wording that its item has"):
        store(reviewer(), item, content_hash="0" * 64)


def test_an_expertise_that_nobody_was_marked_with(item):
    with refused("not marked with"):
        store(reviewer(), item, expert=True)


def test_confirming_what_somebody_else_found_or_the_same_wording(item):
    data = bank_data(1)
    earlier = make_bank(data).items.get()
    theirs = store(reviewer(), earlier)
    newer = next_version(data, changed_a_word).items.get()

    with refused("one's own review"):
        store(reviewer(), newer, still_stands_of=theirs)
    with refused("one's own review"):
        store(theirs.reviewer, earlier, 2, still_stands_of=theirs)
    store(theirs.reviewer, newer, still_stands_of=theirs)


def test_editing_or_deleting_a_review(item):
    review = store(reviewer(), item)
    rows = ItemReview.objects.filter(pk=review.pk)

    for change in ({"concern": "other"}, {"minutes": 1}, {"expert": True}):
        with refused("never edited"), transaction.atomic():
            rows.update(**change)
    with refused("never deleted"), transaction.atomic():
        rows._raw_delete("default")
    rows.update(withdrawn_at=NOW)
    with refused("once"), transaction.atomic():
        rows.update(withdrawn_at=None)


def test_a_review_is_superseded_by_a_newer_one_of_the_same_person_and_by_no_other(item):
    person, other = reviewer(), reviewer()
    first = store(person, item)

    def supersede(by: User, **changes) -> ItemReview:
        newer = ItemReview(
            item=item, content_hash=item.content_hash, reviewer=by, number=1,
            **dict.fromkeys(CRITERIA, True), verdict="validated", minutes=10, **changes,
        )  # fmt: skip
        with transaction.atomic():
            ItemReview.objects.filter(pk=first.pk).update(superseded_by=newer.pk)
            newer.save(force_insert=True)
        return newer

    with refused("superseded by another"):
        supersede(other)
    newer = supersede(person)

    assert [one.pk for one in reviews_of(item.content_hash)] == [newer.pk]
    second = store(other, item, 2)
    with refused("stored after it"), transaction.atomic():
        ItemReview.objects.filter(pk=newer.pk).update(superseded_by=second.pk)


def test_two_who_hold_one_place_of_an_item_and_one_who_holds_two_items():
    make_bank(bank_data(2))
    hold = taken(reviewer())
    fields = {"leased_at": NOW, "expires_at": NOW}

    for who, work in (
        (reviewer(), hold.work),
        (hold.reviewer, ReviewWork.objects.exclude(pk=hold.work_id).get()),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ReviewHold.objects.create(
                work=work, item=hold.item, reviewer=who, number=hold.number, **fields
            )


def test_items_of_two_versions_are_reviewed_each_on_its_own():
    bank = make_bank(pair_bank_data(1))
    person = reviewer()

    codes = {reviewed(person).item.code for _ in range(2)}

    assert codes == set(bank.items.values_list("code", flat=True))


# Many at once


@pytest.mark.django_db(transaction=True)
def test_twenty_at_once_give_each_item_two_reviews_and_nobody_one_twice():
    make_bank(bank_data(10))
    people = [reviewer() for _ in range(20)]
    together = Barrier(20)

    def work(person: User) -> int:
        together.wait(30)
        sent = 0
        try:
            while isinstance(hold := lease(person, now=timezone.now()), ReviewHold):
                send(hold, YES, now=timezone.now())
                sent += 1
        finally:
            connection.close()
        return sent

    with ThreadPoolExecutor(20) as pool:
        sent = sum(pool.map(work, people))

    of_item = Counter(ItemReview.objects.values_list("item", flat=True))
    assert (sent, set(of_item.values()), len(of_item)) == (20, {2}, 10)
    assert max(Counter(ItemReview.objects.values_list("item", "reviewer")).values()) == 1
    assert not ReviewHold.objects.live().exists()
