"""Putting the probes to the subjects of a wave, and what they show, for those who run it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from runs.access import maintainer_required
from runs.models import RunState, Wave
from runs.probed import contamination_of, probes_progress
from runs.probes import probed_runs
from runs.refusals import WaveRefused
from runs.waves import start_probes


@require_POST
@maintainer_required
def probe(request: HttpRequest, code: str) -> HttpResponse:
    """Put the probes to each subject that has not had them, and show the wave."""
    found = get_object_or_404(Wave, code=code)
    try:
        if not start_probes(found):
            messages.info(request, "Every subject that can be asked has had the probes.")
    except WaveRefused as why:
        for fault in why.faults:
            messages.error(request, fault)
    return redirect("runs:wave", code=code)


def probes_context(wave: Wave) -> dict[str, Any]:
    """What the page of a wave says of its probes."""
    progress = {one.subject: one for one in probes_progress(wave)}
    done = {code for code, one in progress.items() if one.state == RunState.DONE}
    asking = {code for code, one in progress.items() if one.state == RunState.ASKING}
    can_be_asked = {run.subject.code for run in probed_runs(wave)}
    return {
        "probe_rows": [
            (subject, progress.get(subject), found)
            for subject, found in contamination_of(wave).items()
        ],
        "probes_startable": bool(can_be_asked - done - asking) and wave.locked_at is not None,
    }
