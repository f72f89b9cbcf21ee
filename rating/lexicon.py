"""Words that a report of ours does not use: they state an order, or more than was found."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

#: Stems and words, matched whole and in any case.
BANNED: Final = (
    r"best|worst|better|worse|top|topmost|lead|leads|leading|leaders?|leaderboards?|beat|beats|beaten|"
    r"outperform\w*|wins?|winners?|winning|won|ranks?|ranked|rankings?|tied|ahead|behind|"
    r"superior|inferior|(?:most|least) compassionate|clean|cleared|unbiased|#1|number one"
)
NEGATION: Final = re.compile(
    r"\b(?:no|not|never|nor|neither|none|nobody|cannot|can't|without|isn't|aren't|don't|doesn't)\b",
    re.IGNORECASE,
)
SENTENCE: Final = re.compile(r"(?<=[.!?;:])\s+|\n+")
WORD: Final = re.compile(rf"(?<![\w#-])(?:{BANNED})(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True)
class Banned:
    """A word, and the sentence it stands in."""

    word: str
    sentence: str


def banned(text: str, *, names: Collection[str] = ()) -> tuple[Banned, ...]:
    """Return the words of a text that it may not use.

    Parameters
    ----------
    text : str
        Sentences in English.
    names : collection of str
        Names of subjects, which may hold any word.

    Returns
    -------
    tuple of Banned
        A word is let through where a negation comes before it in its sentence: "This is not a
        ranking" states no order.
    """
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "…")
    found = []
    for sentence in SENTENCE.split(text):
        for match in WORD.finditer(sentence):
            if not NEGATION.search(sentence[: match.start()]):
                found.append(Banned(match[0], sentence.strip()))
    return tuple(found)


def refuse_banned(text: str, *, names: Collection[str] = ()) -> None:
    """Raise ``ValueError`` for the first banned word, naming it and its sentence."""
    for one in banned(text, names=names):
        raise ValueError(f"A report does not say {one.word!r}: {one.sentence!r}")
