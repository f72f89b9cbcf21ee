"""Erase what is known of a person, and keep what they found.

Ratings, quotes and reviews stay under the code name, which then leads to nobody. The row of the
account stays too, emptied, since they refer to it.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from rating.erasures import Erasure
from rating.models import (
    Adjudication,
    Assignment,
    EventKind,
    Exposure,
    Invitation,
    Outcome,
    Rating,
    ReviewHold,
    ReviewOutcome,
    Role,
    Saw,
    User,
    default_languages,
    new_key,
)
from rating.personal.declared import Held, there
from rating.queue.pausing import end_cards
from rating.queue.writing import lock, log, writing
from rating.tokens import ApiToken

SALT: Final = "rating.erasure"
ENDING: Final = "erased.invalid"  # a name that no address can ever have
#: The order in which rows go: each before those that it refers to.
FIRST: Final = ("account_emailconfirmation", "rating_draft")


class CannotErase(ValueError):
    """Why somebody cannot be erased now, with the sentence to show."""


def why_not(person: User) -> str:
    """Why somebody cannot be erased now; nothing, if they can."""
    if Erasure.objects.filter(person=person).exists():
        return "This person is erased already."
    admins = _admins()
    if admins.filter(pk=person.pk).exists() and not admins.exclude(pk=person.pk).exists():
        return "This is the only admin. Give somebody else that role first."
    return ""


def erase(person: User, by: User | None, reason: str, *, now: datetime) -> Erasure:
    """Erase a person for good. ``by`` is None where it was done at a terminal.

    Raises ``CannotErase``.
    """
    if not reason.strip():
        raise CannotErase("Say why, in a few words that name nobody.")
    with writing():
        lock_admins()
        lock(person.pk)
        found = User.objects.get(pk=person.pk)
        if why := why_not(found):
            raise CannotErase(why)
        give_back(found, Role.values, now)
        for one, model in sorted(there(), key=lambda pair: pair[0].table not in FIRST):
            if one.deleted and one.of:
                model._base_manager.filter(**{one.of: found.pk}).delete()
        _empty(found)
        # A token is ended and never deleted: what it opened, and when, stays on record.
        ApiToken.objects.filter(owner=found, revoked_at=None).update(revoked_at=now)
        address = found.email
        _forget_invitations(found, address)
        _close(found)
        made = Erasure.objects.create(
            person=found,
            address_hash=address_hash(address),
            reason=reason.strip(),
            erased_by=by,
            erased_at=now,
        )
        log(EventKind.ERASE, by.pk if by else None, person=found.pseudonym)
    _end_sessions(found.pk)
    return made


def lock_admins() -> QuerySet[User]:
    """Two admins who shut each other out at one moment wait for one another here."""
    list(_admins().select_for_update(no_key=True, of=("self",)).order_by("pk"))
    return _admins()


def _admins() -> QuerySet[User]:
    return User.objects.filter(is_active=True, groups__name=Role.ADMIN)


def address_hash(address: str, secret: str | None = None) -> str:
    """A hash by which an address is known again, and which nobody can try out without our key."""
    return salted_hmac(SALT, address.strip().lower(), secret=secret, algorithm="sha256").hexdigest()


def erasure_of(address: str) -> Erasure | None:
    """The erasure of whoever had this address, if there was one."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return (
        Erasure.objects.filter(address_hash__in=[address_hash(address, one) for one in secrets])
        .order_by("-erased_at")
        .first()
    )


def keep_apart(person: User, erased: Erasure, *, now: datetime) -> int:
    """See that whoever joins again rates no wave of theirs a second time; return how many waves.

    To the database they are two people, and a response could get both its ratings from one.
    """
    before = erased.person_id
    waves = {
        *Rating.objects.filter(rater=before).values_list("response__run__wave", flat=True),
        *Assignment.objects.filter(rater=before).values_list("response__run__wave", flat=True),
        *Exposure.objects.filter(person=before).values_list("wave", flat=True),
    }
    Exposure.objects.bulk_create(
        Exposure(person=person, saw=Saw.RATINGS, wave_id=wave, seen_at=now)
        for wave in sorted(waves)
    )
    return len(waves)


def give_back(person: User, roles: Collection[str], now: datetime) -> None:
    """What they hold in these roles goes back, so that others can have it."""
    if Role.RATER in roles:
        end_cards(person, Outcome.RELEASED, now)
    if Role.ITEM_REVIEWER in roles or Role.ADMIN in roles:  # both review
        ReviewHold.objects.live().filter(reviewer=person).update(
            ended_at=now, outcome=ReviewOutcome.RELEASED, parked=False
        )
    if Role.ADJUDICATOR in roles:
        Adjudication.objects.filter(
            adjudicator=person, own_at=None, settled_at=None, ended_at=None
        ).update(adjudicator=None, held_until=None)


#: What an emptied column holds, where that is not its own empty value.
EMPTY: Final[dict[tuple[str, str], Any]] = {
    ("rating_assignment", "skip_note"): "",
    ("rating_reviewhold", "skip_note"): "",
    ("rating_reviewhold", "draft"): {},
    ("rating_pause", "reason"): "",
    ("rating_pause", "earlier_ratings"): "",
}


def _empty(person: User) -> None:
    """Empty the columns of the rows that are of them. Rows with nothing in them stay untouched."""
    for (table, column), value in EMPTY.items():
        for one, model in there():
            if one.table == table:
                rows = model._base_manager.filter(**{one.of: person.pk})
                rows.exclude(**{column: value}).update(**{column: value})


def _forget_invitations(person: User, address: str) -> None:
    """A link that was not used opens no account any more: its address has one, which is closed."""
    of_them = Invitation.objects.filter(email__iexact=address) | Invitation.objects.filter(
        accepted_by=person
    )
    of_them.update(email=_no_address(person))


def _close(person: User) -> None:
    person.email = _no_address(person)
    person.set_unusable_password()
    person.name = person.country = ""
    person.languages, person.expertise, person.look = default_languages(), [], {}
    person.hard_topics = person.senior = person.is_active = person.is_superuser = False
    person.write_at_work = person.work_written_at = person.last_login = None
    person.check_key = new_key()
    if hasattr(person, "session_salt"):
        person.session_salt = ""
    person.save()


def _no_address(person: User) -> str:
    return f"{person.pseudonym}@{ENDING}"


def _end_sessions(pk: int) -> None:
    """Take away their sessions, which hold whose they are inside alone."""
    for one in Session.objects.iterator(chunk_size=500):
        if is_theirs(one, pk):
            one.delete()


def is_theirs(session: Session, pk: int) -> bool:
    """Whether a session is somebody's: also one that waits for the code after the password."""
    held = session.get_decoded()
    begun = held.get("account_login")
    owners = [
        held.get("_auth_user_id"),
        held.get("account_authentication_methods_user"),
        begun.get("user_pk") if isinstance(begun, dict) else None,
    ]
    return str(pk) in map(str, owners)


#: What the page and the command say becomes of what is held.
GOES: Final = (
    "Name, address, password and second factor",
    "Languages, country, expertise, roles and how pages look",
    "Notes on what was skipped, drafts, and what was said of pauses",
    "Declared interests, the address in invitations, and sessions",
)
STAYS: Final = (
    "Ratings and reviews with their quotes, notes and reasons, under the code name",
    "What was opened and seen, and when: who may rate what rests on it",
    "The log, which names the account by a number and the code name",
    "What tokens were called, and the author that a bank's file names for an item",
    "Copies in backups made before, until those are thrown away",
)

__all__ = ["GOES", "STAYS", "CannotErase", "Held", "erase", "erasure_of", "keep_apart", "why_not"]
