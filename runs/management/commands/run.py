"""Plan a wave, start it, see where it stands, or bring its responses from a file."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.models import Provider, Run, RunState, Wave
from runs.plan_file import PlanFileRefused, read_plan
from runs.progress import progress_of
from runs.waves import WaveRefused, import_responses, plan_wave, start_wave


class Command(BaseCommand):
    help = "Take subjects through a bank: run plan, run start, run status, run import"

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        plan = steps.add_parser("plan", help="store a plan file as a locked wave")
        plan.add_argument("file", type=Path)
        start = steps.add_parser("start", help="begin asking")
        start.add_argument("wave")
        status = steps.add_parser("status", help="how far a wave has come")
        status.add_argument("wave")
        status.add_argument("--json", action="store_true")
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
            raise CommandError(f"{options['file']} cannot be read: {why.strerror}.") from None
        except (PlanFileRefused, WaveRefused) as why:
            raise CommandError(str(why)) from None

    def plan_(self, file: Path) -> None:
        wave = plan_wave(read_plan(file))
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

    def start_(self, wave: str) -> None:
        found = _wave(wave)
        started = start_wave(found)
        for run in started:
            self.stdout.write(f"{run} is being asked.")
        if started:
            self.stdout.write(f"A worker must run. See how far it is with: run status {found}")
        else:
            self.stdout.write(f"Nothing waits to be asked in {found}.")

    def status_(self, wave: str, json: bool) -> None:
        found = _wave(wave)
        told = progress_of(found)
        if json:
            self.stdout.write(_as_json(found))
            return
        self.stdout.write(f"{found}: {told.state}, {told.ended} of {told.total} responses.")
        for run in told.runs:
            counts = ", ".join(f"{count} {status}" for status, count in run.counts.items())
            self.stdout.write(f"{run.subject} ({run.condition}): {run.state}: {counts}")
            if run.stop_reason:
                self.stdout.write(f"  stopped: {run.stop_reason}")
            if run.changed:
                self.stdout.write(f"  flagged: {run.changed}")
        if checked := found.leak_check:
            self.stdout.write(
                f"Leak check: {checked['messages']} messages, {checked['hits']} hits; controls: "
                f"{checked['fired']} of {checked['planted']} fired."
            )
        if told.undecided:
            self.stdout.write(
                f"{told.undecided} replies seem to name their maker, and wait for you to decide: "
                "see Names in replies on the page of the wave."
            )
        if told.seconds_left is not None:
            self.stdout.write(
                f"{told.per_second:.1f} a second; about {told.seconds_left} seconds are left."
            )
        if told.state == RunState.STOPPED:
            self.stdout.write(f"When the cause is gone, go on with: run start {found}")

    def import_(self, wave: str, subject: str, file: Path, condition: str) -> None:
        run = _run(_wave(wave), subject, condition)
        count = import_responses(run, file)
        self.stdout.write(f"{count} responses of {run} are stored.")
        if pending := run.responses.pending().count():
            self.stdout.write(f"{pending} are still missing.")


STEPS = {
    "plan": ("file",),
    "start": ("wave",),
    "status": ("wave", "json"),
    "import": ("wave", "subject", "file", "condition"),
}


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
            "runs": [
                {
                    "subject": run.subject,
                    "condition": run.condition,
                    "state": run.state,
                    "stop_reason": run.stop_reason,
                    "counts": run.counts,
                    "fingerprints": list(run.fingerprints),
                }
                for run in told.runs
            ],
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
