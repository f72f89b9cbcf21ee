"""The five findings that would show the method wrong, each tested with the data there are.

Stated before any result exists to defend. Each is a claim that holds, is refuted, or cannot be told
yet, with its evidence and what is missing. A claim is not held to be true because it was not
refuted: it holds where the data exclude what would refute it, by a margin declared beforehand.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.factors import (
    components_above_chance,
    correlations,
    eigenvalues,
    eigenvalues_of_chance,
    maximum_likelihood,
)
from rating.stats.permutation import ChanceTest
from rating.stats.pools import Family, difference_of_pools
from rating.stats.student import ALPHA
from rating.stats.traits import profiles
from rating.stats.verdict import Outcome, Verdict, cannot_tell, holds, refuted

AGREEMENT: Final = "Raters agree above chance about the responses to one item."
POOLS: Final = "Scores do not rise on published items alone."
TRAITS: Final = "The eight dimensions are more than one trait."
RERUNS: Final = "Running one snapshot again gives the same scores, up to chance between trials."
ALTERATION: Final = "A subject altered on purpose moves the way it should."

NO_SIZE: Final = "The size is not told: it would give a point."

FEWEST_UNITS: Final = 30  # responses with two ratings
LEAST_AGREEMENT: Final = 0.1  # alpha above chance; less would be too little to measure with
POOL_MARGIN: Final = 0.25  # a level; less contamination than this counts as none
LEAST_TRAIT: Final = 0.1  # a level; a trait of its own that is smaller counts as none
FEWEST_RUNS: Final = 100  # of different subjects, for factor analysis


class Rerun(Protocol):
    """What running a snapshot again found."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def missing(self) -> str: ...
    @property
    def n_items(self) -> int: ...
    @property
    def n_trials(self) -> int: ...
    @property
    def mean_difference(self) -> float: ...
    @property
    def most(self) -> float: ...


class Alteration(Protocol):
    """What altering a subject found."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def missing(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def moved(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def agreement(test: ChanceTest | None, *, units: int, high: float | None) -> Verdict:
    """Judge the first claim.

    Parameters
    ----------
    test : ChanceTest or None
        The permutation test within items; None where there is none yet.
    units : int
        The responses with two ratings.
    high : float or None
        The upper end of alpha's 95% interval.

    Returns
    -------
    Verdict
        *Refuted* only if the whole interval lies less than 0.1 above what chance gives: not
        finding agreement among few responses refutes nothing.
    """
    if test is None or units < FEWEST_UNITS:
        return cannot_tell(
            AGREEMENT, f"{FEWEST_UNITS} responses with two ratings; there are {units}."
        )
    said = (
        f"Over {units} responses alpha is {test.alpha:.2f}, and {test.by_chance:.2f} where the "
        f"levels are dealt anew within items (p = {test.p:.4f})."
    )
    if test.p < ALPHA:
        return holds(AGREEMENT, said)
    if high is not None and high - test.by_chance < LEAST_AGREEMENT:
        return refuted(
            AGREEMENT,
            said,
            f"Its interval ends at {high:.2f}, less than {LEAST_AGREEMENT:g} above chance.",
        )
    return cannot_tell(AGREEMENT, "More responses with two ratings.", said)


def pools(
    families: Sequence[Family], *, margin: float = POOL_MARGIN, sized: bool = True
) -> Verdict:
    """Judge the second claim: published against unpublished items over snapshots.

    *Holds* if the one-sided 95% limit of how much more the published items rose is below the
    margin; else *refuted* if they rose more beyond chance. The gap is then the size of the
    contamination. Unless ``sized``, how far each pool changed is not told.
    """
    try:
        found = difference_of_pools(families)
        above, below = found.difference.p_above(0), found.difference.p_below(margin)
        reach = found.difference.interval(2 * ALPHA)
    except Undefined as why:
        return cannot_tell(POOLS, str(why))
    said = (
        f"From the first snapshot to the last, {found.items[0]} published items changed by "
        f"{found.public:+z.2f} and {found.items[1]} unpublished ones by {found.unpublished:+z.2f} "
        f"levels: {found.difference.value:+z.2f} (90% interval {reach.low:+z.2f} to {reach.high:+z.2f})."
        if sized
        else f"From the first snapshot to the last, {found.items[0]} published items and "
        f"{found.items[1]} unpublished ones were compared. {NO_SIZE}"
    )
    if below < ALPHA:
        return holds(POOLS, said, f"That is less than {margin:g} level.")
    if above < ALPHA:
        return refuted(POOLS, said, "The gap is the size of the contamination.")
    return cannot_tell(POOLS, "More items, above all unpublished ones, or more snapshots.", said)


def traits(means: Floats, dimensions: Whole, *, least: float = LEAST_TRAIT) -> Verdict:
    """Judge the third claim with fewer than a hundred runs: see ``traits.profiles``.

    *Holds* if subjects differ between dimensions beyond one trait. *Refuted* if they do differ
    overall and the limit of what is not one trait is below ``least``.
    """
    try:
        found = profiles(means, dimensions)
    except Undefined as why:
        return cannot_tell(TRAITS, str(why))
    said = (
        f"Over {found.subjects} subjects and {found.items} items, what a subject has in a dimension "
        f"beyond one trait has a standard deviation of {found.own:.2f} levels (p = {found.p:.4f}; "
        f"at most {found.high:.2f})."
    )
    if found.p < ALPHA:
        return holds(TRAITS, said)
    if found.p_subjects >= ALPHA:
        return cannot_tell(TRAITS, "Subjects that differ: these do not, in any trait.", said)
    if found.high < least:
        return refuted(TRAITS, said, f"That is less than {least:g} level.")
    return cannot_tell(TRAITS, "More subjects, or more items in each dimension.", said)


def traits_of_many(runs: Floats, *, seed: str) -> Verdict:
    """Judge the third claim by parallel analysis of dimension means, shape (runs, dimensions).

    *Refuted* if one eigenvalue alone is above the 95% quantile of chance, *holds* if two or more.
    """
    count = len(runs)
    if count < FEWEST_RUNS:
        return cannot_tell(TRAITS, f"{FEWEST_RUNS} runs of different subjects; there are {count}.")
    try:
        correlation = correlations(runs)
    except Undefined as why:
        return cannot_tell(TRAITS, str(why))
    found = eigenvalues(correlation)
    above = components_above_chance(
        found, eigenvalues_of_chance(count, len(correlation), seed=seed)
    )
    one = maximum_likelihood(correlation, count)
    said = (
        f"Over {count} runs, {above} of {len(found)} eigenvalues are above those of chance; the "
        f"first holds {found[0] / len(found):.0%} of the variance."
    )
    second = (
        f"One factor alone: chi-square {one.chi2:.1f}, {one.freedom} degrees (p = {one.p:.4f})."
    )
    if above > 1:
        return holds(TRAITS, said, second)
    if above == 1:
        return refuted(TRAITS, said, second)
    return cannot_tell(TRAITS, "Runs whose dimensions go together at all.", said, second)


def reruns(found: Rerun | None, *, sized: bool = True) -> Verdict:
    """Judge the fourth claim by the rerun difference against the trial-level standard error.

    Unless ``sized``, how far the runs lie apart is not told: the points of one may be withheld.
    """
    if found is None:
        return cannot_tell(RERUNS, "A second run of one snapshot.")
    if not sized:
        said = f"Compared over {found.n_items} items and {found.n_trials} trials. {NO_SIZE}"
        return _judged(RERUNS, found.outcome, found.missing, said)
    said = (
        f"Over {found.n_items} items and {found.n_trials} trials the second run is "
        f"{found.mean_difference:+z.2f} levels from the first; an item moved by at most "
        f"{found.most:.2f}, as a standard deviation."
    )
    return _judged(RERUNS, found.outcome, found.missing, said)


def alteration(found: Mapping[str, Alteration], *, sized: bool = True) -> Verdict:
    """Judge the fifth claim over all declared alterations, by name.

    *Refuted* if one is, since each was declared to move; *holds* only if each does. Unless
    ``sized``, how far each moved is not told.
    """
    if not found:
        return cannot_tell(ALTERATION, "A run under a condition declared to move the levels.")
    said = [
        f"{name}: {own.moved:+z.2f} levels in the declared direction over {own.n} items "
        f"(90% interval {own.low:+z.2f} to {own.high:+z.2f})."
        if sized
        else f"{name}: compared over {own.n} items. {NO_SIZE}"
        for name, own in found.items()
    ]
    outcomes = [own.outcome for own in found.values()]
    if Outcome.REFUTED in outcomes:
        return refuted(ALTERATION, *said)
    if Outcome.OPEN in outcomes:
        waiting = [own.missing for own in found.values() if own.missing]
        return Verdict(ALTERATION, Outcome.OPEN, tuple(said), tuple(waiting))
    return holds(ALTERATION, *said)


def _judged(claim: str, outcome: Outcome, missing: str, said: str) -> Verdict:
    left = (missing,) if outcome is Outcome.OPEN else ()
    return Verdict(claim, outcome, (said,), left)
