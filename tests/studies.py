"""Studies made up with known truth: subjects, items, trials, and raters who differ in severity.

A level is what a reply deserves, moved by the rater's severity and by chance, and cut to the scale.
Every study has raters with severities. ``even`` says whether the raters come to all subjects, or
arms, alike, as the queue sees to it, or each to one more than to the others.
"""

from dataclasses import dataclass

import numpy as np

from rating.stats.resampling import Panel
from rating.stats.scores import ORDER

SIZES = (11, 10, 10, 11, 11, 10, 10, 10)
DIMENSIONS = tuple(code for code, size in zip(ORDER, SIZES, strict=True) for _ in range(size))


@dataclass(frozen=True)
class World:
    """What is so, on the scale of levels: standard deviations, and how many there are."""

    between_items: float = 0.7
    subject_by_item: float = 0.5
    between_trials: float = 0.3
    severity: float = 0.4
    noise: float = 0.4
    trials: int = 3
    raters: int = 8
    even: bool = True


def panel(chance, means, world=World(), dimensions=DIMENSIONS, scale=(1, 5)):
    """Item means of subjects whose true mean in each dimension is ``means``.

    ``means`` has shape (subjects,) or (subjects, 8).
    """
    means = np.asarray(means, dtype=float)
    if means.ndim == 1:
        means = np.repeat(means[:, None], len(ORDER), axis=1)
    places = np.array([ORDER.index(code) for code in dimensions])
    items, subjects = len(dimensions), len(means)
    truth = means[:, places] + chance.normal(0, world.between_items, items)
    truth = truth + chance.normal(0, world.subject_by_item, (subjects, items))
    replies = truth[..., None] + chance.normal(
        0, world.between_trials, (subjects, items, world.trials)
    )
    groups = np.broadcast_to(np.arange(subjects)[:, None, None], replies.shape)
    levels = rated(chance, replies, groups, world, scale)
    return Panel(
        tuple(f"subject {number}" for number in range(subjects)),
        tuple(dimensions),
        levels.mean(axis=(2, 3)),
    )


def rated(chance, replies, groups, world, scale):
    """Two ratings of each reply, by two raters of a pool, shape (..., 2)."""
    severities = chance.normal(0, world.severity, world.raters)
    raters = _two_of(chance, replies.shape, groups, world)
    wanted = replies[..., None] + severities[raters]
    wanted = wanted + chance.normal(0, world.noise, wanted.shape)
    return np.clip(np.rint(wanted), *scale)


def _two_of(chance, shape, groups, world):
    """The numbers of two different raters for each reply."""
    keys = chance.random((*shape, world.raters))
    if not world.even:
        # Every rater is three times likelier to come to the group of their own number.
        own = np.arange(world.raters) % (int(groups.max()) + 1) == groups[..., None]
        keys = keys ** np.where(own, 3.0, 1.0)
    return np.argpartition(keys, 2, axis=-1)[..., :2]
