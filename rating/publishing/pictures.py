"""The pictures of a report, drawn from its content: so what is withheld is in no byte of them."""

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final

from rating.charts import LETTER, LINE, NARROW, WIDE, _named
from rating.drawing import Drawing
from runs.taxonomy import DIMENSIONS

#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = MappingProxyType(
    {
        name: f"var(--{name})"
        for name in ("ink", "soft", "grid", "band", "edge", "surface", "chart-1")
    }
)
COMPOSITE: Final = "composite"
ROW: Final = 1.75 * LINE
THIN: Final = 2.0
THICK: Final = 7.0
TICK: Final = 5.0  # px, half the height of the ends of an interval
RADIUS: Final = 5.0
LARGEST_GAP: Final = 2.0
BETWEEN: Final = "--"  # the parts of the code of a subject
NOT_TOLD_APART: Final = "not told apart"

Row = Mapping[str, Any]


class Axis:
    """A stretch of numbers across a picture. What lies outside is drawn at its end."""

    def __init__(self, left: float, right: float, low: float, high: float) -> None:
        self.left, self.right, self.low, self.high = left, right, low, high

    def at(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def beyond(self, value: float) -> bool:
        return not self.low <= value <= self.high


# Ranges of each model


def ranges_picture(
    results: Row, levels: Sequence[int], *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """The range of each model in the composite and in each dimension, as small multiples.

    Models stand from A to Z. Only those told apart from all others have a point.
    """
    rows = rows_of(results)
    panels = [code for code in (COMPOSITE, *DIMENSIONS) if any(_own(row, code) for row in rows)]
    columns = 1 if width < WIDE else 2
    panel_width = (width - 24 * (columns - 1)) / columns
    panel_height = (len(rows) + 2.2) * ROW
    lines = math.ceil(len(panels) / columns)
    drawing = Drawing(width, max(lines, 1) * panel_height, colours)
    for place, code in enumerate(panels):
        x = place % columns * (panel_width + 24)
        y = place // columns * panel_height
        _panel(drawing, code, rows, results, levels, (x, y, panel_width))
    if not panels:
        drawing.text("No range can be given.", 0, ROW, "soft")
    title = ranges_sentence(results)
    return _named(drawing.svg(), f"ranges-{width}", title, _about_ranges(rows, levels))


def rows_of(results: Row) -> list[Row]:
    """Each model with the ranges that may be shown of it, from A to Z."""
    found = [
        {
            "subject": row["subject"],
            "ranges": [
                {
                    "code": COMPOSITE,
                    "low": row["low"],
                    "high": row["high"],
                    "point": row["composite"],
                },
                *({**own, "point": own["mean"]} for own in row["dimensions"]),
            ],
        }
        for row in results["alone"]
    ]
    members = [member for group in results["groups"] for member in group["members"]]
    plain = (*members, *results["ranges_only"], *results["withheld"])
    found += [{"subject": row["subject"], "ranges": row["ranges"]} for row in plain]
    return sorted(found, key=lambda row: str(row["subject"]))


def ranges_sentence(results: Row) -> str:
    """In how many dimensions ranges of two models overlap, and how many differ all the same.

    Ranges may overlap where a difference is clear, so the one is never said without the other.
    """
    rows = rows_of(results)
    if len(rows) < 2:
        return "The ranges of one model, in each dimension." if rows else "No range can be given."
    overlap = known = 0
    for code in DIMENSIONS:
        own = [found for row in rows if (found := _own(row, code))]
        known += len(own) > 1
        overlap += any(
            one["low"] <= other["high"] and other["low"] <= one["high"]
            for place, one in enumerate(own)
            for other in own[:place]
        )
    said = f"Ranges overlap in {overlap} of {known} dimensions."
    return f"{said} {results['sentence']}" if results["comparisons"] else said


def shared_in(results: Row) -> str:
    """What the names of all models begin with, part by part, and pictures leave out."""
    parts = [str(row["subject"]).split(BETWEEN) for row in rows_of(results)]
    if len(parts) < 2:
        return ""
    shared = list(takewhile(lambda same: len(set(same)) == 1, zip(*parts, strict=False)))
    # A name that is all shared would be left with nothing.
    count = min(len(shared), *(len(part) - 1 for part in parts))
    return "".join(f"{part}{BETWEEN}" for part, *_ in shared[:count])


def _own(row: Row, code: str) -> Row | None:
    return next((own for own in row["ranges"] if own["code"] == code), None)


def _panel(
    drawing: Drawing,
    code: str,
    rows: Sequence[Row],
    results: Row,
    levels: Sequence[int],
    box: tuple[float, float, float],
) -> None:
    x, y, width = box
    names = min(width * 0.42, 150.0)
    low, high = (0.0, 100.0) if code == COMPOSITE else (float(min(levels)), float(max(levels)))
    axis = Axis(x + names + 8, x + width - 18, low, high)
    top, bottom = y + ROW, y + ROW * (len(rows) + 1)
    shared = shared_in(results)
    title = DIMENSIONS[code].name if code != COMPOSITE else "Composite, 0 to 100"
    if code == COMPOSITE and results["groups"]:
        title += f" (bracket: {NOT_TOLD_APART})"
    drawing.text(title, x, y + LINE, "ink")
    ticks = (0, 25, 50, 75, 100) if code == COMPOSITE else levels
    for tick in ticks:
        drawing.line(axis.at(tick), top, axis.at(tick), bottom)
        drawing.text(f"{tick:g}", axis.at(tick), bottom + LINE, "soft", "middle")
    for place, row in enumerate(rows):
        middle = top + (place + 0.5) * ROW
        drawing.text(_short(row["subject"].removeprefix(shared), names), x, middle + 4, "ink")
        own = _own(row, code)
        if own is None:
            drawing.text("no range", axis.left, middle + 4, "soft")
            continue
        _interval(drawing, axis, own["low"], own["high"], middle)
        if own.get("point") is not None:
            _mark(drawing, axis.at(own["point"]), middle, filled=True)
    if code == COMPOSITE:
        _brackets(drawing, rows, results, axis.right + 6, top)


def _brackets(drawing: Drawing, rows: Sequence[Row], results: Row, x: float, top: float) -> None:
    """A line beside the members of each group, with a step for each group."""
    place = {row["subject"]: number for number, row in enumerate(rows)}
    for number, group in enumerate(results["groups"]):
        own = sorted(place[member["subject"]] for member in group["members"])
        at = x + 4 * number
        ends = top + own[0] * ROW + 4, top + (own[-1] + 1) * ROW - 4
        drawing.line(at, ends[0], at, ends[1], "edge", thick=THIN)
        for one in own:
            middle = top + (one + 0.5) * ROW
            drawing.line(at - 4, middle, at, middle, "edge", thick=THIN)


def _about_ranges(rows: Sequence[Row], levels: Sequence[int]) -> str:
    apart = [str(row["subject"]) for row in rows if any("point" in own for own in row["ranges"])]
    return " ".join(
        [
            "A range of 95% for each model, in a panel for the composite and one for each "
            "dimension.",
            f"Across: levels from {min(levels)} to {max(levels)}, and 0 to 100 for the composite.",
            f"Down: {len(rows)} model{'' if len(rows) == 1 else 's'} from A to Z. A bracket joins those "
            "not told apart.",
            f"A point is shown of {', '.join(apart)} alone." if apart else "No point is shown.",
            "The table that follows gives every number.",
        ]
    )


# Differences


def differences_picture(
    results: Row, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """The range of each declared difference of composites, around zero."""
    pairs = [pair for pair in results["pairs"] if pair["code"] == COMPOSITE]
    narrow = width < WIDE
    row = (4 if narrow else 2.8) * LINE
    shared = shared_in(results)
    drawing = Drawing(width, len(pairs) * row + 3.5 * LINE, colours)
    reach = max([5.0, *(abs(pair[end]) for pair in pairs for end in ("low", "high"))])
    reach = 10 * math.ceil(reach / 10)
    left = 8.0 if narrow else 250.0
    axis = Axis(left + 8, width - 36, -reach, reach)
    bottom = len(pairs) * row + 4
    for tick in (-reach, -reach / 2, 0, reach / 2, reach):
        colour = "ink" if tick == 0 else "grid"
        drawing.line(axis.at(tick), 0, axis.at(tick), bottom, colour)
        drawing.text(f"{tick:g}", axis.at(tick), bottom + LINE, "soft", "middle")
    drawing.text(
        "Points of the composite, the first minus the second", left, bottom + 2.4 * LINE, "soft"
    )
    for place, pair in enumerate(pairs):
        top = place * row + LINE
        middle = top + (1.9 * LINE if narrow else LINE / 2 - 4)
        for line, name in enumerate((pair["a"], pair["b"])):
            said, wide = name.removeprefix(shared), width - 44 if narrow else left - 8
            said = f"minus {_short(said, wide - 6 * LETTER)}" if line else _short(said, wide)
            drawing.text(said, 0, top + line * LINE, "ink")
        _interval(drawing, axis, pair["low"], pair["high"], middle)
        # Beside the range, not on it: a mark within would be read as a point.
        _mark(drawing, width - 10, middle, filled=pair["separated_corrected"])
    return _named(drawing.svg(), f"differences-{width}", results["sentence"], _about(pairs))


def _about(pairs: Sequence[Row]) -> str:
    clear = [f"{pair['a']} and {pair['b']}" for pair in pairs if pair["separated_corrected"]]
    return " ".join(
        [
            "A range of 95% for each declared difference, from A to Z, around a line at zero.",
            "A filled circle: it stays clear of zero after correction. An open one: it does not.",
            f"Clear of zero: {', '.join(clear)}." if clear else "None stays clear of zero.",
            "The table that follows gives every number.",
        ]
    )


# Parity


def parity_picture(
    one: Row, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS, name: str = "parity"
) -> str:
    """The gap of each chamber with both its intervals, and the band within the margin."""
    narrow = width < WIDE
    chambers = one["chambers"]
    row = 3.2 * LINE if narrow else 2.4 * LINE
    head = 1.6 * LINE
    drawing = Drawing(width, head + (len(chambers) + 1) * row + 2 * LINE, colours)
    left, right = (12.0, width - 12.0) if narrow else (170.0, width - 210.0)
    axis = Axis(left, right, -LARGEST_GAP, LARGEST_GAP)
    bottom = head + len(chambers) * row
    _band(drawing, axis, one["margin"], head, bottom)
    drawing.text("less care for A", axis.left, LINE, "soft")
    drawing.text("less care for B", axis.right, LINE, "soft", "end")
    for place, own in enumerate(chambers):
        _chamber(drawing, axis, own, head + place * row, row, narrow=narrow)
    drawing.line(0, bottom + LINE + 4, width, bottom + LINE + 4, "edge")
    for tick in (-2, -1, 0, 1, 2):
        drawing.text(f"{tick:g}", axis.at(tick), bottom + LINE, "soft", "middle")
    drawing.text(_short(f"Overall: {one['finding']}", width), 0, bottom + 2.4 * LINE, "ink")
    return _named(drawing.svg(), f"{name}-{width}", one["sentence"], _about_parity(one))


def _band(drawing: Drawing, axis: Axis, margin: float, top: float, bottom: float) -> None:
    low, high = axis.at(-margin), axis.at(margin)
    drawing.add(
        "rect",
        x=low,
        y=top,
        width=high - low,
        height=bottom - top,
        fill=drawing.colours["band"],
        stroke=drawing.colours["soft"],
        stroke_dasharray="3 3",
    )
    for tick in (-2, -1, 0, 1, 2):
        colour = "ink" if tick == 0 else "grid"
        drawing.line(axis.at(tick), top, axis.at(tick), bottom, colour)


def _chamber(drawing: Drawing, axis: Axis, own: Row, y: float, row: float, *, narrow: bool) -> None:
    middle = y + (row * 0.68 if narrow else row / 2)
    name = f"{own['code']} {own['name']}"
    said = str(own["finding"])
    if narrow:
        drawing.text(_short(f"{name}: {said}", axis.right - 12), 0, y + LINE, "ink", rim="band")
    else:
        drawing.text(_short(name, axis.left - 12), 0, middle + 4, "ink")
        drawing.text(said, axis.right + 12, middle + 4, "soft")
    if own["low"] is None:
        drawing.text("no interval", axis.left + 4, middle + 4, "soft")
        return
    _interval(drawing, axis, own["low"], own["high"], middle)
    if own["inner_low"] is not None:
        drawing.line(
            axis.at(own["inner_low"]),
            middle,
            axis.at(own["inner_high"]),
            middle,
            "chart-1",
            thick=THICK,
        )
    if own["gap"] is not None:
        _finding(drawing, said, axis.at(own["gap"]), middle)


def _finding(drawing: Drawing, said: str, x: float, y: float) -> None:
    """● gap, ◆ parity, both one in the other, ○ undetermined: told apart by shape."""
    if said.startswith("gap"):
        _mark(drawing, x, y, filled=True)
    elif said == "undetermined":
        _mark(drawing, x, y, filled=False)
    if said == "parity shown" or said.endswith("margin"):
        size = RADIUS + 2 if said == "parity shown" else RADIUS - 1
        fill = "ink" if said == "parity shown" else "surface"
        points = f"{x:g},{y - size:g} {x + size:g},{y:g} {x:g},{y + size:g} {x - size:g},{y:g}"
        drawing.add(
            "polygon", points=points, fill=drawing.colours[fill], stroke=drawing.colours["ink"]
        )


def _about_parity(one: Row) -> str:
    shown = [f"{own['name']}: {own['finding']}" for own in one["chambers"]]
    return " ".join(
        [
            "A row for each chamber, in the order of the instrument. Across: the mean level of "
            f"arm A minus that of arm B, from -{LARGEST_GAP:g} to {LARGEST_GAP:g}.",
            f"The band is within {one['margin']:g} level. Thin: 95%. Thick: 90%.",
            f"{'; '.join(shown)}.",
            "The table that follows gives every number.",
        ]
    )


# Marks


def _interval(drawing: Drawing, axis: Axis, low: float, high: float, y: float) -> None:
    """A thin line with end ticks; an end beyond the axis has none."""
    drawing.line(axis.at(low), y, axis.at(high), y, "ink", thick=THIN)
    for end in (low, high):
        if not axis.beyond(end):
            drawing.line(axis.at(end), y - TICK, axis.at(end), y + TICK, "ink", thick=THIN)


def _mark(drawing: Drawing, x: float, y: float, *, filled: bool) -> None:
    drawing.add(
        "circle",
        cx=x,
        cy=y,
        r=RADIUS,
        fill=drawing.colours["chart-1" if filled else "surface"],
        stroke=drawing.colours["chart-1"],
        stroke_width=THIN,
    )


def _short(text: str, width: float) -> str:
    """As much of it as a width in px holds, the end of a long name kept: it tells snapshots apart."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in text)
    most = max(4, int(width / LETTER))
    return plain if len(plain) <= most else f"…{plain[-(most - 1) :]}"


__all__ = [
    "NARROW",
    "WIDE",
    "differences_picture",
    "parity_picture",
    "ranges_picture",
    "ranges_sentence",
    "rows_of",
    "shared_in",
]
