"""Tokens counted by a stated rule, where nobody reports them: before a run, and for a silent server."""

from collections.abc import Iterable

from runs.prompts import Message

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
