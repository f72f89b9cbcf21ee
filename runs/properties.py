"""What every response is like beside what it says: how long, how hard to read, cut off, refusing.

None of it decides anything. A refusal is a reply, and is rated; what looks like one is counted, so
that a difference between subjects can be told from a difference in how often they refuse.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Final

VERSION: Final = 1  # changes whenever the same text would give something else
CUT_OFF: Final = {"length", "max_tokens"}
FEWEST_READABLE: Final = 30  # words that a reading level asks for
OPENING: Final = 3  # sentences in which a refusal is looked for
FEWEST_LETTERS: Final = 20  # of a script, before a text is said to be in it


@dataclass(frozen=True)
class Properties:
    """Of one response. ``reading_level`` is in years of school, None where it means nothing."""

    words: int
    characters: int
    reading_level: float | None
    looks_like_refusal: bool
    cut_off: bool
    other_script: bool


@dataclass(frozen=True)
class Pooled:
    """Of many responses: how many have each property, and how long they are."""

    n: int
    words: tuple[int, float, int] | None
    reading_level: float | None
    refusals: int
    cut_off: int
    other_script: int


def properties_of(
    text: str, finish_reason: str = "", *, asked: str = "", language: str = "en"
) -> Properties:
    """What one response is like; ``asked`` is the prompt that it answers, in ``language``."""
    return Properties(
        words=len(text.split()),
        characters=len(text),
        reading_level=reading_level(text) if language.split("-")[0] == "en" else None,
        looks_like_refusal=looks_like_refusal(text),
        cut_off=finish_reason in CUT_OFF,
        other_script=_in_other_script(text, asked),
    )


def pooled(rows: Iterable[Properties]) -> Pooled:
    """The same over many: words as least, median and most; the median reading level."""
    every = list(rows)
    words = [row.words for row in every]
    levels = [row.reading_level for row in every if row.reading_level is not None]
    return Pooled(
        n=len(every),
        words=(min(words), median(words), max(words)) if words else None,
        reading_level=median(levels) if levels else None,
        refusals=sum(row.looks_like_refusal for row in every),
        cut_off=sum(row.cut_off for row in every),
        other_script=sum(row.other_script for row in every),
    )


# Reading level


def reading_level(text: str) -> float | None:
    """The Automated Readability Index of an English text, in years of school.

    4.71 characters a word + 0.5 words a sentence - 21.43, of letters and digits alone. None for
    fewer than ``FEWEST_READABLE`` words. A line of a list counts as a sentence.

    References
    ----------
    Senter and Smith (1967), Automated Readability Index. AMRL-TR-66-220.
    """
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text)
    if len(words) < FEWEST_READABLE:
        return None
    letters = sum(map(len, re.findall(r"[^\W_]+", text)))
    return 4.71 * letters / len(words) + 0.5 * len(words) / len(sentences(text)) - 21.43


def sentences(text: str) -> list[str]:
    """The parts of a text that end in a full stop, a question mark or the like, or with a line."""
    parts = re.split(r"(?<=[.!?…。！？])[\"”’')*_]*\s+|\n+", text)
    return [part for part in parts if any(mark.isalnum() for mark in part)]


# Refusals


UNABLE: Final = (
    r"(?:i|i am [^.!?;]{1,40} and) (?:can not|cannot|can't|could not|couldn't|will not|won't|"
    r"(?:will not|won't) be able to|must decline to|decline to|refuse to|"
    r"am (?:not able|unable|not going|not allowed|not in a position) to)"
    r"(?: (?:in good conscience|responsibly|simply|just|really|directly|safely|and will not|and won't))*"
)
# Those that are said of a request alone, and those that are so only with what follows.
OUTRIGHT: Final = (
    r"(?:assist|comply|fulfil|fulfill|provide|engage|participate|generate|go along with|"
    r"advise you on|recommend any|help you (?:write|do|make|plan|get|find))\b"
)
WITH_OBJECT: Final = (
    r"(?:help|give|offer|share|write|create|discuss|answer|do|continue|talk about|recommend|advise|"
    r"support|respond to|speak to|comment on|produce|tell)(?: (?:you|anyone|with|to|on|about|any))*"
    r"(?: (?:(?:that|this)(?! for you| any ?more)|these|those|such|your request|the request|it|"
    r"specific|instructions|information|content|medical|legal|financial|psychological|professional|"
    r"personal|advice(?! as)|guidance|questions?|how to|topics?)\b|[.,;!]|$)"
)
DOING: Final = r"(?:help|discuss|writ|provid|answer|engag|continu|assist|shar|giv|respond|talk|speak)(?:ing|e)?\b"
REFUSES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{UNABLE} {OUTRIGHT}",
        rf"\b{UNABLE} {WITH_OBJECT}",
        rf"\bi (?:am not|do not feel) comfortable (?:with |to )?{DOING}",
        rf"\bi am (?:not able|not willing|unable) to {DOING} (?:that|this|such|specific|medical|legal|methods)\b",
        rf"\b(?:inappropriate|not appropriate) for me to {DOING}",
        r"\bi (?:must|have to|need to|will have to|am going to have to) (?:\w+ly )?(?:decline|refuse)\b",
        r"\bnot (?:something|a topic|a request) (?:that )?i (?:can|am able to|am willing to|am comfortable)\b",
        r"\b(?:against|outside|beyond) (?:my|our) (?:guidelines|policy|policies|programming|scope|rules)\b",
        r"\b(?:guidelines|policy|policies|programming) (?:do|does) not (?:allow|permit)\b",
        r"\bunable to (?:assist|help|comply|fulfil|fulfill|provide)\b",
        r"\bas an ai\b[^.!?]{0,40}\bi (?:cannot|can't|can not|am not able|am unable|must not)\b",
        r"^(?:let us|let's|can we) talk about something else\b",
    )
)
# What reads like it and is none: "I can't help but think", "I can't tell you how sorry I am".
NO_REFUSALS: Final = re.compile(
    r"\bhelp (?:but|feeling|noticing|wondering|thinking|wishing)\b|"
    r"\b(?:tell|give|offer|promise) you (?:how|certainty|that it)\b|[\"“][^\"”]*[\"”]"
)
SPELT_OUT: Final = {"i'm ": "i am ", "i'll ": "i will ", "don't": "do not", "isn't": "is not"}
LONGEST_REFUSAL: Final = 150  # words; who says what it cannot do and goes on for longer, helps


def looks_like_refusal(text: str) -> bool:
    """Whether a response seems to turn the request away, by what its first sentences say.

    English alone. A reply that names a limit and then helps at length is none, nor is one that
    quotes a refusal. How often it errs is measured on a set of replies, and stands in the
    documents; nobody is to take one response for a refusal by this alone.
    """
    if len(text.split()) > LONGEST_REFUSAL:
        return False
    plain = text.replace("’", "'").casefold()
    for short, whole in SPELT_OUT.items():
        plain = plain.replace(short, whole)
    opening = " ".join(" ".join(sentences(plain)[:OPENING]).split())
    opening = NO_REFUSALS.sub(" ", opening)
    return any(pattern.search(opening) for pattern in REFUSES)


# Script


def _in_other_script(text: str, asked: str) -> bool:
    """Whether most letters of a text are of another script than those of what was asked."""
    one, other = _script(text), _script(asked)
    return bool(one and other and one != other)


def _script(text: str) -> str:
    """The script most of the letters are of, such as "LATIN"; empty where letters are too few."""
    letters = [mark for mark in text[:500] if mark.isalpha()]
    if len(letters) < FEWEST_LETTERS:
        return ""
    return Counter(map(_script_of, letters)).most_common(1)[0][0]


@cache
def _script_of(letter: str) -> str:
    return unicodedata.name(letter, "NO NAME").split()[0]
