"""The pictures of the five tests that could refute the method, drawn from a report's content."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from rating.charts import LINE, WIDE, _named
from rating.drawing import Drawing
from rating.publishing.pictures import (
    RADIUS,
    THICK,
    THIN,
    TICK,
    TOKENS,
    Axis,
    _interval,
    _mark,
    _short,
)

TABLE: Final = "The table that follows gives every number."
NARROW: Final = 290  # px: these pictures stand in a box within the page
HIGH: Final = 160.0  # px, of a picture with an axis up its side
NO_SIZE: Final = "not told"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Shown:
    """What stands under a test: a picture in both widths, where one can be drawn, and a table."""

    number: int
    sentence: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: str = ""
    narrow: str = ""


def shown_of(content: Row, colours: Mapping[str, str] = TOKENS) -> list[Shown]:
    """What can be shown of each test, in their order. Reports published earlier may hold nothing."""
    health = content.get("health")
    return list(_shown(health, colours)) if health else []


def _shown(health: Row, colours: Mapping[str, str]) -> Iterator[Shown]:
    if found := health["chance"]:
        yield _chance(found, colours)
    if found := health["pools"]:
        yield _pools(found, colours)
    if found := health["scree"]:
        yield _scree(found, colours)
    elif found := health["profile"]:
        yield _profile(found)
    if health["reruns"]:
        yield _reruns(health["reruns"], colours)
    if health["altered"]:
        yield _altered(health["altered"], colours)


def _both(number: int, name: str, draw: Callable[[float], tuple[Drawing, str, str]]) -> list[str]:
    """A picture in both widths, named and described."""
    made = []
    for width in (WIDE, NARROW):
        drawing, title, said = draw(width)
        made.append(
            _named(drawing.svg(), f"test-{number}-{name}-{width}", title, f"{said} {TABLE}")
        )
    return made


# 1: agreement above chance


def _chance(found: Row, colours: Mapping[str, str]) -> Shown:
    sentence = (
        f"Alpha is {found['alpha']:.2f}; where levels are dealt anew within items it lies from "
        f"{found['bins'][0]['low']:.2f} to {found['bins'][-1]['high']:.2f}."
    )

    def draw(width: float) -> tuple[Drawing, str, str]:
        drawing = Drawing(width, HIGH + 4.6 * LINE, colours)
        low = min(-0.2, *(own["low"] for own in found["bins"]), found["alpha"])
        axis = Axis(12, width - 12, math.floor(low * 5 + 1e-9) / 5, 1)
        top, bottom = 2.0 * LINE, 2 * LINE + HIGH
        for tick in _ticks(axis.low, 1.0, 0.2 if width == WIDE else 0.4):
            colour = "ink" if tick == 0 else "grid"
            drawing.line(axis.at(tick), top, axis.at(tick), bottom, colour)
            drawing.text(f"{tick:g}", axis.at(tick), bottom + LINE, "soft", "middle")
        most = max(own["deals"] for own in found["bins"])
        for own in found["bins"]:
            height = HIGH * own["deals"] / most
            drawing.add(
                "rect",
                x=axis.at(own["low"]),
                y=bottom - height,
                width=axis.at(own["high"]) - axis.at(own["low"]),
                height=height,
                fill=colours["band"],
                stroke=colours["edge"],
            )
        drawing.line(axis.at(axis.low), bottom, axis.right, bottom, "edge")
        here = axis.at(found["alpha"])
        drawing.line(here, top - 4, here, bottom, "chart-1", thick=3)
        side = "end" if here > width / 2 else "start"
        drawing.text(f"these ratings: {found['alpha']:.2f}", here, LINE, "ink", side)
        drawing.text("Ordinal alpha; bars: levels dealt anew", 0, bottom + 2 * LINE, "soft")
        return (
            drawing,
            sentence,
            "Bars count the deals by their alpha, a bin of 0.02 each. Across: ordinal alpha, from "
            f"{axis.low:g} to 1, with a line at 0. An upright line stands at {found['alpha']:.2f}, "
            "the alpha of these ratings.",
        )

    wide, narrow = _both(1, "chance", draw)
    return Shown(
        1,
        sentence,
        f"{found['permutations']:,} deals; p = {found['p']:g}. The mean of the deals is "
        f"{found['by_chance']:.2f}.",
        ("Alpha from", "to", "Deals"),
        tuple(
            (f"{own['low']:.2f}", f"{own['high']:.2f}", f"{own['deals']:,}")
            for own in found["bins"]
        ),
        wide,
        narrow,
    )


# 2: two pools


def _pools(found: Row, colours: Mapping[str, str]) -> Shown:
    rows = (
        ("Published", found["items_published"], found["published"]),
        ("Unpublished", found["items_unpublished"], found["unpublished"]),
    )
    sentence = (
        f"Published items changed by {found['published']:+.2f} levels, unpublished ones by "
        f"{found['unpublished']:+.2f}."
    )
    reach = _reach(found["published"], found["unpublished"], found["low"], found["high"])

    def draw(width: float) -> tuple[Drawing, str, str]:
        drawing, axis = _around_zero(width, 3, reach, colours)
        for place, (name, _, value) in enumerate(rows):
            y = _name(drawing, name, place, axis)
            _mark(drawing, axis.at(value), y, filled=place == 0)
        y = _name(drawing, "Difference, 90%", 2, axis)
        edge = axis.at(found["margin"])
        drawing.line(edge, y - LINE, edge, y + LINE, "soft", dash="3 3")
        _interval(drawing, axis, found["low"], found["high"], y)
        drawing.text("Levels, first snapshot to last", 0, _foot(3, axis), "soft")
        return (
            drawing,
            sentence,
            f"Across: levels, from -{reach:g} to {reach:g}, with a line at 0. A filled circle for "
            "published items, an open one for unpublished ones, and the 90% interval of their "
            f"difference, beside a dashed line at {found['margin']:g}, the least that would count.",
        )

    wide, narrow = _both(2, "pools", draw)
    return Shown(
        2,
        sentence,
        f"{found['snapshots']} snapshots. 90% interval over items (Welch).",
        ("Of", "Items", "Change", "90% interval"),
        (
            *((name, str(items), f"{value:+.2f}", "none") for name, items, value in rows),
            (
                "Published less unpublished",
                str(found["items_published"] + found["items_unpublished"]),
                f"{found['difference']:+.2f}",
                f"{found['low']:+.2f} to {found['high']:+.2f}",
            ),
        ),
        wide,
        narrow,
    )


# 3: more than one trait


def _scree(found: Row, colours: Mapping[str, str]) -> Shown:
    values, limits = found["values"], found["limits"]
    verb = "is" if found["above"] == 1 else "are"
    sentence = f"{found['above']} of {len(values)} eigenvalues {verb} above those of chance."

    def draw(width: float) -> tuple[Drawing, str, str]:
        drawing = Drawing(width, HIGH + 4 * LINE, colours)
        top, bottom = float(LINE), LINE + HIGH
        most = float(math.ceil(max(*values, *limits)))
        across, up = Axis(36, width - 16, 1, len(values)), Axis(bottom, top, 0, most)
        for tick in range(0, int(most) + 1, 1 if most <= 4 else 2):
            colour = "ink" if tick == 0 else "grid"
            drawing.line(across.left, up.at(tick), across.right, up.at(tick), colour)
            drawing.text(str(tick), across.left - 10, up.at(tick) + 4, "soft", "end")
        for place in range(1, len(values) + 1):
            drawing.text(str(place), across.at(place), bottom + LINE, "soft", "middle")
        for series, colour, dash in ((limits, "soft", "4 3"), (values, "chart-1", "")):
            for place, (one, other) in enumerate(pairwise(series), start=1):
                ends = across.at(place), up.at(one), across.at(place + 1), up.at(other)
                drawing.line(*ends, colour, thick=THIN, dash=dash)
        for place, value in enumerate(values, start=1):
            _mark(drawing, across.at(place), up.at(value), filled=True)
        drawing.text("Eigenvalue; dashed: 95% of chance", 0, bottom + 2.4 * LINE, "soft")
        return (
            drawing,
            sentence,
            f"Across: the {len(values)} eigenvalues, the largest first. Up: their size, from 0 to "
            f"{most:g}. Circles: of these runs. Dashed: the 95% quantile of chance.",
        )

    wide, narrow = _both(3, "scree", draw)
    return Shown(
        3,
        sentence,
        f"Parallel analysis over {found['runs']} runs of different models.",
        ("Eigenvalue", "Of these runs", "95% of chance"),
        tuple(
            (str(place), f"{value:.2f}", f"{limit:.2f}")
            for place, (value, limit) in enumerate(zip(values, limits, strict=True), start=1)
        ),
        wide,
        narrow,
    )


def _profile(found: Row) -> Shown:
    """With fewer runs than a factor analysis takes there is a figure, and no picture."""
    return Shown(
        3,
        "With fewer than a hundred runs no eigenvalues are drawn.",
        "What a model has in a dimension beyond one trait, as a standard deviation in levels.",
        ("Models", "Items", "Beyond one trait", "90% interval", "p"),
        (
            (
                str(found["models"]),
                str(found["items"]),
                f"{found['own']:.2f}",
                f"{found['low']:.2f} to {found['high']:.2f}",
                f"{found['p']:g}",
            ),
        ),
    )


# 4: reruns


def _reruns(rows: list[Row], colours: Mapping[str, str]) -> Shown:
    told = [row for row in rows if row["most"] is not None]
    within = sum(row["most"] < row["margin"] for row in told)
    sentence = (
        f"Of {len(told)} rerun{'' if len(told) == 1 else 's'} whose size is told, items moved by less "
        f"than {rows[0]['margin']:g} level in {within}."
    )
    if not told:
        sentence = "No size of a rerun is told."

    def draw(width: float) -> tuple[Drawing, str, str]:
        most = _reach(*(row["most"] for row in told))
        height = _row(width) * len(rows) + 3 * LINE
        drawing = Drawing(width, height, colours)
        axis = Axis(_left(width), width - 16, 0, most)
        bottom = _row(width) * len(rows)
        drawing.add(
            "rect",
            x=axis.left,
            y=0,
            width=axis.at(rows[0]["margin"]) - axis.left,
            height=bottom,
            fill=colours["band"],
            stroke=colours["soft"],
            stroke_dasharray="3 3",
        )
        _grid(drawing, axis, bottom, _ticks(0, most, 0.5))
        for place, row in enumerate(rows):
            y = _name(drawing, row["subject"], place, axis)
            if row["most"] is None:
                drawing.text(NO_SIZE, axis.left + 4, y + 4, "soft", rim="band")
                continue
            end = axis.at(row["most"])
            drawing.line(axis.at(row["excess"]), y, end, y, "ink", thick=THIN)
            drawing.line(end, y - TICK, end, y + TICK, "ink", thick=THIN)
            _mark(drawing, axis.at(row["excess"]), y, filled=True)
        drawing.text("How far an item moved, in levels", 0, bottom + 2.4 * LINE, "soft")
        return (
            drawing,
            sentence,
            f"A row for each rerun, models from A to Z. Across: how far an item's own level moved "
            f"beyond trials, as a standard deviation, from 0 to {most:g} levels, with its one-sided "
            f"95% limit. The band ends at {rows[0]['margin']:g}, which counts.",
        )

    pictures = _both(4, "reruns", draw) if told else ["", ""]
    return Shown(
        4,
        sentence,
        "A circle: how far items moved beyond what trials explain. The line: up to the 95% limit.",
        (
            "Model",
            "First",
            "Second",
            "Items",
            "Trials",
            "Shift",
            "An item moved",
            "At most",
            "Outcome",
        ),
        tuple(
            (
                row["subject"],
                row["first"],
                row["second"],
                str(row["items"]),
                str(row["trials"]),
                _signed(row["shift"]),
                _plain(row["excess"]),
                _plain(row["most"]),
                _outcome(row),
            )
            for row in rows
        ),
        *pictures,
    )


# 5: altered models


def _altered(rows: list[Row], colours: Mapping[str, str]) -> Shown:
    told = [row for row in rows if row["moved"] is not None]
    moved = sum(row["low"] > 0 for row in told)
    sentence = (
        f"Of {len(told)} alteration{'' if len(told) == 1 else 's'} whose size is told, {moved} moved "
        "the levels as declared, beyond chance."
    )
    if not told:
        sentence = "No size of an alteration is told."
    reach = _reach(*(row[end] for row in told for end in ("low", "high")))

    def draw(width: float) -> tuple[Drawing, str, str]:
        drawing, axis = _around_zero(width, len(rows), reach, colours)
        least = axis.at(rows[0]["least"])
        drawing.line(least, 0, least, _row(width) * len(rows), "soft", dash="3 3")
        for place, row in enumerate(rows):
            y = _name(drawing, f"{row['subject']}, {row['condition']}", place, axis)
            if row["moved"] is None:
                drawing.text(NO_SIZE, axis.left + 4, y + 4, "soft")
                continue
            _arrow(drawing, axis.at(0), axis.at(row["moved"]), y)
            _interval(drawing, axis, row["low"], row["high"], y + LINE * 0.7)
        drawing.text("Levels in the declared direction", 0, _foot(len(rows), axis), "soft")
        return (
            drawing,
            sentence,
            "A row for each altered model, from A to Z. Across: levels in the direction that was "
            f"declared, from -{reach:g} to {reach:g}, with a line at 0 and a dashed one at "
            f"{rows[0]['least']:g}, the least that was declared. An arrow from 0 for how far it "
            "moved; below it the 90% interval.",
        )

    pictures = _both(5, "altered", draw) if told else ["", ""]
    return Shown(
        5,
        sentence,
        "90% intervals over items (paired t). To the right is as declared.",
        ("Model", "Condition", "Declared", "Items", "Moved as declared", "90% interval", "Outcome"),
        tuple(
            (
                row["subject"],
                row["condition"],
                row["expected"],
                str(row["items"]),
                _signed(row["moved"]),
                NO_SIZE
                if row["low"] is None
                else f"{_signed(row['low'])} to {_signed(row['high'])}",
                _outcome(row),
            )
            for row in rows
        ),
        *pictures,
    )


def _arrow(drawing: Drawing, start: float, end: float, y: float) -> None:
    """A thick line with a head, or a mark alone where there is no room for one."""
    size = RADIUS + 2
    if abs(end - start) < 2 * size:
        _mark(drawing, end, y, filled=True)
        return
    back = end - math.copysign(size * 1.4, end - start)
    drawing.line(start, y, back, y, "chart-1", thick=THICK / 2)
    drawing.add(
        "polygon",
        points=f"{end:g},{y:g} {back:g},{y - size:g} {back:g},{y + size:g}",
        fill=drawing.colours["chart-1"],
    )


# What they share


def _left(width: float) -> float:
    return 8.0 if width < WIDE else 210.0


def _row(width: float) -> float:
    return 3.4 * LINE if width < WIDE else 2.6 * LINE


def _around_zero(
    width: float, rows: int, reach: float, colours: Mapping[str, str]
) -> tuple[Drawing, Axis]:
    """An empty picture of so many rows around a line at zero."""
    drawing = Drawing(width, rows * _row(width) + 3 * LINE, colours)
    axis = Axis(_left(width) + 8, width - 16, -reach, reach)
    _grid(drawing, axis, rows * _row(width), _ticks(-reach, reach, reach / 2))
    return drawing, axis


def _grid(drawing: Drawing, axis: Axis, bottom: float, ticks: list[float]) -> None:
    for tick in ticks:
        drawing.line(axis.at(tick), 0, axis.at(tick), bottom, "ink" if tick == 0 else "grid")
        drawing.text(f"{tick:g}", axis.at(tick), bottom + LINE, "soft", "middle")


def _name(drawing: Drawing, name: str, place: int, axis: Axis) -> float:
    """The name of a row, above it where the picture is narrow; returns the middle of the row."""
    narrow = axis.right < WIDE / 2
    row = _row(NARROW if narrow else WIDE)
    top = place * row
    middle = top + (row * 0.6 if narrow else row / 2)
    width = axis.right if narrow else axis.left - 16
    drawing.text(_short(name, width), 0, top + LINE if narrow else middle + 4, "ink")
    return middle


def _foot(rows: int, axis: Axis) -> float:
    return rows * _row(NARROW if axis.right < WIDE / 2 else WIDE) + 2.4 * LINE


def _reach(*values: float) -> float:
    """How far an axis goes: to the next half level, and to one at least."""
    return max(1.0, math.ceil(2 * max(map(abs, values), default=0.0)) / 2)


def _ticks(low: float, high: float, step: float) -> list[float]:
    count = round((high - low) / step)
    return [round(low + step * place, 4) + 0.0 for place in range(count + 1)]


def _signed(value: float | None) -> str:
    if value is None:
        return NO_SIZE
    return f"{value:+.2f}" if value else "0.00"


def _plain(value: float | None) -> str:
    return NO_SIZE if value is None else f"{value:.2f}"


def _outcome(row: Row) -> str:
    return f"{row['outcome'].capitalize()}. {row['reason']}".strip()
