"""Fourteen days of rating, played in minutes by real processes with a clock that is set forward."""

from collections import Counter

import pytest
from django.contrib.sessions.models import Session

from rating.integrity.checking import Walked, check
from rating.models import Adjudication, Assignment, Event, Kind, Outcome, Pause, Rating, Slot
from runs.models import Response, Status, Wave
from tests.bench.fortnight import DAYS, Fortnight

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

RATERS, ITEMS = 6, 6
MOST_GROWTH = 1.5  # MB a day: a leak of one card's page in each rating would be many times that


def test_a_fortnight_of_rating_leaves_everything_as_it_should_be(tmp_path):
    fortnight = Fortnight(tmp_path, RATERS, ITEMS)

    with fortnight.open():
        fortnight.play()
        wave = Wave.objects.get(pk=fortnight.wave.pk)
        slots = Slot.objects.filter(wave=wave)
        rated = slots.filter(state="rated").count() / slots.count()
        fortnight.end()

    did, met = Counter[str](), Counter[str]()
    for visitor in fortnight.visitors:
        did, met = did + visitor.did, met + visitor.met
    print(fortnight.told())
    print(f"did {dict(did)}; met {dict(met)}; rated {rated:.0%} of what was asked")

    # Everybody did what people do, and nothing broke.
    assert {"submit", "draft", "skip", "undo", "break", "two tabs", "guess"} <= did.keys()
    assert not {"500", "503"} & met.keys()
    assert not Response.objects.filter(run__wave=wave).exclude(status=Status.COMPLETED).exists()
    assert rated > 0.8
    kinds = Counter(
        Assignment.objects.filter(rater__in=fortnight.people).values_list("kind", flat=True)
    )
    assert kinds[Kind.SEED] > 0
    assert kinds[Kind.REPEAT] > 0
    assert Assignment.objects.filter(outcome=Outcome.EXPIRED).exists(), "some went home with a card"
    assert Pause.objects.filter(person=fortnight.people[-1]).exists(), "one was paused"
    assert Adjudication.objects.filter(settled_at__isnull=False).exists()

    # No third counted rating, no table that disagrees, no event unsealed, no session left over.
    assert [str(one) for one in check(Walked())] == []
    assert [day.unsealed for day in fortnight.days] == [0] * DAYS
    # Nearly every morning of everybody began with a new session, and old ones were cleared away.
    assert did["sign in"] >= RATERS * (DAYS - 2)
    assert max(day.sessions for day in fortnight.days) <= 3 * RATERS
    assert Session.objects.count() <= 3 * RATERS
    wave.refresh_from_db()
    assert wave.unblinded_at is not None
    assert Event.objects.filter(kind="rate").count() == Rating.objects.count()
    days = {
        f"{moment:%Y-%m-%d}"
        for moment in Rating.objects.filter(rater__in=fortnight.people).values_list(
            "rated_at", flat=True
        )
    }
    assert len(days) >= DAYS

    # Memory is flat once what is kept at hand is there.
    assert fortnight.growth("web") < MOST_GROWTH
    assert fortnight.growth("worker") < MOST_GROWTH
