"""The way into the API: who comes in, how much they may send, and how each answer goes out.

No session and no cookie opens anything here, so there is nothing that a foreign page could use.
"""

import hashlib
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from ninja.security import HttpBearer

from rating.api.limits import count_address, count_token
from rating.api.problems import Problem
from rating.models import User
from rating.second_factor import is_missing
from rating.tokens import SCOPES, ApiToken
from runs.models import Wave

log = logging.getLogger(__name__)

USED_EVERY: Final = timedelta(minutes=15)
NO_TOKEN: Final = {"WWW-Authenticate": 'Bearer realm="Compassion"'}
View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class Grant:
    """Who is in, by which token."""

    token: ApiToken
    person: User


class ApiRequest(HttpRequest):
    auth: Grant
    #: Headers that the answer gets, whatever it is.
    told: dict[str, str]
    #: The parameters that this address has.
    known: frozenset[str]


class Token(HttpBearer):
    """Lets in whoever shows a token with this scope."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> Grant:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise self._unknown(request, "No token was sent.")
        return self.authenticate(request, secret.strip())

    def authenticate(self, request: Any, token: str) -> Grant:
        now = timezone.now()
        found = (
            ApiToken.objects.living(now)
            .select_related("owner")
            .filter(secret_hash=hash_of(token))
            .first()
        )
        if found is None:
            raise self._unknown(request, "This token opens nothing: it is unknown, or has ended.")
        if is_missing(found.owner):
            raise Problem(
                "scope",
                "The owner of this token must set up a second factor first: they sign in and do so.",
            )
        limit = count_token(found)
        request.told |= limit.headers
        limit.refuse_over()
        if self.scope not in found.opens(found.owner.roles):
            lacks = "The owner of this token no longer has" if self.scope in found.scopes else ""
            what = f"the scope {self.scope} ({SCOPES[self.scope][1].lower()})"
            raise Problem(
                "scope",
                f"{lacks} a role for {what}." if lacks else f"This token lacks {what}.",
                headers={
                    "WWW-Authenticate": (
                        f'{NO_TOKEN["WWW-Authenticate"]}, error="insufficient_scope", '
                        f'scope="{self.scope}"'
                    )
                },
            )
        # Of all that come in a quarter of an hour, one writes.
        if found.last_used_at is None or now - found.last_used_at > USED_EVERY:
            ApiToken.objects.filter(pk=found.pk, last_used_at=found.last_used_at).update(
                last_used_at=now
            )
        _refuse_unknown(request)
        take_body(request)
        return Grant(found, found.owner)

    def _unknown(self, request: HttpRequest, detail: str) -> Problem:
        count_address(request).refuse_over()
        return Problem("no-token", detail, headers=NO_TOKEN)


def anyone(request: Any) -> bool:
    """Lets everybody in, so many times a minute."""
    limit = count_address(request)
    request.told |= limit.headers
    limit.refuse_over()
    _refuse_unknown(request)
    return True


def _refuse_unknown(request: Any) -> None:
    """Refuse a parameter that is not known, or stands twice: it would be passed over in silence."""
    errors = [
        {"parameter": _plain(name), "detail": what}
        for name, values in request.GET.lists()
        for what in (
            "There is no such parameter here." if name not in request.known else "",
            "This stands there more than once." if len(values) > 1 else "",
        )
        if what
    ]
    if errors:
        known = ", ".join(sorted(request.known)) or "none"
        raise Problem("invalid", f"The parameters here are: {known}.", errors=errors)


def _plain(text: str) -> str:
    return text[:100].encode(errors="backslashreplace").decode()


def hash_of(secret: str) -> str:
    """What is kept of a secret. It is drawn at random, and so long that a plain hash suffices."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def take_body(request: HttpRequest) -> None:
    """Read what was sent, if it is of the right type and not too much. Raises ``Problem``."""
    if request.method != "POST":
        return
    most = settings.API_BODY_BYTES
    if "Transfer-Encoding" in request.headers or not request.headers.get("content-length"):
        raise Problem("length", "Send the body with its Content-Length.")
    if request.content_type != "application/json":
        raise Problem("media-type", "Send Content-Type: application/json.")
    try:
        length = int(request.headers["content-length"])
    except ValueError:
        raise Problem("length", "Content-Length is no whole number.") from None
    if length > most:
        raise Problem(
            "too-large", f"The body has {length:,} bytes; at most {most:,} are read.", most=most
        )
    try:
        body = request.read(most + 1)
    except UnreadablePostError:
        raise Problem("bad-request", "The body ended before it was whole.") from None
    # The bound of Django's own is that of a form; this one was held against its own above.
    request._body = body


def wave_of(request: ApiRequest, code: str) -> Wave:
    """A wave this token is for. Raises ``Problem``: another one is not there."""
    rows = Wave.objects.select_related("bank").defer("preregistration", "leak_check", "bank__meta")
    found = rows.filter(code=code).first()
    only = request.auth.token.wave_id
    if found is None or only not in (None, found.pk):
        raise Problem("not-found", f"There is no wave {code}.")
    return found


def of_all_waves(request: ApiRequest) -> None:
    """Refuses a token that is for one wave what is of none. Raises ``Problem``."""
    if request.auth.token.wave_id is not None:
        raise Problem("scope", "This token is for one wave, and this belongs to none.")


def door(view: View, known: Collection[str] = ()) -> View:
    """What every view of the API stands behind. ``known`` are the parameters it has."""

    @login_not_required
    @csrf_exempt
    @wraps(view)
    def entered(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        request.told, request.known = {}, frozenset(known)
        try:
            answer = view(request, *args, **kwargs)
            if answer.status_code == 405:
                allowed = answer["Allow"]
                raise Problem(
                    "method",
                    f"{request.method} is not offered here, but {allowed}.",
                    headers={"Allow": allowed},
                )
        except Problem as problem:
            answer = problem.answer()
        except Http404:
            answer = Problem("not-found", "Nothing stands at this address.").answer()
        except Exception:
            log.exception("%s %s went wrong", request.method, request.path)
            answer = Problem("internal", "This was not expected, and is in our log.").answer()
        return _out(request, answer)

    return entered


def unchanged(request: ApiRequest, tag: str) -> HttpResponse | None:
    """The answer that nothing changed, where whoever asks has just this already."""
    found = get_conditional_response(request, etag=f'"{tag}"')
    return found if isinstance(found, HttpResponse) and found.status_code == 304 else None


def _out(request: Any, answer: HttpResponse) -> HttpResponse:
    if request.method == "GET" and answer.status_code == 200:
        if "ETag" not in answer:
            answer["ETag"] = f'"{hashlib.sha256(answer.content).hexdigest()[:32]}"'
        answer.setdefault("Cache-Control", "private, no-cache")
        same = get_conditional_response(request, etag=answer["ETag"], response=answer)
        # There is no If-Match here: the one other answer is that nothing changed.
        if isinstance(same, HttpResponse) and same.status_code == 304:
            answer = same
    else:
        answer.setdefault("Cache-Control", "no-store")
    for name, value in request.told.items():
        answer.setdefault(name, value)
    patch_vary_headers(answer, ["Authorization"])
    return answer
