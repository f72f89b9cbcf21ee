"""Asking what tells of a subject itself: whether it knew the items, and whether it repeats itself.

Each subject of a wave is asked once, under the condition that is declared first. Questions and
their order follow from the wave's seed. As with replies the database is the only truth: a task
holds rows for some seconds and renews while it lives, and a reaper wakes somebody for the rest.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Final
from uuid import uuid4

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from runs import pacing
from runs.asking import LINGER_SECONDS, RENEW_SECONDS, is_ending
from runs.canonical import draw
from runs.control import over_ceiling, pause
from runs.exposure import (
    ASKED_AT_MOST,
    Material,
    Part,
    ProbeQuestion,
    choice_questions,
    recall_questions,
    score,
)
from runs.models import (
    Bank,
    Item,
    Pair,
    Probe,
    ProbeKind,
    Probing,
    Provider,
    Run,
    RunState,
    Status,
    Wave,
)
from runs.periodic import BesideWorkers, Periodic
from runs.plan import reply_seed
from runs.prompts import Message, message_hash, messages_for
from runs.providers import Calls, Question, missing_key, provider_for
from runs.replies import Reply
from runs.tasks import HOLD, REAP_SECONDS, WAKE_AGAIN, columns_of, paid_for
from runs.wire import RunStopped

log = logging.getLogger(__name__)

SAME_CALLS: Final = 20
#: Whoever pauses or cancels a run means its probes too.
HEEDED: Final = ~Q(run__state__in=[RunState.PAUSED, RunState.CANCELLED])
IN_FLIGHT: Final = 4  # few beside the replies that are asked for at the same time


class ProbesRefused(ValueError):
    """Why the probes of a wave cannot be put, with every reason."""


# What is asked


def begin_probes(wave: Wave) -> list[Run]:
    """Put the probes to each subject that has not had them all; return the runs that are asked.

    Safe to do again: questions that stand are not put twice, and answers stay.

    Raises
    ------
    ProbesRefused
        If a subject could not be asked. Then none is.
    """
    begun = []
    with transaction.atomic():
        # One at a time, so that two who begin at once do not put the questions twice.
        Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)
        runs = [run for run in probed_runs(wave) if not _is(run, RunState.DONE)]
        if runs and (why := over_ceiling(wave)):
            raise ProbesRefused(f"{why} Raise it first, with a reason.")
        if faults := sorted({why for run in runs if (why := missing_key(run.subject))}):
            raise ProbesRefused("\n".join(faults))
        items = materials_of(wave.bank)
        for run in runs:
            probing, new = Probing.objects.get_or_create(run=run)
            if new:
                Probe.objects.bulk_create(_rows(run, items))
            Probing.objects.filter(pk=probing.pk).update(
                state=RunState.ASKING, stop_reason="", ended_at=None
            )
            _end_if_done(run)
            _wake(run)
            begun.append(run)
    return begun


def probed_runs(wave: Wave) -> list[Run]:
    """Of each subject of a wave that can be asked, the run under its first condition."""
    first: dict[int, Run] = {}
    for run in (
        Run.objects.filter(wave=wave)
        .exclude(subject__provider=Provider.IMPORT)
        .select_related("subject", "wave__bank")
        .order_by("pk")
    ):
        first.setdefault(run.subject_id, run)
    return list(first.values())


def materials_of(bank: Bank) -> list[Material]:
    """What questions may be made of: the items that are served, from A to Z."""
    served = Item.objects.served().filter(bank=bank)
    chambers: dict[int, str] = {}
    twins: dict[int, str] = {}
    for pair in Pair.objects.filter(bank=bank).select_related("arm_a", "arm_b"):
        for own, other in ((pair.arm_a, pair.arm_b), (pair.arm_b, pair.arm_a)):
            chambers[own.pk], twins[own.pk] = pair.chamber, other.code
    return [
        Material(
            code=item.code,
            prompt=item.prompt,
            title=str((item.details.get("sourceOnlyFields") or {}).get("title") or ""),
            anchors=tuple((anchor.level, anchor.description) for anchor in item.anchors.all()),
            groups=tuple(
                group
                for group in (item.subdimension, item.dimension, chambers.get(item.pk, ""))
                if group
            ),
            twin=twins.get(item.pk, ""),
            unpublished=item.unpublished,
        )
        for item in served.prefetch_related("anchors").order_by("code")
    ]


def questions_for(run: Run, items: Sequence[Material]) -> dict[ProbeKind, list[ProbeQuestion]]:
    """The questions of both contamination probes to one subject, as the wave's seed draws them."""
    seed = f"{run.wave.seed}|{run.wave.code}|{run.subject.code}"
    return _questions(run.wave.bank, items, seed)


def _questions(
    bank: Bank, items: Sequence[Material], seed: str
) -> dict[ProbeKind, list[ProbeQuestion]]:
    return {
        ProbeKind.RECALL: recall_questions(str(bank), items, seed=seed),
        ProbeKind.CHOICE: choice_questions(str(bank), items, seed=seed),
    }


def repeated_item(wave: Wave) -> Item | None:
    """The item that every subject of a wave is asked again and again: served, and of no topic."""
    return _repeated(wave.bank, f"{wave.seed}|{wave.code}")


def _repeated(bank: Bank, seed: str) -> Item | None:
    able = Item.objects.served().filter(bank=bank, topic="")
    return min(able, key=lambda item: draw(f"{seed}|determinism", item.code), default=None)


def put_to_each(bank: Bank, seed: str) -> tuple[list[str], list[Item]]:
    """What the probes of a plan will put to a subject: questions, and an item as often as it is asked.

    Which items are drawn differs between subjects; how many questions there are hardly does.
    """
    found = _questions(bank, materials_of(bank), seed)
    item = _repeated(bank, seed)
    asked = [question.text for questions in found.values() for question in questions]
    return asked, [item] * SAME_CALLS if item else []


def _rows(run: Run, items: Sequence[Material]) -> Iterable[Probe]:
    by_code = {item.code: item for item in Item.objects.filter(bank=run.wave.bank_id)}
    for kind, questions in questions_for(run, items).items():
        for number, question in enumerate(questions, start=1):
            yield Probe(
                run=run,
                item=by_code[question.item],
                kind=kind,
                part=question.part,
                number=number,
                question=question.text,
                expected=dict(question.expected),
                seed=_seed(run, kind, question.item, question.part, 1),
            )
    if item := repeated_item(run.wave):
        for number in range(1, SAME_CALLS + 1):
            yield Probe(
                run=run,
                item=item,
                kind=ProbeKind.DETERMINISM,
                number=number,
                # The very same each time: what differs is the subject's doing.
                seed=_seed(run, ProbeKind.DETERMINISM, item.code, "", 1),
            )


def _seed(run: Run, kind: str, item: str, part: str, ask: int) -> int:
    return reply_seed(
        f"{run.wave.code}/{run.condition}", run.subject.code, f"{kind}|{part}|{item}", ask
    )


def _question(run: Run, row: Probe) -> Question:
    """What is sent for one row: a conversation of its own, whose hash the row keeps."""
    messages = _messages(run, row)
    row.message_hash = message_hash(messages)
    return Question(tuple(messages), row.seed, getattr(row, "begins_at", None))


def _messages(run: Run, row: Probe) -> list[Message]:
    turns, last = ([], row.question) if row.question else (row.item.turns, row.item.prompt)
    return messages_for(run.system_message, turns, last)


def _guessed_tokens(run: Run, row: Probe) -> int:
    return pacing.tokens_of(_messages(run, row), run.subject.sampling)


def _room_of(run: Run) -> int:
    """How many probes of a run may be on their way at once."""
    return min(IN_FLIGHT, pacing.in_flight_of(pacing.limit_of(run)))


def _is_held_back(run: Run) -> bool:
    """Whether probes are left that wait for a limit of their subject."""
    now = timezone.now()
    left = Probe.objects.filter(run=run).unheld(now).exists()
    return left and _may_be_asked(run) and pacing.paces(run)


# Asking it


@shared_task
def ask_probes(*, run_id: int) -> None:
    """Ask for the pending answers of one run's probes and store them.

    Safe to run twice, and at the same time: a row is stored by the task that holds it.
    """
    run = Run.objects.select_related("subject", "wave").filter(pk=run_id).first()
    if run is None or not _may_be_asked(run):
        return
    try:
        provider = provider_for(run.subject)
    except RunStopped as why:
        _stop(run, why.reason)
        return
    holder = uuid4().hex
    with Calls(provider) as calls:
        try:
            _ask(run, holder, calls, room=_room_of(run))
        finally:
            _let_go(run, holder)


def _ask(run: Run, holder: str, calls: Calls, *, room: int) -> None:
    held: dict[int, Probe] = {}
    renews = monotonic() + RENEW_SECONDS
    while True:
        rows = [] if is_ending() else _claim(run, holder, room - len(held))
        held |= {row.pk: row for row in rows}
        calls.ask([(row.pk, _question(run, row)) for row in rows], room=room)
        # Where a limit of its subject holds it back, this task waits.
        if not held and (is_ending() or not _is_held_back(run)):
            return
        ended = calls.finished(within=0.25, linger=LINGER_SECONDS, most=IN_FLIGHT)
        for pk, outcome in ended.items():
            row = held.pop(pk)
            if isinstance(outcome, RunStopped):
                _stop(run, outcome.reason)
                return
            store(run, holder, row, outcome)
        calls.stored(len(ended))
        if ended and (why := over_ceiling(run.wave)):
            pause(run.wave, why)
            _stop(run, why)
            return
        if monotonic() > renews:
            _renew(run, holder, held)
            renews = monotonic() + RENEW_SECONDS


def _claim(run: Run, holder: str, most: int) -> list[Probe]:
    """Rows that are this task's for a while."""
    if most <= 0:
        return []
    now = timezone.now()
    with transaction.atomic():
        if not _may_be_asked(run):
            return []
        limit = pacing.locked_limit(run)
        rows = list(
            Probe.objects.filter(run=run)
            .unheld(now)
            .order_by("kind", "number", "ask")
            .select_related("item")
            .select_for_update(skip_locked=True, of=("self",))[:most]
        )
        begin = pacing.take(limit, [_guessed_tokens(run, row) for row in rows], now)
        rows = rows[: len(begin)]
        for row, at in zip(rows, begin, strict=True):
            row.begins_at = at  # type: ignore[attr-defined]
        Probe.objects.filter(pk__in=[row.pk for row in rows]).update(
            held_by=holder, held_until=now + HOLD
        )
        Probing.objects.filter(run=run).update(woken_at=now)
    return rows


def store(run: Run, holder: str, row: Probe, reply: Reply) -> bool:
    """Keep an answer with its score, if the row is still this task's; say whether it was.

    One that cannot be read is asked for again, in a row of its own, until it was asked for
    ``ASKED_AT_MOST`` times.
    """
    now = timezone.now()
    paid = paid_for(reply, _messages(run, row))
    with transaction.atomic():
        # One after another for each run: else two last answers would each wait for the other's.
        # The run comes first, as where a wave is started.
        Run.objects.filter(pk=run.pk).update(
            tokens_in=F("tokens_in") + paid["in"], tokens_out=F("tokens_out") + paid["out"]
        )
        Probing.objects.select_for_update().get(run=run)
        mine = Probe.objects.filter(pk=row.pk, status=Status.PENDING, held_by=holder)
        worth = _score(row, reply)
        kept = mine.update(
            **columns_of(reply),
            attempts=[*row.attempts, *reply.attempts],
            message_hash=row.message_hash,
            score=worth,
            completed_at=now,
            held_by="",
            held_until=None,
        )
        _settle_limits(run, row, reply, now)
        unreadable = row.part and reply.status == Status.COMPLETED and worth is None
        if kept and unreadable and row.ask < ASKED_AT_MOST:
            Probe.objects.create(
                run=run,
                item=row.item,
                kind=row.kind,
                part=row.part,
                number=row.number,
                ask=row.ask + 1,
                question=row.question,
                expected=row.expected,
                seed=_seed(run, row.kind, row.item.code, row.part, row.ask + 1),
            )
        _end_if_done(run)
    if not kept:
        log.warning("an answer to a probe of run %s came too late and was dropped", run.pk)
    return bool(kept)


def _settle_limits(run: Run, row: Probe, reply: Reply, now: datetime) -> None:
    if limit := pacing.limit_of(run):
        pacing.settle(
            limit,
            extra_requests=max(len(reply.attempts) - 1, 0),
            extra_tokens=pacing.tokens_beyond(reply.attempts, _guessed_tokens(run, row)),
            now=now,
        )


def _score(row: Probe, reply: Reply) -> float | None:
    if not row.part or reply.status != Status.COMPLETED:
        return None
    anchors = tuple(row.item.anchors.values_list("level", "description"))
    item = Material(row.item.code, row.item.prompt, anchors=anchors)
    return score(Part(row.part), reply.text, item, row.expected)


def _is(run: Run, state: RunState) -> bool:
    return Probing.objects.filter(run=run, state=state).exists()


def _may_be_asked(run: Run) -> bool:
    """Whether probes are on their way, and nobody has paused or cancelled the run they are of."""
    return Probing.objects.filter(HEEDED, run=run, state=RunState.ASKING).exists()


def _end_if_done(run: Run) -> None:
    if not Probe.objects.filter(run=run).pending().exists():
        Probing.objects.filter(run=run).update(state=RunState.DONE, ended_at=timezone.now())


def _stop(run: Run, reason: str) -> None:
    """Ask no more of these, and say why. What is pending stays so."""
    log.error("the probes of run %s stopped: %s", run.pk, reason)
    Probing.objects.filter(run=run, state=RunState.ASKING).update(
        state=RunState.STOPPED, stop_reason=reason, ended_at=timezone.now()
    )


def _renew(run: Run, holder: str, held: Collection[int]) -> None:
    now = timezone.now()
    mine = Probe.objects.filter(pk__in=held, status=Status.PENDING, held_by=holder)
    mine.update(held_until=now + HOLD)
    Probing.objects.filter(run=run).update(woken_at=now)


def _let_go(run: Run, holder: str) -> None:
    Probe.objects.filter(run=run, status=Status.PENDING, held_by=holder).update(
        held_by="", held_until=None
    )


def _wake(run: Run) -> None:
    """Have somebody ask, once this transaction is through."""
    Probing.objects.filter(run=run).update(woken_at=timezone.now())
    # A broker that does not answer is no fault of the caller's: the reaper looks again.
    transaction.on_commit(partial(ask_probes.delay, run_id=run.pk), robust=True)


def wake_what_is_left() -> list[int]:
    """Wake a task for all probes that have work and none; return the runs they are of."""
    now = timezone.now()
    asleep = Probing.objects.filter(
        HEEDED, Q(woken_at=None) | Q(woken_at__lt=now - WAKE_AGAIN), state=RunState.ASKING
    )
    woken = []
    for probing in asleep.select_related("run"):
        left = Probe.objects.filter(run=probing.run).unheld(now).exists()
        if left and asleep.filter(pk=probing.pk).update(woken_at=now):
            ask_probes.delay(run_id=probing.run_id)
            woken.append(probing.run_id)
    return woken


def reaper() -> Periodic:
    """Looks every second for probes that nobody puts: a worker that is killed leaves its own."""
    return Periodic("reaper of probes", REAP_SECONDS, wake_what_is_left)


reapers = BesideWorkers(reaper)
