"""All that a rater may see, as a type: pages get a ``Card`` and nothing of the tables behind it."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from django.core.cache import cache

from rating.layout import Block, Group, blocks, groups
from rating.models import Assignment
from rating.rendered import Step, rendered
from rating.shown import AnchorText, Shown, Turn
from runs.masks import masked
from runs.models import Bank, Instrument, Item, Response

TAGS_KEPT = 3600  # seconds; a bank never changes


def turns_of(item: Item) -> tuple[Turn, ...]:
    """What the person wrote, earlier exchanges first."""
    earlier = (Turn(turn["role"], turn["content"]) for turn in item.turns)
    return (*earlier, Turn("user", item.prompt))


def anchors_of(item: Item) -> tuple[AnchorText, ...]:
    """The item's levels, the lowest first."""
    return tuple(
        AnchorText(
            anchor.level,
            # "3.0 Functional" is a level and its word; the card prints the level itself.
            anchor.label.lstrip("0123456789. "),
            anchor.description,
            anchor.note,
        )
        for anchor in item.anchors.all()
    )


def shown(response: Response) -> Shown:
    """All that is shown of a response to be judged, to people and to models alike."""
    item = response.item
    return Shown(turns_of(item), masked(response.text, response.mask), anchors_of(item))


@dataclass(frozen=True)
class Card:
    """All that a rater sees of an assignment."""

    code: UUID
    turns: tuple[Turn, ...]
    text: str
    anchors: tuple[AnchorText, ...]
    language: str
    until: datetime
    tags: tuple[str, ...] = ()
    covered: bool = False

    @classmethod
    def of(cls, assignment: Assignment) -> "Card":
        response = assignment.response
        item, seen = response.item, shown(response)
        return cls(
            code=assignment.code,
            turns=seen.turns,
            text=seen.text,
            covered=bool(response.mask),
            anchors=seen.anchors,
            language=item.language,
            until=assignment.expires_at,
            tags=_tags_of(item.bank_id),
        )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return blocks(self.text)

    @cached_property
    def sentences(self) -> tuple[Group, ...]:
        return groups(self.text)

    @cached_property
    def rendered(self) -> tuple[Step, ...]:
        return rendered(self.text)

    @property
    def words(self) -> int:
        return len(self.text.split())

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(anchor.level for anchor in self.anchors)


def _tags_of(bank: int) -> tuple[str, ...]:
    """What may be ticked beside the levels: the same names, in the same order, on every card."""
    names = cache.get_or_set(f"room:tags:{bank}", lambda: _tags_in(bank), TAGS_KEPT)
    return tuple(names or ())


def _tags_in(bank: int) -> list[str]:
    meta = (
        Bank.objects.filter(pk=bank, instrument=Instrument.UNCONDITIONALITY)
        .values_list("meta", flat=True)
        .first()
    ) or {}
    names = [
        *meta.get("tags", ()),
        *(row.get("failureMode", "").partition("(")[0] for row in meta.get("chambers", ())),
    ]
    return [name.strip() for name in names if name.strip()]
