"""Waves in the database that are rated, frozen and unblinded, ready to be reported."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from rating import unblinding
from rating.models import Assignment, Outcome, Quote, Rating, Role, Slot, SlotState, User
from runs.models import Anchor, Bank, Response, Wave, WaveKind
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave, pair_bank_data


def rated_wave(
    subjects: Mapping[str, float],
    *,
    bank: Bank | None = None,
    items: int = 24,
    trials: int = 3,
    kind: WaveKind = WaveKind.LOCAL,
    unblinded: bool = True,
    raters: Sequence[User] = (),
    **changes: Any,
) -> Wave:
    """A wave whose every response has two ratings around the true level of its subject."""
    bank = bank or make_bank(bank_data(items))
    wave = make_wave(bank, trials=trials, subjects=list(subjects), locked=False)
    Wave.objects.filter(pk=wave.pk).update(kind=kind, locked_at=timezone.now(), **changes)
    rate_all(wave, subjects, raters or [make_rater(), make_rater()])
    wave = Wave.objects.select_related("bank").get(pk=wave.pk)
    if unblinded:
        unblind(wave)
    return Wave.objects.select_related("bank").get(pk=wave.pk)


def rate_all(wave: Wave, subjects: Mapping[str, float], raters: Sequence[User]) -> None:
    chance = random.Random(7)
    anchors = {(a.item_id, a.level): a for a in Anchor.objects.filter(item__bank=wave.bank)}
    low, high = min(wave.bank.levels), max(wave.bank.levels)
    slots = {(slot.response_id, slot.number): slot for slot in Slot.objects.filter(wave=wave)}
    now = timezone.now()
    cards, quotes, ratings = [], [], []
    for response in Response.objects.of_wave(wave).select_related("run__subject").order_by("pk"):
        true = subjects[response.run.subject.snapshot] + chance.gauss(0, 0.5)
        for slot, rater in enumerate(raters, start=1):
            level = max(low, min(high, round(true + chance.gauss(0, 0.3))))
            card = Assignment(
                slot=slots[response.pk, slot],
                response=response,
                rater=rater,
                leased_at=now,
                expires_at=now,
                ended_at=now,
                outcome=Outcome.RATED,
            )
            cards.append(card)
            rating = Rating(
                assignment=card,
                response=response,
                rater=rater,
                anchor=anchors[response.item_id, level],
                kind="counted",
                slot=slot,
            )
            quotes.append(Quote(rating_id=rating.pk, start=0, end=33))
            ratings.append(rating)
    with transaction.atomic():  # quotes come before their rating
        _store(wave, cards, quotes, ratings)


def _store(wave: Wave, cards: list[Assignment], quotes: list[Quote], ratings: list[Rating]) -> None:
    for card, stored in zip(cards, Assignment.objects.bulk_create(cards), strict=True):
        card.pk = stored.pk
    for rating in ratings:
        rating.assignment_id = rating.assignment.pk
    Slot.objects.filter(wave=wave).update(state=SlotState.RATED)
    Quote.objects.bulk_create(quotes)
    Rating.objects.bulk_create(ratings)


def unblind(wave: Wave) -> None:
    now = timezone.now()
    one, other = make_user(Role.MAINTAINER), make_user(Role.MAINTAINER)
    unblinding.freeze(wave, one, "All is rated.", now=now)
    if wave.kind == WaveKind.LOCAL:
        unblinding.unblind_alone(wave, one, "To report it.", now=now)
    else:
        unblinding.ask(wave, one, "To report it.", now=now)
        unblinding.agree(wave, other, "Yes.", now=now)


def pairs_wave(subjects: Mapping[str, float], *, pairs: int = 4, **changes: Any) -> Wave:
    return rated_wave(subjects, bank=make_bank(pair_bank_data(pairs)), **changes)
