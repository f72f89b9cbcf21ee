"""Names in replies, covered before anybody rates them.

A response that names its own maker is not dealt to raters until somebody has decided: cover the
name, or show it as it is. What is covered is shown as blocks, one for each code point, so that
every place in the text stays where it is. The verbatim text is kept, and a quote is kept as its
places in it; wherever a quote is shown, its covered part is covered too.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.paginator import Page, Paginator

from rating.judges.tables import Judgement
from rating.models import Assignment, EventKind, Rating, User
from rating.queue import log, open_slots, writing
from rating.queue.slots import locked_slots
from runs.models import Response, Run, Wave
from runs.self_naming import Naming, every_place

ON_A_PAGE = 50
AROUND = 160  # code points shown before the first name and after the last


class Refused(ValueError):
    """What cannot be decided, with the sentence to show."""


@dataclass(frozen=True)
class Piece:
    text: str
    name: bool


@dataclass(frozen=True)
class Named:
    """A response that names its maker, as maintainers see it: a few of its words, under a handle.

    The handle is no other code of the response, so that nobody joins what they read here with its
    ratings.
    """

    handle: str
    pieces: tuple[Piece, ...]
    decided_at: datetime | None
    covered: bool
    open: bool


def named_in(wave: Wave, page: str = "1") -> Page[Any]:
    """A page of those of a wave, the undecided first, then by handle: no order says whose they are.

    Of all but the replies shown, only numbers are read.
    """
    every = Response.objects.of_wave(wave).exclude(self_naming=[]).only("pk", "mask_decided_at")
    ordered = sorted(every, key=lambda row: (row.mask_decided_at is not None, handle_of(row)))
    found: Page[Any] = Paginator([row.pk for row in ordered], ON_A_PAGE).get_page(page)
    columns = ("text", "self_naming", "mask", "mask_decided_at", "run")
    wanted = list(found.object_list)
    shown = Response.objects.only(*columns).in_bulk(wanted)
    shut = _shut(wanted)
    found.object_list = [
        Named(
            handle=handle_of(row),
            pieces=_pieces(row),
            decided_at=row.mask_decided_at,
            covered=bool(row.mask),
            open=row.pk not in shut and wave.ratings_frozen_at is None,
        )
        for row in map(shown.__getitem__, wanted)
    ]
    return found


def handle_of(response: Response) -> str:
    """A name for a response on this page alone, which nobody can work out without our key."""
    key = settings.SECRET_KEY.encode()
    return hmac.new(key, f"named {response.pk}".encode(), "sha256").hexdigest()[:12]


def response_of(wave: Wave, handle: str) -> Response | None:
    """The response of a wave under this handle."""
    rows = Response.objects.of_wave(wave).exclude(self_naming=[])
    wanted = (row for row in rows.only("pk") if hmac.compare_digest(handle_of(row), handle))
    found = next(wanted, None)
    return found and rows.get(pk=found.pk)


def places_of(response: Response) -> list[tuple[int, int]]:
    """What would be covered: each name where it speaks of itself, and wherever else it stands."""
    namings = [Naming(start, end, term) for start, end, term in response.self_naming]
    return every_place(response.text, namings)


def decide(response: Response, person: User, *, cover: bool, now: datetime) -> None:
    """Cover the names of a response, or say that raters see it as it is; then it can be rated.

    Raises
    ------
    Refused
        If somebody has rated it, or reads it now: two raters must have read the same.
    """
    spans = places_of(response) if cover else []
    with writing():
        # Whoever freezes holds the runs, and closes the slots that are there: none comes after.
        Run.objects.select_for_update(no_key=True).get(pk=response.run_id)
        locked_slots(response.pk)
        row = Response.objects.select_for_update(of=("self",)).select_related("run__wave")
        found = row.get(pk=response.pk)
        if found.run.wave.ratings_frozen_at is not None:
            raise Refused("Rating has closed. What raters saw stays as it was.")
        if _shut([found.pk]):
            raise Refused(
                "Somebody has this response already. What raters see of it stays as it is."
            )
        Response.objects.filter(pk=found.pk).update(
            mask=[list(span) for span in spans], mask_decided_at=now
        )
        log(EventKind.MASK, person.pk, response=found.code, names=len(spans))
        open_slots([found.pk])


def _shut(responses: Sequence[int]) -> set[int]:
    """Those that somebody has rated, or holds, or that a judge is given."""
    rated = Rating.objects.filter(response__in=responses).values_list("response", flat=True)
    held = Assignment.objects.filter(response__in=responses, ended_at=None)
    judged = Judgement.objects.filter(response__in=responses).values_list("response", flat=True)
    return {*rated, *held.values_list("response", flat=True), *judged}


def _pieces(response: Response) -> tuple[Piece, ...]:
    """The words about the names, in parts, of which some are the names."""
    text, spans = response.text, places_of(response)
    if not spans:
        return ()
    pieces: list[Piece] = []
    at = max(spans[0][0] - AROUND, 0)
    if at:
        pieces.append(Piece("… ", False))
    for start, end in spans:
        if start - at > 2 * AROUND:
            pieces += [Piece(text[at : at + AROUND] + " … ", False)]
            at = start - AROUND
        pieces += [Piece(text[at:start], False), Piece(text[start:end], True)]
        at = end
    last = text[at : at + AROUND]
    pieces.append(Piece(last + (" …" if at + AROUND < len(text) else ""), False))
    return tuple(piece for piece in pieces if piece.text)
