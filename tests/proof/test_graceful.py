"""Web is told to end, as `docker stop` does: what is in hand is answered first. Takes some seconds."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.conf import settings

from tests.services import PATIENCE, free_port, until

pytestmark = pytest.mark.proof

SLOW_SECONDS = 3


def application(environ, start_response):
    """A page that takes its time."""
    if environ["PATH_INFO"] == "/slow":
        time.sleep(SLOW_SECONDS)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"done"]


@pytest.fixture
def web(tmp_path):
    """The address of a server as the product's is set, and its process."""
    port = free_port()
    command = ["gunicorn", "--config", "python:compassion.serving", "tests.proof.test_graceful"]
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=settings.BASE_DIR,
        env={**os.environ, "WEB_BIND": f"127.0.0.1:{port}", "VAR_DIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    until(lambda: asked(f"{address}/") == b"done", "it answers")
    yield address, process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def asked(address: str) -> bytes:
    with suppress(OSError), urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read()
    return b""


def test_what_is_in_hand_is_answered_before_the_server_ends(web):
    address, process = web

    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(asked, f"{address}/slow") for _ in range(3)]
        time.sleep(SLOW_SECONDS / 2)
        process.send_signal(signal.SIGTERM)
        answers = [one.result() for one in slow]

    assert answers == [b"done"] * 3
    assert process.wait(timeout=PATIENCE) == 0
    assert asked(f"{address}/") == b"", "nobody answers any more"
