"""The picture of a report's agreement, drawn from its content: a row for each dimension or chamber."""

from collections.abc import Mapping
from typing import Any, Final

from rating.breakdown import Line
from rating.breakdown_chart import TOKENS, WIDE, Rows, breakdown_chart
from rating.figure import Figure
from rating.report import FEWEST_PAIRABLE, Agreement
from runs.taxonomy import DIMENSIONS

NAMES: Final = frozenset(dimension.name for dimension in DIMENSIONS.values())
NO_FLOOR: Final = "no floor was declared"

Row = Mapping[str, Any]


def agreement_picture(
    agreement: Row, *, width: int = WIDE, colours: Mapping[str, str] = TOKENS
) -> str:
    """Return the picture, 720 px wide or 340. It is empty where AC2 was not yet computed."""
    if not tells_ac2(agreement):
        return ""
    return breakdown_chart(_rows(agreement), width=width, colours=colours)


def agreement_sentence(agreement: Row) -> str:
    """In how many dimensions or chambers agreement is above chance, and what the floor was."""
    return _rows(agreement).sentence


def agreement_caption(agreement: Row) -> str:
    """What the marks are, over how many responses, and where the intervals come from."""
    overall = agreement["rows"][0]
    half = agreement["half_rated"]
    return (
        f"● ordinal alpha with its 95% interval over {agreement['replicates']:,} resamples of "
        f"responses; ○ where fewer than {FEWEST_PAIRABLE} are rated twice. ■ AC2 with ordinal "
        f"weights, its interval in the table. {overall['rated_twice']:,} responses have two "
        f"ratings, {half:,} {'has' if half == 1 else 'have'} one. Seed {agreement['seed']}."
    )


def tells_ac2(agreement: Row) -> bool:
    """Whether a report holds AC2. Reports published earlier may not."""
    return all("ac2" in row for row in agreement["rows"])


def _rows(agreement: Row) -> Rows:
    overall, *parts = agreement["rows"]
    return Rows(
        [_line(row) for row in (*parts, overall)],
        "dimensions" if all(row["name"] in NAMES for row in parts) else "chambers",
        agreement["floor"],
        NO_FLOOR,
    )


def _line(row: Row) -> Line:
    none = Figure(None)
    return Line(
        row["name"],
        Agreement(
            n_ratings=row["ratings"],
            n_units=row["units"],
            n_pairable_units=row["rated_twice"],
            n_raters=row["raters"],
            percent_exact=Figure(**row["exact"]),
            percent_within_one=Figure(**row["within_one"]),
            alpha_ordinal=Figure(**row["alpha"]),
            ac2_ordinal=Figure(**row.get("ac2", {"value": None})),
            coverage=none,
            level_counts=(),
        ),
    )
