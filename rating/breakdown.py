"""Agreement of counted ratings, broken down by what they have in common.

At most two people rate a response, so all that is read here is a table with a row for each
response. A response is of the day on which its later rating was given.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rating.figure import Figure
from rating.report import Agreement, ac2_of
from rating.stats.agreement import (
    REPLICATES,
    Coefficient,
    Floats,
    Patterns,
    Undefined,
    Whole,
    alpha_for_ordinal,
    exact_share,
    generator,
    multinomial,
    near,
    pairable_of,
    percentiles,
    tally_rows,
    value,
    within_one_share,
)

NONE: Final = -1  # no second rating yet
NO_JUDGE: Final = "No judge has rated here."

Chosen = NDArray[np.bool_]


class By(StrEnum):
    """What ratings are put together by, in the words of an address."""

    DIMENSION = "dimension"
    ITEM = "item"
    PAIR = "pair"
    RATER = "rater"
    DAY = "day"
    WAVE = "wave"
    KIND = "kind"
    WORK = "work"


@dataclass(frozen=True)
class Columns:
    """Counted ratings as columns of numbers, a row for each response, in the order of responses.

    ``unit``, ``item`` and ``subject`` have shape (responses,); ``rater``, ``place`` and ``day``
    have shape (responses, 2), the first rating first and -1 for the second where there is none.
    ``unit`` is the number of the response, ``subject`` that of who replied; ``item`` and ``rater``
    are places in ``items`` and ``raters``; ``place`` is that of the level on the scale, from 0;
    ``day`` is the day's ordinal. ``judges`` holds the places of those raters who are models.
    """

    scale: tuple[float, ...]
    items: tuple[str, ...]
    dimensions: tuple[str, ...]
    dimension_of: Whole
    raters: tuple[str, ...]
    unit: Whole
    item: Whole
    subject: Whole
    rater: Whole
    place: Whole
    day: Whole
    judges: frozenset[int] = frozenset()

    @property
    def twice(self) -> Chosen:
        """Which responses have two ratings."""
        return np.asarray(self.rater[:, 1] != NONE)

    @property
    def of_day(self) -> Whole:
        """The day of each response: that of its later rating."""
        return np.asarray(self.day.max(axis=1, initial=NONE))

    @property
    def ratings(self) -> int:
        return int((self.rater != NONE).sum())

    def at(self, chosen: Chosen) -> "Columns":
        """Only these responses."""
        return replace(
            self,
            unit=self.unit[chosen],
            item=self.item[chosen],
            subject=self.subject[chosen],
            rater=self.rater[chosen],
            place=self.place[chosen],
            day=self.day[chosen],
        )


@dataclass(frozen=True)
class Only:
    """Which responses are looked at. What is left open restricts nothing."""

    dimension: str = ""
    item: str = ""
    rater: str = ""
    other: str = ""
    first: date | None = None
    last: date | None = None

    @property
    def everything(self) -> bool:
        return self == EVERYTHING

    def of(self, columns: Columns) -> Columns:
        """The responses that are looked at. A name that is not there leaves none."""
        chosen = np.ones(len(columns.unit), dtype=bool)
        if self.dimension:
            names = np.array([name == self.dimension for name in columns.dimensions], dtype=bool)
            chosen &= names[columns.dimension_of[columns.item]]
        if self.item:
            chosen &= np.array([code == self.item for code in columns.items], bool)[columns.item]
        for name in filter(None, (self.rater, self.other)):
            chosen &= (columns.rater == _place(columns.raters, name)).any(axis=1)
        if self.first:
            chosen &= columns.of_day >= self.first.toordinal()
        if self.last:
            chosen &= columns.of_day <= self.last.toordinal()
        return columns.at(chosen)

    def in_words(self) -> str:
        """Such as "Empathy, by r-1, from 3 October 2026"; empty where nothing is restricted."""
        raters = " and ".join(filter(None, (self.rater, self.other)))
        parts = (
            self.dimension,
            self.item and f"item {self.item}",
            raters and f"by {raters}",
            self.first and f"from {_day(self.first)}",
            self.last and f"to {_day(self.last)}",
        )
        return ", ".join(part for part in parts if part)


EVERYTHING: Final = Only()


@dataclass(frozen=True)
class Line:
    """How far raters agree on what a line puts together: three measures that may well differ."""

    name: str
    agreement: Agreement
    one_subject: bool = False

    @property
    def ac2(self) -> Figure:
        return self.agreement.ac2_ordinal

    @property
    def half_rated(self) -> int:
        """Responses with one rating so far: in no pair, and counted."""
        return self.agreement.n_units - self.agreement.n_pairable_units


@dataclass(frozen=True)
class Crossing:
    """Levels of one reader across those of the other: ``counts`` has shape (levels, levels).

    ``reason`` says why it is not shown; then all counts are 0.
    """

    scale: tuple[float, ...]
    counts: Whole
    rows: str
    columns: str
    reason: str = ""

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def same(self) -> int:
        return int(np.trace(self.counts))

    @property
    def far(self) -> int:
        """Responses whose two levels differ by more than one."""
        return self.n - int(self.counts[near(self.scale)].sum())


@dataclass(frozen=True)
class ItemLine:
    """An item as its two ratings see it. ``apart`` numbers its responses furthest apart first."""

    code: str
    dimension: str
    responses: int
    within_one: float
    same: float
    mean: float | None
    apart: tuple[tuple[int, float, float], ...]


def breakdown(
    columns: Columns, by: By, *, seed: str, start: int = 0, most: int | None = None
) -> tuple[list[Line], int]:
    """Return the lines from ``start`` on, ``most`` of them, and how many there are in all.

    Each begins from a seed of its own. Lines stand in the order of the bank, of days, or from A
    to Z, never by result.
    """
    groups = list(_groups(columns, by))
    end = None if most is None else start + most
    lines = [
        line_of(group.name, group.part(), seed=f"{seed}|{group.key}", reason=group.reason)
        for group in groups[start:end]
    ]
    return lines, len(groups)


def line_of(
    name: str, columns: Columns, *, seed: str, replicates: int = REPLICATES, reason: str = ""
) -> Line:
    """The figures of all these responses. ``reason`` says why there are none, where it is known.

    The numbers and intervals are those of ``rating.report`` from the same seed.
    """
    given = columns.rater != NONE
    units = np.repeat(np.arange(len(columns.unit)), given.sum(axis=1))
    patterns = tally_rows(units, columns.place[given], columns.scale)
    raters = len(np.unique(columns.rater[given]))
    line = line_of_patterns(name, patterns, raters, seed=seed, replicates=replicates, reason=reason)
    return replace(line, one_subject=one_subject(columns))


def line_of_patterns(
    name: str,
    patterns: Patterns,
    raters: int,
    *,
    seed: str,
    replicates: int = REPLICATES,
    reason: str = "",
    words: tuple[str, ...] = (),
) -> Line:
    """The figures of tallied ratings by so many raters; ``words`` name the levels, if they do."""
    found = _figures(patterns, seed, replicates, reason)
    n, pairable = patterns.n_units, patterns.pairable.n_units
    none = Figure(None, reason=reason or "There are no ratings.")
    counts = patterns.level_counts.tolist()
    return Line(
        name,
        Agreement(
            n_ratings=sum(counts),
            n_units=n,
            n_pairable_units=pairable,
            n_raters=raters,
            percent_exact=found["exact"],
            percent_within_one=found["within_one"],
            alpha_ordinal=found["alpha"],
            ac2_ordinal=found["ac2"],
            coverage=Figure(pairable / n) if n else none,
            level_counts=tuple(zip(patterns.scale, counts, strict=True)),
            words=words,
        ),
    )


def crossing(columns: Columns, only: Only, *, seed: str) -> Crossing:
    """Cross the two levels of each response with two ratings.

    Where one rater is looked at, theirs are the rows. Otherwise chance decides for each response
    which of its ratings is the row, so that neither side is anybody in particular.
    """
    both = columns.at(columns.twice)
    first, second = both.place[:, 0], both.place[:, 1]
    names = (only.rater or only.other, only.other if only.rater else "")
    if names[0]:
        turned = both.rater[:, 0] != _place(columns.raters, names[0])
    else:
        turned = generator(f"{seed}|sides").integers(2, size=len(first)) == 1
    rows, across = np.where(turned, second, first), np.where(turned, first, second)
    q = len(columns.scale)
    counts = np.bincount(rows * q + across, minlength=q * q).reshape(q, q)
    if not names[0]:
        return Crossing(columns.scale, counts, "one reader", "the other")
    return Crossing(columns.scale, counts, names[0], names[1] or "the other reader")


def item_lines(columns: Columns, *, most: int, blinded: bool) -> list[ItemLine]:
    """A line for each item with a response rated twice, in the order of the bank.

    ``most`` is how many of its responses are named, those furthest apart first; those that agree
    are never among them. While a wave is ``blinded``, the mean of an item that one subject alone
    was rated on is left out: it would be that subject's.
    """
    both = columns.at(columns.twice)
    steps = np.array(columns.scale)
    levels = steps[both.place] if len(both.unit) else np.empty((0, 2))
    order = np.argsort(both.item, kind="stable")
    starts = np.searchsorted(both.item[order], np.arange(len(columns.items) + 1))
    lines = []
    for place, code in enumerate(columns.items):
        rows = order[starts[place] : starts[place + 1]]
        if not len(rows):
            continue
        gap = np.abs(levels[rows, 0] - levels[rows, 1])
        one_subject = len(np.unique(both.subject[rows])) == 1
        lines.append(
            ItemLine(
                code,
                columns.dimensions[columns.dimension_of[place]],
                len(rows),
                within_one=float((gap <= 1 + 1e-9).mean()),
                same=float((gap == 0).mean()),
                mean=None if blinded and one_subject else float(levels[rows].mean()),
                apart=tuple(_furthest(both.unit[rows], levels[rows], gap, most)),
            )
        )
    return lines


def one_subject(columns: Columns) -> bool:
    """Whether all these responses are of one subject."""
    return len(np.unique(columns.subject)) == 1


def _furthest(
    unit: Whole, levels: Floats, gap: Floats, most: int
) -> Iterator[tuple[int, float, float]]:
    for row in np.argsort(-gap, kind="stable")[:most]:
        if gap[row]:
            yield int(unit[row]), float(levels[row].min()), float(levels[row].max())


class _Group(NamedTuple):
    """What a line puts together: ``part`` gives its responses once they are asked for."""

    name: str
    key: str  # what its seed ends in
    part: Callable[[], Columns]
    reason: str = ""


def _groups(columns: Columns, by: By) -> Iterator[_Group]:
    if by is By.DIMENSION:
        names, group = columns.dimensions, columns.dimension_of[columns.item]
        yield from _each(columns, names, group, "in|{}")
    elif by is By.ITEM:
        yield from _each(columns, columns.items, columns.item, "item|{}", empty=False)
    elif by is By.DAY:
        days, group = np.unique(columns.of_day, return_inverse=True)
        names = tuple(_day(date.fromordinal(int(day))) for day in days)
        yield from _each(columns, names, group, "day|{}")
    elif by is By.RATER:
        yield from _by_rater(columns)
    elif by is By.PAIR:
        yield from _by_pair(columns)
    elif by is By.KIND:
        yield from _by_kind(columns)
    else:
        raise ValueError(f"One wave alone cannot be broken down by {by}.")


def _each(
    columns: Columns, names: Sequence[str], group: Whole, key: str, *, empty: bool = True
) -> Iterator[_Group]:
    there = np.bincount(group, minlength=len(names)) > 0
    for place, name in enumerate(names):
        if empty or there[place]:
            yield _Group(name, key.format(name), partial(_where, columns, group, place))


def _where(columns: Columns, group: Whole, place: int) -> Columns:
    """The part of one group, found when it is asked for: among 500 raters are 100,000 pairs."""
    return columns.at(group == place)


def _by_rater(columns: Columns) -> Iterator[_Group]:
    """Each rater against the others: the responses they and another have rated."""
    both = columns.at(columns.twice)
    for place, name in _a_to_z(columns.raters):
        mine = (both.rater == place).any(axis=1)
        if mine.any() or (columns.rater == place).any():
            why = "" if mine.any() else "No response of theirs has two ratings yet."
            yield _Group(name, f"rater|{name}", partial(both.at, mine), why)


def _by_pair(columns: Columns) -> Iterator[_Group]:
    both = columns.at(columns.twice)
    rank = np.empty(len(columns.raters), dtype=np.int64)
    ordered = _a_to_z(columns.raters)
    rank[[place for place, _ in ordered]] = np.arange(len(ordered))
    low, high = np.sort(rank[both.rater], axis=1).T if len(both.unit) else (both.unit, both.unit)
    pairs, group = np.unique(low * len(ordered) + high, return_inverse=True)
    for place, pair in enumerate(pairs):
        one, other = (ordered[rank][1] for rank in divmod(int(pair), len(ordered)))
        part = partial(_where, both, group, place)
        yield _Group(f"{one} and {other}", f"pair|{one}|{other}", part)


def _by_kind(columns: Columns) -> Iterator[_Group]:
    """Two people, and a person and a judge: a response of either kind stands in one line."""
    judges = np.isin(columns.rater, list(columns.judges)).sum(axis=1)
    mixed = columns.twice & (judges == 1)
    yield _Group("Two people", "kind|human-human", partial(columns.at, judges == 0))
    yield _Group(
        "A person and a judge",
        "kind|human-judge",
        partial(columns.at, mixed),
        "" if columns.judges else NO_JUDGE,
    )


def _figures(patterns: Patterns, seed: str, replicates: int, reason: str) -> dict[str, Figure]:
    """Each number with its interval. All are drawn from the same resamples, drawn once."""
    resampled: dict[str, Coefficient] = {
        "exact": exact_share,
        "within_one": within_one_share,
        "alpha": alpha_for_ordinal,
    }
    try:
        if reason:
            raise Undefined(reason)
        pairable = pairable_of(patterns)
    except Undefined as why:
        return dict.fromkeys([*resampled, "ac2"], Figure(None, reason=str(why)))
    shares = pairable.times / pairable.n_units
    draws = list(multinomial(pairable.n_units, shares, seed=seed, replicates=replicates))
    found = {
        name: _resampled(coefficient, pairable, draws, replicates)
        for name, coefficient in resampled.items()
    }
    return found | {"ac2": ac2_of(patterns)}


def _resampled(
    coefficient: Coefficient, pairable: Patterns, draws: list[Floats], replicates: int
) -> Figure:
    try:
        number = value(coefficient, pairable)
    except Undefined as why:
        return Figure(None, reason=str(why))
    try:
        span = percentiles((coefficient(pairable, times) for times in draws), replicates)
    except Undefined as why:
        return Figure(number, reason=str(why))
    return Figure(number, span.low, span.high)


def _a_to_z(names: Sequence[str]) -> list[tuple[int, str]]:
    return sorted(enumerate(names), key=lambda one: one[1])


def _place(names: Sequence[str], name: str) -> int:
    """The place of a name; one that nobody has where it is not there."""
    return names.index(name) if name in names else NONE - 1


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
