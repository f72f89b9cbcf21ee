"""Models that judge beside the people who rated the same responses: read against people, not alone.

A judge's level is held against each of the two raters of a response in turn, and the two raters are
held against each other on the same responses, with the same coefficients. So what is found says how
a judge would do in the place of one of two people. Nothing here is a score, and nothing enters one.

All take rows: a row for each judgement of a response that two people rated. A response with several
judgements counts once, each of its rows for its share. Errors are by leaving out one response, or
one item with all its responses, at a time (the jackknife), with Student's t.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import (
    COVERAGE,
    Coefficient,
    Estimate,
    Floats,
    Patterns,
    Undefined,
    Whole,
    alpha_for_ordinal,
    checked_scale,
    exact_share,
    within_one_share,
)
from rating.stats.chance import coefficient, gwet_chance
from rating.stats.length import Slope, within_slope
from rating.stats.student import holm
from rating.stats.weights import ordinal

FEWEST_RESPONSES: Final = 30  # as agreement among people asks for
FEWEST_ITEMS: Final = 10  # below, an interval by item rests on a handful
FEWEST_OF_ITEM: Final = 3  # responses to one item, before it is said to be judged otherwise
FEWEST_ITEMS_BESIDE: Final = 2  # that one is held against
NO_WIDTH: Final = 1e-9
ONE_LEVEL: Final = "All these levels are the same."
NOTHING: Final = "No judged response has two ratings by people."


@dataclass(frozen=True)
class Both:
    """One number with the interval that drawing other responses gives, and other items."""

    by_response: Estimate | None
    by_item: Estimate | None
    reason: str = ""

    @property
    def value(self) -> float | None:
        return self.by_response.value if self.by_response else None


@dataclass(frozen=True)
class Measure:
    """One coefficient: between a judge and a rater, between two raters, and the first less the second."""

    judge: Both
    people: Both
    difference: Both


@dataclass(frozen=True)
class Beside:
    """How far judges agree with people on ``n`` responses to ``n_items`` items, beside how far people do."""

    n: int
    n_items: int
    exact: Measure
    within_one: Measure
    alpha: Measure
    ac2: Measure

    @property
    def sufficient(self) -> bool:
        """Whether there are as many responses and items as a claim asks for."""
        return self.n >= FEWEST_RESPONSES and self.n_items >= FEWEST_ITEMS


@dataclass(frozen=True)
class AtLevel:
    """What judges gave where one rater gave ``level``, less what the other rater gave there."""

    level: float
    n: int
    apart: Estimate | None
    reason: str = ""


@dataclass(frozen=True)
class ItemApart:
    """How far judges part from people on one item, beyond how far they do on the others.

    ``p`` is corrected for all items that were held so.
    """

    item: int
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    reason: str = ""

    @property
    def systematic(self) -> bool:
        return self.p is not None and self.p < 1 - COVERAGE


def beside_people(
    judge: Whole,
    first: Whole,
    second: Whole,
    response: Whole,
    item: Whole,
    scale: Sequence[float],
) -> Beside:
    """Return how far judges agree with people, beside how far these people agree.

    Parameters
    ----------
    judge, first, second : array, shape (judgements,)
        The place on the scale, from 0, of the judge's level and of the two raters' levels. Which
        rater is the first does not matter.
    response, item : array, shape (judgements,)
        A number of the response, and of the item it answers.
    scale : sequence of float
        Every level that could be given, lowest first.

    Returns
    -------
    Beside
        Shares, and coefficients without unit: 1 is full agreement, 0 is chance. Between a judge
        and a rater each response gives the pairs (judge, first) and (judge, second), each for half.
        Alpha and AC2 treat both sides of a pair alike, so a judge who is a level milder agrees
        less: the question is whether a judge could stand where a person stands.

    Raises
    ------
    Undefined
        If there are no rows.
    ValueError
        If the shapes differ.

    References
    ----------
    Schouten (1982), Measuring pairwise interobserver agreement when all subjects are judged by the
    same observers, Statistica Neerlandica 36, 45-61, and Vanbelle and Albert (2009), Agreement
    between an isolated rater and a group of raters, Statistica Neerlandica 63, 82-100, for holding
    one rater against a group by its pairs with each member, not by the group's mean: a mean of two
    levels is on no scale that the judge was given. Calderon, Reichart and Dror (2025), The
    alternative annotator test, arXiv 2501.10970, for reading a model beside what one person is to
    another. Efron and Stein (1981), as in ``alpha``.
    """
    _same_shape(judge, first, second, response, item)
    pairs = _pairs(scale)
    share = _shares(response)
    ours = _Crossed(pairs, [(judge, first), (judge, second)], share)
    theirs = _Crossed(pairs, [(first, second)], share)
    return _compared(pairs, ours, theirs, response, item)


def between_judges(
    one: Whole,
    other: Whole,
    first: Whole,
    second: Whole,
    item: Whole,
    scale: Sequence[float],
) -> Beside:
    """Return how far two judges of a response agree, beside how far its two raters do.

    As ``beside_people``, with a row for each response that two judges judged and two people rated.
    In what comes back ``judge`` is between the two judges.
    """
    _same_shape(one, other, first, second, item)
    pairs = _pairs(scale)
    share = np.ones(len(one))
    return _compared(
        pairs,
        _Crossed(pairs, [(one, other)], share),
        _Crossed(pairs, [(first, second)], share),
        np.arange(len(one)),
        item,
    )


def leniency(judge: Floats, people: Floats, response: Whole, item: Whole) -> Estimate:
    """Return how many levels judges give more than people to the same responses, on average.

    Parameters
    ----------
    judge, people : array, shape (judgements,)
        The judge's level, and the mean of the two raters'.
    response, item : array, shape (judgements,)
        As in ``beside_people``.

    Returns
    -------
    Estimate
        In levels; below 0 is more severe than people are. The interval is for these raters and
        other items, by Student's t with items - 1 degrees.

    Raises
    ------
    Undefined
        If there are no rows.
    """
    _same_shape(judge, people, response, item)
    return _mean(judge - people, _shares(response), item)


def by_level(
    judge: Floats,
    first: Floats,
    second: Floats,
    response: Whole,
    item: Whole,
    scale: Sequence[float],
) -> tuple[AtLevel, ...]:
    """Return where on the scale judges part from people.

    One rater's level says which responses are put together, and the *other* rater's is what the
    judge is held against; then the two change places. Put together by the mean of both, a judge
    without any fault would look too mild at the bottom and too severe at the top, as the chance in
    that mean falls back (regression to the mean). Here it falls back for judge and rater alike.

    Parameters
    ----------
    judge, first, second : array, shape (judgements,)
        Levels.

    Returns
    -------
    tuple of AtLevel
        One for each level of the scale: in levels, with an interval as ``leniency`` has it.
    """
    _same_shape(judge, first, second, response, item)
    share = _shares(response) / 2
    grouped = np.concatenate([first, second])
    apart = np.concatenate([judge - second, judge - first])
    weights, items = np.tile(share, 2), np.tile(item, 2)
    responses = np.tile(response, 2)
    found = []
    for level in scale:
        own = np.abs(grouped - level) < NO_WIDTH
        n = len(np.unique(responses[own]))
        try:
            found.append(AtLevel(level, n, _mean(apart[own], weights[own], items[own])))
        except Undefined as why:
            found.append(AtLevel(level, n, None, str(why)))
    return tuple(found)


def stretch(judge: Floats, first: Floats, second: Floats, response: Whole, item: Whole) -> Estimate:
    """Return how many levels judges move where what both raters see moves by one.

    Below 1 a judge keeps to a narrower part of the scale than people do (compression towards the
    middle), above 1 to a wider one.

    Parameters
    ----------
    judge, first, second : array, shape (judgements,)
        Levels.

    Returns
    -------
    Estimate
        The covariance of judge and raters over that of the two raters: each rater is an instrument
        for the other, so that what chance adds to one rater's level, which would flatten a plain
        slope, cancels. The interval is by item, as in ``leniency``.

    Raises
    ------
    Undefined
        If there are fewer than two items, or the raters' levels do not go together by more than
        chance gives: then there is nothing to hold the judge's levels against.

    References
    ----------
    Durbin (1954), Errors in variables, Review of the International Statistical Institute 22, 23-32;
    Fuller (1987), Measurement Error Models, section 2.4. Staiger and Stock (1997), Instrumental
    variables regression with weak instruments, Econometrica 65, 557-586, for refusing a weak one.
    """
    _same_shape(judge, first, second, response, item)
    share = _shares(response)
    both = (first + second) / 2
    columns = np.stack([np.ones(len(judge)), judge, both, judge * both, first * second], axis=1)
    sums, left = _without_each(columns * share[:, None], item)
    if len(left) < 2:
        raise Undefined(_few_items(len(left)))
    together = _by_t(*_moved(_shared(sums[None])[0], _shared(left)))
    if together.low is None or together.low <= 0:
        raise Undefined(
            "The two raters’ levels do not go together by more than chance gives, so that there is "
            "nothing to hold the judge’s levels against."
        )
    return _by_t(*_moved(_slope(sums[None])[0], _slope(left)))


def length_preference(
    judge: Floats,
    people: Floats,
    words: Floats,
    item: Whole,
    subject: Whole,
    *,
    same_item: bool,
) -> Slope:
    """Return how much more than people judges give to longer replies of one and the same subject.

    Parameters
    ----------
    judge, people : array, shape (judgements,)
        The judge's level, and the mean of the two raters'.
    words : array, shape (judgements,)
        The length of the reply; one of no word is not allowed.
    item, subject : array, shape (judgements,)
        Numbers. The subject is used to take each subject's mean off, and for nothing else.
    same_item : bool
        Whether replies of a subject are held against its replies to the same item alone, so that
        nothing of the items enters; else to all it wrote, which takes one trial of each.

    Returns
    -------
    Slope
        Of the difference, judge less people: 0 where judges prefer length as much as people do.
        ``per_doubling`` is in levels. The interval is that of ``length.within_slope``.

    Raises
    ------
    Undefined, ValueError
        As ``length.within_slope``.
    """
    return within_slope(judge - people, words, item, subject, same_item=same_item)


def apart_by_item(apart: Floats, item: Whole) -> tuple[ItemApart, ...]:
    """Return for each item how far judges part from people on it, beyond the other items.

    Parameters
    ----------
    apart : array, shape (responses,)
        For each response the mean of its judges' levels less the mean of its raters'.
    item : array, shape (responses,)
        The number of its item.

    Returns
    -------
    tuple of ItemApart
        In the order of the numbers. ``value`` is the mean of the item less the mean of the means
        of the other items, in levels, so that a judge who is milder everywhere parts nowhere. The
        interval is by Student's t over responses: these subjects and raters, other replies. An
        item whose responses differ less than is usual is given the usual spread. p is corrected for
        the number of items by Holm's way; an item with fewer than three responses is told the
        reason, and is not among them.

    References
    ----------
    Holm (1979), Welch (1947) and Satterthwaite (1946), as in ``student``.
    """
    from scipy.special import stdtr, stdtrit  # slow to load

    _same_shape(apart, item)
    numbers, place, times = np.unique(item, return_inverse=True, return_counts=True)
    if len(numbers) <= FEWEST_ITEMS_BESIDE:
        why = f"It takes more than {FEWEST_ITEMS_BESIDE} items to hold one against the others."
        return tuple(
            ItemApart(number, int(n), None, reason=why)
            for number, n in zip(numbers.tolist(), times, strict=True)
        )
    means = np.bincount(place, weights=apart) / times
    squares = np.bincount(place, weights=(apart - means[place]) ** 2)
    freedom = np.maximum(times - 1, 1)
    usual = squares.sum() / max(1, int((times - 1).sum()))
    own = np.maximum(squares / freedom, usual) / times
    others = len(numbers) - 1
    rest = (means.sum() - means) / others
    left = ((means**2).sum() - means**2) / others - rest**2  # of the others, about their own mean
    beside = np.maximum(left, 0.0) / (others - 1)
    variance = own + beside
    value, enough = means - rest, (times >= FEWEST_OF_ITEM) & (variance > NO_WIDTH**2)
    error = np.sqrt(np.where(enough, variance, 1.0))
    steps = variance**2 / np.maximum(own**2 / freedom + beside**2 / (others - 1), NO_WIDTH**4)
    steps = np.where(enough, steps, 1.0)
    half = stdtrit(steps, (1 + COVERAGE) / 2) * error
    p = 2 * stdtr(steps, -np.abs(value) / error)
    corrected = dict(zip(np.flatnonzero(enough).tolist(), holm(p[enough].tolist()), strict=True))
    return tuple(
        ItemApart(
            number,
            int(times[at]),
            float(value[at]),
            float(value[at] - half[at]),
            float(value[at] + half[at]),
            corrected[at],
        )
        if at in corrected
        else ItemApart(number, int(times[at]), float(value[at]), reason=_why_not(int(times[at])))
        for at, number in enumerate(numbers.tolist())
    )


def _why_not(n: int) -> str:
    if n < FEWEST_OF_ITEM:
        return f"It takes at least {FEWEST_OF_ITEM} responses to an item; there are {n}."
    return "All differences are the same, and a range of no width would claim certainty."


# Pairs of levels, and leaving out one response or item at a time


@dataclass(frozen=True)
class _Crossed:
    """Pairs of levels to count, each row for its share."""

    pairs: Patterns
    sides: list[tuple[Whole, Whole]]
    share: Floats

    def counted(self, cluster: Whole) -> Floats:
        """How often each pair of levels stands in each cluster, shape (clusters, pairs)."""
        numbers, at = np.unique(cluster, return_inverse=True)
        q = len(self.pairs.scale)
        place = np.full((q, q), -1)
        place[np.triu_indices(q)] = np.arange(len(self.pairs.times))
        found = np.zeros((len(numbers), len(self.pairs.times)))
        for one, other in self.sides:
            own = place[np.minimum(one, other), np.maximum(one, other)]
            np.add.at(found, (at, own), self.share / len(self.sides))
        return found


def _pairs(scale: Sequence[float]) -> Patterns:
    """Every pair of levels as a pattern of a unit with two ratings."""
    steps = checked_scale(scale)
    low, high = np.triu_indices(len(steps))
    counts = np.zeros((len(low), len(steps)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(low)), low), 1)
    np.add.at(counts, (np.arange(len(low)), high), 1)
    return Patterns(tuple(steps.tolist()), counts, np.ones(len(low), dtype=np.int64))


def _compared(
    pairs: Patterns, ours: _Crossed, theirs: _Crossed, response: Whole, item: Whole
) -> Beside:
    if not len(response):
        raise Undefined(NOTHING)
    clusters = [
        (_with_and_without(ours.counted(own)), _with_and_without(theirs.counted(own)), words)
        for own, words in ((response, "response"), (item, "item"))
    ]

    def measured(of: Coefficient, floor: float = -1.0) -> Measure:
        judge, people, difference = [], [], []
        for ours, theirs, words in clusters:
            one, other = of(pairs, ours), of(pairs, theirs)
            judge.append(_jackknifed(one, words, floor, 1.0))
            people.append(_jackknifed(other, words, floor, 1.0))
            difference.append(_jackknifed(one - other, words, floor - 1.0, 1.0 - floor))
        return Measure(_both(*judge), _both(*people), _both(*difference))

    return Beside(
        n=len(np.unique(response)),
        n_items=len(np.unique(item)),
        exact=measured(exact_share, floor=0.0),
        within_one=measured(within_one_share, floor=0.0),
        alpha=measured(alpha_for_ordinal),
        ac2=measured(coefficient(gwet_chance, ordinal(len(pairs.scale)))),
    )


def _with_and_without(counted: Floats) -> Floats:
    """All pairs together, then what is left without each cluster; shape (1 + clusters, pairs).

    Without the only one nothing would be left, so there it is all together alone.
    """
    whole: Floats = counted.sum(axis=0, keepdims=True)
    if len(counted) < 2:
        return whole
    # What is left of nothing is nothing: sums of doubles would leave a hair.
    left = np.where(whole - counted < NO_WIDTH, 0.0, whole - counted)
    both: Floats = np.concatenate([whole, left])
    return both


def _both(by_response: Estimate | str, by_item: Estimate | str) -> Both:
    if isinstance(by_response, str) or isinstance(by_item, str):
        return Both(None, None, str(by_response if isinstance(by_response, str) else by_item))
    return Both(by_response, by_item)


def _jackknifed(numbers: Floats, words: str, floor: float, ceiling: float) -> Estimate | str:
    """A number with its error by leaving out a cluster, or why there is none.

    ``numbers`` are that of all together, then those without each. The interval is cut at the
    least and the most that such a number can be.
    """
    whole, left = float(numbers[0]), numbers[1:]
    if np.isnan(whole):
        return ONE_LEVEL
    if len(left) < 2:
        why = f"There is but one {words}, which says nothing of how they differ."
        return Estimate(whole, reason=why)
    if np.isnan(left).any():
        return Estimate(whole, reason=f"Without one {words} all these levels are the same.")
    return _by_t(*_moved(whole, left), floor, ceiling)


def _without_each(columns: Floats, item: Whole) -> tuple[Floats, Floats]:
    """The sums of columns, and the same without each item; shapes (columns,), (items, columns)."""
    numbers, at = np.unique(item, return_inverse=True)
    own = np.zeros((len(numbers), columns.shape[1]))
    np.add.at(own, at, columns)
    return columns.sum(axis=0), columns.sum(axis=0) - own


def _moved(whole: float, left: Floats) -> tuple[float, float, int]:
    """The number, its standard error from the numbers without each of n clusters, and n - 1."""
    n = len(left)
    return whole, sqrt((n - 1) / n * float(((left - left.mean()) ** 2).sum())), n - 1


def _by_t(
    value: float, error: float, freedom: int, floor: float = -np.inf, ceiling: float = np.inf
) -> Estimate:
    from scipy.special import stdtrit  # slow to load

    if error < NO_WIDTH:
        return Estimate(value, 0.0, reason="Leaving out any of them changes nothing.")
    half = float(stdtrit(freedom, (1 + COVERAGE) / 2)) * error
    return Estimate(value, error, max(floor, value - half), min(ceiling, value + half))


def _mean(values: Floats, weights: Floats, item: Whole) -> Estimate:
    """A weighted mean with its error by leaving out one item at a time."""
    if not len(values):
        raise Undefined("There is no such response.")
    sums, left = _without_each(np.stack([weights * values, weights], axis=1), item)
    whole = float(sums[0] / sums[1])
    if len(left) < 2:
        return Estimate(whole, reason=_few_items(len(left)))
    return _by_t(*_moved(whole, left[:, 0] / left[:, 1]))


def _shared(sums: Floats) -> Floats:
    """The covariance of the two raters, who are alike: both are taken from one mean."""
    weight, _, both, _, product = sums.T
    return np.asarray(product / weight - (both / weight) ** 2)


def _slope(sums: Floats) -> Floats:
    weight, judge, both, crossed, _ = sums.T
    together: Floats = crossed / weight - judge * both / weight**2
    return np.asarray(together / _shared(sums))


def _shares(response: Whole) -> Floats:
    """What each row counts for, so that every response counts once."""
    _, at, times = np.unique(response, return_inverse=True, return_counts=True)
    return np.asarray(1 / times[at])


def _few_items(n: int) -> str:
    return f"It takes at least two items to say how items differ; there {'is' if n == 1 else 'are'} {n}."


def _same_shape(*columns: NDArray[np.generic]) -> None:
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise ValueError(
            f"Each row has one of each, but the shapes are "
            f"{', '.join(str(column.shape) for column in columns)}."
        )
