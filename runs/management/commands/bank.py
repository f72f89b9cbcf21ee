"""Load a bank of items."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from runs.bank import BankRefused, read_bank
from runs.models import Bank


class Command(BaseCommand):
    help = "Load a bank: bank import FILE"

    def add_arguments(self, parser: ArgumentParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        load = steps.add_parser("import", help="check a bank file, and store it whole and frozen")
        load.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            file = read_bank(path)
            bank, new = Bank.objects.import_file(file)
        except OSError as why:
            raise CommandError(f"{path} cannot be read: {why.strerror}.") from None
        except BankRefused as why:
            raise CommandError(
                f"{path} was not loaded; it has {_count(len(why.faults), 'fault')}:\n{why}"
            ) from None
        except ValidationError as why:
            raise CommandError(" ".join(why.messages)) from None
        for warning in file.warnings:
            self.stderr.write(str(warning))
        if not new:
            self.stdout.write(f"{bank} is already there, with the same content.")
            return
        withheld = sum(1 for item in file.items if item.withheld)
        self.stdout.write(
            f"{bank} is loaded: {_count(len(file.items), 'item')}, "
            f"{len(file.items) - withheld} served, {withheld} withheld, "
            f"{_count(len(file.pairs), 'pair')}, {_count(len(file.warnings), 'warning')}."
        )
        self.stdout.write(f"Its hash is {bank.content_hash}.")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
