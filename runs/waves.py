"""The life of a wave: planned and locked, then started; or its responses brought from a file."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from runs.bank import no_key_twice
from runs.canonical import NOT_TEXT
from runs.models import (
    Bank,
    Item,
    Pair,
    Provider,
    Response,
    Run,
    RunState,
    Status,
    Wave,
)
from runs.plan import PlanRefused, Slot, plan_order, reply_seed
from runs.plan_file import WavePlan
from runs.preflight import check_wave, preflight
from runs.prompts import message_hash, messages_for
from runs.providers import missing_key
from runs.replies import LARGEST_REPLY, Reply, short
from runs.subjects import SubjectRefused, subject_for
from runs.tasks import columns_of, tell, wake
from runs.traces import traces_of

MOST_FAULTS = 100
LARGEST_LINE = 8 * LARGEST_REPLY


class WaveRefused(ValueError):
    """What cannot be done with a wave, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def plan_wave(plan: WavePlan) -> Wave:
    """Store a plan, whole and locked: its subjects, its runs, and every trial as a pending row.

    Raises
    ------
    WaveRefused
        If it cannot be carried out as written. Then nothing is stored.
    """
    with transaction.atomic():
        if Wave.objects.filter(code=plan.code).exists():
            raise WaveRefused(
                f"There is a wave {plan.code} already, and a plan never changes. "
                "Give the new one a code of its own."
            )
        bank = _bank(plan.bank)
        items = {item.code: item for item in Item.objects.served().filter(bank=bank)}
        if not items:
            raise WaveRefused(f"The bank {bank} serves no item: all are drafts or withheld.")
        pairs = [
            (pair.arm_a.code, pair.arm_b.code)
            for pair in Pair.objects.filter(bank=bank).select_related("arm_a", "arm_b")
        ]
        wave = Wave(
            code=plan.code,
            title=plan.title,
            kind=plan.kind,
            bank=bank,
            seed=plan.seed,
            trials=plan.trials,
            preregistration=plan.preregistration,
            preregistration_hash=hashlib.sha256(plan.preregistration.encode()).hexdigest(),
        )
        _check(wave, exclude=["locked_at"])
        wave.save()
        for wanted in plan.subjects:
            try:
                subject = subject_for(wanted.stated, wanted.limits)
            except SubjectRefused as why:
                raise WaveRefused(*why.faults) from None
            for condition in wanted.conditions:
                run = Run.objects.create(
                    wave=wave,
                    subject=subject,
                    condition=condition.name,
                    system_message=condition.system_message,
                )
                try:
                    order = plan_order(
                        wave.seed, subject.code, condition.name, items, wave.trials, pairs
                    )
                except PlanRefused as why:
                    raise WaveRefused(str(why)) from None
                Response.objects.bulk_create(_rows(run, order, items), batch_size=500)
        faults, _ = preflight(bank, list(wave.runs.all()))
        if faults:
            raise WaveRefused(*faults)
        wave.locked_at = timezone.now()
        wave.save(update_fields=["locked_at"])
    return wave


def start_wave(wave: Wave) -> list[Run]:
    """Begin asking in every run that is planned or was stopped; return those that are asked.

    Raises
    ------
    WaveRefused
        If one of them could not be asked. Then none is started.
    """
    with transaction.atomic():
        if Wave.objects.filter(pk=wave.pk, ratings_frozen_at__isnull=False).exists():
            raise WaveRefused(
                f"The ratings of {wave} are frozen: what is asked now would not be rated. "
                "Plan a new wave."
            )
        startable = list(
            Run.objects.select_for_update(no_key=True, of=("self",))
            .filter(wave=wave, state__in=[RunState.PLANNED, RunState.STOPPED])
            .exclude(subject__provider=Provider.IMPORT)
            .select_related("subject")
        )
        if faults := sorted({why for run in startable if (why := missing_key(run.subject))}):
            raise WaveRefused(*faults)
        if startable and (faults := check_wave(wave, startable)):
            raise WaveRefused(*faults)
        for run in startable:
            run.state = RunState.ASKING
            run.stop_reason = ""
            run.started_at = run.started_at or timezone.now()
            run.ended_at = None
            run.save(update_fields=["state", "stop_reason", "started_at", "ended_at"])
            tell(run, [])
            wake(run)
    return startable


def import_responses(run: Run, path: Path) -> int:
    """Store the responses in a file as those of a run, all or none; return how many.

    Each line is a JSON object with ``item``, ``trial``, ``text`` and, if known, ``finish_reason``.

    Raises
    ------
    WaveRefused
        With the faults, each naming its line.
    """
    if run.subject.provider != Provider.IMPORT:
        raise WaveRefused(
            f"{run.subject} is asked by {run.subject.provider}: only responses of a subject with "
            'provider = "import" come from a file.'
        )
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        rows = {
            (row.item.code, row.trial): row
            for row in Response.objects.filter(run=run)
            .select_related("item")
            .only("item__code", "item__prompt", "item__turns", "trial", "status", "run")
        }
        given: dict[int, Reply] = {}
        faults: list[str] = []
        for number, line in _lines(path):
            try:
                row, reply = _imported(line, rows, run.wave.trials)
                if row.pk in given:
                    raise ValueError(f"{row.item} trial {row.trial} stands in the file twice")
                given[row.pk] = reply
            except ValueError as why:
                faults.append(f"line {number}: {why}.")
                if len(faults) == MOST_FAULTS:
                    faults.append("There may be more.")
                    break
        if faults:
            raise WaveRefused(*faults)
        if not given:
            raise WaveRefused(f"{path.name} holds no responses.")
        now = timezone.now()
        for row in rows.values():
            if found := given.get(row.pk):
                messages = messages_for(run.system_message, row.item.turns, row.item.prompt)
                Response.objects.filter(pk=row.pk).update(
                    **columns_of(found),
                    **traces_of(run, row.item, found.text),
                    attempts=[{"outcome": "imported", "detail": "", "at": now.isoformat()}],
                    message_hash=message_hash(messages),
                    completed_at=now,
                )
        Run.objects.filter(pk=run.pk, started_at=None).update(started_at=now)
        tell(run, sorted(pk for pk, reply in given.items() if reply.status == Status.COMPLETED))
    return len(given)


def _bank(name: str) -> Bank:
    banks = {str(bank): bank for bank in Bank.objects.exclude(frozen_at=None).order_by("pk")}
    if name not in banks:
        known = f"the banks are: {', '.join(sorted(banks))}" if banks else "there is none yet"
        raise WaveRefused(f"There is no bank {name}; {known}. Load one with: bank import FILE.")
    return banks[name]


def _check(row: Wave, *, exclude: list[str]) -> None:
    try:
        row.full_clean(exclude=exclude)
    except ValidationError as why:
        raise WaveRefused(
            *(
                " ".join(messages) if name == "__all__" else f"{name}: {' '.join(messages)}"
                for name, messages in why.message_dict.items()
            )
        ) from None


def _rows(run: Run, order: list[Slot], items: dict[str, Item]) -> Iterator[Response]:
    # Two conditions of a subject are two runs, so their seeds differ too.
    name = f"{run.wave.code}/{run.condition}"
    for position, slot in enumerate(order):
        yield Response(
            run=run,
            item=items[slot.item],
            trial=slot.trial,
            position=position,
            seed=reply_seed(name, run.subject.code, slot.item, slot.trial),
        )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, numbered as an editor does; none longer than it may be."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LARGEST_LINE + 1):
            number += 1
            if line.strip():
                yield number, line
            if len(line) > LARGEST_LINE:
                return


def _imported(
    line: bytes, rows: dict[tuple[str, int], Response], trials: int
) -> tuple[Response, Reply]:
    if len(line) > LARGEST_LINE:
        raise ValueError(f"more than {LARGEST_LINE:,} bytes; nothing after it was read")
    try:
        data = json.loads(line.decode("utf-8-sig"), object_pairs_hook=no_key_twice)
    except (UnicodeDecodeError, RecursionError):
        raise ValueError("not UTF-8 text of plain JSON") from None
    except ValueError as why:
        raise ValueError(f"not JSON: {why}") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    keys = ("item", "trial", "text", "finish_reason")
    if unknown := sorted(set(data) - set(keys)):
        raise ValueError(f"there is no key {unknown[0]!r}; the keys are: {', '.join(keys)}")
    item, trial, text = data.get("item"), data.get("trial"), data.get("text")
    if type(trial) is not int or not 1 <= trial <= trials:
        raise ValueError(f"trial {trial!r} is not one of 1 to {trials}")
    row = rows.get((item, trial)) if isinstance(item, str) else None
    if row is None:
        raise ValueError(f"{item!r} is no item that this wave serves")
    if row.status != Status.PENDING:
        raise ValueError(f"{item} trial {trial} is stored already")
    if not isinstance(text, str):
        raise ValueError(f"the text of {item} trial {trial} is no text")
    if bad := NOT_TEXT.search(text):
        raise ValueError(f"the text of {item} trial {trial} holds {bad.group()!r}")
    if len(text.encode()) > LARGEST_REPLY:
        raise ValueError(f"the text of {item} trial {trial} has over {LARGEST_REPLY:,} bytes")
    return row, Reply(
        Status.COMPLETED if text.strip() else Status.FAILED,
        text=text if text.strip() else "",
        finish_reason=short(data.get("finish_reason"), 50),
    )
