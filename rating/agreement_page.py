"""What the page of a wave's agreement shows, kept until a rating of the wave changes.

Pooled over subjects alone. While a wave is blinded, whatever would be a figure of one subject is
left out with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

from rating.breakdown import (
    EVERYTHING,
    By,
    Columns,
    Crossing,
    ItemLine,
    Line,
    Only,
    breakdown,
    crossing,
    item_lines,
    line_of,
    line_of_patterns,
    one_subject,
)
from rating.breakdown_chart import Rows, breakdown_chart
from rating.charts import NARROW, WIDE
from rating.counted import KEPT, columns_of, state_of
from rating.crossing_chart import crossing_chart
from rating.dimensions import dimensions_of
from rating.figure import Figure
from rating.guessing import is_unblinded
from rating.item_figures import FEWEST_RESPONSES, ONE_SUBJECT
from rating.item_map import Dot, ItemMap, Limits, item_map
from rating.judges.beside import beside_page, rounds_of
from rating.models import Tally
from rating.report import OVERALL
from rating.review_agreement import answers
from runs.canonical import digest
from runs.models import Response, Wave

PAGE: Final = 25  # lines of a picture
MOST_ITEMS: Final = 10  # that raters cannot agree on
MOST_APART: Final = 3  # responses of one item
FAR: Final = 0.2  # between alpha and AC2
WHY_THEY_DIFFER: Final = (
    "Percent says how often two people chose alike. Alpha and AC2 take off what chance would give, "
    "and differ in what they take for chance. Alpha looks at the levels as they were chosen: where "
    "nearly all responses get one level, it falls, however often people agree. AC2 looks at the "
    "scale: there it stays high, though people may tell nothing apart. So no single one says that "
    "ratings are good. Read the three together, and which levels nobody used."
)
NO_FLOOR: Final = (
    "No floor is drawn: the plan of this wave declared none before it was locked. A floor chosen "
    "after a look would say nothing."
)
#: What these show does not hang on the ratings of the wave alone.
NOT_KEPT: Final = (By.WAVE, By.WORK, By.KIND)
TWO_ANSWERS: Final = "With two answers, any two are within one."
WORDS: Final = {
    By.DIMENSION: "dimensions",
    By.ITEM: "items",
    By.PAIR: "pairs of raters",
    By.RATER: "raters, each against the others,",
    By.DAY: "days",
    By.WAVE: "waves",
    By.KIND: "kinds of rater",
    By.WORK: "kinds of work",
}


@dataclass(frozen=True)
class Look:
    """What somebody asked to see: ratings put together ``by``, ``only`` these, from ``page`` 1."""

    by: By = By.DIMENSION
    only: Only = EVERYTHING
    page: int = 1


@dataclass(frozen=True)
class Disputed:
    """An item whose ratings lie apart, with the codes of the responses furthest apart."""

    line: ItemLine
    responses: tuple[tuple[str, float, float], ...]

    @property
    def within_one(self) -> str:
        return Figure(self.line.within_one).percent()

    @property
    def same(self) -> str:
        return Figure(self.line.same).percent()

    @property
    def sufficient(self) -> bool:
        return self.line.responses >= FEWEST_RESPONSES


@dataclass(frozen=True)
class AgreementPage:
    """The figures, pictures and lists of one look; ``lines`` are those of this page of ``count``."""

    rows: Rows
    overall: Line
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    count: int
    chart: str
    chart_narrow: str
    crossing: Crossing
    crossing_chart: str
    crossing_narrow: str
    disputed: tuple[Disputed, ...]
    disputed_count: int
    mapped: ItemMap | None
    map_chart: str
    map_narrow: str
    no_map: str
    item_lines: tuple[ItemLine, ...]
    seed: str

    @property
    def pages(self) -> int:
        return max(1, -(-self.count // PAGE))


@dataclass(frozen=True)
class Names:
    """What a look may be restricted to: the names there are."""

    dimensions: tuple[str, ...]
    items: tuple[str, ...]
    raters: tuple[str, ...]


def names_of(wave: Wave) -> Names:
    """The names of a wave, without a look at its ratings: its raters are those with tallies."""
    names, _ = dimensions_of(wave)
    raters = (
        Tally.objects.filter(wave=wave, of=Tally.Of.SUBJECT, count__gt=0)
        .order_by()
        .values_list("rater__pseudonym", flat=True)
        .distinct()
    )
    items = wave.bank.items.values_list("code", flat=True)
    return Names(tuple(names), tuple(items), tuple(sorted(raters)))


def agreement_page(wave: Wave, look: Look, state: str) -> AgreementPage:
    """The page as the ratings stand. ``state`` is that of ``rating.counted.state_of``."""
    floor = declared_floor(wave)
    around = [is_unblinded(wave), floor, str(timezone.get_current_timezone())]
    limits = [settings.ITEM_WITHIN_ONE_PERCENT, settings.ITEM_MEAN_MARGIN]
    key = "agreement:" + digest([state, repr(look), *around, *limits])
    kept: AgreementPage | None = None if look.by in NOT_KEPT else cache.get(key)
    if kept is None:
        kept = _make(wave, look, state, floor)
        cache.set(key, kept, KEPT)
    return kept


def declared_floor(wave: Wave) -> float | None:
    """The ordinal alpha that the plan of a locked wave declared as the least; None if it did not."""
    return wave.declared.agreement_floor if wave.locked_at else None


def waves_beside(wave: Wave) -> list[Wave]:
    """All waves of the same instrument, from A to Z: those that a look by wave shows."""
    same = Wave.objects.filter(bank__instrument=wave.bank.instrument)
    return list(same.select_related("bank").order_by("code"))


def _make(wave: Wave, look: Look, state: str, floor: float | None) -> AgreementPage:
    columns = look.only.of(columns_of(wave, state))
    seed = f"{wave.seed}|agreement"
    overall = line_of(OVERALL, columns, seed=f"{seed}|overall")
    lines, count = _lines(wave, columns, look, seed)
    rows = Rows((*lines, overall), WORDS[look.by], floor)
    # Both ratings of a response are crossed: those rated once by now say nothing of the others.
    told = is_unblinded(wave) or not one_subject(columns.at(columns.twice))
    crossed = crossing(columns, look.only, seed=seed)
    if not told:
        crossed = replace(crossed, counts=np.zeros_like(crossed.counts), reason=ONE_SUBJECT)
    items = item_lines(columns, most=MOST_APART, blinded=not is_unblinded(wave))
    apart = sorted(
        (line for line in items if line.apart and line.within_one < 1),
        key=lambda line: (line.within_one, line.same, line.code),
    )
    mapped = _mapped(items, columns)
    return AgreementPage(
        rows=rows,
        overall=overall,
        lines=tuple(lines),
        notes=tuple(
            filter(None, (note_of(line, told=may_tell(wave, line)) for line in rows.lines))
        ),
        count=count,
        chart=breakdown_chart(rows, width=WIDE),
        chart_narrow=breakdown_chart(rows, width=NARROW),
        crossing=crossed,
        crossing_chart=crossing_chart(crossed, width=WIDE) if crossed.n else "",
        crossing_narrow=crossing_chart(crossed, width=NARROW) if crossed.n else "",
        disputed=_disputed(apart[:MOST_ITEMS]),
        disputed_count=len(apart),
        mapped=mapped,
        map_chart=item_map(mapped, width=WIDE) if mapped else "",
        map_narrow=item_map(mapped, width=NARROW) if mapped else "",
        no_map=ONE_SUBJECT if items else "No response here has two ratings yet.",
        item_lines=tuple(items),
        seed=seed,
    )


def may_tell(wave: Wave, line: Line) -> bool:
    """Whether it may be said which levels were chosen: not those of one subject, while blinded."""
    return is_unblinded(wave) or not line.one_subject


def note_of(line: Line, *, told: bool) -> str:
    """Where alpha and AC2 lie far apart: how far, and what in these ratings makes them differ.

    What was chosen is said only where it may be ``told``.
    """
    alpha, ac2 = line.agreement.alpha_ordinal.value, line.ac2.value
    if alpha is None or ac2 is None or abs(ac2 - alpha) < FAR:
        return ""
    said = f"{line.name}: AC2 is {ac2:.2f} and ordinal alpha {alpha:.2f}."
    level, most = max(line.agreement.level_counts, key=lambda one: one[1])
    share = most / line.agreement.n_ratings
    if not told or share < 0.5:
        return f"{said} They take different things for chance."
    name = line.agreement.name_of(level)
    named = name if isinstance(name, str) else f"level {name:g}"
    return (
        f"{said} {share:.0%} of these ratings are {named}. Alpha takes much of that for chance, "
        f"AC2 little."
    )


def is_outside(line: ItemLine, scale: Sequence[int]) -> bool:
    """Whether an item lies outside the limits declared beforehand, as far as it is known."""
    if 100 * line.within_one < settings.ITEM_WITHIN_ONE_PERCENT:
        return True
    margin = settings.ITEM_MEAN_MARGIN
    return line.mean is not None and not scale[0] + margin <= line.mean <= scale[-1] - margin


def _lines(wave: Wave, columns: Columns, look: Look, seed: str) -> tuple[list[Line], int]:
    if look.by is By.WAVE:
        return _by_wave(wave, look)
    if look.by is By.WORK:
        return _by_work(wave, columns, seed)
    if look.by is By.KIND and look.only.everything:
        return _by_kind(wave, columns, seed)
    start = PAGE * (look.page - 1)
    return breakdown(columns, look.by, seed=seed, start=start, most=PAGE)


def _by_wave(wave: Wave, look: Look) -> tuple[list[Line], int]:
    waves = waves_beside(wave)
    start = PAGE * (look.page - 1)
    return [
        line_of(
            one.title,
            look.only.of(columns_of(one, state_of(one))),
            seed=f"{one.seed}|agreement|overall",
        )
        for one in waves[start : start + PAGE]
    ], len(waves)


def _by_kind(wave: Wave, columns: Columns, seed: str) -> tuple[list[Line], int]:
    """Two people, then a person and a judge of the newest round, by the pairs of each response."""
    lines, count = breakdown(columns, By.KIND, seed=seed)
    for judging in rounds_of(wave)[:1]:
        found = beside_page(wave, judging, state_of(wave))
        overall, given = found.overall, found.overall.n
        exact, within, alpha, ac2 = (row.judge.by_response for row in overall.rows)
        agreement = replace(
            lines[1].agreement,
            n_ratings=3 * given,
            n_units=given,
            n_pairable_units=given,
            n_raters=found.people,
            percent_exact=exact,
            percent_within_one=within,
            alpha_ordinal=alpha,
            ac2_ordinal=ac2,
        )
        lines[1] = replace(lines[1], agreement=agreement)
    return lines, count


def _by_work(wave: Wave, columns: Columns, seed: str) -> tuple[list[Line], int]:
    """Ratings of responses, then each question that two reviewers of an item of the bank answer."""
    lines = [line_of("Ratings of responses", columns, seed=f"{seed}|overall")]
    said = answers(set(wave.bank.items.values_list("content_hash", flat=True)))
    for title, patterns in said.patterns():
        line = line_of_patterns(
            f"Item reviews: {title}",
            patterns,
            said.reviewers,
            seed=f"{seed}|reviews|{title}",
            words=("no", "yes"),
        )
        if line.agreement.percent_within_one.value is not None:
            within = Figure(None, reason=TWO_ANSWERS)
            line = replace(line, agreement=replace(line.agreement, percent_within_one=within))
        lines.append(line)
    return lines, len(lines)


def _disputed(lines: Sequence[ItemLine]) -> tuple[Disputed, ...]:
    numbers = [number for line in lines for number, _, _ in line.apart]
    codes = dict(Response.objects.filter(pk__in=numbers).values_list("pk", "code"))
    return tuple(
        Disputed(line, tuple((str(codes[pk]), low, high) for pk, low, high in line.apart))
        for line in lines
    )


def _mapped(items: Sequence[ItemLine], columns: Columns) -> ItemMap | None:
    """The items whose mean may be shown; none where there is no such item."""
    scale = [int(level) for level in columns.scale]
    dots = tuple(
        Dot(line.code, line.dimension, line.mean, line.within_one, is_outside(line, scale))
        for line in items
        if line.mean is not None
    )
    if not dots:
        return None
    return ItemMap(
        dots,
        tuple(dict.fromkeys(dot.panel for dot in dots)),
        Limits(
            scale[0], scale[-1], settings.ITEM_MEAN_MARGIN, settings.ITEM_WITHIN_ONE_PERCENT / 100
        ),
    )
