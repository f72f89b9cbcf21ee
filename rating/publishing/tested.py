"""The five tests that could refute the method, put to the rows of a wave."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from typing import Final

import numpy as np

from rating.probe_report import ByItem, RerunRow, SensitivityRow, rerun_row, sensitivity_row
from rating.publishing.data import EarlierRun, RunRow, WaveData
from rating.stats import refutation
from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.factors import (
    QUANTILE,
    components_above_chance,
    correlations,
    eigenvalues,
    eigenvalues_of_chance,
)
from rating.stats.permutation import ChanceTest, chance_test
from rating.stats.pools import Family, Pools, difference_of_pools
from rating.stats.traits import Profiles, profiles
from rating.stats.verdict import Outcome, Verdict, cannot_tell
from runs.taxonomy import DIMENSIONS

ORDER: Final = (Outcome.REFUTED, Outcome.OPEN, Outcome.HOLDS)  # what a reader must hear first


@dataclass(frozen=True)
class Scree:
    """The eigenvalues of dimensions over runs, the largest first, and what chance stays below."""

    runs: int
    above: int
    values: tuple[float, ...]
    limits: tuple[float, ...]


@dataclass(frozen=True)
class Tested:
    """The verdict of each test, in the order of the method, and what each was told from.

    ``changed`` names the runs that the two pools were followed over, as rows of reruns do.
    """

    verdicts: tuple[Verdict, ...]
    chance: ChanceTest | None
    pools: Pools | None
    changed: tuple[tuple[str, str], ...]
    profile: Profiles | None
    scree: Scree | None
    reruns: tuple[RerunRow, ...]
    alterations: tuple[SensitivityRow, ...]


def tested_of(
    data: WaveData, permutations: int, high: float | None, told: Collection[tuple[str, str]]
) -> Tested:
    """Put all five tests. ``high`` is the upper end of alpha's interval.

    ``told`` are the runs whose points the report tells: between one of these and another, the size
    of a difference would tell the points of that one too.
    """
    altered = {run.subject for run in data.runs if run.expected}
    chance = chance_of(data, permutations)
    families = list(_families(data))
    followed = [run for _, runs in families if len(runs) > 1 for run in runs]
    means = None if data.is_paired else means_of(data)
    scree = None if means is None else _scree(data, means)
    reruns, alterations = tuple(reruns_of(data)), tuple(alterations_of(data))
    return Tested(
        (
            refutation.agreement(chance, units=len(data.twice), high=high),
            refutation.pools(
                [family for family, _ in families],
                sized={run.key for run in followed} <= set(told),
            ),
            _traits(data, means),
            _reruns(data, reruns, told),
            refutation.alteration(
                {
                    f"Condition {number}, {row.condition}": row.found
                    for number, row in enumerate(alterations, start=1)
                    if row.found
                },
                sized={run.key for run in data.runs if run.subject in altered} <= set(told),
            ),
        ),
        chance,
        _pools([family for family, _ in families]),
        tuple((run.subject, f"{data.wave.code}, {run.condition}") for run in followed),
        None if means is None else _profile(data, means),
        scree,
        reruns,
        alterations,
    )


def chance_of(data: WaveData, permutations: int) -> ChanceTest | None:
    """Agreement against chance within items; None where nothing could have come out otherwise."""
    given = [rating for code in sorted(data.twice) for rating in data.twice[code]]
    rater = {name: number for number, name in enumerate(sorted({one.rater for one in given}))}
    unit = {code: number for number, code in enumerate(sorted(data.twice))}
    item = {row.code: number for number, row in enumerate(data.items)}
    place = {level: number for number, level in enumerate(data.bank.levels)}
    try:
        return chance_test(
            np.array([rater[one.rater] for one in given], dtype=np.int64),
            np.array([unit[one.response] for one in given], dtype=np.int64),
            np.array([place[one.level] for one in given], dtype=np.int64),
            np.array([item[data.reply[one.response].item] for one in given], dtype=np.int64),
            seed=f"{data.wave.seed}|chance",
            permutations=permutations,
        )
    except Undefined:
        return None


def reruns_of(data: WaveData) -> list[RerunRow]:
    """Every two runs of one subject under the same system message, in this and earlier waves."""
    found = []
    for one, other in combinations(data.runs, 2):
        if _alike(one, other):
            names = (f"{data.wave.code}, {one.condition}", f"{data.wave.code}, {other.condition}")
            found.append(_rerun(data, one.subject, names, levels_of(data, one), other))
    for earlier in data.earlier:
        for run in data.runs:
            if _alike(earlier, run):
                names = (earlier.name, f"{data.wave.code}, {run.condition}")
                found.append(_rerun(data, run.subject, names, earlier.levels, run))
    return found


def alterations_of(data: WaveData) -> list[SensitivityRow]:
    """Each condition that was declared to move a subject, against the first that was not."""
    rows = []
    for altered in data.runs:
        if not altered.expected:
            continue
        plain = next(
            (run for run in data.runs if run.subject == altered.subject and not run.expected), None
        )
        both = (levels_of(data, plain) if plain else {}, levels_of(data, altered))
        rows.append(
            sensitivity_row(
                altered.subject, altered.condition, altered.expected, altered.expected_why, both
            )
        )
    return rows


def levels_of(data: WaveData, run: RunRow) -> ByItem:
    """The mean level of each response of a run that was rated twice, by its item's content."""
    found: dict[str, list[tuple[int, float]]] = {}
    for code, both in data.twice.items():
        reply = data.reply[code]
        if (reply.subject, reply.condition) == run.key:
            level = float(np.mean([rating.level for rating in both]))
            item = data.item[reply.item].content_hash
            found.setdefault(item, []).append((reply.trial, level))
    return {item: [level for _, level in sorted(own)] for item, own in sorted(found.items())}


def means_of(data: WaveData) -> Floats:
    """Item means of the compared runs, shape (subjects, items), NaN where nothing is rated."""
    means = np.full((len(data.compared), len(data.items)), np.nan)
    for row, run in enumerate(data.compared):
        levels = levels_of(data, run)
        for column, item in enumerate(data.items):
            if own := levels.get(item.content_hash):
                means[row, column] = np.mean(own)
    return means


def _alike(one: RunRow | EarlierRun, other: RunRow) -> bool:
    same = one.subject == other.subject and one.system_message == other.system_message
    return same and not other.expected


def _rerun(
    data: WaveData, subject: str, names: tuple[str, str], first: ByItem, second: RunRow
) -> RerunRow:
    seed = f"{data.wave.seed}|rerun|{'|'.join(names)}"
    return rerun_row(subject, names, (first, levels_of(data, second)), seed=seed)


def _reruns(data: WaveData, rows: Sequence[RerunRow], told: Collection[tuple[str, str]]) -> Verdict:
    """Of an earlier wave it is not known here whose points were told, so none is taken to be."""
    names = {(subject, f"{data.wave.code}, {condition}") for subject, condition in told}
    verdicts = [
        refutation.reruns(
            row.found, sized={(row.subject, row.first), (row.subject, row.second)} <= names
        )
        for row in rows
        if row.found
    ]
    if not verdicts:
        missing = next((row.reason for row in rows if row.reason), None)
        if missing:
            return cannot_tell(refutation.RERUNS, missing)
        return refutation.reruns(None)
    verdicts.sort(key=lambda verdict: ORDER.index(verdict.outcome))
    first = verdicts[0]
    if len(verdicts) > 1:
        many = f"This is the least favourable of {len(verdicts)} such comparisons."
        return replace(first, evidence=(*first.evidence, many))
    return first


def _traits(data: WaveData, means: Floats | None) -> Verdict:
    if means is None:
        return cannot_tell(
            refutation.TRAITS, "A wave of the Model Index: this one has chambers, not dimensions."
        )
    if len(means) < refutation.FEWEST_RUNS:
        return refutation.traits(means, _dimension(data))
    return refutation.traits_of_many(_by_dimension(data, means), seed=_seed(data))


def _scree(data: WaveData, means: Floats) -> Scree | None:
    if len(means) < refutation.FEWEST_RUNS:
        return None
    try:
        found = eigenvalues(correlations(_by_dimension(data, means)))
    except Undefined:
        return None
    by_chance = eigenvalues_of_chance(len(means), len(found), seed=_seed(data))
    limits = np.quantile(by_chance, QUANTILE, axis=0)
    above = components_above_chance(found, by_chance)
    return Scree(len(means), above, tuple(found.tolist()), tuple(limits.tolist()))


def _profile(data: WaveData, means: Floats) -> Profiles | None:
    if len(means) >= refutation.FEWEST_RUNS:
        return None
    try:
        return profiles(means, _dimension(data))
    except Undefined:
        return None


def _pools(families: Sequence[Family]) -> Pools | None:
    try:
        found = difference_of_pools(families)
        return found if found.difference.error else None
    except Undefined:
        return None


def _dimension(data: WaveData) -> Whole:
    """The number of the dimension of each item."""
    codes = list(DIMENSIONS)
    return np.array([codes.index(item.dimension) for item in data.items], dtype=np.int64)


def _by_dimension(data: WaveData, means: Floats) -> Floats:
    """Dimension means, shape (subjects, dimensions)."""
    dimension = _dimension(data)
    return np.stack(
        [means[:, dimension == number].mean(axis=1) for number in range(len(DIMENSIONS))], axis=1
    )


def _seed(data: WaveData) -> str:
    return f"{data.wave.seed}|factors"


def _families(data: WaveData) -> Iterator[tuple[Family, list[RunRow]]]:
    """Families whose items are of both pools, each with the runs of its snapshots.

    One snapshot changes nothing: such a family tells no size of its own.
    """
    pool = np.array([item.unpublished for item in data.items], dtype=bool)
    if pool.all() or not pool.any():
        return
    means = means_of(data)
    families: dict[tuple[str, str], list[int]] = {}
    for row, run in enumerate(data.compared):
        if run.registered_on:
            families.setdefault((run.developer, run.family), []).append(row)
    for rows in families.values():
        rows.sort(key=lambda row: data.compared[row].registered_on)
        days = [date.fromisoformat(data.compared[row].registered_on).toordinal() for row in rows]
        own = means[rows]
        runs = [data.compared[row] for row in rows]
        yield Family(own[:, ~pool], own[:, pool], np.array(days, dtype=np.float64)), runs
