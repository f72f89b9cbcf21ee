"""A response as its Markdown means it, for reading only.

A strict list of what is understood: headings, paragraphs, lists, quotes, code, emphasis, tables and
rules. A link is its words and leads nowhere, a picture is its words, HTML is text like any other.
Lines stay lines. What comes out is a flat row of tags and words; the names of the tags stand here,
and pages escape the words like any others, so nothing in a response can become part of a page.

Every step is linear in the length of the text, since nobody vouches for what a model writes.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Literal

from rating import layout
from rating.layout import Block

Name = Literal[
    "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "pre", "hr",
    "table", "thead", "tbody", "tr", "th", "td",
]  # fmt: skip
HEADINGS: tuple[Name, ...] = ("h3", "h4", "h5", "h6")

MOST_STEPS = 20_000
STYLES = ("strong", "emphasis", "struck")
DEEPEST = 6  # lists inside lists, and quotes inside quotes

RULE = re.compile(r"[ \t]*(?:-[ \t]*+){3,}+|[ \t]*(?:\*[ \t]*+){3,}+|[ \t]*(?:_[ \t]*+){3,}+")
DIVIDER = re.compile(r"[ \t]*\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++")
CELL_END = re.compile(r"(?<!\\)\|")

TICKS = re.compile(r"`+")
TOKEN = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)"
    r"|(?P<linked>!?\[(?P<words>[^\[\]\n]*+)\]"
    r"\([^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)?+(?:[ \t]++\"[^\"\n]*+\")?+[ \t]*+\))"
    r"|(?P<mark>\*+|_+|~~+)"
)


@dataclass(frozen=True)
class Tag:
    """An element that opens or ends here.

    ``start`` is the first number of a list, ``number`` that of a table, and ``at`` where in the
    text the block starts that it shows.
    """

    name: Name
    opens: bool = True
    start: int | None = None
    number: int | None = None
    at: int | None = None


@dataclass(frozen=True)
class Words:
    text: str
    strong: bool = False
    emphasis: bool = False
    struck: bool = False
    code: bool = False
    link: bool = False
    picture: bool = False


Step = Tag | Words


def rendered(text: str) -> tuple[Step, ...]:
    """The tags and words of a response, well nested and in its order.

    None at all for a text with more marks than a page could show in good time.
    """
    steps = tuple(islice(_Renderer().steps(layout.blocks(text)), MOST_STEPS + 1))
    return steps if len(steps) <= MOST_STEPS else ()


class _Renderer:
    """One pass over the blocks of a text."""

    def __init__(self) -> None:
        self.tables = count(1)
        self.outline: list[int] = []  # the depths of the headings that stand open

    def steps(self, blocks: Sequence[Block], depth: int = 0) -> Iterator[Step]:
        lists: list[tuple[int, Name]] = []  # how far each open list is set in, and its kind
        quoted: list[str] = []
        before: Block | None = None
        for block in blocks:
            if quoted and (block.kind != "quote" or _parted(before)):
                yield from self._quote("".join(quoted), depth)
                quoted = []
            if lists and block.kind != "item" and not _goes_on(before, block):
                yield from _ended(lists, len(lists))
            at = block.spans[0].start if not depth else None
            text = "".join(piece.text for piece in block.spans)
            lead = block.spans[0].text if block.spans[0].mark else ""
            match block.kind:
                case "item":
                    yield from _item(lists, lead, at)
                    yield from words(text[len(lead) :])
                case "heading":
                    yield from self._heading(lead, text[len(lead) :], at)
                case "quote" if depth < DEEPEST:
                    quoted.append(text[len(lead) :])
                case "code":
                    yield from _code(text, at)
                case _:
                    yield from self._paragraph(text, at)
            before = block
        if quoted:
            yield from self._quote("".join(quoted), depth)
        yield from _ended(lists, len(lists))

    def _quote(self, text: str, depth: int) -> Iterator[Step]:
        yield Tag("blockquote")
        yield from self.steps(layout.blocks(text), depth + 1)
        yield Tag("blockquote", opens=False)

    def _heading(self, lead: str, text: str, at: int | None) -> Iterator[Step]:
        """One level below the heading it stands under, so that no level is left out."""
        inner = text.strip()
        bare = inner.rstrip("#")
        inner = bare.rstrip() if not bare or bare[-1].isspace() else inner
        if not inner:
            return
        depth = lead.count("#")
        while self.outline and self.outline[-1] >= depth:
            self.outline.pop()
        name = HEADINGS[min(len(self.outline), len(HEADINGS) - 1)]
        self.outline.append(depth)
        yield from _within(name, words(inner), at)

    def _paragraph(self, text: str, at: int | None) -> Iterator[Step]:
        """A paragraph, and the rules and tables that stand between its lines."""
        lines = [line for _, line in layout.lines(text)]
        held: list[str] = []
        held_at = at
        here = at
        rows: list[str] = []  # of the table that is open
        for number, line in enumerate(lines):
            below = lines[number + 1].strip() if number + 1 < len(lines) else ""
            heads = "|" in line and "|" in below and DIVIDER.fullmatch(below) is not None
            is_rule = RULE.fullmatch(line.rstrip()) is not None
            if rows and "|" not in line:
                yield from self._table(rows)
                rows = []
            if rows:
                rows.append(line)
            elif heads or is_rule:
                yield from _prose(held, held_at)
                held = []
                if heads:
                    rows = [line]
                else:
                    yield Tag("hr")
            else:
                held_at = held_at if held else here
                held.append(line)
            here = here + len(line) if here is not None else None
        if rows:
            yield from self._table(rows)
        yield from _prose(held, held_at)

    def _table(self, rows: Sequence[str]) -> Iterator[Step]:
        head, _, *body = rows
        yield Tag("table", number=next(self.tables))
        yield Tag("thead")
        yield from _row(head, "th")
        yield Tag("thead", opens=False)
        yield Tag("tbody")
        for row in body:
            yield from _row(row, "td")
        yield Tag("tbody", opens=False)
        yield Tag("table", opens=False)


def words(text: str) -> Iterator[Words]:
    """The words of a paragraph or a cell, with the emphasis their marks give them."""
    style: Counter[str] = Counter()
    held: list[str] = []
    looks: tuple[bool, ...] = ()
    for token in _paired(list(_tokens(text.strip()))):
        style.subtract(token.ends)
        said = token.char * token.left if token.char else token.text
        if said:
            now = (*(style[name] > 0 for name in STYLES), token.code, token.link, token.picture)
            if now != looks and held:
                yield Words("".join(held), *looks)
                held = []
            looks = now
            held.append(said)
        style.update(token.begins)
    if held:
        yield Words("".join(held), *looks)


@dataclass(slots=True)
class _Token:
    """Words, or a run of marks of which ``left`` are nothing but themselves."""

    text: str
    link: bool = False
    code: bool = False
    picture: bool = False
    char: str = ""
    left: int = 0
    opens: bool = False
    ends_one: bool = False
    begins: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


def _tokens(text: str, *, link: bool = False) -> Iterator[_Token]:
    ticks: dict[int, list[int]] = {}  # where runs of so many backticks start
    for run in TICKS.finditer(text):
        ticks.setdefault(len(run[0]), []).append(run.start())
    at = 0
    while match := TOKEN.search(text, at):
        if match.start() > at:
            yield _Token(text[at : match.start()], link)
        at = match.end()
        if match["escape"]:
            yield _Token(match[0][1], link)
        elif match["ticks"]:
            ends = ticks[len(match[0])]
            end = bisect_left(ends, at)
            if end == len(ends):
                yield _Token(match[0], link)
            else:
                yield _Token(text[at : ends[end]].strip() or " ", link, code=True)
                at = ends[end] + len(match[0])
        elif match["linked"]:
            if match[0].startswith("!"):
                alt = match["words"].strip()
                yield _Token(alt or "without words", link, picture=True)
            else:
                yield from _tokens(match["words"], link=True)
        else:
            yield _mark(text, match, link=link)
    if at < len(text):
        yield _Token(text[at:], link)


def _mark(text: str, match: re.Match[str], *, link: bool) -> _Token:
    run = match[0]
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end()] if match.end() < len(text) else " "
    if len(run) > (2 if run[0] == "~" else 3):
        return _Token(run, link)
    opens, ends = not after.isspace(), not before.isspace()
    if run[0] == "_":  # inside a word it is a letter like any other
        opens, ends = opens and not before.isalnum(), ends and not after.isalnum()
    return _Token("", link, char=run[0], left=len(run), opens=opens, ends_one=ends)


def _paired(tokens: list[_Token]) -> list[_Token]:
    """The same tokens, with each run of marks matched to the nearest one before it."""
    open_runs: dict[str, list[_Token]] = {}
    for token in tokens:
        if not token.char:
            continue
        before = open_runs.setdefault(token.char, [])
        while token.ends_one and token.left and before:
            size = 2 if min(token.left, before[-1].left) >= 2 else 1
            style = "struck" if token.char == "~" else "strong" if size == 2 else "emphasis"
            before[-1].begins.append(style)
            token.ends.append(style)
            before[-1].left -= size
            token.left -= size
            if not before[-1].left:
                before.pop()
        if token.opens and token.left:
            before.append(token)
    return tokens


def _item(lists: list[tuple[int, Name]], lead: str, at: int | None) -> Iterator[Tag]:
    """The start of an item, in the list that fits how far it is set in."""
    marker = lead.strip()
    kind: Name = "ol" if marker[:1].isdigit() else "ul"
    indent = len(lead.expandtabs(4)) - len(lead.expandtabs(4).lstrip())
    while len(lists) > 1 and indent < lists[-1][0]:
        yield from _ended(lists, 1)
    deeper = not lists or (indent >= lists[-1][0] + 2 and len(lists) < DEEPEST)
    if not deeper:
        if lists[-1][1] == kind:
            yield Tag("li", opens=False)
        else:
            yield from _ended(lists, 1)
            deeper = True
    if deeper:
        lists.append((indent, kind))
        yield Tag(kind, start=int(marker[:-1]) if kind == "ol" else None)
    yield Tag("li", at=at)


def _ended(lists: list[tuple[int, Name]], number: int) -> Iterator[Tag]:
    for _ in range(number):
        yield Tag("li", opens=False)
        yield Tag(lists.pop()[1], opens=False)


def _goes_on(before: Block | None, block: Block) -> bool:
    """Whether a block belongs to the item above it: set in, or right below it."""
    if block.kind not in ("paragraph", "code"):
        return False
    set_in = block.spans[0].text.startswith(("  ", "\t"))
    return set_in or (block.kind == "paragraph" and not _parted(before))


def _parted(block: Block | None) -> bool:
    """Whether an empty line stands below a block."""
    return block is not None and block.spans[-1].gap


def _code(text: str, at: int | None) -> Iterator[Step]:
    """What stands between fences. A fence with more on its line than a language is text."""
    held: list[str] = []
    for _, line in [*layout.lines(text), (0, layout.FENCE)]:
        fence = line.strip()
        if not fence.startswith(layout.FENCE) or "`" in fence.lstrip("`"):
            held.append(line)
            continue
        if "".join(held).strip():
            yield from _within("pre", [Words("".join(held).rstrip())], at)
        held = []


def _prose(lines: Sequence[str], at: int | None) -> Iterator[Step]:
    text = "".join(line.strip(" \t") for line in lines).strip()
    if text:
        yield from _within("p", words(text), at)


def _row(line: str, name: Name) -> Iterator[Step]:
    yield Tag("tr")
    cells = CELL_END.split(line.strip().removeprefix("|"))
    for cell in cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells:
        yield from _within(name if cell.strip() else "td", words(cell))
    yield Tag("tr", opens=False)


def _within(name: Name, inner: Iterable[Step], at: int | None = None) -> Iterator[Step]:
    yield Tag(name, at=at)
    yield from inner
    yield Tag(name, opens=False)
