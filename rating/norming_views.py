"""The norming round: who nominates, who votes, who settles, and whether there is enough of it."""

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rating import seeding
from rating.blinding import Card
from rating.layout import place_of
from rating.marks import marked
from rating.models import Assignment, Norming, Rating, Role, Seed, Use, User
from rating.people import save_of
from rating.quotes import Span
from runs.access import role_required
from runs.models import Wave

MOST = 500
USES = {
    Use.PRACTICE: "Practice: raters see the level and the reasons after their own",
    Use.QUALIFICATION: "Qualification: raters see them once all are rated",
    Use.LIVE: "Live: dealt among counted work, and never shown",
}


class StaffRequest(HttpRequest):
    user: User


class NominateForm(forms.Form):
    wave = forms.ModelChoiceField(
        queryset=Wave.objects.order_by("title", "code"),
        label="Wave",
        empty_label="Choose a wave",
        error_messages={"required": "Choose a wave."},
    )
    number = forms.IntegerField(
        min_value=1,
        max_value=MOST,
        label="How many responses",
        error_messages={"required": "Say how many."},
    )


class AgreeForm(forms.Form):
    tolerance = forms.TypedChoiceField(
        choices=[(0, "Only this level"), (1, "One level to either side")],
        coerce=int,
        initial=1,
        label="What counts as near enough",
    )
    reasons = forms.CharField(
        max_length=5000, error_messages={"required": "Say why, for those who will read it."}
    )
    use = forms.ChoiceField(
        choices=USES.items(), error_messages={"required": "Say what it is for."}
    )
    quote = forms.MultipleChoiceField(
        error_messages={"required": "Choose at least one of the quotes."}
    )

    def __init__(self, card: Card, quotes: list[dict[str, Any]], *args: Any) -> None:
        super().__init__(*args)
        missing = "Choose the level that was agreed."
        self.fields["level"] = forms.TypedChoiceField(
            choices=[(level, level) for level in card.levels],
            coerce=int,
            error_messages={"required": missing, "invalid_choice": missing},
        )
        self.fields["quote"].choices = [(q["name"], q["text"]) for q in quotes]  # type: ignore[attr-defined]
        self.order_fields(["level", "tolerance", "quote", "reasons", "use"])


@require_safe
@role_required(Role.MAINTAINER, Role.ADJUDICATOR)
def norming(request: StaffRequest) -> HttpResponse:
    return _show(request, NominateForm())


@require_POST
@role_required(Role.MAINTAINER)
def nominate(request: StaffRequest) -> HttpResponse:
    """Set responses of a wave aside, to be agreed on."""
    form = NominateForm(request.POST)
    if not form.is_valid():
        return _show(request, form, status=422)
    asked = form.cleaned_data["number"]
    found = seeding.nominate(form.cleaned_data["wave"], asked, request.user, now=timezone.now())
    said = f"{found} of {asked} nominated. They are set aside, and never counted."
    messages.info(request, said)
    return redirect("rating:norming")


@require_POST
@role_required(Role.MAINTAINER)
def seniors(request: StaffRequest) -> HttpResponse:
    """Ask a rater to vote, or no longer."""
    raters = User.objects.filter(groups__name=Role.RATER)
    person = get_object_or_404(raters, pseudonym=request.POST.get("person", ""))
    person.senior = request.POST.get("senior") == "yes"
    save_of(person, "senior")
    return redirect("rating:norming")


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.RATER)
def vote(request: StaffRequest) -> HttpResponse:
    """Where a senior begins: the vote itself is a rating like any other."""
    if not request.user.senior:
        raise Http404
    said = ""
    if request.method == "POST":
        found = seeding.next_vote(request.user, now=timezone.now())
        if isinstance(found, Assignment):
            return redirect("rating:queue")
        said = getattr(found, "reason", "")
    context = {"waiting": seeding.waiting_votes(request.user), "said": said}
    return render(request, "rating/vote.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.ADJUDICATOR)
def settle(request: StaffRequest, code: UUID) -> HttpResponse:
    """Both votes on one text, and what is agreed. Only for somebody who gave neither."""
    rows = Norming.objects.select_related("response__item")
    found = get_object_or_404(rows, code=code, response__agreed=None)
    if not seeding.may_settle(found, request.user):
        raise Http404
    now = timezone.now()
    seeding.look(found, request.user, now=now)
    card = Card.of(Assignment(code=found.code, response=found.response, expires_at=now))
    votes = seeding.votes_on(found.response_id)
    quotes = _quotes(votes, card)
    if request.method != "POST":
        return _show_votes(request, card, votes, quotes, AgreeForm(card, quotes))
    if request.POST.get("do") == "leave-out":
        seeding.leave_out(found, request.user, now=now)
        messages.info(request, "Left out. It stays set aside.")
        return redirect("rating:norming")
    form = AgreeForm(card, quotes, request.POST)
    if request.POST.get("do") != "agree":
        form.errors.clear()
        return _show_votes(request, card, votes, quotes, form)
    if not form.is_valid():
        return _show_votes(request, card, votes, quotes, form, status=422)
    said = form.cleaned_data
    try:
        seeding.settle(
            found,
            request.user,
            level=said["level"],
            tolerance=said["tolerance"],
            reasons=said["reasons"],
            quotes=[
                (q["start"], q["end"], q["absence"]) for q in quotes if q["name"] in said["quote"]
            ],
            use=said["use"],
            now=now,
        )
    except seeding.NotSettled as why:
        form.add_error(None, str(why))
        return _show_votes(request, card, votes, quotes, form, status=409)
    messages.info(request, f"Agreed at {timezone.localtime(now):%H:%M}.")
    return redirect("rating:norming")


@require_POST
@role_required(Role.MAINTAINER, Role.ADJUDICATOR)
def retire(request: StaffRequest, code: UUID) -> HttpResponse:
    """Give an agreed response to nobody from now on."""
    seed = get_object_or_404(Seed, response__norming__code=code)
    seeding.retire(seed, request.user, now=timezone.now())
    messages.info(request, "It is given to nobody from now on. Ratings of it stay.")
    return redirect("rating:norming")


def _show(request: StaffRequest, form: NominateForm, *, status: int = 200) -> HttpResponse:
    raters = User.objects.filter(groups__name=Role.RATER, is_active=True).order_by("pseudonym")
    context = {
        "form": form,
        "lines": seeding.norming_lines(request.user),
        "pools": seeding.pools(),
        "items": settings.QUALIFY_ITEMS,
        "practice": settings.PRACTICE_ITEMS,
        "raters": raters,
        "seniors": [person for person in raters if person.senior],
    }
    return render(request, "rating/norming.html", context, status=status)


def _show_votes(
    request: StaffRequest,
    card: Card,
    votes: list[Rating],
    quotes: list[dict[str, Any]],
    form: AgreeForm,
    *,
    status: int = 200,
) -> HttpResponse:
    anchors = {anchor.level: anchor for anchor in card.anchors}
    context = {
        "card": card,
        "form": form,
        "quotes": quotes,
        "uses": USES.items(),
        "readers": [
            {
                "number": number,
                "anchor": anchors[vote.anchor.level],
                "confidence": vote.get_confidence_display(),
                "note": vote.note,
                "quotes": [q for q in quotes if number in q["readers"]],
            }
            for number, vote in enumerate(votes, start=1)
        ],
        "blocks": marked(
            card.blocks, *([Span(q.start, q.end) for q in v.quotes.all()] for v in votes)
        ),
        "show": asked if (asked := request.POST.get("show", "")) in ("1", "2") else "both",
    }
    return render(request, "rating/agree.html", context, status=status)


def _quotes(votes: list[Rating], card: Card) -> list[dict[str, Any]]:
    """The quotes of both votes, each place once, with who took it."""
    places: dict[tuple[int, int], dict[str, Any]] = {}
    for number, vote in enumerate(votes, start=1):
        for quote in vote.quotes.all():
            one = places.setdefault(
                (quote.start, quote.end),
                {
                    "name": f"{quote.start}-{quote.end}",
                    "start": quote.start,
                    "end": quote.end,
                    "text": card.text[quote.start : quote.end],
                    "place": place_of(Span(quote.start, quote.end), card.sentences),
                    "absence": False,
                    "readers": [],
                },
            )
            one["readers"].append(number)
            one["absence"] = one["absence"] or quote.absence
    return [places[place] for place in sorted(places)]
