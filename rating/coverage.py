"""Where a bank stands: how far people have validated its items, place by place.

A place is a subdimension of the Model Index, or a pair in a chamber of Unconditionality.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rating.reviews import Standing
from runs.taxonomy import DIMENSIONS

#: Told apart by shape, in the order of the legend.
GLYPHS: Final = {
    Standing.VALIDATED: "●",
    Standing.SINGLE: "◐",
    Standing.UNVALIDATED: "○",
    Standing.NEEDS_REVISION: "△",
    Standing.DISPUTED: "◇",
}
#: Reviews that an item still waits for. One that needs revision waits for other words first.
WAITS_FOR: Final = {Standing.UNVALIDATED: 2, Standing.SINGLE: 1, Standing.DISPUTED: 1}
DRAFT: Final = "draft"
RETIRED: Final = "retired"
CRISIS: Final = "crisis topic"
DARKEST: Final = 5


@dataclass(frozen=True)
class ItemLine:
    """An item as the pages of a bank list it."""

    code: str
    title: str
    dimension: str
    subdimension: str
    withheld: str
    content_hash: str
    standing: Standing

    @property
    def scorable(self) -> bool:
        return self.withheld not in (DRAFT, RETIRED)

    @property
    def glyph(self) -> str:
        return GLYPHS[self.standing]


@dataclass(frozen=True)
class Counts:
    """What a bank holds, counted from its items."""

    items: int
    scorable: int
    served: int
    drafts: int
    crisis: int
    validated: int

    @property
    def percent(self) -> int | None:
        """The share of the scorable items that two people validated; none where there is none."""
        return round(100 * self.validated / self.scorable) if self.scorable else None


@dataclass(frozen=True)
class Cell:
    """The items of one place. Its drafts are counted apart: nobody scores them."""

    name: str
    standings: tuple[Standing, ...]
    drafts: int = 0

    @property
    def count(self) -> int:
        return len(self.standings)

    @property
    def glyphs(self) -> str:
        return "".join(GLYPHS[standing] for standing in self.standings)

    @property
    def validated(self) -> int:
        return self.standings.count(Standing.VALIDATED)

    @property
    def percent(self) -> int | None:
        return round(100 * self.validated / self.count) if self.count else None

    @property
    def step(self) -> int:
        """The darkness of its ground: 0 with nothing validated, 5 where all of it is."""
        if not self.count:
            return 0
        return -(-DARKEST * self.validated // self.count)

    @property
    def tally(self) -> tuple[int, ...]:
        """How many items have each status, in the order of the legend."""
        return tuple(self.standings.count(standing) for standing in GLYPHS)

    @property
    def said(self) -> str:
        """The cell in words, such as "3 items: 2 validated, 1 unvalidated"."""
        if not self.count:
            return "empty"
        many = f"{self.count} item{'' if self.count == 1 else 's'}"
        parts = [
            f"{count} {standing}"
            for standing, count in zip(GLYPHS, self.tally, strict=True)
            if count
        ]
        return f"{many}: {', '.join(parts)}"


@dataclass(frozen=True)
class Row:
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Coverage:
    """The map: a row for each dimension or chamber, a cell for each place in it."""

    rows: tuple[Row, ...]
    first: str  # what the rows are
    columns: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class PairLine:
    """A pair as the map places it."""

    code: str
    chamber: str
    a: str
    b: str


def counts_of(withheld: Iterable[tuple[str, Standing]]) -> Counts:
    """Count a bank from the reason each item is withheld for, "" if it is served, and its status."""
    items = list(withheld)
    scorable = [standing for why, standing in items if why not in (DRAFT, RETIRED)]
    return Counts(
        items=len(items),
        scorable=len(scorable),
        served=sum(not why for why, _ in items),
        drafts=sum(why == DRAFT for why, _ in items),
        crisis=sum(why == CRISIS for why, _ in items),
        validated=scorable.count(Standing.VALIDATED),
    )


def map_of_dimensions(items: Sequence[ItemLine]) -> Coverage:
    """The Model Index: 8 dimensions by 5 subdimensions, in the order of the taxonomy."""
    rows = tuple(
        Row(
            dimension.name,
            tuple(
                _cell(name, [item for item in items if item.subdimension == code])
                for code, name in dimension.subdimensions.items()
            ),
        )
        for dimension in DIMENSIONS.values()
    )
    cells = [cell for row in rows for cell in row.cells]
    two = sum(cell.validated >= 2 for cell in cells)
    widest = max(len(row.cells) for row in rows)
    return Coverage(
        rows,
        "Dimension",
        tuple(str(place) for place in range(1, widest + 1)),
        f"{two} of {len(cells)} cells {'has' if two == 1 else 'have'} two validated items.",
    )


def map_of_chambers(
    items: Sequence[ItemLine], chambers: Sequence[tuple[str, str]], pairs: Sequence[PairLine]
) -> Coverage:
    """Unconditionality: chambers by pairs, in the order of the bank. A pair is a cell of two."""
    by_code = {item.code: item for item in items}
    rows = []
    for code, name in chambers:
        own = [pair for pair in pairs if pair.chamber == code]
        rows.append(
            Row(
                name,
                tuple(
                    _cell(pair.code, [by_code[pair.a], by_code[pair.b]], as_given=True)
                    for pair in own
                ),
            )
        )
    widest = max((len(row.cells) for row in rows), default=0)
    whole = sum(cell.validated == cell.count == 2 for row in rows for cell in row.cells)
    filled = tuple(
        Row(row.name, row.cells + tuple(Cell("", ()) for _ in range(widest - len(row.cells))))
        for row in rows
    )
    return Coverage(
        filled,
        "Chamber",
        tuple(str(place) for place in range(1, widest + 1)),
        f"{whole} of {len(pairs)} pairs {'has' if whole == 1 else 'have'} both arms validated.",
    )


def _cell(name: str, items: Sequence[ItemLine], *, as_given: bool = False) -> Cell:
    """Its glyphs in the order of the legend, or the two of a pair as they are given."""
    own = [item for item in items if item.withheld != RETIRED]
    standings = [item.standing for item in own if item.scorable]
    if not as_given:
        standings.sort(key=list(GLYPHS).index)
    return Cell(name, tuple(standings), len(own) - len(standings))
