"""What anyone may read, without an account: the method, and the reports that were published."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rating import public_face
from rating.method_words import CLAIMS, FOUNDING, PROCEDURE, STAGES, carried_over
from runs.models import Instrument


@require_safe
@login_not_required
def about(request: HttpRequest) -> HttpResponse:
    """What this measures and how, with what is counted counted now."""
    reports = public_face.published()
    context = {
        "evaluated": public_face.officially_evaluated(reports),
        "reports": reports,
        "procedure": PROCEDURE,
        "stages": STAGES,
        "founding": FOUNDING,
        "founding_status": public_face.founding_status(),
        "index": public_face.public_bank(Instrument.MODEL_INDEX),
        "pairs": public_face.public_bank(Instrument.UNCONDITIONALITY),
        "carried_over": carried_over(),
        "bands": public_face.bands(),
        "claims": len(CLAIMS),
        "standpoints": public_face.standpoints(reports),
    }
    return render(request, "public/about.html", context)


@require_safe
@login_not_required
def published(request: HttpRequest) -> HttpResponse:
    """Every report that was published, and every correction."""
    return render(request, "public/published.html", {"reports": public_face.published()})
