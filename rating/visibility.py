"""What each role can see of counted work, before and after unblinding, in one table.

The page, the document and the tests read this table: a test asks for every page there is, as
each role, in both states, and holds what came back against each cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ROLES: Final = ("rater", "item reviewer", "adjudicator", "maintainer", "admin")


class Sight(StrEnum):
    """How much of a thing somebody can see, in the words of the page."""

    NO = "no"
    YES = "yes"
    OWN = "own"
    POOLED = "pooled"
    BY_CODE = "by code name"
    OWN_CARD = "on own cards"
    UNSENT = "on a card not yet sent"
    SETTLING = "on what they settle"
    REVIEWING = "on items they review"
    WHILE_UNDO = "while undo is open"
    OWN_LEVEL = "own level, once given"
    AFTER_OWN = "after their own level"
    OWN_AND_UNBLINDERS = "own, and who unblinds"


@dataclass(frozen=True)
class Thing:
    """Something that can be seen, with who sees it: a ``before`` and ``after`` for each role."""

    name: str
    label: str
    cells: Mapping[str, tuple[Sight, Sight]]

    def sight(self, role: str, *, unblinded: bool) -> Sight:
        """What this role sees of it. Whoever is not named sees nothing."""
        return self.cells.get(role, (Sight.NO, Sight.NO))[unblinded]


def _always(sight: Sight) -> tuple[Sight, Sight]:
    return sight, sight


def _then(sight: Sight) -> tuple[Sight, Sight]:
    return Sight.NO, sight


ON_CARDS: Final = {
    "rater": (Sight.OWN_CARD, Sight.UNSENT),
    "adjudicator": _always(Sight.SETTLING),
}

THINGS: Final = (
    Thing("text", "What came back, below what it answers", ON_CARDS),
    Thing(
        "anchors",
        "The descriptions of an item's levels",
        {
            **ON_CARDS,
            "item reviewer": _always(Sight.REVIEWING),
            "maintainer": _always(Sight.YES),
            "admin": _always(Sight.YES),
        },
    ),
    Thing(
        "own",
        "Own ratings",
        {
            "rater": (Sight.WHILE_UNDO, Sight.NO),
            "adjudicator": _always(Sight.OWN_LEVEL),
        },
    ),
    Thing(
        "others",
        "Other people's ratings, with quotes and notes",
        {
            "adjudicator": _always(Sight.AFTER_OWN),
            "maintainer": _always(Sight.BY_CODE),
        },
    ),
    Thing("judged", "What judges gave, and why", {"maintainer": _always(Sight.YES)}),
    Thing("agreement", "How far raters agree", {"maintainer": _always(Sight.POOLED)}),
    Thing("models", "Which models are asked", {"maintainer": _always(Sight.YES)}),
    Thing("key", "Which model gave which response", {"maintainer": _then(Sight.YES)}),
    Thing("figures", "Levels by model", {"maintainer": _then(Sight.YES)}),
    Thing("known", "Whether a model knew the items", {"maintainer": _always(Sight.YES)}),
    Thing(
        "itself",
        "Whether a model repeats itself, and moves when altered",
        {"maintainer": _then(Sight.YES)},
    ),
    Thing(
        "properties",
        "How long replies are, and which look like refusals",
        {"maintainer": (Sight.POOLED, Sight.YES)},
    ),
    Thing(
        "raters",
        "Who rated",
        {"maintainer": _always(Sight.BY_CODE), "admin": _always(Sight.BY_CODE)},
    ),
    Thing(
        "people",
        "Names and addresses of people",
        {
            "rater": _always(Sight.OWN),
            "item reviewer": _always(Sight.OWN),
            "adjudicator": _always(Sight.OWN),
            "maintainer": _always(Sight.OWN_AND_UNBLINDERS),
            "admin": _always(Sight.YES),
        },
    ),
    Thing(
        "construct",
        "What an item is meant to measure",
        {
            "item reviewer": _always(Sight.REVIEWING),
            "maintainer": _always(Sight.YES),
            "admin": _always(Sight.YES),
        },
    ),
    Thing("log", "The log of what was done", {}),
)


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[Sight, ...]


def rows(*, unblinded: bool) -> list[Row]:
    """The table in one state: a row for each thing, a cell for each of ``ROLES``."""
    return [
        Row(thing.label, tuple(thing.sight(role, unblinded=unblinded) for role in ROLES))
        for thing in THINGS
    ]


def as_markdown(*, unblinded: bool) -> str:
    """The table in one state, as it stands in the documents."""
    head = ["", *ROLES]
    lines = [head, ["---"] * len(head)]
    lines += [[row.label, *row.cells] for row in rows(unblinded=unblinded)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |")
