"""Where a wave stands: what a page and a command say of it."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum
from typing import Any, Final

from django.db.models import Count, F, Max, Min, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from runs.models import Item, Provider, Response, Run, RunState, Status, Wave

RECENT: Final = 500  # replies of a wave among which retries are looked for
FAULT: Final = ("pk", "completed_at", "run__subject__code", "item__code", "trial", "attempts")
MINUTE = timedelta(seconds=60)
GOOD = {"completed", "imported"}


@dataclass(frozen=True)
class RunProgress:
    """One run, by how its trials ended."""

    subject: str
    condition: str
    provider: str
    state: str
    stop_reason: str
    counts: dict[str, int]
    pk: int = 0
    per_second: float = 0.0
    cost: float | None = None
    fingerprints: tuple[dict[str, str], ...] = ()

    @property
    def changed(self) -> str:
        """What to say where the service's fingerprint has changed within the run; else nothing."""
        if len(self.fingerprints) < 2:
            return ""
        last = self.fingerprints[-1]
        return (
            f"its service changed while it was asked: {len(self.fingerprints)} fingerprints, "
            f"{last['fingerprint']} since {last['at'][:16].replace('T', ' ')} UTC"
        )

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def seconds_left(self) -> int | None:
        pending = self.counts[Status.PENDING]
        if self.state != RunState.ASKING or not (pending and self.per_second):
            return None
        return round(pending / self.per_second)

    @property
    def time_left(self) -> str:
        return in_words(self.seconds_left)

    @property
    def not_asked(self) -> int:
        """Trials that never will be asked, since the run was cancelled."""
        return self.counts[Status.PENDING] if self.state == RunState.CANCELLED else 0

    @property
    def ended(self) -> int:
        return self.total - self.counts[Status.PENDING]

    def bar(self) -> list[dict[str, Any]]:
        """The parts of a bar 100 wide, each with its place; those of nothing left out."""
        parts, x = [], 0.0
        for status in (
            Status.COMPLETED,
            Status.FILTERED,
            Status.FAILED,
            Status.MALFORMED,
            Status.PENDING,
        ):
            width = 100 * self.counts[status] / self.total if self.total else 0
            if width:
                parts.append({"status": status.value, "x": round(x, 3), "width": round(width, 3)})
            x += width
        return parts


@dataclass(frozen=True)
class Fault:
    """One attempt that brought no reply to rate."""

    at: Any
    kind: str
    detail: str
    subject: str
    item: str
    trial: int


@dataclass(frozen=True)
class Progress:
    items: int
    trials: int
    runs: tuple[RunProgress, ...]
    per_second: float
    seconds_left: int | None
    faults: tuple[Fault, ...]
    named: int = 0
    undecided: int = 0
    cost: float | None = None
    ceiling: float | None = None
    currency: str = ""

    @property
    def counts(self) -> dict[str, int]:
        return {status.value: sum(run.counts[status] for run in self.runs) for status in Status}

    @property
    def total(self) -> int:
        return sum(run.total for run in self.runs)

    @property
    def ended(self) -> int:
        return sum(run.ended for run in self.runs)

    @property
    def percent(self) -> int:
        return 100 * self.ended // self.total if self.total else 0

    @property
    def milestone(self) -> str:
        """Changes with each quarter that is done, and with the state: what is worth a word."""
        return f"{self.percent // 25 * 25}-{self.state}"

    @property
    def time_left(self) -> str:
        return in_words(self.seconds_left)

    @property
    def asking(self) -> bool:
        return any(run.state == RunState.ASKING for run in self.runs)

    @property
    def state(self) -> str:
        """The wave's state, from those of its runs: what most needs a look comes first."""
        states = {run.state for run in self.runs}
        for state in (RunState.STOPPED, RunState.PAUSED, RunState.ASKING, RunState.PLANNED):
            if state in states:
                return state.value
        if states == {RunState.CANCELLED}:
            return RunState.CANCELLED.value
        return RunState.DONE.value if states else "draft"

    def of_state(self, *states: str) -> list[RunProgress]:
        return [run for run in self.runs if run.state in states]

    @property
    def startable(self) -> bool:
        return any(
            run.state in (RunState.PLANNED, RunState.STOPPED) and run.provider != Provider.IMPORT
            for run in self.runs
        )

    @property
    def fault_kinds(self) -> list[tuple[str, int]]:
        return sorted(Counter(fault.kind for fault in self.faults).items())


def in_words(seconds: int | None) -> str:
    """A time that is left, as precise as it is known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {seconds} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 120 else f"about {round(minutes / 60)} h"


def counts_of_waves() -> dict[int, tuple[int, int]]:
    """How many trials each wave has, and how many have ended: by an index alone, however many."""
    wave_of = dict(Run.objects.values_list("pk", "wave"))
    total: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    # Rows are counted, not their numbers: those are not in the index.
    by_run = Response.objects.order_by().values_list("run", "status").annotate(n=Count("*"))
    for run, status, count in by_run:
        total[wave_of[run]] += count
        ended[wave_of[run]] += count if status != Status.PENDING else 0
    return {wave: (count, ended[wave]) for wave, count in total.items()}


def progress_of(wave: Wave) -> Progress:
    """How far a wave has come, in a fixed number of questions to the database."""
    now = timezone.now()
    rates = _rates(wave, now)
    costs = wave.costs
    counts: Counter[tuple[int, str]] = Counter()
    asked = Response.objects.of_wave(wave).order_by().values_list("run", "status")
    for run_id, status, count in asked.annotate(n=Count("*")):
        counts[run_id, status] = count
    runs = tuple(
        RunProgress(
            subject=run.subject.code,
            condition=run.condition,
            provider=run.subject.provider,
            state=run.state,
            stop_reason=run.stop_reason,
            counts={status.value: counts[run.pk, status.value] for status in Status},
            fingerprints=tuple(run.fingerprints),
            pk=run.pk,
            per_second=rates.get(run.pk, 0.0),
            cost=(
                price.of(run.tokens_in, run.tokens_out)
                if (price := costs.prices.get(run.subject.snapshot))
                else None
            ),
        )
        for run in Run.objects.filter(wave=wave)
        .select_related("subject")
        .order_by("subject__code", "condition")
    )
    naming = Response.objects.of_wave(wave).exclude(self_naming=[])
    named = naming.aggregate(all=Count("pk"), open=Count("pk", filter=Q(mask_decided_at=None)))
    per_second = sum(run.per_second for run in runs)
    left = sum(run.counts[Status.PENDING] for run in runs if run.state == RunState.ASKING)
    return Progress(
        items=Item.objects.served().filter(bank=wave.bank_id).count(),
        trials=wave.trials,
        runs=runs,
        per_second=per_second,
        seconds_left=round(left / per_second) if left and per_second else None,
        faults=faults_of(wave),
        named=named["all"],
        undecided=named["open"],
        cost=fsum(paid) if (paid := [run.cost for run in runs if run.cost is not None]) else None,
        ceiling=None if wave.cost_ceiling is None else float(wave.cost_ceiling),
        currency=costs.currency,
    )


def _rates(wave: Wave, now: datetime) -> dict[int, float]:
    """Replies a second over the last minute, by run."""
    recent = (
        Response.objects.of_wave(wave)
        .filter(completed_at__gt=now - MINUTE, run__state__in=[RunState.ASKING, RunState.DONE])
        .order_by()
        .values_list("run")
        .annotate(count=Count("pk"), first=Min("completed_at"))
    )
    # In its first minute a run has not had a minute to count in.
    return {run: n / max((now - first).total_seconds(), 1.0) for run, n, first in recent}


def faults_of(wave: Wave, most: int = 20) -> tuple[Fault, ...]:
    """The last attempts that went wrong, newest first.

    Also those that a retry made good, as far as they are among the last ``RECENT`` replies.
    """
    found = {
        row[0]: row
        for part in (_without_reply(wave, most), _tried_again(wave), _begun(wave, most))
        for row in part
    }
    # Those that still wait come first, as they did when the database put them in order.
    newest = sorted(
        found.values(), key=lambda row: (row[1] is None, row[1] or wave.created_at, row[0])
    )
    rows = [row[2:] for row in newest[: -2 * most - 1 : -1]]
    faults = [
        Fault(
            at=parse_datetime(attempt["at"]),
            kind=attempt["outcome"],
            detail=attempt["detail"],
            subject=subject,
            item=item,
            trial=trial,
        )
        for subject, item, trial, attempts in rows
        for attempt in attempts
        if attempt["outcome"] not in GOOD
    ]
    return tuple(sorted(faults, key=lambda fault: fault.at, reverse=True)[:most])


def _without_reply(wave: Wave, most: int) -> list[Any]:
    """The last of each run that ended without a reply, each found by an index."""
    ended = [Status.FILTERED, Status.FAILED, Status.MALFORMED]
    rows = Response.objects.of_wave(wave).filter(status__in=ended)
    return list(rows.order_by("-completed_at", "-pk").values_list(*FAULT)[: 2 * most])


def _tried_again(wave: Wave) -> list[Any]:
    """Those among the last replies that took more than one attempt."""
    last = Response.objects.of_wave(wave).filter(completed_at__isnull=False)
    # So many of one run alone came since then: what came before it cannot be among the last of all.
    of_run = Response.objects.filter(run=OuterRef("pk"), completed_at__isnull=False)
    nth = of_run.order_by("-completed_at").values("completed_at")[RECENT - 1 : RECENT]
    since = Run.objects.filter(wave=wave).aggregate(at=Max(Subquery(nth)))["at"]
    if since:
        last = last.filter(completed_at__gte=since)
    pks = last.order_by("-completed_at", "-pk").values_list("pk", flat=True)[:RECENT]
    again = Response.objects.filter(pk__in=pks, attempts__1__isnull=False)
    return list(again.values_list(*FAULT))


def _begun(wave: Wave, most: int) -> list[Any]:
    """Those that were tried and still wait."""
    rows = Response.objects.of_wave(wave).pending().exclude(attempts=[])
    # The number is reckoned with, so that the few are put in order: along its index all are read.
    return list(rows.order_by(-1 * F("pk")).values_list(*FAULT)[: 2 * most])
