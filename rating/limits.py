"""How often something may be tried, counted in the cache that all processes share.

allauth counts; here is who is counted as one sender, and when somebody may try again.
"""

import ipaddress
import math
import time
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from allauth.core.internal import ratelimit
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

APP: Final = "allauth.account"
# Where a page counts by sender or person, the limit that it counts against.
COUNTED: Final = {
    "account_login": "login",
    "account_change_password": "change_password",
    "account_set_password": "change_password",
    "account_reset_password": "reset_password",
    "account_reset_password_from_key": "reset_password_from_key",
    "account_reauthenticate": "reauthenticate",
    "mfa_reauthenticate": "reauthenticate",
}
NOBODY: Final = "0.0.0.0"


def sender_of(request: HttpRequest) -> str:
    """The address a request came from, as far as it can be believed.

    Each proxy adds at the end of X-Forwarded-For whom it was asked by. With so many proxies of our
    own, that many entries from the end are theirs; all before was written by the sender.
    """
    passed = [part for part in request.headers.get("X-Forwarded-For", "").split(",") if part]
    if settings.PROXIES and len(passed) >= settings.PROXIES:
        told = passed[-settings.PROXIES]
    else:
        told = request.META.get("REMOTE_ADDR", "")
    return _address(told)


def wait_of(request: HttpRequest, action: str, *, key: str | None = None) -> int:
    """Seconds until this may be tried again; 0: at once."""
    now, longest = time.time(), 0.0
    for rate in ratelimit.get_rates(app=APP, action=action):
        if (rate.per == "key" and key is None) or (
            rate.per == "user" and not request.user.is_authenticated
        ):
            continue
        place = ratelimit.get_cache_key(request, app=APP, action=action, rate=rate, key=key)
        tried: list[float] = cache.get(place, [])
        if len(tried) >= rate.amount:
            longest = max(longest, tried[-1] + rate.duration - now)
    return max(math.ceil(longest), 0)


def turn_away(request: HttpRequest, seconds: int) -> HttpResponse:
    """The page for somebody who tried too often: when to try again, and that nothing is lost."""
    seconds = max(seconds, 1)
    context = {
        "again_at": timezone.now() + timedelta(seconds=seconds),
        "minutes": math.ceil(seconds / 60),
    }
    page = render(request, "429.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    page["Retry-After"] = str(seconds)
    return page


def too_often(request: HttpRequest) -> HttpResponse:
    """That page, for whatever limit this request has met."""
    match = request.resolver_match
    action = COUNTED.get(match.view_name, "") if match else ""
    key = request.POST.get("email", "").lower() or None
    return turn_away(request, wait_of(request, action, key=key))


def _address(told: str) -> str:
    """An address without its port. Whatever is none is one sender, so that it is limited too."""
    told = told.strip()
    if told.startswith("["):
        told = told[1:].partition("]")[0]
    elif told.count(":") == 1:
        told = told.partition(":")[0]
    try:
        return str(ipaddress.ip_address(told))
    except ValueError:
        return NOBODY
