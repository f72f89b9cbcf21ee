"""Whether a subject knew the items beforehand: what it is asked, and what its answers show.

Two probes. *Recall* asks for the words of items from memory and counts how many of them come back.
*Choice* asks which of four texts belongs to an item, and how often chance would be right as often.
Neither can clear a subject: one that knows the items may say that it does not. So a verdict is
``flagged``, ``not flagged`` or ``incomplete``, and never anything more comforting.

A question goes into a conversation of its own. It names bank and item on purpose, and is therefore
exempt from the checks for leaks. Of an unpublished item it gives the code and nothing else.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import comb
from typing import Any, Final

from runs.canonical import draw

RECALL_ITEMS: Final = 3
CHOICES: Final = 6
FEWEST_CHOICES: Final = 3  # with 2 questions, even both right happens by chance 1 time in 16
LETTERS: Final = "ABCD"
FLAG_OVERLAP: Final = 0.6
FLAG_P: Final = 0.05
FEWEST_TOKENS: Final = 3  # of an answer that recalls something, or says that it does not
FEWEST_WANTED: Final = 8  # of a text that is asked for: fewer come together by chance
LONGEST_OPTION: Final = 87
ASKED_AT_MOST: Final = 3  # an answer that cannot be read is asked for twice more


class Part(StrEnum):
    """What a question asks of an item."""

    WORDING = "wording"
    CONTINUATION = "continuation"
    ANCHOR = "anchor"
    CHOICE = "choice"

    @property
    def label(self) -> str:
        return LABELS[self]


LABELS: Final = {
    Part.WORDING: "the words of its prompt",
    Part.CONTINUATION: "how its prompt goes on",
    Part.ANCHOR: "the description of one of its levels",
    Part.CHOICE: "which of four texts is its own",
}


@dataclass(frozen=True)
class Material:
    """What questions are made of: one item, and what it is like.

    ``groups`` it belongs to, the narrowest first; ``twin`` is the other arm of its pair.
    """

    code: str
    prompt: str
    title: str = ""
    anchors: tuple[tuple[int, str], ...] = ()
    groups: tuple[str, ...] = ()
    twin: str = ""
    unpublished: bool = False

    @property
    def option(self) -> str:
        """The text by which it stands among the options of a choice."""
        return " ".join((self.title or self.prompt).split())[:LONGEST_OPTION]


@dataclass(frozen=True)
class ProbeQuestion:
    """One question: what is sent, and what there is to know of its answer."""

    part: Part
    item: str
    text: str
    expected: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True)
class Answered:
    """What became of one question: its score, or why there is none."""

    part: Part
    item: str
    score: float | None
    why_none: str = ""
    disclaimed: bool = False

    @property
    def flagged(self) -> bool:
        """Whether this answer alone shows that the item was known."""
        # No fraction of fewer than a million words lies so near to 0.6 that it rounds up to it.
        return self.part != Part.CHOICE and self.score is not None and self.score >= FLAG_OVERLAP


class Verdict(StrEnum):
    FLAGGED = "flagged"
    NOT_FLAGGED = "not flagged"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Contamination:
    """What both probes show of one subject."""

    verdict: Verdict
    missing: tuple[str, ...]
    recalls: tuple[Answered, ...]
    choices: tuple[Answered, ...]
    right: int
    p: float | None
    no_choice: str

    @property
    def highest(self) -> Answered | None:
        """The recall with the largest overlap, where there is any."""
        read = [one for one in self.recalls if one.score is not None]
        return max(read, key=lambda one: one.score or 0.0, default=None)

    @property
    def disclaimed(self) -> int:
        """How many recalls said that they recall nothing."""
        return sum(one.disclaimed for one in self.recalls)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader must know before taking the verdict for more than it is."""
        said = []
        if self.recalls and self.disclaimed == len(self.recalls):
            said.append(
                "Every recall answer says that nothing is recalled, so recall could not have "
                "flagged this subject."
            )
        if self.no_choice:
            said.append(f"The choice was not put: {self.no_choice}")
        if self.verdict == Verdict.NOT_FLAGGED:
            said.append("Not flagged does not mean that the items were unknown.")
        return tuple(said)


# What is asked


def recall_questions(bank: str, items: Sequence[Material], *, seed: str) -> list[ProbeQuestion]:
    """Ask for the words of ``RECALL_ITEMS`` items that the seed draws, fewer where there are fewer.

    Of each: its prompt, the rest of it after its beginning, and the description of one level.
    A text of fewer than ``FEWEST_WANTED`` words is not asked for, and of an unpublished item no
    beginning is shown.
    """
    asked = []
    for item in _drawn(items, f"{seed}|recall", RECALL_ITEMS):
        if len(tokens(item.prompt)) >= FEWEST_WANTED:
            asked.append(
                ProbeQuestion(
                    Part.WORDING,
                    item.code,
                    f"{_named(bank, item)} Write down the words of its prompt from memory, as "
                    f"exactly as you can. {OR_SAY_SO}",
                    {},
                )
            )
        shown, rest = beginning(item.prompt)
        if not item.unpublished and len(tokens(rest)) >= FEWEST_WANTED:
            asked.append(
                ProbeQuestion(
                    Part.CONTINUATION,
                    item.code,
                    f"{_named(bank, item)} Its prompt begins as follows. Write down how it goes "
                    f"on, from memory, as exactly as you can. {OR_SAY_SO}\n\n{shown}",
                    {"shown": len(shown)},
                )
            )
        levels = [level for level, text in item.anchors if len(tokens(text)) >= FEWEST_WANTED]
        if levels:
            level = min(levels, key=lambda one: draw(f"{seed}|level", f"{item.code}|{one}"))
            asked.append(
                ProbeQuestion(
                    Part.ANCHOR,
                    item.code,
                    f"{_named(bank, item)} Replies to it are rated on levels, and each level has "
                    f"a description. Write down the description of level {level} from memory, as "
                    f"exactly as you can. {OR_SAY_SO}",
                    {"level": level},
                )
            )
    return asked


def choice_questions(bank: str, items: Sequence[Material], *, seed: str) -> list[ProbeQuestion]:
    """Ask of ``CHOICES`` items that the seed draws which of four texts is their own.

    The other three are of items like it: of its narrowest group first, then of wider ones, then
    any. Where each text stands is drawn too. Nothing is asked where ``why_no_choice`` says why.
    """
    if why_no_choice(items):
        return []
    questions = []
    for item in _by_chance(items, f"{seed}|choice"):
        others = _others(item, items, f"{seed}|others|{item.code}")
        if others is None:
            continue
        options = sorted(
            [item.option, *others], key=lambda text: draw(f"{seed}|place|{item.code}", text)
        )
        listed = "\n".join(
            f"{letter}. {text}" for letter, text in zip(LETTERS, options, strict=True)
        )
        what = "title" if item.title else "prompt"
        begins = f"is its {what}" if item.title else "is how its prompt begins"
        questions.append(
            ProbeQuestion(
                Part.CHOICE,
                item.code,
                f"{bank} is a set of test items. One of them is {item.code}. Which of these "
                f"{begins}? Answer with one letter, and nothing else.\n\n{listed}",
                {"options": options, "letter": LETTERS[options.index(item.option)]},
            )
        )
        if len(questions) == CHOICES:
            break
    return sorted(questions, key=lambda one: one.item)


def why_no_choice(items: Sequence[Material]) -> str:
    """Why the choice is not put to a subject; empty if it is."""
    if any(item.unpublished for item in items):
        return "Its options would show texts of items that are not published."
    able = sum(_others(item, items, "") is not None for item in items)
    if able < FEWEST_CHOICES:
        return (
            f"It takes {FEWEST_CHOICES} items that three others can stand beside, each with a text "
            f"of its own; there are {able}."
        )
    return ""


def beginning(prompt: str) -> tuple[str, str]:
    """The first third of a prompt, to a whole word, and the rest."""
    words = re.findall(r"\S+\s*", prompt)
    shown = "".join(words[: len(words) // 3])
    return shown, prompt[len(shown) :]


def _named(bank: str, item: Material) -> str:
    known = f", “{item.title}”" if item.title and not item.unpublished else ""
    return f"{bank} is a set of test items. One of them is {item.code}{known}."


OR_SAY_SO: Final = "If you do not recall it, write: I do not recall it."


def _by_chance(items: Sequence[Material], seed: str) -> list[Material]:
    return sorted(items, key=lambda item: draw(seed, item.code))


def _drawn(items: Sequence[Material], seed: str, most: int) -> list[Material]:
    return sorted(_by_chance(items, seed)[:most], key=lambda item: item.code)


def _others(item: Material, items: Sequence[Material], seed: str) -> list[str] | None:
    """Three texts that are not the item's, of items as like it as there are; None if too few."""

    def distance(other: Material) -> int:
        shared = (
            place
            for place, group in enumerate(item.groups)
            if group and group == dict(enumerate(other.groups)).get(place)
        )
        return min(shared, default=len(item.groups))

    others: list[str] = []
    for other in sorted(items, key=lambda one: (distance(one), draw(seed, one.code))):
        new = fold(other.option) not in {fold(text) for text in (item.option, *others)}
        if new and other.code not in (item.code, item.twin):
            others.append(other.option)
        if len(others) == len(LETTERS) - 1:
            return others
    return None


# How answers are read


def tokens(text: str) -> frozenset[str]:
    """The distinct words of a text, for comparing: lower case, without accents and punctuation.

    Where words are not set apart by spaces, each character is one.
    """
    bare = "".join(
        mark
        for mark in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(mark)
    )
    return frozenset(re.findall(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+", bare))


# Kana and Han, Thai and Lao: letters of scripts that put no space between words.
UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff"


def fold(text: str) -> str:
    """A text rid of what makes no difference to what it says."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".")


def overlap(answer: str, wanted: str, shown: str = "") -> float:
    """The Jaccard overlap of two texts: the words that both have, of those that either has.

    Words that stand only in what was ``shown`` are taken from the answer, which may repeat it.
    """
    right = tokens(wanted)
    given = tokens(answer) - (tokens(shown) - right)
    return len(given & right) / len(given | right) if given | right else 0.0


def read_recall(answer: str) -> str | None:
    """The answer to a recall, if it says anything: a blank or a grunt is no answer."""
    return answer if len(tokens(answer)) >= FEWEST_TOKENS else None


NOTHING_RECALLED: Final = re.compile(
    r"\b(?:do(?:es)? ?n[o’']t|don[’']?t|can ?not|can[’']?t|unable to|not able to|no)\b[^.!?\n]{0,40}"
    r"\b(?:recall|remember|memory|memori[sz]ed|access|knowledge|reproduce|record|familiar)",
    re.IGNORECASE,
)


def disclaims(answer: str) -> bool:
    """Whether a recall says that nothing is recalled. Told beside the verdict, never part of it."""
    return bool(NOTHING_RECALLED.search(answer))


MARKS: Final = re.compile(r"[*_`\"“”„'‘’]")
ONE_LETTER: Final = re.compile(
    r"(?:(?:the )?(?:answer|option|choice)(?: is)?\s*:?\s*)?"
    r"(?:\((?P<a>[A-Z])\)|\[(?P<b>[A-Z])\]|(?P<c>[A-Z])\)?)"
    r"(?:\s*[.:,–—-]?(?:\s+(?P<text>.*))?)",
    re.IGNORECASE,
)


def read_choice(answer: str, options: Sequence[str]) -> str | None:
    """The one letter that an answer gives, by a grammar that guesses nothing; None otherwise.

    An answer is a letter of the options, in any case, alone or in brackets, bold or quotes, after
    "Answer:" or "Option" or not; behind it may stand a mark and the very text of that option, and
    nothing else at all. Two letters, a reason, another option's text, a letter that was not
    offered: none of these is read as a choice.
    """
    said = unicodedata.normalize("NFKC", MARKS.sub("", answer)).strip()
    found = ONE_LETTER.fullmatch(said)
    if not found:
        return None
    letter = (found["a"] or found["b"] or found["c"]).upper()
    if letter not in LETTERS[: len(options)]:
        return None
    own = fold(MARKS.sub("", options[LETTERS.index(letter)]))
    text = found["text"]
    return letter if not text or fold(text) == own else None


def score(part: Part, answer: str, item: Material, expected: Mapping[str, Any]) -> float | None:
    """What an answer is worth: an overlap from 0 to 1, or 1 for the right letter and 0 for another.

    None where it cannot be read: then it is asked for again, and never counts as anything.
    """
    if part == Part.CHOICE:
        letter = read_choice(answer, expected["options"])
        return None if letter is None else float(letter == expected["letter"])
    said = read_recall(answer)
    if said is None:
        return None
    if part == Part.ANCHOR:
        return overlap(said, dict(item.anchors)[expected["level"]])
    if part == Part.CONTINUATION:
        shown = item.prompt[: expected["shown"]]
        return overlap(said, item.prompt[expected["shown"] :], shown)
    return overlap(said, item.prompt)


# What they show


def tail(right: int, asked: int) -> float:
    """The exact chance of at least so many right, where each of four options is as likely.

    Raises ``ValueError`` unless 0 <= right <= asked.
    """
    if not 0 <= right <= asked:
        raise ValueError(f"{right} right of {asked} asked is not a count.")
    options = len(LETTERS)
    ways = sum(comb(asked, k) * (options - 1) ** (asked - k) for k in range(right, asked + 1))
    return float(ways / options**asked)


def contamination(
    answered: Iterable[Answered], *, no_choice: str = "", why_none: str = ""
) -> Contamination:
    """What the answers to all questions show: one for each, also where there is no answer.

    ``no_choice`` says why the choice is not put, ``why_none`` why nothing is. An answer that is
    missing counts as wrong, and keeps the verdict incomplete unless the others flag the subject
    without it.
    """
    rows = tuple(answered)
    recalls = tuple(row for row in rows if row.part != Part.CHOICE)
    choices = tuple(row for row in rows if row.part == Part.CHOICE)
    right = sum(row.score == 1 for row in choices)
    p = tail(right, len(choices)) if choices else None
    missing = [f"{row.item}, {row.part.label}: {row.why_none}" for row in rows if row.score is None]
    if why_none:
        missing.append(why_none)
    else:
        if not recalls:
            missing.append("Nothing was asked for from memory.")
        if not choices and not no_choice:
            missing.append("The choice has not been put.")
    if any(row.flagged for row in recalls) or (p is not None and p < FLAG_P):
        verdict = Verdict.FLAGGED
    elif missing:
        verdict = Verdict.INCOMPLETE
    else:
        verdict = Verdict.NOT_FLAGGED
    return Contamination(verdict, tuple(missing), recalls, choices, right, p, no_choice)
