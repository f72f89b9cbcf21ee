"""Lists in pages. A cursor says after what the next page begins, so nothing is skipped or repeated.

Whatever stood in the list when somebody began to walk it comes once, whatever is added meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, TypeVar

from django.core import signing
from ninja.params.functions import Query
from pydantic import Field

from rating.api.problems import Problem

SALT: Final = "rating.api.cursor"
MOST: Final = 100
T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=MOST, description=f"How many at once, up to {MOST}.")]
After = Annotated[
    str,
    Query(
        max_length=500,
        description="The next of the page before, just as it came. Empty for the first page.",
    ),
]
Next = Annotated[
    str | None, Field(description="What to send as after, for the next page. Null on the last.")
]


def begin_after(of: str, cursor: str) -> list[Any] | None:
    """The key that a cursor of this list ends at; none for the first page. Raises ``Problem``."""
    if not cursor:
        return None
    try:
        whose, *key = signing.loads(cursor, salt=SALT)
    except (signing.BadSignature, ValueError):
        raise Problem("cursor", "This is no cursor of ours.") from None
    if whose != of:
        raise Problem("cursor", "This cursor was made for another list.")
    return list(key)


def page_of(
    of: str, rows: Iterable[T], limit: int, key: Callable[[T], Sequence[Any]]
) -> tuple[list[T], str | None]:
    """The first ``limit`` of the rows that were read, one more than that, and the next cursor."""
    found = list(rows)
    shown = found[:limit]
    if len(found) <= limit:
        return shown, None
    return shown, signing.dumps([of, *key(shown[-1])], salt=SALT)
