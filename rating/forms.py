"""What a rater has put down on a card, read from a form or a draft, and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict

from rating import quotes
from rating.blinding import Card
from rating.layout import place_of
from rating.models import Confidence, Draft, Role, SkipReason
from rating.queue import Given
from rating.quotes import Span

# Where a browser's session keeps a rating that was sent while nobody was signed in.
SEALED = "sealed"
VIEWS = ("reading", "sentences", "plain")
LONGEST_NOTE = 5_000
LONGEST_LINE = 500
MOST_QUOTES = 50
SPAN = re.compile(r"(\d{1,9})-(\d{1,9})")

CHOOSE_LEVEL = "Choose a level before you submit."
ADD_QUOTE = "Add at least one quote before you submit."
SAY_HARM = "Say in one line what could happen. A person reads every flag."


@dataclass(frozen=True)
class QuoteEntry:
    start: int
    end: int
    absent: bool
    text: str
    place: str


@dataclass(frozen=True)
class Error:
    field: str
    message: str


@dataclass(frozen=True)
class Passage:
    start: int
    end: int
    text: str
    difference: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Problem:
    """Why words were not taken as a quote, and what could be taken instead."""

    message: str
    passage: Passage | None = None
    places: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Entry:
    """What stands on the form of one card."""

    level: int | None = None
    quotes: tuple[QuoteEntry, ...] = ()
    words: str = ""
    note: str = ""
    confidence: str = ""
    critical_harm: bool = False
    harm_line: str = ""
    active_seconds: int | None = None
    view: str = "reading"
    saved_at: datetime | None = None
    back: datetime | None = None
    errors: tuple[Error, ...] = ()
    problem: Problem | None = None
    answer: Given | None = field(default=None, repr=False)

    @classmethod
    def of_draft(cls, draft: Draft | None, card: Card) -> "Entry":
        if draft is None:
            return cls()
        kept: dict[str, Any] = draft.content
        entry = cls._of(
            card,
            level=kept.get("level"),
            spans=[tuple(quote) for quote in kept.get("quotes", [])],
            texts=kept,
            critical_harm=bool(kept.get("critical_harm")),
        )
        return replace(entry, saved_at=draft.saved_at, back=draft.saved_at)

    @classmethod
    def of_post(cls, post: QueryDict, card: Card) -> "Entry":
        """What was posted, whatever it was: what cannot be read is left out or said as an error."""
        absent = set(post.getlist("absent"))
        spans = [
            (span.start, span.end, name in absent)
            for name in post.getlist("quote")
            if (span := span_named(name))
        ]
        level = post.get("level", "")
        return cls._of(
            card,
            level=int(level) if re.fullmatch(r"\d{1,3}", level) else level or None,
            spans=spans,
            texts=post,
            critical_harm=bool(post.get("critical_harm")),
        )

    @classmethod
    def _of(
        cls,
        card: Card,
        *,
        level: Any,
        spans: Sequence[tuple[int, int, bool]],
        texts: Mapping[str, Any],
        critical_harm: bool,
    ) -> "Entry":
        errors = []
        if level is not None and level not in card.levels:
            first, last = card.levels[0], card.levels[-1]
            errors.append(
                Error(
                    "level",
                    f"{str(level)[:20]} is not a level here. Choose one from {first} to {last}.",
                )
            )
            level = None
        for name, most in (("note", LONGEST_NOTE), ("harm_line", LONGEST_LINE)):
            if (size := len(_plain(texts.get(name)))) > most:
                errors.append(Error(name, f"This has {size:,} characters. {most:,} fit here."))
        if len(spans) > MOST_QUOTES:
            errors.append(
                Error("quotes", f"These are {len(spans)} quotes. {MOST_QUOTES} fit here.")
            )
        entry = cls(
            level=level,
            words=_plain(texts.get("words")),
            note=_plain(texts.get("note")),
            confidence=value if (value := texts.get("confidence")) in Confidence.values else "",
            critical_harm=critical_harm,
            harm_line=_plain(texts.get("harm_line")),
            active_seconds=_seconds(texts.get("active_seconds")),
            view=view if (view := texts.get("view")) in VIEWS else "reading",
        )
        for start, end, absence in spans:
            try:
                entry = entry.with_quote(quotes.check(card.text, start, end), card, absent=absence)
            except quotes.Refused:
                errors.append(
                    Error("quotes", "One quote is not in this response and was left out.")
                )
        return replace(entry, errors=tuple(errors))

    def with_quote(self, span: Span, card: Card, *, absent: bool = False) -> "Entry":
        if any((quote.start, quote.end) == (span.start, span.end) for quote in self.quotes):
            return self
        added = QuoteEntry(
            span.start, span.end, absent, span.of(card.text), place_of(span, card.sentences)
        )
        return replace(
            self, quotes=tuple(sorted((*self.quotes, added), key=lambda q: (q.start, q.end)))
        )

    def cleared(self) -> "Entry":
        """Without a level: no rating, never zero."""
        return replace(self, level=None)

    def saved(self, moment: datetime) -> "Entry":
        return replace(self, saved_at=moment, back=None)

    def without_quote(self, span: Span) -> "Entry":
        return replace(
            self,
            quotes=tuple(q for q in self.quotes if (q.start, q.end) != (span.start, span.end)),
        )

    def with_words(self, card: Card, hint: int | None) -> "Entry":
        """The words in the quote field made a quote, or the problem with them."""
        try:
            span = quotes.find(card.text, self.words, hint)
        except quotes.Refused as why:
            problem = Problem(
                str(why),
                passage=_passage(card.text, why.closest, why.difference)
                if isinstance(why, quotes.NotThere) and why.closest
                else None,
                places=tuple(_passage(card.text, place) for place in why.places)
                if isinstance(why, quotes.Several)
                else (),
            )
            errors = (*self.errors, Error("words", problem.message))
            return replace(self, problem=problem, errors=errors)
        return replace(self.with_quote(span, card), words="")

    def with_sentences(self, spans: Sequence[Span], card: Card) -> "Entry":
        """Marked sentences made quotes; neighbours become one."""
        entry = self
        for span in _joined(spans, card):
            try:
                entry = entry.with_quote(quotes.check(card.text, span.start, span.end), card)
            except quotes.Refused as why:
                entry = replace(
                    entry,
                    errors=(*entry.errors, Error("words", str(why))),
                    problem=Problem(str(why)),
                )
        return entry

    def with_place(self, span: Span, card: Card) -> "Entry":
        """A passage chosen in place of the words that were typed."""
        return replace(self, words="").with_sentences([span], card)

    def given(self, card: Card) -> "Entry":
        """The entry with its ``answer``, or with the errors that stand in its way."""
        # Words that were typed and not yet added are meant as a quote: nothing typed is lost.
        entry = self.with_words(card, None) if self.words.strip() else self
        errors = list(entry.errors)
        fields = {error.field for error in errors}
        if entry.level is None and "level" not in fields:
            errors.append(Error("level", CHOOSE_LEVEL))
        if not entry.quotes and not {"quotes", "words"} & fields:
            errors.append(Error("quotes", ADD_QUOTE))
        if entry.critical_harm and not entry.harm_line.strip():
            errors.append(Error("harm_line", SAY_HARM))
        if errors or entry.level is None:
            return replace(entry, errors=tuple(errors))
        return replace(
            entry,
            answer=Given(
                level=entry.level,
                quotes=tuple((Span(q.start, q.end), q.absent) for q in entry.quotes),
                note=entry.note.strip(),
                confidence=entry.confidence,
                critical_harm=entry.critical_harm,
                harm_line=entry.harm_line.strip() if entry.critical_harm else "",
                active_seconds=entry.active_seconds,
            ),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "quotes": [[q.start, q.end, q.absent] for q in self.quotes],
            "words": self.words,
            "note": self.note,
            "confidence": self.confidence,
            "critical_harm": self.critical_harm,
            "harm_line": self.harm_line,
            "active_seconds": self.active_seconds,
            "view": self.view,
        }

    @property
    def empty(self) -> bool:
        return (
            replace(self, view="reading", active_seconds=None, saved_at=None, back=None) == Entry()
        )


def span_named(name: str) -> Span | None:
    """The span that a form names as ``start-end``."""
    match = SPAN.fullmatch(name)
    return Span(int(match[1]), int(match[2])) if match else None


def hint_of(post: QueryDict) -> int | None:
    given = post.get("hint", "")
    return int(given) if re.fullmatch(r"\d{1,9}", given) else None


def _joined(spans: Sequence[Span], card: Card) -> list[Span]:
    """Spans of sentences, with those that follow each other made one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start):
        between = card.text[joined[-1].end : span.start] if joined else None
        if between is not None and not between.strip():
            joined[-1] = Span(joined[-1].start, max(span.end, joined[-1].end))
        else:
            joined.append(span)
    return joined


def _passage(text: str, span: Span, difference: str = "") -> Passage:
    return Passage(
        span.start,
        span.end,
        span.of(text),
        difference,
        before=text[max(0, span.start - 40) : span.start],
        after=text[span.end : span.end + 40],
    )


def _plain(value: Any) -> str:
    """Typed text as it can be kept. Line ends are LF; PostgreSQL keeps no NUL."""
    if not isinstance(value, str):
        return ""
    return value.replace("\r\n", "\n").replace("\x00", "")


def _seconds(value: Any) -> int | None:
    return min(int(value), 86_400) if re.fullmatch(r"\d{1,6}", str(value or "")) else None


class SkipForm(forms.Form):
    reason = forms.ChoiceField(choices=SkipReason, error_messages={"required": "Choose a reason."})
    note = forms.CharField(required=False, max_length=LONGEST_NOTE)


class InviteForm(forms.Form):
    email = forms.EmailField(label="Address")
    roles = forms.MultipleChoiceField(choices=Role, widget=forms.CheckboxSelectMultiple)


class JoinForm(forms.Form):
    name = forms.CharField(max_length=100, label="Your name")
    password1 = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
