"""What each test that could refute the method was told from, as its picture and table show it.

How far a model moved, from run to run or under a condition, gives its point once the other point is
known. So such a size stands here only where the points of both runs are told.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rating.probe_report import RerunRow, SensitivityRow
from rating.publishing.rounded import chance, shown
from rating.publishing.tested import Tested
from rating.stats.permutation import ChanceTest
from rating.stats.pools import Pools
from rating.stats.refutation import NO_SIZE, POOL_MARGIN
from rating.stats.reruns import MARGIN
from rating.stats.sensitivity import LEAST
from rating.stats.student import ALPHA
from rating.stats.verdict import Outcome

BINS_FOR_ONE: Final = 50  # so that a bin is 0.02 of alpha wide

Content = dict[str, Any]


#: The code of a subject with the name of a wave and a condition, as rows of reruns name a run.
Told = frozenset[tuple[str, str]]


def told_of(content: Mapping[str, Any]) -> Told:
    """The runs whose points a report tells. Of an earlier wave none is taken to be told."""
    if content["results"]:
        [primary] = [row["condition"] for row in content["conditions"] if row["primary"]] or [""]
        runs = [(row["subject"], primary) for row in content["results"]["alone"]]
    else:
        runs = [
            (row["subject"], row["condition"])
            for row in content["parity"]
            if any(own["gap"] is not None for own in row["chambers"])
        ]
    wave = content["wave"]["code"]
    return frozenset((subject, f"{wave}, {condition}") for subject, condition in runs)


def health_of(tested: Tested, wave: str, told: Told) -> Content:
    """Return the figures of all five tests, none where there is nothing to show of one."""
    return {
        "chance": tested.chance and _chance(tested.chance),
        "pools": (
            _pools(tested.pools) if tested.pools and told.issuperset(tested.changed) else None
        ),
        "profile": tested.profile
        and {
            "models": tested.profile.subjects,
            "items": tested.profile.items,
            "own": shown(tested.profile.own, 2),
            "low": shown(tested.profile.low, 2),
            "high": shown(tested.profile.high, 2),
            "p": chance(tested.profile.p),
        },
        "scree": tested.scree
        and {
            "runs": tested.scree.runs,
            "above": tested.scree.above,
            "values": [shown(value, 2) for value in tested.scree.values],
            "limits": [shown(value, 2) for value in tested.scree.limits],
        },
        "reruns": [_rerun(row, told) for row in sorted(tested.reruns, key=_subject)],
        "altered": [_altered(row, wave, told) for row in sorted(tested.alterations, key=_subject)],
    }


def _subject(row: RerunRow | SensitivityRow) -> str:
    return row.subject


def _chance(found: ChanceTest) -> Content:
    """The deals counted in bins of 0.02, from the lowest alpha to the highest."""
    places = np.floor(np.array(found.dealt) * BINS_FOR_ONE + 1e-9).astype(np.int64)
    counts = np.bincount(places - places.min())
    return {
        "alpha": shown(found.alpha, 2),
        "by_chance": shown(found.by_chance, 2),
        "p": chance(found.p),
        "permutations": found.permutations,
        "bins": [
            {
                "low": shown(place / BINS_FOR_ONE, 2),
                "high": shown((place + 1) / BINS_FOR_ONE, 2),
                "deals": count,
            }
            for place, count in enumerate(counts.tolist(), start=int(places.min()))
        ],
    }


def _pools(found: Pools) -> Content:
    reach = found.difference.interval(2 * ALPHA)
    return {
        "published": shown(found.public, 2),
        "unpublished": shown(found.unpublished, 2),
        "items_published": found.items[0],
        "items_unpublished": found.items[1],
        "snapshots": found.snapshots,
        "difference": shown(found.difference.value, 2),
        "low": shown(reach.low, 2),
        "high": shown(reach.high, 2),
        "margin": POOL_MARGIN,
    }


def _rerun(row: RerunRow, told: Told) -> Content:
    found = row.found
    runs = {(row.subject, row.first), (row.subject, row.second)}
    size = found if runs <= told else None
    return {
        "subject": row.subject,
        "first": row.first,
        "second": row.second,
        "outcome": (found.outcome if found else Outcome.OPEN).value,
        "items": found.n_items if found else 0,
        "trials": found.n_trials if found else 0,
        "shift": shown(size.mean_difference, 2) if size else None,
        "excess": shown(size.excess, 2) if size else None,
        "most": shown(size.most, 2) if size else None,
        "margin": found.margin if found else MARGIN,
        "reason": _reason(row, size is not None),
    }


def _altered(row: SensitivityRow, wave: str, told: Told) -> Content:
    found = row.found
    # The plain run is told wherever the altered one is.
    size = found if (row.subject, f"{wave}, {row.condition}") in told else None
    return {
        "subject": row.subject,
        "condition": row.condition,
        "expected": row.expected,
        "outcome": (found.outcome if found else Outcome.OPEN).value,
        "items": found.n if found else 0,
        "moved": shown(size.moved, 2) if size else None,
        "low": shown(size.low, 2) if size else None,
        "high": shown(size.high, 2) if size else None,
        "least": found.least if found else LEAST,
        "reason": _reason(row, size is not None),
    }


def _reason(row: RerunRow | SensitivityRow, has_size: bool) -> str:
    if row.found is None:
        return row.reason or ""
    return "" if has_size else NO_SIZE
