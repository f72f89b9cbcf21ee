"""What people see when something of ours is away or broke, and what they keep."""

import json
import re
import sqlite3
from html.parser import HTMLParser

import psycopg
import pytest
from django.core.cache import caches
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, OperationalError
from django.test import Client
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains

from compassion import caches as ours
from compassion.outages import is_outage
from rating.models import Rating
from tests.factories import leased, make_rater, make_wave
from tests.services import free_port

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
WORDS = "I hear how heavy this is"


def away(*_args, **_named):
    raise OperationalError("connection to server failed: rater@example.org") from (
        psycopg.OperationalError()
    )


def broken(*_args, **_named):
    raise ZeroDivisionError("a fault of ours")


class Fields(HTMLParser):
    """The form that a page offers, as a browser would send it."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.action, self.fields, self._text = "", {}, ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self.action = found["action"]
        elif tag == "input":
            self.fields[found["name"]] = found["value"]
        elif tag == "textarea":
            self._text = found["name"]

    def handle_data(self, data):
        if self._text:
            self.fields[self._text] = self.fields.get(self._text, "") + data

    def handle_endtag(self, tag):
        if tag == "textarea":
            # A browser leaves out the line break that the tag begins with.
            self.fields[self._text] = self.fields.get(self._text, "").removeprefix("\n")
            self._text = ""


@pytest.fixture
def rater():
    make_wave()
    return make_rater()


@pytest.fixture
def visitor(rater):
    """A browser whose requests are checked, and that shows what broke."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(rater)
    return client


def token_of(client: Client) -> str:
    return client.get(reverse("rating:token")).json()["token"]


def test_a_page_met_while_the_database_is_away_says_so_and_when_to_try_again(visitor, monkeypatch):
    monkeypatch.setattr("rating.sign_in.Backend.get_user", away)

    page = visitor.get(reverse("rating:queue"))

    assert (page.status_code, page["Retry-After"]) == (503, "10")
    for words in (
        "We cannot reach our data",
        "What you had saved is safe.",
        'href="/rate/">Try again</a>',
        f"give this number: {page['X-Request-ID']}",
        "Nothing on this site tells you which AI to turn to",
    ):
        assertContains(page, words, status_code=503)
    assertNotContains(page, "rater@example.org", status_code=503)
    assert page["Cache-Control"] == "no-store, private"


def test_what_was_typed_comes_back_when_it_cannot_be_stored_and_is_stored_once_when_sent_again(
    visitor, rater, monkeypatch
):
    url = reverse("rating:rate", args=[leased(rater).code])
    typed = {
        "do": "submit",
        "level": "3",
        "words": WORDS,
        "note": 'Kind, "but" <short>\nand late',
        "csrfmiddlewaretoken": token_of(visitor),
    }
    with monkeypatch.context() as without:
        without.setattr("rating.queue.rate_and_lease", away)
        page = visitor.post(url, typed)
    assertContains(page, "What you typed is still here.", status_code=503)
    offered = Fields(page.content)

    answer = visitor.post(offered.action, offered.fields)
    again = visitor.post(offered.action, offered.fields)

    assert (offered.action, answer.status_code, again.status_code) == (url, 303, 409)
    assert [rating.note for rating in Rating.objects.all()] == ['Kind, "but" <short>\nand late']


def test_a_fault_of_ours_gives_back_what_was_typed_too(visitor, rater, monkeypatch):
    monkeypatch.setattr("rating.queue.rate_and_lease", broken)
    typed = {"do": "submit", "level": "3", "words": WORDS, "csrfmiddlewaretoken": token_of(visitor)}

    page = visitor.post(reverse("rating:rate", args=[leased(rater).code]), typed)

    assertContains(page, WORDS, status_code=500)
    assertContains(page, f"give this number: {page['X-Request-ID']}", status_code=500)
    assertNotContains(page, "ZeroDivisionError", status_code=500)


def test_no_password_comes_back_and_nothing_that_another_site_sent(rater, monkeypatch):
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    monkeypatch.setattr("django.contrib.auth.authenticate", away)
    monkeypatch.setattr("allauth.account.adapter.DefaultAccountAdapter.authenticate", away)
    client.get(reverse("account_login"))
    typed = {
        "login": "me@example.org",
        "password": "s3cret",
        "csrfmiddlewaretoken": client.cookies["csrftoken"].value,
    }

    page = client.post(reverse("account_login"), typed)

    assertContains(page, "We cannot reach our data", status_code=503)
    assertNotContains(page, "s3cret", status_code=503)
    foreign = client.post(reverse("account_login"), {"login": "from elsewhere"})
    assertNotContains(foreign, "s3cret", status_code=403)


@pytest.mark.parametrize(("fault", "status"), [(away, 503), (broken, 500)])
def test_a_request_by_script_gets_a_problem_with_the_id_and_keeps_its_page(
    visitor, rater, monkeypatch, fault, status
):
    monkeypatch.setattr("rating.queue.rate_and_lease", fault)
    typed = {"do": "submit", "level": "3", "words": WORDS, "csrfmiddlewaretoken": token_of(visitor)}

    answer = visitor.post(reverse("rating:rate", args=[leased(rater).code]), typed, headers=HTMX)

    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    said = json.loads(answer.content)
    assert said["request_id"] == answer["X-Request-ID"]
    assert said["status"] == status
    assert WORDS not in answer.content.decode()


def test_where_even_the_page_for_a_fault_cannot_be_made_there_is_one(visitor, monkeypatch):
    monkeypatch.setattr("rating.sign_in.Backend.get_user", away)
    monkeypatch.setattr("compassion.outages.get_template", broken)

    page = visitor.get(reverse("rating:queue"))

    assertContains(page, "We cannot reach our data", status_code=503)
    assertContains(page, f"give this number: {page['X-Request-ID']}", status_code=503)
    assertContains(page, "call your local emergency number", status_code=503)


def test_a_page_that_is_not_there_is_an_outage_while_nobody_can_tell_who_asks(visitor, monkeypatch):
    monkeypatch.setattr("rating.sign_in.Backend.get_user", away)

    assert visitor.get("/no/such/page").status_code == 503


def test_what_is_away_for_a_while_is_told_from_what_is_wrong():
    def from_(cause: Exception, words: str) -> OperationalError:
        why = OperationalError(words)
        why.__cause__ = cause
        return why

    assert is_outage(from_(sqlite3.OperationalError(), "database is locked"))
    assert is_outage(from_(psycopg.errors.AdminShutdown(), "terminating connection"))
    assert is_outage(OSError(28, "No space left on device"))
    assert not is_outage(from_(sqlite3.OperationalError(), "no such column: rating.x"))
    assert not is_outage(IntegrityError("a rule"))
    assert not is_outage(PermissionDenied())
    assert not is_outage(None)


def test_more_than_a_page_takes_is_refused_with_the_way_on(client, settings, rater):
    client.force_login(rater)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000

    page = client.post(reverse("rating:start"), {"note": "x" * 2000})

    assertContains(page, "Too much at once", status_code=413)
    assertContains(page, "What you had saved is safe.", status_code=413)
    assertContains(page, f"Reference: {page['X-Request-ID']}", status_code=413)


def test_too_many_tries_to_sign_in_are_met_by_a_page_that_says_when_to_come_back(client, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login": "2/m/ip"}
    tried = {"login": "nobody@example.org", "password": "x"}

    pages = [client.post(reverse("account_login"), tried) for _ in range(3)]

    assert pages[0].status_code == 200
    assertContains(pages[-1], "Try again at", status_code=429)
    assertContains(pages[-1], f"Reference: {pages[-1]['X-Request-ID']}", status_code=429)


@pytest.fixture
def without_redis(settings):
    """A cache whose Redis does not answer."""
    settings.CACHES = {
        "default": {
            "BACKEND": "compassion.caches.RedisOrMemory",
            "LOCATION": f"redis://127.0.0.1:{free_port()}/0",
            "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
        }
    }
    return caches["default"]


def test_without_redis_a_process_keeps_what_it_needs_by_itself(without_redis, caplog):
    cache = without_redis

    assert cache.get("page", "none") == "none"
    cache.set("page", "kept", 60)
    assert cache.get_or_set("other", lambda: 3, 60) == 3
    assert (cache.get("page"), cache.incr("other"), cache.add("page", "x")) == ("kept", 4, False)
    assert cache.get_many(["page", "nothing"]) == {"page": "kept"}
    assert not cache.answers()
    said = [one for one in caplog.records if one.name == "compassion.caches"]
    assert len(said) == 1, "it is told once, not for every page"


def test_when_redis_answers_again_what_was_kept_meanwhile_is_forgotten(without_redis, monkeypatch):
    cache = without_redis
    cache.set("page", "kept meanwhile", 60)
    cache._away.until = 0
    monkeypatch.setattr(ours.RedisCache, "get", lambda self, key, default=None: "from Redis")

    assert cache.get("page") == "from Redis"
    assert cache._meanwhile.get("page") is None


def test_without_redis_people_sign_in_and_tries_are_still_counted(without_redis, client, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login": "3/m/ip"}
    rater = make_rater()
    rater.set_password("a-quiet-morning-walk")
    rater.save()

    right = {"login": rater.email, "password": "a-quiet-morning-walk"}
    assert client.post(reverse("account_login"), right).status_code == 302
    client.logout()
    tried = [client.post(reverse("account_login"), {**right, "password": "x"}) for _ in range(4)]

    assert tried[-1].status_code == 429


def test_without_a_broker_or_cache_ratings_are_kept_and_that_is_what_ready_means(
    without_redis, settings, client, rater
):
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:1/0"
    client.force_login(rater)

    ready = client.get("/readyz")
    card = leased(rater)
    sent = client.post(
        reverse("rating:rate", args=[card.code]), {"do": "submit", "level": "3", "words": WORDS}
    )

    assert (ready.status_code, ready.json()["status"]) == (200, "ready, but")
    assert ready.json()["faults"] == {"broker and cache": "does not answer"}
    assert sent.status_code == 303
    assert Rating.objects.count() == 1


def test_every_page_for_a_fault_has_one_heading_a_way_on_and_the_support_line(
    visitor, monkeypatch, settings
):
    settings.SUPPORT_LINE = "Samaritans: 116 123"
    pages = [visitor.get("/no/such/page"), visitor.get(reverse("rating:start"))]
    pages.append(visitor.get("/", headers={"Host": "elsewhere.example"}))
    pages.append(visitor.get(reverse("rating:people")))
    pages.append(visitor.post(reverse("rating:start"), {}))  # without its token
    for fault in (away, broken):
        with monkeypatch.context() as without:
            without.setattr("rating.queue.current", fault)
            pages.append(visitor.get(reverse("rating:queue")))

    statuses = [page.status_code for page in pages]
    assert statuses == [404, 405, 400, statuses[3], 403, 503, 500]
    assert statuses[3] in (403, 404)
    for page in pages:
        text = page.content.decode()
        assert text.count("<h1>") == 1, page.status_code
        assert "Samaritans: 116 123" in text
        assert re.search(r'<a( class="button")? href="/">Home</a>', text), page.status_code
        assert re.search(f"(Reference|give this number): {page['X-Request-ID']}", text)
