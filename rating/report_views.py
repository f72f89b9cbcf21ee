"""The agreement report of a wave, for maintainers. Who looks is put on record."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from rating.models import Exposure, Role, Saw, User
from rating.wave_report import FILES, file_of, wave_report
from runs.access import role_required
from runs.models import Wave

TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv", "txt": "text/plain"}
POOLED = ("report.html", "report.json")
NO_SUBJECTS = ("ratings_wide.csv", "facets.csv", "facets.txt")


@require_safe
@role_required(Role.MAINTAINER)
def show(request: HttpRequest, wave: str) -> HttpResponse:
    """How far raters agree, all subjects pooled, and what is known of the subjects themselves."""
    found = _wave(wave)
    _record(request, Saw.FIGURES, found)
    if found.unblinded_at:
        _record(request, Saw.SUBJECTS, found)
    made = wave_report(found)
    return render(
        request,
        "rating/report.html",
        {
            "wave": found,
            "report": made.agreement,
            "chart": made.chart,
            "chart_narrow": made.chart_narrow,
            "facts": made.facts,
            "blinding": made.blinding,
            "probes": made.probes,
            "made_at": made.made_at,
            "files": FILES,
        },
    )


@require_safe
@role_required(Role.MAINTAINER)
def download(request: HttpRequest, wave: str, name: str) -> HttpResponse:
    """One of the report's files. Whoever has its single ratings no longer rates this wave."""
    if name not in FILES:
        raise Http404
    found = _wave(wave)
    _record(request, Saw.FIGURES if name in POOLED else Saw.RATINGS, found)
    if name not in NO_SUBJECTS and found.unblinded_at:
        _record(request, Saw.SUBJECTS, found)
    kind = TYPES[name.rpartition(".")[2]]
    return HttpResponse(
        file_of(found, name),
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{found.code}-{name}"'},
    )


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)


def _record(request: HttpRequest, saw: Saw, wave: Wave) -> None:
    assert isinstance(request.user, User)
    Exposure.objects.create(person=request.user, saw=saw, wave=wave)
