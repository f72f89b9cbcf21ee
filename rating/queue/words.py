"""What the queue is given, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rating.models import Assignment, Rating
from rating.quotes import Span


@dataclass(frozen=True)
class NoWork:
    """Why there is nothing to lease, in the words of the page, and when to look again.

    ``limit`` is true of a day's own limit: what is left does not matter then.
    """

    reason: str
    try_at: datetime | None = None
    limit: bool = False


@dataclass(frozen=True)
class Announced:
    """A response about something hard: nothing of it is fetched until the rater opens it."""

    topic: str
    opened: int
    most: int


@dataclass(frozen=True)
class Paused:
    reason: str
    earlier_ratings: str


@dataclass(frozen=True)
class Elsewhere:
    """The page that comes after a card apart from the queue: the name of its URL, and what of."""

    page: str
    of: str = ""


@dataclass(frozen=True)
class Given:
    """A rating as somebody gives it, checked against the text and the anchors."""

    level: int
    quotes: tuple[tuple[Span, bool], ...]
    note: str = ""
    confidence: str = ""
    critical_harm: bool = False
    harm_line: str = ""
    active_seconds: int | None = None
    tags: tuple[str, ...] = ()
    flags: Mapping[str, str] | None = None


Found = Assignment | NoWork | Announced | Paused | Elsewhere


class AlreadyRated(Exception):
    def __init__(self, rating: Rating) -> None:
        self.rating = rating
        super().__init__(f"rated at {rating.rated_at:%H:%M}")


class NotHeld(Exception):
    """The rater gave this response back, so that nothing can be stored for it."""


class Overtaken(Exception):
    """Another tab has saved a newer draft of this card."""


class TooLate(ValueError):
    """What can no longer be undone or put back, with the sentence to show."""
