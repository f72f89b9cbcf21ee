"""What is held of a person: a copy of it, or its erasure."""

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from rating.models import User
from rating.personal.copying import copy_of, record_copy
from rating.personal.erasing import GOES, STAYS, CannotErase, erase, why_not


class Command(BaseCommand):
    help = "Export or erase what is held of a person, who is named by address or code name."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        export = acts.add_parser("export", help="write a copy of everything as JSON")
        export.add_argument("who")
        export.add_argument("file", help="the file to write; - writes to the standard output")
        export.add_argument(
            "--without-levels",
            action="store_true",
            help="as raters get it on their own page: without what they found of responses",
        )
        erasing = acts.add_parser("erase", help="erase what is personal, for good")
        erasing.add_argument("who")
        erasing.add_argument("--reason", required=True, help="why, in words that name nobody")
        erasing.add_argument(
            "--yes", metavar="CODE_NAME", help="the code name again, instead of being asked for it"
        )

    def handle(self, *args: Any, act: str, who: str, **options: Any) -> None:
        person = User.objects.filter(email__iexact=who).first()
        person = person or User.objects.filter(pseudonym=who).first()
        if person is None:
            raise CommandError(f"Nobody here has the address or code name {who}.")
        if act == "export":
            self._export(person, options["file"], levels=not options["without_levels"])
        else:
            self._erase(person, options["reason"], options["yes"])

    def _export(self, person: User, file: str, *, levels: bool) -> None:
        record_copy(person, None)
        pieces = copy_of(person, now=timezone.now(), levels=levels)
        if file == "-":
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        try:
            descriptor = os.open(Path(file), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            raise CommandError(f"{file} exists. Name another file.") from None
        except OSError as why:
            raise CommandError(f"{file} cannot be written: {why.strerror}.") from None
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.writelines(pieces)
        self.stderr.write(f"Everything held of {person.pseudonym} is in {file}.")

    def _erase(self, person: User, reason: str, yes: str | None) -> None:
        if why := why_not(person):
            raise CommandError(why)
        if yes is None:
            self.stdout.write("Goes, for good:")
            for line in GOES:
                self.stdout.write(f"  {line}")
            self.stdout.write("Stays:")
            for line in STAYS:
                self.stdout.write(f"  {line}")
            if not sys.stdin.isatty():
                raise CommandError(f"To erase them, add --yes {person.pseudonym}")
            yes = input(f"Type {person.pseudonym} to erase {person}: ").strip()
        if yes != person.pseudonym:
            raise CommandError(f"Nothing was erased: the code name is {person.pseudonym}.")
        try:
            erase(person, None, reason, now=timezone.now())
        except CannotErase as why:
            raise CommandError(str(why)) from None
        self.stdout.write(
            f"Erased. What {person.pseudonym} found stays. Backups made before still hold the rest: "
            "throw them away when their time is over."
        )
