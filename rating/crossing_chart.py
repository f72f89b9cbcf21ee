"""The levels of one reader across those of the other: a table as a picture."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rating.breakdown import Crossing
from rating.charts import LINE, NARROW, WIDE, _lines, _named
from rating.drawing import Drawing

STEPS: Final = 6
#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = MappingProxyType(
    {
        name: f"var(--{name})"
        for name in ("ink", "soft", "surface", "edge", *(f"step-{step}" for step in range(STEPS)))
    }
)
DARK_FROM: Final = 3  # from this step on, words have the colour of the ground
CELL: Final = 56.0
SMALL: Final = 42.0
LEFT: Final = 3 * LINE
HEAD: Final = 3 * LINE


def crossing_chart(
    crossing: Crossing, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return the picture as an SVG element, for wide (720) or narrow (340) screens.

    The ground of a cell is darker the more responses are in it; every cell prints its count, and
    where both chose the same level its edge is thicker.
    """
    cell = SMALL if width < WIDE else CELL
    q = len(crossing.scale)
    drawing = Drawing(width, HEAD + q * cell + 1.5 * LINE, colours)
    [across] = _lines(f"Across: the level of {crossing.columns}", width, most=1)
    drawing.text(across, 0, LINE, "soft")
    for place, level in enumerate(crossing.scale):
        middle = LEFT + (place + 0.5) * cell
        drawing.text(f"{level:g}", middle, HEAD - 8, "ink", "middle")
        drawing.text(f"{level:g}", LEFT - 12, HEAD + (place + 0.5) * cell + 4, "ink", "end")
    for row in range(q):
        for column in range(q):
            _cell(drawing, crossing, row, column, cell)
    for place in range(q):  # last, so that no neighbour is drawn over their edges
        _edge(drawing, place, place, cell, thick=2)
    [down] = _lines(f"Down: the level of {crossing.rows}", width, most=1)
    drawing.text(down, 0, HEAD + q * cell + LINE, "soft")
    return _named(drawing.svg(), f"crossing-{width}", sentence_of(crossing), _description(crossing))


def sentence_of(crossing: Crossing) -> str:
    """What the picture shows, in one sentence."""
    same = f"{crossing.same / crossing.n:.0%}"
    far = f"{crossing.far / crossing.n:.0%}"
    return f"They chose the same level in {same} and differed by more than one in {far}."


def _description(crossing: Crossing) -> str:
    return " ".join(
        [
            "A square of cells, one for each two levels, with the number of responses in it.",
            f"Across: the level of {crossing.columns}. Down: the level of {crossing.rows}.",
            f"Both run from {crossing.scale[0]:g} to {crossing.scale[-1]:g}, the lowest at the "
            "top left.",
            "The cells of the same level have a thicker edge.",
            "The table that follows gives every number.",
        ]
    )


def _cell(drawing: Drawing, crossing: Crossing, row: int, column: int, cell: float) -> None:
    count, most = int(crossing.counts[row, column]), int(crossing.counts.max())
    step = math.ceil((STEPS - 1) * count / most) if count else 0
    x, y = LEFT + column * cell, HEAD + row * cell
    drawing.add("rect", x=x, y=y, width=cell, height=cell, fill=drawing.colours[f"step-{step}"])
    _edge(drawing, row, column, cell, thick=1)
    colour = "surface" if step >= DARK_FROM else "ink"
    drawing.text(f"{count:,}", x + cell / 2, y + cell / 2 + 4, colour, "middle", rim="")


def _edge(drawing: Drawing, row: int, column: int, cell: float, *, thick: float) -> None:
    drawing.add(
        "rect",
        x=LEFT + column * cell,
        y=HEAD + row * cell,
        width=cell,
        height=cell,
        fill="none",
        stroke=drawing.colours["edge"],
        stroke_width=thick,
    )


__all__ = ["NARROW", "WIDE", "crossing_chart", "sentence_of"]
