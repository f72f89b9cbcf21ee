"""Headers, cookies, sessions, ways out of the site, and how it is put together."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from allauth.account.decorators import secure_admin_login
from django.contrib.admin import AdminSite
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import get_resolver, include, path, reverse
from pytest_django.asserts import assertContains

from rating.checks import check_admin, check_proxies
from rating.models import Role, User
from rating.people import invite, link_to
from tests.factories import make_user

ROOT = Path(__file__).parents[1]
PASSWORD = "a-quiet-morning-walk"

pytestmark = pytest.mark.django_db


def sign_in(client: Client, who: User, **said: str):
    return client.post(reverse("account_login"), {"login": who.email, "password": PASSWORD, **said})


def person(*roles: Role) -> User:
    return make_user(*(roles or (Role.RATER,)), password=PASSWORD)


# Headers


@pytest.mark.parametrize("where", ["/sign-in/", "/no/such/page", "/healthz", "/about/"])
def test_every_answer_says_what_a_browser_may_do_with_it(client, where):
    answer = client.get(where)

    assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    for power in ("camera", "microphone", "geolocation", "payment", "usb"):
        assert f"{power}=()" in answer["Permissions-Policy"]


def test_the_policy_of_content_names_this_site_alone_and_reports_to_nobody(client):
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in client.get("/sign-in/")["Content-Security-Policy"].split(";")
    )

    assert set(policy.values()) == {"'none'", "'self'"}
    assert {"frame-ancestors", "base-uri", "form-action", "default-src"} <= policy.keys()
    assert not {"report-uri", "report-to"} & policy.keys()


@pytest.fixture(scope="module")
def deployed(tmp_path_factory) -> dict[str, str]:
    """The settings of a site as docker-compose.yml makes it, and what the check says of it."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    given = compose["services"]["web"]["environment"]
    environment = {
        name: re.sub(r"\$\{\w+(?::?[-?]([^}]*))?\}", r"\1", str(value))
        for name, value in given.items()
    } | {
        "SECRET_KEY": "a key of fifty characters or more, different every 1 2 3",
        "DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('db')}/db.sqlite3",
        "VAR_DIR": str(tmp_path_factory.mktemp("var")),
        "PATH": "",
        "ALLOWED_HOSTS": "rate.example.org",
    }
    asked = (
        "SESSION_COOKIE_SECURE SESSION_COOKIE_HTTPONLY SESSION_COOKIE_SAMESITE "
        "SESSION_COOKIE_NAME CSRF_COOKIE_SECURE CSRF_COOKIE_HTTPONLY CSRF_COOKIE_NAME "
        "SECURE_HSTS_SECONDS SECURE_HSTS_INCLUDE_SUBDOMAINS SECURE_SSL_REDIRECT PROXIES "
        "SECOND_FACTOR DEBUG"
    )
    code = (
        "from django.conf import settings as s\n"
        f"for n in {asked!r}.split(): print(n, getattr(s, n))\n"
        "from django.core.management import call_command\n"
        "call_command('check', deploy=True, fail_level='WARNING')"
    )
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    told = [line.split(" ", 1) for line in done.stdout.splitlines() if " " in line]
    return {**dict(told), "code": str(done.returncode), "errors": done.stderr}


def test_the_containers_pass_the_deployment_check_without_a_warning(deployed):
    assert (deployed["code"], deployed["errors"]) == ("0", "")


def test_their_cookies_go_over_https_alone_and_no_script_reads_them(deployed):
    for name in ("SESSION_COOKIE", "CSRF_COOKIE"):
        assert deployed[f"{name}_SECURE"] == deployed[f"{name}_HTTPONLY"] == "True"
        assert deployed[f"{name}_NAME"].startswith("__Host-")
    assert deployed["SESSION_COOKIE_SAMESITE"] == "Lax"


def test_they_speak_https_and_ask_for_a_second_factor_behind_one_proxy(deployed):
    assert int(deployed["SECURE_HSTS_SECONDS"]) >= 31_536_000
    assert deployed["SECURE_SSL_REDIRECT"] == deployed["SECOND_FACTOR"] == "True"
    assert (deployed["PROXIES"], deployed["DEBUG"]) == ("1", "False")


def test_the_cookies_of_signing_in_are_kept_from_scripts_and_other_sites(client):
    client.get(reverse("account_login"))
    sign_in(client, person())

    for name in ("sessionid", "csrftoken"):
        cookie = client.cookies[name]
        assert cookie["httponly"] is True
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")


# Sessions


def test_the_session_before_signing_in_is_not_the_one_after(client):
    client.get(reverse("account_login"))
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies["sessionid"] = session.session_key
    before = client.cookies["sessionid"].value

    sign_in(client, person())

    assert client.cookies["sessionid"].value != before
    old = Client()
    old.cookies["sessionid"] = before
    assert old.get("/text/").status_code == 302


def test_another_persons_session_leaves_nothing_to_the_next(client):
    sign_in(client, person())
    session = client.session
    session["of the first"] = True
    session.save()

    client.post(reverse("account_logout"))
    sign_in(client, person())

    assert "of the first" not in client.session


def test_a_new_password_ends_every_session_but_the_one_it_was_given_in():
    who = person()
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        sign_in(client, who)
    new = "another-quiet-morning"

    here.post(
        reverse("account_change_password"),
        {"oldpassword": PASSWORD, "password1": new, "password2": new},
    )

    assert here.get("/text/").status_code == 200
    assert elsewhere.get("/text/").status_code == 302


def test_whoever_is_made_inactive_is_out_at_the_next_request(client):
    who = person()
    sign_in(client, who)
    assert client.get("/text/").status_code == 200

    User.objects.filter(pk=who.pk).update(is_active=False)

    assert client.get("/text/").status_code == 302
    page = Client().post("/sign-in/", {"login": who.email, "password": PASSWORD}, follow=True)
    assertContains(page, "<h1>This account is paused</h1>", html=True)


def test_a_session_of_an_earlier_version_goes_on(client):
    """What ends sessions is blank until it is first used: then the hash is Django's own."""
    from django.contrib.auth.base_user import AbstractBaseUser

    who = person()

    assert who.get_session_auth_hash() == AbstractBaseUser.get_session_auth_hash(who)


# Ways out


@pytest.mark.parametrize(
    "to",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "///elsewhere.example",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "javascript:alert(1)",
        "http:elsewhere.example",
        " https://elsewhere.example",
        "https://testserver@elsewhere.example/",
        "https://testserver.elsewhere.example/",
        "ftp://testserver/",
    ],
)
def test_nobody_is_sent_out_of_the_site_by_a_link_into_it(client, to):
    answer = sign_in(client, person(), next=to)
    assert answer.url == reverse("home")

    answers = [
        client.post(f"/text/?next={to}", {"next": to, "size": "100", "font": "serif"}),
        client.post(f"/sign-in/again/?next={to}", {"next": to, "password": PASSWORD}),
        client.get(f"/sign-in/?next={to}"),
        client.get(f"/second-factor/set-up/?next={to}"),
        client.post("/sign-out/", {"next": to}),
    ]

    for answer in answers:
        assert "elsewhere" not in answer.headers.get("Location", "")
        assert not answer.headers.get("Location", "").startswith(("javascript", "ftp"))
    assert "second_factor_back" not in client.session


def test_a_name_of_another_site_that_forms_may_come_from_is_no_way_out(client, settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://elsewhere.example"]
    settings.ALLOWED_HOSTS = ["testserver", ".elsewhere.example"]

    answer = sign_in(client, person(), next="https://elsewhere.example/")

    assert answer.url == reverse("home")


@pytest.mark.parametrize("host", ["elsewhere.example", "testserver:80@elsewhere.example", "a b"])
def test_a_host_that_is_not_ours_is_answered_with_400_and_named_nowhere(client, host):
    for where in ("/", "/sign-in/"):
        answer = client.get(where, headers={"Host": host})
        assert answer.status_code == 400
        assert "elsewhere" not in answer.content.decode()


# Passwords and invitations


@pytest.mark.parametrize(
    "password", ["short-one-1", "123456789012345", "1q2w3e4r5t6y", "quentin.ashby"]
)
def test_a_password_is_long_and_not_a_common_one_nor_ones_own_name(password):
    with pytest.raises(ValidationError):
        validate_password(password, User(email="quentin.ashby@example.org", name="Q"))


def test_a_long_password_needs_no_special_characters():
    validate_password("rain on the roof all night", User(email="a@example.org", name="A"))


def test_the_page_of_an_invitation_says_how_long_a_password_is(client, settings):
    link = link_to(invite("new@example.org", [Role.RATER], None))

    assertContains(client.get(link), f"At least {settings.PASSWORD_LENGTH} characters.")


# How it is put together


def test_no_url_leads_to_djangos_admin(client):
    def views(resolver):
        for one in resolver.url_patterns:
            yield from views(one) if hasattr(one, "url_patterns") else [one.callback]

    assert not [v for v in views(get_resolver()) if v.__module__.startswith("django.contrib.admin")]
    assert client.get("/admin/").status_code == 404


class Mounted:
    """URLs with Django's admin below them."""

    def __init__(self, site: AdminSite) -> None:
        self.urlpatterns = [path("within/", include([path("admin/", site.urls)]))]


def test_whoever_mounts_it_as_it_is_is_told_at_the_start(monkeypatch):
    mounted = Mounted(AdminSite())
    monkeypatch.setattr("rating.checks.get_resolver", lambda: get_resolver(mounted))

    [error] = check_admin(None)

    assert (error.id, "/within/admin/login/" in error.msg) == ("rating.E002", True)


def test_whoever_wraps_its_sign_in_is_not(monkeypatch):
    site = AdminSite()
    site.login = secure_admin_login(site.login)
    monkeypatch.setattr("rating.checks.get_resolver", lambda: get_resolver(Mounted(site)))

    assert check_admin(None) == []


def test_a_proxy_that_is_none_is_told_at_the_start(settings):
    settings.BEHIND_PROXY, settings.PROXIES = True, 0
    assert [error.id for error in check_proxies(None)] == ["rating.E003"]
    settings.PROXIES = 2
    assert check_proxies(None) == []
