"""Whether words are in a response, and where: the one rule for people, judges and imports.

A quote is kept as code points ``start`` to ``end`` of the verbatim text. Typed or pasted words are
matched after a declared folding; what is kept is the original slice. Words left out or altered are
refused, with the closest passage shown.

The folding maps every place back, since it goes one grapheme at a time: HTML entities; variants of
quotes, dashes, ellipsis and white space; NFKC; soft hyphen, zero-width and direction characters;
Markdown marks, list bullets included; case. A run of white space counts as one space.
"""

import html
import string
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice

import regex

LEAST_WORDS = 3
LEAST_CHARACTERS = 12
LONGEST_TYPED = 20_000
MOST_PLACES = 20
# So many places are looked at: a text made for it has one at every letter, each amid a word.
MOST_TRIED = 2_000
# The closest passage is looked for with no more of what was typed than this.
MOST_WORDS = 200
# Nor with so much that more than this many pairs of words would be compared.
MOST_PAIRS = 1_000_000
LONGEST_SHOWN = 300
LEAST_LIKENESS = 0.5

# Written without spaces, so that each character counts as a word.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
WORD = regex.compile(
    rf"[{UNSPACED}]\p{{M}}*|(?V1)[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]+"
    rf"(?:['’][[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]+)*"
)
LETTER = regex.compile(rf"(?V1)[[\p{{L}}\p{{N}}]--[{UNSPACED}]]")
LETTERS = regex.compile(rf"{LETTER.pattern}+")
LETTERS_BEFORE = regex.compile(rf"(?r){LETTER.pattern}+")
# Plain text is folded at one go. Its last character must have nothing that combines with it.
PLAIN = frozenset(string.ascii_letters + string.digits + ".,;:!?'\"()")
PLAIN_TEXT = r"[A-Za-z0-9.,;:!?'\"()]+(?: [A-Za-z0-9.,;:!?'\"()]+)*(?=[\x00-\x7f]|\Z)"
ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
GRAPHEME = regex.compile(rf"{PLAIN_TEXT}|{ENTITY}|\X")
BULLETS = frozenset("-+•‣–*")
MARKS = frozenset("*_`#>~|\\")
UNSEEN = frozenset(
    "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphen and zero width
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # direction
    "\ufe0e\ufe0f"  # text or emoji style
)
QUOTES = str.maketrans({**dict.fromkeys("‘’‚‛′ʼ´＇", "'"), **dict.fromkeys("“”„‟″«»＂", '"')})
DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"))
SAME = QUOTES | DASHES | str.maketrans({**dict.fromkeys(UNSEEN | MARKS), "…": "..."})


@dataclass(frozen=True)
class Span:
    """Code points ``start`` up to ``end`` of a text."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class Refused(ValueError):
    """Words that cannot be taken as a quote, with the sentence to show."""


class TooShort(Refused):
    def __init__(self) -> None:
        super().__init__("This quote is too short. Take at least three words.")


class TooLong(Refused):
    def __init__(self) -> None:
        super().__init__(
            f"This quote is too long. Take at most {LONGEST_TYPED:,} characters, or several quotes."
        )


class Several(Refused):
    """The words stand in more than one place, and nothing says which is meant."""

    def __init__(self, places: Sequence[Span]) -> None:
        self.places = tuple(places)
        super().__init__(f"These words appear {len(places)} times. Choose the place you mean.")


class NotThere(Refused):
    """The words are not in the text. ``closest`` is the passage most like them, if one is."""

    def __init__(
        self, passage: str = "", closest: Span | None = None, difference: str = ""
    ) -> None:
        self.closest = closest
        self.difference = difference
        if len(passage) > LONGEST_SHOWN:
            passage = f"{passage[: LONGEST_SHOWN // 2]} … {passage[-LONGEST_SHOWN // 2 :]}"
        sentence = "These words are not in the response."
        super().__init__(
            f"{sentence} The closest passage is: “{passage}”." if closest else sentence
        )


def find(text: str, words: str, hint: int | None = None) -> Span:
    """Where the words stand in the text.

    Parameters
    ----------
    text : str
        The verbatim response.
    words : str
        What was selected, typed or pasted.
    hint : int, optional
        The code point at which a selection began. It chooses among places and never overrules
        the words.

    Raises
    ------
    Refused
        ``TooShort``, ``TooLong``, ``Several`` or ``NotThere``.
    """
    if len(words) > LONGEST_TYPED:
        raise TooLong
    found = _as_written(text, words.strip()) or _folded(text, words)
    if found is None:
        raise TooShort if len(WORD.findall(words)) == 0 else _not_there(text, words)
    if not long_enough(text, next(found.after(0))):
        raise TooShort
    if hint is None:
        places = list(islice(found.after(0), MOST_PLACES))
        if len(places) > 1:
            raise Several(places)
        return places[0]
    beside = [*islice(found.before(hint), 1), *islice(found.after(hint), 1)]
    return min(beside, key=lambda span: abs(span.start - hint))


@dataclass(frozen=True)
class Seen:
    """How words stand in a text: ``as_written``, else after folding, and where first."""

    span: Span
    as_written: bool
    long_enough: bool


def look(text: str, words: str) -> Seen | None:
    """The same rule without a refusal, for who cannot choose a place: the first one is taken.

    None where the words are not there.
    """
    if len(words) > LONGEST_TYPED:
        return None
    found = _as_written(text, words.strip())
    as_written = found is not None
    found = found or _folded(text, words)
    if found is None:
        return None
    span = next(found.after(0))
    return Seen(span, as_written, long_enough(text, span))


def check(text: str, start: int, end: int) -> Span:
    """A place given as offsets, as it may be kept: without white space at its ends.

    Raises
    ------
    Refused
        If it lies outside the text, cuts a word or a character in half, or is too short.
    """
    if not 0 <= start < end <= len(text):
        raise NotThere
    span = trimmed(text, Span(start, end))
    if span.start >= span.end or not long_enough(text, span):
        raise TooShort
    if _cuts_a_word(text, span) or not _on_graphemes(text, span):
        raise NotThere
    return span


def long_enough(text: str, span: Span) -> bool:
    """At least three words and twelve characters, or every word of a shorter response."""
    quoted = span.of(text)
    words = len(WORD.findall(quoted))
    enough = words >= LEAST_WORDS and len(quoted) >= LEAST_CHARACTERS
    return enough or words == len(WORD.findall(text))


def trimmed(text: str, span: Span) -> Span:
    """Without the white space at either end."""
    quoted = span.of(text)
    start = span.start + len(quoted) - len(quoted.lstrip())
    return Span(start, max(start, span.end - len(quoted) + len(quoted.rstrip())))


class _Places:
    """The places where words stand in a text, from any point on, none looked for before it is asked.

    The text may be a folded one: then ``starts`` and ``ends`` map it back.
    """

    def __init__(
        self,
        text: str,
        words: str,
        back: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        self.text, self.words, self.back = text, words, back

    def after(self, start: int) -> Iterator[Span]:
        """Those that begin at this point of the original or after it, in order."""
        begin = self._folded_at(start)
        for _ in range(MOST_TRIED):
            at = self.text.find(self.words, begin)
            if at < 0:
                return
            if self._inside_a_word(at):
                # Every start within the same word is refused, too.
                begin = _end_of_word(self.text, at)
                continue
            if span := self._span(at):
                yield span
            begin = at + 1

    def before(self, start: int) -> Iterator[Span]:
        """Those that begin before it, the nearest first."""
        end = self._folded_at(start) + len(self.words) - 1
        for _ in range(MOST_TRIED):
            at = self.text.rfind(self.words, 0, max(0, end))
            if at < 0:
                return
            if self._inside_a_word(at):
                end = _start_of_word(self.text, at) + len(self.words)
                continue
            if span := self._span(at):
                yield span
            end = at + len(self.words) - 1

    def _folded_at(self, start: int) -> int:
        if self.back is None:
            return start
        return bisect_left(self.back[0], start)

    def _inside_a_word(self, at: int) -> bool:
        before, here = self.text[at - 1 : at], self.text[at : at + 1]
        return bool(LETTER.match(before) and LETTER.match(here))

    def _span(self, at: int) -> Span | None:
        span = Span(at, at + len(self.words))
        if _cuts_a_word(self.text, span):
            return None
        if self.back is None:
            return span if _on_graphemes(self.text, span) else None
        starts, ends = self.back
        return Span(starts[at], ends[span.end - 1])


def _as_written(text: str, words: str) -> _Places | None:
    """The places where the words stand exactly so."""
    return _if_any(_Places(text, words)) if words else None


def _folded(text: str, words: str) -> _Places | None:
    """The places where the words stand after folding."""
    needle = fold(words)[0].strip()
    if not needle:
        return None
    haystack, starts, ends = fold(text)
    return _if_any(_Places(haystack, needle, (starts, ends)))


def _if_any(places: _Places) -> _Places | None:
    return places if next(places.after(0), None) else None


def _end_of_word(text: str, at: int) -> int:
    """Where the letters that go on at this place end."""
    found = LETTERS.match(text, at)
    return found.end() if found else at + 1


def _start_of_word(text: str, at: int) -> int:
    """Where the letters begin that this place is amidst."""
    found = LETTERS_BEFORE.match(text, 0, at)
    return found.start() if found else at


def fold(text: str) -> tuple[str, list[int], list[int]]:
    """The folded text, and for each of its characters where its grapheme starts and ends."""
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    line_is_blank = True
    for match in GRAPHEME.finditer(text):
        grapheme = match[0]
        if grapheme[0] in PLAIN and grapheme.isascii():
            folded.extend(grapheme.lower())
            starts.extend(range(match.start(), match.end()))
            ends.extend(range(match.start() + 1, match.end() + 1))
            line_is_blank = False
            continue
        bullet = (
            line_is_blank and grapheme in BULLETS and text[match.end() : match.end() + 1] == " "
        )
        line_is_blank = (
            "\n" in grapheme or "\r" in grapheme or (line_is_blank and grapheme.isspace())
        )
        for character in "" if bullet else _fold_one(grapheme):
            if character == " " and folded and folded[-1] == " ":
                ends[-1] = match.end()
                continue
            folded.append(character)
            starts.append(match.start())
            ends.append(match.end())
    return "".join(folded), starts, ends


@lru_cache(maxsize=4096)
def _fold_one(grapheme: str) -> str:
    meant = html.unescape(grapheme) if grapheme[0] == "&" else grapheme
    # Before NFKC, which would make a space and an accent of a quote mark, and after it.
    plain = unicodedata.normalize("NFKC", meant.translate(SAME)).translate(SAME).casefold()
    return "".join(" " if character.isspace() else character for character in plain)


def _cuts_a_word(text: str, span: Span) -> bool:
    return any(
        0 < edge < len(text) and LETTER.match(text[edge - 1]) and LETTER.match(text[edge])
        for edge in (span.start, span.end)
    )


def _on_graphemes(text: str, span: Span) -> bool:
    """Whether neither edge lies inside a character as people see it."""
    # A grapheme is short: a little text before an edge is enough to see where each begins.
    for edge in (span.start, span.end):
        low = max(0, edge - 64)
        around = text[low : edge + 64]
        begins = {low + match.start() for match in regex.finditer(r"\X", around)}
        if edge not in begins and edge != len(text):
            return False
    return True


def _not_there(text: str, words: str) -> NotThere:
    """The refusal, with the passage that has most of the words in their order."""
    wanted = [_fold_word(match[0]) for match in islice(WORD.finditer(words), MOST_WORDS)]
    spans = [Span(*match.span()) for match in WORD.finditer(text)]
    there = [_fold_word(span.of(text)) for span in spans]
    wanted = _fewer(wanted, there)
    anchor = SequenceMatcher(None, there, wanted, autojunk=False).find_longest_match()
    if not anchor.size:
        return NotThere()
    low = max(0, anchor.a - 2 * anchor.b - 3)
    high = anchor.a + anchor.size + 2 * (len(wanted) - anchor.b - anchor.size) + 3
    blocks = SequenceMatcher(None, there[low:high], wanted, autojunk=False).get_matching_blocks()
    found = [block for block in blocks if block.size]
    first, last = low + found[0].a, low + found[-1].a + found[-1].size
    # A word typed in place of the first or last one: that one belongs to the passage too.
    first = _widened(text, spans, first, -found[0].b)
    last = 1 + _widened(text, spans, last - 1, len(wanted) - found[-1].b - found[-1].size)
    likeness = 2 * sum(block.size for block in found) / (last - first + len(wanted))
    if likeness < LEAST_LIKENESS:
        return NotThere()
    closest = Span(spans[first].start, spans[last - 1].end)
    original = [span.of(text) for span in spans[first:last]]
    typed = [match[0] for match in islice(WORD.finditer(words), len(wanted))]
    difference = _difference(there[first:last], original, wanted, typed)
    return NotThere(closest.of(text), closest, difference)


def _fold_word(word: str) -> str:
    return word.lower() if word.isascii() else fold(word)[0]


def _fewer(wanted: list[str], there: Sequence[str]) -> list[str]:
    """As many of the wanted words as can be compared: one said over and over meets itself often."""
    often = Counter(there)
    pairs = 0
    for count, word in enumerate(wanted):
        pairs += often[word]
        if pairs > MOST_PAIRS:
            return wanted[: max(LEAST_WORDS, count)]
    return wanted


def _widened(text: str, spans: Sequence[Span], place: int, by: int) -> int:
    """The place ``by`` words on, or as far as the line goes."""
    step = 1 if by > 0 else -1
    for _ in range(abs(by)):
        beside = place + step
        if not 0 <= beside < len(spans):
            break
        left, right = sorted((place, beside))
        if "\n" in text[spans[left].end : spans[right].start]:
            break
        place = beside
    return place


def _difference(
    there: Sequence[str], original: Sequence[str], wanted: Sequence[str], typed: Sequence[str]
) -> str:
    """What sets typed words apart from a passage, in words."""
    said = []
    for what, a, b, c, d in SequenceMatcher(None, there, wanted, autojunk=False).get_opcodes():
        passage, given = " ".join(original[a:b]), " ".join(typed[c:d])
        if what == "delete":
            said.append(f"left out: “{passage}”")
        elif what == "insert":
            said.append(f"added: “{given}”")
        elif what == "replace":
            said.append(f"“{passage}” changed to “{given}”")
    return "; ".join(said)
