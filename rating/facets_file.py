"""Counted ratings for programs that fit many-facet models: FACETS, and R with TAM or lme4.

``facets.csv`` is one line for each counted rating, by code names, for anything that reads tables.
``facets.txt`` is the same for FACETS, which wants numbers: one file that says what is what and
holds the ratings, so that no path has to fit.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from rating.export import COUNTED, ExportRow, in_csv

LONG: Final = ("response", "item", "dimension", "rater", "level")


def facets_csv(rows: Iterable[ExportRow]) -> str:
    """Return one line per counted rating, by response and rater, in the CSV of our other files."""
    return in_csv(
        LONG,
        [[row.response, row.item, row.dimension, row.rater, row.level] for row in _counted(rows)],
    )


def facets_txt(rows: Iterable[ExportRow], scale: Sequence[int], title: str) -> str:
    """Return a FACETS specification with the ratings in it, lines ended by CR LF.

    Three facets: responses, which alone are positive and not centred; raters; and items, which
    are there to be looked at and anchored at 0, since every response belongs to one item. The
    scale keeps levels that nobody used. A comma, semicolon or equals sign in a name, which FACETS
    would read as its own, is a blank instead.

    Raises
    ------
    ValueError
        If a level is not on the scale, or below 0, which FACETS has no categories for.
    """
    counted = _counted(rows)
    if min(scale) < 0:
        raise ValueError(f"FACETS has no level {min(scale)}: its categories begin at 0.")
    if strange := sorted({row.level for row in counted} - set(scale)):
        raise ValueError(
            f"The level {strange[0]} is not on the scale {', '.join(map(str, scale))}."
        )
    responses = _numbered(row.response for row in counted)
    raters = _numbered(row.rater for row in counted)
    items = _numbered(row.item for row in counted)
    lines = [
        f"; Levels {scale[0]} to {scale[-1]}. Numbers stand for the names below Labels.",
        f"Title = {_plain(title)}",
        "Facets = 3",
        "Positive = 1",
        "Noncenter = 1",
        f"Models = ?,?,?,R{scale[-1]}K",
        "Labels =",
        *_labels("1, Response", responses),
        *_labels("2, Rater", raters),
        *_labels("3, Item, D", items),
        "Data =",
        *(
            f"{responses[row.response]},{raters[row.rater]},{items[row.item]},{row.level}"
            for row in counted
        ),
    ]
    return "\r\n".join(lines) + "\r\n"


def _counted(rows: Iterable[ExportRow]) -> list[ExportRow]:
    return sorted(
        (row for row in rows if row.kind == COUNTED), key=lambda row: (row.response, row.rater)
    )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Each name with its number, from 1, in the order of the names."""
    return {name: number for number, name in enumerate(sorted(set(names)), start=1)}


def _labels(head: str, numbered: dict[str, int]) -> list[str]:
    return [head, *(f"{number} = {_plain(name)}" for name, number in numbered.items()), "*"]


def _plain(text: str) -> str:
    kept = "".join(
        " " if letter in ",;=" or not letter.isprintable() else letter for letter in text
    )
    return " ".join(kept.split()) or "-"
