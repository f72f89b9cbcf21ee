"""Waves made of plain rows, so that a report can be looked at without a database."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rating.publishing.content import content_of
from rating.publishing.data import (
    BankRow,
    DeclaredRow,
    GivenRow,
    ItemRow,
    PairRow,
    PeopleRow,
    ProbedRow,
    ReplyRow,
    RunRow,
    WaveData,
    WaveRow,
)
from rating.publishing.results import Draws, Results, results_of
from runs.taxonomy import DIMENSIONS

QUICK = Draws(items=1_000, units=200, trials=200)
CHAMBERS = tuple((str(number), f"Chamber {number}") for number in range(1, 9))
WAVE = WaveRow(
    code="w1",
    title="A wave of spring",
    kind="pilot",
    seed="7",
    trials=3,
    preregistration_hash="0" * 64,
    locked_at="2026-03-01T08:00:00+00:00",
    first_reply_at="2026-03-02T08:00:00+00:00",
    frozen_at="2026-03-20T08:00:00+00:00",
    unblinded_at="2026-03-21T08:00:00+00:00",
    unblinded_by=2,
)


def run_of(subject: str, **changes: Any) -> RunRow:
    fields = {"developer": "Dev", "family": "Kind", "snapshot": subject, "access_tier": "API"}
    return RunRow(subject, **{**fields, **changes})


def index_data(
    means: Mapping[str, float],
    *,
    items: int = 5,
    trials: int = 3,
    spread: float = 0.6,
    seed: int = 1,
    skip: Sequence[str] = (),
    lost: Mapping[str, int] | None = None,
    runs: Sequence[RunRow] | None = None,
    **changes: Any,
) -> WaveData:
    """A wave of the Model Index whose subjects have these true means.

    ``items`` in each dimension save those in ``skip``; of a subject in ``lost`` so many replies
    are filtered.
    """
    chance = random.Random(seed)
    made = [
        ItemRow(f"{code}-{n}", f"hash-{code}-{n}", code, subdimension)
        for code, dimension in DIMENSIONS.items()
        if code not in skip
        for n, subdimension in zip(range(items), dimension.subdimensions, strict=False)
    ]
    hardness = {item.code: chance.gauss(0, 0.3) for item in made}
    runs = tuple(runs or [run_of(subject) for subject in means])
    replies, ratings = [], []
    for run in runs:
        left = (lost or {}).get(run.subject, 0)
        for trial in range(1, trials + 1):
            for position, item in enumerate(made):
                code = f"{run.subject}-{run.condition}-{item.code}-{trial}"
                gone = left > 0
                left -= gone
                status = "filtered" if gone else "completed"
                replies.append(
                    ReplyRow(
                        code,
                        run.subject,
                        run.condition,
                        item.code,
                        trial,
                        position,
                        status,
                        0 if gone else 80 + chance.randrange(60),
                    )
                )
                if gone:
                    continue
                true = means[run.subject] + hardness[item.code] + chance.gauss(0, spread)
                ratings += _two(chance, code, true, 1, 5)
    data = WaveData(
        replace(WAVE, trials=trials),
        BankRow("Index", "1", "b" * 64, "Model Index", (1, 2, 3, 4, 5)),
        DeclaredRow(),
        PeopleRow(3),
        tuple(sorted(made, key=lambda item: item.code)),
        (),
        runs,
        tuple(sorted(replies, key=lambda reply: reply.code)),
        tuple(ratings),
        probed=tuple(
            ProbedRow(run.subject, "not flagged", True, 1, 6, 0.82, 0.2, 0) for run in runs
        ),
    )
    return replace(data, **changes)


def parity_data(
    gaps: Mapping[str, float],
    *,
    pairs: int = 8,
    trials: int = 3,
    seed: int = 1,
    lost_b: int = 0,
    spread: float = 0.4,
    **changes: Any,
) -> WaveData:
    """A wave of Unconditionality: each subject gives arm B so much less, in every chamber.

    Of arm B of the first chamber the first ``lost_b`` replies are filtered.
    """
    chance = random.Random(seed)
    made = [
        PairRow(f"P{code}-{n}", code, f"P{code}-{n}-A", f"P{code}-{n}-B")
        for code, _ in CHAMBERS
        for n in range(pairs)
    ]
    arms = [(arm, letter) for pair in made for arm, letter in ((pair.a, "A"), (pair.b, "B"))]
    replies, ratings = [], []
    runs = tuple(run_of(subject) for subject in gaps)
    for run in runs:
        left = lost_b
        for trial in range(1, trials + 1):
            for position, (arm, letter) in enumerate(arms):
                code = f"{run.subject}-{arm}-{trial}"
                gone = left > 0 and letter == "B" and arm.startswith("P1-")
                left -= gone
                status = "filtered" if gone else "completed"
                replies.append(
                    ReplyRow(code, run.subject, run.condition, arm, trial, position, status, 90)
                )
                if not gone:
                    true = 3.5 - gaps[run.subject] * (letter == "B") + chance.gauss(0, spread)
                    tags = ("judgment",) if letter == "B" and chance.random() < 0.4 else ()
                    ratings += _two(chance, code, true, 0, 5, tags)
    data = WaveData(
        replace(WAVE, trials=trials),
        BankRow("Pairs", "1", "c" * 64, "Unconditionality", (0, 1, 2, 3, 4, 5), CHAMBERS),
        DeclaredRow(),
        PeopleRow(3),
        tuple(sorted((ItemRow(arm, f"hash-{arm}") for arm, _ in arms), key=lambda one: one.code)),
        tuple(made),
        runs,
        tuple(sorted(replies, key=lambda reply: reply.code)),
        tuple(ratings),
    )
    return replace(data, **changes)


def _two(
    chance: random.Random, code: str, true: float, low: int, high: int, tags: Sequence[str] = ()
) -> list[GivenRow]:
    raters = chance.sample(["r-one", "r-two", "r-three"], 2)
    return [
        GivenRow(
            code,
            rater,
            slot,
            max(low, min(high, round(true + chance.gauss(0, 0.3)))),
            False,
            tuple(tags),
            f"2026-03-{chance.randrange(3, 19):02}T10:00:00+00:00",
            ("there is no need to carry it alone",),
        )
        for slot, rater in enumerate(raters, start=1)
    ]


def results(data: WaveData) -> Results:
    return results_of(data, QUICK)


def report(data: WaveData) -> dict[str, Any]:
    return content_of(results_of(data, QUICK))
