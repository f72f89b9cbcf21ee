"""All that a rater may see, as a type: pages get a ``Card`` and nothing of the tables behind it."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from rating.layout import Block, Group, blocks, groups
from rating.models import Assignment


@dataclass(frozen=True)
class Turn:
    role: str
    text: str


@dataclass(frozen=True)
class AnchorText:
    level: int
    word: str
    description: str
    note: str


@dataclass(frozen=True)
class Card:
    """All that a rater sees of an assignment."""

    code: UUID
    turns: tuple[Turn, ...]
    text: str
    anchors: tuple[AnchorText, ...]
    language: str
    until: datetime

    @classmethod
    def of(cls, assignment: Assignment) -> "Card":
        response = assignment.response
        item = response.item
        return cls(
            code=assignment.code,
            turns=(
                *(Turn(turn["role"], turn["content"]) for turn in item.turns),
                Turn("user", item.prompt),
            ),
            text=response.text,
            anchors=tuple(
                AnchorText(
                    anchor.level,
                    # "3.0 Functional" is a level and its word; the card prints the level itself.
                    anchor.label.lstrip("0123456789. "),
                    anchor.description,
                    anchor.note,
                )
                for anchor in item.anchors.all()
            ),
            language=item.language,
            until=assignment.expires_at,
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return blocks(self.text)

    @cached_property
    def sentences(self) -> tuple[Group, ...]:
        return groups(self.text)

    @property
    def words(self) -> int:
        return len(self.text.split())

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(anchor.level for anchor in self.anchors)
