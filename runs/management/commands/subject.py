"""The registry of subjects: add one, list them, show one, register a successor, set its limits."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs.models import Run, Subject, SubjectLimit
from runs.plan_file import LARGEST_FILE, LIMIT_KEYS, PlanFileRefused, SubjectFile, parse_subject
from runs.subjects import (
    SubjectRefused,
    identity_of,
    lineage_of,
    register,
    set_limits,
    with_digest,
)


class Command(BaseCommand):
    help = "Who is asked: subject add, subject list, subject show, subject succeed, subject limits"

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        add = steps.add_parser("add", help="register the subject in a file, for good")
        add.add_argument("file", type=Path)
        steps.add_parser("list", help="all subjects")
        show = steps.add_parser("show", help="one subject, with its lineage and its runs")
        show.add_argument("subject")
        show.add_argument("--json", action="store_true")
        succeed = steps.add_parser(
            "succeed", help="register the subject in a file as the successor of another"
        )
        succeed.add_argument("subject")
        succeed.add_argument("file", type=Path)
        limits = steps.add_parser("limits", help="how fast a subject may be asked; 0 lifts a limit")
        limits.add_argument("subject")
        for key in LIMIT_KEYS:
            kind = float if key.endswith("_seconds") else int
            limits.add_argument(f"--{key.replace('_', '-')}", type=kind)

    def handle(self, *args: Any, **options: Any) -> None:
        step = getattr(self, f"{options['step']}_")
        try:
            step(options)
        except OSError as why:
            raise CommandError(f"{options['file']} cannot be read: {why.strerror}.") from None
        except (PlanFileRefused, SubjectRefused) as why:
            raise CommandError(str(why)) from None

    def add_(self, options: dict[str, Any]) -> None:
        file = _read(options["file"])
        subject = register(with_digest(file.stated))
        set_limits(subject, file.limits)
        self._say(subject, "is registered")

    def succeed_(self, options: dict[str, Any]) -> None:
        predecessor = _subject(options["subject"])
        file = _read(options["file"])
        subject = register(with_digest(file.stated), predecessor=predecessor, change=file.change)
        set_limits(subject, file.limits)
        self._say(subject, f"is registered as the successor of {predecessor}")

    def list_(self, options: dict[str, Any]) -> None:
        subjects = Subject.objects.order_by("code")
        for subject in subjects:
            self.stdout.write(f"{subject}  {subject.get_provider_display()}, {_pin(subject)}")
        if not subjects:
            self.stdout.write("There is no subject yet. Register one with: subject add FILE")

    def show_(self, options: dict[str, Any]) -> None:
        subject = _subject(options["subject"])
        if options["json"]:
            self.stdout.write(json.dumps(identity_of(subject), indent=2, ensure_ascii=False))
            return
        for name, value in identity_of(subject).items():
            self.stdout.write(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")
        line = " → ".join(str(one) for one in lineage_of(subject))
        self.stdout.write(f"lineage: {line}")
        for run in Run.objects.filter(subject=subject).select_related("wave", "subject"):
            flag = ", its fingerprint changed" if len(run.fingerprints) > 1 else ""
            self.stdout.write(f"run: {run.wave} ({run.condition}), {run.state}{flag}")

    def limits_(self, options: dict[str, Any]) -> None:
        subject = _subject(options["subject"])
        given = {key: options[key] or None for key in LIMIT_KEYS if options[key] is not None}
        if any(value is not None and value < 0 for value in given.values()):
            raise CommandError("A limit is a number above 0, or 0 to lift it.")
        set_limits(subject, given)
        limit = SubjectLimit.objects.filter(subject=subject).first()
        stand = {key: getattr(limit, key, None) for key in LIMIT_KEYS}
        told = ", ".join(f"{key} {value:g}" for key, value in stand.items() if value is not None)
        self.stdout.write(f"{subject}: {told or 'no limits of its own'}.")

    def _say(self, subject: Subject, done: str) -> None:
        self.stdout.write(f"{subject} {done}: {_pin(subject)}.")
        self.stdout.write("A plan that names its developer, family and snapshot asks this subject.")


def _pin(subject: Subject) -> str:
    shown = subject.digest if subject.pinned_by == "digest" else subject.snapshot
    return f"pinned by {subject.pinned_by} ({shown})"


def _read(file: Path) -> SubjectFile:
    if file.stat().st_size > LARGEST_FILE:
        raise PlanFileRefused(
            [f"{file.name} is too large; a file may have {LARGEST_FILE:,} bytes."]
        )
    return parse_subject(file.read_bytes())


def _subject(code: str) -> Subject:
    subject = Subject.objects.filter(code=code).first()
    if subject is None:
        known = ", ".join(Subject.objects.order_by("code").values_list("code", flat=True))
        way_on = f"the subjects are: {known}" if known else "register one with: subject add FILE"
        raise SubjectRefused(f"There is no subject {code}; {way_on}.")
    return subject
