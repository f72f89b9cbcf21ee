"""Severity and drift as a picture: a row for each rater, from A to Z."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Literal

from rating.charts import FONT, LINE, NARROW, TEXT, WIDE, Marks, _lines, _named, _text
from rating.effects import Effects, RaterEffect
from rating.standing import Estimate

#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = {name: f"var(--{name})" for name in ("ink", "soft", "grid", "band", "chart-1")}
#: Below the rows, for the numbers of the axis and its title.
FOOT: Final = 3 * LINE
HEAD: Final = 2 * LINE
ROW: Final = 3 * LINE
GAP: Final = 36


def effects_chart(
    effects: Effects, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return each rater's severity with its 95% interval, and the mean of each day, as SVG.

    Both on the scale of levels, around 0 = what was agreed, with the declared tolerance as a
    band. A row without a severity stays, with its reason in words. Nobody has a colour of their
    own, wherever they stand.
    """
    import vl_convert  # heavy, as Altair is: wanted only where a chart is drawn

    layout = _Layout.of(effects, width)
    drawn = vl_convert.vegalite_to_svg(_vega_lite(layout, colours), allowed_base_urls=[])
    return _named(drawn, f"effects-{width}", effects.sentence, _description(effects, layout))


@dataclass
class _Panel:
    """A part of the picture with an axis of its own, in px from the left."""

    left: float
    right: float

    def at(self, share: float) -> float:
        return self.left + share * (self.right - self.left)


@dataclass
class _Layout:
    """What stands where, in px from the top left."""

    width: int
    reach: float  # levels that each panel shows to either side of 0
    tolerance: float
    levels: _Panel
    days: _Panel
    first: date
    span: int  # days from the first to the last
    height: float = HEAD
    bands: Marks = field(default_factory=list)
    rules: Marks = field(default_factory=list)
    zeros: Marks = field(default_factory=list)
    spans: Marks = field(default_factory=list)
    points: Marks = field(default_factory=list)
    paths: Marks = field(default_factory=list)
    dots: Marks = field(default_factory=list)
    names: Marks = field(default_factory=list)
    words: Marks = field(default_factory=list)

    @classmethod
    def of(cls, effects: Effects, width: int) -> "_Layout":
        narrow = width < WIDE
        days = [day.day for rater in effects.raters for day in rater.days]
        first = min(days, default=date(2000, 1, 1))
        layout = cls(
            width,
            _reach(effects),
            effects.tolerance,
            _Panel(12, width - 12) if narrow else _Panel(130, 430),
            _Panel(12, width - 12) if narrow else _Panel(430 + GAP, width - 12),
            first,
            max(1, (max(days, default=first) - first).days),
        )
        layout.words += _text(["All together, with its 95% interval"], layout.levels.left, LINE / 2)
        said = "Below it, the mean of each day" if narrow else "The mean of each day"
        layout.words += _text([said], layout.days.left, LINE * (1.5 if narrow else 0.5))
        for place, rater in enumerate(effects.raters):
            layout._add(rater, place, narrow=narrow)
        layout._add_axes(narrow=narrow)
        return layout

    def _level(self, level: float) -> float:
        return self.levels.at((level + self.reach) / (2 * self.reach))

    @property
    def _ticks(self) -> range:
        step = 1 if self.reach <= 3 else 2
        return range(-int(self.reach), int(self.reach) + 1, step)

    def _add(self, rater: RaterEffect, place: int, *, narrow: bool) -> None:
        top, name = self.height, [rater.pseudonym]
        if narrow:
            self.names += _text(name, 0, top + LINE / 2)
            top += LINE
        else:
            self.names += _text(name, 0, top + ROW / 2)
        self._add_severity(rater.severity, top)
        if narrow and rater.days:
            top += ROW
        if rater.days:
            self._add_days(rater, place, top)
        elif not narrow:
            self.words += _text(["None yet"], self.days.left, top + ROW / 2)
        self.height = top + ROW + (LINE if narrow else 0)

    def _add_severity(self, found: Estimate, top: float) -> None:
        middle = top + ROW / 2
        if found.value is None:
            width = self.levels.right - self.levels.left
            said = _lines(f"No number. {found.reason}", width, most=3)
            self.words += _text(said, self.levels.left, middle)
            return
        if self.tolerance:
            self.bands.append(
                {
                    "x": self._level(-self.tolerance),
                    "x2": self._level(self.tolerance),
                    "y": top,
                    "y2": top + ROW,
                }
            )
        for level in self._ticks:
            across = self._level(level)
            self.rules.append({"x": across, "x2": across, "y": top, "y2": top + ROW})
        zero = self._level(0)
        self.zeros.append({"x": zero, "x2": zero, "y": top, "y2": top + ROW})
        self.points.append({"x": self._level(found.value), "y": middle})
        if found.low is not None and found.high is not None:
            low, high = self._level(found.low), self._level(found.high)
            self.spans.append({"x": low, "x2": high, "y": middle})

    def _add_days(self, rater: RaterEffect, place: int, top: float) -> None:
        """A small line on the same levels, upwards; the axis of days is that of all rows."""
        inner = ROW - 8

        def down(level: float) -> float:
            return top + 4 + inner * (self.reach - level) / (2 * self.reach)

        left, right = self.days.left, self.days.right
        edge = {"x": left, "x2": right}
        self.bands.append({**edge, "y": down(self.tolerance), "y2": down(-self.tolerance)})
        self.zeros.append({**edge, "y": down(0), "y2": down(0)})
        for day in rater.days:
            across = self.days.at((day.day - self.first).days / self.span)
            mark: dict[str, float | str] = {"x": across, "y": down(day.mean)}
            self.dots.append(mark)
            self.paths.append({**mark, "row": place})

    def _add_levels_axis(self, title: str) -> None:
        foot = self.height + LINE
        for level in self._ticks:
            across = self._level(level)
            self.words.append({"text": _signed(level), "x": across, "y": foot, "middle": 1})
        self.words += _text([title], self.levels.left, foot + LINE)

    def _add_axes(self, *, narrow: bool) -> None:
        foot = self.height + LINE
        self._add_levels_axis("Levels above or below what was agreed")
        last = date.fromordinal(self.first.toordinal() + self.span)
        if self.dots and narrow:
            self.words += _text([f"Days: {_day(self.first)} to {_day(last)}"], 12, foot + 2 * LINE)
            self.height += LINE
        elif self.dots:
            self.words += _text([_day(self.first)], self.days.left, foot)
            self.words.append({"text": _day(last), "x": self.days.right, "y": foot, "end": 1})
        self.height += FOOT


def _reach(effects: Effects) -> float:
    """So many levels to each side of 0 as are drawn, in whole levels, and at least one."""
    days = [abs(day.mean) for rater in effects.raters for day in rater.days]
    whole = _farthest([rater.severity for rater in effects.raters])
    return float(math.ceil(max([1.0, effects.tolerance, whole, *days])))


def _farthest(severities: Sequence[Estimate]) -> float:
    """How far from 0 a point or an end of an interval lies; 0 where there is none."""
    known = [value for one in severities for value in (one.value, one.low, one.high)]
    return max((abs(value) for value in known if value is not None), default=0.0)


def _signed(level: int) -> str:
    return f"{level:+d}".replace("-", "−") if level else "0"


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def _vega_lite(layout: _Layout, colours: Mapping[str, str]) -> dict[str, Any]:
    import altair as alt

    ink, soft, grid = colours["ink"], colours["soft"], colours["grid"]
    across = alt.Scale(domain=[0, layout.width], range=[0, layout.width], nice=False)
    down = alt.Scale(domain=[0, layout.height], range=[0, layout.height], nice=False)
    x, y = alt.X("x:Q", axis=None, scale=across), alt.Y("y:Q", axis=None, scale=down)

    def chart(marks: Marks) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=marks))

    def words(marks: Marks, align: Literal["left", "center", "right"], colour: str) -> Any:
        return (
            chart(marks)
            .mark_text(align=align, baseline="middle", fontSize=TEXT, limit=0, color=colour)
            .encode(text="text:N", x=x, y=y)
        )

    tick: dict[str, Any] = {
        "color": ink,
        "thickness": 2,
        "size": 10,
        "orient": "vertical",
        "opacity": 1,
    }
    ends: Marks = [{"x": span[end], "y": span["y"]} for span in layout.spans for end in ("x", "x2")]
    middle = [word for word in layout.words if "middle" in word]
    end = [word for word in layout.words if "end" in word]
    start = [word for word in layout.words if "middle" not in word and "end" not in word]
    layers = [
        chart(layout.bands)
        .mark_rect(color=colours["band"], opacity=1, stroke=soft, strokeDash=[3, 3], strokeWidth=1)
        .encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        chart(layout.rules).mark_rule(color=grid).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        chart(layout.zeros).mark_rule(color=ink).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        chart(layout.spans).mark_rule(color=ink, strokeWidth=2).encode(x=x, x2="x2:Q", y=y),
        chart(ends).mark_tick(**tick).encode(x=x, y=y),
        chart(layout.points)
        .mark_point(filled=True, color=colours["chart-1"], size=90, opacity=1)
        .encode(x=x, y=y),
        chart(layout.paths)
        .mark_line(color=colours["chart-1"], strokeWidth=2, opacity=1)
        .encode(x=x, y=y, detail="row:N"),
        chart(layout.dots)
        .mark_point(filled=True, color=colours["chart-1"], size=30, opacity=1)
        .encode(x=x, y=y),
        words(layout.names, "left", ink),
        words(start, "left", soft),
        words(middle, "center", soft),
        words(end, "right", soft),
    ]
    whole = alt.layer(*layers)
    specification: dict[str, Any] = (
        whole.properties(width=layout.width, height=layout.height, background="transparent")
        .properties(autosize="none", padding=0)
        .configure(font=FONT, aria=False)
        .configure_view(stroke=None)
        .to_dict()
    )
    return specification


def _description(effects: Effects, layout: _Layout) -> str:
    said = [
        "A row for each rater, from A to Z.",
        "A point is the mean of own minus agreed level, with its 95% interval; 0 is what was agreed.",
        f"Across: levels from {_signed(-int(layout.reach))} to {_signed(int(layout.reach))}.",
        f"A band marks the tolerance of {effects.tolerance:g} levels to each side.",
        "Beside it a small line: the mean of each day, on the same levels.",
    ]
    if missing := len(effects.raters) - effects.known:
        said.append(f"Rows without a number, with the reason in its place: {missing}.")
    return " ".join([*said, "The table that follows gives every number."])


__all__ = ["NARROW", "WIDE", "effects_chart"]
