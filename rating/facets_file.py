"""Counted ratings for programs that fit many-facet models: FACETS, and R with TAM or lme4.

``facets.csv`` is one line for each counted rating, by code names, for anything that reads tables.
``facets.txt`` is the same for FACETS, which wants numbers: one file that says what is what and
holds the ratings, so that no path has to fit.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rating.export import COUNTED, ExportRow, csv_lines

LONG: Final = ("response", "item", "dimension", "rater", "level")


def facets_csv(rows: Iterable[ExportRow]) -> Iterator[str]:
    """Yield one line per counted rating, of rows in order, in the CSV of our other files."""
    return csv_lines(
        LONG,
        ([row.response, row.item, row.dimension, row.rater, row.level] for row in _counted(rows)),
    )


def facets_txt(rows: Iterable[ExportRow], scale: Sequence[int], title: str) -> Iterator[str]:
    """Yield the lines of a FACETS specification with the ratings in it, ended by CR LF.

    The rows are in order. Three facets: responses, which alone are positive and not centred; raters; and items, which
    are there to be looked at and anchored at 0, since every response belongs to one item. The
    scale keeps levels that nobody used. A comma, semicolon or equals sign in a name, which FACETS
    would read as its own, is a blank instead.

    Raises
    ------
    ValueError
        If a level is not on the scale, or below 0, which FACETS has no categories for.
    """
    if min(scale) < 0:
        raise ValueError(f"FACETS has no level {min(scale)}: its categories begin at 0.")
    # Labels stand before the ratings, so these are kept: each as four small numbers.
    facets = _Facet(), _Facet(), _Facet()
    given = array("q")
    for row in _counted(rows):
        if row.level not in scale:
            raise ValueError(
                f"The level {row.level} is not on the scale {', '.join(map(str, scale))}."
            )
        names = (row.response, row.rater, row.item)
        given.extend(one.met(name) for one, name in zip(facets, names, strict=True))
        given.append(row.level)
    return (f"{line}\r\n" for line in _lines(facets, given, scale, title))


class _Facet(dict[str, int]):
    """The names of a facet, each with when it was first met."""

    def met(self, name: str) -> int:
        return self.setdefault(name, len(self))

    def numbers(self) -> list[int]:
        """The number of each name, from 1, in the order of the names, by when it was met."""
        found = [0] * len(self)
        for number, name in enumerate(sorted(self), start=1):
            found[self[name]] = number
        return found


def _lines(
    facets: Sequence[_Facet], given: Sequence[int], scale: Sequence[int], title: str
) -> Iterator[str]:
    yield f"; Levels {scale[0]} to {scale[-1]}. Numbers stand for the names below Labels."
    yield f"Title = {_plain(title)}"
    yield "Facets = 3"
    yield "Positive = 1"
    yield "Noncenter = 1"
    yield f"Models = ?,?,?,R{scale[-1]}K"
    yield "Labels ="
    for head, facet in zip(("1, Response", "2, Rater", "3, Item, D"), facets, strict=True):
        yield head
        for number, name in enumerate(sorted(facet), start=1):
            yield f"{number} = {_plain(name)}"
        yield "*"
    yield "Data ="
    responses, raters, items = (facet.numbers() for facet in facets)
    for at in range(0, len(given), 4):
        response, rater, item, level = given[at : at + 4]
        yield f"{responses[response]},{raters[rater]},{items[item]},{level}"


def _counted(rows: Iterable[ExportRow]) -> Iterator[ExportRow]:
    return (row for row in rows if row.kind == COUNTED)


def _plain(text: str) -> str:
    kept = "".join(
        " " if letter in ",;=" or not letter.isprintable() else letter for letter in text
    )
    return " ".join(kept.split()) or "-"
