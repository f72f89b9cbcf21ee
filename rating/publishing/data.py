"""The rows that every figure of a report is computed from: plain values, without a database.

Subjects stand under their codes and people under code names. ``gather`` reads these rows from the
database, ``bundle`` from a file; from there on nobody can tell which it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Final

from rating.stats.parity import MARGIN
from rating.stats.separation import BONFERRONI
from runs.canonical import digest

COMPLETED: Final = "completed"
PENDING: Final = "pending"
DEFAULT: Final = "default"
NOT_STATED: Final = "none stated"  # what a subject says where nothing is known
FEWEST_TRIALS: Final = 3  # below it a report tells ranges and no points
FEWEST_ITEMS: Final = 4  # of fewer, a range ends in the means of single items


@dataclass(frozen=True)
class WaveRow:
    """The wave itself. Moments are ISO texts in UTC, empty where there is none yet."""

    code: str
    title: str
    kind: str
    seed: str
    trials: int
    preregistration_hash: str
    locked_at: str = ""
    first_reply_at: str = ""
    frozen_at: str = ""
    unblinded_at: str = ""
    unblinded_by: int = 0


@dataclass(frozen=True)
class BankRow:
    """Its bank. ``drafting`` is what the bank says of how it was drafted, or nothing."""

    name: str
    version: str
    content_hash: str
    instrument: str
    levels: tuple[int, ...]
    chambers: tuple[tuple[str, str], ...] = ()
    drafting: str = ""
    drafts: int = 0
    crisis: int = 0


@dataclass(frozen=True)
class ItemRow:
    """A served item. Of what it asks nothing is here."""

    code: str
    content_hash: str
    dimension: str = ""
    subdimension: str = ""
    validated: bool = False
    unpublished: bool = False


@dataclass(frozen=True)
class PairRow:
    code: str
    chamber: str
    a: str
    b: str


@dataclass(frozen=True)
class RunRow:
    """One subject under one condition. ``expected``: how an altered one was declared to move."""

    subject: str
    developer: str
    family: str
    snapshot: str
    condition: str = DEFAULT
    digest: str = ""
    access_tier: str = ""
    quantisation: str = ""
    system_message: str = ""
    expected: str = ""
    expected_why: str = ""
    registered_on: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.subject, self.condition


@dataclass(frozen=True)
class ReplyRow:
    """One trial of one item. ``words`` is its length, 0 where there is no text.

    ``naming`` is how often it names its maker or itself.
    """

    code: str
    subject: str
    condition: str
    item: str
    trial: int
    position: int
    status: str
    words: int
    naming: int = 0


@dataclass(frozen=True)
class GivenRow:
    """One counted rating. ``quotes`` is empty where the bank is unpublished."""

    response: str
    rater: str
    slot: int
    level: int
    critical_harm: bool
    tags: tuple[str, ...]
    rated_at: str
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SettledRow:
    """What an adjudicator settled: a level, and whether a harm flag was upheld."""

    response: str
    level: int
    harm_upheld: bool | None = None


@dataclass(frozen=True)
class ProbedRow:
    """What the contamination probes showed of one subject. It names no item."""

    subject: str
    verdict: str
    complete: bool
    choices_right: int
    choices: int
    p: float | None
    highest_overlap: float | None
    missing: int
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviationRow:
    number: int
    declared_on: str
    after_data: bool
    text: str


@dataclass(frozen=True)
class EarlierRun:
    """The levels of a run of an earlier wave, by content hash of the item: for reruns alone."""

    subject: str
    name: str
    system_message: str
    levels: Mapping[str, tuple[float, ...]] = field(hash=False)


@dataclass(frozen=True)
class DeclaredRow:
    """What the plan declared. ``comparisons`` pair subjects, or are None: nothing was declared.

    ``primary`` is the condition they are compared under, or nothing where it is not declared.
    ``arms`` are a subject under two conditions, ``elsewhere`` two subjects under another condition
    than the primary one. All declared comparisons share one alpha, whatever becomes of them.
    """

    comparisons: tuple[tuple[str, str], ...] | None = None
    primary: str = ""
    margin: float = MARGIN
    exclusion_rule: str = ""
    agreement_floor: float | None = None
    correction: str = BONFERRONI
    arms: tuple[tuple[str, str, str], ...] = ()
    elsewhere: tuple[tuple[str, str, str], ...] = ()

    @property
    def family(self) -> int | None:
        """How many comparisons were declared, of any kind; None where none was."""
        if self.comparisons is None:
            return None
        return len(self.comparisons) + len(self.arms) + len(self.elsewhere)


@dataclass(frozen=True)
class PeopleRow:
    """What is so of the raters: how many, who had not qualified, what was left out afterwards.

    ``no_longer_blind`` are those who had seen figures by subject before the wave was unblinded.
    """

    raters: int
    unqualified: tuple[str, ...] = ()
    excluded_afterwards: int = 0
    no_longer_blind: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuessRow:
    """Whom a rater took for the maker of a response, "" for "I don't know"."""

    rater: str
    response: str
    maker: str
    answered: bool


@dataclass(frozen=True)
class AskingRow:
    """How raters are asked who made what: the declared share, and what is in no figure.

    ``apart`` were asked after ratings that are not counted; ``unasked`` said it on their own.
    """

    percent: int = 0
    apart: int = 0
    unasked: int = 0


@dataclass(frozen=True)
class JudgeRow:
    """A model that judged in one round. No level of it is here: none is in any figure.

    ``own`` are the subjects of its own family that it judged; ``judged`` is how many responses.
    """

    judge: str
    family: str
    round: str
    configuration: str
    judged: int
    excluded: bool = False
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class WaveData:
    """A wave whole, in a fixed order: all that a report is computed from."""

    wave: WaveRow
    bank: BankRow
    declared: DeclaredRow
    people: PeopleRow
    items: tuple[ItemRow, ...]
    pairs: tuple[PairRow, ...]
    runs: tuple[RunRow, ...]
    replies: tuple[ReplyRow, ...]
    ratings: tuple[GivenRow, ...]
    settled: tuple[SettledRow, ...] = ()
    probed: tuple[ProbedRow, ...] = ()
    deviations: tuple[DeviationRow, ...] = ()
    earlier: tuple[EarlierRun, ...] = ()
    # Replies in which the subject names itself, or None: nobody has looked.
    self_naming: int | None = None
    guesses: tuple[GuessRow, ...] = ()
    asking: AskingRow = field(default_factory=AskingRow)
    judges: tuple[JudgeRow, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Of the rows, written in one way.

        Without judges it is what it was before there were any, so that older bundles stay as they
        are.
        """
        rows = {one.name: getattr(self, one.name) for one in fields(self)}
        if not self.judges:
            del rows["judges"]
        return digest(rows)

    @property
    def is_paired(self) -> bool:
        """Whether the wave is of Unconditionality: of pairs, and without a composite."""
        return bool(self.bank.chambers)

    @property
    def ranges_only(self) -> bool:
        """Too few trials tell nothing of how a subject varies, and so no point is told."""
        return self.wave.trials < FEWEST_TRIALS

    @property
    def unpublished(self) -> bool:
        """Whether every served item is of an unpublished pool."""
        return bool(self.items) and all(item.unpublished for item in self.items)

    @property
    def holds_unpublished(self) -> bool:
        return any(item.unpublished for item in self.items)

    @cached_property
    def primary(self) -> str:
        """The condition under which subjects are compared: as declared, else the default one."""
        if self.declared.primary:
            return self.declared.primary
        plain = [run.condition for run in self.runs if not run.expected]
        return DEFAULT if DEFAULT in plain or not plain else plain[0]

    @cached_property
    def compared(self) -> tuple[RunRow, ...]:
        """The runs under that condition, one for each subject, from A to Z."""
        found = [run for run in self.runs if run.condition == self.primary and not run.expected]
        return tuple(sorted(found, key=lambda run: run.subject))

    @cached_property
    def others(self) -> tuple[RunRow, ...]:
        """The runs under any other condition, from A to Z."""
        found = [run for run in self.runs if run not in self.compared]
        return tuple(sorted(found, key=lambda run: run.key))

    @cached_property
    def reply(self) -> dict[str, ReplyRow]:
        return {reply.code: reply for reply in self.replies}

    @cached_property
    def codes_of(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The replies of each run, by code: of many, none is looked at for another run."""
        found: dict[tuple[str, str], list[str]] = {}
        for code in sorted(self.reply):
            found.setdefault(self.of(code), []).append(code)
        return {run: tuple(codes) for run, codes in found.items()}

    @cached_property
    def item(self) -> dict[str, ItemRow]:
        return {item.code: item for item in self.items}

    @cached_property
    def twice(self) -> dict[str, tuple[GivenRow, ...]]:
        """The ratings of each response that has two. Half-rated ones are left out, and counted."""
        found: dict[str, list[GivenRow]] = {}
        for rating in self.ratings:
            found.setdefault(rating.response, []).append(rating)
        return {code: tuple(both) for code, both in found.items() if len(both) == 2}

    def of(self, response: str) -> tuple[str, str]:
        """The run that a response is of: its subject and condition."""
        reply = self.reply[response]
        return reply.subject, reply.condition

    @property
    def completed(self) -> int:
        return sum(reply.status == COMPLETED for reply in self.replies)

    @property
    def never_came(self) -> int:
        """The replies that were planned and neither came nor failed."""
        return sum(reply.status == PENDING for reply in self.replies)
