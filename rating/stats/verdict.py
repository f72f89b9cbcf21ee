"""What a test of the method came to: the claim holds, is refuted, or cannot be told yet."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    HOLDS = "holds"
    REFUTED = "refuted"
    OPEN = "cannot be told yet"


@dataclass(frozen=True)
class Verdict:
    """A claim, what came of testing it, the evidence in sentences, and what is missing.

    Raises ``ValueError`` where a claim is said to hold or to be refuted without evidence, or to
    be open without a word on what is missing.
    """

    claim: str
    outcome: Outcome
    evidence: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome is Outcome.OPEN and not self.missing:
            raise ValueError(f"Say what is missing to decide whether {self.claim!r} holds.")
        if self.outcome is not Outcome.OPEN and not self.evidence:
            raise ValueError(f"Say on what evidence {self.claim!r} {self.outcome}.")


def holds(claim: str, *evidence: str) -> Verdict:
    """The data show the claim."""
    return Verdict(claim, Outcome.HOLDS, evidence)


def refuted(claim: str, *evidence: str) -> Verdict:
    """The data show the opposite of the claim. It is published like anything else."""
    return Verdict(claim, Outcome.REFUTED, evidence)


def cannot_tell(claim: str, missing: str, *evidence: str) -> Verdict:
    """The data leave both open; ``missing`` says what would settle it."""
    return Verdict(claim, Outcome.OPEN, evidence, (missing,))
