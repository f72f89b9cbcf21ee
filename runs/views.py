"""Waves, for those who run them: what was planned, and how far it has come."""

from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST, require_safe

from runs import plan_views
from runs.access import maintainer_required
from runs.control import UNENDED, cancel, move_ceiling, pause
from runs.described import described
from runs.models import Run, RunState, Wave
from runs.plan_forms import ActForm, CeilingForm, DeviationForm
from runs.preflight import found_in
from runs.probe_views import probes_context
from runs.progress import counts_of_waves, progress_of
from runs.refusals import WaveRefused
from runs.stages import stages_of
from runs.waves import deviate, resume, start_wave


@require_safe
@maintainer_required
def waves(request: HttpRequest) -> HttpResponse:
    """All waves from A to Z."""
    rows = list(
        Wave.objects.select_related("bank")
        .annotate(
            # What most needs a look comes first.
            halted=_has(RunState.STOPPED, RunState.PAUSED),
            asked=_has(RunState.ASKING),
            planned=_has(RunState.PLANNED),
        )
        .order_by("code")
    )
    counts = counts_of_waves()
    shown = [(row, *counts.get(row.pk, (0, 0))) for row in rows]
    return render(request, "runs/waves.html", {"waves": shown})


def _has(*states: RunState) -> Exists:
    """Whether a wave has a run in one of these states."""
    return Exists(Run.objects.filter(wave=OuterRef("pk"), state__in=states))


@require_safe
@maintainer_required
def wave(request: HttpRequest, code: str) -> HttpResponse:
    """The plan of a wave and its progress. The progress alone, where only that is asked for."""
    found = _wave(code)
    # The page asks for its own address again: htmx gets the part that changes.
    if "HX-Request" in request.headers:
        return render(request, "runs/_progress.html", _context(request, found))
    return plan_views.draft(request, found) if found.is_draft else _show(request, found)


@require_POST
@maintainer_required
def start(request: HttpRequest, code: str) -> HttpResponse:
    """Begin asking, and show the progress."""
    try:
        if not start_wave(_wave(code), by=request.user.pk):
            messages.info(request, "Nothing waits to be asked: this wave has been started.")
    except WaveRefused as why:
        for fault in why.faults:
            messages.error(request, fault)
    return redirect("runs:wave", code=code)


@require_POST
@maintainer_required
def act(request: HttpRequest, wave: str) -> HttpResponse:
    """Pause, resume or cancel a run or the whole wave, for a reason."""
    found = _wave(wave)
    form = ActForm(request.POST, runs=_runs(found))
    what = request.POST.get("do")
    if what not in ACTS:
        raise Http404
    if form.is_valid():
        chosen = form.cleaned_data["run"]
        run = Run.objects.get(pk=chosen, wave=found) if chosen else None
        change, done = ACTS[what]
        try:
            runs = change(found, form.cleaned_data["reason"], run=run, by=request.user.pk)
        except WaveRefused as why:
            for fault in why.faults:
                form.add_error(None, fault)
        else:
            said = done.format(len(runs)) if runs else "Nothing changed: no run is in such a state."
            messages.success(request, said)
            return redirect("runs:wave", code=wave)
    return _show(request, found, act_form=form)


@require_POST
@maintainer_required
def deviation(request: HttpRequest, wave: str) -> HttpResponse:
    """Append what is done otherwise than registered."""
    found = _wave(wave)
    form = DeviationForm(request.POST)
    if form.is_valid():
        try:
            one = deviate(found, form.cleaned_data["text"], by=request.user.pk)
        except WaveRefused as why:
            form.add_error("text", str(why))
        else:
            messages.success(request, f"{one} is appended.")
            return redirect("runs:wave", code=wave)
    return _show(request, found, deviation_form=form)


@require_POST
@maintainer_required
def ceiling(request: HttpRequest, wave: str) -> HttpResponse:
    """Move what the wave may cost, for a reason."""
    found = _wave(wave)
    form = CeilingForm(request.POST)
    if form.is_valid():
        said = form.cleaned_data
        try:
            move_ceiling(found, said["amount"], said["reason"], by=request.user.pk)
        except WaveRefused as why:
            form.add_error("amount", str(why))
        else:
            messages.success(request, "The ceiling is moved.")
            return redirect("runs:wave", code=wave)
    return _show(request, found, ceiling_form=form)


ACTS = {
    "pause": (pause, "Paused: {} of its runs. What is on its way may still end."),
    "resume": (resume, "Asked again: {} of its runs."),
    "cancel": (cancel, "Cancelled: {} of its runs. What was not asked stays so."),
}


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)


def _runs(wave: Wave) -> list[tuple[int, str]]:
    """The runs of a wave that have not ended, by their keys."""
    return [
        (run.pk, f"{run.subject.code}, {run.condition}")
        for run in Run.objects.filter(wave=wave, state__in=UNENDED)
        .select_related("subject")
        .order_by("subject__code", "condition")
    ]


def _context(request: HttpRequest, wave: Wave) -> dict[str, Any]:
    progress = progress_of(wave)
    return {
        "wave": wave,
        "progress": progress,
        "still": "still" in request.GET,
        # A page says aloud what is new since it last spoke, and not the same every 5 seconds.
        "news": request.GET.get("told", progress.milestone) != progress.milestone,
    }


def _show(request: HttpRequest, wave: Wave, **wrong: Any) -> HttpResponse:
    """The page of a wave, with the form that was sent where something is wrong with it."""
    progress = _context(request, wave)
    context = {
        **progress,
        **probes_context(wave),
        "stages": stages_of(wave),
        # While replies come in, each look at the page would read them all again.
        "described": None if progress["progress"].asking else described(wave),
        "declared": wave.declared,
        "leaks": found_in(wave.leak_check),
        "leaks_at": parse_datetime(wave.leak_check.get("at", "")),
        "deviations": wave.deviations.all(),
        "act_form": ActForm(runs=_runs(wave)),
        "deviation_form": DeviationForm(),
        "ceiling_form": CeilingForm(),
        **wrong,
    }
    return render(request, "runs/wave.html", context, status=422 if wrong else 200)
