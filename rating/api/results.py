"""Results once a wave is unblinded, and the reports that were published, for programs."""

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from ninja import Router

from rating.api.door import ApiRequest, Token, anyone, unchanged, wave_of
from rating.api.paging import After, Limit, begin_after, page_of
from rating.api.problems import Problem
from rating.api.shapes import ReportsPage
from rating.models import Exposure, Saw
from rating.publications import Correction, Publication
from rating.publishing import acts
from rating.publishing.schema import check

router = Router()
REPORTS = "reports"
PUBLIC = "public, no-cache"


@router.get("/waves/{slug:wave}/results", auth=Token("read:results"), tags=["Figures"])
def read_results(request: ApiRequest, wave: str) -> Any:
    """The whole report of an unblinded wave, as it would be published: what may be stated, no more.

    Models that are not told apart have ranges alone, and what is withheld stands with its reason.
    It is put on record that the owner of the token has seen figures by model, who no longer rates
    this wave.
    """
    found = wave_of(request, wave)
    if missing := acts.missing_for(found):
        raise Problem("not-unblinded", " ".join(missing), missing=missing)
    Exposure.objects.create(person=request.auth.person, saw=Saw.SUBJECTS, wave=found)
    content = acts.report_of(found)
    check(content)
    return content


@router.get("/reports", response=ReportsPage, auth=anyone, tags=["Published reports"])
def list_reports(request: ApiRequest, limit: Limit = 50, after: After = "") -> Any:
    """What was published, the newest first, each with its corrections. No token is needed."""
    wanted = Publication.objects.select_related("wave").only(
        "wave__code", "wave__title", "text_hash", "published_at"
    )
    if key := begin_after(REPORTS, after):
        at, pk = datetime.fromisoformat(key[0]), key[1]
        wanted = wanted.filter(Q(published_at__lt=at) | Q(published_at=at, pk__lt=pk))
    found, following = page_of(
        REPORTS,
        wanted.order_by("-published_at", "-pk")[: limit + 1],
        limit,
        lambda one: [one.published_at.isoformat(), one.pk],
    )
    corrections = _corrections([one.wave_id for one in found])
    return {
        "items": [
            {
                "wave": one.wave.code,
                "title": one.wave.title,
                "published_at": one.published_at,
                "sha256": one.text_hash,
                "corrections": corrections.get(one.wave_id, []),
            }
            for one in found
        ],
        "next": following,
    }


@router.get("/reports/{slug:wave}", auth=anyone, tags=["Published reports"])
def read_report(request: ApiRequest, wave: str) -> Any:
    """A published report, byte for byte as report.json. No token is needed.

    The header Corrections says how many were appended since: they stand in the list of reports.
    """
    rows = Publication.objects.filter(wave__code=wave, wave__published_at__isnull=False)
    known = rows.values_list("wave", "text_hash").first()
    if known is None:
        # The code is not given back: this is open to anyone, and names no wave.
        raise Problem("not-found", "No report of a wave with this code is published.")
    of, text_hash = known
    request.told["Corrections"] = str(Correction.objects.filter(wave=of).count())
    if answer := unchanged(request, text_hash):
        return answer
    text = rows.values_list("text", flat=True).get()
    return HttpResponse(
        text,
        content_type="application/json; charset=utf-8",
        headers={"ETag": f'"{text_hash}"', "Cache-Control": PUBLIC},
    )


def _corrections(waves: list[int]) -> dict[int, list[Correction]]:
    found: dict[int, list[Correction]] = {}
    for one in Correction.objects.filter(wave__in=waves).order_by("pk"):
        found.setdefault(one.wave_id, []).append(one)
    return found
