"""Agreed responses: where they come from, and the cards on which people learn and show their eye.

A maintainer nominates responses of a wave: they are set aside, so that they are never counted. Two
seniors rate each of them blind, in the rating room like any other. Then an adjudicator who did not
vote sees both votes and settles what was agreed: the level, the reasons, and what it is for. A
senior is a rater whom a maintainer has asked to vote; an adjudicator settles, and votes only if
they are a senior too, and then settles others.

Nobody is given an agreed response that they voted on, settled or looked at.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from rating import queue
from rating.dealing import seeds_needed
from rating.models import (
    Assignment,
    EventKind,
    Kind,
    Norming,
    Outcome,
    Qualification,
    Rating,
    Role,
    Seed,
    Slot,
    SlotState,
    Use,
    User,
)
from rating.queue import Elsewhere, Found, NoWork, writing
from runs.canonical import draw
from runs.models import Anchor, Instrument, Status, Wave

VOTES = 2
# At this rate the pool is told of where no rate is declared yet.
USUAL_PERCENT = 10


class NotSettled(ValueError):
    """Why nothing could be agreed, with the sentence to show."""


# The norming round


def nominate(wave: Wave, number: int, by: User, *, now: datetime) -> int:
    """Set so many untouched responses of a wave aside to be agreed on; return how many there were.

    Drawn from the wave's seed, one of each item before a second of any. Hard topics stay out.
    """
    with writing():
        touched = Assignment.objects.filter(response=OuterRef("response"))
        rows = Slot.objects.filter(
            ~Exists(touched),
            wave=wave,
            topic="",
            state=SlotState.OPEN,
            response__status=Status.COMPLETED,
            response__norming=None,
        ).values_list("response_id", "response__code", "item_id")
        open_slots: dict[tuple[int, str, int], int] = defaultdict(int)
        for response, code, item in rows:
            open_slots[response, str(code), item] += 1
        whole = sorted(
            (draw(wave.seed, f"agree {code}"), response, item)
            for (response, code, item), n in open_slots.items()
            if n == 2
        )
        turn: dict[int, int] = defaultdict(int)
        for item, n in (
            Norming.objects.filter(response__run__wave=wave)
            .values_list("response__item")
            .annotate(Count("pk"))
        ):
            turn[item] = n
        ordered = []
        for drawn, response, item in whole:
            ordered.append((turn[item], drawn, response))
            turn[item] += 1
        chosen = [response for *_, response in sorted(ordered)[:number]]
        locked = Slot.objects.select_for_update().filter(response__in=chosen).order_by("pk")
        busy = {slot.response_id for slot in locked if slot.state != SlotState.OPEN}
        chosen = [response for response in chosen if response not in busy]
        Slot.objects.filter(response__in=chosen).update(state=SlotState.ASIDE)
        Norming.objects.bulk_create(
            Norming(response_id=response, nominated_by=by, nominated_at=now) for response in chosen
        )
        queue.log(EventKind.NOMINATE, by.pk, wave=wave.code, responses=len(chosen))
        return len(chosen)


def voting() -> QuerySet[Norming]:
    """What waits for a vote."""
    return Norming.objects.filter(left_out_at=None, response__agreed=None)


def next_vote(senior: User, *, now: datetime) -> Found:
    """The next card a senior votes on: one with a vote already comes first."""
    with writing():
        queue.lock(senior.pk)
        return _next_vote(senior, now)


def _next_vote(senior: User, now: datetime) -> Found:
    if held := _held(senior, Kind.NORMING):
        return held
    given = Q(response__assignments__outcome=Outcome.RATED) | Q(
        response__assignments__ended_at=None
    )
    waiting = (
        _fit_for(voting(), senior)
        .annotate(
            votes=Count(
                "response__assignments",
                filter=given & Q(response__assignments__kind=Kind.NORMING),
            )
        )
        .filter(votes__lt=VOTES)
        .order_by("-votes", "pk")
        .values_list("pk", flat=True)
    )
    for pk in waiting[:20]:
        found = (
            Norming.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("response__item")
            .filter(pk=pk)
            .first()
        )
        if found and _votes_under_way(found) < VOTES:
            return queue.hand(senior, found.response, Kind.NORMING, now=now)
    return NoWork("There is nothing for you to vote on right now.")


def _fit_for(rows: QuerySet[Norming], person: User) -> QuerySet[Norming]:
    """Those a person may read: in their languages, of no other interest, and not had before."""
    fit = queue.may_have(person).filter(language__in=person.languages)
    return rows.filter(~Exists(queue.had(person)), response__in=fit.values("response"))


def _votes_under_way(norming: Norming) -> int:
    return (
        Assignment.objects.filter(response=norming.response_id, kind=Kind.NORMING)
        .filter(Q(outcome=Outcome.RATED) | Q(ended_at=None))
        .count()
    )


def votes_on(response: int) -> list[Rating]:
    """The two blind votes, the first one given first."""
    return list(
        Rating.objects.standing()
        .filter(response=response, kind=Kind.NORMING)
        .select_related("anchor")
        .prefetch_related("quotes")
        .order_by("rated_at", "pk")[:VOTES]
    )


def may_settle(norming: Norming, person: User) -> bool:
    """Whether both votes are in, and none of them is theirs."""
    voters = [rating.rater_id for rating in votes_on(norming.response_id)]
    return (
        len(voters) == VOTES
        and person.pk not in voters
        and norming.left_out_at is None
        and not Assignment.objects.filter(
            response=norming.response_id, rater=person, kind=Kind.NORMING, outcome=Outcome.RATED
        ).exists()
    )


def look(norming: Norming, person: User, *, now: datetime) -> None:
    """Keep that somebody has seen the votes: it stands as a card of theirs that they gave back."""
    with writing():
        queue.lock(person.pk)
        seen = Assignment.objects.filter(rater=person, response=norming.response_id)
        if not seen.exists():
            Assignment.objects.create(
                kind=Kind.NORMING,
                response_id=norming.response_id,
                rater=person,
                leased_at=now,
                expires_at=now,
                ended_at=now,
                outcome=Outcome.RELEASED,
            )
            queue.log(EventKind.LOOK, person.pk, norming=norming.code)


def settle(
    norming: Norming,
    by: User,
    *,
    level: int,
    tolerance: int,
    reasons: str,
    quotes: Sequence[tuple[int, int, bool]],
    use: str,
    now: datetime,
) -> Seed:
    """Keep what was agreed. Raises ``NotSettled``."""
    with writing():
        found = Norming.objects.select_for_update().get(pk=norming.pk)
        if Seed.objects.filter(response=found.response_id).exists():
            raise NotSettled("Somebody has settled this one meanwhile.")
        # Whoever takes a vote back locks it, too: before this step or after it, never between.
        votes = Rating.objects.standing().filter(response=found.response_id, kind=Kind.NORMING)
        list(votes.select_for_update().order_by("pk").values_list("pk"))
        if not may_settle(found, by):
            raise NotSettled("It takes two votes, and somebody who gave neither.")
        anchor = Anchor.objects.filter(item__response=found.response_id, level=level).first()
        if anchor is None:
            raise NotSettled(f"Level {level} is no level of this response.")
        if not quotes:
            raise NotSettled("Choose at least one of the quotes.")
        seed = Seed.objects.create(
            response_id=found.response_id,
            anchor=anchor,
            tolerance=tolerance,
            reasons=reasons,
            quotes=sorted([start, end, absence] for start, end, absence in quotes),
            use=use,
            settled_by=by,
            agreed_at=now,
        )
        queue.log(EventKind.AGREE, by.pk, norming=found.code, use=use)
        return seed


def leave_out(norming: Norming, by: User, *, now: datetime) -> None:
    """Agree on nothing here. The response stays set aside."""
    with writing():
        if voting().filter(pk=norming.pk).update(left_out_at=now):
            queue.log(EventKind.AGREE, by.pk, norming=norming.code, use="left out")


def retire(seed: Seed, by: User, *, now: datetime) -> None:
    """Give it to nobody from now on. What was rated against it stays."""
    with writing():
        if Seed.objects.filter(pk=seed.pk, retired_at=None).update(retired_at=now):
            queue.log(EventKind.AGREE, by.pk, seed=seed.pk, use="retired")


# Practice


def practice_of(rater: User, instrument: str) -> list[Seed]:
    """The practice responses of a rater, always the same ones in the same order."""
    return list(_for_learning(rater, instrument, Use.PRACTICE)[: settings.PRACTICE_ITEMS])


def qualifying_of(rater: User, instrument: str) -> QuerySet[Seed]:
    """What a rater's attempt can be made of."""
    return _for_learning(rater, instrument, Use.QUALIFICATION)


def _for_learning(rater: User, instrument: str, use: Use) -> QuerySet[Seed]:
    voted = Assignment.objects.filter(rater=rater, response=OuterRef("response"), kind=Kind.NORMING)
    return (
        Seed.objects.standing(use)
        .of_instrument(instrument)
        .filter(~Exists(voted), response__item__language__in=rater.languages)
        .exclude(settled_by=rater)
        .select_related("response__item", "anchor")
        .order_by("agreed_at", "pk")
    )


def practised(rater: User, instrument: str) -> dict[int, int]:
    """How often the rater has practised on each response."""
    return dict(
        Rating.objects.standing()
        .filter(rater=rater, kind=Kind.PRACTICE, response__item__bank__instrument=instrument)
        .order_by()
        .values_list("response")
        .annotate(Count("pk"))
    )


def next_practice(rater: User, instrument: str, *, now: datetime) -> Assignment | NoWork:
    """The practice response that the rater has had least often."""
    with writing():
        queue.lock(rater.pk)
        if held := _held(rater, Kind.PRACTICE, instrument):
            return held
        seeds, often = practice_of(rater, instrument), practised(rater, instrument)
        if not seeds:
            return NoWork("There are no practice responses yet.")
        seed = min(seeds, key=lambda seed: often.get(seed.response_id, 0))
        return queue.hand(rater, seed.response, Kind.PRACTICE, now=now)


# Qualification


@dataclass(frozen=True)
class Rule:
    """What is asked, as declared before anybody tries."""

    items: int
    within_one: int
    exact: int
    again_days: int

    @classmethod
    def declared(cls) -> "Rule":
        return cls(
            settings.QUALIFY_ITEMS,
            settings.QUALIFY_WITHIN_ONE,
            settings.QUALIFY_EXACT,
            settings.QUALIFY_AGAIN_DAYS,
        )


@dataclass(frozen=True)
class Counts:
    items: int
    within_one: int
    exact: int

    def meet(self, rule: Rule) -> bool:
        return self.within_one >= rule.within_one and self.exact >= rule.exact


def counts_of(pairs: Sequence[tuple[int, int]]) -> Counts:
    """How many own levels are within one of the agreed ones, and how many the same."""
    away = [abs(own - agreed) for own, agreed in pairs]
    return Counts(len(away), sum(one <= 1 for one in away), away.count(0))


def last_attempt(rater: User, instrument: str) -> Qualification | None:
    return (
        Qualification.objects.filter(rater=rater, instrument=instrument)
        .order_by("-passed", "-decided_at")
        .first()
    )


def again_at(attempt: Qualification) -> datetime:
    return attempt.decided_at + timedelta(days=settings.QUALIFY_AGAIN_DAYS)


def attempt_ratings(
    rater: User, instrument: str, *, until: datetime | None = None
) -> QuerySet[Rating]:
    """The ratings of the attempt under way, or of the one that was decided ``until``."""
    decided = Qualification.objects.filter(rater=rater, instrument=instrument)
    if until:
        decided = decided.filter(decided_at__lt=until)
    since = decided.aggregate(last=Max("decided_at"))["last"]
    rows = Rating.objects.standing().filter(
        rater=rater, kind=Kind.QUALIFYING, response__item__bank__instrument=instrument
    )
    if since:
        rows = rows.filter(rated_at__gt=since)
    return rows.filter(rated_at__lte=until) if until else rows


def next_qualifying(rater: User, instrument: str, *, now: datetime) -> Assignment | NoWork:
    """The next card of an attempt, or why there is none."""
    with writing():
        queue.lock(rater.pk)
        return _next_qualifying(rater, instrument, now)


def _next_qualifying(rater: User, instrument: str, now: datetime) -> Assignment | NoWork:
    if held := _held(rater, Kind.QUALIFYING, instrument):
        return held
    attempt = last_attempt(rater, instrument)
    if attempt and attempt.passed:
        return NoWork("You are qualified already.")
    if attempt and now < again_at(attempt):
        return NoWork("You can try again later.", again_at(attempt))
    rated = set(attempt_ratings(rater, instrument).values_list("response", flat=True))
    seeds = list(qualifying_of(rater, instrument))
    if len(seeds) < settings.QUALIFY_ITEMS:
        return NoWork(
            f"There are not enough agreed responses yet: {len(seeds)} of the "
            f"{settings.QUALIFY_ITEMS} that the rule asks for."
        )
    had: dict[int, int] = dict(
        Assignment.objects.filter(rater=rater, kind=Kind.QUALIFYING)
        .order_by()
        .values_list("response")
        .annotate(Count("pk"))
    )
    seed = min(
        (seed for seed in seeds if seed.response_id not in rated),
        key=lambda s: (
            had.get(s.response_id, 0),
            draw(rater.pseudonym, str(s.response.code)),
        ),
    )
    return queue.hand(rater, seed.response, Kind.QUALIFYING, now=now)


def decide(rater: User, instrument: str, *, now: datetime) -> Qualification | None:
    """Hold an attempt to the rule, once all its responses are rated."""
    ratings = attempt_ratings(rater, instrument)
    pairs = list(ratings.values_list("anchor__level", "response__agreed__anchor__level"))
    rule = Rule.declared()
    if len(pairs) < rule.items:
        return None
    counts = counts_of(pairs)
    earlier = (
        Rating.objects.standing()
        .filter(rater=rater, kind=Kind.QUALIFYING, response__in=ratings.values("response"))
        .exclude(pk__in=ratings.values("pk"))
    )
    decided = Qualification.objects.create(
        rater=rater,
        instrument=instrument,
        items=counts.items,
        within_one=counts.within_one,
        exact=counts.exact,
        need_within_one=rule.within_one,
        need_exact=rule.exact,
        seen_before=earlier.values("response").distinct().count(),
        passed=counts.meet(rule),
        decided_at=now,
    )
    queue.log(EventKind.QUALIFY, rater.pk, instrument=instrument, passed=decided.passed)
    return decided


def _held(rater: User, kind: Kind, instrument: str = "") -> Assignment | None:
    """A card of this kind that is still in hand, taken up again if it was parked."""
    mine = Assignment.objects.live().filter(rater=rater)
    found = mine.filter(kind=kind).select_related("response__item")
    if instrument:
        found = found.filter(response__item__bank__instrument=instrument)
    held = found.first()
    if held and held.parked:
        mine.exclude(pk=held.pk).update(parked=True)
        held.parked = False
        held.save(update_fields=["parked"])
    return held


# What comes after each card


def _after_practice(rating: Rating, now: datetime) -> Found:
    assert rating.assignment is not None
    return Elsewhere("rating:practised", str(rating.assignment.code))


def _after_qualifying(rating: Rating, now: datetime) -> Found:
    instrument = rating.response.item.bank.instrument
    if decided := decide(rating.rater, instrument, now=now):
        return Elsewhere("rating:qualification", str(decided.pk))
    found = _next_qualifying(rating.rater, instrument, now)
    return found if isinstance(found, Assignment) else Elsewhere("rating:practice")


def _after_vote(rating: Rating, now: datetime) -> Found:
    found = _next_vote(rating.rater, now)
    return found if isinstance(found, Assignment) else Elsewhere("rating:vote")


queue.after.update(
    {
        Kind.PRACTICE.value: _after_practice,
        Kind.QUALIFYING.value: _after_qualifying,
        Kind.NORMING.value: _after_vote,
    }
)


# The pool


@dataclass(frozen=True)
class Pool:
    """How many agreed responses an instrument has, and whether they suffice."""

    instrument: str
    label: str
    practice: int
    qualification: int
    live: int
    percent: int
    raters: int
    ratings_each: int
    needed: int
    without: int

    @property
    def enough(self) -> bool:
        return self.live >= self.needed

    @property
    def in_words(self) -> str:
        """One line for a page or a terminal."""
        if not self.percent:
            return f"{self.label}: {self.live} live, none needed, since the declared rate is 0%."
        verdict = "enough" if self.enough else "too few"
        return (
            f"{self.label}: {self.live} live, {self.needed} needed at {self.percent}% "
            f"for {self.raters} raters of {self.ratings_each} responses each: {verdict}."
        )


def pools() -> list[Pool]:
    """Of each instrument that responses are rated with."""
    raters = User.objects.filter(groups__name=Role.RATER, is_active=True)
    n = raters.count()
    percent = settings.SEED_PERCENT
    have: dict[tuple[str, str], int] = {
        (instrument, use): count
        for instrument, use, count in Seed.objects.filter(retired_at=None)
        .order_by()
        .values_list("response__item__bank__instrument", "use")
        .annotate(Count("pk"))
    }
    work: dict[str, int] = dict(
        Slot.objects.exclude(state=SlotState.ASIDE)
        .order_by()
        .values_list("wave__bank__instrument")
        .annotate(Count("pk"))
    )
    found = []
    for instrument in Instrument:
        slots = work.get(instrument, 0)
        if not slots and not any(one == instrument for one, _ in have):
            continue
        # Of all cards, this share is left for what is counted.
        each = -(-slots * 100 // (max(1, n) * (100 - percent))) if percent < 100 else slots
        live = have.get((instrument, Use.LIVE), 0)
        found.append(
            Pool(
                instrument=instrument,
                label=instrument.label,
                practice=have.get((instrument, Use.PRACTICE), 0),
                qualification=have.get((instrument, Use.QUALIFICATION), 0),
                live=live,
                percent=percent,
                raters=n,
                ratings_each=each,
                needed=seeds_needed(n, each, percent / 100),
                without=_without(raters, instrument, live) if percent else 0,
            )
        )
    return found


def _without(raters: QuerySet[User], instrument: str, live: int) -> int:
    """How many raters have had all live ones."""
    had = (
        Assignment.objects.filter(
            kind=Kind.SEED,
            response__agreed__retired_at=None,
            response__agreed__use=Use.LIVE,
            response__item__bank__instrument=instrument,
        )
        .order_by()
        .values("rater")
        .annotate(n=Count("response", distinct=True))
        .filter(n__gte=live)
    )
    return raters.count() if not live else raters.filter(pk__in=had.values("rater")).count()


@dataclass(frozen=True)
class NormingLine:
    """How far one nominated response is. Nothing of what it says, or of who wrote it."""

    norming: Norming
    votes: int
    seed: Seed | None
    settle: bool


def norming_lines(person: User) -> list[NormingLine]:
    """All nominated responses, what waits for this person first."""
    rows = Norming.objects.select_related("response__agreed__anchor", "response__run__wave").only(
        "code",
        "nominated_at",
        "left_out_at",
        "nominated_by",
        "response__code",
        "response__item",
        "response__run__wave__code",
        "response__run__wave__title",
        "response__agreed__anchor__level",
        "response__agreed__use",
        "response__agreed__retired_at",
        "response__agreed__agreed_at",
        "response__agreed__tolerance",
        "response__agreed__response",
    )
    votes: dict[int, set[int]] = defaultdict(set)
    for response, rater in (
        Rating.objects.standing().filter(kind=Kind.NORMING).values_list("response", "rater")
    ):
        votes[response].add(rater)
    settles = Role.ADJUDICATOR in person.roles
    lines = []
    for norming in rows.order_by(F("left_out_at").asc(nulls_first=True), "pk"):
        given = votes[norming.response_id]
        seed = getattr(norming.response, "agreed", None)
        lines.append(
            NormingLine(
                norming,
                min(VOTES, len(given)),
                seed,
                settles
                and seed is None
                and norming.left_out_at is None
                and len(given) >= VOTES
                and person.pk not in given,
            )
        )
    return sorted(lines, key=lambda line: (not line.settle, line.seed is not None))


def waiting_votes(senior: User) -> int:
    """How many responses a senior could vote on now."""
    return (
        _fit_for(voting(), senior)
        .annotate(
            votes=Count(
                "response__assignments",
                filter=Q(response__assignments__kind=Kind.NORMING)
                & Q(response__assignments__outcome=Outcome.RATED),
            )
        )
        .filter(votes__lt=VOTES)
        .count()
    )
