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


# Why a reply of Anthropic's ended, in the words of chat completions. Others stay as they are.
ENDED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def read_messages_reply(body: bytes) -> Reply:
    """What a reply of Anthropic's messages protocol says, as ``read_reply`` does.

    Its text blocks are the text; what a model thought before it spoke is no part of the reply.
    ``refusal`` is said by a filter beside the model: a refusal that the model writes ends like any
    other reply. The name of the model that answered stands in for a fingerprint.
    """
    if len(body) > LARGEST_REPLY:
        return malformed(body, f"more than {LARGEST_REPLY:,} bytes")
    try:
        data = json.loads(body.decode("utf-8", "strict"))
        blocks = [block for block in data["content"] if block["type"] == "text"]
        text = "".join(block["text"] for block in blocks)
        ended, used = data.get("stop_reason"), data.get("usage")
    except UnicodeDecodeError:
        return malformed(body, "not UTF-8 text")
    except RecursionError:
        return malformed(body, "nested too deeply")
    except ValueError:
        return malformed(body, "not JSON")
    except (KeyError, TypeError, AttributeError):
        return malformed(body, "no message in it")
    finish_reason = ENDED.get(ended, short(ended, 50)) if isinstance(ended, str) else ""
    told: dict[str, Any] = {
        "finish_reason": finish_reason,
        "fingerprint": short(data.get("model"), 200),
        "usage": _messages_counts(used),
    }
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


def _messages_counts(usage: Any) -> dict[str, int]:
    """The counts under the names that chat completions give them."""
    if not isinstance(usage, dict):
        return {}
    sent, said = usage.get("input_tokens"), usage.get("output_tokens")
    both = sent + said if type(sent) is int and type(said) is int else None
    return _counts({"prompt_tokens": sent, "completion_tokens": said, "total_tokens": both})
