"""What people do with a round of judging that is registered: begin it, and ask for quotes again."""

from django.db import transaction
from django.utils import timezone

from rating.judges.asking import wake_all
from rating.judges.planning import JudgingRefused, as_registered, tell
from rating.judges.rounds import locked, supersede, to_ask_again
from rating.judges.tables import Judging, JudgingState, Provenance
from runs.providers import missing_key


def start(judging: Judging, *, by: int | None = None) -> Judging:
    """Begin to ask, or go on after a stop. Raises ``JudgingRefused``."""
    with transaction.atomic():
        found = locked(judging)
        if found.state == JudgingState.DONE:
            raise JudgingRefused(
                f"{found} is done. See it with: judge validity {found.wave} {found.code}"
            )
        faults = [
            why
            for one in found.panel.select_related("judge__subject")
            if (why := missing_key(one.judge.subject))
        ]
        if why := as_registered(found):
            faults.append(why)
        if faults:
            raise JudgingRefused(*faults)
        if found.state != JudgingState.ASKING:
            tell("start", found, by)
        found.started_at = found.started_at or timezone.now()
        found.state, found.stop_reason = JudgingState.ASKING, ""
        found.save(update_fields=["started_at", "state", "stop_reason"])
        wake_all(found)
    return found


def requote(judging: Judging, *, by: int | None = None) -> int:
    """Ask each judge once more for what could not be used; return how many answers that is.

    What was answered first is kept, superseded by the new asking. Raises ``JudgingRefused``.
    """
    with transaction.atomic():
        found = locked(judging)
        if found.state != JudgingState.DONE:
            raise JudgingRefused(
                f"{found} is {found.state}: quotes are asked for again once every answer is in."
            )
        if not found.rule.get("requotes"):
            raise JudgingRefused(f"{found} was registered without a second asking for quotes.")
        if why := as_registered(found):
            raise JudgingRefused(why)
        old = list(to_ask_again(found))
        supersede((row, row.panel_judge, Provenance.REQUOTED) for row in old)
        if old:
            Judging.objects.filter(pk=found.pk).update(state=JudgingState.ASKING, ended_at=None)
            tell("requote", found, by, answers=len(old))
            wake_all(found)
    return len(old)
