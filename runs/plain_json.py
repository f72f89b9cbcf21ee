"""JSON from anywhere, read into values that every table can hold, or refused in a sentence.

The parser takes more than JSON promises: constants that are no numbers, a number too large for
one, one key twice, and lists inside lists as far as its stack goes. None of these would survive
being stored and read again, so none of them comes in.
"""

import json
import math
from collections import Counter
from typing import Any, Final

DEEPEST: Final = 64  # objects and lists inside each other
LONGEST_NUMBER: Final = 1_000  # digits of a whole number
TOO_DEEP: Final = (
    f"nested too deeply: at most {DEEPEST} objects and lists may stand inside each other"
)


def read_plain(raw: bytes | str) -> Any:
    """The value in bytes of UTF-8, or in a text. A byte order mark is passed over.

    Raises
    ------
    ValueError
        With what is wrong, in words that could follow the name of a file.
    """
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
        value = json.loads(text, **STRICT)
    except UnicodeDecodeError as why:
        raise ValueError(f"not UTF-8 text: {why}") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as why:
        raise ValueError(f"not valid JSON: {why}") from None
    if is_too_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``json.loads``, which would keep the last of two and say nothing of the first."""
    twice = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    if twice:
        raise ValueError(f"the key {twice[0]!r} stands twice in one object")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return number


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number has {len(digits):,} digits; it may have {LONGEST_NUMBER:,}")
    return int(digits)


def is_too_deep(value: Any, deepest: int = DEEPEST) -> bool:
    """Whether more than so many lists and objects stand inside each other.

    It goes by levels, and calls nothing.
    """
    level = [value]
    for _ in range(deepest):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


#: What ``json.loads`` is told, so that it refuses what is no JSON, or no value that can be kept.
STRICT: Final[dict[str, Any]] = {
    "object_pairs_hook": no_key_twice,
    "parse_constant": _no_constant,
    "parse_float": _finite,
    "parse_int": _whole,
}
