"""How alike the replies to one and the same call are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import Undefined

MOST_WORDS: Final = 500  # of each reply, in the edit distance
FEWEST_REPLIES: Final = 10


@dataclass(frozen=True)
class Sameness:
    """What ``n`` replies to the same call have in common.

    ``same_pairs`` is the share of pairs of replies that are the same to the last character.
    ``distances`` are the least, lower quartile, median, upper quartile and largest distance of a
    pair: the words to change, put in or take out, as a share of the longer reply's words.
    ``mean_words`` and ``variance_words`` are of the lengths, in words and words squared.
    """

    n: int
    distinct: int
    same_pairs: float
    distances: tuple[float, float, float, float, float]
    mean_words: float
    variance_words: float

    @property
    def sufficient(self) -> bool:
        """Whether there are as many replies as a claim asks for."""
        return self.n >= FEWEST_REPLIES


def sameness(replies: Sequence[str]) -> Sameness:
    """Return how alike replies to the same call are.

    Parameters
    ----------
    replies : sequence of str
        What came each time.

    Returns
    -------
    Sameness
        Distances are from 0 (the same words) to 1 (no word in common), of the first
        ``MOST_WORDS`` words of each reply.

    Raises
    ------
    Undefined
        If there are fewer than two replies.
    """
    n = len(replies)
    if n < 2:
        raise Undefined(f"It takes two replies to compare; {'one' if n else 'none'} came.")
    pairs = n * (n - 1) // 2
    same = sum(times * (times - 1) // 2 for times in Counter(replies).values())
    lengths = np.array([len(reply.split()) for reply in replies], dtype=np.float64)
    apart = np.quantile(distances(replies), [0, 0.25, 0.5, 0.75, 1])
    least, lower, median, upper, largest = (float(one) for one in apart)
    return Sameness(
        n=n,
        distinct=len(set(replies)),
        same_pairs=same / pairs,
        distances=(least, lower, median, upper, largest),
        mean_words=float(lengths.mean()),
        variance_words=float(lengths.var(ddof=1)),
    )


def distances(replies: Sequence[str]) -> NDArray[np.float64]:
    """The edit distance in words of each pair, over the longer one's words; shape (pairs,).

    All pairs go through the table of Wagner and Fischer side by side, a row at a time. In a row
    the cheapest way from the left is a running minimum.

    References
    ----------
    Wagner and Fischer (1974), The string-to-string correction problem. Journal of the ACM 21.
    """
    numbers: dict[str, int] = {}
    coded = [
        np.array([numbers.setdefault(word, len(numbers)) for word in reply.split()[:MOST_WORDS]])
        for reply in replies
    ]
    lengths = np.array([len(one) for one in coded])
    size = int(lengths.max(initial=0))
    if not size:
        return np.zeros(len(replies) * (len(replies) - 1) // 2)
    words = np.full((len(coded), size), -1, dtype=np.int16)
    for place, one in enumerate(coded):
        words[place, : len(one)] = one
    left, right = np.array(list(combinations(range(len(coded)), 2))).T
    steps = np.arange(size + 1, dtype=np.int16)
    row = np.tile(steps, (len(left), 1))
    found = np.zeros(len(left), dtype=np.int64)
    found[lengths[left] == 0] = lengths[right][lengths[left] == 0]
    for place in range(size):
        changed = row[:, :-1] + (words[right] != words[left, place][:, None])
        best = np.minimum(row[:, 1:] + 1, changed)
        row = np.concatenate([np.full((len(left), 1), place + 1, dtype=np.int16), best], axis=1)
        row = np.minimum.accumulate(row - steps, axis=1) + steps
        ends = lengths[left] == place + 1
        found[ends] = row[ends, lengths[right][ends]]
    longest = np.maximum(np.maximum(lengths[left], lengths[right]), 1)
    return np.asarray(found / longest)
