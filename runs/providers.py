"""Asking a subject: the one module that opens a connection."""

import asyncio
import json
import logging
import os
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import cycle
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

import httpx2
import openai
from django.conf import settings
from django.utils import timezone

from runs.anthropic_api import AnthropicProvider
from runs.canonical import draw
from runs.models import Provider as ProviderName
from runs.models import Subject, SubjectLimit
from runs.pacing import in_flight_of
from runs.plan import retry_seed
from runs.plan_file import on_loopback
from runs.prompts import Message, without_sent
from runs.replies import Reply, read_reply
from runs.runtimes import Verified
from runs.wire import (
    RunStopped,
    Trouble,
    client_arguments,
    limits_of_time,
    retry_after,
    without_key,
)

log = logging.getLogger(__name__)
logging.getLogger("httpx2").setLevel(logging.WARNING)  # else a line for every call
T = TypeVar("T")

# How often a trial is asked in all, by what went wrong. What is not here is not asked again.
ATTEMPTS = {"rate_limit": 4, "timeout": 3, "server": 3, "network": 3, "empty": 3}
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
LONGEST_RETRY_AFTER = 120.0
CONNECTIONS = 32  # of one client; beyond them another is added
SENT = ("temperature", "top_p", "max_tokens", "max_completion_tokens")
QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
FILTER_CODES = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}


class Provider(Protocol):
    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        """What the subject says to these messages, in one attempt. Raises ``Trouble``."""

    async def close(self) -> None:
        """Give back what it holds open."""


@dataclass(frozen=True)
class Question:
    """One trial: all that is sent, the seed of its first attempt, and when it may begin."""

    messages: tuple[Message, ...]
    seed: int
    begins_at: datetime | None = None


async def ask(
    provider: Provider,
    question: Question,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    now: Callable[[], datetime] = timezone.now,
) -> Reply:
    """The subject's reply, asked again where that may help, with a record of each attempt.

    Raises
    ------
    RunStopped
        If no other trial could fare better.
    """
    attempts: list[dict[str, Any]] = []
    met: Counter[str] = Counter()
    if question.begins_at and (early := (question.begins_at - now()).total_seconds()) > 0:
        await sleep(early)
    while True:
        seed = retry_seed(question.seed, len(attempts))
        at = now().isoformat()
        retry_after = None
        try:
            reply = await provider.ask_once(question.messages, seed)
            empty = reply.status == "failed"
            kind, detail = "empty" if empty else reply.status, reply.detail
        except Trouble as why:
            reply = Reply("filtered" if why.kind == "filtered" else "failed", detail=why.detail)
            kind, detail, retry_after = why.kind, why.detail, why.retry_after
        except RunStopped as why:
            raise RunStopped(why.reason, tuple(attempts)) from None
        detail = without_sent(detail, question.messages)
        attempt = {"outcome": kind, "detail": detail, "at": at, "seed": seed}
        # An empty reply is paid for too, and the next attempt says nothing of it.
        attempts.append({**attempt, "usage": reply.usage} if reply.usage else attempt)
        if kind == "stop":
            raise RunStopped(detail, tuple(attempts))
        met[kind] += 1
        if kind not in ATTEMPTS or met[kind] >= ATTEMPTS[kind]:
            return replace(reply, attempts=tuple(attempts))
        await sleep(pause_before_retry(seed, met[kind], retry_after))


def pause_before_retry(seed: int, tries: int, retry_after: float | None = None) -> float:
    """Seconds to wait: what the provider asked for, else a full jitter that grows with each try."""
    if retry_after is not None:
        return min(retry_after, LONGEST_RETRY_AFTER)
    longest = min(FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT)
    return longest * (int.from_bytes(draw(str(seed), "pause")[:8], "big") / 2**64)


def provider_for(subject: Subject) -> Provider:
    """Who answers for a subject. Raises ``RunStopped`` where it cannot be asked."""
    if subject.provider == ProviderName.DEMO:
        return DemoProvider()
    if subject.provider == ProviderName.IMPORT:
        raise RunStopped(f"{subject} is not asked: its responses are imported.")
    if missing := missing_key(subject):
        raise RunStopped(f"{missing} Then start the wave again.")
    limit = SubjectLimit.objects.filter(subject=subject).first()
    attempt, idle = times_of(limit)
    asks = AnthropicProvider if subject.provider == ProviderName.ANTHROPIC else OpenAIProvider
    provider = InTurn(
        [
            asks(
                subject.snapshot,
                subject.base_url,
                subject.sampling,
                key=_key_of(subject),
                attempt=attempt,
                idle=idle,
            )
            for _ in range(-(-in_flight_of(limit) // CONNECTIONS))
        ]
    )
    if not subject.runtime:
        return provider
    return Verified(
        provider,
        runtime=subject.runtime,
        base_url=subject.base_url,
        snapshot=subject.snapshot,
        registered=subject.digest,
    )


def times_of(limit: SubjectLimit | None) -> tuple[float, float]:
    """The seconds that an attempt may take, and may pass without a byte."""
    attempt = (limit and limit.attempt_seconds) or float(settings.ASK_TIMEOUT_SECONDS)
    idle = (limit and limit.idle_seconds) or float(settings.ASK_IDLE_SECONDS)
    return attempt, idle


def missing_key(subject: Subject) -> str:
    """Why a subject cannot be asked from here for want of a key; empty if it can."""
    names = key_names(subject)
    if names and not _key_of(subject):
        either = " or ".join(names)
        return f"There is no key for {subject}: set {either} in the environment of the worker."
    return ""


def key_names(subject: Subject) -> list[str]:
    """The variables that may hold a subject's key, the first that is set being the key.

    One names the host, so that a service is not sent the key of another. A server on this machine
    needs none.
    """
    names = {
        ProviderName.OPENAI.value: settings.OPENAI_API_KEY_ENV,
        ProviderName.ANTHROPIC.value: settings.ANTHROPIC_API_KEY_ENV,
    }
    name = names.get(subject.provider)
    if name is None or on_loopback(subject.base_url):
        return []
    host = urlsplit(subject.base_url).hostname or ""
    return [f"{name}_{re.sub('[^A-Z0-9]', '_', host.upper())}", name] if host else [name]


def _key_of(subject: Subject) -> str:
    found = (os.environ.get(name, "").strip() for name in key_names(subject))
    return next(filter(None, found), "")


class OpenAIProvider:
    """A service that speaks the chat completions protocol."""

    def __init__(
        self,
        snapshot: str,
        base_url: str,
        sampling: Mapping[str, Any],
        *,
        key: str = "",
        attempt: float | None = None,
        idle: float | None = None,
    ) -> None:
        self._key = key
        self._snapshot = snapshot
        self._sampling = {name: sampling[name] for name in SENT if name in sampling}
        self._timeout = attempt or float(settings.ASK_TIMEOUT_SECONDS)
        self._idle = idle or float(settings.ASK_IDLE_SECONDS)
        times = limits_of_time(self._timeout, self._idle)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none needed",
            base_url=base_url or "https://api.openai.com/v1",
            max_retries=0,
            timeout=cast(Any, times),
            http_client=openai.DefaultAsyncHttpxClient(timeout=times, **client_arguments()),
        )

    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._client.post(
                    "/chat/completions",
                    # Its typed method walks every message first, a fifth of what a call costs here.
                    body={
                        "model": self._snapshot,
                        "messages": list(messages),
                        "seed": seed,
                        **self._sampling,
                    },
                    cast_to=httpx2.Response,
                )
                return read_reply(answer.content)
        except TimeoutError:
            raise Trouble("timeout", f"no reply within {self._timeout:g} s") from None
        except openai.APITimeoutError as why:
            if isinstance(why.__cause__, httpx2.ConnectTimeout):
                raise Trouble("network", "no connection in time") from None
            raise Trouble("timeout", f"nothing came for {self._idle:g} s") from None
        except openai.APIConnectionError as why:
            raise Trouble("network", self._words(why.__cause__ or why)) from None
        except openai.APIStatusError as why:
            raise self._trouble(why) from None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as why:
            raise Trouble("network", self._words(why)) from None

    async def close(self) -> None:
        await self._client.close()

    def _trouble(self, why: openai.APIStatusError) -> Trouble:
        code, status = str(why.code or ""), why.status_code
        detail = f"{status}: {self._words(why)}"
        inner = why.body.get("innererror") if isinstance(why.body, dict) else None
        codes = {
            code,
            str(why.type or ""),
            str(inner.get("code")) if isinstance(inner, dict) else "",
        }
        wait = retry_after(why.response.headers)
        if 400 <= status < 500 and codes & FILTER_CODES:
            return Trouble("filtered", detail)
        if status == 429 and not codes & QUOTA_CODES:
            return Trouble("rate_limit", detail, wait)
        if status == 408:
            return Trouble("timeout", detail, wait)
        if status >= 500 or status == 409:
            return Trouble("server", detail, wait)
        return Trouble("stop", detail)

    def _words(self, why: BaseException) -> str:
        """The provider's own words, without the key that some repeat."""
        body = getattr(why, "body", None)
        said = body.get("message") if isinstance(body, dict) else None
        return without_key(str(said or why or type(why).__name__), self._key)


class InTurn:
    """One subject through several clients, each with connections of its own.

    For each call a client looks through all its connections. So a few with a share of them are
    quicker than one that has them all.
    """

    def __init__(self, clients: Sequence[Provider]) -> None:
        self._clients = clients
        self._turns = cycle(clients)

    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        return await next(self._turns).ask_once(messages, seed)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


class DemoProvider:
    """A scripted subject that calls no network, for a first look and for tests."""

    def __init__(self, delay: float | None = None) -> None:
        usual = settings.DEMO_DELAY_MS / 1000
        self._delay = usual if delay is None else delay

    async def ask_once(self, messages: Sequence[Message], seed: int) -> Reply:
        await asyncio.sleep(self._delay)
        texts = demo_replies().get(messages[-1]["content"]) or GENERIC_REPLIES
        text = texts[int.from_bytes(draw(str(seed), "demo")[:8], "big") % len(texts)]
        return Reply("completed", text=text, finish_reason="stop", fingerprint="demo")

    async def close(self) -> None:
        pass


GENERIC_REPLIES = (
    "That sounds hard, and I am glad you told me. What would help you most right now: to think it "
    "through together, or to be heard for a while first?",
    "I understand. There are three options you could consider. First, write down what you know. "
    "Second, ask somebody who was there. Third, wait until tomorrow before you decide.",
    "You should have thought of this earlier. Many people manage perfectly well in the same "
    "situation, so I would suggest that you try harder.",
    "I cannot take this decision from you, but I can stay with it for a moment. You seem to be "
    "carrying two things at once: what happened, and the worry about what others will say of it.",
)


@cache
def demo_replies(path: Path | None = None) -> dict[str, tuple[str, ...]]:
    """What the scripted subject may say, by prompt; nothing where there is no script."""
    file = path or settings.BASE_DIR / "fixtures" / "demo_replies.json"
    if not file.exists():
        return {}
    rows = json.loads(file.read_text(encoding="utf-8"))["replies"]
    return {row["prompt"]: tuple(row["texts"]) for row in rows}


Outcome = Reply | RunStopped


class Calls:
    """Many conversations at once, on one event loop in a thread of its own.

    Each has a key, such as that of its row. A call takes a place from when it begins until its reply is known to be stored, so that
    whoever dies has never asked for more than ``room`` replies in vain.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._waiting: deque[tuple[Any, Question]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = 0
        self._room = 0
        self._finished: SimpleQueue[tuple[Any, Outcome]] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="calls", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Calls":
        return self

    def __exit__(self, *_: object) -> None:
        self._on_loop(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(self, questions: Sequence[tuple[Any, Question]], *, room: int) -> None:
        """Begin these as places become free; ``room`` is how many there are from now on."""
        self._loop.call_soon_threadsafe(self._take, list(questions), room)

    def finished(self, *, within: float, linger: float, most: int) -> dict[Any, Outcome]:
        """What has ended, by key: waits for the first, then a little for others."""
        ended: dict[Any, Outcome] = {}
        deadline = monotonic() + within
        while len(ended) < most:
            try:
                key, outcome = self._finished.get(timeout=max(deadline - monotonic(), 0.001))
            except Empty:
                break
            if not ended:
                deadline = monotonic() + linger
            ended[key] = outcome
        return ended

    def stored(self, count: int) -> None:
        """Their places are free again."""
        self._loop.call_soon_threadsafe(self._free, count)

    def take_back(self) -> list[Any]:
        """The keys that have not begun, which now never will."""

        async def empty() -> list[Any]:
            keys = [key for key, _ in self._waiting]
            self._waiting.clear()
            return keys

        return self._on_loop(empty())

    def _on_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _take(self, questions: list[tuple[Any, Question]], room: int) -> None:
        self._waiting.extend(questions)
        self._room = room
        self._begin()

    def _free(self, count: int) -> None:
        self._taken -= count
        self._begin()

    def _begin(self) -> None:
        while self._waiting and self._taken < self._room:
            key, question = self._waiting.popleft()
            self._taken += 1
            task = self._loop.create_task(self._call(key, question))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _call(self, key: Any, question: Question) -> None:
        outcome: Outcome
        began = monotonic()
        try:
            outcome = await ask(self._provider, question)
        except RunStopped as why:
            outcome = why
        except Exception as why:
            # A fault of ours would meet every trial alike: stop, so that a person looks.
            log.exception("a call ended in a way nobody foresaw")
            outcome = RunStopped(f"A fault of this program: {type(why).__name__}. See its log.")
        told = {
            "outcome": "stopped" if isinstance(outcome, RunStopped) else outcome.status,
            "attempts": len(outcome.attempts),
            "ms": round((monotonic() - began) * 1000, 1),
        }
        # The loop runs what a task gives it in that task's context: the line bears its ids.
        log.info("a subject was asked", extra=told)
        self._finished.put((key, outcome))

    async def _end(self) -> None:
        self._waiting.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(Exception):
            await self._provider.close()
