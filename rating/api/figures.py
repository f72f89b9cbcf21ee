"""Agreement, single ratings and the gate, for programs. Reading is seeing: it is put on record for
the owner of the token, just as a look at the page is, and has the same consequences."""

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from ninja import Router

from rating.agreement_page import declared_floor
from rating.api.door import ApiRequest, Token, wave_of
from rating.api.paging import After, Limit, begin_after, page_of
from rating.api.shapes import GateOut, RatingsPage, WaveAgreementOut
from rating.care import record_look
from rating.exports import agreement_figures
from rating.item_figures import record_figures
from rating.models import Exposure, Rating, Saw
from rating.publishing import acts
from rating.wave_report import export_rows, responses_told

router = Router(tags=["Figures"])
RATINGS = "ratings"


@router.get("/waves/{slug:wave}/agreement", response=WaveAgreementOut, auth=Token("read:agreement"))
def read_agreement(request: ApiRequest, wave: str) -> Any:
    """How far raters agree by now, pooled over all subjects, and in each dimension.

    It is put on record that the owner of the token has seen these figures.
    """
    found = wave_of(request, wave)
    record_figures(request.auth.person, [found])
    record_look(request.auth.person, f"agreement in {found.code} by dimension, by a program")
    return {
        **agreement_figures(found),
        "wave": found.code,
        "counted": True,
        "unblinded": found.unblinded_at is not None,
        "floor": declared_floor(found),
    }


@router.get("/waves/{slug:wave}/gate", response=GateOut, auth=Token("read:agreement"))
def read_gate(request: ApiRequest, wave: str) -> Any:
    """Each condition of an official wave, with its evidence and what is missing.

    It tells the agreement, so it is put on record that the owner of the token has seen it.
    """
    found = wave_of(request, wave)
    record_figures(request.auth.person, [found])
    gate = acts.gate_of_wave(found)
    return {
        "wave": found.code,
        "official": gate.official,
        "comparability": gate.comparability,
        "sentence": gate.sentence,
        "conditions": [
            {
                "name": one.name,
                "met": one.met,
                "evidence": one.evidence,
                "missing": list(one.missing),
            }
            for one in gate.conditions
        ],
        "before_results": acts.missing_for(found),
    }


@router.get("/waves/{slug:wave}/ratings", response=RatingsPage, auth=Token("read:ratings"))
def list_ratings(request: ApiRequest, wave: str, limit: Limit = 50, after: After = "") -> Any:
    """Every rated response with its ratings, in the order of the random codes, which says nothing.

    Whoever has read this no longer rates this wave, as with the file of ratings. Whose response
    each is stands there once the wave is unblinded; until then, responses of an item that one
    subject alone has answered are left out.
    """
    found = wave_of(request, wave)
    told = found.unblinded_at is not None
    saw = (Saw.RATINGS, Saw.SUBJECTS) if told else (Saw.RATINGS,)
    Exposure.objects.bulk_create(
        Exposure(person=request.auth.person, saw=one, wave=found) for one in saw
    )
    of = f"{RATINGS} {found.pk}"
    standing = Rating.objects.filter(response=OuterRef("pk"), superseded_by=None)
    wanted = responses_told(found).filter(Exists(standing))
    if key := begin_after(of, after):
        wanted = wanted.filter(code__gt=UUID(key[0]))
    rows = wanted.only("pk", "code").order_by("code")[: limit + 1]
    responses, following = page_of(of, rows, limit, lambda row: [str(row.code)])
    by_code: dict[str, list[Any]] = {str(row.code): [] for row in responses}
    for one in export_rows(found, only=[row.pk for row in responses]):
        by_code[one.response].append(one)
    return {
        "items": [
            {
                "response": code,
                "item": ratings[0].item,
                "dimension": ratings[0].dimension,
                "subject": ratings[0].subject if told else None,
                "condition": ratings[0].condition if told else None,
                "trial": ratings[0].trial,
                "ratings": sorted(ratings, key=lambda one: (one.rater, one.rated_at)),
            }
            for code, ratings in by_code.items()
            if ratings
        ],
        "next": following,
    }
