"""Severity among raters as a picture: a row for each rater, from A to Z, around the mean of all."""

import math
from collections.abc import Mapping
from datetime import date

from rating.charts import LINE, WIDE, _named, _text
from rating.effects_chart import (
    FOOT,
    HEAD,
    ROW,
    TOKENS,
    _farthest,
    _Layout,
    _Panel,
    _signed,
    _vega_lite,
)
from rating.severity import PoolEffects


def severity_chart(
    effects: PoolEffects, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return each rater's severity with its 95% interval, as SVG.

    On the scale of levels, around 0 = the mean of all raters. ``width`` is 720, or 340 for narrow
    screens. A row without a severity stays, with its reason in words.
    """
    import vl_convert  # heavy, as Altair is: wanted only where a chart is drawn

    layout = _layout(effects, width)
    drawn = vl_convert.vegalite_to_svg(_vega_lite(layout, colours), allowed_base_urls=[])
    name = f"severity-{effects.instrument.lower().replace(' ', '-')}-{width}"
    return _named(drawn, name, effects.sentence, _description(effects, layout))


def _layout(effects: PoolEffects, width: int) -> _Layout:
    narrow = width < WIDE
    levels = _Panel(12, width - 12) if narrow else _Panel(130, width - 12)
    reach = math.ceil(max(1.0, _farthest([severity for _, severity in effects.rows])))
    layout = _Layout(width, float(reach), 0.0, levels, levels, date(2000, 1, 1), 1)
    layout.words += _text(["With its 95% interval"], levels.left, LINE / 2)
    layout.height = HEAD
    for name, severity in effects.rows:
        layout.names += _text([name], 0, layout.height + (LINE if narrow else ROW) / 2)
        layout.height += LINE if narrow else 0
        layout._add_severity(severity, layout.height)
        layout.height += ROW
    layout._add_levels_axis("Levels above or below the mean of all raters")
    layout.height += FOOT
    return layout


def _description(effects: PoolEffects, layout: _Layout) -> str:
    reach = int(layout.reach)
    said = [
        "A row for each rater, from A to Z.",
        "A point is how many levels more than the mean of all raters this one gives to the same "
        "responses, with its 95% interval; below 0 is more severe.",
        f"Across: levels from {_signed(-reach)} to {_signed(reach)}.",
    ]
    if missing := len(effects.raters) - effects.known:
        said.append(f"Rows without a number, with the reason in its place: {missing}.")
    return " ".join([*said, "The table that follows gives every number."])
