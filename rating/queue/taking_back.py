"""Ratings taken back by whoever gave them, or out of the count by a maintainer, and put back."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from rating import settled
from rating.models import (
    Assignment,
    Draft,
    EventKind,
    Kind,
    Outcome,
    Qualification,
    Rating,
    Seed,
    Slot,
    SlotState,
    User,
)
from rating.queue.leasing import hold_again
from rating.queue.slots import count, locked_slots, settle_partners
from rating.queue.words import TooLate
from rating.queue.writing import lock, log, writing
from runs.models import Wave

# What freezing the ratings of a wave holds fast.
HELD_FAST = (Kind.COUNTED, Kind.SURPLUS, Kind.REPEAT, Kind.BRIDGE)
# What has been answered stays as it was: practice that had its feedback, an attempt that is decided,
# a vote on a response that is agreed on, and what was rated before rating closed.
_still_open = ~(
    Q(kind=Kind.PRACTICE)
    | Q(kind__in=HELD_FAST) & Q(response__run__wave__ratings_frozen_at__isnull=False)
    | Q(kind=Kind.NORMING) & (Exists(Seed.objects.filter(response=OuterRef("response"))))
    | Q(kind=Kind.QUALIFYING)
    & Exists(
        Qualification.objects.filter(
            rater=OuterRef("rater"),
            instrument=OuterRef("response__item__bank__instrument"),
            decided_at__gte=OuterRef("rated_at"),
        )
    )
)


def undoable(rater: User, *, now: datetime) -> list[Rating]:
    """What the rater can still undo, newest first."""
    since = now - timedelta(minutes=settings.UNDO_MINUTES)
    return list(
        Rating.objects.standing()
        .filter(_still_open, rater=rater, rated_at__gt=since, assignment__isnull=False)
        .select_related("assignment")
        .order_by("-rated_at")
    )


def undo(rating: Rating, *, now: datetime) -> Assignment:
    """Take one's own rating back within minutes: its card is open again, just as it was left.

    The card in hand is parked and comes back afterwards. Raises ``TooLate``.
    """
    with writing():
        lock(rating.rater_id)
        found = (
            Rating.objects.standing()
            .select_for_update(of=("self",))
            .select_related("assignment__slot", "anchor", "response")
            .filter(_still_open, pk=rating.pk)
            .first()
        )
        if (
            found is None
            or found.assignment is None
            # Asked again with the rating locked: what it waited for may have closed it.
            or not Rating.objects.filter(_still_open, pk=found.pk).exists()
            or now > found.rated_at + timedelta(minutes=settings.UNDO_MINUTES)
        ):
            raise TooLate("This rating can no longer be undone.")
        Assignment.objects.live().filter(rater=rating.rater_id).update(parked=True)
        slots = _withdraw(found, now)
        assignment = found.assignment
        own = next((slot for slot in slots if slot.pk == assignment.slot_id), None)
        slot = own if own is not None and own.state == SlotState.OPEN else None
        if slot is not None or assignment.kind != Kind.COUNTED:
            hold_again(assignment, slot, now)
        else:
            assignment.outcome = Outcome.EXPIRED
            assignment.save(update_fields=["outcome"])
        Draft.objects.update_or_create(
            assignment=assignment, defaults={"content": _as_draft(found), "saved_at": now}
        )
        log(EventKind.UNDO, rating.rater_id, rating=rating.pk)
        return assignment


def void(rating: Rating, by: User, reason: str, *, now: datetime) -> None:
    """Take somebody's rating out of the count, with its reason; its slot opens for another.

    Raises ``TooLate`` if rating has closed.
    """
    with writing():
        found = Rating.objects.select_for_update().get(pk=rating.pk)
        if found.withdrawn_at is None and found.superseded_by_id is None:
            _withdraw(found, now)
            Assignment.objects.filter(ratings=found).update(outcome=Outcome.WITHDRAWN)
            log(EventKind.VOID, by.pk, rating=rating.pk, reason=reason)


def restore(rating: Rating, by: User, reason: str, *, now: datetime) -> None:
    """Put a voided rating back, if its slot is still free. Raises ``TooLate``."""
    with writing():
        found = Rating.objects.select_for_update().select_related("response").get(pk=rating.pk)
        if found.withdrawn_at is None:
            return
        slots = locked_slots(found.response_id)
        _see_that_rating_is_open(found)
        own = next((slot for slot in slots if slot.number == found.slot), None)
        if found.slot is not None and (own is None or own.state != SlotState.OPEN):
            raise TooLate("Another rating has come in its place.")
        Rating.objects.filter(pk=found.pk).update(withdrawn_at=None)
        settled.put_back(found, now=now)
        if own is not None:
            Slot.objects.filter(pk=own.pk).update(state=SlotState.RATED)
            settle_partners(found.response_id, slots)
            count(found.rater_id, own, _partner_of(found), +1)
        Assignment.objects.filter(ratings=found).update(outcome=Outcome.RATED)
        log(EventKind.RESTORE, by.pk, rating=rating.pk, reason=reason)


def _withdraw(rating: Rating, now: datetime) -> list[Slot]:
    """Take a standing rating out, and open its slot; return the response's slots, locked.

    Raises ``TooLate`` if rating has closed.
    """
    slots = locked_slots(rating.response_id)
    _see_that_rating_is_open(rating)
    settled.taken_back(rating, now=now)
    own = next((slot for slot in slots if slot.number == rating.slot), None)
    if own is not None:
        count(rating.rater_id, own, _partner_of(rating), -1)
    Rating.objects.filter(pk=rating.pk).update(withdrawn_at=now)
    if own is not None:
        own.state = SlotState.OPEN
        own.save(update_fields=["state"])
        settle_partners(rating.response_id, slots)
    return slots


def _see_that_rating_is_open(rating: Rating) -> None:
    """Raise ``TooLate`` in a frozen wave. Asked with the slots locked, which freezing waits for."""
    frozen = Wave.objects.filter(
        runs__responses=rating.response_id, ratings_frozen_at__isnull=False
    )
    if rating.kind in HELD_FAST and frozen.exists():
        raise TooLate("Rating has closed, so this rating stays as it is.")


def _partner_of(rating: Rating) -> int | None:
    """Who gave the response's other counted rating."""
    counted = Rating.objects.counted().filter(response=rating.response_id)
    return counted.exclude(rater=rating.rater_id).values_list("rater", flat=True).first()


def _as_draft(rating: Rating) -> dict[str, Any]:
    return {
        "level": rating.anchor.level,
        "quotes": [[quote.start, quote.end, quote.absence] for quote in rating.quotes.all()],
        "note": rating.note,
        "confidence": rating.confidence,
        "critical_harm": rating.critical_harm,
        "harm_line": rating.harm_line,
        "active_seconds": rating.active_seconds,
        "tags": rating.tags,
        "flags": rating.flags,
    }
