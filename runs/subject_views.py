"""Subjects, for maintainers: who is asked, what pins each, and what has come of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from runs.access import maintainer_required
from runs.models import Run, Subject, SubjectLimit
from runs.subjects import identity_of, lineage_of

# Shown apart from the rest of the identity, which is a list of names and values.
APART = {"code", "evidence", "predecessor", "change", "registered_at"}
WORDS = {
    "base_url": "Address",
    "access_tier": "Access tier",
    "first_seen_date": "First seen",
    "pinned_by": "Pinned by",
}


@require_safe
@maintainer_required
def subjects(request: HttpRequest) -> HttpResponse:
    """All subjects, from A to Z."""
    rows = Subject.objects.select_related("predecessor").order_by("code")
    flagged = {run.subject_id for run in _flagged()}
    context = {"subjects": [(row, row.pk in flagged) for row in rows]}
    return render(request, "runs/registry.html", context)


@require_safe
@maintainer_required
def subject(request: HttpRequest, code: str) -> HttpResponse:
    """One subject: its identity, its lineage, its limits and its runs."""
    found = get_object_or_404(Subject.objects.select_related("predecessor"), code=code)
    facts = [
        (WORDS.get(name, name.replace("_", " ").capitalize()), _in_words(value))
        for name, value in identity_of(found).items()
        if name not in APART
    ]
    context = {
        "subject": found,
        "facts": facts,
        "lineage": lineage_of(found),
        "successors": found.successors.order_by("code"),
        "limit": SubjectLimit.objects.filter(subject=found).first(),
        "runs": Run.objects.filter(subject=found).select_related("wave").order_by("pk"),
    }
    return render(request, "runs/subject.html", context)


def _flagged() -> list[Run]:
    """The runs in which the fingerprint of the service changed."""
    return [run for run in Run.objects.exclude(fingerprints=[]) if len(run.fingerprints) > 1]


def _in_words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
