"""Who holds which response, from the lease to the rating. Every rule of the queue is kept here.

Work is pulled: nobody holds what they have not opened. Each step is one short transaction that
locks, in this order: the rater, the assignment, the slots.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from rating import standing
from rating.choice import Candidate, Had, Limits, Seen, ranked
from rating.clock import midnight
from rating.dealing import Deal, Rates, deal, pick
from rating.models import (
    Assignment,
    Conflict,
    Draft,
    Event,
    EventKind,
    Exposure,
    Kind,
    Outcome,
    Pause,
    Qualification,
    Quote,
    Rating,
    Role,
    Saw,
    Seed,
    SkipReason,
    Slot,
    SlotState,
    Tally,
    Use,
    User,
)
from rating.quotes import Span
from rating.seen import responses_seen_by
from runs.canonical import draw
from runs.models import Anchor, Instrument, Item, Pair, Response, Run, Wave, WaveKind

# How many open slots the choice looks at, however many there are.
WINDOW = 64
# How many of them it tries to lock before it looks again.
TRIES = 8
LOOKS = 20
RECLAIM_AT_ONCE = 50
# After so long a rest, an earlier card no longer counts as near.
REST = timedelta(hours=8)
# So many people must call a response broken before it is set aside.
BROKEN_AT = 2
RAN_OUT = (Outcome.EXPIRED, Outcome.RELEASED)
# Cards that come before counted work, or beside it. What follows each of them is not the queue's.
APART = (Kind.PRACTICE, Kind.QUALIFYING, Kind.NORMING)


@dataclass(frozen=True)
class NoWork:
    """Why there is nothing to lease, in the words of the page, and when to look again."""

    reason: str
    try_at: datetime | None = None


@dataclass(frozen=True)
class Announced:
    """A response about something hard: nothing of it is fetched until the rater opens it."""

    topic: str
    opened: int
    most: int


@dataclass(frozen=True)
class Paused:
    reason: str
    earlier_ratings: str


@dataclass(frozen=True)
class Elsewhere:
    """The page that comes after a card apart from the queue: the name of its URL, and what of."""

    page: str
    of: str = ""


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
    tags: tuple[str, ...] = ()
    flags: Mapping[str, str] | None = None


Found = Assignment | NoWork | Announced | Paused | Elsewhere

# What comes after a rating of each of these kinds, in the same transaction. See ``rating.seeding``.
after: dict[str, Callable[[Rating, datetime], Found]] = {}


class AlreadyRated(Exception):
    def __init__(self, rating: Rating) -> None:
        self.rating = rating
        super().__init__(f"rated at {rating.rated_at:%H:%M}")


class NotHeld(Exception):
    """The rater gave this response back, so that nothing can be stored for it."""


class TooLate(ValueError):
    """What can no longer be undone or put back, with the sentence to show."""


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
        item: (pair, arm)
        for pair, *items in Pair.objects.filter(
            Q(arm_a__response__in=response_ids) | Q(arm_b__response__in=response_ids)
        ).values_list("pk", "arm_a", "arm_b")
        for arm, item in enumerate(items, start=1)
    }
    Slot.objects.bulk_create(
        (
            Slot(
                response=row,
                number=number,
                draw=int.from_bytes(draw(row.run.wave.seed, str(row.code))[:8], "big") >> 1,
                wave=row.run.wave,
                item_id=row.item_id,
                pair_id=pair_of.get(row.item_id, (None, 0))[0],
                arm=pair_of.get(row.item_id, (None, 0))[1],
                subject_id=row.run.subject_id,
                topic=row.item.topic,
                language=row.item.language,
            )
            for row in rows
            for number in (1, 2)
        ),
        ignore_conflicts=True,
    )


# Holding


def current(rater: User) -> Assignment | None:
    """The card in the rater's hands, or the last one that ran out with a draft on it."""
    mine = Assignment.objects.filter(rater=rater).select_related("response__item", "slot", "draft")
    return (
        mine.live().filter(parked=False).first()
        or mine.live().first()
        or mine.filter(outcome=Outcome.EXPIRED, draft__isnull=False).order_by("-leased_at").first()
    )


def lease(rater: User, *, now: datetime, topic: str = "") -> Found:
    """The card the rater holds, or the next one for them, or why there is none.

    ``topic`` is what the rater said to an announced response: "open" or "other".
    """
    with writing():
        _lock(rater.pk)
        return _lease(rater, now, topic)


def reclaim(now: datetime) -> None:
    """Take back what was held too long. Drafts stay, and a late rating is still welcome."""
    with writing():
        _reclaim(now)


def _reclaim(now: datetime) -> None:
    # What somebody is working on this very moment is left for the next time, so nothing waits.
    overdue = list(
        Assignment.objects.overdue(now)
        .select_for_update(skip_locked=True)
        .order_by("pk")[:RECLAIM_AT_ONCE]
    )
    if not overdue:
        return
    slots = set(
        Slot.objects.select_for_update(skip_locked=True)
        .filter(pk__in=[assignment.slot_id for assignment in overdue if assignment.slot_id])
        .values_list("pk", flat=True)
    )
    ended = [a.pk for a in overdue if a.slot_id is None or a.slot_id in slots]
    Slot.objects.filter(pk__in=slots).update(state=SlotState.OPEN)
    Assignment.objects.filter(pk__in=ended).update(
        ended_at=now, outcome=Outcome.EXPIRED, parked=False
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
        slot = None
        if mine.kind == Kind.COUNTED:
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


def let_go(assignment: Assignment) -> None:
    """Drop a card that ran out, and the draft on it, as its rater asked."""
    with writing():
        mine = _mine(assignment)
        if mine.outcome == Outcome.EXPIRED:
            mine.outcome = Outcome.RELEASED
            mine.save(update_fields=["outcome"])
            Draft.objects.filter(assignment=mine).delete()


# Rating


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
        _lock(assignment.rater_id)
        rating = _rate(assignment, given, now)
        if rating.kind in after:
            return rating, after[rating.kind](rating, now)
        return rating, _lease(assignment.rater, now, "")


def skip(assignment: Assignment, reason: SkipReason, note: str, *, now: datetime) -> None:
    """Give a card back, with the reason that decides what happens to it. Free, always."""
    with writing():
        mine = _mine(assignment)
        if mine.outcome not in ("", Outcome.EXPIRED):
            return
        mine.skip_reason, mine.skip_note = reason, note
        held, mine.ended_at, mine.outcome = mine.ended_at is None, now, Outcome.SKIPPED
        mine.parked = False
        mine.save(update_fields=["skip_reason", "skip_note", "ended_at", "outcome", "parked"])
        if held and mine.slot_id:
            Slot.objects.filter(pk=mine.slot_id).update(state=SlotState.OPEN)
        if reason != SkipReason.LATER:
            Draft.objects.filter(assignment=mine).delete()
        if reason == SkipReason.CONFLICT:
            Conflict.objects.get_or_create(
                person_id=mine.rater_id, item_code=mine.response.item.code, developer=""
            )
        elif reason == SkipReason.BROKEN:
            _set_aside_if_broken(mine.response)
        _log(EventKind.SKIP, mine.rater_id, response=mine.response.code, reason=reason)


# Taking back


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
        _lock(rating.rater_id)
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
            or now > found.rated_at + timedelta(minutes=settings.UNDO_MINUTES)
        ):
            raise TooLate("This rating can no longer be undone.")
        slots = _withdraw(found, now)
        assignment = found.assignment
        Assignment.objects.live().filter(rater=rating.rater_id).update(parked=True)
        own = next((slot for slot in slots if slot.pk == assignment.slot_id), None)
        slot = own if own is not None and own.state == SlotState.OPEN else None
        if slot is not None or assignment.kind != Kind.COUNTED:
            _hold_again(assignment, slot, now)
        else:
            assignment.outcome = Outcome.EXPIRED
            assignment.save(update_fields=["outcome"])
        Draft.objects.update_or_create(
            assignment=assignment, defaults={"content": _as_draft(found), "saved_at": now}
        )
        _log(EventKind.UNDO, rating.rater_id, rating=rating.pk)
        return assignment


def void(rating: Rating, by: User, reason: str, *, now: datetime) -> None:
    """Take somebody's rating out of the count, with its reason; its slot opens for another."""
    with writing():
        found = Rating.objects.select_for_update().get(pk=rating.pk)
        if found.withdrawn_at is None and found.superseded_by_id is None:
            _withdraw(found, now)
            Assignment.objects.filter(ratings=found).update(outcome=Outcome.WITHDRAWN)
            _log(EventKind.VOID, by.pk, rating=rating.pk, reason=reason)


def restore(rating: Rating, by: User, reason: str, *, now: datetime) -> None:
    """Put a voided rating back, if its slot is still free. Raises ``TooLate``."""
    with writing():
        found = Rating.objects.select_for_update().select_related("response").get(pk=rating.pk)
        if found.withdrawn_at is None:
            return
        slots = _locked_slots(found.response_id)
        own = next((slot for slot in slots if slot.number == found.slot), None)
        if found.slot is not None and (own is None or own.state != SlotState.OPEN):
            raise TooLate("Another rating has come in its place.")
        Rating.objects.filter(pk=found.pk).update(withdrawn_at=None)
        if own is not None:
            Slot.objects.filter(pk=own.pk).update(state=SlotState.RATED)
            _settle_partners(found.response_id, slots)
            _count(found, own, +1)
        Assignment.objects.filter(ratings=found).update(outcome=Outcome.RATED)
        _log(EventKind.RESTORE, by.pk, rating=rating.pk, reason=reason)


def pause(
    person: User, by: User | None, reason: str, earlier_ratings: str, *, now: datetime
) -> None:
    """Give somebody no more work, and say why and what becomes of their earlier ratings."""
    with writing():
        _lock(person.pk)
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
        Slot.objects.filter(pk__in=[a.slot_id for a in held if a.slot_id]).update(
            state=SlotState.OPEN
        )
        Assignment.objects.filter(pk__in=[a.pk for a in held]).update(
            ended_at=now, outcome=Outcome.EXPIRED, parked=False
        )
        _log(EventKind.PAUSE, by.pk if by else None, person=person.pseudonym, reason=reason)


def resume(person: User, by: User, *, now: datetime) -> None:
    """Give somebody work again."""
    with writing():
        ended = Pause.objects.filter(person=person, ended_at=None).update(ended_by=by, ended_at=now)
        if ended:
            _log(EventKind.RESUME, by.pk, person=person.pseudonym)


# What the steps are made of


# What has been answered stays as it was: practice that had its feedback, an attempt that is decided,
# a vote on a response that is agreed on.
_still_open = ~(
    Q(kind=Kind.PRACTICE)
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


def _hold() -> timedelta:
    return timedelta(minutes=settings.LEASE_MINUTES)


def _limits() -> Limits:
    return Limits(distance=settings.CARD_DISTANCE, uneven=settings.UNEVEN_CAP)


def _mine(assignment: Assignment) -> Assignment:
    # Locked alone: a joined row that changes meanwhile would make this one vanish on PostgreSQL.
    Assignment.objects.select_for_update().only("pk").get(pk=assignment.pk)
    return Assignment.objects.select_related("slot", "response__item", "response__run").get(
        pk=assignment.pk
    )


def _lock(rater: int) -> None:
    """Let one request of a rater through at a time; what refers to the rater goes on."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=rater)


def _lease(rater: User, now: datetime, topic: str) -> Found:
    if paused := Pause.objects.filter(person=rater, ended_at=None).first():
        return Paused(paused.reason, paused.earlier_ratings)
    if held := current(rater):
        if held.parked:
            held.parked = False
            held.save(update_fields=["parked"])
        return held
    _reclaim(now)
    if over := _over_the_day(rater, now):
        return over
    rates = Rates(settings.SEED_PERCENT, settings.REPEAT_PERCENT)
    if rates.seed and (missed := standing.missed(rater, now)):
        pause(rater, None, missed, settings.SEED_EARLIER_RATINGS, now=now)
        return Paused(missed, settings.SEED_EARLIER_RATINGS)
    last = _last(rater)
    recent = _recent(last, now)
    ordinal = last[0].ordinal + 1 if last else 1
    seen = [
        Seen(item, pair, response if outcome in RAN_OUT else None)
        for item, pair, response, outcome, _ in recent
    ]
    wants = rater.hard_topics and topic != "other"
    opened = _opened_today(rater, now) if wants else 0
    wants = wants and opened < settings.HARD_TOPICS_A_DAY
    for _ in range(LOOKS):
        candidates = _candidates(rater, wants, recent)
        if not candidates:
            break
        had = _had(rater, {candidate.wave for candidate in candidates})
        order = ranked(candidates, seen, had, limits=_limits(), rater=rater.pseudonym)
        instead = None
        if order and rates.any and topic != "open":
            instead = _instead(rater, ordinal, seen, rates, order[0].wave)
        for candidate in order[:TRIES]:
            hard = (
                Slot.objects.filter(pk=candidate.slot).values_list("topic", flat=True).first()
                if wants
                else ""
            )
            if hard and topic != "open" and instead is None:
                return Announced(hard, opened, settings.HARD_TOPICS_A_DAY)
            if slot := _locked_open_slot(candidate.slot):
                return _hand_over(slot, rater, now, ordinal, instead)
        if not order:
            return NoWork("What is left is kept for others, so that everybody rates a fair mix.")
    return _nothing_left(rater, recent)


def _over_the_day(rater: User, now: datetime) -> NoWork | None:
    """Rest, once the day's limit is reached."""
    most = settings.RATINGS_A_DAY
    if not most:
        return None
    day = midnight(now)
    if Rating.objects.filter(rater=rater, rated_at__gte=day).count() < most:
        return None
    return NoWork(
        "You have reached the limit for today. Rating opens again tomorrow.",
        day + timedelta(days=1),
    )


def _opened_today(rater: User, now: datetime) -> int:
    day = midnight(now)
    return (
        Assignment.objects.filter(rater=rater, leased_at__gte=day).exclude(slot__topic="").count()
    )


def _open_to(rater: User) -> QuerySet[Slot]:
    """``_open_to_qualified``, without the waves that ask for a qualification they do not have."""
    return _open_to_qualified(rater).exclude(wave__in=_closed_to(rater))


def _closed_to(rater: User) -> QuerySet[Wave]:
    """Pilot and official waves of instruments that the rater is not qualified for."""
    passed = Qualification.objects.filter(rater=rater, passed=True)
    return Wave.objects.exclude(kind=WaveKind.LOCAL).exclude(
        bank__instrument__in=passed.values("instrument")
    )


def _open_to_qualified(rater: User) -> QuerySet[Slot]:
    """Open slots of responses that the rater has not had and may have.

    A card that ran out, or was put off till later, may come back.
    """
    had = Assignment.objects.filter(rater=rater, response=OuterRef("response")).exclude(
        Q(outcome__in=RAN_OUT) | Q(skip_reason=SkipReason.LATER)
    )
    return (
        _may_have(rater)
        .filter(~Exists(had), state=SlotState.OPEN)
        .filter(Q(partner=None) | ~Q(partner=rater))
    )


def _may_have(rater: User) -> QuerySet[Slot]:
    """Not in waves whose single ratings they have seen, nor where they have another interest."""
    seen = Exposure.objects.filter(person=rater, saw=Saw.RATINGS).values("wave")
    conflicts = Conflict.objects.filter(person=rater)
    made = Run.objects.filter(
        subject__developer__in=conflicts.exclude(developer="").values("developer")
    ).values("subject")
    written = Item.objects.filter(
        code__in=conflicts.exclude(item_code="").values("item_code")
    ).values("pk")
    return (
        Slot.objects.exclude(wave__in=seen)
        .exclude(subject_id__in=made)
        .exclude(item_id__in=written)
        .exclude(response__in=responses_seen_by(rater).values("pk"))
    )


def saw_ratings(rater: int, response: Response) -> bool:
    """Whether the rater has seen single ratings of the wave, be it after they took the card."""
    return Exposure.objects.filter(
        person=rater, saw=Saw.RATINGS, wave=response.run.wave_id
    ).exists()


def _candidates(
    rater: User, hard_topics: bool, recent: Sequence[tuple[int, int | None, int, str, datetime]]
) -> list[Candidate]:
    """The head of the queue, without what lies too near: a window full of that would hide the rest."""
    near = recent[: settings.CARD_DISTANCE]
    again = [response for _, _, response, outcome, _ in near if outcome in RAN_OUT]
    far = ~Q(item_id__in=[item for item, *_ in near]) & ~Q(
        pair_id__in=[pair for _, pair, *_ in near if pair is not None], pair_id__isnull=False
    )
    slots = _open_to(rater).filter(language__in=rater.languages).filter(far | Q(response__in=again))
    if not hard_topics:
        slots = slots.filter(topic="")
    return [
        Candidate(*row)
        for row in slots.order_by("urgency", "draw").values_list(
            "pk",
            "response_id",
            "item_id",
            "pair_id",
            "urgency",
            "draw",
            "wave_id",
            "subject_id",
            "arm",
            "partner_id",
        )[:WINDOW]
    ]


@dataclass(frozen=True)
class _Dealt:
    """One of the rater's last cards, of whichever kind."""

    ordinal: int
    item: int
    pair: int | None
    response: int
    outcome: str
    leased_at: datetime


def _last(rater: User) -> list[_Dealt]:
    """The rater's last cards, newest first: as many as the distance takes, and at least one."""
    rows = list(
        Assignment.objects.filter(rater=rater, response__slots__number=1)
        .order_by("-leased_at", "-pk")
        .values_list(
            "ordinal",
            "response__slots__item_id",
            "response__slots__pair_id",
            "response_id",
            "outcome",
            "leased_at",
        )[: max(1, settings.CARD_DISTANCE)]
    )
    if rows and rows[0][0] is None:  # dealt before cards were numbered
        rows[0] = (Assignment.objects.filter(rater=rater).count(), *rows[0][1:])
    return [
        _Dealt(ordinal or 0, item, pair, response, outcome, leased_at)
        for ordinal, item, pair, response, outcome, leased_at in rows
    ]


def _recent(
    last: Sequence[_Dealt], now: datetime
) -> list[tuple[int, int | None, int, str, datetime]]:
    """The rater's last cards since they rested, newest first.

    Item, pair, response, outcome and time of each.
    """
    return [
        (one.item, one.pair, one.response, one.outcome, one.leased_at)
        for one in last[: settings.CARD_DISTANCE]
        if one.leased_at > now - REST
    ]


def _instead(
    rater: User, ordinal: int, seen: Sequence[Seen], rates: Rates, wave: int
) -> tuple[Kind, int] | None:
    """What is dealt in place of a card of ``wave``, if this card is to check its rater.

    Both kinds are looked for whatever is dealt, so that it takes the same time.
    """
    options = {
        Deal.SEED: _seeds_for(rater, wave) if rates.seed else [],
        Deal.REPEAT: _repeats_for(rater, ordinal, wave) if rates.repeat else [],
    }
    kind = deal(rater.draws_by, ordinal, rates)
    far = settings.CARD_DISTANCE
    found = {k: pick(o, seen, distance=far, rater=rater.draws_by) for k, o in options.items()}
    chosen = found.get(kind)
    return (Kind(kind.value), chosen.response) if chosen else None


def _seeds_for(rater: User, wave: int) -> list[Candidate]:
    """Agreed responses of the wave's instrument that the rater has never had and may have."""
    instrument = Wave.objects.filter(pk=wave).values("bank__instrument")
    return _as_candidates(
        _may_have(rater)
        .filter(
            ~Exists(Assignment.objects.filter(rater=rater, response=OuterRef("response"))),
            response__agreed__use=Use.LIVE,
            response__agreed__retired_at=None,
            response__item__bank__instrument__in=instrument,
            language__in=rater.languages,
        )
        .exclude(response__agreed__settled_by=rater)
    )


def _repeats_for(rater: User, ordinal: int, wave: int) -> list[Candidate]:
    """Responses of the wave that the rater gave a counted rating long enough ago, and once."""
    latest = ordinal - settings.REPEAT_AFTER
    rated = Assignment.objects.filter(
        rater=rater,
        kind=Kind.COUNTED,
        outcome=Outcome.RATED,
        ordinal__gt=latest - WINDOW,
        ordinal__lte=latest,
    )
    again = Assignment.objects.filter(rater=rater, kind=Kind.REPEAT, response=OuterRef("response"))
    counted = Rating.objects.counted().filter(rater=rater, response=OuterRef("response"))
    return _as_candidates(
        _may_have(rater).filter(
            ~Exists(again), Exists(counted), response__in=rated.values("response"), wave=wave
        )
    )


def _as_candidates(slots: QuerySet[Slot]) -> list[Candidate]:
    """One for each response, hard topics aside: those are announced, and chosen, one by one."""
    return [
        Candidate(slot, response, item, pair, 0, 0)
        for slot, response, item, pair in slots.filter(number=1, topic="").values_list(
            "pk", "response_id", "item_id", "pair_id"
        )
    ]


def _had(rater: User, waves: set[int]) -> Had:
    """What the rater has given so far, with a 0 for each subject and arm of a wave new to them."""
    rows = list(
        Tally.objects.filter(rater=rater, wave__in=waves).values_list(
            "wave", "of", "which", "count"
        )
    )
    if new := waves - {wave for wave, *_ in rows}:
        rows += _first_tallies(rater, new)
    tables: dict[str, dict[int, dict[int, int]]] = {of: {} for of in Tally.Of.values}
    for wave, of, which, count in rows:
        tables[of].setdefault(wave, {})[which] = count
    return Had(
        subjects=tables[Tally.Of.SUBJECT],
        arms=tables[Tally.Of.ARM],
        partners=tables[Tally.Of.PARTNER],
        raters=dict.fromkeys(waves, _raters_at_work()),
    )


def _first_tallies(rater: User, waves: set[int]) -> list[tuple[int, str, int, int]]:
    rows = [
        (wave, Tally.Of.SUBJECT.value, subject, 0)
        for wave, subject in Run.objects.filter(wave__in=waves)
        .values_list("wave", "subject")
        .distinct()
    ]
    paired = set(Pair.objects.filter(bank__wave__in=waves).values_list("bank__wave", flat=True))
    rows += [(wave, Tally.Of.ARM.value, arm, 0) for wave in waves & paired for arm in (1, 2)]
    Tally.objects.bulk_create(
        (
            Tally(rater=rater, wave_id=wave, of=of, which=which, count=count)
            for wave, of, which, count in rows
        ),
        ignore_conflicts=True,
    )
    return rows


def _raters_at_work() -> int:
    """How many people rate here; known to the minute is enough."""
    known: int | None = cache.get("queue:raters")
    if known is None:
        known = User.objects.filter(groups__name=Role.RATER, is_active=True).count()
        cache.set("queue:raters", known, 60)
    return known


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


def _hand_over(
    slot: Slot,
    rater: User,
    now: datetime,
    ordinal: int,
    instead: tuple[Kind, int] | None = None,
) -> Assignment:
    """The slot, or what is dealt in its place: then it stays open. The steps are the same."""
    kind, response = instead or (Kind.COUNTED, slot.response_id)
    # The card the rater had of this response before: a second one could be rated beside it.
    before = Assignment.objects.filter(
        rater=rater, response=slot.response_id, kind=Kind.COUNTED
    ).first()
    if before and not instead:
        before.leased_at, before.ordinal = now, ordinal
        before.save(update_fields=["leased_at", "ordinal"])
        _hold_again(before, slot, now)
        return before
    slot.state = SlotState.OPEN if instead else SlotState.HELD
    slot.save(update_fields=["state"])
    return Assignment.objects.create(
        kind=kind,
        slot=None if instead else slot,
        response_id=response,
        rater=rater,
        ordinal=ordinal,
        leased_at=now,
        expires_at=now + _hold(),
    )


def hand(rater: User, response: Response, kind: Kind, *, now: datetime) -> Assignment:
    """Give somebody a card apart from the queue. The card in hand is parked, and comes back."""
    last = _last(rater)
    Assignment.objects.live().filter(rater=rater).update(parked=True)
    return Assignment.objects.create(
        kind=kind,
        response=response,
        rater=rater,
        ordinal=last[0].ordinal + 1 if last else 1,
        leased_at=now,
        expires_at=now + _hold(),
    )


def _hold_again(mine: Assignment, slot: Slot | None, now: datetime) -> None:
    if slot is not None:
        slot.state = SlotState.HELD
        slot.save(update_fields=["state"])
    mine.slot, mine.ended_at, mine.outcome = slot, None, ""
    mine.skip_reason, mine.skip_note = "", ""
    mine.expires_at = now + _hold()
    mine.save(
        update_fields=["slot", "ended_at", "outcome", "skip_reason", "skip_note", "expires_at"]
    )


def _rate(assignment: Assignment, given: Given, now: datetime) -> Rating:
    mine = _mine(assignment)
    if mine.outcome == Outcome.RATED:
        raise AlreadyRated(Rating.objects.standing().get(assignment=mine))
    if mine.outcome not in ("", Outcome.EXPIRED):
        raise NotHeld
    anchor = Anchor.objects.filter(item=mine.response.item_id, level=given.level).first()
    if anchor is None:
        raise ValueError(f"Level {given.level} is no anchor of this item.")
    slots = _locked_slots(mine.response_id)
    if mine.kind != Kind.COUNTED:
        slot = None
    elif mine.ended_at is None:
        slot = next((slot for slot in slots if slot.pk == mine.slot_id), None)
    else:
        slot = _free_slot(mine, slots)
    if saw_ratings(mine.rater_id, mine.response) and slot:
        slot.state = SlotState.OPEN
        slot.save(update_fields=["state"])
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
    if slot:
        slot.state = SlotState.RATED
        slot.save(update_fields=["state"])
        for other in slots:
            if other.pk != slot.pk:
                other.urgency, other.partner_id = 0, mine.rater_id
                other.save(update_fields=["urgency", "partner"])
        _count(rating, slot, +1)
    elif mine.kind in (Kind.SEED, Kind.REPEAT):
        _as_if_counted(rating, slots)
    mine.ended_at, mine.outcome, mine.parked = now, Outcome.RATED, False
    mine.save(update_fields=["ended_at", "outcome", "parked"])
    Draft.objects.filter(assignment=mine).delete()
    _log(EventKind.RATE, mine.rater_id, rating=rating.pk, kind=rating.kind)
    return rating


def _as_if_counted(rating: Rating, slots: Sequence[Slot]) -> None:
    """Take the steps of a counted rating, and change nothing: the time tells nobody which it was."""
    for slot in slots:
        slot.save(update_fields=["state"])
    tallies = list(Tally.objects.filter(rater=rating.rater_id).order_by("pk")[:1])
    Tally.objects.bulk_create(
        (
            Tally(rater_id=one.rater_id, wave_id=one.wave_id, of=one.of, which=one.which)
            for one in tallies
        ),
        ignore_conflicts=True,
    )
    for one in tallies:
        Tally.objects.filter(
            rater=one.rater_id, wave=one.wave_id, of=one.of, which=one.which
        ).update(count=F("count") + 0)


def _count(rating: Rating, slot: Slot, step: int) -> None:
    """Keep the tallies of a rating that came to stand, or no longer does."""
    things = [(rating.rater_id, Tally.Of.SUBJECT, slot.subject_id)]
    if slot.arm:
        things.append((rating.rater_id, Tally.Of.ARM, slot.arm))
    partner = (
        Rating.objects.counted()
        .filter(response=rating.response_id)
        .exclude(rater=rating.rater_id)
        .values_list("rater", flat=True)
        .first()
    )
    if partner:
        things += [
            (rating.rater_id, Tally.Of.PARTNER, partner),
            (partner, Tally.Of.PARTNER, rating.rater_id),
        ]
    # In one order for all, and made before they are counted up: two people may share them at once.
    things.sort()
    Tally.objects.bulk_create(
        (
            Tally(rater_id=rater, wave_id=slot.wave_id, of=of, which=which)
            for rater, of, which in things
        ),
        ignore_conflicts=True,
    )
    for rater, of, which in things:
        Tally.objects.filter(rater=rater, wave=slot.wave_id, of=of, which=which).update(
            count=F("count") + step
        )


def _withdraw(rating: Rating, now: datetime) -> list[Slot]:
    """Take a standing rating out, and open its slot; return the response's slots, locked."""
    slots = _locked_slots(rating.response_id)
    own = next((slot for slot in slots if slot.number == rating.slot), None)
    if own is not None:
        _count(rating, own, -1)
    Rating.objects.filter(pk=rating.pk).update(withdrawn_at=now)
    if own is not None:
        own.state = SlotState.OPEN
        own.save(update_fields=["state"])
        _settle_partners(rating.response_id, slots)
    return slots


def _settle_partners(response: int, slots: Sequence[Slot]) -> None:
    """Say of each slot who gave the other rating, from the ratings that stand."""
    stand = dict(Rating.objects.counted().filter(response=response).values_list("slot", "rater"))
    for slot in slots:
        partner = next((rater for number, rater in stand.items() if number != slot.number), None)
        slot.partner_id, slot.urgency = partner, 0 if partner else 1
        slot.save(update_fields=["partner", "urgency"])


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


def _set_aside_if_broken(response: Response) -> None:
    """Stop offering a response that several people could not rate."""
    said = (
        Assignment.objects.filter(response=response, skip_reason=SkipReason.BROKEN)
        .values("rater")
        .distinct()
        .count()
    )
    if said >= BROKEN_AT:
        Slot.objects.filter(response=response, state=SlotState.OPEN).update(state=SlotState.ASIDE)


def _log(kind: EventKind, actor: int | None, /, **about: object) -> None:
    Event.objects.create(
        kind=kind, actor_id=actor, about={name: str(value) for name, value in about.items()}
    )


def _nothing_left(
    rater: User, recent: Sequence[tuple[int, int | None, int, str, datetime]]
) -> NoWork:
    readable = _open_to(rater).filter(language__in=rater.languages, topic="")
    if recent and readable.exists():
        return NoWork(
            "What is left is too like what you have just read.",
            min(leased_at for *_, leased_at in recent) + REST,
        )
    if unqualified := _waits_for_a_qualification(rater):
        return unqualified
    others = (
        Assignment.objects.live()
        .exclude(rater=rater)
        .order_by("expires_at")
        .values_list("expires_at", flat=True)
        .first()
    )
    if others:
        return NoWork("All that is left is held by others.", others)
    if _open_to(rater).filter(topic="").exclude(language__in=rater.languages).exists():
        return NoWork("What is left is in languages you have not chosen.")
    if not rater.hard_topics and _open_to(rater).exclude(topic="").exists():
        return NoWork(
            "Hard topics are off. You will not be shown them unless you turn them on here."
        )
    return NoWork("All that is open has had its ratings.")


def _waits_for_a_qualification(rater: User) -> NoWork | None:
    """The way on, where there is work that the rater could have, were they qualified for it."""
    instrument = (
        _open_to_qualified(rater)
        .filter(wave__in=_closed_to(rater), language__in=rater.languages)
        .values_list("wave__bank__instrument", flat=True)
        .first()
    )
    if instrument is None:
        return None
    return NoWork(
        f"What is open asks for a qualification in {Instrument(instrument).label}. "
        "You find practice and the qualification on your home page."
    )
