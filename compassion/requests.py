"""What every request gets: an id that the logs carry, and the words at the foot of every page."""

import re
import secrets
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from compassion.logs import request_id
from rating.forms import SEALED
from rating.support import line_of

Handler = Callable[[HttpRequest], HttpResponse]

CSRF_FIELD = "csrfmiddlewaretoken"
# Where somebody finds what they sent to such a page without a session.
FOUND_AT = {"rating:rate": "rating:queue", "rating:review": "rating:review_queue"}
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
        response = self.get_response(request)
        response["X-Request-ID"] = name
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
        if request.headers.get("HX-Request") == "true":
            return HttpResponse("Sign in to go on.", status=401, content_type="text/plain")
        if request.method not in ("GET", "HEAD"):
            return redirect(f"{reverse('account_login')}?{urlencode({'next': _kept(request)})}")
        return answer


def _kept(request: HttpRequest) -> str:
    """Keep a rating or review that was sent without a session; say where it is after sign-in.

    It lies in the session of the browser that sent it, as the draft of its card, until its own
    rater or reviewer has signed in there.
    """
    match = request.resolver_match
    if match is None or match.view_name not in FOUND_AT:
        return reverse("home")
    fields = {name: request.POST.getlist(name) for name in request.POST if name != CSRF_FIELD}
    request.session[SEALED] = {"code": str(match.kwargs["code"]), "fields": fields}
    return reverse(FOUND_AT[match.view_name])


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
