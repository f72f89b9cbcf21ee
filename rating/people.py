"""How somebody joins: by an invitation, and in no other way."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib.auth.models import Group
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest

from rating.models import Role


class InvitationOnlyAdapter(DefaultAccountAdapter):
    """Nobody signs themselves up."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


def create_roles(using: str = DEFAULT_DB_ALIAS, **_: Any) -> None:
    """The groups exist wherever the tables do."""
    for role in Role.values:
        Group.objects.using(using).get_or_create(name=role)
