"""Levels of items and trials with a known truth: two raters each, whole levels from 1 to 5."""

import numpy as np

SPREADS = (0.2, 0.5, 1.0)  # between trials, by item: alike in some and not in others


def run_twice(random, items, trials, *, moved=0.0, scatter=0.0):
    """The mean levels of two runs, each of shape (items, trials).

    Every item lies ``moved`` higher in the second, and by chance ``scatter`` more or less.
    """
    middles = random.uniform(1.5, 4.5, items)
    spreads = random.choice(SPREADS, items)
    seconds = middles + moved + scatter * random.normal(size=items)
    return tuple(_rated(random, own, spreads, trials) for own in (middles, seconds))


def _rated(random, middles, spreads, trials):
    shape = (len(middles), trials)
    felt = middles[:, None] + spreads[:, None] * random.normal(size=shape)
    levels = np.rint(felt[..., None] + 0.5 * random.normal(size=(*shape, 2)))
    return np.clip(levels, 1, 5).mean(axis=-1)
