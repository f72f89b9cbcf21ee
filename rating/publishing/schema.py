"""What a public report may hold: an allow-list of keys, and rules about what stands beside what.

Whatever is not named here is refused, so that a figure added elsewhere is not published by
accident. A point of a model that cannot be told apart has no place to stand in.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rating.publishing.data import FEWEST_ITEMS, FEWEST_TRIALS
from rating.stats.scores import Label
from rating.stats.verdict import Outcome

SCHEMA: Final = "compassion/wave-report/1"


class NotPublic(ValueError):
    """Something that may not be published, with the place it stands in."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path or 'The report'}: {why}")


@dataclass(frozen=True)
class Maybe:
    """A value that may be none."""

    of: Any


@dataclass(frozen=True)
class Among:
    """One of some texts."""

    values: tuple[str, ...]


TEXT, NUMBER, WHOLE, YES_NO = str, float, int, bool
TEXTS: Final = [TEXT]
RANGE: Final = {"code": TEXT, "name": TEXT, "items": WHOLE, "low": NUMBER, "high": NUMBER}
RANGES: Final = [RANGE]
LABEL: Final = Among(tuple(label.value for label in Label))
OUTCOME: Final = Among(tuple(outcome.value for outcome in Outcome))
FIGURE: Final = {
    "value": Maybe(NUMBER),
    "low": Maybe(NUMBER),
    "high": Maybe(NUMBER),
    "reason": Maybe(TEXT),
}
AGREEMENT: Final = {
    "name": TEXT,
    "ratings": WHOLE,
    "units": WHOLE,
    "rated_twice": WHOLE,
    "raters": WHOLE,
    "exact": FIGURE,
    "within_one": FIGURE,
    "alpha": FIGURE,
    "ac2": FIGURE,
    "sufficient": YES_NO,
    "unused": TEXT,
}
CHAMBER: Final = {
    "code": TEXT,
    "name": TEXT,
    "finding": TEXT,
    "reason": TEXT,
    "a": Maybe(NUMBER),
    "b": Maybe(NUMBER),
    "gap": Maybe(NUMBER),
    "low": Maybe(NUMBER),
    "high": Maybe(NUMBER),
    "inner_low": Maybe(NUMBER),
    "inner_high": Maybe(NUMBER),
    "prompts_low": Maybe(NUMBER),
    "prompts_high": Maybe(NUMBER),
    "p_gap": Maybe(NUMBER),
    "p_parity": Maybe(NUMBER),
    "p_permuted": Maybe(NUMBER),
    "pairs": WHOLE,
    "pairs_left_out": WHOLE,
    "asked_a": WHOLE,
    "asked_b": WHOLE,
    "lost_a": WHOLE,
    "lost_b": WHOLE,
    "bound": Maybe(NUMBER),
    "needed": TEXT,
}
#: What would tell the gap of a chamber, or each half of it.
GAPS: Final = (
    *("a", "b", "gap", "bound", "low", "high", "inner_low", "inner_high"),
    *("prompts_low", "prompts_high", "p_parity", "p_permuted"),
)
TAG: Final = {
    "tag": TEXT,
    "given_a": Maybe(WHOLE),
    "given_b": Maybe(WHOLE),
    "ratings_a": WHOLE,
    "ratings_b": WHOLE,
    "difference": Maybe(NUMBER),
    "p": Maybe(NUMBER),
    "differs": YES_NO,
    "reason": TEXT,
}
RESULTS: Final = {
    "alone": [
        {
            "subject": TEXT,
            "label": LABEL,
            "composite": NUMBER,
            "low": NUMBER,
            "high": NUMBER,
            "dimensions": [{**RANGE, "mean": NUMBER}],
        }
    ],
    "groups": [
        {
            "sentence": TEXT,
            "members": [{"subject": TEXT, "label": LABEL, "ranges": RANGES}],
        }
    ],
    "ranges_only": [{"subject": TEXT, "label": LABEL, "ranges": RANGES}],
    "withheld": [{"subject": TEXT, "label": LABEL, "reason": TEXT, "ranges": RANGES}],
    "secondary": [{"subject": TEXT, "condition": TEXT, "reason": TEXT, "ranges": RANGES}],
    "arms": [
        {
            "subject": TEXT,
            "first": TEXT,
            "second": TEXT,
            "low": NUMBER,
            "high": NUMBER,
            "separated": YES_NO,
            "separated_corrected": YES_NO,
        }
    ],
    "pairs": [
        {
            "a": TEXT,
            "b": TEXT,
            "code": TEXT,
            "name": TEXT,
            "difference": Maybe(NUMBER),
            "length_effect": Maybe(NUMBER),
            "low": NUMBER,
            "high": NUMBER,
            "separated": YES_NO,
            "separated_corrected": YES_NO,
            "reason": TEXT,
        }
    ],
    "comparisons": WHOLE,
    "family": WHOLE,
    "correction": TEXT,
    "not_compared": [{"what": TEXT, "reason": TEXT}],
    "sentence": TEXT,
    "caption": TEXT,
    "replicates": WHOLE,
    "seed": TEXT,
    "settling": {"replaced": WHOLE, "unchanged": Maybe(YES_NO), "reason": TEXT},
    "trial_range": Maybe({"low": NUMBER, "high": NUMBER, "replicates": WHOLE}),
}
#: What each test that could refute the method was told from. A size is none where it would give
#: a point of a model that has none.
HEALTH: Final = {
    "chance": Maybe(
        {
            "alpha": NUMBER,
            "by_chance": NUMBER,
            "p": NUMBER,
            "permutations": WHOLE,
            "bins": [{"low": NUMBER, "high": NUMBER, "deals": WHOLE}],
        }
    ),
    "pools": Maybe(
        {
            "published": NUMBER,
            "unpublished": NUMBER,
            "items_published": WHOLE,
            "items_unpublished": WHOLE,
            "snapshots": WHOLE,
            "difference": NUMBER,
            "low": NUMBER,
            "high": NUMBER,
            "margin": NUMBER,
        }
    ),
    "profile": Maybe(
        {"models": WHOLE, "items": WHOLE, "own": NUMBER, "low": NUMBER, "high": NUMBER, "p": NUMBER}
    ),
    "scree": Maybe({"runs": WHOLE, "above": WHOLE, "values": [NUMBER], "limits": [NUMBER]}),
    "reruns": [
        {
            "subject": TEXT,
            "first": TEXT,
            "second": TEXT,
            "outcome": OUTCOME,
            "items": WHOLE,
            "trials": WHOLE,
            "shift": Maybe(NUMBER),
            "excess": Maybe(NUMBER),
            "most": Maybe(NUMBER),
            "margin": NUMBER,
            "reason": TEXT,
        }
    ],
    "altered": [
        {
            "subject": TEXT,
            "condition": TEXT,
            "expected": TEXT,
            "outcome": OUTCOME,
            "items": WHOLE,
            "moved": Maybe(NUMBER),
            "low": Maybe(NUMBER),
            "high": Maybe(NUMBER),
            "least": NUMBER,
            "reason": TEXT,
        }
    ],
}
REPORT: Final = {
    "schema": Among((SCHEMA,)),
    "care": TEXT,
    "wave": {
        "code": TEXT,
        "title": TEXT,
        "kind": TEXT,
        "instrument": TEXT,
        "levels": [WHOLE],
        "trials": WHOLE,
        "seed": TEXT,
        "locked_at": TEXT,
        "first_reply_at": TEXT,
        "frozen_at": TEXT,
        "unblinded_at": TEXT,
    },
    "official": YES_NO,
    "comparability": Among(("none", "within-bank")),
    "status": TEXT,
    "may": TEXTS,
    "may_not": TEXTS,
    "design": TEXTS,
    "conditions": [{"condition": TEXT, "system_message": TEXT, "primary": YES_NO}],
    "subjects": [
        {
            "subject": TEXT,
            "developer": TEXT,
            "family": TEXT,
            "snapshot": TEXT,
            "digest": TEXT,
            "access_tier": TEXT,
            "quantisation": TEXT,
            "condition": TEXT,
            "asked": WHOLE,
            "completed": WHOLE,
            "filtered": WHOLE,
            "failed": WHOLE,
            "malformed": WHOLE,
        }
    ],
    "results": Maybe(RESULTS),
    "results_reason": TEXT,
    "parity": [
        {
            "subject": TEXT,
            "condition": TEXT,
            "finding": TEXT,
            "sentence": TEXT,
            "margin": NUMBER,
            "chambers": [CHAMBER],
            "tags": [TAG],
        }
    ],
    "agreement": {
        "sentence": TEXT,
        "about": TEXT,
        "floor": Maybe(NUMBER),
        "half_rated": WHOLE,
        "unrated": WHOLE,
        "replicates": WHOLE,
        "seed": TEXT,
        "rows": [AGREEMENT],
    },
    "blinding": {
        "sentence": TEXT,
        "about": TEXT,
        "caution": TEXT,
        "percent": WHOLE,
        "asked": WHOLE,
        "answered": WHOLE,
        "unknown": WHOLE,
        "unasked": WHOLE,
        "share_unknown": FIGURE,
        "share_right": FIGURE,
        "right": FIGURE,
        "expected": FIGURE,
        "p": FIGURE,
        "sufficient": YES_NO,
        "permutations": WHOLE,
        "seed": TEXT,
    },
    "contamination": {
        "about": TEXT,
        "rows": [
            {
                "subject": TEXT,
                "verdict": TEXT,
                "choices_right": WHOLE,
                "choices": WHOLE,
                "p": Maybe(NUMBER),
                "highest_overlap": Maybe(NUMBER),
                "missing": WHOLE,
                "cautions": TEXTS,
            }
        ],
    },
    "tests": [
        {
            "number": WHOLE,
            "claim": TEXT,
            "outcome": OUTCOME,
            "evidence": TEXTS,
            "missing": TEXTS,
        }
    ],
    "health": HEALTH,
    "confounds": [
        {
            "code": TEXT,
            "what": TEXT,
            "state": Among(("open", "disclosed", "resolved")),
            "said": TEXT,
        }
    ],
    "deviations": [{"number": WHOLE, "declared_on": TEXT, "after_data": YES_NO, "text": TEXT}],
    "gate": [{"name": TEXT, "met": YES_NO, "evidence": TEXT, "missing": TEXTS}],
    "hashes": {"bank": TEXT, "preregistration": TEXT, "data": TEXT, "code": TEXT},
    "cite": TEXT,
}


def check(content: Any) -> None:
    """Refuse what may not be published. Raises ``NotPublic`` with the first such place."""
    _walk(content, REPORT, "")
    results = content["results"]
    if results:
        _refuse_points(results)
    if content["wave"]["trials"] < FEWEST_TRIALS:
        _refuse_gaps(content["parity"])
    if content["official"] and not all(row["met"] for row in content["gate"]):
        raise NotPublic("official", "a wave is official only where every condition is met.")


def _refuse_points(results: Mapping[str, Any]) -> None:
    """No point of, and no difference with, a model that is not told apart from every other."""
    alone = {row["subject"] for row in results["alone"]}
    named = [row["subject"] for row in named_in(results)]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise NotPublic("results", f"{twice[0]} stands in two places.")
    for row in (*named_in(results), *results["secondary"]):
        for own in row.get("ranges", ()):
            if own["items"] < FEWEST_ITEMS:
                raise NotPublic(
                    "results", f"a range of {row['subject']} over {own['items']} items tells them."
                )
    for place, pair in enumerate(results["pairs"]):
        told = pair["difference"] is not None or pair["length_effect"] is not None
        if told and not {pair["a"], pair["b"]} <= alone:
            raise NotPublic(
                f"results.pairs[{place}]", "a difference with a model that is not told apart."
            )


def named_in(results: Mapping[str, Any]) -> list[Any]:
    """The row of each model, wherever it stands."""
    return [
        *results["alone"],
        *(member for group in results["groups"] for member in group["members"]),
        *results["ranges_only"],
        *results["withheld"],
    ]


def _refuse_gaps(parity: Sequence[Mapping[str, Any]]) -> None:
    """No gap, and nothing symmetrical around one, in a wave that tells no points."""
    for place, one in enumerate(parity):
        for number, own in enumerate(one["chambers"]):
            if told := [key for key in GAPS if own[key] is not None]:
                raise NotPublic(
                    f"parity[{place}].chambers[{number}]", f"{told[0]!r} would tell the gap."
                )


def _walk(value: Any, spec: Any, path: str) -> None:
    if isinstance(spec, Maybe):
        if value is not None:
            _walk(value, spec.of, path)
    elif isinstance(spec, Among):
        if value not in spec.values:
            raise NotPublic(path, f"{value!r} is none of: {', '.join(spec.values)}.")
    elif isinstance(spec, dict):
        _walk_keys(value, spec, path)
    elif isinstance(spec, list):
        if not isinstance(value, list):
            raise NotPublic(path, "a list belongs here.")
        for place, one in enumerate(value):
            _walk(one, spec[0], f"{path}[{place}]")
    else:
        _check_leaf(value, spec, path)


def _walk_keys(value: Any, spec: Mapping[str, Any], path: str) -> None:
    if not isinstance(value, dict):
        raise NotPublic(path, "an object belongs here.")
    if unknown := sorted(value.keys() - spec.keys()):
        raise NotPublic(path, f"{unknown[0]!r} is not among what may be published.")
    if missing := sorted(spec.keys() - value.keys()):
        raise NotPublic(path, f"{missing[0]!r} is missing.")
    for key, one in spec.items():
        _walk(value[key], one, f"{path}.{key}".lstrip("."))


def _check_leaf(value: Any, spec: type, path: str) -> None:
    if spec is NUMBER:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not math.isfinite(value):
            raise NotPublic(path, f"{value!r} is no number.")
    elif type(value) is not spec:
        raise NotPublic(path, f"{value!r} is not of the kind that belongs here.")
