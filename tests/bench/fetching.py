"""Fetching 2,490 replies of 200 ms: our task, a bare loop, and Inspect AI, on one stand-in service."""

import asyncio
import json
import os
import subprocess
import time
import venv
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.test import override_settings

from tests.bench.machinery import load
from tests.services import Stub, stand_ins

ITEMS, TRIALS = 83, 30
CALLS = ITEMS * TRIALS
SECONDS = 0.2
#: What Inspect AI was when its figures were taken. It is installed here alone.
INSPECT = ("inspect-ai==0.3.285", "openai")
INSPECT_RUN = """
import json, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.solver import generate

base_url, calls, in_flight, logs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
task = Task(dataset=[Sample(input=f"Question {n}") for n in range(calls)], solver=generate())
began, used = time.monotonic(), time.process_time()
(log,) = eval(
    task, model=get_model(
        "openai/stub", base_url=base_url, responses_api=False,
        config=GenerateConfig(max_connections=in_flight),
    ),
    max_samples=in_flight, display="none", log_dir=logs,
)
assert log.status == "success", log.error and log.error.message
print(json.dumps([time.monotonic() - began, time.process_time() - used]))
"""


def measure(in_flight: int, *, inspect: bool) -> None:
    """Each of the three at so many calls in flight. In a database of its own."""
    ideal = CALLS * SECONDS / in_flight

    def line(name: str, seconds: float, used: float) -> None:
        print(
            f"fetching {CALLS:,} replies of {SECONDS * 1000:.0f} ms, {in_flight} in flight, {name}: "
            f"{seconds:.1f} s ({seconds / ideal:.2f} of the ideal {ideal:.1f} s), "
            f"{used / CALLS * 1000:.1f} ms CPU a call (load {load()})"
        )

    with stand_ins() as start:
        service = start(delay=SECONDS, jitter=0)
        line("bare asyncio loop", *_bare(service, in_flight))
        line("ours", *_ours(service, in_flight))
        if inspect:
            told = _inspect(service, in_flight)
            if isinstance(told, str):
                print(f"Inspect AI was not measured: {told}")
            else:
                line("Inspect AI", *told)


def _ours(service: Stub, in_flight: int) -> tuple[float, float]:
    """One task of one worker, from the first claim to the last reply stored."""
    from runs.models import RunState
    from runs.tasks import fetch_chunk
    from tests.runs.factories import BankFactory, RunFactory, SubjectFactory, WaveFactory

    wave = WaveFactory(bank=BankFactory(items=ITEMS), trials=TRIALS)
    subject = SubjectFactory(provider="openai", base_url=service.base_url)
    run = RunFactory(wave=wave, subject=subject, rows=True)
    with override_settings(ASK_IN_FLIGHT=in_flight):
        began, used = time.monotonic(), time.process_time()
        fetch_chunk(run_id=run.pk)
        taken = time.monotonic() - began, time.process_time() - used
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.state
    assert run.responses.count_by_status()["completed"] == CALLS
    return taken


def _bare(service: Stub, in_flight: int) -> tuple[float, float]:
    """The least that can be done: as many connections, each asking again once it has its answer."""
    left = iter(range(CALLS))

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        with closing(writer):
            for number in left:
                content = {"role": "user", "content": f"Question {number}"}
                body = json.dumps({"model": "stub", "messages": [content]}).encode()
                writer.write(
                    b"POST /v1/chat/completions HTTP/1.1\r\nHost: stub\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
                )
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                json.loads(await reader.readexactly(length))["choices"][0]["message"]["content"]

    async def all_of_them() -> None:
        await asyncio.gather(*(ask() for _ in range(in_flight)))

    began, used = time.monotonic(), time.process_time()
    asyncio.run(all_of_them())
    return time.monotonic() - began, time.process_time() - used


def _inspect(service: Stub, in_flight: int) -> tuple[float, float] | str:
    """Inspect AI's own figures, or why there are none."""
    python = settings.VAR_DIR / "bench-inspect" / "bin" / "python"
    try:
        if not python.exists():
            venv.create(python.parent.parent, with_pip=True)
            command = [python, "-m", "pip", "install", "--quiet", *INSPECT]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        with TemporaryDirectory() as folder:
            script = Path(folder) / "run.py"
            script.write_text(INSPECT_RUN)
            words = [service.base_url, str(CALLS), str(in_flight), folder]
            done = subprocess.run(
                [python, script, *words],
                check=True,
                capture_output=True,
                text=True,
                timeout=900,
                env={**os.environ, "OPENAI_API_KEY": "none needed"},
            )
    except subprocess.CalledProcessError as why:
        said = why.stderr if isinstance(why.stderr, str) else (why.stderr or b"").decode()
        return said.strip().splitlines()[-1] if said.strip() else str(why)
    except (OSError, subprocess.TimeoutExpired) as why:
        return str(why)
    seconds, used = json.loads(done.stdout.strip().splitlines()[-1])
    return float(seconds), float(used)
