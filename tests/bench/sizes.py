"""One rater, and the next card as the number of responses grows."""

import time
from collections.abc import Callable
from datetime import timedelta

from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.bench.machinery import in_ms, load, settled
from tests.bench.raters import NEXT_CARD, our_trips

PAST = 10_000
CYCLES = 80
LEFT = 40
HEADING = (
    "next + submit, one rater, median ms of {cycles} (p99)      new rater | rater with past "
    "ratings | nearly finished queue | no work now"
)


def measure(responses: int, *, heading: bool) -> None:
    from tests.factories import bank_data, make_bank, make_rater

    if heading:
        print(HEADING.format(cycles=CYCLES), f"(load {load()})")
    wave = _wave(make_bank(bank_data(100)), responses)
    new, old, last = make_rater(), make_rater(), make_rater()
    past = min(PAST, responses // 2)
    _past_ratings(wave, old, make_rater(), past)
    settled()
    figures = [_cycles(new), _cycles(old)]
    _finish(wave, old)
    settled()
    figures += [_cycles(last, most=LEFT // 2), _no_work(old)]
    print(
        f"{connection.vendor}, {responses:>9,} responses, {past:>6,} past: "
        + " | ".join(f"{in_ms(one, 0.5):6.1f} ({in_ms(one, 0.99):5.1f})" for one in figures)
    )


def _cycles(rater, most: int = CYCLES) -> list[float]:
    client = Client()
    client.force_login(rater)
    trip = our_trips(client)
    trip()
    return _times(trip, most)


def _no_work(rater) -> list[float]:
    client = Client()
    client.force_login(rater)

    def ask() -> bool:
        answer = client.post(reverse("rating:start"), headers={"HX-Request": "true"})
        assert NEXT_CARD.search(answer.content) is None
        return True

    return _times(ask, CYCLES // 2)


def _times(act: Callable[[], bool], most: int) -> list[float]:
    taken = []
    for _ in range(most):
        began = time.perf_counter()
        if not act():
            break
        taken.append(time.perf_counter() - began)
    return taken


def _wave(bank, responses: int):
    """A wave of so many replies and twice as many open slots, made inside the database."""
    from runs.guards import lifted
    from runs.models import Wave
    from tests.factories import REPLY, make_wave

    wave = make_wave(bank, trials=1)
    more = responses - bank.items.count()
    uuid = (
        "gen_random_uuid()" if connection.vendor == "postgresql" else "lower(hex(randomblob(16)))"
    )
    numbers = (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {more}) "
        if more > 0
        else "WITH n(i) AS (SELECT 1 WHERE FALSE) "
    )
    with lifted(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO runs_response (run_id, item_id, trial, position, seed, code, status, text,"
            " text_hash, finish_reason, fingerprint, usage, attempts, message_hash, completed_at,"
            " held_by) "
            + numbers
            + f"SELECT b.run_id, b.item_id, 2 + (n.i - 1) / 100, n.i, 1, {uuid}, b.status, %s,"
            " b.text_hash, '', '', '{}', '[]', '', b.completed_at, ''"
            " FROM n JOIN (SELECT r.*, ROW_NUMBER() OVER (ORDER BY id) AS nth FROM runs_response r) b"
            " ON b.nth = 1 + n.i %% 100",
            [REPLY],
        )
        cursor.execute(
            "INSERT INTO rating_slot (response_id, number, state, draw, wave_id, item_id, topic,"
            " language, subject_id, arm)"
            " SELECT r.id, k.n, 'open', (r.id * 2654435761 + k.n) % 4294967296, s.wave_id,"
            " r.item_id, '', 'en', s.subject_id, 0 FROM runs_response r"
            " CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2) k"
            " CROSS JOIN (SELECT wave_id, subject_id FROM rating_slot LIMIT 1) s"
            " WHERE NOT EXISTS (SELECT 1 FROM rating_slot x WHERE x.response_id = r.id)"
        )
    return Wave.objects.get(pk=wave.pk)


def _past_ratings(wave, rater, partner, number: int) -> None:
    """So many responses half rated by the rater, and as many by a partner: all of them waiting."""
    from rating.models import Assignment, Quote, Rating, Slot, SlotState
    from runs.guards import lifted

    now = timezone.now() - timedelta(days=3)
    for who, at in ((rater, 0), (partner, number)):
        slots = list(Slot.objects.filter(wave=wave, number=1).order_by("draw")[at : at + number])
        anchor = slots[0].response.item.anchors.first()
        with lifted(), transaction.atomic():
            cards = Assignment.objects.bulk_create(
                (
                    Assignment(
                        slot=slot,
                        response_id=slot.response_id,
                        rater=who,
                        leased_at=now + timedelta(seconds=place),
                        expires_at=now + timedelta(seconds=place),
                        ordinal=place,
                        ended_at=now,
                        outcome="rated",
                    )
                    for place, slot in enumerate(slots, start=1)
                ),
                batch_size=5_000,
            )
            ratings = [
                Rating(
                    response_id=card.response_id,
                    rater=who,
                    anchor=anchor,
                    assignment=card,
                    kind="counted",
                    slot=1,
                    rated_at=now,
                )
                for card in cards
            ]
            Quote.objects.bulk_create(
                (Quote(rating_id=rating.pk, start=0, end=24) for rating in ratings),
                batch_size=5_000,
            )
            Rating.objects.bulk_create(ratings, batch_size=5_000)
            keys = [slot.response_id for slot in slots]
            for some in range(0, len(keys), 5_000):
                part = keys[some : some + 5_000]
                Slot.objects.filter(response__in=part, number=1).update(state=SlotState.RATED)
                Slot.objects.filter(response__in=part, number=2).update(partner=who)


def _finish(wave, rater) -> None:
    """All rated but a few, and those half rated by the rater."""
    from rating.models import Assignment, Slot, SlotState

    kept = list(
        Slot.objects.filter(wave=wave, partner=rater, state=SlotState.OPEN)
        .order_by("draw")
        .values_list("pk", flat=True)[:LEFT]
    )
    Slot.objects.filter(wave=wave).exclude(pk__in=kept).update(state=SlotState.RATED)
    Assignment.objects.live().update(ended_at=timezone.now(), outcome="released")
