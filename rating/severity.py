"""How severe raters are among each other, and what more work would buy, for each instrument.

From all counted ratings of two people on one response: by code name, from A to Z, pooled over
everything that was rated, up to yesterday. It needs no agreed level, and says nothing of who is
right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.core.cache import cache

from rating.clock import midnight
from rating.models import Kind, Rating, RatingQuerySet
from rating.report import Figure
from rating.standing import Estimate
from rating.stats import raters
from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.components import (
    SOURCES,
    Component,
    Components,
    Plan,
    Precision,
    variance_components,
    what_more_buys,
)
from rating.stats.facets import Facets, Severity, severity_model
from rating.stats.raters import Measured
from runs.bank import SCALES
from runs.canonical import digest
from runs.models import Instrument, Pair, Wave

# Ratings that the model takes: its time grows with them and with their raters, a million would be
# hours, and severities of a hundred ratings each are as good as anybody acts on.
MOST = 50_000
IN_WORDS = {
    "item": "Items, of one subject in one dimension",
    "response": "Responses to one item",
    "rater": "Raters",
    "rest": "All else: which rater met which response, and chance",
}


@dataclass(frozen=True, slots=True)
class Rated:
    """One counted rating. ``group`` is what a mean is taken over, ``at`` when it was given."""

    group: str
    item: int
    response: int
    rater: str
    level: int
    at: datetime


@dataclass(frozen=True)
class RaterFigures:
    """One rater beside the others. In levels, below 0 is more severe; in logits, above 0 is."""

    pseudonym: str
    n: int
    severity: Estimate
    logits: str
    fit: Figure
    beside: Estimate
    spread: Figure
    drift: Estimate


@dataclass(frozen=True)
class PoolEffects:
    """All raters of an instrument, from A to Z, and the decision study; a reason for what lacks."""

    instrument: str
    n_ratings: int
    n_responses: int
    # How many they were drawn from, where there are more than the model takes.
    drawn_from: int | None = None
    raters: tuple[RaterFigures, ...] = ()
    reason: str = ""
    unused: tuple[float, ...] = ()
    sources: tuple[tuple[str, Component], ...] = ()
    choices: tuple[tuple[str, Precision], ...] = ()
    no_choices: str = ""

    @property
    def known(self) -> int:
        """How many have a severity."""
        return sum(rater.severity.value is not None for rater in self.raters)

    @property
    def apart(self) -> int:
        """How many of those have an interval that leaves out 0."""
        return sum(
            rater.severity.low > 0 or rater.severity.high < 0
            for rater in self.raters
            if rater.severity.low is not None and rater.severity.high is not None
        )

    @property
    def sentence(self) -> str:
        differs = "differs" if self.apart == 1 else "differ"
        return (
            f"{self.apart} of {self.known} raters {differs} from the mean of all by more than "
            f"chance gives 1 rater in 20."
        )

    @property
    def rows(self) -> list[tuple[str, Estimate]]:
        """Code name and severity, as the picture shows them."""
        return [(rater.pseudonym, rater.severity) for rater in self.raters]

    @property
    def plan(self) -> Plan | None:
        return self.choices[0][1].plan if self.choices else None


def pool_effects(
    instrument: str,
    rated: Sequence[Rated],
    scale: Sequence[int],
    *,
    drawn_from: int | None = None,
) -> PoolEffects:
    """The figures of one instrument. Equal ratings give equal figures, in whatever order."""
    rated = sorted(rated, key=lambda one: (one.response, one.rater))
    names = sorted({one.rater for one in rated})
    columns = _Columns.of(rated, names, scale)
    found = PoolEffects(instrument, len(rated), len({one.response for one in rated}), drawn_from)
    model: Facets | None = None
    try:
        model = severity_model(columns.response, columns.rater, columns.place, scale, raters=names)
        found = replace(found, unused=model.unused)
    except Undefined as why:
        found = replace(found, reason=str(why))
    found = replace(
        found,
        raters=tuple(
            _figures(number, name, columns, model, found.reason)
            for number, name in enumerate(names)
        ),
    )
    try:
        parts = variance_components(
            columns.group, columns.item, columns.response, columns.rater, columns.level
        )
        choices = tuple(what_more_buys(parts, _plan(parts)))
    except Undefined as why:
        return replace(found, no_choices=str(why))
    sources = tuple((IN_WORDS[source], parts.of(source)) for source in SOURCES)
    return replace(found, sources=sources, choices=choices)


@dataclass(frozen=True)
class _Columns:
    """Ratings as arrays of shape (ratings,)."""

    group: Whole
    item: Whole
    response: Whole
    rater: Whole
    place: Whole
    level: Floats
    weeks: Floats
    partner: Whole

    @classmethod
    def of(cls, rated: Sequence[Rated], names: Sequence[str], scale: Sequence[int]) -> "_Columns":
        groups = {name: number for number, name in enumerate(sorted({one.group for one in rated}))}
        items = {name: number for number, name in enumerate(sorted({one.item for one in rated}))}
        numbers = {name: number for number, name in enumerate(names)}
        places = {level: place for place, level in enumerate(scale)}
        first = min((one.at for one in rated), default=None)

        def whole(ask: Callable[[Rated], int]) -> Whole:
            return np.array([ask(one) for one in rated], dtype=np.int64)

        response = whole(lambda one: one.response)
        rater = whole(lambda one: numbers[one.rater])
        return cls(
            whole(lambda one: groups[one.group]),
            whole(lambda one: items[one.item]),
            response,
            rater,
            whole(lambda one: places[one.level]),
            np.array([one.level for one in rated], dtype=np.float64),
            np.array([(one.at - (first or one.at)) / timedelta(weeks=1) for one in rated]),
            raters.partners(response, rater),
        )


def _figures(
    number: int, name: str, columns: _Columns, model: Facets | None, reason: str
) -> RaterFigures:
    own = columns.rater == number
    paired = own & (columns.partner >= 0)
    levels, beside = columns.level[paired], columns.level[columns.partner[paired]]
    found = model.severities[number] if model else Severity(name, int(own.sum()), reason=reason)
    return RaterFigures(
        name,
        found.n,
        Estimate(found.n, found.levels, found.levels_low, found.levels_high, found.reason),
        "" if found.logits is None else f"{found.logits:+.2f}, standard error {found.error:.2f}",
        Figure(found.fit, reason=found.reason or None),
        _estimate(len(levels), lambda: raters.raw_severity(levels, beside)),
        _figure(lambda: raters.spread(levels, beside)),
        _estimate(len(levels), lambda: raters.drift(levels, beside, columns.weeks[paired])),
    )


def _estimate(n: int, ask: Callable[[], Measured]) -> Estimate:
    try:
        found = ask()
    except Undefined as why:
        return Estimate(n, reason=str(why))
    return Estimate(n, found.value, found.low, found.high)


def _figure(ask: Callable[[], Measured]) -> Figure:
    try:
        found = ask()
    except Undefined as why:
        return Figure(None, reason=str(why))
    return Figure(found.value, found.low, found.high)


def _plan(parts: Components) -> Plan:
    """The work as it was, in whole numbers: what a usual mean stands on."""
    ratings = max(1, round(parts.n_ratings / parts.n_responses))
    return Plan(
        max(1, round(parts.n_items / parts.n_groups)),
        max(1, round(parts.n_responses / parts.n_items)),
        min(ratings, parts.n_raters),
        parts.n_raters,
    )


# The part that asks the database


def effects_by_instrument(*, now: datetime) -> list[PoolEffects]:
    """The figures of each instrument that has counted ratings from before today."""
    before = midnight(now)
    return [
        _kept(instrument, before) for instrument in Instrument if _of(instrument, before).exists()
    ]


def waves_behind(*, now: datetime) -> list[Wave]:
    """The waves whose ratings the figures stand on."""
    rated = Rating.objects.counted().filter(rated_at__lt=midnight(now))
    return list(Wave.objects.filter(pk__in=rated.values("response__run__wave")))


def _of(instrument: Instrument, before: datetime) -> RatingQuerySet:
    return _given(instrument, before).counted()


def _given(instrument: Instrument, before: datetime) -> RatingQuerySet:
    """Those that were given to be counted, whether or not they still are."""
    return Rating.objects.filter(
        kind=Kind.COUNTED, response__run__wave__bank__instrument=instrument, rated_at__lt=before
    )


def _kept(instrument: Instrument, before: datetime) -> PoolEffects:
    """The figures, kept until a rating from before today comes or goes."""
    state = _given(instrument, before).state()
    key = "severity:" + digest([instrument.value, *map(str, state.values())])
    kept: PoolEffects | None = cache.get(key)
    if kept is None:
        rated = _rated(instrument, before, total=state["counted"])
        drawn_from = state["counted"] if state["counted"] > MOST else None
        scale = SCALES[instrument.value]
        kept = pool_effects(instrument.label, rated, scale, drawn_from=drawn_from)
        cache.set(key, kept, 86_400)
    return kept


def _rated(instrument: Instrument, before: datetime, *, total: int) -> list[Rated]:
    """The rows. A mean is taken over a dimension, or over one arm of a chamber, in one run.

    Of more than ``MOST``, those of the responses with the lowest codes: codes are random, so that
    is a draw, and the same one for whoever asks.
    """
    arm_of: dict[int, str] = {}
    pairs = Pair.objects.filter(bank__instrument=instrument)
    for chamber, arm_a, arm_b in pairs.values_list("chamber", "arm_a", "arm_b"):
        arm_of |= {arm_a: f"{chamber} A", arm_b: f"{chamber} B"}
    counted = _of(instrument, before)
    if total > MOST:
        counted = counted.filter(response__code__lt=UUID(int=MOST * 2**128 // total))
    rows = counted.values_list(
        "response__run",
        "response__item__dimension",
        "response__item",
        "response",
        "rater__pseudonym",
        "anchor__level",
        "rated_at",
    )
    return [
        Rated(f"{run} {arm_of.get(item, dimension)}", item, response, rater, level, at)
        for run, dimension, item, response, rater, level, at in rows.iterator()
    ]
