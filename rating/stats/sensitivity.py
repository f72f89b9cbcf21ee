"""Whether a subject that was altered on purpose moves the way it should."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined
from rating.stats.verdict import Outcome

ALPHA: Final = 0.05
LEAST: Final = 0.5  # levels; a subject altered on purpose should move by so much
FEWEST_ITEMS: Final = 10
DIRECTIONS: Final = {"lower": -1.0, "higher": 1.0}


@dataclass(frozen=True)
class Sensitivity:
    """How far the levels of an altered subject moved in the declared direction, over ``n`` items.

    ``moved`` is in levels, positive where it went as declared. ``low`` and ``high`` are one-sided
    95% limits: it moved by more than ``low``, and by less than ``high``. ``p`` is of "not at all,
    or the other way".
    """

    outcome: Outcome
    missing: str
    n: int
    moved: float
    low: float
    high: float
    p: float
    least: float


def sensitivity(
    plain: Floats, altered: Floats, *, expected: str, least: float = LEAST
) -> Sensitivity:
    """Compare the altered subject with the plain one, item by item.

    *Holds* if it moved in the declared direction beyond chance. *Refuted* if it did not, and its
    limit shows that it moved by less than ``least``. All else *cannot be told yet*.

    Parameters
    ----------
    plain, altered : array, shape (items,)
        The mean level of each item, under the plain and under the altered condition.
    expected : str
        "lower" or "higher", as declared before anything was asked.
    least : float
        In levels, declared beforehand.

    Returns
    -------
    Sensitivity
        Over the items, which stand for items like these: by a paired one-sided t with n - 1
        degrees of freedom.

    Raises
    ------
    Undefined
        If there are fewer than two items, or all moved by the same, so that there is no error.
    ValueError
        If the shapes differ, or the direction is neither.

    References
    ----------
    Student (1908), The probable error of a mean. Biometrika 6, 1-25.
    """
    from scipy.stats import t  # slow to load

    if expected not in DIRECTIONS:
        raise ValueError(f"A direction is lower or higher, not {expected!r}.")
    plain, altered = np.asarray(plain, dtype=np.float64), np.asarray(altered, dtype=np.float64)
    if plain.shape != altered.shape or plain.ndim != 1:
        raise ValueError(
            f"There are {plain.size} items in one condition and {altered.size} in the other."
        )
    n = len(plain)
    if n < 2:
        raise Undefined(f"It takes at least two items rated under both conditions; there are {n}.")
    moves = DIRECTIONS[expected] * (altered - plain)
    deviation = float(moves.std(ddof=1))
    if deviation < 1e-9:
        raise Undefined(
            f"All {n} items moved by {moves[0]:+.2g} levels, so that there is no error to judge it by."
        )
    error, moved = deviation / sqrt(n), float(moves.mean())
    reach = float(t.ppf(1 - ALPHA, n - 1)) * error
    outcome = Outcome.OPEN
    if n >= FEWEST_ITEMS and moved - reach > 0:
        outcome = Outcome.HOLDS
    elif n >= FEWEST_ITEMS and moved + reach < least:
        outcome = Outcome.REFUTED
    return Sensitivity(
        outcome=outcome,
        missing=_missing(n, deviation, least) if outcome is Outcome.OPEN else "",
        n=n,
        moved=moved,
        low=moved - reach,
        high=moved + reach,
        p=float(t.sf(moved / error, n - 1)),
        least=least,
    )


def items_needed(deviation: float, least: float) -> int:
    """How many items decide it 9 times in 10, where it moved by ``least`` or not at all.

    By the normal approximation, with the standard deviation of the moves, and two more items for
    t. Never fewer than ``FEWEST_ITEMS``.
    """
    from scipy.stats import norm

    reach = float(norm.ppf(1 - ALPHA) + norm.ppf(0.9))
    return max(FEWEST_ITEMS, ceil((reach * deviation / least) ** 2) + 2)


def _missing(n: int, deviation: float, least: float) -> str:
    needed = items_needed(deviation, least)
    if needed > n:
        return f"{needed} items rated under both conditions would decide it 9 times in 10; there are {n}."
    return f"More items or trials: these {n} items came out between 0 and {least:g} levels."
