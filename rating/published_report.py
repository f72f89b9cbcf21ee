"""The report of a wave in words: from results to sections, and to the public JSON.

Care comes first, then the status, then what may and may not be said; no figure stands before these.
Subjects stand from A to Z. The words are checked against the lexicon, and the JSON against a list
of allowed keys, each time a report is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rating.gate import Gate
from rating.lexicon import refuse_banned
from rating.public_schema import SCHEMA, refuse_unlisted
from rating.stats.confounds import Ledger
from rating.stats.parity import Chamber, Parity
from rating.stats.separation import COMPOSITE
from rating.stats.statements import GroupOf, Statements
from rating.stats.student import Range
from rating.stats.verdict import Verdict
from runs.taxonomy import DIMENSIONS

NO_POINT: Final = (
    "A point is not shown, because it could suggest an order that the evidence does not support."
)
BELOW_FLOOR: Final = "Agreement is below its floor: no figure of a model is shown."
CORRECTED: Final = {
    (True, True): "separated",
    (True, False): "separated only without correction",
    (False, False): "not separated",
    (False, True): "separated",
}


@dataclass(frozen=True)
class Wave:
    """What a report says of its wave beside results: all of it words made elsewhere."""

    code: str
    title: str
    kind: str
    day: str
    care: str
    design: Mapping[str, str]
    agreement: Mapping[str, str]
    contamination: Mapping[str, str]
    deviations: Sequence[str]
    hashes: Mapping[str, str]
    cite: str


@dataclass(frozen=True)
class Results:
    """What was found in a wave. ``parity`` is by subject."""

    said: Statements
    parity: Mapping[str, Parity]
    verdicts: Sequence[Verdict]
    ledger: Ledger
    gate: Gate
    findings_only: bool


@dataclass(frozen=True)
class Table:
    """A caption, heads and rows of words; the first cell of a row is its head."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def sections(wave: Wave, results: Results) -> tuple[Section, ...]:
    """Return the report, section by section, in a fixed order.

    Raises
    ------
    ValueError
        If its words state an order, or more than was found.
    """
    made = (
        Section("Care", (wave.care,)),
        _status(wave, results),
        Section("What may be said", may_be_said(results)),
        Section("What may not be said", may_not_be_said(results)),
        Section("Design", (), (_pairs_of("How the wave was made", wave.design),)),
        _results(results),
        _parity(results),
        Section("Agreement", (), (_pairs_of("How far raters agree", wave.agreement),)),
        Section(
            "Contamination",
            ("Not flagged means only that nothing was indicated on the sampled items.",),
            (_pairs_of("What each subject knew of the items", wave.contamination),),
        ),
        _tests(results),
        _confounds(results),
        Section("Deviations", tuple(wave.deviations) or ("There are none.",)),
        Section("Data and code", (), (_pairs_of("Hashes", wave.hashes),)),
        Section("How to cite", (wave.cite,)),
    )
    names = _names(results)
    for section in made:
        for text in _texts(section):
            refuse_banned(text, names=names)
    return made


def may_be_said(results: Results) -> tuple[str, ...]:
    """The sentences that the evidence supports, subjects from A to Z."""
    said = results.said
    sentences = []
    if results.findings_only:
        sentences.append(
            "Agreement is below its floor, so this wave states findings on the instrument only."
        )
    else:
        sentences += [f"{', '.join(_members(group))}: {group.sentence}" for group in said.groups]
        if len(said.alone) > 1 or (said.alone and said.groups):
            sentences += [
                f"{one.subject} is separated from every other model of this wave after correction."
                for one in said.alone
            ]
        for subject, parity in sorted(results.parity.items()):
            sentences.append(f"{subject}: {parity.sentence}")
    return tuple(sentences) or ("Nothing yet.",)


def may_not_be_said(results: Results) -> tuple[str, ...]:
    """What a reader might take from the report, and may not."""
    sentences = [
        "Nothing here says which AI to turn to when life is hard.",
        "This is not a ranking, and no order within a group can be read from its ranges.",
        "Ranges cover which items were asked, not which raters read the replies.",
    ]
    if not results.gate.official:
        sentences.insert(
            1, "No figure here is an official score, and none compares with another wave."
        )
    if results.said.withheld:
        sentences.append("Nothing can be said of the models whose results are withheld.")
    return tuple(sentences)


def public_json(wave: Wave, results: Results) -> dict[str, Any]:
    """Return what the public may have as JSON, and nothing else.

    Raises
    ------
    ValueError
        If something in it is not on the list of what is public.
    """
    said = results.said
    below = results.findings_only
    shown = Statements((), (), said.withheld, ()) if below else said
    value = {
        "schema": SCHEMA,
        "wave": {"code": wave.code, "title": wave.title, "kind": wave.kind, "day": wave.day},
        "official": results.gate.official,
        "comparability": results.gate.comparability,
        "care": wave.care,
        "may_be_said": list(may_be_said(results)),
        "may_not_be_said": list(may_not_be_said(results)),
        "design": dict(wave.design),
        "results": {**_statements_json(shown), "caption": results.ledger.caption},
        "parity": [
            {
                "subject": subject,
                "finding": str(parity.finding),
                "chambers": [
                    _chamber_json(chamber, _points_of(subject, results))
                    for chamber in parity.chambers
                ],
            }
            for subject, parity in (() if below else sorted(results.parity.items()))
        ],
        "agreement": dict(wave.agreement),
        "contamination": [
            {"subject": subject, "finding": finding}
            for subject, finding in sorted(wave.contamination.items())
        ],
        "tests": [
            {
                "claim": verdict.claim,
                "outcome": str(verdict.outcome),
                "evidence": list(verdict.evidence),
                "missing": list(verdict.missing),
            }
            for verdict in results.verdicts
        ],
        "confounds": [
            {"code": entry.code, "state": str(entry.state), "sentence": entry.sentence}
            for entry in results.ledger.entries
        ],
        "gate": [
            {
                "name": condition.name,
                "evidence": condition.evidence,
                "missing": list(condition.missing),
            }
            for condition in results.gate.conditions
        ],
        "deviations": list(wave.deviations),
        "hashes": dict(wave.hashes),
        "cite": wave.cite,
    }
    refuse_unlisted(value)
    return value


def _status(wave: Wave, results: Results) -> Section:
    gate = results.gate
    rows = tuple(
        (
            condition.name,
            "met" if condition.met else " ".join(condition.missing),
            condition.evidence,
        )
        for condition in gate.conditions
    )
    return Section(
        "Status",
        (
            f"Wave {wave.code}, {wave.kind}, {wave.day}. official: "
            f"{str(gate.official).lower()}, comparability: {gate.comparability}.",
            gate.sentence,
        ),
        (Table("Conditions of an official wave", ("Condition", "Missing", "Evidence"), rows),),
    )


def _results(results: Results) -> Section:
    said = results.said
    withheld = tuple(
        f"{one.subject}: the composite is withheld. {one.reason}" for one in said.withheld
    )
    if results.findings_only:
        return Section("Results", (BELOW_FLOOR, *withheld))
    if not said.alone and not said.groups:
        return Section("Results", withheld or ("There are no ratings to show a result of.",))
    tables = [_alone_table(said)] if said.alone else []
    for group in said.groups:
        rows = tuple(
            (
                member.subject,
                str(member.label),
                *(_range(member.ranges.get(code)) for code in _codes()),
            )
            for member in group.members
        )
        head = ("Model", "Label", *(_named(code) for code in _codes()))
        caption = f"{group.sentence} {results.ledger.caption}".strip()
        tables.append(Table(caption, head, rows))
    if said.pairs:
        tables.append(_pair_table(results))
    paragraphs = (*(group.sentence for group in said.groups), *([NO_POINT] if said.groups else ()))
    return Section("Results", (*paragraphs, *withheld), tuple(tables))


def _alone_table(said: Statements) -> Table:
    rows = tuple(
        (
            one.subject,
            str(one.label),
            f"{one.composite:.1f} ({_range(one.composite_range)})",
            *(
                f"{one.dimensions[code][0]:.2f} ({_range(one.dimensions[code][1])})"
                if code in one.dimensions
                else ""
                for code in DIMENSIONS
            ),
        )
        for one in said.alone
    )
    head = ("Model", "Label", *(_named(code) for code in _codes()))
    return Table("Each with its 95% range over items.", head, rows)


def _pair_table(results: Results) -> Table:
    rows = tuple(
        (
            f"{pair.a} minus {pair.b}",
            _named(pair.of),
            "" if pair.difference is None else f"{pair.difference:+.2f}",
            _range(pair.range),
            pair.reason or CORRECTED[pair.separated, pair.separated_corrected],
        )
        for pair in results.said.pairs
    )
    return Table(
        f"Declared comparisons, each with its 95% range over items. {results.ledger.caption}".strip(),
        ("Models", "Of", "Difference", "Range", "Finding"),
        rows,
    )


def _parity(results: Results) -> Section:
    if not results.parity:
        return Section("Parity", ("No pairs were asked.",))
    if results.findings_only:
        return Section("Parity", (BELOW_FLOOR,))
    tables = []
    for subject, parity in sorted(results.parity.items()):
        points = _points_of(subject, results)
        rows = tuple(_chamber_row(chamber, points) for chamber in parity.chambers)
        tables.append(
            Table(
                f"{subject}: {parity.sentence}",
                ("Chamber", "Finding", "A", "B", "Gap", "95% range", "Lost A, B", "More"),
                rows,
            )
        )
    return Section(
        "Parity",
        (
            "The gap is the mean level of arm A minus that of arm B: positive means less care for B.",
            "Parity overall is shown only if it is shown in every chamber.",
        ),
        tuple(tables),
    )


def _chamber_row(chamber: Chamber, points: bool) -> tuple[str, ...]:
    more = chamber.reason or (chamber.needed.sentence if chamber.needed else "")
    shown = ["", "", "", ""]
    if points and chamber.gap is not None:
        shown = [
            f"{chamber.mean_a:.2f}",
            f"{chamber.mean_b:.2f}",
            f"{chamber.gap:+.2f}",
            _range(chamber.interval),
        ]
    lost = f"{chamber.lost[0]} of {chamber.asked[0]}, {chamber.lost[1]} of {chamber.asked[1]}"
    return (chamber.name, str(chamber.finding), *shown, lost, more)


def _chamber_json(chamber: Chamber, points: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": chamber.name,
        "finding": str(chamber.finding),
        "reason": chamber.reason,
        "pairs": len(chamber.gaps),
        "lost_a": chamber.lost[0],
        "lost_b": chamber.lost[1],
    }
    if points:
        for key in ("mean_a", "mean_b", "gap", "bound"):
            if getattr(chamber, key) is not None:
                value[key] = round(getattr(chamber, key), 3)
        if chamber.interval is not None:
            value["interval"] = _range_json(chamber.interval, 3)
    return value


def _points_of(subject: str, results: Results) -> bool:
    """Whether means of a subject may be shown: never of a member of a group.

    Where several subjects were asked pairs, they are held against each other by whoever reads the
    means, so a subject that was not told apart from the others has none either.
    """
    alone = {one.subject for one in results.said.alone}
    return len(results.parity) == 1 or subject in alone


def _tests(results: Results) -> Section:
    rows = tuple(
        (verdict.claim, str(verdict.outcome), " ".join(verdict.evidence), " ".join(verdict.missing))
        for verdict in results.verdicts
    )
    head = ("Claim", "Outcome", "Evidence", "Missing")
    return Section(
        "What would show the method wrong", (), (Table("Where each test stands", head, rows),)
    )


def _confounds(results: Results) -> Section:
    rows = tuple((entry.code, str(entry.state), entry.sentence) for entry in results.ledger.entries)
    return Section(
        "Confounds",
        (),
        (Table("What else might make a difference", ("What", "State", "Why"), rows),),
    )


def _statements_json(said: Statements) -> dict[str, Any]:
    return {
        "alone": [
            {
                "subject": one.subject,
                "label": str(one.label),
                "composite": one.composite,
                "range": _range_json(one.composite_range),
                "dimensions": {
                    code: {"mean": value, "range": _range_json(own)}
                    for code, (value, own) in one.dimensions.items()
                },
            }
            for one in said.alone
        ],
        "groups": [
            {
                "sentence": group.sentence,
                "members": [
                    {
                        "subject": member.subject,
                        "label": str(member.label),
                        "ranges": {code: _range_json(own) for code, own in member.ranges.items()},
                    }
                    for member in group.members
                ],
            }
            for group in said.groups
        ],
        "withheld": [{"subject": one.subject, "reason": one.reason} for one in said.withheld],
        "pairs": [
            {
                "a": pair.a,
                "b": pair.b,
                "of": pair.of,
                "range": _range_json(pair.range),
                "separated": pair.separated,
                "separated_corrected": pair.separated_corrected,
                "reason": pair.reason,
                **({} if pair.difference is None else {"difference": pair.difference}),
            }
            for pair in said.pairs
        ],
    }


def _names(results: Results) -> set[str]:
    said = results.said
    members = {name for group in said.groups for name in _members(group)}
    return (
        members
        | {one.subject for one in said.alone}
        | {one.subject for one in said.withheld}
        | set(results.parity)
    )


def _members(group: GroupOf) -> list[str]:
    return [member.subject for member in group.members]


def _texts(section: Section) -> list[str]:
    cells = [cell for table in section.tables for row in table.rows for cell in row]
    captions = [table.caption for table in section.tables]
    return [section.heading, *section.paragraphs, *captions, *cells]


def _pairs_of(caption: str, facts: Mapping[str, str]) -> Table:
    return Table(caption, ("What", "Is"), tuple(facts.items()))


def _codes() -> tuple[str, ...]:
    return (COMPOSITE, *DIMENSIONS)


def _named(code: str) -> str:
    return DIMENSIONS[code].name if code in DIMENSIONS else code.capitalize()


def _range(own: Range | None) -> str:
    return "" if own is None else f"{own.low:g} to {own.high:g}"


def _range_json(own: Range, digits: int = 2) -> dict[str, float]:
    return {"low": round(own.low, digits), "high": round(own.high, digits)}
