"""Twenty people ask for work at the same moment, and go on until nothing is left."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from rating.models import Assignment, Rating, Slot, User
from tests.factories import bank_data, make_bank, make_rater, make_wave
from tests.services import PATIENCE

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

RATERS = 20
RESPONSES = 30
WORDS = "I hear how heavy this is"


def work_until_nothing_is_left(rater: User, together: Barrier, seed: int) -> Counter[str]:
    """Rate or skip each card that comes; return how often each kind of answer came."""
    chance = random.Random(seed)
    client = Client()
    client.force_login(rater)
    answers: Counter[str] = Counter()
    together.wait(PATIENCE)
    try:
        for _ in range(RESPONSES * 4):
            answer = client.post(reverse("rating:start"))
            answers[f"start {answer.status_code}"] += 1
            if answer.status_code == 200:
                break
            card = Assignment.objects.live().get(rater=rater)
            if chance.random() < 0.1:
                url = reverse("rating:skip", args=[card.code])
                answer = client.post(url, {"reason": "later"})
            else:
                fields = {"do": "submit", "level": chance.randint(1, 5), "words": WORDS}
                url = reverse("rating:rate", args=[card.code])
                answer = client.post(url, fields)
                if chance.random() < 0.3:
                    twice = client.post(url, fields)
                    answers[f"twice {twice.status_code}"] += 1
            answers[f"then {answer.status_code}"] += 1
    finally:
        connection.close()
    return answers


def test_twenty_at_once_never_make_a_third_rating_or_two_by_one_person(settings):
    settings.CARD_DISTANCE = 0
    make_wave(make_bank(bank_data(RESPONSES)))
    raters = [make_rater() for _ in range(RATERS)]
    together = Barrier(RATERS)

    with ThreadPoolExecutor(RATERS) as pool:
        answers = sum(
            pool.map(work_until_nothing_is_left, raters, [together] * RATERS, range(RATERS)),
            Counter[str](),
        )

    assert {kind for kind in answers if not kind.endswith(("200", "303", "409"))} == set()
    counted = Rating.objects.counted()
    of_response = Counter(counted.values_list("response", flat=True))
    assert set(of_response.values()) == {2}
    assert len(of_response) == RESPONSES
    assert max(Counter(counted.values_list("response", "rater")).values()) == 1
    assert set(Slot.objects.values_list("state", flat=True)) == {"rated"}
    assert not Assignment.objects.live().exists()
    assert all(rating.quotes.exists() for rating in Rating.objects.all())
