"""Who may see a page: the people of certain groups. For all others there is no such page."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpResponse


def role_required(*roles: str) -> Callable[..., Callable[..., HttpResponse]]:
    """Let people in these roles through; anybody else gets a 404."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def checked(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.user.roles.isdisjoint(roles):
                raise Http404
            return view(request, *args, **kwargs)

        # Read where the table of permissions is held against the views.
        checked.roles = frozenset(roles)  # type: ignore[attr-defined]
        return checked

    return decorate


maintainer_required = role_required("maintainer")
