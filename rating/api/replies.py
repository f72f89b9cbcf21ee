"""Replies that were made elsewhere, sent by a program: the same door as a file of them."""

from typing import Any

from django.conf import settings
from ninja import Router

from rating.api.door import ApiRequest, Token, wave_of
from rating.api.once import Key, once
from rating.api.problems import Problem
from rating.api.shapes import RepliesIn, RepliesOut
from rating.api.waves import run_of
from rating.models import Exposure, Saw
from runs.models import Response
from runs.refusals import WaveRefused
from runs.waves import RowsRefused, store_replies

router = Router(tags=["Replies"])


@router.post(
    "/waves/{slug:wave}/responses", response={201: RepliesOut}, auth=Token("write:responses")
)
def import_responses(request: ApiRequest, wave: str, sent: RepliesIn, idempotency_key: Key) -> Any:
    """Store replies of a run whose subject is imported: all that are sent, or none of them.

    Whoever has sent replies no longer rates this wave: they know whose these are.
    """
    found = wave_of(request, wave)
    if len(sent.responses) > settings.API_ROWS:
        raise Problem(
            "too-large",
            f"{len(sent.responses):,} replies; at most {settings.API_ROWS:,} are taken at once.",
            most=settings.API_ROWS,
        )

    def act() -> tuple[dict[str, Any], dict[str, object]]:
        run = run_of(found, sent.subject, sent.condition)
        try:
            stored = store_replies(
                run,
                enumerate(one.dict() for one in sent.responses),
                of="the request",
                items={one.item for one in sent.responses},
            )
        except RowsRefused as why:
            raise Problem(
                "invalid",
                "None of these replies is stored, since some cannot be.",
                errors=[
                    {"pointer": f"#/responses/{number}", "detail": f"{fault}."}
                    for number, fault in why.rows
                ],
            ) from None
        except WaveRefused as why:
            raise Problem("refused", " ".join(why.faults)) from None
        # Whoever sends it has its words and its maker before them: they do not rate this wave.
        Exposure.objects.create(person=request.auth.person, saw=Saw.SUBJECTS, wave=found)
        answer = {
            "wave": found.code,
            "subject": run.subject.code,
            "condition": run.condition,
            "stored": stored,
            "pending": Response.objects.filter(run=run).pending().count(),
        }
        return answer, {"wave": found.code, "run": run.pk, "replies": stored}

    return once(request, idempotency_key, act)
