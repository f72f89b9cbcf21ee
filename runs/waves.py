"""The life of a wave: a draft, locked, then started; or its responses brought from a file."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from runs.canonical import NOT_TEXT, digest
from runs.control import over_ceiling, tell_of
from runs.declared import costs_of, lacking
from runs.models import (
    Bank,
    Deviation,
    Item,
    Pair,
    Provider,
    Response,
    Run,
    RunState,
    Status,
    Subject,
    Wave,
)
from runs.plain_json import read_plain
from runs.plan import PlanRefused, Slot, plan_order, reply_seed
from runs.plan_file import PlanFileRefused, SubjectPlan, WavePlan, in_basics, plan_of
from runs.plan_text import as_toml
from runs.preflight import LeaksFound, check_wave, found_in, keep_check, preflight
from runs.probes import ProbesRefused, begin_probes
from runs.prompts import message_hash, messages_for
from runs.providers import missing_key
from runs.refusals import PlanMoved, WaveRefused
from runs.replies import LARGEST_REPLY, Reply, short
from runs.signals import acted
from runs.subjects import SubjectRefused, found_or_new, set_limits
from runs.tasks import columns_of, tell, wake
from runs.traces import traces_of

CENT = Decimal("0.01")
MOST_FAULTS = 100
IN_ONE = 200  # rows that one statement stores
LARGEST_LINE = 8 * LARGEST_REPLY


def save_draft(data: dict[str, Any], *, on: str = "") -> Wave:
    """Store a plan as a draft, or in the place of the draft of its code; its rows come later.

    ``data`` are the tables of a plan file; those that only locking asks for may be missing. ``on`` is
    the hash of the plan that its writer had before them.

    Raises
    ------
    WaveRefused
        If it is no plan, or the wave is locked. Then nothing is stored.
    PlanMoved
        If the draft is another one by now.
    """
    if faults := list(in_basics(data)):
        raise WaveRefused(*faults)
    with transaction.atomic():
        wave = Wave.objects.select_for_update(no_key=True).filter(code=data["code"]).first()
        if wave and not wave.is_draft:
            raise WaveRefused(
                f"There is a wave {wave} already, and a plan never changes. "
                "Give the new one a code of its own."
            )
        _refuse_moved(wave, on)
        text = data.get("preregistration", "")
        ceiling = costs_of(data).ceiling
        wave = wave or Wave(code=data["code"])
        wave.title = data["title"]
        wave.kind = data["kind"]
        wave.bank = bank_named(data["bank"])
        wave.seed = data["seed"]
        wave.trials = data["trials"]
        wave.ranges_only = data.get("ranges_only", False)
        wave.preregistration = text
        wave.preregistration_hash = hashlib.sha256(text.encode()).hexdigest()
        wave.plan = data
        wave.cost_ceiling = None if ceiling is None else Decimal(str(ceiling)).quantize(CENT)
        _check(wave, exclude=["locked_at"])
        wave.save()
    return wave


def _refuse_moved(wave: Wave | None, on: str) -> None:
    if on and (wave is None or digest(wave.plan) != on):
        raise PlanMoved


def delete_draft(wave: Wave, *, by: int | None = None) -> None:
    """Throw a draft away, on record. Raises ``WaveRefused`` where the plan is locked."""
    with transaction.atomic():
        wave = Wave.objects.select_for_update(no_key=True, of=("self",)).get(pk=wave.pk)
        if not wave.is_draft:
            raise WaveRefused(f"The plan of {wave} is locked: a wave is cancelled, never deleted.")
        acted.send(
            sender=Wave,
            act="delete",
            by=by,
            about={"wave": wave.code, "preregistration": wave.preregistration_hash},
        )
        wave.delete()


def plan_text(wave: Wave) -> str:
    """The plan of a wave as its file. Raises ``WaveRefused`` where none was kept."""
    if not wave.plan:
        raise WaveRefused(
            f"{wave} was planned before plans were kept whole: there is no file of it."
        )
    return as_toml(wave.plan)


def kept_from_locking(wave: Wave) -> tuple[str, ...]:
    """Why the draft of a wave cannot be locked as it stands; nothing where it can."""
    try:
        plan = plan_of(wave.plan)
    except PlanFileRefused as why:
        return why.faults
    faults = list(lacking(plan.kind, plan.preregistration, plan.declared, plan.runs))
    for check in (
        lambda: _subjects(plan),
        lambda: _orders(plan, wave.bank, first=True),
        lambda: _leaks(plan, wave.bank),
    ):
        try:
            check()
        except WaveRefused as why:
            faults += why.faults
    return tuple(faults)


def lock_wave(wave: Wave, *, by: int | None = None, on: str = "") -> Wave:
    """Close the plan of a draft for good: its subjects, its runs, and every trial as a row.

    ``on`` is the hash of the plan that was read.

    Raises
    ------
    WaveRefused
        If it cannot be carried out as written, or lacks what its kind must declare.
    PlanMoved
        If the draft is another one by now.
    """
    with transaction.atomic():
        wave = Wave.objects.select_for_update(no_key=True, of=("self",)).get(pk=wave.pk)
        if wave.locked_at:
            raise WaveRefused(f"The plan of {wave} is locked already.")
        _refuse_moved(wave, on)
        if faults := kept_from_locking(wave):
            raise WaveRefused(*faults)
        plan = plan_of(wave.plan)
        subjects = _subjects(plan)
        for subject in subjects:
            if subject.pk is None:
                subject.save()
        for subject, wanted in zip(subjects, plan.subjects, strict=True):
            set_limits(subject, wanted.limits)
        by_snapshot = {subject.snapshot: subject for subject in subjects}
        conditions = {
            (one.snapshot, condition.name): condition
            for one in plan.subjects
            for condition in one.conditions
        }
        items = {item.code: item for item in Item.objects.served().filter(bank=wave.bank)}
        for (snapshot, name), order in _orders(plan, wave.bank).items():
            condition = conditions[snapshot, name]
            run = Run.objects.create(
                wave=wave,
                subject=by_snapshot[snapshot],
                condition=name,
                system_message=condition.system_message,
                expected=condition.expected,
                expected_why=condition.why,
            )
            Response.objects.bulk_create(_rows(run, order, items), batch_size=500)
        wave.locked_at = timezone.now()
        wave.save(update_fields=["locked_at"])
        acted.send(
            sender=Wave,
            act="lock",
            by=by,
            about={"wave": wave.code, "preregistration": wave.preregistration_hash},
        )
    return wave


def plan_wave(plan: WavePlan, *, by: int | None = None) -> Wave:
    """Store a plan and lock it, in one step, or nothing of it. Raises ``WaveRefused``."""
    with transaction.atomic():
        return lock_wave(save_draft(plan.data), by=by)


def deviate(wave: Wave, text: str, *, by: int | None = None) -> Deviation:
    """Append what is done otherwise than registered, with its day and whether data had come."""
    text = text.strip()
    if not text:
        raise WaveRefused("Say in a sentence or two what is done otherwise, and why.")
    with transaction.atomic():
        # One after another: else two would take one number.
        wave = Wave.objects.select_for_update(no_key=True, of=("self",)).get(pk=wave.pk)
        if wave.locked_at is None:
            raise WaveRefused(f"The plan of {wave} is not locked: change the draft.")
        one = Deviation.objects.create(
            wave=wave,
            number=1 + wave.deviations.count(),
            text=text,
            after_data=Response.objects.of_wave(wave).exclude(completed_at=None).exists(),
        )
        acted.send(
            sender=Wave, act="deviate", by=by, about={"wave": wave.code, "deviation": str(one)}
        )
    return one


def as_registered(wave: Wave) -> str:
    """The pre-registration as written, and under one heading what deviated from it since."""
    deviations = list(wave.deviations.all())
    if not deviations:
        return wave.preregistration
    lines = [wave.preregistration.rstrip("\n"), "", "## Deviations", ""]
    for one in deviations:
        when = "after data had come" if one.after_data else "before any data"
        lines.append(f"{one} ({one.declared_at:%Y-%m-%d}, {when}): {one.text}")
    return "\n".join(lines) + "\n"


def start_wave(wave: Wave, *, by: int | None = None) -> list[Run]:
    """Begin asking in every run that is planned or was stopped; return those that are asked.

    Raises
    ------
    WaveRefused
        If one of them could not be asked. Then none is started.
    """
    if wave.is_draft:
        raise WaveRefused(f"The plan of {wave} is not locked. Lock it first: run lock {wave}")
    with leaks_kept(wave, by=by):
        started = begin(
            wave, Run.objects.filter(wave=wave, state__in=[RunState.PLANNED, RunState.STOPPED])
        )
    if started:
        acted.send(sender=Wave, act="start", by=by, about={"wave": wave.code})
    return started


def resume(wave: Wave, reason: str, *, run: Run | None = None, by: int | None = None) -> list[Run]:
    """Go on where a run was paused or stopped: its pending rows are asked. Raises ``WaveRefused``."""
    with leaks_kept(wave, by=by), transaction.atomic():
        rows = Run.objects.filter(wave=wave, state__in=[RunState.PAUSED, RunState.STOPPED])
        runs = begin(wave, rows.filter(pk=run.pk) if run else rows)
        tell_of("resume", wave, runs, reason, by)
    return runs


@contextmanager
def leaks_kept(wave: Wave, *, by: int | None) -> Iterator[None]:
    """Keep on the wave and in the log what a leak check refused, though all else is taken back."""
    try:
        yield
    except LeaksFound as why:
        with transaction.atomic():
            keep_check(wave, why.check)
            acted.send(
                sender=Wave,
                act="leak",
                by=by,
                about={"wave": wave.code, "found": " ".join(found_in(why.check))},
            )
        raise


def begin(wave: Wave, runs: QuerySet[Run]) -> list[Run]:
    """Have these runs asked, all or none. Raises ``WaveRefused``."""
    with transaction.atomic():
        # The wave before its runs, as whoever freezes it takes them.
        if Wave.objects.select_for_update(no_key=True).get(pk=wave.pk).ratings_frozen_at:
            raise WaveRefused(
                f"The ratings of {wave} are frozen: what is asked now would not be rated. "
                "Plan a new wave."
            )
        if why := over_ceiling(wave):
            raise WaveRefused(f"{why} Raise it first, with a reason.")
        startable = list(
            runs.select_for_update(no_key=True, of=("self",))
            .exclude(subject__provider=Provider.IMPORT)
            .select_related("subject")
            .order_by("pk")
        )
        if faults := sorted({why for run in startable if (why := missing_key(run.subject))}):
            raise WaveRefused(*faults)
        if startable:
            check_wave(wave, startable)
        for run in startable:
            run.state = RunState.ASKING
            run.stop_reason = ""
            run.failures_in_a_row = 0
            run.started_at = run.started_at or timezone.now()
            run.ended_at = None
            run.save(
                update_fields=[
                    "state",
                    "stop_reason",
                    "failures_in_a_row",
                    "started_at",
                    "ended_at",
                ]
            )
            tell(run, [])
            wake(run)
        if startable:
            start_probes(wave)
    return startable


def start_probes(wave: Wave) -> list[Run]:
    """Put the probes to each subject of a wave that has not had them; return what is asked.

    Raises
    ------
    WaveRefused
        If a subject could not be asked. Then none is.
    """
    try:
        return begin_probes(wave)
    except ProbesRefused as why:
        raise WaveRefused(*str(why).splitlines()) from None


class RowsRefused(WaveRefused):
    """Replies that cannot be stored, each fault with the number of its row. ``more`` were not told."""

    def __init__(self, rows: Sequence[tuple[int, str]], *, more: bool) -> None:
        self.rows = tuple(rows)
        self.more = more
        super().__init__(*(f"{number}: {fault}." for number, fault in rows))


def import_responses(run: Run, path: Path) -> int:
    """Store the responses in a file as those of a run, all or none; return how many.

    Each line is a JSON object with ``item``, ``trial``, ``text`` and, if known, ``finish_reason``.

    Raises
    ------
    WaveRefused
        With the faults, each naming its line.
    """
    try:
        return store_replies(run, _lines(path), of="the file", read=_parsed)
    except RowsRefused as why:
        faults = [f"line {number}: {fault}." for number, fault in why.rows]
        raise WaveRefused(*faults, *(["There may be more."] if why.more else [])) from None


def store_replies(
    run: Run,
    given: Iterable[tuple[int, Any]],
    *,
    of: str,
    read: Callable[[Any], Any] = lambda row: row,
    items: Collection[str] | None = None,
) -> int:
    """Store numbered rows as the replies of a run, all or none; return how many.

    ``read`` makes the object of a row, and raises ``ValueError`` where there is none. ``items``
    are the only ones that are answered, if that is known. ``of`` names where the rows are from.

    Raises
    ------
    RowsRefused
        With every fault of a row, up to a hundred.
    WaveRefused
        If the run takes none at all, or there is none.
    """
    if run.subject.provider != Provider.IMPORT:
        raise WaveRefused(
            f"{run.subject} is asked by {run.subject.provider}: only responses of a subject with "
            'provider = "import" come from a file.'
        )
    with transaction.atomic():
        # The wave before its runs, as whoever freezes it takes them.
        if Wave.objects.select_for_update(no_key=True).get(pk=run.wave_id).ratings_frozen_at:
            raise WaveRefused(
                f"The ratings of {run.wave} are frozen: a reply that comes now would not be rated. "
                "Plan a new wave."
            )
        if Run.objects.select_for_update(no_key=True).get(pk=run.pk).state == RunState.CANCELLED:
            raise WaveRefused(f"{run} is cancelled, for good. Plan a new wave.")
        asked = Response.objects.filter(run=run)
        if items is not None:
            asked = asked.filter(item__code__in=items)
        rows = {
            (row.item.code, row.trial): row
            for row in asked.select_related("item").only("item__code", "trial", "status", "run")
        }
        found: dict[int, tuple[Response, Reply]] = {}
        faults: list[tuple[int, str]] = []
        for number, one in given:
            try:
                row, reply = _imported(read(one), rows, run.wave.trials)
                if row.pk in found:
                    raise ValueError(f"{row.item} trial {row.trial} stands in {of} twice")
                found[row.pk] = row, reply
            except ValueError as why:
                faults.append((number, str(why)))
                if len(faults) == MOST_FAULTS:
                    break
        if faults:
            raise RowsRefused(faults, more=len(faults) == MOST_FAULTS)
        if not found:
            raise WaveRefused(f"{of.capitalize()} holds no responses.")
        _keep(run, found)
    return len(found)


def _keep(run: Run, found: dict[int, tuple[Response, Reply]]) -> None:
    now = timezone.now()
    asked = Item.objects.only("code", "prompt", "turns").in_bulk(
        {row.item_id for row, _ in found.values()}
    )
    hashes = {
        pk: message_hash(messages_for(run.system_message, item.turns, item.prompt))
        for pk, item in asked.items()
    }
    columns: dict[str, Any] = {}
    for row, reply in found.values():
        columns = {
            **columns_of(reply),
            **traces_of(run, asked[row.item_id], reply.text),
            "attempts": [{"outcome": "imported", "detail": "", "at": now.isoformat()}],
            "message_hash": hashes[row.item_id],
            "completed_at": now,
        }
        for name, value in columns.items():
            setattr(row, name, value)
    Response.objects.bulk_update((row for row, _ in found.values()), list(columns), IN_ONE)
    Run.objects.filter(pk=run.pk, started_at=None).update(started_at=now)
    tell(run, sorted(pk for pk, (_, reply) in found.items() if reply.status == Status.COMPLETED))


def _subjects(plan: WavePlan) -> list[Subject]:
    """The subjects of a plan: those that are registered, and new ones, not yet stored."""
    subjects: list[Subject] = []
    faults: list[str] = []
    for wanted in plan.subjects:
        try:
            subjects.append(_subject(wanted))
        except WaveRefused as why:
            faults += why.faults
    if faults:
        raise WaveRefused(*faults)
    return subjects


def _leaks(plan: WavePlan, bank: Bank) -> None:
    """Hold all that a plan would send against its bank. Raises ``WaveRefused``."""
    systems = {
        condition.system_message: condition.name
        for subject in plan.subjects
        for condition in subject.conditions
    }
    faults, _ = preflight(bank, systems)
    if faults:
        raise WaveRefused(*faults)


def _orders(
    plan: WavePlan, bank: Bank, *, first: bool = False
) -> dict[tuple[str, str], list[Slot]]:
    """The order of asking of each run, or of the first: whether there is one is the same for all."""
    items = list(Item.objects.served().filter(bank=bank).values_list("code", flat=True))
    if not items:
        raise WaveRefused(f"The bank {bank} serves no item: all are drafts or withheld.")
    pairs = list(Pair.objects.filter(bank=bank).values_list("arm_a__code", "arm_b__code"))
    codes = {subject.snapshot: subject.code for subject in _subjects(plan)}
    try:
        return {
            (snapshot, condition): plan_order(
                plan.seed, codes[snapshot], condition, items, plan.trials, pairs
            )
            for snapshot, condition in plan.runs[: 1 if first else None]
        }
    except PlanRefused as why:
        raise WaveRefused(str(why)) from None


def bank_named(name: str) -> Bank:
    """The frozen bank of this name and version. Raises ``WaveRefused``."""
    banks = {str(bank): bank for bank in Bank.objects.exclude(frozen_at=None).order_by("pk")}
    if name not in banks:
        known = f"the banks are: {', '.join(sorted(banks))}" if banks else "there is none yet"
        raise WaveRefused(f"There is no bank {name}; {known}. Load one with: bank import FILE.")
    return banks[name]


def _subject(wanted: SubjectPlan) -> Subject:
    """The subject of this very identity: the one that is registered, or else a new one, unsaved."""
    try:
        return found_or_new(wanted.stated)
    except SubjectRefused as why:
        raise WaveRefused(*why.faults) from None


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


def _parsed(line: bytes) -> Any:
    """The object on a line. Raises ``ValueError``."""
    if len(line) > LARGEST_LINE:
        raise ValueError(f"more than {LARGEST_LINE:,} bytes; nothing after it was read")
    return read_plain(line)


def _imported(
    data: Any, rows: dict[tuple[str, int], Response], trials: int
) -> tuple[Response, Reply]:
    """The row that an object answers, and the reply in it. Raises ``ValueError``."""
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
