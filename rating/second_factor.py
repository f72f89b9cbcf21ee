"""The second factor: a code beside the password, from an app or off a list of recovery codes.

The codes themselves, and their tables, are allauth's. Here is who must have one, how their keys
are hidden in the database, and each act: set up, turn off, new recovery codes, set up anew.
"""

import base64
import hashlib
import secrets
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret, validate_totp_code
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from qrcode import QRCode
from qrcode.constants import ERROR_CORRECT_M

from rating.models import EventKind, Role, User
from rating.queue import lock, log, writing

# These can change what others do, or see whose work is whose.
DEMANDED_OF: Final = (Role.MAINTAINER, Role.ADMIN)
CODES: Final = 10

WRONG_CODE: Final = "This code does not fit. The app shows a new one every half minute."
KEY_CHANGED: Final = (
    "This site can no longer read your second factor: the key that hides it was changed. "
    "Ask an admin to let you set it up anew."
)


class Refused(ValueError):
    """What cannot be done, with the sentence to show."""


def is_demanded(person: User) -> bool:
    """Whether this person must have a second factor."""
    return settings.SECOND_FACTOR and not person.roles.isdisjoint(DEMANDED_OF)


def is_missing(person: User) -> bool:
    """Whether this person must set one up before anything else."""
    return not person.second_factor and is_demanded(person)


def with_factor(people: "QuerySet[User]") -> "QuerySet[User]":
    """These people, each with whether they have one, as ``has_factor``."""
    theirs = Authenticator.objects.filter(user=OuterRef("pk"), type=Authenticator.Type.TOTP)
    return people.annotate(has_factor=Exists(theirs))


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]
    """What allauth asks of us: how a key is hidden, and what is said of a wrong code."""

    error_messages = {**DefaultMFAAdapter.error_messages, "incorrect_code": WRONG_CODE}

    def get_totp_issuer(self) -> str:
        return "Compassion"

    def encrypt(self, text: str) -> str:
        return _hider(*_keys()).encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Raises ``cryptography.fernet.InvalidToken`` where no key of ours hid it."""
        return _hider(*_keys()).decrypt(encrypted_text.encode()).decode()


def new_secret() -> str:
    """What an app makes its codes of: twenty random bytes, in letters and digits."""
    made: str = generate_totp_secret()
    return made


def set_up(person: User, secret: str, code: str, *, now: datetime) -> None:
    """Ask for a code of this secret from now on. Every session ends; the caller keeps its own.

    Raises ``Refused`` if the code is not one of the secret's, or there is a factor already.
    """
    if not validate_totp_code(secret, code):
        raise Refused(WRONG_CODE)
    with writing():
        lock(person.pk)
        if Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).exists():
            raise Refused("You have a second factor already.")
        made = TOTP.activate(person, secret)
        Authenticator.objects.filter(pk=made.instance.pk).update(created_at=now, last_used_at=now)
        _new_codes(person)
        _end_sessions(person)
        log(EventKind.FACTOR, person.pk, person=person.pseudonym, did="set up")
    # Whoever saw the code being typed cannot use it.
    made._mark_code_used(code)


def turn_off(person: User) -> None:
    """Ask for the password alone from now on. Raises ``Refused`` where a role demands more."""
    if is_demanded(person):
        raise Refused("Maintainers and admins sign in with a second factor. It stays on.")
    with writing():
        lock(person.pk)
        if Authenticator.objects.filter(user=person).delete()[0]:
            _end_sessions(person)
            log(EventKind.FACTOR, person.pk, person=person.pseudonym, did="turned off")


def new_codes(person: User) -> None:
    """Ten recovery codes in place of those there were. Raises ``Refused`` without a factor."""
    with writing():
        lock(person.pk)
        if not Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).exists():
            raise Refused("There is no second factor that they could stand in for.")
        _new_codes(person)
        log(EventKind.FACTOR, person.pk, person=person.pseudonym, did="new recovery codes")


def let_set_up_anew(person: User, by: User | None, reason: str) -> None:
    """Take somebody's lost factor away and end their sessions; ``by`` none: from the command line.

    They sign in with their password next, and are led to set one up where a role demands it.
    Raises ``Refused`` for one's own, and where there is none.
    """
    if by is not None and by.pk == person.pk:
        raise Refused("This is your own. Another admin can do it, or `manage.py second_factor`.")
    with writing():
        lock(person.pk)
        if not Authenticator.objects.filter(user=person).delete()[0]:
            raise Refused(f"{person} has no second factor.")
        _end_sessions(person)
        log(
            EventKind.FACTOR,
            by.pk if by else None,
            person=person.pseudonym,
            did="let set up anew",
            reason=reason,
        )


def codes_left(person: User) -> list[str]:
    """The recovery codes that were not used yet, as far as they can be read."""
    found = _codes_of(person)
    try:
        left: list[str] = found.get_unused_codes() if found else []
    except InvalidToken:
        return []
    return left


def is_readable(person: User) -> bool:
    """Whether one of the keys there are still reads what they hid for this person."""
    try:
        for one in Authenticator.objects.filter(user=person):
            Adapter().decrypt(one.data.get("secret") or one.data["seed"])
    except InvalidToken:
        return False
    return True


def picture(url: str) -> dict[str, Any]:
    """The dark squares of a QR code as one path, and how many fit into a row."""
    code = QRCode(error_correction=ERROR_CORRECT_M, border=0)
    code.add_data(url)
    rows = code.get_matrix()
    path = "".join(
        f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, dark in enumerate(row) if dark
    )
    return {"path": path, "size": len(rows)}


def _new_codes(person: User) -> None:
    Authenticator.objects.filter(user=person, type=Authenticator.Type.RECOVERY_CODES).delete()
    RecoveryCodes.activate(person)


def _codes_of(person: User) -> RecoveryCodes | None:
    found = Authenticator.objects.filter(
        user=person, type=Authenticator.Type.RECOVERY_CODES
    ).first()
    return RecoveryCodes(found) if found else None


def _end_sessions(person: User) -> None:
    person.session_salt = secrets.token_hex(16)
    User.objects.filter(pk=person.pk).update(session_salt=person.session_salt)


def _keys() -> tuple[str, ...]:
    """The key that hides, and those that may have hidden before it."""
    known = (settings.SECOND_FACTOR_KEY, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return tuple(key for key in known if key)


@lru_cache(maxsize=8)
def _hider(*keys: str) -> MultiFernet:
    made = [hashlib.sha256(f"rating.second_factor|{key}".encode()).digest() for key in keys]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in made])
