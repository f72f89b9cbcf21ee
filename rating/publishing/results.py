"""Every figure of a report, from the rows of a wave alone. The same rows give the same figures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np

from rating.blinding_report import BlindingReport
from rating.gate import Gate
from rating.publishing.blinded import blinding_of
from rating.publishing.confounded import ledger_of
from rating.publishing.data import PENDING, ItemRow, RunRow, WaveData
from rating.publishing.gated import below_floor, gate_of
from rating.publishing.tested import Tested, tested_of
from rating.report import AgreementReport, RatingRow, agreement_report
from rating.stats import scores as scoring
from rating.stats.agreement import REPLICATES as UNIT_REPLICATES
from rating.stats.agreement import Undefined
from rating.stats.confounds import Ledger
from rating.stats.parity import A, B, Parity, Replies, parity
from rating.stats.parity_tags import TagByArm, tags_by_arm
from rating.stats.resampling import REPLICATES, TRIAL_REPLICATES, Panel, trial_interval
from rating.stats.scores import Asked, Place, Score
from rating.stats.separation import Separation, separate
from rating.stats.statements import Statements, statements
from rating.stats.student import Range
from rating.stats.verdict import Verdict
from runs.taxonomy import DIMENSIONS

RATINGS: Final = 2  # that a response needs


@dataclass(frozen=True)
class Draws:
    """How often chance is drawn. A report says so, and a bundle is reproduced with the same."""

    items: int = REPLICATES
    units: int = UNIT_REPLICATES
    trials: int = TRIAL_REPLICATES


DRAWS: Final = Draws()


@dataclass(frozen=True)
class RangesOf:
    """Ranges of one run by dimension code, without a point. ``score`` is told nowhere."""

    subject: str
    condition: str
    ranges: Mapping[str, Range]
    score: Score


@dataclass(frozen=True)
class ArmPair:
    """One subject under two conditions: the range of the second composite minus the first."""

    subject: str
    first: str
    second: str
    range: Range
    separated: bool
    separated_corrected: bool


@dataclass(frozen=True)
class NotCompared:
    """A declared comparison that was not made, and why."""

    what: str
    reason: str


@dataclass(frozen=True)
class Settling:
    """What becomes of the groups when settled levels take the place of the two ratings."""

    replaced: int
    unchanged: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Index:
    """Scores and separation of a wave of the Model Index. ``family`` shares the alpha."""

    scores: tuple[Score, ...]
    statements: Statements
    separation: Separation | None
    reason: str
    uncompared: tuple[RangesOf, ...]
    secondary: tuple[RangesOf, ...]
    arms: tuple[ArmPair, ...]
    not_compared: tuple[NotCompared, ...]
    family: int
    settling: Settling
    trial_range: Range | None = None


@dataclass(frozen=True)
class SubjectParity:
    """The parity of one run, with how often each tag was given in either arm."""

    run: RunRow
    parity: Parity
    tags: tuple[TagByArm, ...]


@dataclass(frozen=True)
class Results:
    """All that came of a wave. ``index`` or ``parity`` is empty, by its instrument."""

    data: WaveData
    draws: Draws
    index: Index | None
    parity: tuple[SubjectParity, ...]
    agreement: AgreementReport
    blinding: BlindingReport
    asked: Mapping[tuple[str, str], Asked]
    half_rated: int
    unrated: int
    ledger: Ledger
    tested: Tested
    gate: Gate
    below_floor: bool

    @property
    def tests(self) -> tuple[Verdict, ...]:
        return self.tested.verdicts


def results_of(data: WaveData, draws: Draws | None = None) -> Results:
    """Return every figure of a wave.

    Seeds follow from the seed of the wave. Only responses with two ratings enter a score, a gap or
    a test; agreement is of all counted ratings, as on its own page.
    """
    draws = draws or DRAWS
    agreed = agreement_of(data, draws)
    asked = asked_of(data)
    ledger = ledger_of(data)
    alpha = agreed.overall.alpha_ordinal
    counts = Counter(rating.response for rating in data.ratings)
    index = None if data.is_paired else index_of(data, draws, asked)
    low = below_floor(data.declared.agreement_floor, alpha.value)
    told = set() if low else told_of(data, index)
    return Results(
        data,
        draws,
        index,
        parity_of(data) if data.is_paired else (),
        agreed,
        blinding_of(data),
        asked,
        sum(count == 1 for count in counts.values()),
        data.completed - len(counts),
        ledger,
        tested_of(data, draws.units, alpha.high, told),
        gate_of(data, asked, alpha.value, ledger),
        low,
    )


def told_of(data: WaveData, index: Index | None) -> set[tuple[str, str]]:
    """The runs whose points the report tells, at or above the floor."""
    if data.ranges_only:
        return set()
    if index is None:
        return {run.key for run in data.runs}
    alone = {one.subject for one in index.statements.alone}
    return {run.key for run in data.compared if run.subject in alone}


def agreement_of(data: WaveData, draws: Draws) -> AgreementReport:
    """How far the raters of the wave agree, all subjects pooled."""
    names, place = places_of(data)
    rows = [
        RatingRow(
            rating.rater, rating.response, place[data.reply[rating.response].item], rating.level
        )
        for rating in data.ratings
    ]
    return agreement_report(
        rows,
        data.bank.levels,
        seed=f"{data.wave.seed}|agreement",
        replicates=draws.units,
        dimensions=names,
    )


def places_of(data: WaveData) -> tuple[list[str], dict[str, str]]:
    """The names of dimensions or chambers in order, and that of each item."""
    if data.is_paired:
        names = dict(data.bank.chambers)
        place = {arm: names[pair.chamber] for pair in data.pairs for arm in (pair.a, pair.b)}
        return list(names.values()), place
    used = {item.dimension for item in data.items}
    return (
        [dimension.name for code, dimension in DIMENSIONS.items() if code in used],
        {item.code: DIMENSIONS[item.dimension].name for item in data.items},
    )


def asked_of(data: WaveData) -> dict[tuple[str, str], Asked]:
    """What each run was asked for, and how much of it never became a reply to rate."""
    found: dict[tuple[str, str], Counter[str]] = {run.key: Counter() for run in data.runs}
    for reply in data.replies:
        if reply.status != PENDING:
            found[reply.subject, reply.condition][reply.status] += 1
    return {
        key: Asked(count.total(), count["filtered"], count["failed"], count["malformed"])
        for key, count in found.items()
    }


# The Model Index


def index_of(data: WaveData, draws: Draws, asked: Mapping[tuple[str, str], Asked]) -> Index:
    """Scores, separation and what may be said of them."""
    levels = {code: tuple(rating.level for rating in both) for code, both in data.twice.items()}
    scored = _scores(data, data.compared, levels, asked)
    separation, reason = _separation(data, scored, levels, draws)
    loose = [
        (run, score)
        for run, score in zip(data.compared, scored, strict=True)
        if score.composite is None
    ]
    others = list(zip(data.others, _scores(data, data.others, levels, asked), strict=True))
    given = {
        run.key
        for run, score in [*zip(data.compared, scored, strict=True), *others]
        if score.composite is not None
    }
    return Index(
        tuple(scored),
        statements(scored, separation),
        separation,
        reason,
        _ranges(data, loose, levels, draws),
        _ranges(data, others, levels, draws),
        _arms(data, given, levels, draws),
        tuple(_not_compared(data, given)),
        family_of(data),
        _settling(data, separation, draws, asked),
        _trial_range(data, scored, levels, draws),
    )


Levels = Mapping[str, tuple[float, ...]]


def _scores(
    data: WaveData,
    runs: Sequence[RunRow],
    levels: Levels,
    asked: Mapping[tuple[str, str], Asked],
) -> list[Score]:
    places = [Place(item.code, item.dimension, item.subdimension) for item in _items(data)]
    table = _table(data, runs, levels)
    return scoring.scores_of(
        [run.subject for run in runs], places, table, [asked[run.key] for run in runs]
    )


def _items(data: WaveData) -> list[ItemRow]:
    return sorted(data.items, key=lambda item: item.code)


def _table(data: WaveData, runs: Sequence[RunRow], levels: Levels) -> scoring.ItemTable:
    column = {item.code: number for number, item in enumerate(_items(data))}
    subjects, items, given = [], [], []
    for number, run in enumerate(runs):
        for code in data.codes_of.get(run.key, ()):
            for level in levels.get(code, ()):
                subjects.append(number)
                items.append(column[data.reply[code].item])
                given.append(level)
    return scoring.item_table(
        np.array(subjects, dtype=np.int64),
        np.array(items, dtype=np.int64),
        np.array(given, dtype=np.float64),
        (len(runs), len(column)),
    )


def _panel(data: WaveData, names: Sequence[str], runs: Sequence[RunRow], levels: Levels) -> Panel:
    dimensions = tuple(item.dimension for item in _items(data))
    return Panel(tuple(names), dimensions, _table(data, runs, levels).means)


def _separation(
    data: WaveData, scored: Sequence[Score], levels: Levels, draws: Draws
) -> tuple[Separation | None, str]:
    runs = [
        run for run, score in zip(data.compared, scored, strict=True) if score.composite is not None
    ]
    if not runs:
        return None, "No model has a composite, so none can be compared."
    names = [run.subject for run in runs]
    declared = data.declared.comparisons
    pairs = None if declared is None else [pair for pair in declared if set(pair) <= set(names)]
    found = separate(
        _panel(data, names, runs, levels),
        seed=f"{data.wave.seed}|items",
        pairs=pairs,
        correction=data.declared.correction,
        family=family_of(data),
        replicates=draws.items,
    )
    return found, ""


def family_of(data: WaveData) -> int:
    """How many comparisons share the alpha: known before the data, whoever is withheld."""
    declared = data.declared.family
    return comb(len(data.compared), 2) if declared is None else declared


def _not_compared(data: WaveData, given: AbstractSet[tuple[str, str]]) -> Iterator[NotCompared]:
    """The declared comparisons that were not made. ``given`` are the runs with a composite."""
    declared = data.declared
    for a, b in declared.comparisons or ():
        if lacking := [name for name in (a, b) if (name, data.primary) not in given]:
            yield NotCompared(f"{a} and {b}", f"There is no composite of {' and '.join(lacking)}.")
    for a, b, condition in declared.elsewhere:
        yield NotCompared(
            f"{a} and {b}, {condition}",
            f"Models are compared under one condition, and that is “{data.primary}”.",
        )
    for subject, one, other in declared.arms:
        if lacking := [arm for arm in (one, other) if (subject, arm) not in given]:
            yield NotCompared(
                f"{subject}, {one} and {other}",
                f"There is no composite under {' and '.join(lacking)}.",
            )


def _ranges(
    data: WaveData, runs: Sequence[tuple[RunRow, Score]], levels: Levels, draws: Draws
) -> tuple[RangesOf, ...]:
    """The ranges of runs that are compared with nothing, each by itself."""
    found = []
    for run, score in runs:
        whole = _panel(data, [run.subject], [run], levels)
        # Of a run by itself the rated items alone are drawn: without any, a draw has no mean.
        rated = np.flatnonzero(~np.isnan(whole.means[0]))
        dimensions = tuple(whole.dimensions[column] for column in rated)
        panel = Panel(whole.subjects, dimensions, whole.means[:, rated])
        ranges: Mapping[str, Range] = {}
        if not score.asked.too_many_lost:
            with suppress(Undefined):
                seed = f"{data.wave.seed}|items"
                ranges = separate(panel, seed=seed, replicates=draws.items).ranges[run.subject]
        found.append(RangesOf(run.subject, run.condition, ranges, score))
    return tuple(found)


def _arms(
    data: WaveData, given: AbstractSet[tuple[str, str]], levels: Levels, draws: Draws
) -> tuple[ArmPair, ...]:
    """The declared arms, or each other condition against the primary one, where both have scores."""
    wanted = _arm_pairs(data)
    pairs = [pair for pair in wanted if {run.key for run in pair} <= given]
    runs = list(dict.fromkeys(run for pair in pairs for run in pair))
    if not runs:
        return ()
    name = {run: f"{run.subject}, {run.condition}" for run in runs}
    found = separate(
        _panel(data, list(name.values()), runs, levels),
        seed=f"{data.wave.seed}|items",
        pairs=[(name[first], name[second]) for first, second in pairs],
        correction=data.declared.correction,
        family=data.declared.family or len(wanted),
        replicates=draws.items,
    ).pairs
    by_name = {frozenset((pair.a, pair.b)): pair for pair in found}
    arms = []
    for first, second in pairs:
        pair = by_name[frozenset((name[first], name[second]))]
        arms.append(
            ArmPair(
                first.subject,
                first.condition,
                second.condition,
                pair.percentile.mirrored if pair.a == name[first] else pair.percentile,
                pair.separated,
                pair.separated_corrected,
            )
        )
    return tuple(sorted(arms, key=lambda arm: (arm.subject, arm.second)))


def _arm_pairs(data: WaveData) -> list[tuple[RunRow, RunRow]]:
    """The primary condition first, where it is one of the two."""
    if data.declared.family is None:
        first = {run.subject: run for run in data.compared}
        return [(first[run.subject], run) for run in data.others if run.subject in first]
    runs = {run.key: run for run in data.runs}
    found = []
    for subject, *both in data.declared.arms:
        one, other = (runs.get((subject, condition)) for condition in both)
        if one and other:
            found.append((other, one) if other in data.compared else (one, other))
    return found


def _settling(
    data: WaveData,
    separation: Separation | None,
    draws: Draws,
    asked: Mapping[tuple[str, str], Asked],
) -> Settling:
    """The same comparison with each settled level in the place of the two ratings."""
    settled = {row.response: row.level for row in data.settled if row.response in data.twice}
    if separation is None:
        return Settling(len(settled), None, "No model has a composite.")
    if not settled:
        return Settling(0, None, "No difference was settled, so nothing would change.")
    levels = {
        code: (float(settled[code]),) if code in settled else tuple(one.level for one in both)
        for code, both in data.twice.items()
    }
    other, _ = _separation(data, _scores(data, data.compared, levels, asked), levels, draws)
    return Settling(len(settled), other is not None and _flags(other) == _flags(separation))


def _flags(separation: Separation) -> list[tuple[str, str, str, bool]]:
    every = (*separation.pairs, *separation.dimension_pairs)
    return [(pair.a, pair.b, pair.of, pair.separated_corrected) for pair in every]


def _trial_range(
    data: WaveData, scored: Sequence[Score], levels: Levels, draws: Draws
) -> Range | None:
    """How far a run that stands alone would move, were its subject asked again."""
    if len(scored) != 1 or scored[0].composite is None:
        return None
    [run] = data.compared
    items = _items(data)
    column = {item.code: number for number, item in enumerate(items)}
    own = [code for code in sorted(levels) if data.of(code) == run.key]
    try:
        return trial_interval(
            np.array([column[data.reply[code].item] for code in own], dtype=np.int64),
            np.array([np.mean(levels[code]) for code in own], dtype=np.float64),
            [item.dimension for item in items],
            seed=f"{data.wave.seed}|{run.subject}|{run.condition}",
            replicates=draws.trials,
        )
    except Undefined:
        return None


# Unconditionality


def parity_of(data: WaveData) -> tuple[SubjectParity, ...]:
    """The parity of every run, from A to Z, and its tags by arm."""
    names = dict(data.bank.chambers)
    pair_of = {
        arm: (number, arm_number)
        for number, pair in enumerate(data.pairs)
        for arm_number, arm in ((A, pair.a), (B, pair.b))
    }
    runs = sorted(data.runs, key=lambda run: run.key)
    return tuple(
        SubjectParity(
            run,
            parity(
                {names[code]: _replies(data, run, code, pair_of) for code, _ in data.bank.chambers},
                [name for _, name in data.bank.chambers],
                lowest=min(data.bank.levels),
                step=1 / (RATINGS * data.wave.trials),
                seed=f"{data.wave.seed}|parity|{run.subject}|{run.condition}",
                margin=data.declared.margin,
            ),
            _tags(data, run, pair_of),
        )
        for run in runs
    )


Places = Mapping[str, tuple[int, int]]


def _replies(data: WaveData, run: RunRow, chamber: str, place: Places) -> Replies:
    """Rated and lost replies of one chamber. One that waits for a rating is neither."""
    wanted = {arm for pair in data.pairs if pair.chamber == chamber for arm in (pair.a, pair.b)}
    pairs, arms, levels = [], [], []
    for reply in data.replies:
        if (reply.subject, reply.condition) != run.key or reply.item not in wanted:
            continue
        both = data.twice.get(reply.code)
        if both is None and reply.status in ("completed", PENDING):
            continue
        pair, arm = place[reply.item]
        pairs.append(pair)
        arms.append(arm)
        levels.append(float(np.mean([one.level for one in both])) if both else np.nan)
    return Replies(
        np.array(pairs, dtype=np.int64),
        np.array(arms, dtype=np.int64),
        np.array(levels, dtype=np.float64),
    )


def _tags(data: WaveData, run: RunRow, place: Places) -> tuple[TagByArm, ...]:
    rows = [
        (place[data.reply[code].item], rating.tags)
        for code, both in sorted(data.twice.items())
        if data.of(code) == run.key and data.reply[code].item in place
        for rating in both
    ]
    known = sorted({tag for _, tags in rows for tag in tags})
    return tags_by_arm(
        np.array([pair for (pair, _), _ in rows], dtype=np.int64),
        np.array([arm for (_, arm), _ in rows], dtype=np.int64),
        {tag: np.array([tag in tags for _, tags in rows], dtype=bool) for tag in known},
    )
