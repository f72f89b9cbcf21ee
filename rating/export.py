"""Ratings as CSV files that open the same in a spreadsheet, a script and a text editor.

The files are UTF-8 without a byte order mark, with commas, CR LF and double quotes as RFC 4180
has them. A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a
carriage return for a formula, also behind white space and also in full-width letters. Such a
text gets an apostrophe before it, and so does such a text that already has one. So taking one
apostrophe from each cell that ``guarded`` would touch gives every text back, exactly;
``unguarded`` does that. Numbers are never touched.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Final

from runs.properties import Properties

COUNTED: Final = "counted"
LONG: Final = (
    "response",
    "item",
    "dimension",
    "rater",
    "slot",
    "kind",
    "level",
    "confidence",
    "critical_harm",
    "quotes",
    "note",
    "rated_at",
)
# Known of a response once its wave is unblinded, and in a file of its own with what it answers.
SAID_BY: Final = ("subject", "condition", "trial")
PROPERTIES: Final = ("words", "characters", "reading_level", "refusal", "cut_off", "other_script")
KEY: Final = ("response", "subject", "condition", "item", "trial", *PROPERTIES)
WIDE: Final = ("response", "item", "dimension")
FORMULA: Final = re.compile(r"'*[\s\u200b\ufeff]*[=+\-@\t\r＝＋－＠]")

Cell = str | int | float | None


@dataclass(frozen=True)
class ExportRow:
    """One rating as it leaves the building: people and responses by code name alone."""

    response: str
    item: str
    dimension: str
    rater: str
    slot: int | None
    kind: str
    level: int
    confidence: str
    critical_harm: bool
    quotes: tuple[str, ...]
    note: str
    rated_at: datetime
    subject: str = ""
    condition: str = ""
    trial: int | None = None


@dataclass(frozen=True)
class KeyRow:
    """One response of an unblinded wave: its random code, what it is, and what it is like."""

    response: str
    subject: str
    condition: str
    item: str
    trial: int
    properties: Properties


def in_order(rows: Iterable[ExportRow]) -> list[ExportRow]:
    """The rows as each file wants them: by response, rater and time."""
    return sorted(rows, key=_order)


def ratings_csv(rows: Iterable[ExportRow], *, unblinded: bool = False) -> Iterator[str]:
    """Yield one line per rating, of rows ``in_order``.

    ``quotes`` is a JSON list, so that any number of them fits in a cell; ``critical_harm`` is
    true or false; ``rated_at`` is in UTC. Only what is ``unblinded`` says whose each response is.
    """
    if unblinded:
        lines = ([*_long(row), row.subject, row.condition, row.trial] for row in rows)
        return csv_lines((*LONG, *SAID_BY), lines)
    return csv_lines(LONG, map(_long, rows))


def ratings_wide_csv(rows: Iterable[ExportRow], raters: Iterable[str]) -> Iterator[str]:
    """Yield one line per response and one column per rater, from A to Z, holding levels.

    Of rows ``in_order`` only counted ratings are in it: practice, repeats and the like would give
    a rater two levels for one response. A rater who did not rate a response has an empty cell.

    Raises
    ------
    ValueError
        If a rater has two counted ratings of a response, or is called as a column is.
    """
    columns = sorted(raters)
    if taken := set(columns) & set(WIDE):
        raise ValueError(f"A rater is called {min(taken)}, as a column is. Rename the rater.")
    return csv_lines((*WIDE, *columns), _wide(rows, columns))


def key_csv(rows: Iterable[KeyRow]) -> str:
    """Return one line per response: its random code, what it is, and what it is like.

    ``reading_level`` is in years of school, empty where it means nothing; the last three are
    true or false.
    """
    return "".join(key_lines(rows))


def key_lines(rows: Iterable[KeyRow]) -> Iterator[str]:
    """The same line by line, so that of many responses it is never whole in memory."""
    return csv_lines(KEY, map(_key, rows))


def guarded(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    """Return the text of a cell that ``guarded`` made."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def _order(row: ExportRow) -> tuple[str, str, datetime, str, int]:
    return (row.response, row.rater, row.rated_at, row.kind, row.slot or 0)


def _wide(rows: Iterable[ExportRow], raters: Sequence[str]) -> Iterator[list[Cell]]:
    counted = (row for row in rows if row.kind == COUNTED)
    for names, of_one in groupby(counted, key=lambda row: (row.response, row.item, row.dimension)):
        given: dict[str, int] = {}
        for row in of_one:
            if row.rater in given:
                raise ValueError(
                    f"{row.rater} has two counted ratings of response {row.response}. "
                    f"Leave out the superseded one."
                )
            given[row.rater] = row.level
        yield [*names, *map(given.get, raters)]


def _long(row: ExportRow) -> list[Cell]:
    return [
        row.response,
        row.item,
        row.dimension,
        row.rater,
        row.slot,
        row.kind,
        row.level,
        row.confidence,
        "true" if row.critical_harm else "false",
        json.dumps(row.quotes, ensure_ascii=False),
        row.note,
        row.rated_at.astimezone(UTC).isoformat(),
    ]


def _key(row: KeyRow) -> list[Cell]:
    like = row.properties
    return [
        row.response,
        row.subject,
        row.condition,
        row.item,
        row.trial,
        like.words,
        like.characters,
        None if like.reading_level is None else round(like.reading_level, 1),
        *(
            "true" if one else "false"
            for one in (like.looks_like_refusal, like.cut_off, like.other_script)
        ),
    ]


def in_csv(header: Iterable[Cell], lines: Iterable[Iterable[Cell]]) -> str:
    """Return a file of these lines, texts guarded."""
    return "".join(csv_lines(header, lines))


def csv_lines(header: Iterable[Cell], lines: Iterable[Iterable[Cell]]) -> Iterator[str]:
    """Yield the lines of a file, texts guarded, so that a large one is never whole in memory."""
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for line in chain([header], lines):
        yield writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in line])


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text
