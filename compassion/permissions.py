"""Who may come through which door: for each URL its methods, its roles, and whose things it shows.

The document is made of this table, and tests hold every URL there is against it, as each role, by
each method, with what is one's own, another's, ended or not there. A URL without a line here
fails a test. Whoever may not come gets a 404, as if there were no such page; a wrong method gets
a 405; whoever has not signed in is led to sign in.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.urls import URLPattern, URLResolver, get_resolver

from rating.models import Role


class Who(StrEnum):
    """Doors that ask for no role."""

    ANYONE = "anyone"
    SIGNED_IN = "anyone who has signed in"
    TOKEN = "a token that may"


class Whose(StrEnum):
    """Whose things an address may name."""

    NONE = ""
    ANY = "any"
    OWN = "one's own"
    # Nothing of it is shown, but that somebody else has it now.
    HELD = "one's own; of what another holds it is said that they do"


@dataclass(frozen=True)
class Door:
    methods: frozenset[str]
    who: frozenset[str] | Who
    whose: Whose = Whose.NONE
    # What else must be so, or the answer is a 404 as well.
    only: str = ""

    def admits(self, roles: frozenset[str]) -> bool:
        """Whether somebody who has signed in may come with these roles."""
        return isinstance(self.who, Who) or not self.who.isdisjoint(roles)


LOOK: Final = frozenset({"GET", "HEAD"})
DO: Final = frozenset({"POST"})
BOTH: Final = LOOK | DO

RATER: Final = frozenset({Role.RATER.value})
REVIEWER: Final = frozenset({Role.ITEM_REVIEWER.value, Role.ADMIN.value})
ADJUDICATOR: Final = frozenset({Role.ADJUDICATOR.value})
MAINTAINER: Final = frozenset({Role.MAINTAINER.value})
ADMIN: Final = frozenset({Role.ADMIN.value})
STAFF: Final = MAINTAINER | ADMIN
ALL: Final = frozenset(Role.values)

_DRAFT: Final = "a wave whose plan is not locked"
_UNBLINDED: Final = "a wave that is unblinded"
_FILES: Final = "a file there is"

# Whoever calls these comes with a token, not a role: tests/rating/api holds each call against each scope.
OF_PROGRAMS: Final = {"api"}

DOORS: Final[Mapping[str, Door]] = {
    "healthz": Door(LOOK, Who.ANYONE),
    "readyz": Door(LOOK, Who.ANYONE),
    "home": Door(LOOK, Who.ANYONE),
    # Signing in
    "account_login": Door(BOTH, Who.ANYONE),
    "mfa_authenticate": Door(BOTH, Who.ANYONE),
    "account_logout": Door(BOTH, Who.ANYONE),
    "account_inactive": Door(LOOK, Who.ANYONE),
    "account_reset_password": Door(BOTH, Who.ANYONE),
    "account_reset_password_done": Door(LOOK, Who.ANYONE),
    "account_reset_password_from_key": Door(BOTH, Who.ANYONE, only="a link that still opens"),
    "account_reset_password_from_key_done": Door(LOOK, Who.ANYONE),
    "account_reauthenticate": Door(BOTH, Who.SIGNED_IN),
    "mfa_reauthenticate": Door(BOTH, Who.SIGNED_IN),
    "account_change_password": Door(BOTH, Who.SIGNED_IN),
    "account_set_password": Door(BOTH, Who.SIGNED_IN),
    "rating:second_factor": Door(LOOK, Who.SIGNED_IN),
    "rating:set_up_factor": Door(BOTH, Who.SIGNED_IN),
    "rating:turn_off_factor": Door(BOTH, Who.SIGNED_IN),
    "rating:recovery_codes": Door(BOTH, Who.SIGNED_IN, only="somebody with a second factor"),
    "rating:recovery_file": Door(LOOK, Who.SIGNED_IN, only="while the codes are shown"),
    "rating:join": Door(BOTH, Who.ANYONE, only="an invitation that was not used"),
    "rating:token": Door(LOOK, Who.ANYONE),
    "rating:text": Door(BOTH, Who.SIGNED_IN),
    # What anyone may read
    "rating:about": Door(LOOK, Who.ANYONE),
    "rating:published": Door(LOOK, Who.ANYONE),
    "rating:published_report": Door(LOOK, Who.ANYONE, Whose.ANY, only="a published wave"),
    "rating:published_file": Door(LOOK, Who.ANYONE, Whose.ANY, only="a published wave"),
    "rating:api": Door(LOOK, Who.ANYONE),
    "rating:guidelines": Door(LOOK, ALL),
    "rating:who_sees_what": Door(LOOK, ALL),
    # Rating
    "rating:queue": Door(LOOK, RATER),
    "rating:start": Door(DO, RATER),
    "rating:rate": Door(DO, RATER, Whose.OWN),
    "rating:skip": Door(BOTH, RATER, Whose.OWN),
    "rating:keep": Door(DO, RATER, Whose.OWN),
    "rating:undo": Door(DO, RATER, Whose.OWN),
    "rating:guess": Door(DO, RATER, Whose.OWN, only="a card whose rater was asked"),
    "rating:pause": Door(LOOK, RATER),
    "rating:practice": Door(LOOK, RATER),
    "rating:practice_next": Door(DO, RATER, only="an instrument there is"),
    "rating:practised": Door(LOOK, RATER, Whose.OWN),
    "rating:qualify_next": Door(DO, RATER, only="an instrument there is"),
    "rating:qualification": Door(LOOK, RATER, Whose.OWN),
    "rating:standing": Door(LOOK, RATER),
    "rating:own_file": Door(LOOK, RATER, Whose.OWN, only=_FILES),
    "rating:notice": Door(DO, RATER),
    "rating:counts": Door(DO, RATER),
    "rating:vote": Door(BOTH, RATER, only="a senior rater"),
    # Settling
    "rating:settle_queue": Door(LOOK, ADJUDICATOR),
    "rating:settle_next": Door(DO, ADJUDICATOR),
    "rating:settle": Door(BOTH, ADJUDICATOR, Whose.HELD),
    "rating:norming": Door(LOOK, MAINTAINER | ADJUDICATOR),
    "rating:nominate": Door(DO, MAINTAINER),
    "rating:seniors": Door(DO, MAINTAINER, only="a rater there is"),
    "rating:agree": Door(BOTH, ADJUDICATOR, Whose.ANY, only="whoever gave none of its votes"),
    "rating:retire": Door(DO, MAINTAINER | ADJUDICATOR, Whose.ANY),
    # Reviewing items
    "rating:review_queue": Door(LOOK, REVIEWER),
    "rating:review_next": Door(DO, REVIEWER),
    "rating:review": Door(BOTH, REVIEWER, Whose.OWN),
    "rating:reviews": Door(LOOK, STAFF),
    "rating:bank": Door(LOOK, STAFF),
    "rating:bank_of": Door(LOOK, STAFF, Whose.ANY),
    "rating:item": Door(
        LOOK, STAFF | REVIEWER, Whose.ANY, only="of reviewers, one they have reviewed"
    ),
    "rating:draft_version": Door(BOTH, ADMIN, Whose.ANY),
    "rating:draft_item": Door(BOTH, ADMIN, Whose.ANY),
    # People
    "rating:people": Door(BOTH, ADMIN),
    "rating:expertise": Door(DO, ADMIN, Whose.ANY),
    "rating:api_tokens": Door(BOTH, STAFF),
    "rating:end_api_token": Door(DO, STAFF, Whose.OWN, only="for admins, anybody's"),
    "rating:access": Door(BOTH, ADMIN, Whose.ANY, only="whose data are not erased yet"),
    "rating:erase_person": Door(BOTH, ADMIN, Whose.ANY, only="whose data are not erased yet"),
    "rating:factor_anew": Door(BOTH, ADMIN, Whose.ANY),
    "rating:care": Door(LOOK, STAFF),
    "rating:care_file": Door(LOOK, STAFF, Whose.ANY, only=_FILES),
    "rating:raters": Door(LOOK, MAINTAINER),
    "rating:effects": Door(LOOK, MAINTAINER),
    "rating:hand_over": Door(DO, MAINTAINER, Whose.ANY, only="one that was begun"),
    "rating:pause_rater": Door(DO, MAINTAINER, Whose.ANY),
    "rating:resume_rater": Door(DO, MAINTAINER, Whose.ANY),
    # Waves, and what they asked
    "runs:waves": Door(LOOK, MAINTAINER),
    "runs:new": Door(BOTH, MAINTAINER),
    "runs:load": Door(DO, MAINTAINER),
    "runs:wave": Door(LOOK, MAINTAINER, Whose.ANY),
    "runs:basics": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:subjects": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:preregistration": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:cost": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:lock": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:delete": Door(BOTH, MAINTAINER, Whose.ANY, only=_DRAFT),
    "runs:file": Door(LOOK, MAINTAINER, Whose.ANY, only="a wave with a plan"),
    "runs:start": Door(DO, MAINTAINER, Whose.ANY),
    "runs:act": Door(DO, MAINTAINER, Whose.ANY, only="an act there is"),
    "runs:deviate": Door(DO, MAINTAINER, Whose.ANY),
    "runs:ceiling": Door(DO, MAINTAINER, Whose.ANY),
    "runs:probe": Door(DO, MAINTAINER, Whose.ANY),
    "subjects:all": Door(LOOK, MAINTAINER),
    "subjects:one": Door(LOOK, MAINTAINER, Whose.ANY),
    # What was rated
    "rating:freeze": Door(BOTH, MAINTAINER, Whose.ANY),
    "rating:unblind": Door(BOTH, MAINTAINER, Whose.ANY),
    "rating:names": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:cover": Door(DO, MAINTAINER, Whose.ANY, only="a response that names its maker"),
    "rating:key": Door(LOOK, MAINTAINER, Whose.ANY, only=_UNBLINDED),
    "rating:key_file": Door(LOOK, MAINTAINER, Whose.ANY, only=_UNBLINDED),
    "rating:agreement": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:judges_beside": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:judges": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:judgements": Door(LOOK, MAINTAINER, Whose.ANY, only="a response that was judged"),
    "rating:readings": Door(LOOK, MAINTAINER, Whose.ANY, only="a response that two rated"),
    "rating:results": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:parity": Door(LOOK, MAINTAINER, Whose.ANY, only="a wave of pairs"),
    "rating:health": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:gate": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:why": Door(LOOK, MAINTAINER, Whose.ANY, only=_UNBLINDED),
    "rating:whole_report": Door(BOTH, MAINTAINER, Whose.ANY),
    "rating:whole_file": Door(LOOK, MAINTAINER, Whose.ANY, only=_UNBLINDED),
    "rating:report": Door(LOOK, MAINTAINER, Whose.ANY),
    "rating:report_all": Door(DO, MAINTAINER, Whose.ANY),
    "rating:report_file": Door(LOOK, MAINTAINER, Whose.ANY, only=_FILES),
}


@dataclass(frozen=True)
class Address:
    """A URL there is: its name, its path as it is written in the URLs, and its pattern."""

    name: str
    path: str
    pattern: URLPattern


def addresses() -> list[Address]:
    """Every URL of the site."""
    return list(_walk(get_resolver()))


def as_markdown() -> str:
    """The table as it stands in the documents: a line for each URL, by address."""
    lines = [
        "| Address | Look | Do | Who | Whose | Only |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for address in sorted(addresses(), key=lambda one: one.path):
        door = DOORS[address.name]
        cells = [
            f"`{_plain(address.path)}`",
            "yes" if door.methods & LOOK else "",
            "yes" if door.methods & DO else "",
            str(door.who) if isinstance(door.who, Who) else _roles(door.who),
            str(door.whose),
            door.only,
        ]
        lines.append(f"| {' | '.join(cells)} |".replace("|  ", "| ").replace("  |", " |"))
    return "\n".join(lines)


def _plain(path: str) -> str:
    """An address that is a regular expression, written as the others are."""
    return re.sub(r"\(\?P(<\w+>)[^)]*\)", r"\1", path).replace("/^", "/").rstrip("$")


def _roles(roles: frozenset[str]) -> str:
    if roles == ALL:
        return "any role"
    return ", ".join(role for role in Role.values if role in roles)


def _walk(resolver: URLResolver, prefix: str = "/", within: str = "") -> Iterator[Address]:
    for one in resolver.url_patterns:
        path = f"{prefix}{one.pattern}"
        if isinstance(one, URLResolver):
            if one.namespace in OF_PROGRAMS:
                continue
            space = f"{within}{one.namespace}:" if one.namespace else within
            yield from _walk(one, path, space)
        else:
            yield Address(f"{within}{one.name}", path, one)
