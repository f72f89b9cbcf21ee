"""Studies made up with known truth in which judges stand beside people."""

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from rating.stats.agreement import Undefined, generator
from rating.stats.judges import apart_by_item, beside_people, leniency, stretch

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
MANY = 20_000  # items, with which chance no longer matters


@dataclass(frozen=True)
class Judged:
    """What is so, in levels: standard deviations, how many there are, and what the judge is like."""

    items: int = 40
    trials: int = 4
    between_items: float = 0.7
    between_trials: float = 0.6
    noise: float = 0.6
    judge_by_item: float = 0.3
    leniency: float = 0.0
    compression: float = 1.0


class Made(NamedTuple):
    """A row for each response, one judgement of each; all of shape (responses,)."""

    judge: np.ndarray
    first: np.ndarray
    second: np.ndarray
    response: np.ndarray
    item: np.ndarray


def study(random, world):
    """Two raters and a judge read each response, each with chance of their own."""
    n = world.items * world.trials
    item = np.repeat(np.arange(world.items), world.trials)
    truth = 3 + random.normal(0, world.between_items, world.items)[item]
    truth = truth + random.normal(0, world.between_trials, n)
    own = random.normal(0, world.judge_by_item, world.items)[item]
    seen = 3 + world.compression * (truth - 3) + world.leniency + own
    levels = np.stack([seen, truth, truth]) + random.normal(0, world.noise, (3, n))
    judge, first, second = np.clip(np.rint(levels), 1, 5)
    return Made(judge, first, second, np.arange(n), item)


def held(world, *, studies, seed):
    """How often each interval holds what the number comes to with very many items.

    Of those that are given: it is told too how often one is.
    """
    random, true = generator(seed), truths(world)
    counts, given = dict.fromkeys(true, 0), dict.fromkeys(true, 0)
    for _ in range(studies):
        for name, span in intervals(study(random, world)).items():
            if span is not None and span.low is not None:
                given[name] += 1
                counts[name] += span.low <= true[name] <= span.high
    return {name: (counts[name] / given[name], given[name] / studies) for name in true}


def named_by_chance(world, *, studies, seed):
    """In which share of studies some item is said to be judged otherwise than the rest."""
    random, named = generator(seed), 0
    for _ in range(studies):
        made = study(random, world)
        apart = made.judge - (made.first + made.second) / 2
        named += any(row.systematic for row in apart_by_item(apart, made.item))
    return named / studies


@cache
def truths(world):
    large = study(generator("truth"), replace(world, items=MANY))
    return {name: span.value for name, span in intervals(large).items()}


def intervals(made):
    places = [(levels - 1).astype(np.int64) for levels in (made.judge, made.first, made.second)]
    beside = beside_people(*places, made.response, made.item, SCALE)
    rated = made.judge, made.first, made.second
    return {
        "exact": beside.exact.judge.by_item,
        "within one, apart": beside.within_one.difference.by_item,
        "alpha": beside.alpha.judge.by_item,
        "alpha, apart": beside.alpha.difference.by_item,
        "AC2, apart": beside.ac2.difference.by_item,
        "leniency": leniency(made.judge, (made.first + made.second) / 2, made.response, made.item),
        "stretch": _or_none(lambda: stretch(*rated, made.response, made.item)),
    }


def _or_none(ask):
    try:
        return ask()
    except Undefined:
        return None
