"""Where the apps are mounted."""

from collections.abc import Callable
from typing import Any

from allauth.account import views as account
from allauth.mfa.base import views as factor
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponseBase
from django.urls import include, path, re_path
from django.views.decorators.http import require_http_methods, require_safe

from compassion import views
from rating import views as rating_views

View = Callable[..., HttpResponseBase]
form: Callable[[View], View] = require_http_methods(["GET", "HEAD", "POST"])
page: Callable[[View], View] = require_safe


def for_all(view: Any) -> Any:
    return login_not_required(view)


urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("sign-in/", for_all(form(account.login)), name="account_login"),
    path("sign-in/code/", for_all(form(factor.authenticate)), name="mfa_authenticate"),
    path("sign-in/again/", form(account.reauthenticate), name="account_reauthenticate"),
    path("sign-in/again/code/", form(factor.reauthenticate), name="mfa_reauthenticate"),
    path("sign-out/", for_all(form(account.logout)), name="account_logout"),
    path("account-closed/", for_all(page(account.account_inactive)), name="account_inactive"),
    path("password/change/", form(account.password_change), name="account_change_password"),
    path("password/set/", form(account.password_set), name="account_set_password"),
    path("", rating_views.home, name="home"),
    path("waves/", include("runs.urls")),
    path("subjects/", include("runs.subject_urls")),
    path("api/v1/", include("rating.api.app")),
    path("", include("rating.urls")),
]
if settings.MAIL:
    # Without mail there is nobody to send a link to: `manage.py changepassword ADDRESS` helps.
    urlpatterns += [
        path(
            "password/forgotten/",
            for_all(form(account.password_reset)),
            name="account_reset_password",
        ),
        path(
            "password/forgotten/sent/",
            for_all(page(account.password_reset_done)),
            name="account_reset_password_done",
        ),
        path(
            "password/forgotten/changed/",
            for_all(page(account.password_reset_from_key_done)),
            name="account_reset_password_from_key_done",
        ),
        re_path(
            r"^password/forgotten/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
            for_all(form(account.password_reset_from_key)),
            name="account_reset_password_from_key",
        ),
    ]
handler400 = "compassion.views.not_understood"
handler404 = "compassion.views.not_found"
handler500 = "compassion.outages.went_wrong"
handler429 = "rating.limits.too_often"  # where allauth looks for it
