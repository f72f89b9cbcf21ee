"""How much of a difference between two models the length of their replies would account for."""

from collections.abc import Mapping
from math import log

import numpy as np

from rating.publishing.data import WaveData
from rating.stats.agreement import Undefined
from rating.stats.length import within_slope
from rating.stats.separation import COMPOSITE, PER_LEVEL

#: The mean logarithm of the words of each model, by its code and the code of the dimension.
Lengths = Mapping[tuple[str, str], float]


def length_effect(slope: float | None, lengths: Lengths, a: str, b: str, of: str) -> float | None:
    """The slope within models times the difference in mean log length, the first minus the second.

    In points where ``of`` is the composite, else in levels. None where there is no slope, or one
    of the two has no reply with a length in it. The premium of the composite is left aside.
    ``slope`` and ``lengths`` are as ``measured`` gives them.
    """
    codes = sorted({code for _, code in lengths}) if of == COMPOSITE else [of]
    if slope is None or any((one, code) not in lengths for one in (a, b) for code in codes):
        return None
    apart = float(np.mean([lengths[a, code] - lengths[b, code] for code in codes]))
    return slope * apart * (PER_LEVEL if of == COMPOSITE else 1.0)


def measured(data: WaveData) -> tuple[float | None, Lengths]:
    """Levels gained for each logarithm of length within a model, and how long its replies are.

    The mean of a dimension is one of the means of its items, as that of the levels is.
    """
    compared = {run.key for run in data.compared}
    codes = [
        code for code in sorted(data.twice) if data.reply[code].words and data.of(code) in compared
    ]
    of_item: dict[tuple[str, str], list[float]] = {}
    for code in codes:
        reply = data.reply[code]
        of_item.setdefault((reply.subject, reply.item), []).append(log(reply.words))
    of_dimension: dict[tuple[str, str], list[float]] = {}
    for (subject, item), own in of_item.items():
        place = subject, data.item[item].dimension
        of_dimension.setdefault(place, []).append(float(np.mean(own)))
    return _slope(data, codes), {key: float(np.mean(own)) for key, own in of_dimension.items()}


def _slope(data: WaveData, codes: list[str]) -> float | None:
    replies = [data.reply[code] for code in codes]
    items = {item: place for place, item in enumerate(sorted(data.item))}
    subjects = {run.subject: place for place, run in enumerate(data.compared)}
    try:
        return within_slope(
            np.array([np.mean([one.level for one in data.twice[code]]) for code in codes]),
            np.array([reply.words for reply in replies], dtype=np.float64),
            np.array([items[reply.item] for reply in replies], dtype=np.int64),
            np.array([subjects[reply.subject] for reply in replies], dtype=np.int64),
        ).value
    except Undefined:
        return None
