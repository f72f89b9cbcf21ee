"""A text with some of its code points covered, each by one block, so that every place stays."""

from collections.abc import Sequence

BLOCK = "█"


def masked(text: str, spans: Sequence[Sequence[int]]) -> str:
    """The text with code points ``start`` to ``end`` of each span covered; as long as it was."""
    for start, end in spans:
        text = text[:start] + BLOCK * (end - start) + text[end:]
    return text


def masked_part(part: str, spans: Sequence[Sequence[int]], start: int, end: int) -> str:
    """Code points ``start`` to ``end`` of a text, given as ``part``, with what is covered in them."""
    inside = [(max(low, start) - start, min(high, end) - start) for low, high in spans]
    return masked(part, [(low, high) for low, high in inside if low < high])
