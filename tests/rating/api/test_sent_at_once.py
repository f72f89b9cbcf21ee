"""One key from many sides at once: the work is done once, on either database."""

import threading

import pytest
from django.db import connections

from rating.tokens import ApiCall, Elsewhere
from tests.rating.api.conftest import program_of
from tests.rating.api.test_calls import replies, reply
from tests.rating.api.test_doors import ONE_SET
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 6


def at_once(*acts):
    """What each of these gave, all begun at one moment."""
    found = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def act(place):
        start.wait()
        try:
            found[place] = acts[place]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def again(program):
    """The same token in another hand: a test client is one browser."""
    return type(program)(program.token, program.secret)


def test_one_request_from_many_sides_is_carried_out_once():
    program = program_of()
    hands = [again(program) for _ in range(MANY)]

    found = at_once(*(lambda one=one: one.post("/elsewhere", ONE_SET) for one in hands))

    assert [one.status_code for one in found] == [201] * MANY
    assert len({one.content for one in found}) == 1
    assert sum("Idempotent-Replayed" in one for one in found) == MANY - 1
    assert (Elsewhere.objects.count(), ApiCall.objects.count()) == (1, 1)


def test_of_many_requests_with_one_key_one_is_carried_out():
    program = program_of()
    hands = [again(program) for _ in range(MANY)]

    found = at_once(
        *(
            lambda one=one, place=place: one.post("/elsewhere", {**ONE_SET, "name": f"{place}"})
            for place, one in enumerate(hands)
        )
    )

    assert sorted(one.status_code for one in found) == [201] + [422] * (MANY - 1)
    assert Elsewhere.objects.count() == 1


def test_a_reply_that_many_bring_under_keys_of_their_own_is_stored_once():
    run = RunFactory(subject=SubjectFactory(provider="import"), wave__bank__items=1, rows=True)
    program = program_of()
    hands = [again(program) for _ in range(MANY)]

    found = at_once(
        *(
            lambda one=one, place=place: one.post(
                f"/waves/{run.wave.code}/responses",
                replies(run, reply(text=f"From {place}")),
                key=str(place),
            )
            for place, one in enumerate(hands)
        )
    )

    assert sorted(one.status_code for one in found) == [201] + [422] * (MANY - 1)
    winner = next(place for place, one in enumerate(found) if one.status_code == 201)
    assert run.responses.get(item__code="AWR-0", trial=1).text == f"From {winner}"
    assert ApiCall.objects.count() == 1
