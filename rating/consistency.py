"""What must be true of the queue's tables whatever has happened, asked of the database.

Each promise is one statement that returns the rows which break it; what a slot repeats is read along
all slots. Nothing is counted in memory, however many there are.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, OuterRef, QuerySet

from rating.models import Assignment, Kind, Outcome, Rating, Slot, SlotState
from rating.queue.slots import drawn_for
from runs.models import Pair

# What is counted of the ratings that stand: by rater and wave, of a kind of thing and which.
SAID = """
    SELECT g.rater_id, s.wave_id, 'subject' AS "of", s.subject_id AS which, COUNT(*) AS count
    FROM rating_rating g JOIN rating_slot s ON s.response_id = g.response_id AND s.number = g.slot
    WHERE g.kind = 'counted' AND g.superseded_by_id IS NULL AND g.withdrawn_at IS NULL
    GROUP BY g.rater_id, s.wave_id, s.subject_id
    UNION ALL
    SELECT g.rater_id, s.wave_id, 'arm', s.arm, COUNT(*)
    FROM rating_rating g JOIN rating_slot s ON s.response_id = g.response_id AND s.number = g.slot
    WHERE g.kind = 'counted' AND g.superseded_by_id IS NULL AND g.withdrawn_at IS NULL
    AND s.arm > 0 GROUP BY g.rater_id, s.wave_id, s.arm
    UNION ALL
    SELECT g.rater_id, s.wave_id, 'partner', h.rater_id, COUNT(*)
    FROM rating_rating g JOIN rating_slot s ON s.response_id = g.response_id AND s.number = g.slot
    JOIN rating_rating h ON h.response_id = g.response_id AND h.id <> g.id
    WHERE g.kind = 'counted' AND g.superseded_by_id IS NULL AND g.withdrawn_at IS NULL
    AND h.kind = 'counted' AND h.superseded_by_id IS NULL AND h.withdrawn_at IS NULL
    GROUP BY g.rater_id, s.wave_id, h.rater_id
"""
KEPT = 'SELECT rater_id, wave_id, "of", which, count FROM rating_tally WHERE count <> 0'


def count_tallies() -> None:
    """Fill the tallies, of which there are none, from ratings that did not come by the queue."""
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO rating_tally (rater_id, wave_id, "of", which, count) {SAID}')


def faults() -> Iterator[str]:
    """Every promise that is broken, in words; none, where all is well."""
    counted = Rating.objects.counted()
    for row in counted.values("response").annotate(n=Count("pk")).filter(n__gt=2):
        yield f"response {row['response']} has {row['n']} counted ratings"
    for row in counted.values("response", "rater").annotate(n=Count("pk")).filter(n__gt=1):
        yield f"rater {row['rater']} has {row['n']} counted ratings of response {row['response']}"
    for pk in Rating.objects.filter(quotes=None).values_list("pk", flat=True):
        yield f"rating {pk} has no quote"
    rated = Slot.objects.filter(state=SlotState.RATED)
    of_slot = counted.filter(response=OuterRef("response"), slot=OuterRef("number"))
    for slot in rated.filter(~Exists(of_slot)).values_list("response", "number"):
        yield f"rated slots: {slot} is kept but not rated"
    its_slot = rated.filter(response=OuterRef("response"), number=OuterRef("slot"))
    for place in counted.filter(~Exists(its_slot)).values_list("response", "slot"):
        yield f"rated slots: {place} is not kept"
    yield from _held()
    single = Slot.objects.order_by().values("response").annotate(n=Count("pk")).exclude(n=2)
    for row in single:
        yield f"response {row['response']} has {row['n']} slots, and not two"
    early = Slot.objects.filter(state=SlotState.CLOSED, wave__ratings_frozen_at=None)
    for number in early.values_list("pk", flat=True):
        yield f"slot {number} is closed, though the ratings of its wave are not frozen"
    late = Slot.objects.filter(
        wave__ratings_frozen_at__isnull=False, state__in=[SlotState.OPEN, SlotState.HELD]
    )
    for number in late.values_list("pk", flat=True):
        yield f"slot {number} is not closed, though the ratings of its wave are frozen"
    cards = Assignment.objects.filter(outcome=Outcome.RATED)
    standing = Rating.objects.standing().exclude(assignment=None)
    yield from _differ("rated cards", cards, standing, "assignment")
    yield from _slots()
    yield from _tallies()


def _slots() -> Iterator[str]:
    """What a slot repeats, against what it is of."""
    pair = {
        item: (number, arm)
        for number, *items in Pair.objects.values_list("pk", "arm_a", "arm_b")
        for arm, item in enumerate(items, start=1)
    }
    numbers = {1, 2}
    rows = Slot.objects.order_by("pk").values_list(
        "pk", "number", "draw", "wave_id", "item_id", "pair_id", "arm", "subject_id",
        "topic", "language", "response__code", "response__item_id", "response__item__topic",
        "response__item__language", "response__run__subject_id", "response__run__wave_id",
        "response__run__wave__seed",
    )  # fmt: skip
    for pk, number, drawn, *own, code, item, topic, language, subject, wave, seed in rows.iterator(
        chunk_size=2000
    ):
        said = [wave, item, *pair.get(item, (None, 0)), subject, topic, language]
        if own != said or number not in numbers or drawn != drawn_for(seed, code):
            yield f"slot {pk} is not what its response says"


def _held() -> Iterator[str]:
    held = Slot.objects.filter(state=SlotState.HELD)
    live = Assignment.objects.live().filter(kind=Kind.COUNTED)
    yield from _differ("held slots", held, live, "slot")


def _differ(what: str, kept: "QuerySet[Any]", said: "QuerySet[Any]", by: str) -> Iterator[str]:
    """Rows that are kept to be so and are not, and the other way round; ``by`` joins them."""
    for pk in kept.filter(~Exists(said.filter(**{by: OuterRef("pk")}))).values_list(
        "pk", flat=True
    ):
        yield f"{what}: {pk} is kept but not rated"
    for pk in said.filter(~Exists(kept.filter(pk=OuterRef(by)))).values_list(by, flat=True):
        yield f"{what}: {pk} is not kept"


def _tallies() -> Iterator[str]:
    """The tallies by subject, arm and partner against the ratings that stand."""
    wrong: dict[tuple[int, int, str, int], dict[str, int]] = {}
    with connection.cursor() as cursor:
        for name, one, other in (("kept", KEPT, SAID), ("said", SAID, KEPT)):
            cursor.execute(f"SELECT * FROM ({one}) a EXCEPT SELECT * FROM ({other}) b")
            for *key, count in cursor.fetchall():
                wrong.setdefault(tuple(key), {})[name] = count
    for (rater, wave, of, which), found in sorted(wrong.items()):
        yield (
            f"rater {rater} in wave {wave}: {of} {which} is tallied {found.get('kept', 0)} times "
            f"and rated {found.get('said', 0)} times"
        )
