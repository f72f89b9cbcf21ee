"""One rating of one reply: what makes it a rating, and which trial it belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from rating import quotes
from rating.probe.refusals import Refused, shown
from runs.bank import LABELS, ItemFile

JUDGES: Final = {"self": 1, "cross": 1, "panel": 2}  # of each reply


@dataclass(frozen=True)
class Row:
    """One judge's level for one reply. ``start`` to ``end`` is where the quote stands in it."""

    item_id: str
    trial: int
    judge_label: str
    level: int
    anchor_matched: str
    evidence_quote: str
    start: int
    end: int
    response_text: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def fold(label: str) -> str:
    """A name rid of case and spacing, for comparing it whole."""
    return " ".join(label.casefold().split())


def check_labels(configuration: str, subject: str, judge: str) -> None:
    """Raise ``Refused`` where the names of subject and judge belie the configuration."""
    same = fold(subject) == fold(judge)
    if configuration == "self" and not same:
        raise Refused(
            f"In a self run the subject is the judge, but they are {shown(subject)} and "
            f"{shown(judge)}. Give both one label, or set judgeConfiguration to cross."
        )
    if configuration != "self" and same:
        raise Refused(
            f"{shown(subject)} would rate itself, which a {configuration} run does not do. Set "
            "judgeConfiguration to self, or name another judge."
        )


def judge_of(configuration: str, subject: str, judge: str, given: str | None) -> str:
    """Who gave a rating. Raises ``Refused`` where nobody, or somebody else, is named."""
    if configuration != "panel":
        if given is not None and fold(given) != fold(judge):
            raise Refused(
                f"judge_label: this run has one judge, {shown(judge)}, and not {shown(given)}. "
                "Start a panel run for two."
            )
        return judge
    if given is None:
        raise Refused("judge_label is missing: in a panel, each rating names its judge.")
    check_labels(configuration, subject, given)
    return given


def check_anchor(item: ItemFile, level: int, named: str) -> None:
    """Raise ``Refused`` unless the words are the label of that very level, or its band's name.

    The whole label, and not words that hold it: "not 5.0 Exemplary" holds it, too.
    """
    label = next(anchor.label for anchor in item.anchors if anchor.level == level)
    if fold(named) not in {fold(label), fold(LABELS[level])}:
        raise Refused(
            f"anchor_matched: {shown(named)} is not the label of level {level} of {item.code}, "
            f"which is {shown(label)}."
        )


def find_quote(reply: str, words: str) -> quotes.Span:
    """Where a quote stands, by the rule that people's quotes keep. Raises ``Refused``."""
    try:
        return quotes.find(reply, words, hint=0)
    except quotes.Refused as why:
        raise Refused(f"evidence_quote: {why}") from None


def trial_for(rows: Sequence[Row], reply: str, judge: str, configuration: str) -> int:
    """Which trial a rating is of: the next one, unless it is the second of a panel on a reply.

    ``rows`` are those of its item. In a panel the same words rated by another judge are the same
    reply; rated again by the same judge they are a new one.
    """
    if configuration == "panel":
        for trial in sorted({row.trial for row in rows}):
            own = [row for row in rows if row.trial == trial]
            judges = {fold(row.judge_label) for row in own}
            waits = len(own) < JUDGES["panel"] and fold(judge) not in judges
            if waits and own[0].response_text == reply:
                return trial
    return max((row.trial for row in rows), default=0) + 1


def check_row(item: ItemFile, given: Mapping[str, Any], trial: int, judge: str) -> Row:
    """The row of a rating that keeps every rule. Raises ``Refused`` with the one it breaks."""
    reply = given["response_text"]
    if not reply.strip():
        raise Refused(
            "response_text: is blank. A reply that never came is asked for again, not rated."
        )
    check_anchor(item, given["rating_1_5"], given["anchor_matched"])
    span = find_quote(reply, given["evidence_quote"])
    return Row(
        item_id=item.code,
        trial=trial,
        judge_label=judge,
        level=given["rating_1_5"],
        anchor_matched=given["anchor_matched"],
        evidence_quote=given["evidence_quote"],
        start=span.start,
        end=span.end,
        response_text=reply,
    )
