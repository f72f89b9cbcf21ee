"""Judges beside people as a picture: a row for each dimension, with two points and their ranges."""

import math
from collections.abc import Mapping, Sequence

from rating.breakdown_chart import FOOT, HEAD, RADIUS, ROW, TOKENS
from rating.charts import LINE, WIDE, _lines, _named
from rating.drawing import Drawing
from rating.figure import Figure
from rating.judges.beside import BesideLine, BesidePage

APART = 11.0  # px between the two points of a row
NARROW_ROW = 6.5 * LINE


def judges_chart(
    page: BesidePage, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return ordinal alpha between a judge and a person, and between two people, as SVG.

    ``width`` is 720, or 340 for narrow screens. A row without a number stays, with its reason in
    words; a circle is filled where there are enough responses for a claim.
    """
    return _named(
        _Chart(page, width, colours).svg(), f"judges-{width}", page.sentence, _description(page)
    )


class _Chart:
    def __init__(self, page: BesidePage, width: int, colours: Mapping[str, str]) -> None:
        self.lines, self.colours = (*page.lines, page.overall), colours
        self.narrow = width < WIDE
        self.left, self.right = (8, width - 12) if self.narrow else (200, width - 170)
        self.low = _lowest(self.lines)
        head = HEAD + (LINE if self.narrow else 0.0)
        row = NARROW_ROW if self.narrow else ROW
        self.bottom = head + row * len(self.lines)
        self.drawing = Drawing(width, self.bottom + FOOT, colours)
        self._head()
        for place, line in enumerate(self.lines):
            self._row(line, head + place * row)
        for tick in self._ticks():
            label = "0 = chance" if tick == 0 else f"{tick:.1f}"
            self.drawing.text(label, self._x(tick), self.bottom + LINE, "soft", "middle")

    def svg(self) -> str:
        return self.drawing.svg()

    def _x(self, number: float) -> float:
        return self.left + (number - self.low) / (1 - self.low) * (self.right - self.left)

    def _head(self) -> None:
        x, y = float(self.left), LINE * 0.8
        self._circle(x + RADIUS, y, filled=True)
        self.drawing.text("a judge and a person", x + 16, y + 4, "soft")
        x, y = (x, y + LINE) if self.narrow else (x + 180, y)
        self._square(x + RADIUS, y)
        self.drawing.text("two people, same responses", x + 16, y + 4, "soft")

    def _row(self, line: BesideLine, top: float) -> None:
        middle = top + ROW / 2
        if self.narrow:
            [name] = _lines(line.name, self.right - self.left, most=1) or [""]
            self.drawing.text(name, self.left, top + LINE, "ink")
            middle = top + 2.75 * LINE
        else:
            self._words(_lines(line.name, self.left - 16, most=3), 0, middle, "ink")
        judge, people = line.alpha.judge.by_item, line.alpha.people.by_item
        if judge.value is None and people.value is None:
            words = _lines(judge.why, self.right - self.left, most=3)
            self._words(words, self.left, middle, "soft")
            return
        for tick in self._ticks():
            colour = "ink" if tick == 0 else "grid"
            self.drawing.line(self._x(tick), middle - 24, self._x(tick), middle + 24, colour)
        if judge.value is not None:
            self._span(judge, middle - APART)
            self._circle(self._x(judge.value), middle - APART, filled=line.sufficient)
        if people.value is not None:
            self._span(people, middle + APART, dash="4 3")
            self._square(self._x(people.value), middle + APART)
        said = _lines(_said(line), self.right - self.left if self.narrow else 154, most=3)
        if self.narrow:
            for place, text in enumerate(said):
                self.drawing.text(text, self.left, middle + (2.25 + place) * LINE, "soft")
        else:
            self._words(said, self.right + 16, middle, "soft")

    def _span(self, figure: Figure, y: float, dash: str = "") -> None:
        if figure.low is None or figure.high is None:
            return
        x, x2 = self._x(max(self.low, figure.low)), self._x(figure.high)
        self.drawing.line(x, y, x2, y, "ink", thick=2, dash=dash)
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

    def _ticks(self) -> list[float]:
        step = 0.5 if self.narrow or self.low < -0.4 else 0.2
        first = math.ceil(self.low / step - 1e-9)
        return [round(place * step, 1) for place in range(first, round(1 / step) + 1)]

    def _words(self, lines: Sequence[str], x: float, middle: float, colour: str) -> None:
        top = middle - (len(lines) - 1) * LINE / 2 + 4
        for place, text in enumerate(lines):
            self.drawing.text(text, x, top + place * LINE, colour)


def _said(line: BesideLine) -> str:
    """How many responses, and why a number is missing."""
    said = [f"{line.n} response{'' if line.n == 1 else 's'} to {line.n_items} items"]
    for who, side in (("judge", line.alpha.judge.by_item), ("people", line.alpha.people.by_item)):
        if side.value is None:
            said.append(f"{who}: no alpha")
    return ", ".join([*said, *([] if line.sufficient else ["too few for a claim"])])


def _lowest(lines: Sequence[BesideLine]) -> float:
    """The low end of the axis: -0.2, or the next fifth below the points, and -1 at the least."""
    drawn = [0.2]
    for line in lines:
        for side in (line.alpha.judge.by_item, line.alpha.people.by_item):
            drawn += [-end for end in (side.value, side.low) if end is not None]
    return -math.ceil(5 * min(1.0, max(drawn)) - 1e-9) / 5


def _description(page: BesidePage) -> str:
    lines = (*page.lines, page.overall)
    said = [
        "Two points in each row, both ordinal alpha with a 95% interval: a circle is between a "
        "judge and a person, a square with a dashed range between the two people who rated the "
        "same responses.",
        f"Across: from {_lowest(lines):g} to 1; 0 is chance.",
        f"Down: {len(page.lines)} {page.what} in order, then all together.",
    ]
    if missing := sum(line.alpha.judge.by_item.value is None for line in lines):
        said.append(f"Rows without a number for judges, with the reason in words: {missing}.")
    return " ".join([*said, "The table that follows gives every number."])
