"""The page that stands where figures are being worked out."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from rating.aside import BeingMade, Made

AS_OF = "There are many ratings: these figures were worked out by a worker at {at}."
AGAIN = " Newer ones are being worked out now."
WAITS = "being-made"

View = Callable[..., HttpResponse]


def waits(view: View) -> View:
    """Show a page that looks again by itself until a worker has made what the view shows."""

    @wraps(view)
    def waiting(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        looks_again = request.headers.get("HX-Trigger") == WAITS
        try:
            answer = view(request, *args, **kwargs)
        except BeingMade as made:
            context = {
                "since": made.since,
                "so_far": round((timezone.now() - made.since).total_seconds()),
                "usual": None if made.seconds is None else max(1, round(made.seconds)),
                "again": request.get_full_path(),
            }
            name = "rating/_being_made.html" if looks_again else "rating/being_made.html"
            page = render(request, name, context)
            page["Retry-After"] = "5"
            return page
        if looks_again:
            # The page that waits has another head: the browser loads the whole of it.
            return HttpResponse(headers={"HX-Refresh": "true"})
        return answer

    return waiting


def tell(request: HttpRequest, made: Made) -> None:
    """Say on the page of when its figures are, where a worker made them."""
    if made.version:
        at = f"{timezone.localtime(made.made_at):%H:%M on %-d %B %Y}"
        messages.info(request, AS_OF.format(at=at) + (AGAIN if made.again else ""))
