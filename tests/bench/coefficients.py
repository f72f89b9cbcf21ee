"""The statistics, on arrays of a size that a large study has, beside other packages."""

import os
import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np

from tests.bench import peers

SCALE = (1, 2, 3, 4, 5)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SLOW = 5  # seconds: what takes longer is measured once
REPLICATES = 2_000
TRIED = 20  # replicates of a loop over a package, from which the others are reckoned

Levels = np.ndarray


def measure() -> None:
    """Alpha and AC2 from a thousand units to a million, and the interval on ten thousand."""
    beside = peers.installed()
    print(f"two raters, five levels, median ms (peak MB); load {os.getloadavg()[0]:.1f}")
    ours = _ours()
    theirs = _theirs() if beside else {}
    for title in ours:
        rows = {"ours": ours[title], **theirs.get(title, {})}
        print(f"{title:<44}" + "".join(f"{size:>20,}" for size in SIZES))
        for name, work in rows.items():
            cells = [_cell(work, _levels(size)) for size in SIZES]
            print(f"  {name:<42}" + "".join(f"{cell:>20}" for cell in cells))
    _interval(beside)


def _levels(n_units: int) -> Levels:
    chance = np.random.default_rng(1)
    true = chance.integers(1, 6, size=n_units)
    return np.clip(true + chance.integers(-1, 2, size=(2, n_units)), 1, 5).astype(float)


def _ours() -> dict[str, Callable[[Levels], object]]:
    from rating.stats import weights
    from rating.stats.agreement import ordinal_alpha, tally
    from rating.stats.alpha import alpha_estimate
    from rating.stats.chance import estimate, gwet_chance
    from rating.stats.fixed import cohen

    quadratic = weights.quadratic(len(SCALE))
    return {
        "ordinal alpha": lambda levels: ordinal_alpha(levels, SCALE),
        "interval alpha with its error": lambda levels: alpha_estimate(
            tally(levels, SCALE), quadratic
        ),
        "quadratic AC2 with its error": lambda levels: estimate(
            gwet_chance, tally(levels, SCALE), quadratic
        ),
        "quadratic kappa with its error": lambda levels: cohen(levels, SCALE, quadratic),
    }


def _theirs() -> dict[str, dict[str, Callable[[Levels], object]]]:
    import krippendorff
    import pandas
    from irrCAC.raw import CAC
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    scale = list(SCALE)

    def table(levels: Levels) -> Levels:
        crossed = np.zeros((5, 5))
        np.add.at(crossed, tuple(levels.astype(int) - 1), 1)
        return crossed

    def cac(levels: Levels) -> CAC:
        return CAC(pandas.DataFrame(levels.T), weights="quadratic", categories=scale)

    return {
        "ordinal alpha": {
            "krippendorff": lambda levels: krippendorff.alpha(
                levels, level_of_measurement="ordinal", value_domain=scale
            )
        },
        "interval alpha with its error": {"irrCAC": lambda levels: cac(levels).krippendorff()},
        "quadratic AC2 with its error": {"irrCAC": lambda levels: cac(levels).gwet()},
        "quadratic kappa with its error": {
            "scikit-learn, without its error": lambda levels: cohen_kappa_score(
                *levels.astype(int), weights="quadratic", labels=scale
            ),
            "statsmodels, from our table": lambda levels: cohens_kappa(table(levels), wt="fc"),
        },
    }


def _cell(work: Callable[[Levels], object], levels: Levels) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracemalloc.start()
        began = time.perf_counter()
        work(levels)
        first = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        taken = _median(lambda: work(levels), 1 if first > SLOW else 5)
    return f"{taken * 1000:.3g} ({peak:.3g})"


def _median(work: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _interval(beside: bool) -> None:
    from rating.stats.agreement import alpha_for_ordinal, interval, tally

    levels = _levels(10_000)

    def ours() -> object:
        return interval(alpha_for_ordinal, tally(levels, SCALE), seed="1", replicates=REPLICATES)

    own = _median(ours, 5)
    print(
        f"interval of ordinal alpha, {REPLICATES:,} replicates, 10,000 units: {own * 1000:.1f} ms"
    )
    if not beside:
        return
    import krippendorff

    counts = np.stack([(levels == level).sum(axis=0) for level in SCALE], axis=1)
    chance = np.random.default_rng(1)

    def one_of_a_loop() -> object:
        drawn = counts[chance.integers(0, 10_000, 10_000)]
        return krippendorff.alpha(
            value_counts=drawn, level_of_measurement="ordinal", value_domain=list(SCALE)
        )

    loop = _median(one_of_a_loop, TRIED) * REPLICATES
    print(
        f"  a loop over krippendorff, from {TRIED} of them: {loop:.1f} s, {loop / own:,.0f} times"
    )
