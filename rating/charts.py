"""Pictures of a report, drawn on the server as SVG that one page can show in light and dark."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import wrap
from types import MappingProxyType
from typing import Any, Final
from xml.etree import ElementTree

from rating.report import Agreement, AgreementReport

#: The colours a page defines as CSS variables, so that one picture serves both themes.
TOKENS: Final = MappingProxyType(
    {name: f"var(--{name})" for name in ("ink", "soft", "grid", "chart-1", "surface")}
)
FONT: Final = "Atkinson Hyperlegible Next, system-ui, sans-serif"
TEXT: Final = 12  # px, the smallest that charts use
LINE: Final = 16  # px from one line of text to the next
LETTER: Final = 6.4  # px, a generous mean width of a letter of that size
FOOT: Final = 48  # px below the rows, for the axis
WIDE: Final = 720
NARROW: Final = 340

Marks = list[dict[str, float | str]]


def agreement_chart(
    report: AgreementReport, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return ordinal alpha with its 95% interval for each dimension, as an SVG element.

    ``width`` is 720, or 340 for narrow screens. ``colours`` are CSS variables unless given, as
    a picture outside a page needs. A row without an alpha stays, with its reason in words.
    The picture has one name and one description, and holds no number that is withheld.
    """
    import vl_convert  # heavy, as Altair is: wanted only where a chart is drawn

    layout = _Layout.of(report, width)
    drawn = vl_convert.vegalite_to_svg(_vega_lite(layout, colours), allowed_base_urls=[])
    return _named(drawn, f"agreement-{width}", report.sentence, _description(report, layout))


@dataclass
class _Layout:
    """What stands where: ``y`` and ``x`` in px from the top left, the rest in alphas."""

    width: int
    left: int
    right: int
    height: int = 0
    spans: Marks = field(default_factory=list)
    points: Marks = field(default_factory=list)
    hollow_points: Marks = field(default_factory=list)
    names: Marks = field(default_factory=list)
    words: Marks = field(default_factory=list)
    bands: list[tuple[float, float]] = field(default_factory=list)  # where grid lines are drawn

    @classmethod
    def of(cls, report: AgreementReport, width: int) -> "_Layout":
        narrow = width < WIDE
        layout = cls(width, 8, width - 12) if narrow else cls(width, 200, width - 170)
        overall, *dimensions = report.rows
        for name, agreement in (*dimensions, overall):
            if narrow:
                layout._add_narrow_row(name, agreement)
            else:
                layout._add_wide_row(name, agreement)
        return layout

    @property
    def lowest(self) -> float:
        """The low end of the axis: -0.2, or the next fifth below all that is drawn."""
        drawn = [span["low"] for span in self.spans]
        drawn += [point["alpha"] for point in (*self.points, *self.hollow_points)]
        return -math.ceil(5 * max([0.2, *(-float(alpha) for alpha in drawn)]) - 1e-9) / 5

    @property
    def ticks(self) -> list[float]:
        step = 0.5 if self.width < WIDE or self.lowest < -0.4 else 0.2
        first = math.ceil(self.lowest / step - 1e-9)
        return [round(place * step, 1) for place in range(first, round(1 / step) + 1)]

    @property
    def grid(self) -> Marks:
        """The lines of the ticks, left out where they would cross words."""
        return [
            {"alpha": tick, "y": top, "y2": bottom}
            for tick in self.ticks
            for top, bottom in self.bands
        ]

    def _add_wide_row(self, name: str, agreement: Agreement) -> None:
        height = 3.5 * LINE
        middle = self.height + height / 2
        self.names += _text(_lines(name, self.left - 16, most=3), 0, middle)
        self.words += _text(_percents(agreement), self.right + 16, middle)
        self._add_figure(agreement, middle, height)
        self.height += round(height)

    def _add_narrow_row(self, name: str, agreement: Agreement) -> None:
        width = self.right - self.left
        self.names += _text(_lines(name, width, most=1), self.left, self.height + LINE)
        middle = self.height + 2.4 * LINE
        self._add_figure(agreement, middle, 1.5 * LINE)
        said = _lines(", ".join(_percents(agreement)), width, most=2)
        self.words += _text(said, self.left, middle + (1 + len(said) / 2) * LINE)
        self.height += (4 + len(said)) * LINE

    def _add_figure(self, agreement: Agreement, middle: float, height: float) -> None:
        alpha = agreement.alpha_ordinal
        if alpha.value is None:
            reason = _lines(alpha.why, self.right - self.left, most=3)
            self.words += _text(reason, self.left, middle)
            return
        self.bands.append((middle - height / 2, middle + height / 2))
        points = self.points if agreement.sufficient else self.hollow_points
        points.append({"alpha": alpha.value, "y": middle})
        if alpha.low is not None and alpha.high is not None:
            self.spans.append({"low": alpha.low, "high": alpha.high, "y": middle})


def _percents(agreement: Agreement) -> list[str]:
    exact, near = agreement.percent_exact.percent(), agreement.percent_within_one.percent()
    said = [f"{exact} the same level", f"{near} within one"] if exact and near else []
    few = agreement.alpha_ordinal.value is not None and not agreement.sufficient
    return [*said, "too few for a claim"] if few else said


def _lines(text: str, width: float, *, most: int) -> list[str]:
    """Text broken to a width in px, ended by "…" where it does not fit in ``most`` lines."""
    plain = "".join(letter if letter.isprintable() else "�" for letter in text)
    return wrap(plain, int(width / LETTER), max_lines=most, placeholder=" …")


def _text(lines: list[str], x: float, middle: float) -> Marks:
    top = middle - (len(lines) - 1) * LINE / 2
    return [{"text": line, "x": x, "y": top + place * LINE} for place, line in enumerate(lines)]


def _vega_lite(layout: _Layout, colours: Mapping[str, str]) -> dict[str, Any]:
    import altair as alt

    ink, soft, grid = colours["ink"], colours["soft"], colours["grid"]
    alphas = alt.Scale(domain=[layout.lowest, 1], range=[layout.left, layout.right], nice=False)
    across = alt.Scale(domain=[0, layout.width], range=[0, layout.width], nice=False)
    down = alt.Scale(domain=[0, layout.height], range=[0, layout.height], nice=False)
    y = alt.Y("y:Q", axis=None, scale=down)
    axis = alt.Axis(
        values=layout.ticks,
        format=".1f",
        labelExpr="datum.value == 0 ? '0 = chance' : datum.label",
        labelOverlap=False,
        labelFlush=False,
        labelColor=soft,
        labelFontSize=TEXT,
        grid=False,
        domain=False,
        ticks=False,
        title="Ordinal alpha, with its 95% interval",
        titleColor=soft,
        titleFontSize=TEXT,
        titleFontWeight="normal",
        titleAnchor="start",
        titleX=layout.left,
    )

    def chart(marks: Marks) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=marks))

    def alpha(name: str) -> alt.X:
        return alt.X(f"{name}:Q", scale=alphas, axis=None)

    tick: dict[str, Any] = {
        "color": ink,
        "thickness": 2,
        "size": 10,
        "orient": "vertical",
        "opacity": 1,
    }
    circle: dict[str, Any] = {
        "color": colours["chart-1"],
        "size": 90,
        "opacity": 1,
        "strokeWidth": 2,
    }
    text: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": TEXT, "limit": 0}
    layers = [
        chart(layout.grid)
        .mark_rule()
        .encode(
            x=alt.X("alpha:Q", scale=alphas, axis=axis),
            y=y,
            y2="y2:Q",
            color=alt.condition("datum.alpha == 0", alt.value(ink), alt.value(grid)),
        ),
        chart(layout.spans)
        .mark_rule(color=ink, strokeWidth=2)
        .encode(x=alpha("low"), x2="high:Q", y=y),
        chart(layout.spans).mark_tick(**tick).encode(x=alpha("low"), y=y),
        chart(layout.spans).mark_tick(**tick).encode(x=alpha("high"), y=y),
        chart(layout.points).mark_point(filled=True, **circle).encode(x=alpha("alpha"), y=y),
        chart(layout.hollow_points)
        .mark_point(fill=colours["surface"], **circle)
        .encode(x=alpha("alpha"), y=y),
    ]
    for marks, colour in ((layout.names, ink), (layout.words, soft)):
        x = alt.X("x:Q", scale=across, axis=None)
        layers.append(chart(marks).mark_text(color=colour, **text).encode(text="text:N", x=x, y=y))
    whole = alt.layer(*layers).resolve_scale(x="independent")
    specification: dict[str, Any] = (
        whole.properties(width=layout.width, height=layout.height, background="transparent")
        .properties(autosize="none", padding={"left": 0, "right": 0, "top": 0, "bottom": FOOT})
        .configure(font=FONT, aria=False)
        .configure_view(stroke=None)
        .to_dict()
    )
    return specification


def _description(report: AgreementReport, layout: _Layout) -> str:
    known = {
        name: agreement.alpha_ordinal.value
        for name, agreement in report.dimensions.items()
        if agreement.alpha_ordinal.value is not None
    }
    said = [
        "A point and a 95% interval in each row.",
        f"Across: ordinal alpha from {layout.lowest:g} to 1; 0 is chance.",
        f"Down: {len(report.dimensions)} dimensions in order, then all together."
        if report.dimensions
        else "Down: one row, all together.",
    ]
    if len(known) > 1:
        low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        said.append(f"Alpha runs from {known[low]:.2f} in {low} to {known[high]:.2f} in {high}.")
    missing = sum(row.alpha_ordinal.value is None for _, row in report.rows)
    if missing:
        said.append(f"Rows without a number, with the reason in its place: {missing}.")
    return " ".join([*said, "The table that follows gives every number."])


def _named(drawn: str, name: str, title: str, description: str) -> str:
    """Return the picture as one image with a title and a description, its parts unnamed."""
    svg = ElementTree.fromstring(drawn)
    for part in svg.iter():
        part.tag = part.tag.rpartition("}")[2]
        for attribute in [key for key in part.attrib if _is_clutter(key)]:
            del part.attrib[attribute]
    svg.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg",
        "role": "img",
        "aria-labelledby": f"{name}-title",
        "aria-describedby": f"{name}-description",
    }
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        part = ElementTree.Element(tag, id=f"{name}-{'title' if place == 0 else 'description'}")
        part.text = text
        svg.insert(place, part)
    return ElementTree.tostring(svg, encoding="unicode")


def _is_clutter(attribute: str) -> bool:
    return attribute in {"class", "role", "version"} or attribute.startswith("aria-")
