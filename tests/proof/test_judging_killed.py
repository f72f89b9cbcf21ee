"""A worker is killed in the middle of judging, again and again: no answer is lost or stored twice."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rating.integrity.checking import Walked, check
from rating.judges.planning import plan_judging, registration_of
from rating.models import Event, Judgement, Judging
from runs.models import Subject
from tests.judges.rounds import wave_of
from tests.proof.test_worker_killed import IN_FLIGHT, Place, kill
from tests.services import Stub, stand_ins, until

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

RESPONSES, JUDGES = 120, 3
ANSWERS = 2 * RESPONSES
#: What has ended when a worker is killed: so little that none can end all before it is.
SHARES = (0.1, 0.25, 0.4)


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    with stand_ins() as start:
        yield start


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    there = Place(tmp_path)
    yield there
    for worker in there.workers:
        if worker.poll() is None:
            kill(worker)


def ended() -> int:
    return Judgement.objects.exclude(state="pending").count()


def test_what_a_killed_worker_was_asking_judges_is_asked_by_the_next(place, stub):
    services = [stub(delay=1.2, jitter=0.4, r429=0.03, r500=0.03) for _ in range(JUDGES)]
    judges = [
        Subject.objects.create(
            developer="Lab",
            family=f"Judging {number}",
            snapshot=f"judging-{number}-2026-01-01",
            provider="openai",
            base_url=service.base_url,
        ).code
        for number, service in enumerate(services)
    ]
    wave = wave_of(RESPONSES)
    judging = plan_judging(wave, judges, seed="7").judging
    worker = place.start_worker()
    place.manage("judge", "start", wave.code)
    until(lambda: ended() > 0, "the first answer is stored")

    kills = 0
    for share in SHARES:
        until(lambda share=share: ended() > share * ANSWERS, f"{share} are stored")
        kill(worker)
        kills += 1
        stored = ended()
        begun = time.monotonic()
        worker = place.start_worker()
        until(lambda stored=stored: ended() > stored, "the next answer is stored")
        print(f"at {stored}: went on after {time.monotonic() - begun:.1f} s")

    until(lambda: Judging.objects.get().state == "done", "the round is done")
    rows = list(Judgement.objects.select_related("response"))
    assert Counter(row.state for row in rows) == {"answered": ANSWERS}
    assert {row.provenance for row in rows} == {"original"}
    assert set(Counter(row.response_id for row in rows).values()) == {2}
    assert len({(row.panel_judge_id, row.response_id) for row in rows}) == ANSWERS
    assert not Judgement.objects.exclude(held_by="").exists()
    # A call that a killed worker had begun is paid for and lost: no more than were in flight.
    answered = sum(a["outcome"] == "completed" for row in rows for a in row.attempts)
    paid_twice = sum(service.stats()["answers"] for service in services) - answered
    print(f"paid twice: {paid_twice} in {kills} kills")
    assert 0 <= paid_twice <= kills * JUDGES * IN_FLIGHT
    assert registration_of(judging) == judging.rule_hash
    assert list(
        Event.objects.filter(kind="judge").order_by("pk").values_list("about__act", flat=True)
    ) == ["plan", "start", "end"]
    assert [str(one) for one in check(Walked())] == []
