"""Words that a report never says of models, save to deny them: best, top, beats, and their like."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

REACH: Final = 6  # words before a banned one, in which a negation counts
BANNED: Final = re.compile(
    r"\b(?:best|worst|top|leads?|leading|leader\w*|beats?|beaten|outperform\w*|outscor\w*"
    r"|wins?|winn\w+|won|los(?:es|ers?)|tied|ahead|behind|superior|inferior|clean(?:ed|er)?|cleared"
    r"|rank\w*|first place|number one|(?:most|least|more|less) compassionate)\b|#1\b",
    re.IGNORECASE,
)
#: The bands are vocabulary of the framework, and not of a model.
BAND: Final = re.compile(r"\b(?:Exemplary|Established|Functional|Developing|Critical(?!-harm))\b")
#: Length is measured beside a difference. What caused it is not known.
CAUSAL: Final = re.compile(
    r"\b(?:because of|due to|caused by|explained by|owing to|thanks to)\b[^.;]*\blengths?\b"
    r"|\blengths?\b[^.;]*\b(?:causes?|caused|explains?|explained)\b",
    re.IGNORECASE,
)
NEGATION: Final = re.compile(
    r"\b(?:no|not|never|neither|nor|none|nothing|without|cannot|nobody)\b|n[’']t\b", re.IGNORECASE
)
#: They look like a negation, and affirm.
AFFIRMED: Final = re.compile(
    r"\b(?:not|no) (?:only|just|merely|simply|doubt|question|wonder)\b|\bnone other\b",
    re.IGNORECASE,
)
SENTENCE: Final = re.compile(r"(?<=[.!?;:])\s+|\n")
WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True)
class Found:
    """A word that may not be said, and the sentence it stands in."""

    word: str
    sentence: str

    def __str__(self) -> str:
        return f"“{self.word}” in “{self.sentence}”"


def banned_in(texts: Iterable[str], names: Sequence[str] = ()) -> list[Found]:
    """Return what these texts may not say. ``names`` are not read as words, where they are whole."""
    found = []
    called = "|".join(re.escape(name) for name in sorted({*names} - {""}, key=len, reverse=True))
    name = re.compile(rf"(?<!\w)(?:{called})(?!\w)") if called else None
    for text in texts:
        text = name.sub("…", text) if name else text
        for sentence in SENTENCE.split(text):
            found += _in_sentence(sentence.strip())
    return found


def _in_sentence(sentence: str) -> list[Found]:
    words = [*BANNED.finditer(sentence), *BAND.finditer(sentence), *CAUSAL.finditer(sentence)]
    return [
        Found(match.group(), sentence) for match in words if not _denied(sentence[: match.start()])
    ]


def _denied(before: str) -> bool:
    """Whether the last few words before it deny it."""
    last = " ".join(WORD.findall(AFFIRMED.sub("", before))[-REACH:])
    return bool(NEGATION.search(last))
