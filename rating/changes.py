"""What changed between two wordings of one item, word by word."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from runs.word_diff import Piece, word_diff

# So alike, all in all, must two wordings be for the change to be a small one.
ALIKE = 0.9


@dataclass(frozen=True)
class Change:
    where: str
    parts: tuple[Piece, ...]


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """Each text, by its name, that is not the same in both; a missing one is empty."""
    names = [*after, *(name for name in before if name not in after)]
    return [
        Change(name, word_diff(before.get(name, ""), after.get(name, "")))
        for name in names
        if before.get(name, "") != after.get(name, "")
    ]


def is_small(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Whether two wordings are alike enough to look at the difference alone."""
    one, other = (" ".join(texts.values()).split() for texts in (before, after))
    return before != after and SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
