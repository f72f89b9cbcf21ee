"""How one rater's levels stand beside those that others gave to the same responses.

Plain means and slopes, in levels; below 0 is more severe. A standard error counts a pair of
ratings, or a reading of an agreed response, once.
"""

from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.student import NO_WIDTH, Estimate, mean_of

FEWEST_PAIRS = 10  # below, an interval would rest on a handful of responses


@dataclass(frozen=True)
class Measured:
    """A number with its 95% interval, from ``n`` pairs of ratings."""

    n: int
    value: float
    low: float
    high: float


def slope_of(values: Floats, at: Floats) -> Estimate:
    """Return the least-squares slope of ``values`` on ``at``.

    Both have one shape, (n,), with n at least 3 and ``at`` not all the same.
    """
    x, freedom = at - at.mean(), len(values) - 2
    slope = float(x @ values / (x @ x))
    left = values - values.mean() - slope * x
    return Estimate(slope, float(left @ left) / freedom / float(x @ x), freedom)


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
    found = mean_of(own - partner)
    if found.variance < NO_WIDTH**2:
        raise Undefined(f"All {len(own)} pairs differ by {found.value:+g} levels.")
    return _measured(len(own), found)


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
    noise = mean_of((shares[0] - shares[1]) / 2)
    if noise.variance < NO_WIDTH**2:
        raise Undefined("Both spread their levels alike, response by response.")
    ratio = float(own.std(ddof=1) / partner.std(ddof=1))
    span = replace(noise, value=log(ratio)).interval()
    return Measured(len(own), ratio, exp(span.low), exp(span.high))


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
    found = slope_of(own - partner, weeks)
    if found.variance < NO_WIDTH**2:
        raise Undefined(f"All {len(own)} pairs lie on one line.")
    return _measured(len(own), found)


def _measured(n: int, found: Estimate) -> Measured:
    span = found.interval()
    return Measured(n, found.value, span.low, span.high)


def _refuse_few(n: int) -> None:
    if n < FEWEST_PAIRS:
        raise Undefined(f"It takes at least {FEWEST_PAIRS} pairs of ratings; there are {n}.")
