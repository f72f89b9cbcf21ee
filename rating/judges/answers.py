"""What a judge answered, read strictly: all of it is as asked for, or nothing of it is used.

An answer is one JSON object and nothing else. Nothing is repaired, guessed or taken in part; each
way to fail has a name and a sentence. What the quote is worth is decided elsewhere.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from rating.judges.prompt import LONGEST_REASON, Sent
from rating.quotes import LONGEST_TYPED
from runs.canonical import NOT_TEXT

KEYS: Final = ("response_id", "level", "anchor_label", "quote", "reason")
MOST_CHARACTERS: Final = 100_000
LONGEST_SHOWN: Final = 80

#: Each fault by its name, and what it says of an answer. The documentation lists the same.
FAULTS: Final = {
    "refused": "It holds no object: the judge refused, or wrote something else.",
    "filtered": "The provider's filter kept the answer back.",
    "no-answer": "No answer came: {}.",
    "unreadable": "What the service sent could not be read: {}.",
    "truncated": "It was cut off at the most tokens that the judge may write.",
    "too-long": f"It has more than {MOST_CHARACTERS:,} characters.",
    "fenced": "The object stands in a code fence.",
    "list": "It is a list. One object is asked for, about one reply.",
    "text-before": "There is text before the object.",
    "text-after": "There is something after the object.",
    "raw-control": "A text in it holds a raw line break or control character.",
    "not-json": "It is no JSON.",
    "not-text": "It holds a character that is no text.",
    "duplicate-key": "A key stands in it twice: {}.",
    "unknown-key": "It has a key that was not asked for: {}.",
    "missing-key": "A key is missing: {}.",
    "wrong-id": "It is about another reply: {}.",
    "level-not-whole": "Its level is no whole number: {}.",
    "level-outside": "The item has no such level: {}.",
    "wrong-label": "Its label is not the label of that level: {}.",
    "no-quote": "Its quote is no text, or empty.",
    "quote-too-long": f"Its quote has more than {LONGEST_TYPED:,} characters.",
    "no-reason": "Its reason is no text, or empty.",
    "reason-too-long": f"Its reason has more than one line, or more than {LONGEST_REASON} characters.",
}
REFUSALS: Final = frozenset({"refused", "filtered"})
SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Answer:
    """An answer that is as asked for. ``given`` is the object itself."""

    level: int
    label: str
    quote: str
    reason: str
    given: dict[str, Any]


class NotTaken(ValueError):
    """Why an answer is not used, by name and in a sentence."""

    def __init__(self, kind: str, what: object = "") -> None:
        self.kind = kind
        self.fault = FAULTS[kind].format(_short(what))
        super().__init__(self.fault)


def read_answer(text: str, finish_reason: str, asked: Sent) -> Answer:
    """The answer in a judge's reply.

    Parameters
    ----------
    text : str
        All that the judge wrote.
    finish_reason : str
        Why it ended, in the words of chat completions.
    asked : Sent
        What it was sent.

    Raises
    ------
    NotTaken
        If anything of it is not as asked for.
    """
    given = _object(text, finish_reason)
    for key in given:
        if key not in KEYS:
            raise NotTaken("unknown-key", key)
    for key in KEYS:
        if key not in given:
            raise NotTaken("missing-key", key)
    if given["response_id"] != asked.response_id:
        raise NotTaken("wrong-id", given["response_id"])
    level, label = given["level"], given["anchor_label"]
    if type(level) is not int:  # True is no level
        raise NotTaken("level-not-whole", json.dumps(level))
    labels = dict(asked.labels)
    if level not in labels:
        raise NotTaken("level-outside", level)
    if not isinstance(label, str) or folded(label) != folded(labels[level]):
        raise NotTaken("wrong-label", label)
    quote, reason = given["quote"], given["reason"]
    if not isinstance(quote, str) or not quote.strip():
        raise NotTaken("no-quote")
    if len(quote) > LONGEST_TYPED:
        raise NotTaken("quote-too-long")
    if not isinstance(reason, str) or not reason.strip():
        raise NotTaken("no-reason")
    if len(reason) > LONGEST_REASON or len(reason.splitlines()) > 1:
        raise NotTaken("reason-too-long")
    return Answer(level, label, quote, reason.strip(), given)


def folded(label: str) -> str:
    """A label without regard to case and to runs of white space."""
    return SPACE.sub(" ", label).strip().casefold()


def _object(text: str, finish_reason: str) -> dict[str, Any]:
    """The one object that a reply is."""
    if finish_reason == "length":
        raise NotTaken("truncated")
    if len(text) > MOST_CHARACTERS:
        raise NotTaken("too-long")
    body = text.strip(" \t\r\n")
    if body.startswith("```"):
        raise NotTaken("fenced")
    if body.startswith("["):
        raise NotTaken("list")
    if not body.startswith("{"):
        raise NotTaken("text-before" if "{" in body else "refused")
    try:
        found, end = json.JSONDecoder(
            object_pairs_hook=_once_each, parse_constant=_no_constant
        ).raw_decode(body)
    except NotTaken:
        raise
    except json.JSONDecodeError as why:
        raise NotTaken("raw-control" if "control character" in why.msg else "not-json") from None
    except (ValueError, RecursionError):  # a number of too many digits, an object too deep
        raise NotTaken("not-json") from None
    if body[end:].strip(" \t\r\n"):
        raise NotTaken("text-after")
    if any(NOT_TEXT.search(part) for part in _texts_in(found)):
        raise NotTaken("not-text")
    given: dict[str, Any] = found
    return given


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for key, value in pairs:
        if key in given:
            raise NotTaken("duplicate-key", key)
        given[key] = value
    return given


def _no_constant(name: str) -> NoReturn:
    raise NotTaken("not-json")


def _texts_in(value: Any) -> Iterable[str]:
    """Every text in a value that was read, keys among them."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _short(what: object) -> str:
    """What a fault is about, in few characters and on one line."""
    text = SPACE.sub(" ", NOT_TEXT.sub("\ufffd", str(what)))
    text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…"
