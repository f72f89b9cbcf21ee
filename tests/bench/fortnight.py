"""Fourteen days of rating in a few minutes: real processes, and a clock that is set forward.

Each morning replies come in, and raters sign in and rate through the day, with breaks; some leave
with a card in hand. Evenings, somebody settles what two saw differently. At the end ratings are
frozen and two people unblind.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import linear_regression
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from django.utils import timezone

from tests.clocked import Clock
from tests.services import free_port, until
from tests.visitors import Visitor

DAYS = 14
PASSWORD = "a-quiet-morning-walk"
OPENS, CLOSES, BLOCK = 9, 17, timedelta(hours=2)
TRIALS = 3
#: From this day on memory is looked at: what is kept at hand has filled by then.
SETTLED = 4
SETTLED_A_DAY = 5


@dataclass
class DayOf:
    """What one day was like."""

    number: int
    ratings: int
    seconds: float
    took: list[float]
    web_mb: float
    worker_mb: float
    database_mb: float
    sessions: int
    unsealed: int

    def line(self) -> str:
        p50, p99 = (in_ms(self.took, share) for share in (0.5, 0.99))
        return (
            f"{self.number:3} {self.ratings:8} {self.ratings / self.seconds:11.1f} {p50:7.0f} "
            f"{p99:7.0f} {self.web_mb:8.0f} {self.worker_mb:9.0f} {self.database_mb:9.1f} "
            f"{self.sessions:9} {self.unsealed:9}"
        )


HEADING = "day  ratings   ratings/s  p50 ms  p99 ms   web MB worker MB  data MB  sessions  unsealed"


def in_ms(seconds: list[float], share: float) -> float:
    every = sorted(seconds) or [0.0]
    return every[min(len(every) - 1, int(share * len(every)))] * 1000


class Site:
    """Web and worker as processes of their own, on the database in use, with a clock that is set."""

    environment_of_its_own: dict[str, str] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock(str(folder / "clock"))
        self.port = free_port()
        self.site = f"http://127.0.0.1:{self.port}"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            **os.environ,
            "CLOCK_FILE": str(folder / "clock"),
            "DATABASE_URL": database_url(),
            "CELERY_BROKER_URL": "filesystem://",
            "VAR_DIR": str(folder),
            "SECRET_KEY": "one key for web and worker",
            "WEB_BIND": f"127.0.0.1:{self.port}",
            "WEB_WORKERS": "2",
            "WEB_THREADS": "4",
            "LOG_LEVEL": "WARNING",
            "GUESS_PERCENT": "0",
            **self.environment_of_its_own,
        }

    def fill(self) -> None:
        """Put into the database what is to be worked on."""
        raise NotImplementedError

    @contextmanager
    def open(self) -> Iterator[None]:
        """Fill it, and have web and worker run."""
        self.fill()
        commands = {
            "web": ["gunicorn", "--config", "python:compassion.serving", "tests.clocked"],
            "worker": ["celery", "-A", "tests.clocked", "worker", "--pool", "threads",
                       "--concurrency", "2", "--loglevel", "WARNING"],
        }  # fmt: skip
        try:
            for name, command in commands.items():
                with (self.folder / f"{name}.log").open("ab") as log:
                    self.running[name] = subprocess.Popen(
                        [sys.executable, "-m", *command],
                        cwd=settings.BASE_DIR,
                        env=self.environment,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
            until(self._answers, "the site answers")
            yield
        finally:
            for process in self.running.values():
                process.send_signal(signal.SIGTERM)
            for process in self.running.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=20)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _answers(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.site}/readyz", timeout=5) as answer:
            return answer.status == 200
        return False


class Fortnight(Site):
    """Days that are played one after another."""

    environment_of_its_own = {
        "SESSION_HOURS": "20",
        "CARD_DISTANCE": "2",
        "SEED_PERCENT": "20",  # so that everybody meets a whole block of them
        "REPEAT_PERCENT": "5",
        "REPEAT_AFTER": "10",
        "GUESS_PERCENT": "10",
    }

    def __init__(self, folder: Path, raters: int, items: int) -> None:
        super().__init__(folder)
        self.raters, self.items = raters, items
        self.days: list[DayOf] = []
        self.environment["RATINGS_A_DAY"] = str(self.a_day + 2)
        first = timezone.now().replace(hour=OPENS, minute=0, second=0, microsecond=0)
        self.first = first + timedelta(days=1)
        self.clock.set(self.first)

    @property
    def a_day(self) -> int:
        """How many ratings a rater gives on an ordinary day, checks among them."""
        return -(-2 * self.items * TRIALS // self.raters) + 3

    def play(self) -> None:
        for number in range(1, DAYS + 1):
            self.days.append(self._day(number))

    def end(self) -> None:
        """Freeze, and unblind by two people."""
        from rating import unblinding

        now = self.clock.now()
        one, other = self.maintainers
        unblinding.freeze(self.wave, one, "The fortnight is over.", now=now)
        unblinding.ask(self.wave, one, "All is rated.", now=now)
        unblinding.agree(self.wave, other, "I have looked.", now=now)

    def growth(self, what: str) -> float:
        """How many MB a day a process has grown by, once it has settled."""
        later = self.days[SETTLED:]
        slope, _ = linear_regression(
            [day.number for day in later], [getattr(day, f"{what}_mb") for day in later]
        )
        return slope

    def told(self) -> str:
        took = [one for day in self.days for one in day.took]
        ratings = sum(day.ratings for day in self.days)
        seconds = sum(day.seconds for day in self.days)
        return "\n".join(
            [
                HEADING,
                *(day.line() for day in self.days),
                f"in all {ratings:,} ratings in {seconds:.0f} s, {len(took):,} pages, "
                f"p50 {in_ms(took, 0.5):.0f} ms, p99 {in_ms(took, 0.99):.0f} ms; memory from day "
                f"{SETTLED + 1} on: web {self.growth('web'):+.2f} MB a day, worker "
                f"{self.growth('worker'):+.2f} MB a day; load {os.getloadavg()[0]:.1f} on "
                f"{os.cpu_count()} cores",
            ]
        )

    def fill(self) -> None:
        from rating.models import Qualification, Role
        from tests.factories import bank_data, make_bank, make_seeds, make_user
        from tests.runs.factories import RunFactory, SubjectFactory, WaveFactory

        bank = make_bank(bank_data(self.items))
        make_seeds(12, bank=make_bank(bank_data(12)))
        self.wave = WaveFactory(bank=bank, trials=TRIALS, kind="pilot")
        subjects = [SubjectFactory(provider="demo") for _ in range(2)]
        self.runs = [
            RunFactory(
                wave=self.wave,
                subject=subjects[day % 2],
                condition=f"day {day}",
                rows=True,
                state="planned",
            )
            for day in range(DAYS)
        ]
        self.wave.locked_at = timezone.now()
        self.wave.save(update_fields=["locked_at"])
        people = [make_user(Role.RATER, password=PASSWORD) for _ in range(self.raters)]
        self.people = people
        for person in people:
            Qualification.objects.create(
                rater=person,
                instrument=bank.instrument,
                items=20,
                within_one=20,
                exact=15,
                need_within_one=16,
                need_exact=10,
                passed=True,
            )
        self.admin, self.adjudicator = make_user(Role.ADMIN), make_user(Role.ADJUDICATOR)
        self.maintainers = [make_user(Role.MAINTAINER), make_user(Role.MAINTAINER)]
        self.visitors = [
            Visitor(self.site, person.email, PASSWORD, number, script=bool(number % 3))
            for number, person in enumerate(people)
        ]
        for visitor in self.visitors:
            visitor.leaning = (2, 3, 3, 3, 4)
        # One of them reads too fast: what was agreed on shows it, and rating is paused for them.
        self.visitors[-1].leaning = (5, 5, 5, 1)

    def _day(self, number: int) -> DayOf:
        from rating.models import Event, Pause, Rating
        from rating.queue import resume
        from runs.models import Run

        morning = self.first + timedelta(days=number - 1)
        self.clock.set(morning)
        for paused in Pause.objects.filter(ended_at=None):
            resume(paused.person, self.admin, now=self.clock.now())
        run = self.runs[number - 1]
        Run.objects.filter(pk=run.pk).update(state="asking")
        until(lambda: Run.objects.get(pk=run.pk).state == "done", "the day's replies are in")
        before, began = Rating.objects.count(), time.monotonic()
        for visitor in self.visitors:
            visitor.took.clear()
        with ThreadPoolExecutor(len(self.visitors)) as pool:
            list(pool.map(Visitor.sign_in, self.visitors))
            at = morning
            while at < morning + timedelta(hours=CLOSES - OPENS):
                self.clock.set(at)
                list(pool.map(self._block, self.visitors))
                at += BLOCK
            # Some go home with a card in hand, and one with words on it.
            list(pool.map(self._leave, self.visitors[:3]))
        seconds = time.monotonic() - began
        self._settle()
        self.clock.set(morning + timedelta(hours=10))
        until(lambda: not Event.objects.filter(seal="").exists(), "the caretaker has sealed")
        return DayOf(
            number,
            Rating.objects.count() - before,
            seconds,
            [one for visitor in self.visitors for one in visitor.took],
            *self._measured(),
        )

    def _block(self, visitor: Visitor) -> None:
        """A part of somebody's day: a few cards, or a break."""
        if visitor.chance.random() < 0.15:
            visitor.ask("GET", "/break/")
            visitor.did["break"] += 1
            return
        blocks = timedelta(hours=CLOSES - OPENS) // BLOCK
        for _ in range(-(-self.a_day // blocks)):
            if not visitor.turn():
                visitor.did[visitor.state] += 1
                return

    def _leave(self, visitor: Visitor) -> None:
        if (code := visitor.open_a_card()) and visitor.chance.random() < 0.5:
            visitor.draft(code)

    def _settle(self) -> None:
        from rating import adjudication
        from rating.models import Adjudication

        now = self.clock.now()
        adjudication.open_due(now=now)
        for _ in range(SETTLED_A_DAY):
            found = adjudication.lease(self.adjudicator, now=now)
            if not isinstance(found, Adjudication):
                return
            found = adjudication.give_own_level(found, self.adjudicator, 3, now=now)
            adjudication.settle(found, self.adjudicator, 3, "It is near.", False, None, now=now)

    def _measured(self) -> tuple[float, float, float, int, int]:
        from django.contrib.sessions.models import Session

        from rating.models import Event

        gunicorn = self.running["web"].pid
        children = Path(f"/proc/{gunicorn}/task/{gunicorn}/children").read_text().split()
        return (
            max(memory_of(int(pid)) for pid in children),
            memory_of(self.running["worker"].pid),
            database_mb(),
            Session.objects.count(),
            Event.objects.filter(seal="").count(),
        )


def memory_of(pid: int) -> float:
    """The memory that a process holds, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_000_000


def database_url() -> str:
    """The address of the database in use."""
    place = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{place['NAME']}"
    who = f"{place['USER']}:{quote(place['PASSWORD'])}" if place["PASSWORD"] else place["USER"]
    return f"postgres://{who}@{place['HOST']}:{place['PORT'] or 5432}/{place['NAME']}"


def database_mb() -> float:
    if connection.vendor == "sqlite":
        name = str(connection.settings_dict["NAME"])
        return (
            sum(os.path.getsize(part) for end in ("", "-wal") if os.path.exists(part := name + end))
            / 1_000_000
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return cursor.fetchone()[0] / 1_000_000


def measure(folder: Path, raters: int, items: int) -> None:
    """Play one in a database of its own, and print what it was like."""
    folder.mkdir(parents=True, exist_ok=True)
    fortnight = Fortnight(folder, raters, items)
    with fortnight.open():
        fortnight.play()
        fortnight.end()
    responses = items * TRIALS * DAYS
    print(f"fortnight, {connection.vendor}, {raters} raters, {responses:,} responses")
    print(fortnight.told())
