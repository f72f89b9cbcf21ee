"""A bank written down as a file: one layout, so that the same bank is the same bytes."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

# Where a row keeps what its columns do not give back as it was written.
APART = "asWritten"

# The order in which a reader wants the keys. Whatever is not named follows, from A to Z.
ORDER = (
    *("meta", "items", "pairs"),
    *("schemaVersion", "name", "bankVersion", "priorBankVersion", "instrument", "scale"),
    *("version", "date", "itemId", "summary", "change"),
    *("id", "code", "chamber", "a", "b", "dimension", "indicator", "construct", "role", "content"),
    *("title", "need", "axisNote", "language", "turns", "prompt", "variantId", "variants"),
    *("level", "label", "description", "note", "anchors", "pool", "exposureStatus"),
    *("sensitivity", "topic", "author", "reviewers", "conflicts", "dates", "validationStatus"),
    *("reviewRequired", "whatToObserve"),
)
_RANK = {key: rank for rank, key in enumerate(ORDER)}


def write_bank(data: dict[str, Any]) -> bytes:
    """The bytes of a bank file. Equal banks give equal bytes, whatever the order of their keys."""
    return (json.dumps(_sorted(data), ensure_ascii=False, indent=2) + "\n").encode()


def item_row(
    *,
    code: str,
    prompt: str,
    turns: Sequence[dict[str, str]],
    dimension: str,
    subdimension: str,
    construct: str,
    language: str,
    pool: str,
    anchors: Iterable[tuple[int, str, str, str]],
    details: dict[str, Any],
    meta: dict[str, Any],
) -> dict[str, Any]:
    """An item as a bank file holds it, from the columns that keep it."""
    rubric = meta.get("rubric")
    ladder = [
        {"level": level, "label": label, "description": description}
        | ({"note": note} if note else {})
        for level, label, description, note in anchors
    ]
    given = {
        "dimension": dimension,
        "indicator": subdimension,
        "construct": construct,
        "turns": list(turns),
        "language": "" if language == meta.get("language", "en") else language,
        "anchors": [] if ladder == rubric else ladder,
    }
    row = {"id": code, "prompt": prompt, "pool": pool}
    return _joined(row | {name: value for name, value in given.items() if value}, details)


def pair_row(code: str, chamber: str, a: str, b: str, details: dict[str, Any]) -> dict[str, Any]:
    """A pair as a bank file holds it."""
    return _joined({"id": code, "chamber": chamber, "a": a, "b": b}, details)


def apart(row: dict[str, Any], own: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What to keep beside the columns so that ``own``, made from them, becomes ``row`` again."""
    nothing = object()  # a null is not the same as nothing
    kept = {
        "as": {
            name: row[name]
            for name in sorted(names)
            if name in row and row[name] != own.get(name, nothing)
        },
        "without": [name for name in own if name not in row],
    }
    return {APART: kept} if any(kept.values()) else {}


def _joined(row: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    kept = details.get(APART, {})
    row = row | {name: value for name, value in details.items() if name != APART}
    row |= kept.get("as", {})
    return {name: value for name, value in row.items() if name not in kept.get("without", [])}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (_RANK.get(key, len(_RANK)), key))
        return {key: _sorted(value[key]) for key in keys}
    if isinstance(value, list):
        return [_sorted(inner) for inner in value]
    return value
