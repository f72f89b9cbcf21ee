"""What two raters saw differently, and who settles it. Every rule of settling is kept here.

Their own level comes first: until it is stored, an adjudicator sees neither rating. The ratings
stay as they were. What somebody began and does not settle is handed over: it stays on record as it
is, and another takes its place. Each step is one short transaction that locks, in this order: the
adjudicator, the ratings of the response, the adjudication. ``rating.settled`` says what stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from rating.blinding import Card
from rating.clock import midnight
from rating.disputes import triggers
from rating.models import (
    NO_LONGER_BLIND,
    Adjudication,
    Assignment,
    Conflict,
    Ended,
    Event,
    EventKind,
    Exposure,
    Kind,
    Pause,
    Rating,
    Role,
    Slot,
    SlotState,
    User,
)
from rating.queue import Announced, NoWork, Paused, writing
from rating.seen import has_seen
from rating.settled import end
from runs.canonical import draw
from runs.models import Anchor, Response, Wave

# How many responses with two ratings one look takes in, and how many looks one call takes.
WINDOW = 500
LOOKS = 20
# How many waiting adjudications are tried before somebody is told that there are none.
TRIES = 64
# How many that nobody goes on with are handed over at one look.
HANDED_OVER_AT_ONCE = 50
# How far what waits is counted: more is more than anybody settles in a week.
MOST_COUNTED = 1_000

SETTLED_FIELDS = [
    "anchor",
    "reason",
    "guideline_gap",
    "harm_upheld",
    "settled_at",
    "held_until",
]
HELD_BY_OTHERS = "All that is left is held by others."
NOTHING = "There is nothing for you to settle right now."

Found = Adjudication | NoWork | Announced | Paused


class NotYours(Exception):
    """The time was over, and somebody else has it now; or it never was theirs."""


class NoLongerTwo(Exception):
    """One of the two ratings was taken back, so that there is nothing to settle here."""


class OwnLevelFirst(Exception):
    """The ratings are shown, and settled, only after one's own level."""


class AlreadySettled(Exception):
    def __init__(self, adjudication: Adjudication) -> None:
        self.adjudication = adjudication
        super().__init__(f"settled at {adjudication.settled_at:%H:%M}")


@dataclass(frozen=True)
class Waiting:
    """What an adjudicator's home page says. ``count`` ends at ``MOST_COUNTED``."""

    count: int
    in_hand: bool

    @property
    def said(self) -> str:
        return f"{MOST_COUNTED:,} or more" if self.count >= MOST_COUNTED else str(self.count)


# Opening


def open_for(response: Response, *, now: datetime | None = None) -> bool:
    """Open the adjudication of one response, if it has two standing ratings and a trigger holds.

    Safe to call twice.
    """
    return _open([response.pk], now or timezone.now()) > 0


def open_due(
    wave: Wave | None = None, *, now: datetime | None = None, looks: int | None = None
) -> int:
    """Open what has come to need settling since the last look; return how many.

    A look takes in ``WINDOW`` responses at most, by an index, from where the last look ended, and
    the first that finds something is the last. The place is kept in the cache alone: lost, it only
    means that the looks begin at the start again.
    """
    now = now or timezone.now()
    place = f"settle:looked-at:{wave.pk if wave else 'all'}"
    at: int = cache.get(place, 0)
    opened = 0
    for _ in range(looks or LOOKS):
        window = _unopened(wave, at)
        opened = _open([two.response for two in _twos(window, now) if two.triggers], now)
        from_start, to_end = at == 0, len(window) < WINDOW
        at = 0 if to_end else window[-1]
        if opened or (from_start and to_end):
            break
    cache.set(place, at, None)
    return opened


# Holding


def current(adjudicator: User) -> Adjudication | None:
    """What the adjudicator has in hand: begun, or held and not gone to somebody else."""
    return _in_hand(adjudicator).select_related("response__item", "own_anchor").first()


def _in_hand(adjudicator: User) -> QuerySet[Adjudication]:
    return (
        Adjudication.objects.standing()
        .filter(adjudicator=adjudicator, settled_at=None)
        .order_by(F("own_at").asc(nulls_last=True), "opened_at")
    )


def waiting_for(adjudicator: User, *, now: datetime | None = None) -> Waiting:
    """How many wait that this adjudicator may settle, the one in hand included, to a thousand."""
    now = now or timezone.now()
    open_due(now=now, looks=1)
    hand_over_due(now=now, but=adjudicator)
    # Its number alone: whoever counts shows nothing of it.
    in_hand = _in_hand(adjudicator).values_list("pk", flat=True).first()
    others = _open_to(adjudicator).filter(_free(now)).exclude(pk=in_hand or 0)
    mine = int(in_hand is not None)
    return Waiting(mine + others[: MOST_COUNTED - mine].count(), in_hand is not None)


def lease(adjudicator: User, *, now: datetime, topic: str = "") -> Found:
    """What the adjudicator holds, or the next one for them, or why there is none.

    ``topic`` is what they said to an announced response: "open" or "other".
    """
    open_due(now=now, looks=1)
    hand_over_due(now=now, but=adjudicator)
    while True:
        with writing():
            _lock(adjudicator)
            found = _lease(adjudicator, now, topic)
        if not isinstance(found, NoWork) or not open_due(now=now):
            return found


def give_back(
    adjudication: Adjudication, adjudicator: User, *, conflict: bool, now: datetime
) -> None:
    """Leave it to somebody else, before anything was said. It is not offered to them again.

    With ``conflict``, nothing that answers the same item is. Raises ``NotYours``.
    """
    with writing():
        _lock(adjudicator)
        mine = _mine(adjudication, adjudicator)
        if mine.own_at or mine.settled_at:
            return
        mine.adjudicator = mine.held_until = None
        mine.save(update_fields=["adjudicator", "held_until"])
        if conflict:
            Conflict.objects.get_or_create(
                person=adjudicator, item_code=mine.response.item.code, developer=""
            )
        _log(EventKind.SKIP, adjudicator, adjudication=mine.code, conflict=conflict)


def begun() -> QuerySet[Adjudication]:
    """What somebody gave their own level for, and has not settled."""
    return Adjudication.objects.standing().filter(own_at__isnull=False, settled_at=None)


def hand_over_due(*, now: datetime, but: User) -> int:
    """Hand over what others began and do not go on with; return how many.

    They have had their days, are paused, or are no longer an adjudicator. Asked for on behalf of
    ``but``, who keeps theirs: a late decision is welcome while nobody else asks for work.
    """
    paused = Pause.objects.filter(person=OuterRef("adjudicator"), ended_at=None)
    working = User.objects.filter(is_active=True, groups__name=Role.ADJUDICATOR)
    due = (
        begun()
        .exclude(adjudicator=but)
        .filter(Q(held_until__lt=now) | Exists(paused) | ~Q(adjudicator__in=working.values("pk")))
        .order_by("own_at")
    )
    return sum(hand_over(one, None, "", now=now) for one in due[:HANDED_OVER_AT_ONCE])


def hand_over(adjudication: Adjudication, by: User | None, reason: str, *, now: datetime) -> bool:
    """Let somebody else settle what was begun; say whether this call did it.

    The level that was given stays on record with whoever gave it, and they never rate the response
    nor settle it. ``by`` is the maintainer who decided so, or nobody: then it was the rule.
    """
    with writing():
        _lock_ratings([adjudication.response_id])
        found = begun().select_for_update(of=("self",)).filter(pk=adjudication.pk).first()
        if found is None:
            return False
        end(found, Ended.HANDED_OVER, now=now, by=by.pk if by else None, reason=reason)
        _open([found.response_id], now)
    return True


# Settling


def give_own_level(
    adjudication: Adjudication, adjudicator: User, level: int, *, now: datetime
) -> Adjudication:
    """Keep the level the adjudicator gives before they see the two. The first one given stays.

    Raises
    ------
    NotYours
        If it has gone to somebody else.
    NoLongerTwo
        If one of the ratings was taken back.
    ValueError
        If the level is none of the item's anchors.

    From then on it is theirs for ``SETTLE_DAYS``.
    """
    with writing():
        _lock(adjudicator)
        mine = _mine(adjudication, adjudicator)
        if mine.own_at or mine.settled_at:
            return mine
        mine.own_anchor, mine.own_at = _anchor(mine, level), now
        mine.held_until = now + timedelta(days=settings.SETTLE_DAYS)
        mine.save(update_fields=["own_anchor", "own_at", "held_until"])
        _log(
            EventKind.LOOK,
            adjudicator,
            adjudication=mine.code,
            response=mine.response.code,
            own_level=level,
            ratings=f"{mine.first_side_id} {mine.second_side_id}",
        )
        return mine


def settle(
    adjudication: Adjudication,
    adjudicator: User,
    level: int,
    reason: str,
    guideline_gap: bool,
    harm_upheld: bool | None,
    *,
    now: datetime,
) -> Adjudication:
    """Store what the adjudicator decided, once. Neither rating is touched.

    Parameters
    ----------
    harm_upheld : bool or None
        Whether the response could do serious harm: wanted if either rating says so, else dropped.

    Raises
    ------
    AlreadySettled, NotYours, OwnLevelFirst, NoLongerTwo
        If it is not theirs to settle, or not as they saw it.
    ValueError
        If the level is none of the item's anchors, or the reason or the decision is missing.
    """
    with writing():
        _lock(adjudicator)
        mine = _mine(adjudication, adjudicator)
        if mine.settled_at:
            raise AlreadySettled(mine)
        if not mine.own_at:
            raise OwnLevelFirst
        if not reason.strip():
            raise ValueError("Settling needs a reason.")
        flagged = any(rating.critical_harm for rating in sides(mine))
        if flagged and harm_upheld is None:
            raise ValueError("A reader says that this could do serious harm: decide on it.")
        mine.anchor, mine.reason, mine.guideline_gap = _anchor(mine, level), reason, guideline_gap
        mine.harm_upheld = harm_upheld if flagged else None
        mine.settled_at, mine.held_until = now, None
        mine.save(update_fields=SETTLED_FIELDS)
        _log(
            EventKind.SETTLE,
            adjudicator,
            adjudication=mine.code,
            response=mine.response.code,
            level=level,
            ratings=f"{mine.first_side_id} {mine.second_side_id}",
        )
        return mine


# Seeing


def card_of(adjudication: Adjudication) -> Card:
    """The response just as a rater sees it, under the handle of its adjudication."""
    as_held = Assignment(
        code=adjudication.code,
        response=adjudication.response,
        expires_at=adjudication.held_until or adjudication.opened_at,
    )
    return Card.of(as_held)


def sides(adjudication: Adjudication) -> tuple[Rating, Rating]:
    """The two ratings it is about, as sides 1 and 2. Raises ``NoLongerTwo``."""
    ratings = Rating.objects.select_related("anchor").prefetch_related("quotes")
    found = ratings.in_bulk([adjudication.first_side_id, adjudication.second_side_id])
    if adjudication.ended_at or len(found) != 2:
        raise NoLongerTwo
    return found[adjudication.first_side_id], found[adjudication.second_side_id]


# What the steps are made of


@dataclass(frozen=True)
class _Two:
    """The two final ratings of a response, and which triggers hold for them."""

    response: int
    ratings: tuple[str, ...]
    triggers: tuple[str, ...]


def _unopened(wave: Wave | None, after: int) -> list[int]:
    """The next responses that are rated twice and have no adjudication that stands."""
    opened = Adjudication.objects.standing().filter(response=OuterRef("response"))
    rated = Slot.objects.filter(response__gt=after, state=SlotState.RATED)
    other, first = rated.filter(response=OuterRef("response"), number=2), rated.filter(number=1)
    if wave:
        first = first.filter(wave=wave)
    found = first.filter(~Exists(opened), Exists(other)).order_by("response")
    return list(found.values_list("response_id", flat=True)[:WINDOW])


def _twos(responses: Sequence[int], now: datetime) -> list[_Two]:
    """Which triggers hold for each of these responses that has two final ratings."""
    final_at = now - timedelta(minutes=settings.UNDO_MINUTES)
    said: dict[int, list[tuple[int, bool, str]]] = {}
    drawn: dict[int, bytes] = {}
    # Those that stand are told apart here: asked for them, SQLite would walk all that ever stood.
    pks: dict[int, list[str]] = {}
    for pk, response, code, seed, superseded, withdrawn_at, rated_at, level, harm, confidence in (
        Rating.objects.filter(response__in=responses, kind=Kind.COUNTED)
        .order_by("response")
        .values_list(
            "pk",
            "response_id",
            "response__code",
            "response__run__wave__seed",
            "superseded_by_id",
            "withdrawn_at",
            "rated_at",
            "anchor__level",
            "critical_harm",
            "confidence",
        )
    ):
        if superseded or withdrawn_at or rated_at >= final_at:
            continue
        said.setdefault(response, []).append((level, harm, confidence))
        pks.setdefault(response, []).append(str(pk))
        drawn[response] = draw(seed, f"{code} settle")
    return [
        _Two(
            response,
            tuple(pks[response]),
            triggers(
                *zip(*both, strict=True),
                distance=settings.ADJUDICATE_AT,
                sample=settings.ADJUDICATE_SAMPLE_PERCENT,
                draw=drawn[response],
            ),
        )
        for response, both in said.items()
        if len(both) == 2
    ]


def _open(responses: Sequence[int], now: datetime) -> int:
    """Open what is due of these; return how many. The two sides are drawn by chance."""
    if not responses:
        return 0
    with writing():
        _lock_ratings(responses)
        standing = Adjudication.objects.standing().filter(response__in=responses)
        stand = set(standing.values_list("response_id", flat=True))
        opened = [
            _opened(two, now)
            for two in _twos(responses, now)
            if two.triggers and two.response not in stand
        ]
        Adjudication.objects.bulk_create(opened)
    return len(opened)


def _opened(two: _Two, now: datetime) -> Adjudication:
    code = uuid4()
    first, second = sorted(two.ratings, key=lambda rating: draw(str(code), rating))
    return Adjudication(
        code=code,
        response_id=two.response,
        triggers=two.triggers,
        first_side_id=first,
        second_side_id=second,
        opened_at=now,
    )


def _lock_ratings(responses: Sequence[int]) -> None:
    """Whoever takes one of them back locks it, too: it comes before this step or after it."""
    stand = Rating.objects.counted().filter(response__in=responses)
    list(stand.select_for_update(no_key=True).order_by("pk").values_list("pk"))


def _free(now: datetime) -> Q:
    return Q(adjudicator=None) | Q(held_until__lt=now)


def _open_to(person: User) -> QuerySet[Adjudication]:
    """What waits to be begun and this person may settle, whoever holds it.

    Never what they had in hand as a rater, nor what they saw a rating of, here or anywhere in its
    wave, or who made it, nor where they have a conflict of interest, nor what they gave back.
    """
    had = Assignment.objects.filter(rater=person, response=OuterRef("response"))
    rated = Rating.objects.filter(rater=person, response=OuterRef("response"))
    seen = Exposure.objects.filter(person=person, saw__in=NO_LONGER_BLIND).values("wave")
    conflicts = Conflict.objects.filter(person=person)
    given_back = Event.objects.filter(
        actor=person, kind=EventKind.SKIP, about__has_key="adjudication"
    ).values_list("about__adjudication", flat=True)
    left = Adjudication.objects.filter(code__in=list(given_back)).values("response")
    waiting = Adjudication.objects.standing().filter(settled_at=None, own_at=None)
    if not person.hard_topics:
        waiting = waiting.filter(response__item__topic="")
    return (
        waiting.filter(
            ~Exists(had),
            ~Exists(rated),
            ~has_seen(person),
            response__item__language__in=person.languages,
        )
        .exclude(response__run__wave__in=seen)
        .exclude(
            response__run__subject__developer__in=conflicts.exclude(developer="").values(
                "developer"
            )
        )
        .exclude(response__item__code__in=conflicts.exclude(item_code="").values("item_code"))
        .exclude(response__in=left)
    )


def _lease(adjudicator: User, now: datetime, topic: str) -> Found:
    if pause := Pause.objects.filter(person=adjudicator, ended_at=None).first():
        return Paused(pause.reason, pause.earlier_ratings)
    if held := current(adjudicator):
        if held.own_at:
            return held
        # Its time may be over, and somebody else be given it at this moment.
        if mine := _locked_hold(held.pk, adjudicator):
            return _hold(mine, adjudicator, now)
    open_to = _open_to(adjudicator)
    opened = _opened_today(adjudicator, now)
    if topic == "other" or opened >= settings.HARD_TOPICS_A_DAY:
        open_to = open_to.filter(response__item__topic="")
    for pk, hard in (
        open_to.filter(_free(now))
        .order_by("opened_at", "pk")
        .values_list("pk", "response__item__topic")[:TRIES]
    ):
        if hard and topic != "open":
            return Announced(hard, opened, settings.HARD_TOPICS_A_DAY)
        if (found := _locked_free(pk, now)) and _still_due(found, now):
            return _hold(found, adjudicator, now)
    others = open_to.exclude(_free(now)).order_by("held_until")
    free_at = others.values_list("held_until", flat=True).first()
    return NoWork(HELD_BY_OTHERS, free_at) if free_at else NoWork(NOTHING)


def _opened_today(adjudicator: User, now: datetime) -> int:
    """How many responses about something hard this person opened today, to rate or to settle."""
    day = midnight(now)
    rated = Assignment.objects.filter(rater=adjudicator, leased_at__gte=day)
    settled = Adjudication.objects.filter(adjudicator=adjudicator, own_at__gte=day)
    return (
        rated.exclude(response__item__topic="").count()
        + settled.exclude(response__item__topic="").count()
    )


def _lock(adjudicator: User) -> None:
    """Let one request of an adjudicator through at a time."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=adjudicator.pk)


def _locked_free(pk: int, now: datetime) -> Adjudication | None:
    return (
        Adjudication.objects.standing()
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("response__item")
        .filter(_free(now), pk=pk, settled_at=None, own_at=None)
        .first()
    )


def _locked_hold(pk: int, adjudicator: User) -> Adjudication | None:
    return (
        _in_hand(adjudicator)
        .select_for_update(of=("self",))
        .select_related("response__item", "own_anchor")
        .filter(pk=pk)
        .first()
    )


def _still_due(adjudication: Adjudication, now: datetime) -> bool:
    """Whether a trigger still holds: what is declared may have changed since it was opened."""
    holds = [name for two in _twos([adjudication.response_id], now) for name in two.triggers]
    if not holds:
        end(adjudication, Ended.NOT_DUE, now=now)
    elif holds != adjudication.triggers:
        adjudication.triggers = holds
        adjudication.save(update_fields=["triggers"])
    return bool(holds)


def _hold(adjudication: Adjudication, adjudicator: User, now: datetime) -> Adjudication:
    adjudication.adjudicator = adjudicator
    adjudication.held_until = now + timedelta(minutes=settings.LEASE_MINUTES)
    adjudication.save(update_fields=["adjudicator", "held_until"])
    return adjudication


def _mine(adjudication: Adjudication, adjudicator: User) -> Adjudication:
    found = (
        Adjudication.objects.select_for_update(of=("self",))
        .select_related("response__item")
        .get(pk=adjudication.pk)
    )
    if found.settled_at is None:
        refuse_ended(found)
    if found.adjudicator_id != adjudicator.pk:
        raise NotYours
    return found


def refuse_ended(adjudication: Adjudication) -> None:
    """Raise why nobody goes on with one that has ended: ``NotYours`` or ``NoLongerTwo``."""
    if adjudication.ended == Ended.HANDED_OVER:
        raise NotYours
    if adjudication.ended:
        raise NoLongerTwo


def _anchor(adjudication: Adjudication, level: int) -> Anchor:
    anchor = Anchor.objects.filter(item=adjudication.response.item_id, level=level).first()
    if anchor is None:
        raise ValueError(f"Level {level} is no anchor of this item.")
    return anchor


def _log(kind: EventKind, actor: User, /, **about: object) -> None:
    Event.objects.create(
        kind=kind, actor=actor, about={name: str(value) for name, value in about.items()}
    )
