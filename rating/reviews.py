"""Who reviews which item, and what the reviews amount to. Every rule of reviewing is kept here.

The engine is that of the queue: work is pulled, each step is one short transaction, and it locks
in this order: the reviewer, the wording, the hold. Reviews belong to a wording, that is to the
content hash of an item: an item that stays as it was keeps them in the next version of its bank.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from rating.changes import Change, changes, is_small
from rating.clock import midnight
from rating.models import (
    CRITERIA,
    Assignment,
    Conflict,
    EventKind,
    ItemReview,
    Pause,
    ReviewHold,
    ReviewOutcome,
    ReviewSkip,
    ReviewWork,
    Slot,
    SlotState,
    User,
)
from rating.queue import Announced, NoWork, Paused, TooLate, lock, log, writing
from rating.queue.writing import hold_from
from rating.review_choice import (
    MOST_PLACES,
    Offer,
    Standing,
    Taken,
    needs_expert,
    place_for,
    ranked,
    standing_of,
    wanted,
)
from runs.canonical import draw
from runs.models import Bank, Item, Pair, Response, Status, WaveKind

__all__ = [
    "CRITERIA",
    "AlreadySent",
    "Given",
    "NoPlace",
    "NotHeld",
    "Standing",
    "WroteIt",
    "current",
    "earlier_review",
    "keep_draft",
    "lease",
    "let_go",
    "renew",
    "reviews_of",
    "send",
    "skip",
    "standings",
    "still_stands",
    "undo",
    "undoable",
    "waiting_for",
    "what_changed",
    "wrote",
]

REPLIES = 3
# How often the offers are read anew while others are taking the same items.
ROUNDS = 20
RECLAIM_AT_ONCE = 50

HELD_BY_OTHERS = "All that is left is held by others."
ALL_REVIEWED = "All that is open has had its reviews."
NO_ITEM = "There is no item to review yet."
OWN_ITEMS = "What is left was written by you, so you cannot review it."
FOR_EXPERTS = (
    "What is left is kept for reviewers who are marked as clinician or with lived experience."
)
LANGUAGES = "What is left is in languages you have not chosen."
HARD_OFF = "Hard topics are off. You will not be shown them unless you turn them on under Text."
HARD_ENOUGH = "What is left is about hard topics, and you have opened enough of them today."
DISPUTED = "It can no longer be undone: a third review has begun."
TOO_LATE = "This review can no longer be undone."

Found = ReviewHold | NoWork | Announced | Paused


@dataclass(frozen=True)
class Given:
    """A review as somebody gives it. ``met`` says of each criterion whether the item meets it."""

    met: Mapping[str, bool]
    verdict: str
    concern: str = ""
    minutes: int = 0
    whys: Mapping[str, str] = field(default_factory=dict)


class AlreadySent(Exception):
    def __init__(self, review: ItemReview) -> None:
        self.review = review
        super().__init__(f"sent at {review.reviewed_at:%H:%M}")


class NotHeld(Exception):
    """The reviewer gave this item back, so that nothing can be stored for it."""


class NoPlace(Exception):
    """The time was over, and the item has had its reviews meanwhile."""


class WroteIt(Exception):
    """The item is the reviewer's own."""


# What reviews amount to


def standings(hashes: Collection[str]) -> dict[str, Standing]:
    """How it stands with each of these wordings; one that nobody knows is unvalidated."""
    said = _said(hashes)
    asks = _asking_for_experts(hashes)
    return {
        wording: standing_of(said.get(wording, ()), needs_expert=wording in asks)
        for wording in hashes
    }


def reviews_of(content_hash: str) -> list[ItemReview]:
    """The live reviews of a wording, oldest first."""
    return list(
        ItemReview.objects.live()
        .filter(content_hash=content_hash)
        .select_related("reviewer", "item")
        .order_by("reviewed_at", "number")
    )


def _said(hashes: Collection[str]) -> dict[str, list[Taken]]:
    found: dict[str, list[Taken]] = defaultdict(list)
    rows = ItemReview.objects.live().filter(content_hash__in=hashes).order_by("number")
    for wording, number, reviewer, expert, verdict in rows.values_list(
        "content_hash", "number", "reviewer", "expert", "verdict"
    ):
        found[wording].append(Taken(number, reviewer, expert, verdict))
    return found


def _asking_for_experts(hashes: Collection[str]) -> set[str]:
    items = Item.objects.filter(content_hash__in=hashes)
    return {
        wording
        for wording, topic, details in items.values_list("content_hash", "topic", "details")
        if needs_expert(topic, details)
    }


# Who wrote it


def wrote(person: User, item: Item) -> bool:
    """Whether the item is this person's own, by its bank or by what they declared."""
    return _named(person, item.details) or (
        Conflict.objects.filter(person=person, item_code=item.code).exists()
    )


def _named(person: User, details: Mapping[str, Any]) -> bool:
    author = str(details.get("author") or "").strip().casefold()
    names = (person.name.strip(), person.email, person.pseudonym)
    return bool(author) and author in {name.casefold() for name in names}


# What waits


@dataclass(frozen=True)
class Wording:
    """A wording that reviews are wanted for: its item in the newest bank, and who has a place."""

    work: int
    item: Item
    said: tuple[Taken, ...]
    held: tuple[Taken, ...]
    free_at: datetime | None
    place: tuple[int, str]  # the part of the bank that it lies in

    @property
    def needs_expert(self) -> bool:
        return needs_expert(self.item.topic, self.item.details)

    @property
    def standing(self) -> Standing:
        return standing_of(self.said, needs_expert=self.needs_expert)

    @property
    def wants(self) -> int:
        """How many reviews are still to come, as it stands."""
        return max(0, wanted(self.said, needs_expert=self.needs_expert) - len(self.said))


def newest_banks() -> QuerySet[Bank]:
    """The last version of each bank: reviews of what it no longer holds are of no use."""
    newest = Bank.objects.exclude(frozen_at=None).order_by().values("name").annotate(at=Max("pk"))
    return Bank.objects.filter(pk__in=newest.values("at"))


def wordings(now: datetime) -> list[Wording]:
    """All that reviews are wanted for, or were, in the order of their banks."""
    items = list(
        Item.objects.filter(bank__in=newest_banks())
        .exclude(withheld="retired")
        .defer("prompt", "turns")
        .order_by("bank", "position")
    )
    hashes = {item.content_hash for item in items}
    works = _works(hashes)
    said = _said(hashes)
    held: dict[int, list[tuple[Taken, datetime]]] = defaultdict(list)
    rows = ReviewHold.objects.live().filter(work__in=works.values(), expires_at__gte=now)
    for work, number, reviewer, expertise, ends in rows.values_list(
        "work", "number", "reviewer", "reviewer__expertise", "expires_at"
    ):
        held[work].append((Taken(number, reviewer, bool(expertise)), ends))
    chambers = {
        arm: chamber
        for chamber, *arms in Pair.objects.filter(bank__in=newest_banks()).values_list(
            "chamber", "arm_a", "arm_b"
        )
        for arm in arms
    }
    found = []
    for item in items:
        work = works[item.content_hash]
        holds = held[work]
        found.append(
            Wording(
                work,
                item,
                tuple(said.get(item.content_hash, ())),
                tuple(taken for taken, _ in holds),
                min((ends for _, ends in holds), default=None),
                (item.bank_id, item.subdimension or chambers.get(item.pk, "")),
            )
        )
    return found


def _works(hashes: Collection[str]) -> dict[str, int]:
    """The row of each wording; one that is new gets its row."""
    known = dict(ReviewWork.objects.values_list("content_hash", "pk"))
    if new := [wording for wording in hashes if wording not in known]:
        with writing():
            ReviewWork.objects.bulk_create(
                (ReviewWork(content_hash=wording) for wording in sorted(new)),
                ignore_conflicts=True,
            )
        known = dict(ReviewWork.objects.values_list("content_hash", "pk"))
    return known


@dataclass(frozen=True)
class _Offers:
    """What somebody could have, and why not the rest."""

    open: tuple[Offer, ...]
    why_not: NoWork


def _offers(
    reviewer: User, now: datetime, *, easy: bool, everything: Sequence[Wording] | None = None
) -> _Offers:
    """``easy`` leaves out what is about something hard, for this once."""
    own_codes = set(
        Conflict.objects.filter(person=reviewer)
        .exclude(item_code="")
        .values_list("item_code", flat=True)
    )
    holds = ReviewHold.objects.filter(reviewer=reviewer)
    refused = holds.filter(outcome=ReviewOutcome.SKIPPED).exclude(skip_reason=ReviewSkip.LATER)
    had = set(refused.values_list("work", flat=True))
    later = set(holds.filter(skip_reason=ReviewSkip.LATER).values_list("work", flat=True))
    before = _reviewed_before(reviewer)
    expert = bool(reviewer.expertise)
    everything = wordings(now) if everything is None else everything
    parts: dict[tuple[int, str], list[Wording]] = defaultdict(list)
    for wording in everything:
        parts[wording.place].append(wording)
    validated = {
        place: sum(one.standing == Standing.VALIDATED for one in inside)
        for place, inside in parts.items()
    }
    offers, whys, free_at = [], set[str](), []
    for wording in everything:
        item = wording.item
        mine = any(one.reviewer == reviewer.pk for one in (*wording.said, *wording.held))
        if mine or wording.work in had or not wording.wants:
            continue
        number = place_for(
            reviewer.pk,
            expert=expert,
            said=wording.said,
            held=wording.held,
            needs_expert=wording.needs_expert,
        )
        if item.code in own_codes or _named(reviewer, item.details):
            whys.add(OWN_ITEMS)
        elif item.language not in reviewer.languages:
            whys.add(LANGUAGES)
        elif item.topic and not reviewer.hard_topics:
            whys.add(HARD_OFF)
        elif number is None:
            unheld = place_for(
                reviewer.pk,
                expert=expert,
                said=wording.said,
                held=(),
                needs_expert=wording.needs_expert,
            )
            whys.add(FOR_EXPERTS if unheld is None else HELD_BY_OTHERS)
            if unheld is not None and wording.free_at:
                free_at.append(wording.free_at)
        elif item.topic and easy:
            whys.add(HARD_ENOUGH)
        else:
            offers.append(
                Offer(
                    wording.work,
                    item.pk,
                    item.content_hash,
                    topic=item.topic,
                    begun=bool(wording.said),
                    changed=(item.code, item.bank_id) in before,
                    put_off=wording.work in later,
                    thin=(validated[wording.place], len(parts[wording.place])),
                )
            )
    return _Offers(tuple(offers), _why_not(whys, free_at, bool(everything)))


def _why_not(whys: set[str], free_at: list[datetime], any_item: bool) -> NoWork:
    for why in (HELD_BY_OTHERS, HARD_OFF, HARD_ENOUGH, FOR_EXPERTS, LANGUAGES, OWN_ITEMS):
        if why in whys:
            return NoWork(why, min(free_at, default=None) if why == HELD_BY_OTHERS else None)
    return NoWork(ALL_REVIEWED if any_item else NO_ITEM)


def _reviewed_before(reviewer: User) -> set[tuple[str, int]]:
    """Items, by code and newest bank, of which they reviewed an earlier wording."""
    newest = dict(newest_banks().values_list("name", "pk"))
    return {
        (code, newest[name])
        for code, name in ItemReview.objects.live()
        .filter(reviewer=reviewer, item__bank__name__in=newest)
        .values_list("item__code", "item__bank__name")
    }


@dataclass(frozen=True)
class Waiting:
    """What a reviewer's home page says."""

    count: int
    in_hand: bool
    why_not: NoWork


def waiting_for(
    reviewer: User, *, now: datetime, everything: Sequence[Wording] | None = None
) -> Waiting:
    """How many items wait that this person may review, the one in hand aside.

    ``everything`` is what ``wordings`` found, where many people are asked about.
    """
    offers = _offers(reviewer, now, easy=False, everything=everything)
    return Waiting(len(offers.open), current(reviewer) is not None, offers.why_not)


# Holding


def current(reviewer: User) -> ReviewHold | None:
    """The item in the reviewer's hands, or the last one that ran out with a draft on it."""
    return (
        ReviewHold.objects.filter(reviewer=reviewer)
        .filter(Q(ended_at=None) | Q(outcome=ReviewOutcome.EXPIRED, draft_at__isnull=False))
        .order_by("outcome", "parked", "-leased_at", "-pk")
        .first()
    )


def lease(reviewer: User, *, now: datetime, topic: str = "") -> Found:
    """The item the reviewer holds, or the next one for them, or why there is none.

    ``topic`` is what they said to an announced item: "open" or "other".
    """
    _works(Item.objects.filter(bank__in=newest_banks()).values_list("content_hash", flat=True))
    with writing():
        lock(reviewer.pk)
        return _lease(reviewer, now, topic)


def _lease(reviewer: User, now: datetime, topic: str) -> Found:
    if pause := Pause.objects.filter(person=reviewer, ended_at=None).first():
        return Paused(pause.reason, pause.earlier_ratings)
    if held := current(reviewer):
        if held.parked:
            held.parked = False
            held.save(update_fields=["parked"])
        return held
    _reclaim(now)
    opened = _hard_opened_today(reviewer, now)
    easy = topic == "other" or opened >= settings.HARD_TOPICS_A_DAY
    why_not = NoWork(ALL_REVIEWED)
    for _ in range(ROUNDS):
        offers = _offers(reviewer, now, easy=easy)
        why_not = offers.why_not
        for offer in ranked(
            offers.open, expert=bool(reviewer.expertise), seed=f"review {reviewer.pseudonym}"
        ):
            if offer.topic and topic != "open":
                return Announced(offer.topic, opened, settings.HARD_TOPICS_A_DAY)
            if hold := _take(offer, reviewer, now):
                return hold
        if not offers.open:
            break
    return why_not


def _take(offer: Offer, reviewer: User, now: datetime) -> ReviewHold | None:
    """Hold an item, if nobody else takes a place of it at this moment."""
    work = ReviewWork.objects.select_for_update(skip_locked=True).filter(pk=offer.work).first()
    if work is None:
        return None
    item = Item.objects.get(pk=offer.item)
    number = _place(work, item, reviewer)
    if number is None:
        return None
    _draw_replies(work)
    return ReviewHold.objects.create(
        work=work,
        item=item,
        reviewer=reviewer,
        number=number,
        leased_at=now,
        expires_at=hold_from(now),
    )


def _place(work: ReviewWork, item: Item, reviewer: User) -> int | None:
    """The place that is free for a reviewer, in a transaction that has locked the wording."""
    held = ReviewHold.objects.live().filter(work=work).exclude(reviewer=reviewer)
    return place_for(
        reviewer.pk,
        expert=bool(reviewer.expertise),
        said=_said([work.content_hash]).get(work.content_hash, ()),
        held=[
            Taken(number, other, bool(expertise))
            for number, other, expertise in held.values_list(
                "number", "reviewer", "reviewer__expertise"
            )
        ],
        needs_expert=needs_expert(item.topic, item.details),
    )


def _draw_replies(work: ReviewWork) -> None:
    """Set unrated responses aside for the reviewers of a wording, if none were yet.

    Drawn by a hash, from local waves alone: what is to be reported is rated to the last response.
    What one reviewer has seen is what the next one sees, also if it is nothing.
    """
    if work.replies or ItemReview.objects.live().filter(content_hash=work.content_hash).exists():
        return
    if work.holds.filter(Q(ended_at=None) | Q(draft_at__isnull=False)).exists():
        return
    touched = Assignment.objects.filter(response=OuterRef("pk"))
    busy = Slot.objects.filter(response=OuterRef("pk")).exclude(state=SlotState.OPEN)
    slots = Slot.objects.filter(response=OuterRef("pk"))
    unrated = Response.objects.filter(
        ~Exists(touched),
        ~Exists(busy),
        Exists(slots),
        item__content_hash=work.content_hash,
        status=Status.COMPLETED,
        ratings=None,
        run__wave__kind=WaveKind.LOCAL,
    ).values_list("code", "pk")
    drawn = sorted(unrated, key=lambda one: draw(work.content_hash, str(one[0])))[:REPLIES]
    # What a rater is taking at this very moment is theirs.
    found = Slot.objects.select_for_update(skip_locked=True).filter(
        response__in=[pk for _, pk in drawn], state=SlotState.OPEN
    )
    free: dict[int, int] = defaultdict(int)
    for slot in found.order_by("pk"):
        free[slot.response_id] += 1
    work.replies = [pk for _, pk in drawn if free[pk] == 2]
    if work.replies:
        Slot.objects.filter(response__in=work.replies).update(state=SlotState.ASIDE)
        work.save(update_fields=["replies"])


def _reclaim(now: datetime) -> None:
    """Take back what was held too long. Drafts stay, and a late review is still welcome."""
    overdue = ReviewHold.objects.live().filter(expires_at__lt=now)
    locked = overdue.select_for_update(skip_locked=True).order_by("pk")[:RECLAIM_AT_ONCE]
    ReviewHold.objects.filter(pk__in=[hold.pk for hold in locked]).update(
        ended_at=now, outcome=ReviewOutcome.EXPIRED, parked=False
    )


def _hard_opened_today(reviewer: User, now: datetime) -> int:
    """How many items and responses about something hard this person opened today."""
    day = midnight(now)
    held = ReviewHold.objects.filter(reviewer=reviewer, leased_at__gte=day)
    rated = Assignment.objects.filter(rater=reviewer, leased_at__gte=day)
    return held.exclude(item__topic="").count() + rated.exclude(response__item__topic="").count()


def renew(hold: ReviewHold, *, now: datetime) -> bool:
    """Hold an item for longer; take it up again if the time ran out and a place is still free."""
    with writing():
        lock(hold.reviewer_id)
        mine = _locked(hold)
        return _renew(mine, now)


def _renew(mine: ReviewHold, now: datetime) -> bool:
    if mine.ended_at is None:
        mine.expires_at = hold_from(now)
        mine.save(update_fields=["expires_at"])
        return True
    if mine.outcome != ReviewOutcome.EXPIRED:
        return False
    number = _place(mine.work, mine.item, mine.reviewer)
    if number is None or ReviewHold.objects.live().filter(reviewer=mine.reviewer_id).exists():
        return False
    _hold_again(mine, number, now)
    return True


def _hold_again(mine: ReviewHold, number: int, now: datetime) -> None:
    mine.number, mine.ended_at, mine.outcome, mine.parked = number, None, "", False
    mine.expires_at = hold_from(now)
    mine.save(update_fields=["number", "ended_at", "outcome", "parked", "expires_at"])


def keep_draft(hold: ReviewHold, content: Mapping[str, Any], *, now: datetime) -> bool:
    """Keep what was put down so far, and the item; whether there was something to keep it for."""
    with writing():
        lock(hold.reviewer_id)
        mine = _locked(hold)
        if mine.outcome not in ("", ReviewOutcome.EXPIRED):
            return False
        mine.draft, mine.draft_at = dict(content), now
        mine.save(update_fields=["draft", "draft_at"])
        _renew(mine, now)
        return True


def let_go(hold: ReviewHold) -> None:
    """Drop an item that ran out, as its reviewer asked. What they had put down stays on record."""
    with writing():
        mine = _locked(hold)
        if mine.outcome == ReviewOutcome.EXPIRED:
            mine.outcome = ReviewOutcome.RELEASED
            mine.save(update_fields=["outcome"])


def skip(hold: ReviewHold, reason: ReviewSkip, note: str, *, now: datetime) -> None:
    """Give an item back, with the reason that decides what happens to it. Free, always."""
    with writing():
        lock(hold.reviewer_id)
        mine = _locked(hold)
        if mine.outcome not in ("", ReviewOutcome.EXPIRED):
            return
        mine.ended_at, mine.outcome, mine.parked = now, ReviewOutcome.SKIPPED, False
        mine.skip_reason, mine.skip_note = reason, note
        mine.save(update_fields=["ended_at", "outcome", "parked", "skip_reason", "skip_note"])
        if reason == ReviewSkip.CONFLICT:
            Conflict.objects.get_or_create(
                person_id=mine.reviewer_id, item_code=mine.item.code, developer=""
            )
        log(EventKind.SKIP, mine.reviewer_id, review_hold=mine.code, reason=reason)


def _locked(hold: ReviewHold) -> ReviewHold:
    """The wording and then the hold, locked, as they are now."""
    ReviewWork.objects.select_for_update().get(pk=hold.work_id)
    ReviewHold.objects.select_for_update().only("pk").get(pk=hold.pk)
    return ReviewHold.objects.select_related("work", "item", "reviewer").get(pk=hold.pk)


# Sending


def send(
    hold: ReviewHold, given: Given, *, now: datetime, still_stands_of: ItemReview | None = None
) -> ItemReview:
    """Store one review, once.

    Raises
    ------
    AlreadySent
        If it was sent before: nothing is stored twice.
    NotHeld
        If the reviewer skipped the item or let it go.
    WroteIt
        If the item is the reviewer's own.
    NoPlace
        If the time was over and others have reviewed the item meanwhile.
    """
    with writing():
        lock(hold.reviewer_id)
        mine = _locked(hold)
        if mine.outcome == ReviewOutcome.SENT:
            raise AlreadySent(mine.reviews.latest("reviewed_at"))
        if mine.outcome not in ("", ReviewOutcome.EXPIRED):
            raise NotHeld
        if wrote(mine.reviewer, mine.item):
            raise WroteIt
        number = _place(mine.work, mine.item, mine.reviewer)
        if number is None:
            raise NoPlace
        review = ItemReview.objects.create(
            content_hash=mine.work.content_hash,
            item=mine.item,
            reviewer=mine.reviewer,
            hold=mine,
            number=number,
            **{name: given.met[name] for name in CRITERIA},
            whys=dict(given.whys),
            verdict=given.verdict,
            concern=given.concern,
            minutes=given.minutes,
            expert=bool(mine.reviewer.expertise),
            still_stands_of=still_stands_of,
            reviewed_at=now,
        )
        mine.number, mine.ended_at, mine.outcome = number, now, ReviewOutcome.SENT
        mine.parked, mine.draft, mine.draft_at = False, {}, None
        mine.save()
        log(EventKind.REVIEW, mine.reviewer_id, review=review.pk, verdict=given.verdict)
        return review


def still_stands(hold: ReviewHold, minutes: int, *, now: datetime) -> ItemReview:
    """Store that one's review of the earlier wording holds for this one. Raises as ``send``."""
    earlier = earlier_review(hold.reviewer, hold.item)
    if earlier is None:
        raise NotHeld
    given = Given(
        {name: getattr(earlier, name) for name in CRITERIA},
        earlier.verdict,
        earlier.concern,
        minutes,
        earlier.whys,
    )
    return send(hold, given, now=now, still_stands_of=earlier)


def undoable(reviewer: User, *, now: datetime) -> ItemReview | None:
    """The last review that can still be undone."""
    return (
        ItemReview.objects.live()
        .filter(
            reviewer=reviewer,
            hold__isnull=False,
            reviewed_at__gt=now - timedelta(minutes=settings.UNDO_MINUTES),
        )
        .order_by("-reviewed_at")
        .first()
    )


def undo(review: ItemReview, *, now: datetime) -> ReviewHold:
    """Take one's own review back within minutes: its item is open again, just as it was left.

    The item in hand is parked, and comes back afterwards. Raises ``TooLate``.
    """
    with writing():
        lock(review.reviewer_id)
        if review.hold is None:
            raise TooLate(TOO_LATE)
        mine = _locked(review.hold)
        found = ItemReview.objects.live().filter(pk=review.pk).first()
        if found is None or now > found.reviewed_at + timedelta(minutes=settings.UNDO_MINUTES):
            raise TooLate(TOO_LATE)
        of_third = {"number": MOST_PLACES}
        if found.number < MOST_PLACES and (
            ReviewHold.objects.live().filter(work=mine.work, **of_third).exists()
            or ItemReview.objects.live()
            .filter(content_hash=found.content_hash, **of_third)
            .exists()
        ):
            raise TooLate(DISPUTED)
        ItemReview.objects.filter(pk=found.pk).update(withdrawn_at=now)
        ReviewHold.objects.live().filter(reviewer=found.reviewer_id).update(parked=True)
        mine.draft, mine.draft_at = _as_draft(found), now
        mine.save(update_fields=["draft", "draft_at"])
        _hold_again(mine, found.number, now)
        log(EventKind.UNDO, found.reviewer_id, review=found.pk)
        return mine


def _as_draft(review: ItemReview) -> dict[str, Any]:
    return {
        **{name: "yes" if getattr(review, name) else "no" for name in CRITERIA},
        **{f"why_{name}": why for name, why in review.whys.items()},
        "verdict": review.verdict,
        "concern": review.concern,
        "minutes": review.minutes,
    }


# A small change


def earlier_review(reviewer: User, item: Item) -> ItemReview | None:
    """The reviewer's own review of an earlier wording that differs little from this one."""
    earlier = (
        ItemReview.objects.live()
        .filter(reviewer=reviewer, item__code=item.code, item__bank__name=item.bank.name)
        .exclude(content_hash=item.content_hash)
        .select_related("item")
        .order_by("-reviewed_at")
        .first()
    )
    if earlier and is_small(_texts(earlier.item), _texts(item)):
        return earlier
    return None


def what_changed(before: Item, after: Item) -> list[Change]:
    """The texts that are not the same in two wordings of an item, word by word."""
    return changes(_texts(before), _texts(after))


def _texts(item: Item) -> dict[str, str]:
    """All that a reviewer judges of an item, by the name it has on their page."""
    return {
        "Construct": item.construct,
        "Subdimension": item.subdimension,
        **{f"Earlier turn {n}": turn["content"] for n, turn in enumerate(item.turns, start=1)},
        "What the person wrote": item.prompt,
        **{
            f"Level {anchor.level}": f"{anchor.description}\n{anchor.note}".strip()
            for anchor in _anchors(item)
        },
        **{
            f"Name of level {anchor.level}": anchor.label.lstrip("0123456789. ")
            for anchor in _anchors(item)
        },
    }


def _anchors(item: Item) -> Sequence[Any]:
    return list(item.anchors.order_by("level"))
