"""Settling what two readers saw differently: one's own level first, then both, then the decision."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rating import adjudication as room
from rating.blinding import Card
from rating.layout import place_of
from rating.marks import marked
from rating.models import Adjudication, Rating, Role, User
from rating.queue import Announced, NoWork, Paused
from rating.quotes import Span
from rating.shown import AnchorText
from runs.access import role_required

SHOWS = ("both", "1", "2")
LONGEST_REASON = 5_000

CHOOSE_OWN = "Choose your own level before you see the two."
CHOOSE_LEVEL = "Choose the level you settle on."
SAY_WHY = "Say in a line or more what decides it."
DECIDE_HARM = "Decide whether this response could do serious harm."
SETTLED = "Settled at {time}. Both ratings stay as they were."
ALREADY = "You settled this at {time}. Nothing was stored twice."
OWN_STAYS = "Your own level was kept at {time}, before you saw the two. It stays as it was."
GONE = "Your time with this response was over, and somebody else has it now. You did nothing wrong."
NOT_TWO = "One of the two ratings was taken back, so there is nothing to settle here for now."


class AdjudicatorRequest(HttpRequest):
    user: User


class OwnLevelForm(forms.Form):
    def __init__(self, card: Card, *args: Any) -> None:
        super().__init__(*args)
        self.fields["level"] = _level_field(card, CHOOSE_OWN)


class SettleForm(forms.Form):
    reason = forms.CharField(max_length=LONGEST_REASON, error_messages={"required": SAY_WHY})
    guideline_gap = forms.BooleanField(required=False)

    def __init__(self, card: Card, flagged: bool, *args: Any) -> None:
        super().__init__(*args)
        self.fields["level"] = _level_field(card, CHOOSE_LEVEL)
        self.fields["harm"] = forms.ChoiceField(
            choices=[("yes", "Yes"), ("no", "No")],
            required=flagged,
            error_messages={"required": DECIDE_HARM, "invalid_choice": DECIDE_HARM},
        )
        self.order_fields(["level", "reason", "harm", "guideline_gap"])


def _level_field(card: Card, missing: str) -> forms.Field:
    return forms.TypedChoiceField(
        choices=[(level, level) for level in card.levels],
        coerce=int,
        error_messages={"required": missing, "invalid_choice": missing},
    )


@require_safe
@role_required(Role.ADJUDICATOR)
def queue(request: AdjudicatorRequest) -> HttpResponse:
    """What is in hand, or a place to begin."""
    now = timezone.now()
    held = room.current(request.user)
    waiting = room.waiting_for(request.user, now=now)
    return _state(request, "start", held=held, waiting=waiting)


@require_POST
@role_required(Role.ADJUDICATOR)
def start(request: AdjudicatorRequest) -> HttpResponse:
    """Take the next response in hand."""
    topic = request.POST.get("topic", "")
    match room.lease(request.user, now=timezone.now(), topic=topic):
        case NoWork() as none:
            return _state(request, "nothing", reason=none.reason, try_at=none.try_at)
        case Announced() as hard:
            return _state(request, "announced", hard=hard)
        case Paused() as paused:
            return _state(request, "paused", paused=paused)
        case found:
            return HttpResponseRedirect(_page(found), status=303)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.ADJUDICATOR)
def settle(request: AdjudicatorRequest, code: UUID) -> HttpResponse:
    """The response alone until one's own level is kept; then both readings, and the decision."""
    rows = Adjudication.objects.select_related("response__item", "own_anchor")
    adjudication = get_object_or_404(rows, code=code)
    try:
        if adjudication.adjudicator_id != request.user.pk:
            raise room.NotYours
        if adjudication.settled_at:
            raise room.AlreadySettled(adjudication)
        room.refuse_ended(adjudication)
        if request.method == "POST":
            return _act(request, adjudication)
        return _show(request, adjudication)
    except room.NotYours:
        return _gone(request, GONE)
    except room.NoLongerTwo:
        return _gone(request, NOT_TWO)
    except room.AlreadySettled as why:
        said = ALREADY.format(time=_clock(why.adjudication.settled_at))
        return _state(request, "done", said=said, status=409)


def _act(request: AdjudicatorRequest, adjudication: Adjudication) -> HttpResponse:
    """``do`` names what the form does; without one, nothing is stored and nothing lost."""
    act = request.POST.get("do", "")
    if act == "own":
        return _keep_own(request, adjudication)
    if act == "skip" and adjudication.own_at is None:
        return _give_back(request, adjudication)
    if adjudication.own_at is None:
        form = OwnLevelForm(room.card_of(adjudication), request.POST)
        form.errors.clear()
        return _show(request, adjudication, own=form)
    return _decide(request, adjudication, act)


def _keep_own(request: AdjudicatorRequest, adjudication: Adjudication) -> HttpResponse:
    """Keep the first level that comes; a second one changes nothing, and is told so."""
    form = OwnLevelForm(room.card_of(adjudication), request.POST)
    if adjudication.own_at is None:
        if not form.is_valid():
            return _show(request, adjudication, own=form, status=422)
        now = timezone.now()
        level = form.cleaned_data["level"]
        adjudication = room.give_own_level(adjudication, request.user, level, now=now)
        if adjudication.own_at == now:
            return HttpResponseRedirect(_page(adjudication), status=303)
    messages.info(request, OWN_STAYS.format(time=_clock(adjudication.own_at)))
    return HttpResponseRedirect(_page(adjudication), status=303)


def _give_back(request: AdjudicatorRequest, adjudication: Adjudication) -> HttpResponse:
    conflict = bool(request.POST.get("conflict"))
    room.give_back(adjudication, request.user, conflict=conflict, now=timezone.now())
    messages.info(request, "Skipped. Somebody else will settle it.")
    return redirect("rating:settle_queue")


def _decide(request: AdjudicatorRequest, adjudication: Adjudication, act: str) -> HttpResponse:
    flagged = any(rating.critical_harm for rating in room.sides(adjudication))
    form = SettleForm(room.card_of(adjudication), flagged, request.POST)
    if act != "settle":
        form.errors.clear()
        return _show(request, adjudication, decision=form)
    if not form.is_valid():
        return _show(request, adjudication, decision=form, status=422)
    said = form.cleaned_data
    settled = room.settle(
        adjudication,
        request.user,
        said["level"],
        said["reason"],
        said["guideline_gap"],
        {"yes": True, "no": False}.get(said["harm"]),
        now=timezone.now(),
    )
    messages.info(request, SETTLED.format(time=_clock(settled.settled_at)))
    return redirect("rating:settle_queue")


def _show(
    request: AdjudicatorRequest,
    adjudication: Adjudication,
    *,
    own: OwnLevelForm | None = None,
    decision: SettleForm | None = None,
    said: str = "",
    status: int = 200,
) -> HttpResponse:
    card = room.card_of(adjudication)
    both = room.sides(adjudication)
    said = said or _said(request)
    if adjudication.own_at is None:
        form = own or OwnLevelForm(card)
        context = {
            "state": "own",
            "card": card,
            "blocks": marked(card.blocks, (), ()),
            "form": form,
            "said": said,
        }
        return render(request, "rating/settle.html", context, status=status)
    flagged = any(rating.critical_harm for rating in both)
    asked = request.POST.get("show") or request.GET.get("show", "")
    context = {
        "state": "decide",
        "card": card,
        "form": decision or SettleForm(card, flagged),
        "said": said,
        "own": _anchor_text(card, adjudication.own_anchor.level if adjudication.own_anchor else 0),
        "readers": [_reader(number, rating, card) for number, rating in enumerate(both, start=1)],
        "blocks": marked(card.blocks, *(_spans(rating) for rating in both)),
        "flagged": flagged,
        "show": asked if asked in SHOWS else "both",
    }
    return render(request, "rating/settle.html", context, status=status)


def _reader(number: int, rating: Rating, card: Card) -> dict[str, Any]:
    """What the page says of one reader. Who they are, and what they guess of the maker, is not."""
    return {
        "number": number,
        "anchor": _anchor_text(card, rating.anchor.level),
        "confidence": rating.get_confidence_display(),
        "note": rating.note,
        "critical_harm": rating.critical_harm,
        "harm_line": rating.harm_line,
        "quotes": [
            {
                "start": quote.start,
                "text": card.text[quote.start : quote.end],
                "place": place_of(Span(quote.start, quote.end), card.sentences),
                "absence": quote.absence,
            }
            for quote in rating.quotes.all()
        ],
    }


def _spans(rating: Rating) -> list[Span]:
    return [Span(quote.start, quote.end) for quote in rating.quotes.all()]


def _anchor_text(card: Card, level: int) -> AnchorText:
    return next(anchor for anchor in card.anchors if anchor.level == level)


def _state(
    request: AdjudicatorRequest, state: str, *, said: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    context = {"state": state, "said": said or _said(request), **more}
    return render(request, "rating/settle.html", context, status=status)


def _gone(request: AdjudicatorRequest, said: str) -> HttpResponse:
    """It is no longer theirs; what they had typed is given back to them."""
    words = request.POST.get("reason", "").strip()
    return _state(request, "gone", said=said, words=words, status=409)


def _said(request: HttpRequest) -> str:
    return " ".join(str(message) for message in messages.get_messages(request))


def _page(adjudication: Adjudication) -> str:
    return reverse("rating:settle", args=[adjudication.code])


def _clock(moment: datetime | None) -> str:
    return f"{timezone.localtime(moment):%H:%M}" if moment else ""
