"""What a stored item shares with its bank."""

from typing import Any

from runs.models import Anchor, Bank, Item


def has_own_anchors(item: Item) -> bool:
    """Whether the levels of an item are described for it alone, not by the bank's rubric."""
    return [_anchor(anchor) for anchor in item.anchors.all()] != _rubric(item.bank)


def _anchor(anchor: Anchor) -> dict[str, Any]:
    row = {"level": anchor.level, "label": anchor.label, "description": anchor.description}
    return {**row, "note": anchor.note} if anchor.note else row


def _rubric(bank: Bank) -> list[dict[str, Any]]:
    """The common anchors as they are stored with each item that has none of its own."""
    rows = []
    for row in bank.meta.get("rubric") or []:
        kept = {
            "level": row["level"],
            "label": str(row.get("label") or row["level"]),
            "description": row["description"],
        }
        rows.append({**kept, "note": row["note"]} if row.get("note") else kept)
    return rows
