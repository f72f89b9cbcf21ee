"""A time in which somebody is given no work."""

from datetime import datetime

from rating.models import Assignment, EventKind, Outcome, Pause, Slot, SlotState, User
from rating.queue.writing import lock, log, writing


def pause(
    person: User, by: User | None, reason: str, earlier_ratings: str, *, now: datetime
) -> None:
    """Give somebody no more work, and say why and what becomes of their earlier ratings."""
    with writing():
        lock(person.pk)
        pause_within(person, by, reason, earlier_ratings, now=now)


def pause_within(
    person: User, by: User | None, reason: str, earlier_ratings: str, *, now: datetime
) -> None:
    """``pause``, in a transaction that has locked the person."""
    if Pause.objects.filter(person=person, ended_at=None).exists():
        return
    Pause.objects.create(
        person=person,
        paused_by=by,
        reason=reason,
        earlier_ratings=earlier_ratings,
        paused_at=now,
    )
    held = list(Assignment.objects.live().filter(rater=person))
    Slot.objects.filter(pk__in=[a.slot_id for a in held if a.slot_id]).update(state=SlotState.OPEN)
    Assignment.objects.filter(pk__in=[a.pk for a in held]).update(
        ended_at=now, outcome=Outcome.EXPIRED, parked=False
    )
    log(EventKind.PAUSE, by.pk if by else None, person=person.pseudonym, reason=reason)


def resume(person: User, by: User, *, now: datetime) -> None:
    """Give somebody work again."""
    with writing():
        ended = Pause.objects.filter(person=person, ended_at=None).update(ended_by=by, ended_at=now)
        if ended:
            log(EventKind.RESUME, by.pk, person=person.pseudonym)
