"""How often a 95% interval that we publish holds the truth, over many simulated studies.

    python -m tests.bench coverage [--studies N] [--processes P] [--keep FILE] [--write FILE]

What is counted is kept in a file, so that a run that was stopped goes on where it was.
"""

import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from rating.stats import raters
from rating.stats.agreement import (
    Coefficient,
    Patterns,
    Undefined,
    alpha_for_ordinal,
    exact_share,
    interval,
    tally_rows,
    within_one_share,
)
from rating.stats.components import SOURCES, Components, Plan, decide, variance_components
from rating.stats.facets import Facets, severity_model
from tests.bench import studies
from tests.bench.studies import SCALE, Study, Truth

CHUNK = 20  # studies counted at once
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
    Row("Drift in a week", "none", partial(_beside, raters.drift, dated=True), lambda s: 0.0),
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


@dataclass(frozen=True)
class Count:
    """Over studies: how many intervals were given, and how many of them held the truth."""

    given: int
    covered: int
    none: int

    @property
    def share(self) -> float:
        return self.covered / self.given if self.given else math.nan


def count_chunk(chunk: int, names: Collection[str] | None = None) -> dict[str, list[int]]:
    """Over the studies of one chunk, by row: intervals given, and how many held the truth."""
    rows = [row for row in ROWS if names is None or row.key in names]
    counts = {row.key: [0, 0] for row in rows}
    for number in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        study = Study.draw(number)
        for row in rows:
            covered = row.covers(study)
            if covered is not None:
                counts[row.key][0] += 1
                counts[row.key][1] += covered
        for kept in (_patterns, _facets, _components):
            kept.cache_clear()
    return counts


def totals(chunks: dict[int, dict[str, list[int]]]) -> dict[str, Count]:
    """Sum what was counted in chunks of studies, for each row that was counted in any."""
    found: dict[str, Count] = {}
    for row in ROWS:
        kept = [rows[row.key] for rows in chunks.values() if row.key in rows]
        given, covered = (sum(column) for column in zip(*kept, strict=True)) if kept else (0, 0)
        found[row.key] = Count(given, covered, len(kept) * CHUNK - given)
    return found


def measure(n_studies: int, processes: int, keep: Path, write: Path | None = None) -> None:
    """Count what is not counted yet, print the table, and write it into a document if asked."""
    began = time.monotonic()
    chunks = _kept(keep)
    wanted = range(math.ceil(n_studies / CHUNK))
    missing = {
        number: [row.key for row in ROWS if row.key not in chunks.get(number, {})]
        for number in wanted
    }
    work = [(number, names) for number, names in missing.items() if names]
    with get_context("fork").Pool(processes) as pool, keep.open("a") as file:
        for number, rows in pool.imap_unordered(_counted, work):
            chunks.setdefault(number, {}).update(rows)
            file.write(json.dumps({"chunk": number, "rows": rows}) + "\n")
            file.flush()
    table = as_markdown(totals({number: chunks[number] for number in wanted}))
    print(table)
    print(f"{len(work) * CHUNK} studies in {time.monotonic() - began:.0f} s")
    if write:
        head, _, rest = write.read_text().partition("<!-- table -->\n")
        _, _, tail = rest.partition("<!-- end of table -->")
        write.write_text(f"{head}<!-- table -->\n{table}\n<!-- end of table -->{tail}")


def as_markdown(counts: dict[str, Count]) -> str:
    lines = [
        "| interval | held against | claimed | studies | held the truth | none given |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in ROWS:
        found = counts[row.key]
        low, high = _wilson(found)
        lines.append(
            f"| {row.name} | {row.against} | {'yes' if row.claimed else 'no'} "
            f"| {found.given + found.none:,} "
            f"| {found.share:.1%} ({low:.1%} to {high:.1%}) | {found.none} |"
        )
    return "\n".join(lines)


def _wilson(found: Count) -> Span:
    from rating.standing import share_of

    share = share_of([True] * found.covered + [False] * (found.given - found.covered))
    return share.low or 0.0, share.high or 0.0


def _counted(work: tuple[int, list[str]]) -> tuple[int, dict[str, list[int]]]:
    return work[0], count_chunk(*work)


def _kept(keep: Path) -> dict[int, dict[str, list[int]]]:
    """What earlier runs counted, by the number of its chunk."""
    found: dict[int, dict[str, list[int]]] = {}
    for line in _lines(keep) if keep.exists() else ():
        found.setdefault(line["chunk"], {}).update(line["rows"])
    return found


def _lines(keep: Path) -> Iterator[dict]:
    for text in keep.read_text().splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue  # a run that was stopped may have left half a line


def processors() -> int:
    return len(os.sched_getaffinity(0))
