"""The agreement report of a wave: its rows out of the database, and its figures.

Agreement is pooled. Before a wave is unblinded nobody sees a figure of ratings by subject, so none
is here: only whether subjects knew the items. Then its key is a file beside the four, and its
single ratings say whose response each is of.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, Max
from django.utils import timezone

from rating.blinding_report import BlindingReport
from rating.breakdown import By, breakdown, line_of
from rating.charts import agreement_chart
from rating.counted import columns_of, state_of
from rating.dimensions import dimensions_of
from rating.export import ExportRow, in_order, key_csv
from rating.guessing import blinding_of, is_unblinded
from rating.models import Guess, Kind, Quote, Rating
from rating.probe_report import ProbeReport
from rating.probing import probes_of
from rating.readings import words_of
from rating.report import OVERALL, AgreementReport
from rating.stats.agreement import REPLICATES
from rating.unblinding import key_rows
from runs.canonical import digest
from runs.models import Response, ResponseQuerySet, Wave, WaveKind
from runs.probed import probes_state

CARE = (
    "Nothing on this site tells you which AI to turn to when life is hard. If you, or someone near "
    "you, needs help now, call your local emergency number or a crisis line."
)
NARROW = 340


@dataclass(frozen=True)
class WaveReport:
    """What is shown of a wave, as it stood at ``made_at``."""

    agreement: AgreementReport
    chart: str
    chart_narrow: str
    facts: tuple[tuple[str, str], ...]
    blinding: BlindingReport
    probes: ProbeReport
    made_at: datetime


def wave_report(wave: Wave, *, now: datetime | None = None) -> WaveReport:
    """The report of all ratings the wave has by now. Unchanged ratings give the kept report."""
    state = state_of(wave)
    guesses = Guess.objects.filter(rating__response__run__wave=wave).aggregate(
        n=Count("pk"), at=Max("answered_at"), answered=Count("answered_at")
    )
    around = (*guesses.values(), settings.GUESS_PERCENT, is_unblinded(wave), probes_state(wave))
    key = "report:" + digest([state, *map(str, around)])
    kept: WaveReport | None = cache.get(key)
    if kept is None:
        kept = _make(wave, state, now or timezone.now())
        cache.set(key, kept, 3600)
    return kept


def _make(wave: Wave, state: str, now: datetime) -> WaveReport:
    columns, seed = columns_of(wave, state), f"{wave.seed}|agreement"
    lines, _ = breakdown(columns, By.DIMENSION, seed=seed)
    agreement = AgreementReport(
        line_of(OVERALL, columns, seed=f"{seed}|overall").agreement,
        {line.name: line.agreement for line in lines},
        tuple(float(level) for level in columns.scale),
        seed,
        REPLICATES,
    )
    return WaveReport(
        agreement,
        agreement_chart(agreement),
        agreement_chart(agreement, width=NARROW),
        tuple(_facts(wave, agreement)),
        blinding_of(wave),
        probes_of(wave),
        now,
    )


def export_rows(
    wave: Wave, only: Collection[int] | None = None, *, quotes: bool = True
) -> list[ExportRow]:
    """Every rating of the wave, counted or not, under code names. Superseded ones are left out.

    Whose response each is of is told of an unblinded wave alone. ``only`` names the responses
    whose ratings are wanted, if not all are. The words of ``quotes`` come out of long texts: who
    has no use for them does without.
    """
    ratings = Rating.objects.of_wave(wave)
    written = Quote.objects.filter(rating__response__run__wave=wave)
    if only is not None:
        ratings = ratings.filter(response__in=only)
        written = written.filter(rating__response__in=only)
    told = wave.unblinded_at is not None
    _, dimension_of = dimensions_of(wave)
    words = words_of(written) if quotes else {}
    return [
        ExportRow(
            response=str(row["response__code"]),
            item=row["response__item__code"],
            dimension=dimension_of[row["response__item"]],
            rater=row["rater__pseudonym"],
            slot=row["slot"],
            kind=row["kind"],
            level=row["anchor__level"],
            confidence=row["confidence"],
            critical_harm=row["critical_harm"],
            quotes=tuple(one.text for one in words.get(row["pk"], ())),
            note=row["note"],
            rated_at=row["rated_at"],
            subject=row["response__run__subject__code"] if told else "",
            condition=row["response__run__condition"] if told else "",
            trial=row["response__trial"] if told else None,
        )
        for row in ratings.filter(superseded_by=None)
        .order_by("rated_at", "pk")
        .values(
            "pk",
            "response__code",
            "response__item",
            "response__item__code",
            "rater__pseudonym",
            "slot",
            "kind",
            "anchor__level",
            "confidence",
            "critical_harm",
            "note",
            "rated_at",
            "response__run__subject__code",
            "response__run__condition",
            "response__trial",
        )
    ]


def responses_told(wave: Wave) -> ResponseQuerySet:
    """The responses whose single ratings leave the building by now: all, or nearly all.

    While a wave of several subjects is blinded, what an item alone would tell the subject of waits
    until another subject has answered that item.
    """
    found = Response.objects.of_wave(wave)
    subjects = wave.runs.order_by().values("subject").distinct().count()
    return found if wave.unblinded_at or subjects < 2 else found.of_items_of_several()


def rows_in_order(wave: Wave, *, quotes: bool = False) -> Iterator[ExportRow]:
    """The same by response, rater and time, as files want them, never all of them in memory."""
    for some in responses_told(wave).keys_by_code():
        yield from in_order(export_rows(wave, only=some, quotes=quotes))


def raters_of(wave: Wave) -> list[str]:
    """The pseudonyms of all who gave counted ratings in it."""
    counted = Rating.objects.of_wave(wave).filter(superseded_by=None, kind=Kind.COUNTED)
    return list(counted.order_by().values_list("rater__pseudonym", flat=True).distinct())


def key_of(wave: Wave) -> str:
    """The text of ``key.csv``: which response is whose. Raises ``ValueError`` before unblinding."""
    if wave.unblinded_at is None:
        raise ValueError(f"{wave} is not unblinded, so there is no key of it.")
    return key_csv(key_rows(wave))


def status_of(wave: Wave) -> str:
    """What this report can say of whether the wave is official."""
    if wave.kind == WaveKind.OFFICIAL:
        return "Whether it is official is said by its conditions, on its page Official or not."
    return "official: false, comparability: none"


def official_as_json(wave: Wave) -> dict[str, Any]:
    """``status_of`` for a program: null where this report cannot say."""
    if wave.kind == WaveKind.OFFICIAL:
        return {"official": None, "official_reason": status_of(wave), "comparability": None}
    return {"official": False, "official_reason": None, "comparability": "none"}


def _facts(wave: Wave, agreement: AgreementReport) -> list[tuple[str, str]]:
    by_status = Response.objects.of_wave(wave).count_by_status()
    kinds = dict(Rating.objects.of_wave(wave).order_by().values_list("kind").annotate(Count("pk")))
    overall = agreement.overall
    return [
        ("Wave", f"{wave.code} ({wave.kind})"),
        ("Status", status_of(wave)),
        ("Bank", f"{wave.bank}, SHA-256 {wave.bank.content_hash}"),
        ("Pre-registration", f"SHA-256 {wave.preregistration_hash}"),
        ("Seed", wave.seed),
        ("Responses", ", ".join(f"{n} {status}" for status, n in by_status.items() if n)),
        (
            "Ratings",
            f"{overall.n_ratings} counted, {kinds.get(Kind.SURPLUS, 0)} surplus; "
            f"{overall.n_pairable_units} of {by_status['completed']} responses have two",
        ),
    ]
