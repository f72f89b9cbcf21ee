"""A wave's agreement, for maintainers, while it runs and after. Each look is put on record."""

from datetime import date
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from rating.agreement_page import (
    MOST_ITEMS,
    NO_FLOOR,
    WHY_THEY_DIFFER,
    AgreementPage,
    Look,
    Names,
    declared_floor,
    is_outside,
    names_of,
    waves_beside,
)
from rating.aside import figures
from rating.aside_views import tell, waits
from rating.breakdown import By, Only
from rating.care import Days, record_look
from rating.crossing_chart import sentence_of
from rating.dimensions import dimensions_of
from rating.item_figures import record_figures
from rating.judges.beside import rounds_of
from rating.makers_aside import told_of
from rating.models import Exposure, Role, Saw, User
from rating.readings import readings_of
from rating.report import ALPHA_MEANING, MEANING
from runs.access import role_required
from runs.models import Response, Wave

BY = {
    By.DIMENSION: "Dimension",
    By.ITEM: "Item",
    By.PAIR: "Pair of raters",
    By.RATER: "Rater, against the others",
    By.DAY: "Day",
    By.WAVE: "Wave",
    By.KIND: "Kind of rater",
    By.WORK: "Kind of work",
}


class StaffRequest(HttpRequest):
    user: User


class LookForm(forms.Form):
    """A look as the address bar carries it, so that it can be shared."""

    by = forms.ChoiceField(required=False, label="A line for each", choices=list(BY.items()))
    dimension = forms.ChoiceField(required=False, label="Dimension")
    item = forms.ChoiceField(required=False, label="Item")
    rater = forms.ChoiceField(required=False, label="Rater")
    other = forms.ChoiceField(required=False, label="Other rater")
    first = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
    )
    last = forms.DateField(
        required=False, label="To", widget=forms.DateInput(attrs={"type": "date"})
    )
    page = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def __init__(self, data: Any, names: Names) -> None:
        super().__init__(data)
        for field, known in (
            ("dimension", names.dimensions),
            ("item", names.items),
            ("rater", names.raters),
            ("other", names.raters),
        ):
            choice = self.fields[field]
            assert isinstance(choice, forms.ChoiceField)
            choice.choices = [("", "All"), *((name, name) for name in known)]
            choice.error_messages["invalid_choice"] = (
                "There is no “%(value)s” here. Choose one from the list."
            )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        first, last = found.get("first"), found.get("last")
        if first and last and first > last:
            self.add_error("last", "The last day lies before the first. Change one of them.")
        if found.get("rater") and found.get("rater") == found.get("other"):
            self.add_error("other", "These are one and the same rater. Choose another.")
        return found

    @property
    def look(self) -> Look:
        said = self.cleaned_data
        return Look(
            By(said["by"] or By.DIMENSION),
            Only(
                dimension=said["dimension"],
                item=said["item"],
                rater=said["rater"],
                other=said["other"],
                first=said["first"],
                last=said["last"],
            ),
            said["page"] or 1,
        )


@require_safe
@role_required(Role.MAINTAINER)
@waits
def agreement(request: StaffRequest, wave: str) -> HttpResponse:
    """How far raters agree: pooled over subjects, by what was asked for."""
    found = _wave(wave)
    form = LookForm(request.GET, names_of(found))
    context: dict[str, Any] = {"wave": found, "form": form, "as_of": timezone.now()}
    if not form.is_valid():
        return render(request, "rating/agreement.html", context, status=422)
    look = form.look
    worked_out = figures("agreement", found, **told_of(look))
    page: AgreementPage = worked_out.value
    context["as_of"] = worked_out.made_at
    if look.page > page.pages:
        raise Http404
    if request.method == "GET":
        _record(request.user, found, look)
    tell(request, worked_out)
    scale = found.bank.levels
    context |= {
        "look": look,
        "by": BY[look.by],
        "page": page,
        "items": [(line, is_outside(line, scale)) for line in page.item_lines],
        "levels": [
            (level, list(row))
            for level, row in zip(scale, page.crossing.counts.tolist(), strict=True)
        ],
        "crossing_sentence": sentence_of(page.crossing) if page.crossing.n else "",
        "floor": declared_floor(found),
        "no_floor": NO_FLOOR,
        "why_they_differ": WHY_THEY_DIFFER,
        "meaning": f"{ALPHA_MEANING} {MEANING}",
        "looks": _looks(found),
        "judged": bool(rounds_of(found)),
        "most_items": MOST_ITEMS,
        "earlier": _address(request, look.page - 1) if look.page > 1 else "",
        "later": _address(request, look.page + 1) if look.page < page.pages else "",
    }
    return render(request, "rating/agreement.html", context)


@require_safe
@role_required(Role.MAINTAINER)
def readings(request: StaffRequest, wave: str, code: UUID) -> HttpResponse:
    """Both ratings of one response. Whoever opens it no longer rates this wave."""
    found = _wave(wave)
    response = get_object_or_404(
        Response.objects.of_wave(found).select_related("item").only("code", "item", "run"),
        code=code,
    )
    both = readings_of(response)
    if len(both) < 2:
        raise Http404
    if request.method == "GET":
        Exposure.objects.create(person=request.user, saw=Saw.RATINGS, wave=found)
        record_look(request.user, f"both ratings of response {response.code}")
    _, dimension_of = dimensions_of(found)
    context = {
        "wave": found,
        "response": response,
        "item": response.item,
        "dimension": dimension_of[response.item_id],
        "readings": both,
        "apart": abs(both[0].level - both[1].level),
    }
    return render(request, "rating/readings.html", context)


def _record(person: User, wave: Wave, look: Look) -> None:
    record_figures(person, waves_beside(wave) if look.by is By.WAVE else [wave])
    only = look.only.in_words()
    what = f"agreement in {wave.code} by {look.by}" + (f", {only}" if only else "")
    record_look(person, what, Days(look.only.first, look.only.last))


def _looks(wave: Wave) -> dict[str, int | date | None]:
    """How often its pooled figures have been looked at, by how many people, since when."""
    return Exposure.objects.filter(wave=wave, saw=Saw.FIGURES).aggregate(
        times=Count("pk"), people=Count("person", distinct=True), since=Min("seen_at")
    )


def _address(request: HttpRequest, page: int) -> str:
    query = request.GET.copy()
    query["page"] = str(page)
    return f"?{query.urlencode()}"


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)
