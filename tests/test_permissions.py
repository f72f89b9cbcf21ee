"""The table of permissions is the behaviour: quickly here, in each combination in tests/proof."""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import URLPattern

from compassion.permissions import ALL, DOORS, Who, addresses, as_markdown
from rating.models import Role
from tests.factories import make_user

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "permissions.md"
# What stands in an address where something is not there.
NOT_THERE = {
    "code": "00000000-0000-4000-8000-000000000000",
    "wave": "no-such-wave",
    "judging": "no-such-round",
    "name": "no-such-file",
    "pseudonym": "r-nobody",
    "pk": "987654",
    "token": "no-such-token",
    "uidb36": "zz",
    "key": "no-such-key",
}

pytestmark = pytest.mark.django_db


def path_of(path: str, pattern: URLPattern, values: dict[str, str] = NOT_THERE) -> str:
    """An address with its parts filled in."""
    if "(?P" in path:
        return f"/password/forgotten/{values['uidb36']}-{values['key']}/"
    for part in pattern.pattern.converters:
        for kind in ("uuid", "slug", "str", "int", "path"):
            path = path.replace(f"<{kind}:{part}>", values[part])
    return path


def test_every_url_has_a_line_in_the_table_and_every_line_a_url():
    names = [address.name for address in addresses()]

    assert sorted(set(names)) == sorted(DOORS)
    assert len(names) == len(set(names))


def test_each_view_admits_whom_the_table_admits():
    for address in addresses():
        door, view = DOORS[address.name], address.pattern.callback
        if door.who in (Who.ANYONE, Who.TOKEN):
            assert getattr(view, "login_required", True) is False, address.name
        else:
            expected = None if door.who == Who.SIGNED_IN else door.who
            assert getattr(view, "roles", None) == expected, address.name
            assert getattr(view, "login_required", True) is True, address.name


def test_the_document_is_the_table():
    assert as_markdown() in PAGE.read_text(), f"docs/permissions.md wants:\n{as_markdown()}"


@pytest.mark.parametrize("role", [None, *Role])
def test_there_is_no_page_for_whoever_has_none_of_its_roles(role):
    client = Client()
    client.force_login(make_user(*([role] if role else [])))
    roles = frozenset([role.value] if role else [])
    tried = 0

    for address in addresses():
        door = DOORS[address.name]
        if door.admits(roles) or door.who == Who.TOKEN:
            continue
        for method in door.methods:
            tried += 1
            answer = client.generic(method, path_of(address.path, address.pattern))
            assert answer.status_code == 404, f"{method} {address.path}"
    assert tried > 50


def test_whoever_has_not_signed_in_is_led_to_sign_in_or_told_so():
    client = Client()
    for address in addresses():
        door = DOORS[address.name]
        if isinstance(door.who, Who) and door.who != Who.SIGNED_IN:
            continue
        for method in door.methods:
            path = path_of(address.path, address.pattern)
            answer = client.generic(method, path)
            assert answer.status_code == 302, f"{method} {path}"
            assert answer.url.startswith("/sign-in/?next="), f"{method} {path}"
            answer = client.generic(method, path, headers={"HX-Request": "true"})
            assert answer.status_code == 401, f"{method} {path}"


def test_no_form_is_taken_without_the_token_of_the_person_who_sends_it():
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(*ALL))
    tried = 0

    for address in addresses():
        door = DOORS[address.name]
        if "POST" in door.methods and door.who != Who.TOKEN:
            tried += 1
            path = path_of(address.path, address.pattern)
            assert client.post(path).status_code == 403, path
    assert tried > 40
