"""What a local runtime says of the model it serves, from which its digest is read.

========== ==================== ==========================================================
runtime    asked                the digest
========== ==================== ==========================================================
ollama     ``/api/tags``        that of the model's manifest, 64 hexadecimal digits
llama.cpp  ``/props``           ``said:`` and a hash of the model's path, build and template
vllm       ``/v1/models``       ``said:`` and a hash of the model's name, root and length
========== ==================== ==========================================================

Only Ollama names a hash of the weights. Of the other two we hash what they say of themselves: it
notices another file, another build or another model, and not a file overwritten under its name.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Protocol

import httpx2

from runs.canonical import digest
from runs.prompts import Message
from runs.replies import Reply, short
from runs.wire import RunStopped, Trouble, client_arguments, limits_of_time

PATHS = {"ollama": "/api/tags", "llama.cpp": "/props", "vllm": "/v1/models"}
EVERY = 50  # calls
SECONDS = 10.0
TRIES = 3
LONGEST = 100  # characters of what a runtime says, in a row or a message


class NoDigest(ValueError):
    """A runtime that does not say what it serves, with the reason."""


def digest_in(runtime: str, snapshot: str, said: Any) -> str:
    """The digest of a model in what its runtime answered.

    Raises
    ------
    NoDigest
        If the answer names no such model, or says nothing that would tell it from another.
    """
    try:
        if runtime == "ollama":
            return _of_ollama(snapshot, said["models"])
        if runtime == "vllm":
            return _of_vllm(snapshot, said["data"])
        told = {key: said.get(key) for key in ("model_path", "build_info", "chat_template")}
    except (KeyError, TypeError, AttributeError):
        raise NoDigest(f"{runtime} answered something else than {PATHS[runtime]} does.") from None
    if not told["model_path"]:
        raise NoDigest("llama.cpp does not say which file it serves.")
    return f"said:{digest(told)}"


def _of_ollama(snapshot: str, models: Any) -> str:
    served = {str(row.get("name")): str(row.get("digest") or "") for row in models}
    # A name without a tag is the tag "latest" there.
    found = served.get(snapshot) or served.get(f"{snapshot}:latest")
    if not found:
        raise NoDigest(f"Ollama serves no {snapshot}; it serves: {_names(served)}.")
    return short(found, LONGEST).removeprefix("sha256:")


def _of_vllm(snapshot: str, models: Any) -> str:
    served = {str(row.get("id")): row for row in models}
    if snapshot not in served:
        raise NoDigest(f"vLLM serves no {snapshot}; it serves: {_names(served)}.")
    return f"said:{digest({key: served[snapshot].get(key) for key in ('id', 'root', 'max_model_len')})}"


def _names(served: dict[str, Any]) -> str:
    return ", ".join(short(name, LONGEST) for name in sorted(served)[:20]) or "nothing"


async def read_digest(runtime: str, base_url: str, snapshot: str) -> str:
    """Ask a runtime for the digest of what it serves now. Raises ``NoDigest`` and ``Trouble``."""
    address = base_url.rstrip("/").removesuffix("/v1") + PATHS[runtime]
    async with httpx2.AsyncClient(
        timeout=limits_of_time(SECONDS, SECONDS), **client_arguments()
    ) as client:
        try:
            async with asyncio.timeout(SECONDS):
                answer = await client.get(address)
            if answer.status_code != 200:
                raise Trouble("server", f"{runtime} answered {answer.status_code} to {address}")
            return digest_in(runtime, snapshot, json.loads(answer.content))
        except TimeoutError:
            raise Trouble("timeout", f"{runtime} said nothing within {SECONDS:g} s") from None
        except RecursionError:
            raise NoDigest(
                f"{runtime} answered something else than {PATHS[runtime]} does."
            ) from None
        except NoDigest:
            raise
        except (httpx2.HTTPError, ValueError) as why:
            raise Trouble("network", f"{runtime}: {str(why) or type(why).__name__}") from None


class Asks(Protocol):
    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply: ...

    async def close(self) -> None: ...


class Verified:
    """A provider whose runtime is asked for its digest before the first call and every 50 calls."""

    def __init__(
        self, provider: Asks, *, runtime: str, base_url: str, snapshot: str, registered: str
    ) -> None:
        self._provider = provider
        self._where = (runtime, base_url, snapshot)
        self._registered = registered
        self._calls = 0
        self._turn = asyncio.Lock()

    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        # All wait while one asks for the digest, so that none goes to a model that is another.
        async with self._turn:
            if self._calls % EVERY == 0:
                await self._verify()
            self._calls += 1
        return await self._provider.ask_once(messages, seed)

    async def close(self) -> None:
        await self._provider.close()

    async def _verify(self) -> None:
        for left in reversed(range(TRIES)):
            try:
                found = await read_digest(*self._where)
                break
            except NoDigest as why:
                raise RunStopped(f"The digest cannot be verified: {why}") from None
            except Trouble as why:
                if not left:
                    raise RunStopped(f"The digest cannot be verified: {why.detail}.") from None
                await asyncio.sleep(0.2)
        if found != self._registered:
            since = f"; the {EVERY} calls before this one may have met it" if self._calls else ""
            raise RunStopped(
                f"{self._where[0]} now serves {self._where[2]} with digest {found}, and the subject "
                f"is registered with {self._registered}{since}. What it serves now is another "
                "subject: register it as a successor, or serve the registered one again."
            )
