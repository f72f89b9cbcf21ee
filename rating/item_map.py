"""The items of a bank as a picture: the mean level of each beside how far its two ratings agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rating.charts import LETTER, LINE, NARROW, WIDE, _lines, _named
from rating.drawing import Drawing

#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = MappingProxyType(
    {name: f"var(--{name})" for name in ("ink", "soft", "grid", "band", "surface", "chart-1")}
)
RADIUS: Final = 5.0
PLOT: Final = 150.0  # px, the height of a panel without its words
LEFT: Final = 44.0  # px, for the percents
RIGHT: Final = 12.0
HEAD: Final = 2 * LINE
FOOT: Final = 2 * LINE
GAP: Final = 40.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Dot:
    """An item whose mean and agreement may both be shown."""

    code: str
    panel: str
    mean: float
    within_one: float  # a share
    outside: bool


@dataclass(frozen=True)
class Limits:
    """What was declared beforehand: items outside are labelled."""

    lowest: int
    highest: int
    margin: float
    share: float


@dataclass(frozen=True)
class ItemMap:
    dots: tuple[Dot, ...]
    panels: tuple[str, ...]
    limits: Limits

    @property
    def outside(self) -> int:
        return sum(dot.outside for dot in self.dots)

    @property
    def sentence(self) -> str:
        if self.outside == 1:
            return "1 item is outside the declared limits."
        return f"{self.outside} items are outside the declared limits."

    @property
    def description(self) -> str:
        means = [dot.mean for dot in self.dots]
        shares = [dot.within_one for dot in self.dots]
        return " ".join(
            [
                "An open circle for each item.",
                f"Across: its mean level, from {self.limits.lowest} to {self.limits.highest}.",
                "Up: the share of its responses whose two ratings lie within one level.",
                f"A panel for each of: {', '.join(self.panels)}."
                if len(self.panels) > 1
                else "One panel.",
                f"Means run from {min(means):.2f} to {max(means):.2f}, agreement from "
                f"{100 * min(shares):.0f}% to {100 * max(shares):.0f}%.",
                "The band holds what is within the limits; only items outside it are labelled.",
                "The table that follows gives every number.",
            ]
        )


def item_map(items: ItemMap, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS) -> str:
    """Return the picture as an SVG element, 720 px wide, or 340 for narrow screens."""
    drawing = _Drawing(items, width, colours)
    return _named(drawing.svg(), f"items-{width}", items.sentence, items.description)


class _Drawing:
    def __init__(self, items: ItemMap, width: int, colours: Mapping[str, str]) -> None:
        self.items, self.colours = items, colours
        self.columns = 1 if width < WIDE else 2
        self.panel = (width - GAP * (self.columns - 1)) / self.columns
        height = HEAD + PLOT + FOOT
        rows = -(-len(items.panels) // self.columns)
        self.height = rows * height + LINE
        self.drawing = Drawing(width, self.height, colours)
        for place, name in enumerate(items.panels):
            x = (place % self.columns) * (self.panel + GAP)
            self._draw(name, x, place // self.columns * height)
        self.drawing.text("Mean level across; up, within one level", 0, self.height - 4, "soft")

    def svg(self) -> str:
        return self.drawing.svg()

    def _draw(self, name: str, x: float, y: float) -> None:
        limits, top = self.items.limits, y + HEAD
        left, right, bottom = x + LEFT, x + self.panel - RIGHT, top + PLOT

        def across(mean: float) -> float:
            share = (mean - limits.lowest) / (limits.highest - limits.lowest)
            return left + share * (right - left)

        def up(share: float) -> float:
            return bottom - share * PLOT

        [title] = _lines(name, self.panel, most=1) or [""]
        self.drawing.text(title, x, y + LINE, "ink")
        low, high = across(limits.lowest + limits.margin), across(limits.highest - limits.margin)
        self.drawing.add(
            "rect",
            x=low,
            y=top,
            width=max(0.0, high - low),
            height=max(0.0, up(limits.share) - top),
            fill=self.colours["band"],
            stroke=self.colours["soft"],
            stroke_dasharray="3 3",
        )
        for level in range(limits.lowest, limits.highest + 1):
            self.drawing.line(across(level), top, across(level), bottom)
            self.drawing.text(str(level), across(level), bottom + LINE, "soft", "middle")
        for share in (0.0, 0.5, 1.0):
            self.drawing.line(left, up(share), right, up(share))
            self.drawing.text(f"{100 * share:.0f}%", left - 6, up(share) + 4, "soft", "end")
        dots = [dot for dot in self.items.dots if dot.panel == name]
        circles: list[Box] = []
        for dot in dots:
            cx, cy = across(dot.mean), up(dot.within_one)
            circles.append((cx - RADIUS, cy - RADIUS, cx + RADIUS, cy + RADIUS))
            self.drawing.add(
                "circle",
                cx=cx,
                cy=cy,
                r=RADIUS,
                fill=self.colours["surface"],
                stroke=self.colours["chart-1"],
                stroke_width=2,
            )
        if not dots:
            self.drawing.text("No item to show yet", left + 8, top + PLOT / 2, "soft")
        self._label(dots, circles, (x, top - RADIUS, x + self.panel, bottom + RADIUS))

    def _label(self, dots: Sequence[Dot], circles: Sequence[Box], room: Box) -> None:
        """Name the circles outside the limits, each where it covers nothing; else the table does."""
        taken = list(circles)
        for dot, circle in zip(dots, circles, strict=True):
            if not dot.outside:
                continue
            wide, middle = LETTER * len(dot.code) + 4, (circle[1] + circle[3]) / 2
            for left, centre in (
                (circle[2] + 4, middle),
                (circle[0] - 4 - wide, middle),
                (circle[2] - wide / 2, circle[1] - 9),
                (circle[2] - wide / 2, circle[3] + 9),
            ):
                box = (left, centre - 7, left + wide, centre + 7)
                inside = room[0] <= box[0] and box[2] <= room[2] and room[1] <= box[1] + 7
                inside = inside and box[3] - 7 <= room[3]
                if inside and not any(_meet(box, one) for one in taken):
                    taken.append(box)
                    self.drawing.text(dot.code, left + 2, centre + 4, "ink")
                    break


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


__all__ = ["NARROW", "WIDE", "Dot", "ItemMap", "Limits", "item_map"]
