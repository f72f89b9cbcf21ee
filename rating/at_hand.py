"""What never changes once it is locked or frozen, kept by each process instead of read again."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ENOUGH = 1024
_kept: list[Callable[[], None]] = []


def at_hand(read: Callable[P, R]) -> Callable[P, R]:
    """Read each thing once, and keep the last thousand. Only for rows that the database freezes."""
    kept: Any = lru_cache(maxsize=ENOUGH)(read)
    _kept.append(kept.cache_clear)
    return kept  # type: ignore[no-any-return]


def forget() -> None:
    """Keep nothing any longer: for tests, whose next database has other rows under these numbers."""
    for clear in _kept:
        clear()
