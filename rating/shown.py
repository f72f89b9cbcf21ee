"""What whoever judges a response is shown of it, as a plain type: people on a card, models in a prompt.

There is one way to make it from the tables, ``rating.blinding.shown``. So a judge that is a model
is sent what a rater reads, and neither can drift from the other.
"""

from dataclasses import dataclass


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
class Shown:
    """The conversation, the reply with what is covered in it, and the item's own levels."""

    turns: tuple[Turn, ...]
    text: str
    anchors: tuple[AnchorText, ...]
