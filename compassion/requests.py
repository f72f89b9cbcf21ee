"""What every request gets: an id that the logs carry, and the words at the foot of every page."""

import logging
import re
import secrets
from collections.abc import Callable
from time import monotonic
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from compassion.logs import request_id, route_of
from compassion.outages import CSRF_FIELD
from rating.forms import SEALED
from rating.models import Assignment, ReviewHold, User
from rating.second_factor import is_missing
from rating.support import line_of

Handler = Callable[[HttpRequest], HttpResponse]

log = logging.getLogger(__name__)
# Where somebody finds what they sent to such a page without a session, and what it was about.
FOUND_AT: dict[str, tuple[str, type[Model]]] = {
    "rating:rate": ("rating:queue", Assignment),
    "rating:review": ("rating:review_queue", ReviewHold),
}
MOST_KEPT = 300_000  # letters: far more than the fields of a card have
# Every few seconds, all day: no line of the log unless they are not well.
ASKED_BY_MACHINES = ("/healthz", "/readyz")
# What stays open to somebody who must first set up a second factor: what everybody may read, and
# the way to it.
WITHOUT_FACTOR = {
    "healthz",
    "readyz",
    "account_login",
    "account_logout",
    "account_inactive",
    "account_change_password",
    "account_set_password",
    "account_reauthenticate",
    "mfa_authenticate",
    "mfa_reauthenticate",
    "rating:about",
    "rating:join",
    "rating:published",
    "rating:published_report",
    "rating:published_file",
    "rating:set_up_factor",
    "rating:text",
    "rating:token",
}
# No page uses a device or a sensor, is shown within another site, or is read by one.
HEADERS = {
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        f"{name}=()"
        for name in (
            "accelerometer",
            "autoplay",
            "bluetooth",
            "browsing-topics",
            "camera",
            "display-capture",
            "encrypted-media",
            "fullscreen",
            "geolocation",
            "gyroscope",
            "hid",
            "idle-detection",
            "magnetometer",
            "microphone",
            "midi",
            "payment",
            "picture-in-picture",
            "publickey-credentials-get",
            "screen-wake-lock",
            "serial",
            "usb",
            "xr-spatial-tracking",
        )
    ),
    "X-Permitted-Cross-Domain-Policies": "none",
}
GIVEN_ID = re.compile(r"[0-9A-Za-z-]{8,64}")


class RequestIdMiddleware:
    """Names each request, or takes over the name a proxy gave it, so that logs can be joined."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if GIVEN_ID.fullmatch(given) else secrets.token_hex(8)
        # Not reset afterwards: Django logs a refused request once its middleware is done.
        request_id.set(name)
        began = monotonic()
        response = self.get_response(request)
        response["X-Request-ID"] = name
        if request.path not in ASKED_BY_MACHINES or response.status_code != 200:
            told = {
                "method": request.method,
                "route": route_of(request),
                "status": response.status_code,
                "ms": round((monotonic() - began) * 1000, 1),
            }
            log.info("answered", extra=told)
        return response


class HeadersMiddleware:
    """What browsers are told on every answer beside what Django and the policy of content tell."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.setdefault(name, value)
        return response


class SignInMiddleware(LoginRequiredMiddleware):
    """Sends people to sign in; a request by script gets a plain 401, and keeps its page."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        answer = super().process_view(request, view_func, view_args, view_kwargs)
        if answer is None:
            return None
        return _led_to("account_login", "Sign in to go on.", request) or answer


class SecondFactorMiddleware:
    """Leads maintainers and admins without a second factor to set one up, before anything else.

    Their roles are read with each request, so it holds from the next one on after one is given.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        person = request.user
        if not isinstance(person, User) or not is_missing(person):
            return None
        match = request.resolver_match
        if match is not None and match.view_name in WITHOUT_FACTOR:
            return None
        way = "rating:set_up_factor"
        said = "Set up a second factor to go on."
        here = urlencode({"next": request.get_full_path()})
        return _led_to(way, said, request) or redirect(f"{reverse(way)}?{here}")


def _led_to(way: str, said: str, request: HttpRequest) -> HttpResponse | None:
    """What is answered to a script, or to a form, whose person must first go elsewhere.

    A script gets a plain 401 and keeps its page; what a form sent is kept. None: a page was asked
    for, and can be asked for again.
    """
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(said, status=401, content_type="text/plain")
    if request.method not in ("GET", "HEAD"):
        return redirect(f"{reverse(way)}?{urlencode({'next': _kept(request)})}")
    return None


def _kept(request: HttpRequest) -> str:
    """Keep a rating or review that was sent too early; say where it is after sign-in.

    It lies in the session of the browser that sent it, as the draft of its card, until its own
    rater or reviewer has signed in there.
    """
    match = request.resolver_match
    if match is None or match.view_name not in FOUND_AT:
        return reverse("home")
    found_at, cards = FOUND_AT[match.view_name]
    fields = {name: request.POST.getlist(name) for name in request.POST if name != CSRF_FIELD}
    size = sum(len(name) + sum(map(len, values)) for name, values in fields.items())
    # Nobody need be signed in for this: else anything could be stored here, and as much of it.
    if size <= MOST_KEPT and cards._default_manager.filter(code=match.kwargs["code"]).exists():
        request.session[SEALED] = {"code": str(match.kwargs["code"]), "fields": fields}
    return reverse(found_at)


class NoStoreMiddleware:
    """Keeps what a person saw out of the browser's and any proxy's store."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.user.is_authenticated:
            response.setdefault("Cache-Control", "no-store, private")
        return response


class MethodMiddleware:
    """Gives people who meet an address by the wrong method a page, where Django has none."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or response.content:
            return response
        page = render(request, "405.html", status=405)
        page["Allow"] = response["Allow"]
        return page


def site(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    country = user.country if user is not None and user.is_authenticated else ""
    return {
        "support": line_of(country),
        "support_line": settings.SUPPORT_LINE,
        "request_id": request_id.get(),
        "roles": user.roles if user is not None and user.is_authenticated else frozenset(),
    }
