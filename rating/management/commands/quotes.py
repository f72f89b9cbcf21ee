"""Hold quotes typed elsewhere to the rule that quotes here are held to. Needs no database."""

import csv
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from rating.quotes_table import QuotesTable, quotes_table
from runs.plain_json import read_plain

LONGEST_SHOWN = 100
LARGEST = 100_000_000  # bytes in a file


class Command(BaseCommand):
    help = "Say which quotes of a file would be accepted, which not, and why. Needs no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="CSV, or JSON list of objects, with the columns text and quote"
        )
        parser.add_argument(
            "--texts",
            type=Path,
            help="where the texts stand apart: a CSV with two columns, one of which is in FILE too",
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *args: Any, **options: Any) -> None:
        table = quotes_table(_pairs(options["file"], options["texts"]))
        if options["json"]:
            self.stdout.write(json.dumps(table.as_json(), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_page(table)))


def _pairs(file: Path, texts: Path | None) -> list[tuple[str, str]]:
    rows = _rows(file)
    if texts is None:
        _need(rows, file, "text", "quote")
        return [(row["text"], row["quote"]) for row in rows]
    of_texts = _rows(texts)
    columns = list(of_texts[0])
    shared = [name for name in columns if name in rows[0]]
    if len(columns) != 2 or len(shared) != 1:
        raise CommandError(
            f"{texts} needs two columns, one of which is a column of {file}; "
            f"it has: {', '.join(columns)}."
        )
    [key] = shared
    [text] = [name for name in columns if name != key]
    _need(rows, file, key, "quote")
    text_of = {row[key]: row[text] for row in of_texts}
    if missing := next((row[key] for row in rows if row[key] not in text_of), None):
        raise CommandError(f"{texts} has no text for {key} {missing}, which {file} names.")
    return [(text_of[row[key]], row["quote"]) for row in rows]


def _rows(file: Path) -> list[dict[str, str]]:
    before = csv.field_size_limit(LARGEST)
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            if (size := file.stat().st_size) > LARGEST:
                raise CommandError(f"{file} has {size:,} bytes; at most {LARGEST:,} are read.")
            is_json = file.suffix == ".json"
            rows = read_plain(stream.read()) if is_json else list(csv.DictReader(stream))
    except OSError as why:
        raise CommandError(f"{file} cannot be read: {why.strerror}.") from None
    except (ValueError, csv.Error) as why:
        raise CommandError(f"{file} cannot be read: {why}.") from None
    finally:
        csv.field_size_limit(before)
    if not isinstance(rows, list) or not rows:
        raise CommandError(f"{file} holds no rows.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
            raise CommandError(f"{file}: row {number} is not columns of text.")
    return rows


def _need(rows: list[dict[str, str]], file: Path, *columns: str) -> None:
    for number, row in enumerate(rows, start=1):
        for column in columns:
            if column not in row:
                raise CommandError(f"{file}: row {number} has no column {column}.")


def _page(table: QuotesTable) -> Iterator[str]:
    yield f"{table.quotes:,} quotes; {table.empty:,} rows where nothing was typed."
    yield ""
    width = max(len(row.outcome) for row in table.rows)
    for row in table.rows:
        share = f"{100 * row.count / table.quotes:5.1f}%" if table.quotes else ""
        yield f"{row.outcome.ljust(width)}  {row.count:>6,}  {share}".rstrip()
        for step, count in sorted(row.folds.items(), key=lambda fold: (-fold[1], fold[0])):
            yield f"  {step.ljust(width - 2)}  {count:>6,}"
    for row in table.rows:
        for number, example in enumerate(row.examples):
            if number == 0:
                yield f"\n{row.outcome}:"
            yield f"  typed:    {_short(example.quote)}"
            if example.passage and example.passage != example.quote:
                yield f"  passage:  {_short(example.passage)}"
            if example.difference:
                yield f"  differs:  {_short(example.difference)}"


def _short(text: str) -> str:
    """One line of it, with nothing that a terminal would obey."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
