"""Everything that can go wrong with a call, each told as RFC 9457 has it, with the way on."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from compassion.logs import request_id

MEDIA_TYPE: Final = "application/problem+json"
MOST_ERRORS: Final = 100
#: By its name: the status, the title, and what to do about it.
PROBLEMS: Final[dict[str, tuple[int, str, str]]] = {
    "not-json": (
        400,
        "The body is not JSON that can be read",
        "Send UTF-8 JSON in which no object has a key twice, nothing lies deeper than 20 levels, "
        "and every number is finite.",
    ),
    "bad-request": (400, "The request is not understood", "See the detail, and send it anew."),
    "no-token": (
        401,
        "A token is needed",
        "Send Authorization: Bearer and a token that has not ended, whose owner still has an "
        "account. Tokens are made on the page API tokens.",
    ),
    "scope": (
        403,
        "This token may not do that",
        "Make a token with the scope that is named, or ask somebody whose role has it.",
    ),
    "not-found": (
        404,
        "There is no such thing here",
        "See the address. What a token is not for is not there for it either.",
    ),
    "method": (405, "There is no such method here", "The header Allow names those there are."),
    "not-unblinded": (
        409,
        "The wave is not unblinded",
        "Results are told by model, so they come after unblinding: see what is missing.",
    ),
    "refused": (
        409,
        "This cannot be done now",
        "The detail says why. Nothing was changed.",
    ),
    "length": (
        411,
        "The length of the body is not stated",
        "Send Content-Length, and no Transfer-Encoding.",
    ),
    "too-large": (413, "The body is too large", "Send it in several requests."),
    "media-type": (415, "The body is of another type", "Send Content-Type: application/json."),
    "invalid": (
        422,
        "Something in the request is not as it must be",
        "Each of errors says what and where: a pointer into the body, or a parameter. "
        "Nothing was stored.",
    ),
    "cursor": (
        422,
        "This cursor is not of this list",
        "Use the value of next just as it came, with the same list and filters.",
    ),
    "key-reused": (
        422,
        "This key was sent before with another request",
        "Give every request an Idempotency-Key of its own, and repeat it only with the same body.",
    ),
    "too-many": (
        429,
        "Too many requests",
        "Wait as many seconds as Retry-After says.",
    ),
    "internal": (
        500,
        "Something went wrong here",
        "It is in our log under the request id. A POST did nothing: send it again.",
    ),
}


class Problem(Exception):
    """What is told instead of an answer. ``errors`` name the places where there are several."""

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(name, detail)
        self.name = name
        self.detail = detail
        self.errors = errors
        self.headers = dict(headers or {})
        self.more = more

    def answer(self) -> HttpResponse:
        status, title, _ = PROBLEMS[self.name]
        body: dict[str, Any] = {
            "type": f"{reverse('rating:api')}#{self.name}",
            "title": title,
            "status": status,
            "detail": self.detail,
            "request_id": request_id.get(),
            **self.more,
        }
        if self.errors:
            body["errors"] = list(self.errors[:MOST_ERRORS])
            body["errors_left_out"] = max(0, len(self.errors) - MOST_ERRORS)
        return HttpResponse(
            json.dumps(body, ensure_ascii=False) + "\n",
            status=status,
            content_type=MEDIA_TYPE,
            headers={"Cache-Control": "no-store", **self.headers},
        )


def not_found(request: HttpRequest, **parts: Any) -> HttpResponse:
    """Whatever stands under the API and is nothing."""
    raise Problem("not-found", "Nothing stands at this address.")
