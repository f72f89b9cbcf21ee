"""The agreement report of a wave: its rows out of the database, its figures, its files.

Agreement is pooled. Before a wave is unblinded nobody sees a figure of ratings by subject, so none
is here: only whether subjects knew the items. Then its key is a file beside the four, and its
single ratings say whose response each is of.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import Count, F, Max
from django.db.models.functions import Substr
from django.template.loader import render_to_string
from django.utils import timezone

from rating import blinding_report, probe_report
from rating.blinding_report import BlindingReport
from rating.charts import agreement_chart
from rating.export import ExportRow, key_csv, ratings_csv, ratings_wide_csv
from rating.facets_file import facets_csv, facets_txt
from rating.guessing import blinding_of, is_unblinded
from rating.models import Guess, Kind, Quote, Rating
from rating.probe_report import ProbeReport
from rating.probing import probes_of
from rating.report import AgreementReport, RatingRow, agreement_report, as_json
from rating.unblinding import key_rows
from runs.canonical import digest
from runs.masks import masked_part
from runs.models import Pair, Response, Wave
from runs.probed import probes_state
from runs.taxonomy import DIMENSIONS

CARE = (
    "Nothing on this site tells you which AI to turn to when life is hard. If you, or someone near "
    "you, needs help now, call your local emergency number or a crisis line."
)
FILES = (
    "report.html",
    "report.json",
    "ratings.csv",
    "ratings_wide.csv",
    "facets.csv",
    "facets.txt",
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
    ratings = Rating.objects.of_wave(wave)
    state = ratings.aggregate(n=Count("pk"), at=Max("rated_at"))
    guesses = Guess.objects.filter(rating__response__run__wave=wave).aggregate(
        n=Count("pk"), at=Max("answered_at"), answered=Count("answered_at")
    )
    # By what the wave is, not by its number: another database may share the cache.
    key = "report:" + digest(
        [wave.code, str(wave.created_at), wave.bank.content_hash, ratings.counted().count()]
        + [
            str(value)
            for value in (
                *state.values(),
                *guesses.values(),
                settings.GUESS_PERCENT,
                is_unblinded(wave),
                probes_state(wave),
            )
        ]
    )
    kept: WaveReport | None = cache.get(key)
    if kept is None:
        kept = _make(wave, now or timezone.now())
        cache.set(key, kept, 3600)
    return kept


def _make(wave: Wave, now: datetime) -> WaveReport:
    names, dimension_of = _dimensions(wave)
    rows = [
        RatingRow(rater, str(code), dimension_of[item], level)
        for rater, code, item, level in Rating.objects.of_wave(wave)
        .counted()
        .order_by("rated_at", "pk")
        .values_list("rater__pseudonym", "response__code", "response__item", "anchor__level")
    ]
    agreement = agreement_report(
        rows, wave.bank.levels, seed=f"{wave.seed}|agreement", dimensions=names
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


def export_rows(wave: Wave) -> list[ExportRow]:
    """Every rating of the wave, counted or not, under code names. Superseded ones are left out.

    Whose response each is of is told of an unblinded wave alone.
    """
    told = wave.unblinded_at is not None
    _, dimension_of = _dimensions(wave)
    quotes: dict[UUID, list[str]] = {}
    for rating, text, mask, start, end in (
        Quote.objects.filter(rating__response__run__wave=wave)
        .order_by("rating", "start")
        .annotate(text=Substr("rating__response__text", F("start") + 1, F("end") - F("start")))
        .values_list("rating", "text", "rating__response__mask", "start", "end")
    ):
        quotes.setdefault(rating, []).append(masked_part(text, mask, start, end))
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
            quotes=tuple(quotes.get(row["pk"], ())),
            note=row["note"],
            rated_at=row["rated_at"],
            subject=row["response__run__subject__code"] if told else "",
            condition=row["response__run__condition"] if told else "",
            trial=row["response__trial"] if told else None,
        )
        for row in Rating.objects.of_wave(wave)
        .filter(superseded_by=None)
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


def file_of(wave: Wave, name: str) -> str:
    """The text of one of ``FILES``."""
    makers: dict[str, Callable[[], str]] = {
        "report.html": lambda: _as_html(wave),
        "report.json": lambda: _as_json(wave),
        "ratings.csv": lambda: ratings_csv(
            export_rows(wave), unblinded=wave.unblinded_at is not None
        ),
        "ratings_wide.csv": lambda: ratings_wide_csv(export_rows(wave)),
        "facets.csv": lambda: facets_csv(export_rows(wave)),
        "facets.txt": lambda: facets_txt(export_rows(wave), wave.bank.levels, wave.code),
    }
    return makers[name]()


def key_of(wave: Wave) -> str:
    """The text of ``key.csv``: which response is whose. Raises ``ValueError`` before unblinding."""
    if wave.unblinded_at is None:
        raise ValueError(f"{wave} is not unblinded, so there is no key of it.")
    return key_csv(key_rows(wave))


def _as_html(wave: Wave) -> str:
    made = wave_report(wave)
    context = {
        "title": f"Agreement of raters: {wave.title}",
        "report": made.agreement,
        "chart": made.chart,
        "chart_narrow": made.chart_narrow,
        "facts": made.facts,
        "blinding": made.blinding,
        "probes": made.probes,
        "made_at": made.made_at,
        "care": CARE,
    }
    return render_to_string("rating/report_file.html", context)


def _as_json(wave: Wave) -> str:
    made = wave_report(wave)
    content = {
        "wave": wave.code,
        "kind": wave.kind,
        "official": False,
        "comparability": "none",
        "bank": str(wave.bank),
        "bank_hash": wave.bank.content_hash,
        "preregistration_hash": wave.preregistration_hash,
        "made_at": made.made_at.isoformat(timespec="seconds"),
        **as_json(made.agreement),
        "blinding": blinding_report.as_json(made.blinding),
        "probes": probe_report.as_json(made.probes),
    }
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _dimensions(wave: Wave) -> tuple[list[str], dict[int, str]]:
    """The names that the wave's units fall under, in the instrument's order, and that of each item.

    For a bank of pairs these are its chambers.
    """
    items = list(wave.bank.items.values_list("pk", "dimension"))
    chambers = {row["code"]: row["name"] for row in wave.bank.meta.get("chambers", [])}
    if not chambers:
        used = {dimension for _, dimension in items}
        return (
            [dimension.name for code, dimension in DIMENSIONS.items() if code in used],
            {pk: DIMENSIONS[dimension].name for pk, dimension in items},
        )
    in_chamber = {
        arm: chambers[chamber]
        for chamber, *arms in Pair.objects.filter(bank=wave.bank).values_list(
            "chamber", "arm_a", "arm_b"
        )
        for arm in arms
    }
    return list(chambers.values()), in_chamber


def _facts(wave: Wave, agreement: AgreementReport) -> list[tuple[str, str]]:
    by_status = Response.objects.of_wave(wave).count_by_status()
    kinds = dict(Rating.objects.of_wave(wave).order_by().values_list("kind").annotate(Count("pk")))
    overall = agreement.overall
    return [
        ("Wave", f"{wave.code} ({wave.kind})"),
        ("Status", "official: false, comparability: none"),
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
