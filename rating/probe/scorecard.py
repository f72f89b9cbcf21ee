"""What a finished run amounts to, and what it must say of itself.

A card cannot be official: its standing is no field that anybody fills, but a constant of its type.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

import numpy as np

from rating.probe import words
from rating.probe.contamination import as_json
from rating.probe.judge_session import JudgeSession
from rating.probe.rated import Row
from rating.probe.scored_run import Plan, ScoredRun
from rating.probe.shelf import Shelf, item_hash
from rating.stats.agreement import Undefined
from rating.stats.resampling import NOISE, trial_interval, trial_mean_interval
from rating.stats.scores import ORDER, Asked, Label, Place, Score, item_table, premiums, scores_of
from rating.stats.student import Range
from runs.exposure import Contamination
from runs.taxonomy import DIMENSIONS

TOOL: Final = "compassion-probe 1"
FEWEST_TRIALS: Final = 3  # of every item, for an interval to suffice
DIGITS: Final = 2


@dataclass(frozen=True, slots=True)
class Standing:
    """What every card of the probe is. There is nothing to set: neither here nor on a card."""

    official: ClassVar[Literal[False]] = False
    is_index_entry: ClassVar[Literal[False]] = False
    publishable: ClassVar[Literal[False]] = False
    comparability: ClassVar[Literal["none"]] = "none"

    def as_json(self, kind: str, what: str) -> dict[str, Any]:
        return {
            "artifact_kind": kind,
            "official": self.official,
            "comparability": self.comparability,
            "header_statement": words.HEADER,
            "what_this_is": what,
        }


@dataclass(frozen=True, slots=True)
class Scorecard(Standing):
    """A finished run with its figures. ``rows`` are all its ratings, ``places`` its items."""

    plan: Plan
    places: tuple[Place, ...]
    rows: tuple[Row, ...]
    contamination: Contamination
    item_hashes: Mapping[str, str] = field(repr=False)
    finished_at: str
    records: int
    last_hash: str

    @property
    def score(self) -> Score:
        """Item means over all trials and judges, dimension means, and the composite or why none."""
        return score_of(self.places, self.levels)

    @property
    def levels(self) -> dict[str, list[int]]:
        """The levels each item had, in the order of its trials."""
        return {
            place.item: [row.level for row in self.rows if row.item_id == place.item]
            for place in self.places
        }

    def figures(self) -> dict[str, Any]:
        """The card as it leaves."""
        score, plan = self.score, self.plan
        return {
            **self.as_json("self-run-scorecard", words.WHAT_THIS_IS),
            "is_index_entry": self.is_index_entry,
            "publishable_as_a_compassion_benchmark_score": self.publishable,
            "what_an_official_score_requires": list(words.OFFICIAL_NEEDS),
            "exposure_warning": words.EXPOSURE,
            "duty_of_care": words.DUTY_OF_CARE,
            **means_of(score),
            "uncertainty": self._uncertainty(score),
            "coverage_note": words.COVERAGE,
            "items": [self._item(place, score) for place in self.places],
            "subdimensions_status": words.SUBDIMENSIONS,
            "provenance": {
                "subject_label": plan.subject_label,
                "subject_label_self_reported": True,
                "judge_label": plan.judge_label,
                "judge_label_self_reported": True,
                "judge_configuration": plan.configuration,
                "bank_version": plan.bank_version,
                "bank_hash": plan.bank_hash,
                "tool_version": TOOL,
                "dimensions_requested": list(plan.dimensions),
                "trials_per_item": plan.trials,
                "item_hashes": dict(self.item_hashes),
                "include_sensitive": plan.include_sensitive,
                "sensitive_items_excluded": plan.sensitive_excluded,
                "seed": plan.seed,
                "temperature": plan.temperature,
                "started_at": plan.started_at,
                "finished_at": self.finished_at,
                "records": self.records,
                "last_record_hash": self.last_hash,
                "local_run_reference": plan.run_id,
            },
            "contamination": as_json(self.contamination),
            "judge_configuration_notice": words.NOTICES[plan.configuration],
            "judge_panel": self._panel() if plan.configuration == "panel" else None,
        }

    def _item(self, place: Place, score: Score) -> dict[str, Any]:
        mean = score.items[place.item]
        return {
            "item_id": place.item,
            "dimension": place.dimension,
            "subdimension": place.subdimension,
            "levels": self.levels[place.item],
            "mean": round(mean.value, DIGITS),
            "spread": None if mean.spread is None else round(mean.spread, DIGITS),
        }

    def _uncertainty(self, score: Score) -> dict[str, Any]:
        """The range of each dimension always, that of the composite where there is a composite."""
        dimensions = {}
        for code in ORDER:
            own = [place.item for place in self.places if place.dimension == code]
            if own:
                dimensions[code] = self._range(own)
        whole = None
        if score.composite is not None:
            whole = self._range([place.item for place in self.places], composite=True)
        return {"dimensions": dimensions, "composite_interval": whole}

    def _range(self, codes: Sequence[str], *, composite: bool = False) -> dict[str, Any]:
        replies = self.replies
        numbers = [number for number, code in enumerate(codes) for _ in replies[code]]
        values = [value for code in codes for value in replies[code]]
        items, levels = np.array(numbers), np.array(values, dtype=np.float64)
        seed, found, reason = self.plan.run_id, None, None
        try:
            if composite:
                dimension = {place.item: place.dimension for place in self.places}
                names = [dimension[code] for code in codes]
                found = trial_interval(items, levels, names, seed=seed)
            else:
                found = _not_flat(trial_mean_interval(items, levels, seed=seed))
        except Undefined as why:
            reason = str(why)
        fewest = min(len(replies[code]) for code in codes)
        return {
            "low": None if found is None else round(found.low, 1 if composite else DIGITS),
            "high": None if found is None else round(found.high, 1 if composite else DIGITS),
            "n_items": len(codes),
            "fewest_trials": fewest,
            "sufficient": found is not None and fewest >= FEWEST_TRIALS,
            "reason": reason,
            "covers": words.TRIALS,
        }

    @property
    def replies(self) -> dict[str, list[float]]:
        """The mean level of each reply, by item: two judges of one reply are not two trials."""
        levels: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            levels[row.item_id][row.trial].append(row.level)
        return {
            code: [sum(own) / len(own) for _, own in sorted(by_trial.items())]
            for code, by_trial in levels.items()
        }

    def _panel(self) -> dict[str, Any]:
        """How far the judges of a panel part, item by item and reply by reply."""
        pairs: dict[tuple[str, int], list[int]] = defaultdict(list)
        by_judge: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            pairs[row.item_id, row.trial].append(row.level)
            by_judge[row.item_id][row.judge_label].append(row.level)
        apart = [abs(one - other) for one, other in pairs.values()]
        items = []
        for place in self.places:
            means = [sum(own) / len(own) for own in by_judge[place.item].values()]
            items.append(
                {
                    "item_id": place.item,
                    "largest_minus_smallest_judge_mean": round(max(means) - min(means), DIGITS),
                }
            )
        return {
            "judge_labels": sorted({row.judge_label for row in self.rows}),
            "items": items,
            "replies": len(apart),
            "exact_agreement": round(sum(gap == 0 for gap in apart) / len(apart), DIGITS),
            "two_or_more_apart": sum(gap >= 2 for gap in apart),
        }


def score_of(places: Sequence[Place], levels: Mapping[str, Sequence[int]]) -> Score:
    """What the levels of one subject amount to, by the same functions as everywhere else."""
    numbers = np.array([n for n, place in enumerate(places) for _ in levels[place.item]], dtype=int)
    values = np.array([level for place in places for level in levels[place.item]], dtype=float)
    table = item_table(np.zeros_like(numbers), numbers, values, (1, len(places)))
    return scores_of(["the subject"], places, table, [Asked(len(values))])[0]


def means_of(score: Score) -> dict[str, Any]:
    """Composite, dimensions and coverage of a card: those parts that the levels alone decide."""
    premium = None
    if score.composite is not None:
        means = np.array([score.dimensions[code].value for code in ORDER])
        premium = round(float(premiums(means)), DIGITS)
    subdimensions = {
        code: score.subdimensions[code]
        for dimension in DIMENSIONS.values()
        for code in dimension.subdimensions
        if code in score.subdimensions
    }
    dimensions = {code: score.dimensions[code] for code in ORDER if code in score.dimensions}
    return {
        "composite": score.composite,
        "band": score.band,
        "composite_withheld_reason": score.withheld or None,
        "integration_premium": premium,
        "dimensions": {code: round(mean.value, DIGITS) for code, mean in dimensions.items()},
        "dimension_item_counts": {code: mean.n for code, mean in dimensions.items()},
        "subdimensions": {code: round(mean.value, DIGITS) for code, mean in subdimensions.items()},
        "subdimension_item_counts": {code: mean.n for code, mean in subdimensions.items()},
        "coverage": {
            "level": str(Label(score.label)),
            "items_rated": len(score.items),
            "subdimensions_rated": len(subdimensions),
            "subdimensions_total": sum(len(one.subdimensions) for one in DIMENSIONS.values()),
        },
    }


def scorecard_of(run: ScoredRun, shelf: Shelf) -> Scorecard:
    """The card of a finished run."""
    items = [shelf.item(code, include_sensitive=True) for code in sorted(run.plan.items)]
    return Scorecard(
        plan=run.plan,
        places=tuple(Place(item.code, item.dimension, item.subdimension) for item in items),
        rows=tuple(sorted(run.every_row, key=lambda row: (row.item_id, row.trial))),
        contamination=run.contamination,
        item_hashes={item.code: item_hash(item) for item in items},
        finished_at=run.finished_at,
        records=run.chain.length,
        last_hash=run.chain.last_hash,
    )


@dataclass(frozen=True, slots=True)
class JudgeEstimate(Standing):
    """What one session holds: estimates of single items, and how many of each dimension."""

    session: JudgeSession

    def figures(self) -> dict[str, Any]:
        """The estimate as it leaves."""
        session = self.session
        return {
            **self.as_json("judge-estimate", words.ESTIMATE),
            "provenance": {
                **session.labels,
                "labels_self_reported": True,
                "bank_version": session.shelf.name,
                "tool_version": TOOL,
                "opened_at": session.opened_at,
                "local_session_reference": session.session_id,
            },
            "estimates": [
                {
                    "item_id": code,
                    "dimension": session.shelf.items[code].dimension,
                    "level": body["rating_1_5"],
                    "rationale": body["rationale"],
                    "recorded_at": at,
                }
                for code, (at, body) in sorted(session.estimates.items())
            ],
            "dimension_item_counts": session.counts,
        }


def _not_flat(found: Range) -> Range:
    if found.high - found.low < NOISE:
        raise Undefined("Every draw of the trials gives the same mean.")
    return found
