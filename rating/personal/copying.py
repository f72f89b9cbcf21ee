"""A copy of everything that is held of a person, as JSON, made row by row.

Whoever still rates gets their own copy without the levels they gave: some cards come to a rater
again to see whether they choose alike, and their own earlier level would decide that. It says so,
and says how to get the rest. Neither copy names a model, a run or a wave.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final
from uuid import UUID

from django.apps import apps
from django.contrib.sessions.models import Session
from django.db.models import F, QuerySet

from rating.models import (
    Adjudication,
    Assignment,
    Conflict,
    Draft,
    Event,
    EventKind,
    Exposure,
    Guess,
    Invitation,
    ItemReview,
    Pause,
    Qualification,
    Quote,
    Rating,
    ReviewHold,
    User,
)
from rating.personal.erasing import is_theirs
from rating.queue.writing import log

CHUNK: Final = 500
WITHOUT_LEVELS: Final = (
    "Left out here: the levels you gave, with their quotes and notes, and your guesses. While you "
    "may rate, seeing them could change what you choose when a response comes to you again. Ask "
    "the person who invited you for them: they can give you the whole copy."
)
ABOUT: Final = (
    "Everything this site holds of the person under this code name. Moments are in UTC. Responses "
    "are named by handles that mean nothing elsewhere."
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """A part of the copy: its name, what it is, its rows, and whether it tells levels."""

    name: str
    about: str
    rows: Callable[[User], Iterator[Row]]
    levels: bool = False


def copy_of(person: User, *, now: datetime, levels: bool = True) -> Iterator[str]:
    """The pieces of one JSON document. ``levels``: with what they found of responses."""
    said = {"about": ABOUT, "made_at": now, **({} if levels else {"left_out": WITHOUT_LEVELS})}
    yield "{\n" + ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in said.items())
    for section in SECTIONS:
        if section.levels and not levels:
            continue
        yield f',\n{_json(section.name)}: {{"about": {_json(section.about)}, "rows": ['
        between = "\n"
        for row in section.rows(person):
            yield between + _json(row)
            between = ",\n"
        yield "]}"
    yield "\n}\n"


def record_copy(person: User, by: User | None) -> None:
    """Put on record that a copy was made. None: at a terminal."""
    log(EventKind.EXPORT, by.pk if by else None, person=person.pseudonym)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"no way to write down a {type(value).__name__}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _of(found: "QuerySet[Any]", *names: str, **more: Any) -> Iterator[Row]:
    rows: Iterator[Row] = found.values(*names, **more).iterator(chunk_size=CHUNK)
    return rows


def _account(person: User) -> Iterator[Row]:
    hidden = {
        "id": "not told: a number",
        "password": "a hash, which nobody can read" if person.has_usable_password() else "none",
        "check_key": "not told: it decides which cards check you",
        "session_salt": "not told: it keeps your sign-ins apart from others",
    }
    row = {
        one.attname: hidden.get(one.attname, getattr(person, one.attname))
        for one in User._meta.concrete_fields
    }
    yield row | {"roles": sorted(person.groups.values_list("name", flat=True))}


def _factors(person: User) -> Iterator[Row]:
    if apps.is_installed("allauth.mfa"):
        found = apps.get_model("mfa", "Authenticator")._base_manager.filter(user=person)
        for kind, made in found.values_list("type", "created_at"):
            yield {"type": kind, "created_at": made, "data": "not told: it is secret"}


def _sessions(person: User) -> Iterator[Row]:
    for one in Session.objects.iterator(chunk_size=CHUNK):
        if is_theirs(one, person.pk):
            yield {"ends_at": one.expire_date}


def _ratings(person: User) -> Iterator[Row]:
    rows = Rating.objects.filter(rater=person).order_by("rated_at", "pk").values(
        "id", "note", "confidence", "critical_harm", "harm_line", "active_seconds", "tags",
        "flags", "withdrawn_at", "rated_at", level=F("anchor__level"), card=F("assignment__code"),
    )  # fmt: skip
    for row in rows.iterator(chunk_size=CHUNK):
        quotes = Quote.objects.filter(rating=row["id"]).order_by("start")
        spans = quotes.values_list("start", "end", "absence", "rating__response__text")
        yield {name: value for name, value in row.items() if name != "id"} | {
            "quotes": [
                {"words": text[start:end], "marks_an_absence": absence}
                for start, end, absence, text in spans
            ]
        }


def _cards(person: User) -> Iterator[Row]:
    return _of(
        Assignment.objects.filter(rater=person).order_by("leased_at", "pk"),
        "code", "leased_at", "expires_at", "ended_at", "outcome", "skip_reason", "skip_note",
    )  # fmt: skip


def _drafts(person: User) -> Iterator[Row]:
    return _of(
        Draft.objects.filter(assignment__rater=person).order_by("pk"),
        "content", "saved_at", card=F("assignment__code"),
    )  # fmt: skip


def _guesses(person: User) -> Iterator[Row]:
    return _of(
        Guess.objects.filter(rating__rater=person).order_by("pk"),
        "maker", "sure", "asked_at", "answered_at", card=F("rating__assignment__code"),
    )  # fmt: skip


def _seen(person: User) -> Iterator[Row]:
    return _of(Exposure.objects.filter(person=person).order_by("pk"), "saw", "seen_at")


def _pauses(person: User) -> Iterator[Row]:
    return _of(
        Pause.objects.filter(person=person).order_by("pk"),
        "reason", "earlier_ratings", "paused_at", "ended_at",
    )  # fmt: skip


def _conflicts(person: User) -> Iterator[Row]:
    return _of(
        Conflict.objects.filter(person=person).order_by("pk"),
        "developer", "item_code", "reason", "declared_at",
    )  # fmt: skip


def _qualifications(person: User) -> Iterator[Row]:
    return _of(
        Qualification.objects.filter(rater=person).order_by("pk"),
        "instrument", "items", "within_one", "exact", "need_within_one", "need_exact", "passed",
        "decided_at",
    )  # fmt: skip


def _reviews(person: User) -> Iterator[Row]:
    return _of(
        ItemReview.objects.filter(reviewer=person).order_by("reviewed_at", "pk"),
        "applicable", "discriminating", "monotonic", "on_construct", "safe_and_accurate", "whys",
        "verdict", "concern", "minutes", "expert", "withdrawn_at", "reviewed_at",
        item_code=F("item__code"),
    )  # fmt: skip


def _holds(person: User) -> Iterator[Row]:
    return _of(
        ReviewHold.objects.filter(reviewer=person).order_by("pk"),
        "code", "leased_at", "ended_at", "outcome", "skip_reason", "skip_note", "draft",
    )  # fmt: skip


def _settled(person: User) -> Iterator[Row]:
    return _of(
        Adjudication.objects.filter(adjudicator=person).order_by("pk"),
        "code", "own_at", "reason", "guideline_gap", "harm_upheld", "settled_at",
        own_level=F("own_anchor__level"), level=F("anchor__level"),
    )  # fmt: skip


def _invitations(person: User) -> Iterator[Row]:
    return _of(
        Invitation.objects.filter(accepted_by=person) | Invitation.objects.filter(email=person.email),
        "email", "roles", "invited_at", "accepted_at",
    )  # fmt: skip


def _log(person: User) -> Iterator[Row]:
    """What they did, by kind and moment. What it was done to is in the other parts."""
    return _of(Event.objects.filter(actor=person).order_by("pk"), "kind", "happened_at")


SECTIONS: Final = (
    Section("account", "The account, and how pages look.", _account),
    Section("second_factor", "What is asked beside the password.", _factors),
    Section("sessions", "Where you are signed in just now.", _sessions),
    Section("invitations", "How you came in.", _invitations),
    Section("cards", "Each response you opened, with your notes on what you skipped.", _cards),
    Section("drafts", "What you put down and have not sent.", _drafts, levels=True),
    Section("ratings", "What you rated, with quotes and notes.", _ratings, levels=True),
    Section("guesses", "Whom you took to have made a response.", _guesses, levels=True),
    Section("qualifications", "Your attempts to qualify.", _qualifications),
    Section("reviews", "Your reviews of items.", _reviews),
    Section("review_cards", "Each item you opened to review it.", _holds),
    Section("settled", "What you settled, or began to.", _settled, levels=True),
    Section("interests", "What you are not given to rate, and why.", _conflicts),
    Section("pauses", "When you were not given work, and what was said of it.", _pauses),
    Section("seen", "Figures and single ratings that you have seen.", _seen),
    Section("log", "What the log says you did, and when.", _log),
)
