"""The next version of a bank while it is written: changes to its items, and the freezing of them.

The first part is plain: a row of a bank file, the texts in it that a page can change, and what
the changes come to. The second asks the database.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.utils import timezone

from rating.models import BankDraft, EventKind, ItemChange, User
from rating.queue.writing import log, writing
from runs.bank import (
    BankFile,
    BankRefused,
    Fault,
    check_bank,
    unfilled_placeholders,
)
from runs.bank_checks import check_whole, wording_faults
from runs.models import Bank, Item
from runs.word_diff import Piece, word_diff

#: Notes for people, where a bank file keeps them, by the names of the form.
NOTES: Final = {
    "title": ("Title", ("sourceOnlyFields", "title")),
    "what_to_observe": ("What to observe", ("sourceOnlyFields", "whatToObserve")),
    "evaluator_notes": ("Notes for those who evaluate", ("sourceOnlyFields", "evaluatorNotes")),
    "cultural_notes": ("Culture and access", ("culturalAccessibilityNotes",)),
    "review_required": ("What a reviewer is to settle", ("reviewRequired",)),
}
PROMPT: Final = "prompt"
SETTLED: Final = {"validated", "active", "reviewed"}


FROZEN_MEANWHILE: Final = (
    "The next version was made meanwhile, from the changes as they stood. Nothing was stored."
)


class DraftRefused(ValueError):
    """A draft that does not become a version, with the reason."""


# The plain part


@dataclass(frozen=True)
class Text:
    """A text of an item that a page can change."""

    name: str
    label: str
    value: str
    optional: bool = False


@dataclass(frozen=True)
class Difference:
    """One text of an item before and after, in pieces."""

    label: str
    pieces: tuple[Piece, ...]


def texts_of(row: Mapping[str, Any], *, own_anchors: bool = True) -> list[Text]:
    """The texts of an item row, in the order of the page, with room for one more exchange."""
    turns = [turn["content"] for turn in row.get("turns") or []]
    texts = [
        Text(f"turn-{place}", _turn_label(place), turns[place] if place < len(turns) else "", True)
        for place in range(len(turns) + 2)
    ]
    texts.append(Text(PROMPT, "What the person writes", row["prompt"]))
    for place, variant in enumerate(row.get("variants") or []):
        if place or variant["prompt"] != row["prompt"]:  # the first one is the prompt itself
            name = variant["variantId"]
            texts.append(Text(f"variant-{place}", f"Version {name}", variant["prompt"]))
    if own_anchors:
        for anchor in row.get("anchors") or []:
            level = anchor["level"]
            texts.append(
                Text(f"anchor-{level}", f"{_level(anchor)}: description", anchor["description"])
            )
            if anchor.get("note"):
                texts.append(Text(f"note-{level}", f"{_level(anchor)}: note", anchor["note"], True))
    for name, (label, path) in NOTES.items():
        value = _get(row, path)
        if value is None or isinstance(value, str):
            texts.append(Text(name, label, value or "", True))
    return texts


def tidied(given: str, before: str) -> str:
    """What was typed, with the line ends of a browser made plain; ``before`` where nothing is new."""
    plain = given.replace("\r\n", "\n").replace("\r", "\n")
    same = plain == before.replace("\r\n", "\n").replace("\r", "\n")
    return before if same else plain


def changed_row(
    row: Mapping[str, Any], content: Mapping[str, str], *, version: str, now: datetime
) -> dict[str, Any]:
    """The row with the changed texts, and what follows from them.

    A changed prompt keeps the earlier one under ``supersedes``; the status of an item that was
    validated does not outlast its words, so it goes back to unvalidated. ``version`` is that of the
    bank the row stands in.
    """
    new = deepcopy(dict(row))
    turns = [turn["content"] for turn in new.get("turns") or []]
    asked = content.get(PROMPT, new["prompt"])
    for name, text in content.items():
        kind, _, which = name.partition("-")
        if kind == "turn":
            turns += [""] * (int(which) + 1 - len(turns))
            turns[int(which)] = text
        elif kind == "variant":
            new["variants"][int(which)]["prompt"] = text
        elif kind in ("anchor", "note"):
            anchor = next(one for one in new["anchors"] if one["level"] == int(which))
            anchor["description" if kind == "anchor" else "note"] = text
        elif name in NOTES:
            _set(new, NOTES[name][1], text)
    while turns and not turns[-1]:
        turns.pop()
    if any(name.startswith("turn-") for name in content):
        new["turns"] = [
            {"role": "assistant" if place % 2 else "user", "content": text}
            for place, text in enumerate(turns)
        ]
    if asked != row["prompt"]:
        first = next(iter(new.get("variants") or []), None)
        if first and first["prompt"] == row["prompt"]:
            first["prompt"] = asked
        new["prompt"] = asked
        new["supersedes"] = {
            "priorBankVersion": version,
            "prompt": row["prompt"],
            "validationStatus": row.get("validationStatus", "unvalidated"),
        }
        integrity = new.get("promptIntegrity")
        if isinstance(integrity, dict) and "hasUnfilledPlaceholder" in integrity:
            integrity["hasUnfilledPlaceholder"] = bool(unfilled_placeholders(asked))
    if new.get("validationStatus") in SETTLED:
        new["validationStatus"] = "unvalidated"
        new["reviewers"] = None
    if isinstance(new.get("dates"), dict):
        new["dates"]["lastModified"] = f"{timezone.localtime(now):%Y-%m-%d}"
    return new


def differences(texts: Iterable[Text], content: Mapping[str, str]) -> list[Difference]:
    """What is to be different, text by text, in the order of the page."""
    return [
        Difference(text.label, word_diff(text.value, content[text.name]))
        for text in texts
        if content.get(text.name, text.value) != text.value
    ]


def of_item(findings: Iterable[Fault], *codes: str) -> list[Fault]:
    """The findings about some items, or about what they are part of."""
    return [fault for fault in findings if fault.item in codes]


def next_version(version: str) -> str:
    """The version that would follow: its last number one higher, or a "-2" where it has none."""
    kept = version.rstrip("0123456789")
    number = version[len(kept) :]
    return f"{kept}{int(number) + 1}" if number else f"{version}-2"


def _turn_label(place: int) -> str:
    who = "the answer" if place % 2 else "the person"
    return f"Earlier exchange {place // 2 + 1}, {who}"


def _level(anchor: Mapping[str, Any]) -> str:
    return f"Level {anchor['level']}"


def _get(row: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = row
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _set(row: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    for name in path[:-1]:
        if not isinstance(row.get(name), dict):
            row[name] = {}
        row = row[name]
    row[path[-1]] = text or None


# The part that asks the database


@dataclass(frozen=True)
class Outcome:
    """What freezing a draft would bring."""

    findings: tuple[Fault, ...]
    faults: int  # those that stand in the way
    kept: int
    lost: tuple[str, ...]  # codes of the items whose content hash changes

    @property
    def total(self) -> int:
        return self.kept + len(self.lost)


def newest(bank: Bank) -> Bank:
    """The version of a bank that came in last."""
    return Bank.objects.filter(name=bank.name).order_by("-imported_at", "-pk")[:1].get()


def findings_of_bank(bank: Bank) -> tuple[Fault, ...]:
    """What the checks say of a stored bank. It never changes, so the answer is kept."""
    key = f"bank-findings-whole:{bank.content_hash}"
    kept: tuple[Fault, ...] | None = cache.get(key)
    if kept is None:
        kept = check_whole(bank.as_data()).found
        cache.set(key, kept, 3600)
    return kept


def row_of(bank: Bank, code: str) -> dict[str, Any]:
    """An item of a stored bank as its file has it."""
    rows: list[dict[str, Any]] = bank.as_data()["items"]
    return next(row for row in rows if row["id"] == code)


def open_draft(bank: Bank) -> BankDraft | None:
    return BankDraft.objects.open().filter(base=bank).select_related("base").first()


def save_change(
    item: Item,
    person: User,
    content: Mapping[str, str],
    reason: str,
    *,
    edition: int,
    now: datetime,
) -> ItemChange:
    """Keep what one item is to become. ``edition`` is that of the change the writer had before them.

    Raises
    ------
    DraftRefused
        If a newer version of the bank has come in, or somebody else saved in between.
    """
    with writing():
        _refuse_if_old(item.bank)
        draft, _ = BankDraft.objects.get_or_create(
            base=item.bank, frozen_at=None, defaults={"begun_by": person, "begun_at": now}
        )
        draft = BankDraft.objects.select_for_update().get(pk=draft.pk)
        if draft.frozen_at:
            raise DraftRefused(FROZEN_MEANWHILE)
        change = ItemChange.objects.filter(draft=draft, item=item).first()
        if (change.edition if change else 0) != edition:
            raise DraftRefused(
                "Somebody else changed this draft after you opened it. Theirs stands under “What "
                "changes”, yours in the fields. Send again to put yours in its place."
            )
        change = change or ItemChange(draft=draft, item=item, edition=0)
        change.content, change.reason = dict(content), reason
        change.saved_by, change.saved_at = person, now
        change.edition += 1
        change.save()
    return change


def drop_change(item: Item) -> None:
    """Leave one item as it is in the next version.

    Raises
    ------
    DraftRefused
        If the next version was made meanwhile.
    """
    with writing():
        of_bank = BankDraft.objects.filter(base=item.bank)
        if draft := of_bank.filter(frozen_at=None).select_for_update().first():
            draft.changes.filter(item=item).delete()
        elif of_bank.filter(changes__item=item).exists():
            raise DraftRefused(FROZEN_MEANWHILE)


def data_of(
    draft: BankDraft, *, version: str, person: User | None, now: datetime
) -> dict[str, Any]:
    """The next version as a bank file, with what changed and why in its changelog."""
    changes = {
        change.item.code: change for change in draft.changes.select_related("item", "saved_by")
    }
    base = draft.base
    data = base.as_data()
    data["items"] = [
        changed_row(row, changes[row["id"]].content, version=base.version, now=now)
        if row["id"] in changes
        else row
        for row in data["items"]
    ]
    meta = deepcopy(data["meta"])
    log_so_far = meta.get("changelog")
    meta["bankVersion"], meta["priorBankVersion"] = version, base.version
    today = f"{timezone.localtime(now):%Y-%m-%d}"
    meta["changelog"] = [
        *(log_so_far if isinstance(log_so_far, list) else []),
        {
            "version": version,
            "date": today,
            "frozenAt": now.isoformat(timespec="seconds"),
            "author": person.pseudonym if person else "",
            "priorBankVersion": base.version,
            "changes": [
                {
                    "itemId": code,
                    "fields": sorted(change.content),
                    "why": change.reason,
                    "author": change.saved_by.pseudonym,
                    "date": f"{timezone.localtime(change.saved_at):%Y-%m-%d}",
                }
                for code, change in sorted(changes.items())
            ],
        },
    ]
    return {**data, "meta": meta}


def outcome_of(draft: BankDraft, *, now: datetime) -> Outcome:
    """What the checks say of the draft, and which items would keep their content hash."""
    data = data_of(draft, version=next_version(draft.base.version), person=None, now=now)
    before = dict(draft.base.items.values_list("code", "content_hash"))
    try:
        file = check_bank(data)
    except BankRefused as why:
        # Without a whole bank there are no hashes: notes for people alone are no part of them.
        lost = tuple(
            change.item.code
            for change in draft.changes.select_related("item").order_by("item__position")
            if not NOTES.keys() >= change.content.keys()
        )
        return Outcome(why.faults, len(why.faults), len(before) - len(lost), lost)
    lost = changed_items(before, file)
    found = (*file.warnings, *wording_faults(file))
    return Outcome(found, 0, len(before) - len(lost), lost)


def changed_items(before: Mapping[str, str], file: BankFile) -> tuple[str, ...]:
    """The items whose content hash is another in this file, in its order."""
    return tuple(item.code for item in file.items if before.get(item.code) != item.content_hash)


def freeze(draft: BankDraft, person: User, version: str, *, now: datetime) -> tuple[Bank, int, int]:
    """Make the draft a bank of its own, by the way every bank comes in.

    Returns
    -------
    tuple
        The new bank, how many items keep their content hash and so their reviews, and how many do
        not.

    Raises
    ------
    DraftRefused
        If it is frozen already, holds no change, or stands on a version that is no longer the newest.
    BankRefused
        With every fault that the checks found.
    """
    with writing():
        draft = (
            BankDraft.objects.select_for_update(of=("self",))
            .select_related("base")
            .get(pk=draft.pk)
        )
        if draft.frozen_at:
            raise DraftRefused(f"This draft is frozen already, as {draft.frozen_as}.")
        _refuse_if_old(draft.base)
        if not draft.changes.exists():
            raise DraftRefused("Nothing is changed yet: a version has something new in it.")
        if Bank.objects.filter(name=draft.base.name, version=version).exists():
            raise DraftRefused(
                f"{draft.base.name} has a version {version} already. Give this one another name."
            )
        before = dict(draft.base.items.values_list("code", "content_hash"))
        file = check_bank(data_of(draft, version=version, person=person, now=now))
        lost = changed_items(before, file)
        try:
            bank, _ = Bank.objects.import_file(file)
        except ValidationError as why:
            raise DraftRefused(" ".join(why.messages)) from None
        draft.frozen_as, draft.frozen_by, draft.frozen_at = bank, person, now
        draft.save(update_fields=["frozen_as", "frozen_by", "frozen_at"])
        log(
            EventKind.FREEZE,
            person.pk,
            bank=bank.pk,
            version=str(bank),
            hash=bank.content_hash,
            base=draft.base_id,
        )
    return bank, len(before) - len(lost), len(lost)


def _refuse_if_old(bank: Bank) -> None:
    latest = newest(bank)
    if latest.pk != bank.pk:
        raise DraftRefused(
            f"{latest} came in after {bank}, so the next version stands on that one. Nothing was "
            "stored. Draft your changes there."
        )
