"""What anyone may read, without an account: the method, and the reports that were published."""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from rating import public_face
from rating.method_words import CLAIMS, FOUNDING, PROCEDURE, STAGES, carried_over
from rating.publications import Publication
from rating.publishing.files import figures_csv
from rating.publishing_views import attachment, context_of, pdf_of
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


@require_safe
@login_not_required
def report(request: HttpRequest, wave: str) -> HttpResponse:
    """A published report, just as it was published, with what was corrected since."""
    found = _published(wave)
    context = {"publication": found, "wave": found.wave}
    context |= context_of(found.content, found.wave)
    return render(request, "public/report.html", context)


@require_safe
@login_not_required
def download(request: HttpRequest, wave: str, name: str) -> HttpResponse:
    """A file of a published report: all made from what was published then."""
    found = _published(wave)
    if name == "report.json":
        return attachment(found.text, "application/json", f"{wave}-{name}")
    if name == "figures.csv":
        return attachment(figures_csv(found.content), "text/csv", f"{wave}-{name}")
    if name == "report.pdf":
        body = pdf_of(found.content, found.wave, found.published_at)
        return attachment(body, "application/pdf", f"{wave}-{name}")
    if name == "public.zip":
        return attachment(bytes(found.bundle), "application/zip", f"{wave}-{name}")
    raise Http404


def _published(code: str) -> Publication:
    rows = Publication.objects.shown().filter(wave__published_at__isnull=False)
    return get_object_or_404(rows, wave__code=code)
