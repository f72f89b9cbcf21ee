"""What may be said of subjects that were compared: points only of those that differ from all.

A point beside a point is an order, stated or not. So a member of a group has ranges alone, and
the types here have no place where a point of one could stand. Ranges are percentile ranges: the
middle of Student's would be the point itself, and of a difference the difference itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rating.stats.scores import Label, Score
from rating.stats.separation import COMPOSITE, Difference, Separation
from rating.stats.student import Range

HUNDREDTHS: Final = 100  # a dimension has two decimals; a composite has one


@dataclass(frozen=True)
class Alone:
    """A subject that differs from every other: its points, each with its range."""

    subject: str
    label: Label
    composite: float
    composite_range: Range
    dimensions: Mapping[str, tuple[float, Range]]


@dataclass(frozen=True)
class Member:
    """A subject that cannot be told apart from another: ranges, and no point."""

    subject: str
    label: Label
    ranges: Mapping[str, Range]


@dataclass(frozen=True)
class GroupOf:
    """Members from A to Z, and the sentence that goes before any of their figures."""

    members: tuple[Member, ...]
    sentence: str


@dataclass(frozen=True)
class Withheld:
    """A subject without a composite, and why."""

    subject: str
    reason: str


@dataclass(frozen=True)
class PairStatement:
    """A declared comparison, ``a`` before ``b`` in the alphabet, a minus b.

    ``difference`` is None where either is a member of a group.
    """

    a: str
    b: str
    of: str
    difference: float | None
    range: Range
    separated: bool
    separated_corrected: bool
    reason: str


@dataclass(frozen=True)
class Statements:
    """All that may be said of the subjects of a wave, from A to Z."""

    alone: tuple[Alone, ...]
    groups: tuple[GroupOf, ...]
    withheld: tuple[Withheld, ...]
    pairs: tuple[PairStatement, ...]


def statements(scores: Sequence[Score], separation: Separation | None) -> Statements:
    """Return what may be said of some subjects.

    Parameters
    ----------
    scores : sequence of Score
        Every subject of the wave.
    separation : Separation or None
        What came of comparing those that have a composite; None where none has one.

    Raises
    ------
    ValueError
        If a subject that was compared has no composite, or one with a composite was left out.
    """
    by_name = {score.subject: score for score in scores}
    withheld = tuple(
        Withheld(score.subject, score.withheld)
        for score in sorted(scores, key=lambda score: score.subject)
        if score.composite is None
    )
    compared = set(separation.subjects) if separation else set()
    if strange := compared ^ {score.subject for score in scores if score.composite is not None}:
        raise ValueError(
            f"Those with a composite are compared, and only those: see {', '.join(sorted(strange))}."
        )
    if separation is None:
        return Statements((), (), withheld, ())
    return Statements(
        tuple(_alone(by_name[name], separation) for name in separation.alone),
        tuple(
            GroupOf(
                tuple(_member(by_name[name], separation) for name in group.members), group.sentence
            )
            for group in separation.groups
        ),
        withheld,
        tuple(
            sorted(
                (
                    _pair(found, separation)
                    for found in separation.pairs + separation.dimension_pairs
                ),
                key=lambda pair: (pair.a, pair.b),
            )
        ),
    )


def _alone(score: Score, separation: Separation) -> Alone:
    if score.composite is None:
        raise ValueError(f"{score.subject} has no composite.")
    ranges = separation.ranges[score.subject]
    return Alone(
        score.subject,
        score.label,
        score.composite,
        ranges[COMPOSITE],
        {
            code: (_printed(score.dimensions[code].value), _shown(code, own))
            for code, own in ranges.items()
            if code != COMPOSITE
        },
    )


def _member(score: Score, separation: Separation) -> Member:
    ranges = separation.ranges[score.subject]
    return Member(
        score.subject, score.label, {code: _shown(code, own) for code, own in ranges.items()}
    )


def _pair(found: Difference, separation: Separation) -> PairStatement:
    turned = found.a > found.b
    a, b = sorted((found.a, found.b))
    told = {a, b} <= set(separation.alone)
    value = -found.value if turned else found.value
    return PairStatement(
        a,
        b,
        found.of,
        _printed(value) + 0.0 if told else None,
        _shown(found.of, found.percentile.mirrored if turned else found.percentile),
        found.separated,
        found.separated_corrected,
        found.reason,
    )


def _shown(of: str, own: Range) -> Range:
    return own if of == COMPOSITE else Range(_printed(own.low), _printed(own.high))


def _printed(value: float) -> float:
    """Halves up, as the published figures are."""
    return math.floor(HUNDREDTHS * value + 0.5) / HUNDREDTHS
