"""What goes in and out, each field with its meaning: the reference of the API is made from this."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field, Strict

from rating.api.paging import Next
from runs.models import RunState, WaveKind
from runs.replies import LARGEST_REPLY

Whole = Annotated[int, Strict()]
NO_NUL = r"^[^\x00]*$"
Count = Annotated[int, Field(ge=0)]


class Sent(Schema):
    """Something that is sent: a key that is not known is a fault, never passed over."""

    model_config = ConfigDict(extra="forbid")


# Waves


class StageOut(Schema):
    name: str
    since: datetime | None = Field(description="When it was reached; null if not yet.")
    current: bool


class WaveLine(Schema):
    code: str
    title: str
    kind: WaveKind
    bank: str
    bank_id: int
    draft: bool = Field(description="Whether its plan may still change.")


class WavePage(Schema):
    items: list[WaveLine]
    next: Next


class WaveOut(WaveLine):
    bank_hash: str
    levels: list[int]
    trials: Count
    seed: str
    ranges_only: bool
    preregistration_hash: str
    stages: list[StageOut]


class CountsOut(Schema):
    pending: Count
    completed: Count
    filtered: Count
    failed: Count
    malformed: Count


class RunOut(Schema):
    subject: str
    condition: str
    provider: str
    state: RunState
    stop_reason: str
    counts: CountsOut = Field(description="Its trials, by how they ended.")
    not_asked: Count = Field(description="Trials that never will be asked, as it was cancelled.")
    per_second: float
    seconds_left: int | None
    cost: float | None
    fingerprints: Count = Field(description="How many the service gave. More than one is a flag.")


class RatedOut(Schema):
    responses: Count = Field(description="Replies that came and have their two places for ratings.")
    twice: Count = Field(description="Those with both ratings, which are all that is computed on.")
    once: Count


class ProgressOut(Schema):
    wave: str
    state: str
    items: Count
    trials: Count
    total: Count
    ended: Count
    counts: CountsOut
    per_second: float
    seconds_left: int | None
    cost: float | None
    ceiling: float | None
    currency: str
    naming_undecided: Count = Field(
        description="Replies that seem to name their maker and wait for somebody to decide."
    )
    rated: RatedOut = Field(description="Pooled over all runs, as nobody sees it by subject.")
    runs: list[RunOut]


class PendingLine(Schema):
    item: str
    trial: int


class PendingPage(Schema):
    items: list[PendingLine]
    next: Next


# Figures


class FigureOut(Schema):
    """A number with its 95% interval, or the reason why either is missing."""

    value: float | None
    low: float | None
    high: float | None
    reason: str | None


class LevelCount(Schema):
    level: float
    ratings: Count


class AgreementOut(Schema):
    n_ratings: FigureOut
    n_units: FigureOut
    n_pairable_units: FigureOut
    n_raters: FigureOut
    percent_exact: FigureOut
    percent_within_one: FigureOut
    alpha_ordinal: FigureOut
    ac2_ordinal: FigureOut
    coverage: FigureOut
    sufficient: bool
    unused_levels: list[float] | None
    level_counts: list[LevelCount] | None = Field(
        description="Null while it would tell the levels of one subject of a blinded wave."
    )
    level_counts_reason: str | None


class FiguresOut(Schema):
    overall: AgreementOut
    dimensions: dict[str, AgreementOut]
    scale: list[float]
    seed: str
    replicates: Count
    interval: str
    about: str


class WaveAgreementOut(FiguresOut):
    wave: str
    counted: bool = Field(description="True: these are the counted ratings of a wave here.")
    unblinded: bool
    floor: float | None = Field(description="The least ordinal alpha the plan declared.")


class ConditionOut(Schema):
    name: str
    met: bool
    evidence: str
    missing: list[str]


class GateOut(Schema):
    wave: str
    official: bool
    comparability: str
    sentence: str
    conditions: list[ConditionOut]
    before_results: list[str] = Field(description="What must come before there are results.")


class RatingOut(Schema):
    rater: str = Field(description="A code name.")
    kind: str = Field(description="Only those that are counted enter any figure.")
    slot: int | None
    level: int
    confidence: str
    critical_harm: bool
    quotes: list[str]
    note: str
    rated_at: datetime


class RatedResponse(Schema):
    response: UUID = Field(description="A random code. Pages and files have the same.")
    item: str
    dimension: str
    subject: str | None = Field(description="Null until the wave is unblinded; so are the next.")
    condition: str | None
    trial: int | None
    ratings: list[RatingOut]


class RatingsPage(Schema):
    items: list[RatedResponse]
    next: Next


# Reports


class CorrectionOut(Schema):
    text: str
    corrected_at: datetime


class ReportLine(Schema):
    wave: str
    title: str
    published_at: datetime
    sha256: str = Field(description="Of report.json, as it was published.")
    corrections: list[CorrectionOut]


class ReportsPage(Schema):
    items: list[ReportLine]
    next: Next


# Banks


class BankOut(Schema):
    id: int
    name: str
    version: str
    instrument: str
    language: str
    levels: list[int]
    content_hash: str
    imported_at: datetime
    items: Count
    served: Count = Field(description="Those a plan asks: no drafts, no crisis items.")


class BanksPage(Schema):
    items: list[BankOut]
    next: Next


class TurnOut(Schema):
    role: str
    content: str


class AnchorOut(Schema):
    level: int
    label: str
    description: str
    note: str


class ItemOut(Schema):
    code: str
    dimension: str
    subdimension: str
    measures: str = Field(description="Its construct: what it is meant to measure.")
    language: str
    pool: str
    topic: str
    withheld: str = Field(description="Why no plan asks it; empty where plans do.")
    content_hash: str
    unpublished: bool = Field(
        description="Then its text is read on its own page alone: prompt, turns and anchors are null."
    )
    prompt: str | None
    turns: list[TurnOut] | None
    anchors: list[AnchorOut] | None


class ItemsPage(Schema):
    items: list[ItemOut]
    next: Next


# What is sent


class ReplyIn(Sent):
    item: Annotated[str, Field(max_length=50, pattern=NO_NUL)]
    trial: Whole
    text: Annotated[str, Field(description=f"Verbatim, at most {LARGEST_REPLY:,} bytes.")]
    finish_reason: Annotated[str, Field(pattern=NO_NUL)] | None = None


class RepliesIn(Sent):
    subject: Annotated[
        str,
        Field(max_length=420, pattern=r"^[\w.-]+$", description="Its code, as progress has it."),
    ]
    condition: Annotated[str, Field(max_length=50, pattern=r"^[\w-]+$")] = "default"
    responses: Annotated[list[ReplyIn], Field(min_length=1)]


class RepliesOut(Schema):
    wave: str
    subject: str
    condition: str
    stored: Count
    pending: Count = Field(description="Trials of this run that still have no reply.")


Name = Annotated[str, Field(min_length=1, max_length=100, pattern=NO_NUL)]
MaybeName = Annotated[str, Field(max_length=100, pattern=NO_NUL)]


class RatingIn(Sent):
    rater: Name
    unit: Name
    level: Annotated[float, Strict(), Field(allow_inf_nan=False)] | MaybeName | None = Field(
        description="On the scale; null or an empty text where this rater gave none."
    )
    dimension: MaybeName = ""
    item: MaybeName = ""


class ElsewhereIn(Sent):
    name: Name
    source: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            pattern=NO_NUL,
            description="Who rated what, where, and by what rule.",
        ),
    ]
    scale: Annotated[
        str,
        Field(
            max_length=1000,
            pattern=NO_NUL,
            description="Such as 1-5; 1,1.5,2; or low,medium,high.",
        ),
    ]
    ratings: Annotated[list[RatingIn], Field(min_length=1)]


class ElsewhereLine(Schema):
    code: UUID
    name: str
    source: str
    scale: str
    ratings: Count
    raters: Count
    units: Count
    sha256: str
    brought_at: datetime
    counted: bool = Field(description="Always false: ratings made elsewhere never count here.")


class ElsewherePage(Schema):
    items: list[ElsewhereLine]
    next: Next


class WordCount(Schema):
    level: float | str
    ratings: Count


class ElsewhereAgreement(Schema):
    n_ratings: FigureOut
    n_units: FigureOut
    n_pairable_units: FigureOut
    n_raters: FigureOut
    percent_exact: FigureOut
    percent_within_one: FigureOut
    alpha_ordinal: FigureOut
    ac2_ordinal: FigureOut
    coverage: FigureOut
    sufficient: bool
    unused_levels: list[float | str]
    level_counts: list[WordCount]


class ElsewhereFigures(Schema):
    code: UUID
    name: str
    source: str
    counted: bool
    caution: str
    overall: ElsewhereAgreement
    dimensions: dict[str, ElsewhereAgreement]
    scale: list[float | str]
    seed: str
    replicates: Count
    interval: str
    about: str


class ErrorOut(Schema):
    detail: str
    pointer: str | None = Field(None, description="A JSON pointer into the body.")
    parameter: str | None = Field(None, description="A parameter or header.")


class ProblemOut(Schema):
    """An RFC 9457 problem."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    errors: list[ErrorOut] = Field([], description="Every place that is wrong, up to a hundred.")
    errors_left_out: int = 0
    missing: list[str] = Field([], description="What must come first.")
    most: int = Field(0, description="The most bytes, or rows, that are taken.")
