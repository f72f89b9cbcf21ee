"""One way to write a value down, so that its hash says whether it is the same value."""

import hashlib
import json
import re
from typing import Any

# What a JSON string may hold and no text does: a NUL, and half a character.
NOT_TEXT = re.compile("[\x00\ud800-\udfff]")


def digest(value: Any) -> str:
    """SHA-256 of a value written as JSON with sorted keys and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def draw(seed: str, key: str) -> bytes:
    """A value that orders keys by chance, the same on every Python for one seed."""
    return hashlib.sha256(f"{seed}|{key}".encode()).digest()
