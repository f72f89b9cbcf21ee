"""From results to a published report: for maintainers, once a wave is unblinded.

Who looks is put on record, and no longer rates in the wave.
"""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from rating import makers_aside  # noqa: F401 - names what is made aside
from rating.aside import figures, is_large
from rating.aside_views import tell, waits
from rating.charts import NARROW, WIDE
from rating.models import Exposure, Role, Saw, User
from rating.pdf import as_pdf
from rating.publications import Correction
from rating.publishing import acts
from rating.publishing.agreed_picture import (
    agreement_caption,
    agreement_picture,
    agreement_sentence,
    tells_ac2,
)
from rating.publishing.content import Content, listed
from rating.publishing.document import document_of
from rating.publishing.evidence import behind, pairs_behind
from rating.publishing.files import as_json, figures_csv
from rating.publishing.health_pictures import shown_of
from rating.publishing.pictures import (
    differences_picture,
    parity_picture,
    ranges_picture,
    ranges_sentence,
    shared_in,
)
from rating.unblinding_views import ReasonForm
from runs.access import role_required
from runs.canonical import digest
from runs.models import Instrument, Wave
from runs.taxonomy import DIMENSIONS

NEWER = "Newer figures are being worked out. Read them when they are there, then publish."
PUBLISHED = "The report is published. Anyone may read it from now on."
CORRECTED = "The correction stands below the report."
KEPT = 86_400  # seconds
PARITY_CAPTION = (
    "● gap shown, ◆ parity shown, ◈ both, ○ undetermined. The thin line is a 95% interval over "
    "pairs like these, the thick one 90%, and the band lies within the margin that counts as equal. "
    "A gap counts after correction for all chambers asked (Holm), and parity only if it holds with "
    "every lost reply at the lowest level. Reply length, order and drift stand under Confounds."
)


class StaffRequest(HttpRequest):
    user: User


class PublishForm(ReasonForm):
    read = forms.BooleanField(
        label="I have read the whole report, and anyone may read it from now on",
        error_messages={"required": "Tick that you have read the report."},
    )


class CorrectForm(forms.Form):
    text = forms.CharField(
        max_length=2000,
        label="What was wrong, and how it is",
        help_text="It stands below the report with today’s date. Neither is ever changed.",
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": "Say what was wrong, and how it is."},
    )


@require_safe
@role_required(Role.MAINTAINER)
@waits
def results(request: StaffRequest, wave: str) -> HttpResponse:
    """What came of each subject, from A to Z, or of each chamber: what may be stated, no more."""
    return _show(request, wave, "rating/results.html")


@require_safe
@role_required(Role.MAINTAINER)
@waits
def parity(request: StaffRequest, wave: str) -> HttpResponse:
    """The eight chambers of each subject."""
    if _wave(wave).bank.instrument != Instrument.UNCONDITIONALITY:
        raise Http404
    return _show(request, wave, "rating/parity.html")


@require_safe
@role_required(Role.MAINTAINER)
@waits
def health(request: StaffRequest, wave: str) -> HttpResponse:
    """Where the five tests stand that could refute the method."""
    return _show(request, wave, "rating/health.html")


@require_safe
@role_required(Role.MAINTAINER)
@waits
def gate(request: StaffRequest, wave: str) -> HttpResponse:
    """Each condition of an official wave, with its evidence and what is missing."""
    found = _wave(wave)
    worked_out = figures("gate", found)
    if request.method == "GET":
        _record(request, found, Saw.FIGURES)
    tell(request, worked_out)
    return render(request, "rating/gate.html", {"wave": found, "gate": worked_out.value})


@require_safe
@role_required(Role.MAINTAINER)
def why(request: StaffRequest, wave: str) -> HttpResponse:
    """The ratings and quotes that a figure rests on: ``subject``, ``condition`` and ``in``."""
    found = _wave(wave)
    if found.unblinded_at is None:
        raise Http404
    subject, condition = request.GET.get("subject", ""), request.GET.get("condition", "")
    within = request.GET.get("in", "")
    run = found.runs.filter(subject__code=subject, condition=condition).first()
    if run is None:
        raise Http404
    if request.method == "GET":
        _record(request, found, Saw.SUBJECTS, Saw.RATINGS)
    context: dict[str, Any] = {
        "wave": found,
        "subject": subject,
        "condition": condition,
        "within": within,
    }
    chambers = {str(row["code"]): row["name"] for row in found.bank.meta.get("chambers", [])}
    if within in chambers:
        context |= {
            "place": chambers[within],
            "pairs": pairs_behind(found, subject, condition, within),
        }
    else:
        place = DIMENSIONS[within].name if within in DIMENSIONS else "all dimensions"
        context |= {
            "place": place,
            "page": behind(found, subject, condition, within, request.GET.get("page", "1")),
        }
    return render(request, "rating/why.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.MAINTAINER)
@waits
def report(request: StaffRequest, wave: str) -> HttpResponse:
    """The whole report as it would be published; publish it; correct it afterwards."""
    found = _wave(wave)
    data = request.POST if request.method == "POST" else None
    form: forms.Form = CorrectForm(data) if found.published_at else PublishForm(data)
    if found.unblinded_at is None or data is None:
        if found.unblinded_at and not found.published_at and is_large(found):
            # What the form would publish is there before anybody fills it in.
            figures("publishable", found)
        return _show(request, wave, "rating/whole_report.html", form=form)
    # The page may have shown the other form: nobody publishes who thought to correct.
    if data.get("do") != ("correct" if found.published_at else "publish"):
        form.add_error(None, "This has moved on since you opened the page. See how it stands now.")
        return _show(request, wave, "rating/whole_report.html", form=form, status=409)
    if form.is_valid():
        try:
            _act(found, request.user, form)
        except acts.Refused as refused:
            form.add_error(None, str(refused))
        else:
            messages.info(request, PUBLISHED if isinstance(form, PublishForm) else CORRECTED)
            return redirect("rating:whole_report", wave=found.code)
    return _show(request, wave, "rating/whole_report.html", form=form, status=422)


@require_safe
@role_required(Role.MAINTAINER)
@waits
def report_file(request: StaffRequest, wave: str, name: str) -> HttpResponse:
    """A file of the report before it is published, or the internal bundle."""
    found = _wave(wave)
    if found.unblinded_at is None:
        raise Http404
    made = _file(found, name)
    if request.method == "GET":
        # The bundle holds every rating with its quotes.
        also = (Saw.RATINGS,) if name.endswith(".zip") else ()
        _record(request, found, Saw.SUBJECTS, *also)
    return attachment(*made, f"{found.code}-{name}")


def _file(wave: Wave, name: str) -> tuple[str | bytes, str]:
    """The body and the type of a file of the report."""
    if name == "report.json":
        return as_json(figures("content", wave).value), "application/json"
    if name == "figures.csv":
        return figures_csv(figures("content", wave).value), "text/csv"
    if name == "report.pdf":
        content = figures("content", wave).value
        return pdf_of(content, wave, timezone.now()), "application/pdf"
    if name == "internal.zip":
        return figures("bundle", wave).value, "application/zip"
    raise Http404


def pdf_of(content: Content, wave: Wave, made_at: datetime) -> bytes:
    """The report for paper, with its corrections."""
    corrections = [(one.corrected_at, one.text) for one in Correction.objects.filter(wave=wave)]
    return as_pdf(document_of(content, corrections, made_at))


def attachment(body: str | bytes, kind: str, name: str) -> HttpResponse:
    """A file to keep."""
    text = "; charset=utf-8" if isinstance(body, str) else ""
    return HttpResponse(
        body,
        content_type=f"{kind}{text}",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def context_of(content: Content, wave: Wave) -> dict[str, Any]:
    """What the templates of a report want beside the wave."""
    corrections = list(Correction.objects.filter(wave=wave))
    return {
        "report": content,
        "pictures": pictures_of(content),
        "moments": {
            name: datetime.fromisoformat(value)
            for name, value in content["wave"].items()
            if name.endswith("_at") and value
        },
        "primary": next((one["condition"] for one in content["conditions"] if one["primary"]), ""),
        "listed": listed(content["results"]) if content["results"] else [],
        "corrections": corrections,
        "corrected_at": corrections[-1].corrected_at if corrections else None,
    }


def pictures_of(content: Content) -> dict[str, Any]:
    """The pictures of a report in both widths, kept as long as it says the same."""
    parts = ("results", "parity", "agreement", "health")
    drawn_from = [content.get(part) for part in parts]
    key = "pictures:" + digest(drawn_from)
    kept: dict[str, Any] | None = cache.get(key)
    if kept is None:
        kept = _drawn(content)
        cache.set(key, kept, KEPT)
    return kept


def _drawn(content: Content) -> dict[str, Any]:
    found: dict[str, Any] = {
        "parity": [],
        "parity_caption": PARITY_CAPTION,
        "tests": shown_of(content),
    }
    if tells_ac2(agreement := content["agreement"]):
        found |= {
            "agreement": agreement_picture(agreement),
            "agreement_narrow": agreement_picture(agreement, width=NARROW),
            "agreement_sentence": agreement_sentence(agreement),
            "agreement_caption": agreement_caption(agreement),
        }
    if results := content["results"]:
        found["ranges_sentence"] = ranges_sentence(results)
        shared = shared_in(results)
        names = f"The names of all models begin with {shared}, left out here. " if shared else ""
        found["ranges_caption"] = (
            f"95% ranges over {results['replicates']:,} draws of items within their dimension, the "
            f"same for every model. Seed {results['seed']}. {names}{results['caption']}"
        )
        found["differences_caption"] = f"{names}{results['caption']}"
        levels = content["wave"]["levels"]
        for name, width in (("", WIDE), ("_narrow", NARROW)):
            found[f"ranges{name}"] = ranges_picture(results, levels, width=width)
            if results["comparisons"]:
                found[f"differences{name}"] = differences_picture(results, width=width)
    for number, one in enumerate(content["parity"], start=1):
        wide, narrow = (
            parity_picture(one, width=width, name=f"parity-{number}") for width in (WIDE, NARROW)
        )
        found["parity"].append({"of": one, "wide": wide, "narrow": narrow})
    return found


def _act(wave: Wave, by: User, form: forms.Form) -> None:
    said, now = form.cleaned_data, timezone.now()
    if isinstance(form, PublishForm):
        made = figures("publishable", wave)
        if made.again:
            raise acts.Refused(NEWER)
        acts.publish(wave, by, said["reason"], now=now, prepared=made.value)
    else:
        acts.correct(wave, by, said["text"], now=now)


def _show(
    request: StaffRequest,
    code: str,
    template: str,
    *,
    form: forms.Form | None = None,
    status: int = 200,
) -> HttpResponse:
    """One of the pages of a report, or what is missing before there can be one."""
    wave = _wave(code)
    context: dict[str, Any] = {"wave": wave, "missing": acts.missing_for(wave), "form": form}
    if not context["missing"]:
        worked_out = figures("content", wave)
        content: Content = worked_out.value
        if request.method != "HEAD":
            _record(request, wave, Saw.SUBJECTS)
        tell(request, worked_out)
        context |= context_of(content, wave) | {"evidence": True}
    return render(request, template, context, status=status)


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)


def _record(request: StaffRequest, wave: Wave, *saw: Saw) -> None:
    Exposure.objects.bulk_create(Exposure(person=request.user, saw=one, wave=wave) for one in saw)
