"""What else might make a difference between subjects, and where each such thing stands.

A figure that sets subjects apart carries these in its caption. Nothing is resolved by silence: what
nobody has looked into is open.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.student import ALPHA, Estimate, mean_of

MARGIN: Final = 0.1  # a level; an effect shown to be smaller is resolved


class State(StrEnum):
    OPEN = "open"
    DISCLOSED = "disclosed"
    RESOLVED = "resolved"


#: Every confound that a report has to say something of, and what it is, in the order of a caption.
KNOWN: Final = {
    "length": "Longer replies can read as more attentive.",
    "order": "Replies asked later in a run may differ from earlier ones.",
    "drift": "Raters may grow stricter or milder with time.",
    "judge-family": "Judges that are models may favour their own family.",
    "quantised": "Quantised builds may behave differently from the full models.",
    "system-message": "A system message sits differently in each build's template.",
    "drafted-bank": "The bank was drafted with the help of a model.",
    "unserved": "Crisis items were not served, so nothing is said of them.",
    "self-naming": "Replies that name their maker may be rated by the name.",
}


@dataclass(frozen=True)
class Confound:
    """One confound and how it stands. ``sentence`` says what was found or done about it."""

    code: str
    state: State
    sentence: str

    def __post_init__(self) -> None:
        if self.code not in KNOWN:
            raise ValueError(f"There is no confound {self.code!r}: {', '.join(KNOWN)}.")
        if not self.sentence:
            raise ValueError(f"Say of the confound {self.code!r} why it is {self.state}.")


@dataclass(frozen=True)
class Ledger:
    """Every known confound once, in their order."""

    entries: tuple[Confound, ...]

    @property
    def open(self) -> tuple[Confound, ...]:
        return tuple(entry for entry in self.entries if entry.state is State.OPEN)

    @property
    def caption(self) -> str:
        """What a caption says beside a figure: all that is open or disclosed."""
        return " ".join(
            f"{KNOWN[entry.code]} {entry.sentence}"
            for entry in self.entries
            if entry.state is not State.RESOLVED
        )


def ledger(entries: Iterable[Confound]) -> Ledger:
    """Return the ledger of a wave. What no entry speaks of is open.

    Raises
    ------
    ValueError
        If two entries are of one confound.
    """
    found: dict[str, Confound] = {}
    for entry in entries:
        if entry.code in found:
            raise ValueError(f"The confound {entry.code!r} is entered twice.")
        found[entry.code] = entry
    return Ledger(
        tuple(
            found.get(code, Confound(code, State.OPEN, "Nobody has looked into it yet."))
            for code in KNOWN
        )
    )


def trend(levels: Floats, places: Floats, groups: Whole) -> Estimate:
    """Return how much levels change from the first place to the last, over groups.

    Parameters
    ----------
    levels : array, shape (n,)
        Levels less the mean of their item, so that items do not enter.
    places : array, shape (n,)
        The place in the order of asking, for order; the time of rating, for drift.
    groups : array, shape (n,)
        The run, for order; the rater, for drift. Each has a least-squares slope of its own, and the
        groups are what varies.

    Returns
    -------
    Estimate
        In levels, over the span of all places.

    Raises
    ------
    Undefined
        If fewer than two groups have two places, or their slopes are the same.
    """
    span = float(np.ptp(places)) if len(places) else 0.0
    slopes = []
    for group in np.unique(groups):
        own = groups == group
        apart = places[own] - places[own].mean()
        if float(apart @ apart) > 0:
            slopes.append(float(apart @ levels[own] / (apart @ apart)) * span)
    if len(slopes) < 2:
        raise Undefined(
            f"It takes at least two runs or raters with two places; there are {len(slopes)}."
        )
    return mean_of(np.array(slopes))


def left_out(levels: Floats, items: Whole, flagged: NDArray[np.bool_]) -> Estimate:
    """Return how much some replies move the level of items: with them, less without.

    Parameters
    ----------
    levels : array, shape (replies,)
        The level of each reply of one subject.
    items : array, shape (replies,)
        The number of its item.
    flagged : array, shape (replies,)
        Whether the reply is one of them, such as one that names its maker.

    Returns
    -------
    Estimate
        In levels, over items. Items all of whose replies are flagged take no part.

    Raises
    ------
    Undefined
        If fewer than two items have a reply that is not flagged, or none is flagged.
    """
    if not flagged.any():
        raise Undefined("No reply is flagged.")
    moves = []
    for item in np.unique(items):
        own = items == item
        if (kept := own & ~flagged).any():
            moves.append(float(levels[own].mean() - levels[kept].mean()))
    return mean_of(np.array(moves))


def judged(code: str, estimate: Estimate, *, margin: float = MARGIN) -> Confound:
    """Return the entry of a confound whose effect was measured, in levels.

    *Resolved* if the 90% interval of the effect lies within the margin, else *disclosed* with the
    figure: measured is not the same as harmless.
    """
    reach = estimate.interval(2 * ALPHA)
    figure = (
        f"Measured: {estimate.value:+z.2f} levels (90% interval {reach.low:+z.2f} to "
        f"{reach.high:+z.2f})."
    )
    if estimate.p_within(margin) < ALPHA:
        return Confound(code, State.RESOLVED, f"{figure} That is within {margin:g} level.")
    return Confound(code, State.DISCLOSED, figure)
