"""The order of a large plan of pairs, over a thousand seeds."""

from collections import Counter
from itertools import pairwise

import pytest

from runs.plan import Slot, plan_order

pytestmark = pytest.mark.proof

PAIRS = [
    (f"UNC-{n // 10 + 1}-{n % 10:02}-A", f"UNC-{n // 10 + 1}-{n % 10:02}-B") for n in range(80)
]
ITEMS = [arm for pair in PAIRS for arm in pair]
TRIALS = 5
SEEDS = 1000


def test_80_pairs_five_times_over_1000_seeds_never_bring_arms_or_trials_together():
    every = Counter(Slot(item, trial) for item in ITEMS for trial in range(1, TRIALS + 1))
    orders = set()

    for seed in range(SEEDS):
        order = plan_order(str(seed), "lab--kind--1", "default", ITEMS, TRIALS, PAIRS)
        pairs = [slot.item[:-2] for slot in order]
        assert all(one != other for one, other in pairwise(pairs)), seed
        assert Counter(order) == every, seed
        orders.add(tuple(order))

    assert len(orders) == SEEDS
