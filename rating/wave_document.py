"""The agreement report of a wave as a document: what its pages show, pooled, without a quote."""

from collections.abc import Iterator, Sequence

from rating.agreement_page import (
    NO_FLOOR,
    WHY_THEY_DIFFER,
    AgreementPage,
    Look,
    agreement_page,
    declared_floor,
    is_outside,
)
from rating.blinding_report import BlindingReport
from rating.breakdown import By, Line
from rating.breakdown_chart import LIGHT, breakdown_chart
from rating.counted import state_of
from rating.document import Document, Facts, Heading, Paragraph, Part, Picture, Table
from rating.figure import Figure
from rating.report import ALPHA_MEANING, MEANING
from rating.wave_report import CARE, WaveReport, status_of, wave_report
from runs.models import Wave


def wave_document(wave: Wave, report: WaveReport | None = None) -> Document:
    """The report as it stands now, in the order of its page."""
    made = report or wave_report(wave)
    page = agreement_page(wave, Look(By.DIMENSION), state_of(wave))
    return Document(
        f"Agreement of raters: {wave.title}",
        CARE,
        (
            Paragraph(status_of(wave)),
            *_agreement(page, declared_floor(wave)),
            *_levels(page),
            *_items(page, wave.bank.levels),
            *_blinding(made.blinding),
            Heading("What this rests on"),
            Facts(made.facts),
        ),
        made.made_at,
    )


def _agreement(page: AgreementPage, floor: float | None) -> Iterator[Part]:
    overall = page.overall
    yield Heading("How far raters agree")
    yield Picture(
        page.rows.sentence,
        page.rows.description,
        breakdown_chart(page.rows, colours=LIGHT),
        f"{overall.agreement.n_ratings:,} ratings by {overall.agreement.n_raters:,} raters: "
        f"{overall.agreement.n_pairable_units:,} responses rated twice, and "
        f"{overall.half_rated:,} half rated, left out of every pair. Seed {page.seed}.",
    )
    if floor is None:
        yield Paragraph(NO_FLOOR)
    yield Paragraph(WHY_THEY_DIFFER)
    for note in page.notes:
        yield Paragraph(note)
    yield Table(
        "Agreement in each dimension, then all together",
        (
            "Dimension",
            "Rated twice",
            "Half rated",
            "Raters",
            "Ordinal alpha",
            "AC2, ordinal weights",
            "The same level",
            "Within one level",
            "Unused levels",
        ),
        [_row(line) for line in page.rows.lines],
        (1.6, 0.8, 0.8, 0.8, 2.1, 2.1, 2.1, 2.1, 1),
    )
    yield Paragraph(f"{ALPHA_MEANING} {MEANING}", quiet=True)


def _row(line: Line) -> tuple[str, ...]:
    agreement = line.agreement
    return (
        line.name,
        f"{agreement.n_pairable_units:,}",
        f"{line.half_rated:,}",
        f"{agreement.n_raters:,}",
        agreement.alpha_ordinal.as_number(),
        line.ac2.as_number(),
        agreement.percent_exact.as_percent(),
        agreement.percent_within_one.as_percent(),
        agreement.unused if agreement.n_ratings else "no ratings",
    )


def _levels(page: AgreementPage) -> Iterator[Part]:
    crossing = page.crossing
    yield Heading("Which levels are taken for which")
    if not crossing.n:
        why = crossing.reason or "No response has two ratings."
        yield Paragraph(f"This table cannot be given: {why}")
        return
    names = [f"{level:g}" for level in crossing.scale]
    rows = zip(names, crossing.counts.tolist(), strict=True)
    yield Table(
        f"Responses by the level of {crossing.rows}, down, and of {crossing.columns}, across. Which "
        f"of the two ratings is the row was drawn by chance, from the seed {page.seed}.",
        ("Level", *names),
        [(name, *(f"{count:,}" for count in row)) for name, row in rows],
        (1.0,) * (len(names) + 1),
    )


def _items(page: AgreementPage, scale: Sequence[int]) -> Iterator[Part]:
    yield Heading("Items")
    if not page.item_lines:
        yield Paragraph("No item has a response with two ratings yet.")
        return
    yield Table(
        "Items that have been rated, in the order of the bank",
        ("Item", "Dimension", "Rated twice", "Mean", "The same level", "Within one", "Limits"),
        [
            (
                line.code,
                line.dimension,
                f"{line.responses:,}",
                "withheld" if line.mean is None else f"{line.mean:.2f}",
                Figure(line.same).percent(),
                Figure(line.within_one).percent(),
                "outside" if is_outside(line, scale) else "within",
            )
            for line in page.item_lines
        ],
        (1.6, 2, 1, 1, 1, 1, 1),
    )
    if any(line.mean is None for line in page.item_lines):
        yield Paragraph(page.no_map, quiet=True)


def _blinding(blinding: BlindingReport) -> Iterator[Part]:
    keyed, answered = blinding.keyed, f"{blinding.answered:,}"
    yield Heading("Whether raters know who wrote what")
    yield Paragraph(blinding.asking)
    if blinding.caution:
        yield Paragraph(blinding.caution)
    yield Table(
        f"What raters answered, and how far it is right. Seed {blinding.seed}, "
        f"{blinding.draws:,} permutations.",
        ("Figure", "Answers", "Value"),
        [
            ("Share of “I don’t know”", answered, blinding.share_unknown.as_percent()),
            (
                "Share right, of those who named somebody",
                f"{blinding.guessed:,}",
                keyed.share_right.as_percent(),
            ),
            ("Number right", answered, keyed.right_in_words),
            ("Number right by chance, on average", answered, keyed.expected_in_words),
            ("How often chance gives as many (p)", answered, keyed.p_in_words),
            ("James’ index", answered, keyed.james.as_number()),
            *(
                (f"Bang’s index: {row.maker}", f"{row.n:,}", row.index.as_number())
                for row in keyed.bang
            ),
            *([] if keyed.bang else [("Bang’s index of each maker", answered, keyed.bang_why)]),
        ],
        (2, 1, 4),
    )
    for sentence in blinding.reading:
        yield Paragraph(sentence, quiet=True)
