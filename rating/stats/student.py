"""Student's t: an estimate with its interval, whether it differs, whether it is within a margin.

Beside it what does not lean on a normal distribution: sign flips counted exactly, and Holm's way
of sharing an error rate among several tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole

ALPHA: Final = 0.05
NO_WIDTH: Final = 1e-9  # a standard error below it is what sums of doubles leave
MOST_CELLS: Final = 4_000_000  # of the distribution of a sum under sign flips


@dataclass(frozen=True)
class Range:
    """A range without a point in it."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Touching zero does not exclude it."""
        return self.low > 0 or self.high < 0

    @property
    def mirrored(self) -> "Range":
        """The range of the same difference the other way round."""
        return Range(-self.high + 0.0, -self.low + 0.0)


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, the variance of it, and the degrees of freedom of that."""

    value: float
    variance: float
    freedom: float

    @property
    def error(self) -> float:
        """The standard error. ``Undefined`` where it is none."""
        if self.variance < NO_WIDTH**2:
            raise Undefined(
                "All values are the same, and a range of no width would claim certainty."
            )
        return sqrt(self.variance)

    def interval(self, alpha: float = ALPHA) -> Range:
        """Student's interval, 95% by default."""
        from scipy.special import stdtrit  # slow to load; scipy.stats is slower yet

        half = -float(stdtrit(self.freedom, alpha / 2)) * self.error
        return Range(self.value - half, self.value + half)

    def p_above(self, bound: float) -> float:
        """One-sided p of the null that the truth is ``bound`` or below."""
        from scipy.special import stdtr

        return float(stdtr(self.freedom, (bound - self.value) / self.error))

    def p_below(self, bound: float) -> float:
        """One-sided p of the null that the truth is ``bound`` or above."""
        from scipy.special import stdtr

        return float(stdtr(self.freedom, (self.value - bound) / self.error))

    def p_differs(self, null: float = 0.0) -> float:
        """Two-sided p of the null that the truth is ``null``."""
        return 2 * min(self.p_above(null), self.p_below(null))

    def p_within(self, margin: float) -> float:
        """p of two one-sided tests: the null is a truth ``margin`` from zero or further.

        At 0.05 it is the 90% interval lying within the margin (Schuirmann 1987).
        """
        return max(self.p_above(-margin), self.p_below(margin))


def mean_of(values: Floats, *, fewest_spread: float = 0.0) -> Estimate:
    """Return the mean of independent values.

    Parameters
    ----------
    values : array, shape (n,)
        Such as the differences of pairs.
    fewest_spread : float
        The standard deviation to take where the values show a smaller one.

    Raises
    ------
    Undefined
        If there are fewer than two.
    """
    n = len(values)
    if n < 2:
        raise Undefined(f"It takes at least two values to judge a mean by; there are {n}.")
    spread = max(float(np.std(values, ddof=1)), fewest_spread)
    return Estimate(float(np.mean(values)), spread**2 / n, n - 1)


def welch(a: Floats, b: Floats) -> Estimate:
    """Return the difference of two independent means whose variances may differ (Welch 1947)."""
    one, other = mean_of(a), mean_of(b)
    return combined([one, Estimate(-other.value, other.variance, other.freedom)])


def pooled(a: Floats, b: Floats) -> Estimate:
    """Return the difference of two independent means whose variances are taken as one."""
    one, other = mean_of(a), mean_of(b)
    freedom = one.freedom + other.freedom
    squares = one.variance * len(a) * one.freedom + other.variance * len(b) * other.freedom
    return Estimate(one.value - other.value, squares / freedom * (1 / len(a) + 1 / len(b)), freedom)


def combined(parts: Sequence[Estimate]) -> Estimate:
    """Return the sum of independent estimates, degrees of freedom after Satterthwaite (1946)."""
    variance = sum(part.variance for part in parts)
    below = sum(part.variance**2 / part.freedom for part in parts)
    freedom = variance**2 / below if below > 0 else sum(part.freedom for part in parts)
    return Estimate(sum(part.value for part in parts), variance, freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for there being several, in the order given (Holm 1979)."""
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda own: p_values[own])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = least
    return adjusted


def sign_flip_p(differences: Whole) -> float:
    """Return the exact two-sided p of a sum of whole differences when any may have either sign.

    Ties and zeros are what they are: every way to flip the signs is counted, by adding one
    difference after another to the distribution of the sum. With the signs of differences it is
    the sign test, with their signed ranks Wilcoxon's.

    Parameters
    ----------
    differences : array, shape (n,)
        Whole numbers, such as gaps of a pair in ratings.

    Raises
    ------
    Undefined
        If all differences are zero, or their sum is too large to be counted through.
    """
    own = np.abs(np.asarray(differences, dtype=np.int64))
    total = int(own.sum())
    if not total:
        raise Undefined("No pair differs.")
    if total > MOST_CELLS:
        raise Undefined(f"The differences sum to {total:,}, which is too many to count through.")
    ways = np.zeros(2 * total + 1)
    ways[total] = 1.0
    for size in own[own > 0]:
        up, down = np.zeros_like(ways), np.zeros_like(ways)
        up[size:], down[:-size] = ways[:-size], ways[size:]
        ways = (up + down) / 2
    reached = abs(int(np.sum(differences)))
    sums = np.abs(np.arange(-total, total + 1))
    return min(1.0, float(ways[sums >= reached].sum()))
