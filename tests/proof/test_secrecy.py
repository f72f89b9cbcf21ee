"""An unpublished item is found in its row, in the subject's request and on the cards: nowhere else.

Marks are planted in its prompt and in the descriptions of its levels. Then a whole wave is run, by
a provider that repeats in its errors whatever it was sent, and all that is left behind is searched.
"""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from rating.models import Assignment, Role, User
from rating.queue import lease, rate
from rating.quotes import Span
from runs.models import Anchor, Item, Run, RunState, Wave
from tests.factories import bank_data, given, leased, make_bank, make_rater, make_user, make_wave
from tests.proof.test_worker_killed import Place, kill
from tests.rating.test_blinding import every_path
from tests.services import PATIENCE, until

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

PROMPT = "Prompt-mark-7f3a"
ANCHOR = "Anchor-mark-7f3a"
MARKS = (PROMPT, ANCHOR)
PLAN = """
code = "kept-back"
title = "Kept back"
kind = "local"
bank = "{bank}"
seed = "1"
trials = 3
preregistration = "Nothing is compared."

[cost]
currency = "EUR"
ceiling = 100

[[cost.prices]]
snapshot = "kind-2026-01-01"
input = 1
output = 1

[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
provider = "openai"
access_tier = "none stated"
quantisation = "none stated"
base_url = "{base_url}"

[[subjects.conditions]]
name = "default"
system_message = ""
"""


class Provider:
    """Answers in turn with an outage, a filter, nonsense and a refusal, each repeating what was sent."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = True
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
                provider.asked.append(sent)
                status, body = provider.answer(json.loads(sent)["messages"][-1]["content"])
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base_url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, prompt: str) -> tuple[int, bytes]:
        number = len(self.asked)
        if self.broken and number == 2:
            return 500, _error(f"Could not serve {prompt!r}", "server")
        if self.broken and number == 3:
            return 400, _error(f"Filtered: {prompt}", "content_filter")
        if self.broken and number >= 4:
            return 401, _error(f"No key to ask {prompt}", "invalid_api_key")
        return 200, json.dumps(
            {
                "choices": [
                    {"message": {"content": f"I hear you. {number}"}, "finish_reason": "stop"}
                ],
                "usage": {"prompt_tokens": 9, "completion_tokens": 5},
            }
        ).encode()


def _error(message: str, code: str) -> bytes:
    return json.dumps({"error": {"message": message, "code": code}}).encode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    one = Provider()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    # As talkative as it can be made.
    there.environment |= {"LOG_LEVEL": "DEBUG", "LOG_FORMAT": "json", "ASK_IN_FLIGHT": "1"}
    there.environment["CELERY_BROKER_URL"] = "filesystem://"
    yield there
    for worker in there.workers:
        if worker.poll() is None:
            kill(worker)


def secret_bank():
    data = bank_data(2)
    item = data["items"][0]
    item |= {"prompt": f"What would you say to {PROMPT}, who is alone?", "pool": "unpublished"}
    for anchor in item["anchors"]:
        anchor["description"] = f"{ANCHOR} {anchor['level']}."
    return make_bank(data)


def files_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_bytes().decode(errors="replace")
        for path in folder.rglob("*")
        if path.is_file() and "sqlite" not in path.name
    }


def marked(texts: dict[str, str]) -> list[str]:
    """The names of those that hold a mark."""
    return sorted(name for name, text in texts.items() if any(mark in text for mark in MARKS))


def rows_with_a_mark() -> set[str]:
    """The columns of all tables in which a mark stands."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.values():
            for column, value in row.items():
                if any(mark in repr(value) for mark in MARKS):
                    found.add(f"{model._meta.label}.{column}")
    return found


def output_of(place: Place, *words: str) -> str:
    """All that a command prints."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=settings.BASE_DIR,
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def pages_of(person: User, wave: Wave) -> dict[str, str]:
    """Every page somebody can ask for, but those of a bank, where its items are read and mended."""
    client = Client(raise_request_exception=False)
    client.force_login(person)
    pages = {}
    for path in every_path(person, wave):
        if not path.startswith(("/bank/", "/sign-out/")):
            answer = client.get(path)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            pages[path] = body.decode(errors="replace")
    return pages


def test_an_unpublished_item_is_found_nowhere_but_where_it_must_be(
    place, provider, tmp_path, monkeypatch, caplog, capsys
):
    monkeypatch.setattr(settings, "CARD_DISTANCE", 0)
    monkeypatch.setattr(settings, "UNEVEN_CAP", 99)
    bank = secret_bank()
    assert Item.objects.get(prompt__contains=PROMPT).unpublished
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(bank=bank, base_url=provider.base_url))
    said = {}

    def manage(*words: str) -> None:
        said[" ".join(words)] = output_of(place, *words)

    # A wave is planned and started; the messages wait in their folder.
    manage("run", "estimate", str(plan))
    manage("run", "plan", str(plan))
    manage("run", "lock", "kept-back")
    manage("run", "start", "kept-back")
    messages = files_below(tmp_path / "broker")
    assert any("fetch_chunk" in text for text in messages.values())
    assert marked(messages) == []

    # It meets every kind of trouble and stops; then it is mended and ends.
    place.start_worker()
    until(lambda: Run.objects.get().state == RunState.STOPPED, "the run has stopped")
    manage("run", "status", "kept-back")
    provider.broken = False
    manage("run", "resume", "kept-back", "--reason", "The key is there now.")
    until(lambda: Run.objects.get().state == RunState.DONE, "the run is done")
    assert any(PROMPT in asked for asked in provider.asked)
    assert not any(ANCHOR in asked for asked in provider.asked)

    # Somebody rates: the card is the one page that shows it.
    rater = make_rater()
    shown = []
    while isinstance(card := lease(rater, now=timezone.now()), Assignment):
        client = Client()
        client.force_login(rater)
        shown.append(client.get(reverse("rating:queue")).content.decode())
        rate(card, given(3, quotes=((Span(0, 11), False),)), now=timezone.now())
    assert any(PROMPT in page and ANCHOR in page for page in shown)

    # What is left behind: pages, reports, exports, logs, messages, rows.
    manage("run", "status", "kept-back", "--json")
    manage("report", "kept-back", "--out", str(tmp_path / "report"))
    wave = Wave.objects.get()
    caplog.set_level(logging.DEBUG)
    for role in (Role.MAINTAINER, Role.ADMIN):
        assert marked(pages_of(make_user(role), wave)) == [], role
    assert marked(said) == []
    assert marked({"this process": caplog.text, "its output": "".join(capsys.readouterr())}) == []
    place.workers[0].terminate()
    place.workers[0].wait(timeout=PATIENCE)
    left = files_below(tmp_path)
    assert any("worker.log" in name for name in left)
    assert marked(left) == []
    assert rows_with_a_mark() == {
        f"{Item._meta.label}.prompt",
        f"{Anchor._meta.label}.description",
    }


def test_an_error_page_and_its_log_do_not_show_it(monkeypatch, caplog, capsys):
    make_wave(secret_bank())
    rater = make_rater()
    card = leased(rater)

    def breaks(cls: object, assignment: object) -> None:
        prompt = card.response.item.prompt
        raise RuntimeError(len(prompt))

    monkeypatch.setattr("rating.blinding.Card.of", classmethod(breaks))
    client = Client(raise_request_exception=False)
    client.force_login(rater)

    page = client.get(reverse("rating:queue"))

    assert page.status_code == 500
    texts = {
        "page": page.content.decode(),
        "log": caplog.text,
        "output": "".join(capsys.readouterr()),
    }
    assert marked(texts) == []
