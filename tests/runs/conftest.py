"""What the tests of asking stand on: a stand-in service on a real socket, a broker in memory."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from compassion.celery import app

STUB = Path(__file__).resolve().parent.parent / "stub_openai.py"


def until(true: Callable[[], object], seconds: float, what: str) -> float:
    """The seconds it took until something was true; fails with ``what`` if it never was."""
    begun = time.monotonic()
    while not true():
        if time.monotonic() - begun > seconds:
            pytest.fail(f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - begun


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass
class Stub:
    """A running stand-in service."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def stats(self) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=5) as answer:
            return json.load(answer)

    def answers(self) -> bool:
        try:
            return bool(self.stats() is not None)
        except OSError:
            return False


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    """Starts stand-in services with the given options, and ends them after the test."""
    started = []

    def start(**options: object) -> Stub:
        port = free_port()
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        process = subprocess.Popen(
            [sys.executable, str(STUB), f"--port={port}", *arguments], stderr=subprocess.DEVNULL
        )
        started.append(process)
        service = Stub(port)
        until(service.answers, 10, "the stand-in service answers")
        return service

    yield start
    for process in started:
        process.terminate()
        process.wait(timeout=10)


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
            self.wfile.write(answer)

        def log_message(self, *args):
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    listening.seen = seen
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
    yield
    app.conf.broker_url = before
    if named is not None:
        os.environ["CELERY_BROKER_URL"] = named
