"""What of a bank the probe serves, and the one place where sensitive items are kept back.

An item is sensitive when its bank says so. A bank can add to that and never take away from it: an
item of which the wording or the shipped bank says so stays sensitive, whatever its fields say.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rating.probe.refusals import Refused, shown
from runs.bank import BankFile, ItemFile
from runs.bank_checks import CRISIS_WORDS
from runs.exposure import Material
from runs.taxonomy import DIMENSIONS

INSTRUMENT: Final = "model-index"
CRISIS: Final = "crisis topic"  # why a bank withholds a sensitive item
#: Digests of the prompts of the crisis items we ship, so that no edit of a field sets one free.
SHIPPED_CRISIS: Final = frozenset(
    {
        "445d1c49497fa2fb",
        "f744dc67d00b45e3",
        "b41eb3d5f1b2c9d9",
        "e725c46cc1fe4806",
        "42cdc74d0506f321",
    }
)
#: In the public bank, which has no field for it.
PUBLIC_CRISIS: Final = frozenset({"ACT-1-A", "ACT-5-A", "ACT-5-B", "EMP-1-B", "EMP-1-C"})


@dataclass(frozen=True)
class Shelf:
    """The items of a bank that may be served, by code, and which of them are sensitive.

    ``excluded`` counts what is never served here, by reason.
    """

    bank: BankFile
    items: Mapping[str, ItemFile]
    sensitive: frozenset[str]
    excluded: Mapping[str, int]

    @property
    def name(self) -> str:
        return f"{self.bank.name} {self.bank.version}"

    def listed(self, *, include_sensitive: bool, dimensions: Sequence[str] = ()) -> list[ItemFile]:
        """The items that may be shown, in the order of the bank; of all dimensions if none is named."""
        return [
            item
            for code, item in self.items.items()
            if (include_sensitive or code not in self.sensitive)
            and (not dimensions or item.dimension in dimensions)
        ]

    def item(self, code: str, *, include_sensitive: bool) -> ItemFile:
        """The item of this code. Raises ``Refused`` where it is not served, or not asked for."""
        item = self.items.get(code)
        if item is None:
            raise Refused(
                f"There is no item {shown(code)} to serve in {self.name}; list_probe_items names "
                "those there are."
            )
        if code in self.sensitive and not include_sensitive:
            raise Refused(
                f"Item {code} is sensitive and was not asked for. Call list_probe_items or "
                "start_scored_run with include_sensitive true first."
            )
        return item

    def materials(self, *, include_sensitive: bool) -> list[Material]:
        """What the contamination probes are made of."""
        return [material_of(item) for item in self.listed(include_sensitive=include_sensitive)]


def shelf_of(bank: BankFile) -> Shelf:
    """What the probe serves of a bank.

    Raises
    ------
    Refused
        If the bank is of another instrument, or has nothing to serve.
    """
    if bank.instrument != INSTRUMENT:
        raise Refused(
            f"{bank.name} is a bank of the instrument {bank.instrument}. The probe serves "
            f"{INSTRUMENT}: paired prompts are rated by people, blind to the pair."
        )
    reasons = {item.code: why_excluded(item) for item in bank.items}
    items = {item.code: item for item in bank.items if not reasons[item.code]}
    if not items:
        raise Refused(f"{bank.name} {bank.version} has no item to serve: all are kept back.")
    unmarked = not any("sensitivity" in item.details for item in bank.items)
    return Shelf(
        bank,
        items,
        frozenset(
            code
            for code, item in items.items()
            if is_sensitive(item) or (unmarked and code in PUBLIC_CRISIS)
        ),
        dict(sorted(Counter(why for why in reasons.values() if why).items())),
    )


def why_excluded(item: ItemFile) -> str:
    """Why an item is never served by a probe; empty if it may be."""
    if item.unpublished:
        return "unpublished"
    return "" if item.withheld == CRISIS else item.withheld


def is_sensitive(item: ItemFile) -> bool:
    """Whether an item touches a crisis: by its bank, by what we ship, or by its words."""
    texts = [item.prompt, *(turn.content for turn in item.turns)]
    return (
        item.withheld == CRISIS
        or bool(item.topic)
        or prompt_digest(item.prompt) in SHIPPED_CRISIS
        or any(CRISIS_WORDS.search(text) for text in texts)
    )


def prompt_digest(prompt: str) -> str:
    """The first 16 hex digits that tell a prompt, whatever its case and spacing."""
    folded = " ".join(prompt.casefold().split())
    return hashlib.sha256(folded.encode()).hexdigest()[:16]


def item_hash(item: ItemFile) -> str:
    """SHA-256 of an item's code, a NUL and its prompt, as the public tool writes it."""
    return hashlib.sha256(f"{item.code}\x00{item.prompt}".encode()).hexdigest()


def material_of(item: ItemFile) -> Material:
    title = (item.details.get("sourceOnlyFields") or {}).get("title")
    return Material(
        code=item.code,
        prompt=item.prompt,
        title=str(title or ""),
        anchors=tuple((anchor.level, anchor.description) for anchor in item.anchors),
        groups=tuple(group for group in (item.subdimension, item.dimension) if group),
    )


def known_dimensions(codes: Sequence[str]) -> tuple[str, ...]:
    """The dimensions of these codes in the framework's order. Raises ``Refused`` for any other."""
    for code in codes:
        if code not in DIMENSIONS:
            raise Refused(
                f"There is no dimension {shown(code)}; the dimensions are: {', '.join(DIMENSIONS)}."
            )
    return tuple(code for code in DIMENSIONS if code in codes)
