"""What an agreement report says: each number with its counts, or the reason for none."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rating.coefficients import Ratings
from rating.figure import Figure as Figure
from rating.figure import figure_as_json as figure_as_json
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
from rating.stats.chance import estimate, gwet_chance
from rating.stats.weights import ordinal
from rating.wide import WideAgreement, methods_as_json, wide_agreement, wide_as_json

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
    """The level one rater gave one unit. ``dimension`` and ``item`` are "" where there is none."""

    rater: str
    unit: str
    dimension: str
    level: float
    item: str = ""


@dataclass(frozen=True)
class Agreement:
    """How far the raters of some units agree. ``n_units`` have a rating, pairable ones two.

    ``words`` are the names of the levels where these are words. ``wide`` holds the coefficients
    that were asked for besides.
    """

    n_ratings: int
    n_units: int
    n_pairable_units: int
    n_raters: int
    percent_exact: Figure
    percent_within_one: Figure
    alpha_ordinal: Figure
    ac2_ordinal: Figure
    coverage: Figure
    level_counts: tuple[tuple[float, int], ...]
    words: tuple[str, ...] = ()
    wide: WideAgreement | None = None

    @property
    def unused_levels(self) -> tuple[float, ...]:
        return tuple(level for level, count in self.level_counts if count == 0)

    @property
    def unused(self) -> str:
        """The unused levels in words, such as "4 and 5"; "none" where all were used."""
        return self.in_words(self.unused_levels)

    def in_words(self, levels: Sequence[float]) -> str:
        """Some of the levels in words, such as "4 and 5"; "none" where there are none."""
        return _in_words([self.name_of(level) for level in levels]) or "none"

    def name_of(self, level: float) -> float | str:
        """The level as it is written: a number, or its word."""
        if not self.words:
            return level
        return self.words[[step for step, _ in self.level_counts].index(level)]

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
    words: tuple[str, ...] = ()
    coefficients: tuple[str, ...] = ()

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
        return _in_words(self.words or self.scale)

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
    words: Sequence[str] = (),
    coefficients: Collection[str] = (),
) -> AgreementReport:
    """Return the agreement of all rows and of each dimension.

    A unit is a unit in a dimension. ``dimensions`` names them in the instrument's order, also
    those without a rating; left out, those of the rows stand from A to Z. ``words`` are the names
    of the levels where these are words. ``coefficients`` are those wanted besides, by their names
    in ``rating.coefficients.KINDS``: nothing is computed that is not asked for.

    Raises
    ------
    ValueError
        If a rater rated a unit twice, a level is not on the scale, a dimension is not among
        ``dimensions``, only some rows have a dimension, or a unit is of two items.
    """
    table = _Table.of(rows, scale, tuple(words))
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
    agreement = partial(_agreement, table, coefficients=coefficients, replicates=replicates)
    return AgreementReport(
        overall=agreement(everything, seed=f"{seed}|overall"),
        dimensions={
            name: agreement(table.of_dimension(name), seed=f"{seed}|in|{name}") for name in names
        },
        scale=table.scale,
        seed=seed,
        replicates=replicates,
        words=table.words,
        coefficients=tuple(coefficients),
    )


def as_json(report: AgreementReport) -> dict[str, Any]:
    """Return the report as plain JSON values, in which nothing is NaN or infinite."""
    methods = {"methods": methods_as_json(report.coefficients)} if report.coefficients else {}
    return {
        "overall": _agreement_as_json(report.overall),
        "dimensions": {
            name: _agreement_as_json(agreement) for name, agreement in report.dimensions.items()
        },
        "scale": list(report.words or report.scale),
        "seed": report.seed,
        "replicates": report.replicates,
        "interval": "95% percentile bootstrap over units: these raters, other responses",
        "about": f"{report.alpha_meaning} {report.meaning}",
        **methods,
    }


@dataclass(frozen=True)
class _Table:
    """Rows as columns of numbers, so that millions fit in memory."""

    scale: tuple[float, ...]
    words: tuple[str, ...]
    raters: list[str]
    units: list[tuple[str, str]]
    items: list[str]
    rater: NDArray[np.int64]
    unit: NDArray[np.int64]
    level: NDArray[np.int64]

    @classmethod
    def of(
        cls, rows: Iterable[RatingRow], scale: Sequence[float], words: tuple[str, ...]
    ) -> "_Table":
        steps = {float(step): place for place, step in enumerate(scale)}
        raters: dict[str, int] = {}
        units: dict[tuple[str, str], int] = {}
        items: list[str] = []
        columns = array("q"), array("q"), array("q")
        for row in rows:
            if row.level not in steps:
                raise ValueError(
                    f"{row.rater} gave {_place(row.unit, row.dimension)} the level "
                    f"{row.level:g}, which is not on the scale {_in_words(tuple(steps))}."
                )
            unit = units.setdefault((row.unit, row.dimension), len(units))
            if unit == len(items):
                items.append(row.item)
            elif items[unit] != row.item:
                raise ValueError(
                    f"There are two items for {_place(row.unit, row.dimension)}: "
                    f"{items[unit]!r} and {row.item!r}. Give it one."
                )
            columns[0].append(raters.setdefault(row.rater, len(raters)))
            columns[1].append(unit)
            columns[2].append(steps[row.level])
        rater, unit_of, level = (np.array(column, dtype=np.int64) for column in columns)
        table = cls(tuple(steps), words, list(raters), list(units), items, rater, unit_of, level)
        table._refuse_a_rater_twice()
        return table

    @cached_property
    def by_name(self) -> Ratings:
        """All ratings with raters, units and items numbered by name, so that their order in the
        rows changes nothing.

        Units hang together by item; where no item is named, those of one name in all dimensions
        do. Levels could have gone to another unit of the item in the dimension, or where no item
        is named, of the dimension.
        """
        rater, unit = _ranks(self.raters)[self.rater], _ranks(self.units)[self.unit]
        dimensions = _ranks(self.dimensions)
        item = _ranks(self.items) if any(self.items) else _ranks([name for name, _ in self.units])
        within = item if any(self.items) else np.zeros_like(item)
        block = within * (dimensions.max(initial=0) + 1) + dimensions
        return Ratings(
            self.scale,
            rater,
            unit,
            self.level,
            item[self.unit],
            block[self.unit],
            bool(self.words),
        )

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


def _ranks(names: Sequence[Any]) -> NDArray[np.int64]:
    """The place of each name among the distinct ones in order, from 0."""
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    return np.array([places[name] for name in names], dtype=np.int64)


def _agreement(
    table: _Table,
    chosen: NDArray[np.bool_],
    *,
    seed: str,
    replicates: int,
    coefficients: Collection[str],
) -> Agreement:
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
        ac2_ordinal=ac2_of(patterns),
        coverage=(
            Figure(n_pairable / len(units))
            if len(units)
            else Figure(None, reason="There are no ratings.")
        ),
        level_counts=tuple(zip(table.scale, patterns.level_counts.tolist(), strict=True)),
        words=table.words,
        wide=_wide(table, chosen, coefficients, seed=seed, replicates=replicates)
        if coefficients
        else None,
    )


def _wide(
    table: _Table,
    chosen: NDArray[np.bool_],
    coefficients: Collection[str],
    *,
    seed: str,
    replicates: int,
) -> WideAgreement:
    return wide_agreement(
        table.by_name.at(np.flatnonzero(chosen)),
        coefficients,
        sorted(table.raters),
        seed=seed,
        replicates=replicates,
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


def ac2_of(patterns: Patterns) -> Figure:
    """Gwet's AC2 with ordinal weights, its interval by Student's t."""
    try:
        found = estimate(gwet_chance, patterns, ordinal(len(patterns.scale)))
    except Undefined as why:
        return Figure(None, reason=str(why))
    return Figure(found.value, found.low, found.high, found.reason)


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
        "unused_levels": [agreement.name_of(level) for level in agreement.unused_levels],
        "level_counts": [
            {"level": agreement.name_of(level), "ratings": count}
            for level, count in agreement.level_counts
        ],
        **(wide_as_json(agreement.wide, agreement.name_of) if agreement.wide else {}),
    }


def _in_words(levels: Sequence[float | str]) -> str:
    """Levels in words, such as "1, 2 and 3"."""
    named = [level if isinstance(level, str) else f"{level:g}" for level in levels]
    *most, last = named or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _place(unit: str, dimension: str) -> str:
    return f"unit {unit} in dimension {dimension}" if dimension else f"unit {unit}"
