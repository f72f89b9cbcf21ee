"""How somebody joins, by an invitation and in no other way."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from django.conf import settings
from django.contrib.auth.models import Group
from django.core import signing
from django.db import DEFAULT_DB_ALIAS, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from rating.erasures import Erasure
from rating.limits import sender_of
from rating.models import EventKind, Invitation, Role, User
from rating.personal.erasing import erasure_of, give_back, keep_apart, lock_admins
from rating.queue.writing import lock, log, writing
from rating.tokens import ApiToken

SALT = "rating.invitation"


class InvitationOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody signs themselves up; who a sender is; and when somebody signs in again."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def set_password(self, user: User, password: str) -> None:
        """Store a password and nothing else: whose account is closed meanwhile stays out."""
        user.set_password(password)
        with writing():
            lock(user.pk)
            if User.objects.filter(pk=user.pk, is_active=True).exists():
                user.save(update_fields=["password"])

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """By the account alone. allauth's has the host in it, which a sender can spell anew."""
        login: str = credentials.get("email", credentials.get("username", ""))
        return login.lower()

    def get_client_ip(self, request: HttpRequest) -> str:
        return sender_of(request)

    def is_safe_url(self, url: str) -> bool:
        """Whether somebody may be sent there: within this site, and nowhere else."""
        request = context.request
        return url_has_allowed_host_and_scheme(url, {request.get_host()}, request.is_secure())

    def reauthenticate(self, user: User, password: str) -> bool:
        found = self.authenticate(context.request, email=user.email, password=password)
        return found is not None and found.pk == user.pk

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Whoever has a second factor signs in again with it, all others with their password."""
        found = super().get_reauthentication_methods(user)
        return [way for way in found if way["id"] == "mfa_reauthenticate"] or found

    def is_reauthentication_required(self, *, app: str, **_: Any) -> bool:
        """Not of somebody who has just signed in: nobody is asked the same twice.

        Nor of somebody who has nothing to sign in again with.
        """
        request = context.request
        if not self.get_reauthentication_methods(request.user):
            return False
        way = "mfa" if request.user.second_factor else "password"
        return not any(
            one["method"] == way and time.time() - one["at"] < app_settings.REAUTHENTICATION_TIMEOUT
            for one in get_authentication_records(request, request.user)
        )


class InvitationEnded(ValueError):
    """A link that opens no account, with the sentence to show."""


def create_roles(using: str = DEFAULT_DB_ALIAS, **_: Any) -> None:
    """The groups exist wherever the tables do."""
    for role in Role.values:
        Group.objects.using(using).get_or_create(name=role)


def give_roles(user: User, roles: Sequence[str]) -> None:
    user.groups.set(Group.objects.filter(name__in=roles))


def save_of(person: User, *fields: str) -> None:
    """Store these fields of somebody, unless they were erased meanwhile."""
    with writing():
        lock(person.pk)
        if not Erasure.objects.filter(person=person.pk).exists():
            person.save(update_fields=fields)


class CannotChange(ValueError):
    """Why what somebody may do cannot be changed so, with the sentence to show."""


def set_access(
    person: User, by: User, roles: Sequence[str], *, may_come_in: bool, reason: str, now: datetime
) -> None:
    """Give somebody these roles and no other, and let them sign in or not.

    What they hold of a role they lose goes back to others; what they did stays. An account that is
    closed has no session from then on, and its tokens have ended.

    Raises ``CannotChange``.
    """
    with writing():
        admins = lock_admins()
        lock(person.pk)
        found = User.objects.get(pk=person.pk)
        if Erasure.objects.filter(person=found).exists():
            raise CannotChange("This person was erased meanwhile.")
        keeps_admin = may_come_in and Role.ADMIN in roles
        if Role.ADMIN in found.roles and not keeps_admin:
            if found.pk == by.pk:
                raise CannotChange("Another admin does this for you: nobody shuts themselves out.")
            if not admins.exclude(pk=found.pk).exists():
                raise CannotChange("This is the only admin. Give somebody else that role first.")
        give_back(found, found.roles - set(roles) if may_come_in else Role.values, now)
        give_roles(found, roles)
        User.objects.filter(pk=found.pk).update(is_active=may_come_in)
        if not may_come_in:
            # Ended, and not only shut: it may be for a stolen one that the account is closed.
            ApiToken.objects.filter(owner=found, revoked_at=None).update(revoked_at=now)
        log(
            EventKind.ACCESS,
            by.pk,
            person=found.pseudonym,
            roles=", ".join(sorted(roles)),
            open="yes" if may_come_in else "no",
            reason=reason.strip(),
        )


class ErasedBefore(ValueError):
    """The address is of somebody whose data were erased, with the sentence to show."""


def invite(
    email: str, roles: Sequence[str], invited_by: User | None, *, again: bool = False
) -> Invitation:
    """Invite an address. Raises ``ErasedBefore``, unless they come ``again`` as they wish."""
    if not again and (erased := erasure_of(email)):
        raise ErasedBefore(
            "Whoever has this address asked for their data to be erased, on "
            f"{erased.erased_at:%-d %B %Y} ({erased.reason}). Invite them again if they wish it; "
            "they will not be given what they rated before."
        )
    with writing():
        made = Invitation.objects.create(
            email=email.strip().lower(), roles=list(roles), invited_by=invited_by
        )
        by = invited_by.pk if invited_by else None
        log(EventKind.INVITE, by, invitation=made.pk, roles=", ".join(roles))
    return made


def link_to(invitation: Invitation) -> str:
    """The path that opens an account, signed. It ends by itself, and at its first use."""
    return reverse("rating:join", args=[signing.dumps(invitation.pk, salt=SALT)])


def invitation_of(token: str) -> Invitation:
    """The invitation behind a link. Raises ``InvitationEnded`` if it opens no account."""
    days = settings.INVITATION_DAYS
    try:
        pk = signing.loads(token, salt=SALT, max_age=days * 86_400)
    except signing.SignatureExpired:
        raise InvitationEnded(
            f"This link is older than {days} days. Ask the person who invited you for a new one."
        ) from None
    except signing.BadSignature:
        raise InvitationEnded(
            "This link is not whole. Copy all of it, from the first character to the last."
        ) from None
    invitation = Invitation.objects.filter(pk=pk).first()
    if invitation is None or invitation.accepted_at:
        raise InvitationEnded("This link was used already. Sign in with your address instead.")
    if User.objects.filter(email__iexact=invitation.email).exists():
        raise InvitationEnded("This address has an account. Sign in with it instead.")
    return invitation


@transaction.atomic
def join(token: str, name: str, password: str) -> User:
    """Open the account of an invitation. Raises ``InvitationEnded`` if it was used meanwhile."""
    invitation = Invitation.objects.select_for_update().get(pk=invitation_of(token).pk)
    if invitation.accepted_at:
        raise InvitationEnded("This link was used already. Sign in with your address instead.")
    user = User.objects.create_user(invitation.email, password, name=name)
    give_roles(user, invitation.roles)
    invitation.accepted_by, invitation.accepted_at = user, timezone.now()
    invitation.save(update_fields=["accepted_by", "accepted_at"])
    if erased := erasure_of(invitation.email):
        keep_apart(user, erased, now=timezone.now())
    roles = ", ".join(invitation.roles)
    log(EventKind.JOIN, user.pk, invitation=invitation.pk, person=user.pseudonym, roles=roles)
    return user
