"""Write everything to one file, while people go on working."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from rating.backups.form import BadBackup
from rating.backups.making import leave_stamp, stream_backup, write_backup


class Command(BaseCommand):
    help = (
        "Write the whole database to one file, which any installation of this version can restore. "
        "It holds passwords' hashes and everything people wrote: keep it as you keep the database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file to write; - writes to the standard output")
        parser.add_argument("--quiet", action="store_true", help="no line for each table")

    def handle(self, *args: Any, file: str, quiet: bool, **options: Any) -> None:
        def say(line: str) -> None:
            if not quiet:
                self.stderr.write(line)

        now = timezone.now()
        try:
            if file == "-":
                manifest = stream_backup(sys.stdout.buffer, now=now, say=say)
                sys.stdout.buffer.flush()
                leave_stamp(Path("-"), manifest)
            else:
                manifest = write_backup(Path(file), now=now, say=say)
        except BadBackup as why:
            raise CommandError(str(why)) from None
        rows = sum(own["rows"] for own in manifest["tables"].values())
        head = manifest["head"]
        self.stderr.write(
            f"{rows:,} rows of {len(manifest['tables'])} tables. Keep elsewhere: event "
            f"{head['event']} {head['event_seal']}, seal {head['seal']} {head['seal_hash']}."
        )
