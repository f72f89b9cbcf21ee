"""A picture put together by hand: lines, circles and words at their places, in px."""

from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree

from rating.charts import FONT, TEXT

RIM: Final = 3  # px; keeps lines of the grid from striking words through


class Drawing:
    """An SVG element of a size, whose parts are added one by one, the later over the earlier.

    ``colours`` gives each colour by name; ``surface`` is that of the ground.
    """

    def __init__(self, width: float, height: float, colours: Mapping[str, str]) -> None:
        self.colours = colours
        self.root = ElementTree.Element(
            "svg",
            width=f"{width:g}",
            height=f"{height:g}",
            viewBox=f"0 0 {width:g} {height:g}",
            attrib={"font-family": FONT, "font-size": str(TEXT)},
        )

    def svg(self) -> str:
        return ElementTree.tostring(self.root, encoding="unicode")

    def line(
        self,
        x: float,
        y: float,
        x2: float,
        y2: float,
        colour: str = "grid",
        *,
        thick: float = 1,
        dash: str = "",
    ) -> None:
        dashed = {"stroke_dasharray": dash} if dash else {}
        self.add(
            "line",
            x1=x,
            y1=y,
            x2=x2,
            y2=y2,
            stroke=self.colours[colour],
            stroke_width=thick,
            **dashed,
        )

    def text(
        self,
        text: str,
        x: float,
        y: float,
        colour: str,
        anchor: str = "start",
        *,
        rim: str = "surface",
    ) -> None:
        """Words on a line at ``y``, with a rim in the colour of the ground; "" for none."""
        rimmed: dict[str, float | str] = (
            {"paint_order": "stroke", "stroke": self.colours[rim], "stroke_width": RIM}
            if rim
            else {}
        )
        part = self.add("text", x=x, y=y, fill=self.colours[colour], text_anchor=anchor, **rimmed)
        part.text = text

    def add(self, tag: str, **attributes: float | str) -> ElementTree.Element:
        """Any part, with "_" for "-" in the names of its attributes."""
        written = {
            name.replace("_", "-"): value if isinstance(value, str) else f"{value:g}"
            for name, value in attributes.items()
        }
        return ElementTree.SubElement(self.root, tag, written)
