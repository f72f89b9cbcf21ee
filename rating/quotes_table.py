"""What becomes of quotes that people typed: which are taken, after which folding, and which are not.

Each quote goes through ``rating.quotes.find``, as it would on the rating screen.
"""

import html
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any

from rating.quotes import DASHES, MARKS, QUOTES, UNSEEN, NotThere, Refused, Several, TooShort, find

EXAMPLES = 3
AS_IT_STANDS = "accepted as it stands"
FOLDED = "accepted after folding"
SEVERAL = "several places"
TOO_SHORT = "too short"
TOO_LONG = "too long"
LEFT_OUT = "words left out"
CHANGED = "words changed or added"
MARKS_DIFFER = "no word differs, but a mark does"
NOTHING_LIKE = "not in the text"
# In the order in which the table shows them.
OUTCOMES = (
    AS_IT_STANDS,
    FOLDED,
    SEVERAL,
    TOO_SHORT,
    TOO_LONG,
    LEFT_OUT,
    CHANGED,
    MARKS_DIFFER,
    NOTHING_LIKE,
)

# The folding, step by step, so that a table can say which steps a quote needed.
STEPS: dict[str, Callable[[str], str]] = {
    "white space": lambda text: " ".join(text.split()),
    "case": str.casefold,
    "quotes": lambda text: text.translate(QUOTES),
    "dashes": lambda text: text.translate(DASHES),
    "ellipses": lambda text: text.replace("…", "..."),
    "entities": html.unescape,
    "unseen characters": lambda text: text.translate(dict.fromkeys(map(ord, UNSEEN))),
    "marks": lambda text: text.translate(dict.fromkeys(map(ord, MARKS))),
    "letters": lambda text: unicodedata.normalize("NFKC", text),
}


@dataclass(frozen=True)
class Example:
    """A quote as typed, the passage it was found as or comes closest to, and what differs."""

    quote: str
    passage: str = ""
    difference: str = ""


@dataclass
class Row:
    outcome: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)
    # How many needed each step of the folding; one quote may need several.
    folds: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QuotesTable:
    """``empty`` counts the rows in which nothing was typed; they are in no outcome."""

    quotes: int
    empty: int
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def quotes_table(pairs: Iterable[tuple[str, str]]) -> QuotesTable:
    """What becomes of each quote of ``(text, quote)``, counted, with the first three of each."""
    rows = {outcome: Row(outcome) for outcome in OUTCOMES}
    empty = 0
    for text, quote in pairs:
        if not quote.strip():
            empty += 1
            continue
        outcome, example = outcome_of(text, quote)
        row = rows[outcome]
        row.count += 1
        if outcome == FOLDED:
            for step in folds_needed(quote, example.passage):
                row.folds[step] = row.folds.get(step, 0) + 1
        if len(row.examples) < EXAMPLES and example not in row.examples:
            row.examples.append(example)
    return QuotesTable(sum(row.count for row in rows.values()), empty, tuple(rows.values()))


def outcome_of(text: str, quote: str) -> tuple[str, Example]:
    """What becomes of one quote, in the words of the table."""
    try:
        passage = find(text, quote).of(text)
    except TooShort:
        return TOO_SHORT, Example(quote)
    except Several as why:
        return SEVERAL, Example(quote, why.places[0].of(text), f"{len(why.places)} places")
    except NotThere as why:
        if why.closest is None:
            return NOTHING_LIKE, Example(quote)
        return _unlike(why.difference), Example(quote, why.closest.of(text), why.difference)
    except Refused:
        return TOO_LONG, Example(quote)
    return AS_IT_STANDS if passage == quote.strip() else FOLDED, Example(quote, passage)


def folds_needed(quote: str, passage: str) -> list[str]:
    """The steps of the folding that bring a quote nearer to the passage it was found as."""
    needed = []
    a, b = quote.strip(), passage
    for name, step in STEPS.items():
        before, a, b = _apart(a, b), step(a), step(b)
        if _apart(a, b) < before:
            needed.append(name)
    return needed


def _unlike(difference: str) -> str:
    if not difference:
        return MARKS_DIFFER
    only_left_out = all(part.startswith("left out: ") for part in difference.split("; "))
    return LEFT_OUT if only_left_out else CHANGED


def _apart(a: str, b: str) -> int:
    """How many characters of two texts differ."""
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in codes if tag != "equal")
