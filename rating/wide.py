"""The wider set of coefficients as a report says them, beside what every report has."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rating.coefficients import KINDS, Outcome, Pair, Ratings, wider
from rating.figure import Figure, figure_as_json
from rating.stats.agreement import Estimate
from rating.stats.permutation import ChanceTest


@dataclass(frozen=True)
class PairFigures:
    """What two raters say of the units that both rated."""

    raters: tuple[str, str]
    n_units: int
    unused_levels: tuple[float, ...]
    kappas: Mapping[str, Figure]


@dataclass(frozen=True)
class Generalised:
    """How far a coefficient would move, and what its intervals are for.

    ``undefined`` is the share of resamples without a value. ``jackknife`` is there for the alphas,
    and the last two are for coefficients that treat raters alike.
    """

    standard_error: float | None
    undefined: float | None
    jackknife: Figure | None
    by_item: Figure | None
    raters_like_these: Figure | None


@dataclass(frozen=True)
class WideAgreement:
    """The coefficients asked for, pair by pair, and against chance within items."""

    found: Mapping[str, Figure]
    generalised: Mapping[str, Generalised]
    chance: ChanceTest | str
    pairs: tuple[PairFigures, ...]
    left_out: int


def wide_agreement(
    ratings: Ratings,
    names: Collection[str],
    raters: Sequence[str],
    *,
    seed: str,
    replicates: int,
) -> WideAgreement:
    """Return the coefficients named. ``raters`` names each rater by number."""
    got = wider(ratings, names, seed=seed, replicates=replicates)
    return WideAgreement(
        found={name: _figure(outcome) for name, outcome in got.found.items()},
        generalised={
            name: Generalised(
                outcome.standard_error if isinstance(outcome, Estimate) else None,
                outcome.undefined if isinstance(outcome, Estimate) else None,
                *(
                    _figure(outcomes[name]) if name in outcomes else None
                    for outcomes in (got.jackknife, got.by_item, got.raters_like_these)
                ),
            )
            for name, outcome in got.found.items()
        },
        chance=got.chance,
        pairs=tuple(_pair(pair, ratings.scale, raters) for pair in got.pairs),
        left_out=got.left_out,
    )


def wide_as_json(wide: WideAgreement, level: Callable[[float], float | str]) -> dict[str, Any]:
    """Return plain JSON values; ``level`` is how a level is written."""
    return {
        **{name: figure_as_json(figure) for name, figure in wide.found.items()},
        "pairs": [
            {
                "raters": list(pair.raters),
                "n_units": pair.n_units,
                **{name: figure_as_json(figure) for name, figure in pair.kappas.items()},
                "unused_levels": [level(one) for one in pair.unused_levels],
            }
            for pair in wide.pairs
        ],
        "raters_in_no_pair": wide.left_out,
        "chance_test": _chance_as_json(wide.chance),
        "intervals": {
            name: {
                "standard_error": general.standard_error,
                "undefined_resamples": general.undefined,
                "jackknife": general.jackknife and figure_as_json(general.jackknife),
                "by_item": general.by_item and figure_as_json(general.by_item),
                "raters_like_these": general.raters_like_these
                and figure_as_json(general.raters_like_these),
            }
            for name, general in wide.generalised.items()
        },
    }


def methods_as_json(names: Collection[str]) -> dict[str, Any]:
    """What each coefficient is called, and how its interval comes about and what it is for."""
    return {
        name: {"title": kind.title, "interval": kind.interval}
        for name, kind in KINDS.items()
        if name in names
    }


def _figure(outcome: Outcome) -> Figure:
    if isinstance(outcome, str):
        return Figure(None, reason=outcome)
    return Figure(outcome.value, outcome.low, outcome.high, outcome.reason)


def _pair(pair: Pair, scale: Sequence[float], raters: Sequence[str]) -> PairFigures:
    one, other = pair.raters
    return PairFigures(
        (raters[one], raters[other]),
        pair.n_units,
        tuple(level for level, count in zip(scale, pair.level_counts, strict=True) if count == 0),
        {name: _figure(outcome) for name, outcome in pair.kappas.items()},
    )


def _chance_as_json(chance: ChanceTest | str) -> dict[str, float | int | str | None]:
    if isinstance(chance, str):
        return {
            "alpha": None,
            "by_chance": None,
            "p": None,
            "permutations": None,
            "reason": chance,
        }
    return {
        "alpha": chance.alpha,
        "by_chance": chance.by_chance,
        "p": chance.p,
        "permutations": chance.permutations,
        "reason": None,
    }
