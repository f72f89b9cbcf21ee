"""What holds for every page, whoever asks and whatever goes wrong."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from compassion import serving
from compassion.celery import app
from rating.models import Role
from tests.factories import leased, make_rater, make_user, make_wave

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.django_db


def test_the_content_security_policy_allows_nothing_inline_and_nothing_from_elsewhere(client):
    policy = client.get(reverse("account_login"))["Content-Security-Policy"]

    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "http" not in policy


def test_what_a_person_saw_is_kept_in_no_store(client):
    client.force_login(make_rater())

    assert client.get(reverse("home"))["Cache-Control"] == "no-store, private"


def test_every_page_asks_for_sign_in_but_those_that_open_the_door(client):
    for name in ("rating:queue", "rating:people", "runs:waves", "rating:guidelines"):
        answer = client.get(reverse(name))
        assert (answer.status_code, answer.url.split("?")[0]) == (302, reverse("account_login"))


def test_the_care_statement_is_on_every_page(client, settings):
    settings.SUPPORT_LINE = "Samaritans: 116 123"
    pages = [client.get(reverse("account_login")), client.get("/no/such/page")]
    client.force_login(make_rater())
    pages += [client.get(reverse(name)) for name in ("home", "rating:queue", "rating:pause")]

    for page in pages:
        assertContains(
            page, "Nothing on this site tells you which AI to turn to", status_code=page.status_code
        )
        assertContains(page, "Samaritans: 116 123", status_code=page.status_code)


def test_a_page_that_is_not_there_says_so_to_everybody(client):
    for _ in range(2):
        assertContains(
            client.get("/no/such/page"),
            "There is no such page, or it is not open to you.",
            status_code=404,
        )
        client.force_login(make_rater())


@pytest.mark.parametrize("htmx", [{}, {"HX-Request": "true"}])
def test_an_address_met_by_the_wrong_method_has_a_page_with_a_way_on(client, htmx):
    client.force_login(make_rater())

    page = client.get(reverse("rating:start"), headers=htmx)

    assertContains(page, "This address works inside another page", status_code=405)
    assertContains(page, 'href="/">Home</a>', status_code=405)
    assertContains(page, "Nothing on this site tells you which AI", status_code=405)
    assertContains(page, f"Reference: {page['X-Request-ID']}", status_code=405)
    assert (page["Allow"], page["Cache-Control"]) == ("POST", "no-store, private")


def test_what_cannot_be_read_is_answered_with_a_page_with_a_way_on(client, settings):
    client.force_login(make_rater())
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 3
    fields = {f"field{n}": "x" for n in range(9)}

    for page in (
        client.post(reverse("rating:start"), fields),
        client.get("/", headers={"Host": "elsewhere.example"}),
    ):
        assertContains(page, "What was sent could not be read", status_code=400)
        assertContains(page, 'href="/">Home</a>', status_code=400)
        assertContains(page, "Nothing on this site tells you which AI", status_code=400)


def test_a_form_grown_too_old_shows_what_was_typed_and_can_be_sent_again():
    make_wave()
    rater = make_rater()
    card = leased(rater)
    client = Client(enforce_csrf_checks=True)
    client.force_login(rater)
    url = reverse("rating:rate", args=[card.code])

    answer = client.post(url, {"do": "save", "note": "what I had typed", "level": "3"})

    assertContains(answer, "what I had typed", status_code=403)
    assertContains(answer, "Your words are still here.", status_code=403)
    assertContains(answer, f'action="{url}"', status_code=403)


def test_a_sign_in_form_grown_too_old_does_not_show_the_password():
    client = Client(enforce_csrf_checks=True)

    answer = client.post(
        reverse("account_login"), {"login": "me@example.org", "password": "s3cret"}
    )

    assertNotContains(answer, "s3cret", status_code=403)


def test_no_form_grown_too_old_shows_a_password_or_what_another_site_sent():
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(Role.ADMIN))

    for name in ("oldpassword", "password1"):
        answer = client.post(reverse("account_change_password"), {name: "s3cret"})
        assertNotContains(answer, "s3cret", status_code=403)
    foreign = {"Origin": "https://elsewhere.example"}
    fields = {"email": "me@elsewhere.example", "roles": "admin"}
    answer = client.post(reverse("rating:people"), fields, headers=foreign)
    assertNotContains(answer, "me@elsewhere.example", status_code=403)


@pytest.mark.parametrize("role", list(Role))
def test_everybody_has_a_home_with_a_next_step(client, role):
    make_wave()
    client.force_login(make_user(role))

    assertContains(client.get(reverse("home")), "Hello, Person")


def run_manage(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *args],
        cwd=ROOT,
        env={"PATH": "", "DJANGO_SETTINGS_MODULE": "compassion.settings", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_debug_is_off_unless_set_and_a_wrong_setting_is_named(tmp_path):
    show = ("shell", "-v", "0", "-c", "from django.conf import settings; print(settings.DEBUG)")

    assert run_manage(*show, VAR_DIR=str(tmp_path)).stdout.strip() == "False"
    wrong = run_manage(*show, VAR_DIR=str(tmp_path), DEBUG="maybe")
    assert "DEBUG is 'maybe'; write true or false." in wrong.stderr


def test_the_key_of_one_machine_is_made_once_and_readable_by_its_owner_alone(tmp_path):
    show = (
        "shell",
        "-v",
        "0",
        "-c",
        "from django.conf import settings; print(settings.SECRET_KEY)",
    )

    keys = {run_manage(*show, VAR_DIR=str(tmp_path)).stdout for _ in range(2)}

    assert len(keys) == 1
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_site_behind_https_passes_the_deployment_check(tmp_path):
    done = run_manage(
        "check", "--deploy", "--fail-level", "WARNING",
        VAR_DIR=str(tmp_path), HTTPS="1", SECRET_KEY="k" * 40 + "0123456789abcdef",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_the_containers_run_as_nobody_in_particular_and_say_how_they_are(settings):
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = compose["services"]

    assert {"web", "worker", "database", "broker"} <= services.keys()
    for name in ("web", "worker"):
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["read_only"] is True
    for name in ("worker", "database", "broker"):
        assert services[name]["healthcheck"]["test"]
    for name in ("web", "worker", "database", "broker"):
        assert services[name]["restart"] == "unless-stopped"
    # Whoever is told to end is given longer than they need.
    assert int(services["web"]["stop_grace_period"][:-1]) > serving.graceful_timeout
    assert int(services["worker"]["stop_grace_period"][:-1]) > settings.ASK_TIMEOUT_SECONDS
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert dockerfile.index("\nUSER compassion") < dockerfile.index("\nHEALTHCHECK")


def test_every_setting_the_containers_are_given_is_one_the_settings_read():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    read = (ROOT / "compassion" / "settings.py").read_text()

    for name in compose["services"]["web"]["environment"]:
        assert f'"{name}"' in read, name


def test_no_committed_file_names_a_package_index_or_a_folder_of_one_machine():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    forbidden = ("--index" + "-url", "--find" + "-links", "files.python" + "hosted")
    for name in filter(None, tracked):
        path = ROOT / name
        if (
            path.suffix in (".py", ".txt", ".in", ".toml", ".yml", ".md", ".html", ".js")
            and path.exists()
        ):
            text = path.read_text()
            assert not any(word in text for word in forbidden), name


def test_every_file_that_the_readme_and_the_docs_link_to_is_there():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_a_container_asks_itself_by_a_name_that_the_site_answers_to(live_server):
    done = subprocess.run(
        [sys.executable, "-m", "compassion.healthcheck", f"{live_server.url}/healthz"],
        cwd=ROOT,
        env={"PATH": "", "ALLOWED_HOSTS": "localhost,rate.example.org"},
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def without_password(client):
    """Somebody whose account has no password that could be used."""
    user = make_user(Role.RATER)
    user.set_unusable_password()
    user.save()
    client.force_login(user)
    return user


def test_somebody_without_a_password_sets_one_where_others_change_theirs(client, without_password):
    page = client.get(reverse("account_change_password"), follow=True)
    assertContains(page, "<h1>Set a password</h1>", html=True)
    said = {"password1": "a-quiet-morning-walk", "password2": "a-quiet-morning-walk"}
    client.post(reverse("account_set_password"), said)

    without_password.refresh_from_db()
    assert without_password.check_password("a-quiet-morning-walk")
    assert client.get(reverse("account_set_password")).status_code == 302


def test_without_a_password_no_account_page_breaks(client, without_password):
    names = ["account_login", "account_change_password", "account_set_password", "account_logout"]
    for name in (*names, "account_reset_password", "home"):
        assert client.get(reverse(name), follow=True).status_code == 200, name
        assert client.post(reverse(name), {}, follow=True).status_code < 500, name
    client.logout()
    signed = client.post(
        reverse("account_login"), {"login": without_password.email, "password": "!"}
    )
    assert signed.status_code == 200
    asked = client.post(reverse("account_reset_password"), {"email": without_password.email})
    assert asked.status_code == 302


def test_nothing_warns_of_a_missing_host_when_messages_go_through_files(caplog):
    with app.connection_for_write() as connection:
        connection.info()

    assert "No hostname" not in caplog.text
    assert connection.hostname
