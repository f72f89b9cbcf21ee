"""Whether what was opened or settled still stands: it does as long as both its ratings do.

The queue calls this in the same transaction in which it takes a rating back or puts it back.
Imports no step of the work: all may ask.
"""

from datetime import datetime, timedelta

from django.conf import settings

from rating.models import Adjudication, Ended, Event, EventKind, Rating


def taken_back(rating: Rating, *, now: datetime) -> None:
    """End what stands on a rating, just before the rating goes: the database asks for this order.

    Everything said in it stays on record. When another rating comes in, the rule is held to the
    new two, and another may be opened.
    """
    stands = Adjudication.objects.standing().select_for_update().filter(response=rating.response_id)
    for adjudication in stands:
        if rating.pk in (adjudication.first_side_id, adjudication.second_side_id):
            end(adjudication, Ended.TAKEN_BACK, now=now, rating=str(rating.pk))


def put_back(rating: Rating, *, now: datetime) -> None:
    """Let stand again what stood on the two ratings that stand now, unless something newer does."""
    of_it = Adjudication.objects.filter(response=rating.response_id)
    if of_it.standing().exists():
        return
    both = set(
        Rating.objects.counted().filter(response=rating.response_id).values_list("pk", flat=True)
    )
    ended = of_it.filter(ended=Ended.TAKEN_BACK, first_side__in=both, second_side__in=both)
    found = ended.select_for_update().order_by("-opened_at", "-pk").first()
    if found is None:
        return
    found.ended_at, found.ended = None, ""
    if found.own_at and not found.settled_at:
        found.held_until = now + timedelta(days=settings.SETTLE_DAYS)
    found.save(update_fields=["ended_at", "ended", "held_until"])
    Event.objects.create(
        kind=EventKind.RESTORE,
        about={"adjudication": str(found.code), "rating": str(rating.pk)},
        happened_at=now,
    )


def end(
    adjudication: Adjudication,
    why: Ended,
    *,
    now: datetime,
    by: int | None = None,
    **about: str,
) -> None:
    """Let an adjudication stand no longer. It must be locked."""
    adjudication.ended_at, adjudication.ended = now, why
    adjudication.save(update_fields=["ended_at", "ended"])
    Event.objects.create(
        kind=EventKind.END,
        actor_id=by,
        about={"adjudication": str(adjudication.code), "why": why.value, **about},
        happened_at=now,
    )
