"""The rating room: find, check, act, show."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import reswap, retarget

from rating import queue as rooms
from rating.blinding import Card
from rating.forms import SEALED, Entry, SkipForm, hint_of, span_named
from rating.models import Assignment, Kind, Outcome, Rating, Role, SkipReason, User
from rating.people import role_required
from rating.progress import waves_for_home

ALREADY = "You rated this response at {time}. Nothing was stored twice."
SAVED = "Rating saved at {time}."
SURPLUS = (
    "Your rating is kept, but it will not be counted, because two ratings had already come in. "
    "You did nothing wrong."
)
SAW_RATINGS = (
    "Your rating is kept, but it will not be counted, because you have seen single ratings of "
    "this work."
)
GIVEN_BACK = "You gave this response back, so nothing was stored for it."
HOLD_ENDED = "Your time with this response is over. Your work is safe, and you can still send it."


class RaterRequest(HttpRequest):
    user: User
    htmx: Any


@require_safe
def home(request: RaterRequest) -> HttpResponse:
    """One next step for each role."""
    roles = request.user.roles
    return render(
        request,
        "home.html",
        {
            "rater": _own_day(request.user) if Role.RATER in roles else None,
            "waves": waves_for_home() if Role.MAINTAINER in roles else None,
        },
    )


@require_safe
@role_required(Role.RATER)
def queue(request: RaterRequest) -> HttpResponse:
    """The card in hand, or a place to begin."""
    _unseal(request)
    held = rooms.current(request.user)
    said = "".join(str(message) for message in messages.get_messages(request))
    if held is None:
        return _show(request, {"state": "start", "said": said})
    return _show_card(request, held, said=said)


@require_POST
@role_required(Role.RATER)
def start(request: RaterRequest) -> HttpResponse:
    """Lease the next response."""
    return _next(request, "")


@require_POST
@role_required(Role.RATER)
def rate(request: RaterRequest, code: UUID) -> HttpResponse:
    """All that the form of a card can do. ``do`` names it; without one, it saves the draft."""
    assignment = _own(request, code)
    card = Card.of(assignment)
    entry = Entry.of_post(request.POST, card)
    act, _, named = request.POST.get("do", "save").partition(":")
    if assignment.outcome == Outcome.RATED:
        return _already(request, assignment.rating)
    if assignment.outcome not in ("", Outcome.EXPIRED):
        return _moved_on(request, GIVEN_BACK)
    if act == "submit":
        return _submit(request, assignment, card, entry)
    if act == "let-go":
        rooms.let_go(assignment)
        return _moved_on(request, "")
    if act == "quote":
        entry = entry.with_words(card, hint_of(request.POST))
    elif act == "sentences":
        marked = [span for name in request.POST.getlist("sentence") if (span := span_named(name))]
        entry = entry.with_sentences(marked, card)
    elif act == "remove" and (span := span_named(named)):
        entry = entry.without_quote(span)
    elif act == "use" and (span := span_named(named)):
        entry = entry.with_place(span, card)
    elif act == "clear":
        entry = entry.cleared()
    return _keep(request, assignment, card, entry, act)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.RATER)
def skip(request: RaterRequest, code: UUID) -> HttpResponse:
    """Give a response back, with the reason that says what is to become of it."""
    assignment = _own(request, code)
    form = SkipForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        context = {
            "code": code,
            "reasons": SkipReason.choices,
            "chosen": form.data.get("reason", ""),
            "note": form.data.get("note", ""),
            "error": " ".join(str(error) for each in form.errors.values() for error in each),
        }
        status = 422 if request.method == "POST" else 200
        return render(request, "rating/skip.html", context, status=status)
    if assignment.outcome == Outcome.RATED:
        return _already(request, assignment.rating)
    reason = SkipReason(form.cleaned_data["reason"])
    rooms.skip(assignment, reason, form.cleaned_data["note"], now=timezone.now())
    return _next(request, "Skipped. Here is the next response.")


@require_POST
@role_required(Role.RATER)
def keep(request: RaterRequest, code: UUID) -> HttpResponse:
    """Hold a card for longer while its page is in use."""
    assignment = _own(request, code)
    if assignment.outcome == Outcome.RATED or rooms.renew(assignment, now=timezone.now()):
        return HttpResponse(status=204)
    return render(request, "rating/_notice.html", {"notice": HOLD_ENDED})


@require_safe
@role_required(Role.RATER)
def pause(request: RaterRequest) -> HttpResponse:
    return render(request, "rating/pause.html")


@require_safe
@role_required(Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.MAINTAINER, Role.ADMIN)
def guidelines(request: RaterRequest) -> HttpResponse:
    return render(request, "rating/guidelines.html")


def _unseal(request: RaterRequest) -> None:
    """Keep as its card's draft what was posted while nobody was signed in."""
    sealed = request.session.pop(SEALED, None)
    if not sealed:
        return
    assignment = Assignment.objects.filter(rater=request.user, code=sealed["code"]).first()
    if assignment is None:
        return
    post = QueryDict(mutable=True)
    for name, values in sealed["fields"].items():
        post.setlist(name, values)
    entry = Entry.of_post(post, Card.of(assignment))
    rooms.keep_draft(assignment, entry.as_json(), now=timezone.now())


def _own(request: RaterRequest, code: UUID) -> Assignment:
    """A row of somebody else is not there."""
    mine = Assignment.objects.filter(rater=request.user)
    return get_object_or_404(mine.select_related("response__item", "slot", "draft"), code=code)


def _submit(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry
) -> HttpResponse:
    entry = entry.given(card)
    now = timezone.now()
    if entry.answer is None:
        rooms.keep_draft(assignment, entry.as_json(), now=now)
        return _show_panel(request, assignment, card, entry, status=422)
    try:
        rating = rooms.rate(assignment, entry.answer, now=now)
    except rooms.AlreadyRated as why:
        return _already(request, why.rating)
    except rooms.NotHeld:
        return _moved_on(request, GIVEN_BACK)
    return _next(request, _said_of(rating))


def _said_of(rating: Rating) -> str:
    if rating.kind == Kind.COUNTED:
        return SAVED.format(time=_clock(rating.rated_at))
    return SAW_RATINGS if rooms.saw_ratings(rating.rater_id, rating.response) else SURPLUS


def _keep(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, act: str
) -> HttpResponse:
    now = timezone.now()
    if not rooms.keep_draft(assignment, entry.as_json(), now=now):
        return _moved_on(request, GIVEN_BACK)
    if assignment.ended_at is None:
        rooms.renew(assignment, now=now)
    entry = entry.saved(now)
    status = 422 if entry.errors else 200
    if request.htmx and act == "save":
        return retarget(render(request, "rating/_saved.html", {"entry": entry}), "#saved")
    if request.htmx and act == "view":
        return retarget(_part(request, "rating/_response.html", card, entry), "#response")
    if not request.htmx and status == 200:
        place = {"view": "response", "quote": "quotes", "sentences": "quotes"}.get(act, "panel")
        return HttpResponseRedirect(f"{reverse('rating:queue')}#{place}", status=303)
    return _show_panel(request, assignment, card, entry, status=status)


def _next(request: RaterRequest, said: str) -> HttpResponse:
    """The next card in the same answer, or on the page a plain browser goes to."""
    found = rooms.lease(request.user, now=timezone.now())
    if not request.htmx:
        if said:
            messages.info(request, said)
        if isinstance(found, rooms.NoWork):
            return _show(request, _nothing(found, said))
        return HttpResponseRedirect(reverse("rating:queue"), status=303)
    if isinstance(found, rooms.NoWork):
        return _show(request, _nothing(found, said))
    return _show_card(request, _own(request, found.code), said=said)


def _nothing(found: rooms.NoWork, said: str) -> dict[str, Any]:
    return {"state": "nothing", "reason": found.reason, "try_at": found.try_at, "said": said}


def _already(request: RaterRequest, rating: Rating) -> HttpResponse:
    said = ALREADY.format(time=_clock(rating.rated_at))
    return _show(request, {"state": "done", "said": said}, status=409)


def _moved_on(request: RaterRequest, said: str) -> HttpResponse:
    return _show(request, {"state": "start", "said": said}, status=409 if said else 200)


def _show_card(request: RaterRequest, assignment: Assignment, *, said: str) -> HttpResponse:
    now = timezone.now()
    notice = None
    if assignment.expires_at < now or assignment.ended_at is not None:
        notice = None if rooms.renew(assignment, now=now) else HOLD_ENDED
    card = Card.of(assignment)
    entry = Entry.of_draft(getattr(assignment, "draft", None), card)
    return _show(
        request, {"state": "card", "card": card, "entry": entry, "notice": notice, "said": said}
    )


def _show_panel(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, *, status: int
) -> HttpResponse:
    if not request.htmx:
        context = {"state": "card", "card": card, "entry": entry, "notice": None, "said": ""}
        return _show(request, context, status=status)
    page = _part(request, "rating/_panel.html", card, entry, status=status)
    return reswap(retarget(page, "#panel"), "outerHTML")


def _part(
    request: RaterRequest, template: str, card: Card, entry: Entry, *, status: int = 200
) -> HttpResponse:
    return render(request, template, {"card": card, "entry": entry, "state": "card"}, status=status)


def _show(request: RaterRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The room, alone for htmx and in its page for a plain browser."""
    template = "rating/_room.html" if request.htmx else "rating/queue.html"
    page = render(request, template, context, status=status)
    return reswap(retarget(page, "#room"), "outerHTML") if request.htmx else page


def _own_day(rater: User) -> dict[str, Any]:
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    held = rooms.current(rater)
    draft = getattr(held, "draft", None)
    return {
        "rated_today": Rating.objects.filter(rater=rater, rated_at__gte=today).count(),
        "has_card": held is not None,
        "draft_at": draft.saved_at if draft else None,
    }


def _clock(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%H:%M}"
