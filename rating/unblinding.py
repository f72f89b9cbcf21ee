"""Closing the rating of a wave, and opening afterwards who said what. Every rule of both is here.

Ratings are frozen first: what is open closes, and no rating counts that was not there before.
A local wave is then unblinded by one person, any other by two who agree. Whatever is done is
logged with its reason, and nothing of it is ever taken back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import sleep
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef
from django.utils import timezone

from rating.export import KeyRow
from rating.models import (
    Adjudication,
    Assignment,
    Event,
    EventKind,
    Kind,
    Outcome,
    Rating,
    Slot,
    SlotState,
    Unblinding,
    User,
)
from rating.queue import writing
from runs.models import Response, Run, Status, Wave, WaveKind
from runs.properties import properties_of

# How often it is tried to catch every held card at rest, and how long it waits between.
TRIES = 40
PAUSE_SECONDS = 0.05
CHUNK = 2000  # responses whose texts are read at once


class Refused(ValueError):
    """What cannot be done with a wave now, with the sentence to show."""


class _Moving(Exception):
    """Somebody is sending a card at this very moment."""


@dataclass(frozen=True)
class StillOpen:
    """What freezing would leave undone."""

    pending: int
    unrated: int
    half_rated: int
    held: int
    held_until: datetime | None
    unsettled: int
    undecided_harm: int
    undecided_names: int = 0

    @property
    def any(self) -> bool:
        return bool(
            self.pending
            or self.unrated
            or self.half_rated
            or self.held
            or self.unsettled
            or self.undecided_harm
            or self.undecided_names
        )


@dataclass(frozen=True)
class KeyLine:
    """One subject under one condition, with how much of it came in. No level is among it."""

    subject: str
    condition: str
    responses: int
    rated_twice: int
    ratings: int


# Freezing


def still_open(wave: Wave) -> StillOpen:
    """What is still open in a wave, counted. Responses set aside are not waited for."""
    wanted = Slot.objects.filter(wave=wave, state__in=[SlotState.OPEN, SlotState.HELD])
    lacking = list(
        wanted.order_by().values("response").annotate(n=Count("pk")).values_list("n", flat=True)
    )
    held = _held(wave).aggregate(n=Count("pk"), until=Max("expires_at"))
    counted = Rating.objects.of_wave(wave).counted()
    settled = Adjudication.objects.standing().filter(
        response=OuterRef("response"), settled_at__isnull=False, harm_upheld__isnull=False
    )
    return StillOpen(
        pending=Response.objects.of_wave(wave).filter(status=Status.PENDING).count(),
        unrated=lacking.count(2),
        half_rated=lacking.count(1),
        held=held["n"],
        held_until=held["until"],
        unsettled=Adjudication.objects.standing()
        .filter(response__run__wave=wave, settled_at=None)
        .exclude(triggers=[])
        .count(),
        undecided_harm=counted.filter(~Exists(settled), critical_harm=True)
        .values("response")
        .distinct()
        .count(),
        undecided_names=Response.objects.of_wave(wave).undecided().count(),
    )


def freeze(wave: Wave, by: User, reason: str, *, now: datetime) -> None:
    """Close the rating of a wave for good. Held cards end without loss; what comes late is surplus.

    Raises ``Refused``.
    """
    for _ in range(TRIES):
        try:
            with writing():
                _freeze(wave, by, reason, now)
        except _Moving:
            sleep(PAUSE_SECONDS)
        else:
            return
    raise Refused("Cards are being sent right now, so nothing was frozen. Try again in a moment.")


def close_late(response_ids: Sequence[int], **_: Any) -> None:
    """Close the slots of replies that came after the ratings of their wave were frozen."""
    Slot.objects.filter(
        response__in=response_ids, state=SlotState.OPEN, wave__ratings_frozen_at__isnull=False
    ).update(state=SlotState.CLOSED)


# Unblinding


def request_of(wave: Wave) -> Unblinding | None:
    """The request that stands: waiting for a second person, or agreed."""
    return (
        Unblinding.objects.standing()
        .filter(wave=wave)
        .select_related("asked_by", "agreed_by")
        .first()
    )


def unblind_alone(wave: Wave, by: User, reason: str, *, now: datetime) -> None:
    """Unblind a local wave. Raises ``Refused``."""
    with writing():
        found = _frozen(wave)
        if found.kind != WaveKind.LOCAL:
            raise Refused(f"A wave of kind {found.kind} is unblinded by two people who agree.")
        _open(found, now)
        _log(EventKind.UNBLIND, by, wave=found.code, step="alone", reason=_given(reason))


def ask(wave: Wave, by: User, reason: str, *, now: datetime) -> Unblinding:
    """Ask for a wave to be unblinded, as the first of two. Raises ``Refused``."""
    with writing():
        found = _frozen(wave)
        if found.kind == WaveKind.LOCAL:
            raise Refused("A local wave is unblinded by one person: there is nobody to ask.")
        if standing := request_of(found):
            raise Refused(f"{standing.asked_by} has asked already. A second person may agree.")
        request = Unblinding.objects.create(
            wave=found, asked_by=by, reason=_given(reason), asked_at=now
        )
        _log(EventKind.UNBLIND, by, wave=found.code, step="asked", reason=reason)
        return request


def agree(wave: Wave, by: User, reason: str, *, now: datetime) -> None:
    """Agree as the second of two people, which unblinds the wave. Raises ``Refused``."""
    with writing():
        found = _frozen(wave)
        request = request_of(found)
        if request is None:
            raise Refused("The request was taken back, so there is nothing to agree to.")
        if request.asked_by_id == by.pk:
            raise Refused("You asked for it yourself. Somebody else must agree.")
        request.agreed_by, request.agreed_reason, request.agreed_at = by, _given(reason), now
        request.save(update_fields=["agreed_by", "agreed_reason", "agreed_at"])
        _open(found, now)
        _log(EventKind.UNBLIND, by, wave=found.code, step="agreed", reason=reason)


def take_back(wave: Wave, by: User, *, now: datetime) -> None:
    """Take one's own request back, before anybody has agreed. Raises ``Refused``."""
    with writing():
        found = _frozen(wave)
        request = request_of(found)
        if request is None or request.asked_by_id != by.pk:
            raise Refused("There is no request of yours to take back.")
        request.taken_back_at = now
        request.save(update_fields=["taken_back_at"])
        _log(EventKind.UNBLIND, by, wave=found.code, step="taken back")


# The key


def key_lines(wave: Wave) -> list[KeyLine]:
    """Each subject and condition from A to Z, with counts alone."""
    came = dict(
        Response.objects.of_wave(wave)
        .filter(status=Status.COMPLETED)
        .order_by()
        .values_list("run")
        .annotate(came=Count("*"))
    )
    # A response has two counted ratings at most, so those beyond the first of each are its second.
    rated = {
        run: (ratings - responses, ratings)
        for run, ratings, responses in Rating.objects.of_wave(wave)
        .counted()
        .order_by()
        .values_list("response__run")
        .annotate(ratings=Count("*"), responses=Count("response", distinct=True))
    }
    return [
        KeyLine(run.subject.code, run.condition, came.get(run.pk, 0), *rated.get(run.pk, (0, 0)))
        for run in Run.objects.filter(wave=wave)
        .select_related("subject")
        .order_by("subject__code", "condition")
    ]


def key_rows(wave: Wave) -> Iterator[KeyRow]:
    """What every completed response is and is like, by its random code.

    In the order of the codes, which says nothing. Of many, texts are read some at a time.
    """
    completed = Response.objects.of_wave(wave).filter(status=Status.COMPLETED)
    in_order = list(completed.order_by("code").values_list("pk", flat=True))
    for start in range(0, len(in_order), CHUNK):
        part = in_order[start : start + CHUNK]
        rows = Response.objects.filter(pk__in=part).order_by("code")
        for (
            code,
            subject,
            condition,
            item,
            trial,
            text,
            reason,
            asked,
            language,
        ) in rows.values_list(
            "code",
            "run__subject__code",
            "run__condition",
            "item__code",
            "trial",
            "text",
            "finish_reason",
            "item__prompt",
            "item__language",
        ):
            like = properties_of(text, reason, asked=asked, language=language)
            yield KeyRow(str(code), subject, condition, item, trial, like)


# What the steps are made of


def _held(wave: Wave) -> Any:
    """The cards of a wave in somebody's hands: to be counted, or had once before."""
    return Assignment.objects.live().filter(
        response__run__wave=wave, kind__in=[Kind.COUNTED, Kind.REPEAT]
    )


def _freeze(wave: Wave, by: User, reason: str, now: datetime) -> None:
    found = _locked(wave)
    if found.locked_at is None:
        raise Refused("The plan of this wave is not locked yet, so there is nothing to freeze.")
    if found.ratings_frozen_at:
        raise Refused(f"Ratings were frozen already, at {_when(found.ratings_frozen_at)}.")
    left = still_open(found)
    # No reply is stored from here on until this has ended, then it finds the wave frozen.
    list(Run.objects.select_for_update(no_key=True).filter(wave=found).order_by("pk"))
    # Slots before cards, the other way round than a rater takes them: so a card that is being
    # sent is never waited for, which could last for ever, but let through by starting again.
    list(
        Slot.objects.select_for_update()
        .filter(wave=found)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    held = _held(found)
    caught = list(
        held.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True)
    )
    if len(caught) < held.count():
        raise _Moving
    Assignment.objects.filter(pk__in=caught).update(
        ended_at=now, outcome=Outcome.EXPIRED, parked=False
    )
    Slot.objects.filter(wave=found, state__in=[SlotState.OPEN, SlotState.HELD]).update(
        state=SlotState.CLOSED
    )
    Wave.objects.filter(pk=found.pk).update(ratings_frozen_at=now)
    _log(
        EventKind.FREEZE,
        by,
        wave=found.code,
        reason=_given(reason),
        pending=left.pending,
        unrated=left.unrated,
        half_rated=left.half_rated,
        held=len(caught),
        unsettled=left.unsettled,
        undecided_harm=left.undecided_harm,
    )


def _locked(wave: Wave) -> Wave:
    # Rows that refer to the wave go on being written meanwhile.
    return Wave.objects.select_for_update(no_key=True).get(pk=wave.pk)


def _frozen(wave: Wave) -> Wave:
    """The wave, locked, if it may be unblinded."""
    found = _locked(wave)
    if found.ratings_frozen_at is None:
        raise Refused("Ratings come first: freeze them, then the wave can be unblinded.")
    if found.unblinded_at:
        raise Refused(f"This wave was unblinded already, at {_when(found.unblinded_at)}.")
    return found


def _open(wave: Wave, now: datetime) -> None:
    Wave.objects.filter(pk=wave.pk).update(unblinded_at=now)


def _given(reason: str) -> str:
    if not reason.strip():
        raise Refused("Say why, in a few words.")
    return reason.strip()


def _when(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%H:%M on %-d %B %Y}"


def _log(kind: EventKind, actor: User, /, **about: object) -> None:
    Event.objects.create(
        kind=kind, actor=actor, about={name: str(value) for name, value in about.items()}
    )
