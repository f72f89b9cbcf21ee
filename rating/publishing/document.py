"""A report as a document for paper: the same content in the same order, tables open, light colours."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from rating.breakdown_chart import LIGHT as LIGHT_ROWS
from rating.document import Document, Facts, Heading, Paragraph, Part, Picture, Table
from rating.publishing.agreed_picture import (
    agreement_caption,
    agreement_picture,
    agreement_sentence,
    tells_ac2,
)
from rating.publishing.blinded import GUESSED
from rating.publishing.content import listed
from rating.publishing.data import FEWEST_TRIALS
from rating.publishing.health_pictures import shown_of
from rating.publishing.pictures import differences_picture, parity_picture, ranges_picture

#: The colours of the light theme: paper stays light.
LIGHT: Final = MappingProxyType(
    {
        "ink": "#25231F",
        "soft": "#575247",
        "grid": "#E2DDD1",
        "band": "#E4E8E3",
        "edge": "#857C69",
        "surface": "#FFFDF9",
        "chart-1": "#1F5C70",
    }
)
BY_LENGTH: Final = (
    "By length: what the difference in length would account for, from the slope of level on length "
    "among replies of one model to an item. It is told where the difference is."
)
TABLE: Final = "The table that follows gives every number."

Row = Mapping[str, Any]


def document_of(
    content: Row, corrections: Sequence[tuple[datetime, str]], made_at: datetime
) -> Document:
    """Return the report as a document. ``made_at`` is when it was published, or asked for."""
    return Document(
        content["wave"]["title"],
        content["care"],
        (
            *_status(content, corrections),
            *_design(content),
            *_results(content),
            *_parity(content),
            *_agreement(content),
            *_blinding(content),
            *_contamination(content),
            *_tests(content),
            *_confounds(content),
            *_gate(content),
            *_record(content, corrections),
        ),
        made_at,
    )


def _status(content: Row, corrections: Sequence[tuple[datetime, str]]) -> Iterator[Part]:
    yield Heading("Status")
    official = "true" if content["official"] else "false"
    yield Paragraph(
        f"{content['status']} official: {official}, comparability: {content['comparability']}"
    )
    if corrections:
        yield Paragraph(f"Corrected on {_day(corrections[-1][0])}: see the end.")
    yield Heading("What may and may not be said")
    for which, sentences in (("May be said:", "may"), ("May not be said:", "may_not")):
        yield Paragraph(which, quiet=True)
        for sentence in content[sentences]:
            yield Paragraph(sentence)


def _design(content: Row) -> Iterator[Part]:
    yield Heading("Design")
    for sentence in content["design"]:
        yield Paragraph(sentence)
    yield Table(
        "Models from A to Z, with what became of the replies they were asked for",
        ("Model", "Access", "Condition", "Asked", "Completed", "Filtered", "Failed", "Malformed"),
        [
            (
                row["subject"],
                row["access_tier"],
                row["condition"],
                *(
                    str(row[what])
                    for what in ("asked", "completed", "filtered", "failed", "malformed")
                ),
            )
            for row in content["subjects"]
        ],
        (3, 1, 1, 0.8, 1, 0.8, 0.8, 1),
    )


def _results(content: Row) -> Iterator[Part]:
    results = content["results"]
    if content["results_reason"] or results:
        yield Heading("Results")
    if content["results_reason"]:
        yield Paragraph(content["results_reason"])
    if not results:
        return
    for group in results["groups"]:
        names = ", ".join(member["subject"] for member in group["members"])
        yield Paragraph(f"{group['sentence']} They are listed from A to Z: {names}.")
    for row in results["withheld"]:
        yield Paragraph(f"{row['subject']}: this number cannot be given. {row['reason']}")
    yield _picture(
        ranges_picture(results, content["wave"]["levels"], colours=LIGHT),
        "Ranges of each model",
        results["caption"],
    )
    yield Table(
        f"95% ranges from A to Z, over {results['replicates']:,} draws of items",
        ("Model", "Of", "Items", "Low", "High", "Point"),
        list(_ranges(results)),
        (3, 2, 0.8, 1, 1, 1.6),
    )
    if results["comparisons"]:
        yield _picture(
            differences_picture(results, colours=LIGHT), results["sentence"], results["caption"]
        )
        yield Table(
            "Declared differences, the first minus the second, with 95% ranges",
            ("Models", "Of", "Low", "High", "After correction", "Difference", "By length"),
            [
                (
                    f"{pair['a']} minus {pair['b']}",
                    pair["name"],
                    _number(pair["low"], _places(pair)),
                    _number(pair["high"], _places(pair)),
                    "told apart" if pair["separated_corrected"] else "not told apart",
                    "withheld"
                    if pair["difference"] is None
                    else _number(pair["difference"], _places(pair)),
                    _number(pair.get("length_effect"), _places(pair)),
                )
                for pair in results["pairs"]
            ],
            (4, 2, 1, 1, 1.5, 1, 1),
        )
        yield Paragraph(f"{results['correction']} {BY_LENGTH}", quiet=True)
    else:
        yield Paragraph(results["sentence"])
    for row in results["not_compared"]:
        yield Paragraph(f"Declared and not compared: {row['what']}. {row['reason']}")


def _ranges(results: Row) -> Iterator[tuple[str, ...]]:
    for one in listed(results):
        for own in one["rows"]:
            yield _range(one["subject"], own, own["told"])
    for row in results["secondary"]:
        for own in row["ranges"]:
            yield _range(row["subject"], own, f"condition {row['condition']}")


def _range(subject: str, own: Row, told: str) -> tuple[str, ...]:
    ends = _number(own["low"], _places(own)), _number(own["high"], _places(own))
    return (subject, own["name"], str(own["items"]), *ends, told)


def _parity(content: Row) -> Iterator[Part]:
    if content["parity"]:
        yield Heading("Parity")
        yield Paragraph(
            "A gap is the mean level of arm A minus that of arm B, so a gap above zero is less care "
            "for B. Gaps of different models were not compared, and no order follows from them."
        )
    told = content["wave"]["trials"] >= FEWEST_TRIALS
    for number, one in enumerate(content["parity"], start=1):
        yield _picture(
            parity_picture(one, colours=LIGHT, name=f"parity-{number}"),
            f"{one['subject']}, {one['condition']}: {one['sentence']}",
        )
        yield Table(
            f"{one['subject']}: the gap of each chamber in levels",
            ("Chamber", "Pairs", "A", "B", "Gap", "95%", "Lost of A, B", "Verdict"),
            [
                (
                    f"{own['code']} {own['name']}",
                    str(own["pairs"]),
                    _number(own["a"]),
                    _number(own["b"]),
                    _number(own["gap"]),
                    ("none" if told else "not told")
                    if own["low"] is None
                    else f"{_number(own['low'])} to {_number(own['high'])}",
                    f"{own['lost_a']}, {own['lost_b']}",
                    " ".join(
                        said
                        for said in (f"{own['finding']}.", own["reason"], own["needed"])
                        if said
                    ),
                )
                for own in one["chambers"]
            ],
            (2, 0.7, 0.7, 0.7, 0.7, 1.4, 1, 4),
        )


def _agreement(content: Row) -> Iterator[Part]:
    agreement = content["agreement"]
    yield Heading("Agreement")
    told = {"alpha": "Ordinal alpha", "exact": "The same level", "within_one": "Within one"}
    if not tells_ac2(agreement):
        yield Paragraph(agreement_sentence(agreement))
    else:
        told = {"alpha": "Ordinal alpha", "ac2": "AC2", **told}
        yield _picture(
            agreement_picture(agreement, colours=LIGHT_ROWS),
            agreement_sentence(agreement),
            agreement_caption(agreement),
        )
    yield Table(
        f"Agreement of raters, with 95% intervals over {agreement['replicates']:,} resamples",
        ("Of", "Rated twice", *told.values()),
        [
            (row["name"], str(row["rated_twice"]), *(_figure(row[what]) for what in told))
            for row in agreement["rows"]
        ],
        (2, 1, *(2.5 for _ in told)),
    )
    yield Paragraph(agreement["about"], quiet=True)


def _blinding(content: Row) -> Iterator[Part]:
    blinding = content.get("blinding")
    if not blinding:  # published before it was told
        return
    yield Heading("Blinding")
    yield Paragraph(blinding["sentence"])
    if blinding["answered"]:
        yield Table(
            f"Guesses of all makers together, over {blinding['answered']:,} answers",
            ("Of", "Figure"),
            [(name, _guessed(what, blinding[what])) for what, name in GUESSED.items()],
            (3, 4),
        )
    if blinding["caution"]:
        yield Paragraph(blinding["caution"])
    yield Paragraph(blinding["about"], quiet=True)


def _contamination(content: Row) -> Iterator[Part]:
    yield Heading("Contamination")
    yield Paragraph(content["contamination"]["about"], quiet=True)
    rows = [
        (
            row["subject"],
            row["verdict"],
            f"{row['choices_right']} of {row['choices']}",
            _number(row["highest_overlap"]),
            " ".join(row["cautions"]),
        )
        for row in content["contamination"]["rows"]
    ]
    if not rows:
        yield Paragraph("No model was probed.")
        return
    yield Table(
        "What the probes show of each model, from A to Z",
        ("Model", "Verdict", "Choices right", "Highest overlap", "Caution"),
        rows,
        (3, 1.2, 1, 1, 4),
    )


def _tests(content: Row) -> Iterator[Part]:
    yield Heading("The tests that could refute the method")
    shown = shown_of(content, LIGHT)
    for test in content["tests"]:
        missing = ("Missing:", *test["missing"]) if test["missing"] else ()
        said = " ".join((*test["evidence"], *missing))
        yield Paragraph(f"{test['number']}. {test['claim']} {test['outcome'].capitalize()}. {said}")
        for own in shown:
            if own.number == test["number"]:
                if own.wide:
                    yield _picture(own.wide, own.sentence, own.caption)
                yield Table(own.caption, own.head, list(own.rows), (1.6,) * len(own.head))


def _confounds(content: Row) -> Iterator[Part]:
    yield Heading("Confounds")
    yield Table(
        "What else could make a difference, and where it stands",
        ("Confound", "State", "What was found or done"),
        [(one["what"], one["state"], one["said"]) for one in content["confounds"]],
        (3, 1, 4),
    )
    yield Heading("Deviations from the plan")
    if not content["deviations"]:
        yield Paragraph("None was declared.")
    for one in content["deviations"]:
        when = "after" if one["after_data"] else "before"
        yield Paragraph(f"{one['declared_on']}, {when} the first reply: {one['text']}")


def _gate(content: Row) -> Iterator[Part]:
    yield Heading("What an official wave needs")
    yield Table(
        "Conditions, with the evidence and what is missing",
        ("Condition", "State", "Evidence", "Missing"),
        [
            (
                one["name"],
                "met" if one["met"] else "not met",
                one["evidence"],
                " ".join(one["missing"]) or "nothing",
            )
            for one in content["gate"]
        ],
        (3, 0.8, 3, 3),
    )


def _record(content: Row, corrections: Sequence[tuple[datetime, str]]) -> Iterator[Part]:
    yield Heading("Hashes")
    yield Facts([(name, value) for name, value in content["hashes"].items()])
    yield Heading("How to cite")
    yield Paragraph(content["cite"])
    yield Heading("Corrections")
    if not corrections:
        yield Paragraph("None so far.")
    for at, text in corrections:
        yield Paragraph(f"{_day(at)}: {text}")


def _picture(svg: str, title: str, caption: str = "") -> Picture:
    return Picture(title, TABLE, svg, caption)


def _figure(own: Row) -> str:
    if own["value"] is None:
        return f"This number cannot be given. {own['reason']}"
    if own["low"] is None:
        return f"{own['value']:.2f}"
    return f"{own['value']:.2f} ({own['low']:.2f} to {own['high']:.2f})"


def _guessed(what: str, own: Row) -> str:
    if own["value"] is None or what not in ("right", "p"):
        return _figure(own)
    return f"{own['value']:.0f}" if what == "right" else f"{own['value']:.4f}"


def _number(value: float | None, places: int = 2) -> str:
    return "not told" if value is None else f"{value:.{places}f}"


def _places(own: Row) -> int:
    """A composite is told to a tenth of a point, a mean level to a hundredth."""
    return 1 if own["name"] == "Composite" else 2


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"
