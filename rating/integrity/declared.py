"""What of each table is sealed, in one list: a table or column that is not here is a fault.

Of a sealed table a column is *fixed* unless it is named: it never changes once the row is sealed.
A *moving* one may change through the product, and each change is sealed again. A *personal* one is
sealed by a salted hash, and its salt goes when the person is erased. The rest is left out, with the
reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from django.apps import apps
from django.db import models

from runs.guards import MARKED_IN, Guard, Mark, no_change


@dataclass(frozen=True)
class Sealed:
    """What is sealed of a table. All columns that are not named are fixed."""

    table: str
    moving: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()
    #: The way from a row to the ``check_key`` that salts its personal columns.
    salt: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: Rows of another table that are sealed as part of a row, by the column that leads to it.
    parts: tuple[tuple[str, str], ...] = ()
    #: A column, and the value it has while a row is not yet to be sealed.
    until: tuple[str, str | None] | None = None
    #: Whether a row may be taken away through the product.
    may_go: bool = False

    @property
    def model(self) -> type[models.Model]:
        return model_of(self.table)

    @property
    def fixed(self) -> tuple[str, ...]:
        named = {*self.moving, *self.personal, *self.left_out}
        return tuple(name for name in columns_of(self.model) if name not in named)

    def settled(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is one that is to be sealed."""
        return self.until is None or row[self.until[0]] != self.until[1]


HELD: Final = "says which worker holds it just now"
WORK: Final = "how far the work on it is; the responses say what came of it"
SIGN_IN: Final = "changes whenever somebody signs in"
PAGES: Final = "how pages look to this person, or what they are written about"

SEALED: Final = (
    Sealed("auth_group"),
    Sealed("runs_bank", moving=("frozen_at",), until=("frozen_at", None)),
    Sealed("runs_item", parts=(("runs_anchor", "item_id"),)),
    Sealed("runs_pair"),
    Sealed("runs_subject"),
    Sealed(
        "runs_wave",
        moving=(
            "ratings_frozen_at",
            "unblinded_at",
            "published_at",
            "cost_ceiling",
            "leak_check",
        ),
        until=("locked_at", None),
    ),
    Sealed("runs_deviation"),
    Sealed(
        "runs_run",
        left_out=dict.fromkeys(
            (
                "state",
                "stop_reason",
                "started_at",
                "ended_at",
                "woken_at",
                "tokens_in",
                "tokens_out",
                "failures_in_a_row",
                "fingerprints",
            ),
            WORK,
        ),
    ),
    Sealed(
        "runs_response",
        moving=("mask", "mask_decided_at"),
        left_out={"held_by": HELD, "held_until": HELD},
        until=("status", "pending"),
    ),
    Sealed(
        "runs_probe",
        left_out={"held_by": HELD, "held_until": HELD},
        until=("status", "pending"),
    ),
    Sealed(
        "rating_user",
        moving=("is_active", "is_superuser", "senior"),
        personal=(
            "email",
            "name",
            "password",
            "languages",
            "hard_topics",
            "expertise",
            "country",
        ),
        salt="check_key",
        left_out={
            "last_login": SIGN_IN,
            "session_salt": SIGN_IN,
            "check_key": "is the salt of the personal columns: another one, and they are not right",
            "look": PAGES,
            "write_at_work": PAGES,
            "work_written_at": PAGES,
        },
    ),
    Sealed("rating_user_groups", may_go=True),
    Sealed(
        "rating_invitation",
        moving=("accepted_by_id", "accepted_at"),
        left_out={"email": "is personal; the link to it is signed"},
    ),
    Sealed(
        "rating_assignment",
        moving=(
            "slot_id",
            "leased_at",
            "expires_at",
            "ordinal",
            "parked",
            "ended_at",
            "outcome",
            "skip_reason",
        ),
        personal=("skip_note",),
        salt="rater__check_key",
        until=("ended_at", None),
    ),
    Sealed(
        "rating_rating",
        moving=("superseded_by_id", "withdrawn_at"),
        parts=(("rating_quote", "rating_id"),),
    ),
    Sealed("rating_guess", moving=("maker", "sure", "answered_at")),
    Sealed("rating_exposure"),
    Sealed(
        "rating_conflict",
        personal=("developer", "item_code", "reason"),
        salt="person__check_key",
        may_go=True,
    ),
    Sealed(
        "rating_pause",
        moving=("ended_by_id", "ended_at"),
        personal=("reason", "earlier_ratings"),
        salt="person__check_key",
    ),
    Sealed(
        "rating_adjudication",
        moving=(
            "triggers",
            "adjudicator_id",
            "held_until",
            "own_anchor_id",
            "own_at",
            "anchor_id",
            "reason",
            "guideline_gap",
            "harm_upheld",
            "settled_at",
            "ended_at",
            "ended",
        ),
    ),
    Sealed(
        "rating_unblinding", moving=("agreed_by_id", "agreed_reason", "agreed_at", "taken_back_at")
    ),
    Sealed("rating_norming", moving=("left_out_at",)),
    Sealed("rating_seed", moving=("retired_at",)),
    Sealed("rating_qualification"),
    Sealed("rating_reviewwork", moving=("replies",)),
    Sealed(
        "rating_reviewhold",
        moving=(
            "number",
            "leased_at",
            "expires_at",
            "parked",
            "ended_at",
            "outcome",
            "skip_reason",
        ),
        personal=("skip_note",),
        salt="reviewer__check_key",
        left_out={
            "draft": "what is not sent yet",
            "draft_at": "what is not sent yet",
        },
        until=("ended_at", None),
    ),
    Sealed("rating_itemreview", moving=("superseded_by_id", "withdrawn_at")),
    Sealed("rating_bankdraft", moving=("frozen_as_id", "frozen_by_id", "frozen_at"), may_go=True),
    Sealed(
        "rating_itemchange",
        moving=("content", "reason", "saved_by_id", "saved_at", "edition"),
        may_go=True,
    ),
    Sealed("rating_publication"),
    Sealed("rating_correction"),
    Sealed(
        "rating_export",
        moving=("made_at", "sha256"),
        left_out={"content": "is held against its own sha256"},
        may_go=True,
    ),
    Sealed("rating_erasure"),
    Sealed("rating_judge"),
    Sealed("rating_judging", moving=("state", "stop_reason", "started_at", "ended_at")),
    Sealed(
        "rating_paneljudge",
        moving=("excluded_at", "reason"),
        left_out=dict.fromkeys(
            ("woken_at", "tokens_in", "tokens_out", "failures_in_a_row"),
            "how far the work on it is; the judgements say what came of it",
        ),
    ),
    Sealed(
        "rating_judgement",
        moving=("superseded_by_id",),
        left_out={"held_by": HELD, "held_until": HELD},
        until=("state", "pending"),
    ),
    Sealed(
        "rating_apitoken",
        moving=("revoked_at",),
        left_out={"last_used_at": "changes as the token is used"},
    ),
    Sealed("rating_elsewhere", may_go=True),
)

#: Tables that are no part of a sealed one and are not sealed themselves, with the reason.
NOT_SEALED: Final = {
    "rating_event": "is chained event by event",
    "rating_seal": "is the seals",
    "rating_touch": "says what is to be sealed next",
    "rating_slot": "is worked out again from responses, ratings and cards",
    "rating_tally": "is counted again from the ratings",
    "rating_heartbeat": "says which workers are there just now",
    "rating_apicall": "is kept for two days, so that nothing is carried out twice",
    "rating_draft": "is what somebody is still writing",
    "runs_subjectlimit": "says how fast a subject is asked, and is part of no result",
    "runs_probing": "says how far the asking of probes is; the probes say what came of it",
    "rating_user_user_permissions": "is used by nothing here: roles decide",
    "auth_group_permissions": "is used by nothing here: roles decide",
    "auth_permission": "is used by nothing here: roles decide",
    "django_content_type": "is Django's own list of tables",
    "django_migrations": "is Django's own list of migrations",
    "django_session": "says who is signed in just now",
    "account_emailaddress": "is not used for signing in",
    "account_emailconfirmation": "is not used for signing in",
    "mfa_authenticator": "is secret, and goes and comes with a person's device",
}


@lru_cache(maxsize=1)
def all_models() -> dict[str, type[models.Model]]:
    """Every table that is made by a migration, by name."""
    return {
        model._meta.db_table: model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy
    }


def model_of(table: str) -> type[models.Model]:
    return all_models()[table]


def columns_of(model: type[models.Model]) -> list[str]:
    return [one.attname for one in model._meta.concrete_fields]


def declared() -> list[Sealed]:
    """What is sealed of the tables there are."""
    return [one for one in SEALED if one.table in all_models()]


def parts() -> dict[str, str]:
    """The tables that are sealed as part of another, with that other."""
    return {part: one.table for one in declared() for part, _ in one.parts}


def fixed_stays(table: str) -> Guard:
    """Refuses to change what never changes in a sealed row: a walk would call it tampering."""
    one = next(one for one in SEALED if one.table == table)
    return no_change(
        one.model,
        "What was sealed of it never changes.",
        but=[name for name in columns_of(one.model) if name not in one.fixed],
        when=settled_in(one, "OLD."),
        name="fixed_stays",
    )


def marks() -> list[Mark]:
    """The triggers that note which rows are to be sealed, or sealed again."""
    return [mark for one in declared() for mark in _marks(one)]


def _marks(one: Sealed) -> list[Mark]:
    table, model = one.table, one.model
    column = {name.attname: name.column for name in model._meta.concrete_fields}
    key = model._meta.pk
    assert key is not None
    covered = [name for name in columns_of(model) if name not in one.left_out]
    changed = " OR ".join(
        f'NEW."{column[name]}" IS DISTINCT FROM OLD."{column[name]}"' for name in covered
    )
    return [
        Mark(
            f"{table}_mark_{event.lower()}",
            table,
            event,  # type: ignore[arg-type]
            condition,
            f'INSERT INTO {MARKED_IN} ("table", "key") VALUES (\'{table}\','
            f' CAST({row}."{key.column}" AS VARCHAR(40)))',
        )
        for event, row, condition in (
            ("INSERT", "NEW", settled_in(one, "NEW.")),
            (
                "UPDATE",
                "NEW",
                f"({settled_in(one, 'NEW.')} OR {settled_in(one, 'OLD.')}) AND ({changed})",
            ),
            ("DELETE", "OLD", settled_in(one, "OLD.")),
        )
    ]


def settled_in(one: Sealed, row: str = "") -> str:
    """The condition in SQL that a row is one that is to be sealed; ``row`` as its columns begin."""
    if one.until is None:
        return "TRUE"
    name, value = one.until
    which = f'{row}"{name}"'
    return f"{which} IS NOT NULL" if value is None else f"{which} <> '{value}'"
