"""All that a subject is sent: one fresh conversation for each trial, and nothing else."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypedDict

from runs.canonical import digest


class Message(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


def messages_for(
    system_message: str, turns: Iterable[Mapping[str, str]], prompt: str
) -> list[Message]:
    """The messages of one trial: the last is a user turn that is exactly the prompt."""
    messages: list[Message] = []
    if system_message:
        messages.append({"role": "system", "content": system_message})
    for turn in turns:
        role: Literal["user", "assistant"] = "assistant" if turn["role"] == "assistant" else "user"
        messages.append({"role": role, "content": turn["content"]})
    messages.append({"role": "user", "content": prompt})
    return messages


def message_hash(messages: list[Message]) -> str:
    """What ties a reply to the very messages it answers."""
    return digest(messages)


def without_sent(words: str, messages: Sequence[Message], least: int = 24) -> str:
    """Words of a provider, rid of what it repeats of the messages: they go into logs and pages.

    Whatever stands in them for ``least`` characters on end as it was sent is cut; so is a shorter
    message as a whole, from 8 characters on.
    """
    sent = {message["content"] for message in messages}
    sent |= {json.dumps(text)[1:-1] for text in sent}
    sent |= {json.dumps(text, ensure_ascii=False)[1:-1] for text in sent}
    cut = bytearray(len(words))
    for text in sent:
        size = min(len(text), least)
        if size < 8:
            continue
        for at in range(len(words) - size + 1):
            if words[at : at + size] in text:
                cut[at : at + size] = b"\x01" * size
    kept = (
        "" if gone and at and cut[at - 1] else "…" if gone else words[at]
        for at, gone in enumerate(cut)
    )
    return "".join(kept)
