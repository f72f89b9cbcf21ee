"""Who holds which response, from the lease to the rating. Every rule of the queue is kept here.

Work is pulled: nobody holds what they have not opened. Each step is one short transaction that
locks, in this order: the rater, the assignment, the slots.
"""

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from rating.choice import Candidate, Seen, ranked
from rating.models import (
    Assignment,
    Draft,
    Exposure,
    Kind,
    Outcome,
    Quote,
    Rating,
    Saw,
    SkipReason,
    Slot,
    SlotState,
    User,
)
from rating.quotes import Span
from runs.canonical import draw
from runs.models import Anchor, Pair, Response

# How many open slots the choice looks at, however many there are.
WINDOW = 64
# How many of them it tries to lock before it looks again.
TRIES = 8
LOOKS = 20
RECLAIM_AT_ONCE = 50
# After so long a rest, an earlier card no longer counts as near.
REST = timedelta(hours=8)
RAN_OUT = (Outcome.EXPIRED, Outcome.RELEASED)


@dataclass(frozen=True)
class NoWork:
    """Why there is nothing to lease, in the words of the page, and when to look again."""

    reason: str
    try_at: datetime | None = None


@dataclass(frozen=True)
class Given:
    """A rating as somebody gives it, checked against the text and the anchors."""

    level: int
    quotes: tuple[tuple[Span, bool], ...]
    note: str = ""
    confidence: str = ""
    critical_harm: bool = False
    harm_line: str = ""
    active_seconds: int | None = None


@dataclass(frozen=True)
class Recent:
    """A card that a rater had of late."""

    item: int
    pair: int | None
    response: int
    outcome: str
    leased_at: datetime


class AlreadyRated(Exception):
    def __init__(self, rating: Rating) -> None:
        self.rating = rating
        super().__init__(f"rated at {rating.rated_at:%H:%M}")


class NotHeld(Exception):
    """The rater gave this response back, so that nothing can be stored for it."""


@contextmanager
def writing() -> Iterator[None]:
    """One short write transaction.

    On SQLite all writers of the queue, in every thread and process, first wait in one line:
    without it, many at once get "database is locked".
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with open(f"{connection.settings_dict['NAME']}.queue", "w") as line:
        fcntl.flock(line, fcntl.LOCK_EX)
        with transaction.atomic():
            yield


def open_slots(response_ids: Sequence[int], **_: Any) -> None:
    """Open the two slots of each response. Safe to call twice."""
    rows = Response.objects.filter(pk__in=response_ids).select_related("item", "run__wave")
    pair_of = {
        item: pair
        for pair, *items in Pair.objects.filter(
            Q(arm_a__response__in=response_ids) | Q(arm_b__response__in=response_ids)
        ).values_list("pk", "arm_a", "arm_b")
        for item in items
    }
    Slot.objects.bulk_create(
        (
            Slot(
                response=row,
                number=number,
                draw=int.from_bytes(draw(row.run.wave.seed, str(row.code))[:8], "big") >> 1,
                wave=row.run.wave,
                item_id=row.item_id,
                pair_id=pair_of.get(row.item_id),
                topic=row.item.topic,
            )
            for row in rows
            for number in (1, 2)
        ),
        ignore_conflicts=True,
    )


def current(rater: User) -> Assignment | None:
    """The card in the rater's hands, or the last one that ran out with a draft on it."""
    mine = Assignment.objects.filter(rater=rater).select_related("response__item", "slot", "draft")
    return (
        mine.live().first()
        or mine.filter(outcome=Outcome.EXPIRED, draft__isnull=False).order_by("-leased_at").first()
    )


def lease(rater: User, *, now: datetime) -> Assignment | NoWork:
    """The card the rater holds, or the next one for them, or why there is none."""
    with writing():
        _lock(rater.pk)
        if held := current(rater):
            return held
        _reclaim(now)
        recent = _recent(rater, now)
        seen = [
            Seen(one.item, one.pair, one.response if one.outcome in RAN_OUT else None)
            for one in recent
        ]
        for _ in range(LOOKS):
            candidates = _candidates(rater, recent)
            order = ranked(candidates, seen, distance=settings.CARD_DISTANCE, rater=rater.pseudonym)
            for candidate in order[:TRIES]:
                if slot := _locked_open_slot(candidate.slot):
                    return _hand_over(slot, rater, now)
            if not order:
                break
        return _nothing_left(rater, recent)


def reclaim(now: datetime) -> None:
    """Take back what was held too long. Drafts stay, and a late rating is still welcome."""
    with writing():
        _reclaim(now)


def _reclaim(now: datetime) -> None:
    overdue = list(
        Assignment.objects.overdue(now)
        .select_for_update(skip_locked=True)
        .order_by("pk")[:RECLAIM_AT_ONCE]
    )
    slots = [assignment.slot_id for assignment in overdue]
    # In the order in which ``rate`` locks them, so that neither waits for the other.
    list(Slot.objects.select_for_update().filter(pk__in=slots).order_by("pk"))
    Slot.objects.filter(pk__in=slots).update(state=SlotState.OPEN)
    Assignment.objects.filter(pk__in=[assignment.pk for assignment in overdue]).update(
        ended_at=now, outcome=Outcome.EXPIRED
    )


def renew(assignment: Assignment, *, now: datetime) -> bool:
    """Hold a card for longer; take it up again if it ran out and is still free."""
    with writing():
        _lock(assignment.rater_id)
        mine = _mine(assignment)
        if mine.ended_at is None:
            mine.expires_at = now + _hold()
            mine.save(update_fields=["expires_at"])
            return True
        busy = Assignment.objects.live().filter(rater=mine.rater_id).exists()
        if mine.outcome != Outcome.EXPIRED or busy:
            return False
        slot = _free_slot(mine, _locked_slots(mine.response_id))
        if slot is None:
            return False
        _hold_again(mine, slot, now)
        return True


def keep_draft(assignment: Assignment, content: dict[str, Any], *, now: datetime) -> bool:
    """Keep what was put down so far; whether there still was something to keep it for."""
    with writing():
        mine = _mine(assignment)
        if mine.outcome not in ("", Outcome.EXPIRED):
            return False
        Draft.objects.update_or_create(
            assignment=mine, defaults={"content": content, "saved_at": now}
        )
        return True


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
        mine = _mine(assignment)
        if earlier := Rating.objects.filter(assignment=mine).first():
            raise AlreadyRated(earlier)
        if mine.outcome not in ("", Outcome.EXPIRED):
            raise NotHeld
        anchor = Anchor.objects.filter(item=mine.response.item_id, level=given.level).first()
        if anchor is None:
            raise ValueError(f"Level {given.level} is no anchor of this item.")
        slots = _locked_slots(mine.response_id)
        slot = mine.slot if mine.ended_at is None else _free_slot(mine, slots)
        if slot and saw_ratings(mine.rater_id, mine.response):
            Slot.objects.filter(pk=slot.pk).update(state=SlotState.OPEN)
            slot = None
        rating_id = uuid4()
        Quote.objects.bulk_create(
            Quote(rating_id=rating_id, start=span.start, end=span.end, absence=absence)
            for span, absence in given.quotes
        )
        rating = Rating.objects.create(
            pk=rating_id,
            response=mine.response,
            rater_id=mine.rater_id,
            anchor=anchor,
            assignment=mine,
            kind=Kind.COUNTED if slot else Kind.SURPLUS,
            slot=slot.number if slot else None,
            note=given.note,
            confidence=given.confidence,
            critical_harm=given.critical_harm,
            harm_line=given.harm_line,
            active_seconds=given.active_seconds,
            rated_at=now,
        )
        if slot:
            Slot.objects.filter(pk=slot.pk).update(state=SlotState.RATED)
            Slot.objects.filter(response=mine.response).exclude(pk=slot.pk).update(
                urgency=0, partner=mine.rater_id
            )
        mine.ended_at, mine.outcome = now, Outcome.RATED
        mine.save(update_fields=["ended_at", "outcome"])
        Draft.objects.filter(assignment=mine).delete()
        return rating


def skip(assignment: Assignment, reason: SkipReason, note: str, *, now: datetime) -> None:
    """Give a card back, with the reason that decides what happens to it. Free, always."""
    with writing():
        mine = _mine(assignment)
        if mine.outcome not in ("", Outcome.EXPIRED):
            return
        mine.skip_reason, mine.skip_note = reason, note
        if mine.ended_at is None:
            Slot.objects.filter(pk=mine.slot_id).update(state=SlotState.OPEN)
        mine.ended_at, mine.outcome = now, Outcome.SKIPPED
        mine.save(update_fields=["skip_reason", "skip_note", "ended_at", "outcome"])
        if reason != SkipReason.LATER:
            Draft.objects.filter(assignment=mine).delete()


def let_go(assignment: Assignment) -> None:
    """Drop a card that ran out, and the draft on it, as its rater asked."""
    with writing():
        mine = _mine(assignment)
        if mine.outcome == Outcome.EXPIRED:
            mine.outcome = Outcome.RELEASED
            mine.save(update_fields=["outcome"])
            Draft.objects.filter(assignment=mine).delete()


def _hold() -> timedelta:
    return timedelta(minutes=settings.LEASE_MINUTES)


def _mine(assignment: Assignment) -> Assignment:
    # Locked alone: a joined row that changes meanwhile would make this one vanish on PostgreSQL.
    Assignment.objects.select_for_update().only("pk").get(pk=assignment.pk)
    return Assignment.objects.select_related("slot", "response__run").get(pk=assignment.pk)


def _open_to(rater: User) -> QuerySet[Slot]:
    """Open slots of responses that the rater has not had, in waves whose ratings they never saw.

    A card that ran out, or was put off till later, may come back.
    """
    had = Assignment.objects.filter(rater=rater, response=OuterRef("response")).exclude(
        Q(outcome__in=RAN_OUT) | Q(skip_reason=SkipReason.LATER)
    )
    seen = Exposure.objects.filter(person=rater, saw=Saw.RATINGS).values_list("wave", flat=True)
    return (
        Slot.objects.filter(~Exists(had), state=SlotState.OPEN)
        .filter(Q(partner=None) | ~Q(partner=rater))
        .exclude(wave__in=list(seen))
        .exclude(topic__gt="")
    )


def saw_ratings(rater: int, response: Response) -> bool:
    """Whether the rater has seen single ratings of the wave, be it after they took the card."""
    return Exposure.objects.filter(
        person=rater, saw=Saw.RATINGS, wave=response.run.wave_id
    ).exists()


def _candidates(rater: User, recent: Sequence[Recent]) -> list[Candidate]:
    """The head of the queue, without what lies too near: a window full of that would hide the rest."""
    near = recent[: settings.CARD_DISTANCE]
    again = [one.response for one in near if one.outcome in RAN_OUT]
    far = ~Q(item_id__in=[one.item for one in near]) & ~Q(
        pair_id__in=[one.pair for one in near if one.pair is not None], pair_id__isnull=False
    )
    return [
        Candidate(*row)
        for row in _open_to(rater)
        .filter(far | Q(response__in=again))
        .order_by("urgency", "draw")
        .values_list("pk", "response_id", "item_id", "pair_id", "urgency", "draw")[:WINDOW]
    ]


def _recent(rater: User, now: datetime) -> list[Recent]:
    """The rater's last cards since they last rested, newest first."""
    return [
        Recent(*row)
        for row in Assignment.objects.filter(rater=rater, leased_at__gt=now - REST)
        .order_by("-leased_at")
        .values_list("slot__item_id", "slot__pair_id", "response_id", "outcome", "leased_at")[
            : settings.CARD_DISTANCE
        ]
    ]


def _lock(rater: int) -> None:
    """Let one request of a rater through at a time; what refers to the rater goes on."""
    User.objects.select_for_update(no_key=True).get(pk=rater)


def _locked_open_slot(pk: int) -> Slot | None:
    return (
        Slot.objects.select_for_update(skip_locked=True).filter(pk=pk, state=SlotState.OPEN).first()
    )


def _locked_slots(response: int) -> list[Slot]:
    return list(Slot.objects.select_for_update().filter(response=response).order_by("pk"))


def _free_slot(mine: Assignment, slots: Sequence[Slot]) -> Slot | None:
    """An open slot for somebody whose time ran out: the one they held, else the other one."""
    free = [
        slot for slot in slots if slot.state == SlotState.OPEN and slot.partner_id != mine.rater_id
    ]
    return min(free, key=lambda slot: slot.pk != mine.slot_id, default=None)


def _hand_over(slot: Slot, rater: User, now: datetime) -> Assignment:
    """A card for the slot: the one the rater had of this response before, or else a new one.

    A second card of one response could be rated beside the first.
    """
    before = (
        Assignment.objects.filter(rater=rater, response=slot.response_id)
        .order_by("-leased_at")
        .first()
    )
    if before:
        before.leased_at = now
        before.save(update_fields=["leased_at"])
        _hold_again(before, slot, now)
        return before
    slot.state = SlotState.HELD
    slot.save(update_fields=["state"])
    return Assignment.objects.create(
        slot=slot,
        response_id=slot.response_id,
        rater=rater,
        leased_at=now,
        expires_at=now + _hold(),
    )


def _hold_again(mine: Assignment, slot: Slot, now: datetime) -> None:
    slot.state = SlotState.HELD
    slot.save(update_fields=["state"])
    mine.slot, mine.ended_at, mine.outcome = slot, None, ""
    mine.skip_reason, mine.skip_note = "", ""
    mine.expires_at = now + _hold()
    mine.save(
        update_fields=["slot", "ended_at", "outcome", "skip_reason", "skip_note", "expires_at"]
    )


def _nothing_left(rater: User, recent: Sequence[Recent]) -> NoWork:
    if recent and _open_to(rater).exists():
        return NoWork(
            "What is left is too like what you have just read.",
            min(one.leased_at for one in recent) + REST,
        )
    others = (
        Assignment.objects.live()
        .exclude(rater=rater)
        .order_by("expires_at")
        .values_list("expires_at", flat=True)
        .first()
    )
    if others:
        return NoWork("All that is left is held by others.", others)
    return NoWork("All that is open has had its ratings.")
