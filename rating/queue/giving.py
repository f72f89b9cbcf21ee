"""A rating, stored once: counted if a slot is free for it, else kept as surplus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from rating.models import (
    NO_LONGER_BLIND,
    Assignment,
    EventKind,
    Kind,
    Outcome,
    Quote,
    Rating,
    Slot,
    SlotState,
    Tally,
)
from rating.queue.cards import item_at_hand
from rating.queue.leasing import free_slot, lease_within
from rating.queue.rows import do, locking, marks, rows, store
from rating.queue.slots import add_up, count, locked_slots, set_rated
from rating.queue.words import AlreadyRated, Found, Given, NotHeld
from rating.queue.writing import lock, log, writing

# What comes after a rating of each of these kinds, in the same transaction. See ``rating.seeding``.
after: dict[str, Callable[[Rating, datetime], Found]] = {}


def rate(assignment: Assignment, given: Given, *, now: datetime) -> Rating:
    """Store one rating, counted if a slot is free for it, else kept as surplus.

    Raises
    ------
    AlreadyRated
        If this card was rated before: nothing is stored twice.
    NotHeld
        If the rater skipped it or let it go.
    ValueError
        If the level is none of the item's anchors.
    """
    with writing():
        return _rate(assignment, given, now)


def rate_and_lease(assignment: Assignment, given: Given, *, now: datetime) -> tuple[Rating, Found]:
    """``rate``, and the next card in the same transaction: one trip."""
    with writing():
        lock(assignment.rater_id)
        rating = _rate(assignment, given, now)
        if rating.kind in after:
            return rating, after[rating.kind](rating, now)
        return rating, lease_within(assignment.rater, now, "")


@dataclass(frozen=True)
class _Mine:
    """A card as it is now, locked, and whether its rater is no longer blind in its wave."""

    kind: str
    slot: int | None
    response: int
    item: int
    live: bool
    outcome: str
    wave: int
    saw: bool
    drafted: bool

    @classmethod
    def of(cls, assignment: Assignment) -> "_Mine":
        (found,) = rows(
            "SELECT a.kind, a.slot_id, a.response_id, r.item_id, a.ended_at IS NULL, a.outcome,"
            " u.wave_id, EXISTS (SELECT 1 FROM rating_exposure e WHERE e.person_id = a.rater_id"
            f"  AND e.saw IN ({marks(NO_LONGER_BLIND)}) AND e.wave_id = u.wave_id),"
            " EXISTS (SELECT 1 FROM rating_draft d WHERE d.assignment_id = a.id)"
            " FROM rating_assignment a JOIN runs_response r ON r.id = a.response_id"
            f" JOIN runs_run u ON u.id = r.run_id WHERE a.id = %s{locking('UPDATE OF a')}",
            *NO_LONGER_BLIND,
            assignment.pk,
        )
        kind, slot, response, item, live, outcome, wave, *facts = found
        return cls(kind, slot, response, item, bool(live), outcome, wave, *map(bool, facts))


def _rate(assignment: Assignment, given: Given, now: datetime) -> Rating:
    mine = _Mine.of(assignment)
    if mine.outcome == Outcome.RATED:
        raise AlreadyRated(Rating.objects.standing().get(assignment=assignment))
    if mine.outcome not in ("", Outcome.EXPIRED):
        raise NotHeld
    levels = {anchor.level: anchor for anchor in item_at_hand(mine.item).anchors.all()}
    if given.level not in levels:
        raise ValueError(f"Level {given.level} is no anchor of this item.")
    slots = locked_slots(mine.response)
    slot = _slot_for(assignment, mine, slots)
    rating = Rating(
        id=uuid4(),
        response_id=mine.response,
        rater_id=assignment.rater_id,
        anchor_id=levels[given.level].pk,
        assignment_id=assignment.pk,
        kind=mine.kind if slot or mine.kind != Kind.COUNTED else Kind.SURPLUS,
        slot=slot.number if slot else None,
        note=given.note,
        confidence=given.confidence,
        critical_harm=given.critical_harm,
        harm_line=given.harm_line,
        active_seconds=given.active_seconds,
        tags=list(given.tags),
        flags=dict(given.flags or {}),
        rated_at=now,
    )
    store(
        [
            Quote(rating_id=rating.pk, start=span.start, end=span.end, absence=absence)
            for span, absence in given.quotes
        ]
    )
    store([rating])
    if slot:
        set_rated(slot, assignment.rater_id)
        count(assignment.rater_id, slot, slot.partner_id, +1)
    elif mine.kind in (Kind.SEED, Kind.REPEAT):
        _as_if_counted(assignment, mine, slots)
    do(
        "UPDATE rating_assignment SET parked = FALSE, ended_at = %s, outcome = 'rated'"
        " WHERE id = %s",
        now,
        assignment.pk,
    )
    if mine.drafted:
        do("DELETE FROM rating_draft WHERE assignment_id = %s", assignment.pk)
    log(EventKind.RATE, assignment.rater_id, rating=rating.pk, kind=rating.kind)
    return rating


def _slot_for(assignment: Assignment, mine: _Mine, slots: Sequence[Slot]) -> Slot | None:
    """The slot that the rating fills, if it counts."""
    if mine.kind != Kind.COUNTED:
        return None
    if mine.live:
        slot = next((slot for slot in slots if slot.pk == mine.slot), None)
    else:
        slot = free_slot(assignment, slots)
    if slot and mine.saw:
        slot.state = SlotState.OPEN
        slot.save(update_fields=["state"])
        return None
    return slot


def _as_if_counted(assignment: Assignment, mine: _Mine, slots: Sequence[Slot]) -> None:
    """Take the steps of a counted rating, and change nothing: the time tells nobody which it was."""
    do(
        "UPDATE rating_slot SET state = CASE WHEN id = %s THEN state ELSE state END,"
        " partner_id = CASE WHEN id = %s THEN partner_id ELSE partner_id END"
        " WHERE response_id = %s",
        slots[0].pk,
        slots[0].pk,
        mine.response,
    )
    rater, subject = assignment.rater_id, slots[0].subject_id
    add_up(mine.wave, [(rater, Tally.Of.SUBJECT.value, subject)], 0)
