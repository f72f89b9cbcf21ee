"""Write who worked for how long, or who was shown what, as CSV."""

from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from rating.care import Days, as_csv, exposure_lines, hours_lines, record_look


class Command(BaseCommand):
    help = "Write hours or exposure of all raters, by code name, as CSV to the terminal."

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--hours", action="store_true", help="cards and minutes by day")
        which.add_argument("--exposure", action="store_true", help="each card opened, each look")
        parser.add_argument("--from", dest="first", type=_day, help="the first day, 2026-10-03")
        parser.add_argument("--to", dest="last", type=_day, help="the last day, 2026-10-31")

    def handle(
        self, *args: Any, hours: bool, first: date | None, last: date | None, **options: Any
    ) -> None:
        if first and last and first > last:
            raise CommandError(f"{last} lies before {first}. Change one of them.")
        days = Days(first, last)
        record_look(None, "hours.csv" if hours else "exposure.csv", days)
        for line in as_csv(hours_lines(days) if hours else exposure_lines(days)):
            # The lines end as the CSV standard asks for, and with nothing more.
            self.stdout.write(line, ending="")


def _day(given: str) -> date:
    try:
        return date.fromisoformat(given)
    except ValueError:
        raise CommandError(f"{given!r} is no day; write it as 2026-10-03.") from None
