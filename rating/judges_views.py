"""Models that judge, for maintainers: their rounds, and how they stand beside people.

Each look is put on record. A judge decides nothing, and none of its levels is in any score.
"""

from typing import Any
from uuid import UUID

from django import forms
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from rating.aside import figures
from rating.aside_views import tell, waits
from rating.care import record_look
from rating.charts import NARROW, WIDE
from rating.counted import KEPT
from rating.dimensions import dimensions_of
from rating.guessing import is_unblinded
from rating.item_figures import record_figures
from rating.judges.beside import MOST, BesidePage, rounds_of
from rating.judges.overview import MOST as MOST_CANDIDATES
from rating.judges.overview import opened, rounds
from rating.judges.tables import Judging
from rating.judges_chart import judges_chart
from rating.models import Exposure, Rating, Role, Saw, User
from runs.access import role_required
from runs.canonical import digest
from runs.models import Response, Wave


class StaffRequest(HttpRequest):
    user: User


class RoundForm(forms.Form):
    """Which round is looked at, as the address bar carries it."""

    round = forms.ChoiceField(required=False, label="Round")

    def __init__(self, data: Any, known: list[Judging]) -> None:
        super().__init__(data)
        choice = self.fields["round"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [(one.code, one.code) for one in known]
        choice.error_messages["invalid_choice"] = (
            "There is no round “%(value)s” here. Choose one from the list."
        )


@require_safe
@role_required(Role.MAINTAINER)
def judges(request: StaffRequest, wave: str) -> HttpResponse:
    """Every round of judging: who judges, how far it is, and whether quotes can be trusted."""
    found = _wave(wave)
    made = rounds(found)
    if request.method == "GET":
        record_figures(request.user, [found])
        record_look(request.user, f"judges of {found.code}")
    context = {
        "wave": found,
        "rounds": made,
        "most": MOST_CANDIDATES,
        "as_of": timezone.now(),
        "begun": any(one.has_begun and not one.is_bridge for one in made),
    }
    return render(request, "rating/judges.html", context)


@require_safe
@role_required(Role.MAINTAINER)
@waits
def beside(request: StaffRequest, wave: str) -> HttpResponse:
    """How far judges of one round agree with people, pooled over subjects."""
    found = _wave(wave)
    known = rounds_of(found)
    form = RoundForm(request.GET, known)
    context: dict[str, Any] = {"wave": found, "form": form, "rounds": known}
    if not form.is_valid():
        return render(request, "rating/judges_beside.html", context, status=422)
    chosen = [one for one in known if one.code == form.cleaned_data["round"]] or known[:1]
    if not chosen:
        return render(request, "rating/judges_beside.html", context)
    [judging] = chosen
    worked_out = figures("judges", found, round=judging.code)
    page: BesidePage = worked_out.value
    tell(request, worked_out)
    if request.method == "GET":
        record_figures(request.user, [found])
        record_look(request.user, f"judges beside people in {found.code}, round {judging.code}")
    context |= {
        "form": RoundForm({"round": judging.code}, known),
        "page": page,
        "charts": [_chart(page, width) for width in (WIDE, NARROW)] if page.overall.n else None,
        "most": MOST,
        "as_of": worked_out.made_at,
    }
    return render(request, "rating/judges_beside.html", context)


@require_safe
@role_required(Role.MAINTAINER)
def judgements(request: StaffRequest, wave: str, judging: str, code: UUID) -> HttpResponse:
    """What judges gave one response. Whoever opens it no longer rates this wave."""
    found = _wave(wave)
    chosen = get_object_or_404(Judging.objects.select_related("wave"), wave=found, code=judging)
    response = get_object_or_404(Response.objects.of_wave(found).select_related("item"), code=code)
    made = opened(chosen, response)
    if not made:
        raise Http404
    if request.method == "GET":
        Exposure.objects.create(person=request.user, saw=Saw.RATINGS, wave=found)
        record_look(request.user, f"judgements of response {response.code}")
    _, dimension_of = dimensions_of(found)
    context = {
        "wave": found,
        "judging": chosen,
        "response": response,
        "item": response.item,
        "dimension": dimension_of[response.item_id],
        "judgements": made,
        "told": is_unblinded(found),
        "people": Rating.objects.counted().filter(response=response).count(),
    }
    return render(request, "rating/judgements.html", context)


def _chart(page: BesidePage, width: int) -> str:
    """The picture, kept until a figure changes."""
    rows = [(line.name, line.alpha, line.n, line.n_items) for line in (*page.lines, page.overall)]
    key = "judges-chart:" + digest([repr(rows), width])
    kept: str | None = cache.get(key)
    if kept is None:
        kept = judges_chart(page, width=width)
        cache.set(key, kept, KEPT)
    return kept


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)
