"""The ledger of what else could explain a difference, from the rows of a wave."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from rating.publishing.data import NOT_STATED, WaveData
from rating.stats.agreement import Floats, Undefined, Whole
from rating.stats.confounds import (
    MARGIN,
    Confound,
    Ledger,
    State,
    judged,
    ledger,
    left_out,
    signed,
    trend,
)
from rating.stats.length import DOUBLING, Slope, pooled_slope, within_slope
from rating.stats.student import ALPHA, Estimate

WHOLE: Final = ("", "none")  # how a build that is not quantised is stated
SWEEPS: Final = 50  # with items and runs crossed as plans cross them, a few would do
NOT_MEASURED: Final = "It could not be measured here: {why}"


def ledger_of(data: WaveData) -> Ledger:
    """Every known confound once. What can be measured is; what cannot is told so."""
    return ledger(_entries(data))


def _entries(data: WaveData) -> Iterator[Confound]:
    yield _length(data)
    yield _measured("order", lambda: _order(data))
    yield _measured("drift", lambda: _drift(data))
    yield _judges(data)
    yield _quantised(data)
    yield _system_message(data)
    yield _drafted(data)
    yield _unserved(data)
    if data.self_naming is not None:
        yield _self_naming(data)


def _length(data: WaveData) -> Confound:
    """Both slopes: among all replies to an item, and among those of one run to it."""
    codes = [code for code in sorted(data.twice) if data.reply[code].words]
    levels = np.array([_level(data, code) for code in codes], dtype=np.float64)
    words = np.array([data.reply[code].words for code in codes], dtype=np.float64)
    items = _numbered([data.reply[code].item for code in codes])
    runs = _numbered([_run_of(data, code) for code in codes])
    said = [
        _sloped("Among all replies to an item", lambda: pooled_slope(levels, words, items)),
        _sloped(
            "Among replies of one model to an item",
            lambda: within_slope(levels, words, items, runs),
        ),
    ]
    return Confound("length", State.DISCLOSED, " ".join(said))


def _sloped(where: str, slope_of: Callable[[], Slope]) -> str:
    try:
        slope = slope_of()
    except Undefined as why:
        return f"{where} it could not be measured: {why}"
    low, high = slope.low / DOUBLING, slope.high / DOUBLING
    return (
        f"{where}: {signed(slope.per_doubling)} levels where a reply is twice as long "
        f"(95% interval {signed(low)} to {signed(high)}; {slope.n} replies to {slope.n_items} items)."
    )


def _self_naming(data: WaveData) -> Confound:
    """What leaving out the replies that name their maker does to each model's levels."""
    if not data.self_naming:
        return Confound("self-naming", State.RESOLVED, "No reply names its maker.")
    one = data.self_naming == 1
    said = [f"{data.self_naming} {'reply names its' if one else 'replies name their'} maker."]
    small = []
    for run in data.compared:
        codes = [code for code in data.codes_of.get(run.key, ()) if code in data.twice]
        if any(data.reply[code].naming for code in codes):
            sentence, is_small = _with_and_without(data, run.subject, codes)
            said.append(sentence)
            small.append(is_small)
    # Of replies without two ratings, or under another condition, nothing was measured.
    if not small:
        said.append("None of them is among the ratings that are compared.")
    return Confound(
        "self-naming",
        State.RESOLVED if small and all(small) else State.DISCLOSED,
        " ".join(said),
    )


def _with_and_without(data: WaveData, subject: str, codes: list[str]) -> tuple[str, bool]:
    """How far they move the levels of a model, and whether that is within the margin."""
    try:
        moved = left_out(
            np.array([_level(data, code) for code in codes], dtype=np.float64),
            _numbered([data.reply[code].item for code in codes]),
            np.array([data.reply[code].naming > 0 for code in codes]),
        )
        reach = moved.interval(2 * ALPHA)
    except Undefined as why:
        return f"What they do to the levels of {subject} could not be measured: {why}", False
    return (
        f"Levels of {subject} with them, less without: {signed(moved.value)} (90% interval "
        f"{signed(reach.low)} to {signed(reach.high)}).",
        moved.p_within(MARGIN) < ALPHA,
    )


def _order(data: WaveData) -> Estimate:
    codes = sorted(data.twice)
    levels = np.array([_level(data, code) for code in codes], dtype=np.float64)
    return trend(
        _less(levels, [data.reply[code].item for code in codes]),
        np.array([data.reply[code].position for code in codes], dtype=np.float64),
        _numbered([_run_of(data, code) for code in codes]),
    )


def _drift(data: WaveData) -> Estimate:
    """Over the days, less what items and runs are like: else days when one model was read count."""
    given = [rating for code in sorted(data.twice) for rating in data.twice[code]]
    levels = np.array([one.level for one in given], dtype=np.float64)
    items = [data.reply[one.response].item for one in given]
    runs = [_run_of(data, one.response) for one in given]
    return trend(
        _less(levels, items, runs),
        np.array([_day(one.rated_at) for one in given], dtype=np.float64),
        _numbered([one.rater for one in given]),
    )


def _measured(code: str, effect: Callable[[], Estimate]) -> Confound:
    try:
        return judged(code, effect())
    except Undefined as why:
        return Confound(code, State.DISCLOSED, NOT_MEASURED.format(why=why))


def _judges(data: WaveData) -> Confound:
    """Whether models judged beside people, of which families; none of their levels is in a figure."""
    served = [row for row in data.judges if row.judged]
    if not served:
        return Confound("judge-family", State.RESOLVED, "Every rating here was given by a person.")
    families = sorted({row.family for row in served})
    names = {row.judge for row in served}
    one = len(names) == 1
    said = [
        f"Every rating in these figures was given by a person. {len(names)} "
        f"{'model' if one else 'models'} judged the replies as well, of the "
        f"{'family' if len(families) == 1 else 'families'} {', '.join(families)}; nothing that "
        f"{'it' if one else 'they'} gave is in any figure."
    ]
    if own := sorted({subject for row in served for subject in row.own}):
        said.append(f"Judged by a model of its own family: {', '.join(own)}.")
    return Confound("judge-family", State.DISCLOSED, " ".join(said))


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
    ratings = data.twice[code]
    return sum(rating.level for rating in ratings) / len(ratings)


def _run_of(data: WaveData, code: str) -> tuple[str, str]:
    return data.reply[code].subject, data.reply[code].condition


def _numbered(names: Sequence[Hashable]) -> Whole:
    """A number for each name, the same for the same."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _less(levels: Floats, *groups: Sequence[Hashable]) -> Floats:
    """The levels less the mean of each group, shape (n,).

    Where groups of two kinds cross unevenly, the means of one hold some of the other: so they are
    taken off in turn until nothing is left of either.
    """
    if not len(levels):
        return levels
    numbers = [_numbered(group) for group in groups]
    for _ in range(SWEEPS if len(groups) > 1 else 1):
        for number in numbers:
            levels = levels - (np.bincount(number, weights=levels) / np.bincount(number))[number]
    return np.asarray(levels)


def _day(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() / 86_400
