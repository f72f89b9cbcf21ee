"""What a report says of the subjects themselves, each number with its count or the reason for none.

Whether they knew the items; whether they repeat themselves, in twenty identical calls and from run
to run; and whether one that was altered on purpose moves as declared. A report names subjects once
its wave is unblinded. Until then it says how many have which verdict, and no more: its files travel.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rating.stats.agreement import Floats, Undefined
from rating.stats.reruns import Rerun, rerun
from rating.stats.sameness import MOST_WORDS, Sameness, sameness
from rating.stats.sensitivity import Sensitivity, sensitivity
from rating.stats.verdict import Outcome
from runs.exposure import FLAG_OVERLAP, FLAG_P, Answered, Contamination, Verdict

ABOUT_CONTAMINATION: Final = (
    "Each subject is asked for the words of some items from memory, and which of four texts is an "
    f"item’s own. It is flagged where {FLAG_OVERLAP:g} or more of the words of an answer and of the "
    "text it should be are common to both (Jaccard), or where chance would be right as often less "
    f"than {FLAG_P:.0%} of the time (exact binomial)."
)
NEVER_CLEARED: Final = (
    "A subject that knows the items may say that it does not, and only a few of them are asked "
    "about. So nothing here says that a subject did not know them."
)
ABOUT_SAMENESS: Final = (
    "One item, drawn for the wave, is asked in identical calls, the same seed sent each time. The "
    "distance of two replies is the share of their words to be changed, put in or taken out, of "
    f"the first {MOST_WORDS}."
)
ABOUT_RERUNS: Final = (
    "Two runs of one subject under the same system message, compared item by item with the "
    "standard error that trials give. The trials of an item are dealt to the runs anew to see what "
    "chance does. Where the runs are of two waves, that raters have changed is in the difference."
)
ABOUT_SENSITIVITY: Final = (
    "A subject under a system message that should move its levels in a direction declared "
    "beforehand, compared item by item with itself (one-sided paired t over items)."
)
LATER: Final = "It is told by subject once the wave is unblinded."
NO_RERUN: Final = "No subject has two runs under the same system message."
NOT_ALTERED: Final = "No condition was declared to move the levels of a subject."
NO_CALLS: Final = "The identical calls have not been made."

#: The mean level of each response rated twice, by item. One of these for each run.
ByItem = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class SamenessRow:
    """The identical calls to one subject: ``calls`` were made, about ``item``."""

    subject: str
    item: str
    calls: int
    found: Sameness | None
    reason: str | None = None


@dataclass(frozen=True)
class RerunRow:
    """Two runs of one subject, by the names of wave and condition."""

    subject: str
    first: str
    second: str
    found: Rerun | None
    reason: str | None = None


@dataclass(frozen=True)
class SensitivityRow:
    """A subject under the condition that alters it, with what was declared."""

    subject: str
    condition: str
    expected: str
    why: str
    found: Sensitivity | None
    reason: str | None = None


@dataclass(frozen=True)
class ProbeReport:
    """Where there are no rows of a kind, its ``no_…`` says why.

    ``verdicts`` are on whether subjects knew the items, each with how many subjects have it.
    """

    verdicts: Mapping[str, int]
    contamination: Mapping[str, Contamination]
    sameness: tuple[SamenessRow, ...]
    reruns: tuple[RerunRow, ...]
    sensitivities: tuple[SensitivityRow, ...]
    no_contamination: str = ""
    no_sameness: str = ""
    no_reruns: str = ""
    no_sensitivities: str = ""
    about_contamination: str = f"{ABOUT_CONTAMINATION} {NEVER_CLEARED}"
    about_sameness: str = ABOUT_SAMENESS
    about_reruns: str = ABOUT_RERUNS
    about_sensitivity: str = ABOUT_SENSITIVITY


def probe_report(
    contamination: Mapping[str, Contamination],
    sameness_rows: Iterable[SamenessRow],
    rerun_rows: Iterable[RerunRow],
    sensitivity_rows: Iterable[SensitivityRow],
    *,
    unblinded: bool,
) -> ProbeReport:
    """Return what is known by now. What is told by subject is left out until ``unblinded``."""
    found = [one.verdict for one in contamination.values()]
    verdicts = {verdict.value: found.count(verdict) for verdict in Verdict}
    if not unblinded:
        return ProbeReport(verdicts, {}, (), (), (), LATER, LATER, LATER, LATER)
    same, again, altered = tuple(sameness_rows), tuple(rerun_rows), tuple(sensitivity_rows)
    return ProbeReport(
        verdicts,
        contamination,
        same,
        again,
        altered,
        no_sameness="" if same else NO_CALLS,
        no_reruns="" if again else NO_RERUN,
        no_sensitivities="" if altered else NOT_ALTERED,
    )


def sameness_row(subject: str, item: str, texts: Sequence[str], calls: int) -> SamenessRow:
    try:
        return SamenessRow(subject, item, calls, sameness(texts))
    except Undefined as why:
        return SamenessRow(subject, item, calls, None, str(why))


def rerun_row(
    subject: str, names: tuple[str, str], runs: tuple[ByItem, ByItem], *, seed: str
) -> RerunRow:
    """Compare two runs over the items that both have rated responses of."""
    first, second = runs
    items = sorted(first.keys() & second.keys())
    try:
        found = rerun(
            [np.array(first[item]) for item in items],
            [np.array(second[item]) for item in items],
            seed=seed,
        )
    except Undefined as why:
        return RerunRow(subject, *names, None, str(why))
    return RerunRow(subject, *names, found)


def sensitivity_row(
    subject: str, condition: str, expected: str, why: str, runs: tuple[ByItem, ByItem]
) -> SensitivityRow:
    """Compare the plain run, first, with the altered one over the items that both have."""
    items = sorted(runs[0].keys() & runs[1].keys())
    try:
        found = sensitivity(*(_means(run, items) for run in runs), expected=expected)
    except Undefined as reason:
        return SensitivityRow(subject, condition, expected, why, None, str(reason))
    return SensitivityRow(subject, condition, expected, why, found)


def as_json(report: ProbeReport) -> dict[str, Any]:
    """Return the report as plain JSON values, in which nothing is NaN or infinite."""
    return {
        "contamination": {
            "verdicts": dict(report.verdicts),
            "reason": report.no_contamination or None,
            "subjects": [
                {"subject": subject, **_contamination_as_json(found)}
                for subject, found in report.contamination.items()
            ],
            "about": report.about_contamination,
        },
        "determinism": {
            "subjects": [_sameness_as_json(row) for row in report.sameness],
            "reason": report.no_sameness or None,
            "about": report.about_sameness,
        },
        "reruns": {
            "pairs": [_rerun_as_json(row) for row in report.reruns],
            "reason": report.no_reruns or None,
            "about": report.about_reruns,
        },
        "sensitivity": {
            "conditions": [_sensitivity_as_json(row) for row in report.sensitivities],
            "reason": report.no_sensitivities or None,
            "about": report.about_sensitivity,
        },
    }


def _means(run: ByItem, items: Sequence[str]) -> Floats:
    return np.array([np.mean(run[item]) for item in items], dtype=np.float64)


def _contamination_as_json(found: Contamination) -> dict[str, Any]:
    return {
        "verdict": found.verdict.value,
        "missing": list(found.missing),
        "cautions": list(found.cautions),
        "recalls": [
            {**_answer_as_json(one), "overlap": one.score, "flagged": one.flagged}
            for one in found.recalls
        ],
        "recalls_disclaimed": found.disclaimed,
        "choices": [
            {**_answer_as_json(one), "right": None if one.score is None else one.score == 1}
            for one in found.choices
        ],
        "choices_right": found.right if found.choices else None,
        "choices_p": found.p,
    }


def _answer_as_json(one: Answered) -> dict[str, Any]:
    return {"item": one.item, "part": one.part.value, "reason": one.why_none or None}


def _sameness_as_json(row: SamenessRow) -> dict[str, Any]:
    told: dict[str, Any] = {"subject": row.subject, "item": row.item, "calls": row.calls}
    if row.found is None:
        return {**told, "reason": row.reason}
    return {
        **told,
        "n": row.found.n,
        "distinct": row.found.distinct,
        "same_pairs": row.found.same_pairs,
        "distances": list(row.found.distances),
        "mean_words": row.found.mean_words,
        "variance_words": row.found.variance_words,
        "sufficient": row.found.sufficient,
        "reason": None,
    }


def _rerun_as_json(row: RerunRow) -> dict[str, Any]:
    told: dict[str, Any] = {"subject": row.subject, "first": row.first, "second": row.second}
    found = row.found
    if found is None:
        return {**told, "outcome": Outcome.OPEN.value, "reason": row.reason}
    return {
        **told,
        "outcome": found.outcome.value,
        "reason": found.missing or None,
        "n_items": found.n_items,
        "n_trials": found.n_trials,
        "trial_sd": found.trial_sd,
        "mean_difference": found.mean_difference,
        "p_shift": found.p_shift,
        "p_spread": found.p_spread,
        "excess": found.excess,
        "excess_at_most": found.most,
        "margin": found.margin,
        "items_beyond_chance": found.beyond,
    }


def _sensitivity_as_json(row: SensitivityRow) -> dict[str, Any]:
    told: dict[str, Any] = {
        "subject": row.subject,
        "condition": row.condition,
        "expected": row.expected,
        "why": row.why,
    }
    found = row.found
    if found is None:
        return {**told, "outcome": Outcome.OPEN.value, "reason": row.reason}
    return {
        **told,
        "outcome": found.outcome.value,
        "reason": found.missing or None,
        "n_items": found.n,
        "moved": found.moved,
        "moved_at_least": found.low,
        "moved_at_most": found.high,
        "p": found.p,
        "least": found.least,
    }
