"""What a rater has put down on a card, read from a form or a draft, and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict

from rating import quotes
from rating.blinding import Card
from rating.layout import place_of
from rating.models import Confidence, Draft, Role, SkipReason, User
from rating.queue import Given
from rating.quotes import Span
from rating.support import support_lines

# Where a browser's session keeps a rating that was sent while nobody was signed in.
SEALED = "sealed"
VIEWS = ("reading", "sentences", "plain", "rendered")
LONGEST_NOTE = 5_000
LONGEST_LINE = 500
MOST_QUOTES = 50
# Under "More": the item is unclear, the response is cut off, its maker is recognised.
FLAGS = ("unclear", "cut-off", "maker")
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
    tags: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    maker: str = ""
    maker_sure: str = ""
    active_seconds: int | None = None
    view: str = "reading"
    saved_at: datetime | None = None
    known: str = ""
    back: datetime | None = None
    errors: tuple[Error, ...] = ()
    problem: Problem | None = None
    answer: Given | None = field(default=None, repr=False)

    @classmethod
    def of_draft(cls, draft: Draft | None, card: Card) -> "Entry":
        if draft is None:
            return cls()
        kept: dict[str, Any] = draft.content
        flags: dict[str, str] = kept.get("flags") or {}
        entry = cls._of(
            card,
            level=kept.get("level"),
            spans=[tuple(quote) for quote in kept.get("quotes", [])],
            texts={**kept, "maker": flags.get("maker"), "maker_sure": flags.get("maker-sure")},
            critical_harm=bool(kept.get("critical_harm")),
            tags=kept.get("tags", ()),
            flags=tuple(flags),
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
            tags=post.getlist("tag"),
            flags=post.getlist("flag"),
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
        tags: Sequence[str],
        flags: Sequence[str],
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
            confidence=_one_of(texts.get("confidence"), Confidence.values),
            critical_harm=critical_harm,
            harm_line=_plain(texts.get("harm_line")),
            tags=tuple(tag for tag in card.tags if tag in tags),
            flags=tuple(flag for flag in FLAGS if flag in flags),
            maker=_plain(texts.get("maker"))[:LONGEST_LINE],
            maker_sure=_one_of(texts.get("maker_sure"), Confidence.values),
            active_seconds=_seconds(texts.get("active_seconds")),
            view=_one_of(texts.get("view"), VIEWS) or "reading",
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

    def with_quote_in_hand(self, span: Span, card: Card) -> "Entry":
        """A quote back in the field, to be worded anew. Words that stand there become one first."""
        entry = self.with_words(card, None) if self.words.strip() else self
        if entry.problem or all((q.start, q.end) != (span.start, span.end) for q in entry.quotes):
            return entry
        return replace(entry.without_quote(span), words=card.text[span.start : span.end])

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
                tags=entry.tags,
                flags=entry.said_of_it,
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
            "tags": list(self.tags),
            "flags": self.said_of_it,
            "active_seconds": self.active_seconds,
            "view": self.view,
        }

    @property
    def said_of_it(self) -> dict[str, str]:
        """The flags under "More", each with what was said to it."""
        said = dict.fromkeys(self.flags, "yes")
        if "maker" in said:
            said["maker"] = self.maker.strip()
            if self.maker_sure:
                said["maker-sure"] = self.maker_sure
        return said

    @property
    def spans(self) -> list[Span]:
        return [Span(quote.start, quote.end) for quote in self.quotes]

    @property
    def level_errors(self) -> list[str]:
        return [error.message for error in self.errors if error.field == "level"]

    @property
    def version(self) -> str:
        """Which draft this is: a page that knows another one must ask before it saves over it."""
        return version_of(self.saved_at) or self.known


def span_named(name: str) -> Span | None:
    """The span that a form names as ``start-end``."""
    match = SPAN.fullmatch(name)
    return Span(int(match[1]), int(match[2])) if match else None


def version_of(saved_at: datetime | None) -> str:
    return saved_at.isoformat() if saved_at else ""


def problem_of(words: str, card: Card) -> Problem | None:
    """What stands in the way of words still being typed. Too short says nothing yet."""
    checked = Entry(words=words).with_words(card, None) if words.strip() else Entry()
    problem = checked.problem
    return problem if problem and (problem.passage or problem.places) else None


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


def _one_of(value: Any, known: Sequence[str]) -> str:
    return str(value) if value in known else ""


def _seconds(value: Any) -> int | None:
    return min(int(value), 86_400) if re.fullmatch(r"\d{1,6}", str(value or "")) else None


class SkipForm(forms.Form):
    reason = forms.ChoiceField(choices=SkipReason, error_messages={"required": "Choose a reason."})
    note = forms.CharField(required=False, max_length=LONGEST_NOTE)


class GuessForm(forms.Form):
    """Who made a response. ``maker`` is "unknown", "another" or one of the names offered."""

    UNKNOWN, ANOTHER = "unknown", "another"

    maker = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of the answers."}
    )
    another = forms.CharField(
        required=False,
        max_length=100,
        error_messages={"max_length": "Write a name of at most 100 letters."},
    )
    sure = forms.ChoiceField(
        required=False,
        choices=Confidence,
        error_messages={"invalid_choice": "Choose how sure you are, or leave it empty."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [self.UNKNOWN, *settings.GUESS_MAKERS, self.ANOTHER]
        self.fields["maker"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """The name that was meant: ``maker`` is "" for "I don't know"."""
        given = super().clean() or {}
        maker, another = given.get("maker"), " ".join(given.get("another", "").split())
        if maker == self.UNKNOWN:
            given["maker"] = given["sure"] = ""
        elif maker == self.ANOTHER or (another and not maker):
            given["maker"] = another
            if not another and "another" not in self.errors:
                self.add_error("another", "Write the name, or choose “I don’t know”.")
        elif not maker and not self.errors:
            self.add_error("maker", "Choose an answer, or go on with “Not now”.")
        return given


class LookForm(forms.Form):
    """How somebody likes their pages. The names of the choices are those of the classes."""

    size = forms.ChoiceField(
        label="Size",
        choices=[
            ("90", "Small"),
            ("100", "Normal"),
            ("115", "Larger"),
            ("130", "Large"),
            ("150", "Very large"),
        ],
    )
    font = forms.ChoiceField(
        label="Letters of the response", choices=[("serif", "Serif"), ("sans", "Sans serif")]
    )
    line = forms.ChoiceField(
        label="Distance of lines", choices=[("165", "Normal"), ("190", "Wide")]
    )
    theme = forms.ChoiceField(
        label="Colours", choices=[("system", "As my system"), ("light", "Light"), ("dark", "Dark")]
    )
    keys = forms.ChoiceField(
        label="Single keys",
        choices=[("on", "On"), ("off", "Off")],
        help_text="Such as a digit for a level. Keys with Ctrl, Cmd or Alt always work.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for choice in self.fields.values():
            choice.widget = forms.RadioSelect(choices=choice.choices)  # type: ignore[attr-defined]


LOOK = {"size": "100", "font": "serif", "line": "165", "theme": "system", "keys": "on"}


# What is kept beside the look: whether the counts of the day stand on one's home page.
COUNTS_HIDDEN = "counts_hidden"


class CountryForm(forms.Form):
    """Whose support line stands at the foot of somebody's pages."""

    country = forms.ChoiceField(
        required=False,
        label="Country of your support line",
        help_text="Its line stands at the foot of every page. Nobody else sees your choice.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        lines = support_lines().values()
        self.fields["country"].choices = [  # type: ignore[attr-defined]
            ("", "The line of this site"),
            *((line.country, line.name) for line in lines),
        ]


class WorkForm(forms.Form):
    """Which responses somebody is willing to be given."""

    languages = forms.MultipleChoiceField(
        label="Languages I can judge",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one language."},
    )
    hard_topics = forms.BooleanField(required=False, label="Show me hard topics")

    def __init__(self, *args: Any, languages: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["languages"].choices = languages  # type: ignore[attr-defined]


class InviteForm(forms.Form):
    email = forms.EmailField(label="Address")
    roles = forms.MultipleChoiceField(choices=Role, widget=forms.CheckboxSelectMultiple)
    again = forms.BooleanField(required=False, label="They wish to come back")


def _why() -> forms.CharField:
    """Why something is done to somebody's account."""
    return forms.CharField(
        max_length=300,
        label="Why",
        help_text="It stays on record: name nobody in it.",
        error_messages={"required": "Say why, in a few words that name nobody."},
    )


class EraseForm(forms.Form):
    """The second step of erasing somebody: their address, typed, and why.

    Not the code name: nobody learns here whose it is.
    """

    address = forms.CharField(
        max_length=254,
        label="Their address",
        error_messages={"required": "Type their address, as it stands above."},
    )
    reason = _why()

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person

    def clean_address(self) -> str:
        given: str = self.cleaned_data["address"]
        if given.strip().lower() != self.person.email.lower():
            raise forms.ValidationError(f"Type {self.person.email}, as it stands above.")
        return given


class AccessForm(forms.Form):
    """What somebody may do here, and whether they may come in at all."""

    roles = forms.MultipleChoiceField(
        choices=Role, widget=forms.CheckboxSelectMultiple, required=False
    )
    open = forms.BooleanField(required=False, label="They may sign in")
    reason = _why()


class JoinForm(forms.Form):
    name = forms.CharField(max_length=100, label="Your name")
    password1 = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
