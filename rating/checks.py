"""What must hold of how the site is put together, said at every start."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.urls import URLPattern, URLResolver, get_resolver

WRAPS = "allauth.account.decorators"


@register(Tags.urls)
def check_admin(app_configs: Any, **_: Any) -> Sequence[CheckMessage]:
    """Django's admin has a sign-in page of its own, which knows of no second factor."""
    return [
        Error(
            f"Django's admin is mounted at /{path}, and its sign-in asks for no second factor.",
            hint="Take it out of the URLs; or write, before they are made, "
            "`admin.site.login = secure_admin_login(admin.site.login)`.",
            id="rating.E002",
        )
        for path, view in _admin_logins(get_resolver())
        if getattr(view, "__globals__", {}).get("__name__") != WRAPS
    ]


@register(Tags.security)
def check_proxies(app_configs: Any, **_: Any) -> Sequence[CheckMessage]:
    """Behind a proxy there is at least one, or each sender could say who they are."""
    if settings.BEHIND_PROXY and settings.PROXIES < 1:
        return [
            Error(
                f"PROXIES is {settings.PROXIES}, and BEHIND_PROXY says that there is one.",
                hint="Set PROXIES to how many proxies a request passes, one after the other.",
                id="rating.E003",
            )
        ]
    return []


def _admin_logins(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for one in resolver.url_patterns:
        path = f"{prefix}{one.pattern}"
        if isinstance(one, URLResolver):
            yield from _admin_logins(one, path)
        elif isinstance(one, URLPattern) and one.name == "login" and resolver.app_name == "admin":
            yield path, one.callback
