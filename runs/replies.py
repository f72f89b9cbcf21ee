"""What came back for one trial. What a provider sends is hostile until it has been read here."""

import json
from dataclasses import dataclass, field
from typing import Any

from runs.canonical import NOT_TEXT

LARGEST_REPLY = 1_000_000
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True)
class Reply:
    """The end of one trial: ``status`` as stored, the text verbatim, and how it was got."""

    status: str
    text: str = ""
    raw: bytes | None = None
    finish_reason: str = ""
    fingerprint: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    detail: str = ""
    attempts: tuple[dict[str, Any], ...] = ()


def read_reply(body: bytes) -> Reply:
    """What a chat completion says: completed, filtered, malformed, or failed when it is empty.

    The bytes of a malformed reply are kept as they came.
    """
    if len(body) > LARGEST_REPLY:
        return malformed(body, f"more than {LARGEST_REPLY:,} bytes")
    try:
        data = json.loads(body.decode("utf-8", "strict"))
        choice = data["choices"][0]
        message = choice["message"]
        content = message["content"] if message.get("content") else message.get("refusal")
    except UnicodeDecodeError:
        return malformed(body, "not UTF-8 text")
    except RecursionError:
        return malformed(body, "nested too deeply")
    except ValueError:
        return malformed(body, "not JSON")
    except (KeyError, IndexError, TypeError, AttributeError):
        return malformed(body, "no message in it")
    finish_reason = short(choice.get("finish_reason"), 50)
    if content is not None and not isinstance(content, str):
        return malformed(body, "its content is not a text")
    told: dict[str, Any] = {
        "finish_reason": finish_reason,
        "fingerprint": short(data.get("system_fingerprint"), 200),
        "usage": _counts(data.get("usage")),
    }
    text = content or ""
    if bad := NOT_TEXT.search(text):
        return malformed(body, f"holds {bad.group()!r}, which is no text", **told)
    if finish_reason == "content_filter":
        return Reply("filtered", text=text, detail="the provider's filter", **told)
    if not text.strip():
        return Reply("failed", detail="empty", **told)
    return Reply("completed", text=text, **told)


def malformed(body: bytes, detail: str, **told: Any) -> Reply:
    """A reply that is counted and never rated."""
    return Reply("malformed", raw=body[:LARGEST_REPLY], detail=detail, **told)


def short(value: Any, most: int) -> str:
    """A text from outside, cut and rid of what no table can hold; empty if it is no text."""
    return NOT_TEXT.sub("\ufffd", value)[:most] if isinstance(value, str) else ""


def _counts(usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    return {
        key: usage[key] for key in COUNTS if type(usage.get(key)) is int and 0 <= usage[key] < 2**31
    }
