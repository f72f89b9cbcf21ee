"""Figures: how fast the queue, the statistics and the asking are, on this machine, now.

    python -m tests.bench [queue] [statistics] [--responses N] [--raters N] [--seconds S]

Works in a database of its own that is made and dropped: `DATABASE_URL` says on what.
"""

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

import numpy as np  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import connection, connections  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402

WORDS = "I hear how heavy this is"


@contextmanager
def a_database_of_its_own() -> Iterator[None]:
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    settings.ALLOWED_HOSTS = ["testserver"]
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connections.close_all()
        connection.creation.destroy_test_db(name, verbosity=0)


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def in_ms(seconds: list[float], share: float) -> float:
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))] * 1000


def bench_queue(responses: int, raters: int, seconds: float) -> None:
    """Submit one rating and get the next card, in one trip, by many raters at once."""
    from rating.models import Assignment, Rating
    from tests.factories import bank_data, make_bank, make_rater, make_wave

    items = min(100, responses)
    make_wave(make_bank(bank_data(items)), trials=responses // items)
    people = [make_rater() for _ in range(raters)]
    with connection.cursor() as cursor:  # as the database does by itself after a minute
        cursor.execute("ANALYZE")
    together = Barrier(raters)
    ends = [0.0]

    def work(rater) -> list[float]:
        client = Client(headers={"HX-Request": "true"})
        client.force_login(rater)
        client.post(reverse("rating:start"))
        taken = []
        if together.wait(60) == 0:
            ends[0] = time.monotonic() + seconds
        together.wait(60)
        while time.monotonic() < ends[0]:
            card = Assignment.objects.live().filter(rater=rater).first()
            if card is None:
                break
            began = time.perf_counter()
            answer = client.post(
                reverse("rating:rate", args=[card.code]),
                {"do": "submit", "level": 3, "words": WORDS},
            )
            taken.append(time.perf_counter() - began)
            assert answer.status_code == 200, answer.status_code
        connection.close()
        return taken

    used, began = cpu(), time.monotonic()
    with ThreadPoolExecutor(raters) as pool:
        taken = [one for each in pool.map(work, people) for one in each]
    lasted, used = time.monotonic() - began, cpu() - used
    made = Rating.objects.count()
    print(
        f"queue, {connection.vendor}, {responses:,} responses, {raters} raters: "
        f"{len(taken) / seconds:.0f} cycles/s, median {in_ms(taken, 0.5):.0f} ms, "
        f"p99 {in_ms(taken, 0.99):.0f} ms, {used / max(1, len(taken)) * 1000:.1f} ms CPU a cycle "
        f"(with the client's), {made} ratings in {lasted:.1f} s"
    )


def bench_statistics() -> None:
    """Ordinal alpha of a million units, and its interval on ten thousand."""
    from rating.stats.agreement import alpha_for_ordinal, interval, tally, value

    chance = np.random.default_rng(1)
    scale = (1, 2, 3, 4, 5)
    true = chance.integers(1, 6, size=1_000_000)
    levels = np.clip(true + chance.integers(-1, 2, size=(2, 1_000_000)), 1, 5).astype(float)

    def median_of(work: Callable[[], object], times: int = 7) -> float:
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
        return statistics.median(taken) * 1000

    few = tally(levels[:, :10_000], scale)
    print(
        f"ordinal alpha, 1,000,000 units of two: "
        f"{median_of(lambda: value(alpha_for_ordinal, tally(levels, scale))):.0f} ms"
    )
    print(
        f"its interval, 2,000 replicates, 10,000 units: "
        f"{median_of(lambda: interval(alpha_for_ordinal, few, seed='1')):.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=["statistics", "queue"])
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--raters", type=int, nargs="*", default=[8, 20])
    parser.add_argument("--seconds", type=float, default=10)
    chosen = parser.parse_args()
    if "statistics" in chosen.what:
        bench_statistics()
    for raters in chosen.raters if "queue" in chosen.what else ():
        with a_database_of_its_own():
            bench_queue(chosen.responses, raters, chosen.seconds)


if __name__ == "__main__":
    main()
