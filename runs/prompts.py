"""All that a subject is sent: one fresh conversation for each trial, and nothing else."""

from collections.abc import Iterable, Mapping
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
