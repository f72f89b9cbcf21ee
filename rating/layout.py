"""A response laid out for reading, with every character in its place.

Nothing is rendered away: Markdown marks stay, only dimmed, so that a selection on the screen is a
slice of the stored text and the third repeat stays the third.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rating.quotes import Span

MARK = re.compile(r"\*{1,3}|_{2,3}|`{1,3}|~~|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")
LEAD = {
    "heading": re.compile(r"[ \t]{0,3}#{1,6}[ \t]+"),
    "quote": re.compile(r"[ \t]{0,3}(?:>[ \t]?)+"),
    "item": re.compile(r"[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+)"),
}
# What ends a sentence, with the quotes and brackets that close behind it; a line always ends one.
SENTENCE = re.compile(r"[^\n]*?(?:[.!?…。！？؟]+[\"'”’»)\]*_]*(?=\s|$)|\n+|$)", re.DOTALL)
FENCE = "```"
WORDS = re.compile(r"\w")
LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Piece:
    """Verbatim characters from ``start``. A mark is dimmed; a gap is a line with nothing on it."""

    start: int
    text: str
    mark: bool = False
    gap: bool = False


@dataclass(frozen=True)
class Block:
    kind: str
    spans: tuple[Piece, ...]


@dataclass(frozen=True)
class Sentence:
    start: int
    end: int
    text: str
    number: int


@dataclass(frozen=True)
class Group:
    """The sentences of one paragraph, which is the ``number``-th ``of`` so many."""

    number: int
    of: int
    sentences: tuple[Sentence, ...]


def blocks(text: str) -> tuple[Block, ...]:
    """The text in paragraphs, list items, headings, quoted and code blocks.

    The pieces of all blocks, joined, are the text again.
    """
    laid: list[tuple[str, list[Piece]]] = []
    in_code = False
    for start, line in lines(text):
        fence = line.lstrip().startswith(FENCE)
        kind, lead = ("code", 0) if in_code or fence else _kind(line)
        pieces = list(_pieces(start, line, lead, plain=kind == "code" and not fence))
        if kind == "paragraph" and not line.strip():
            pieces = [Piece(start, line, gap=True)]
        goes_on = kind in ("code", "paragraph") and laid and laid[-1][0] == kind
        if (goes_on and not (kind == "paragraph" and _ends_blank(laid[-1][1]))) or (
            not line.strip() and laid and kind == "paragraph"
        ):
            laid[-1][1].extend(pieces)
        else:
            laid.append((kind, pieces))
        in_code = in_code != fence
    return tuple(Block(kind, tuple(_merged(pieces))) for kind, pieces in laid)


def groups(text: str) -> tuple[Group, ...]:
    """The sentences of the text, by paragraph. Places without a letter are in none."""
    paragraphs: list[list[Sentence]] = [[]]
    number = 0
    begun: int | None = None  # where a sentence began that has no letter yet, such as "2."
    for match in SENTENCE.finditer(text):
        body = match[0]
        if begun is None and WORDS.search(body):
            begun = match.start() + len(body) - len(body.lstrip())
        ends_line = body.endswith("\n") or match.end() == len(text)
        if begun is not None and (ends_line or LETTERS.search(body)):
            number += 1
            end = begun + len(text[begun : match.end()].rstrip())
            paragraphs[-1].append(Sentence(begun, end, text[begun:end], number))
            begun = None
        if ends_line and paragraphs[-1]:
            paragraphs.append([])
    filled = [sentences for sentences in paragraphs if sentences]
    return tuple(
        Group(index, len(filled), tuple(sentences))
        for index, sentences in enumerate(filled, start=1)
    )


def place_of(span: Span, parts: tuple[Group, ...]) -> str:
    """Where in a response a quote begins, as people count."""
    sentences = [sentence for group in parts for sentence in group.sentences]
    for sentence in sentences:
        if span.start < sentence.end:
            return f"sentence {sentence.number} of {len(sentences)}"
    return f"after sentence {len(sentences)}"


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with its end, and where it starts. Only LF, CR and CRLF end a line here."""
    for match in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text):
        yield match.start(), match[0]


def _kind(line: str) -> tuple[str, int]:
    for kind, pattern in LEAD.items():
        if match := pattern.match(line):
            return kind, match.end()
    return "paragraph", 0


def _pieces(start: int, line: str, lead: int, *, plain: bool) -> Iterator[Piece]:
    if lead:
        yield Piece(start, line[:lead], mark=True)
    at = lead
    for match in () if plain else MARK.finditer(line, lead):
        if match.start() > at:
            yield Piece(start + at, line[at : match.start()])
        yield Piece(start + match.start(), match[0], mark=True)
        at = match.end()
    if at < len(line):
        yield Piece(start + at, line[at:])


def _merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Plain pieces that follow each other as one; the white space that ends a block stays apart."""
    plain: list[Piece] = []
    for piece in pieces:
        if plain and (piece.mark or piece.text.isspace()):
            yield Piece(plain[0].start, "".join(part.text for part in plain))
            plain = []
        if piece.mark or piece.text.isspace():
            yield piece
        else:
            plain.append(piece)
    if plain:
        yield Piece(plain[0].start, "".join(part.text for part in plain))


def _ends_blank(pieces: Sequence[Piece]) -> bool:
    return not pieces[-1].text.strip(" \t\r\n") and "\n" in pieces[-1].text
