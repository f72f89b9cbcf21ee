"""Twenty subjects on 83 items, all 190 pairs, 20,000 draws of items, beside a plain loop."""

import math
import time

import numpy as np

from tests.bench.machinery import load

SUBJECTS, REPLICATES = 20, 20_000
LOOPED, PAIRED = 40, 5  # the draws, and the pairs, that the loop takes


def measure() -> None:
    """Ranges of all composite differences; the loop takes a part of them, scaled up."""
    from rating.stats.resampling import draw_indices, percentile, resample
    from rating.stats.scores import ORDER, composite
    from tests.studies import panel

    study = panel(np.random.default_rng(1), np.linspace(2, 4, SUBJECTS))
    sizes = [len(study.items_in(code)) for code in ORDER]
    taken = []
    for _ in range(7):
        began = time.process_time()
        indices = draw_indices("bench", REPLICATES, sizes)
        tenths = resample(study, indices).tenths
        ranges = [
            own for a in range(SUBJECTS - 1) for own in percentile(tenths[a] - tenths[a + 1 :])
        ]
        taken.append(time.process_time() - began)
    ours = min(taken)
    columns = [study.means[:, study.items_in(code)].tolist() for code in ORDER]
    began = time.process_time()
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
    loop = (time.process_time() - began) * REPLICATES / LOOPED
    rows = [(tenths[a].tolist(), tenths[-1].tolist()) for a in range(PAIRED)]
    began = time.process_time()
    for first, second in rows:
        sorted(one - other for one, other in zip(first, second, strict=True))
    loop += (time.process_time() - began) * len(ranges) / PAIRED
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
        f"{REPLICATES:,} replicates: {ours * 1000:.0f} ms of CPU at best; a plain loop {loop:.0f} s, "
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
