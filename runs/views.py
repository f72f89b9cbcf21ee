"""Waves, for those who run them: what was planned, and how far it has come."""

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import maintainer_required
from runs.models import Status, Wave
from runs.progress import progress_of
from runs.refusals import WaveRefused
from runs.stages import stages_of
from runs.waves import start_wave


@require_safe
@maintainer_required
def waves(request: HttpRequest) -> HttpResponse:
    """All waves from A to Z."""
    rows = (
        Wave.objects.select_related("bank")
        .annotate(
            total=Count("runs__responses"),
            ended=Count("runs__responses", filter=~Q(runs__responses__status=Status.PENDING)),
        )
        .order_by("code")
    )
    return render(request, "runs/waves.html", {"waves": rows})


@require_safe
@maintainer_required
def wave(request: HttpRequest, code: str) -> HttpResponse:
    """The plan of a wave and its progress. The progress alone, where only that is asked for."""
    found = get_object_or_404(Wave.objects.select_related("bank"), code=code)
    progress = progress_of(found)
    context = {
        "wave": found,
        "progress": progress,
        "still": "still" in request.GET,
        # A page says aloud what is new since it last spoke, and not the same every 5 seconds.
        "news": request.GET.get("told", progress.milestone) != progress.milestone,
    }
    # The page asks for its own address again: htmx gets the part that changes.
    part = "HX-Request" in request.headers
    if not part:
        context["stages"] = stages_of(found)
    return render(request, "runs/_progress.html" if part else "runs/wave.html", context)


@require_POST
@maintainer_required
def start(request: HttpRequest, code: str) -> HttpResponse:
    """Begin asking, and show the progress."""
    found = get_object_or_404(Wave, code=code)
    try:
        if not start_wave(found):
            messages.info(request, "Nothing waits to be asked: this wave has been started.")
    except WaveRefused as why:
        for fault in why.faults:
            messages.error(request, fault)
    return redirect("runs:wave", code=code)
