"""Who may see the pages of this app."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

MAINTAINER = "maintainer"


def maintainer_required(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for maintainers. For anyone else there is no such page."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.groups.filter(name=MAINTAINER).exists():
            raise Http404
        return view(request, *args, **kwargs)

    return checked
