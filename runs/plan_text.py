"""A plan, or the tables of any file like it, written as TOML: the way back from a draft to its file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")
ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
}


def as_toml(tables: Mapping[str, Any]) -> str:
    """The tables as a TOML text that reads back as the same.

    A list of tables is written as ``[[tables]]``, a table within one as a table of its own at the
    end, and what is empty as ``[]`` or ``{}``. Tables stand after the values of the table they
    are in, as TOML has it; otherwise the order is kept.

    Raises
    ------
    ValueError
        If a value is none that TOML knows: null, or a key that is no text.
    """
    return "\n".join(_table(tables, ())).strip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    later = {key: value for key, value in table.items() if _is_apart(value)}
    for key, value in table.items():
        if key not in later:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in later.items():
        below = (*path, key)
        name = ".".join(map(_key, below))
        if isinstance(value, Mapping):
            yield f"\n[{name}]"
            yield from _table(value, below)
        else:
            for row in value:
                yield f"\n[[{name}]]"
                yield from _table(row, below)


def _is_apart(value: Any) -> bool:
    """Whether a value is a table, or a list of nothing but tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(row, Mapping) for row in value)
    return isinstance(value, Mapping) and bool(value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{key!r} is no key of TOML: a key is a text.")
    return key if BARE.fullmatch(key) else _line(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        # Python writes a float as TOML does: 1e+16, inf and nan among them.
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{{inside}}}"
    raise ValueError(f"{value!r} is no value of TOML.")


def _text(text: str) -> str:
    """A text in quotes; one of several lines with its lines kept, where that reads back the same."""
    if "\n" in text and not text.startswith(("\n", "\r")):
        return '"""' + "".join("\n" if one == "\n" else _letter(one) for one in text) + '"""'
    return _line(text)


def _line(text: str) -> str:
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter in ESCAPES:
        return ESCAPES[letter]
    return f"\\u{ord(letter):04X}" if letter < " " or letter == "\x7f" else letter
