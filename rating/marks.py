"""Quotes on a text, with every character in its place: of two readers, or of one by number."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rating.layout import Block, Piece
from rating.quotes import Span


@dataclass(frozen=True)
class Part:
    """Verbatim characters that stand in the same quotes.

    ``readers`` are those who quoted them, or the numbers of the quotes. ``starts`` and ``ends`` are
    those of whom a quote starts before them or ends behind them.
    """

    start: int
    text: str
    dimmed: bool = False
    gap: bool = False
    readers: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @property
    def shown_as(self) -> str:
        """1, 2 or both, or nothing for words that nobody quoted."""
        return "both" if len(self.readers) == 2 else "".join(map(str, self.readers))


@dataclass(frozen=True)
class MarkedBlock:
    kind: str
    parts: tuple[Part, ...]
    number: int

    def touches(self, span: Span) -> bool:
        last = self.parts[-1]
        return self.parts[0].start < span.end and span.start < last.start + len(last.text)


def marked(
    blocks: Sequence[Block], spans1: Sequence[Span], spans2: Sequence[Span]
) -> tuple[MarkedBlock, ...]:
    """The blocks of ``rating.layout``, with their pieces cut where a quote starts or ends.

    The parts of all blocks, joined, are the text again.
    """
    return _marked(
        blocks, [(reader, span) for reader, spans in ((1, spans1), (2, spans2)) for span in spans]
    )


def numbered(blocks: Sequence[Block], spans: Sequence[Span]) -> tuple[MarkedBlock, ...]:
    """The same for one reader, whose quotes are told apart by their number in the list."""
    return _marked(blocks, list(enumerate(spans, start=1)))


def _marked(blocks: Sequence[Block], quotes: Sequence[tuple[int, Span]]) -> tuple[MarkedBlock, ...]:
    cuts = sorted({edge for _, span in quotes for edge in (span.start, span.end)})
    return tuple(
        MarkedBlock(
            block.kind,
            tuple(part for piece in block.spans for part in _parts(piece, cuts, quotes)),
            number,
        )
        for number, block in enumerate(blocks, start=1)
    )


def _parts(piece: Piece, cuts: Sequence[int], quotes: Sequence[tuple[int, Span]]) -> Iterator[Part]:
    start, end = piece.start, piece.start + len(piece.text)
    # A space between two words stays; white space with a line end only parts two blocks.
    gap = piece.gap
    inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
    quotes = [(reader, span) for reader, span in quotes if span.start < end and start < span.end]
    for low, high in pairwise([start, *inner, end]):
        around = [(reader, span) for reader, span in quotes if span.start <= low < span.end]
        yield Part(
            start=low,
            text=piece.text[low - start : high - start],
            dimmed=piece.mark,
            gap=gap,
            readers=_once(reader for reader, _ in around),
            starts=_once(reader for reader, span in around if span.start == low),
            ends=_once(reader for reader, span in around if span.end == high),
        )


def _once(readers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(readers)))
