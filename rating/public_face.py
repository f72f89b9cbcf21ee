"""What the public pages show, out of the database: live counts, published reports, corrections.

Nothing of an unpublished bank is among it, and of a wave nothing before it is published.
"""

from dataclasses import dataclass

from rating.coverage import Counts, counts_of
from rating.method_words import CLAIMS, FOUNDING, QUESTIONS, Claim
from rating.publications import Correction, Publication
from rating.reviews import Standing, standings
from rating.stats.scores import BANDS, HIGHEST_BAND
from rating.stats.verdict import Outcome
from runs.models import Bank, Instrument, Item, Pair
from runs.taxonomy import DIMENSIONS


@dataclass(frozen=True)
class DimensionLine:
    code: str
    name: str
    question: str
    scorable: int
    validated: int


@dataclass(frozen=True)
class PublicBank:
    """A bank anyone may know of, with what is counted from it now."""

    name: str
    content_hash: str
    counts: Counts
    dimensions: tuple[DimensionLine, ...] = ()
    pairs: int = 0
    subdimensions: int = 0


@dataclass(frozen=True)
class Standpoint:
    """Where one of the five tests stands, by the wave published last that could tell."""

    claim: Claim
    outcome: str
    said: tuple[str, ...]
    missing: tuple[str, ...] = ()
    wave: str = ""
    title: str = ""

    @property
    def mark(self) -> str:
        return {Outcome.HOLDS: "●", Outcome.REFUTED: "■"}.get(Outcome(self.outcome), "○")


@dataclass(frozen=True)
class Published:
    """A published report, as lists name it."""

    wave: str
    title: str
    kind: str
    official: bool
    publication: Publication
    corrections: tuple[Correction, ...]


def published() -> list[Published]:
    """Every published report, the newest first, each with its corrections in their order."""
    corrections: dict[int, list[Correction]] = {}
    for one in Correction.objects.order_by("pk"):
        corrections.setdefault(one.wave_id, []).append(one)
    return [
        Published(
            one.wave.code,
            one.wave.title,
            one.wave.kind,
            bool(one.content["official"]),
            one,
            tuple(corrections.get(one.wave_id, ())),
        )
        for one in Publication.objects.shown().order_by("-published_at", "-pk")
    ]


def officially_evaluated(reports: list[Published]) -> int:
    """How many models an official wave has been published of. Counted, never typed."""
    return len(
        {
            row["subject"]
            for report in reports
            if report.official
            for row in report.publication.content["subjects"]
        }
    )


def public_bank(instrument: Instrument) -> PublicBank | None:
    """The newest bank of an instrument that is public throughout; of several, the largest."""
    newest: dict[str, Bank] = {}
    for bank in Bank.objects.filter(instrument=instrument, frozen_at__isnull=False).order_by("pk"):
        newest[bank.name] = bank
    found = [
        (bank, items)
        for bank in newest.values()
        if (items := list(bank.items.defer("prompt", "turns")))
        and not any(item.unpublished for item in items)
    ]
    if not found:
        return None
    bank, items = max(found, key=lambda one: (len(one[1]), one[0].pk))
    known = standings({item.content_hash for item in items})
    return PublicBank(
        str(bank),
        bank.content_hash,
        counts_of((item.withheld, known[item.content_hash]) for item in items),
        _dimensions(items, known) if instrument == Instrument.MODEL_INDEX else (),
        Pair.objects.filter(bank=bank).count(),
        len({item.subdimension for item in items if item.subdimension}),
    )


def founding_status() -> str:
    """The status of the founding item, if a bank of this site holds it word for word."""
    item = (
        Item.objects.filter(code=FOUNDING.code, prompt=FOUNDING.prompt, turns=[])
        .order_by("-pk")
        .first()
    )
    if item is None:
        return ""
    texts = [description for _, _, description in FOUNDING.anchors]
    if [anchor.description for anchor in item.anchors.order_by("level")] != texts:
        return ""
    return str(standings([item.content_hash])[item.content_hash])


def standpoints(reports: list[Published]) -> list[Standpoint]:
    """Where each of the five tests stands now: holds, refuted, or what is missing to tell."""
    return [_standpoint(claim, reports) for claim in CLAIMS]


def bands() -> list[tuple[str, int, int]]:
    """Each band with the numbers above and up to which it goes, the highest first."""
    edges = [0, *(edge for edge, _ in BANDS), 100]
    names = [*(name for _, name in BANDS), HIGHEST_BAND]
    return list(zip(names, edges, edges[1:], strict=False))[::-1]


def _dimensions(items: list[Item], known: dict[str, Standing]) -> tuple[DimensionLine, ...]:
    lines = []
    for code, dimension in DIMENSIONS.items():
        own = counts_of(
            (item.withheld, known[item.content_hash]) for item in items if item.dimension == code
        )
        lines.append(
            DimensionLine(code, dimension.name, QUESTIONS[code], own.scorable, own.validated)
        )
    return tuple(lines)


def _standpoint(claim: Claim, reports: list[Published]) -> Standpoint:
    """A refutation is never outlived by a wave that could not tell."""
    told = [
        (report, test)
        for report in reports
        for test in report.publication.content["tests"]
        if test["number"] == claim.number
    ]
    decided = [one for one in told if one[1]["outcome"] != Outcome.OPEN] or told
    if not decided:
        return Standpoint(
            claim, Outcome.OPEN, ("No report has been published yet, so there are no data.",)
        )
    report, test = decided[0]
    return Standpoint(
        claim,
        test["outcome"],
        tuple(test["evidence"]),
        tuple(test["missing"]),
        report.wave,
        report.title,
    )
