"""What a rater may have: asked as a queryset by all, and as a statement by each lease."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from rating.at_hand import at_hand
from rating.models import (
    NO_LONGER_BLIND,
    Assignment,
    Conflict,
    Exposure,
    Kind,
    Outcome,
    Qualification,
    SkipReason,
    Slot,
    SlotState,
    User,
)
from rating.queue.rows import marks, rows
from rating.seen import has_seen
from runs.models import Item, Response, Run, Wave, WaveKind

RAN_OUT = (Outcome.EXPIRED, Outcome.RELEASED)
# Cards that come before counted work, or beside it. What follows each of them is not the queue's.
APART = (Kind.PRACTICE, Kind.QUALIFYING, Kind.NORMING)


def may_have(rater: User) -> QuerySet[Slot]:
    """Not in waves whose single ratings or key they have seen, nor where they have an interest."""
    seen = Exposure.objects.filter(person=rater, saw__in=NO_LONGER_BLIND).values("wave")
    return (
        Slot.objects.exclude(wave__in=seen)
        .exclude(subject_id__in=_made(rater))
        .exclude(item_id__in=_written(rater))
        .filter(~has_seen(rater))
    )


def open_to(rater: User) -> QuerySet[Slot]:
    """``open_to_qualified``, without the waves that ask for a qualification they do not have."""
    return open_to_qualified(rater).exclude(wave__in=closed_to(rater))


def closed_to(rater: User) -> QuerySet[Wave]:
    """Pilot and official waves of instruments that the rater is not qualified for."""
    passed = Qualification.objects.filter(rater=rater, passed=True)
    return Wave.objects.exclude(kind=WaveKind.LOCAL).exclude(
        bank__instrument__in=passed.values("instrument")
    )


def open_to_qualified(rater: User) -> QuerySet[Slot]:
    """Open slots of responses that the rater has not had and may have."""
    return (
        may_have(rater)
        .filter(~Exists(had(rater)), state=SlotState.OPEN)
        .filter(Q(partner=None) | ~Q(partner=rater))
    )


def had(rater: User) -> QuerySet[Assignment]:
    """The rater's cards of the outer row's response, but for what may come back.

    A card that ran out, or was put off till later, may.
    """
    cards = Assignment.objects.filter(rater=rater, response=OuterRef("response"))
    return cards.exclude(Q(outcome__in=RAN_OUT) | Q(skip_reason=SkipReason.LATER))


def saw_ratings(rater: int, response: Response) -> bool:
    """Whether the rater has seen single ratings or the key of the wave, be it with card in hand."""
    return Exposure.objects.filter(
        person=rater, saw__in=NO_LONGER_BLIND, wave=response.run.wave_id
    ).exists()


def _made(rater: User) -> QuerySet[Run, int]:
    conflicts = Conflict.objects.filter(person=rater).exclude(developer="")
    return Run.objects.filter(subject__developer__in=conflicts.values("developer")).values_list(
        "subject", flat=True
    )


def _written(rater: User) -> QuerySet[Item, int]:
    conflicts = Conflict.objects.filter(person=rater).exclude(item_code="")
    return Item.objects.filter(code__in=conflicts.values("item_code")).values_list("pk", flat=True)


# Open slots of a wave that share who gave the response's other rating, if anybody did.
Group = tuple[int, int | None]


@dataclass(frozen=True)
class Reach:
    """The conditions of ``open_to`` for one rater, as far as they ask for anything."""

    sql: str
    values: tuple[object, ...]
    groups: tuple[Group, ...]


def reach_of(rater: User, *, bound: bool) -> Reach:
    """What ``open_to`` says, ready for a statement over ``rating_slot s``.

    ``bound`` is whether anything is on record that keeps this rater from work: most have no
    conflict, have seen no ratings and have settled nothing, and are asked for none of it.
    """
    groups = [(wave, partner) for wave, partner in open_groups() if partner != rater.pk]
    asked = {wave: _asks_for(wave) for wave, _ in groups}
    if any(asked.values()):
        passed = {None, *_passed(rater.pk)}
        groups = [(wave, partner) for wave, partner in groups if asked[wave] in passed]
    sql = [
        f"s.language IN ({marks(rater.languages)})" if rater.languages else "FALSE",
        "NOT EXISTS (SELECT 1 FROM rating_assignment h WHERE h.rater_id = %s"
        " AND h.response_id = s.response_id AND h.outcome NOT IN ('expired', 'released')"
        " AND h.skip_reason <> 'later')",
    ]
    values: list[object] = [*rater.languages, rater.pk]
    if bound:
        seen = _waves_seen(rater.pk)
        groups = [(wave, partner) for wave, partner in groups if wave not in seen]
        for column, found in (("subject_id", _made(rater)), ("item_id", _written(rater))):
            if keys := sorted(set(found)):
                sql.append(f"s.{column} NOT IN ({marks(keys)})")
                values += keys
        sql.append(
            "NOT EXISTS (SELECT 1 FROM rating_adjudication j WHERE j.response_id = s.response_id"
            " AND j.adjudicator_id = %s AND j.own_at IS NOT NULL)"
        )
        values.append(rater.pk)
    return Reach(" AND ".join(sql), tuple(values), tuple(groups))


def open_groups() -> list[Group]:
    """Every group that has an open slot, found by leaps through the index, not by a walk of it."""
    return [
        (wave, partner)
        for wave, partner in rows(
            "WITH RECURSIVE w(id) AS ("
            " SELECT (SELECT MIN(wave_id) FROM rating_slot WHERE state = 'open')"
            " UNION ALL SELECT (SELECT MIN(wave_id) FROM rating_slot"
            "  WHERE state = 'open' AND wave_id > w.id) FROM w WHERE w.id IS NOT NULL"
            "), p(wave, partner) AS ("
            " SELECT w.id, (SELECT MIN(partner_id) FROM rating_slot"
            "  WHERE state = 'open' AND wave_id = w.id) FROM w WHERE w.id IS NOT NULL"
            " UNION ALL SELECT p.wave, (SELECT MIN(partner_id) FROM rating_slot"
            "  WHERE state = 'open' AND wave_id = p.wave AND partner_id > p.partner)"
            " FROM p WHERE p.partner IS NOT NULL"
            ") SELECT wave, partner FROM p"
        )
    ]


def _waves_seen(person: int) -> set[int]:
    return {
        wave
        for (wave,) in rows(
            "SELECT wave_id FROM rating_exposure WHERE person_id = %s"
            f" AND saw IN ({marks(NO_LONGER_BLIND)})",
            person,
            *NO_LONGER_BLIND,
        )
    }


def _passed(rater: int) -> set[str]:
    return {
        instrument
        for (instrument,) in rows(
            "SELECT instrument FROM rating_qualification WHERE rater_id = %s AND passed", rater
        )
    }


@at_hand
def _asks_for(wave: int) -> str | None:
    """The instrument that raters of a wave are qualified for. A locked wave never changes."""
    found = Wave.objects.select_related("bank").get(pk=wave)
    return None if found.kind == WaveKind.LOCAL else found.bank.instrument


def within(groups: Sequence[Group]) -> Q:
    """Slots of one of these groups."""
    found = Q(pk__in=())
    for wave in {wave for wave, _ in groups}:
        partners = [who for other, who in groups if other == wave and who is not None]
        found |= Q(wave=wave) & (Q(partner=None) | Q(partner__in=partners))
    return found
