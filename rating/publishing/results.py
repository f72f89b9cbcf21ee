"""Every figure of a report, from the rows of a wave alone. The same rows give the same figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from rating.gate import Gate
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
    """Ranges of one run by dimension code, without a point."""

    subject: str
    condition: str
    ranges: Mapping[str, Range]


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
class Settling:
    """What becomes of the groups when settled levels take the place of the two ratings."""

    replaced: int
    unchanged: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Index:
    """Scores and separation of a wave of the Model Index."""

    scores: tuple[Score, ...]
    statements: Statements
    separation: Separation | None
    reason: str
    uncompared: tuple[RangesOf, ...]
    secondary: tuple[RangesOf, ...]
    arms: tuple[ArmPair, ...]
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
    return Results(
        data,
        draws,
        None if data.is_paired else index_of(data, draws, asked),
        parity_of(data) if data.is_paired else (),
        agreed,
        asked,
        sum(count == 1 for count in counts.values()),
        data.completed - len(counts),
        ledger,
        tested_of(data, draws.units, alpha.high),
        gate_of(data, asked, alpha.value, ledger),
        below_floor(data.declared.agreement_floor, alpha.value),
    )


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
        run
        for run, score in zip(data.compared, scored, strict=True)
        if score.composite is None and not score.asked.too_many_lost
    ]
    return Index(
        tuple(scored),
        statements(scored, separation),
        separation,
        reason,
        _ranges(data, loose, levels, draws),
        _secondary(data, levels, draws),
        _arms(data, levels, draws),
        _settling(data, separation, draws, asked),
        _trial_range(data, levels, draws),
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
    row = {run.key: number for number, run in enumerate(runs)}
    column = {item.code: number for number, item in enumerate(_items(data))}
    subjects, items, given = [], [], []
    for code in sorted(levels):
        reply = data.reply[code]
        if (number := row.get((reply.subject, reply.condition))) is None:
            continue
        for level in levels[code]:
            subjects.append(number)
            items.append(column[reply.item])
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
    seed = f"{data.wave.seed}|items"
    panel = _panel(data, names, runs, levels)
    return separate(panel, seed=seed, pairs=pairs, replicates=draws.items), ""


def _ranges(
    data: WaveData, runs: Sequence[RunRow], levels: Levels, draws: Draws
) -> tuple[RangesOf, ...]:
    """The ranges of runs that are compared with nothing, each by itself."""
    found = []
    for run in runs:
        panel = _panel(data, [run.subject], [run], levels)
        seed = f"{data.wave.seed}|items"
        try:
            ranges = separate(panel, seed=seed, replicates=draws.items).ranges[run.subject]
        except Undefined:
            ranges = {}
        found.append(RangesOf(run.subject, run.condition, ranges))
    return tuple(found)


def _secondary(data: WaveData, levels: Levels, draws: Draws) -> tuple[RangesOf, ...]:
    return _ranges(data, data.others, levels, draws)


def _arms(data: WaveData, levels: Levels, draws: Draws) -> tuple[ArmPair, ...]:
    """Each subject under each other condition against itself, corrected for all such pairs."""
    first = {run.subject: run for run in data.compared}
    pairs = [(run, first[run.subject]) for run in data.others if run.subject in first]
    runs = list(dict.fromkeys(run for pair in pairs for run in pair))
    if not runs:
        return ()
    name = {run: f"{run.subject}, {run.condition}" for run in runs}
    panel = _panel(data, list(name.values()), runs, levels)
    try:
        found = separate(
            panel,
            seed=f"{data.wave.seed}|items",
            pairs=[(name[one], name[other]) for one, other in pairs],
            replicates=draws.items,
        ).pairs
    except Undefined:
        return ()
    run_of = {shown: run for run, shown in name.items()}
    arms = []
    for pair in found:
        one, other = run_of[pair.a], run_of[pair.b]
        turned = one.condition == data.primary and one in data.compared
        first_run, second = (one, other) if turned else (other, one)
        arms.append(
            ArmPair(
                first_run.subject,
                first_run.condition,
                second.condition,
                pair.percentile.mirrored if turned else pair.percentile,
                pair.separated,
                pair.separated_corrected,
            )
        )
    return tuple(sorted(arms, key=lambda arm: (arm.subject, arm.second)))


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


def _trial_range(data: WaveData, levels: Levels, draws: Draws) -> Range | None:
    """How far a run that stands alone would move, were its subject asked again."""
    if len(data.compared) != 1:
        return None
    [run] = data.compared
    items = _items(data)
    column = {item.code: number for number, item in enumerate(items)}
    own = [code for code in sorted(levels) if _of(data, code) == run.key]
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


def _of(data: WaveData, code: str) -> tuple[str, str]:
    return data.reply[code].subject, data.reply[code].condition


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
        if _of(data, code) == run.key and data.reply[code].item in place
        for rating in both
    ]
    known = sorted({tag for _, tags in rows for tag in tags})
    return tags_by_arm(
        np.array([pair for (pair, _), _ in rows], dtype=np.int64),
        np.array([arm for (_, arm), _ in rows], dtype=np.int64),
        {tag: np.array([tag in tags for _, tags in rows], dtype=bool) for tag in known},
    )
