"""The agreement report of a wave, for maintainers. Who looks is put on record."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from rating import exports
from rating.agreement_page import Look
from rating.aside import figures, is_large
from rating.aside_views import tell, waits
from rating.exports import ALL, FILES, TYPES, Exports
from rating.makers_aside import told_of
from rating.models import Exposure, Role, Saw, User
from rating.wave_report import WaveReport
from runs.access import role_required
from runs.models import Wave

ASKED = "All files are being made. Look here again in a minute."
BY_A_WORKER = (
    "There are so many ratings that {name} is made by a worker, as part of everything.zip: "
    "ask for all files in one."
)
DICTIONARY = "dictionary.csv"
# Of a large wave these are made at once, from what is kept.
SMALL = ("report.html", "report.pdf", "report.json", DICTIONARY)
WAITED = "All files are being made already, since {at}."


class StaffRequest(HttpRequest):
    user: User


@require_safe
@role_required(Role.MAINTAINER)
@waits
def show(request: StaffRequest, wave: str) -> HttpResponse:
    """How far raters agree, all subjects pooled, and what is known of the subjects themselves."""
    found = _wave(wave)
    worked_out = figures("report", found)
    _record(request, Saw.FIGURES, found)
    if found.unblinded_at:
        _record(request, Saw.SUBJECTS, found)
    tell(request, worked_out)
    made: WaveReport = worked_out.value
    waiting, ready = exports.newest(found)
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
            "files": FILES.values(),
            "large": bool(worked_out.version),
            "waiting": waiting,
            "ready": ready,
        },
    )


@require_safe
@role_required(Role.MAINTAINER)
@waits
def download(request: StaffRequest, wave: str, name: str) -> HttpResponse:
    """One of the report's files. Whoever has its single ratings no longer rates this wave."""
    found = _wave(wave)
    if name == ALL:
        return _everything(request, found)
    if name not in FILES:
        raise Http404
    large = is_large(found)
    if large and name not in SMALL:
        messages.info(request, BY_A_WORKER.format(name=name))
        return redirect(f"{reverse('rating:report', args=[found.code])}#files-title")
    made: list[Any] = []
    if large and name != DICTIONARY:
        made = [
            figures("report", found).value,
            figures("agreement", found, **told_of(Look())).value,
        ]
    _record(request, FILES[name].saw, found)
    if FILES[name].by_subject and found.unblinded_at:
        _record(request, Saw.SUBJECTS, found)
    return _file(found, name, Exports(found, *made).file(name), FILES[name].media_type)


@require_POST
@role_required(Role.MAINTAINER)
def ask_for_all(request: StaffRequest, wave: str) -> HttpResponse:
    """Have all files made in one, by a worker: of many ratings that takes a while."""
    found = _wave(wave)
    now = timezone.now()
    waiting, _ = exports.newest(found)
    if waiting and now - waiting.asked_at < exports.PATIENCE:
        messages.info(request, WAITED.format(at=f"{timezone.localtime(waiting.asked_at):%H:%M}"))
    else:
        exports.ask(found, request.user, now=now)
        messages.info(request, ASKED)
    return redirect("rating:report", found.code)


def _everything(request: StaffRequest, wave: Wave) -> HttpResponse:
    """What a worker has made, with single ratings in it."""
    _, ready = exports.newest(wave)
    if ready is None:
        raise Http404
    _record(request, Saw.RATINGS, wave)
    if wave.unblinded_at:
        _record(request, Saw.SUBJECTS, wave)
    return _file(wave, ALL, bytes(ready.content or b""), TYPES["zip"])


def _file(wave: Wave, name: str, content: bytes, media_type: str) -> HttpResponse:
    return HttpResponse(
        content,
        content_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{wave.code}-{name}"'},
    )


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)


def _record(request: StaffRequest, saw: Saw, wave: Wave) -> None:
    Exposure.objects.create(person=request.user, saw=saw, wave=wave)
