"""Which card comes next, how long it is held, and what becomes of it unrated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db.models import Exists, OuterRef, QuerySet

from rating import standing
from rating.choice import MANY, Candidate, Had, Limits, Seen, full, looks, ranked
from rating.clock import midnight
from rating.dealing import Deal, Rates, deal, pick
from rating.models import (
    Assignment,
    Conflict,
    Draft,
    EventKind,
    Kind,
    Outcome,
    Pause,
    Rating,
    Role,
    SkipReason,
    Slot,
    SlotState,
    Tally,
    Use,
    User,
)
from rating.queue.cards import card_of
from rating.queue.pausing import pause_within
from rating.queue.reach import (
    APART,
    RAN_OUT,
    Group,
    Reach,
    closed_to,
    had,
    may_have,
    open_to,
    open_to_qualified,
    reach_of,
    within,
)
from rating.queue.rows import marks, moment, rows
from rating.queue.slots import locked_slots, take
from rating.queue.words import Announced, Found, NoWork, Overtaken, Paused
from rating.queue.writing import hold_from, lock, log, writing
from runs.models import Instrument, Pair, Response, Run, Wave

# How many open slots a look takes in, however many there are.
WINDOW = 64
# How many of them it tries to take before it looks elsewhere.
TRIES = 8
# How often all looks are repeated while others are taking the same slots.
ROUNDS = 20
RECLAIM_AT_ONCE = 50
# After so long a rest, an earlier card no longer counts as near.
REST = timedelta(hours=8)
# So many people must call a response broken before it is set aside.
BROKEN_AT = 2


# Holding


def current(rater: User) -> Assignment | None:
    """The card in the rater's hands, or the last one that ran out with a draft on it."""
    found = rows(f"SELECT ({_IN_HAND})", rater.pk)[0][0]
    return card_of(rater, found) if found else None


# The card that lies on top, else one that is parked, else one that ran out with a draft on it.
_IN_HAND = (
    "SELECT a.id FROM rating_assignment a"
    " WHERE a.rater_id = %s AND a.outcome IN ('', 'expired') AND (a.ended_at IS NULL"
    " OR EXISTS (SELECT 1 FROM rating_draft d WHERE d.assignment_id = a.id))"
    " ORDER BY a.outcome, a.parked, a.leased_at DESC, a.id DESC LIMIT 1"
)


def lease(rater: User, *, now: datetime, topic: str = "") -> Found:
    """The card the rater holds, or the next one for them, or why there is none.

    ``topic`` is what the rater said to an announced response: "open" or "other".
    """
    with writing():
        lock(rater.pk)
        return lease_within(rater, now, topic)


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
        lock(assignment.rater_id)
        mine = locked(assignment)
        if mine.ended_at is None:
            mine.expires_at = hold_from(now)
            mine.save(update_fields=["expires_at"])
            return True
        busy = Assignment.objects.live().filter(rater=mine.rater_id).exists()
        if mine.outcome != Outcome.EXPIRED or busy:
            return False
        slot = None
        if mine.kind == Kind.COUNTED:
            slot = free_slot(mine, locked_slots(mine.response_id))
            if slot is None:
                return False
        else:
            locked_slots(mine.response_id)  # the steps are those of any other card
        hold_again(mine, slot, now)
        return True


def keep_draft(assignment: Assignment, content: dict[str, Any], *, now: datetime) -> bool:
    """Keep what was put down so far; whether there still was something to keep it for.

    Raises ``Overtaken`` if another tab has saved since the card was read.
    """
    with writing():
        mine = locked(assignment)
        if mine.outcome not in ("", Outcome.EXPIRED):
            return False
        read, kept = getattr(assignment, "draft", None), getattr(mine, "draft", None)
        if (
            kept is not None
            and kept.content.get("tab") != content.get("tab")
            and (read is None or read.saved_at != kept.saved_at)
        ):
            raise Overtaken
        Draft.objects.update_or_create(
            assignment=mine, defaults={"content": content, "saved_at": now}
        )
        return True


def let_go(assignment: Assignment) -> None:
    """Drop a card that ran out, and the draft on it, as its rater asked."""
    with writing():
        mine = locked(assignment)
        if mine.outcome == Outcome.EXPIRED:
            mine.outcome = Outcome.RELEASED
            mine.save(update_fields=["outcome"])
            Draft.objects.filter(assignment=mine).delete()


def skip(assignment: Assignment, reason: SkipReason, note: str, *, now: datetime) -> None:
    """Give a card back, with the reason that decides what happens to it. Free, always."""
    with writing():
        mine = locked(assignment)
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
        log(EventKind.SKIP, mine.rater_id, response=mine.response.code, reason=reason)


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
        expires_at=hold_from(now),
    )


def locked(assignment: Assignment) -> Assignment:
    """The row as it is now, and nobody changes it meanwhile."""
    # Locked alone: a joined row that changes meanwhile would make this one vanish on PostgreSQL.
    Assignment.objects.select_for_update().only("pk").get(pk=assignment.pk)
    return Assignment.objects.select_related(
        "slot", "draft", "response__item", "response__run"
    ).get(pk=assignment.pk)


def free_slot(mine: Assignment, slots: Sequence[Slot]) -> Slot | None:
    """An open slot for somebody whose time ran out: the one they held, else the other one."""
    free = [
        slot for slot in slots if slot.state == SlotState.OPEN and slot.partner_id != mine.rater_id
    ]
    return min(free, key=lambda slot: slot.pk != mine.slot_id, default=None)


def hold_again(mine: Assignment, slot: Slot | None, now: datetime) -> None:
    if slot is not None:
        slot.state = SlotState.HELD
        slot.save(update_fields=["state"])
    mine.slot, mine.ended_at, mine.outcome = slot, None, ""
    mine.skip_reason, mine.skip_note = "", ""
    mine.expires_at = hold_from(now)
    mine.save(
        update_fields=["slot", "ended_at", "outcome", "skip_reason", "skip_note", "expires_at"]
    )


def _set_aside_if_broken(response: Response) -> None:
    """Stop offering a response that several people could not rate."""
    locked_slots(response.pk)  # two who say so at once count each other
    said = (
        Assignment.objects.filter(response=response, skip_reason=SkipReason.BROKEN)
        .values("rater")
        .distinct()
        .count()
    )
    if said >= BROKEN_AT:
        Slot.objects.filter(response=response, state=SlotState.OPEN).update(state=SlotState.ASIDE)


# Leasing


@dataclass(frozen=True)
class _Desk:
    """How it stands with a rater: what is asked before anything is looked for."""

    pause: int | None
    held: int | None
    overdue: bool
    bound: bool

    @classmethod
    def of(cls, rater: User, now: datetime) -> "_Desk":
        row = rows(
            "SELECT"
            " (SELECT p.id FROM rating_pause p WHERE p.person_id = %s AND p.ended_at IS NULL),"
            f" ({_IN_HAND}),"
            " EXISTS (SELECT 1 FROM rating_assignment o WHERE o.ended_at IS NULL"
            "  AND o.expires_at < %s),"
            " EXISTS (SELECT 1 FROM rating_conflict c WHERE c.person_id = %s)"
            " OR EXISTS (SELECT 1 FROM rating_exposure e WHERE e.person_id = %s)"
            " OR EXISTS (SELECT 1 FROM rating_adjudication j WHERE j.adjudicator_id = %s)",
            *(rater.pk, rater.pk, now, rater.pk, rater.pk, rater.pk),
        )[0]
        return cls(row[0], row[1], bool(row[2]), bool(row[3]))


def lease_within(rater: User, now: datetime, topic: str) -> Found:
    """``lease``, in a transaction that has locked the rater."""
    desk = _Desk.of(rater, now)
    if desk.pause:
        paused = Pause.objects.get(pk=desk.pause)
        return Paused(paused.reason, paused.earlier_ratings)
    if desk.held and (held := card_of(rater, desk.held)):
        if held.parked:
            held.parked = False
            held.save(update_fields=["parked"])
        return held
    if desk.overdue:
        _reclaim(now)
    if settings.RATINGS_A_DAY and _rated_today(rater, now) >= settings.RATINGS_A_DAY:
        return NoWork(
            "You have reached the limit for today. Rating opens again tomorrow.",
            midnight(now) + timedelta(days=1),
            limit=True,
        )
    rates = Rates(settings.SEED_PERCENT, settings.REPEAT_PERCENT)
    if rates.seed and (missed := standing.missed(rater, now)):
        pause_within(rater, None, missed, settings.SEED_EARLIER_RATINGS, now=now)
        return Paused(missed, settings.SEED_EARLIER_RATINGS)
    return _choose(rater, now, topic, rates, bound=desk.bound)


def _choose(rater: User, now: datetime, topic: str, rates: Rates, *, bound: bool) -> Found:
    last = _last(rater)
    near = [one for one in last[: settings.CARD_DISTANCE] if one.leased_at > now - REST]
    seen = [
        Seen(one.item, one.pair, one.response if one.outcome in RAN_OUT else None) for one in near
    ]
    ordinal = last[0].ordinal + 1 if last else 1
    wants = rater.hard_topics and topic != "other"
    opened = _opened_today(rater, now) if wants else 0
    wants = wants and opened < settings.HARD_TOPICS_A_DAY
    limits = Limits(distance=settings.CARD_DISTANCE, uneven=settings.UNEVEN_CAP)
    reach = reach_of(rater, bound=bound)
    so_far = _had(rater, {wave for wave, _ in reach.groups})
    caps = _caps(so_far, limits)
    for _ in range(ROUNDS):
        busy = False
        for groups in looks(reach.groups, so_far, limits=limits, rater=rater.pseudonym):
            candidates = _candidates(reach, groups, near, caps, hard_topics=wants)
            order = ranked(candidates, seen, so_far, limits=limits, rater=rater.pseudonym)
            instead = None
            if order and rates.any and topic != "open":
                instead = _instead(rater, ordinal, seen, rates, order[0].wave)
            for candidate in order[:TRIES]:
                if candidate.topic and topic != "open" and instead is None:
                    return Announced(candidate.topic, opened, settings.HARD_TOPICS_A_DAY)
                if found := _hand_over(candidate, rater, now, ordinal, instead):
                    return found
                busy = True
        if not busy:
            break
    return _nothing_left(rater, reach, near, hard_topics=wants)


def _hand_over(
    candidate: Candidate,
    rater: User,
    now: datetime,
    ordinal: int,
    instead: tuple[Kind, int] | None,
) -> Assignment | None:
    """The slot, or what is dealt in its place: then it stays open. The steps are the same."""
    kind, response = instead or (Kind.COUNTED, candidate.response)
    if not take(candidate.slot, SlotState.OPEN if instead else SlotState.HELD):
        return None
    # A rater has one such card of a response, for good: had before, it is taken up again.
    found = rows(
        "INSERT INTO rating_assignment (code, kind, slot_id, response_id, rater_id, leased_at,"
        " expires_at, ordinal, parked, outcome, skip_reason, skip_note)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, FALSE, '', '', '')"
        " ON CONFLICT (rater_id, response_id, kind) WHERE kind IN ('counted', 'seed', 'repeat')"
        " DO UPDATE SET"
        " slot_id = excluded.slot_id, leased_at = excluded.leased_at,"
        " expires_at = excluded.expires_at, ordinal = excluded.ordinal,"
        " ended_at = NULL, outcome = '', skip_reason = '', skip_note = ''"
        " RETURNING id",
        *(uuid4(), kind, None if instead else candidate.slot, response, rater.pk),
        *(now, hold_from(now), ordinal),
    )
    return card_of(rater, found[0][0])


def _rated_today(rater: User, now: datetime) -> int:
    return Rating.objects.filter(rater=rater, rated_at__gte=midnight(now)).count()


def _opened_today(rater: User, now: datetime) -> int:
    return (
        Assignment.objects.filter(rater=rater, leased_at__gte=midnight(now))
        .exclude(slot__topic="")
        .count()
    )


# What a rater has had enough of: a statement over the slots of one wave, and its values.
Caps = Mapping[int, tuple[str, list[object]]]

# As ``Candidate`` takes them.
READ = (
    "s.id, s.response_id, s.item_id, s.pair_id, s.draw, s.wave_id, s.subject_id, s.arm,"
    " s.partner_id, s.topic"
)


def _candidates(
    reach: Reach,
    groups: Sequence[Group],
    near: Sequence["_Dealt"],
    caps: Caps,
    *,
    hard_topics: bool,
) -> list[Candidate]:
    """The head of each group, without what cannot be offered: a window of that would hide the rest."""
    sql, values = [reach.sql], [*reach.values]
    if not hard_topics:
        sql.append("s.topic = ''")
    if near:
        far, kept = _far_from(near)
        sql.append(far)
        values += kept
    each = -(-WINDOW // len(groups))
    parts, given = [], list[object]()
    for wave, partner in groups:
        whose = "IS NULL" if partner is None else "= %s"
        cap, capped = caps.get(wave, ("TRUE", []))
        parts.append(
            f"SELECT * FROM (SELECT {READ} FROM rating_slot s WHERE s.state = 'open'"
            f" AND s.wave_id = %s AND s.partner_id {whose} AND {cap} AND {' AND '.join(sql)}"
            # By partner too, though all have the same: for PostgreSQL "is null" is no such promise,
            # and the index alone would not do for the order.
            f" ORDER BY s.partner_id, s.draw LIMIT {each}) g"
        )
        given += [wave, *([] if partner is None else [partner]), *capped, *values]
    return [Candidate(*row) for row in rows(" UNION ALL ".join(parts), *given)]


def _caps(had: Had, limits: Limits) -> Caps:
    caps: dict[int, tuple[str, list[object]]] = {}
    for column, tables in (("subject_id", had.subjects), ("arm", had.arms)):
        for wave, counts in tables.items():
            if enough := full(counts, limits):
                sql, values = caps.get(wave, ("TRUE", []))
                caps[wave] = (f"{sql} AND s.{column} NOT IN ({marks(enough)})", [*values, *enough])
    return caps


def _far_from(near: Sequence["_Dealt"]) -> tuple[str, list[object]]:
    items = [one.item for one in near]
    pairs = [one.pair for one in near if one.pair is not None]
    again = [one.response for one in near if one.outcome in RAN_OUT]
    far = f"s.item_id NOT IN ({marks(items)})"
    if pairs:
        far += f" AND (s.pair_id IS NULL OR s.pair_id NOT IN ({marks(pairs)}))"
    if again:
        far = f"({far} OR s.response_id IN ({marks(again)}))"
    return far, [*items, *pairs, *again]


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
    found = rows(
        # The few are taken first: joined before, all that the rater ever had would be.
        "SELECT a.ordinal, s.item_id, s.pair_id, a.response_id, a.outcome, a.leased_at"
        " FROM (SELECT * FROM rating_assignment WHERE rater_id = %s"
        "  ORDER BY leased_at DESC, id DESC LIMIT %s) a"
        " JOIN rating_slot s ON s.response_id = a.response_id AND s.number = 1"
        " ORDER BY a.leased_at DESC, a.id DESC",
        rater.pk,
        max(1, settings.CARD_DISTANCE),
    )
    if found and found[0][0] is None:  # dealt before cards were numbered
        found[0] = (Assignment.objects.filter(rater=rater).count(), *found[0][1:])
    return [
        _Dealt(ordinal or 0, item, pair, response, outcome, moment(leased_at))
        for ordinal, item, pair, response, outcome, leased_at in found
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
    """Agreed responses of the wave's instrument that the rater has not had and may have."""
    instrument = Wave.objects.filter(pk=wave).values("bank__instrument")
    apart = Assignment.objects.filter(rater=rater, response=OuterRef("response"), kind__in=APART)
    return _as_candidates(
        may_have(rater)
        .filter(
            ~Exists(had(rater)),
            ~Exists(apart),
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
    again = had(rater).filter(kind=Kind.REPEAT)
    counted = Rating.objects.counted().filter(rater=rater, response=OuterRef("response"))
    return _as_candidates(
        may_have(rater).filter(
            ~Exists(again), Exists(counted), response__in=rated.values("response"), wave=wave
        )
    )


def _as_candidates(slots: QuerySet[Slot]) -> list[Candidate]:
    """One for each response, hard topics aside: those are announced, and chosen, one by one."""
    return [
        Candidate(slot, response, item, pair, 0)
        for slot, response, item, pair in slots.filter(number=1, topic="").values_list(
            "pk", "response_id", "item_id", "pair_id"
        )
    ]


def _had(rater: User, waves: set[int]) -> Had:
    """What the rater has given so far, with a 0 for each subject and arm of a wave new to them."""
    if not waves:
        return Had()
    found = rows(
        'SELECT wave_id, "of", which, count FROM rating_tally'
        f" WHERE rater_id = %s AND wave_id IN ({marks([*waves])})",
        rater.pk,
        *waves,
    )
    if new := waves - {wave for wave, *_ in found}:
        found += _first_tallies(rater, new)
    tables: dict[str, dict[int, dict[int, int]]] = {of: {} for of in Tally.Of.values}
    for wave, of, which, count in found:
        tables[of].setdefault(wave, {})[which] = count
    return Had(
        subjects=tables[Tally.Of.SUBJECT],
        arms=tables[Tally.Of.ARM],
        partners=tables[Tally.Of.PARTNER],
        raters=dict.fromkeys(waves, _raters_at_work()),
    )


def _first_tallies(rater: User, waves: set[int]) -> list[tuple[int, str, int, int]]:
    found = [
        (wave, Tally.Of.SUBJECT.value, subject, 0)
        for wave, subject in Run.objects.filter(wave__in=waves)
        .values_list("wave", "subject")
        .distinct()
    ]
    paired = set(Pair.objects.filter(bank__wave__in=waves).values_list("bank__wave", flat=True))
    found += [(wave, Tally.Of.ARM.value, arm, 0) for wave in waves & paired for arm in (1, 2)]
    Tally.objects.bulk_create(
        (
            Tally(rater=rater, wave_id=wave, of=of, which=which, count=count)
            for wave, of, which, count in found
        ),
        ignore_conflicts=True,
    )
    return found


def _raters_at_work() -> int:
    """How many people rate here; known to the minute is enough."""
    known: int | None = cache.get("queue:raters")
    if known is None:
        known = User.objects.filter(groups__name=Role.RATER, is_active=True).count()
        cache.set("queue:raters", known, 60)
    return known


# Why there is nothing


def _nothing_left(
    rater: User, reach: Reach, near: Sequence[_Dealt], *, hard_topics: bool
) -> NoWork:
    groups = reach.groups
    for at in range(0, len(groups), MANY):
        if _candidates(reach, groups[at : at + MANY], near, {}, hard_topics=hard_topics):
            return NoWork("What is left is kept for others, so that everybody rates a fair mix.")
    opened = open_to(rater).filter(within(groups))
    if near and opened.filter(language__in=rater.languages, topic="").exists():
        return NoWork(
            "What is left is too like what you have just read.",
            min(one.leased_at for one in near) + REST,
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
    if opened.filter(topic="").exclude(language__in=rater.languages).exists():
        return NoWork("What is left is in languages you have not chosen.")
    if not rater.hard_topics and opened.exclude(topic="").exists():
        return NoWork(
            "Hard topics are off. You will not be shown them unless you turn them on here."
        )
    # Whoever was offered work of a wave has a tally there.
    mine = Wave.objects.filter(pk__in=Tally.objects.filter(rater=rater).values("wave"))
    if mine.exists() and not mine.filter(ratings_frozen_at=None).exists():
        return NoWork("Rating has closed.")
    return NoWork("All that is open has had its ratings.")


def _waits_for_a_qualification(rater: User) -> NoWork | None:
    """The way on, where there is work that the rater could have, were they qualified for it."""
    instrument = (
        open_to_qualified(rater)
        .filter(wave__in=closed_to(rater), language__in=rater.languages)
        .values_list("wave__bank__instrument", flat=True)
        .first()
    )
    if instrument is None:
        return None
    return NoWork(
        f"What is open asks for a qualification in {Instrument(instrument).label}. "
        "You find practice and the qualification on your home page."
    )
