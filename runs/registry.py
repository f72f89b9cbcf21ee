"""What makes a subject this one and no other: its identity, and which names of models move.

A name moves when its owner may point it at another model tomorrow. Nobody can see that from
outside, so the rule is strict and looks at the name alone. A name is pinned if it carries

- a date: 2024-08-06, 20240806, 2026-01, 08-2024, or four digits that are a month with its day or
  a year with its month, as in ``-0613`` and ``-2407``;
- or, at its end, a build number of three digits that begins with 0, as in ``-001``.

A name with a word that says it moves ("latest", "current", "stable" …) is never pinned by its
name, nor is a bare family name such as ``gpt-4o``, nor a ``-preview`` without a date. Whatever
its name, a subject is pinned by the digest or revision of its weights. A scripted subject is
pinned by its script.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

RUNTIMES: Final = ("ollama", "llama.cpp", "vllm")
SURFACES: Final = ("consumer", "api_default", "base", "fine_tune", "agent", "deployed_system")
SYSTEM_PROMPTS: Final = ("known", "unknown", "none", "provider_supplied")
MODERATION: Final = ("present", "absent", "unknown")
CLAIMS: Final = ("fact", "provider_claim", "evaluator_observation", "inference", "unresolved")
PINNED: Final = ("digest", "date", "build", "script", "earlier")

EVIDENCE_NEEDED: Final = (
    "source_url",
    "publisher",
    "published_at",
    "retrieved_at",
    "archive_or_hash",
)
EVIDENCE_KEYS: Final = (*EVIDENCE_NEEDED, "claim_class", "note")
MOST_ROWS = 100

MOVING = {
    "latest", "current", "stable", "default", "auto", "main", "head", "nightly", "canary", "rolling",
    "newest", "beta", "alpha",
}  # fmt: skip
WORDS = re.compile(r"[a-z]+")
DATES = (
    re.compile(r"(?<!\d)(?P<year>20\d\d)[-_.]?(?P<month>\d\d)[-_.]?(?P<day>\d\d)(?!\d)"),
    re.compile(r"(?<!\d)(?P<year>20\d\d)[-_.](?P<month>\d\d)(?![-_.]?\d)"),
    re.compile(r"(?<![\d][-_.])(?<!\d)(?P<month>\d\d)[-_.](?P<year>20\d\d)(?!\d)"),
)
FOUR = re.compile(r"(?:^|[-_.@:])(\d\d)(\d\d)(?=$|[-_.@:])")
BUILD = re.compile(r"[-_@:]0\d\d$")


def pinned_by(snapshot: str, *, digest: str = "", provider: str = "") -> str:
    """What pins a subject: ``digest``, ``script``, ``date`` or ``build``; empty if it may move."""
    if digest:
        return "digest"
    if provider == "demo":
        return "script"
    name = snapshot.lower()
    if MOVING & set(WORDS.findall(name)):
        return ""
    if any(_dated(match) for one in DATES for match in one.finditer(name)):
        return "date"
    if any(_month_and_more(*map(int, match.groups())) for match in FOUR.finditer(name)):
        return "date"
    return "build" if BUILD.search(name) else ""


def _dated(match: re.Match[str]) -> bool:
    told = match.groupdict()
    try:
        date(int(told["year"]), int(told["month"]), int(told.get("day", 1)))
    except ValueError:
        return False
    return True


def _month_and_more(first: int, second: int) -> bool:
    """Whether four digits are a month and a day, or a year since 2020 and a month."""
    return (1 <= first <= 12 and 1 <= second <= 31) or (20 <= first <= 39 and 1 <= second <= 12)


def unpinned(snapshot: str) -> str:
    """Why a name is refused, and the way on."""
    return (
        f"snapshot: {snapshot!r} is an alias that moves, or may be one: it carries no date and no "
        "build number. Name a dated snapshot, or give the digest or revision it has now."
    )


def evidence_faults(rows: Any) -> Iterator[str]:
    """What is wrong with the evidence of a subject: where its identity can be looked up."""
    if not isinstance(rows, list) or len(rows) > MOST_ROWS:
        yield f"evidence: must be at most {MOST_ROWS} [[evidence]] tables."
        return
    for number, row in enumerate(rows, start=1):
        where = f"evidence {number}: "
        if not isinstance(row, Mapping):
            yield f"{where}{row!r} is not a table."
            continue
        for key in row:
            if key not in EVIDENCE_KEYS:
                yield f"{where}there is no key {key!r}; the keys are: {', '.join(EVIDENCE_KEYS)}."
        for key in EVIDENCE_NEEDED:
            value = row.get(key)
            if key.endswith("_at"):
                if not _is_day(value):
                    yield f"{where}{key}: {value!r} is not a day, written as 2026-11-30."
            elif not isinstance(value, str) or not value.strip() or len(value) > 500:
                yield f"{where}{key}: {value!r} is not a text of 1 to 500 characters."
        claim = row.get("claim_class", "fact")
        if claim not in CLAIMS:
            yield f"{where}claim_class: {claim!r} is not one of: {', '.join(CLAIMS)}."
    claims = [row.get("claim_class", "fact") for row in rows if isinstance(row, Mapping)]
    if claims and all(claim == "inference" for claim in claims):
        yield "evidence: an inference alone is no evidence; add where it can be looked up."


def _is_day(value: Any) -> bool:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True
