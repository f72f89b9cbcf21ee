"""What makes ratings differ: items, responses to one item, raters, and the rest.

Levels are taken for numbers. A rating is the mean of its group, such as a subject and dimension,
plus four draws: of its item (as this group meets it), of its response (a trial of the item), of
its rater, and of what is left. Responses are nested in items, raters are crossed with both, and any
two of a pool may have rated a response. The variances are estimated by restricted maximum
likelihood, which takes such sparse and unbalanced ratings as they are; the estimates that equate
mean squares are the same where all is complete, and are not defined where it is not.

References
----------
Patterson & Thompson (1971), Recovery of inter-block information when block sizes are unequal.
Brennan (2001), Generalizability Theory. Williams (1962), A confidence interval for variance
components. Zou & Donner (2008), Construction of confidence limits about effect measures.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Final

import numpy as np

from rating.stats.agreement import COVERAGE, Floats, Undefined, Whole

SOURCES: Final = ("item", "response", "rater", "rest")
STEP: Final = 1e-2  # of finite differences, as a share of what a variance is known to
MOST_CONDITION: Final = 1e8  # of the information; beyond, two variances cannot be told apart
LEAST_LEFT: Final = 1e-4  # of the variance of all ratings; less is nothing left over


@dataclass(frozen=True)
class Component:
    """One variance, in squared levels, with its 95% interval."""

    source: str
    variance: float
    low: float
    high: float

    @property
    def deviation(self) -> float:
        """In levels."""
        return sqrt(self.variance)


@dataclass(frozen=True)
class Components:
    """The four variances, in the order of ``SOURCES``, and how sure they are together.

    ``covariance`` has shape (4, 4). The counts are those of the ratings they come from.
    """

    parts: tuple[Component, ...]
    covariance: Floats
    n_groups: int
    n_items: int
    n_responses: int
    n_raters: int
    n_ratings: int

    def of(self, source: str) -> Component:
        return self.parts[SOURCES.index(source)]

    @property
    def values(self) -> Floats:
        """Shape (4,)."""
        return np.array([part.variance for part in self.parts])


@dataclass(frozen=True)
class Plan:
    """How much is asked and rated for one mean, such as that of a dimension.

    ``items`` in the mean, ``trials`` of each, ``ratings`` of each response, all shared out
    evenly among ``raters`` people.
    """

    items: int
    trials: int
    ratings: int
    raters: int

    def __post_init__(self) -> None:
        if min(self.items, self.trials, self.ratings, self.raters) < 1:
            raise ValueError(f"A plan has at least one of everything, not {self}.")
        if self.ratings > self.raters:
            raise ValueError(
                f"{self.ratings} ratings of a response take as many raters; there are {self.raters}."
            )


@dataclass(frozen=True)
class Precision:
    """What a plan would give. Standard errors are in levels, with a 95% interval.

    ``error`` is of the mean as it stands for other items and raters like these; ``same_items`` is
    of the mean for these items alone. ``dependability`` is that of the mean rating of one
    response: the share of its variance that comes from responses and their items. None where
    ratings do not differ at all.
    """

    plan: Plan
    error: float
    low: float
    high: float
    same_items: float
    dependability: float | None


def variance_components(
    group: Whole, item: Whole, response: Whole, rater: Whole, level: Floats
) -> Components:
    """Estimate the variances of items, responses, raters and the rest.

    Parameters
    ----------
    group, item, response, rater : array, shape (ratings,)
        For each rating the number of its group, item, response and rater, from 0. An item is
        counted anew in each group: its draw is that of the item as this group meets it.
    level : array, shape (ratings,)
        The level itself.

    Returns
    -------
    Components
        With intervals from the expected information and the degrees of freedom of the design.
        A variance near 0 has an interval that begins at 0.

    Raises
    ------
    Undefined
        If something that is asked for does not occur twice, so that its variance cannot be told.
    ValueError
        If a response belongs to two items or groups, or a rater rated a response twice.
    """
    likelihood = _Likelihood(group, item, response, rater, level)
    found = likelihood.maximum()
    information = likelihood.information(found)
    if np.linalg.cond(information * np.outer(found + found[3], found + found[3])) > MOST_CONDITION:
        raise Undefined("The ratings leave it open how the variances share what differs.")
    covariance: Floats = np.asarray(np.linalg.inv(information), dtype=np.float64)
    parts = tuple(
        Component(source, variance, *limits(variance, sqrt(error), freedom))
        for source, variance, error, freedom in zip(
            SOURCES, found.tolist(), np.diag(covariance).tolist(), likelihood.freedoms, strict=True
        )
    )
    return Components(
        parts,
        covariance,
        likelihood.n_groups,
        likelihood.n_items,
        likelihood.n_responses,
        likelihood.n_raters,
        len(level),
    )


def limits(variance: float, error: float, freedom: int) -> tuple[float, float]:
    """Return a 95% interval of a variance from its estimate and standard error.

    A variance is learnt from a mean square, which holds it and the noise below it. The error says
    how large that is (its square is two squared mean squares by the degrees of freedom), so how
    much is noise; the mean square has a chi-square interval, from which the noise is taken.
    """
    from scipy.stats import chi2

    square = error * sqrt(freedom / 2)
    noise = square - variance
    outside = (1 - COVERAGE) / 2
    high, low = chi2.ppf([1 - outside, outside], freedom)
    return (
        max(0.0, float(freedom * square / high) - noise),
        max(0.0, float(freedom * square / low) - noise),
    )


def decide(components: Components, plan: Plan) -> Precision:
    """Return how precise a mean would be under a plan: the decision study.

    Brennan (2001), chapter 3, for responses nested in items and raters crossed with both.
    """
    responses = plan.items * plan.trials
    shares = np.array(
        [1 / plan.items, 1 / responses, 1 / plan.raters, 1 / (responses * plan.ratings)]
    )
    values = components.values
    variance = float(shares @ values)
    low, high = _limits_of_sum(components, shares)
    item, response, rater, rest = values.tolist()
    true, noise = item + response, (rater + rest) / plan.ratings
    return Precision(
        plan,
        sqrt(variance),
        sqrt(low),
        sqrt(high),
        sqrt(max(0.0, variance - shares[0] * item)),
        true / (true + noise) if true + noise > 0 else None,
    )


def _limits_of_sum(components: Components, shares: Floats) -> tuple[float, float]:
    """A 95% interval of a sum of shares of the variances, from the interval of each.

    How far each reaches to a side is added up as errors are, with their correlations.
    """
    errors = np.sqrt(np.diag(components.covariance))
    correlation = components.covariance / np.outer(errors, errors)
    variance = float(shares @ components.values)
    below = shares * [part.variance - part.low for part in components.parts]
    above = shares * [part.high - part.variance for part in components.parts]
    return (
        max(0.0, variance - sqrt(max(0.0, float(below @ correlation @ below)))),
        variance + sqrt(max(0.0, float(above @ correlation @ above))),
    )


def what_more_buys(components: Components, plan: Plan) -> Iterator[tuple[str, Precision]]:
    """Yield the plan as it stands, then with one more of each thing, in words.

    Where all raters rate every response already, one more for each is one more to share the work.
    """
    changes = [("One more rater to share the work", replace(plan, raters=plan.raters + 1))]
    if plan.ratings < plan.raters:
        each = ("One more rater for each response", replace(plan, ratings=plan.ratings + 1))
    else:
        both = replace(plan, ratings=plan.ratings + 1, raters=plan.raters + 1)
        each = ("One more rater, for each response too", both)
    changes += [
        each,
        ("One more trial of each item", replace(plan, trials=plan.trials + 1)),
        ("One more item", replace(plan, items=plan.items + 1)),
    ]
    for words, changed in [("As it is", plan), *changes]:
        yield words, decide(components, changed)


class _Likelihood:
    """The restricted likelihood, from sums over responses and items.

    Items and responses are nested in groups, so the inverse of their part of the covariance is
    known in closed form. Raters are few and stay as columns, between the level in the first and
    a column of ones in the last.
    """

    def __init__(
        self, group: Whole, item: Whole, response: Whole, rater: Whole, level: Floats
    ) -> None:
        _check(group, item, response, rater, level)
        groups, in_group = np.unique(group, return_inverse=True)
        raters, by_rater = np.unique(rater, return_inverse=True)
        responses, first, of = np.unique(response, return_index=True, return_inverse=True)
        cells = in_group * (int(item.max()) + 1) + item
        items, item_of = np.unique(cells, return_inverse=True)
        self.first_items = np.unique(items // (int(item.max()) + 1), return_index=True)[1]
        self.n_groups, self.n_raters = len(groups), len(raters)
        self.n_responses, self.n_items = len(responses), len(items)
        _refuse_single(self, item_of, first, len(level))
        self.scale = float(level.var())
        rows = _sparse(
            [np.zeros_like(of), 1 + by_rater, np.full_like(of, 1 + self.n_raters)],
            [level - level.mean(), np.ones(len(of)), np.ones(len(of))],
            2 + self.n_raters,
        )
        self.products: Floats = (rows.T @ rows).toarray()
        self._sum_by_size(_summed(rows, of), np.bincount(of), item_of[first])
        self.n = len(level)
        self.most = np.array(
            [np.bincount(one).max() for one in (item_of, of, by_rater)], dtype=np.float64
        )

    def _sum_by_size(self, sums: Any, size: Whole, item: Whole) -> None:
        """Responses weigh by how many ratings they have, so one sum for each such number will do.

        ``sums`` has shape (responses, columns); ``size`` and ``item`` are of each response.
        """
        sizes, kind = np.unique(size, return_inverse=True)
        self.sizes = sizes.astype(np.float64)
        self.of_size = np.bincount(kind).astype(np.float64)
        shape = (len(sizes), self.n_items)
        cells = kind * self.n_items + item
        self.in_item = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
        of_cell = _summed(sums, cells, shape[0] * shape[1]).toarray()
        self.item_sums: Floats = of_cell.reshape(*shape, -1)
        some = [sums[np.flatnonzero(kind == one)] for one in range(len(sizes))]
        self.squares: Floats = np.array([(one.T @ one).toarray() for one in some])

    @property
    def freedoms(self) -> tuple[int, int, int, int]:
        """How many independent differences tell of each source, in the order of ``SOURCES``."""
        of_raters = self.n_raters - 1
        return (
            self.n_items - self.n_groups,
            self.n_responses - self.n_items,
            of_raters,
            max(1, self.n - self.n_responses - of_raters),
        )

    def minus_twice(self, variances: Floats) -> float:
        """Minus twice the restricted log likelihood; infinite where it is not defined."""
        return sum(self._halves(variances))

    def _halves(self, variances: Floats) -> tuple[float, float]:
        """Its two summands: what the design alone gives, and what the levels leave over."""
        item, response, rater, rest = variances.tolist()
        whole = rest + self.sizes * response  # of the sum of a response, by its size
        if rest <= 0 or (whole <= 0).any():
            return np.inf, 0.0
        nested = 1 + item * (self.sizes / whole) @ self.in_item
        if (nested <= 0).any():
            return np.inf, 0.0
        totals = np.tensordot(1 / whole, self.item_sums, axes=1)
        inside = self.products - np.tensordot(response / whole, self.squares, axes=1)
        inside = inside / rest - (totals * (item / nested)[:, None]).T @ totals
        # No item is in two groups, so their means are taken out one by one.
        by_group = np.add.reduceat(totals / nested[:, None], self.first_items)
        own, others = by_group[:, -1], by_group[:, :-1]
        left = inside[:-1, :-1] - others.T @ (others / own[:, None])
        mixed = np.eye(self.n_raters) + rater * left[1:, 1:]
        sign, log_mixed = np.linalg.slogdet(mixed)
        if sign <= 0:
            return np.inf, 0.0
        log_determinant = (
            (self.n - self.n_responses) * np.log(rest)
            + self.of_size @ np.log(whole)
            + np.log(nested).sum()
            + np.log(own).sum()
            + log_mixed
        )
        squares = left[0, 0] - rater * left[0, 1:] @ np.linalg.solve(mixed, left[1:, 0])
        return float(log_determinant), float(squares)

    def maximum(self) -> Floats:
        """The variances that make the ratings most likely, none below 0."""
        from scipy.optimize import minimize

        # Roots of shares, so that 0 is no edge to stumble on and the search has one size.
        def ask(roots: Floats) -> float:
            return self.minus_twice(self.scale * np.square(roots))

        def search(begin: Floats) -> Floats:
            found = minimize(
                ask,
                np.sqrt(begin),
                method="L-BFGS-B",
                bounds=[(0, None)] * 3 + [(sqrt(LEAST_LEFT) / 2, None)],
                options={"ftol": 1e-13, "gtol": 1e-6},
            )
            shares = np.square(found.x)
            shares[shares < 1e-7] = 0
            return np.asarray(shares)

        shares = search(np.array([0.25, 0.25, 0.1, 0.4]))
        for place in np.flatnonzero(shares[:3] == 0):
            # The slope by a root is 0 at 0, on a hill too: try whether it pays to leave.
            tried = shares.copy()
            tried[place] = 1e-3
            if ask(np.sqrt(tried)) < ask(np.sqrt(shares)):
                shares = search(tried)
        if shares[3] < LEAST_LEFT:
            raise Undefined("Items, responses and raters leave nothing over: no error to learn of.")
        return np.asarray(self.scale * shares)

    def information(self, variances: Floats) -> Floats:
        """The expected information, shape (4, 4).

        It is half the curvature of the summand that holds no levels, turned round. The observed
        information would add theirs, and is no information where an estimate is held at 0.
        """
        rest = float(variances[3])
        steps = np.diag(STEP * (variances + np.append(rest / self.most, 0.0)))

        def ask(*moves: Floats) -> float:
            return self._halves(np.add.reduce([variances, *moves]))[0]

        information = np.zeros((4, 4))
        here = ask()
        for a in range(4):
            for b in range(a, 4):
                if a == b:
                    bend = ask(steps[a]) - 2 * here + ask(-steps[a])
                else:
                    bend = (
                        ask(steps[a], steps[b])
                        - ask(steps[a], -steps[b])
                        - ask(-steps[a], steps[b])
                        + ask(-steps[a], -steps[b])
                    ) / 4
                information[a, b] = information[b, a] = -bend / (steps[a, a] * steps[b, b]) / 2
        return information


def _sparse(columns: list[Whole], values: list[Floats], n_columns: int) -> Any:
    """A sparse matrix with one value of each list in every row, in the columns given."""
    from scipy.sparse import csr_array

    n, each = len(columns[0]), len(columns)
    ends = np.arange(0, n * each + 1, each)
    return csr_array(
        (np.stack(values, axis=1).ravel(), np.stack(columns, axis=1).ravel(), ends),
        shape=(n, n_columns),
    )


def _summed(rows: Any, of: Whole, n: int | None = None) -> Any:
    """The sums of the rows that belong to one thing each; ``of`` says which, from 0."""
    belongs = _sparse([of], [np.ones(len(of))], int(of.max()) + 1 if n is None else n)
    return belongs.T.tocsr() @ rows


def _check(group: Whole, item: Whole, response: Whole, rater: Whole, level: Floats) -> None:
    if not len(level):
        raise Undefined("There are no ratings.")
    shapes = {one.shape for one in (group, item, response, rater, level)}
    if len(shapes) > 1 or level.ndim != 1:
        raise ValueError("Each rating has a group, an item, a response, a rater and a level.")
    pairs, times = np.unique(np.stack([response, rater]), axis=1, return_counts=True)
    if (times > 1).any():
        one, who = pairs[:, times > 1][:, 0].tolist()
        raise ValueError(f"Rater {who} rated response {one} more than once. Keep one rating.")
    places = np.unique(np.stack([response, item, group]), axis=1)[0]
    if len(places) > len(np.unique(places)):
        twice = int(places[np.flatnonzero(np.diff(places) == 0)[0]])
        raise ValueError(f"Response {twice} stands under two items or groups.")
    if not np.ptp(level):
        raise Undefined(f"All ratings are one level, {level[0]:g}.")


def _refuse_single(found: _Likelihood, item_of: Whole, first: Whole, n: int) -> None:
    """What occurs once only cannot be told from what it holds."""
    if found.n_raters < 2:
        raise Undefined("There is one rater alone, so raters cannot be told to differ.")
    if n == found.n_responses:
        raise Undefined(
            "No response has two ratings, so responses and raters cannot be told apart."
        )
    if found.n_items <= found.n_groups:
        raise Undefined("No group has two items, so items cannot be told to differ.")
    if len(np.unique(item_of[first])) == found.n_responses:
        raise Undefined("No item has two trials, so items and responses cannot be told apart.")
