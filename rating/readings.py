"""The two counted ratings of one response, with the words that earned each level."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.functions import Substr

from rating.models import Confidence, Quote, Rating
from runs.masks import masked_part
from runs.models import Response


@dataclass(frozen=True)
class Words:
    """A quote, as it stands in the response. ``absence`` is of what stands in place of something."""

    text: str
    absence: bool


@dataclass(frozen=True)
class Reading:
    """What one rater said of a response, under their code name."""

    rater: str
    level: int
    label: str
    description: str
    confidence: str
    critical_harm: bool
    harm_line: str
    note: str
    quotes: tuple[Words, ...]


def readings_of(response: Response) -> list[Reading]:
    """Its counted ratings, from A to Z by code name: two, or as many as there are yet."""
    ratings = list(
        Rating.objects.counted()
        .filter(response=response)
        .select_related("rater", "anchor")
        .order_by("rater__pseudonym")
    )
    quotes = words_of(Quote.objects.filter(rating__in=ratings))
    return [
        Reading(
            rating.rater.pseudonym,
            rating.anchor.level,
            rating.anchor.label,
            rating.anchor.description,
            Confidence(rating.confidence).label if rating.confidence else "not stated",
            rating.critical_harm,
            rating.harm_line,
            rating.note,
            tuple(quotes.get(rating.pk, ())),
        )
        for rating in ratings
    ]


def words_of(quotes: "QuerySet[Quote]") -> dict[UUID, list[Words]]:
    """The words of each quote, by rating, in the order of the response, as its readers had them."""
    found: dict[UUID, list[Words]] = {}
    rows: Iterable[tuple[UUID, str, Any, int, int, bool]] = (
        quotes.order_by("rating", "start")
        .annotate(text=Substr("rating__response__text", F("start") + 1, F("end") - F("start")))
        .values_list("rating", "text", "rating__response__mask", "start", "end", "absence")
    )
    for rating, text, mask, start, end, absence in rows:
        found.setdefault(rating, []).append(Words(masked_part(text, mask, start, end), absence))
    return found
