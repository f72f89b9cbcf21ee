"""What an agreement report says: each number with its counts, or the reason for none."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import (
    REPLICATES,
    Coefficient,
    Patterns,
    Undefined,
    alpha_for_ordinal,
    exact_share,
    interval,
    tally_rows,
    value,
    within_one_share,
)

FEWEST_PAIRABLE: Final = 30  # pairable units that alpha asks for before it is relied upon
OVERALL: Final = "All together"
MEANING: Final = (
    "Each interval covers 95% of resamples of the units. It says how far the number would move "
    "with these raters and other responses. It does not say how far it would move with other "
    "raters."
)
POOLED: Final = "All together, each dimension of a response is drawn as if it stood alone."
ALPHA_MEANING: Final = (
    "Ordinal alpha is Krippendorff's: 1 is full agreement, 0 is what chance alone would give, "
    "and less is worse than chance."
)


@dataclass(frozen=True, slots=True)
class RatingRow:
    """The level one rater gave one unit. ``dimension`` is "" where there is none."""

    rater: str
    unit: str
    dimension: str
    level: float


@dataclass(frozen=True)
class Figure:
    """A number with its interval. ``reason`` says why either is missing."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    def as_number(self) -> str:
        """Such as "0.71 (95% interval 0.62 to 0.79)", or a sentence why there is none."""
        return self._in_words(_number)

    def as_percent(self) -> str:
        """Such as "81% (95% interval 78% to 84%)", or a sentence why there is none."""
        return self._in_words(_percent)

    def number(self) -> str:
        """The number alone, such as "0.71"; empty where there is none."""
        return "" if self.value is None else _number(self.value)

    def percent(self) -> str:
        """The share alone, such as "81%"; empty where there is none."""
        return "" if self.value is None else _percent(self.value)

    def brief(self) -> str:
        """The number and its interval without a reason; empty where there is no number."""
        return "" if self.value is None else Figure(self.value, self.low, self.high).as_number()

    @property
    def why(self) -> str:
        """A sentence on what is missing; empty where nothing is."""
        if self.reason is None:
            return ""
        what = "number" if self.value is None else "interval"
        return f"This {what} cannot be given: {self.reason}"

    def _in_words(self, shown: Callable[[float], str]) -> str:
        if self.value is None:
            return self.why
        if self.low is not None and self.high is not None:
            return f"{shown(self.value)} (95% interval {shown(self.low)} to {shown(self.high)})"
        return f"{shown(self.value)}. {self.why}" if self.reason else shown(self.value)


@dataclass(frozen=True)
class Agreement:
    """How far the raters of some units agree. ``n_units`` have a rating, pairable ones two."""

    n_ratings: int
    n_units: int
    n_pairable_units: int
    n_raters: int
    percent_exact: Figure
    percent_within_one: Figure
    alpha_ordinal: Figure
    coverage: Figure
    level_counts: tuple[tuple[float, int], ...]

    @property
    def unused_levels(self) -> tuple[float, ...]:
        return tuple(level for level, count in self.level_counts if count == 0)

    @property
    def unused(self) -> str:
        """The unused levels in words, such as "4 and 5"; "none" where all were used."""
        return _listed(self.unused_levels) or "none"

    @property
    def sufficient(self) -> bool:
        """Whether there are as many pairable units as alpha asks for."""
        return self.n_pairable_units >= FEWEST_PAIRABLE

    @property
    def caution(self) -> str:
        """A sentence where alpha rests on too few units to be relied upon; else empty."""
        if self.sufficient or self.alpha_ordinal.value is None:
            return ""
        some = "1 unit has" if self.n_pairable_units == 1 else f"{self.n_pairable_units} units have"
        return (
            f"Only {some} two ratings. Ordinal alpha asks for {FEWEST_PAIRABLE}, "
            f"so this one does not suffice for a claim."
        )

    @property
    def above_chance(self) -> bool:
        """Whether alpha suffices and its whole interval lies above 0."""
        low = self.alpha_ordinal.low
        return self.sufficient and low is not None and low > 0


@dataclass(frozen=True)
class AgreementReport:
    """Agreement over all units pooled, and in each dimension, in the instrument's order."""

    overall: Agreement
    dimensions: Mapping[str, Agreement]
    scale: tuple[float, ...]
    seed: str
    replicates: int
    alpha_meaning: str = ALPHA_MEANING

    @property
    def meaning(self) -> str:
        """What the intervals do and do not say."""
        return f"{MEANING} {POOLED}" if self.dimensions else MEANING

    @property
    def rows(self) -> tuple[tuple[str, Agreement], ...]:
        """The pooled figures, then those of each dimension, each with its name."""
        return ((OVERALL, self.overall), *self.dimensions.items())

    @property
    def scale_in_words(self) -> str:
        return _listed(self.scale)

    @property
    def sentence(self) -> str:
        """One sentence on what the figures show."""
        if not self.dimensions:
            return self._overall_sentence()
        above = sum(agreement.above_chance for agreement in self.dimensions.values())
        unknown = sum(
            agreement.alpha_ordinal.low is None or not agreement.sufficient
            for agreement in self.dimensions.values()
        )
        n = len(self.dimensions)
        said = f"Agreement is above chance in {above} of {n} dimension{'s' * (n != 1)}"
        return f"{said}, and cannot be told in {unknown}." if unknown else f"{said}."

    def _overall_sentence(self) -> str:
        alpha = self.overall.alpha_ordinal
        if alpha.low is None or alpha.high is None or not self.overall.sufficient:
            return "Whether agreement is above chance cannot be told."
        if alpha.low > 0:
            return "Agreement is above chance."
        if alpha.high < 0:
            return "Agreement is below chance."
        return "Agreement cannot be told from chance."


def agreement_report(
    rows: Iterable[RatingRow],
    scale: Sequence[float],
    *,
    seed: str,
    replicates: int = REPLICATES,
    dimensions: Sequence[str] | None = None,
) -> AgreementReport:
    """Return the agreement of all rows and of each dimension.

    A unit is a unit in a dimension. ``dimensions`` names them in the instrument's order, also
    those without a rating; left out, those of the rows stand from A to Z.

    Raises
    ------
    ValueError
        If a rater rated a unit twice, a level is not on the scale, a dimension is not among
        ``dimensions``, or only some rows have a dimension.
    """
    table = _Table.of(rows, scale)
    found = sorted(set(table.dimensions))
    names = [name for name in found if name] if dimensions is None else list(dimensions)
    if "" in found and (len(found) > 1 or names):
        raise ValueError("Some rows have a dimension and some have none. Give all rows one.")
    if strange := set(found) - set(names) - {""}:
        raise ValueError(
            f"There is no dimension {min(strange)!r}; the dimensions are: {', '.join(names)}."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"A dimension is named twice: {', '.join(names)}.")
    everything = np.ones(len(table.unit), dtype=bool)
    return AgreementReport(
        overall=_agreement(table, everything, f"{seed}|overall", replicates),
        dimensions={
            name: _agreement(table, table.of_dimension(name), f"{seed}|in|{name}", replicates)
            for name in names
        },
        scale=table.scale,
        seed=seed,
        replicates=replicates,
    )


def as_json(report: AgreementReport) -> dict[str, Any]:
    """Return the report as plain JSON values, in which nothing is NaN or infinite."""
    return {
        "overall": _agreement_as_json(report.overall),
        "dimensions": {
            name: _agreement_as_json(agreement) for name, agreement in report.dimensions.items()
        },
        "scale": list(report.scale),
        "seed": report.seed,
        "replicates": report.replicates,
        "interval": "95% percentile bootstrap over units: these raters, other responses",
        "about": f"{report.alpha_meaning} {report.meaning}",
    }


@dataclass(frozen=True)
class _Table:
    """Rows as columns of numbers, so that millions fit in memory."""

    scale: tuple[float, ...]
    raters: list[str]
    units: list[tuple[str, str]]
    rater: NDArray[np.int64]
    unit: NDArray[np.int64]
    level: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[RatingRow], scale: Sequence[float]) -> "_Table":
        steps = {float(step): place for place, step in enumerate(scale)}
        raters: dict[str, int] = {}
        units: dict[tuple[str, str], int] = {}
        columns = array("q"), array("q"), array("q")
        for row in rows:
            if row.level not in steps:
                raise ValueError(
                    f"{row.rater} gave {_place(row.unit, row.dimension)} the level "
                    f"{row.level:g}, which is not on the scale {_listed(tuple(steps))}."
                )
            columns[0].append(raters.setdefault(row.rater, len(raters)))
            columns[1].append(units.setdefault((row.unit, row.dimension), len(units)))
            columns[2].append(steps[row.level])
        rater, unit, level = (np.array(column, dtype=np.int64) for column in columns)
        table = cls(tuple(steps), list(raters), list(units), rater, unit, level)
        table._refuse_a_rater_twice()
        return table

    @property
    def dimensions(self) -> list[str]:
        """The dimension of each unit."""
        return [dimension for _, dimension in self.units]

    def of_dimension(self, name: str) -> NDArray[np.bool_]:
        """Which ratings are of the dimension; shape (ratings,)."""
        units = np.array([dimension == name for dimension in self.dimensions], dtype=bool)
        return units[self.unit]

    def _refuse_a_rater_twice(self) -> None:
        pairs, times = np.unique(self.unit * len(self.raters) + self.rater, return_counts=True)
        if (times > 1).any():
            unit, rater = divmod(int(pairs[times > 1][0]), len(self.raters))
            raise ValueError(
                f"{self.raters[rater]} rated {_place(*self.units[unit])} more than once. "
                f"Keep one rating for each rater and unit."
            )


def _agreement(table: _Table, chosen: NDArray[np.bool_], seed: str, replicates: int) -> Agreement:
    units, numbered = np.unique(table.unit[chosen], return_inverse=True)
    patterns = tally_rows(numbered, table.level[chosen], table.scale)
    n_pairable = patterns.pairable.n_units
    figure = partial(_figure, patterns, seed=seed, replicates=replicates)
    return Agreement(
        n_ratings=len(numbered),
        n_units=len(units),
        n_pairable_units=n_pairable,
        n_raters=len(np.unique(table.rater[chosen])),
        percent_exact=figure(exact_share),
        percent_within_one=figure(within_one_share),
        alpha_ordinal=figure(alpha_for_ordinal),
        coverage=(
            Figure(n_pairable / len(units))
            if len(units)
            else Figure(None, reason="There are no ratings.")
        ),
        level_counts=tuple(zip(table.scale, patterns.level_counts.tolist(), strict=True)),
    )


def _figure(patterns: Patterns, coefficient: Coefficient, *, seed: str, replicates: int) -> Figure:
    try:
        found = value(coefficient, patterns)
    except Undefined as why:
        return Figure(None, reason=str(why))
    try:
        span = interval(coefficient, patterns, seed=seed, replicates=replicates)
    except Undefined as why:
        return Figure(found, reason=str(why))
    return Figure(found, span.low, span.high)


def _agreement_as_json(agreement: Agreement) -> dict[str, Any]:
    return {
        "n_ratings": figure_as_json(Figure(agreement.n_ratings)),
        "n_units": figure_as_json(Figure(agreement.n_units)),
        "n_pairable_units": figure_as_json(Figure(agreement.n_pairable_units)),
        "n_raters": figure_as_json(Figure(agreement.n_raters)),
        "percent_exact": figure_as_json(agreement.percent_exact),
        "percent_within_one": figure_as_json(agreement.percent_within_one),
        "alpha_ordinal": figure_as_json(agreement.alpha_ordinal),
        "coverage": figure_as_json(agreement.coverage),
        "sufficient": agreement.sufficient,
        "unused_levels": list(agreement.unused_levels),
        "level_counts": [
            {"level": level, "ratings": count} for level, count in agreement.level_counts
        ],
    }


def figure_as_json(figure: Figure) -> dict[str, float | str | None]:
    return {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "reason": figure.reason,
    }


def _number(value: float) -> str:
    """Two decimals, but never "1.00" for less than full agreement."""
    shown = f"{value:.2f}"
    if shown == "1.00" and value < 1 - 1e-9:
        return "over 0.99"
    return "0.00" if shown == "-0.00" else shown


def _percent(value: float) -> str:
    """Whole percent, but never "100%" for less than all or "0%" for more than none."""
    shown = f"{value:.0%}"
    if shown == "100%" and value < 1 - 1e-9:
        return "over 99%"
    return "under 1%" if shown == "0%" and value > 1e-9 else shown


def _listed(levels: Sequence[float]) -> str:
    """Levels in words, such as "1, 2 and 3"."""
    *most, last = [f"{level:g}" for level in levels] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _place(unit: str, dimension: str) -> str:
    return f"unit {unit} in dimension {dimension}" if dimension else f"unit {unit}"
