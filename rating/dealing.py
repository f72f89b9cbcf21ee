"""Which cards check their rater: a pure function of who they are and which card of theirs it is.

The same share of checks falls on every place of an order, and an order can be replayed: nothing
but the rater and the ordinal of the card decides. A rater is named by code name and a key that
nobody knows, or they could work out for themselves which cards these are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import ceil, sqrt
from statistics import NormalDist

from rating.choice import Candidate, Seen, far_enough
from runs.canonical import draw

# With this chance, not one of the raters has had all agreed responses before their work is done.
ENOUGH = 0.95


class Deal(Enum):
    COUNTED = "counted"
    SEED = "seed"
    REPEAT = "repeat"


@dataclass(frozen=True)
class Rates:
    """How many of a hundred cards are agreed responses, and how many ones the rater had before."""

    seed: int = 0
    repeat: int = 0

    @property
    def any(self) -> bool:
        return self.seed + self.repeat > 0


def deal(rater: str, ordinal: int, rates: Rates) -> Deal:
    """What the rater's card with this number is to be, if there is something of the kind."""
    number = int.from_bytes(draw(rater, f"card {ordinal}")[:8], "big")
    share = Fraction(number, 2**64) * 100
    if share < rates.seed:
        return Deal.SEED
    if share < rates.seed + rates.repeat:
        return Deal.REPEAT
    return Deal.COUNTED


def pick(
    options: Sequence[Candidate], recent: Sequence[Seen], *, distance: int, rater: str
) -> Candidate | None:
    """One of the responses that lie far enough from the last cards, by chance."""
    return min(
        far_enough(options, recent, distance),
        key=lambda c: (draw(str(c.response), rater), c.response),
        default=None,
    )


def seeds_needed(raters: int, ratings_each: int, rate: float) -> int:
    """How many agreed responses a pool must hold, since nobody is given one twice.

    Parameters
    ----------
    raters
        How many people draw from the pool. All may be given the same ones.
    ratings_each
        How many ratings each of them gives, of whichever kind.
    rate
        The share of them that are agreed responses, from 0 to 1.

    Returns
    -------
    int
        ``rate * ratings_each``, which each needs on average, and as many more as chance may ask:
        with a probability of about 95% it suffices for every one of them (the normal approximation
        of the binomial, the probability divided among the raters). Never more than they rate.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"A rate of {rate} is not a share from 0 to 1.")
    if raters < 1 or ratings_each < 1 or rate == 0:
        return 0
    spread = sqrt(ratings_each * rate * (1 - rate))
    more = NormalDist().inv_cdf(ENOUGH ** (1 / raters)) * spread
    return min(ratings_each, ceil(rate * ratings_each + more))
