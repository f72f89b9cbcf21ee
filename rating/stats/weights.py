"""How much two levels agree, from 0 for the two ends of the scale to 1 for the same level.

Each function takes the number of levels of the whole scale, used or not, and returns an array of
shape (levels, levels). Levels count by their place on the scale: a level that nobody used keeps
its place, so it never changes what the others weigh.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from rating.stats.agreement import Floats


def identity(n_levels: int) -> Floats:
    """1 for the same level and else 0: levels as mere names."""
    return np.eye(n_levels)


def linear(n_levels: int) -> Floats:
    """1 - d / (q - 1) for levels d places apart of q. Cicchetti and Allison (1971)."""
    return 1 - _apart(n_levels) / max(1, n_levels - 1)


def quadratic(n_levels: int) -> Floats:
    """1 - (d / (q - 1))^2 for levels d places apart of q. Fleiss and Cohen (1973)."""
    return np.asarray(1 - (_apart(n_levels) / max(1, n_levels - 1)) ** 2)


def ordinal(n_levels: int) -> Floats:
    """1 - C(d + 1, 2) / C(q, 2) for levels d places apart of q. Gwet (2014), chapter 3.

    These are not Krippendorff's ordinal differences, which depend on how often each level was
    chosen.
    """
    apart = _apart(n_levels)
    return np.asarray(1 - apart * (apart + 1) / max(1, n_levels * (n_levels - 1)))


WEIGHTS: Final[dict[str, Callable[[int], Floats]]] = {
    "identity": identity,
    "linear": linear,
    "quadratic": quadratic,
    "ordinal": ordinal,
}


def _apart(n_levels: int) -> Floats:
    places = np.arange(n_levels, dtype=np.float64)
    return np.asarray(np.abs(places[:, None] - places))
