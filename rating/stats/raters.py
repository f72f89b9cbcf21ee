"""How one rater's levels stand beside those that others gave to the same responses.

Plain means and slopes, in levels; below 0 is more severe. A standard error counts a pair of
ratings, or a reading of an agreed response, once.
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np

from rating.stats.agreement import COVERAGE, Floats, Undefined, Whole

FEWEST_PAIRS = 10  # below, an interval would rest on a handful of responses
LEAST = 1e-9  # what is smaller is rounding


@dataclass(frozen=True)
class Measured:
    """A number with its 95% interval, from ``n`` pairs of ratings."""

    n: int
    value: float
    low: float
    high: float


def mean_error(values: Floats) -> tuple[float, float]:
    """Return the mean of an array of two or more, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / sqrt(len(values))


def slope_error(values: Floats, at: Floats) -> tuple[float, float]:
    """Return the least-squares slope of ``values`` on ``at``, and its standard error.

    Both have one shape, (n,), with n at least 3 and ``at`` not all the same.
    """
    x = at - at.mean()
    slope = float(x @ values / (x @ x))
    left = values - values.mean() - slope * x
    return slope, sqrt(float(left @ left) / (len(values) - 2) / float(x @ x))


def student(freedom: int) -> float:
    """How many standard errors a 95% interval reaches to each side."""
    from scipy.stats import t  # slow to load, and the queue, which needs this module, needs it not

    return float(t.ppf((1 + COVERAGE) / 2, freedom))


def partners(response: Whole, rater: Whole) -> Whole:
    """Return for each rating the place of the one it is held against; -1 where there is none.

    With two ratings of a response each is held against the other. With more, each is held against
    that of the next rater by number, and the last against the first, so that every pair is of two
    single ratings. ``response`` and ``rater`` have shape (ratings,), and so has what comes back.
    """
    order = np.lexsort((rater, response))
    _, first, sizes = np.unique(response[order], return_index=True, return_counts=True)
    following = np.arange(1, len(order) + 1)
    following[first + sizes - 1] = first
    following[np.repeat(sizes, sizes) < 2] = -1
    found = np.full(len(order), -1, dtype=np.int64)
    paired = following >= 0
    found[order[paired]] = order[following[paired]]
    return found


def raw_severity(own: Floats, partner: Floats) -> Measured:
    """Return the mean of own less partner's level, with Student's interval.

    Parameters
    ----------
    own, partner : array, shape (pairs,)
        The level this rater gave, and that of another for the same response.

    Raises
    ------
    Undefined
        If there are fewer than ten pairs, or all differ alike.
    """
    _refuse_few(len(own))
    mean, error = mean_error(own - partner)
    if error < LEAST:
        raise Undefined(f"All {len(own)} pairs differ by {mean:+g} levels.")
    half = student(len(own) - 1) * error
    return Measured(len(own), mean, mean - half, mean + half)


def spread(own: Floats, partner: Floats) -> Measured:
    """Return how widely a rater spreads the levels, as a multiple of the partners' deviation.

    Below 1 they keep to a narrower part of the scale for the same responses (range restriction,
    central tendency), above 1 to a wider one. The interval is by the delta method on the log of
    the ratio of two paired variances, which asks for no normal distribution.

    Raises
    ------
    Undefined
        If there are fewer than ten pairs, or either side gave one level alone.
    """
    _refuse_few(len(own))
    for who, levels in (("This rater", own), ("The partners", partner)):
        if not np.ptp(levels):
            raise Undefined(f"{who} gave the level {levels[0]:g} every time.")
    shares = [(x - x.mean()) ** 2 / x.var(ddof=1) for x in (own, partner)]
    _, error = mean_error((shares[0] - shares[1]) / 2)
    if error < LEAST:
        raise Undefined("Both spread their levels alike, response by response.")
    ratio = float(own.std(ddof=1) / partner.std(ddof=1))
    reach = exp(student(len(own) - 1) * error)
    return Measured(len(own), ratio, ratio / reach, ratio * reach)


def drift(own: Floats, partner: Floats, weeks: Floats) -> Measured:
    """Return how much own less partner's level moves in a week, with Student's interval.

    ``weeks`` is when this rater gave each level. The partners may drift too: many partners even
    that out, and agreed responses do not have it.

    Raises
    ------
    Undefined
        If there are fewer than ten pairs, they lie within two weeks, or on one line.
    """
    _refuse_few(len(own))
    if np.ptp(weeks) < 2:
        raise Undefined("It takes at least 14 days between first and last.")
    slope, error = slope_error(own - partner, weeks)
    if error < LEAST:
        raise Undefined(f"All {len(own)} pairs lie on one line.")
    half = student(len(own) - 2) * error
    return Measured(len(own), slope, slope - half, slope + half)


def _refuse_few(n: int) -> None:
    if n < FEWEST_PAIRS:
        raise Undefined(f"It takes at least {FEWEST_PAIRS} pairs of ratings; there are {n}.")
