"""Judgements as a CSV file, under random response codes.

While the wave is blinded it says neither whose a response is nor which judge judged it, nor when:
each would tell of whose family the response is not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Exists, OuterRef

from rating.dimensions import dimensions_of
from rating.export import SAID_BY, Cell, csv_lines
from rating.judges.tables import Answered, Judgement
from rating.wave_report import responses_told
from runs.models import Wave

FILE: Final = "judgements.csv"
LONG: Final = (
    *("response", "item", "dimension", "round", "configuration", "purpose", "number", "provenance"),
    *("state", "stands", "level", "quote", "quote_found", "quote_valid", "reason", "fault"),
)
JUDGED_BY: Final = ("judge", "answered_at")


@dataclass(frozen=True)
class JudgementRow:
    """One judgement as it leaves the building. ``told`` is empty while the wave is blinded."""

    response: str
    item: str
    dimension: str
    round: str
    configuration: str
    purpose: str
    number: int
    provenance: str
    state: str
    stands: bool
    level: int | None
    quote: str
    quote_found: str
    quote_valid: bool
    reason: str
    fault: str
    told: tuple[str, str, str, str, int] | None = None


def judgements_csv(rows: Iterable[JudgementRow], *, unblinded: bool = False) -> Iterator[str]:
    """Yield one line per judgement, by response, round and number, what stands first."""
    header = (*LONG, *JUDGED_BY, *SAID_BY) if unblinded else LONG
    return csv_lines(header, (_line(row, unblinded=unblinded) for row in rows))


def judgement_rows(wave: Wave) -> Iterator[JudgementRow]:
    """Every judgement of the wave that was asked for and has come, replaced ones too.

    They come in the order of their file, and are never all in memory.
    """
    _, dimension_of = dimensions_of(wave)
    judged = Exists(Judgement.objects.filter(response=OuterRef("pk"), judging__wave=wave))
    for some in responses_told(wave).filter(judged).keys_by_code():
        yield from sorted(_rows_of(wave, some, dimension_of), key=_order)


def _rows_of(
    wave: Wave, responses: Collection[int], dimension_of: Mapping[int, str]
) -> Iterator[JudgementRow]:
    told = wave.unblinded_at is not None
    rows = (
        Judgement.objects.filter(judging__wave=wave, response__in=responses)
        .exclude(state=Answered.PENDING)
        .values_list(
            "response__code",
            "response__item",
            "response__item__code",
            "judging__code",
            "judging__configuration",
            "judging__purpose",
            "number",
            "provenance",
            "state",
            "superseded_by",
            "panel_judge__excluded_at",
            "anchor__level",
            "quote_given",
            "quote_found",
            "quote_valid",
            "reason",
            "fault_kind",
            "panel_judge__judge__name",
            "answered_at",
            "response__run__subject__code",
            "response__run__condition",
            "response__trial",
        )
    )
    return (_row(row, dimension_of, told=told) for row in rows)


def _row(row: tuple[Any, ...], dimension_of: Mapping[int, str], *, told: bool) -> JudgementRow:
    code, pk, item, round_, configuration, purpose, number, provenance, state = row[:9]
    superseded, excluded, level, quote, found, valid, reason, fault = row[9:17]
    judge, at, subject, condition, trial = row[17:]
    return JudgementRow(
        response=str(code),
        item=item,
        dimension=dimension_of[pk],
        round=round_,
        configuration=configuration,
        purpose=purpose,
        number=number,
        provenance=provenance,
        state=state,
        stands=state == Answered.ANSWERED and superseded is None and excluded is None,
        level=level,
        quote=quote,
        quote_found=found,
        quote_valid=valid,
        reason=reason,
        fault=fault,
        told=(judge, _moment(at), subject, condition, trial) if told else None,
    )


def _order(row: JudgementRow) -> tuple[str, str, int, bool, str, str]:
    return (row.response, row.round, row.number, not row.stands, row.provenance, row.quote)


def _line(row: JudgementRow, *, unblinded: bool) -> list[Cell]:
    own: list[Cell] = [
        *(row.response, row.item, row.dimension, row.round, row.configuration, row.purpose),
        *(row.number, row.provenance, row.state, _yes(row.stands), row.level, row.quote),
        *(row.quote_found, _yes(row.quote_valid), row.reason, row.fault),
    ]
    return [*own, *row.told] if unblinded and row.told else own


def _yes(value: bool) -> str:
    return "true" if value else "false"


def _moment(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat() if at else ""
