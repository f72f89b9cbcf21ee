"""What each column holds of a person, in one list: a column that is not here is a fault.

Erasing somebody goes by this list, and so do the tests of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from django.db import models

from rating.integrity.declared import all_models


class Held(Enum):
    """What a column holds of a person, and what becomes of it when they are erased."""

    ERASED = "is emptied or replaced"
    DELETED = "goes with its row"
    STUDY = "is what the study found, and stays under the code name"
    LINK = "leads to the account, which is a code name alone by then"
    NOTHING = "holds nothing of a person"


@dataclass(frozen=True)
class Personal:
    """A table with something of a person: what each of its columns is that could hold it."""

    table: str
    #: The way from a row to the person it is of; ``""`` where a row is not of one person.
    of: str
    columns: Mapping[Held, tuple[str, ...]] = field(default_factory=dict)

    @property
    def deleted(self) -> bool:
        return Held.DELETED in self.columns

    def of_kind(self, held: Held) -> tuple[str, ...]:
        return self.columns.get(held, ())


E, D, S, L, N = Held.ERASED, Held.DELETED, Held.STUDY, Held.LINK, Held.NOTHING

PERSONAL: Final = (
    Personal(
        "rating_user",
        "pk",
        {
            E: (
                "email",
                "name",
                "password",
                "languages",
                "hard_topics",
                "check_key",
                "senior",
                "expertise",
                "look",
                "country",
                "write_at_work",
                "work_written_at",
                "last_login",
                "is_active",
                "is_superuser",
                "session_salt",
            ),
            S: ("pseudonym", "joined_at"),
            L: ("id",),
        },
    ),
    Personal("rating_user_groups", "user", {D: ("id", "user_id", "group_id")}),
    Personal("rating_user_user_permissions", "user", {D: ("id", "user_id", "permission_id")}),
    Personal("account_emailaddress", "user", {D: ("user_id", "email")}),
    Personal("account_emailconfirmation", "email_address__user", {D: ("key",)}),
    Personal("mfa_authenticator", "user", {D: ("user_id", "type", "data")}),
    Personal(
        "rating_invitation",
        "accepted_by",
        {E: ("email",), N: ("roles",), L: ("invited_by_id", "accepted_by_id")},
    ),
    Personal(
        "rating_assignment",
        "rater",
        {E: ("skip_note",), S: ("kind", "outcome", "skip_reason"), L: ("rater_id",)},
    ),
    Personal("rating_draft", "assignment__rater", {D: ("content",)}),
    Personal(
        "rating_reviewhold",
        "reviewer",
        {E: ("skip_note", "draft"), S: ("outcome", "skip_reason"), L: ("reviewer_id",)},
    ),
    Personal("rating_conflict", "person", {D: ("person_id", "developer", "item_code", "reason")}),
    Personal(
        "rating_pause",
        "person",
        {E: ("reason", "earlier_ratings"), L: ("person_id", "paused_by_id", "ended_by_id")},
    ),
    Personal(
        "rating_rating",
        "rater",
        {
            S: ("kind", "note", "confidence", "harm_line", "tags", "flags"),
            L: ("rater_id",),
        },
    ),
    Personal("rating_guess", "rating__rater", {S: ("maker", "sure")}),
    Personal("rating_exposure", "person", {S: ("saw",), L: ("person_id",)}),
    Personal("rating_tally", "rater", {S: ("of",), L: ("rater_id",)}),
    Personal("rating_slot", "", {L: ("partner_id",), N: ("state", "topic", "language")}),
    Personal("rating_qualification", "rater", {S: ("instrument",), L: ("rater_id",)}),
    Personal(
        "rating_itemreview",
        "reviewer",
        {S: ("whys", "verdict", "concern"), L: ("reviewer_id",), N: ("content_hash",)},
    ),
    Personal(
        "rating_adjudication",
        "adjudicator",
        {S: ("reason",), L: ("adjudicator_id",), N: ("triggers", "ended")},
    ),
    Personal("rating_seed", "settled_by", {S: ("reasons", "quotes", "use"), L: ("settled_by_id",)}),
    Personal("rating_norming", "nominated_by", {L: ("nominated_by_id",)}),
    Personal(
        "rating_unblinding",
        "asked_by",
        {S: ("reason", "agreed_reason"), L: ("asked_by_id", "agreed_by_id")},
    ),
    Personal("rating_bankdraft", "begun_by", {L: ("begun_by_id", "frozen_by_id")}),
    Personal("rating_itemchange", "saved_by", {S: ("content", "reason"), L: ("saved_by_id",)}),
    Personal(
        "rating_publication",
        "published_by",
        {S: ("text", "bundle", "reason"), L: ("published_by_id",), N: ("text_hash",)},
    ),
    Personal("rating_correction", "written_by", {S: ("text",), L: ("written_by_id",)}),
    Personal("rating_export", "asked_by", {S: ("content",), L: ("asked_by_id",), N: ("sha256",)}),
    Personal(
        "rating_event",
        "actor",
        {S: ("kind", "about"), L: ("actor_id",), N: ("place", "previous", "seal")},
    ),
    Personal(
        "rating_erasure",
        "person",
        {S: ("address_hash", "reason"), L: ("person_id", "erased_by_id")},
    ),
    Personal(
        "rating_judging",
        "made_by",
        {
            L: ("made_by_id",),
            N: (
                "code",
                "configuration",
                "purpose",
                "seed",
                "rule",
                "rule_hash",
                "state",
                "stop_reason",
            ),
        },
    ),
    Personal(
        "rating_apitoken",
        "owner",
        {S: ("name",), L: ("owner_id",), N: ("prefix", "secret_hash", "scopes")},
    ),
    Personal("rating_apicall", "token__owner", {D: ("key", "request_hash", "answer")}),
    Personal(
        "rating_elsewhere",
        "brought_by",
        {S: ("rows",), L: ("brought_by_id",), N: ("name", "source", "scale", "sha256")},
    ),
    Personal("django_session", "", {D: ("session_key", "session_data")}),
)

#: Tables in which there is nothing of anybody who has an account, with what they are.
NOBODY: Final = {
    "auth_group": "the roles there are",
    "auth_group_permissions": "Django's own",
    "auth_permission": "Django's own",
    "django_content_type": "Django's own",
    "django_migrations": "Django's own",
    "rating_heartbeat": "workers",
    "rating_judge": "models that judge",
    "rating_judgement": "what judges replied",
    "rating_paneljudge": "models that judge",
    "rating_quote": "places in a reply",
    "rating_reviewwork": "the wordings that are reviewed",
    "rating_seal": "hashes; those of what is personal are salted, and the salt is erased",
    "rating_touch": "which rows are to be sealed",
    "runs_anchor": "the bank",
    "runs_bank": "the bank, and who is named in it as its author",
    "runs_deviation": "what was done otherwise than planned",
    "runs_item": "the bank, and who is named in it as an item's author",
    "runs_pair": "the bank",
    "runs_probe": "what models replied",
    "runs_probing": "how far the asking is",
    "runs_response": "what models replied",
    "runs_run": "what models are asked",
    "runs_subject": "models",
    "runs_subjectlimit": "how fast models are asked",
    "runs_wave": "plans",
}

#: Kinds of columns that could hold something of a person.
MAY_HOLD: Final = (models.CharField, models.TextField, models.JSONField, models.BinaryField)


def may_hold(model: type[models.Model]) -> set[str]:
    """The columns of a table that could hold something of a person: text, and ways to people."""
    whole = model._meta.db_table == "rating_user"
    return {
        one.attname
        for one in model._meta.concrete_fields
        if whole
        or (one.related_model is not None and one.related_model._meta.db_table == "rating_user")
        or (isinstance(one, MAY_HOLD) and not one.is_relation)
    }


def there() -> list[tuple[Personal, type[models.Model]]]:
    """The tables with something of a person that this installation has."""
    known = all_models()
    return [(one, known[one.table]) for one in PERSONAL if one.table in known]
