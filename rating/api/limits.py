"""How often somebody may ask: so many requests in each minute of the clock, counted in the cache.

All processes count together where the cache is shared; in the memory of one process, each counts
by itself.
"""

import time
from dataclasses import dataclass
from typing import Final

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from rating.api.problems import Problem
from rating.tokens import ApiToken

WINDOW: Final = 60  # seconds


@dataclass(frozen=True)
class Limit:
    """What is left in this minute."""

    name: str
    most: int
    used: int
    seconds_left: int

    @property
    def headers(self) -> dict[str, str]:
        left = max(0, self.most - self.used)
        return {
            "RateLimit-Policy": f'"{self.name}";q={self.most};w={WINDOW}',
            "RateLimit": f'"{self.name}";r={left};t={self.seconds_left}',
        }

    def refuse_over(self) -> None:
        """Raises ``Problem`` where more was used than there is."""
        if self.used > self.most:
            raise Problem(
                "too-many",
                f"There are {self.most} requests in a minute. Wait {self.seconds_left} s.",
                headers={"Retry-After": str(self.seconds_left), **self.headers},
            )


def count_token(token: ApiToken) -> Limit:
    """One more request with this token."""
    return _counted("token", str(token.code), settings.API_REQUESTS_A_MINUTE)


def count_address(request: HttpRequest) -> Limit:
    """One more request from this address without a token that is right."""
    try:
        address = str(get_adapter(request).get_client_ip(request))
    except PermissionDenied:  # a proxy that speaks through a socket has none, and names none
        address = "unknown"
    return _counted("address", address, settings.API_REQUESTS_A_MINUTE_BY_ADDRESS)


def _counted(name: str, whose: str, most: int) -> Limit:
    now = int(time.time())
    key = f"api:{name}:{whose}:{now // WINDOW}"
    cache.add(key, 0, 2 * WINDOW)
    try:
        used = cache.incr(key)
    except ValueError:  # it was emptied in this very moment
        used = 1
    return Limit(name, most, used, WINDOW - now % WINDOW)
