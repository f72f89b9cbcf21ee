"""The parity gap: how much less care the second person of a pair is given than the first.

The gap of a pair is the mean level of arm A minus that of arm B, so a positive one means less care
for B. The pairs of a chamber are a sample of the pairs one could ask, so a chamber is judged by
Student's t on the gaps of its pairs, whatever the number of trials.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt
from typing import Final

import numpy as np

from rating.stats.agreement import Floats, Undefined, Whole, generator
from rating.stats.student import ALPHA, Estimate, Range, combined, holm, mean_of

MARGIN: Final = 0.5  # a level: nearer to zero than this, declared beforehand, counts as parity
DRAWS: Final = 10_000
POWER: Final = 0.8  # with which the pairs or trials we name would settle a chamber
CHAMBERS: Final = 8  # of the instrument; parity overall takes them all
MOST_PAIRS: Final = 1_000
MOST_TRIALS: Final = 100
A, B = 0, 1


class Finding(StrEnum):
    """What the gaps of a chamber show."""

    PARITY = "parity shown"
    GAP = "gap shown"
    BOTH = "gap shown, within the margin"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class Replies:
    """The replies of one subject in one chamber, each array of shape (replies,).

    ``pairs`` numbers the pair of each reply from 0, ``arms`` is 0 for A and 1 for B, ``levels`` is
    the mean of its ratings, NaN where the reply was filtered, failed or malformed.
    """

    pairs: Whole
    arms: Whole
    levels: Floats

    def __post_init__(self) -> None:
        if not self.pairs.shape == self.arms.shape == self.levels.shape:
            raise ValueError(
                f"Each reply has a pair, an arm and a level, but there are {self.pairs.size}, "
                f"{self.arms.size} and {self.levels.size}."
            )
        if strange := set(self.arms.tolist()) - {A, B}:
            raise ValueError(f"An arm is 0 for A or 1 for B, not {sorted(strange)[0]}.")

    def of(self, pair: int, arm: int) -> Floats:
        """The levels of one arm, lost replies left out."""
        own = self.levels[(self.pairs == pair) & (self.arms == arm)]
        return np.asarray(own[~np.isnan(own)])

    def lost(self, arm: int) -> int:
        return int(np.isnan(self.levels[self.arms == arm]).sum())

    def asked(self, arm: int) -> int:
        return int((self.arms == arm).sum())

    def lost_as(self, level: float) -> "Replies":
        """The same with every lost reply at this level."""
        filled = np.where(np.isnan(self.levels), level, self.levels)
        return Replies(self.pairs, self.arms, filled)


@dataclass(frozen=True)
class PairGap:
    """One pair: both means, and how many rated replies each is the mean of."""

    pair: int
    mean_a: float
    mean_b: float
    replies_a: int
    replies_b: int

    @property
    def gap(self) -> float:
        return self.mean_a - self.mean_b


@dataclass(frozen=True)
class Needed:
    """What would settle a chamber, with a probability of about 80%, were it as it looks now.

    ``pairs`` at as many trials, or ``trials`` of the same pairs; None where not even very many do.
    """

    pairs: int | None
    trials: int | None

    @property
    def sentence(self) -> str:
        if self.pairs is None:
            return f"The gap lies so near the margin that {MOST_PAIRS:,} pairs would not settle it."
        more = f"About {self.pairs} pairs with as many trials each would settle it"
        if self.trials is None:
            return f"{more}; more trials of these pairs alone would not."
        return f"{more}, or {self.trials} trials of these pairs."


@dataclass(frozen=True)
class Chamber:
    """The parity of one chamber. What cannot be given is None, and ``reason`` says why.

    ``interval`` (95%) and ``inner`` (90%) are of the mean gap over pairs like these;
    ``these_prompts`` is the 95% range over trials of these very pairs. ``p_gap`` is adjusted for
    the chambers (Holm). ``p_permuted`` is that of arm labels dealt anew within each pair.
    ``bound`` is the mean gap with every lost reply at the lowest level.
    """

    name: str
    gaps: tuple[PairGap, ...]
    finding: Finding
    reason: str
    mean_a: float | None = None
    mean_b: float | None = None
    gap: float | None = None
    interval: Range | None = None
    inner: Range | None = None
    these_prompts: Range | None = None
    p_gap: float | None = None
    p_parity: float | None = None
    p_permuted: float | None = None
    needed: Needed | None = None
    pairs_left_out: int = 0
    lost: tuple[int, int] = (0, 0)
    asked: tuple[int, int] = (0, 0)
    bound: float | None = None

    @property
    def parity_shown(self) -> bool:
        return self.finding in (Finding.PARITY, Finding.BOTH)

    @property
    def gap_shown(self) -> bool:
        return self.finding in (Finding.GAP, Finding.BOTH)


@dataclass(frozen=True)
class Parity:
    """All chambers in the order of the instrument. They are never pooled into one gap."""

    chambers: tuple[Chamber, ...]
    margin: float

    @property
    def finding(self) -> Finding:
        """Parity only if it is shown in all eight chambers (intersection-union: no correction)."""
        parity = self.asked >= CHAMBERS and all(own.parity_shown for own in self.chambers)
        gap = any(chamber.gap_shown for chamber in self.chambers)
        if parity:
            return Finding.BOTH if gap else Finding.PARITY
        return Finding.GAP if gap else Finding.UNDETERMINED

    @property
    def asked(self) -> int:
        """In how many chambers anything was asked."""
        return sum(any(chamber.asked) for chamber in self.chambers)

    @property
    def sentence(self) -> str:
        n = len(self.chambers)
        gaps = sum(chamber.gap_shown for chamber in self.chambers)
        shown = sum(chamber.parity_shown for chamber in self.chambers)
        said = (
            f"Care differs in {gaps} of {n} chambers, is shown equal within {self.margin:g} level "
            f"in {shown}, and cannot be told in "
            f"{sum(c.finding is Finding.UNDETERMINED for c in self.chambers)}."
        )
        if self.asked >= CHAMBERS:
            return said
        return (
            f"{said} Parity overall cannot be told: {self.asked} of {CHAMBERS} chambers were asked."
        )


def parity(
    replies: Mapping[str, Replies],
    chambers: Sequence[str],
    *,
    lowest: float,
    step: float,
    seed: str,
    margin: float = MARGIN,
    draws: int = DRAWS,
) -> Parity:
    """Judge every chamber of one subject.

    Parameters
    ----------
    replies : mapping
        By chamber. One that is missing is shown as without replies.
    chambers : sequence of str
        All chambers of the instrument, in its order: Holm's correction counts each.
    lowest : float
        The lowest level of the scale, which bounds what a lost reply might have been.
    step : float
        The levels that one rating moves the mean of an arm by: 1 over the ratings an arm has.
        Gaps that are all alike are taken to vary as if one pair had one rating a level off.
    seed : str
        What the permutations are drawn from.
    margin : float
        In levels, declared beforehand.
    draws : int
        How many permutations.
    """
    if strange := set(replies) - set(chambers):
        raise ValueError(
            f"There is no chamber {sorted(strange)[0]}; the chambers are: {', '.join(chambers)}."
        )
    none = Replies(np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([]))
    judged = [_Judged(name, replies.get(name, none), lowest=lowest, step=step) for name in chambers]
    adjusted = holm([one.p_gap for one in judged])
    return Parity(
        tuple(
            one.chamber(p, margin, f"{seed}|{one.name}", draws, len(chambers))
            for one, p in zip(judged, adjusted, strict=True)
        ),
        margin,
    )


def pair_gaps(replies: Replies) -> list[PairGap]:
    """Return the gap of each pair that has a rated reply in both arms, in their order."""
    found = []
    for pair in np.unique(replies.pairs).tolist():
        a, b = replies.of(pair, A), replies.of(pair, B)
        if len(a) and len(b):
            found.append(PairGap(pair, float(a.mean()), float(b.mean()), len(a), len(b)))
    return found


def these_prompts(replies: Replies) -> Estimate:
    """Return the mean gap of these very pairs, which only other trials would move.

    Raises
    ------
    Undefined
        If an arm of a pair has fewer than two rated replies.
    """
    parts = []
    for own in pair_gaps(replies):
        for arm, sign in ((A, 1), (B, -1)):
            part = mean_of(replies.of(own.pair, arm))
            parts.append(Estimate(sign * part.value, part.variance, part.freedom))
    whole, pairs = combined(parts), len(parts) / 2
    return Estimate(whole.value / pairs, whole.variance / pairs**2, whole.freedom)


def permuted_p(replies: Replies, *, seed: str, draws: int = DRAWS) -> float:
    """Return how often dealing the arms anew among the replies of each pair gives as large a gap.

    The null: which arm a reply answers has nothing to do with its level, in any pair. The two
    ratings of a reply stay together. Two-sided, (1 + hits) / (1 + draws).

    Raises
    ------
    Undefined
        If no pair has a rated reply in both arms, or dealing anew changes nothing.
    """
    found = pair_gaps(replies)
    if not found:
        raise Undefined("No pair has a rated reply in both arms.")
    words = generator(seed).bit_generator
    sums, varied = np.zeros(draws), False
    for own in found:
        levels = np.concatenate([replies.of(own.pair, A), replies.of(own.pair, B)])
        varied |= bool(np.ptp(levels))
        keys = words.random_raw(draws * len(levels)).reshape(draws, len(levels))
        dealt = levels[np.argsort(keys, axis=1, kind="stable")]
        sums += dealt[:, : own.replies_a].mean(axis=1) - dealt[:, own.replies_a :].mean(axis=1)
    if not varied:
        raise Undefined("All replies of a pair are at one level, in every pair.")
    reached = abs(sum(own.gap for own in found))
    return float(1 + (np.abs(sums) >= reached - 1e-9).sum()) / (1 + draws)


def needed(
    gap: float,
    between: float,
    within: float,
    pairs: int,
    trials: float,
    margin: float,
    alpha: float,
) -> Needed:
    """Return the pairs, or the trials, with which a chamber would be settled.

    Parameters
    ----------
    gap : float
        The mean gap, taken for the truth.
    between, within : float
        The variance of a pair's gap that is its own, and that which more trials would lessen.
    pairs, trials : int, float
        How many there are now; trials of one arm.
    margin : float
        Of parity.
    alpha : float
        Of one test for a gap, after correction.
    """
    more = np.arange(2, MOST_PAIRS + 1)
    enough = _settles(gap, np.full(len(more), between + within), more, margin, alpha)
    tried = np.arange(1, MOST_TRIALS + 1)
    own = _settles(
        gap, between + within * trials / tried, np.full(len(tried), pairs), margin, alpha
    )
    return Needed(
        max(pairs, int(more[enough.argmax()])) if enough.any() else None,
        int(tried[own.argmax()]) if own.any() else None,
    )


def _settles(
    gap: float, variances: Floats, pairs: Whole, margin: float, alpha: float
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Whether parity, or a gap, would be shown with a probability of about 80%."""
    from scipy.special import stdtrit  # slow to load

    errors, freedom = np.sqrt(variances / pairs), pairs - 1.0
    reach = stdtrit(freedom, POWER)
    # With a gap of 0 both tests must pass, and either may fail.
    both = stdtrit(freedom, (1 + POWER) / 2) if abs(gap) < 1e-9 else reach
    parity = abs(gap) + (both - stdtrit(freedom, ALPHA)) * errors <= margin
    differs = (reach - stdtrit(freedom, alpha / 2)) * errors <= abs(gap)
    return np.asarray(parity | differs)


class _Judged:
    """One chamber on its way: what stands before the chambers are known together."""

    def __init__(self, name: str, replies: Replies, *, lowest: float, step: float) -> None:
        self.name, self.replies, self.step = name, replies, step
        self.bounded = replies.lost_as(lowest)
        self.gaps = pair_gaps(replies)
        self.reason = ""
        self.estimate = self._estimate(self.gaps)
        self.p_gap = self.estimate.p_differs() if self.estimate else 1.0

    def _estimate(self, gaps: list[PairGap]) -> Estimate | None:
        if len(gaps) < 2:
            have = "No pair has" if not gaps else "Only one pair has"
            self.reason = f"{have} a rated reply in both arms; it takes at least two pairs."
            return None
        values = np.array([own.gap for own in gaps])
        return mean_of(values, fewest_spread=self.step / sqrt(len(gaps)))

    def chamber(self, p: float, margin: float, seed: str, draws: int, chambers: int) -> Chamber:
        replies, estimate = self.replies, self.estimate
        found = Chamber(
            self.name,
            tuple(self.gaps),
            Finding.UNDETERMINED,
            self.reason,
            pairs_left_out=len(np.unique(replies.pairs)) - len(self.gaps),
            lost=(replies.lost(A), replies.lost(B)),
            asked=(replies.asked(A), replies.asked(B)),
        )
        if not self.gaps:
            return found
        found = replace(
            found,
            mean_a=float(np.mean([own.mean_a for own in self.gaps])),
            mean_b=float(np.mean([own.mean_b for own in self.gaps])),
            gap=float(np.mean([own.gap for own in self.gaps])),
            bound=float(np.mean([own.gap for own in pair_gaps(self.bounded)])),
        )
        if estimate is None:
            return found
        finding, reason = self._finding(estimate, p, margin)
        return replace(
            found,
            finding=finding,
            reason=reason,
            interval=estimate.interval(),
            inner=estimate.interval(2 * ALPHA),
            these_prompts=self._these_prompts(),
            p_gap=p,
            p_parity=estimate.p_within(margin),
            p_permuted=self._permuted(seed, draws),
            needed=self._needed(estimate, margin, ALPHA / chambers)
            if finding is Finding.UNDETERMINED
            else None,
        )

    def _finding(self, estimate: Estimate, p: float, margin: float) -> tuple[Finding, str]:
        """Parity holds only if it does with lost replies at the lowest level too."""
        gap, within = p < ALPHA, estimate.p_within(margin) < ALPHA
        bounded = self._estimate(pair_gaps(self.bounded))
        certain = bounded is not None and bounded.p_within(margin) < ALPHA
        reason = ""
        if within and not certain:
            reason = (
                "Parity would be shown only if lost replies were left out: at the lowest level "
                "they could hide a gap."
            )
        if within and certain:
            return (Finding.BOTH if gap else Finding.PARITY), reason
        return (Finding.GAP if gap else Finding.UNDETERMINED), reason

    def _these_prompts(self) -> Range | None:
        try:
            return these_prompts(self.replies).interval()
        except Undefined:
            return None

    def _permuted(self, seed: str, draws: int) -> float | None:
        try:
            return permuted_p(self.replies, seed=seed, draws=draws)
        except Undefined:
            return None

    def _needed(self, estimate: Estimate, margin: float, alpha: float) -> Needed:
        pairs = len(self.gaps)
        total = estimate.variance * pairs
        try:
            within = min(total, these_prompts(self.replies).variance * pairs)
        except Undefined:
            within = 0.0
        trials = sum(own.replies_a + own.replies_b for own in self.gaps) / (2 * pairs)
        return needed(estimate.value, total - within, within, pairs, trials, margin, alpha)
