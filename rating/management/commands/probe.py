"""Serve the local probe to an MCP host, or bring a finished probe run to human raters."""

import logging
import sys
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from rating.probe.folder import open_folder
from rating.probe.refusals import Refused
from rating.probe.shelf import Shelf, shelf_of
from runs.bank import BankRefused, read_bank
from runs.refusals import WaveRefused

BANK = settings.BASE_DIR / "fixtures" / "model_index.json"


class Command(BaseCommand):
    help = (
        "Serve the local probe over standard input and output, for an MCP host: no database, no "
        "network. With import: bring a finished probe run to human raters."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--folder", type=Path, help="where all that is recorded goes")
        parser.add_argument("--bank", type=Path, default=BANK, help="a bank file; ours otherwise")
        steps = parser.add_subparsers(dest="step")
        load = steps.add_parser("import", help="load a finished run as a local wave")
        load.add_argument("folder_of_run", metavar="FOLDER", type=Path)
        load.add_argument("--bank", type=Path, default=SUPPRESS, help="the bank it was taken with")
        load.add_argument("--run", default="", help="which run, where the folder holds several")
        load.add_argument("--developer", required=True, help="who makes the subject")
        load.add_argument("--family", required=True, help="the model family it belongs to")
        load.add_argument("--snapshot", default="", help="its snapshot; its label otherwise")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            shelf = _shelf(options["bank"])
            if options["step"] == "import":
                self._import(shelf, **options)
            else:
                self._serve(shelf, options["folder"])
        except (Refused, WaveRefused) as why:
            raise CommandError(str(why)) from None

    def _serve(self, shelf: Shelf, chosen: Path | None) -> None:
        if chosen is None:
            raise CommandError("Say where records go: probe --folder FOLDER")
        from rating.probe.server import serve  # slow to load
        from rating.probe.tools import Probe

        # Standard output carries the protocol and nothing else.
        logging.basicConfig(stream=sys.stderr, force=True)
        serve(Probe(shelf, open_folder(chosen), timezone.now, lambda: uuid4().hex))

    def _import(self, shelf: Shelf, **options: Any) -> None:
        from rating.probe.importing import import_run

        done = import_run(
            shelf,
            options["folder_of_run"],
            options["run"],
            developer=options["developer"],
            family=options["family"],
            snapshot=options["snapshot"],
        )
        for line in done.told:
            self.stdout.write(line)


def _shelf(path: Path) -> Shelf:
    try:
        return shelf_of(read_bank(path))
    except OSError as why:
        raise CommandError(f"{path} cannot be read: {why.strerror}.") from None
    except BankRefused as why:
        raise CommandError(f"{path} is no bank:\n{why}") from None
