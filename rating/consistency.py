"""What must be true of the queue's tables whatever has happened, asked of the database."""

from collections import Counter
from collections.abc import Iterator

from django.db.models import Count

from rating.models import Assignment, Kind, Outcome, Rating, Slot, SlotState, Tally


def faults() -> Iterator[str]:
    """Every promise that is broken, in words; none, where all is well."""
    counted = Rating.objects.counted()
    for row in counted.values("response").annotate(n=Count("pk")).filter(n__gt=2):
        yield f"response {row['response']} has {row['n']} counted ratings"
    for row in counted.values("response", "rater").annotate(n=Count("pk")).filter(n__gt=1):
        yield f"rater {row['rater']} has {row['n']} counted ratings of response {row['response']}"
    for pk in Rating.objects.filter(quotes=None).values_list("pk", flat=True):
        yield f"rating {pk} has no quote"
    yield from _differ(
        "rated slots",
        Slot.objects.filter(state=SlotState.RATED).values_list("response", "number"),
        counted.values_list("response", "slot"),
    )
    yield from _differ(
        "held slots",
        Slot.objects.filter(state=SlotState.HELD).values_list("pk", flat=True),
        Assignment.objects.live().filter(kind=Kind.COUNTED).values_list("slot", flat=True),
    )
    late = Slot.objects.filter(
        wave__ratings_frozen_at__isnull=False, state__in=[SlotState.OPEN, SlotState.HELD]
    )
    for slot in late.values_list("pk", flat=True):
        yield f"slot {slot} is not closed, though the ratings of its wave are frozen"
    yield from _differ(
        "rated cards",
        Assignment.objects.filter(outcome=Outcome.RATED).values_list("pk", flat=True),
        Rating.objects.standing().exclude(assignment=None).values_list("assignment", flat=True),
    )
    yield from _tallies()


def _differ(what: str, kept: object, said: object) -> Iterator[str]:
    extra = Counter(kept)  # type: ignore[call-overload]
    extra.subtract(Counter(said))  # type: ignore[call-overload]
    for one, n in extra.items():
        if n:
            yield f"{what}: {one} {'is kept but not rated' if n > 0 else 'is not kept'}"


def _tallies() -> Iterator[str]:
    """The tallies by subject, arm and partner against the ratings that stand."""
    said: Counter[tuple[int, int, str, int]] = Counter()
    raters_of: dict[int, list[tuple[int, int]]] = {}
    slots = {
        (response, number): (wave, subject, arm)
        for response, number, wave, subject, arm in Slot.objects.filter(
            state=SlotState.RATED
        ).values_list("response", "number", "wave", "subject_id", "arm")
    }
    for response, number, rater in Rating.objects.counted().values_list(
        "response", "slot", "rater"
    ):
        wave, subject, arm = slots.get((response, number or 0), (0, 0, 0))
        said[rater, wave, Tally.Of.SUBJECT, subject] += 1
        if arm:
            said[rater, wave, Tally.Of.ARM, arm] += 1
        for other, _ in raters_of.setdefault(response, []):
            said[rater, wave, Tally.Of.PARTNER, other] += 1
            said[other, wave, Tally.Of.PARTNER, rater] += 1
        raters_of[response].append((rater, wave))
    kept = {
        (rater, wave, of, which): count
        for rater, wave, of, which, count in Tally.objects.exclude(count=0).values_list(
            "rater", "wave", "of", "which", "count"
        )
    }
    for key in said.keys() | kept.keys():
        if said[key] != kept.get(key, 0):
            rater, wave, of, which = key
            yield (
                f"rater {rater} in wave {wave}: {of} {which} is tallied {kept.get(key, 0)} times "
                f"and rated {said[key]} times"
            )
