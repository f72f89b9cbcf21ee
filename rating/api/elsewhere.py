"""Ratings made elsewhere: kept apart, their agreement told, and never counted.

A counted rating is one of exactly two, by two people of whom it is known what they have seen, given
blind on a card here, with words that were found in the reply. None of that can be known of a rating
that is sent. So no request makes a counted one: what comes from outside is a data set of its own.
"""

import hashlib
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Router

from rating.api.door import ApiRequest, Token, of_all_waves
from rating.api.once import Key, once
from rating.api.paging import After, Limit, begin_after, page_of
from rating.api.problems import Problem
from rating.api.shapes import ElsewhereFigures, ElsewhereIn, ElsewhereLine, ElsewherePage
from rating.models import EventKind
from rating.queue import log, writing
from rating.ratings_file import NEEDED, RowsRefused, parse_scale, parse_words, read_rows
from rating.report import RatingRow, agreement_report, as_json, figure_as_json
from rating.stats.agreement import FEWEST_REPLICATES, REPLICATES
from rating.tokens import Elsewhere

router = Router(tags=["Ratings from elsewhere"])
SETS = "elsewhere"
OPTIONAL = ("dimension", "item")  # where one rating has it, all must
MOST_ROWS = 20_000
MOST_DIMENSIONS = 50  # each has figures of its own, worked out while the sender waits
KEPT = 3600  # seconds
CAUTION = (
    "These ratings were made elsewhere. Who gave them, how blind, and after seeing what, is not "
    "known here. They count in no wave and in no report."
)


@router.post("/elsewhere", response={201: ElsewhereLine}, auth=Token("write:ratings"))
def bring_ratings(request: ApiRequest, sent: ElsewhereIn, idempotency_key: Key) -> Any:
    """Keep a set of ratings that were made elsewhere, whole, to be told how far they agree.

    It never counts: see the page of the API for why. Send code names for people.
    """
    of_all_waves(request)
    if len(sent.ratings) > MOST_ROWS:
        raise Problem(
            "too-large",
            f"{len(sent.ratings):,} ratings; at most {MOST_ROWS:,} are one set.",
            most=MOST_ROWS,
        )
    if (dimensions := len({one.dimension for one in sent.ratings})) > MOST_DIMENSIONS:
        raise Problem(
            "too-large",
            f"{dimensions:,} dimensions; at most {MOST_DIMENSIONS} are told of one set.",
            most=MOST_DIMENSIONS,
        )
    scale, words = _scale(sent.scale)
    told = [name for name in OPTIONAL if any(getattr(one, name) for one in sent.ratings)]
    rows = (
        [one.rater, one.unit, _written(one.level), *(getattr(one, name) for name in told)]
        for one in sent.ratings
    )
    try:
        read = read_rows((*NEEDED, *told), rows, scale, words)
    except RowsRefused as why:
        raise Problem(
            "invalid",
            "None of these ratings is kept, since some cannot be read.",
            errors=[
                {"pointer": f"#/ratings/{row}{f'/{column}' * bool(column)}", "detail": text}
                for row, column, text in why.rows
            ],
        ) from None
    found = list(read.rows())
    # Whether their agreement can be told at all is seen before they are kept.
    _figures(found, scale, words, seed="", replicates=FEWEST_REPLICATES)

    def act() -> tuple[dict[str, Any], dict[str, object]]:
        kept = Elsewhere.objects.create(
            name=sent.name,
            source=sent.source,
            scale=sent.scale,
            rows=[[one.rater, one.unit, one.level, one.dimension, one.item] for one in found],
            row_count=len(found),
            raters=len({one.rater for one in found}),
            units=len({(one.unit, one.dimension) for one in found}),
            sha256=hashlib.sha256(request.body).hexdigest(),
            brought_by=request.auth.person,
            brought_at=timezone.now(),
        )
        answer = _line(kept)
        answer |= {
            "code": str(kept.code),
            "brought_at": kept.brought_at.isoformat(timespec="milliseconds"),
        }
        return answer, {"elsewhere": kept.code, "ratings": kept.row_count}

    return once(request, idempotency_key, act)


@router.get("/elsewhere", response=ElsewherePage, auth=Token("read:agreement"))
def list_elsewhere(request: ApiRequest, limit: Limit = 50, after: After = "") -> Any:
    """The sets of ratings that were made elsewhere, in the order they came."""
    of_all_waves(request)
    wanted = Elsewhere.objects.defer("rows")
    if key := begin_after(SETS, after):
        wanted = wanted.filter(pk__gt=key[0])
    found, following = page_of(
        SETS, wanted.order_by("pk")[: limit + 1], limit, lambda one: [one.pk]
    )
    return {"items": [_line(one) for one in found], "next": following}


@router.get("/elsewhere/{uuid:code}", response=ElsewhereFigures, auth=Token("read:agreement"))
def read_elsewhere(request: ApiRequest, code: UUID) -> Any:
    """How far the ratings of one set agree, computed as ours are and labelled as what they are."""
    of_all_waves(request)
    kept = get_object_or_404(Elsewhere.objects.defer("rows"), code=code)
    key = f"elsewhere:{kept.code}:{kept.sha256}"
    figures: dict[str, Any] | None = cache.get(key)
    if figures is None:
        scale, words = _scale(kept.scale)
        rows = [RatingRow(row[0], row[1], row[3], row[2], row[4]) for row in kept.rows]
        figures = _figures(rows, scale, words, seed=kept.sha256)
        cache.set(key, figures, KEPT)
    return {
        "code": kept.code,
        "name": kept.name,
        "source": kept.source,
        "counted": False,
        "caution": CAUTION,
        **figures,
    }


@router.delete("/elsewhere/{uuid:code}", response={204: None}, auth=Token("write:ratings"))
def let_go(request: ApiRequest, code: UUID) -> Any:
    """Let go of a set, whole, on record. Only whoever brought it may."""
    of_all_waves(request)
    person = request.auth.person
    with writing():
        kept = get_object_or_404(
            Elsewhere.objects.select_for_update().only("pk", "code", "sha256"),
            code=code,
            brought_by=person,
        )
        kept.delete()
        log(
            EventKind.TOKEN,
            person.pk,
            token=request.auth.token.prefix,
            step="let go",
            elsewhere=code,
            body=kept.sha256,
        )
    return None


def _scale(text: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """The levels of a scale, and their words if it is one of words. Raises ``Problem``."""
    try:
        words = parse_words(text)
        return (tuple(map(float, range(1, len(words) + 1))) if words else parse_scale(text)), words
    except ValueError as why:
        raise Problem(
            "invalid", "The scale is none.", errors=[{"pointer": "#/scale", "detail": str(why)}]
        ) from None


def _written(level: float | str | None) -> str:
    """A level as a file has it."""
    if level is None:
        return ""
    return level if isinstance(level, str) else f"{Decimal(repr(level)).normalize():f}"


def _figures(
    rows: list[RatingRow],
    scale: tuple[float, ...],
    words: tuple[str, ...],
    *,
    seed: str,
    replicates: int = REPLICATES,
) -> dict[str, Any]:
    try:
        report = agreement_report(rows, scale, seed=seed, words=words, replicates=replicates)
    except ValueError as why:
        raise Problem(
            "invalid", "Their agreement cannot be told.", errors=[{"detail": str(why)}]
        ) from None
    told = as_json(report)
    told["overall"]["ac2_ordinal"] = figure_as_json(report.overall.ac2_ordinal)
    for name, own in report.dimensions.items():
        told["dimensions"][name]["ac2_ordinal"] = figure_as_json(own.ac2_ordinal)
    return told


def _line(kept: Elsewhere) -> dict[str, Any]:
    return {
        "code": kept.code,
        "name": kept.name,
        "source": kept.source,
        "scale": kept.scale,
        "ratings": kept.row_count,
        "raters": kept.raters,
        "units": kept.units,
        "sha256": kept.sha256,
        "brought_at": kept.brought_at,
        "counted": False,
    }
