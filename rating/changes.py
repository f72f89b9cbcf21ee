"""What changed between two wordings of one item, word by word."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

WORDS = re.compile(r"\s+|[^\s]+")
# So alike, all in all, must two wordings be for the change to be a small one.
ALIKE = 0.9


@dataclass(frozen=True)
class Part:
    """Words that stayed (``same``), went (``gone``) or came (``new``)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Change:
    where: str
    parts: tuple[Part, ...]


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """Each text, by its name, that is not the same in both; a missing one is empty."""
    names = [*after, *(name for name in before if name not in after)]
    return [
        Change(name, tuple(_parts(before.get(name, ""), after.get(name, ""))))
        for name in names
        if before.get(name, "") != after.get(name, "")
    ]


def is_small(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether two wordings are alike enough to look at the difference alone."""
    one, other = (" ".join(texts.values()).split() for texts in (before, after))
    return before != after and SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE


def _parts(before: str, after: str) -> list[Part]:
    one, other = WORDS.findall(before), WORDS.findall(after)
    found = []
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Part("same", "".join(one[i:j])))
            continue
        if i < j:
            found.append(Part("gone", "".join(one[i:j])))
        if k < m:
            found.append(Part("new", "".join(other[k:m])))
    return found
