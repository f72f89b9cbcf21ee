import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.ratings_file import FileRefused, RatingsFile, parse_scale, read_ratings
from rating.report import AgreementReport, agreement_report, as_json
from rating.stats.agreement import FEWEST_REPLICATES, REPLICATES

HEADINGS = (
    "",
    "ratings",
    "units",
    "pairable",
    "raters",
    "exact",
    "within one",
    "ordinal alpha",
    "unused levels",
)


class Command(BaseCommand):
    help = "Say how far the raters in a CSV file agree. Needs no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="CSV with the columns rater, unit, level and, if there is one, dimension",
        )
        parser.add_argument(
            "--scale",
            required=True,
            type=_scale,
            help="every level that could be given: LOW-HIGH, such as 1-5, or 1,1.5,2",
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
        parser.add_argument(
            "--seed", default="1", help="what the resampling is drawn from (default: 1)"
        )
        parser.add_argument(
            "--replicates",
            type=_replicates,
            default=REPLICATES,
            help=f"resamples behind each interval (default: {REPLICATES:,})",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ratings = read_ratings(options["file"], options["scale"])
        except FileRefused as why:
            raise CommandError(_printable(str(why))) from None
        report = agreement_report(
            ratings.rows(),
            options["scale"],
            seed=options["seed"],
            replicates=options["replicates"],
        )
        if options["json"]:
            found = as_json(report) | {"n_not_rated": ratings.n_not_rated, "notes": ratings.notes}
            self.stdout.write(json.dumps(found, indent=2, allow_nan=False))
        else:
            lines = _page(options["file"], ratings, report)
            self.stdout.write("\n".join(_printable(line) for line in lines))


def _page(file: Path, ratings: RatingsFile, report: AgreementReport) -> Iterator[str]:
    yield f"{file}: {report.sentence}"
    yield ""
    yield from _table(report)
    yield ""
    yield from _cautions(report)
    yield f"The scale is {report.scale_in_words}. {report.alpha_meaning}"
    yield report.meaning
    yield f"Seed {report.seed}, {report.replicates:,} resamples."
    yield from ratings.notes


def _table(report: AgreementReport) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [HEADINGS]
    for name, agreement in report.rows:
        figures = (
            agreement.percent_exact.percent(),
            agreement.percent_within_one.percent(),
            agreement.alpha_ordinal.brief(),
        )
        counts = (
            agreement.n_ratings,
            agreement.n_units,
            agreement.n_pairable_units,
            agreement.n_raters,
        )
        rows.append(
            (
                name,
                *(f"{count:,}" for count in counts),
                *(figure or "see below" for figure in figures),
                agreement.unused,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        name, *cells = row
        aligned = [
            cell.rjust(width) if place < 6 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths[1:], strict=True))
        ]
        yield "  ".join([name.ljust(widths[0]), *aligned]).rstrip()


def _cautions(report: AgreementReport) -> Iterator[str]:
    """A line for each thing that is missing or does not suffice, then an empty one."""
    lines = []
    for name, agreement in report.rows:
        figures = {
            "exact": agreement.percent_exact,
            "within one": agreement.percent_within_one,
            "ordinal alpha": agreement.alpha_ordinal,
        }
        lines += [f"{name}, {what}: {figure.why}" for what, figure in figures.items() if figure.why]
        lines += [f"{name}: {agreement.caution}"] if agreement.caution else []
    if lines:
        yield from (*lines, "")


def _scale(text: str) -> tuple[float, ...]:
    try:
        return parse_scale(text)
    except ValueError as why:
        raise ArgumentTypeError(str(why)) from None


def _replicates(text: str) -> int:
    try:
        replicates = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number.") from None
    if replicates < FEWEST_REPLICATES:
        raise ArgumentTypeError(f"Give at least {FEWEST_REPLICATES}, not {replicates}.")
    return replicates


def _printable(text: str) -> str:
    """Text without the control characters that could act on a terminal."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
