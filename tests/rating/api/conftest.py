"""Programs that call the API, each with a token of its own."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rating.api.keys import make_token
from rating.models import Role, User
from rating.tokens import SCOPES, ApiToken
from runs.models import Wave
from tests.factories import make_user

ROOT = "/api/v1"


class Program:
    """What calls with one token."""

    def __init__(self, token: ApiToken, secret: str) -> None:
        self.token = token
        self.secret = secret
        self.client = Client(raise_request_exception=False)

    @property
    def person(self) -> User:
        return self.token.owner

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(ROOT + path, headers=self._headers(headers))

    def post(self, path: str, body: Any, *, key: str = "one", **headers: str) -> Any:
        return self.client.post(
            ROOT + path,
            body if isinstance(body, bytes | str) else json.dumps(body),
            content_type=headers.pop("content_type", "application/json"),
            headers=self._headers({"Idempotency-Key": key, **headers}),
        )

    def delete(self, path: str) -> Any:
        return self.client.delete(ROOT + path, headers=self._headers({}))

    def walk(self, path: str, *, limit: int) -> list[Any]:
        """Every row of a list, page by page."""
        found, after = [], ""
        mark = "&" if "?" in path else "?"
        while after is not None:
            page = self.get(f"{path}{mark}limit={limit}&after={after}").json()
            assert len(page["items"]) <= limit
            found += page["items"]
            after = page["next"]
        return found

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}", **more}


def program_of(
    owner: User | None = None,
    scopes: Sequence[str] = (),
    wave: Wave | None = None,
    days: int = 30,
) -> Program:
    owner = owner or make_user(Role.MAINTAINER)
    token, secret = make_token(
        owner, "a script", scopes or list(SCOPES), now=timezone.now(), days=days, wave=wave
    )
    return Program(token, secret)


@pytest.fixture
def program() -> Program:
    """One that may do all that a maintainer may."""
    return program_of()


@pytest.fixture
def programs() -> Callable[..., Program]:
    return program_of
