"""Which subjects can be told apart on the same items, and what may then be said of each.

Two intervals stand side by side. The percentile interval is that of the public pilots. It is too
short where a dimension has some ten items, so what we claim rests on a studentised one: Student's
t on the differences by item, the variances of the dimensions added up and their degrees of freedom
taken after Satterthwaite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined
from rating.stats.resampling import (
    NOISE,
    REPLICATES,
    Panel,
    Replicates,
    both_percentiles,
    draw_items,
    percentile,
)
from rating.stats.scores import ORDER, composites, in_tenths
from rating.stats.student import ALPHA, Estimate, Range, combined

COMPOSITE: Final = "composite"
BONFERRONI: Final = "bonferroni"
HOLM: Final = "holm"
NO_CORRECTION: Final = "none"
CORRECTIONS: Final = (BONFERRONI, HOLM, NO_CORRECTION)
PER_LEVEL: Final = 25.0  # composite points that one level of the mean of the dimensions is worth
NO_ORDER: Final = (
    "Some of these models differ from each other and others do not, and a chain of those that "
    "do not runs through all of them. So they stand in one group, and no order is stated."
)
NOT_TOLD_APART: Final = (
    "These models cannot be told apart with this evidence, which is not the same as equal."
)


@dataclass(frozen=True)
class Difference:
    """The earlier subject minus the later one, in the composite or in one dimension.

    ``percentile`` and ``studentised`` are 95% ranges, the corrected ones share the alpha among the
    declared comparisons. The studentised ones are None where ``reason`` says why.
    """

    a: str
    b: str
    of: str
    value: float
    percentile: Range
    corrected_percentile: Range
    studentised: Range | None
    corrected: Range | None
    comparisons: int
    reason: str = ""

    @property
    def separated(self) -> bool:
        """By the sound interval, without correction."""
        return self.studentised is not None and self.studentised.excludes_zero

    @property
    def separated_corrected(self) -> bool:
        """By the sound interval after correction. Groups, and what may be said, rest on this."""
        return self.corrected is not None and self.corrected.excludes_zero


@dataclass(frozen=True)
class Group:
    """Subjects that cannot be told apart, from A to Z. ``clique``: each from each other."""

    members: tuple[str, ...]
    clique: bool

    @property
    def sentence(self) -> str:
        return NOT_TOLD_APART if self.clique else NO_ORDER


@dataclass(frozen=True)
class Separation:
    """What came of comparing some subjects: composite pairs, dimension pairs, groups."""

    subjects: tuple[str, ...]
    pairs: tuple[Difference, ...]
    dimension_pairs: tuple[Difference, ...]
    groups: tuple[Group, ...]
    ranges: dict[str, dict[str, Range]]
    replicates: int
    seed: str

    @property
    def alone(self) -> tuple[str, ...]:
        """The subjects in no group, from A to Z: each differs from every other."""
        grouped = {member for group in self.groups for member in group.members}
        return tuple(sorted(set(self.subjects) - grouped))


def separate(
    panel: Panel,
    *,
    seed: str,
    pairs: Sequence[tuple[str, str]] | None = None,
    correction: str = BONFERRONI,
    family: int | None = None,
    replicates: int = REPLICATES,
    drawn: Replicates | None = None,
) -> Separation:
    """Compare subjects on the same items, resampled within their dimension.

    Parameters
    ----------
    panel : Panel
        The item means. Differences are taken in the order of its subjects.
    seed : str
        What the draws of items come from.
    pairs : sequence of (str, str)
        The declared comparisons, all of them if None. Those of dimensions are these in each.
    correction : str
        As declared: "bonferroni", "holm" or "none". Holm's has no ranges, so Bonferroni's, which
        are wider, stand for it. With none the corrected ranges are the plain ones.
    family : int
        How many comparisons share the alpha, those that could not be made among them: a family
        that shrank with the data would correct too little. As many as ``pairs`` if None.
    replicates : int
        How many draws.
    drawn : Replicates
        Draws made elsewhere; then ``seed`` only names them.

    Returns
    -------
    Separation
        Composite pairs only where every subject has a rated item in all eight dimensions. A group
        is a connected component of the subjects not told apart by the corrected flags of the
        composite; a pair that was not compared was not told apart.

    Raises
    ------
    Undefined
        If there is no dimension in which every subject has a rated item.
    ValueError
        If a declared pair names a subject that is not there, the correction is unknown, or the
        family is smaller than the pairs in it.
    """
    if correction not in CORRECTIONS:
        raise ValueError(f"There is no correction {correction!r}: {', '.join(CORRECTIONS)}.")
    if not panel.measured:
        raise Undefined("There is no dimension in which every subject has a rated item.")
    places = _places(panel.subjects, pairs)
    if family is not None and family < len(places):
        raise ValueError(f"A family of {family} cannot hold {len(places)} comparisons.")
    drawn = drawn or draw_items(panel, seed=seed, replicates=replicates)
    count = next(iter(drawn.dimensions.values())).shape[1]
    whole = panel.measured == ORDER
    shared = family or len(places)
    corrects = correction != NO_CORRECTION
    found = _composite_pairs(panel, drawn, places, shared if corrects else 1) if whole else ()
    return Separation(
        panel.subjects,
        found,
        tuple(
            _dimension_pairs(panel, drawn, places, shared * len(panel.measured) if corrects else 1)
        ),
        grouped(panel.subjects, _alike(panel.subjects, found)),
        _ranges(panel, drawn, whole),
        count,
        seed,
    )


def grouped(subjects: Sequence[str], alike: Sequence[tuple[str, str]]) -> tuple[Group, ...]:
    """Return the connected components of "not told apart" that have two members or more.

    Parameters
    ----------
    subjects : sequence of str
        All subjects.
    alike : sequence of (str, str)
        The pairs that were compared and not told apart.

    Returns
    -------
    tuple of Group
        The largest first, then by the first name; members from A to Z. Being not told apart does
        not carry over from pair to pair, so a component may hold two subjects that differ.
    """
    neighbours: dict[str, set[str]] = {subject: set() for subject in subjects}
    for one, other in alike:
        neighbours[one].add(other)
        neighbours[other].add(one)
    waiting, groups = set(subjects), []
    while waiting:
        component, reached = set(), {min(waiting)}
        while reached:
            component |= reached
            reached = {far for near in reached for far in neighbours[near]} - component
        waiting -= component
        if len(component) > 1:
            clique = all(neighbours[member] == component - {member} for member in component)
            groups.append(Group(tuple(sorted(component)), clique))
    return tuple(sorted(groups, key=lambda group: (-len(group.members), group.members)))


def dimension_estimate(values: Floats, others: Floats | None = None) -> Estimate:
    """Return the mean of one subject's items in a dimension, or the paired difference of two.

    Parameters
    ----------
    values, others : array, shape (items,)
        The item means, NaN where there is none.

    Returns
    -------
    Estimate
        Its variance is that of the items' influence, so that an item that only one of the two was
        rated on counts for that one alone. Complete data give Student's paired variance.

    Raises
    ------
    Undefined
        If fewer than two items are rated.
    """
    rated = ~np.isnan(values) if others is None else ~np.isnan(values) | ~np.isnan(others)
    value, influence, fewest = _influence(values[rated])
    if others is not None:
        other, against, fewer = _influence(others[rated])
        value, influence, fewest = value - other, influence - against, min(fewest, fewer)
    if fewest < 2:
        raise Undefined("One item has no spread to judge a difference by.")
    n = len(influence)
    return Estimate(value, float(influence @ influence) / (n * (n - 1)), fewest - 1)


def _places(
    subjects: tuple[str, ...], pairs: Sequence[tuple[str, str]] | None
) -> list[tuple[int, int]]:
    if pairs is None:
        return list(combinations(range(len(subjects)), 2))
    unknown = {name for pair in pairs for name in pair} - set(subjects)
    if unknown:
        raise ValueError(
            f"There is no subject {sorted(unknown)[0]}; the subjects are: {', '.join(subjects)}."
        )
    places = {tuple(sorted((subjects.index(a), subjects.index(b)))) for a, b in pairs}
    if len(places) < len(pairs) or any(a == b for a, b in places):
        raise ValueError("A declared pair names two different subjects, and stands once.")
    return sorted((a, b) for a, b in places)


def _alike(subjects: tuple[str, ...], found: Sequence[Difference]) -> list[tuple[str, str]]:
    apart = {(pair.a, pair.b) for pair in found if pair.separated_corrected}
    return [pair for pair in combinations(subjects, 2) if pair not in apart]


def _composite_pairs(
    panel: Panel, drawn: Replicates, places: Sequence[tuple[int, int]], comparisons: int
) -> tuple[Difference, ...]:
    if not places:
        return ()
    means = np.stack([_means(panel, code) for code in ORDER])
    points, shown = composites(means), in_tenths(composites(means))
    replicates, bases = drawn.composites, drawn.bases
    tenths = drawn.tenths
    spread, linear = np.atleast_2d(np.cov(replicates)), np.atleast_2d(np.cov(bases))
    found = []
    for start, partners in _partners(places):
        plain, corrected = both_percentiles(tenths[start] - tenths[partners], comparisons)
        for row, b in enumerate(partners):
            estimate = _composite_estimate(panel, start, b, float(points[start] - points[b]))
            ratio = _of_pair(spread, start, b) / max(_of_pair(linear, start, b), NOISE**2)
            found.append(
                _difference(
                    (panel.subjects[start], panel.subjects[b], COMPOSITE),
                    float(shown[start] - shown[b]) / 10,
                    (_tenth_of(plain[row]), _tenth_of(corrected[row])),
                    Estimate(estimate.value, estimate.variance * ratio, estimate.freedom),
                    comparisons,
                )
            )
    return tuple(found)


def _composite_estimate(panel: Panel, a: int, b: int, value: float) -> Estimate:
    """The difference of two composites as far as it is 25 times that of their means.

    The premium makes it jump, which no derivative shows. So its variance is then scaled by what
    the premium adds to it in the draws.
    """
    parts = []
    for code in ORDER:
        own = panel.means[:, panel.items_in(code)]
        parts.append(dimension_estimate(own[a], own[b]))
    whole = combined(parts)
    variance = whole.variance * (PER_LEVEL / len(ORDER)) ** 2
    return Estimate(value, variance, whole.freedom)


def _dimension_pairs(
    panel: Panel, drawn: Replicates, places: Sequence[tuple[int, int]], comparisons: int
) -> list[Difference]:
    """Each pair in each dimension, the dimensions of a pair one after the other."""
    found: dict[tuple[int, int, str], Difference] = {}
    for code in panel.measured:
        own, replicates = panel.means[:, panel.items_in(code)], drawn.dimensions[code]
        for start, partners in _partners(places):
            apart = replicates[start] - replicates[partners]
            plain, corrected = both_percentiles(apart, comparisons)
            for row, b in enumerate(partners):
                ranges = plain[row], corrected[row]
                names = panel.subjects[start], panel.subjects[b], code
                found[start, b, code] = _of_dimension(
                    names, own[start], own[b], ranges, comparisons
                )
    return [found[a, b, code] for a, b in places for code in panel.measured]


def _of_dimension(
    names: tuple[str, str, str],
    values: Floats,
    others: Floats,
    ranges: tuple[Range, Range],
    comparisons: int,
) -> Difference:
    try:
        estimate = dimension_estimate(values, others)
    except Undefined as why:
        value = float(np.nanmean(values) - np.nanmean(others))
        return Difference(*names, value, *ranges, None, None, comparisons, str(why))
    return _difference(names, estimate.value, ranges, estimate, comparisons)


def _partners(places: Sequence[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Each subject that comes first in a pair, with those it is held against."""
    return [
        (start, [b for a, b in places if a == start]) for start in sorted({a for a, _ in places})
    ]


def _difference(
    names: tuple[str, str, str],
    value: float,
    ranges: tuple[Range, Range],
    estimate: Estimate,
    comparisons: int,
) -> Difference:
    try:
        plain, corrected = estimate.interval(), estimate.interval(ALPHA / comparisons)
    except Undefined as why:
        return Difference(*names, value, *ranges, None, None, comparisons, str(why))
    return Difference(*names, value, *ranges, plain, corrected, comparisons)


def _ranges(panel: Panel, drawn: Replicates, whole: bool) -> dict[str, dict[str, Range]]:
    """The 95% percentile ranges of each subject, by dimension and of the composite."""
    found: dict[str, dict[str, Range]] = {subject: {} for subject in panel.subjects}
    for code, values in drawn.dimensions.items():
        for subject, own in zip(panel.subjects, percentile(values), strict=True):
            found[subject][code] = own
    if whole:
        for subject, own in zip(panel.subjects, percentile(drawn.tenths), strict=True):
            found[subject][COMPOSITE] = _tenth_of(own)
    return found


def _influence(values: Floats) -> tuple[float, Floats, int]:
    """The mean, how far each item moves it, and how many items there are.

    Scaled so that the squares over n (n - 1) are the variance of the mean, missing items or not.
    """
    known = ~np.isnan(values)
    n, count = len(values), int(known.sum())
    if not count:
        raise Undefined("No item of this dimension is rated.")
    middle = float(values[known].mean())
    scale = sqrt(n * (n - 1) / (count * (count - 1))) if count > 1 else 0.0
    return middle, np.where(known, values - middle, 0.0) * scale, count


def _means(panel: Panel, code: str) -> Floats:
    """Dimension means, shape (subjects,), added from left to right as scores are."""
    own = panel.means[:, panel.items_in(code)]
    total, count = np.zeros(len(own)), np.zeros(len(own))
    for column in own.T:
        total = total + np.where(np.isnan(column), 0.0, column)
        count += ~np.isnan(column)
    return np.asarray(total / count)


def _of_pair(covariances: Floats, a: int, b: int) -> float:
    """The variance of a difference."""
    return float(covariances[a, a] + covariances[b, b] - 2 * covariances[a, b])


def _tenth_of(tenths: Range) -> Range:
    return Range(tenths.low / 10, tenths.high / 10)
