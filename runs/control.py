"""Pausing and cancelling runs, and what pauses them by itself.

Workers read a run's state with each batch they store, and at least every other second: they begin
no more calls once it is not asked any longer, and let those on their way end for a little while.
"""

from decimal import Decimal
from typing import Final

from django.db import transaction
from django.utils import timezone

from runs.models import Run, RunState, Wave
from runs.refusals import WaveRefused
from runs.signals import acted

#: So many replies in a row that are none, and a subject is paused.
MOST_FAILURES: Final = 5

CENT: Final = Decimal("0.01")

UNENDED = (RunState.PLANNED, RunState.ASKING, RunState.STOPPED, RunState.PAUSED)


def pause(wave: Wave, reason: str, *, run: Run | None = None, by: int | None = None) -> list[Run]:
    """Ask no more in the runs that are being asked, until they are resumed; return them.

    Doing it twice does it once.
    """
    return _set(wave, "pause", (RunState.ASKING,), RunState.PAUSED, reason, run, by)


def cancel(wave: Wave, reason: str, *, run: Run | None = None, by: int | None = None) -> list[Run]:
    """Ask no more, for good; return the runs. What was not asked stays pending, and is said to."""
    return _set(wave, "cancel", UNENDED, RunState.CANCELLED, reason, run, by)


def _set(
    wave: Wave,
    act: str,
    states: tuple[RunState, ...],
    state: RunState,
    reason: str,
    run: Run | None,
    by: int | None,
) -> list[Run]:
    with transaction.atomic():
        rows = Run.objects.filter(wave=wave, state__in=states)
        # In one order for all: two who pause at once would each wait for the other.
        runs = list(
            (rows.filter(pk=run.pk) if run else rows)
            .select_for_update(no_key=True, of=("self",))
            .select_related("subject", "wave")
            .order_by("pk")
        )
        Run.objects.filter(pk__in=[one.pk for one in runs]).update(
            state=state, stop_reason=reason, ended_at=timezone.now()
        )
        tell_of(act, wave, runs, reason, by)
    return runs


def tell_of(act: str, wave: Wave, runs: list[Run], reason: str, by: int | None) -> None:
    """Say of each of these runs what was done to it. In the transaction that does it."""
    for run in runs:
        acted.send(
            sender=Run,
            act=act,
            by=by,
            about={
                "wave": wave.code,
                "run": run.pk,
                "subject": run.subject.code,
                "condition": run.condition,
                "reason": reason,
            },
        )


def spent(wave: Wave) -> float:
    """What the runs of a wave have cost by the prices in its plan, in its currency."""
    prices = wave.costs.prices
    return sum(
        prices[snapshot].of(tokens_in, tokens_out)
        for snapshot, tokens_in, tokens_out in Run.objects.filter(wave=wave).values_list(
            "subject__snapshot", "tokens_in", "tokens_out"
        )
        if snapshot in prices
    )


def over_ceiling(wave: Wave) -> str:
    """That the ceiling is reached, in a sentence; empty where it is not, or there is none."""
    ceiling = Wave.objects.values_list("cost_ceiling", flat=True).get(pk=wave.pk)
    if ceiling is None or (sum_ := spent(wave)) < float(ceiling):
        return ""
    currency = wave.costs.currency
    return f"The ceiling of {ceiling:.2f} {currency} is reached: {sum_:.2f} {currency} are spent."


def move_ceiling(wave: Wave, ceiling: Decimal, reason: str, *, by: int | None = None) -> None:
    """Set what a wave may cost from now on, on record. Raises ``WaveRefused``."""
    if wave.is_draft:
        raise WaveRefused(f"The plan of {wave} is not locked: change the draft.")
    if not wave.costs.prices:
        raise WaveRefused(f"The plan of {wave} names no prices, so no ceiling could be kept.")
    if not ceiling.is_finite() or not CENT <= ceiling < 10_000_000:
        raise WaveRefused(f"A ceiling of {ceiling} is none: name an amount above 0.")
    ceiling = ceiling.quantize(CENT)
    with transaction.atomic():
        Wave.objects.filter(pk=wave.pk).update(cost_ceiling=ceiling)
        acted.send(
            sender=Wave,
            act="ceiling",
            by=by,
            about={"wave": wave.code, "ceiling": str(ceiling), "reason": reason},
        )


def heed(run: Run) -> bool:
    """Pause what its failures or its costs say must be paused; whether it is still to be asked."""
    state, failures = Run.objects.values_list("state", "failures_in_a_row").get(pk=run.pk)
    if state != RunState.ASKING:
        return False
    if failures >= MOST_FAILURES:
        why = f"{failures} replies in a row failed. Look at the faults, mend the cause, and resume."
        for other in Run.objects.filter(wave=run.wave, subject=run.subject_id).order_by("pk"):
            pause(run.wave, why, run=other)
        return False
    if run.wave.cost_ceiling is not None and (why := over_ceiling(run.wave)):
        pause(run.wave, why)
        return False
    return True
