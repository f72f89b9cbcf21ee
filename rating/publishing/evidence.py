"""The ratings and quotes that a figure rests on, for those who may see them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Q

from rating.models import Quote, Rating
from rating.readings import Words, words_of
from runs.models import Pair, Response, Status, Wave
from runs.taxonomy import DIMENSIONS

ON_A_PAGE = 30


@dataclass(frozen=True)
class Said:
    """One rating: the level, and the words that earned it."""

    rater: str
    level: int
    tags: tuple[str, ...]
    quotes: tuple[Words, ...]


@dataclass(frozen=True)
class Behind:
    """One response with its ratings. Of its text no more is here than was quoted."""

    code: UUID
    item: str
    trial: int
    said: tuple[Said, ...]


@dataclass(frozen=True)
class PairBehind:
    """A pair with both prompts, and what was quoted of the replies to each."""

    code: str
    prompt_a: str
    prompt_b: str
    a: tuple[Behind, ...]
    b: tuple[Behind, ...]


def behind(wave: Wave, subject: str, condition: str, dimension: str, page: str) -> Page[Any]:
    """The rated responses of one run in one dimension, or in all, with their ratings."""
    wanted = _responses(wave, subject, condition)
    if dimension in DIMENSIONS:
        wanted = wanted.filter(item__dimension=dimension)
    found = Paginator(wanted.order_by("item__code", "trial", "pk"), ON_A_PAGE).get_page(page)
    found.object_list = _with_ratings(found.object_list)
    return found


def pairs_behind(wave: Wave, subject: str, condition: str, chamber: str) -> list[PairBehind]:
    """The pairs of a chamber, with what was said of both arms side by side."""
    pairs = list(
        Pair.objects.filter(bank=wave.bank, chamber=chamber)
        .select_related("arm_a", "arm_b")
        .order_by("code")
    )
    arms = [arm for pair in pairs for arm in (pair.arm_a_id, pair.arm_b_id)]
    rows = _responses(wave, subject, condition).filter(item__in=arms).order_by("trial", "pk")
    by_item: dict[str, list[Behind]] = {}
    for one in _with_ratings(rows):
        by_item.setdefault(one.item, []).append(one)
    return [
        PairBehind(
            pair.code,
            pair.arm_a.prompt,
            pair.arm_b.prompt,
            tuple(by_item.get(pair.arm_a.code, ())),
            tuple(by_item.get(pair.arm_b.code, ())),
        )
        for pair in pairs
    ]


def _responses(wave: Wave, subject: str, condition: str) -> Any:
    return (
        Response.objects.of_wave(wave)
        .filter(Q(run__subject__code=subject, run__condition=condition), status=Status.COMPLETED)
        .select_related("item")
        .only("code", "trial", "item__code")
    )


def _with_ratings(responses: Iterable[Response]) -> list[Behind]:
    rows = list(responses)
    ratings = list(
        Rating.objects.counted()
        .filter(response__in=rows)
        .select_related("rater", "anchor")
        .defer("anchor__description", "anchor__note")
        .order_by("rater__pseudonym")
    )
    quotes = words_of(Quote.objects.filter(rating__in=ratings))
    said: dict[int, list[Said]] = {}
    for rating in ratings:
        said.setdefault(rating.response_id, []).append(
            Said(
                rating.rater.pseudonym,
                rating.anchor.level,
                tuple(rating.tags),
                tuple(quotes.get(rating.pk, ())),
            )
        )
    return [Behind(row.code, row.item.code, row.trial, tuple(said.get(row.pk, ()))) for row in rows]
