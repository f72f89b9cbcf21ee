"""Whether raters knew who made what they rated, as a report tells it: of all makers together.

Nothing is told of a single maker: how well one is recognised would say something of a model of
which nothing may be said.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from rating.blinding_report import Answer, BlindingReport, blinding_report
from rating.publishing.data import WaveData
from rating.publishing.rounded import shown
from rating.report import Figure, figure_as_json

#: What the figures are called, in the order in which they are told.
GUESSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "share_unknown": "“I don’t know”, of all answers",
        "share_right": "Right, of those who named somebody",
        "right": "Right answers",
        "expected": "Right answers that chance alone would give",
        "p": "p of as many by chance, dealt within each rater",
    }
)


def blinding_of(data: WaveData) -> BlindingReport:
    """The figures of the guesses, from their rows. Who made what stands in the runs."""
    developer = {run.key: run.developer for run in data.runs}
    return blinding_report(
        [
            Answer(row.rater, row.maker, developer[data.of(row.response)])
            for row in data.guesses
            if row.answered
        ],
        asked=len(data.guesses),
        apart=data.asking.apart,
        unasked=data.asking.unasked,
        percent=data.asking.percent,
        unblinded=True,
        seed=f"{data.wave.seed}|blinding",
    )


def blinding_as_content(report: BlindingReport) -> dict[str, Any]:
    """The figures as a report prints them, with a sentence on what they show."""
    keyed = report.keyed
    return {
        "sentence": sentence_of(report),
        "about": " ".join((report.asking, report.reading[0], report.reading[-1])),
        "caution": report.caution,
        "percent": report.percent,
        "asked": report.asked,
        "answered": report.answered,
        "unknown": report.unknown,
        "unasked": report.unasked,
        "share_unknown": _told(report.share_unknown),
        "share_right": _told(keyed.share_right),
        "right": _told(keyed.right),
        "expected": _told(keyed.expected),
        "p": _told(keyed.p),
        "sufficient": report.sufficient,
        "permutations": report.draws,
        "seed": report.seed,
    }


def sentence_of(report: BlindingReport) -> str:
    """What raters answered, and how many right answers chance alone would give."""
    if not report.asked:
        return "Nobody was asked who made a response."
    if not report.answered:
        return f"Of {report.asked} questions who made a response, none was answered."
    keyed = report.keyed
    said = (
        f"Of {report.answered} answers to the question who made a response, {report.unknown} were "
        f"“I don’t know” and {keyed.right_in_words} named the maker"
    )
    if keyed.expected.value is None:
        return f"{said}. What chance would give cannot be told: {keyed.expected.reason}"
    return f"{said}; chance alone would give {keyed.expected_in_words} (p: {keyed.p_in_words})."


def _told(figure: Figure) -> dict[str, Any]:
    told = figure_as_json(figure)
    return {
        key: value if value is None or isinstance(value, str) else shown(float(value), 4)
        for key, value in told.items()
    }
