"""A file of ratings made elsewhere, read whole or refused with every fault that was found."""

import csv
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from rating.report import RatingRow

NEEDED: Final = ("rater", "unit", "level")
OPTIONAL: Final = ("dimension", "item", "quote")
LARGEST: Final = 100 * 1024 * 1024  # bytes in a file
LONGEST: Final = 131_072  # characters in a field
LONGEST_LINE: Final = 1024 * 1024  # bytes in a line
MOST_FAULTS: Final = 20  # listed at once
MOST_LEVELS: Final = 101  # so that 0-100 is still a scale
NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
RANGE: Final = re.compile(r"(-?[0-9]{1,9})-(-?[0-9]{1,9})", re.ASCII)
WORD: Final = re.compile(r"[^\W\d_][^,\n\r]{0,99}")  # begins with a letter
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class FileRefused(ValueError):
    """The file cannot be read as ratings. ``faults`` holds a sentence for each thing wrong."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class RowsRefused(ValueError):
    """Rows that cannot be read as ratings: the number, the column and a sentence for each fault."""

    def __init__(self, rows: Sequence[tuple[int, str, str]]) -> None:
        super().__init__("\n".join(text for *_, text in rows))
        self.rows = tuple(rows)


@dataclass(frozen=True)
class RatingsFile:
    """The rows of a file as columns of numbers, and what was noticed while reading it.

    ``units`` are units in a dimension, and ``items`` the item of each; "" where there is none.
    """

    raters: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    items: tuple[str, ...]
    rater: "array[int]"
    unit: "array[int]"
    level: "array[float]"  # NaN where the rater was listed but gave none
    notes: tuple[str, ...]

    @property
    def n_not_rated(self) -> int:
        return int(np.isnan(self.level).sum())

    def rows(self) -> Iterator[RatingRow]:
        """Yield the ratings in the order of the file, without the rows that were not rated."""
        for rater, unit, level in zip(self.rater, self.unit, self.level, strict=True):
            if not math.isnan(level):
                yield RatingRow(self.raters[rater], *self.units[unit], level, self.items[unit])

    @property
    def n_empty_raters(self) -> int:
        """The raters without any level, who are left out of every figure."""
        return len(self.raters) - self._with_a_level(self.rater)

    @property
    def n_empty_units(self) -> int:
        """The units without any level, which are left out of every figure."""
        return len(self.units) - self._with_a_level(self.unit)

    def _with_a_level(self, column: "array[int]") -> int:
        return len(np.unique(np.array(column, dtype=np.int64)[~np.isnan(self.level)]))


@dataclass(frozen=True)
class Levels:
    """The levels of a scale as a file writes them: as numbers, or as ``words``, lowest first."""

    scale: tuple[float, ...]
    words: tuple[str, ...] = ()

    def of(self, text: str) -> float:
        """The level that a text names. Raises ``ValueError`` with what could stand there."""
        way_on = f"Write {_either(self.words or self.scale)}, or leave it blank for not rated."
        if self.words:
            if text not in self.words:
                raise ValueError(f"{shown(text)} is not on the scale. {way_on}")
            return self.scale[self.words.index(text)]
        if not NUMBER.fullmatch(text):
            raise ValueError(f"{shown(text)} is not a number. {way_on}")
        if float(text) not in self.scale:
            raise ValueError(f"{shown(text)} is not on the scale. {way_on}")
        return float(text)


def parse_scale(text: str) -> tuple[float, ...]:
    """Return the levels that "1-5" or "1,1.5,2" declares, lowest first.

    Raises ``ValueError`` for anything else, fewer than two levels or more than 101.
    """
    if ends := RANGE.fullmatch(text.strip()):
        low, high = int(ends[1]), int(ends[2])
        n_levels = high - low + 1
        if not 2 <= n_levels <= MOST_LEVELS:
            raise ValueError(
                f"The scale {text!r} has {max(n_levels, 0):,} levels; give LOW-HIGH, "
                f"such as 1-5, with 2 to {MOST_LEVELS}."
            )
        return tuple(float(level) for level in range(low, high + 1))
    parts = [part.strip() for part in text.split(",")]
    if not all(NUMBER.fullmatch(part) for part in parts):
        raise ValueError(f"The scale {text!r} is neither LOW-HIGH, such as 1-5, nor 1,1.5,2.")
    levels = tuple(float(part) for part in parts)
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise ValueError(f"A scale has 2 to {MOST_LEVELS} levels, but {text!r} has {len(levels)}.")
    if any(low >= high for low, high in pairwise(levels)):
        raise ValueError(f"Write the scale {text!r} lowest first, each level once.")
    return levels


def parse_words(text: str) -> tuple[str, ...]:
    """Return the levels that "low,medium,high" declares, lowest first; none where it is no such
    list, as where any part is a number.

    Raises ``ValueError`` for a word twice, or more than 101.
    """
    parts = tuple(part.strip() for part in text.split(","))
    if len(parts) < 2 or not all(WORD.fullmatch(part) for part in parts):
        return ()
    if len(parts) > MOST_LEVELS:
        raise ValueError(f"A scale has 2 to {MOST_LEVELS} levels, but this has {len(parts)}.")
    if len(set(parts)) < len(parts):
        raise ValueError(f"Write the scale {text!r} lowest first, each level once.")
    return parts


def read_ratings(path: Path, scale: Sequence[float], words: Sequence[str] = ()) -> RatingsFile:
    """Return the ratings in a CSV file with the columns rater, unit and level.

    ``dimension``, ``item`` and ``quote`` may be there too; other columns are ignored, and noted. A
    row without a level was not rated: it is counted, never a level. Where the levels are
    ``words``, these are the scale's, lowest first.

    Raises
    ------
    FileRefused
        With up to 20 faults, each naming the file, line, column and value and the way on.
    """
    faults = _Faults(path)
    lines = _Lines(path, faults)
    size_before = csv.field_size_limit(LONGEST)
    try:
        found = _Columns(faults, Levels(tuple(float(level) for level in scale), tuple(words)))
        for line, fields in _records(lines, faults):
            found.take(line, fields)
    except OSError as why:
        raise FileRefused([f"{path} cannot be read: {why.strerror}."]) from None
    finally:
        csv.field_size_limit(size_before)
    return found.kept(lines)


def read_rows(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    scale: Sequence[float],
    words: Sequence[str] = (),
) -> RatingsFile:
    """Return the ratings in rows that no file holds, by the rules of ``read_ratings``.

    Raises
    ------
    RowsRefused
        With every fault, by the number of its row from 0.
    """
    faults = _RowFaults()
    found = _Columns(faults, Levels(tuple(float(level) for level in scale), tuple(words)))
    found.header = list(columns)
    for number, fields in enumerate(rows):
        found.take(number, list(fields))
    return found.finished()


class _Faults:
    """The faults of one file with their lines, told in the order of the lines."""

    place = "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, text: str, column: str = "") -> None:
        self.n += 1
        if len(self._first) < MOST_FAULTS:
            place = f"line {line}, column {column}" if column else f"line {line}"
            self._first.append((line, f"{self.path}, {place}: {text}"))

    def refuse(self) -> None:
        """Raise ``FileRefused`` if there is any fault."""
        if not self.n:
            return
        told = [text for _, text in sorted(self._first, key=itemgetter(0))]
        if more := self.n - len(told):
            told.append(f"{self.path}: {more:,} more fault{'s' * (more > 1)} like these.")
        raise FileRefused(told)


class _RowFaults(_Faults):
    """The faults of rows that no file holds, all of them."""

    place = "row"

    def __init__(self) -> None:
        super().__init__(Path())
        self._rows: list[tuple[int, str, str]] = []

    def add(self, line: int, text: str, column: str = "") -> None:
        self.n += 1
        self._rows.append((line, column, text))

    def refuse(self) -> None:
        """Raise ``RowsRefused`` if there is any fault."""
        if self.n:
            raise RowsRefused(sorted(self._rows, key=itemgetter(0)))


class _Lines:
    """The lines of a file as text. Ends early at bytes that are not UTF-8."""

    def __init__(self, path: Path, faults: _Faults) -> None:
        self.path = path
        self.faults = faults
        self.has_mark = False
        self.n_crlf = 0
        self.ended_early = False

    def __iter__(self) -> Iterator[str]:
        with self._open() as file:
            for number in count(1):
                raw = file.readline(LONGEST_LINE + 1)
                if not raw:
                    return
                if number == 1 and raw.startswith(BYTE_ORDER_MARK):
                    self.has_mark = True
                    raw = raw.removeprefix(BYTE_ORDER_MARK)
                self.n_crlf += raw.endswith(b"\r\n")
                text = self._text(number, raw)
                if text is None:
                    self.ended_early = True
                    return
                yield text

    def _open(self) -> BinaryIO:
        if not self.path.exists():
            raise FileRefused([f"There is no file {self.path}."])
        if not self.path.is_file():
            raise FileRefused([f"{self.path} is not a file."])
        size = self.path.stat().st_size
        if size > LARGEST:
            raise FileRefused(
                [
                    f"{self.path} has {size / 2**20:,.0f} MB; at most {LARGEST >> 20} are read. "
                    f"Take out columns that are not needed, or split it by dimension."
                ]
            )
        return self.path.open("rb")

    def _text(self, number: int, raw: bytes) -> str | None:
        if len(raw) > LONGEST_LINE:
            self.faults.add(number, f"This line is longer than {LONGEST_LINE >> 20} MB.")
            return None
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as why:
            byte = raw[why.start]
            self.faults.add(
                number,
                f"Byte {why.start + 1} ({byte:#04x}) is not UTF-8. Save the file as CSV UTF-8.",
            )
            return None
        if "\0" in text:
            self.faults.add(number, "A NUL byte stands in this line. Save the file as CSV UTF-8.")
            return text.replace("\0", "")
        return text


def _records(lines: _Lines, faults: _Faults) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the number of the line it begins on."""
    reader = csv.reader(lines, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as why:
            if not lines.ended_early:  # else the reason is told already
                faults.add(line, _csv_fault(str(why)))
            return
        if fields is None:
            return
        yield line, fields


def _csv_fault(why: str) -> str:
    if "field larger" in why:
        return f"A field is longer than {LONGEST:,} characters. Reading stopped here."
    if "new-line" in why:
        return "A line ends in CR alone. Save the file with LF or CR LF at line ends."
    if "unexpected end" in why:
        return "A quoted field begins here and never ends. Close it with a double quote."
    return "A quoted field goes on after its closing quote. Double the quotes inside a field."


class _Columns:
    """Takes records one by one, the header first, and keeps what they say as numbers."""

    def __init__(self, faults: _Faults, levels: Levels) -> None:
        self.faults = faults
        self.levels = levels
        self.header: list[str] = []
        self.n_blank_lines = 0
        self.raters: dict[str, int] = {}
        self.units: dict[tuple[str, str], int] = {}
        self.items: list[str] = []
        self.rater, self.unit, self.line = array("q"), array("q"), array("q")
        self.level = array("d")

    def take(self, line: int, fields: list[str]) -> None:
        if len(fields) <= 1 and not "".join(fields).strip():
            self.n_blank_lines += 1
        elif not self.header:
            self._take_header(line, fields)
        elif len(fields) != len(self.header):
            self.faults.add(
                line,
                f"There are {len(fields)} fields where the header has {len(self.header)}. "
                f"Put a field that holds a comma in double quotes.",
            )
        else:
            self._take_row(line, dict(zip(self.header, fields, strict=True)))

    def kept(self, lines: _Lines) -> RatingsFile:
        """Return what was kept, or raise ``FileRefused`` with what was wrong."""
        if not self.faults.n and not self.header:
            raise FileRefused([f"{lines.path} is empty. Its first line names the columns."])
        if not self.faults.n and not self.line:
            raise FileRefused([f"{lines.path} has a header but no ratings below it."])
        return replace(self.finished(), notes=tuple(self._notes(lines)))

    def finished(self) -> RatingsFile:
        """Return what was kept, without notes, or raise what ``faults`` has."""
        self._fault_raters_twice()
        self.faults.refuse()
        return RatingsFile(
            raters=tuple(self.raters),
            units=tuple(self.units),
            items=tuple(self.items),
            rater=self.rater,
            unit=self.unit,
            level=self.level,
            notes=(),
        )

    def _take_header(self, line: int, names: list[str]) -> None:
        self.header = names
        listed = ", ".join(shown(name) for name in names)
        for name in NEEDED:
            if name not in names:
                way_on = "Name one so, in lower case, and part columns by commas."
                self.faults.add(line, f"There is no column {name}, only {listed}. {way_on}")
        for name in dict.fromkeys(names):
            if name and names.count(name) > 1:
                self.faults.add(line, "This column is there twice. Keep one.", shown(name))
        # Without its columns, every row of the file would be one more fault.
        self.faults.refuse()

    def _take_row(self, line: int, row: dict[str, str]) -> None:
        n_before = self.faults.n
        names = [name for name in ("rater", "unit", "dimension", "item") if name in row]
        for name in names:
            if not row[name].strip():
                self.faults.add(line, "This is blank. Every row needs it.", name)
            elif row[name] != row[name].strip():
                fault = f"{shown(row[name])} begins or ends with a space. Take it out."
                self.faults.add(line, fault, name)
        level = self._level(line, row["level"])
        if self.faults.n > n_before:
            return
        unit = self._unit(line, row)
        self.rater.append(self.raters.setdefault(row["rater"], len(self.raters)))
        self.unit.append(unit)
        self.line.append(line)
        self.level.append(level)

    def _unit(self, line: int, row: dict[str, str]) -> int:
        """The number of the row's unit, which is of one item."""
        item = row.get("item", "")
        unit = self.units.setdefault((row["unit"], row.get("dimension", "")), len(self.units))
        if unit == len(self.items):
            self.items.append(item)
        elif self.items[unit] != item:
            self.faults.add(
                line,
                f"Unit {shown(row['unit'])} is of the item {shown(self.items[unit])} further up "
                f"and of {shown(item)} here. Give it one.",
                "item",
            )
        return unit

    def _level(self, line: int, text: str) -> float:
        """The level, or NaN for a blank or a fault."""
        text = text.strip()
        if not text:
            return math.nan
        try:
            return self.levels.of(text)
        except ValueError as why:
            self.faults.add(line, str(why), "level")
            return math.nan

    def _fault_raters_twice(self) -> None:
        keys = np.array(self.unit) * len(self.raters) + np.array(self.rater)
        order = np.argsort(keys, kind="stable")
        raters, units = list(self.raters), list(self.units)
        for place in np.flatnonzero(np.diff(keys[order]) == 0).tolist():
            first, second = order[place], order[place + 1]
            unit, dimension = units[self.unit[second]]
            within = f" in dimension {shown(dimension)}" if dimension else ""
            self.faults.add(
                self.line[second],
                f"Rater {shown(raters[self.rater[second]])} has unit {shown(unit)}"
                f"{within} on {self.faults.place} {self.line[first]} already. Keep one of the two.",
            )

    def _notes(self, lines: _Lines) -> Iterator[str]:
        if lines.has_mark:
            yield "The file begins with a byte order mark, which was passed over."
        if lines.n_crlf:
            yield "Lines end in CR LF, which is read as LF is."
        if self.n_blank_lines:
            yield f"Blank lines passed over: {self.n_blank_lines:,}."
        unused = [name for name in self.header if name not in NEEDED + OPTIONAL]
        if unused:
            yield f"Columns not used: {', '.join(shown(name) for name in unused)}."
        n_not_rated = int(np.isnan(self.level).sum())
        if n_not_rated:
            yield f"Rows without a level, counted as not rated: {n_not_rated:,}."


def shown(text: str) -> str:
    """A value as a message shows it: quoted, on one line, not too long."""
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _either(levels: Sequence[float | str]) -> str:
    named = [level if isinstance(level, str) else f"{level:g}" for level in levels]
    *most, last = named
    if len(most) > 10:
        return f"one of the {len(levels)} levels from {most[0]} to {last}"
    return f"{', '.join(most)} or {last}"
