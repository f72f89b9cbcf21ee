"""Waves, for programs: which there are, how far each is, and which replies one still waits for."""

from typing import Annotated, Any

from django.db.models import Count, Q
from ninja import Router
from ninja.params.functions import Query

from rating.api.door import ApiRequest, Token, wave_of
from rating.api.paging import After, Limit, begin_after, page_of
from rating.api.problems import Problem
from rating.api.shapes import PendingPage, ProgressOut, WaveOut, WavePage
from rating.models import Slot, SlotState
from runs.models import Provider, Response, Run, Wave
from runs.progress import progress_of
from runs.stages import stages_of

router = Router(tags=["Waves"])
WAVES, PENDING = "waves", "pending"

SubjectName = Annotated[
    str, Query(max_length=420, pattern=r"^[\w.-]+$", description="Its code, as progress has it.")
]
Condition = Annotated[str, Query(max_length=50, pattern=r"^[\w-]+$")]


@router.get("/waves", response=WavePage, auth=Token("read:progress"))
def list_waves(request: ApiRequest, limit: Limit = 50, after: After = "") -> Any:
    """The waves from A to Z: of a token for one wave, that one."""
    wanted = Wave.objects.select_related("bank").defer("preregistration", "leak_check")
    if only := request.auth.token.wave_id:
        wanted = wanted.filter(pk=only)
    if key := begin_after(WAVES, after):
        wanted = wanted.filter(code__gt=key[0])
    found, following = page_of(
        WAVES, wanted.order_by("code")[: limit + 1], limit, lambda one: [one.code]
    )
    return {"items": [_line(one) for one in found], "next": following}


@router.get("/waves/{slug:wave}", response=WaveOut, auth=Token("read:progress"))
def read_wave(request: ApiRequest, wave: str) -> Any:
    """One wave: what was declared, and the stages it has reached."""
    found = wave_of(request, wave)
    return {
        **_line(found),
        "bank_hash": found.bank.content_hash,
        "levels": found.bank.levels,
        "trials": found.trials,
        "seed": found.seed,
        "ranges_only": found.ranges_only,
        "preregistration_hash": found.preregistration_hash,
        "stages": [
            {"name": stage.name, "since": stage.since, "current": stage.current}
            for stage in stages_of(found)
        ],
    }


@router.get("/waves/{slug:wave}/progress", response=ProgressOut, auth=Token("read:progress"))
def read_progress(request: ApiRequest, wave: str) -> Any:
    """How far asking and rating are, as the page of the wave says it."""
    found = wave_of(request, wave)
    told = progress_of(found)
    return {
        "wave": found.code,
        "state": told.state,
        "items": told.items,
        "trials": told.trials,
        "total": told.total,
        "ended": told.ended,
        "counts": told.counts,
        "per_second": round(told.per_second, 2),
        "seconds_left": told.seconds_left,
        "cost": told.cost,
        "ceiling": told.ceiling,
        "currency": told.currency,
        "naming_undecided": told.undecided,
        "rated": _rated(found),
        "runs": [
            {
                "subject": run.subject,
                "condition": run.condition,
                "provider": run.provider,
                "state": run.state,
                "stop_reason": run.stop_reason,
                "counts": run.counts,
                "not_asked": run.not_asked,
                "per_second": round(run.per_second, 2),
                "seconds_left": run.seconds_left,
                "cost": run.cost,
                "fingerprints": len(run.fingerprints),
            }
            for run in told.runs
        ],
    }


@router.get("/waves/{slug:wave}/pending", response=PendingPage, auth=Token("read:progress"))
def list_pending(
    request: ApiRequest,
    wave: str,
    subject: SubjectName,
    condition: Condition = "default",
    limit: Limit = 50,
    after: After = "",
) -> Any:
    """The trials of one imported run that have no reply yet, in the order of its plan."""
    run = run_of(wave_of(request, wave), subject, condition)
    if run.subject.provider != Provider.IMPORT:
        # Nobody need know it of others, and beside single ratings it would tell whose they are.
        raise Problem(
            "refused", f"{run.subject} is asked by workers: nothing of it is sent by a program."
        )
    of = f"{PENDING} {run.pk}"
    wanted = Response.objects.filter(run=run).pending().select_related("item")
    if key := begin_after(of, after):
        wanted = wanted.filter(position__gt=key[0])
    rows = wanted.only("position", "trial", "item__code").order_by("position")[: limit + 1]
    found, following = page_of(of, rows, limit, lambda row: [row.position])
    return {
        "items": [{"item": row.item.code, "trial": row.trial} for row in found],
        "next": following,
    }


def run_of(wave: Wave, subject: str, condition: str) -> Run:
    """A run of a wave by its subject and condition. Raises ``Problem``."""
    run = (
        Run.objects.filter(wave=wave, subject__code=subject, condition=condition)
        .select_related("subject")
        .first()
    )
    if run is None:
        raise Problem("not-found", f"There is no run of {subject} ({condition}) in {wave}.")
    run.wave = wave
    return run


def _line(wave: Wave) -> dict[str, Any]:
    return {
        "code": wave.code,
        "title": wave.title,
        "kind": wave.kind,
        "bank": str(wave.bank),
        "bank_id": wave.bank_id,
        "draft": wave.is_draft,
    }


def _rated(wave: Wave) -> dict[str, int]:
    """How many replies have both ratings, or one: counted in the places of the queue, pooled."""
    places = (
        Slot.objects.filter(wave=wave)
        .order_by()
        .values("response")
        .annotate(rated=Count("pk", filter=Q(state=SlotState.RATED)))
    )
    return places.aggregate(
        responses=Count("response"),
        once=Count("response", filter=Q(rated=1)),
        twice=Count("response", filter=Q(rated=2)),
    )
