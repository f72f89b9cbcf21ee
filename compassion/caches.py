"""The shared cache: in Redis for a team, in files and memory on one machine.

What is in it can always be made again, or is counted there: how often somebody tried to sign in.
While Redis is away each process keeps a cache of its own. So nobody is shut out, pages cost a
little more, and tries are still limited: in each process, that is at most as many times more
loosely as there are processes.
"""

import fcntl
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any

import redis
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache

log = logging.getLogger(__name__)

AWAY = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
)
# After it failed, so long nobody waits for it.
LEAVE_SECONDS = 2.0
# How the keys begin that every process must see: limits of sign-in, used codes, limits of ours.
SHARED = ("allauth", "limit:")
MOST_LIMITS = 20_000


class _Away:
    """Until when this process does without, and whether it does now."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.until = 0.0
        self.now = False


_away: dict[str, _Away] = {}


def _or_meanwhile(name: str) -> Callable[..., Any]:
    def act(self: "RedisOrMemory", *args: Any, **named: Any) -> Any:
        if monotonic() >= self._away.until:
            try:
                answer = getattr(RedisCache, name)(self, *args, **named)
            except AWAY as why:
                self._is_away(why)
            else:
                if self._away.now:
                    self._is_back()
                return answer
        return getattr(self._meanwhile, name)(*args, **named)

    act.__name__ = name
    return act


class RedisOrMemory(RedisCache):
    """Django's cache in Redis; while that does not answer, one in the memory of this process."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        own = {name: value for name, value in params.items() if name != "OPTIONS"}
        self._meanwhile = LocMemCache(f"meanwhile {server}", own)
        self._away = _away.setdefault(str(server), _Away())

    def answers(self) -> bool:
        """Whether Redis itself answers now."""
        try:
            return bool(self._cache.get_client().ping())
        except redis.exceptions.RedisError:
            return False

    def _is_away(self, why: Exception) -> None:
        with self._away.lock:
            self._away.until = monotonic() + LEAVE_SECONDS
            first, self._away.now = not self._away.now, True
        if first:
            log.warning("the shared cache does not answer, this process does without: %s", why)

    def _is_back(self) -> None:
        with self._away.lock:
            first, self._away.now = self._away.now, False
        if first:
            # What was kept meanwhile would be old by the next time.
            self._meanwhile.clear()
            log.warning("the shared cache answers again")

    add = _or_meanwhile("add")
    get = _or_meanwhile("get")
    set = _or_meanwhile("set")
    touch = _or_meanwhile("touch")
    delete = _or_meanwhile("delete")
    get_many = _or_meanwhile("get_many")
    has_key = _or_meanwhile("has_key")
    incr = _or_meanwhile("incr")
    set_many = _or_meanwhile("set_many")
    delete_many = _or_meanwhile("delete_many")
    clear = _or_meanwhile("clear")


class Limits(FileBasedCache):
    """Files in a folder. Whoever adds a key or counts it up is alone in doing so."""

    def add(self, key: Any, *args: Any, **named: Any) -> bool:
        with self._alone():
            return super().add(key, *args, **named)

    def incr(self, key: Any, *args: Any, **named: Any) -> int:
        with self._alone():
            return super().incr(key, *args, **named)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._createdir()  # type: ignore[attr-defined]
        with open(f"{self._dir}/alone", "w") as line:  # type: ignore[attr-defined]
            fcntl.flock(line, fcntl.LOCK_EX)
            yield

    def _cull(self) -> None:
        """What has ended goes first: a limit that still counts is the last to be forgotten."""
        found = self._list_cache_files()  # type: ignore[attr-defined]
        if len(found) < self._max_entries:
            return
        for name in found:
            try:
                with open(name, "rb") as file:
                    self._is_expired(file)  # type: ignore[attr-defined]
            except FileNotFoundError:
                continue
        super()._cull()  # type: ignore[misc]


class OneMachineCache(LocMemCache):
    """Memory for what can be made again, files for what must be counted once for all processes."""

    def __init__(self, folder: Any, params: dict[str, Any]) -> None:
        super().__init__(str(folder), params)
        options = {"MAX_ENTRIES": MOST_LIMITS}
        self.limits = Limits(str(folder), {**params, "OPTIONS": options})

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None
    ) -> bool:
        return (
            self.limits.add(key, value, timeout, version)
            if _shared(key)
            else super().add(key, value, timeout, version)
        )

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        return (
            self.limits.get(key, default, version)
            if _shared(key)
            else super().get(key, default, version)
        )

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None
    ) -> None:
        if _shared(key):
            self.limits.set(key, value, timeout, version)
        else:
            super().set(key, value, timeout, version)

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        return (
            self.limits.touch(key, timeout, version)
            if _shared(key)
            else super().touch(key, timeout, version)
        )

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        return (
            self.limits.incr(key, delta, version)
            if _shared(key)
            else super().incr(key, delta, version)
        )

    def has_key(self, key: Any, version: Any = None) -> bool:
        return self.limits.has_key(key, version) if _shared(key) else super().has_key(key, version)

    def delete(self, key: Any, version: Any = None) -> bool:
        return self.limits.delete(key, version) if _shared(key) else super().delete(key, version)

    def clear(self) -> None:
        super().clear()
        self.limits.clear()


def _shared(key: Any) -> bool:
    return str(key).startswith(SHARED)
