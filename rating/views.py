"""The rating room: find, check, act, show."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Sum
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
    QueryDict,
)
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language_info
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, reswap, retarget

from rating import adjudication, guessing, notices, reviews
from rating import queue as rooms
from rating.blinding import Card
from rating.clock import midnight
from rating.forms import (
    COUNTS_HIDDEN,
    LOOK,
    SEALED,
    VIEWS,
    CountryForm,
    Entry,
    GuessForm,
    LookForm,
    SkipForm,
    WorkForm,
    hint_of,
    problem_of,
    span_named,
    version_of,
)
from rating.marks import MarkedBlock, numbered
from rating.models import (
    Assignment,
    Confidence,
    Guess,
    Kind,
    Outcome,
    Rating,
    Role,
    SkipReason,
    User,
)
from rating.people import save_of
from rating.progress import waves_for_home
from rating.standing import qualified_for
from runs.access import role_required
from runs.models import Item

ALREADY = "You rated this response at {time}. Nothing was stored twice."
SAVED = "Rating saved at {time}. You can undo it until {until}."
SURPLUS = (
    "Your rating is kept, but it will not be counted, because two ratings had already come in. "
    "You did nothing wrong."
)
SKIPPED = "Skipped. Here is the next response."
UNDONE = "Your last rating is open again, just as you left it."
BACK = "Your draft from {time} is back."
CLOSED = (
    "Your rating is kept, but it will not be counted, because rating has closed. "
    "You did nothing wrong."
)
SAW_RATINGS = (
    "Your rating is kept, but it will not be counted, because you have seen single ratings of "
    "this work."
)
GIVEN_BACK = "You gave this response back, so nothing was stored for it."
HOLD_ENDED = "Your time with this response is over. Your work is safe, and you can still send it."
# A rest of so long makes the next stretch of reading a new one.
A_REST = timedelta(minutes=15)
# So many minutes before a hold ends its page says so, and then once more.
SOON, SOONER = 5, 1


HEADINGS = {
    "card": "A response to rate",
    "start": "Ready when you are",
    "announced": "Before you open the next response",
    "guess": "One question about that response",
    "rest": "Time for a rest?",
    "done": "Rated already",
    "paused": "Rating is paused",
    "nothing": "Nothing to rate",
    "limit": "That is all for today",
}


class RaterRequest(HttpRequest):
    user: User
    htmx: Any


@require_safe
@login_not_required
def home(request: RaterRequest) -> HttpResponse:
    """One next step for each role. Whoever has not signed in reads what this is about."""
    if not request.user.is_authenticated:
        return redirect("rating:about")
    roles = request.user.roles
    return render(
        request,
        "home.html",
        {
            "rater": _own_day(request.user) if Role.RATER in roles else None,
            "settling": adjudication.waiting_for(request.user)
            if Role.ADJUDICATOR in roles
            else None,
            "reviewing": None
            if roles.isdisjoint((Role.ITEM_REVIEWER, Role.ADMIN))
            else reviews.waiting_for(request.user, now=timezone.now()),
            "waves": waves_for_home() if Role.MAINTAINER in roles else None,
        },
    )


@require_safe
@role_required(Role.RATER)
def queue(request: RaterRequest) -> HttpResponse:
    """The card in hand, or a place to begin."""
    _unseal(request)
    held = rooms.current(request.user)
    waiting = list(messages.get_messages(request))
    context = {
        "said": "".join(str(message) for message in waiting),
        "undo": next(iter(rooms.undoable(request.user, now=timezone.now())), None),
        "offer_undo": any("undo" in message.tags for message in waiting),
    }
    if held is None:
        return _show(request, {"state": "start", **context})
    return _show_card(request, held, **context)


@require_POST
@role_required(Role.RATER)
def start(request: RaterRequest) -> HttpResponse:
    """Lease the next response. ``topic`` answers an announced one; ``rest`` declines a rest."""
    if request.POST.get("rest") == "later":
        _rested(request)
    topic = topic if (topic := request.POST.get("topic", "")) in ("open", "other") else ""
    return _next(request, rooms.lease(request.user, now=timezone.now(), topic=topic))


@require_POST
@role_required(Role.RATER)
def rate(request: RaterRequest, code: UUID) -> HttpResponse:
    """All that the form of a card can do. ``do`` names it; without one, it saves the draft.

    "mine:" before an act lets it go over a newer draft from another tab.
    """
    assignment = _own(request, code)
    card = Card.of(assignment)
    entry = Entry.of_post(request.POST, card)
    asked = request.POST.get("do", "save")
    act, _, named = asked.removeprefix("mine:").partition(":")
    if act == "check":
        return render(
            request,
            "rating/_problem.html",
            {"card": card, "problem": problem_of(entry.words, card)},
        )
    if assignment.outcome == Outcome.RATED:
        return _already(request, assignment.ratings.standing().get())
    if assignment.outcome not in ("", Outcome.EXPIRED):
        return _moved_on(request, GIVEN_BACK)
    if act == "theirs":
        draft = getattr(assignment, "draft", None)
        said = BACK.format(time=_clock(draft.saved_at)) if draft else ""
        return _next(request, assignment, said)
    if act == "let-go":
        rooms.let_go(assignment)
        return _moved_on(request, "")
    if not asked.startswith("mine:") and _is_stale(request, assignment):
        return _show_stale(request, assignment, card, entry, asked)
    try:
        return _do(request, assignment, card, entry, act, named)
    except rooms.Overtaken:  # between reading and writing
        return _show_stale(request, _own(request, code), card, entry, asked)


def _do(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, act: str, named: str
) -> HttpResponse:
    if act == "submit":
        return _submit(request, assignment, card, entry)
    if act == "quote":
        entry = entry.with_words(card, hint_of(request.POST))
    elif act == "sentences":
        marked = [span for name in request.POST.getlist("sentence") if (span := span_named(name))]
        entry = entry.with_sentences(marked, card)
    elif act == "remove" and (span := span_named(named)):
        entry = entry.without_quote(span)
    elif act == "reword" and (span := span_named(named)):
        entry = entry.with_quote_in_hand(span, card)
    elif act == "use" and (span := span_named(named)):
        entry = entry.with_place(span, card)
    elif act == "clear":
        entry = entry.cleared()
    elif act == "view" and named in VIEWS:
        entry = replace(entry, view=named)
    return _keep(request, assignment, card, entry, act)


@require_POST
@role_required(Role.RATER)
def undo(request: RaterRequest, code: UUID) -> HttpResponse:
    """Open a rating again, just as it was left."""
    assignment = _own(request, code)
    rating = assignment.ratings.standing().first()
    if rating is None:
        return _next(request, assignment)
    try:
        rooms.undo(rating, now=timezone.now())
    except rooms.TooLate as why:
        return _moved_on(request, str(why))
    return _next(request, _own(request, code), UNDONE)


@require_POST
@role_required(Role.RATER)
def guess(request: RaterRequest, code: UUID) -> HttpResponse:
    """Keep whom a rater takes to have made the response, or go on without; then the next card."""
    assignment, now = _own(request, code), timezone.now()
    asked = get_object_or_404(Guess, rating__assignment=assignment)
    rating = assignment.ratings.standing().filter(rated_at__gt=now - _undo_time()).first()
    if rating is not None:
        rating.assignment = assignment
    if request.POST.get("do") != "later":
        form = GuessForm(request.POST)
        if not form.is_valid():
            return _show_guess(request, code, form, rating)
        guessing.answer(asked, form.cleaned_data["maker"], form.cleaned_data["sure"], now=now)
    found, said = rooms.lease(request.user, now=now), _said_of(rating) if rating else ""
    return _next(request, found, said, undo=rating, rest=_rest_due(request, now))


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
        return _already(request, assignment.ratings.standing().get())
    reason, now = SkipReason(form.cleaned_data["reason"]), timezone.now()
    rooms.skip(assignment, reason, form.cleaned_data["note"], now=now)
    if assignment.kind in rooms.APART:
        apart = "rating:vote" if assignment.kind == Kind.NORMING else "rating:practice"
        return _next(request, rooms.Elsewhere(apart))
    return _next(request, rooms.lease(request.user, now=now), SKIPPED)


@require_POST
@role_required(Role.RATER)
def keep(request: RaterRequest, code: UUID) -> HttpResponse:
    """Hold a card for longer while its page is in use, or only ``look`` when its time ends."""
    assignment, now = _own(request, code), timezone.now()
    left = (assignment.expires_at - now).total_seconds() / 60
    if request.POST.get("look") and assignment.ended_at is None and left > 0:
        if left > SOON:
            return HttpResponse(status=204)
        return render(
            request,
            "rating/_notice.html",
            {"minutes": max(1, round(left)), "step": SOONER if left <= SOONER + 0.5 else SOON},
        )
    if assignment.outcome == Outcome.RATED or rooms.renew(assignment, now=now):
        return HttpResponse(status=204)
    return render(request, "rating/_notice.html", {"notice": HOLD_ENDED})


@require_safe
@role_required(Role.RATER)
def pause(request: RaterRequest) -> HttpResponse:
    _rested(request)
    return render(request, "rating/pause.html")


@login_not_required
@never_cache
@require_safe
def token(request: HttpRequest) -> JsonResponse:
    """A fresh token for a page whose own has grown too old, or whose person signed in again."""
    return JsonResponse({"token": get_token(request)})


@require_http_methods(["GET", "HEAD", "POST"])
def text(request: RaterRequest) -> HttpResponse:
    """How somebody likes their pages, and which responses they are willing to be given."""
    person = request.user
    is_rater = Role.RATER in person.roles
    data = request.POST if request.method == "POST" else None
    look = LookForm(data, initial={**LOOK, **person.look})
    country = CountryForm(data, initial={"country": person.country})
    work = WorkForm(
        data,
        languages=_languages(person),
        initial={"languages": person.languages, "hard_topics": person.hard_topics},
    )
    back = request.POST.get("next") or request.GET.get("next") or ""
    here = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
    if not here or not back.startswith("/"):
        back = reverse("home")
    forms = [look, country, *([work] if is_rater else [])]
    if data is not None and all(form.is_valid() for form in forms):
        person.look = {**person.look, **{name: look.cleaned_data[name] for name in LOOK}}
        person.country = country.cleaned_data["country"]
        if is_rater:
            person.languages = work.cleaned_data["languages"]
            person.hard_topics = work.cleaned_data["hard_topics"]
        save_of(person, "look", "country", "languages", "hard_topics")
        if "stay" in data:
            messages.info(request, "Saved. This is how it looks.")
            return redirect(f"{request.path}?next={back}")
        return redirect(back)
    context = {
        "look": look,
        "country": country,
        "work": work if is_rater else None,
        "back": back,
        "hard_topics_a_day": settings.HARD_TOPICS_A_DAY,
    }
    return render(request, "rating/text.html", context, status=200 if data is None else 422)


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
    found = rooms.own_card(request.user, code)
    if found is None:
        raise Http404
    return found


def _submit(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry
) -> HttpResponse:
    entry = entry.given(card)
    now = timezone.now()
    if entry.answer is None:
        rooms.keep_draft(assignment, _with_tab(request, entry), now=now)
        return _show_panel(request, assignment, card, entry.saved(now), status=422)
    try:
        rating, found = rooms.rate_and_lease(assignment, entry.answer, now=now)
    except rooms.AlreadyRated as why:
        return _already(request, why.rating)
    except rooms.NotHeld:
        return _moved_on(request, GIVEN_BACK)
    rating.assignment = assignment
    if guessing.ask(rating, now=now):
        return _show_guess(request, assignment.code, GuessForm(), rating)
    return _next(request, found, _said_of(rating), undo=rating, rest=_rest_due(request, now))


def _said_of(rating: Rating) -> str:
    # Asked of what came late alone, whatever its kind: so the time tells nobody which it was.
    late = rating.assignment is not None and rating.assignment.outcome == Outcome.EXPIRED
    if (late or rating.kind == Kind.SURPLUS) and rating.response.run.wave.ratings_frozen_at:
        return CLOSED
    if rating.kind == Kind.SURPLUS:
        return SAW_RATINGS if rooms.saw_ratings(rating.rater_id, rating.response) else SURPLUS
    until = rating.rated_at + _undo_time()
    return SAVED.format(time=_clock(rating.rated_at), until=_clock(until))


def _keep(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, act: str
) -> HttpResponse:
    now = timezone.now()
    if not rooms.keep_draft(assignment, _with_tab(request, entry), now=now):
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
        places = {"view": "response", "quote": "quotes", "sentences": "quotes", "reword": "words"}
        place = places.get(act, "panel")
        return HttpResponseRedirect(f"{reverse('rating:queue')}#{place}", status=303)
    return _show_panel(request, assignment, card, entry, status=status)


def _with_tab(request: RaterRequest, entry: Entry) -> dict[str, Any]:
    return {**entry.as_json(), "tab": request.POST.get("tab", "")[:40]}


def _is_stale(request: RaterRequest, assignment: Assignment) -> bool:
    """Whether another tab has saved since this page read its draft."""
    known, draft = request.POST.get("version"), getattr(assignment, "draft", None)
    if known is None or draft is None or known == version_of(draft.saved_at):
        return False
    # The same tab, whose last answer was lost, knows all that it saved itself.
    tab = request.POST.get("tab", "")
    return not tab or tab != draft.content.get("tab")


def _show_stale(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, act: str
) -> HttpResponse:
    entry = replace(entry, saved_at=None, known=request.POST.get("version", ""))
    context = {"stale": act, "card": card, "entry": entry}
    if request.htmx:
        page = render(request, "rating/_notice.html", context, status=409)
        return reswap(retarget(page, "#notice"), "innerHTML")
    return _show(request, {"state": "card", **context}, status=409)


def _next(
    request: RaterRequest,
    found: rooms.Found,
    said: str = "",
    *,
    undo: Rating | None = None,
    rest: int = 0,
) -> HttpResponse:
    """What was found, in the same answer, or on the page a plain browser goes to."""
    if isinstance(found, rooms.Elsewhere):
        page = reverse(found.page, args=[found.of] if found.of else [])
        return HttpResponseClientRedirect(page) if request.htmx else redirect(page)
    context: dict[str, Any] = {"said": said, "undo": undo, "offer_undo": undo is not None}
    if rest:
        return _show(request, {"state": "rest", "minutes": rest, **context})
    if isinstance(found, Assignment):
        if request.htmx:
            return _show_card(request, found, **context)
        if said:
            messages.info(request, said, extra_tags="undo" if undo else "")
        return HttpResponseRedirect(reverse("rating:queue"), status=303)
    if isinstance(found, rooms.Announced):
        return _show(request, {"state": "announced", "hard": found, **context})
    if isinstance(found, rooms.Paused):
        return _show(request, {"state": "paused", "paused": found, **context})
    if found.limit:
        return _show(request, {"state": "limit", "reason": _why(found), **context})
    context["may_ask"] = notices.offered()
    return _show(request, {"state": "nothing", "reason": _why(found), **context})


def _why(found: rooms.NoWork) -> str:
    """The reason and, where it is known, the time to look again."""
    if found.try_at is None:
        return found.reason
    if found.limit:
        return f"{found.reason.removesuffix('.')} at {_clock(found.try_at)}."
    if timezone.localdate(found.try_at) != timezone.localdate():
        return f"{found.reason} Look again tomorrow at about {_clock(found.try_at)}."
    return f"{found.reason} The next may come free at about {_clock(found.try_at)}."


def _already(request: RaterRequest, rating: Rating) -> HttpResponse:
    said = ALREADY.format(time=_clock(rating.rated_at))
    still = timezone.now() < rating.rated_at + _undo_time()
    context = {"state": "done", "said": said, "undo": rating if still else None}
    return _show(request, {**context, "offer_undo": still}, status=409)


def _moved_on(request: RaterRequest, said: str) -> HttpResponse:
    return _show(request, {"state": "start", "said": said}, status=409 if said else 200)


def _show_guess(
    request: RaterRequest, code: UUID, form: GuessForm, rating: Rating | None
) -> HttpResponse:
    """The question who made the response just rated. The next card is held meanwhile."""
    context = {
        "state": "guess",
        "code": code,
        "guess": form,
        "makers": settings.GUESS_MAKERS,
        "sure": Confidence.choices,
        "said": _said_of(rating) if rating else "",
        "undo": rating,
        "offer_undo": rating is not None,
    }
    return _show(request, context, status=422 if form.errors else 200)


def _show_card(request: RaterRequest, assignment: Assignment, **context: Any) -> HttpResponse:
    """A card, with what was put down on it."""
    now = timezone.now()
    notice = None
    draft = getattr(assignment, "draft", None)
    if assignment.expires_at < now or assignment.ended_at is not None:
        notice = None if rooms.renew(assignment, now=now) else HOLD_ENDED
    card = Card.of(assignment)
    context |= {"state": "card", "card": card, "entry": Entry.of_draft(draft, card)}
    return _show(request, {**context, "notice": notice})


def _show_panel(
    request: RaterRequest, assignment: Assignment, card: Card, entry: Entry, *, status: int
) -> HttpResponse:
    if not request.htmx:
        context = {"state": "card", "card": card, "entry": entry, "notice": None, "said": ""}
        return _show(request, context, status=status)
    page = _part(request, "rating/_panel_and_time.html", card, entry, status=status)
    return reswap(retarget(page, "#panel"), "outerHTML")


def _part(
    request: RaterRequest, template: str, card: Card, entry: Entry, *, status: int = 200
) -> HttpResponse:
    blocks = _laid(card, entry)
    context = {
        "card": card,
        "entry": entry,
        "state": "card",
        "blocks": blocks,
        "changed": _changed(request, blocks, entry),
    }
    return render(request, template, context, status=status)


def _laid(card: Card, entry: Entry) -> tuple[MarkedBlock, ...]:
    return numbered(card.blocks, entry.spans) if entry.view == "reading" else ()


def _changed(
    request: RaterRequest, blocks: tuple[MarkedBlock, ...], entry: Entry
) -> list[MarkedBlock]:
    """The blocks on which the quotes that a page shows are not those of its answer."""
    shown = [span for name in request.POST.getlist("shown") if (span := span_named(name))]
    if shown == entry.spans:
        return []
    return [block for block in blocks if any(map(block.touches, (*shown, *entry.spans)))]


def _show(request: RaterRequest, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """The room, alone for htmx and in its page for a plain browser."""
    template = "rating/_room.html" if request.htmx else "rating/queue.html"
    context |= {"now": timezone.now().timestamp(), "heading": HEADINGS[context["state"]]}
    if context["state"] == "card":
        context["blocks"] = _laid(context["card"], context["entry"])
    page = render(request, template, context, status=status)
    return reswap(retarget(page, "#room"), "outerHTML") if request.htmx else page


def _own_day(rater: User) -> dict[str, Any]:
    today = midnight(timezone.now())
    held = rooms.current(rater)
    draft = getattr(held, "draft", None)
    rated = Rating.objects.standing().filter(rater=rater, rated_at__gte=today)
    done = rated.aggregate(count=Count("pk"), seconds=Sum("active_seconds"))
    return {
        "rated_today": done["count"],
        "active_today": _hours_and_minutes(done["seconds"] or 0),
        "counts_hidden": bool(rater.look.get(COUNTS_HIDDEN)),
        "qualified": qualified_for(rater),
        "may_ask": notices.offered(),
        "has_card": held is not None,
        "draft_at": draft.saved_at if draft else None,
        "recent": [
            {
                "code": rating.assignment.code,
                "at": rating.rated_at,
                "until": rating.rated_at + _undo_time(),
            }
            for rating in rooms.undoable(rater, now=timezone.now())
            if rating.assignment
        ],
    }


def _hours_and_minutes(seconds: int) -> str:
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _rest_due(request: RaterRequest, now: datetime) -> int:
    """The minutes read since the last rest, once they are so many that a rest is offered."""
    most = settings.REST_OFFER_MINUTES
    if not most:
        return 0
    since = datetime.fromtimestamp(request.session.get("rested_at", 0), UTC)
    since = max(since, now - timedelta(minutes=4 * most))
    # Most have read for less than that altogether, and nothing more is asked of them.
    if rooms.seconds_read(request.user, since) < 60 * most:
        return 0
    given = (
        Rating.objects.filter(rater=request.user, rated_at__gt=since)
        .order_by("-rated_at")
        .values_list("rated_at", "active_seconds")
    )
    minutes = _read_since_a_rest(list(given)) // 60
    return minutes if minutes >= most else 0


def _read_since_a_rest(given: Sequence[tuple[datetime, int | None]]) -> int:
    """The seconds read, newest first, back to the last time in which nobody read for long."""
    total = 0
    later: datetime | None = None
    for rated_at, seconds in given:
        if later is not None and later - rated_at > A_REST:
            break
        total += seconds or 0
        later = rated_at - timedelta(seconds=seconds or 0)
    return total


def _rested(request: RaterRequest) -> None:
    request.session["rested_at"] = timezone.now().timestamp()


def _languages(person: User) -> list[tuple[str, str]]:
    """The languages there are responses in, and those already chosen, from A to Z."""
    codes = {"en", *person.languages, *Item.objects.values_list("language", flat=True).distinct()}
    return sorted(((code, _language(code)) for code in codes), key=lambda row: row[1])


def _language(code: str) -> str:
    try:
        info: dict[str, str] = get_language_info(code)
    except KeyError:
        return code
    return info["name"]


def _undo_time() -> timedelta:
    return timedelta(minutes=settings.UNDO_MINUTES)


def _clock(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%H:%M}"
