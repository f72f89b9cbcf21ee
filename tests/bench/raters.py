"""Many raters at once: submit one rating and get the next card, in one trip."""

import multiprocessing
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import connection, connections
from django.test import Client, override_settings
from django.urls import reverse

from tests.bench import bare
from tests.bench.machinery import in_ms, load, settled

WORDS = "I hear how heavy this is"
NEXT_CARD = re.compile(rb'data-code="([0-9a-f-]{36})"')
NEXT_TASK = re.compile(rb'action="/bare/(\d+)/"')
# Each process first reads what it keeps at hand, as a server does in its first minute.
WARM_UP = 4.0
# Takes a client that is signed in; returns what makes one trip, and whether there is another.
Trips = Callable[[Client], Callable[[], bool]]


def measure(responses: int, raters: int, seconds: float) -> None:
    """Ours and the bare one, one after the other in one database."""
    from rating.models import Rating
    from tests.factories import REPLY, bank_data, make_bank, make_rater, make_wave

    items = min(100, responses)
    make_wave(make_bank(bank_data(items)), trials=responses // items)
    people = [make_rater() for _ in range(raters)]
    bare.build(2 * responses, REPLY)
    settled()
    where = f"{connection.vendor}, {responses:,} responses, {raters} raters"
    line = _drive(people, our_trips, seconds)
    print(f"queue, {where}: {line}; {Rating.objects.count():,} ratings (load {load()})")
    with override_settings(ROOT_URLCONF="tests.bench.bare", MIDDLEWARE=bare.MIDDLEWARE):
        line = _drive(people, bare_trips, seconds)
    print(f"bare Django, {where}: {line}; {bare.Label.objects.count():,} labels")


def our_trips(client: Client) -> Callable[[], bool]:
    headers = {"HX-Request": "true"}
    answer = client.post(reverse("rating:start"), headers=headers)

    def trip() -> bool:
        nonlocal answer
        found = NEXT_CARD.search(answer.content)
        if found is None:
            return False
        answer = client.post(
            reverse("rating:rate", args=[found[1].decode()]),
            {"do": "submit", "level": 3, "words": WORDS},
            headers=headers,
        )
        assert answer.status_code == 200, answer.status_code
        return True

    return trip


def bare_trips(client: Client) -> Callable[[], bool]:
    answer = client.post("/bare/0/")

    def trip() -> bool:
        nonlocal answer
        found = NEXT_TASK.search(answer.content)
        if found is None:
            return False
        answer = client.post(f"/bare/{int(found[1])}/", {"level": 3, "words": WORDS})
        assert answer.status_code == 200, answer.status_code
        return True

    return trip


def _drive(people: list, trips: Trips, seconds: float) -> str:
    """As many processes as there are cores, each with its share of the raters in threads."""
    processes = min(len(people), os.cpu_count() or 1)
    context = multiprocessing.get_context("fork")
    together, results = context.Barrier(len(people)), context.SimpleQueue()
    connections.close_all()
    began = time.monotonic()
    children = [
        context.Process(
            target=_work, args=(people[n::processes], trips, seconds, together, results)
        )
        for n in range(processes)
    ]
    for child in children:
        child.start()
    found = [results.get() for _ in children]
    for child in children:
        child.join()
    for one in found:
        if isinstance(one, Exception):
            raise one
    taken = [one for _, each in found for one in each]
    used = sum(cpu for cpu, _ in found)
    assert time.monotonic() - began < 10 * seconds + 60
    return (
        f"{len(taken) / seconds:.0f} cycles/s, median {in_ms(taken, 0.5):.0f} ms, p99 "
        f"{in_ms(taken, 0.99):.0f} ms, {used / max(1, len(taken)) * 1000:.1f} ms CPU a cycle "
        "with the client's"
    )


def _work(people: list, trips: Trips, seconds: float, together, results) -> None:
    begun: list[float] = []  # the processor time used before the measurement

    def rate(person) -> list[float]:
        client = Client()
        client.force_login(person, backend=settings.AUTHENTICATION_BACKENDS[0])
        trip, taken = trips(client), []
        warm = time.monotonic() + WARM_UP
        while time.monotonic() < warm and trip():
            pass
        together.wait(120)
        begun.append(time.process_time())
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            began = time.perf_counter()
            if not trip():
                break
            taken.append(time.perf_counter() - began)
        connection.close()
        return taken

    try:
        with ThreadPoolExecutor(len(people)) as pool:
            taken = [one for each in pool.map(rate, people) for one in each]
        results.put((time.process_time() - begun[0], taken))
    except Exception as why:
        results.put(why)
