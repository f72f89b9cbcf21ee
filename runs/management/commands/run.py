"""Plan a wave, lock it, start it, see where it stands, or bring its responses from a file."""

import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.canonical import on_one_line
from runs.control import cancel, move_ceiling, pause
from runs.estimate import Estimate, estimate_of
from runs.estimate_text import as_lines
from runs.models import Provider, Run, RunState, Wave
from runs.plan_file import PlanFileRefused, read_plan
from runs.preflight import found_in
from runs.probed import probes_progress
from runs.progress import Progress, progress_of
from runs.refusals import WaveRefused
from runs.waves import (
    bank_named,
    delete_draft,
    deviate,
    import_responses,
    kept_from_locking,
    lock_wave,
    plan_text,
    plan_wave,
    resume,
    save_draft,
    start_probes,
    start_wave,
)

FOLLOW_SECONDS = 2.0


class Command(BaseCommand):
    help = (
        "Take subjects through a bank: run plan, show, estimate, lock, delete, start, probe, "
        "status, pause, resume, cancel, deviate, ceiling, import"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        plan = steps.add_parser("plan", help="store a plan file as a draft, or renew the draft")
        plan.add_argument("file", type=Path)
        plan.add_argument("--lock", action="store_true", help="and lock it, in one step")
        estimate = steps.add_parser("estimate", help="what it takes, and what it could show")
        estimate.add_argument("what", help="a plan file, or the code of a wave")
        for step, said in (
            ("show", "write the plan of a wave back as its file"),
            ("lock", "close the plan of a draft for good"),
            ("delete", "throw a draft away"),
            ("start", "begin asking"),
            ("probe", "ask whether subjects knew the items"),
        ):
            steps.add_parser(step, help=said).add_argument("wave")
        status = steps.add_parser("status", help="how far a wave has come")
        status.add_argument("wave")
        status.add_argument("--json", action="store_true")
        status.add_argument("--follow", action="store_true", help="say it again until it has ended")
        for step, said in (
            ("pause", "ask no more until it is resumed"),
            ("resume", "go on where it was paused or stopped"),
            ("cancel", "ask no more, for good"),
        ):
            act = steps.add_parser(step, help=said)
            act.add_argument("wave")
            act.add_argument("--subject", default="", help="its runs alone; every run otherwise")
            act.add_argument("--condition", default="", help="with --subject: that run alone")
            act.add_argument("--reason", required=True, help="kept in the log")
        other = steps.add_parser("deviate", help="append a dated deviation to the pre-registration")
        other.add_argument("wave")
        other.add_argument("text")
        ceiling = steps.add_parser("ceiling", help="move what a wave may cost")
        ceiling.add_argument("wave")
        ceiling.add_argument("amount")
        ceiling.add_argument("--reason", required=True, help="kept in the log")
        load = steps.add_parser("import", help="store responses from a file of JSON lines")
        load.add_argument("wave")
        load.add_argument("subject")
        load.add_argument("file", type=Path)
        load.add_argument("--condition", default="default")

    def handle(self, *args: Any, **options: Any) -> None:
        step = getattr(self, f"{options['step']}_")
        try:
            step(**{key: options[key] for key in STEPS[options["step"]]})
        except OSError as why:
            name = options.get("file") or options.get("what")
            raise CommandError(f"{name} cannot be read: {why.strerror}.") from None
        except (PlanFileRefused, WaveRefused) as why:
            raise CommandError(str(why)) from None

    def plan_(self, file: Path, lock: bool) -> None:
        plan = read_plan(file)
        if lock:
            self._locked(plan_wave(plan))
            return
        wave = save_draft(plan.data)
        self.stdout.write(f"{wave} is a draft. See what it takes with: run estimate {wave}")
        if faults := kept_from_locking(wave):
            self.stdout.write("It cannot be locked yet:")
            for fault in faults:
                self.stdout.write(f"  {fault}")
        else:
            self.stdout.write(f"Lock it, for good, with: run lock {wave}")

    def lock_(self, wave: str) -> None:
        self._locked(lock_wave(_wave(wave)))

    def show_(self, wave: str) -> None:
        self.stdout.write(plan_text(_wave(wave)), ending="")

    def delete_(self, wave: str) -> None:
        found = _wave(wave)
        delete_draft(found)
        self.stdout.write(f"The draft {wave} is deleted.")

    def _locked(self, wave: Wave) -> None:
        told = progress_of(wave)
        self.stdout.write(
            f"{wave} is planned and locked: {told.items} items × {told.trials} trials × "
            f"{len(told.runs)} runs = {told.total} responses."
        )
        self.stdout.write(f"Bank {wave.bank}, hash {wave.bank.content_hash}.")
        self.stdout.write(f"Seed {wave.seed}, pre-registration hash {wave.preregistration_hash}.")
        if told.startable:
            self.stdout.write(f"Begin with: run start {wave}")
        for run in told.runs:
            if run.provider == Provider.IMPORT:
                self.stdout.write(
                    f"Bring responses with: run import {wave} {run.subject} FILE "
                    f"--condition {run.condition}"
                )

    def estimate_(self, what: str) -> None:
        for line in as_lines(_estimate(what)):
            self.stdout.write(line)

    def start_(self, wave: str) -> None:
        found = _wave(wave)
        started = start_wave(found)
        for run in started:
            self.stdout.write(f"{run} is being asked.")
        if started:
            self.stdout.write(f"A worker must run. See how far it is with: run status {found}")
        else:
            self.stdout.write(f"Nothing waits to be asked in {found}.")

    def pause_(self, wave: str, subject: str, condition: str, reason: str) -> None:
        found = _wave(wave)
        runs = [
            one
            for run in _chosen(found, subject, condition)
            for one in pause(found, reason, run=run)
        ]
        self._done(runs, "is paused", f"Go on with: run resume {found} --reason …")

    def resume_(self, wave: str, subject: str, condition: str, reason: str) -> None:
        found = _wave(wave)
        runs = [
            one
            for run in _chosen(found, subject, condition)
            for one in resume(found, reason, run=run)
        ]
        self._done(runs, "is being asked again", f"See how far it is with: run status {found}")

    def cancel_(self, wave: str, subject: str, condition: str, reason: str) -> None:
        found = _wave(wave)
        runs = [
            one
            for run in _chosen(found, subject, condition)
            for one in cancel(found, reason, run=run)
        ]
        self._done(
            runs, "is cancelled", "What was not asked stays so, and is reported as not asked."
        )

    def _done(self, runs: list[Run], what: str, way_on: str) -> None:
        for run in runs:
            self.stdout.write(f"{run} {what}.")
        self.stdout.write(way_on if runs else "There is no run of which that could be said.")

    def deviate_(self, wave: str, text: str) -> None:
        one = deviate(_wave(wave), text)
        when = "after data had come" if one.after_data else "before any data"
        self.stdout.write(f"{one} is appended, {one.declared_at:%Y-%m-%d}, {when}.")

    def ceiling_(self, wave: str, amount: str, reason: str) -> None:
        found = _wave(wave)
        try:
            ceiling = Decimal(amount)
        except InvalidOperation:
            raise WaveRefused(f"{amount!r} is no amount; write a number, such as 25.50.") from None
        move_ceiling(found, ceiling, reason)
        self.stdout.write(f"{found} may cost {ceiling:.2f} {found.costs.currency} from now on.")

    def probe_(self, wave: str) -> None:
        found = _wave(wave)
        begun = start_probes(found)
        for run in begun:
            self.stdout.write(f"The probes are put to {run.subject}.")
        if begun:
            self.stdout.write(f"A worker must run. See how far it is with: run status {found}")
        else:
            self.stdout.write(f"Every subject of {found} that can be asked has had the probes.")

    def status_(self, wave: str, json: bool, follow: bool) -> None:
        found = _wave(wave)
        if json:
            self.stdout.write(_as_json(found))
            return
        last: list[str] = []
        while True:
            told = progress_of(found)
            # What stopped a run may be in the words of a provider.
            lines = [on_one_line(line) for line in _as_lines(found, told)]
            if lines != last:
                self.stdout.write("\n".join(lines))
            if not (follow and told.asking):
                return
            last = lines
            time.sleep(FOLLOW_SECONDS)

    def import_(self, wave: str, subject: str, file: Path, condition: str) -> None:
        run = _run(_wave(wave), subject, condition)
        count = import_responses(run, file)
        self.stdout.write(f"{count} responses of {run} are stored.")
        if pending := run.responses.pending().count():
            self.stdout.write(f"{pending} are still missing.")


STEPS = {
    "plan": ("file", "lock"),
    "estimate": ("what",),
    "show": ("wave",),
    "lock": ("wave",),
    "delete": ("wave",),
    "start": ("wave",),
    "probe": ("wave",),
    "status": ("wave", "json", "follow"),
    "pause": ("wave", "subject", "condition", "reason"),
    "resume": ("wave", "subject", "condition", "reason"),
    "cancel": ("wave", "subject", "condition", "reason"),
    "deviate": ("wave", "text"),
    "ceiling": ("wave", "amount", "reason"),
    "import": ("wave", "subject", "file", "condition"),
}


def _estimate(what: str) -> Estimate:
    """Of a plan file, or of a wave by its code."""
    file = Path(what)
    if file.suffix == ".toml" or file.is_file():
        plan = read_plan(file)
        return estimate_of(plan.data, bank_named(plan.bank))
    wave = _wave(what)
    if not wave.plan:
        raise WaveRefused(f"{wave} was planned before plans were kept whole: estimate its file.")
    return estimate_of(wave.plan, wave.bank)


def _chosen(wave: Wave, subject: str, condition: str) -> list[Run | None]:
    """The runs that an act is of: those of a subject, one of them, or (None) all of the wave."""
    if not subject:
        if condition:
            raise WaveRefused("A condition alone names no run: add --subject.")
        return [None]
    if condition:
        return [_run(wave, subject, condition)]
    if found := list(Run.objects.filter(wave=wave, subject__code=subject).order_by("pk")):
        return list(found)
    return [_run(wave, subject, "default")]


def _as_lines(wave: Wave, told: Progress) -> Iterator[str]:
    yield f"{wave}: {told.state}, {told.ended} of {told.total} responses."
    for run in told.runs:
        counts = ", ".join(f"{count} {status}" for status, count in run.counts.items())
        cost = "" if run.cost is None else f"; {run.cost:.2f} {told.currency}".rstrip()
        yield f"{run.subject} ({run.condition}): {run.state}: {counts}{cost}"
        if run.stop_reason:
            yield f"  {run.state}: {run.stop_reason}"
        if run.changed:
            yield f"  flagged: {run.changed}"
        if run.not_asked:
            yield f"  {run.not_asked} were not asked."
    for probes in probes_progress(wave):
        why = f", stopped: {probes.stop_reason}" if probes.stop_reason else ""
        yield f"Probes of {probes.subject}: {probes.state}, {probes.ended} of {probes.total}{why}"
    if checked := wave.leak_check:
        yield (
            f"Leak check: {checked['messages']} messages, {checked['hits']} hits; controls: "
            f"{checked['fired']} of {checked['planted']} fired."
        )
        for one in found_in(checked):
            yield f"  refused {checked['at'][:16].replace('T', ' ')} UTC: {one}"
    if told.undecided:
        yield (
            f"{told.undecided} replies seem to name their maker, and wait for you to decide: "
            "see Names in replies on the page of the wave."
        )
    if told.cost is not None:
        of = f" of {told.ceiling:.2f}" if told.ceiling is not None else ""
        yield f"Spent: {told.cost:.2f}{of} {told.currency}".rstrip() + "."
    if told.seconds_left is not None:
        yield f"{told.per_second:.1f} a second; {told.time_left} left."
    if told.state in (RunState.STOPPED, RunState.PAUSED):
        yield f"When the cause is gone, go on with: run resume {wave} --reason …"
    if wave.is_draft:
        yield f"The plan is not locked. See what it takes with: run estimate {wave}"


def _as_json(wave: Wave) -> str:
    told = progress_of(wave)
    return json.dumps(
        {
            "wave": wave.code,
            "state": told.state,
            "items": told.items,
            "trials": told.trials,
            "total": told.total,
            "ended": told.ended,
            "counts": told.counts,
            "per_second": round(told.per_second, 2),
            "seconds_left": told.seconds_left,
            "leak_check": wave.leak_check,
            "naming": {"found": told.named, "undecided": told.undecided},
            "cost": told.cost,
            "ceiling": told.ceiling,
            "currency": told.currency,
            "runs": [
                {
                    "subject": run.subject,
                    "condition": run.condition,
                    "state": run.state,
                    "stop_reason": run.stop_reason,
                    "counts": run.counts,
                    "fingerprints": list(run.fingerprints),
                    "per_second": round(run.per_second, 2),
                    "seconds_left": run.seconds_left,
                    "cost": run.cost,
                    "not_asked": run.not_asked,
                }
                for run in told.runs
            ],
            "probes": [asdict(probes) for probes in probes_progress(wave)],
        },
        indent=2,
    )


def _wave(code: str) -> Wave:
    wave = Wave.objects.select_related("bank").filter(code=code).first()
    if wave is None:
        known = ", ".join(Wave.objects.order_by("code").values_list("code", flat=True))
        way_on = f"the waves are: {known}" if known else "plan one with: run plan FILE"
        raise WaveRefused(f"There is no wave {code}; {way_on}.")
    return wave


def _run(wave: Wave, subject: str, condition: str) -> Run:
    runs = Run.objects.filter(wave=wave).select_related("subject", "wave")
    run = runs.filter(subject__code=subject, condition=condition).first()
    if run is None:
        known = ", ".join(sorted(f"{run.subject} ({run.condition})" for run in runs))
        raise WaveRefused(
            f"There is no run of {subject} ({condition}) in {wave}; the runs are: {known}."
        )
    return run
