"""Reviewing items: one after the other, blind to who wrote them and to what others said."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rating import reviews as room
from rating.forms import SEALED
from rating.models import CRITERIA, ItemReview, ReviewHold, ReviewOutcome, ReviewSkip, Role, User
from rating.queue import Announced, NoWork, Paused, TooLate
from rating.review_agreement import agreement, overview
from rating.review_card import ReviewCard
from rating.review_forms import FEW_MINUTES, MOST_MINUTES, ReviewForm, SkipForm, draft_of
from runs.access import role_required

REVIEWERS = (Role.ITEM_REVIEWER, Role.ADMIN)

SENT = "Review sent at {time}. You can undo it until {until}."
ALREADY = "You reviewed this item at {time}. Nothing was stored twice."
SKIPPED = "Skipped. Somebody else will review it."
UNDONE = "Your last review is open again, just as you left it."
SAVED = "Draft saved at {time}."
BACK = "Your draft from {time} is back."
GIVEN_BACK = "You gave this item back, so nothing was stored for it."
WROTE_IT = "You wrote this item, so you cannot review it."
NO_PLACE = (
    "Your time with this item was over, and others have reviewed it meanwhile. Your review is not "
    "counted. You did nothing wrong."
)
FEW = (
    "You put down {minutes}. Most reviews take ten to fifteen minutes. If it is right, send the "
    "review again."
)


class ReviewerRequest(HttpRequest):
    user: User


@require_safe
@role_required(*REVIEWERS)
def queue(request: ReviewerRequest) -> HttpResponse:
    """What is in hand, or a place to begin."""
    now = timezone.now()
    _unseal(request, now)
    return _state(
        request,
        "start",
        held=room.current(request.user),
        waiting=room.waiting_for(request.user, now=now),
        undo=room.undoable(request.user, now=now),
    )


def _unseal(request: ReviewerRequest, now: datetime) -> None:
    """Take what was sent without a session as the draft of its item, if the item is theirs."""
    sealed = request.session.get(SEALED)
    if sealed is None:
        return
    hold = ReviewHold.objects.filter(code=sealed["code"], reviewer=request.user).first()
    if hold is not None:
        del request.session[SEALED]
        typed = {name: values[-1] for name, values in sealed["fields"].items() if values}
        room.keep_draft(hold, draft_of(typed), now=now)


@require_POST
@role_required(*REVIEWERS)
def start(request: ReviewerRequest) -> HttpResponse:
    """Take the next item in hand."""
    return _next(request, request.POST.get("topic", ""))


def _next(request: ReviewerRequest, topic: str = "") -> HttpResponse:
    now = timezone.now()
    match room.lease(request.user, now=now, topic=topic):
        case NoWork() as none:
            undo = room.undoable(request.user, now=now)
            return _state(request, "nothing", reason=none.reason, try_at=none.try_at, undo=undo)
        case Announced() as hard:
            return _state(request, "announced", hard=hard)
        case Paused() as paused:
            return _state(request, "paused", paused=paused)
        case found:
            return HttpResponseRedirect(_page(found), status=303)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*REVIEWERS)
def review(request: ReviewerRequest, code: UUID) -> HttpResponse:
    """One item with its form; ``do`` names what the form does, and without one it saves."""
    rows = ReviewHold.objects.select_related("item__bank", "work", "reviewer")
    hold = get_object_or_404(rows, code=code, reviewer=request.user)
    act = request.POST.get("do", "save") if request.method == "POST" else ""
    if act == "undo":
        return _undo(request, hold)
    if hold.outcome == ReviewOutcome.SENT:
        return _already(request, hold.reviews.latest("reviewed_at"))
    if hold.outcome not in ("", ReviewOutcome.EXPIRED):
        return _state(request, "gone", said=GIVEN_BACK, status=409 if act else 200)
    if act == "keep":
        return _keep_quietly(request, hold)
    if act == "let-go":
        room.let_go(hold)
        return redirect("rating:review_queue")
    if act == "skip":
        return _skip(request, hold)
    if act in ("send", "stands"):
        return _send(request, hold, act)
    return _show_or_save(request, hold, act)


def _show_or_save(request: ReviewerRequest, hold: ReviewHold, act: str) -> HttpResponse:
    now = timezone.now()
    said = ""
    if act:
        room.keep_draft(hold, draft_of(request.POST.dict()), now=now)
        hold.refresh_from_db()
        said = SAVED.format(time=_clock(hold.draft_at))
    elif request.method == "GET" and not room.renew(hold, now=now):
        return _late(request, hold)
    return _show(request, hold, said=said)


def _keep_quietly(request: ReviewerRequest, hold: ReviewHold) -> HttpResponse:
    now = timezone.now()
    if not room.keep_draft(hold, draft_of(request.POST.dict()), now=now):
        return JsonResponse({"saved": ""}, status=409)
    return JsonResponse({"saved": SAVED.format(time=_clock(now))})


def _skip(request: ReviewerRequest, hold: ReviewHold) -> HttpResponse:
    form = SkipForm(request.POST)
    if not form.is_valid():
        room.keep_draft(hold, draft_of(request.POST.dict()), now=timezone.now())
        hold.refresh_from_db()
        return _show(request, hold, skip_form=form, status=422)
    reason = ReviewSkip(form.cleaned_data["reason"])
    room.skip(hold, reason, form.cleaned_data["skip_note"], now=timezone.now())
    messages.info(request, WROTE_IT if reason == ReviewSkip.CONFLICT else SKIPPED)
    return redirect("rating:review_queue")


def _send(request: ReviewerRequest, hold: ReviewHold, act: str) -> HttpResponse:
    now = timezone.now()
    form = ReviewForm(request.POST)
    complete = form.is_valid()
    minutes = form.cleaned_data.get("minutes")
    asked = request.POST.get("sure") == "yes"
    room.keep_draft(hold, draft_of(request.POST.dict()), now=now)
    if act == "stands":
        # Of the form, it is the minutes alone that a confirmation needs.
        for name in [name for name in form.errors if name != "minutes"]:
            del form.errors[name]
        complete = not form.errors
    hold.refresh_from_db()
    if not complete:
        return _show(request, hold, form=form, status=422)
    if act == "send" and minutes is not None and minutes < FEW_MINUTES and not asked:
        return _show(
            request, hold, form=form, few=FEW.format(minutes=_minutes(minutes)), status=422
        )
    try:
        if act == "stands":
            sent = room.still_stands(hold, minutes or 0, now=now)
        else:
            sent = room.send(hold, form.given(), now=now)
    except room.AlreadySent as why:
        return _already(request, why.review)
    except room.NotHeld:
        return _state(request, "gone", said=GIVEN_BACK, status=409)
    except room.WroteIt:
        room.skip(hold, ReviewSkip.CONFLICT, "", now=now)
        return _state(request, "gone", said=WROTE_IT, status=409)
    except room.NoPlace:
        return _late(request, hold, status=409)
    until = sent.reviewed_at + timedelta(minutes=settings.UNDO_MINUTES)
    messages.info(request, SENT.format(time=_clock(sent.reviewed_at), until=_clock(until)), "undo")
    return _next(request)


def _undo(request: ReviewerRequest, hold: ReviewHold) -> HttpResponse:
    sent = hold.reviews.filter(withdrawn_at=None, superseded_by=None).first()
    if sent is None:
        return HttpResponseRedirect(_page(hold), status=303)
    try:
        room.undo(sent, now=timezone.now())
    except TooLate as why:
        return _state(request, "gone", said=str(why), status=409)
    messages.info(request, UNDONE)
    return HttpResponseRedirect(_page(hold), status=303)


def _show(
    request: ReviewerRequest,
    hold: ReviewHold,
    *,
    form: ReviewForm | None = None,
    skip_form: SkipForm | None = None,
    few: str = "",
    said: str = "",
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    earlier = room.earlier_review(request.user, hold.item)
    waiting = list(messages.get_messages(request))
    if not waiting and not said and not request.POST and hold.draft_at:
        said = BACK.format(time=_clock(hold.draft_at))
    context = {
        "state": "card",
        "card": ReviewCard.of(hold),
        "hold": hold,
        "form": form or ReviewForm(initial={"minutes": _spent(hold, now), **hold.draft}),
        "skip_form": skip_form or SkipForm(),
        "reasons": ReviewSkip.choices,
        "few": few,
        "said": said or " ".join(str(message) for message in waiting),
        "undo": room.undoable(request.user, now=now)
        if any("undo" in message.tags for message in waiting)
        else None,
        "changes": room.what_changed(earlier.item, hold.item) if earlier else (),
    }
    return render(request, "rating/review.html", context, status=status)


def _late(request: ReviewerRequest, hold: ReviewHold, *, status: int = 200) -> HttpResponse:
    """The item has had its reviews meanwhile; what they had typed is given back to them."""
    hold.refresh_from_db()
    words = [
        hold.draft[name]
        for name in (*(f"why_{name}" for name in CRITERIA), "concern")
        if hold.draft.get(name)
    ]
    return _state(request, "late", said=NO_PLACE, words=words, hold=hold, status=status)


def _already(request: ReviewerRequest, sent: ItemReview) -> HttpResponse:
    """It was sent: nothing is stored twice."""
    undo = room.undoable(request.user, now=timezone.now())
    return _state(
        request,
        "done",
        said=ALREADY.format(time=_clock(sent.reviewed_at)),
        undo=undo if undo and undo.pk == sent.pk else None,
        status=409 if request.method == "POST" else 200,
    )


def _state(
    request: ReviewerRequest, state: str, *, said: str = "", status: int = 200, **more: Any
) -> HttpResponse:
    said = said or " ".join(str(message) for message in messages.get_messages(request))
    return render(
        request, "rating/review.html", {"state": state, "said": said, **more}, status=status
    )


def _spent(hold: ReviewHold, now: datetime) -> int:
    """The minutes since the item was opened: what stands in the field until script counts better."""
    return min(
        round((now - hold.leased_at).total_seconds() / 60), settings.LEASE_MINUTES, MOST_MINUTES
    )


def _minutes(count: int) -> str:
    return f"{count} minute{'' if count == 1 else 's'}"


def _page(hold: ReviewHold) -> str:
    return reverse("rating:review", args=[hold.code])


def _clock(moment: datetime | None) -> str:
    return f"{timezone.localtime(moment):%H:%M}" if moment else ""


@require_safe
@role_required(Role.ADMIN, Role.MAINTAINER)
def standing(request: ReviewerRequest) -> HttpResponse:
    """How far reviewers agree, what is open, and who could take it."""
    context = {"lines": agreement(), "overview": overview(timezone.now())}
    return render(request, "rating/reviews.html", context)
