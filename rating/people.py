"""How somebody joins, by an invitation and in no other way."""

from collections.abc import Sequence
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib.auth.models import Group
from django.core import signing
from django.db import DEFAULT_DB_ALIAS, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from rating.models import Invitation, Role, User

SALT = "rating.invitation"


class InvitationOnlyAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Nobody signs themselves up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class InvitationEnded(ValueError):
    """A link that opens no account, with the sentence to show."""


def create_roles(using: str = DEFAULT_DB_ALIAS, **_: Any) -> None:
    """The groups exist wherever the tables do."""
    for role in Role.values:
        Group.objects.using(using).get_or_create(name=role)


def give_roles(user: User, roles: Sequence[str]) -> None:
    user.groups.set(Group.objects.filter(name__in=roles))


def invite(email: str, roles: Sequence[str], invited_by: User | None) -> Invitation:
    return Invitation.objects.create(
        email=email.strip().lower(), roles=list(roles), invited_by=invited_by
    )


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
    return user
