"""Say what is not as it should be with this installation, and how to put it right."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from rating.doctor.lines import State
from rating.doctor.looks import all_looks


class Command(BaseCommand):
    help = (
        "Look at settings, database, broker, worker, keys, disk and backups, and say what to do. "
        "Nothing is changed. Ends with 0 where nothing is wrong, else with 1."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="the same, for a program")

    def handle(self, *args: Any, **options: Any) -> None:
        lines = list(all_looks(timezone.now()))
        if options["json"]:
            self.stdout.write(json.dumps([asdict(line) for line in lines], indent=1))
        else:
            for line in lines:
                self.stdout.write(str(line))
        bad = sum(line.state == State.WRONG for line in lines)
        if bad:
            raise CommandError(f"{bad} thing{'s are' if bad > 1 else ' is'} wrong.", returncode=1)
