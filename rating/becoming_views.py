"""Becoming a rater and staying one: practice, the qualification, and one's own standing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from rating import seeding
from rating.blinding import Card
from rating.layout import place_of
from rating.marks import MarkedBlock, marked
from rating.models import Assignment, Kind, Qualification, Rating, Role, Seed, Use, User
from rating.queue import NoWork
from rating.quotes import Span
from rating.shown import AnchorText
from rating.standing import BLOCK, qualified_for, standing_of
from runs.access import role_required
from runs.models import Instrument

# From one level to the next in a picture, which is as high.
STEP = 24


class RaterRequest(HttpRequest):
    user: User


@dataclass(frozen=True)
class Course:
    """What somebody has done, and can do, to rate with one instrument."""

    code: str
    name: str
    practice: int
    practised: int
    in_hand: bool
    rule: seeding.Rule
    attempt: Qualification | None
    again_at: datetime | None
    rated: int
    agreed: int

    @property
    def enough(self) -> bool:
        return self.agreed >= self.rule.items


@dataclass(frozen=True)
class Compared:
    """One response as somebody rated it, beside what was agreed, with the words of both."""

    code: UUID
    card: Card
    own: AnchorText
    agreed: AnchorText
    reasons: str
    quotes: tuple["Quoted", ...]
    blocks: tuple[MarkedBlock, ...]

    @property
    def away(self) -> int:
        return abs(self.own.level - self.agreed.level)

    @property
    def dots(self) -> dict[str, int]:
        """Where the dots of both levels stand on a rail, in units of the picture."""
        first, last = self.card.levels[0], self.card.levels[-1]
        return {
            "width": (last - first + 1) * STEP,
            "start": STEP // 2,
            "end": (last - first) * STEP + STEP // 2,
            "own": (self.own.level - first) * STEP + STEP // 2,
            "agreed": (self.agreed.level - first) * STEP + STEP // 2,
        }


@dataclass(frozen=True)
class Quoted:
    start: int
    text: str
    place: str
    absence: bool


@require_safe
@role_required(Role.RATER)
def practice(request: RaterRequest) -> HttpResponse:
    """Practice and qualification, one instrument after the other."""
    return render(request, "rating/practice.html", {"courses": courses_of(request.user)})


@require_POST
@role_required(Role.RATER)
def practice_next(request: RaterRequest) -> HttpResponse:
    """Open the next practice response in the rating room."""
    found = seeding.next_practice(request.user, _instrument(request), now=timezone.now())
    return _to_the_room(request, found)


@require_POST
@role_required(Role.RATER)
def qualify_next(request: RaterRequest) -> HttpResponse:
    """Open the next response of the qualification in the rating room."""
    found = seeding.next_qualifying(request.user, _instrument(request), now=timezone.now())
    return _to_the_room(request, found)


@require_safe
@role_required(Role.RATER)
def practised(request: RaterRequest, code: UUID) -> HttpResponse:
    """What was chosen, what was agreed, and why."""
    rating = get_object_or_404(
        _own(request.user).filter(kind=Kind.PRACTICE).select_related("assignment"),
        assignment__code=code,
    )
    instrument = Instrument(rating.response.item.bank.instrument)
    seeds = seeding.practice_of(request.user, instrument)
    often = seeding.practised(request.user, instrument)
    context = {
        "one": compared(rating),
        "instrument": instrument,
        "done": sum(1 for seed in seeds if often.get(seed.response_id)),
        "of": len(seeds),
        "again": bool(seeds) and all(often.get(seed.response_id) for seed in seeds),
    }
    return render(request, "rating/practised.html", context)


@require_safe
@role_required(Role.RATER)
def qualification(request: RaterRequest, pk: int) -> HttpResponse:
    """The rule, the counts, and each response with the agreed reasons."""
    decided = get_object_or_404(Qualification, pk=pk, rater=request.user)
    ratings = seeding.attempt_ratings(request.user, decided.instrument, until=decided.decided_at)
    mine = _own(request.user).filter(pk__in=ratings.values("pk")).order_by("rated_at", "pk")
    context = {
        "decided": decided,
        "again_at": None if decided.passed else seeding.again_at(decided),
        "all": [compared(rating) for rating in mine],
    }
    return render(request, "rating/qualification.html", context)


@require_safe
@role_required(Role.RATER)
def standing(request: RaterRequest) -> HttpResponse:
    """A rater's own figures, and nobody else's."""
    context = {
        "standing": standing_of(request.user, now=timezone.now()),
        "tens": BLOCK,
        "qualified": qualified_for(request.user),
        "misses": settings.SEED_MISSES,
        "checked": settings.SEED_PERCENT > 0,
    }
    return render(request, "rating/standing.html", context)


def courses_of(rater: User) -> list[Course]:
    """One for each instrument that has agreed responses to learn from."""
    known = set(
        Seed.objects.filter(retired_at=None, use__in=(Use.PRACTICE, Use.QUALIFICATION))
        .values_list("response__item__bank__instrument", flat=True)
        .distinct()
    )
    return [_course(rater, instrument) for instrument in Instrument if instrument in known]


def _course(rater: User, instrument: Instrument) -> Course:
    seeds = seeding.practice_of(rater, instrument)
    often = seeding.practised(rater, instrument)
    attempt = seeding.last_attempt(rater, instrument)
    again = seeding.again_at(attempt) if attempt and not attempt.passed else None
    return Course(
        code=instrument.value,
        name=instrument.label,
        practice=len(seeds),
        practised=sum(1 for seed in seeds if often.get(seed.response_id)),
        in_hand=Assignment.objects.live().filter(rater=rater, kind=Kind.QUALIFYING).exists(),
        rule=seeding.Rule.declared(),
        attempt=attempt,
        again_at=again if again and again > timezone.now() else None,
        rated=seeding.attempt_ratings(rater, instrument).count(),
        agreed=seeding.qualifying_of(rater, instrument).count(),
    )


def compared(rating: Rating) -> Compared:
    """A rating of an agreed response beside what was agreed: own words are 1, the panel's 2."""
    assert rating.assignment is not None
    seed = rating.response.agreed
    card = Card.of(rating.assignment)
    anchors = {anchor.level: anchor for anchor in card.anchors}
    own = [Span(quote.start, quote.end) for quote in rating.quotes.all()]
    theirs = [Span(start, end) for start, end, _ in seed.quotes]
    return Compared(
        code=card.code,
        card=card,
        own=anchors[rating.anchor.level],
        agreed=anchors[seed.anchor.level],
        reasons=seed.reasons,
        quotes=tuple(
            Quoted(
                start,
                card.text[start:end],
                place_of(Span(start, end), card.sentences),
                absence,
            )
            for start, end, absence in seed.quotes
        ),
        blocks=marked(card.blocks, own, theirs),
    )


def _own(rater: User) -> Any:
    return (
        Rating.objects.standing()
        .filter(rater=rater, response__agreed__isnull=False)
        .select_related(
            "anchor",
            "response__item__bank",
            "response__agreed__anchor",
            "assignment__response__item",
        )
        .prefetch_related("quotes", "assignment__response__item__anchors")
    )


def _instrument(request: RaterRequest) -> str:
    asked = request.POST.get("instrument", "")
    if asked not in Instrument.values:
        raise Http404
    return asked


def _to_the_room(request: RaterRequest, found: Assignment | NoWork) -> HttpResponse:
    if isinstance(found, NoWork):
        messages.info(request, found.reason)
        return redirect("rating:practice")
    return redirect("rating:queue")
