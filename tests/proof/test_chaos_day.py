"""Raters rate and replies come in while web, worker, Redis and PostgreSQL are killed: nothing is lost.

On a PostgreSQL and a Redis of its own. It takes about three minutes, one of them under blows.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

import pytest
from django.conf import settings

from tests.proof.test_chaos import HEAD, SUBJECT, Place, Postgres, Redis, place, stub  # noqa: F401
from tests.services import PATIENCE, free_port, until
from tests.visitors import Visitor

pytestmark = pytest.mark.proof

RATERS = 6
SUBJECTS, ITEMS, TRIALS = 2, 83, 3
PASSWORD = "a-quiet-morning-walk"
SEED = 20261130
#: Each is killed more than once, all of them together once.
BLOWS = ["redis", "postgres", "web", "worker", "postgres", "redis", "all", "postgres"]
GAP = (3.0, 7.0)  # seconds between two blows
ENOUGH = 150  # ratings that were sent: everybody has then done all there is to do
#: All in one process: to begin one takes seconds.
FILL = """
from pathlib import Path
from django.conf import settings
from django.core.management import call_command
from rating.people import give_roles
from rating.models import User
from runs.bank import read_bank
from runs.models import Bank
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
call_command("migrate", verbosity=0)
bank, _ = Bank.objects.import_file(read_bank(Path("fixtures/model_index.json")))
with open("{plan}") as file:
    plan = file.read()
with open("{plan}", "w") as file:
    file.write(plan.replace("THE BANK", str(bank)))
call_command("run", "plan", "{plan}", "--lock")
for n in range({count}):
    user = User.objects.create_user(f"rater{{n}}@example.org", "{password}", name=f"Rater {{n}}")
    give_roles(user, ["rater"])
call_command("run", "start", "chaos")
"""
FREE_WHAT_IS_HELD = """
from datetime import timedelta
from django.utils import timezone
from rating.models import Slot, Assignment
from rating.queue import reclaim
for _ in range(9):
    reclaim(timezone.now() + timedelta(hours=3))
print(Slot.objects.filter(state="held").count(), Assignment.objects.live().count())
"""


class Day(Place):
    """The machines of a rating day, each of which can be taken away at once."""

    def __init__(self, other: Place) -> None:
        self.__dict__.update(other.__dict__)
        self.web: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.environment |= {
            "WEB_BIND": f"127.0.0.1:{self.port}",
            "WEB_WORKERS": "2",
            "WEB_THREADS": "4",
            "ASK_IN_FLIGHT": "4",
            "CARD_DISTANCE": "1",
            "UNEVEN_CAP": "1000",
            "LOG_FORMAT": "json",
            "CLOCK_FILE": str(self.folder / "clock"),
            "SECRET_KEY": "one key for all of them, kept over restarts",
        }

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start_web(self) -> None:
        """The product with a clock that is right, and passwords that cost little to look at."""
        with (self.folder / "web.log").open("ab") as log:
            self.web = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "--config", "python:compassion.serving",
                 "tests.clocked"],
                cwd=settings.BASE_DIR, env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def is_ready(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.site}/readyz", timeout=5) as answer:
            return answer.status == 200
        return False

    def kill_web(self) -> None:
        assert self.web is not None
        with suppress(ProcessLookupError):
            os.killpg(self.web.pid, signal.SIGKILL)
        self.web.wait()

    def kill_postgres(self) -> None:
        """SIGKILL for the server and all its children at once, as when the power goes."""
        postmaster = int((self.postgres.data / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        # Its children work in its folder. One that was just begun is there at the next look.
        until(lambda: not self._kill_all_in(self.postgres.data), "PostgreSQL is gone")
        # Where nobody has yet taken note of its end, its number would still seem to live.
        (self.postgres.data / "postmaster.pid").unlink(missing_ok=True)

    def _kill_all_in(self, folder: Path) -> list[int]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cwd").readlink() == folder:
                    found.append(int(process.name))
                    os.kill(found[-1], signal.SIGKILL)
        return found

    def start_postgres(self) -> None:
        """Its memory may be freed a moment later than its processes end: then once more."""
        for _ in range(5):
            with suppress(subprocess.CalledProcessError):
                self.postgres.start()
                return
            time.sleep(1)
        pytest.fail(self.postgres.log.read_text()[-2000:])

    def blow(self, what: str, away: float) -> None:
        """Kill it, leave it away for a while, and start it again."""
        named = ["web", "worker", "redis", "postgres"] if what == "all" else [what]
        kills = {
            "web": self.kill_web,
            "worker": self.kill_worker,
            "redis": self.broker.kill,
            "postgres": self.kill_postgres,
        }
        starts = {
            "web": self.start_web,
            "worker": self.start_worker,
            "redis": self.broker.start,
            "postgres": self.start_postgres,
        }
        for one in named:
            kills[one]()
        time.sleep(away)
        for one in reversed(named):
            starts[one]()

    def lines(self, name: str) -> list[dict]:
        """The lines of a log, each of which must be one JSON object."""
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture
def day(place):  # noqa: F811
    there = Day(place)
    yield there
    if there.web is not None:
        there.kill_web()


def work(visitor: Visitor, over: Event) -> Visitor:
    """Rate until the day is over; now and then somebody signs out and in."""
    visitor.sign_in()
    while not over.is_set():
        if not visitor.turn():
            time.sleep(0.3)
        if visitor.chance.random() < 0.02:
            visitor.sign_out()
            visitor.sign_in()
        time.sleep(visitor.chance.random() * 0.15)
    return visitor


def test_a_rating_day_survives_the_loss_of_web_worker_redis_and_postgresql(day, stub):  # noqa: F811
    service = stub(delay=0.25, jitter=0.1, words=40, r429=0.02, r500=0.02)
    plan = day.folder / "plan.toml"
    subjects = [SUBJECT.format(number=n, base_url=service.base_url) for n in range(SUBJECTS)]
    plan.write_text(HEAD.format(bank="THE BANK") + "".join(subjects))
    fill = FILL.format(plan=plan, count=RATERS, password=PASSWORD)
    day.manage("shell", "-v0", "-c", fill)
    for _ in range(2):
        day.start_worker()
    day.start_web()
    until(day.is_ready, "the site is ready")
    until(lambda: day.ended() > 30, "there are replies to rate")

    chance, over = random.Random(SEED), Event()
    visitors = [
        Visitor(
            day.site, f"rater{n}@example.org", PASSWORD, n, script=bool(n % 2), patience=PATIENCE
        )
        for n in range(RATERS)
    ]
    with ThreadPoolExecutor(RATERS) as pool:
        working = [pool.submit(work, visitor, over) for visitor in visitors]
        try:
            for what in BLOWS:
                time.sleep(chance.uniform(*GAP))
                before = sum(len(v.sent) for v in visitors)
                began = time.monotonic()
                day.blow(what, away=chance.uniform(0.5, 2.5))
                until(day.is_ready, f"ready again after {what}")
                until(lambda n=before: sum(len(v.sent) for v in visitors) > n, "rating goes on")
                print(f"{what}: rating again after {time.monotonic() - began:.1f} s")
            until(lambda: sum(len(v.sent) for v in visitors) > ENOUGH, "enough was rated")
        finally:
            over.set()
        for one in working:
            one.result(timeout=PATIENCE)

    did, met = Counter[str](), Counter[str]()
    for visitor in visitors:
        did, met = did + visitor.did, met + visitor.met
    ends = Counter(end for visitor in visitors for end in visitor.sent.values())
    print(f"did {dict(did)}; met {dict(met)}; submitted {dict(ends)}")

    # It was a storm: pages said so, connections broke, and people did all there is to do.
    assert met["503"] > 0
    assert sum(n for kind, n in met.items() if kind.endswith("Error")) > 0
    assert {"submit", "draft", "skip", "undo", "two tabs", "sign in"} <= did.keys()
    assert ends["rated"] > 50
    assert "not answered" not in ends

    # Each fault said what happened, gave an id, and that id is in the log.
    logged = {line["request_id"] for line in day.lines("web.log")}
    for status, request, page in (fault for v in visitors for fault in v.faults):
        assert status == 503, (status, page[:2000])
        assert request in logged
        assert request in page
        assert "What you had saved is safe." in page
    assert "example.org" not in (day.folder / "web.log").read_text()

    # What was answered with success is there once, and so is what was answered only when sent again.
    notes = Counter(note for (note,) in day.postgres.rows("SELECT note FROM rating_rating"))
    for visitor in visitors:
        for note, end in visitor.sent.items():
            assert notes[note] == (0 if end == "given back" else 1), (note, end)
    assert notes.total() == len(
        [n for v in visitors for n, e in v.sent.items() if e != "given back"]
    )
    twice = day.postgres.rows(
        "SELECT response_id, count(*), count(DISTINCT rater_id) FROM rating_rating"
        " WHERE kind = 'counted' AND superseded_by_id IS NULL AND withdrawn_at IS NULL GROUP BY 1"
    )
    assert all(1 <= count <= 2 and count == people for _, count, people in twice)
    assert any(count == 2 for _, count, _ in twice)

    # The log holds, the tables agree, nothing stays held, and the asking came to its end.
    held = day.manage("shell", "-v0", "-c", FREE_WHAT_IS_HELD).split()
    assert held[-2:] == ["0", "0"]
    assert "The log holds" in day.manage("verify")
    until(lambda: day.ended() == SUBJECTS * ITEMS * TRIALS, "every trial has ended")
    rows = day.postgres.rows("SELECT run_id, item_id, trial FROM runs_response")
    assert len(set(rows)) == len(rows) == SUBJECTS * ITEMS * TRIALS
