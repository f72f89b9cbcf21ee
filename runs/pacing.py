"""How many calls of a subject may begin, and when, so that all workers together keep its limits.

A limit of so many a minute is kept as one moment: when the next is within it. Whoever takes some
moves that moment on by their share, under a lock. So a worker that is killed gives nothing back and
takes nothing twice, and nobody has to count what happened in the last minute.

What is only guessed beforehand is put right afterwards: an attempt beyond the first, and how many
tokens a reply really took.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.conf import settings

from runs.models import Subject, SubjectLimit
from runs.prompts import Message

AHEAD = timedelta(seconds=2)  # no longer than this does a call wait in a worker's hands
CHARACTERS_A_TOKEN = 4
USUAL_REPLY = 1000  # tokens, where no most is set
MINUTE = timedelta(minutes=1)


def moments(
    costs: Sequence[int], a_minute: int | None, free_at: datetime, now: datetime
) -> tuple[list[datetime], datetime]:
    """When each of these may begin, as far as that is within ``AHEAD``; and when the next is free.

    ``costs`` are what each takes of a limit of ``a_minute``, one after the other.
    """
    if a_minute is None:
        return [now] * len(costs), free_at
    found: list[datetime] = []
    at = max(now, free_at)
    for cost in costs:
        if at > now + AHEAD:
            break
        found.append(at)
        at += MINUTE * cost / a_minute
    return found, at if found else free_at


def tokens_of(messages: Sequence[Message], sampling: Mapping[str, Any]) -> int:
    """How many tokens a call may take, guessed from its length before it is made."""
    sent = sum(len(message["content"]) for message in messages) // CHARACTERS_A_TOKEN
    most = sampling.get("max_tokens") or sampling.get("max_completion_tokens") or USUAL_REPLY
    return sent + int(most)


def tokens_beyond(attempts: Sequence[Mapping[str, Any]], guessed: int) -> int:
    """How many tokens a trial took beyond (or below) its guess, by what was reported of each attempt."""
    told = [attempt["usage"].get("total_tokens") for attempt in attempts if attempt.get("usage")]
    counted = [total for total in told if total is not None]
    return sum(counted) - guessed if counted else 0


class OfSubject(Protocol):
    """Whatever is asked of a subject: a run of it, or the judge that it is."""

    subject_id: int


def locked_limit(asked: OfSubject) -> SubjectLimit:
    """The limits of a subject. Nobody else counts its calls until this transaction ends."""
    subject = (
        Subject.objects.select_for_update(no_key=True, of=("self",))
        .select_related("limit")
        .get(pk=asked.subject_id)
    )
    return getattr(subject, "limit", None) or SubjectLimit(subject=subject)


def in_flight_of(limit: SubjectLimit | None) -> int:
    """How many calls of a subject may be on their way at once."""
    return (limit and limit.in_flight) or settings.ASK_IN_FLIGHT


def limit_of(asked: OfSubject) -> SubjectLimit | None:
    return SubjectLimit.objects.filter(subject_id=asked.subject_id).first()


def take(limit: SubjectLimit, tokens: Sequence[int], now: datetime) -> list[datetime]:
    """The moments at which the first of these calls may begin; their share of the limit is taken.

    ``tokens`` is what each may take. Those that would have to wait for too long are left out.
    """
    if limit.pk is None:
        return [now] * len(tokens)
    begin, free = moments([1] * len(tokens), limit.requests_a_minute, limit.requests_free_at, now)
    paid, paid_until = moments(
        tokens[: len(begin)], limit.tokens_a_minute, limit.tokens_free_at, now
    )
    if len(paid) < len(begin):
        begin, free = moments([1] * len(paid), limit.requests_a_minute, limit.requests_free_at, now)
    limit.requests_free_at, limit.tokens_free_at = free, paid_until
    if begin:
        limit.save(update_fields=["requests_free_at", "tokens_free_at"])
    return [max(pair) for pair in zip(begin, paid, strict=True)]


def paces(asked: OfSubject) -> bool:
    """Whether a limit of its subject says when it may be asked.

    Not whether it does so now: a moment later it may not, and whoever waited would be gone.
    """
    limit = limit_of(asked)
    return limit is not None and bool(limit.requests_a_minute or limit.tokens_a_minute)


def settle(limit: SubjectLimit, *, extra_requests: int, extra_tokens: int, now: datetime) -> None:
    """Put right what was guessed: attempts beyond the first, tokens beyond (or below) the guess."""
    if not extra_requests and not extra_tokens:
        return
    limit = SubjectLimit.objects.select_for_update().get(pk=limit.pk)
    if limit.requests_a_minute:
        free = max(limit.requests_free_at, now)
        limit.requests_free_at = free + MINUTE * extra_requests / limit.requests_a_minute
    if limit.tokens_a_minute:
        free = max(limit.tokens_free_at, now)
        limit.tokens_free_at = free + MINUTE * extra_tokens / limit.tokens_a_minute
    limit.save(update_fields=["requests_free_at", "tokens_free_at"])
