"""One way to write a value down, so that its hash says whether it is the same value."""

import hashlib
import json
import re
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Final

# What a JSON string may hold and no text does: a NUL, and half a character.
NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
# What ends a line, or tells a terminal to do something.
NOT_ON_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def digest(value: Any) -> str:
    """SHA-256 of a value written as JSON with sorted keys and no spaces.

    A row of a dataclass is written as its fields are, by name.
    """
    return hashlib.sha256(WRITER.encode(value).encode()).hexdigest()


def _by_name(row: Any) -> dict[str, Any]:
    """One level of ``dataclasses.asdict``, which copies all that is below, too."""
    if not is_dataclass(row) or isinstance(row, type):
        raise TypeError(f"{type(row).__name__} cannot be written as JSON")
    return {name: getattr(row, name) for name in _names(type(row))}


@lru_cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


WRITER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_by_name
)


def draw(seed: str, key: str) -> bytes:
    """A value that orders keys by chance, the same on every Python for one seed."""
    return hashlib.sha256(f"{seed}|{key}".encode()).digest()


def on_one_line(text: str) -> str:
    """A text as a log or a terminal may show it: what would act there stands as its number."""
    return NOT_ON_A_LINE.sub(lambda found: repr(found[0])[1:-1], text)
