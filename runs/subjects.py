"""Subjects in the registry: found by what a file states of them, or registered for good."""

import asyncio
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from runs.models import NOT_STATED, Provider, Subject, SubjectLimit
from runs.plan_file import IDENTITY_KEYS
from runs.registry import unpinned
from runs.runtimes import NoDigest, read_digest
from runs.wire import Trouble


class SubjectRefused(ValueError):
    """A subject that is not registered, with every reason."""

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def found_or_new(stated: dict[str, Any]) -> Subject:
    """The subject of this identity: the one that is registered, or else a new one, not yet stored.

    A file that names a registered subject need not repeat all of it; what it states must agree.

    Raises
    ------
    SubjectRefused
        If it differs from what is registered, or may not be registered.
    """
    wanted = _columns(stated)
    known = Subject.objects.filter(code=Subject(**wanted).own_code()).first()
    if known is None:
        return _new(stated)
    if other := [key for key, value in wanted.items() if getattr(known, key) != value]:
        differs = ", ".join(
            f"{key} {getattr(known, key)!r} and not {wanted[key]!r}" for key in other
        )
        raise SubjectRefused(
            f"{known} is registered with {differs}. A subject never changes: "
            "write what is registered, or name a snapshot of its own."
        )
    return known


def with_digest(stated: dict[str, Any]) -> dict[str, Any]:
    """What is stated; where it has a runtime and no digest, with that which it serves now.

    Raises
    ------
    SubjectRefused
        If the runtime does not say what it serves.
    """
    if not stated.get("runtime") or stated.get("digest"):
        return stated
    asked = read_digest(stated["runtime"], stated["base_url"], stated["snapshot"])
    try:
        return stated | {"digest": asyncio.run(asked)}
    except NoDigest as why:
        raise SubjectRefused(str(why)) from None
    except Trouble as why:
        raise SubjectRefused(f"The digest cannot be read: {why.detail}.") from None


def is_registered(stated: dict[str, Any]) -> bool:
    """Whether there is a subject of this developer, family and snapshot."""
    named = {key: stated[key] for key in ("developer", "family", "snapshot")}
    return Subject.objects.filter(code=Subject(**named).own_code()).exists()


def register(
    stated: dict[str, Any], *, predecessor: Subject | None = None, change: str = ""
) -> Subject:
    """Store a new subject, whole and for good. Raises ``SubjectRefused`` with every reason."""
    subject = _new(stated, predecessor=predecessor, change=change)
    subject.save()
    return subject


def _new(
    stated: dict[str, Any], *, predecessor: Subject | None = None, change: str = ""
) -> Subject:
    """A subject that may be registered: its name does not move, its tier is stated, it is new."""
    subject = Subject(**_columns(stated), predecessor=predecessor, change=change)
    subject.settle_identity()
    faults = []
    if subject.runtime and not subject.digest:
        faults.append(
            f"digest: missing. What {subject.runtime} serves under a name may change; register "
            "the subject with: subject add FILE, which reads its digest from there."
        )
    elif not subject.pinned_by:
        faults.append(unpinned(subject.snapshot))
    if subject.provider != Provider.DEMO:
        faults += [
            f"{key}: missing. State it; where nothing is known of it, write {NOT_STATED!r}."
            for key in ("access_tier", "quantisation")
            if not stated.get(key, "").strip()
        ]
    if predecessor is not None and not change.strip():
        faults.append("change: missing. Say what changed since the predecessor.")
    if Subject.objects.filter(code=subject.code).exists():
        faults.append(f"{subject.code} is registered already, and a subject never changes.")
    if faults:
        raise SubjectRefused(*faults)
    try:
        subject.full_clean(exclude=["sampling"])
    except ValidationError as why:
        raise SubjectRefused(
            *(
                " ".join(said) if name == "__all__" else f"{name}: {' '.join(said)}"
                for name, said in why.message_dict.items()
            )
        ) from None
    return subject


@transaction.atomic
def set_limits(subject: Subject, limits: dict[str, Any]) -> None:
    """How fast a subject may be asked from now on, as far as it is said; the rest stays."""
    if limits:
        SubjectLimit.objects.update_or_create(subject=subject, defaults=limits)


def lineage_of(subject: Subject) -> list[Subject]:
    """The subject after those it succeeds, the first of them first."""
    line = [subject]
    while line[0].predecessor is not None:
        line.insert(0, line[0].predecessor)
    return line


def _columns(stated: dict[str, Any]) -> dict[str, Any]:
    """What a file states, as the columns hold it. An empty tier is one that is not stated."""
    columns = dict(stated)
    for key in ("access_tier", "quantisation"):
        if not columns.get(key, "x").strip():
            del columns[key]
    if "first_seen_date" in columns:
        columns["first_seen_date"] = date.fromisoformat(columns["first_seen_date"])
    return columns


def identity_of(subject: Subject) -> dict[str, Any]:
    """All that a subject is known by, as it may be written down."""
    first_seen = subject.first_seen_date
    return {
        "code": subject.code,
        **{key: getattr(subject, key) for key in IDENTITY_KEYS},
        "first_seen_date": first_seen.isoformat() if first_seen else "",
        "pinned_by": subject.pinned_by,
        "predecessor": str(subject.predecessor or ""),
        "change": subject.change,
        "registered_at": subject.registered_at.isoformat(),
    }
