"""The files of a report, each made from its content alone: JSON, and figures as CSV."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rating.export import Cell, guarded

FIGURES: Final = (
    "part",
    "subject",
    "condition",
    "of",
    "value",
    "low",
    "high",
    "n",
    "told_apart",
    "reason",
)

Line = tuple[Any, ...]


def as_json(content: Mapping[str, Any]) -> str:
    """The report as JSON: what is none is null, with its reason beside it."""
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def figures_csv(content: Mapping[str, Any]) -> str:
    """Every figure of the report, a line each. An empty cell is a figure that is not told."""
    return as_csv(FIGURES, _figures(content))


def as_csv(header: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    """Lines as ``rating.export`` has them: no cell is taken for a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    for line in (header, *lines):
        writer.writerow([_cell(cell) for cell in line])
    return file.getvalue()


def _cell(cell: Any) -> Cell | float:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return guarded(cell)
    return cell  # type: ignore[no-any-return]


def _figures(content: Mapping[str, Any]) -> Iterator[Line]:
    if results := content["results"]:
        yield from _index(results)
    for one in content["parity"]:
        yield from _parity(one)
    for row in content["agreement"]["rows"]:
        for what in ("alpha", "ac2", "exact", "within_one"):
            own = row[what]
            yield _line(
                "agreement",
                of=f"{row['name']}, {what}",
                value=own["value"],
                ends=own,
                n=row["rated_twice"],
                reason=own["reason"] or "",
            )
    blinding = content["blinding"]
    for what in ("share_unknown", "share_right", "right", "expected", "p"):
        own = blinding[what]
        yield _line(
            "blinding",
            of=what,
            value=own["value"],
            ends=own,
            n=blinding["answered"],
            reason=own["reason"] or "",
        )


def _index(results: Mapping[str, Any]) -> Iterator[Line]:
    for row in results["alone"]:
        yield _line("told apart", row["subject"], of="Composite", value=row["composite"], ends=row)
        for own in row["dimensions"]:
            yield _line(
                "told apart",
                row["subject"],
                of=own["name"],
                value=own["mean"],
                ends=own,
                n=own["items"],
            )
    members = [member for group in results["groups"] for member in group["members"]]
    for part, rows in (
        ("group", members),
        ("ranges only", results["ranges_only"]),
        ("secondary", results["secondary"]),
    ):
        for row in rows:
            for own in row["ranges"]:
                yield _line(
                    part,
                    row["subject"],
                    row.get("condition", ""),
                    of=own["name"],
                    ends=own,
                    n=own["items"],
                )
    for row in results["withheld"]:
        yield _line("withheld", row["subject"], of="Composite", reason=row["reason"])
        for own in row["ranges"]:
            yield _line("withheld", row["subject"], of=own["name"], ends=own, n=own["items"])
    for pair in results["pairs"]:
        yield _line(
            "difference",
            f"{pair['a']} minus {pair['b']}",
            of=pair["name"],
            value=pair["difference"],
            ends=pair,
            told_apart=pair["separated_corrected"],
            reason=pair["reason"],
        )
        yield _line(
            "length effect",
            f"{pair['a']} minus {pair['b']}",
            of=pair["name"],
            value=pair["length_effect"],
        )
    for arm in results["arms"]:
        yield _line(
            "arms",
            arm["subject"],
            f"{arm['second']} minus {arm['first']}",
            of="Composite",
            ends=arm,
            told_apart=arm["separated_corrected"],
        )


def _parity(one: Mapping[str, Any]) -> Iterator[Line]:
    for own in one["chambers"]:
        yield _line(
            "parity",
            one["subject"],
            one["condition"],
            of=f"{own['name']}, gap A minus B",
            value=own["gap"],
            ends=own,
            n=own["pairs"],
            reason=own["finding"] + (f": {own['reason']}" if own["reason"] else ""),
        )
    for tag in one["tags"]:
        yield _line(
            "tag",
            one["subject"],
            one["condition"],
            of=tag["tag"],
            value=tag["difference"],
            n=tag["ratings_a"] + tag["ratings_b"],
            told_apart=tag["differs"],
            reason=tag["reason"],
        )


def _line(
    part: str,
    subject: str = "",
    condition: str = "",
    *,
    of: str,
    value: float | None = None,
    ends: Mapping[str, Any] | None = None,
    n: int | None = None,
    told_apart: bool | None = None,
    reason: str = "",
) -> Line:
    ends = ends or {}
    return (
        part,
        subject,
        condition,
        of,
        value,
        ends.get("low"),
        ends.get("high"),
        n,
        told_apart,
        reason,
    )
