"""A file of ratings made elsewhere, read whole or refused with every fault that was found."""

import csv
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from rating.report import RatingRow

NEEDED: Final = ("rater", "unit", "level")
OPTIONAL: Final = ("dimension", "quote")
LARGEST: Final = 100 * 1024 * 1024  # bytes in a file
LONGEST: Final = 131_072  # characters in a field
LONGEST_LINE: Final = 1024 * 1024  # bytes in a line
MOST_FAULTS: Final = 20  # listed at once
MOST_LEVELS: Final = 101  # so that 0-100 is still a scale
NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)
RANGE: Final = re.compile(r"(-?[0-9]{1,9})-(-?[0-9]{1,9})", re.ASCII)
MARK: Final = b"\xef\xbb\xbf"


class FileRefused(ValueError):
    """The file cannot be read as ratings. ``faults`` holds a sentence for each thing wrong."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True)
class RatingsFile:
    """The ratings of a file as columns of numbers, and what was noticed while reading it."""

    raters: tuple[str, ...]
    units: tuple[tuple[str, str], ...]
    rater: array[int]
    unit: array[int]
    level: array[float]
    n_not_rated: int
    notes: tuple[str, ...]

    def rows(self) -> Iterator[RatingRow]:
        """Yield the ratings in the order of the file, those not rated left out."""
        for rater, unit, level in zip(self.rater, self.unit, self.level, strict=True):
            yield RatingRow(self.raters[rater], *self.units[unit], level)


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
    if any(low >= high for low, high in zip(levels, levels[1:], strict=False)):
        raise ValueError(f"Write the scale {text!r} lowest first, each level once.")
    return levels


def read_ratings(path: Path, scale: Sequence[float]) -> RatingsFile:
    """Return the ratings in a CSV file with the columns rater, unit and level.

    ``dimension`` and ``quote`` may be there too; other columns are ignored, and noted. A row
    without a level was not rated: it is counted, never a level.

    Raises
    ------
    FileRefused
        With up to 20 faults, each naming the file, line, column and value and the way on.
    """
    return _Reading(path, scale).whole()


@dataclass
class _Reading:
    """One pass over a file. Faults are kept with their line, so they can be told in order."""

    path: Path
    scale: Sequence[float]
    faults: list[tuple[int, str]] = field(default_factory=list)
    n_faults: int = 0
    notes: list[str] = field(default_factory=list)
    has_mark: bool = False
    n_crlf: int = 0
    n_blank_lines: int = 0
    n_not_rated: int = 0
    raters: dict[str, int] = field(default_factory=dict)
    units: dict[tuple[str, str], int] = field(default_factory=dict)
    seen_rater: array[int] = field(default_factory=lambda: array("q"))
    seen_unit: array[int] = field(default_factory=lambda: array("q"))
    seen_line: array[int] = field(default_factory=lambda: array("q"))
    level: array[float] = field(default_factory=lambda: array("d"))  # NaN where not rated

    def whole(self) -> RatingsFile:
        self._check_size()
        before = csv.field_size_limit(LONGEST)
        try:
            self._read()
        except OSError as why:
            raise FileRefused([f"{self.path} cannot be read: {why.strerror}."]) from None
        finally:
            csv.field_size_limit(before)
        self._fault_raters_twice()
        if self.faults:
            raise FileRefused(self._listed_faults())
        return self._kept()
