"""Agreement as a picture: a row for each dimension, item, pair or day, with three measures in it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rating.breakdown import Line
from rating.charts import LINE, NARROW, WIDE, _lines, _named
from rating.drawing import Drawing

#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = MappingProxyType(
    {name: f"var(--{name})" for name in ("ink", "soft", "grid", "chart-1", "chart-2", "surface")}
)
#: The same for what is printed: those of the light theme.
LIGHT: Final = MappingProxyType(
    {
        "ink": "#25231F",
        "soft": "#575247",
        "grid": "#E2DDD1",
        "chart-1": "#1F5C70",
        "chart-2": "#B5530B",
        "surface": "#FFFFFF",
    }
)
HEAD: Final = 2 * LINE
ROW: Final = 3.5 * LINE
FOOT: Final = 3 * LINE
RADIUS: Final = 5.0
APART: Final = 11.0  # px between alpha and AC2 in a row


@dataclass(frozen=True)
class Rows:
    """What is drawn: lines in order, the last of them all together; what they are lines of.

    ``floor`` is the ordinal alpha that was declared beforehand, None where none was; then the
    sentence ends in ``no_floor``.
    """

    lines: Sequence[Line]
    what: str
    floor: float | None = None
    no_floor: str = ""

    @property
    def known(self) -> list[Line]:
        return [line for line in self.lines if line.agreement.alpha_ordinal.value is not None]

    @property
    def sentence(self) -> str:
        """What is seen and how sure, without an order among the lines."""
        rows = self.lines[:-1] or self.lines
        above = sum(line.agreement.above_chance for line in rows)
        unknown = sum(
            line.agreement.alpha_ordinal.low is None or not line.agreement.sufficient
            for line in rows
        )
        said = f"Agreement is above chance in {above} of {len(rows)} {self.what}"
        said += f", and cannot be told in {unknown}" if unknown else ""
        floor = self.no_floor if self.floor is None else f"the floor was {self.floor:g}"
        return f"{said}; {floor}." if floor else f"{said}."

    @property
    def description(self) -> str:
        said = [
            "Two points in each row: a circle is ordinal alpha with its 95% interval, "
            "a square is AC2.",
            f"Across: from {_lowest(self.lines):g} to 1; 0 is chance.",
            f"Down: {len(self.lines) - 1} {self.what} in order, then all together.",
        ]
        if self.floor is not None:
            said.append(f"A dashed line marks the floor of {self.floor:g}.")
        if missing := len(self.lines) - len(self.known):
            said.append(f"Rows without a number, with the reason in its place: {missing}.")
        return " ".join([*said, "The table that follows gives every number."])


def breakdown_chart(rows: Rows, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS) -> str:
    """Return the picture as an SVG element, 720 px wide, or 340 for narrow screens.

    A circle is filled where there are enough responses for a claim.
    """
    return _named(
        _Chart(rows, width, colours).svg(),
        f"breakdown-{width}",
        rows.sentence,
        rows.description,
    )


class _Chart:
    def __init__(self, rows: Rows, width: int, colours: Mapping[str, str]) -> None:
        self.rows, self.colours = rows, colours
        self.narrow = width < WIDE
        self.left, self.right = (8, width - 12) if self.narrow else (200, width - 170)
        self.low = _lowest(rows.lines)
        tops, y = [], HEAD + (LINE if self.narrow else 0.0)
        for line in rows.lines:
            tops.append(y)
            y += self._height(line)
        self.bottom = y
        self.drawing = Drawing(width, y + FOOT, colours)
        self._head()
        for top, line in zip(tops, rows.lines, strict=True):
            self._row(line, top)
        self._axis()

    def svg(self) -> str:
        return self.drawing.svg()

    def _height(self, line: Line) -> float:
        if not self.narrow:
            return ROW
        return (4.5 + len(self._below(line))) * LINE

    def _below(self, line: Line) -> list[str]:
        """What a narrow picture says below the marks of a row."""
        if line.agreement.alpha_ordinal.value is None and line.ac2.value is None:
            return []  # it stands in the place of the marks
        return _lines(_said(line), self.right - self.left, most=3)

    def _x(self, number: float) -> float:
        return self.left + (number - self.low) / (1 - self.low) * (self.right - self.left)

    def _head(self) -> None:
        """What the marks are, said once above the rows with the marks themselves."""
        x, y = float(self.left), LINE * 0.8
        self._circle(x + RADIUS, y, filled=True)
        self.drawing.text("ordinal alpha, with its 95% interval", x + 16, y + 4, "soft")
        x = x + (0 if self.narrow else 260)
        y = y + (LINE if self.narrow else 0)
        self._square(x + RADIUS, y)
        self.drawing.text("AC2, ordinal weights", x + 16, y + 4, "soft")

    def _row(self, line: Line, top: float) -> None:
        agreement = line.agreement
        if self.narrow:
            [name] = _lines(line.name, self.right - self.left, most=1) or [""]
            self.drawing.text(name, self.left, top + LINE, "ink")
            middle = top + 2.75 * LINE
            self._marks(line, middle)
            self._words(self._below(line), self.left, middle + 2.5 * LINE)
            return
        middle = top + ROW / 2
        self._words_middle(_lines(line.name, self.left - 16, most=3), 0, middle, "ink")
        self._marks(line, middle)
        if agreement.alpha_ordinal.value is not None or line.ac2.value is not None:
            said = _lines(_said(line), 154, most=4)
            self._words_middle(said, self.right + 16, middle, "soft")

    def _marks(self, line: Line, middle: float) -> None:
        alpha = line.agreement.alpha_ordinal
        if alpha.value is None and line.ac2.value is None:
            words = _lines(alpha.why, self.right - self.left, most=3)
            self._words_middle(words, self.left, middle, "soft")
            return
        for tick in self._ticks():
            colour = "ink" if tick == 0 else "grid"
            self.drawing.line(self._x(tick), middle - 24, self._x(tick), middle + 24, colour)
        if self.rows.floor is not None:
            at = self._x(self.rows.floor)
            self.drawing.line(at, middle - 24, at, middle + 24, "ink", thick=2, dash="5 4")
        if alpha.value is not None:
            self._span(alpha.low, alpha.high, middle - APART / 2)
            self._circle(self._x(alpha.value), middle - APART / 2, filled=line.agreement.sufficient)
        if line.ac2.value is not None:
            self._square(self._x(max(self.low, line.ac2.value)), middle + APART)

    def _span(self, low: float | None, high: float | None, y: float) -> None:
        if low is None or high is None:
            return
        x, x2 = self._x(low), self._x(high)
        self.drawing.line(x, y, x2, y, "ink", thick=2)
        for end in (x, x2):
            self.drawing.line(end, y - 5, end, y + 5, "ink", thick=2)

    def _circle(self, x: float, y: float, *, filled: bool) -> None:
        self.drawing.add(
            "circle",
            cx=x,
            cy=y,
            r=RADIUS,
            fill=self.colours["chart-1" if filled else "surface"],
            stroke=self.colours["chart-1"],
            stroke_width=2,
        )

    def _square(self, x: float, y: float) -> None:
        self.drawing.add(
            "rect",
            x=x - RADIUS + 0.5,
            y=y - RADIUS + 0.5,
            width=2 * RADIUS - 1,
            height=2 * RADIUS - 1,
            fill=self.colours["chart-2"],
        )

    def _axis(self) -> None:
        y = self.bottom + LINE
        for tick in self._ticks():
            label = "0 = chance" if tick == 0 else f"{tick:.1f}"
            self.drawing.text(label, self._x(tick), y, "soft", "middle")
        if self.rows.floor is not None:
            said = (
                f"Dashed: the floor of {self.rows.floor:g} for ordinal alpha, declared beforehand"
            )
            self._words(_lines(said, self.right - self.left, most=2), self.left, y + LINE)

    def _ticks(self) -> list[float]:
        step = 0.5 if self.narrow or self.low < -0.4 else 0.2
        first = math.ceil(self.low / step - 1e-9)
        return [round(place * step, 1) for place in range(first, round(1 / step) + 1)]

    def _words(self, lines: Sequence[str], x: float, y: float) -> None:
        for place, text in enumerate(lines):
            self.drawing.text(text, x, y + place * LINE, "soft")

    def _words_middle(self, lines: Sequence[str], x: float, middle: float, colour: str) -> None:
        top = middle - (len(lines) - 1) * LINE / 2 + 4
        for place, text in enumerate(lines):
            self.drawing.text(text, x, top + place * LINE, colour)


def _said(line: Line) -> str:
    """The percents in words, and why there is no alpha where there is none."""
    agreement = line.agreement
    exact, close = agreement.percent_exact.percent(), agreement.percent_within_one.percent()
    said = [
        exact and f"{exact} the same level",
        close and f"{close} within one",
        f"no alpha: {agreement.alpha_ordinal.reason}"
        if agreement.alpha_ordinal.value is None
        else "too few for a claim"
        if not agreement.sufficient
        else "",
    ]
    return ", ".join(part for part in said if part)


def _lowest(lines: Sequence[Line]) -> float:
    """The low end of the axis: -0.2, or the next fifth below all that is drawn."""
    drawn = [0.2]
    for line in lines:
        alpha = line.agreement.alpha_ordinal
        drawn += [-end for end in (alpha.value, alpha.low, line.ac2.value) if end is not None]
    return -math.ceil(5 * max(drawn) - 1e-9) / 5


__all__ = ["LIGHT", "NARROW", "WIDE", "Rows", "breakdown_chart"]
