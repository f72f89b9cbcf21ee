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
    end_cards(person, Outcome.EXPIRED, now)
    # The reason stands with the pause, from which it can be erased. The log keeps what it is given.
    log(EventKind.PAUSE, by.pk if by else None, person=person.pseudonym)


def end_cards(person: User, outcome: Outcome, now: datetime) -> None:
    """End what somebody holds, so that others can have it."""
    # Cards before slots, as everybody takes them. One that ran out may be another's by now.
    cards = Assignment.objects.live().filter(rater=person).order_by("pk")
    held = list(cards.select_for_update().values_list("pk", "slot_id"))
    Slot.objects.filter(pk__in=[slot for _, slot in held if slot]).update(state=SlotState.OPEN)
    Assignment.objects.filter(pk__in=[card for card, _ in held]).update(
        ended_at=now, outcome=outcome, parked=False
    )


def resume(person: User, by: User, *, now: datetime) -> None:
    """Give somebody work again."""
    with writing():
        ended = Pause.objects.filter(person=person, ended_at=None).update(ended_by=by, ended_at=now)
        if ended:
            log(EventKind.RESUME, by.pk, person=person.pseudonym)
