"""What the tests of asking stand on: a stand-in service on a real socket, a broker in memory."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compassion.celery import app
from tests.services import Stub, stand_ins


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    """Starts stand-in services with the given options, and ends them after the test."""
    with stand_ins() as start:
        yield start


@pytest.fixture
def server():
    """A server that gives the answers it is told to, one after the other, the last one for good."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((dict(self.headers), json.loads(body)))
            answers = self.server.answers
            status, headers, answer = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            with suppress(ConnectionError):  # a client may have read enough
                self.wfile.write(answer)

        def do_GET(self):
            answer = json.dumps(self.server.said.get(self.path)).encode()
            self.send_response(200 if self.path in self.server.said else 404)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    listening.seen = seen
    listening.said = {}  # what a GET of a path is answered
    listening.base_url = f"http://127.0.0.1:{listening.server_port}/v1"
    yield listening
    listening.shutdown()
    listening.server_close()


@pytest.fixture(autouse=True)
def _broker_in_memory() -> Iterator[None]:
    """Nothing that a test sends reaches a worker."""
    named = os.environ.pop("CELERY_BROKER_URL", None)
    before = app.conf.broker_url
    app.conf.broker_url = "memory://"
    _forget_connections()
    yield
    app.conf.broker_url = before
    _forget_connections()
    if named is not None:
        os.environ["CELERY_BROKER_URL"] = named


def _forget_connections() -> None:
    """Those that are kept for messages lead to the broker there was when the first one was sent."""
    app._pool = None
    app.amqp._producer_pool = None
