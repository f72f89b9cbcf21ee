"""What a report says of the blinding: each number with its count, or the reason for none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from rating.makers import UNKNOWN, numbered
from rating.report import Figure, figure_as_json
from rating.stats.agreement import Undefined
from rating.stats.blinding import (
    DRAWS,
    Index,
    Share,
    Whole,
    bang_index,
    james_index,
    permutation_test,
    share_right,
    share_unknown,
)

FEWEST_ANSWERS: Final = 30  # answers that a claim about the blinding asks for
BLINDED: Final = "The wave is not unblinded yet."
ABOUT: Final = (
    "After a declared share of responses, drawn beforehand, both raters are asked who made the "
    "response they have just rated. Their ratings do not change by it."
)
PERMUTED: Final = (
    "The test deals the true makers anew among the responses that one rater was asked about, "
    "and leaves the answers as they are: how often are so many right by chance?"
)
JAMES: Final = (
    "James’ index is 1 where nobody knows and 0 where all are right. Guesses no better than "
    "chance give halfway between 1 and the share of “I don’t know”."
)
BANG: Final = (
    "Bang’s index of a maker is the share right less the share wrong, among all answers about its "
    "responses: 1 is all right, −1 all wrong. It was made for two groups. With more makers a "
    "blind guess is wrong more often than right, so that chance lies below 0."
)
ALONE: Final = (
    "The intervals take each answer to stand alone, although one person gives several. The test "
    "keeps the answers of a person together, but takes the two raters of a response to guess "
    "each on their own: where both are misled by the same words, p comes out too small or too large."
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whom one rater named ("" for "I don't know"), and who it was: None while that is hidden."""

    rater: str
    guess: str
    maker: str | None


@dataclass(frozen=True)
class Bang:
    """Bang's index of one maker, over ``n`` answers."""

    maker: str
    n: int
    index: Figure


@dataclass(frozen=True)
class Keyed:
    """The figures that need to be known who made what."""

    share_right: Figure
    right: Figure
    expected: Figure
    p: Figure
    james: Figure
    bang: tuple[Bang, ...] = ()
    bang_reason: str | None = None

    @classmethod
    def withheld(cls, reason: str) -> "Keyed":
        none = Figure(None, reason=reason)
        return cls(none, none, none, none, none, bang_reason=reason)

    @property
    def p_in_words(self) -> str:
        """Such as "0.03" or "less than 0.001", or a sentence why there is none."""
        if self.p.value is None:
            return self.p.why
        if self.p.value < 0.001:
            return "less than 0.001"
        return f"{self.p.value:.3f}" if self.p.value < 0.01 else f"{self.p.value:.2f}"

    @property
    def right_in_words(self) -> str:
        return self.right.why if self.right.value is None else f"{self.right.value:.0f}"

    @property
    def expected_in_words(self) -> str:
        return self.expected.why if self.expected.value is None else f"{self.expected.value:.1f}"

    @property
    def bang_why(self) -> str:
        """A sentence why there is no index of any maker; empty where there is."""
        return Figure(None, reason=self.bang_reason).why


@dataclass(frozen=True)
class BlindingReport:
    """How far raters know who made what they rate.

    ``asked`` and what follows from it are of counted ratings; ``apart`` were asked too, after
    ratings that are not counted, so that nothing tells these apart, and are in no figure.
    ``unasked`` said in their rating that they knew the maker, without being asked.
    """

    percent: int
    asked: int
    answered: int
    unknown: int
    apart: int
    unasked: int
    share_unknown: Figure
    keyed: Keyed
    draws: int
    seed: str

    @property
    def guessed(self) -> int:
        return self.answered - self.unknown

    @property
    def sufficient(self) -> bool:
        """Whether there are as many guesses as a claim asks for."""
        return self.guessed >= FEWEST_ANSWERS

    @property
    def caution(self) -> str:
        """A sentence where the figures rest on too few guesses to be relied upon; else empty."""
        if self.sufficient or self.keyed.share_right.value is None:
            return ""
        return (
            f"Only {self.guessed} of the answers name{'s' * (self.guessed == 1)} somebody. A claim "
            f"asks for {FEWEST_ANSWERS}."
        )

    @property
    def asking(self) -> str:
        """Who is asked, and when."""
        return ABOUT

    @property
    def reading(self) -> tuple[str, ...]:
        """How each figure is to be read."""
        return PERMUTED, JAMES, BANG, ALONE


def blinding_report(
    answers: Sequence[Answer],
    *,
    asked: int,
    apart: int,
    unasked: int,
    percent: int,
    unblinded: bool,
    seed: str,
    draws: int = DRAWS,
) -> BlindingReport:
    """Return the figures of all answers; those that need the makers only where ``unblinded``.

    Raises ``ValueError`` if an answer has no maker although the wave is unblinded.
    """
    unknown = sum(answer.guess == UNKNOWN for answer in answers)
    return BlindingReport(
        percent=percent,
        asked=asked,
        answered=len(answers),
        unknown=unknown,
        apart=apart,
        unasked=unasked,
        share_unknown=_of_share(lambda: share_unknown(unknown, len(answers))),
        keyed=_keyed(answers, seed, draws) if unblinded else Keyed.withheld(BLINDED),
        draws=draws,
        seed=seed,
    )


def as_json(report: BlindingReport) -> dict[str, Any]:
    """Return the report as plain JSON values, in which nothing is NaN or infinite."""
    return {
        "percent_of_responses": report.percent,
        "asked": figure_as_json(Figure(report.asked)),
        "answered": figure_as_json(Figure(report.answered)),
        "unknown": figure_as_json(Figure(report.unknown)),
        "asked_after_ratings_not_counted": figure_as_json(Figure(report.apart)),
        "named_unasked": figure_as_json(Figure(report.unasked)),
        "share_unknown": figure_as_json(report.share_unknown),
        "share_right": figure_as_json(report.keyed.share_right),
        "right": figure_as_json(report.keyed.right),
        "right_by_chance": figure_as_json(report.keyed.expected),
        "permutation_p": figure_as_json(report.keyed.p),
        "permutations": report.draws,
        "james": figure_as_json(report.keyed.james),
        "bang": {
            "makers": [
                {"maker": row.maker, "n": row.n, **figure_as_json(row.index)}
                for row in report.keyed.bang
            ]
            or None,
            "reason": report.keyed.bang_reason,
        },
        "sufficient": report.sufficient,
        "seed": report.seed,
        "about": " ".join((report.asking, *report.reading)),
    }


def _keyed(answers: Sequence[Answer], seed: str, draws: int) -> Keyed:
    developers = [answer.maker for answer in answers if answer.maker is not None]
    if len(developers) < len(answers):
        raise ValueError("An answer has no maker, though who made what is known.")
    names, guessed, made = numbered([answer.guess for answer in answers], developers)
    guesses, makers = np.array(guessed, dtype=np.int64), np.array(made, dtype=np.int64)
    right, expected, p = _permuted(
        [answer.rater for answer in answers], guesses, makers, seed, draws
    )
    return Keyed(
        share_right=_of_share(lambda: share_right(guesses, makers)),
        right=right,
        expected=expected,
        p=p,
        james=_of_index(lambda: james_index(guesses, makers)),
        bang=tuple(
            Bang(
                name,
                int((makers == place).sum()),
                _of_index(partial(bang_index, guesses, makers, place)),
            )
            for place, name in enumerate(names)
        ),
        bang_reason=None if names else "Nobody has answered.",
    )


def _of_share(share: Callable[[], Share]) -> Figure:
    try:
        found = share()
    except Undefined as why:
        return Figure(None, reason=str(why))
    return Figure(found.value, found.low, found.high)


def _of_index(index: Callable[[], Index]) -> Figure:
    try:
        found = index()
    except Undefined as why:
        return Figure(None, reason=str(why))
    try:
        return Figure(found.value, *found.interval())
    except Undefined as why:
        return Figure(found.value, reason=str(why))


def _permuted(
    raters: Sequence[str], guesses: Whole, makers: Whole, seed: str, draws: int
) -> tuple[Figure, Figure, Figure]:
    """How many were right, how many chance would give, and how often it gives as many."""
    right = Figure(int((guesses == makers).sum()))
    places = {rater: place for place, rater in enumerate(sorted(set(raters)))}
    numbers = np.array([places[rater] for rater in raters], dtype=np.int64)
    try:
        test = permutation_test(numbers, guesses, makers, seed=seed, draws=draws)
    except Undefined as why:
        none = Figure(None, reason=str(why))
        return right, none, none
    return right, Figure(test.expected), Figure(test.p)
