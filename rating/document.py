"""A document as plain parts, whatever it is drawn as: text in them is text, never markup."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Facts:
    """Names, each with what it is."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Rows of cells below a head; the first cell of each names it. ``widths`` are shares."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    widths: Sequence[float]


@dataclass(frozen=True)
class Picture:
    """A picture as SVG, with what it shows in words for whoever does not see it."""

    title: str
    description: str
    svg: str
    caption: str = ""


Part = Heading | Paragraph | Facts | Table | Picture


@dataclass(frozen=True)
class Document:
    """What is drawn: the parts in order, below the title and the care statement."""

    title: str
    care: str
    parts: Sequence[Part]
    made_at: datetime
    language: str = "en"

    def as_data(self) -> dict[str, Any]:
        """The document as JSON values; each part says its kind."""
        return asdict(self) | {
            "parts": [{"kind": type(part).__name__.lower(), **asdict(part)} for part in self.parts],
            "made_at": f"{self.made_at.day} {self.made_at:%B %Y, %H:%M %Z}".strip(),
        }
