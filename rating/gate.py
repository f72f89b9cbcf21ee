"""When a wave may be called official: derived from facts, never set.

Each condition shows its evidence and what is missing. Anything that does not meet all of them is
``official: false, comparability: none``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

OFFICIAL: Final = "official"
NONE: Final = "none"
WITHIN_BANK: Final = "within-bank"
UNBLINDERS: Final = 2


@dataclass(frozen=True)
class SubjectFacts:
    """One subject of the wave."""

    name: str
    frozen: bool
    access_tier: str
    lost: int
    asked: int
    too_many_lost: bool
    probes_complete: bool


@dataclass(frozen=True)
class Facts:
    """What is so about a wave. The gate knows nothing else."""

    kind: str
    subjects: tuple[SubjectFacts, ...]
    raters_no_longer_blind: tuple[str, ...]
    preregistered_at: datetime | None
    first_response_at: datetime | None
    exclusion_rule: str
    pool: str
    items_served: int
    items_validated: int
    responses: int
    responses_rated_twice: int
    never_came: int
    ratings_excluded: int
    judges_of_subjects_family: tuple[str, ...]
    agreement: float | None
    agreement_floor: float | None
    raters: int
    raters_unqualified: tuple[str, ...]
    harm_flags: int
    harm_flags_undecided: int
    ratings_frozen_at: datetime | None
    unblinded_at: datetime | None
    unblinded_by: int
    confounds_open: tuple[str, ...]


@dataclass(frozen=True)
class Condition:
    """One condition, the evidence there is, and what is missing; nothing if it is met."""

    name: str
    evidence: str
    missing: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        return not self.missing


@dataclass(frozen=True)
class Gate:
    """All conditions of a wave, in a fixed order."""

    conditions: tuple[Condition, ...]

    @property
    def official(self) -> bool:
        return all(condition.met for condition in self.conditions)

    @property
    def comparability(self) -> str:
        return WITHIN_BANK if self.official else NONE

    @property
    def missing(self) -> tuple[Condition, ...]:
        return tuple(condition for condition in self.conditions if not condition.met)

    @property
    def sentence(self) -> str:
        count = len(self.missing)
        if not count:
            return "This is an official result: every condition is met."
        return (
            f"This is not an official result. {count} of {len(self.conditions)} conditions "
            f"{'is' if count == 1 else 'are'} not met."
        )


def gate(facts: Facts) -> Gate:
    """Return whether a wave is official, with the evidence of each condition."""
    return Gate(
        tuple(
            condition(facts)
            for condition in (
                _subjects,
                _preregistration,
                _pool,
                _validation,
                _ratings,
                _agreement,
                _contamination,
                _failures,
                _raters,
                _harm,
                _unblinding,
                _confounds,
            )
        )
    )


def findings_only(facts: Facts) -> bool:
    """Whether agreement is below its floor, so that the wave states findings on the instrument."""
    floor, agreement = facts.agreement_floor, facts.agreement
    return agreement is None or floor is None or agreement < floor


def _subjects(facts: Facts) -> Condition:
    moving = [own.name for own in facts.subjects if not own.frozen]
    silent = [own.name for own in facts.subjects if not own.access_tier]
    unblind = len(facts.raters_no_longer_blind)
    return _condition(
        "Subjects frozen, access tier stated, subject access blinded",
        f"{_counted(len(facts.subjects), 'subject')}; of {_counted(facts.raters, 'rater')} "
        f"{unblind} had seen figures by subject before the wave was unblinded.",
        (not facts.subjects, "A subject."),
        (moving, f"An exact snapshot or digest of {_listed(moving)}."),
        (silent, f"The access tier of {_listed(silent)}."),
        (unblind, f"Ratings by others than {_counted(unblind, 'rater')} who knew the subjects."),
    )


def _preregistration(facts: Facts) -> Condition:
    at, first = facts.preregistered_at, facts.first_response_at
    return _condition(
        "Declared official and pre-registered with its exclusion rule before the first response",
        f"A wave declared {facts.kind}, "
        + (f"locked {_moment(at)}" if at else "not locked")
        + (f", first response {_moment(first)}." if first else ", no response yet."),
        (facts.kind != OFFICIAL, "A plan that declares the wave official: no other is promoted."),
        (at is None, "A locked pre-registration."),
        (at and first and at >= first, "A pre-registration locked before the first response."),
        (not facts.exclusion_rule, "The rule by which ratings would be excluded."),
    )


def _pool(facts: Facts) -> Condition:
    return _condition(
        "Items from an unpublished pool",
        f"The pool is {facts.pool or 'not stated'}.",
        (facts.pool != "unpublished", "Unpublished items: published ones carry their answer key."),
    )


def _validation(facts: Facts) -> Condition:
    short = facts.items_served - facts.items_validated
    return _condition(
        "Every served item validated by two people",
        f"{facts.items_validated} of {facts.items_served} served items validated.",
        (not facts.items_served, "A served item."),
        (short > 0, f"Two reviews that find {_counted(short, 'served item')} valid."),
    )


def _ratings(facts: Facts) -> Condition:
    short = facts.responses - facts.responses_rated_twice
    judges = facts.judges_of_subjects_family
    return _condition(
        "Two human raters for every response, none excluded afterwards",
        f"{facts.responses_rated_twice} of {facts.responses} responses rated by two people; "
        f"{_counted(facts.never_came, 'planned reply', 'planned replies')} never came; "
        f"{_counted(facts.ratings_excluded, 'rating')} excluded afterwards.",
        (not facts.responses, "A response."),
        (short > 0, f"Two ratings of {_counted(short, 'response')}."),
        (
            facts.never_came,
            f"{_counted(facts.never_came, 'planned reply', 'planned replies')} that never came.",
        ),
        (facts.ratings_excluded, "A wave whose ratings were not excluded after the fact."),
        (judges, f"Judges of other families than the subjects': not {_listed(judges)}."),
    )


def _agreement(facts: Facts) -> Condition:
    found, floor = facts.agreement, facts.agreement_floor
    shown = "not known" if found is None else f"{found:.3f}"
    limit = "not declared" if floor is None else f"{floor:.2f}"
    low = found is not None and floor is not None and found < floor
    return _condition(
        "Agreement at or above the floor declared beforehand",
        f"Ordinal alpha {shown}; floor {limit}.",
        (floor is None, "A floor declared in the pre-registration."),
        (found is None, "Agreement of the ratings."),
        (low, "Agreement at the floor: below it the wave states findings on the instrument only."),
    )


def _contamination(facts: Facts) -> Condition:
    open_ = [own.name for own in facts.subjects if not own.probes_complete]
    return _condition(
        "Contamination probes complete",
        f"Complete for {len(facts.subjects) - len(open_)} of {len(facts.subjects)} subjects.",
        (not facts.subjects, "A subject."),
        (open_, f"Both probes of {_listed(open_)}."),
    )


def _failures(facts: Facts) -> Condition:
    above = [own.name for own in facts.subjects if own.too_many_lost]
    lost = sum(own.lost for own in facts.subjects)
    return _condition(
        "No subject with more than 10% filtered, failed or malformed replies",
        f"{lost} of {sum(own.asked for own in facts.subjects)} replies lost.",
        (above, f"Fewer lost replies of {_listed(above)}."),
    )


def _raters(facts: Facts) -> Condition:
    """Raters are counted and not named: what is missing is published with the report."""
    short = len(facts.raters_unqualified)
    return _condition(
        "Raters qualified",
        f"{facts.raters - short} of {facts.raters} raters qualified.",
        (not facts.raters, "A rater."),
        (short, f"A qualification of {_counted(short, 'rater')}."),
    )


def _harm(facts: Facts) -> Condition:
    return _condition(
        "Every critical-harm flag decided by a person",
        f"{facts.harm_flags - facts.harm_flags_undecided} of {facts.harm_flags} flags decided.",
        (
            facts.harm_flags_undecided,
            f"A decision on {_counted(facts.harm_flags_undecided, 'flag')}.",
        ),
    )


def _unblinding(facts: Facts) -> Condition:
    frozen, at = facts.ratings_frozen_at, facts.unblinded_at
    return _condition(
        "Ratings frozen before a logged unblinding by two people",
        (f"Frozen {_moment(frozen)}" if frozen else "Not frozen")
        + (f", unblinded {_moment(at)} by {facts.unblinded_by}." if at else ", not unblinded."),
        (frozen is None, "Frozen ratings."),
        (at is None, "An unblinding."),
        (frozen and at and at <= frozen, "An unblinding after the ratings were frozen."),
        (at and facts.unblinded_by < UNBLINDERS, "Two people who agreed to unblind."),
    )


def _confounds(facts: Facts) -> Condition:
    count = len(facts.confounds_open)
    return _condition(
        "Every confound resolved or disclosed",
        f"{_counted(count, 'confound')} open.",
        (count, f"A finding or a disclosure on {_listed(facts.confounds_open)}."),
    )


def _condition(name: str, evidence: str, *faults: tuple[object, str]) -> Condition:
    return Condition(name, evidence, tuple(missing for found, missing in faults if found))


def _counted(count: int, noun: str, many: str = "") -> str:
    return f"{count} {noun if count == 1 else many or f'{noun}s'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names))


def _moment(at: datetime | None) -> str:
    return "" if at is None else f"{at:%Y-%m-%d %H:%M}"
