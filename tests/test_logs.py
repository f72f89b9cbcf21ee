"""What the log says: one line each, with the request and the task it belongs to, and of nobody."""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from logging.config import dictConfig
from pathlib import Path
from threading import Thread

import pytest
from celery.contrib.testing.worker import start_worker
from django.conf import settings as product
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from compassion.celery import app
from compassion.logs import Lines, Plain, RequestIdFilter, request_id, served
from rating.models import Role
from runs.models import Run, RunState
from runs.providers import Calls, OpenAIProvider, Question
from tests.browser.conftest import browser, new_page, sign_in  # noqa: F401 - fixtures
from tests.factories import leased, make_rater, make_user, make_wave
from tests.runs.factories import RunFactory, SubjectFactory
from tests.services import until

ROOT = Path(__file__).parents[1]
ID = "abc-123-def"
Lines_ = Callable[[], list[dict]]


@pytest.fixture
def lines():
    """What is logged from now on, each line read as JSON."""
    kept = StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(Lines(product.LOGGING["formatters"]["json"]["fmt"], rename_fields={
        "asctime": "at", "levelname": "level", "name": "logger",
    }))  # fmt: skip
    handler.addFilter(RequestIdFilter())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in kept.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.mark.django_db
def test_each_request_has_a_name_that_the_log_carries(client, lines):
    given = client.get("/healthz", headers={"X-Request-ID": ID})["X-Request-ID"]
    made = client.get("/healthz", headers={"X-Request-ID": "<script>"})["X-Request-ID"]
    client.get("/no/such/page", headers={"X-Request-ID": ID})

    assert (given, len(made)) == (ID, 16)
    [refused] = [line for line in lines() if line["logger"] == "django.request"]
    [answered] = [line for line in lines() if line["message"] == "answered"]
    assert refused["request_id"] == answered["request_id"] == ID
    assert (answered["method"], answered["status"]) == ("GET", 404)


def test_logs_are_one_json_object_a_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c",
         "import logging; logging.getLogger('x').error('two\\nlines', extra={'note': 'typed'})"],
        cwd=ROOT, env={"PATH": "", "VAR_DIR": str(tmp_path)}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip

    line = json.loads(done.stderr.strip().splitlines()[-1])
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "x", "two\nlines")
    assert "note" not in line, "what comes along with a record is told only where it is named"


@pytest.mark.django_db
def test_nothing_of_people_is_in_the_log_whatever_they_do(lines, monkeypatch):
    """A day of signing in, rating, mistakes and faults; then each word of theirs is looked for."""
    make_wave()
    rater = make_rater()
    rater.set_password("a-quiet-morning-walk")
    rater.save()
    client = Client(raise_request_exception=False, REMOTE_ADDR="203.0.113.77")
    agent = {"User-Agent": "Browser of one person", "Referer": "http://testserver/?q=seen"}
    door = reverse("account_login")
    client.post(door, {"login": rater.email, "password": "my-wrong-secret"}, headers=agent)
    client.post(door, {"login": rater.email, "password": "a-quiet-morning-walk"}, headers=agent)
    client.get(reverse("rating:join", args=["an-invitation-key-of-mine"]), headers=agent)
    client.get("/no/such/page?mail=me@example.org", headers=agent)
    card = leased(rater)
    url = reverse("rating:rate", args=[card.code])
    note = {"note": "she told me about her mother"}
    client.post(url, {"do": "save", **note}, headers=agent)

    def refused(*_args, **_named):
        raise IntegrityError(
            f"a rule is broken\nDETAIL:  Failing row contains (1, {note['note']}).\n"
            f"Key (email)=({rater.email}) is taken"
        )

    monkeypatch.setattr("rating.queue.rate_and_lease", refused)
    words = "I hear how heavy this is"
    answer = client.post(url, {"do": "submit", "level": "3", "words": words, **note}, headers=agent)

    assert answer.status_code == 500
    told = json.dumps(lines())
    assert len(lines()) > 6
    assert "a rule is broken" in told
    for personal in (
        rater.email, rater.name, "me@example.org", "my-wrong-secret", "a-quiet-morning-walk",
        note["note"], words, card.response.text, "203.0.113.77", "Browser of one person",
        "an-invitation-key-of-mine", str(card.code), client.session.session_key,
    ):  # fmt: skip
        assert personal not in told, personal


def test_the_same_holds_for_the_lines_that_a_person_reads_at_a_terminal():
    record = logging.LogRecord("x", 20, "f", 1, "for %s", ("me@example.org",), None)
    record.ms = 3

    assert Plain("%(message)s").format(record) == "for (address) ms=3"


def test_the_server_writes_its_own_lines_as_the_product_does(capsys):
    made = served(product.LOGGING)
    before = logging.getLogger().handlers[:], logging.getLogger().level

    dictConfig(made)
    try:
        logging.getLogger("gunicorn.error").info("Booting worker")
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)

    assert json.loads(capsys.readouterr().err.splitlines()[-1])["logger"] == "gunicorn.error"
    served_by = {**served(product.LOGGING), "handlers": {}}
    assert served_by["root"] == product.LOGGING["root"]


@pytest.fixture
def asks(monkeypatch):
    """A run that waits to be started, by a worker whose lines come to us."""
    monkeypatch.setattr("logging.config.dictConfig", lambda _: None)
    run = RunFactory(rows=True, state=RunState.PLANNED, subject=SubjectFactory(provider="demo"))
    run.wave.locked_at = timezone.now()
    run.wave.save(update_fields=["locked_at"])
    app.control.purge()
    return run


@contextmanager
def a_worker() -> Iterator[None]:
    """A worker in a thread of this process, so that its lines are among ours."""
    with start_worker(app, pool="threads", concurrency=1, perform_ping_check=False):
        yield


def lead_of(run: Run, name: str, lines: Lines_) -> None:
    """Wait until a worker has asked, and see that its lines bear the name of the request."""
    with a_worker():
        until(lambda: not run.responses.pending().exists(), "the replies are stored")
        until(
            lambda: (
                [x["message"] for x in lines() if x["request_id"] == name].count("task ended") >= 2
            ),
            "both tasks have ended",
        )
    mine = [line for line in lines() if line["request_id"] == name]
    begun = {x["task"]: x["task_id"] for x in mine if x["message"] == "task begins"}
    # Its probes are asked by a task of their own, which the same click began.
    assert begun.keys() == {"runs.tasks.fetch_chunk", "runs.probes.ask_probes"}
    assert all(re.fullmatch(r"[0-9a-f-]{36}", one) for one in begun.values())
    asked = {(x["task_id"], x["outcome"]) for x in mine if x["message"] == "a subject was asked"}
    assert asked == {(one, "completed") for one in begun.values()}
    [answered] = [line for line in mine if line["message"] == "answered"]
    assert (answered["route"], answered["method"]) == ("waves/<slug:code>/start/", "POST")


@pytest.mark.django_db(transaction=True)
def test_one_name_leads_from_a_request_to_the_lines_of_the_worker_and_of_its_calls(
    client, lines, asks
):
    client.force_login(make_user(Role.MAINTAINER))

    url = reverse("runs:start", args=[asks.wave.code])
    client.post(url, headers={"X-Request-ID": ID})

    lead_of(asks, ID, lines)


@pytest.mark.browser
@pytest.mark.proof
@pytest.mark.django_db(transaction=True)
def test_a_click_in_a_browser_is_found_in_the_log_of_the_worker(lines, asks, sign_in):  # noqa: F811
    page = sign_in(make_user(Role.MAINTAINER))
    page.goto(reverse("runs:wave", args=[asks.wave.code]))

    with page.expect_response("**/start/") as answer:
        page.get_by_role("button", name="Start asking").click()

    lead_of(asks, answer.value.headers["x-request-id"], lines)


class Listening(BaseHTTPRequestHandler):
    """Whoever is asked, who keeps all that came."""

    came: list[str] = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.came.append(f"{self.path} {self.headers} {body!r}")
        reply = b'{"choices": [{"message": {"content": "I hear you."}, "finish_reason": "stop"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def test_no_provider_is_told_the_name_of_a_request(lines):
    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        provider = OpenAIProvider("kind", f"http://127.0.0.1:{server.server_port}/v1", {})
        named = request_id.set(ID)
        with Calls(provider) as calls:
            calls.ask([(1, Question(({"role": "user", "content": "Hello?"},), 1))], room=1)
            ended = calls.finished(within=20, linger=0.01, most=1)
        request_id.reset(named)
        server.shutdown()

    assert ended[1].text == "I hear you."
    [came] = Listening.came
    assert ID not in came
    [asked] = [line for line in lines() if line["message"] == "a subject was asked"]
    assert asked["request_id"] == ID
