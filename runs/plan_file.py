"""A plan file, read and checked into frozen dataclasses. It is TOML, written by a person."""

import ipaddress
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runs.canonical import NOT_TEXT
from runs.declared import Costs, Declared, costs_of, declared_of, in_cost, in_declared, unknown
from runs.registry import (
    MODERATION,
    RUNTIMES,
    SURFACES,
    SYSTEM_PROMPTS,
    evidence_faults,
)

LARGEST_FILE = 1_000_000
KINDS = ("local", "pilot", "official")
PROVIDERS = ("openai", "anthropic", "demo", "import")
SLUG = re.compile(r"[A-Za-z0-9_-]{1,50}")
LEAST_TRIALS = 3
MOST_TRIALS = 100
TAKEN = ("new",)  # a page of its own
MOST_TOKENS = 1_000_000

BASIC_KEYS = ("code", "title", "kind", "bank", "seed", "trials", "ranges_only")
WAVE_KEYS = (*BASIC_KEYS, "preregistration", "declared", "cost", "subjects")
# What makes a subject this one. See ``registry``.
IDENTITY_KEYS = (
    "developer",
    "family",
    "snapshot",
    "aliases",
    "provider",
    "base_url",
    "runtime",
    "digest",
    "product_surface",
    "access_tier",
    "region",
    "system_prompt_status",
    "moderation_layer",
    "tools",
    "quantisation",
    "first_seen_date",
    "sampling",
    "evidence",
)
SUBJECT_KEYS = (*IDENTITY_KEYS, "limits", "conditions")
FILE_KEYS = (*IDENTITY_KEYS, "limits", "change")
CONDITION_KEYS = ("name", "system_message", "expected", "why")
DIRECTIONS = ("lower", "higher")
SAMPLING_KEYS = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "context_limit",
)
LIMIT_KEYS = (
    "in_flight",
    "requests_a_minute",
    "tokens_a_minute",
    "attempt_seconds",
    "idle_seconds",
)
LONGEST_ATTEMPT = 3600
MOST_A_MINUTE = 1_000_000_000


class PlanFileRefused(ValueError):
    """A plan file that is not planned, with every fault found."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))


@dataclass(frozen=True)
class ConditionPlan:
    """``expected`` is how levels should move where a condition alters the subject on purpose."""

    name: str
    system_message: str
    expected: str = ""
    why: str = ""


@dataclass(frozen=True)
class SubjectPlan:
    developer: str
    family: str
    snapshot: str
    provider: str
    base_url: str
    digest: str
    access_tier: str
    quantisation: str
    sampling: dict[str, Any] = field(hash=False)
    conditions: tuple[ConditionPlan, ...]
    # The identity as far as the file states it, and how fast the subject may be asked.
    stated: dict[str, Any] = field(hash=False, default_factory=dict)
    limits: dict[str, Any] = field(hash=False, default_factory=dict)


@dataclass(frozen=True)
class WavePlan:
    code: str
    title: str
    kind: str
    bank: str
    seed: str
    trials: int
    preregistration: str
    subjects: tuple[SubjectPlan, ...]
    ranges_only: bool = False
    declared: Declared = field(default_factory=Declared)
    costs: Costs = field(default_factory=Costs)
    # The tables it was read from, as a draft keeps them.
    data: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def runs(self) -> list[tuple[str, str]]:
        """The snapshot and the condition of each run that is planned."""
        return [
            (subject.snapshot, condition.name)
            for subject in self.subjects
            for condition in subject.conditions
        ]


def read_plan(path: Path) -> WavePlan:
    """The plan in a file. Raises ``PlanFileRefused`` with every fault."""
    return plan_of(read_data(path))


def read_data(path: Path) -> dict[str, Any]:
    """The tables in a file, checked. Raises ``PlanFileRefused`` with every fault."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise PlanFileRefused(
            [f"{path.name} has {size:,} bytes; a plan may have {LARGEST_FILE:,}."]
        )
    return parse_data(path.read_bytes())


def parse_plan(raw: bytes) -> WavePlan:
    """The plan in the bytes of a file. Raises ``PlanFileRefused`` with every fault."""
    return plan_of(parse_data(raw))


def parse_data(raw: bytes) -> dict[str, Any]:
    """The tables in the bytes of a file, checked. Raises ``PlanFileRefused`` with every fault."""
    data = _parsed(raw)
    if faults := list(in_wave(data)):
        raise PlanFileRefused(faults)
    return data


def plan_of(data: dict[str, Any]) -> WavePlan:
    """The plan in these tables, whichever way they came. Raises ``PlanFileRefused``."""
    if faults := list(in_wave(data)):
        raise PlanFileRefused(faults)
    return WavePlan(
        code=data["code"],
        title=data["title"],
        kind=data["kind"],
        bank=data["bank"],
        seed=data["seed"],
        trials=data["trials"],
        preregistration=data["preregistration"],
        subjects=tuple(
            SubjectPlan(
                developer=row["developer"],
                family=row["family"],
                snapshot=row["snapshot"],
                provider=row["provider"],
                base_url=row.get("base_url", ""),
                digest=row.get("digest", ""),
                access_tier=row.get("access_tier", ""),
                quantisation=row.get("quantisation", ""),
                sampling=row.get("sampling", {}),
                conditions=tuple(
                    ConditionPlan(
                        one["name"],
                        one["system_message"],
                        one.get("expected", ""),
                        one.get("why", ""),
                    )
                    for one in row["conditions"]
                ),
                stated={key: row[key] for key in IDENTITY_KEYS if key in row},
                limits=row.get("limits", {}),
            )
            for row in data["subjects"]
        ),
        ranges_only=data.get("ranges_only", False),
        declared=declared_of(data),
        costs=costs_of(data),
        data=data,
    )


@dataclass(frozen=True)
class SubjectFile:
    """A subject in a file of its own: its identity, its limits, and what changed, if it succeeds."""

    stated: dict[str, Any] = field(hash=False)
    limits: dict[str, Any] = field(hash=False)
    change: str = ""


def parse_subject(raw: bytes) -> SubjectFile:
    """The subject in the bytes of a file. Raises ``PlanFileRefused`` with every fault."""
    data = _parsed(raw)
    faults = [*unknown(data, FILE_KEYS, ""), *_in_identity(data, "")]
    if "change" in data:
        faults += _text(data, "change", "", most=5000)
    if faults:
        raise PlanFileRefused(faults)
    return SubjectFile(
        {key: data[key] for key in IDENTITY_KEYS if key in data},
        data.get("limits", {}),
        data.get("change", ""),
    )


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        data = tomllib.loads(raw.decode("utf-8"))
        if _has_huge_number(data):
            raise PlanFileRefused(["it holds a number of more than 64 bits."])
        return data
    except PlanFileRefused:
        raise
    except UnicodeDecodeError as why:
        raise PlanFileRefused([f"not UTF-8 text: {why}."]) from None
    except RecursionError:
        raise PlanFileRefused(["nested too deeply to be a plan."]) from None
    except ValueError as why:
        raise PlanFileRefused([f"not valid TOML: {why}."]) from None


def _has_huge_number(value: Any) -> bool:
    """TOML promises whole numbers of 64 bits; Python takes more, and does not print them all."""
    if isinstance(value, int):
        return value.bit_length() > 63
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_has_huge_number, parts))


def on_loopback(base_url: str) -> bool:
    """Whether an address names this very machine, where nothing needs a key."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_wave(data: dict[str, Any]) -> Iterator[str]:
    """Every fault of a whole plan."""
    yield from unknown(data, WAVE_KEYS, "")
    yield from in_basics(data)
    yield from _text(data, "preregistration", "", most=LARGEST_FILE, may_be_empty=True)
    yield from in_subjects(data.get("subjects"))
    runs = runs_in(data)
    yield from in_declared(data.get("declared", {}), runs)
    yield from in_cost(data.get("cost", {}), [snapshot for snapshot, _ in runs])


def in_basics(data: dict[str, Any]) -> Iterator[str]:
    """The faults of what a plan says of itself."""
    yield from _text(data, "code", "", most=50)
    yield from _text(data, "title", "", most=200)
    yield from _text(data, "bank", "", most=151)
    yield from _text(data, "seed", "", most=100)
    yield from _one_of(data, "kind", "", KINDS)
    if isinstance(code := data.get("code"), str) and code and not SLUG.fullmatch(code):
        yield f"code: {code!r} may have letters, digits, - and _ only, and at most 50 of them."
    if code in TAKEN:
        yield f"code: {code!r} is the name of a page; take another."
    yield from _whole(data, "trials", "", 1, MOST_TRIALS, needed=True)
    yield from _in_ranges_only(data)


def _in_ranges_only(data: dict[str, Any]) -> Iterator[str]:
    """Whether the trials suffice: at least three, or one where only ranges are told."""
    alone, trials = data.get("ranges_only", False), data.get("trials")
    if type(alone) is not bool:
        yield f"ranges_only: {alone!r} is not true or false."
    elif type(trials) is not int or not 1 <= trials <= MOST_TRIALS:
        return
    elif alone and trials != 1:
        yield f"trials: a wave that tells ranges only has 1 trial, not {trials}."
    elif not alone and trials < LEAST_TRIALS:
        yield (
            f"trials: {trials} is too few: plan at least {LEAST_TRIALS}, "
            "or 1 with ranges_only = true, where no points will be told."
        )


def runs_in(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The snapshot and the condition of each run in tables that need not be checked."""
    return [
        (str(row.get("snapshot")), str(condition.get("name")))
        for row in _tables(data.get("subjects"))
        for condition in _tables(row.get("conditions"))
    ]


def in_subjects(rows: Any) -> Iterator[str]:
    """The faults of the subjects of a plan."""
    subjects = _tables(rows)
    if not subjects:
        yield "subjects: there must be at least one [[subjects]] table."
        return
    for number, row in enumerate(subjects, start=1):
        yield from _in_subject(row, f"subjects {number}: ")
    names = Counter(
        tuple(str(row.get(key)) for key in ("developer", "family", "snapshot")) for row in subjects
    )
    for name, times in names.items():
        if times > 1:
            yield (
                f"subjects: {' '.join(name)} stands {times} times. "
                "List a subject once, with all its conditions."
            )
    for snapshot, times in Counter(name[2] for name in names).items():
        if times > 1:
            yield (
                f"subjects: the snapshot {snapshot} is of {times} subjects; comparisons and "
                "prices could not tell them apart. Plan a wave for each."
            )


def _in_subject(row: dict[str, Any], where: str) -> Iterator[str]:
    yield from unknown(row, SUBJECT_KEYS, where)
    yield from _in_identity(row, where)
    conditions = _tables(row.get("conditions"))
    if not conditions:
        yield (
            f"{where}conditions: there must be at least one [[subjects.conditions]] table, "
            'with its system_message, which may be "".'
        )
        return
    for number, condition in enumerate(conditions, start=1):
        yield from _in_condition(condition, f"{where}conditions {number}: ")
    if conditions and all("expected" in condition for condition in conditions):
        yield f"{where}conditions: each has a direction expected; one must stand without, to move from."
    names = Counter(str(condition.get("name")) for condition in conditions)
    for name, times in names.items():
        if times > 1:
            yield f"{where}conditions: {name!r} stands {times} times; each needs a name of its own."


def _in_identity(row: dict[str, Any], where: str) -> Iterator[str]:
    for key, most in (("developer", 100), ("family", 100), ("snapshot", 200)):
        yield from _text(row, key, where, most=most)
    for key in ("digest", "access_tier", "region", "quantisation"):
        if key in row:
            yield from _text(row, key, where, most=100, may_be_empty=True)
    yield from _one_of(row, "provider", where, PROVIDERS)
    for key, known in (
        ("runtime", RUNTIMES),
        ("product_surface", SURFACES),
        ("system_prompt_status", SYSTEM_PROMPTS),
        ("moderation_layer", MODERATION),
    ):
        if key in row:
            yield from _one_of(row, key, where, known)
    if "runtime" in row and (row.get("provider") != "openai" or not row.get("base_url")):
        yield f"{where}runtime: only a subject of the provider openai with a base_url has one."
    for key in ("aliases", "tools"):
        names = row.get(key, [])
        texts = isinstance(names, list) and all(isinstance(one, str) and one for one in names)
        if not texts or any(len(one) > 200 or NOT_TEXT.search(one) for one in names):
            yield f"{where}{key}: {names!r} is not a list of texts of at most 200 characters."
    if "first_seen_date" in row:
        yield from _in_day(row["first_seen_date"], f"{where}first_seen_date")
    yield from _in_address(row, where)
    yield from _in_sampling(row.get("sampling", {}), where)
    if row.get("provider") == "anthropic" and not _has_most_tokens(row):
        yield f"{where}sampling: max_tokens: missing; the provider anthropic must be told it."
    if "evidence" in row:
        yield from (f"{where}{fault}" for fault in evidence_faults(row["evidence"]))
    yield from _in_limits(row.get("limits", {}), where)


def _has_most_tokens(row: dict[str, Any]) -> bool:
    sampling = row.get("sampling")
    return isinstance(sampling, dict) and "max_tokens" in sampling


def _in_day(value: Any, where: str) -> Iterator[str]:
    try:
        date.fromisoformat(value)
    except (TypeError, ValueError):
        yield f'{where}: {value!r} is not a day; write it in quotes, as "2026-11-30".'


def _in_limits(limits: Any, where: str) -> Iterator[str]:
    where = f"{where}limits: "
    if not isinstance(limits, dict):
        yield f"{where}{limits!r} is not a table."
        return
    yield from unknown(limits, LIMIT_KEYS, where)
    yield from _whole(limits, "in_flight", where, 1, 1000)
    for key in ("requests_a_minute", "tokens_a_minute"):
        yield from _whole(limits, key, where, 1, MOST_A_MINUTE)
    for key in ("attempt_seconds", "idle_seconds"):
        value = limits.get(key, 1)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= LONGEST_ATTEMPT:
            yield f"{where}{key}: {value!r} is not a number above 0 and up to {LONGEST_ATTEMPT:,}."


def _in_condition(row: dict[str, Any], where: str) -> Iterator[str]:
    yield from unknown(row, CONDITION_KEYS, where)
    yield from _text(row, "name", where, most=50)
    if isinstance(name := row.get("name"), str) and name and not SLUG.fullmatch(name):
        yield f"{where}name: {name!r} may have letters, digits, - and _ only."
    yield from _text(row, "system_message", where, most=LARGEST_FILE, may_be_empty=True)
    if "expected" in row:
        yield from _one_of(row, "expected", where, DIRECTIONS)
        yield from _text(row, "why", where, most=LARGEST_FILE)
    elif "why" in row:
        yield f"{where}why: only a condition with a direction expected says why; add expected."


def _in_address(row: dict[str, Any], where: str) -> Iterator[str]:
    address = row.get("base_url", "")
    if address == "":
        return
    if not isinstance(address, str) or len(address) > 300:
        yield f"{where}base_url: {address!r} is not an address of at most 300 characters."
        return
    if row.get("provider") not in ("openai", "anthropic"):
        yield f"{where}base_url: only openai and anthropic have one; leave it out."
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        yield f"{where}base_url: {address!r} is not an http or https address."
    elif parts.username or parts.password:
        yield f"{where}base_url: holds a name or a password. A key comes from the environment only."
    elif parts.scheme == "http" and not on_loopback(address):
        yield f"{where}base_url: {address!r} would send the key unencrypted; write https."


def _in_sampling(sampling: Any, where: str) -> Iterator[str]:
    where = f"{where}sampling: "
    if not isinstance(sampling, dict):
        yield f"{where}{sampling!r} is not a table."
        return
    yield from unknown(sampling, SAMPLING_KEYS, where)
    for key, most in (("temperature", 2), ("top_p", 1)):
        value = sampling.get(key, 0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= most:
            yield f"{where}{key}: {value!r} is not a number from 0 to {most}."
    for key in ("max_tokens", "max_completion_tokens", "context_limit"):
        yield from _whole(sampling, key, where, 1, MOST_TOKENS)


def _text(
    row: dict[str, Any], key: str, where: str, *, most: int, may_be_empty: bool = False
) -> Iterator[str]:
    value = row.get(key)
    if key not in row:
        hint = ' (it may be "")' if may_be_empty else ""
        yield f"{where}{key}: missing{hint}."
    elif not isinstance(value, str):
        yield f"{where}{key}: {value!r} is not a text; put it in quotes."
    elif not value.strip() and not may_be_empty:
        yield f"{where}{key}: empty."
    elif len(value) > most:
        yield f"{where}{key}: has {len(value):,} characters; it may have {most:,}."
    elif bad := NOT_TEXT.search(value):
        yield f"{where}{key}: holds {bad.group()!r}, which is no text."


def _one_of(row: dict[str, Any], key: str, where: str, known: tuple[str, ...]) -> Iterator[str]:
    if row.get(key) not in known:
        given = repr(row[key]) if key in row else "nothing"
        yield f"{where}{key}: {given} is not one of: {', '.join(known)}."


def _whole(
    row: dict[str, Any], key: str, where: str, least: int, most: int, *, needed: bool = False
) -> Iterator[str]:
    if key not in row:
        if needed:
            yield f"{where}{key}: missing."
        return
    value = row[key]
    if type(value) is not int or not least <= value <= most:
        yield f"{where}{key}: {value!r} is not a whole number from {least} to {most:,}."


def _tables(value: Any) -> list[dict[str, Any]]:
    """The tables of a list of tables; none where it is anything else."""
    tables = isinstance(value, list) and all(isinstance(row, dict) for row in value)
    return value if tables else []
