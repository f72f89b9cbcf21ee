"""How severe each rater is, by a many-facet rating-scale model.

A rater gives a response the level at place ``k`` with a probability proportional to
``exp(k * (quality - severity - difficulty) - c[k])``, all in logits. The quality of a response is
drawn from a normal distribution and integrated out, since two ratings of one response are not
independent: taking them for independent shrinks every severity towards 0. Severities sum to 0, and
so do the difficulties of items where one response is rated on several.

References
----------
Andrich (1978), A rating formulation for ordered response categories. Linacre (1989), Many-Facet
Rasch Measurement. Bock & Aitkin (1981), Marginal maximum likelihood estimation of item parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole

Z: Final = 1.959963984540054  # the 97.5th percentile of the standard normal distribution
FEWEST_NODES: Final = 31
MOST_NODES: Final = 201
STEP: Final = 1e-4  # of finite differences, in logits


class Unlinked(Undefined):
    """Raters fall into groups with no response between them; ``groups`` holds their names."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self.groups = tuple(tuple(group) for group in groups)
        told = "; ".join(", ".join(group) for group in self.groups)
        super().__init__(
            f"Raters fall into {len(self.groups)} groups that share no response, so they cannot "
            f"be compared: {told}. Let somebody of each group rate responses of the others."
        )


@dataclass(frozen=True)
class Severity:
    """One rater. In logits, larger is more severe; in levels, below 0 is more severe.

    ``levels`` is how much more than the mean of all raters this one would give to the same
    responses. ``fit`` is the mean square of what the model leaves over, by what it expects
    (infit): near 1, and more for a rater who is less predictable than the others.
    """

    rater: str
    n: int
    logits: float | None = None
    error: float | None = None
    levels: float | None = None
    levels_low: float | None = None
    levels_high: float | None = None
    fit: float | None = None
    reason: str = ""

    @property
    def low(self) -> float | None:
        return None if self.logits is None or self.error is None else self.logits - Z * self.error

    @property
    def high(self) -> float | None:
        return None if self.logits is None or self.error is None else self.logits + Z * self.error


@dataclass(frozen=True)
class Facets:
    """A fitted model. ``thresholds`` has a place for each step between neighbouring levels.

    A threshold is None where a level beside it was never used; such levels are ``unused``, and
    the model gives them no probability.
    """

    severities: tuple[Severity, ...]
    difficulties: tuple[float, ...]
    thresholds: tuple[float | None, ...]
    variance: float
    deviance: float
    unused: tuple[float, ...]
    n_responses: int
    n_ratings: int


def severity_model(
    response: Whole,
    rater: Whole,
    level: Whole,
    scale: Sequence[float],
    *,
    raters: Sequence[str],
    item: Whole | None = None,
) -> Facets:
    """Fit the model by marginal maximum likelihood.

    Parameters
    ----------
    response, rater, level : array, shape (ratings,)
        For each rating the number of its response and of its rater, from 0, and the place of its
        level on the scale, from 0.
    scale : sequence of float
        Every level that could be given, lowest first.
    raters : sequence of str
        What the raters are called, by number.
    item : array, shape (ratings,), optional
        The number of the item, where one response is rated on several.

    Returns
    -------
    Facets
        With intervals of 95% from the observed information. A rater who gave nothing but the
        lowest or the highest level has a reason in place of a severity, and is left out.

    Raises
    ------
    Unlinked
        If raters fall into groups without a common response.
    Undefined
        If fewer than two raters can be compared, there is no variation, or nothing converges.
    ValueError
        If a rater rated something twice, or a number is out of range.
    """
    item = np.zeros_like(rater) if item is None else item
    _check(response, rater, level, item, scale, raters)
    kept, reasons = _set_aside(rater, level, len(raters))
    present = np.unique(rater[kept])
    if len(present) < 2:
        only = f"only {raters[present[0]]} is left" if len(present) else "none is left"
        raise Undefined(f"Severity compares raters, and {only} to compare.")
    _refuse_unlinked(response[kept], rater[kept], raters)
    _refuse_extreme_items(item[kept], level[kept])
    numbered = np.searchsorted(present, rater[kept])
    model = _Model(response[kept], numbered, level[kept], item[kept], scale)
    found = model.maximum()
    by_rater = dict(zip(present.tolist(), model.severities(found), strict=True))
    times = np.bincount(rater, minlength=len(raters))
    severities = tuple(
        Severity(name, int(times[number]), *by_rater[number])
        if number in by_rater
        else Severity(name, int(times[number]), reason=reasons.get(number, "No ratings yet."))
        for number, name in enumerate(raters)
    )
    _, difficulties, categories, spread = model.unpacked(found)
    return Facets(
        severities,
        tuple(difficulties.tolist()),
        _thresholds(model.used, categories, len(scale)),
        float(spread**2),
        2 * model.minus_log_likelihood(found)[0],
        tuple(scale[place] for place in range(len(scale)) if place not in model.used),
        len(np.unique(response[kept])),
        int(kept.sum()),
    )


def linked_groups(response: Whole, rater: Whole) -> list[list[int]]:
    """Return the groups of raters that common responses join, as sorted numbers.

    ``response`` and ``rater`` have shape (ratings,). One group means that all are linked.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    people, who = np.unique(rater, return_inverse=True)
    responses, what = np.unique(response, return_inverse=True)
    size = len(people) + len(responses)
    edges = coo_array((np.ones(len(who)), (who, len(people) + what)), shape=(size, size))
    _, label = connected_components(edges, directed=False)
    groups: dict[int, list[int]] = {}
    for person, group in zip(people.tolist(), label[: len(people)].tolist(), strict=True):
        groups.setdefault(group, []).append(person)
    return sorted(groups.values())


class _Model:
    """The likelihood over distinct patterns of ratings, of parameters in one vector.

    In it, in this order: severities and difficulties but for the last of each, which the sum to 0
    gives; ``c`` of each used level but the lowest; the standard deviation of quality.
    """

    def __init__(
        self, response: Whole, rater: Whole, level: Whole, item: Whole, scale: Sequence[float]
    ) -> None:
        self.scale = np.asarray(scale, dtype=np.float64)
        self.used, place = np.unique(level, return_inverse=True)
        self.scores = self.used.astype(np.float64)
        items, numbered = np.unique(item, return_inverse=True)
        self.n_raters, self.n_items = int(rater.max()) + 1, len(items)
        pairs, cell = np.unique(rater * self.n_items + numbered, return_inverse=True)
        self.cell_rater, self.cell_item = np.divmod(pairs, self.n_items)
        self._tally(response, cell * len(self.used) + place)
        self.level_counts = np.bincount(place)
        self.nodes = min(MOST_NODES, max(FEWEST_NODES, 16 * self.most))

    def _tally(self, response: Whole, code: Whole) -> None:
        """Which codes (cell and level) each distinct pattern holds, and how often it occurs."""
        from scipy.sparse import csr_array

        order = np.lexsort((code, response))
        _, first, sizes = np.unique(response[order], return_index=True, return_counts=True)
        self.most = int(sizes.max())
        padded = np.full((len(sizes), self.most), -1, dtype=np.int64)
        row = np.repeat(np.arange(len(sizes)), sizes)
        padded[row, np.arange(len(order)) - np.repeat(first, sizes)] = code[order]
        patterns, times = np.unique(padded, axis=0, return_counts=True)
        which, column = np.nonzero(patterns >= 0)
        self.times = times.astype(np.float64)
        self.holds: Any = csr_array(
            (np.ones(len(which)), (which, patterns[which, column])),
            shape=(len(patterns), len(self.cell_rater) * len(self.used)),
        )
        self.held: Any = self.holds.T.tocsr()

    def unpacked(self, x: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Severities, difficulties, ``c`` of each used level, and the standard deviation."""
        free, rest = np.split(x, [self.n_raters - 1])
        own, rest = np.split(rest, [self.n_items - 1])
        severity = np.append(free, 0 - free.sum())
        difficulty = np.append(own, 0 - own.sum())
        return severity, difficulty, np.append(0.0, rest[:-1]), abs(float(rest[-1]))

    def _quadrature(self) -> tuple[Floats, Floats]:
        from scipy.special import roots_hermitenorm

        nodes, weights = roots_hermitenorm(self.nodes)
        seen = weights > 0  # the outermost of many nodes weigh less than a float can say
        return nodes[seen], weights[seen] / weights.sum()

    def _log_shares(self, x: Floats, nodes: Floats) -> Floats:
        """Log probability of each used level; shape (cells, levels, nodes)."""
        severity, difficulty, categories, spread = self.unpacked(x)
        shift = severity[self.cell_rater] + difficulty[self.cell_item]
        place = spread * nodes[None, :] - shift[:, None]
        logits = self.scores[:, None] * place[:, None, :] - categories[:, None]
        logits -= logits.max(axis=1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))

    def _posterior(self, x: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Log likelihood, nodes, shares, and expected counts of shape (cells, levels, nodes)."""
        nodes, weights = self._quadrature()
        log_shares = self._log_shares(x, nodes)
        at_nodes = self.holds @ log_shares.reshape(-1, len(nodes)) + np.log(weights)
        top = at_nodes.max(axis=1, keepdims=True)
        at_nodes = np.exp(at_nodes - top)
        whole = at_nodes.sum(axis=1)
        counts = self.held @ (at_nodes * (self.times / whole)[:, None])
        value = float(self.times @ (np.log(whole) + top[:, 0]))
        return value, nodes, np.exp(log_shares), counts.reshape(log_shares.shape)

    def minus_log_likelihood(self, x: Floats) -> tuple[float, Floats]:
        """With its gradient."""
        value, nodes, shares, counts = self._posterior(x)
        left = counts - shares * counts.sum(axis=1, keepdims=True)  # seen less expected
        scored = (self.scores[:, None] * left).sum(axis=1)
        by_cell = scored.sum(axis=1)
        by_rater = np.bincount(self.cell_rater, weights=by_cell, minlength=self.n_raters)
        by_item = np.bincount(self.cell_item, weights=by_cell, minlength=self.n_items)
        sign = 1.0 if x[-1] >= 0 else -1.0
        gradient = np.concatenate(
            [
                by_rater[-1] - by_rater[:-1],
                by_item[-1] - by_item[:-1],
                -left.sum(axis=(0, 2))[1:],
                [sign * float(scored.sum(axis=0) @ nodes)],
            ]
        )
        return -value, -gradient

    def maximum(self) -> Floats:
        """The parameters that make the ratings most likely. Raises ``Undefined`` where none do."""
        from scipy.optimize import minimize

        begin = -np.log(self.level_counts[1:] / self.level_counts[0])
        x = np.concatenate([np.zeros(self.n_raters + self.n_items - 2), begin, [1.0]])
        size = float(self.times.sum())

        def scaled(x: Floats) -> tuple[float, Floats]:
            value, gradient = self.minus_log_likelihood(x)
            return value / size, gradient / size

        while True:
            found = minimize(scaled, x, jac=True, method="BFGS", options={"gtol": 1e-6})
            x = np.asarray(found.x, dtype=np.float64)
            if np.abs(found.jac).max() > 1e-3 or np.abs(x).max() > 20:
                raise Undefined(
                    "The model finds no severities that make these ratings most likely."
                )
            # Nodes must lie closer together than the ratings of a response tell its quality.
            needed = min(MOST_NODES, ceil(7 * float(x[-1]) ** 2 * self.most))
            if needed <= self.nodes:
                return self._polished(x)
            self.nodes = needed

    def _polished(self, x: Floats) -> Floats:
        """One step of Newton's from where the search ended; keeps the covariance of the result."""
        information = self._information(x)
        try:
            np.linalg.cholesky(information)
        except np.linalg.LinAlgError:
            raise Undefined(
                "The ratings leave the severities open: other values are as likely."
            ) from None
        self.covariance = np.linalg.inv(information)
        polished = x - self.covariance @ self.minus_log_likelihood(x)[1]
        better = self.minus_log_likelihood(polished)[0] <= self.minus_log_likelihood(x)[0]
        return np.asarray(polished if better else x)

    def _information(self, x: Floats) -> Floats:
        """The observed information: the slope of the gradient, by central differences."""
        rows = []
        for place in range(len(x)):
            step = np.zeros(len(x))
            step[place] = STEP
            rise = self.minus_log_likelihood(x + step)[1] - self.minus_log_likelihood(x - step)[1]
            rows.append(rise / (2 * STEP))
        information = np.array(rows)
        return np.asarray((information + information.T) / 2)

    def severities(self, x: Floats) -> list[tuple[float, float, float, float, float, float]]:
        """For each rater: logits, error, levels, their limits, and fit."""
        severity, *_ = self.unpacked(x)
        errors = self._errors(lambda y: self.unpacked(y)[0], x)
        levels = self._levels(x)
        of_levels = self._errors(self._levels, x)
        return [
            (float(a), float(b), float(c), float(c - Z * d), float(c + Z * d), float(e))
            for a, b, c, d, e in zip(severity, errors, levels, of_levels, self._fit(x), strict=True)
        ]

    def _levels(self, x: Floats) -> Floats:
        """How much more than the mean each rater gives to the responses that all may get."""
        nodes, weights = self._quadrature()
        expected = np.einsum(
            "clq,l,q->c", np.exp(self._log_shares(x, nodes)), self.scale[self.used], weights
        )
        total = np.bincount(self.cell_rater, weights=expected, minlength=self.n_raters)
        by_rater = np.asarray(total / np.bincount(self.cell_rater, minlength=self.n_raters))
        return np.asarray(by_rater - by_rater.mean())

    def _errors(self, ask: Any, x: Floats) -> Floats:
        """Standard errors of what ``ask`` makes of the parameters, by the delta method."""
        slopes = []
        for place in range(len(x)):
            step = np.zeros(len(x))
            step[place] = STEP
            slopes.append((ask(x + step) - ask(x - step)) / (2 * STEP))
        slope = np.array(slopes)
        return np.asarray(np.sqrt(np.einsum("ir,ij,jr->r", slope, self.covariance, slope)))

    def _fit(self, x: Floats) -> Floats:
        _, _, shares, counts = self._posterior(x)
        scores = self.scores[:, None]
        mean = (scores * shares).sum(axis=1)
        variance = (scores**2 * shares).sum(axis=1) - mean**2
        seen = (counts * (scores - mean[:, None, :]) ** 2).sum(axis=(1, 2))
        expected = (counts.sum(axis=1) * variance).sum(axis=1)
        by_rater = [
            np.bincount(self.cell_rater, weights=one, minlength=self.n_raters)
            for one in (seen, expected)
        ]
        return np.asarray(by_rater[0] / by_rater[1])


def _check(
    response: Whole,
    rater: Whole,
    level: Whole,
    item: Whole,
    scale: Sequence[float],
    raters: Sequence[str],
) -> None:
    if not len(response):
        raise Undefined("There are no ratings.")
    if not response.shape == rater.shape == level.shape == item.shape or response.ndim != 1:
        raise ValueError(
            f"Each rating has a response, a rater and a level, but the shapes are "
            f"{response.shape}, {rater.shape} and {level.shape}."
        )
    if level.min() < 0 or level.max() >= len(scale):
        raise ValueError(f"Places on this scale run from 0 to {len(scale) - 1}.")
    if rater.min() < 0 or rater.max() >= len(raters):
        raise ValueError(f"There are {len(raters)} names for raters up to {int(rater.max())}.")
    rows, times = np.unique(np.stack([response, item, rater]), axis=1, return_counts=True)
    if (times > 1).any():
        unit, _, who = rows[:, times > 1][:, 0].tolist()
        raise ValueError(
            f"{raters[who]} rated response {unit} more than once. "
            f"Keep one rating for each rater and response."
        )
    if level.min() == level.max():
        raise Undefined(f"All ratings are one level, {scale[int(level[0])]:g}.")


def _set_aside(rater: Whole, level: Whole, n_raters: int) -> tuple[Any, dict[int, str]]:
    """Which ratings are kept, and why raters were set aside, by number.

    Whoever gave nothing but the lowest or highest level could be of any severity beyond the
    others. Once they are gone, other levels may be the lowest and highest.
    """
    kept = np.ones(len(rater), dtype=bool)
    reasons: dict[int, str] = {}
    while kept.any():
        low, high = level[kept].min(), level[kept].max()
        lowest = np.full(n_raters, high)
        highest = np.full(n_raters, low)
        np.minimum.at(lowest, rater[kept], level[kept])
        np.maximum.at(highest, rater[kept], level[kept])
        there = np.bincount(rater[kept], minlength=n_raters) > 0
        extreme = there & ((highest == low) | (lowest == high))
        if not extreme.any():
            break
        for number in np.flatnonzero(extreme).tolist():
            which = "lowest" if highest[number] == low else "highest"
            reasons[number] = f"All their ratings are the {which} level: nothing limits a severity."
        kept &= ~extreme[rater]
    return kept, reasons


def _refuse_unlinked(response: Whole, rater: Whole, raters: Sequence[str]) -> None:
    groups = linked_groups(response, rater)
    if len(groups) > 1:
        raise Unlinked([[raters[number] for number in group] for group in groups])


def _refuse_extreme_items(item: Whole, level: Whole) -> None:
    for number in np.unique(item).tolist():
        given = level[item == number]
        if given.max() == level.min() or given.min() == level.max():
            raise Undefined(f"All ratings of item {number} are one end of the scale. Leave it out.")


def _thresholds(used: Whole, categories: Floats, n_levels: int) -> tuple[float | None, ...]:
    by_level = dict(zip(used.tolist(), categories.tolist(), strict=True))
    return tuple(
        by_level[step] - by_level[step - 1] if step in by_level and step - 1 in by_level else None
        for step in range(1, n_levels)
    )
