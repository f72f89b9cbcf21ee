"""All that an item reviewer may see, as a type: never who wrote it, nor what others said of it."""

from dataclasses import dataclass
from typing import Any

from rating.blinding import anchors_of, turns_of
from rating.layout import Block, blocks
from rating.models import ReviewHold
from rating.shown import AnchorText, Turn
from runs.models import Pair, Response
from runs.taxonomy import DEFINITIONS, DIMENSIONS


@dataclass(frozen=True)
class Reply:
    """A reply that a model gave to this item, unrated. Whose it is stays hidden."""

    blocks: tuple[Block, ...]
    words: int


@dataclass(frozen=True)
class Fact:
    """Something that an item of two versions is meant to show, by its name."""

    name: str
    text: str


@dataclass(frozen=True)
class ReviewCard:
    """All that a reviewer sees of an item before they have sent their review."""

    turns: tuple[Turn, ...]
    other_turns: tuple[Turn, ...]
    anchors: tuple[AnchorText, ...]
    language: str
    construct: str
    part: str
    subdimension: str
    definition: str
    facts: tuple[Fact, ...]
    replies: tuple[Reply, ...]

    @classmethod
    def of(cls, hold: ReviewHold) -> "ReviewCard":
        item = hold.item
        pair = Pair.objects.filter(arm_a=item).first() or Pair.objects.filter(arm_b=item).first()
        other = pair and (pair.arm_b if pair.arm_a_id == item.pk else pair.arm_a)
        known = DIMENSIONS.get(item.dimension)
        texts = Response.objects.in_bulk(hold.work.replies)
        return cls(
            turns=turns_of(item),
            other_turns=turns_of(other) if other else (),
            anchors=anchors_of(item),
            language=item.language,
            construct=item.construct,
            part=known.name if known else "",
            subdimension=known.subdimensions.get(item.subdimension, "") if known else "",
            definition=DEFINITIONS.get(item.subdimension, ""),
            facts=_facts(pair) if pair else (),
            replies=tuple(
                Reply(blocks(texts[pk].text), len(texts[pk].text.split()))
                for pk in hold.work.replies
            ),
        )


def _facts(pair: Pair) -> tuple[Fact, ...]:
    """What the two versions are to differ in, as the bank has it."""
    chambers = pair.bank.meta.get("chambers", ())
    chamber: dict[str, Any] = next(
        (row for row in chambers if str(row.get("code")) == pair.chamber), {}
    )
    named = (
        ("Chamber", chamber.get("name")),
        ("The person differs in", pair.details.get("axis") or chamber.get("setup")),
        ("Goal", chamber.get("goal")),
        ("It passes with", chamber.get("pass")),
        ("It falls short with", chamber.get("fail")),
    )
    return tuple(Fact(name, str(text)) for name, text in named if text)
