"""What one version of a bank changes of another, as a pure function, and as text to read."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from runs.bank import BankFile
from runs.bank_text import APART
from runs.word_diff import word_diff

NAMES = ("level", "variantId", "code", "itemId", "version")  # what names a row of a list


@dataclass(frozen=True)
class FieldChange:
    """One field that differs. None stands for a field that is not there."""

    field: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ItemChange:
    """An item or a pair that both versions have and that differs."""

    code: str
    fields: tuple[FieldChange, ...]
    same_hash: bool
    reason: str = ""
    forgets_prompt: bool = False
    unpublished: bool = False


@dataclass(frozen=True)
class BankDiff:
    """All that differs between two versions, and what their reviews may follow."""

    before: str
    after: str
    meta: tuple[FieldChange, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ItemChange, ...]
    pairs_added: tuple[str, ...]
    pairs_removed: tuple[str, ...]
    pairs_changed: tuple[ItemChange, ...]
    kept: int
    reason: str

    @property
    def lost(self) -> tuple[str, ...]:
        """Items whose hash changed: what people said of them holds for the earlier text only."""
        return tuple(change.code for change in self.changed if not change.same_hash)

    @property
    def unexplained(self) -> tuple[str, ...]:
        """Items whose hash changed though the changelog does not name them."""
        return tuple(c.code for c in self.changed if not c.same_hash and not c.reason)

    @property
    def forgetful(self) -> tuple[str, ...]:
        """Items whose prompt changed and whose ``supersedes`` does not keep the earlier one."""
        return tuple(change.code for change in self.changed if change.forgets_prompt)

    @property
    def empty(self) -> bool:
        return not any(
            (
                *(self.meta, self.added, self.removed, self.changed),
                *(self.pairs_added, self.pairs_removed, self.pairs_changed),
            )
        )


def diff_banks(before: BankFile, after: BankFile) -> BankDiff:
    """What ``after`` changes of ``before``, item by item and field by field."""
    old = {row["id"]: row for row in before.data["items"]}
    new = {row["id"]: row for row in after.data["items"]}
    hashes = {item.code: item.content_hash for item in before.items}
    items = {item.code: item for item in after.items}
    held = {item.code for item in (*before.items, *after.items) if item.unpublished}
    log = _rows(after.meta.get("changelog"))
    old_pairs = {row["id"]: row for row in before.data.get("pairs", [])}
    new_pairs = {row["id"]: row for row in after.data.get("pairs", [])}
    shared = [code for code in new if code in old]
    same = {code for code in shared if items[code].content_hash == hashes[code]}
    return BankDiff(
        before=f"{before.name} {before.version}",
        after=f"{after.name} {after.version}",
        meta=tuple(_fields(before.meta, after.meta)),
        added=tuple(code for code in new if code not in old),
        removed=tuple(code for code in old if code not in new),
        changed=tuple(
            ItemChange(
                code,
                _or_the_rubric(tuple(_fields(old[code], new[code]))),
                code in same,
                _reason(log, code, before.version),
                _forgets(old[code], new[code]),
                code in held,
            )
            for code in shared
            if old[code] != new[code] or code not in same
        ),
        pairs_added=tuple(code for code in new_pairs if code not in old_pairs),
        pairs_removed=tuple(code for code in old_pairs if code not in new_pairs),
        pairs_changed=tuple(
            ItemChange(
                code,
                tuple(_fields(old_pairs[code], row)),
                same_hash=True,
                unpublished=bool(held & {row["a"], row["b"]}),
            )
            for code, row in new_pairs.items()
            if code in old_pairs and old_pairs[code] != row
        ),
        kept=len(same),
        reason=_summary(log, after.version),
    )


def marked(before: str, after: str) -> str:
    """Both texts in one, word by word: ``[-taken out-]`` and ``{+put in+}``."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(marks[piece.kind].format(piece.text) for piece in word_diff(before, after))


def as_text(diff: BankDiff, *, show_unpublished: bool = False) -> str:
    """The difference for a terminal. Texts of items that are kept back stay out unless asked for."""
    if diff.empty:
        return f"{diff.before} and {diff.after} hold the same.\n"
    lines = [f"{diff.before} → {diff.after}", diff.reason or "The changelog gives no reason."]
    lines += [
        "",
        f"{_so_many(diff.added, 'item')} added, {len(diff.removed)} removed, "
        f"{len(diff.changed)} changed; {diff.kept} keep their hash, and so their reviews.",
    ]
    for title, codes in (
        ("Added", diff.added),
        ("Removed", diff.removed),
        ("Lose their reviews, since a rater or a subject would see a difference", diff.lost),
        ("Changed without a reason in the changelog", diff.unexplained),
        ("Prompt changed, and supersedes does not keep the earlier one", diff.forgetful),
        ("Pairs added", diff.pairs_added),
        ("Pairs removed", diff.pairs_removed),
    ):
        if codes:
            listed = fill(", ".join(codes), 96, initial_indent="  ", subsequent_indent="  ")
            lines += ["", f"{title}:", listed]
    if diff.meta:
        lines += ["", "The bank itself", *_shown(diff.meta)]
    for change in diff.changed:
        state = "keeps its hash" if change.same_hash else "gets a new hash"
        lines += ["", f"{change.code} ({state}){f': {change.reason}' if change.reason else ''}"]
        lines += _shown(change.fields, hide=change.unpublished and not show_unpublished)
    for change in diff.pairs_changed:
        lines += ["", f"Pair {change.code}"]
        lines += _shown(change.fields, hide=change.unpublished and not show_unpublished)
    return "\n".join(lines) + "\n"


def _shown(fields: tuple[FieldChange, ...], *, hide: bool = False) -> Iterator[str]:
    for change in fields:
        if hide:
            yield f"  {change.field}: changed, unpublished"
        elif change.before is None:
            yield f"  {change.field}: {{+{change.after}+}}"
        elif change.after is None:
            yield f"  {change.field}: [-{change.before}-]"
        else:
            yield f"  {change.field}: {marked(change.before, change.after)}"


def _fields(before: Any, after: Any) -> Iterator[FieldChange]:
    old, new = dict(_flat(before)), dict(_flat(after))
    for path in dict.fromkeys([*old, *new]):
        if old.get(path) != new.get(path):
            yield FieldChange(path, old.get(path), new.get(path))


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf of a JSON value with a path to it. Rows of a list go by their own name."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if key != APART:
                yield from _flat(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        had: Counter[str] = Counter()
        for index, inner in enumerate(value):
            name = _name(inner, index)
            had[name] += 1
            again = f", {had[name]}" if had[name] > 1 else ""
            yield from _flat(inner, f"{path}[{name}{again}]")
    else:
        yield path, value if isinstance(value, str) else _plain(value)


def _name(row: Any, index: int) -> str:
    if isinstance(row, dict):
        for mark in NAMES:
            if mark in row:
                return f"{mark} {row[mark]}"
    return str(index)


def _plain(value: Any) -> str:
    if value is None or value in ([], {}):
        return "nothing"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _or_the_rubric(fields: tuple[FieldChange, ...]) -> tuple[FieldChange, ...]:
    """The fields; or, where nothing in the item itself differs, that its rubric does."""
    return fields or (FieldChange("anchors", "the common rubric before", "the common rubric now"),)


def _forgets(before: dict[str, Any], after: dict[str, Any]) -> bool:
    kept = after.get("supersedes")
    kept_prompt = kept.get("prompt") if isinstance(kept, dict) else None
    return before["prompt"] not in (after["prompt"], kept_prompt)


def _reason(log: list[dict[str, Any]], code: str, version: str) -> str:
    """What the changelog says of an item, in the entries that follow ``version``."""
    said = [
        str(row.get("change") or row.get("summary") or "")
        for row in log
        if row.get("itemId") == code and row.get("priorBankVersion", version) == version
    ]
    return " ".join(part for part in said if part)


def _summary(log: list[dict[str, Any]], version: str) -> str:
    said = [str(row.get("summary") or "") for row in log if row.get("version") == version]
    return " ".join(part for part in said if part)


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _so_many(things: tuple[str, ...], name: str) -> str:
    return f"{len(things)} {name}" if len(things) == 1 else f"{len(things)} {name}s"
