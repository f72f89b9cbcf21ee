"""Make the database again from a backup, then verify it."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rating.backups.form import BadBackup
from rating.backups.restoring import restore
from rating.management.commands.verify import UNKNOWN_KEY


class Command(BaseCommand):
    help = (
        "Restore a backup into the empty database that DATABASE_URL names, SQLite or PostgreSQL, "
        "and verify it."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the backup; - reads it from the standard input")
        parser.add_argument("--quiet", action="store_true", help="no line for each table")
        parser.add_argument(
            "--no-verify", action="store_true", help="leave verifying to manage.py verify"
        )

    def handle(self, *args: Any, file: str, quiet: bool, no_verify: bool, **options: Any) -> None:
        def say(line: str) -> None:
            if not quiet:
                self.stderr.write(line)

        try:
            if file == "-":
                # The list of what is in the file stands at its end.
                with tempfile.NamedTemporaryFile(prefix="restore-") as spool:
                    shutil.copyfileobj(sys.stdin.buffer, spool)
                    spool.flush()
                    manifest = restore(Path(spool.name), say=say)
            else:
                manifest = restore(Path(file), say=say)
        except BadBackup as why:
            raise CommandError(str(why)) from None
        rows = sum(own["rows"] for own in manifest["tables"].values())
        self.stdout.write(f"{rows:,} rows are restored, as they were at {manifest['made_at']}.")
        if no_verify:
            return
        try:
            call_command("verify", quiet=quiet, stdout=self.stdout, stderr=self.stderr)
        except CommandError as why:
            if why.returncode != UNKNOWN_KEY:
                raise
            self.stderr.write(f"{why} It holds otherwise.")
