import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.coefficients import KINDS
from rating.figure import Figure
from rating.label_studio import is_json, read_label_studio
from rating.ratings_file import FileRefused, RatingsFile, parse_scale, parse_words, read_ratings
from rating.report import (
    FEWEST_PAIRABLE,
    Agreement,
    AgreementReport,
    agreement_report,
    as_json,
)
from rating.stats.agreement import FEWEST_REPLICATES, REPLICATES
from rating.wide import WideAgreement

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
MOST_PAIRS = 6  # of a dimension on the terminal
FAMILIES = {
    "Krippendorff's alpha": ("alpha_nominal", "alpha_ordinal", "alpha_interval"),
    "Gwet's AC": ("ac1", "ac2_linear", "ac2_quadratic", "ac2_ordinal"),
    "Kappas of a pool": ("fleiss", "conger", "brennan_prediger"),
    "Cohen's kappa of two raters": ("kappa", "kappa_linear", "kappa_quadratic"),
    "Intraclass correlation, one rating": ("icc_1_1", "icc_2_1", "icc_3_1"),
    "Intraclass correlation, mean of k": ("icc_1_k", "icc_2_k", "icc_3_k"),
    "Kendall's concordance": ("kendall_w",),
}
SHORT = {
    "alpha_nominal": "nominal",
    "alpha_ordinal": "ordinal",
    "alpha_interval": "interval",
    "kappa": "unweighted",
    "kappa_linear": "linear",
    "kappa_quadratic": "quadratic",
    "brennan_prediger": "Brennan-Prediger",
    "fleiss": "Fleiss",
    "conger": "Conger",
    "kendall_w": "W",
}
NO_LIGHT = (
    "No single coefficient says that agreement is good: each takes something else for chance. Where "
    "they part, docs/statistics/agreement.md says why, and what the interval of each is for."
)


MOST_REPLICATES = 1_000_000


class Command(BaseCommand):
    help = "Say how far the raters in a file agree. Needs no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="CSV with the columns rater, unit, level and, if there are, dimension and item; "
            "or Label Studio's JSON export",
        )
        parser.add_argument(
            "--scale",
            required=True,
            type=_scale,
            help="every level that could be given, lowest first: LOW-HIGH, such as 1-5, or "
            "1,1.5,2, or words, such as low,medium,high",
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
        scale, words = options["scale"]
        read = read_label_studio if is_json(options["file"]) else read_ratings
        try:
            ratings = read(options["file"], scale, words)
        except FileRefused as why:
            raise CommandError(_printable(str(why))) from None
        report = agreement_report(
            ratings.rows(),
            scale,
            seed=options["seed"],
            replicates=options["replicates"],
            words=words,
            coefficients=tuple(KINDS),
        )
        if options["json"]:
            found = as_json(report) | {
                "n_not_rated": ratings.n_not_rated,
                "n_empty_raters": ratings.n_empty_raters,
                "n_empty_units": ratings.n_empty_units,
                "notes": ratings.notes,
            }
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
    yield ""
    for family, names in FAMILIES.items():
        yield from _family(report, family, names)
    yield from _generalised(report)
    yield from _pairs(report)
    yield NO_LIGHT
    yield f"Seed {report.seed}, {report.replicates:,} resamples."
    yield from ratings.notes
    if n := ratings.n_empty_raters:
        yield f"Raters without any level, left out: {n:,}."
    if n := ratings.n_empty_units:
        yield f"Units without any level, left out: {n:,}."


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
    yield from _aligned(rows, to_the_right=6)


def _aligned(rows: list[tuple[str, ...]], *, to_the_right: int = 0) -> Iterator[str]:
    """Rows in columns: the first to the left, then so many to the right, the others to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        name, *cells = row
        aligned = [
            cell.rjust(width) if place < to_the_right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths[1:], strict=True))
        ]
        yield "  ".join([name.ljust(widths[0]), *aligned]).rstrip()


def _wide(report: AgreementReport) -> Iterator[tuple[str, Agreement, WideAgreement]]:
    for name, agreement in report.rows:
        if agreement.wide:
            yield f"  {name}", agreement, agreement.wide


def _family(report: AgreementReport, family: str, names: tuple[str, ...]) -> Iterator[str]:
    """A block of one family: a row for each dimension, and below it why there are gaps."""
    columns: dict[str, dict[str, Figure]] = {
        SHORT.get(name, KINDS[name].title): {
            title: agreement.alpha_ordinal if name == "alpha_ordinal" else wide.found[name]
            for title, agreement, wide in _wide(report)
        }
        for name in names
    }
    yield from _block(family, columns)


def _block(heading: str, columns: dict[str, dict[str, Figure]]) -> Iterator[str]:
    """A row for each title and a column for each heading that has a number anywhere.

    Columns without any are told below with the reason for all together, and so is what is missing
    elsewhere, once for each reason.
    """
    shown = {
        name: figures
        for name, figures in columns.items()
        if any(figure.value is not None for figure in figures.values())
    }
    if shown:
        titles = next(iter(shown.values()))
        yield from _aligned(
            [(heading, *shown)]
            + [(title, *(_brief(column[title]) for column in shown.values())) for title in titles]
        )
    else:
        yield heading
    for why, places in _gaps(columns, shown).items():
        yield f"  {'; '.join(places)}. {why}"
    yield ""


def _gaps(
    columns: dict[str, dict[str, Figure]], shown: dict[str, dict[str, Figure]]
) -> dict[str, list[str]]:
    """Each reason with the columns, and the rows of them, that it is for."""
    gaps: dict[str, list[str]] = {}
    for name, figures in columns.items():
        if name not in shown:
            why = next(iter(figures.values())).reason or ""
            gaps.setdefault(why, []).append(f"{name}: none")
            continue
        titles: dict[tuple[str, str], list[str]] = {}
        for title, figure in figures.items():
            if figure.reason:
                what = "no number" if figure.value is None else "no interval"
                titles.setdefault((figure.reason, what), []).append(title.strip())
        for (why, what), rows in titles.items():
            more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
            gaps.setdefault(why, []).append(f"{name}, {what}: {', '.join(rows[:3])}{more}")
    return gaps


def _generalised(report: AgreementReport) -> Iterator[str]:
    """Ordinal alpha with the intervals for other items and other raters, and against chance."""
    columns: dict[str, dict[str, Figure]] = {
        "these raters, other items": {},
        "other raters too": {},
    }
    for title, _, wide in _wide(report):
        general = wide.generalised["alpha_ordinal"]
        for column, figure in zip(
            columns.values(), (general.by_item, general.raters_like_these), strict=True
        ):
            column[title] = figure or Figure(None)
    yield from _block("Ordinal alpha, for", columns)
    rows: list[tuple[str, ...]] = [
        ("Against chance within items", "alpha", "of levels dealt anew", "p")
    ]
    reasons: dict[str, dict[str, Figure]] = {}
    for title, _, wide in _wide(report):
        if isinstance(wide.chance, str):
            reasons.setdefault(wide.chance, {})[title.strip()] = Figure(None)
        else:
            alphas = (Figure(wide.chance.alpha), Figure(wide.chance.by_chance))
            rows.append((title, *(alpha.number() for alpha in alphas), f"{wide.chance.p:.2g}"))
    yield from _aligned(rows if len(rows) > 1 else [rows[0][:1]])
    for reason, titles in reasons.items():
        yield f"  {', '.join(titles)}: none. {reason}"
    yield ""


def _pairs(report: AgreementReport) -> Iterator[str]:
    """Cohen's kappas of the pairs with enough units in common, for each dimension."""
    headings = ("units", *(SHORT[name] for name in FAMILIES["Cohen's kappa of two raters"]))
    rows: list[tuple[str, ...]] = [("Cohen's kappa of pairs", *headings, "levels neither used")]
    n_left_out = 0
    for title, agreement, wide in _wide(report):
        most = sorted(wide.pairs, key=lambda pair: -pair.n_units)
        kept = [pair for pair in most if pair.n_units >= FEWEST_PAIRABLE][:MOST_PAIRS] or most[:1]
        n_left_out += len(most) - len(kept)
        for pair in kept:
            rows.append(
                (
                    f"{title}, {' and '.join(pair.raters)}",
                    f"{pair.n_units:,}",
                    *(_brief(figure) for figure in pair.kappas.values()),
                    agreement.in_words(pair.unused_levels),
                )
            )
    if len(rows) > 1:
        yield from _aligned(rows)
        if n_left_out:
            yield f"  {n_left_out:,} more pairs have fewer units in common. They are in the JSON."
        yield ""


def _brief(figure: Figure) -> str:
    if figure.value is None:
        return "none"
    if figure.low is None or figure.high is None:
        return figure.number()
    low, high = Figure(figure.low).number(), Figure(figure.high).number()
    return f"{figure.number()} ({low} to {high})"


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


def _scale(text: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The levels, and their names where they are words: these are then 1, 2 and so on."""
    try:
        if words := parse_words(text):
            return tuple(float(place) for place in range(1, len(words) + 1)), words
        return parse_scale(text), ()
    except ValueError as why:
        raise ArgumentTypeError(str(why)) from None


def _replicates(text: str) -> int:
    try:
        replicates = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number.") from None
    if not FEWEST_REPLICATES <= replicates <= MOST_REPLICATES:
        raise ArgumentTypeError(
            f"Give at least {FEWEST_REPLICATES}, and {MOST_REPLICATES:,} at most, not {replicates}."
        )
    return replicates


def _printable(text: str) -> str:
    """Text without the control characters that could act on a terminal."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )
