"""The pages for when something of ours is away or broke: they ask nothing of what may be away."""

import logging
import sqlite3
import sys
from collections.abc import Iterator
from errno import ENOSPC
from typing import Any

import kombu.exceptions
import psycopg
import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import RawPostDataException, UnreadablePostError
from django.template.loader import get_template
from django.utils.html import format_html

from compassion.logs import request_id

log = logging.getLogger(__name__)

CSRF_FIELD = "csrfmiddlewaretoken"
# When it is worth trying again: a database that was killed is back in about this time.
RETRY_SECONDS = 10
AWAY = (
    OperationalError,
    InterfaceError,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    kombu.exceptions.OperationalError,
)
# SQLite calls a fault in a statement by the same name as a file that is locked or lost.
SQLITE_AWAY = ("locked", "busy", "unable to open", "disk", "full", "readonly", "i/o")
BROKE = {
    "title": "Something broke",
    "detail": "Something broke on our side. What you had saved is safe.",
}
CANNOT_REACH = {
    "title": "We cannot reach our data",
    "detail": "We cannot reach our data just now. What you had saved is safe.",
}


def is_outage(why: BaseException | None) -> bool:
    """Whether what went wrong is that something is away for a while, and no fault of the code."""
    return any(_away(one) for one in _behind(why))


def _behind(why: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while why is not None and id(why) not in seen:
        seen.add(id(why))
        yield why
        why = why.__cause__ or why.__context__


def _away(why: BaseException) -> bool:
    if isinstance(why, OSError) and why.errno == ENOSPC:
        return True
    if not isinstance(why, AWAY):
        return False
    if isinstance(why.__cause__, sqlite3.Error):
        return any(word in str(why).lower() for word in SQLITE_AWAY)
    return True


def went_wrong(request: HttpRequest) -> HttpResponse:
    """What Django shows for any exception: a 503 while something is away, else a 500."""
    if is_outage(sys.exc_info()[1]):
        answer = _answer(request, 503, CANNOT_REACH)
        answer["Retry-After"] = str(RETRY_SECONDS)
    else:
        answer = _answer(request, 500, BROKE)
    answer["Cache-Control"] = "no-store, private"
    return answer


def _answer(request: HttpRequest, status: int, said: dict[str, str]) -> HttpResponse:
    if request.headers.get("HX-Request") == "true" or request.path.startswith("/api/"):
        problem = {"type": "about:blank", "status": status, **said, "request_id": request_id.get()}
        return JsonResponse(problem, status=status, content_type="application/problem+json")
    kept = what_was_typed(request)
    context: dict[str, Any] = {
        **said,
        "kept": kept,
        "path": request.get_full_path() if request.method in ("GET", "HEAD") else request.path,
        "is_read": request.method in ("GET", "HEAD"),
        "request_id": request_id.get(),
        "support_line": settings.SUPPORT_LINE,
        "seconds": RETRY_SECONDS,
    }
    try:
        page = get_template(f"{status}.html").render(context)
    except Exception:  # whatever it is, there is still something to say
        log.exception("the page for a %s cannot be made", status)
        page = _last_resort(said)
    return HttpResponse(page, status=status)


def what_was_typed(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of a form of ours, to be sent again as they are; none of one with a password."""
    # Passed by the check of its token, it came from a page of ours.
    if request.method != "POST" or not getattr(request, "csrf_processing_done", False):
        return []
    try:
        post = request.POST
    except (UnreadablePostError, RawPostDataException):
        return []
    if any("password" in name for name in post):
        return []
    return [(name, value) for name in post for value in post.getlist(name)]


def _last_resort(said: dict[str, str]) -> str:
    return format_html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{} · Compassion</title>'
        "</head><body><main><h1>{}</h1><p>{} Try again in a minute.</p>"
        "<p>If you write to us, give this number: {}</p></main><footer><p>Nothing on this site tells"
        " you which AI to turn to when life is hard. If you, or someone near you, needs help now,"
        " call your local emergency number or a crisis line.</p></footer></body></html>",
        *(said["title"], said["title"], said["detail"], request_id.get()),
    )
