"""The wider set of coefficients of some ratings: each with its interval, or the reason for none."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Final, ParamSpec

import numpy as np

from rating.stats import alpha, icc
from rating.stats.agreement import (
    REPLICATES,
    Coefficient,
    Estimate,
    Interval,
    Patterns,
    Undefined,
    Whole,
    alpha_for_ordinal,
    interval,
    pairable_of,
    tally_rows,
    value,
)
from rating.stats.chance import (
    Chance,
    coefficient,
    estimate,
    fleiss_chance,
    gwet_chance,
    uniform_chance,
)
from rating.stats.concordance import concordance, w_for_ordered
from rating.stats.fixed import Ordered, cohen_estimate, conger_estimate, tally_ordered_rows
from rating.stats.permutation import ChanceTest, chance_test
from rating.stats.spans import (
    Crossed,
    cross,
    estimate_for_raters_like_these,
    interval_by_item,
)
from rating.stats.weights import WEIGHTS

#: An estimate, or the reason for none.
Outcome = Estimate | str
Asked = ParamSpec("Asked")

MOST_PAIRED: Final = 20  # raters of whom each pair is looked at, those with the most ratings
MOST_DEALT: Final = 2**27  # ratings x permutations of a test against chance
FEWEST_DEALS: Final = 99
WORDS: Final = "The levels are words, which have an order but no distances."
NO_ITEMS: Final = "No item has two responses here, so this is the interval by response."


@dataclass(frozen=True)
class Ratings:
    """Ratings as columns of numbers, shape (ratings,) each, and the scale of their levels.

    ``place`` is the place of a level on the scale, from 0. ``item`` is what units hang together
    by; ``block`` is where a rater's levels could as well have gone to another unit. ``in_words``
    is whether the levels are words, so that their distances mean nothing.
    """

    scale: tuple[float, ...]
    rater: Whole
    unit: Whole
    place: Whole
    item: Whole
    block: Whole
    in_words: bool = False

    @cached_property
    def patterns(self) -> Patterns:
        _, unit = np.unique(self.unit, return_inverse=True)
        return tally_rows(unit, self.place, self.scale)

    @cached_property
    def ordered(self) -> Ordered:
        return tally_ordered_rows(self.rater, self.unit, self.place, self.scale)

    @cached_property
    def crossed(self) -> Crossed:
        return cross(self.rater, self.unit, self.place, self.item, self.scale)

    def at(self, rows: Whole) -> "Ratings":
        """Only the ratings of some rows, in their order."""
        return replace(
            self,
            rater=self.rater[rows],
            unit=self.unit[rows],
            place=self.place[rows],
            item=self.item[rows],
            block=self.block[rows],
        )


@dataclass(frozen=True)
class Kind:
    """A coefficient: what it is called, and how its number and its interval come about.

    ``estimate`` takes ratings, a seed and the number of replicates. ``distances`` is whether the
    levels must be numbers. Of a coefficient that treats raters alike, ``pooled`` makes the
    function of patterns for so many levels, and ``fewest`` is the ratings a unit needs to be read.
    """

    title: str
    interval: str
    estimate: Callable[[Ratings, str, int], Estimate]
    distances: bool = False
    pooled: Callable[[int], Coefficient] | None = None
    fewest: int = 2


@dataclass(frozen=True)
class Pair:
    """What two raters say of the units that both rated. ``raters`` are their numbers."""

    raters: tuple[int, int]
    n_units: int
    level_counts: Whole
    kappas: Mapping[str, Outcome]


@dataclass(frozen=True)
class Wider:
    """The coefficients asked for, and what they would be with other items or other raters.

    ``jackknife`` holds the alphas, whose interval is of resamples, with the one of leaving out a
    unit at a time. ``by_item`` and ``raters_like_these`` hold those that treat raters alike.
    ``left_out`` is how many raters are in none of the ``pairs``, for want of ratings.
    """

    found: Mapping[str, Outcome]
    jackknife: Mapping[str, Outcome]
    by_item: Mapping[str, Outcome]
    raters_like_these: Mapping[str, Outcome]
    chance: ChanceTest | str
    pairs: tuple[Pair, ...]
    left_out: int


def wider(
    ratings: Ratings, names: Collection[str], *, seed: str, replicates: int = REPLICATES
) -> Wider:
    """Return the coefficients named, in their fixed order. ``KINDS`` lists the names."""
    chosen = {name: kind for name, kind in KINDS.items() if name in names}
    pooled = {name: kind for name, kind in chosen.items() if kind.pooled}
    paired = _most_active(ratings)
    return Wider(
        found={
            name: _outcome(_estimate, ratings, kind, seed, replicates)
            for name, kind in chosen.items()
        },
        jackknife={
            name: _outcome(_jackknife, ratings, kind)
            for name, kind in pooled.items()
            if kind.interval == RESAMPLED
        },
        by_item={
            name: _outcome(_by_item, ratings, kind, seed, replicates)
            for name, kind in pooled.items()
        },
        raters_like_these={
            name: _outcome(_raters_like_these, ratings, kind) for name, kind in pooled.items()
        },
        chance=_chance(ratings, seed, replicates),
        pairs=_pairs(ratings.at(np.flatnonzero(np.isin(ratings.rater, paired)))),
        left_out=len(np.unique(ratings.rater)) - len(paired),
    )


def _estimate(ratings: Ratings, kind: Kind, seed: str, replicates: int) -> Estimate:
    _refuse_words(ratings, kind)
    return kind.estimate(ratings, seed, replicates)


def _jackknife(ratings: Ratings, kind: Kind) -> Estimate:
    assert kind.pooled
    _refuse_words(ratings, kind)
    return alpha.jackknife_estimate(kind.pooled(len(ratings.scale)), ratings.patterns)


def _by_item(ratings: Ratings, kind: Kind, seed: str, replicates: int) -> Estimate:
    of, crossed = _crossed(ratings, kind)
    if not crossed.nested:
        raise Undefined(NO_ITEMS)
    return _with_interval(
        value(of, crossed.patterns),
        partial(interval_by_item, of, crossed, seed=f"{seed}|items", replicates=replicates),
    )


def _raters_like_these(ratings: Ratings, kind: Kind) -> Estimate:
    return estimate_for_raters_like_these(*_crossed(ratings, kind))


def _crossed(ratings: Ratings, kind: Kind) -> tuple[Coefficient, Crossed]:
    assert kind.pooled
    _refuse_words(ratings, kind)
    pairable_of(ratings.patterns)
    return kind.pooled(len(ratings.scale)), ratings.crossed.with_ratings(kind.fewest)


def _refuse_words(ratings: Ratings, kind: Kind) -> None:
    if kind.distances and ratings.in_words:
        raise Undefined(WORDS)


def _with_interval(found: float, ask: Callable[[], Interval]) -> Estimate:
    try:
        span = ask()
    except Undefined as why:
        return Estimate(found, reason=str(why))
    undefined = span.undefined / span.replicates
    return Estimate(found, span.standard_error, span.low, span.high, undefined=undefined)


def _chance(ratings: Ratings, seed: str, replicates: int) -> ChanceTest | str:
    most = max(FEWEST_DEALS, MOST_DEALT // max(1, len(ratings.unit)))
    try:
        return chance_test(
            ratings.rater,
            ratings.unit,
            ratings.place,
            ratings.block,
            seed=f"{seed}|chance",
            permutations=min(replicates, most),
        )
    except Undefined as why:
        return str(why)


def _most_active(ratings: Ratings) -> list[int]:
    """The raters of whom pairs are made, by their numbers; ties go to the lower number."""
    raters, given = np.unique(ratings.rater, return_counts=True)
    return sorted(raters[np.argsort(-given, kind="stable")[:MOST_PAIRED]].tolist())


def _pairs(ratings: Ratings) -> tuple[Pair, ...]:
    """Every pair of raters that has a unit in common, in the order of their numbers."""
    if not len(ratings.unit):
        return ()
    raters, ordered = np.unique(ratings.rater), ratings.ordered
    pairs = []
    for one, other in combinations(range(len(raters)), 2):
        both = ordered.pair(one, other)
        if both.n_units:
            kappas = {
                name: _outcome(cohen_estimate, both, WEIGHTS[weights](len(ratings.scale)))
                for name, weights in KAPPAS.items()
            }
            counts = both.times @ both.counts
            pairs.append(Pair((int(raters[one]), int(raters[other])), both.n_units, counts, kappas))
    return tuple(pairs)


def _outcome(ask: Callable[Asked, Estimate], *args: Asked.args, **kwargs: Asked.kwargs) -> Outcome:
    try:
        return ask(*args, **kwargs)
    except Undefined as why:
        return str(why)


def _resampled(title: str, of: Coefficient, *, distances: bool = False) -> Kind:
    def ask(ratings: Ratings, seed: str, replicates: int) -> Estimate:
        patterns = ratings.patterns
        return _with_interval(
            value(of, patterns),
            partial(interval, of, patterns, seed=seed, replicates=replicates),
        )

    return Kind(title, RESAMPLED, ask, distances, lambda _levels: of)


def _against_chance(title: str, chance: Chance, weights: str) -> Kind:
    def ask(ratings: Ratings, _seed: str, _replicates: int) -> Estimate:
        return estimate(chance, ratings.patterns, WEIGHTS[weights](len(ratings.scale)))

    def pooled(levels: int) -> Coefficient:
        return coefficient(chance, WEIGHTS[weights](levels))

    return Kind(title, LINEARISED, ask, pooled=pooled, fewest=1)


def _cohen(title: str, weights: str) -> Kind:
    def ask(ratings: Ratings, _seed: str, _replicates: int) -> Estimate:
        raters = len(np.unique(ratings.rater))
        if raters > 2:
            raise Undefined(
                f"Cohen's kappa is for one fixed pair of raters, and there are {raters:,}. "
                f"It is given for each pair."
            )
        return cohen_estimate(ratings.ordered, WEIGHTS[weights](len(ratings.scale)))

    return Kind(title, FLEISS_COHEN_EVERITT, ask)


def _conger(title: str) -> Kind:
    def ask(ratings: Ratings, _seed: str, _replicates: int) -> Estimate:
        return conger_estimate(ratings.ordered, WEIGHTS["identity"](len(ratings.scale)))

    return Kind(title, LINEARISED, ask)


def _icc(title: str, model: int, *, averaged: bool) -> Kind:
    def ask(ratings: Ratings, _seed: str, _replicates: int) -> Estimate:
        if model == 1:
            return icc.icc_1(ratings.patterns, averaged=averaged)
        of_model = icc.icc_2 if model == 2 else icc.icc_3
        return of_model(ratings.ordered, averaged=averaged)

    return Kind(title, VARIANCES[model], ask, distances=True)


def _kendall(title: str) -> Kind:
    def ask(ratings: Ratings, seed: str, replicates: int) -> Estimate:
        ordered = ratings.ordered
        return _with_interval(
            concordance(ordered),
            partial(interval, w_for_ordered, ordered, seed=seed, replicates=replicates),
        )

    return Kind(title, RESAMPLED, ask)


RESAMPLED: Final = "percentiles of resampled units: these raters, other responses"
LINEARISED: Final = "linearised standard error, Student's t: these raters, other responses"
FLEISS_COHEN_EVERITT: Final = (
    "standard error of Fleiss, Cohen and Everitt, normal: these two raters, other responses"
)
VARIANCES: Final = {
    1: "F distribution, one-way: other raters for each rating, other responses; exact for normal "
    "levels and equal numbers of ratings",
    2: "F distribution, McGraw and Wong: raters like these, other responses; for normal levels",
    3: "F distribution, McGraw and Wong: these raters, other responses; for normal levels",
}

KINDS: Final[Mapping[str, Kind]] = {
    "alpha_nominal": _resampled("Nominal alpha", alpha.alpha_for_nominal),
    "alpha_ordinal": _resampled("Ordinal alpha", alpha_for_ordinal),
    "alpha_interval": _resampled("Interval alpha", alpha.alpha_for_interval, distances=True),
    "ac1": _against_chance("AC1", gwet_chance, "identity"),
    "ac2_linear": _against_chance("AC2, linear", gwet_chance, "linear"),
    "ac2_quadratic": _against_chance("AC2, quadratic", gwet_chance, "quadratic"),
    "ac2_ordinal": _against_chance("AC2, ordinal", gwet_chance, "ordinal"),
    "kappa": _cohen("Cohen's kappa", "identity"),
    "kappa_linear": _cohen("Cohen's kappa, linear", "linear"),
    "kappa_quadratic": _cohen("Cohen's kappa, quadratic", "quadratic"),
    "fleiss": _against_chance("Fleiss's kappa", fleiss_chance, "identity"),
    "conger": _conger("Conger's kappa"),
    "brennan_prediger": _against_chance("Brennan and Prediger's", uniform_chance, "identity"),
    "icc_1_1": _icc("ICC(1,1)", 1, averaged=False),
    "icc_2_1": _icc("ICC(2,1)", 2, averaged=False),
    "icc_3_1": _icc("ICC(3,1)", 3, averaged=False),
    "icc_1_k": _icc("ICC(1,k)", 1, averaged=True),
    "icc_2_k": _icc("ICC(2,k)", 2, averaged=True),
    "icc_3_k": _icc("ICC(3,k)", 3, averaged=True),
    "kendall_w": _kendall("Kendall's W"),
}
KAPPAS: Final[Mapping[str, str]] = {
    "kappa": "identity",
    "kappa_linear": "linear",
    "kappa_quadratic": "quadratic",
}
