"""The severity model and the variance components on ten thousand ratings.

Beside statsmodels' OrderedModel, which takes the ratings of one response for independent, and so
does less.
"""

import time
from collections.abc import Callable

import numpy as np

from rating.stats.agreement import generator
from rating.stats.components import variance_components
from rating.stats.facets import severity_model
from tests.bench import peers, studies

RESPONSES, RATERS = 5_000, 20


def measure() -> None:
    random = generator("bench")
    rater = random.random((RESPONSES, RATERS)).argsort(axis=1)[:, :2].ravel()
    response = np.repeat(np.arange(RESPONSES), 2)
    item = response // 20
    quality = random.normal(0, 0.9, 250)[item] + random.normal(0, 0.9, RESPONSES)[response]
    place = quality - random.normal(0, 0.4, RATERS)[rater]
    heaps = studies.shares(place).cumsum(axis=1)
    level = (heaps < random.random((len(rater), 1))).sum(axis=1)
    names = [f"r{number}" for number in range(RATERS)]
    _print(
        "severity model",
        lambda: severity_model(response, rater, level, studies.SCALE, raters=names),
    )
    _print(
        "variance components",
        lambda: variance_components(item * 0, item, response, rater, level.astype(float)),
    )
    if not peers.installed():
        return
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    dummies = (rater[:, None] == np.arange(1, RATERS)).astype(float)
    _print(
        "statsmodels OrderedModel, without a response effect",
        lambda: OrderedModel(level, dummies, distr="logit").fit(method="bfgs", disp=False),
    )


def _print(what: str, work: Callable[[], object]) -> None:
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    print(f"{what}, {2 * RESPONSES:,} ratings by {RATERS} raters: {sorted(taken)[1] * 1000:.0f} ms")
