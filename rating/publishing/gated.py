"""The facts that the gate of official waves asks for, from the rows of a wave."""

from collections.abc import Mapping
from datetime import datetime

from rating.gate import Facts, Gate, SubjectFacts, gate
from rating.publishing.data import NOT_STATED, WaveData
from rating.stats.confounds import Ledger
from rating.stats.scores import Asked


def facts_of(
    data: WaveData, asked: Mapping[tuple[str, str], Asked], alpha: float | None, ledger: Ledger
) -> Facts:
    """What is so about a wave, as the gate wants to know it."""
    flagged = {rating.response for rating in data.ratings if rating.critical_harm}
    decided = {row.response for row in data.settled if row.harm_upheld is not None}
    return Facts(
        kind=data.wave.kind,
        subjects=_subjects(data, asked),
        raters_no_longer_blind=data.people.no_longer_blind,
        preregistered_at=_moment(data.wave.locked_at),
        first_response_at=_moment(data.wave.first_reply_at),
        exclusion_rule=data.declared.exclusion_rule,
        pool="unpublished" if data.unpublished else "public",
        items_served=len(data.items),
        items_validated=sum(item.validated for item in data.items),
        responses=data.completed,
        responses_rated_twice=len(data.twice),
        never_came=data.never_came,
        ratings_excluded=data.people.excluded_afterwards,
        judges_of_subjects_family=tuple(sorted({row.judge for row in data.judges if row.own})),
        agreement=alpha,
        agreement_floor=data.declared.agreement_floor,
        raters=data.people.raters,
        raters_unqualified=data.people.unqualified,
        harm_flags=len(flagged),
        harm_flags_undecided=len(flagged - decided),
        ratings_frozen_at=_moment(data.wave.frozen_at),
        unblinded_at=_moment(data.wave.unblinded_at),
        unblinded_by=data.wave.unblinded_by,
        confounds_open=tuple(entry.code for entry in ledger.open),
    )


def gate_of(
    data: WaveData, asked: Mapping[tuple[str, str], Asked], alpha: float | None, ledger: Ledger
) -> Gate:
    """Whether the wave is official, condition by condition."""
    return gate(facts_of(data, asked, alpha, ledger))


def below_floor(floor: float | None, alpha: float | None) -> bool:
    """Whether a floor was declared and not reached: then the wave tells of the instrument alone."""
    return floor is not None and (alpha is None or alpha < floor)


def _subjects(data: WaveData, asked: Mapping[tuple[str, str], Asked]) -> tuple[SubjectFacts, ...]:
    """One of each subject; its replies under all conditions together, its worst run deciding."""
    complete = {row.subject: row.complete for row in data.probed}
    found = {}
    for run in sorted(data.runs, key=lambda run: run.key):
        of_runs = [asked[other.key] for other in data.runs if other.subject == run.subject]
        found[run.subject] = SubjectFacts(
            name=run.subject,
            frozen=bool(run.snapshot or run.digest),
            access_tier="" if run.access_tier == NOT_STATED else run.access_tier,
            lost=sum(one.lost for one in of_runs),
            asked=sum(one.replies for one in of_runs),
            too_many_lost=any(one.too_many_lost for one in of_runs),
            probes_complete=complete.get(run.subject, False),
        )
    return tuple(found.values())


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
