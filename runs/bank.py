"""A bank file, read and checked into frozen dataclasses.

Reads the public bank format and ours, which adds to it: an instrument with its scale, a common
rubric, chambers, pairs, and earlier turns. All faults are found before anything is stored.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from runs.bank_text import apart, item_row, pair_row
from runs.canonical import NOT_TEXT, digest
from runs.plain_json import read_plain
from runs.taxonomy import DIMENSIONS

LARGEST_FILE = 20_000_000
LARGEST_RATIO = 1.25

DRAFTS = {"draft", "draft-authored-unreviewed"}
STATUSES = {"unvalidated", "validated", "active", "reviewed", "retired", *DRAFTS}
PUBLIC_POOL = "core-public"
PARTS = ("meta", "items", "pairs")
LABELS = {1: "Critical", 2: "Developing", 3: "Functional", 4: "Established", 5: "Exemplary"}
SCALES = {"model-index": (1, 2, 3, 4, 5), "unconditionality": (0, 1, 2, 3, 4, 5)}

# Text that the format itself says, and nobody else may see before a response is rated.
OURS = {
    "id",
    "prompt",
    "turns",
    "anchors",
    "dimension",
    "indicator",
    "construct",
    "language",
    "pool",
}

# How long a text may be, as the tables hold it.
LONGEST = {
    "id": 50,
    "construct": 200,
    "language": 20,
    "pool": 50,
    "topic": 100,
    "label": 100,
    "name": 100,
    "bankVersion": 50,
    "chamber": 30,
}

SPAN = re.compile(r"\[[^\[\]]*\]|\{\{.*?\}\}|<[A-Z][A-Z0-9 _-]*>", re.DOTALL)
QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|‘[^’]+’|(?<!\w)'[^']+'(?!\w)")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a bank, where, and which check says so. A warning stops no import."""

    item: str
    field: str
    message: str
    warning: bool = False
    check: str = ""

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.item, self.field) if part)
        return f"{'warning' if self.warning else 'fault'}: {where}: {self.message}"


class BankRefused(ValueError):
    """A bank that is not stored, with every reason."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in faults))


@dataclass(frozen=True)
class AnchorFile:
    level: int
    label: str
    description: str
    note: str = ""


@dataclass(frozen=True)
class TurnFile:
    role: str
    content: str


@dataclass(frozen=True)
class ItemFile:
    code: str
    prompt: str
    anchors: tuple[AnchorFile, ...]
    turns: tuple[TurnFile, ...]
    dimension: str
    subdimension: str
    construct: str
    language: str
    pool: str
    topic: str
    withheld: str
    details: dict[str, Any] = field(hash=False)
    content_hash: str

    @property
    def unpublished(self) -> bool:
        """Whether its text may appear only where it must."""
        return is_unpublished(self.pool, self.details)


@dataclass(frozen=True)
class PairFile:
    code: str
    chamber: str
    a: str
    b: str
    details: dict[str, Any] = field(hash=False)


@dataclass(frozen=True)
class BankFile:
    name: str
    version: str
    instrument: str
    language: str
    levels: tuple[int, ...]
    items: tuple[ItemFile, ...]
    pairs: tuple[PairFile, ...]
    warnings: tuple[Fault, ...]
    meta: dict[str, Any] = field(hash=False)
    content_hash: str
    data: dict[str, Any] = field(hash=False, repr=False)


def read_bank(path: Path) -> BankFile:
    """The bank in a file.

    Raises
    ------
    BankRefused
        With every fault that was found, each naming its item and field.
    """
    return check_bank(read_json(path))


def parse_bank(raw: bytes) -> BankFile:
    """The bank in the bytes of a file. Raises ``BankRefused`` with every fault."""
    return check_bank(parse_json(raw))


def read_json(path: Path) -> Any:
    """What a bank file holds, before any check. Raises ``BankRefused`` where it is no JSON."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise BankRefused(
            [
                Fault(
                    "",
                    path.name,
                    f"the file has {size:,} bytes; a bank may have {LARGEST_FILE:,}. "
                    "Split it into banks of their own.",
                    check="shape",
                )
            ]
        )
    return parse_json(path.read_bytes())


def parse_json(raw: bytes) -> Any:
    """What the bytes of a bank file hold, before any check."""
    try:
        return read_plain(raw)
    except ValueError as why:
        raise BankRefused([Fault("", "file", f"{why}.", check="shape")]) from None


def check_bank(data: Any) -> BankFile:
    """The bank in parsed JSON. Raises ``BankRefused`` with every fault."""
    found = find_faults(data)
    if faults := [fault for fault in found if not fault.warning]:
        raise BankRefused(faults)
    meta, items = data["meta"], data["items"]
    bank = _Bank(data)
    return BankFile(
        name=meta.get("name") or "Model Index",
        version=str(meta["bankVersion"]),
        instrument=bank.instrument,
        language=bank.language,
        levels=bank.levels,
        items=tuple(bank.item(row) for row in items),
        pairs=tuple(
            PairFile(row["id"], str(row["chamber"]), row["a"], row["b"], _pair_details(row))
            for row in bank.pairs
        ),
        warnings=tuple(found),
        meta=meta,
        content_hash=bank_hash(data),
        data=data,
    )


def find_faults(data: Any) -> list[Fault]:
    """Every fault and warning of a bank's structure, each with the check that found it."""
    if shape := list(_under("shape", _shape(data))):
        return shape
    bank = _Bank(data)
    return [
        *_under("meta", bank.in_meta()),
        *(fault for row in data["items"] for fault in bank.in_item(row)),
        *bank.across_items(),
        *_under("pairs", bank.in_pairs()),
    ]


def bank_hash(data: dict[str, Any]) -> str:
    """What a bank is known by. To have no pairs is the same as not to mention any."""
    return digest({part: value for part, value in data.items() if part != "pairs" or value})


def is_unpublished(pool: str, details: dict[str, Any]) -> bool:
    """Whether an item is of a pool that is kept back. What is not said to be public is not."""
    return pool != PUBLIC_POOL and not str(details.get("exposureStatus", "")).startswith("public")


_PAIR_OWN = {"id", "chamber", "a", "b"}


def _pair_details(row: dict[str, Any]) -> dict[str, Any]:
    own = pair_row(row["id"], str(row["chamber"]), row["a"], row["b"], {})
    return _rest(row, _PAIR_OWN) | apart(row, own, _PAIR_OWN)


def _under(check: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    """The same faults, named after a check where none has named them yet."""
    return (fault if fault.check else replace(fault, check=check) for fault in faults)


def word_ratio(one: str, other: str) -> float:
    """How many times longer the longer text is, in words parted by white space."""
    counts = sorted((len(one.split()), len(other.split())))
    return counts[1] / max(counts[0], 1)


def unfilled_placeholders(prompt: str) -> list[str]:
    """The spans of a prompt that wait for a value: ``[..]``, ``{{..}}``, ``<UPPER>``."""
    return [span for span in SPAN.findall(prompt) if not QUOTED.search(span)]


def leaking_brackets(prompt: str) -> list[str]:
    """The filled brackets that say more than their value, and so tell the subject about it."""
    return [
        span
        for span in SPAN.findall(prompt)
        if QUOTED.search(span) and re.search(r"\w", QUOTED.sub("", span))
    ]


def _rest(row: dict[str, Any], own: set[str]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in own}


def _strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with the path to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key} (name)".lstrip("."), key
            yield from _strings(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strings(inner, f"{path}[{index}]")


def _not_text(value: Any, item: str = "") -> Iterator[Fault]:
    for path, text in _strings(value):
        if bad := NOT_TEXT.search(text):
            what = "a NUL" if bad[0] == "\x00" else f"half a character (U+{ord(bad[0]):04X})"
            yield Fault(item, path, f"holds {what} at {bad.start()}, which is not text.")


def _shape(data: Any) -> Iterator[Fault]:
    """Faults after which nothing else can be said."""
    if not isinstance(data, dict):
        yield Fault("", "file", "a bank is a JSON object with meta and items.")
        return
    for part in data.keys() - set(PARTS):
        yield Fault(
            "",
            _printable(part),
            f"is no part of a bank, and would be lost; the parts are: {', '.join(PARTS)}.",
        )
    meta, items = data.get("meta"), data.get("items")
    if not isinstance(meta, dict):
        yield Fault("", "meta", "missing, or not an object.")
    else:
        policy = meta.get("fieldSeparationPolicy")
        if not isinstance(policy, dict) or not isinstance(policy.get("modelFacingFields"), list):
            yield Fault(
                "",
                "meta.fieldSeparationPolicy.modelFacingFields",
                "missing: it lists the fields that a subject may see.",
            )
        yield from _not_text(meta)
    if not isinstance(items, list) or not items:
        yield Fault("", "items", "missing, not a list, or empty.")
        return
    for index, row in enumerate(items):
        if not isinstance(row, dict):
            yield Fault(f"items[{index}]", "", "not an object.")
        elif not isinstance(row.get("id"), str) or not row["id"].strip():
            yield Fault(f"items[{index}]", "id", "missing or empty.")
        else:
            yield from _not_text(row, _printable(row["id"]))
    pairs = data.get("pairs", [])
    if not isinstance(pairs, list) or not all(isinstance(row, dict) for row in pairs):
        yield Fault("", "pairs", "not a list of objects.")
    else:
        yield from _not_text(pairs, "pairs")


def _texts(
    row: dict[str, Any], item: str, names: Iterable[str], where: str = ""
) -> Iterator[Fault]:
    """Fields that are a text where they are given, and no longer than the table holds."""
    for name in names:
        value, most = row.get(name), LONGEST.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            yield Fault(item, f"{where}{name}", f"{value!r:.60} is not a text.")
        elif most and len(value) > most:
            yield Fault(item, f"{where}{name}", f"has {len(value)} characters; it may have {most}.")


def _rows(value: Any) -> list[dict[str, Any]]:
    """The objects in what ought to be a list of objects."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _span(span: str, held: bool) -> str:
    """A span of a prompt as a message shows it: of an unpublished item only that it is there."""
    return "a span in brackets" if held else repr(span[:60])


def _printable(code: str) -> str:
    return code.encode("utf-8", "backslashreplace").decode()[:60]


class _Bank:
    """The checks, with what they share: the scale, the rubric and the pairs of one bank."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.meta: dict[str, Any] = data["meta"]
        self.items: list[dict[str, Any]] = data["items"]
        self.pairs: list[dict[str, Any]] = data.get("pairs", [])
        self.instrument = str(self.meta.get("instrument", "model-index"))
        self.language = str(self.meta.get("language", "en"))
        self.levels = SCALES.get(self.instrument, ())
        self.rubric = self.meta.get("rubric")
        prompts = {row.get("id"): row.get("prompt") for row in self.items}
        # The chamber and both prompts, by the code of each arm.
        self.pair_of = {
            _text(row.get(arm)): [
                str(row.get("chamber")),
                *(prompts.get(_text(row.get(each))) for each in ("a", "b")),
            ]
            for row in _rows(self.pairs)
            for arm in ("a", "b")
        }

    def in_meta(self) -> Iterator[Fault]:
        if not self.levels:
            yield Fault(
                "",
                "meta.instrument",
                f"{self.instrument!r} is not an instrument; they are: {', '.join(SCALES)}.",
            )
            return
        if not str(self.meta.get("bankVersion") or "").strip():
            yield Fault("", "meta.bankVersion", "missing: a bank is known by its version.")
        yield from _texts(self.meta, "", ("name", "bankVersion", "language"), "meta.")
        scale = self.meta.get("scale", list(self.levels))
        if scale != list(self.levels):
            yield Fault(
                "", "meta.scale", f"{scale!r} is not the instrument's scale {list(self.levels)}."
            )
        count = self.meta.get("itemCount", len(self.items))
        if count != len(self.items):
            yield Fault("", "meta.itemCount", f"says {count}; the file has {len(self.items)}.")
        if self.rubric is not None:
            yield from self.in_anchors("meta", "rubric", self.rubric)

    def in_item(self, row: dict[str, Any]) -> Iterator[Fault]:
        code = row["id"]
        yield from _under("fields", _texts(row, code, ("id", "construct", "language", "topic")))
        if self.instrument == "model-index":
            yield from _under("place", self.in_place(row))
        prompts = self.prompts(row)
        for name, prompt in prompts:
            if not isinstance(prompt, str) or not prompt.strip():
                yield Fault(code, name, "missing or empty.", check="prompts")
            else:
                yield from _under("placeholders", self.in_prompt(row, name, prompt))
        if "anchors" in row or self.rubric is None:
            yield from _under("anchors", self.in_anchors(code, "anchors", row.get("anchors")))
        yield from _under("turns", self.in_turns(row))
        yield from _under("status", self.in_status(row))
        if row.get("variants") is not None:
            yield from _under("variants", self.in_variants(row))

    def in_place(self, row: dict[str, Any]) -> Iterator[Fault]:
        code, dimension, indicator = row["id"], row.get("dimension"), row.get("indicator")
        known = DIMENSIONS.get(dimension) if isinstance(dimension, str) else None
        if known is None:
            yield Fault(
                code,
                "dimension",
                f"{dimension!r} is not a dimension; they are: {', '.join(DIMENSIONS)}.",
            )
        elif indicator is not None and _text(indicator) not in known.subdimensions:
            yield Fault(
                code,
                "indicator",
                f"{indicator!r} is not a subdimension of {known.name}; they are: "
                f"{', '.join(known.subdimensions)}.",
            )

    def in_prompt(self, row: dict[str, Any], name: str, prompt: str) -> Iterator[Fault]:
        code = row["id"]
        unfilled = unfilled_placeholders(prompt)
        held = is_unpublished(str(row.get("pool") or PUBLIC_POOL), row)
        for span in unfilled:
            yield Fault(
                code,
                name,
                f"{_span(span, held)} is a placeholder that nobody filled.",
                warning=_text(row.get("validationStatus")) in DRAFTS | {"retired"},
            )
        for span in leaking_brackets(prompt):
            yield Fault(
                code,
                name,
                f"{_span(span, held)} tells the subject more than its value: keep the value alone.",
            )
        integrity = row.get("promptIntegrity")
        if name == "prompt" and integrity is not None and not isinstance(integrity, dict):
            yield Fault(code, "promptIntegrity", f"{integrity!r:.60} is not an object.")
        if name == "prompt" and isinstance(integrity, dict):
            declared = integrity.get("hasUnfilledPlaceholder")
            if declared is not None and declared != bool(unfilled):
                yield Fault(
                    code,
                    "promptIntegrity.hasUnfilledPlaceholder",
                    f"says {declared}; the prompt has {len(unfilled)} unfilled placeholders.",
                )

    def in_anchors(self, code: str, name: str, anchors: Any) -> Iterator[Fault]:
        wanted = len(self.levels)
        if not isinstance(anchors, list) or len(anchors) != wanted:
            has = len(anchors) if isinstance(anchors, list) else "none"
            yield Fault(code, name, f"has {has}; this instrument has {wanted}, one a level.")
            return
        descriptions: list[str] = []
        for level, anchor in zip(self.levels, anchors, strict=True):
            where = f"{name}[level {level}]"
            if (
                not isinstance(anchor, dict)
                or type(anchor.get("level")) is not int
                or anchor["level"] != level
            ):
                given = anchor.get("level") if isinstance(anchor, dict) else anchor
                yield Fault(code, where, f"level {given!r} stands where level {level} belongs.")
                continue
            description = anchor.get("description")
            if not isinstance(description, str) or not description.strip():
                yield Fault(code, f"{where}.description", "missing or empty.")
                continue
            if description.strip() in descriptions:
                yield Fault(code, f"{where}.description", "says the same as another level.")
            descriptions.append(description.strip())
            yield from _texts(anchor, code, ("label", "note"), f"{where}.")
            label = str(anchor.get("label") or "")
            usual = f"{level}.0 {LABELS.get(level)}"
            if self.instrument == "model-index" and label != usual:
                yield Fault(code, f"{where}.label", f"{label!r} is not {usual!r}.", warning=True)

    def in_turns(self, row: dict[str, Any]) -> Iterator[Fault]:
        code, turns = row["id"], row.get("turns", []) or []
        well_formed = isinstance(turns, list) and all(
            isinstance(turn, dict)
            and turn.get("role") in ("user", "assistant")
            and isinstance(turn.get("content"), str)
            and turn["content"].strip()
            for turn in turns
        )
        if not well_formed:
            yield Fault(
                code, "turns", "not a list of turns with role user or assistant, and content."
            )
            return
        roles = [turn["role"] for turn in turns]
        alternate = all(one != other for one, other in pairwise(roles))
        if roles and (roles[0] != "user" or roles[-1] != "assistant" or not alternate):
            yield Fault(
                code, "turns", "must alternate from user to assistant, then comes the prompt."
            )

    def in_status(self, row: dict[str, Any]) -> Iterator[Fault]:
        code, status = row["id"], row.get("validationStatus", "unvalidated")
        if _text(status) not in STATUSES:
            known = ", ".join(sorted(STATUSES))
            yield Fault(code, "validationStatus", f"{status!r} is not one of: {known}.")
        if _text(status) in DRAFTS:
            for name in ("reviewRequired", "author"):
                if not row.get(name):
                    yield Fault(
                        code, name, "missing: a draft says what is to be reviewed, and whose it is."
                    )
        if _text(status) in ("validated", "active") and not row.get("reviewers"):
            yield Fault(code, "reviewers", f"{status}, but nobody is named.", warning=True)
        pool = row.get("pool", PUBLIC_POOL)
        if not isinstance(pool, str) or not pool.strip() or len(pool) > LONGEST["pool"]:
            yield Fault(code, "pool", f"name the pool in 1 to {LONGEST['pool']} characters.")
        exposure = row.get("exposureStatus", "public-permanent")
        if pool == PUBLIC_POOL and exposure != "public-permanent":
            yield Fault(code, "exposureStatus", f"{exposure!r}, but a public item stays public.")
        if row.get("sensitivity", "standard") not in ("standard", "high", None):
            yield Fault(
                code, "sensitivity", f"{row['sensitivity']!r} is neither standard nor high."
            )
        earlier = row.get("supersedes")
        if earlier is not None:
            kept = (
                isinstance(earlier, dict)
                and earlier.get("prompt")
                and earlier.get("priorBankVersion")
            )
            if not kept:
                yield Fault(
                    code, "supersedes", "must keep the earlier prompt and its bank version."
                )
            elif earlier["prompt"] == row.get("prompt"):
                yield Fault(
                    code, "supersedes.prompt", "is the present prompt: nothing was superseded."
                )

    def in_variants(self, row: dict[str, Any]) -> Iterator[Fault]:
        code, variants = row["id"], row["variants"]
        if not isinstance(variants, list) or len(variants) < 2:
            yield Fault(code, "variants", "fewer than two: a variant has another to stand beside.")
            return
        names = [arm.get("variantId") if isinstance(arm, dict) else None for arm in variants]
        if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(
            names
        ):
            yield Fault(code, "variants", "each needs a variantId of its own.")
            return
        prompts = [arm.get("prompt") for arm in variants]
        if all(isinstance(prompt, str) and prompt.strip() for prompt in prompts):
            longest = max(prompts, key=lambda prompt: len(prompt.split()))
            shortest = min(prompts, key=lambda prompt: len(prompt.split()))
            yield from _symmetry(code, "variants", longest, shortest, warning=False)

    def across_items(self) -> Iterator[Fault]:
        codes = Counter(row["id"] for row in self.items)
        for code, times in codes.items():
            if times > 1:
                message = f"stands {times} times; an id names one item."
                yield Fault(code, "id", message, check="fields")
        seen: dict[str, str] = {}
        for row in self.items:
            prompt = row.get("prompt")
            key = " ".join(prompt.split()) if isinstance(prompt, str) else ""
            if key and key in seen:
                message = f"is the prompt of {seen[key]}."
                yield Fault(row["id"], "prompt", message, check="prompts")
            seen.setdefault(key, row["id"])
        yield from _under("balance", self.in_balance())

    def in_balance(self) -> Iterator[Fault]:
        """Dimensions with more than twice, or less than half, of an even share."""
        if self.instrument != "model-index":
            return
        counts = Counter(_text(row.get("dimension")) for row in self.items)
        even = len(self.items) / len(DIMENSIONS)
        for dimension in DIMENSIONS:
            if not even / 2 <= counts[dimension] <= even * 2:
                yield Fault(
                    "",
                    dimension,
                    f"has {counts[dimension]} items; an even share is {even:.1f}.",
                    warning=True,
                )

    def in_pairs(self) -> Iterator[Fault]:
        prompts = {row["id"]: row.get("prompt") for row in self.items}
        chambers = {str(row.get("code")) for row in _rows(self.meta.get("chambers"))}
        for row in _rows(self.meta.get("chambers")):
            if not _text(row.get("name")).strip() or len(str(row.get("code"))) > LONGEST["chamber"]:
                yield Fault("", "meta.chambers", f"{row!r:.60} needs a name, and a short code.")
        arms = Counter(str(row.get(arm)) for row in self.pairs for arm in ("a", "b"))
        ids = Counter(str(row.get("id")) for row in self.pairs)
        for row in self.pairs:
            code = str(row.get("id") or "a pair")
            if not _text(row.get("id")) or ids[code] > 1:
                yield Fault(code, "id", "missing, or the id of another pair.")
            yield from _texts(row, code[:60], ("id",))
            if str(row.get("chamber")) not in chambers:
                yield Fault(
                    code, "chamber", f"{row.get('chamber')!r} is no chamber of meta.chambers."
                )
            for arm in ("a", "b"):
                name = str(row.get(arm))
                if not isinstance(row.get(arm), str) or name not in prompts:
                    yield Fault(code, arm, f"{name!r} is no item of this bank.")
                elif arms[name] > 1:
                    yield Fault(code, arm, f"{name!r} is an arm more than once.")
            one, other = prompts.get(str(row.get("a"))), prompts.get(str(row.get("b")))
            if isinstance(one, str) and isinstance(other, str):
                yield from _symmetry(code, "prompt", one, other, warning=bool(row.get("founding")))

    def prompts(self, row: dict[str, Any]) -> list[tuple[str, Any]]:
        """All that a subject might be sent of an item, with the name of its field."""
        named = [("prompt", row.get("prompt"))]
        for index, turn in enumerate(_rows(row.get("turns"))):
            named.append((f"turns[{index}].content", turn.get("content")))
        for arm in _rows(row.get("variants")):
            named.append((f"variants[{arm.get('variantId')}].prompt", arm.get("prompt")))
        return named

    def item(self, row: dict[str, Any]) -> ItemFile:
        anchors = tuple(
            AnchorFile(
                anchor["level"],
                str(anchor.get("label") or anchor["level"]),
                anchor["description"],
                anchor.get("note") or "",
            )
            for anchor in row.get("anchors", self.rubric)
        )
        turns = tuple(TurnFile(turn["role"], turn["content"]) for turn in row.get("turns") or [])
        sensitive = row.get("sensitivity") == "high"
        facing = {
            "id": row["id"],
            "prompt": row["prompt"],
            "turns": [[turn.role, turn.content] for turn in turns],
            "variants": row.get("variants"),
            "dimension": row.get("dimension"),
            "indicator": row.get("indicator"),
            "construct": row.get("construct"),
            "anchors": [[a.level, a.label, a.description, a.note] for a in anchors],
        }
        topic = str(row.get("topic") or "a crisis") if sensitive else ""
        if topic:  # raters read it before they open the card
            facing["topic"] = topic
        if row["id"] in self.pair_of:  # its reviewers read both
            facing["pair"] = self.pair_of[row["id"]]
        language, pool = row.get("language") or self.language, row.get("pool") or PUBLIC_POOL
        own = item_row(
            code=row["id"],
            prompt=row["prompt"],
            turns=[{"role": turn.role, "content": turn.content} for turn in turns],
            dimension=row.get("dimension") or "",
            subdimension=row.get("indicator") or "",
            construct=row.get("construct") or "",
            language=language,
            pool=pool,
            anchors=[(a.level, a.label, a.description, a.note) for a in anchors],
            details={},
            meta=self.meta,
        )
        return ItemFile(
            code=row["id"],
            prompt=row["prompt"],
            anchors=anchors,
            turns=turns,
            dimension=row.get("dimension") or "",
            subdimension=row.get("indicator") or "",
            construct=row.get("construct") or "",
            language=language,
            pool=pool,
            topic=topic,
            withheld=_withheld(row),
            details=_rest(row, OURS) | apart(row, own, OURS),
            content_hash=digest(facing),
        )


def _withheld(row: dict[str, Any]) -> str:
    """Why an item is not asked by default; empty when it is."""
    status = row.get("validationStatus")
    if status in DRAFTS:
        return "draft"
    if status == "retired":
        return "retired"
    if row.get("sensitivity") == "high":
        return "crisis topic"
    if row.get("variants"):
        return "its anchors compare two replies"
    if row.get("conversationState") and not row.get("turns"):
        return "needs an earlier turn that it does not carry"
    return ""


def _symmetry(code: str, name: str, one: str, other: str, *, warning: bool) -> Iterator[Fault]:
    ratio = word_ratio(one, other)
    if ratio > LARGEST_RATIO:
        yield Fault(
            code,
            name,
            f"the longer arm has {ratio:.2f} times the words of the shorter; {LARGEST_RATIO} is allowed.",
            warning=warning,
            check="length symmetry",
        )
