"""`manage.py demo` as a new user meets it: started, used, ended, started again."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.services import PATIENCE, free_port, until

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.proof


def start(var: Path, port: int) -> tuple["subprocess.Popen[str]", Path]:
    """The demo with a database of its own, and the file that holds what it prints."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "CELERY_BROKER_URL")
    }
    environment |= {"VAR_DIR": str(var), "LOG_FORMAT": "plain", "LOG_LEVEL": "WARNING"}
    said = var / f"said-{port}"
    with said.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-u", "manage.py", "demo", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return process, said


def completed(var: Path) -> int:
    with sqlite3.connect(f"file:{var / 'db.sqlite3'}?mode=ro", uri=True, timeout=10) as database:
        [(count,)] = database.execute(
            "SELECT COUNT(*) FROM runs_response WHERE status = 'completed'"
        )
        return int(count)


def end(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


def test_the_demo_starts_serves_ends_and_starts_again_with_nothing_lost(tmp_path):
    port = free_port()
    process, said = start(tmp_path, port)
    try:
        until(lambda: f"Open http://127.0.0.1:{port}/" in said.read_text(), "it says its address")
        first = said.read_text()
        accounts = re.findall(r"(\S+@example\.org)\s+(\S+)$", first, re.MULTILINE)
        assert len({email for email, _ in accounts}) == 6
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE) as answer:
            assert answer.status == 200
        page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE).read().decode()
        sheet = re.search(r'href="(/static/css/site\.[0-9a-f]+\.css)"', page)
        assert sheet
        urllib.request.urlopen(f"http://127.0.0.1:{port}{sheet[1]}", timeout=PATIENCE).close()
        until(lambda: completed(tmp_path) == 17 * 3 + 16 * 3, "the worker's replies are stored")
    finally:
        end(process)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0

    process, said = start(tmp_path, port)
    try:
        until(lambda: "Open http" in said.read_text(), "it says its address again")
        assert not re.findall(r"\S+@example\.org", said.read_text())
        assert completed(tmp_path) == 17 * 3 + 16 * 3
    finally:
        end(process)


def test_a_taken_port_is_said_before_anything_is_begun(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])

        process, said = start(tmp_path, port)

        assert process.wait(PATIENCE) == 1
        assert f"Something else answers on port {port}." in said.read_text()
        assert not (tmp_path / "db.sqlite3").exists()
