"""A service that speaks Anthropic's messages protocol.

Sent over the same client as everything else: the protocol is one request, and its own package would
add a second client beside the one that is here. There is no seed in it, so none is sent.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx2

from runs.prompts import Message
from runs.replies import Reply, read_messages_reply
from runs.wire import Trouble, client_arguments, limits_of_time, retry_after, without_key

ADDRESS = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
SENT = ("temperature", "top_p", "max_tokens")


class AnthropicProvider:
    """Asks one snapshot; ``key`` goes into a header and nowhere else."""

    def __init__(
        self,
        snapshot: str,
        base_url: str,
        sampling: dict[str, Any],
        *,
        key: str,
        attempt: float,
        idle: float,
    ) -> None:
        self._key = key
        self._snapshot = snapshot
        self._sampling = {name: sampling[name] for name in SENT if name in sampling}
        self._attempt, self._idle = attempt, idle
        self._url = f"{(base_url or ADDRESS).rstrip('/')}/messages"
        arguments = client_arguments()
        arguments["headers"] |= {"anthropic-version": VERSION, "x-api-key": key or "none needed"}
        self._client = httpx2.AsyncClient(timeout=limits_of_time(attempt, idle), **arguments)

    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        try:
            async with asyncio.timeout(self._attempt):
                answer = await self._client.post(self._url, json=self._body(messages))
        except TimeoutError:
            raise Trouble("timeout", f"no reply within {self._attempt:g} s") from None
        except httpx2.ReadTimeout:
            raise Trouble("timeout", f"nothing came for {self._idle:g} s") from None
        except (httpx2.HTTPError, ValueError) as why:
            words = without_key(str(why) or type(why).__name__, self._key)
            raise Trouble("network", words) from None
        if answer.status_code != 200:
            raise self._trouble(answer)
        return read_messages_reply(answer.content)

    async def close(self) -> None:
        await self._client.aclose()

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        system = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
        said = [dict(one) for one in messages if one["role"] != "system"]
        body = {"model": self._snapshot, "messages": said, **self._sampling}
        return body | ({"system": system} if system else {})

    def _trouble(self, answer: httpx2.Response) -> Trouble:
        status, said = answer.status_code, ""
        try:
            error = json.loads(answer.content)["error"]
            kind, said = str(error.get("type", "")), str(error.get("message", ""))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            kind = ""
        words = without_key(said or kind or "no reason given", self._key)
        detail = f"{status}: {words}"
        wait = retry_after(answer.headers)
        if status == 429 or kind == "rate_limit_error":
            return Trouble("rate_limit", detail, wait)
        if status == 408:
            return Trouble("timeout", detail, wait)
        # 529 is how it says that it has too much to do.
        if status >= 500 or status == 409 or kind in ("overloaded_error", "api_error"):
            return Trouble("server", detail, wait)
        return Trouble("stop", detail)
