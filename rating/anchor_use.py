"""How often each level of an item was chosen, as a small picture."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final
from xml.etree import ElementTree

from rating.charts import FONT, TEXT, _named
from rating.item_figures import Use

#: The colours a page defines as CSS variables: a step for each level, 0 to 5.
TOKENS: Final = MappingProxyType(
    {name: f"var(--{name})" for name in ("ink", "edge", *(f"step-{step}" for step in range(6)))}
)
WIDTH: Final = 300
BAR: Final = 200.0  # px, of a level that everybody chose
LEFT: Final = 24.0
ROW: Final = 26
THICK: Final = 18.0


def anchor_use_chart(use: Sequence[Use], *, colours: Mapping[str, str] = TOKENS) -> str:
    """Return a bar for each level, lowest first, as an SVG element of at most 300 px."""
    height = ROW * len(use)
    root = ElementTree.Element(
        "svg",
        width=str(WIDTH),
        height=str(height),
        viewBox=f"0 0 {WIDTH} {height}",
        attrib={"font-family": FONT, "font-size": str(TEXT)},
    )
    for place, one in enumerate(use):
        middle = place * ROW + ROW / 2
        _text(root, str(one.level), 4, middle, colours)
        if one.count:
            ElementTree.SubElement(
                root,
                "rect",
                x=f"{LEFT:g}",
                y=f"{middle - THICK / 2:g}",
                width=f"{BAR * one.share:g}",
                height=f"{THICK:g}",
                fill=colours[f"step-{one.level}"],
                stroke=colours["edge"],
            )
        _text(root, f"{one.count}", LEFT + BAR * one.share + 8, middle, colours)
    drawn = ElementTree.tostring(root, encoding="unicode")
    unused = [str(one.level) for one in use if not one.count]
    title = f"Nobody chose {_either(unused)}." if unused else "Each level was chosen at least once."
    most = max(use, key=lambda one: one.count)
    description = (
        f"A bar for each level from {use[0].level} to {use[-1].level}: how many ratings chose it. "
        f"Level {most.level} has the most, {most.count}. The table that follows gives every number."
    )
    return _named(drawn, "anchor-use", title, description)


def _either(levels: Sequence[str]) -> str:
    if len(levels) == 1:
        return f"level {levels[0]}"
    return f"level {', '.join(levels[:-1])} or {levels[-1]}"


def _text(
    root: ElementTree.Element, text: str, x: float, middle: float, colours: Mapping[str, str]
) -> None:
    part = ElementTree.SubElement(
        root, "text", x=f"{x:g}", y=f"{middle + 4:g}", fill=colours["ink"]
    )
    part.text = text
