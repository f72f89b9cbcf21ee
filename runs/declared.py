"""What a plan declares beforehand: what is compared, by which rule, at what price. Plain values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

from runs.canonical import NOT_TEXT

KINDS: Final = ("build", "arm")
CORRECTIONS: Final = ("bonferroni", "holm", "none")
PARITY_MARGIN: Final = 0.5
REPLY_TOKENS: Final = 400
LONGEST_RULE = 20_000
MOST_MONEY = 10_000_000

DECLARED_KEYS = ("comparisons", "margin", "exclusion_rule", "agreement_floor", "correction")
COMPARISON_KEYS = ("kind", "a", "b")
COST_KEYS = ("currency", "ceiling", "reply_tokens", "prices")
PRICE_KEYS = ("snapshot", "input", "output")


@dataclass(frozen=True)
class Comparison:
    """Two runs that are compared, each named ``snapshot/condition``.

    ``build``: two subjects under one condition. ``arm``: one subject under two conditions.
    """

    kind: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.a} and {self.b}"


@dataclass(frozen=True)
class Declared:
    """The rules of the analysis. ``margin`` is in levels; the floor is an ordinal alpha."""

    comparisons: tuple[Comparison, ...] = ()
    margin: float = PARITY_MARGIN
    exclusion_rule: str = ""
    agreement_floor: float | None = None
    correction: str = "bonferroni"


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, sent and received."""

    input: float
    output: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        return (tokens_in * self.input + tokens_out * self.output) / 1_000_000


@dataclass(frozen=True)
class Costs:
    """What is paid, by snapshot, and how much it may come to. None: nothing is declared."""

    currency: str = ""
    ceiling: float | None = None
    reply_tokens: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)


def declared_of(plan: Mapping[str, Any]) -> Declared:
    """The rules in a plan that was checked; where it says nothing, the usual ones."""
    table = plan.get("declared", {})
    return Declared(
        comparisons=tuple(
            Comparison(row["kind"], row["a"], row["b"]) for row in table.get("comparisons", ())
        ),
        margin=float(table.get("margin", PARITY_MARGIN)),
        exclusion_rule=table.get("exclusion_rule", ""),
        agreement_floor=table.get("agreement_floor"),
        correction=table.get("correction", "bonferroni"),
    )


def costs_of(plan: Mapping[str, Any]) -> Costs:
    """The prices in a plan that was checked."""
    table = plan.get("cost", {})
    return Costs(
        currency=table.get("currency", ""),
        ceiling=table.get("ceiling"),
        reply_tokens=table.get("reply_tokens"),
        prices={
            row["snapshot"]: Price(float(row["input"]), float(row["output"]))
            for row in table.get("prices", ())
        },
    )


def possible_comparisons(runs: Iterable[tuple[str, str]]) -> tuple[Comparison, ...]:
    """Every pair of runs, given as (snapshot, condition), that differs in one of the two alone."""
    found = []
    for one, other in combinations(sorted(set(runs)), 2):
        if (one[0] == other[0]) != (one[1] == other[1]):
            kind = "arm" if one[0] == other[0] else "build"
            found.append(Comparison(kind, "/".join(one), "/".join(other)))
    return tuple(sorted(found, key=lambda each: (KINDS.index(each.kind), each.a, each.b)))


def in_declared(table: Any, runs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The faults of a plan's ``[declared]``; ``runs`` are the (snapshot, condition) it plans."""
    if not isinstance(table, dict):
        yield f"declared: {table!r} is not a table."
        return
    yield from unknown(table, DECLARED_KEYS, "declared: ")
    yield from number(table, "margin", "declared: ", 0.01, 5)
    yield from number(table, "agreement_floor", "declared: ", -1, 1)
    rule = table.get("exclusion_rule", "")
    if not isinstance(rule, str) or len(rule) > LONGEST_RULE or NOT_TEXT.search(rule):
        yield f"declared: exclusion_rule: is not a text of at most {LONGEST_RULE:,} characters."
    if (given := table.get("correction", "bonferroni")) not in CORRECTIONS:
        yield f"declared: correction: {given!r} is not one of: {', '.join(CORRECTIONS)}."
    rows = table.get("comparisons", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield "declared: comparisons: write each as a [[declared.comparisons]] table."
        return
    for place, row in enumerate(rows, start=1):
        yield from _in_comparison(row, f"declared: comparisons {place}: ", runs)
    sides = Counter(frozenset((str(row.get("a")), str(row.get("b")))) for row in rows)
    for both, times in sides.items():
        if times > 1:
            yield f"declared: comparisons: {' and '.join(sorted(both))} stand {times} times."


def _in_comparison(
    row: dict[str, Any], where: str, runs: Sequence[tuple[str, str]]
) -> Iterator[str]:
    yield from unknown(row, COMPARISON_KEYS, where)
    known = {"/".join(run): run for run in runs}
    sides = []
    for key in ("a", "b"):
        if isinstance(name := row.get(key), str) and name in known:
            sides.append(known[name])
        else:
            yield (
                f"{where}{key}: {name!r} is no run of this plan; "
                f"the runs are: {', '.join(sorted(known)) or 'none yet'}."
            )
    if (kind := row.get("kind")) not in KINDS:
        yield f"{where}kind: {kind!r} is not one of: {', '.join(KINDS)}."
    elif len(sides) == 2:
        (snapshot, condition), (other, another) = sides
        if kind == "build" and (snapshot == other or condition != another):
            yield f"{where}a build comparison is of two subjects under one condition."
        if kind == "arm" and (snapshot != other or condition == another):
            yield f"{where}an arm comparison is of one subject under two conditions."


def in_cost(table: Any, snapshots: Iterable[str]) -> Iterator[str]:
    """The faults of a plan's ``[cost]``."""
    if not isinstance(table, dict):
        yield f"cost: {table!r} is not a table."
        return
    yield from unknown(table, COST_KEYS, "cost: ")
    currency = table.get("currency", "")
    if not isinstance(currency, str) or len(currency) > 10 or NOT_TEXT.search(currency):
        yield f"cost: currency: {currency!r} is not a text of at most 10 characters."
    yield from number(table, "ceiling", "cost: ", 0.01, MOST_MONEY)
    tokens = table.get("reply_tokens", 1)
    if type(tokens) is not int or not 1 <= tokens <= 1_000_000:
        yield f"cost: reply_tokens: {tokens!r} is not a whole number from 1 to 1,000,000."
    rows = table.get("prices", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield "cost: prices: write each as a [[cost.prices]] table."
        return
    known = sorted(set(snapshots))
    for place, row in enumerate(rows, start=1):
        where = f"cost: prices {place}: "
        yield from unknown(row, PRICE_KEYS, where)
        if row.get("snapshot") not in known:
            yield (
                f"{where}snapshot: {row.get('snapshot')!r} is not planned; "
                f"the snapshots are: {', '.join(known) or 'none yet'}."
            )
        for key in ("input", "output"):
            if key not in row:
                yield f"{where}{key}: missing: the price of a million tokens."
            yield from number(row, key, where, 0, MOST_MONEY)
    for name, times in Counter(str(row.get("snapshot")) for row in rows).items():
        if times > 1:
            yield f"cost: prices: {name} stands {times} times."
    if "ceiling" in table and (rows or known):
        priced = [row.get("snapshot") for row in rows]
        if missing := [name for name in known if name not in priced]:
            yield (
                f"cost: ceiling: it cannot be kept without a price of {', '.join(missing)}. "
                "Where nothing is paid, write 0."
            )


def lacking(
    kind: str, preregistration: str, declared: Declared, runs: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """What a wave of this kind must declare before its plan is locked, and does not."""
    if kind == "local":
        return ()
    wave = "An official wave" if kind == "official" else f"A {kind} wave"
    missing = []
    if not preregistration.strip():
        missing.append(f"{wave} needs a pre-registration: write it before it is locked.")
    if not declared.exclusion_rule.strip():
        missing.append(f"{wave} needs an exclusion rule (declared: exclusion_rule).")
    if declared.agreement_floor is None:
        missing.append(f"{wave} needs an agreement floor (declared: agreement_floor).")
    if len(set(runs)) > 1 and not declared.comparisons:
        missing.append(
            f"{wave} of {len(set(runs))} runs needs its comparisons (declared: comparisons)."
        )
    return tuple(missing)


def unknown(row: Mapping[str, Any], keys: tuple[str, ...], where: str) -> Iterator[str]:
    for key in row:
        if key not in keys:
            yield f"{where}there is no key {key!r}; the keys are: {', '.join(keys)}."


def number(
    row: Mapping[str, Any], key: str, where: str, least: float, most: float
) -> Iterator[str]:
    """Complain of a value that is given and no number in this range."""
    value = row.get(key, least)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        yield f"{where}{key}: {value!r} is not a number from {least} to {most:,}."
