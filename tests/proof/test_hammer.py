"""Fifty raters do whatever they like for a minute; then the database is asked what it holds."""

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from rating import queue
from rating.integrity.checking import Walked, check
from rating.integrity.sealing import seal_all
from rating.models import Assignment, Event, Rating, SkipReason, User
from tests.factories import (
    given,
    make_bank,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    pair_bank_data,
)

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

RATERS = 50
SECONDS = 60
EXPECTED = (queue.AlreadyRated, queue.NotHeld, queue.TooLate)


def anything(rater: User, admin: User, seed: int, ends: float) -> Counter[str]:
    """Take one step after another, at random, until the time is up; count what was done."""
    chance = random.Random(seed)
    did: Counter[str] = Counter()
    card: Assignment | None = None
    past: list[Assignment] = []
    try:
        while time.monotonic() < ends:
            # Some clocks run ahead, so that holds end while others still work.
            now = timezone.now() + timedelta(minutes=chance.choice([0, 0, 0, 0, 50]))
            act = chance.choices(
                ["next", "draft", "submit", "skip", "undo", "again", "renew", "void"],
                [6, 3, 8, 2, 2, 1, 1, 0.2],
            )[0]
            did[act] += 1
            try:
                if act == "next" or card is None:
                    found = queue.lease(rater, now=now)
                    card = found if isinstance(found, Assignment) else None
                elif act == "draft":
                    queue.keep_draft(card, {"note": str(chance.random())}, now=now)
                elif act == "submit":
                    past.append(card)
                    _, found = queue.rate_and_lease(card, given(chance.randint(0, 5)), now=now)
                    card = found if isinstance(found, Assignment) else None
                elif act == "again" and past:
                    queue.rate(chance.choice(past), given(1), now=now)
                elif act == "skip":
                    reason = chance.choice([SkipReason.LATER, SkipReason.RATHER_NOT])
                    queue.skip(card, reason, "", now=now)
                    card = None
                elif act == "undo" and (mine := queue.undoable(rater, now=timezone.now())):
                    card = queue.undo(chance.choice(mine), now=timezone.now())
                elif act == "renew":
                    queue.renew(card, now=now)
                elif act == "void" and (one := Rating.objects.counted().order_by("?").first()):
                    queue.void(one, admin, "a test", now=now)
            except EXPECTED as why:
                did[type(why).__name__] += 1
    finally:
        connection.close()
    return did


def seal_meanwhile(ends: float) -> int:
    """Seal again and again what was done so far; return how often there was something."""
    sealed = 0
    try:
        while time.monotonic() < ends:
            sealed += any(seal_all())
            time.sleep(0.2)
    finally:
        connection.close()
    return sealed


@pytest.mark.parametrize("percent", [0, 10])
def test_whatever_fifty_raters_do_no_promise_is_broken(settings, percent):
    settings.CARD_DISTANCE = 1
    settings.SEED_PERCENT, settings.REPEAT_PERCENT, settings.REPEAT_AFTER = percent, percent, 3
    settings.SEED_MISSES = 10
    make_seeds(20, bank=make_bank(pair_bank_data(10)))
    before = Rating.objects.count()
    make_wave(make_bank(pair_bank_data(40)), trials=3, subjects=["a-1", "b-1"])
    raters = [make_rater() for _ in range(RATERS)]
    admin = make_user()
    ends = time.monotonic() + SECONDS

    with ThreadPoolExecutor(RATERS + 1) as pool:
        sealing = pool.submit(seal_meanwhile, ends)
        did = sum(
            pool.map(lambda n: anything(raters[n], admin, n, ends), range(RATERS)), Counter[str]()
        )
        assert sealing.result() > 1

    assert did["submit"] > RATERS
    assert [str(one) for one in check(Walked())] == []
    assert Event.objects.filter(kind="rate").count() == Rating.objects.count()
    checks = Assignment.objects.filter(rater__in=raters).exclude(kind="counted")
    given_to = list(checks.values_list("kind", "rater", "response"))
    assert len(given_to) == len(set(given_to)), "nobody is given an agreed response twice"
    assert {kind for kind, *_ in given_to} == ({"seed", "repeat"} if percent else set())
    assert Rating.objects.count() > before
