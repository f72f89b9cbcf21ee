"""Tokens: counted by a stated rule where nobody reports them, and those that a trial was paid for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs.prompts import Message

ANSWERED = ("completed", "empty", "filtered", "malformed")
LETTERS_A_TOKEN = 4
FRAMING = 4  # tokens around each message
LAST_LATIN = "\u024f"


def count_tokens(text: str) -> int:
    """One token for four letters of a Latin script, and one for each letter of any other."""
    latin = sum(letter <= LAST_LATIN for letter in text)
    return -(-latin // LETTERS_A_TOKEN) + len(text) - latin


def tokens_sent(messages: Iterable[Message]) -> int:
    """What a conversation takes to send, by that rule."""
    return sum(FRAMING + count_tokens(message["content"]) for message in messages)


def tokens_paid(
    attempts: Sequence[Mapping[str, Any]],
    messages: Iterable[Message],
    *,
    text: str = "",
    usage: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The tokens paid for in a trial, ``in`` (sent) and ``out`` (received), with its retries.

    Parameters
    ----------
    attempts
        The record of each attempt, with its ``outcome`` and, where one is known, its ``usage``.
    messages
        What was sent in each.
    text, usage
        The last reply, and what the provider reported of it.

    Each attempt as the provider reports it. One that was answered without a report was sent what
    the others were; where there is no report at all, both are counted by the rule of estimates.
    """
    told = [attempt["usage"] for attempt in attempts if attempt.get("usage")]
    answered = sum(attempt["outcome"] in ANSWERED for attempt in attempts)
    if not told and answered:
        by_rule = {"prompt_tokens": tokens_sent(messages), "completion_tokens": count_tokens(text)}
        told = [usage or by_rule]
    if told:
        sent_alike = {"prompt_tokens": told[-1].get("prompt_tokens", 0)}
        told += [sent_alike] * (answered - len(told))
    return {
        "in": sum(one.get("prompt_tokens", 0) for one in told),
        "out": sum(one.get("completion_tokens", 0) for one in told),
    }
