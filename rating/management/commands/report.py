"""Write the agreement report of a wave into a folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rating.wave_report import FILES, file_of
from runs.models import Wave


class Command(BaseCommand):
    help = "Write the agreement report of a wave: report.html, report.json and two CSV files."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("wave", help="the wave's code")
        parser.add_argument("--out", type=Path, required=True, help="the folder to write into")

    def handle(self, *args: Any, wave: str, out: Path, **options: Any) -> None:
        found = Wave.objects.select_related("bank").filter(code=wave).first()
        if found is None:
            known = ", ".join(Wave.objects.order_by("code").values_list("code", flat=True))
            raise CommandError(f"There is no wave {wave}; the waves are: {known or 'none yet'}.")
        try:
            out.mkdir(parents=True, exist_ok=True)
            for name in FILES:
                # newline="" keeps the line ends that the CSV standard asks for.
                with open(out / name, "w", encoding="utf-8", newline="") as file:
                    file.write(file_of(found, name))
        except OSError as why:
            raise CommandError(f"{out} cannot be written: {why.strerror}.") from None
        self.stdout.write("\n".join(str(out / name) for name in FILES))
