"""Every interval that is published, and what it is held against: one line for each.

An interval is asked of one simulated study; so is the truth, which endless ratings would give.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from rating.stats import chance, icc, raters
from rating.stats.agreement import (
    Coefficient,
    Estimate,
    Patterns,
    Undefined,
    alpha_for_ordinal,
    exact_share,
    interval,
    tally_rows,
    within_one_share,
)
from rating.stats.alpha import alpha_for_interval, alpha_for_nominal
from rating.stats.components import SOURCES, Components, Plan, decide, variance_components
from rating.stats.facets import Facets, severity_model
from rating.stats.fixed import Ordered, cohen_estimate, tally_ordered_rows
from rating.stats.spans import (
    Crossed,
    cross,
    estimate_for_raters_like_these,
    interval_by_item,
)
from rating.stats.weights import identity, quadratic
from tests.bench import studies
from tests.bench.studies import SCALE, Study, Truth

GWET, FLEISS = chance.gwet_chance, chance.fleiss_chance
NAMES, SQUARES = identity(len(SCALE)), quadratic(len(SCALE))
PLAN = Plan(studies.ITEMS, studies.TRIALS, studies.EACH, studies.RATERS)

Span = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """An interval, what it is held against in words, and both as functions of a study."""

    name: str
    against: str
    span: Callable[[Study], Span]
    truth: Callable[[Study], float]
    claimed: bool = True  # False: nobody says so, and the row shows what comes of reading it so

    @property
    def key(self) -> str:
        return f"{self.name}: {self.against}"

    def covers(self, study: Study) -> bool | None:
        """Whether the interval holds the truth; None where none is given."""
        try:
            low, high = self.span(study)
        except Undefined:
            return None
        return low <= self.truth(study) <= high


@cache
def _patterns(study: Study) -> Patterns:
    return tally_rows(study.response, study.place, SCALE)


@cache
def _pair(study: Study) -> Ordered:
    """Of the study of the same number in which two raters rate all."""
    both = Study.draw(study.number, raters=2)
    return tally_ordered_rows(both.rater, both.response, both.place, SCALE)


@cache
def _crossed(study: Study) -> Crossed:
    return cross(study.rater, study.response, study.place, study.item, SCALE)


def _by_item(coefficient: Coefficient, fewest: int, study: Study) -> Span:
    crossed = _crossed(study).with_ratings(fewest)
    found = interval_by_item(coefficient, crossed, seed=str(study.number))
    return found.low, found.high


def _like_these(coefficient: Coefficient, fewest: int, study: Study) -> Span:
    return _ends(estimate_for_raters_like_these(coefficient, _crossed(study).with_ratings(fewest)))


def _ends(found: Estimate) -> Span:
    return _or_reason(found.low, found.high, found.reason or "")


def _by_response(coefficient: Coefficient, study: Study) -> Span:
    found = interval(coefficient, _patterns(study), seed=str(study.number))
    return found.low, found.high


@cache
def _facets(study: Study) -> Facets:
    names = [f"r{number}" for number in range(studies.RATERS)]
    return severity_model(study.response, study.rater, study.place, SCALE, raters=names)


def _logits(study: Study) -> Span:
    first = _facets(study).severities[0]
    return _or_reason(first.low, first.high, first.reason)


def _levels(study: Study) -> Span:
    first = _facets(study).severities[0]
    return _or_reason(first.levels_low, first.levels_high, first.reason)


def _or_reason(low: float | None, high: float | None, reason: str) -> Span:
    if low is None or high is None:
        raise Undefined(reason)
    return low, high


def _beside(ask: Callable[..., raters.Measured], study: Study, *, dated: bool = False) -> Span:
    """Of the first rater and those beside them."""
    partner = raters.partners(study.response, study.rater)
    own = study.rater == 0
    columns = [study.levels[own], study.levels[partner[own]]]
    found = ask(*columns, study.weeks[own]) if dated else ask(*columns)
    return found.low, found.high


@cache
def _components(study: Study) -> Components:
    one = np.zeros_like(study.item)
    return variance_components(one, study.item, study.response, study.rater, study.levels)


def _component(source: str, study: Study) -> Span:
    part = _components(study).of(source)
    return part.low, part.high


def _error_of_mean(study: Study) -> Span:
    found = decide(_components(study), PLAN)
    return found.low, found.high


_variances = cache(studies.variances)


def _variance(place: int, study: Study) -> float:
    return float(_variances()[place])


def _true_error(study: Study) -> float:
    responses = PLAN.items * PLAN.trials
    parts = [1 / PLAN.items, 1 / responses, 1 / PLAN.raters, 1 / (responses * PLAN.ratings)]
    return float(np.array(parts) @ _variances()) ** 0.5


def _of(name: str, world: str) -> Callable[[Study], float]:
    def truth(study: Study) -> float:
        held: Truth = getattr(study, world)
        return float(getattr(held, name))

    return truth


def _of_pair(name: str) -> Callable[[Study], float]:
    def truth(study: Study) -> float:
        return float(getattr(Study.draw(study.number, raters=2).these_items, name))

    return truth


def _true_icc(study: Study) -> float:
    """The share of the variance that lies between responses, raters being drawn anew."""
    item, response, *_ = _variances()
    return float((item + response) / _variances().sum())


THESE = "these raters and items, other responses"
ITEMS = "these raters, other items"
RATERS = "these raters"
OTHERS = "other raters and items"

#: One line for each interval, held against what its page says it generalises to, or against more.
ROWS: tuple[Row, ...] = (
    *(
        Row(
            f"{label}, by response", against, partial(_by_response, ask), _of(truth, world), claimed
        )
        for label, ask, truth in (
            ("Same level", exact_share, "exact"),
            ("Within one level", within_one_share, "within_one"),
            ("Ordinal alpha", alpha_for_ordinal, "ordinal_alpha"),
        )
        for against, world, claimed in (
            (THESE, "these_items", True),
            (ITEMS, "other_items", False),
            (OTHERS, "other_raters", False),
        )
    ),
    *(
        Row(f"{label}, by response", THESE, span, _of(truth, "these_items"))
        for label, span, truth in (
            ("Nominal alpha", partial(_by_response, alpha_for_nominal), "nominal_alpha"),
            ("Interval alpha", partial(_by_response, alpha_for_interval), "interval_alpha"),
            ("AC1", lambda s: _ends(chance.estimate(GWET, _patterns(s), NAMES)), "ac1"),
            (
                "AC2, quadratic",
                lambda s: _ends(chance.estimate(GWET, _patterns(s), SQUARES)),
                "ac2",
            ),
            (
                "Fleiss' kappa",
                lambda s: _ends(chance.estimate(FLEISS, _patterns(s), NAMES)),
                "fleiss",
            ),
        )
    ),
    *(
        Row(f"{label}, {by}", against, partial(span, ask, fewest), _of(truth, world))
        for label, ask, fewest, truth in (
            ("Ordinal alpha", alpha_for_ordinal, 2, "ordinal_alpha"),
            ("AC2, quadratic", chance.coefficient(GWET, SQUARES), 1, "ac2"),
        )
        for by, against, span, world in (
            ("by item", ITEMS, _by_item, "other_items"),
            ("raters like these", OTHERS, _like_these, "other_raters"),
        )
    ),
    Row(
        "Cohen's kappa, quadratic",
        "these two raters and items, other responses",
        lambda s: _ends(cohen_estimate(_pair(s), SQUARES)),
        _of_pair("kappa"),
    ),
    Row("ICC(1,1)", OTHERS, lambda s: _ends(icc.icc_1(_patterns(s))), _true_icc),
    Row("ICC(2,1), two raters", OTHERS, lambda s: _ends(icc.icc_2(_pair(s))), _true_icc),
    Row(
        "ICC(3,1), two raters",
        "these two raters and items, other responses",
        lambda s: _ends(icc.icc_3(_pair(s))),
        _of_pair("icc_3"),
    ),
    Row("Severity in logits", RATERS, _logits, lambda s: float(s.severity[0] - s.severity.mean())),
    Row(
        "Severity in levels",
        RATERS,
        _levels,
        lambda s: float(s.other_items.mean_levels[0] - s.other_items.mean_levels.mean()),
    ),
    Row(
        "Own less partner's level",
        RATERS,
        partial(_beside, raters.raw_severity),
        lambda s: float(s.other_items.mean_levels[0] - s.other_items.mean_levels[1:].mean()),
    ),
    Row("Spread", RATERS, partial(_beside, raters.spread), _of("spread_of_first", "other_items")),
    Row(
        "Drift in a week", "a drift of 0", partial(_beside, raters.drift, dated=True), lambda s: 0.0
    ),
    *(
        Row(
            f"Variance: {source}",
            OTHERS,
            partial(_component, source),
            partial(_variance, SOURCES.index(source)),
        )
        for source in SOURCES
    ),
    Row("Standard error of a mean", OTHERS, _error_of_mean, _true_error),
)


def forget() -> None:
    """Drop what was kept of the last study."""
    for kept in (_patterns, _pair, _crossed, _facets, _components):
        kept.cache_clear()
