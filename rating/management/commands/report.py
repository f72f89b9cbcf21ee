"""Write the agreement report of a wave into a folder."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from compassion.snapshots import snapshot
from rating.exports import Exports
from runs.models import Wave


class Command(BaseCommand):
    help = "Write the agreement report of a wave, its ratings, what they mean, and their hashes."

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
            with snapshot():
                for name, parts in Exports(found).files():
                    with (out / name).open("wb") as file:
                        file.writelines(parts)
                    self.stdout.write(str(out / name))
        except OSError as why:
            raise CommandError(f"{out} cannot be written: {why.strerror}.") from None
