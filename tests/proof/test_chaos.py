"""Workers, the broker and the database are killed in the middle of a wave: nothing is lost.

On a PostgreSQL and a Redis of its own, on ports of their own: the machine's are left alone.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
import redis
from django.conf import settings

from tests.proof.test_worker_killed import WORKER, kill
from tests.services import Stub, free_port, stand_ins, until

pytestmark = pytest.mark.proof

IN_FLIGHT = 16
SUBJECTS, ITEMS, TRIALS = 4, 83, 3
ALL = SUBJECTS * ITEMS * TRIALS
#: What the last attempt of a trial says when it ended so.
ENDS = {
    "completed": {"completed"},
    "filtered": {"filtered"},
    "failed": {"empty", "rate_limit", "timeout", "server", "network"},
}
HEAD = """
code = "chaos"
title = "Chaos"
kind = "local"
bank = "{bank}"
seed = "20261130"
trials = 3
preregistration = ""
"""
SUBJECT = """
[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-{number}-2026-01-01"
provider = "openai"
access_tier = "none stated"
quantisation = "none stated"
base_url = "{base_url}"

[[subjects.conditions]]
name = "default"
system_message = "You are number {number}."
"""


def program(name: str) -> str:
    """Where a program is; those of PostgreSQL are often not on the path."""
    found = shutil.which(name) or next(
        (str(path) for path in Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), None
    )
    if found is None:
        pytest.fail(f"{name} is not on this machine: install postgresql and redis-server.")
    return found


class Postgres:
    """A cluster of its own. Its server refuses to run as root, and then runs as postgres."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.data = folder / "data"
        self.log = folder / "postgres.log"
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(folder, "postgres")
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.data.parent} -c max_connections=60"
        self._run("pg_ctl", "-D", self.data, "-l", self.log, "-o", options, "-w", "start")

    def stop(self, how: str = "immediate") -> None:
        """Immediately is as a lost machine would: what was not yet written down is recovered."""
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def rows(self, sql: str) -> list[tuple]:
        with psycopg.connect(self.url) as there:
            return there.execute(sql).fetchall()

    def _run(self, name: str, *words: object) -> None:
        command = [*self.user, program(name), *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.data.parent)


class Redis:
    """A broker of its own, which forgets everything when it is killed."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        words = [
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self.process = subprocess.Popen(
            [program("redis-server"), *words], cwd=self.folder, stdout=subprocess.DEVNULL
        )
        until(self.answers, "the broker answers")

    def answers(self) -> bool:
        with suppress(redis.RedisError):
            return bool(redis.Redis(port=self.port).ping())
        return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Place:
    """All that a wave runs on, and what can be taken from it."""

    def __init__(self, folder: Path, postgres: Postgres, broker: Redis) -> None:
        self.folder, self.postgres, self.broker = folder, postgres, broker
        self.workers: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **os.environ,
            "DATABASE_URL": postgres.url,
            "CELERY_BROKER_URL": broker.url,
            "VAR_DIR": str(folder),
            "ASK_IN_FLIGHT": str(IN_FLIGHT),
            "ASK_TIMEOUT_SECONDS": "10",
            "LOG_FORMAT": "plain",
        }

    def manage(self, *words: str) -> str:
        ended = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=settings.BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, f"manage.py {words[0]}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def start_worker(self) -> None:
        with (self.folder / "worker.log").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", *WORKER],
                cwd=settings.BASE_DIR,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(worker)

    def kill_worker(self) -> None:
        kill(self.workers.pop(0))

    def ended(self) -> int:
        ((count,),) = self.postgres.rows(
            "SELECT count(*) FROM runs_response WHERE status <> 'pending'"
        )
        return count


@pytest.fixture
def place() -> Iterator[Place]:
    # Not pytest's own folder: nobody but its owner may enter that.
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    (folder / "postgres").mkdir()
    folder.chmod(0o755)
    postgres, broker = Postgres(folder / "postgres"), Redis(folder)
    there = Place(folder, postgres, broker)
    yield there
    for worker in there.workers:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    broker.kill()
    postgres.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    with stand_ins() as start:
        yield start


def test_a_wave_survives_the_loss_of_workers_broker_and_database(place, stub):
    service = stub(
        delay=0.4,
        jitter=0.2,
        r429=0.05,
        r500=0.02,
        rtimeout=0.01,
        hang=15,
        rempty=0.03,
        rfilter=0.02,
    )
    bank = settings.BASE_DIR / "fixtures" / "model_index.json"
    plan = place.folder / "plan.toml"
    subjects = [SUBJECT.format(number=n, base_url=service.base_url) for n in range(SUBJECTS)]
    place.manage("migrate", "--verbosity=0")
    name, _ = place.manage("bank", "import", str(bank)).split(" is loaded")
    plan.write_text(HEAD.format(bank=name) + "".join(subjects))
    place.manage("run", "plan", str(plan), "--lock")
    for _ in range(2):
        place.start_worker()
    place.manage("run", "start", "chaos")

    def lose_a_worker() -> None:
        place.kill_worker()
        place.start_worker()

    def lose_the_broker() -> None:
        place.broker.kill()
        time.sleep(1)
        place.broker.start()

    def lose_the_database() -> None:
        place.postgres.stop()
        time.sleep(1)
        place.postgres.start()

    def lose_all() -> None:
        place.kill_worker()
        place.broker.kill()
        place.postgres.stop()
        place.postgres.start()
        place.broker.start()
        place.start_worker()

    blows = [lose_a_worker, lose_the_broker, lose_the_database, lose_a_worker, lose_all]
    for number, blow in enumerate(blows, start=1):
        share = number / (len(blows) + 5)
        until(lambda share=share: place.ended() > share * ALL, f"{share:.0%} have ended")
        before = place.ended()
        blow()
        took = until(lambda before=before: place.ended() > before, f"going on: {blow.__name__}")
        print(f"at {before}: {blow.__name__}, going on after {took:.1f} s")
    until(lambda: place.ended() == ALL, "every trial has ended")

    told = json.loads(place.manage("run", "status", "chaos", "--json"))
    assert told["state"] == "done"
    assert told["counts"] | {"completed": 0, "failed": 0, "filtered": 0} == dict.fromkeys(
        told["counts"], 0
    )
    assert told["counts"]["completed"] > 0.9 * ALL
    rows = place.postgres.rows(
        "SELECT run_id, item_id, trial, status, text, attempts FROM runs_response"
    )
    assert len({row[:3] for row in rows}) == len(rows) == ALL
    assert Counter(row[0] for row in rows) == Counter(
        dict.fromkeys({row[0] for row in rows}, ITEMS * TRIALS)
    )
    for *_, status, text, attempts in rows:
        assert attempts[-1]["outcome"] in ENDS[status]
        assert bool(text) == (status == "completed")
    slots = place.postgres.rows("SELECT response_id, count(*) FROM rating_slot GROUP BY 1")
    assert len(slots) == told["counts"]["completed"]
    assert {count for _, count in slots} == {2}
    # A call that was on its way when something was lost is paid for again: no more than those.
    probes = place.postgres.rows("SELECT attempts FROM runs_probe")
    known = sum(
        attempt["outcome"] in ("completed", "filtered", "empty")
        for attempts in [*(row[5] for row in rows), *(row[0] for row in probes)]
        for attempt in attempts
    )
    twice = service.stats()["answers"] - known
    print(f"paid twice: {twice}; {told['counts']}")
    assert 0 <= twice <= len(blows) * SUBJECTS * IN_FLIGHT
    assert "The log holds" in place.manage("verify")
