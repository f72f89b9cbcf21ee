"""The ledger of what else could explain a difference, from the rows of a wave."""

from collections.abc import Callable, Iterator
from datetime import datetime
from math import log
from typing import Final

import numpy as np

from rating.publishing.data import NOT_STATED, WaveData
from rating.stats.agreement import Floats, Undefined
from rating.stats.confounds import Confound, Ledger, State, judged, ledger, trend
from rating.stats.length import pooled_slope
from rating.stats.student import Estimate

WHOLE: Final = ("", "none")  # how a build that is not quantised is stated
NOT_MEASURED: Final = "It could not be measured here: {why}"


def ledger_of(data: WaveData) -> Ledger:
    """Every known confound once. What can be measured is; what cannot is told so."""
    return ledger(_entries(data))


def _entries(data: WaveData) -> Iterator[Confound]:
    yield _length(data)
    yield _measured("order", lambda: _order(data))
    yield _measured("drift", lambda: _drift(data))
    yield Confound("judge-family", State.RESOLVED, "Every rating here was given by a person.")
    yield _quantised(data)
    yield _system_message(data)
    yield _drafted(data)
    yield _unserved(data)
    if data.self_naming is not None:
        some = f"{data.self_naming} replies name their maker."
        state = State.DISCLOSED if data.self_naming else State.RESOLVED
        yield Confound("self-naming", state, some)


def _length(data: WaveData) -> Confound:
    codes = [code for code in sorted(data.twice) if data.reply[code].words]
    number = {item.code: place for place, item in enumerate(data.items)}
    try:
        slope = pooled_slope(
            np.array([_level(data, code) for code in codes], dtype=np.float64),
            np.array([data.reply[code].words for code in codes], dtype=np.float64),
            np.array([number[data.reply[code].item] for code in codes], dtype=np.int64),
        )
    except Undefined as why:
        return Confound("length", State.DISCLOSED, NOT_MEASURED.format(why=why))
    low, high = slope.low * log(2), slope.high * log(2)
    return Confound(
        "length",
        State.DISCLOSED,
        f"Measured: {slope.per_doubling:+.2f} levels where a reply is twice as long (95% interval "
        f"{low:+.2f} to {high:+.2f}), over {slope.n} replies to "
        f"{slope.n_items} items.",
    )


def _order(data: WaveData) -> Estimate:
    codes = sorted(data.twice)
    runs = {run.key: number for number, run in enumerate(data.runs)}
    replies = [data.reply[code] for code in codes]
    return trend(
        _less_items(data, codes),
        np.array([reply.position for reply in replies], dtype=np.float64),
        np.array([runs[reply.subject, reply.condition] for reply in replies], dtype=np.int64),
    )


def _drift(data: WaveData) -> Estimate:
    given = [rating for code in sorted(data.twice) for rating in data.twice[code]]
    raters = {rater: number for number, rater in enumerate(sorted({one.rater for one in given}))}
    levels = np.array([one.level for one in given], dtype=np.float64)
    items = [data.reply[one.response].item for one in given]
    return trend(
        levels - _means(levels, items),
        np.array([_day(one.rated_at) for one in given], dtype=np.float64),
        np.array([raters[one.rater] for one in given], dtype=np.int64),
    )


def _measured(code: str, effect: Callable[[], Estimate]) -> Confound:
    try:
        return judged(code, effect())
    except Undefined as why:
        return Confound(code, State.DISCLOSED, NOT_MEASURED.format(why=why))


def _quantised(data: WaveData) -> Confound:
    stated = {run.subject: run.quantisation for run in data.runs}
    unknown = sorted(name for name, build in stated.items() if build == NOT_STATED)
    builds = sorted(name for name, build in stated.items() if build not in (*WHOLE, NOT_STATED))
    if not builds and not unknown:
        return Confound("quantised", State.RESOLVED, "No quantised build was asked.")
    said = [f"Quantised here: {', '.join(builds)}."] if builds else []
    said += [f"Not stated of: {', '.join(unknown)}."] if unknown else []
    return Confound("quantised", State.DISCLOSED, " ".join(said))


def _system_message(data: WaveData) -> Confound:
    given = sorted({run.condition for run in data.runs if run.system_message})
    if given:
        return Confound(
            "system-message", State.DISCLOSED, f"Sent under the condition {', '.join(given)}."
        )
    return Confound("system-message", State.RESOLVED, "No system message was sent.")


def _drafted(data: WaveData) -> Confound:
    said = data.bank.drafting
    if not said:
        return Confound(
            "drafted-bank", State.DISCLOSED, "The bank does not say how it was drafted."
        )
    return Confound("drafted-bank", State.DISCLOSED, f"The bank says: {said}")


def _unserved(data: WaveData) -> Confound:
    if not data.bank.crisis:
        return Confound("unserved", State.RESOLVED, "The bank has no crisis items.")
    some = f"{data.bank.crisis} item{'' if data.bank.crisis == 1 else 's'}"
    return Confound("unserved", State.DISCLOSED, f"Not served: {some}.")


def _level(data: WaveData, code: str) -> float:
    return float(np.mean([rating.level for rating in data.twice[code]]))


def _less_items(data: WaveData, codes: list[str]) -> Floats:
    levels = np.array([_level(data, code) for code in codes], dtype=np.float64)
    return levels - _means(levels, [data.reply[code].item for code in codes])


def _means(levels: Floats, items: list[str]) -> Floats:
    """For each level the mean of its item, shape (n,)."""
    if not items:
        return levels
    _, place = np.unique(np.array(items), return_inverse=True)
    means = np.bincount(place, weights=levels) / np.bincount(place)
    return np.asarray(means[place])


def _day(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() / 86_400
