"""Simulated studies whose truth is known, severities of raters drawn anew in every one.

Eighty items are asked three times each; two of eight raters rate each response. An item has a
quality of its own and each response to it differs from that; a rater has a severity; levels follow
the rating-scale model. So every number that is published of a study has a true value: with these
raters and items, with these raters and other items, or with others of both.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_hermitenorm

from rating.stats.agreement import generator

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
STEPS = (-1.5, -0.5, 0.5, 1.5)
ITEMS, TRIALS, RATERS, EACH = 80, 3, 8, 2
OF_ITEM, OF_RESPONSE, OF_RATER = 0.9, 0.9, 0.4  # deviations, in logits
SQUARES = 1 - (np.subtract.outer(SCALE, SCALE) / (SCALE[-1] - SCALE[0])) ** 2
NODES, WEIGHTS = roots_hermitenorm(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True, eq=False)  # a study is itself alone, so that what it gave can be kept
class Study:
    """Ratings as rows, and what they were drawn from."""

    number: int
    severity: Floats
    item_quality: Floats
    item: Whole
    response: Whole
    rater: Whole
    place: Whole
    weeks: Floats

    @classmethod
    def draw(cls, number: int, *, raters: int = RATERS) -> "Study":
        random = generator(f"coverage|{number}")
        severity = random.normal(0, OF_RATER, raters)
        items = random.normal(0, OF_ITEM, ITEMS)
        item = np.repeat(np.arange(ITEMS), TRIALS)
        quality = items[item] + random.normal(0, OF_RESPONSE, len(item))
        rater = random.random((len(item), raters)).argsort(axis=1)[:, :EACH].ravel()
        response = np.repeat(np.arange(len(item)), EACH)
        heaps = shares(quality[response] - severity[rater]).cumsum(axis=-1)
        place = (heaps < random.random((len(response), 1))).sum(axis=1)
        weeks = 6 * random.random(len(response))
        return cls(number, severity, items, item[response], response, rater, place, weeks)

    @property
    def levels(self) -> Floats:
        return np.array(SCALE)[self.place]

    @cached_property
    def these_items(self) -> "Truth":
        """These raters, other responses to these items."""
        at = self.item_quality[:, None] + OF_RESPONSE * NODES
        weights = np.broadcast_to(WEIGHTS / len(at), at.shape)
        return Truth.of(at.ravel(), weights.ravel(), self.severity)

    @cached_property
    def other_items(self) -> "Truth":
        """These raters, responses to other items."""
        deviation = (OF_ITEM**2 + OF_RESPONSE**2) ** 0.5
        return Truth.of(deviation * NODES, WEIGHTS, self.severity)

    @property
    def other_raters(self) -> "Truth":
        """Other raters and responses to other items."""
        return of_others()


@dataclass(frozen=True)
class Truth:
    """What endless ratings by these raters would give.

    ``by_rater``, shape (raters, levels), has the share of each level. ``together``, shape (levels,
    levels), is how often two different raters of one response give these two levels.
    """

    by_rater: Floats
    together: Floats

    @classmethod
    def of(cls, quality: Floats, weights: Floats, severity: Floats) -> "Truth":
        each = shares(quality[:, None] - severity)  # (nodes, raters, levels)
        every = each.sum(axis=1)
        both = np.einsum("q,qk,ql->kl", weights, every, every)
        same = np.einsum("q,qrk,qrl->kl", weights, each, each)
        n = len(severity)
        return cls(np.einsum("q,qrk->rk", weights, each), (both - same) / (n * (n - 1)))

    @property
    def mean_levels(self) -> Floats:
        """The mean level each rater gives, shape (raters,)."""
        return np.asarray(self.by_rater @ np.array(SCALE))

    @property
    def exact(self) -> float:
        return float(np.trace(self.together))

    @property
    def within_one(self) -> float:
        scale = np.array(SCALE)
        return float(self.together[np.abs(scale[:, None] - scale) <= 1].sum())

    @property
    def _margin(self) -> Floats:
        return np.asarray(self.together.sum(axis=0))

    def _alpha(self, apart: Floats) -> float:
        return float(1 - (self.together * apart).sum() / (self._margin @ apart @ self._margin))

    @property
    def nominal_alpha(self) -> float:
        return self._alpha(1 - np.eye(len(SCALE)))

    @property
    def interval_alpha(self) -> float:
        return self._alpha(np.subtract.outer(SCALE, SCALE) ** 2)

    @property
    def ordinal_alpha(self) -> float:
        ranks = np.cumsum(self._margin) - self._margin / 2
        return self._alpha((ranks[:, None] - ranks) ** 2)

    def _corrected(self, weights: Floats, by_chance: float) -> float:
        observed = float((weights * self.together).sum())
        return (observed - by_chance) / (1 - by_chance)

    def _gwet(self, weights: Floats) -> float:
        q = len(SCALE)
        spread = float((self._margin * (1 - self._margin)).sum())
        return self._corrected(weights, float(weights.sum()) / (q * (q - 1)) * spread)

    @property
    def ac1(self) -> float:
        return self._gwet(np.eye(len(SCALE)))

    @property
    def ac2(self) -> float:
        """With quadratic weights."""
        return self._gwet(SQUARES)

    @property
    def fleiss(self) -> float:
        return self._corrected(np.eye(len(SCALE)), float(self._margin @ self._margin))

    @property
    def kappa(self) -> float:
        """Cohen's, of two raters, with quadratic weights."""
        first, second = self.by_rater
        return self._corrected(SQUARES, float(first @ SQUARES @ second))

    @property
    def icc_3(self) -> float:
        """Of two raters: their covariance by the mean of their variances."""
        scale = np.array(SCALE)
        first, second = self.mean_levels
        squares = (self.by_rater @ scale**2).mean() - (first**2 + second**2) / 2
        return float((scale @ self.together @ scale - first * second) / squares)

    @property
    def spread_of_first(self) -> float:
        """The deviation of the first rater's levels by that of whoever rates beside them."""
        beside = self.by_rater[1:].mean(axis=0)
        scale = np.array(SCALE)
        first, others = (
            float(share @ scale**2 - (share @ scale) ** 2) for share in (self.by_rater[0], beside)
        )
        return (first / others) ** 0.5


@cache
def of_others() -> Truth:
    """Other items and other raters: two of endlessly many, as if by one rater of mean shares."""
    deviation = (OF_ITEM**2 + OF_RESPONSE**2) ** 0.5
    quality = deviation * NODES
    mean = np.einsum("s,qsk->qk", WEIGHTS, shares(quality[:, None] - OF_RATER * NODES))
    return Truth(
        np.einsum("q,qk->k", WEIGHTS, mean)[None, :],
        np.einsum("q,qk,ql->kl", WEIGHTS, mean, mean),
    )


def variances() -> Floats:
    """The true variances of items, responses, raters and the rest, in squared levels."""
    scale = np.array(SCALE)
    at = OF_ITEM * NODES[:, None, None] + OF_RESPONSE * NODES[:, None] - OF_RATER * NODES
    each = shares(at)
    mean = each @ scale  # (items, responses, raters)
    whole = np.einsum("i,j,s,ijsk->k", WEIGHTS, WEIGHTS, WEIGHTS, each)
    total = whole @ scale**2 - (whole @ scale) ** 2
    of_response = mean @ WEIGHTS
    of_item = of_response @ WEIGHTS
    of_rater = np.einsum("i,j,ijs->s", WEIGHTS, WEIGHTS, mean)
    item, rater = (_variance(one) for one in (of_item, of_rater))
    squared = np.einsum("i,j,ij->", WEIGHTS, WEIGHTS, of_response**2)
    response = squared - np.einsum("i,j,ij->", WEIGHTS, WEIGHTS, of_response) ** 2 - item
    return np.array([item, response, rater, total - item - response - rater])


def shares(place: Floats) -> Floats:
    """The share of each level, in a last axis of its own, where a rating stands at ``place``."""
    scores = np.arange(len(SCALE))
    logits = scores * place[..., None] - np.append(0, np.cumsum(STEPS))
    found = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def _variance(values: Floats) -> float:
    return float(WEIGHTS @ values**2 - (WEIGHTS @ values) ** 2)
