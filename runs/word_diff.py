"""Two texts compared word by word, in pieces that read in one line."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

#: A word or what stands between two of them.
PIECE: Final = re.compile(r"\s+|\w+|[^\w\s]")
#: Words of one text times words of the other. Beyond it, all between the first and the last
#: change is shown as replaced: comparing takes that many steps or more.
MOST_STEPS: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that both have, or one of them alone."""

    kind: Literal["same", "removed", "added"]
    text: str


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """What becomes of ``before``, in its order; in each place what goes stands before what comes.

    The pieces that are not "added" make up ``before``, those not "removed" make up ``after``.
    """
    old, new = PIECE.findall(before), PIECE.findall(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    pieces: list[Piece] = []
    _add(pieces, "same", old[:start])
    if len(middle_old) * len(middle_new) > MOST_STEPS:
        _add(pieces, "removed", middle_old)
        _add(pieces, "added", middle_new)
    else:
        matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        for _, a, b, c, d in _joined(matcher.get_opcodes(), middle_old):
            if middle_old[a:b] == middle_new[c:d]:
                _add(pieces, "same", middle_old[a:b])
            else:
                _add(pieces, "removed", middle_old[a:b])
                _add(pieces, "added", middle_new[c:d])
    _add(pieces, "same", old[len(old) - end :])
    return tuple(pieces)


def _joined(
    steps: list[tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]],
    old: list[str],
) -> list[tuple[str, int, int, int, int]]:
    """The steps, changes that only white space parts taken as one: they read better so."""
    joined: list[tuple[str, int, int, int, int]] = []
    for place, (kind, a, b, c, d) in enumerate(steps):
        inside = 0 < place < len(steps) - 1
        changes = kind != "equal" or (inside and not "".join(old[a:b]).strip())
        if changes and joined and joined[-1][0] == "change":
            _, first, _, third, _ = joined.pop()
            joined.append(("change", first, b, third, d))
        else:
            joined.append(("change" if changes else "equal", a, b, c, d))
    return joined


def _add(pieces: list[Piece], kind: Literal["same", "removed", "added"], words: list[str]) -> None:
    if words:
        pieces.append(Piece(kind, "".join(words)))
