"""How much a plan could show, told before it is locked: interval widths, and power for parity.

Plain NumPy and SciPy. All standard deviations are in levels of the scale.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

RATINGS: Final = 2  # of each response
PAIRS: Final = (4, 6, 8, 10, 15, 20)
TRIALS: Final = (1, 3, 5, 10)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


@dataclass(frozen=True)
class Spread:
    """How ratings are taken to vary, before there are any: standard deviations in levels.

    ``items``: between the true means of a dimension's items; ``pairs``: between the true gaps of a
    chamber's pairs; ``trials``: between replies to one item; ``raters``: of one rating of a reply.
    """

    items: float = 0.8
    pairs: float = 0.2
    trials: float = 0.5
    raters: float = 0.6

    def of_reply(self) -> float:
        """The variance of a reply's mean rating about its item's true mean."""
        return self.trials**2 + self.raters**2 / RATINGS

    def of_item(self, trials: int) -> float:
        """The standard deviation of one item's mean over its trials."""
        return float(np.sqrt(self.items**2 + self.of_reply() / trials))

    def of_gap(self, trials: int) -> float:
        """The standard deviation of one pair's gap: two arms, each over its trials."""
        return float(np.sqrt(self.pairs**2 + 2 * self.of_reply() / trials))


ASSUMED: Final = Spread()


def half_width(deviation: float, n: int, coverage: float = 0.95) -> float:
    """Half of the t interval of a mean of ``n`` values; ``n`` is at least 2.

    Raises
    ------
    ValueError
        If there are fewer than two values: they tell nothing of their spread.
    """
    if n < 2:
        raise ValueError(f"{n} values tell nothing of their spread: there must be at least 2.")
    return float(special.stdtrit(n - 1, (1 + coverage) / 2) * deviation / np.sqrt(n))


def tost_power(
    gap: float, error: float, freedom: float, margin: float, alpha: float = 0.05
) -> float:
    """The probability that two one-sided t tests both reject: that parity is shown.

    Parameters
    ----------
    gap, error : float
        The true difference, and the true standard error of its estimate.
    freedom : float
        Degrees of freedom of the estimated standard error.
    margin : float
        Parity is a difference between ``-margin`` and ``margin``.

    Returns
    -------
    float
        From 0 to 1. Exact: the normal probability that the estimate lies within what an estimated
        error s leaves of the margin, integrated over the chi distribution of s.

    References
    ----------
    Schuirmann (1987), J. Pharmacokin. Biopharm. 15, 657-680; Phillips (1990), ibid. 18, 137-144.
    """
    if margin <= 0 or error < 0 or freedom <= 0:
        raise ValueError("A margin and degrees of freedom are above 0, and an error is not below.")
    if error == 0:
        return float(abs(gap) < margin)
    critical = special.stdtrit(freedom, 1 - alpha)
    # Beyond this an estimated error leaves nothing between the two tests.
    most = margin / (critical * error)
    tails = np.array([1e-13, 1 - 1e-13])
    low, high = np.sqrt(2 * special.gammaincinv(freedom / 2, tails) / freedom)
    if (high := min(most, high)) <= low:
        return 0.0
    s = low + (high - low) * (NODES + 1) / 2
    # s times the root of the degrees of freedom follows a chi distribution.
    half = freedom / 2
    log_density = (
        np.log(2) + half * np.log(half) - special.gammaln(half)
        + (freedom - 1) * np.log(s) - half * s**2
    )  # fmt: skip
    room = margin - critical * error * s
    within = special.ndtr((room - gap) / error) - special.ndtr((-room - gap) / error)
    power = (high - low) / 2 * np.sum(WEIGHTS * within * np.exp(log_density))
    return float(np.clip(power, 0.0, 1.0))


def parity_power(
    pairs: int, trials: int, *, margin: float = 0.5, gap: float = 0.0, spread: Spread = ASSUMED
) -> float:
    """The probability that a chamber of so many pairs and trials shows parity.

    With fewer than two pairs it is 0: no interval can be given.
    """
    if pairs < 2:
        return 0.0
    return tost_power(gap, spread.of_gap(trials) / np.sqrt(pairs), pairs - 1, margin)


def power_table(
    margin: float = 0.5,
    *,
    pairs: tuple[int, ...] = PAIRS,
    trials: tuple[int, ...] = TRIALS,
    spread: Spread = ASSUMED,
) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """For each number of pairs, the probability of showing parity for each number of trials."""
    return tuple(
        (n, tuple(parity_power(n, t, margin=margin, spread=spread) for t in trials)) for n in pairs
    )
