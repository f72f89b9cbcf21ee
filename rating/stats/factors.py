"""How many traits the dimension means of many runs hold: eigenvalues against those of chance.

Rows are runs, columns the dimensions. It takes a hundred runs or so: below that, see ``traits``.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, generator

REPETITIONS: Final = 500
QUANTILE: Final = 0.95
LEAST_UNIQUE: Final = 0.005  # a uniqueness below it is a factor too many (Heywood)


@dataclass(frozen=True)
class Factors:
    """A maximum-likelihood factor model, and whether it leaves anything unexplained."""

    uniquenesses: Floats
    loadings: Floats
    chi2: float
    freedom: int
    p: float


def correlations(runs: Floats) -> Floats:
    """Return the correlations of the columns of an array of shape (runs, dimensions).

    Raises
    ------
    Undefined
        If there are fewer than three runs, or a dimension is the same in all.
    """
    if len(runs) < 3:
        raise Undefined(
            f"It takes at least three runs to correlate dimensions; there are {len(runs)}."
        )
    if (np.ptp(runs, axis=0) < 1e-12).any():
        raise Undefined("A dimension has the same mean in every run.")
    return np.asarray(np.corrcoef(runs, rowvar=False))


def eigenvalues(correlation: Floats) -> Floats:
    """Return the eigenvalues, the largest first."""
    return np.asarray(np.linalg.eigvalsh(correlation)[..., ::-1])


@lru_cache(maxsize=8)
def eigenvalues_of_chance(
    runs: int, dimensions: int, *, seed: str, repetitions: int = REPETITIONS
) -> Floats:
    """Return the eigenvalues of independent normal data, shape (repetitions, dimensions).

    Normal values are made from raw words, whose order no release of NumPy changes.

    References
    ----------
    Horn (1965), A rationale and test for the number of factors in factor analysis.
    """
    from scipy.special import ndtri  # slow to load

    words = generator(seed).bit_generator.random_raw(repetitions * runs * dimensions)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2**53
    values = ndtri(uniform).reshape(repetitions, runs, dimensions)
    values -= values.mean(axis=1, keepdims=True)
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    return eigenvalues(np.swapaxes(values, 1, 2) @ values)


def components_above_chance(found: Floats, by_chance: Floats) -> int:
    """Return how many eigenvalues, from the largest, are above the 95% quantile of chance."""
    limits = np.quantile(by_chance, QUANTILE, axis=0)
    below = np.flatnonzero(found <= limits)
    return int(below[0]) if len(below) else len(found)


def kmo(correlation: Floats) -> float:
    """Return Kaiser, Meyer and Olkin's measure of sampling adequacy, from 0 to 1."""
    inverse = np.linalg.inv(correlation)
    scale = np.sqrt(np.diag(inverse))
    partial = -inverse / np.outer(scale, scale)
    off = ~np.eye(len(correlation), dtype=bool)
    own = float((correlation[off] ** 2).sum())
    return own / (own + float((partial[off] ** 2).sum()))


def bartlett(correlation: Floats, runs: int) -> tuple[float, int, float]:
    """Return chi-square, degrees of freedom and p of the null that no dimensions correlate."""
    from scipy.stats import chi2

    size = len(correlation)
    _, logarithm = np.linalg.slogdet(correlation)
    found = -(runs - 1 - (2 * size + 5) / 6) * float(logarithm)
    freedom = size * (size - 1) // 2
    return found, freedom, float(chi2.sf(found, freedom))


def cronbach(covariance: Floats) -> float:
    """Return Cronbach's alpha of a covariance matrix; of a correlation matrix the standardised."""
    size = len(covariance)
    return float(size / (size - 1) * (1 - np.trace(covariance) / covariance.sum()))


def maximum_likelihood(correlation: Floats, runs: int, factors: int = 1) -> Factors:
    """Return the factor model that fits a correlation matrix best.

    References
    ----------
    Lawley and Maxwell (1971), Factor analysis as a statistical method, chapter 4; Bartlett (1951)
    for the multiplier of chi-square.
    """
    from scipy.optimize import minimize
    from scipy.stats import chi2

    size = len(correlation)

    def misfit(unique: Floats) -> tuple[float, Floats]:
        values, vectors = _scaled(correlation, unique)
        rest = values[: size - factors]
        loadings = _loadings(values, vectors, unique, factors)
        apart = loadings @ loadings.T + np.diag(unique) - correlation
        return float((rest - np.log(rest) - 1).sum()), np.asarray(np.diag(apart) / unique**2)

    start = (1 - 0.5 * factors / size) / np.diag(np.linalg.inv(correlation))
    best = minimize(
        misfit,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_UNIQUE, 1.0)] * size,
        options={"ftol": 1e-14, "gtol": 1e-10, "maxiter": 1000},
    )
    values, vectors = _scaled(correlation, best.x)
    found = (runs - 1 - (2 * size + 5) / 6 - 2 * factors / 3) * float(best.fun)
    freedom = ((size - factors) ** 2 - size - factors) // 2
    return Factors(
        np.asarray(best.x),
        _loadings(values, vectors, best.x, factors),
        found,
        freedom,
        float(chi2.sf(found, freedom)),
    )


def _scaled(correlation: Floats, unique: Floats) -> tuple[Floats, Floats]:
    scale = 1 / np.sqrt(unique)
    values, vectors = np.linalg.eigh(correlation * np.outer(scale, scale))
    return values, vectors


def _loadings(values: Floats, vectors: Floats, unique: Floats, factors: int) -> Floats:
    largest = np.maximum(values[-factors:] - 1, 0)
    return np.asarray(np.sqrt(unique)[:, None] * vectors[:, -factors:] * np.sqrt(largest))
