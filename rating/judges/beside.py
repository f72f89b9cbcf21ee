"""What the page of judges beside people shows, kept until a rating or a judgement changes.

Pooled over subjects. While a wave is blinded, whatever would be a figure of one subject is left
out with the reason: also the line of a judge that judged one subject alone. Who judges a response
tells of whose family it is not, so single responses stand here without the judges' names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.utils import timezone

from rating.breakdown import Chosen, Columns
from rating.counted import KEPT, columns_of
from rating.figure import Figure
from rating.guessing import is_unblinded
from rating.item_figures import ONE_SUBJECT
from rating.judges.tables import Configuration, Judgement, Judging, PanelJudge
from rating.publishing.gather import words_in_replies
from rating.report import OVERALL
from rating.stats.agreement import Estimate, Floats, Undefined, Whole
from rating.stats.judges import (
    Beside,
    Both,
    ItemApart,
    apart_by_item,
    beside_people,
    between_judges,
    by_level,
    length_preference,
    leniency,
    stretch,
)
from rating.stats.length import DOUBLING, Slope
from runs.canonical import digest
from runs.models import Instrument, Response, Wave

MOST: Final = 10  # responses, and items, that are named
SELF: Final = (
    "In this round each model judged its own replies, so a line of a judge would be one of a "
    "subject. It can be given once the wave is unblinded."
)
ONE_JUDGED: Final = (
    "While the wave is blinded it would be a figure of one subject: that of all this judge judged, or "
    "of all it did not. It can be given once the wave is unblinded."
)
NOTHING: Final = "No response here has two ratings by people and a judgement that stands."
NO_PAIRS: Final = "No response with two ratings has two judgements that stand."


@dataclass(frozen=True)
class Measured:
    """A number, with the interval that other items give and that other responses give."""

    by_item: Figure
    by_response: Figure

    @classmethod
    def of(cls, both: Both) -> "Measured":
        if both.by_item is None or both.by_response is None:
            none = Figure(None, reason=both.reason)
            return cls(none, none)
        return cls(figure_of(both.by_item), figure_of(both.by_response))

    @classmethod
    def none(cls, reason: str) -> "Measured":
        return cls(*[Figure(None, reason=reason)] * 2)


@dataclass(frozen=True)
class Row:
    """One coefficient of a line: a judge and a person, two people, and how much the first is less."""

    name: str
    percent: bool
    judge: Measured
    people: Measured
    difference: Measured


@dataclass(frozen=True)
class BesideLine:
    """How far judges agree with people, on what a line puts together."""

    name: str
    n: int
    n_items: int
    sufficient: bool
    rows: tuple[Row, ...]
    leniency: Figure
    reason: str = ""

    @property
    def alpha(self) -> Row:
        return self.rows[2]

    @property
    def within_one(self) -> Row:
        return self.rows[1]


@dataclass(frozen=True)
class LevelLine:
    """Where one rater gave ``level``: how far judges part from the other rater."""

    level: float
    n: int
    apart: Figure


@dataclass(frozen=True)
class ItemLine:
    """An item on which judges part from people beyond how they do elsewhere."""

    code: str
    dimension: str
    n: int
    apart: Figure
    p: float


@dataclass(frozen=True)
class ResponseLine:
    """One response, by its random code: what people gave, and the mean of its judges."""

    code: str
    item: str
    low: float
    high: float
    judges: float


@dataclass(frozen=True)
class BesidePage:
    """Judges of one round beside people."""

    judging: Judging
    what: str
    judged: int
    judged_and_rated: int
    people: int
    overall: BesideLine
    lines: tuple[BesideLine, ...]
    by_judge: tuple[BesideLine, ...]
    no_judges: str
    between: BesideLine
    levels: tuple[LevelLine, ...]
    no_levels: str
    stretch: Figure
    length_same_item: Figure
    length_any_item: Figure
    items: tuple[ItemLine, ...]
    items_tested: int
    items_not_tested: int
    responses: tuple[ResponseLine, ...]

    @property
    def is_self(self) -> bool:
        return self.judging.configuration == Configuration.SELF

    @property
    def sentence(self) -> str:
        """What is seen and how sure."""
        less = [
            line
            for line in self.lines
            if (high := line.alpha.difference.by_item.high) is not None and high < 0
        ]
        unknown = [
            line
            for line in self.lines
            if line.alpha.difference.by_item.high is None or not line.sufficient
        ]
        said = (
            f"Judges agree with people less than people do with each other in {len(less)} of "
            f"{len(self.lines)} {self.what}"
        )
        return f"{said}; it cannot be told in {len(unknown)}." if unknown else f"{said}."


@dataclass(frozen=True)
class _Table:
    """A row for each judgement that stands of a response rated twice."""

    columns: Columns  # of the responses rated twice
    panel: Whole
    row: Whole  # the place of its response in columns
    place: Whole

    def at(self, chosen: Chosen) -> "_Table":
        return _Table(self.columns, self.panel[chosen], self.row[chosen], self.place[chosen])

    @property
    def steps(self) -> Floats:
        return np.asarray(self.columns.scale, dtype=np.float64)

    @property
    def judge(self) -> Floats:
        return np.asarray(self.steps[self.place])

    @property
    def both(self) -> Floats:
        """What the two raters gave, shape (2, judgements)."""
        return np.asarray(self.steps[self.columns.place[self.row]].reshape(-1, 2).T)

    @property
    def item(self) -> Whole:
        return np.asarray(self.columns.item[self.row])

    @property
    def subject(self) -> Whole:
        return np.asarray(self.columns.subject[self.row])

    @property
    def one_subject(self) -> bool:
        return len(np.unique(self.subject)) == 1


def rounds_of(wave: Wave) -> list[Judging]:
    """The rounds of a wave that have begun, the newest first; bridges are not among them."""
    begun = Judging.objects.filter(wave=wave, purpose="judging", started_at__isnull=False)
    return list(begun.order_by("-planned_at", "-pk"))


def beside_page(wave: Wave, judging: Judging, state: str) -> BesidePage:
    """The page as things stand. ``state`` is that of ``rating.counted.state_of``."""
    around = [state, judging.code, _state(judging), is_unblinded(wave)]
    key = "judges:" + digest([*around, str(timezone.get_current_timezone())])
    kept: BesidePage | None = cache.get(key)
    if kept is None:
        kept = _make(wave, judging, columns_of(wave, state))
        cache.set(key, kept, KEPT)
    return kept


def _state(judging: Judging) -> str:
    """A word that changes whenever a judgement of the round is answered, or a judge left out."""
    rows = Judgement.objects.of(judging)
    answered = rows.aggregate(
        n=Count("pk"), replaced=Count("pk", filter=~Q(superseded_by=None)), at=Max("answered_at")
    )
    left_out = PanelJudge.objects.filter(judging=judging, excluded_at__isnull=False).count()
    return digest([judging.rule_hash, *map(str, answered.values()), left_out])


def _make(wave: Wave, judging: Judging, columns: Columns) -> BesidePage:
    blinded = not is_unblinded(wave)
    table, judged = _table(judging, columns.at(columns.twice))
    withheld = ONE_SUBJECT if blinded and len(table.row) and table.one_subject else ""
    lines = [
        _line(name, table.at(table.columns.dimension_of[table.item] == place))
        for place, name in enumerate(columns.dimensions)
    ]
    by_judge, no_judges = _by_judge(judging, table, blinded=blinded)
    items, tested, left = _items(table)
    first, second = table.both
    people = (first + second) / 2
    return BesidePage(
        judging=judging,
        what="chambers" if wave.bank.instrument == Instrument.UNCONDITIONALITY else "dimensions",
        judged=judged,
        judged_and_rated=len(np.unique(table.row)),
        people=len(np.unique(table.columns.rater[table.row])),
        overall=_line(OVERALL, table),
        lines=tuple(lines),
        by_judge=tuple(by_judge),
        no_judges=no_judges,
        between=_between(table),
        levels=() if withheld else _levels(table),
        no_levels=withheld,
        stretch=_figure(lambda: stretch(table.judge, first, second, table.row, table.item)),
        length_same_item=_slope(wave, table, people, same_item=True),
        length_any_item=_slope(wave, table, people, same_item=False),
        items=items,
        items_tested=tested,
        items_not_tested=left,
        responses=_furthest(table, people),
    )


def _table(judging: Judging, columns: Columns) -> tuple[_Table, int]:
    """The judgements that stand of responses rated twice, and how many responses are judged."""
    rows = Judgement.objects.of(judging).standing().rows()
    step = {level: place for place, level in enumerate(columns.scale)}
    panel, response, level = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    at = np.searchsorted(columns.unit, response)
    rated = np.append(columns.unit, -1)[at] == response
    place = np.array([step[one] for one in level.tolist()], dtype=np.int64)
    return (
        _Table(columns, panel[rated], at[rated], place[rated]),
        len(np.unique(response)),
    )


def _line(name: str, table: _Table, reason: str = "") -> BesideLine:
    first, second = table.columns.place[table.row].reshape(-1, 2).T
    return _made(
        name,
        lambda: beside_people(
            table.place,
            first,
            second,
            table.row,
            table.item,
            table.columns.scale,
        ),
        lambda: leniency(table.judge, table.both.mean(axis=0), table.row, table.item),
        reason or ("" if len(table.row) else NOTHING),
    )


def _between(table: _Table) -> BesideLine:
    """Two judges of a response beside its two raters."""
    order = np.lexsort((table.panel, table.row))
    row, place = table.row[order], table.place[order]
    first = np.flatnonzero(row[:-1] == row[1:])
    responses = row[first]
    one, other = table.columns.place[responses].reshape(-1, 2).T
    return _made(
        "Two judges",
        lambda: between_judges(
            place[first],
            place[first + 1],
            one,
            other,
            table.columns.item[responses],
            table.columns.scale,
        ),
        None,
        "" if len(first) else NO_PAIRS,
    )


def _made(
    name: str,
    ask: Callable[[], Beside],
    ask_leniency: Callable[[], Estimate] | None,
    reason: str,
) -> BesideLine:
    found = None if reason else ask()
    if found is None:
        none = Measured.none(reason)
        rows = tuple(Row(own, percent, none, none, none) for own, percent, _ in MEASURES)
        return BesideLine(name, 0, 0, False, rows, Figure(None, reason=reason), reason)
    rows = tuple(
        Row(
            own,
            percent,
            *(
                Measured.of(getattr(getattr(found, field), side))
                for side in ("judge", "people", "difference")
            ),
        )
        for own, percent, field in MEASURES
    )
    mild = _figure(ask_leniency) if ask_leniency else Figure(None)
    return BesideLine(name, found.n, found.n_items, found.sufficient, rows, mild)


MEASURES: Final = (
    ("The same level", True, "exact"),
    ("Within one level", True, "within_one"),
    ("Ordinal alpha", False, "alpha"),
    ("AC2", False, "ac2"),
)


def _by_judge(judging: Judging, table: _Table, *, blinded: bool) -> tuple[list[BesideLine], str]:
    """A line for each judge whose judgements stand, in the order of the panel."""
    if blinded and judging.configuration == Configuration.SELF:
        return [], SELF
    panel = judging.panel.filter(excluded_at=None).select_related("judge").order_by("number")
    lines = []
    for one in panel:
        own = table.at(table.panel == one.pk)
        rest = table.at(~np.isin(table.row, own.row))  # all together less the line gives these
        alone = blinded and len(own.row) > 0 and (own.one_subject or rest.one_subject)
        lines.append(_line(one.judge.name, own, ONE_JUDGED if alone else ""))
    return lines, ""


def _levels(table: _Table) -> tuple[LevelLine, ...]:
    first, second = table.both
    found = by_level(table.judge, first, second, table.row, table.item, table.columns.scale)
    return tuple(
        LevelLine(
            row.level,
            row.n,
            figure_of(row.apart) if row.apart else Figure(None, reason=row.reason),
        )
        for row in found
    )


def _slope(wave: Wave, table: _Table, people: Floats, *, same_item: bool) -> Figure:
    """Levels for a reply twice as long: judges less people. Replies of no word are left out."""
    lengths = words_in_replies(wave)
    codes = dict(
        Response.objects.of_wave(wave)
        .filter(pk__in=table.columns.unit[np.unique(table.row)].tolist())
        .values_list("pk", "code")
        if len(table.row)
        else ()
    )
    units = table.columns.unit[table.row].tolist()
    words = np.array([lengths.get(str(codes[unit]), 0) for unit in units], dtype=np.float64)
    some = words >= 1
    try:
        found = length_preference(
            table.judge[some],
            people[some],
            words[some],
            table.item[some],
            table.subject[some],
            same_item=same_item,
        )
    except Undefined as why:
        return Figure(None, reason=str(why))
    return _per_doubling(found)


def _per_doubling(found: Slope) -> Figure:
    return Figure(found.per_doubling, found.low / DOUBLING, found.high / DOUBLING)


def _apart(table: _Table, people: Floats) -> tuple[Whole, Floats, Floats]:
    """Of each judged response its place, the mean of its judges and that of its raters."""
    rows, at, times = np.unique(table.row, return_inverse=True, return_counts=True)
    judges = np.bincount(at, weights=table.judge) / times
    return rows, judges, np.bincount(at, weights=people) / times


def _items(table: _Table) -> tuple[tuple[ItemLine, ...], int, int]:
    """The items on which judges part, those furthest first; how many were held so, how many not."""
    rows, judges, people = _apart(table, table.both.mean(axis=0))
    columns = table.columns
    found = apart_by_item(judges - people, columns.item[rows])
    named = sorted(
        (one for one in found if one.systematic),
        key=lambda one: (-abs(one.value or 0.0), one.item),
    )
    lines = tuple(_item(columns, one) for one in named[:MOST])
    tested = sum(one.p is not None for one in found)
    return lines, tested, len(found) - tested


def _item(columns: Columns, one: ItemApart) -> ItemLine:
    return ItemLine(
        columns.items[one.item],
        columns.dimensions[columns.dimension_of[one.item]],
        one.n,
        Figure(one.value, one.low, one.high),
        one.p or 0.0,
    )


def _furthest(table: _Table, people: Floats) -> tuple[ResponseLine, ...]:
    """The responses on which judges and people lie a level or more apart, those furthest first."""
    rows, judges, means = _apart(table, people)
    gap = np.abs(judges - means)
    order = [row for row in np.argsort(-gap, kind="stable")[:MOST].tolist() if gap[row] >= 1]
    columns = table.columns
    units = columns.unit[rows[order]].tolist() if order else []
    codes = dict(Response.objects.filter(pk__in=units).values_list("pk", "code"))
    levels = table.steps[columns.place[rows]] if len(rows) else np.empty((0, 2))
    return tuple(
        ResponseLine(
            str(codes[unit]),
            columns.items[columns.item[rows[row]]],
            float(levels[row].min()),
            float(levels[row].max()),
            float(judges[row]),
        )
        for unit, row in zip(units, order, strict=True)
    )


def _figure(ask: Callable[[], Estimate]) -> Figure:
    try:
        return figure_of(ask())
    except Undefined as why:
        return Figure(None, reason=str(why))


def figure_of(found: Estimate) -> Figure:
    return Figure(found.value, found.low, found.high, found.reason)
