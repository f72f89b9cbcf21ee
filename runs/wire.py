"""One attempt over the wire: what may go wrong with it, and how long and how much it may take."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from runs.replies import LARGEST_REPLY, short

CONNECT_SECONDS = 10.0


class Trouble(Exception):
    """An attempt that brought no reply: what kind of trouble, and the provider's own words."""

    def __init__(self, kind: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after


class RunStopped(Exception):
    """Trouble that no other trial of the run would escape: a key, a quota, a wrong request."""

    def __init__(self, reason: str, attempts: tuple[dict[str, Any], ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.attempts = attempts


def limits_of_time(attempt: float, idle: float) -> httpx2.Timeout:
    """How long one attempt may take: to connect, and from one byte to the next.

    The attempt as a whole is held to its time by whoever makes it, so that a server that sends a
    byte now and then cannot hold it for ever.
    """
    return httpx2.Timeout(
        None, connect=min(CONNECT_SECONDS, attempt), read=idle if idle < attempt else None
    )


def client_arguments() -> dict[str, Any]:
    """For a client of ``httpx2``: whoever is asked answers itself, in as many bytes as we read."""
    return {
        "follow_redirects": False,
        "limits": httpx2.Limits(max_connections=None, max_keepalive_connections=256),
        "headers": {"Accept-Encoding": "identity"},
        "event_hooks": {"response": [read_no_more_than_a_reply]},
    }


async def read_no_more_than_a_reply(response: httpx2.Response) -> None:
    # Unasked-for compression is not undone: a small body could unfold to any size.
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """A stream that ends once it has given more than a reply may hold."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            yield part
            if size > LARGEST_REPLY:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


def retry_after(headers: httpx2.Headers, now: datetime | None = None) -> float | None:
    """The seconds a provider asks to wait, said in seconds or as a date; None if it asks nothing."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            when = parsedate_to_datetime(said)
        except (ValueError, TypeError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max((when - (now or datetime.now(UTC))).total_seconds(), 0.0)
    return seconds if seconds >= 0 else None


def without_key(words: str, key: str) -> str:
    """Words of a provider without the key that some repeat, cut to what a row holds."""
    return short(words.replace(key, "…") if key else words, 300)
