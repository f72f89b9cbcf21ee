"""Twenty subjects on 83 items, all 190 pairs, 20,000 draws of items, beside a plain loop."""

import math
import time

import numpy as np

from tests.bench.machinery import load

SUBJECTS, REPLICATES, LOOPED = 20, 20_000, 40


def measure() -> None:
    """Ranges of all composite differences; the loop takes a part of the same draws, scaled up."""
    from rating.stats.resampling import draw_indices, percentile, resample
    from rating.stats.scores import ORDER, composite
    from tests.studies import panel

    study = panel(np.random.default_rng(1), np.linspace(2, 4, SUBJECTS))
    sizes = [len(study.items_in(code)) for code in ORDER]
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        indices = draw_indices("bench", REPLICATES, sizes)
        tenths = resample(study, indices).tenths
        ranges = [
            own for a in range(SUBJECTS - 1) for own in percentile(tenths[a] - tenths[a + 1 :])
        ]
        taken.append(time.perf_counter() - began)
    ours = sorted(taken)[len(taken) // 2]
    columns = [study.means[:, study.items_in(code)].tolist() for code in ORDER]
    began = time.perf_counter()
    looped = [
        [
            _plainly(
                [
                    _mean(own[subject], places[replicate])
                    for own, places in zip(columns, indices, strict=True)
                ]
            )
            for subject in range(SUBJECTS)
        ]
        for replicate in range(LOOPED)
    ]
    for a in range(SUBJECTS):
        for b in range(a + 1, SUBJECTS):
            sorted(row[a] - row[b] for row in looped)
    loop = (time.perf_counter() - began) * REPLICATES / LOOPED
    # The order of a sum decides over what lies halfway between two tenths.
    assert all(
        abs(round(10 * value) - tenths[subject, replicate]) <= 1
        for replicate, row in enumerate(looped)
        for subject, value in enumerate(row)
    )
    assert looped[0][0] == composite(
        [_mean(own[0], p[0]) for own, p in zip(columns, indices, strict=True)]
    )
    print(
        f"paired item bootstrap, {SUBJECTS} subjects, {sum(sizes)} items, {len(ranges)} pairs, "
        f"{REPLICATES:,} replicates: {ours * 1000:.0f} ms; a plain loop {loop:.0f} s, "
        f"{loop / ours:.0f} times as long (load {load()})"
    )


def _mean(values: list[float], places: np.ndarray) -> float:
    total = 0.0
    for place in places:
        total += values[place]
    return total / len(places)


def _plainly(means: list[float]) -> float:
    """The composite as one would write it down."""
    middle = 0.0
    for value in means:
        middle += value
    middle /= 8
    spread = math.sqrt(sum((value - middle) ** 2 for value in means) / 8)
    share = 1.0 if spread <= 1.5 else 0.75 if spread <= 3 else 0.4 if spread <= 5 else 0.1
    weak = sum(value < 4 for value in means)
    premium = 0.0 if 0 in means else 10 * share * max(0.0, 1 - 0.2 * weak)
    return math.floor(10 * min(100.0, max(0.0, (middle - 1) / 4 * 100 + premium)) + 0.5) / 10
