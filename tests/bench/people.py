"""How many people one site serves: real processes, browsers that never rest, and a worker beside.

Each of them opens a card, rates it and opens the next without a pause to read: people who read take
twenty seconds and more for a card, so one of these is worth many of them.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from tests.bench.fortnight import PASSWORD, Site, in_ms
from tests.bench.machinery import load
from tests.visitors import Visitor

#: Beyond this, for one page in a hundred, people notice that they wait.
TOO_LONG_MS = 1000
READING_SECONDS = 20


@dataclass
class Found:
    """What it was like for so many at once."""

    people: int
    ratings: int
    replies: int
    seconds: float
    took: list[float]

    @property
    def p99(self) -> float:
        return in_ms(self.took, 0.99)

    def line(self) -> str:
        return (
            f"{self.people:6} {self.ratings / self.seconds:10.1f} {in_ms(self.took, 0.5):7.0f} "
            f"{self.p99:7.0f} {self.replies / self.seconds:10.1f}"
        )


def measure(folder: Path, numbers: list[int], seconds: float) -> list[Found]:
    """More and more of them, until one page in a hundred takes over a second."""
    folder.mkdir(parents=True, exist_ok=True)
    site = Crowded(folder, max(numbers))
    found: list[Found] = []
    with site.open():
        print(f"people, {connection.vendor}, a worker beside (load {load()})")
        print("people  ratings/s  p50 ms  p99 ms  replies/s", flush=True)
        for number in numbers:
            found.append(site.for_a_while(number, seconds))
            print(found[-1].line(), flush=True)
            if found[-1].p99 > TOO_LONG_MS:
                break
    served = [one for one in found if one.p99 <= TOO_LONG_MS]
    if served:
        most = max(served, key=lambda one: one.ratings)
        readers = most.ratings / most.seconds * READING_SECONDS
        print(f"up to {most.people} that never rest, or {readers:.0f} who read for 20 s a card")
    return found


class Crowded(Site):
    """A site with replies enough to rate, and more to come."""

    environment_of_its_own = {
        "CARD_DISTANCE": "1",
        "UNEVEN_CAP": "100000",
        "DEMO_DELAY_MS": "200",
        "ASK_IN_FLIGHT": "8",
    }

    def __init__(self, folder: Path, most: int) -> None:
        super().__init__(folder)
        self.most = most

    def fill(self) -> None:
        from rating.models import Role
        from tests.factories import bank_data, make_bank, make_user, make_wave
        from tests.runs.factories import RunFactory, SubjectFactory, WaveFactory

        bank = make_bank(bank_data(100))
        make_wave(bank, trials=30)
        wave = WaveFactory(bank=bank, trials=40)
        RunFactory(wave=wave, subject=SubjectFactory(), rows=True, state="asking")
        people = [make_user(Role.RATER, password=PASSWORD) for _ in range(self.most)]
        self.visitors = [
            Visitor(self.site, one.email, PASSWORD, n, script=True) for n, one in enumerate(people)
        ]

    def for_a_while(self, number: int, seconds: float) -> Found:
        from rating.models import Rating
        from runs.models import Response

        chosen = self.visitors[:number]
        together = threading.Barrier(number)
        pending = Response.objects.pending().count
        before = {"ratings": Rating.objects.count(), "pending": 0}

        def work(visitor: Visitor) -> None:
            visitor.sign_in()
            visitor.open_a_card()
            visitor.took.clear()
            if together.wait(300) == 0:
                before["pending"] = pending()
            ends = time.monotonic() + seconds
            while time.monotonic() < ends and (code := visitor.open_a_card()):
                visitor.submit(code, level=3)

        with ThreadPoolExecutor(number) as pool:
            list(pool.map(work, chosen))
        took = [one for visitor in chosen for one in visitor.took]
        ratings = Rating.objects.count() - before["ratings"]
        return Found(number, ratings, before["pending"] - pending(), seconds, took)
