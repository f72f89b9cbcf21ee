"""Fetching replies. The database is the only truth: a message is a wake-up and may be lost.

A task holds the rows it works on for a few seconds at a time and renews while it lives. Whoever
is killed stops renewing, and the reaper in any worker wakes somebody for what was left.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from runs import pacing
from runs.asking import keep_asking, update_rows
from runs.control import MOST_FAILURES, heed
from runs.models import Probe, Response, Run, RunState, Status
from runs.periodic import BesideWorkers, Periodic
from runs.preflight import leaks_at_call
from runs.prompts import Message, message_hash, messages_for
from runs.providers import Calls, Outcome, Question, provider_for
from runs.replies import Reply
from runs.signals import calls_held, responses_completed
from runs.tokens import tokens_paid
from runs.traces import traces_of
from runs.wire import RunStopped

log = logging.getLogger(__name__)

HOLD = timedelta(seconds=5)
WORK_SECONDS = 120.0
WAKE_AGAIN = timedelta(seconds=2)
REAP_SECONDS = 1.0
# How long a call may still take once its run is paused or cancelled.
GRACE_SECONDS = 10.0


def wake(run: Run) -> None:
    """Have somebody ask for what is pending in a run, once this transaction is through."""
    Run.objects.filter(pk=run.pk).update(woken_at=timezone.now())
    # A broker that does not answer is no fault of the caller's: the reaper looks again.
    transaction.on_commit(partial(fetch_chunk.delay, run_id=run.pk), robust=True)


@shared_task
def fetch_chunk(*, run_id: int) -> None:
    """Ask for pending replies of a run and store them, for a while; a next task takes the rest.

    Safe to run twice, and at the same time: a row is stored by the task that holds it.
    """
    related = ("subject", "wave__bank")
    run = Run.objects.select_related(*related).filter(pk=run_id).first()
    if run is None or run.state != RunState.ASKING:
        return
    try:
        provider = provider_for(run.subject)
    except RunStopped as why:
        stop(run, why.reason)
        return
    # Not the message's own id: a broker may hand one message to two workers.
    holder = uuid4().hex
    with Calls(provider) as calls:
        try:
            keep_asking(
                Replies(run, holder), calls, seconds=WORK_SECONDS, grace_seconds=GRACE_SECONDS
            )
        except RunStopped as why:
            stop(run, why.reason)
        finally:
            let_go(run, holder)
    if is_left(run, timezone.now()):
        wake(run)


class Replies:
    """The replies of one run, as work of one task. See ``runs.asking``."""

    def __init__(self, run: Run, holder: str) -> None:
        self.run, self.holder = run, holder

    def claim(self, held: int) -> tuple[list[Response], int]:
        return claim(self.run, self.holder, held)

    def question(self, row: Response) -> Question:
        return question_of(self.run, row)

    def store(self, ended: Sequence[tuple[Response, Outcome]]) -> int:
        return store(self.run, self.holder, ended)

    def is_held_back(self) -> bool:
        return is_held_back(self.run)

    def is_asked(self) -> bool:
        return heed(self.run)

    def stop(self, reason: str) -> None:
        stop(self.run, reason)

    def renew(self, rows: Collection[int], *, taking: bool) -> None:
        renew(self.run, self.holder, rows, taking=taking)

    def let_go(self, rows: Collection[int]) -> None:
        let_go(self.run, self.holder, rows)


def question_of(run: Run, row: Response) -> Question:
    """What is sent for one row, whose hash the row keeps.

    Raises
    ------
    RunStopped
        If it holds what nobody who is asked may see.
    """
    messages = messages_of(run, row)
    if leaks := leaks_at_call(run, row.item, messages):
        raise RunStopped(" ".join(leaks))
    row.message_hash = message_hash(messages)
    return Question(tuple(messages), row.seed, getattr(row, "begins_at", None))


def claim(run: Run, holder: str, held: int) -> tuple[list[Response], int]:
    """Rows that are this task's for a while, and how many it may have in flight.

    The calls in flight are shared by all that ask the run's subject: what others hold counts. As
    many again are claimed ahead, so that a place that becomes free is filled without a trip to the
    database. Each row says when its call may begin.
    """
    now = timezone.now()
    with transaction.atomic():
        (state,) = Run.objects.select_for_update(no_key=True).values_list("state").get(pk=run.pk)
        limit = pacing.locked_limit(run)
        room = max(pacing.in_flight_of(limit) - held_by_others(run, holder, now), 0)
        wanted = 2 * room - held
        if state != RunState.ASKING or wanted <= 0:
            return [], room
        rows = list(
            Response.objects.filter(run=run)
            .unheld(now)
            .order_by("position")
            .select_related("item")
            .select_for_update(skip_locked=True, of=("self",))[:wanted]
        )
        costs = [guessed_tokens(run, row) if limit.tokens_a_minute else 0 for row in rows]
        begin = pacing.take(limit, costs, now)
        rows = rows[: len(begin)]
        for row, at in zip(rows, begin, strict=True):
            row.begins_at = at  # type: ignore[attr-defined]
        Response.objects.filter(pk__in=[row.pk for row in rows]).update(
            held_by=holder, held_until=now + HOLD
        )
    return rows, room


def store(run: Run, holder: str, ended: Sequence[tuple[Response, Outcome]]) -> int:
    """Keep what has ended, in one transaction; say how many rows were no longer this task's.

    Whoever stalled for so long that another took over stores nothing, so nothing is stored twice.
    """
    now = timezone.now()
    traces = {
        row.pk: traces_of(run, row.item, outcome.text)
        for row, outcome in ended
        if isinstance(outcome, Reply)
    }
    with transaction.atomic():
        # One after another for each run: else two last batches would each wait for the other's.
        state, failures = (
            Run.objects.select_for_update(no_key=True)
            .values_list("state", "failures_in_a_row")
            .get(pk=run.pk)
        )
        mine = Response.objects.filter(status=Status.PENDING, held_by=holder)
        ours = set(
            mine.filter(pk__in=[row.pk for row, _ in ended])
            .select_for_update()
            .values_list("pk", flat=True)
        )
        answered = [(row, reply) for row, reply in ended if row.pk in ours]
        kept, failures = worth_keeping(
            [outcome for _, outcome in answered], failures, asked=state == RunState.ASKING
        )
        columns: dict[int, dict[str, Any]] = {}
        paid = Counter[str]()
        for (row, outcome), keep in zip(answered, kept, strict=True):
            paid.update(paid_for(outcome, messages_of(run, row)))
            attempts = [*row.attempts, *outcome.attempts]
            if not keep or isinstance(outcome, RunStopped):
                mine.filter(pk=row.pk).update(attempts=attempts, held_by="", held_until=None)
                continue
            columns[row.pk] = {
                **columns_of(outcome),
                **traces[row.pk],
                "attempts": attempts,
                "message_hash": row.message_hash,
                "completed_at": now,
                "held_by": "",
                "held_until": None,
            }
        update_rows(Response, columns)
        replies = [(row, one) for row, one in answered if isinstance(one, Reply)]
        note_fingerprints(run, [reply.fingerprint for _, reply in replies])
        _settle_limits(run, replies, now)
        Run.objects.filter(pk=run.pk).update(
            failures_in_a_row=failures,
            tokens_in=F("tokens_in") + paid["in"],
            tokens_out=F("tokens_out") + paid["out"],
        )
        tell(run, [pk for pk in columns if columns[pk]["status"] == Status.COMPLETED])
    lost = len(ended) - len(ours)
    if lost:
        log.warning("%s replies of run %s came too late and were dropped", lost, run.pk)
    return lost


def note_fingerprints(run: Run, came: Collection[str]) -> None:
    """Keep each fingerprint with the moment it first came. More than one in a run is a flag."""
    known = {row["fingerprint"] for row in run.fingerprints}
    if not {one for one in came if one} - known:
        return
    # Another task of the run may have seen it first.
    (kept,) = Run.objects.values_list("fingerprints", flat=True).filter(pk=run.pk)
    known = {row["fingerprint"] for row in kept}
    at = timezone.now().isoformat()
    new = [one for one in dict.fromkeys(came) if one and one not in known]
    run.fingerprints = [*kept, *({"fingerprint": one, "at": at} for one in new)]
    if new:
        Run.objects.filter(pk=run.pk).update(fingerprints=run.fingerprints)
        if kept:
            log.warning("run %s: the fingerprint of its subject has changed", run.pk)


def _settle_limits(run: Run, ended: Sequence[tuple[Response, Reply]], now: datetime) -> None:
    limit = pacing.limit_of(run)
    if limit is None:
        return
    pacing.settle(
        limit,
        extra_requests=sum(max(len(reply.attempts) - 1, 0) for _, reply in ended),
        extra_tokens=sum(
            pacing.tokens_beyond(reply.attempts, guessed_tokens(run, row)) for row, reply in ended
        ),
        now=now,
    )


def worth_keeping(
    outcomes: Sequence[Outcome], failures: int, *, asked: bool
) -> tuple[list[bool], int]:
    """Which of these end their trial, and how many in a row have failed after them.

    Once a run is no longer asked, or is about to be paused for its failures, a failed reply tells
    of the outage and not of the trial: it is left to be asked again.
    """
    kept = []
    for outcome in outcomes:
        if isinstance(outcome, RunStopped):
            kept.append(False)
        elif outcome.status not in (Status.FAILED, Status.MALFORMED):
            kept.append(True)
            failures = 0
        elif asked and failures < MOST_FAILURES:
            kept.append(True)
            failures += 1
        else:
            kept.append(False)
    return kept, failures


def paid_for(outcome: Outcome, messages: Sequence[Message]) -> dict[str, int]:
    """The tokens that one trial was paid for, however it ended."""
    if isinstance(outcome, RunStopped):
        return tokens_paid(outcome.attempts, messages)
    return tokens_paid(outcome.attempts, messages, text=outcome.text, usage=outcome.usage)


def columns_of(reply: Reply) -> dict[str, Any]:
    """What a row keeps of a reply."""
    return {
        "status": reply.status,
        "text": reply.text,
        "text_hash": hashlib.sha256(reply.text.encode()).hexdigest() if reply.text else "",
        "raw": reply.raw,
        "finish_reason": reply.finish_reason,
        "fingerprint": reply.fingerprint,
        "usage": reply.usage,
    }


def tell(run: Run, completed: list[int]) -> None:
    """Say what was just stored, and close the run once nothing is pending. In a transaction."""
    if completed:
        responses_completed.send(sender=Response, response_ids=completed)
    if not Response.objects.filter(run=run).pending().exists():
        Run.objects.filter(pk=run.pk).exclude(state=RunState.CANCELLED).update(
            state=RunState.DONE, ended_at=timezone.now()
        )


def stop(run: Run, reason: str) -> None:
    """Ask no more in this run, and say why. Its other rows stay pending."""
    log.error("run %s stopped: %s", run.pk, reason)
    Run.objects.filter(pk=run.pk, state=RunState.ASKING).update(
        state=RunState.STOPPED, stop_reason=reason, ended_at=timezone.now()
    )


def renew(run: Run, holder: str, held: Collection[int], *, taking: bool) -> None:
    """Hold on to these rows; and while more are taken, nobody else need be woken."""
    now = timezone.now()
    Response.objects.filter(pk__in=held, status=Status.PENDING, held_by=holder).update(
        held_until=now + HOLD
    )
    if taking:
        Run.objects.filter(pk=run.pk).update(woken_at=now)


def let_go(run: Run, holder: str, rows: Collection[int] | None = None) -> None:
    """Leave rows to whoever comes next: these, or all that this task holds."""
    mine = Response.objects.filter(run=run, status=Status.PENDING, held_by=holder)
    if rows is not None:
        mine = mine.filter(pk__in=rows)
    mine.update(held_by="", held_until=None)


def is_left(run: Run, now: datetime) -> bool:
    """Whether a run that is being asked has rows that nobody holds, and room to ask them."""
    rows = Response.objects.filter(run=run, run__state=RunState.ASKING)
    if not rows.unheld(now).exists():
        return False
    return held_by_others(run, "", now) < pacing.in_flight_of(pacing.limit_of(run))


def held_by_others(asked: pacing.OfSubject, holder: str, now: datetime) -> int:
    """How many rows of a subject others hold: whoever asks it shares its limits.

    Its probes count, which are few: replies make room for them. So does whatever else it is asked
    for by those who listen, as a judge it may be.
    """
    rows = Response.objects.filter(run__subject=asked.subject_id, run__state=RunState.ASKING)
    probes = Probe.objects.filter(run__subject=asked.subject_id)
    told: list[Any] = calls_held.send(
        sender=Run, subject_id=asked.subject_id, holder=holder, now=now
    )
    own: int = sum(
        held.pending().filter(held_until__gte=now).exclude(held_by=holder).count()
        for held in (rows, probes)
    )
    others: int = sum(count for _, count in told)
    return own + others


def is_held_back(run: Run) -> bool:
    """Whether a run has rows left that wait for a limit of its subject."""
    return pacing.paces(run) and is_left(run, timezone.now())


def guessed_tokens(run: Run, row: Response) -> int:
    """How many tokens the call of a row may take, as its subject's limit counts them."""
    return pacing.tokens_of(messages_of(run, row), run.subject.sampling)


def messages_of(run: Run, row: Response) -> list[Message]:
    """What a row's trial sends."""
    return messages_for(run.system_message, row.item.turns, row.item.prompt)


def wake_what_is_left() -> list[int]:
    """Wake a task for each run that has work and none; return the runs that were woken.

    Every worker does this. One of them wins the update of a run, and wakes it.
    """
    now = timezone.now()
    asleep = Run.objects.filter(
        Q(woken_at=None) | Q(woken_at__lt=now - WAKE_AGAIN), state=RunState.ASKING
    )
    woken = []
    for run in asleep:
        if is_left(run, now) and asleep.filter(pk=run.pk).update(woken_at=now):
            fetch_chunk.delay(run_id=run.pk)
            woken.append(run.pk)
    return woken


def reaper() -> Periodic:
    """Looks every second for work that nobody does: a broker may lose what a killed worker held."""
    return Periodic("reaper", REAP_SECONDS, wake_what_is_left)


reapers = BesideWorkers(reaper)
