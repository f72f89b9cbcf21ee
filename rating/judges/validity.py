"""How far the quotes of a judge can be trusted, and which judges are left out for it.

The rule is declared before the first answer and read on the first answers alone: a judge is left
out of the whole round when more than the declared percent of its quotes are not in the replies.
Exactly that percent passes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from runs.canonical import draw

VERBATIM: Final = "verbatim"
FOLDED: Final = "folded"
NONE: Final = "none"
#: From so many judges left out, a round tells of the instrument alone.
FINDINGS_FROM: Final = 2

Percent = int | Decimal


class Outcome(StrEnum):
    """What the judges of a round are good for."""

    WHOLE = "every judge serves"
    REROUTED = "one judge is left out, and its responses go to another where one is left"
    FINDINGS_ONLY = "instrument findings only"


@dataclass(frozen=True)
class Validity:
    """The quotes of one judge: how many were found, and how."""

    judge: str
    as_written: int
    after_folding: int
    unfound: int
    #: Found, but of too few words or characters.
    too_short: int = 0
    #: Answers that could not be used. They carry no quote, so that they are in no share.
    unread: int = 0

    @property
    def quotes(self) -> int:
        return self.as_written + self.after_folding + self.unfound

    @property
    def percent(self) -> float | None:
        """Of its quotes, how many percent are not found; None where it gave none."""
        return 100 * self.unfound / self.quotes if self.quotes else None

    def exceeds(self, percent: Percent) -> bool:
        """Whether it has more than this percent. A judge without a quote is not measured."""
        return 100 * self.unfound > percent * self.quotes

    def sentence(self, percent: Percent) -> str:
        """What the rule says of it."""
        if not self.quotes:
            return f"{self.judge} gave no quote: not measured."
        told = f"{self.unfound} of {self.quotes} quotes of {self.judge} are not in the replies"
        share = f"{told} ({self.percent:.1f}%; the rule allows {percent}%)"
        return f"{share}: left out of the whole round." if self.exceeds(percent) else f"{share}."


@dataclass(frozen=True)
class Given:
    """One answer as the rule reads it. ``found`` is empty where the answer could not be used."""

    judge: str
    found: str
    valid: bool = True


def validity(judges: Sequence[str], answers: Iterable[Given]) -> tuple[Validity, ...]:
    """The quotes of each judge, in the order of the panel."""
    counts: dict[str, Counter[str]] = {judge: Counter() for judge in judges}
    for answer in answers:
        counts[answer.judge][answer.found] += 1
        if answer.found in (VERBATIM, FOLDED) and not answer.valid:
            counts[answer.judge]["short"] += 1
    return tuple(
        Validity(judge, count[VERBATIM], count[FOLDED], count[NONE], count["short"], count[""])
        for judge, count in counts.items()
    )


def excluded(measured: Iterable[Validity], percent: Percent) -> tuple[str, ...]:
    """The judges that the rule leaves out."""
    return tuple(one.judge for one in measured if one.exceeds(percent))


def outcome(left_out: Sequence[str]) -> Outcome:
    """What a round is good for once so many judges are left out."""
    if not left_out:
        return Outcome.WHOLE
    return Outcome.FINDINGS_ONLY if len(left_out) >= FINDINGS_FROM else Outcome.REROUTED


@dataclass(frozen=True)
class Bridge:
    """How one judge's levels of the same replies differ between two rounds, new less earlier."""

    judge: str
    pairs: int
    mean_absolute: float | None
    largest_absolute: int | None
    exact: int
    signed_mean: float | None


def bridge(judge: str, levels: Sequence[tuple[int, int]]) -> Bridge:
    """What a bridge sample shows of one judge, or of all together.

    Parameters
    ----------
    judge : str
        Its name.
    levels : sequence of (earlier, new)
        Both levels of each reply that it judged in both rounds.
    """
    moved = [new - earlier for earlier, new in levels]
    if not moved:
        return Bridge(judge, 0, None, None, 0, None)
    sizes = [abs(one) for one in moved]
    return Bridge(
        judge,
        len(moved),
        sum(sizes) / len(sizes),
        max(sizes),
        sizes.count(0),
        sum(moved) / len(moved),
    )


def sample(groups: Mapping[str, Sequence[str]], size: int, *, seed: str) -> list[str]:
    """``size`` keys drawn from groups in equal parts, in a fixed order.

    Where a group has fewer than its part, the others fill up. Fewer than ``size`` are returned
    only where there are no more.
    """
    order = {
        name: sorted(set(keys), key=lambda key: draw(seed, f"sample|{key}"))
        for name, keys in groups.items()
    }
    turns = sorted(order, key=lambda name: draw(seed, f"group|{name}"))
    taken: list[str] = []
    depth = 0
    while len(taken) < size and any(depth < len(order[name]) for name in turns):
        for name in turns:
            if depth < len(order[name]) and len(taken) < size:
                taken.append(order[name][depth])
        depth += 1
    return sorted(taken)
