"""Every way in and out that needs no database: each takes some texts, and tells what went wrong.

A page is rendered from our own templates, a file is written by our own writers and read back by
our own readers, and what came out is held against what went in.
"""

import csv
import io
import json
import logging
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.core.mail import EmailMessage
from django.http import QueryDict
from django.template.loader import render_to_string
from pypdf import PdfReader

from compassion.logs import Lines, Plain, clean
from rating import layout, quotes
from rating.blinding import AnchorText, Card, Turn
from rating.document import Document, Facts, Heading, Paragraph, Table
from rating.export import FORMULA, ExportRow, guarded, in_order, ratings_csv, unguarded
from rating.facets_file import facets_txt
from rating.forms import VIEWS, Entry
from rating.marks import numbered
from rating.pdf import as_pdf, shown
from rating.publishing.files import as_csv
from rating.rendered import rendered
from runs.canonical import NOT_TEXT
from runs.exposure import disclaims, read_choice, read_recall
from runs.leaks import normal
from runs.masks import masked
from runs.properties import properties_of
from runs.self_naming import every_place, find_naming
from tests.hostile.corpus import Hostile
from tests.hostile.inert import page_faults, words_of

AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
CODE: Final = UUID(int=7)
FIELDS: Final = 16  # texts on one card beside the reply
SHORT: Final = 5_000  # a text for the small fields; a longer one is a reply

Way = Callable[[Sequence[Hostile]], Iterator[str]]


def storable(texts: Sequence[Hostile]) -> list[Hostile]:
    """Those that a table could hold: no NUL, and no half of a character."""
    return [one for one in texts if not NOT_TEXT.search(one.text)]


def cards(texts: Sequence[Hostile]) -> Iterator[str]:
    """Each as a reply in one of the four views; and in two of the sixteen fields of a card.

    Kinds follow each other in a ring of 25, fields in one of 16: every kind comes to every field.
    """
    kept = storable(texts)
    small = [one for one in kept if len(one.text) <= SHORT]
    for place, one in enumerate(kept):
        view = VIEWS[place % len(VIEWS)]
        if place % (FIELDS // 2) == 0:
            beside = [small[(place + step) % len(small)].text for step in range(FIELDS)]
            html = _card_page(one.text, beside, view)
        else:
            html = _reply_alone(one.text, view)
        yield from (f"{one.kind} {one.mark}: {fault}" for fault in page_faults(html))
        if one.kind != "long" and view == "plain":
            same = one.text.replace("\r\n", "\n").replace("\r", "\n")
            if same not in words_of(html).replace("\r\n", "\n").replace("\r", "\n"):
                yield f"{one.kind} {one.mark}: the page does not say what the reply says"


def _reply_alone(text: str, view: str) -> str:
    card = Card(CODE, (), text, (), "en", AT)
    entry = Entry(view=view)
    blocks = numbered(card.blocks, ()) if view == "reading" else ()
    return render_to_string(
        "rating/_response.html", {"card": card, "entry": entry, "blocks": blocks}
    )


def _card_page(text: str, beside: Sequence[str], view: str) -> str:
    card = Card(
        code=CODE,
        turns=(Turn("user", beside[0]), Turn("assistant", beside[1]), Turn("user", beside[2])),
        text=text,
        anchors=tuple(
            AnchorText(level, beside[level][:100], beside[level + 5], beside[15])
            for level in range(1, 6)
        ),
        language="en",
        until=AT,
        tags=(beside[11][:60], beside[12][:60]),
    )
    post = QueryDict(mutable=True)
    post.update({"note": beside[13], "harm_line": beside[14], "maker": beside[15]})
    post.update({"words": beside[3], "level": beside[4], "view": view, "critical_harm": "on"})
    post.setlist("flag", ["maker", beside[5]])
    post.setlist("tag", [beside[11][:60].strip(), beside[6]])
    post.setlist("quote", ["0-40", beside[7], "3-999999999"])
    entry = Entry.of_post(post, card).given(card)
    blocks = numbered(card.blocks, entry.spans) if view == "reading" else ()
    context = {"state": "card", "card": card, "entry": entry, "blocks": blocks, "said": beside[8]}
    return render_to_string("rating/_room.html", {**context, "heading": "A card", "now": 0.0})


def readings(texts: Sequence[Hostile]) -> Iterator[str]:
    """What is read out of a reply: layout, quotes, names, properties, probes, leaks."""
    for one in storable(texts):
        text, where = one.text, f"{one.kind} {one.mark}"
        if "".join(piece.text for block in layout.blocks(text) for piece in block.spans) != text:
            yield f"{where}: the layout lost a letter"
        if any(text[s.start : s.end] != s.text for g in layout.groups(text) for s in g.sentences):
            yield f"{where}: a sentence is not where it says"
        rendered(text)
        for words in (text[:300], one.mark, text[len(text) // 2 :][:300]):
            try:
                span = quotes.find(text, words, hint=0)
            except quotes.Refused:
                continue
            if not 0 <= span.start < span.end <= len(text):
                yield f"{where}: a quote outside the text"
        named = find_naming(text)
        masked(text, every_place(text, named))
        properties_of(text)
        normal(text)
        read_recall(text), disclaims(text), read_choice(text, [one.mark, "no"])


def tables(texts: Sequence[Hostile]) -> Iterator[str]:
    """CSV: no cell begins a formula, and every text comes back as it went in."""
    kept = [one.text for one in storable(texts)]
    rows = [
        ExportRow(
            response=kept[place - 1][:200],
            item=text[:200],
            dimension=kept[place - 2][:200],
            rater=text[:200],
            slot=1,
            kind="counted",
            level=3,
            confidence=text[:200],
            critical_harm=True,
            quotes=(text[:SHORT], kept[place - 3][:SHORT]),
            note=text[:SHORT],
            rated_at=AT,
        )
        for place, text in enumerate(kept)
    ]
    notes = sorted(row.note for row in rows)
    for name, made in (
        ("ratings.csv", "".join(ratings_csv(in_order(rows)))),
        ("figures.csv", as_csv(("note",), [[row.note] for row in rows])),
    ):
        read = list(csv.reader(io.StringIO(made, newline=""), strict=True))
        for cell in (cell for line in read for cell in line):
            if FORMULA.match(cell) and not cell.startswith("'"):
                yield f"{name}: a spreadsheet would compute {cell[:40]!r}"
            if cell[:1] in "=+-@\t\r" and cell:
                yield f"{name}: a cell begins with {cell[:1]!r}"
        column = read[0].index("note")
        if sorted(unguarded(line[column]) for line in read[1:]) != notes:
            yield f"{name}: a text did not come back as it went in"
    if any(unguarded(guarded(text)) != text for text in kept):
        yield "a guarded text is not its own again"
    for line in facets_txt(in_order(rows[:500]), (1, 2, 3, 4, 5), kept[0]):
        line = line.removesuffix("\r\n")
        if len(line.splitlines()) > 1 or not line.isprintable():
            yield f"facets.txt: {line[:60]!r} is more than one line"


def papers(texts: Sequence[Hostile]) -> Iterator[str]:
    """PDF: set by typst, every text stands there as its letters, and nothing in it acts."""
    kept = [one.text[:400] for one in storable(texts)]
    document = Document(
        kept[0],
        kept[1],
        (
            Heading(kept[2]),
            Paragraph(kept[3]),
            Facts([(text, text) for text in kept[:20]]),
            Table(kept[4], [kept[5], "b"], [(text, "x") for text in kept], [1, 1]),
        ),
        AT,
    )
    made = as_pdf(document)
    pdf = PdfReader(io.BytesIO(made))
    for page in pdf.pages:
        for note in page.get("/Annots") or ():
            yield f"the PDF has an annotation: {note}"
    catalogue: dict[str, Any] = pdf.trailer["/Root"]
    for act in ("/OpenAction", "/AA", "/AcroForm", "/Names"):
        if act in catalogue and "JavaScript" in str(catalogue[act]):
            yield f"the PDF does something by itself: {act}"
    said = _letters("".join(page.extract_text() for page in pdf.pages))
    for one in storable(texts):
        # A reader of PDF puts hundreds of accents where they stand, between other letters.
        if (
            one.kind != "zalgo"
            and one.mark in shown(one.text[:400])
            and one.mark not in said.replace("-", "")
        ):
            yield f"{one.kind} {one.mark}: the PDF does not say it"


def _letters(text: str) -> str:
    """A text without white space, and without the accents that a reader of PDF joins to a letter."""
    apart = unicodedata.normalize("NFD", "".join(text.split()))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def logs(texts: Sequence[Hostile]) -> Iterator[str]:
    """A record of the log is one line, whatever it says, for programs and for people."""
    as_json, plain = Lines("%(levelname)s %(message)s"), Plain("%(message)s")
    for one in texts:
        record = logging.makeLogRecord(
            {"msg": "said: %s", "args": (one.text[:SHORT],), "levelname": "INFO"}
        )
        line, said = as_json.format(record), clean(f"said: {one.text[:SHORT]}")
        if len(line.splitlines()) != 1 or json.loads(line)["message"] != said:
            yield f"{one.kind} {one.mark}: more or less than one line of JSON"
        line = plain.format(record)
        if len(line.splitlines()) != 1 or "\x1b" in line or "\x9b" in line:
            yield f"{one.kind} {one.mark}: more than one plain line"


def letters(texts: Sequence[Hostile]) -> Iterator[str]:
    """A mail with a text in its subject or address is refused, or has no header of the text's."""
    for one in storable(texts):
        if len(one.text) > SHORT:
            continue
        mail = EmailMessage(one.text, one.text, None, [f"{one.mark}@example.org"])
        try:
            sent = mail.message()
        except ValueError:  # Django's BadHeaderError, and addresses that are none
            continue
        strange = set(sent.keys()) - {
            "Subject", "From", "To", "Date", "Message-ID", "Content-Type", "MIME-Version", "Content-Transfer-Encoding",
        }  # fmt: skip
        if strange:
            yield f"{one.kind} {one.mark}: the mail has headers {strange}"


WAYS: Final[dict[str, Way]] = {
    "cards": cards,
    "readings": readings,
    "tables": tables,
    "papers": papers,
    "logs": logs,
    "letters": letters,
}
