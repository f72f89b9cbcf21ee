"""A stand-in service on a real socket, and waiting for what comes in its own time."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

STUB = Path(__file__).resolve().parent / "stub_openai.py"


#: How long something is waited for: so long that only what never comes is not there by then, also on
#: a machine that does much else. How fast it is stands in the figures of `make bench`.
PATIENCE = 300.0


def until(true: Callable[[], object], what: str, seconds: float = PATIENCE) -> float:
    """The seconds it took until something was true; fails with ``what`` if it never was."""
    begun = time.monotonic()
    while not true():
        if time.monotonic() - begun > seconds:
            pytest.fail(f"not within {seconds:.0f} s: {what}")
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
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=60) as answer:
            return json.load(answer)

    def answers(self) -> bool:
        try:
            return bool(self.stats() is not None)
        except OSError:
            return False


@contextmanager
def stand_ins() -> Iterator[Callable[..., Stub]]:
    """Starts stand-in services with the given options, and ends them afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**options: object) -> Stub:
        port = free_port()
        arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        process = subprocess.Popen(
            [sys.executable, str(STUB), f"--port={port}", *arguments], stderr=subprocess.DEVNULL
        )
        started.append(process)
        service = Stub(port)
        until(service.answers, "the stand-in service answers")
        return service

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
            process.wait(timeout=PATIENCE)
