"""Where the apps are mounted."""

from allauth.account import views as account
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path, re_path

from compassion import views
from rating import views as rating_views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("sign-in/", login_not_required(account.login), name="account_login"),
    path("sign-out/", account.logout, name="account_logout"),
    path("account-closed/", account.account_inactive, name="account_inactive"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("password/set/", account.password_set, name="account_set_password"),
    path("", rating_views.home, name="home"),
    path("waves/", include("runs.urls")),
    path("subjects/", include("runs.subject_urls")),
    path("", include("rating.urls")),
]
if settings.MAIL:
    # Without mail there is nobody to send a link to: `manage.py changepassword ADDRESS` helps.
    urlpatterns += [
        path("password/forgotten/", account.password_reset, name="account_reset_password"),
        path(
            "password/forgotten/sent/",
            account.password_reset_done,
            name="account_reset_password_done",
        ),
        path(
            "password/forgotten/changed/",
            account.password_reset_from_key_done,
            name="account_reset_password_from_key_done",
        ),
        re_path(
            r"^password/forgotten/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
            account.password_reset_from_key,
            name="account_reset_password_from_key",
        ),
    ]
handler400 = "compassion.views.not_understood"
handler404 = "compassion.views.not_found"
