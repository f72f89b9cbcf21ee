"""The statistics, on arrays of a size that a large study has."""

import statistics
import time
from collections.abc import Callable

import numpy as np


def measure() -> None:
    """Ordinal alpha of a million units, and its interval on ten thousand."""
    from rating.stats.agreement import alpha_for_ordinal, interval, tally, value

    chance = np.random.default_rng(1)
    scale = (1, 2, 3, 4, 5)
    true = chance.integers(1, 6, size=1_000_000)
    levels = np.clip(true + chance.integers(-1, 2, size=(2, 1_000_000)), 1, 5).astype(float)

    def median_of(work: Callable[[], object], times: int = 7) -> float:
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
        return statistics.median(taken) * 1000

    few = tally(levels[:, :10_000], scale)
    print(
        f"ordinal alpha, 1,000,000 units of two: "
        f"{median_of(lambda: value(alpha_for_ordinal, tally(levels, scale))):.0f} ms"
    )
    print(
        f"its interval, 2,000 replicates, 10,000 units: "
        f"{median_of(lambda: interval(alpha_for_ordinal, few, seed='1')):.1f} ms"
    )
