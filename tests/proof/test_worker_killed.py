"""A worker is killed in the middle of its work, and started again: nothing is lost or doubled."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from rating.models import Slot
from runs.models import Probing, Response, Run, RunState, Status
from runs.probes import IN_FLIGHT as PROBES_IN_FLIGHT
from runs.probes import SAME_CALLS
from tests.runs.factories import BankFactory
from tests.services import PATIENCE, Stub, stand_ins, until

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

WORKER = ["celery", "-A", "compassion", "worker", "--pool", "threads", "--concurrency", "4"]
IN_FLIGHT = 16
ITEMS, TRIALS = 20, 25
#: What has ended when a worker is killed: so little that none can end all before it is.
SHARES = (0.1, 0.2, 0.35, 0.5)
PLAN = """
code = "killed"
title = "Killed"
kind = "local"
bank = "Model Index killed"
seed = "1"
trials = {trials}
preregistration = ""

[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
provider = "openai"
base_url = "{base_url}"
access_tier = "stand-in"
quantisation = "none stated"

[[subjects.conditions]]
name = "default"
system_message = ""
"""


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    with stand_ins() as start:
        yield start


class Place:
    """Where workers and commands run: the test's database, and a broker of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "VAR_DIR": str(folder),
            "ASK_IN_FLIGHT": str(IN_FLIGHT),
            "ASK_TIMEOUT_SECONDS": "10",
            "LOG_FORMAT": "plain",
        }

    def start_worker(self) -> subprocess.Popen[bytes]:
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
        return worker

    def manage(self, *words: str) -> None:
        subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=settings.BASE_DIR,
            env=self.environment,
            check=True,
        )

    def plan(self, service: Stub) -> None:
        BankFactory(version="killed", items=ITEMS)
        file = self.folder / "plan.toml"
        file.write_text(PLAN.format(base_url=service.base_url, trials=TRIALS))
        self.manage("run", "plan", str(file), "--lock")

    def log(self) -> str:
        return (self.folder / "worker.log").read_text(errors="replace")


def database_url() -> str:
    """The address of the database that the test uses."""
    place = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{place['NAME']}"
    who = f"{place['USER']}:{quote(place['PASSWORD'])}" if place["PASSWORD"] else place["USER"]
    return f"postgres://{who}@{place['HOST']}:{place['PORT'] or 5432}/{place['NAME']}"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    yield there
    for worker in there.workers:
        if worker.poll() is None:
            kill(worker)


def kill(worker: subprocess.Popen[bytes]) -> None:
    """End it, and all that it started, as a lost machine would."""
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def ended() -> int:
    return Response.objects.exclude(status=Status.PENDING).count()


def assert_each_trial_is_stored_once(service: Stub, kills: int) -> None:
    run = Run.objects.get()
    until(lambda: Run.objects.get().state == RunState.DONE, "the run is done")
    until(lambda: Probing.objects.get().state == RunState.DONE, "its probes are done")
    counts = run.responses.count_by_status()
    assert counts["pending"] == 0
    assert sum(counts.values()) == ITEMS * TRIALS
    assert counts["completed"] > 0.9 * ITEMS * TRIALS
    # What was announced once opened its two slots once.
    slots = Counter(Slot.objects.values_list("response_id", flat=True))
    assert len(slots) == counts["completed"]
    assert set(slots.values()) == {2}
    # So is each question of the probes; what could not be read was asked for again, in its own row.
    asked = Counter(run.probes.values_list("kind", "number", "ask"))
    assert set(asked.values()) == {1}
    assert not run.probes.pending().exists()
    assert run.probes.filter(kind="determinism").count() == SAME_CALLS
    # A call that a killed worker had begun is paid for and lost: no more than were in flight.
    answered = sum(
        attempt["outcome"] in ("completed", "filtered")
        for row in (*run.responses.all(), *run.probes.all())
        for attempt in row.attempts
    )
    paid_twice = service.stats()["answers"] - answered
    assert 0 <= paid_twice <= kills * (IN_FLIGHT + PROBES_IN_FLIGHT)
    most = 2 * (IN_FLIGHT + PROBES_IN_FLIGHT)
    assert service.stats()["peak_inflight"] <= most  # the stub ends what a dead one asked
    print(f"paid twice: {paid_twice} in {kills} kills; {counts}")


def test_a_killed_worker_loses_nothing_and_its_successor_goes_on(place, stub):
    service = stub(
        delay=0.4, jitter=0.2, r429=0.03, r500=0.03, rtimeout=0.01, rfilter=0.01, hang=15
    )
    place.plan(service)
    worker = place.start_worker()
    place.manage("run", "start", "killed")
    until(lambda: ended() > 0, "the first reply is stored")

    for share in SHARES:
        until(lambda share=share: ended() > share * ITEMS * TRIALS, f"{share} are stored")
        kill(worker)
        stored = ended()
        begun = time.monotonic()
        worker = place.start_worker()
        until(lambda stored=stored: ended() > stored, "the next reply is stored")
        print(f"at {stored}: went on after {time.monotonic() - begun:.1f} s")

    assert_each_trial_is_stored_once(service, kills=4)


def test_another_worker_goes_on_for_a_killed_one(place, stub):
    service = stub(delay=1.2, jitter=0.4)  # so slow that the second is ready long before the end
    place.plan(service)
    working = place.start_worker()
    place.manage("run", "start", "killed")
    until(lambda: ended() > 0, "the first worker has begun")
    place.start_worker()
    until(lambda: place.log().count(" ready.") == 2, "the second worker is ready")

    kill(working)
    stored = ended()
    print(f"went on after {until(lambda: ended() > stored, 'the second goes on'):.1f} s")

    assert_each_trial_is_stored_once(service, kills=1)


def test_a_worker_that_is_told_to_end_holds_nothing_afterwards(place, stub):
    service = stub(delay=0.4, jitter=0.2)
    place.plan(service)
    worker = place.start_worker()
    place.manage("run", "start", "killed")
    until(lambda: ended() > 50, "50 replies are stored")

    worker.send_signal(signal.SIGTERM)
    worker.wait(timeout=PATIENCE)

    assert not Response.objects.exclude(held_by="").exists()
    assert Response.objects.pending().exists()
    stored = ended()
    place.start_worker()
    until(lambda: ended() > stored, "the next reply is stored")
    assert_each_trial_is_stored_once(service, kills=0)
