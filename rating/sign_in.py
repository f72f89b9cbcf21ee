"""Who is behind a request: the person, their roles and whether they have a second factor.

All in one statement, made for every request.
"""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.db import connection

from rating.models import User
from rating.queue.rows import Columns, rows

_user = Columns(User, "u")


class Backend(AuthenticationBackend):  # type: ignore[misc]
    """allauth's own, but for the way back from a session to its person."""

    def get_user(self, user_id: Any) -> User | None:
        joined = "STRING_AGG" if connection.vendor == "postgresql" else "GROUP_CONCAT"
        found = rows(
            f"SELECT {_user.sql}, (SELECT {joined}(g.name, '|') FROM rating_user_groups m"
            " JOIN auth_group g ON g.id = m.group_id WHERE m.user_id = u.id),"
            " EXISTS(SELECT 1 FROM mfa_authenticator f WHERE f.user_id = u.id AND f.type = 'totp')"
            " FROM rating_user u WHERE u.id = %s",
            user_id,
        )
        if not found:
            return None
        *columns, roles, factor = found[0]
        user = _user.make(columns)
        assert user is not None
        user.second_factor = bool(factor)
        user.roles = frozenset(roles.split("|") if roles else ())
        return user if self.user_can_authenticate(user) else None
