"""Making and ending tokens. Each is an event in the log; the secret is told once."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from rating.api.door import hash_of
from rating.models import EventKind, User
from rating.queue import log, writing
from rating.tokens import LONGEST_LIFE, SCOPES, ApiToken
from runs.models import Wave

#: What a secret begins with, so that a search for leaked secrets can find one.
MARK: Final = "cmpn_"
SHOWN: Final = len(MARK) + 6


class Refused(ValueError):
    """A token that cannot be made, with the sentence to show."""


def scopes_for(person: User) -> dict[str, str]:
    """What somebody may make a token for, with what it opens, in one order."""
    return {
        scope: opens
        for scope, (roles, opens) in SCOPES.items()
        if not roles.isdisjoint(person.roles)
    }


def make_token(
    owner: User,
    name: str,
    scopes: Sequence[str],
    *,
    now: datetime,
    days: int,
    wave: Wave | None = None,
) -> tuple[ApiToken, str]:
    """A new token and its secret, which is told here and never again. Raises ``Refused``."""
    may = scopes_for(owner)
    wanted = [scope for scope in SCOPES if scope in scopes]
    if unknown := sorted(set(scopes) - set(SCOPES)):
        raise Refused(f"There is no scope {unknown[0]}; the scopes are: {', '.join(SCOPES)}.")
    if not wanted:
        raise Refused("Choose at least one scope.")
    if beyond := [scope for scope in wanted if scope not in may]:
        raise Refused(f"{owner} has no role for {', '.join(beyond)}.")
    if not name.strip():
        raise Refused("Name what the token is for.")
    if not 1 <= days <= LONGEST_LIFE.days:
        raise Refused(f"A token lasts 1 to {LONGEST_LIFE.days} days.")
    if wave is not None and wave.locked_at is None:
        raise Refused(f"{wave} is a draft: a token is for a wave that is locked, or for all.")
    secret = MARK + secrets.token_urlsafe(32)
    with writing():
        token = ApiToken.objects.create(
            prefix=secret[:SHOWN],
            secret_hash=hash_of(secret),
            name=name.strip(),
            owner=owner,
            scopes=wanted,
            wave=wave,
            made_at=now,
            ends_at=now + timedelta(days=days),
        )
        log(
            EventKind.TOKEN,
            owner.pk,
            token=token.prefix,
            step="made",
            scopes=" ".join(wanted),
            wave=wave.code if wave else "",
            until=token.ends_at.date().isoformat(),
        )
    return token, secret


def end_token(token: ApiToken, by: User | None, *, now: datetime) -> bool:
    """End a token for good, and say whether it had not ended before. None: at a terminal."""
    with writing():
        ended = bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now))
        if ended:
            log(EventKind.TOKEN, by.pk if by else None, token=token.prefix, step="ended")
    return ended
