"""Asking judges, by workers, as replies are asked for: the same providers, limits, holds and reaper.

A message to a worker holds the number of a judge in a round, and nothing else. An answer is stored
once, by the task that holds its row; whoever is killed loses no more than what was on its way.
"""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from rating.blinding import shown
from rating.judges.answers import REFUSALS, NotTaken, read_answer
from rating.judges.planning import as_registered
from rating.judges.prompt import Sent, sent
from rating.judges.rounds import close_if_done, stop
from rating.judges.tables import (
    Answered,
    Found,
    Judgement,
    Judging,
    JudgingState,
    PanelJudge,
    Provenance,
)
from rating.quotes import look
from runs import pacing
from runs.asking import keep_asking, update_rows
from runs.control import MOST_FAILURES
from runs.models import Status
from runs.periodic import BesideWorkers, Periodic
from runs.plan import reply_seed
from runs.prompts import message_hash
from runs.providers import Calls, Outcome, Question, provider_for
from runs.replies import Reply
from runs.tasks import (
    GRACE_SECONDS,
    HOLD,
    REAP_SECONDS,
    WAKE_AGAIN,
    WORK_SECONDS,
    held_by_others,
    paid_for,
    worth_keeping,
)
from runs.wire import RunStopped

log = logging.getLogger(__name__)


def wake(one: PanelJudge) -> None:
    """Have somebody ask a judge what waits for it, once this transaction is through."""
    PanelJudge.objects.filter(pk=one.pk).update(woken_at=timezone.now())
    # A broker that does not answer is no fault of the caller's: the reaper looks again.
    transaction.on_commit(partial(judge_chunk.delay, panel_judge_id=one.pk), robust=True)


def wake_all(judging: Judging) -> None:
    """Wake every judge of a round for which something waits."""
    now = timezone.now()
    for one in PanelJudge.objects.filter(judging=judging):
        if Judgement.objects.filter(panel_judge=one).unheld(now).exists():
            wake(one)


@shared_task
def judge_chunk(*, panel_judge_id: int) -> None:
    """Ask one judge of a round for what is pending, for a while; a next task takes the rest.

    Safe to run twice, and at the same time: a row is stored by the task that holds it.
    """
    related = ("judge__subject", "judging__wave__bank")
    one = PanelJudge.objects.select_related(*related).filter(pk=panel_judge_id).first()
    if one is None or one.judging.state != JudgingState.ASKING:
        return
    work = Judgements(one, uuid4().hex)
    if why := as_registered(one.judging):
        work.stop(why)
        return
    try:
        provider = provider_for(one.judge.subject)
    except RunStopped as stopped:
        work.stop(stopped.reason)
        return
    with Calls(provider) as calls:
        try:
            keep_asking(work, calls, seconds=WORK_SECONDS, grace_seconds=GRACE_SECONDS)
        except RunStopped as stopped:
            work.stop(stopped.reason)
        finally:
            work.let_go()
    if is_left(one, timezone.now()):
        wake(one)


class Judgements:
    """The pending judgements of one judge in a round, as work of one task. See ``runs.asking``."""

    def __init__(self, one: PanelJudge, holder: str) -> None:
        self.one, self.holder = one, holder
        self.judging, self.judge = one.judging, one.judge

    def claim(self, held: int) -> tuple[list[Judgement], int]:
        now = timezone.now()
        with transaction.atomic():
            state = _locked_state(self.judging)
            limit = pacing.locked_limit(self.judge)
            others = held_by_others(self.judge, self.holder, now)
            room = max(pacing.in_flight_of(limit) - others, 0)
            wanted = 2 * room - held
            if state != JudgingState.ASKING or wanted <= 0:
                return [], room
            rows = list(
                Judgement.objects.filter(panel_judge=self.one)
                .unheld(now)
                .order_by("position", "pk")
                .select_related("response__item")
                .prefetch_related("response__item__anchors")
                .select_for_update(skip_locked=True, of=("self",))[:wanted]
            )
            guessed = [self._guessed(row) if limit.tokens_a_minute else 0 for row in rows]
            begin = pacing.take(limit, guessed, now)
            rows = rows[: len(begin)]
            for row, at in zip(rows, begin, strict=True):
                row.begins_at = at  # type: ignore[attr-defined]
            keys = [row.pk for row in rows]
            Judgement.objects.filter(pk__in=keys).update(
                held_by=self.holder, held_until=now + HOLD, asked_at=now
            )
        return rows, room

    def question(self, row: Judgement) -> Question:
        asked = self._sent(row)
        row.message_hash = message_hash(list(asked.messages))
        seed = reply_seed(str(self.judging), self.judge.name, f"{row.response.code}", row.number)
        return Question(asked.messages, seed, getattr(row, "begins_at", None))

    def store(self, ended: Sequence[tuple[Judgement, Outcome]]) -> int:
        """Keep what has ended, in one transaction; say how many rows were no longer this task's."""
        now = timezone.now()
        read = {
            row.pk: columns_of(row, self._sent(row), outcome)
            for row, outcome in ended
            if isinstance(outcome, Reply)
        }
        with transaction.atomic():
            # One after another for each round: else two last answers would each wait for the other's.
            state = _locked_state(self.judging)
            panel_judge = PanelJudge.objects.select_for_update(no_key=True).get(pk=self.one.pk)
            mine = Judgement.objects.filter(state=Answered.PENDING, held_by=self.holder)
            ours = set(
                mine.filter(pk__in=[row.pk for row, _ in ended])
                .select_for_update(of=("self",))
                .values_list("pk", flat=True)
            )
            answered = [(row, outcome) for row, outcome in ended if row.pk in ours]
            kept, failures = worth_keeping(
                [outcome for _, outcome in answered],
                panel_judge.failures_in_a_row,
                asked=state == JudgingState.ASKING,
            )
            columns: dict[UUID, dict[str, Any]] = {}
            paid = Counter[str]()
            for (row, outcome), keep in zip(answered, kept, strict=True):
                tokens = paid_for(outcome, self._sent(row).messages)
                paid.update(tokens)
                attempts = [*row.attempts, *outcome.attempts]
                if not keep or isinstance(outcome, RunStopped):
                    mine.filter(pk=row.pk).update(attempts=attempts, held_by="", held_until=None)
                    continue
                columns[row.pk] = {
                    **read[row.pk],
                    "attempts": attempts,
                    "message_hash": row.message_hash,
                    "tokens_in": tokens["in"],
                    "tokens_out": tokens["out"],
                    "answered_at": now,
                    "held_by": "",
                    "held_until": None,
                }
            update_rows(Judgement, columns)
            self._settle_limits(answered, now)
            PanelJudge.objects.filter(pk=self.one.pk).update(
                failures_in_a_row=failures,
                tokens_in=F("tokens_in") + paid["in"],
                tokens_out=F("tokens_out") + paid["out"],
            )
            if close_if_done(self.judging, now=now):
                wake_all(self.judging)
        lost = len(ended) - len(ours)
        if lost:
            log.warning("%s answers in round %s came too late", lost, self.judging.pk)
        return lost

    def is_held_back(self) -> bool:
        return pacing.paces(self.judge) and is_left(self.one, timezone.now())

    def is_asked(self) -> bool:
        found = PanelJudge.objects.values_list("judging__state", "failures_in_a_row")
        state, failures = found.get(pk=self.one.pk)
        if state != JudgingState.ASKING:
            return False
        if failures >= MOST_FAILURES:
            self.stop(
                f"{failures} calls of {self.judge.name} in a row brought nothing. Look at their "
                "faults, mend the cause, and start the round again."
            )
            return False
        return True

    def stop(self, reason: str) -> None:
        log.error("round %s of judging stopped: %s", self.judging.pk, reason)
        stop(self.judging, reason)
        # Whoever starts it again has mended the cause.
        PanelJudge.objects.filter(judging=self.judging).update(failures_in_a_row=0)

    def renew(self, rows: Collection[UUID], *, taking: bool) -> None:
        now = timezone.now()
        Judgement.objects.filter(pk__in=rows, state=Answered.PENDING, held_by=self.holder).update(
            held_until=now + HOLD
        )
        if taking:
            PanelJudge.objects.filter(pk=self.one.pk).update(woken_at=now)

    def let_go(self, rows: Collection[UUID] | None = None) -> None:
        mine = Judgement.objects.filter(
            panel_judge=self.one, state=Answered.PENDING, held_by=self.holder
        )
        if rows is not None:
            mine = mine.filter(pk__in=rows)
        mine.update(held_by="", held_until=None)

    def _sent(self, row: Judgement) -> Sent:
        """What a row sends, made once."""
        made: Sent | None = getattr(row, "sent", None)
        if made is None:
            made = sent_for(self.judging, self.one, row)
            row.sent = made  # type: ignore[attr-defined]
        return made

    def _guessed(self, row: Judgement) -> int:
        return pacing.tokens_of(self._sent(row).messages, self.judge.subject.sampling)

    def _settle_limits(self, ended: Sequence[tuple[Judgement, Outcome]], now: datetime) -> None:
        limit = pacing.limit_of(self.judge)
        if limit is None:
            return
        replies = [(row, one) for row, one in ended if isinstance(one, Reply)]
        pacing.settle(
            limit,
            extra_requests=sum(max(len(reply.attempts) - 1, 0) for _, reply in replies),
            extra_tokens=sum(
                pacing.tokens_beyond(reply.attempts, self._guessed(row)) for row, reply in replies
            ),
            now=now,
        )


def sent_for(judging: Judging, one: PanelJudge, row: Judgement) -> Sent:
    """What a judge is sent for one row: of its response, all that a card shows and nothing else."""
    return sent(
        shown(row.response),
        seed=judging.seed,
        key=f"{judging}|{one.number}|{row.response.code}|{row.provenance}",
        once_more=row.provenance == Provenance.REQUOTED,
    )


NOTHING_READ: dict[str, Any] = {
    "state": "",
    "anchor_id": None,
    "answer": {},
    "quote_given": "",
    "quote_found": "",
    "quote_start": None,
    "quote_end": None,
    "quote_valid": False,
    "reason": "",
    "fault_kind": "",
    "fault": "",
}


def columns_of(row: Judgement, asked: Sent, reply: Reply) -> dict[str, Any]:
    """What a row keeps of a judge's reply: an answer whole, or the fault that it was not used for."""
    kept = {
        **NOTHING_READ,
        "text": reply.text,
        "raw": reply.raw,
        "finish_reason": reply.finish_reason,
        "fingerprint": reply.fingerprint,
    }
    try:
        if reply.status == Status.FAILED:
            raise NotTaken("no-answer", reply.detail or "it was empty")
        if reply.status == Status.FILTERED:
            raise NotTaken("filtered")
        if reply.status == Status.MALFORMED:
            raise NotTaken("unreadable", reply.detail)
        answer = read_answer(reply.text, reply.finish_reason, asked)
    except NotTaken as why:
        state = Answered.REFUSED if why.kind in REFUSALS else Answered.MALFORMED
        if why.kind == "no-answer":
            state = Answered.FAILED
        return {**kept, "state": state, "fault_kind": why.kind, "fault": why.fault}
    seen = look(asked.text, answer.quote)
    how = (Found.VERBATIM if seen.as_written else Found.FOLDED) if seen else Found.NONE
    anchor = next(one for one in row.response.item.anchors.all() if one.level == answer.level)
    return {
        **kept,
        "state": Answered.ANSWERED,
        "anchor_id": anchor.pk,
        "answer": answer.given,
        "quote_given": answer.quote,
        "quote_found": how,
        "quote_start": seen.span.start if seen else None,
        "quote_end": seen.span.end if seen else None,
        "quote_valid": bool(seen and seen.long_enough),
        "reason": answer.reason,
    }


def _locked_state(judging: Judging) -> str:
    state: str = (
        Judging.objects.select_for_update(no_key=True)
        .values_list("state", flat=True)
        .get(pk=judging.pk)
    )
    return state


def is_left(one: PanelJudge, now: datetime) -> bool:
    """Whether a judge that is asked has rows that nobody holds, and room to ask them."""
    rows = Judgement.objects.filter(panel_judge=one, judging__state=JudgingState.ASKING)
    if not rows.unheld(now).exists():
        return False
    return held_by_others(one.judge, "", now) < pacing.in_flight_of(pacing.limit_of(one.judge))


def calls_held(*, subject_id: int, holder: str, now: datetime, **_: Any) -> int:
    """How many judgements of a subject others hold: its runs share its limits with its judging."""
    rows = Judgement.objects.filter(
        panel_judge__judge__subject=subject_id, judging__state=JudgingState.ASKING
    )
    return rows.pending().filter(held_until__gte=now).exclude(held_by=holder).count()


def wake_what_is_left() -> list[int]:
    """Wake a task for each judge that has work and nobody; return those that were woken."""
    now = timezone.now()
    asleep = PanelJudge.objects.filter(
        Q(woken_at=None) | Q(woken_at__lt=now - WAKE_AGAIN), judging__state=JudgingState.ASKING
    )
    woken = []
    for one in asleep.select_related("judge"):
        if is_left(one, now) and asleep.filter(pk=one.pk).update(woken_at=now):
            judge_chunk.delay(panel_judge_id=one.pk)
            woken.append(one.pk)
    return woken


def reaper() -> Periodic:
    """Looks every second for judging that nobody does: a killed worker leaves its own."""
    return Periodic("reaper of judging", REAP_SECONDS, wake_what_is_left)


reapers = BesideWorkers(reaper)
