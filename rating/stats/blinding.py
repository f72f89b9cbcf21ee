"""Whether raters can tell who made what they rate.

Every function takes one number for each answer: ``guesses``, the maker that was guessed, or -1
for "I don't know", and ``makers``, the true one. What the answers leave open is ``Undefined``.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import Undefined, generator

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

UNKNOWN: Final = -1
DRAWS: Final = 10_000
CELLS: Final = 2_000_000  # numbers held at once while makers are permuted
Z: Final = 1.959963984540054  # of a 95% interval
WRONG: Final = 0.5  # what a wrong guess weighs in James' index, of 1 for "I don't know"
RATER_BITS: Final = 20  # of the 64 that an answer is sorted by; chance has the others
NO_WIDTH: Final = "All answers are alike, and an interval of no width would claim certainty."


@dataclass(frozen=True)
class Share:
    """A share from 0 to 1 of ``n`` answers, with a 95% interval."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Index:
    """An index of ``n`` answers and its standard error. ``span`` is the scale it lies on."""

    value: float
    error: float
    n: int
    span: tuple[float, float]

    def interval(self) -> tuple[float, float]:
        """The normal 95% interval, cut at the ends of the scale; ``Undefined`` without a width."""
        if self.error < 1e-12:
            raise Undefined(NO_WIDTH)
        low, high = self.value - Z * self.error, self.value + Z * self.error
        return max(low, self.span[0]), min(high, self.span[1])


@dataclass(frozen=True)
class Permuted:
    """How many guesses were right, how many chance would give, and how often it gives as many."""

    right: int
    expected: float
    p: float
    draws: int


def share_right(guesses: Whole, makers: Whole) -> Share:
    """Return the share of right guesses among those who guessed.

    Parameters
    ----------
    guesses : array, shape (answers,)
        The maker guessed, -1 for "I don't know".
    makers : array, shape (answers,)
        The true maker.

    Returns
    -------
    Share
        From 0 to 1, of the answers that are a guess. Its Wilson interval takes each answer to
        stand alone.

    Raises
    ------
    Undefined
        If nobody guessed.
    """
    guesses, makers = _checked(guesses, makers)
    guessed = guesses != UNKNOWN
    if not guessed.any():
        raise Undefined("Nobody guessed.")
    return _share(int((guesses == makers)[guessed].sum()), int(guessed.sum()))


def share_unknown(unknown: int, answered: int) -> Share:
    """Return the share of answers that are "I don't know"; ``Undefined`` where there are none."""
    if not answered:
        raise Undefined("Nobody has answered.")
    return _share(unknown, answered)


def permutation_test(
    raters: Whole, guesses: Whole, makers: Whole, *, seed: str, draws: int = DRAWS
) -> Permuted:
    """Compare the number of right guesses with what it is when makers are dealt anew.

    The null: what somebody answers has nothing to do with who made the response. So the true
    makers are permuted among all the responses that one rater was asked about and answered, those
    with "I don't know" among them, while the answers stay. A rater's liking for a name, and how
    often each maker came to them, are kept. Raters are permuted apart from each other, so that two
    who answer alike about one response, for what it says, count as if by chance.

    Parameters
    ----------
    raters : array, shape (answers,)
        Who answered.
    guesses : array, shape (answers,)
        The maker guessed, -1 for "I don't know".
    makers : array, shape (answers,)
        The true maker.
    seed : str
        What the permutations are drawn from: raw words of its generator alone.
    draws : int
        How many permutations are drawn.

    Returns
    -------
    Permuted
        ``expected`` is the exact mean under the null; ``p`` is (1 + hits) / (1 + draws), where a
        hit has at least as many right as there were.

    Raises
    ------
    Undefined
        If nobody has answered, or every permutation gives the same number.

    References
    ----------
    Phipson and Smyth (2010), Permutation p-values should never be zero.
    """
    guesses, makers = _checked(guesses, makers)
    raters = np.asarray(raters, dtype=np.int64)
    if raters.shape != guesses.shape:
        raise ValueError(f"There are {len(raters)} raters for {len(guesses)} answers.")
    if draws < 1:
        raise ValueError(f"A permutation test needs at least 1 draw, not {draws}.")
    if not len(guesses):
        raise Undefined("Nobody has answered.")
    _, numbers = np.unique(raters, return_inverse=True)
    if numbers.max() >= 2**RATER_BITS:
        raise ValueError(f"There are more than {2**RATER_BITS:,} raters.")
    right = int((guesses == makers).sum())
    moving = np.zeros(len(guesses), dtype=bool)
    expected = 0.0
    for rater in range(int(numbers.max()) + 1):
        own = np.flatnonzero(numbers == rater)
        mean, moves = _expected(guesses[own], makers[own])
        expected += mean
        moving[own] = moves
    if not moving.any():
        raise Undefined(
            "No rater both met different makers and answered differently, so that dealing the "
            "makers anew changes nothing."
        )
    still = int((guesses == makers)[~moving].sum())
    order = np.flatnonzero(moving)[np.argsort(numbers[moving], kind="stable")]
    hits = _hits(numbers[order], guesses[order], makers[order], right - still, seed, draws)
    return Permuted(right, expected, (1 + hits) / (1 + draws), draws)


def bang_index(guesses: Whole, makers: Whole, maker: int) -> Index:
    """Return Bang's blinding index of one maker, as right against wrong.

    The published index knows two arms, so that a wrong guess names the other one. Here a wrong
    guess names any other maker. Blind guessing among more than two makers is wrong more often
    than right, so that it lies below 0; what chance gives is what ``permutation_test`` expects.

    Parameters
    ----------
    guesses : array, shape (answers,)
        The maker guessed, -1 for "I don't know".
    makers : array, shape (answers,)
        The true maker.
    maker : int
        Whose responses are looked at.

    Returns
    -------
    Index
        From -1 (all wrong) to 1 (all right): (right - wrong) / n, where n counts "I don't know"
        too. That is (2 r / (r + w) - 1) (r + w) / n. Its error takes answers to stand alone.

    Raises
    ------
    Undefined
        If nobody answered about a response of this maker.

    References
    ----------
    Bang, Ni and Davis (2004), Assessment of blinding in clinical trials. Controlled Clinical
    Trials 25, 143-156.
    """
    guesses, makers = _checked(guesses, makers)
    about = guesses[makers == maker]
    n = len(about)
    if not n:
        raise Undefined("Nobody has answered about a response of this maker.")
    right = float((about == maker).mean())
    wrong = float(((about != maker) & (about != UNKNOWN)).mean())
    variance = (right * (1 - right) + wrong * (1 - wrong) + 2 * right * wrong) / n
    return Index(right - wrong, math.sqrt(variance), n, (-1.0, 1.0))


def james_index(guesses: Whole, makers: Whole) -> Index:
    """Return James' blinding index over all makers.

    With d the share of "I don't know", g = 1 - d, O the weighted share of disagreement between
    guess and maker, and E what it would be were they independent, the published
    (1 + d + g K) / 2 with K = (O/g - E/g²) / (E/g²) is d + g² O / (2 E). Right guesses weigh 0,
    wrong ones 0.5 whichever maker they name, and "I don't know" 1. The error follows by the delta
    method for counts in cells, which is the published one; it takes answers to stand alone.

    Parameters
    ----------
    guesses : array, shape (answers,)
        The maker guessed, -1 for "I don't know".
    makers : array, shape (answers,)
        The true maker.

    Returns
    -------
    Index
        From 0 (all right) over (1 + d) / 2 (guesses no better than chance) to 1 (nobody knows).
        With more than two makers, all wrong stays below 1.

    Raises
    ------
    Undefined
        If nobody has answered, or guesses and makers are all one name, so that chance alone would
        be right each time.

    References
    ----------
    James, Bloch, Lee, Kraemer and Fuller (1996), An index for assessing blindness in a
    multi-centre clinical trial. Statistics in Medicine 15, 1421-1434.
    """
    guesses, makers = _checked(guesses, makers)
    n = len(guesses)
    if not n:
        raise Undefined("Nobody has answered.")
    guessed = guesses != UNKNOWN
    if not guessed.any():
        return Index(1.0, 0.0, n, (0.0, 1.0))
    size = int(max(guesses.max(), makers.max())) + 1
    cells = np.zeros((size, size))
    np.add.at(cells, (guesses[guessed], makers[guessed]), 1 / n)
    weights = WRONG * (1 - np.eye(size))
    by_guess, by_maker = cells.sum(axis=1), cells.sum(axis=0)
    observed = float((weights * cells).sum())
    expected = float(by_guess @ weights @ by_maker)
    if expected < 1e-12:
        raise Undefined(
            "All guesses and all makers are one name, so that chance alone would be right each time."
        )
    share = float(cells.sum())
    value = 1 - share + share**2 * observed / (2 * expected)
    slopes = np.append(
        (share**2 / 2)
        * (
            weights / expected
            - observed
            * ((weights @ by_maker)[:, None] + (by_guess @ weights)[None, :])
            / expected**2
        ),
        1 - share * observed / expected,
    )
    shares = np.append(cells, 1 - share)
    variance = float(shares @ slopes**2 - (shares @ slopes) ** 2) / n
    return Index(value, math.sqrt(max(0.0, variance)), n, (0.0, 1.0))


def _checked(guesses: Whole, makers: Whole) -> tuple[Whole, Whole]:
    guesses = np.asarray(guesses, dtype=np.int64)
    makers = np.asarray(makers, dtype=np.int64)
    if guesses.shape != makers.shape or guesses.ndim != 1:
        raise ValueError(f"There are {guesses.size} guesses for {makers.size} makers.")
    if (makers < 0).any() or (guesses < UNKNOWN).any():
        raise ValueError("A maker is a number from 0; a guess is one too, or -1.")
    return guesses, makers


def _share(count: int, n: int) -> Share:
    """Wilson's interval, which has a width even for none and for all."""
    share, z2 = count / n, Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Share(share, max(0.0, middle - reach), min(1.0, middle + reach), n)


def _expected(guesses: Whole, makers: Whole) -> tuple[float, bool]:
    """The mean number right over all permutations of one rater, and whether any two differ."""
    names, met = np.unique(makers, return_counts=True)
    said = (guesses[:, None] == names[None, :]).sum(axis=0)
    # Answers that name nobody the rater met are all the same to every permutation.
    one_answer = max(int(said.max()), len(guesses) - int(said.sum())) == len(guesses)
    return float(said @ met) / len(guesses), len(names) > 1 and not one_answer


def _hits(raters: Whole, guesses: Whole, makers: Whole, right: int, seed: str, draws: int) -> int:
    """How many of the draws have at least ``right`` right. ``raters`` stand in order."""
    words = generator(seed).bit_generator
    high = raters.astype(np.uint64) << np.uint64(64 - RATER_BITS)
    batch = max(1, CELLS // len(raters))
    hits = 0
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        chance = words.random_raw(size * len(raters)).reshape(size, len(raters))
        # Sorted by rater first and chance second: the makers of each rater change places.
        order = np.argsort(high | (chance >> np.uint64(RATER_BITS)), axis=1, kind="stable")
        hits += int(((makers[order] == guesses).sum(axis=1) >= right).sum())
    return hits
