"""The two slots of each response, and what is counted of those that are rated."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q

from rating.models import Rating, Slot, Tally
from rating.queue.rows import Columns, do, locking, rows
from runs.canonical import draw
from runs.models import Pair, Response

_slot = Columns(Slot, "s")


def open_slots(response_ids: Sequence[int], **_: Any) -> None:
    """Open the two slots of each response that may be rated now. Safe to call twice."""
    # Called with every few replies that are stored: no text and no plan is read here.
    found = list(
        Response.objects.filter(pk__in=response_ids)
        .ready_to_rate()
        .select_related("item", "run__wave")
        .only(
            "code",
            "item__topic",
            "item__language",
            "run__subject_id",
            "run__wave__seed",
        )
    )
    asked = {row.item_id for row in found}
    pair_of = {
        item: (pair, arm)
        for pair, *items in Pair.objects.filter(
            Q(arm_a__in=asked) | Q(arm_b__in=asked)
        ).values_list("pk", "arm_a", "arm_b")
        for arm, item in enumerate(items, start=1)
    }
    Slot.objects.bulk_create(
        (
            Slot(
                response=row,
                number=number,
                draw=drawn_for(row.run.wave.seed, row.code),
                wave_id=row.run.wave_id,
                item_id=row.item_id,
                pair_id=pair_of.get(row.item_id, (None, 0))[0],
                arm=pair_of.get(row.item_id, (None, 0))[1],
                subject_id=row.run.subject_id,
                topic=row.item.topic,
                language=row.item.language,
            )
            for row in found
            for number in (1, 2)
        ),
        ignore_conflicts=True,
    )


def drawn_for(seed: str, code: object) -> int:
    """Where a response stands among others, by chance."""
    return int.from_bytes(draw(seed, str(code))[:8], "big") >> 1


def locked_slots(response: int) -> list[Slot]:
    """Both slots of a response, locked in one order for all."""
    sql = (
        f"SELECT {_slot.sql} FROM rating_slot s WHERE s.response_id = %s ORDER BY s.id"
        f"{locking('UPDATE')}"
    )
    return [slot for row in rows(sql, response) if (slot := _slot.make(row))]


def set_rated(slot: Slot, rater: int) -> None:
    """Close a slot, and say at the other one who has rated."""
    do(
        "UPDATE rating_slot SET state = CASE WHEN id = %s THEN 'rated' ELSE state END,"
        " partner_id = CASE WHEN id = %s THEN partner_id ELSE %s END WHERE response_id = %s",
        slot.pk,
        slot.pk,
        rater,
        slot.response_id,
    )


def settle_partners(response: int, slots: Sequence[Slot]) -> None:
    """Say of each slot who gave the other rating, from the ratings that stand."""
    stand = dict(Rating.objects.counted().filter(response=response).values_list("slot", "rater"))
    for slot in slots:
        slot.partner_id = next(
            (who for number, who in stand.items() if number != slot.number), None
        )
        slot.save(update_fields=["partner"])


def count(rater: int, slot: Slot, partner: int | None, step: int) -> None:
    """Keep the tallies of a rating that came to stand, or no longer does.

    ``partner`` is who gave the response's other counted rating, if anybody has.
    """
    things = [(rater, Tally.Of.SUBJECT.value, slot.subject_id)]
    if slot.arm:
        things.append((rater, Tally.Of.ARM.value, slot.arm))
    if partner:
        things += [
            (rater, Tally.Of.PARTNER.value, partner),
            (partner, Tally.Of.PARTNER.value, rater),
        ]
    add_up(slot.wave_id, things, step)


def add_up(wave: int, things: list[tuple[int, str, int]], step: int) -> None:
    """Count rater, kind of thing and thing one up or down."""
    # In one order for all: two people may count the same rows at once.
    things.sort()
    one = "(%s, %s, %s, %s, %s)"
    do(
        'INSERT INTO rating_tally (rater_id, wave_id, "of", which, count)'
        f" VALUES {', '.join([one] * len(things))}"
        ' ON CONFLICT (rater_id, wave_id, "of", which)'
        " DO UPDATE SET count = rating_tally.count + excluded.count",
        *(value for rater, of, which in things for value in (rater, wave, of, which, step)),
    )


def take(slot: int, state: str) -> bool:
    """Put an open slot in this state, if nobody else holds or locks it at this moment."""
    lock = locking("UPDATE SKIP LOCKED")
    return bool(
        rows(
            "UPDATE rating_slot SET state = %s WHERE id = "
            f"(SELECT id FROM rating_slot WHERE id = %s AND state = 'open'{lock}) RETURNING id",
            state,
            slot,
        )
    )
