"""Compute the figures of a bundle again, without a database, and say whether they are the same."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.publishing.bundle import INTERNAL, BadBundle, reproduce

MOST_SHOWN = 20


class Command(BaseCommand):
    help = "Compute every figure of a bundle again and compare. No database is needed."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("bundle", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["bundle"]
        try:
            found = reproduce(path)
        except BadBundle as why:
            raise CommandError(str(why)) from None
        if not found.same_code:
            self.stdout.write("The figures were computed by another version of this program.")
        for difference in found.differences[:MOST_SHOWN]:
            self.stderr.write(difference)
        if not found.identical:
            raise CommandError(f"{len(found.differences)} figures differ.")
        what = "figures" if found.kind == INTERNAL else "figures of agreement"
        self.stdout.write(
            f"{path.name}: every hash is right, and {found.figures} {what} are the same."
        )
