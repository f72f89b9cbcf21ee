"""The page of tokens, the page of calls, and the command."""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating.api import keys
from rating.api.app import _operations
from rating.api.problems import PROBLEMS
from rating.models import Role
from rating.tokens import SCOPES, ApiToken
from runs.models import Wave
from tests.factories import make_user, make_wave
from tests.rating.api.conftest import Program, program_of

pytestmark = pytest.mark.django_db

TOKENS = "/api/tokens/"


def signed_in(client, *roles):
    person = make_user(*roles)
    client.force_login(person)
    return person


def test_a_maintainer_makes_a_token_that_is_shown_once(client):
    person = signed_in(client, Role.MAINTAINER)
    wave = make_wave()
    sent = {"name": "a script", "scopes": ["read:progress"], "wave": wave.code, "days": 7}

    page = client.post(TOKENS, sent)

    secret = re.search(r'id="secret" value="([^"]+)"', page.content.decode())[1]
    token = ApiToken.objects.get()
    assert (token.owner, token.wave, token.scopes) == (person, wave, ["read:progress"])
    assert token.ends_at - token.made_at == timedelta(days=7)
    assert Program(token, secret).get(f"/waves/{wave.code}").status_code == 200
    assertNotContains(client.get(TOKENS), secret)
    assertContains(client.get(TOKENS), token.prefix)
    assert page["Cache-Control"].startswith("max-age=0") or "no-store" in page["Cache-Control"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": " "}, "Name what the token is for."),
        ({"scopes": []}, "Choose at least one."),
        ({"scopes": ["read:everything"]}, "Select a valid choice"),
        ({"days": 367}, "less than or equal to 366"),
        ({"days": ""}, "This field is required"),
        ({"wave": "none"}, "There is no such wave"),
    ],
)
def test_what_is_wrong_in_the_form_is_said_and_no_token_is_made(client, change, said):
    signed_in(client, Role.MAINTAINER)
    sent = {"name": "a script", "scopes": ["read:progress"], "days": 7} | change

    page = client.post(TOKENS, sent)

    assertContains(page, said, status_code=422)
    assert not ApiToken.objects.exists()


def test_an_admin_is_offered_what_an_admin_may_read_and_no_names_of_waves(client):
    signed_in(client, Role.ADMIN)
    wave = make_wave()
    program_of(wave=wave)

    page = client.get(TOKENS)

    assertContains(page, 'value="read:banks"')
    assertNotContains(page, 'value="read:progress"')
    assertNotContains(page, wave.code)


def test_a_token_is_ended_by_its_owner_and_by_an_admin_and_by_nobody_else(client):
    mine, other, third = (program_of() for _ in range(3))
    client.force_login(mine.person)

    assert client.post(reverse("rating:end_api_token", args=[other.token.code])).status_code == 404
    assert other.get("/waves").status_code == 200
    client.post(reverse("rating:end_api_token", args=[mine.token.code]))
    assert mine.get("/waves").status_code == 401
    assertContains(client.get(TOKENS), "Ended")
    assertNotContains(client.get(TOKENS), other.token.prefix)

    signed_in(client, Role.ADMIN)
    assertContains(client.get(TOKENS), str(third.person))
    client.post(reverse("rating:end_api_token", args=[third.token.code]))
    assert third.get("/waves").status_code == 401


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR])
def test_for_others_there_is_no_page_of_tokens(client, role):
    signed_in(client, role)

    assert client.get(TOKENS).status_code == 404
    assert client.post(TOKENS, {"name": "x"}).status_code == 404
    assertNotContains(client.get(reverse("rating:guidelines")), TOKENS)


def test_anyone_may_read_what_the_api_offers(client):
    page = client.get("/api/").content.decode()

    for operation in _operations():
        assert f'id="call-{operation.view_func.__name__}"' in page
    for name in (*SCOPES, *PROBLEMS):
        assert f"<code>{name}</code>" in page
    assert "https://" not in re.sub(r"(?s)<footer.*", "", page), "nothing is fetched from elsewhere"


def test_the_database_refuses_to_change_a_token_or_to_let_it_live_again(program):
    token = program.token
    for changes in (
        {"scopes": list(SCOPES)[:1]},
        {"ends_at": timezone.now() + timedelta(days=999)},
        {"owner": make_user(Role.MAINTAINER)},
        {"secret_hash": "0" * 64},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(**changes)
    keys.end_token(token, None, now=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).update(revoked_at=None)
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.filter(pk=token.pk).delete()


def test_a_token_is_made_listed_and_ended_at_a_terminal(capsys):
    person = make_user(Role.MAINTAINER)
    call_command("token", "make", person.email, "a script", "--scope", "read:progress")
    secret = capsys.readouterr().out.strip()
    token = ApiToken.objects.get()

    assert Program(token, secret).get("/waves").status_code == 200
    call_command("token", "list")
    listed = capsys.readouterr().out
    assert token.prefix in listed
    assert secret not in listed
    call_command("token", "end", token.prefix)
    assert Program(token, secret).get("/waves").status_code == 401
    with pytest.raises(CommandError, match="ended before"):
        call_command("token", "end", token.prefix)


def test_what_a_terminal_cannot_make_it_says(capsys):
    person, rater = make_user(Role.MAINTAINER), make_user(Role.RATER)
    draft = make_wave(locked=False)
    Wave.objects.filter(pk=draft.pk).update(plan={})
    scope = ("--scope", "read:progress")
    for words, said in (
        (("nobody@example.org", "x", *scope), "Nobody with the address"),
        ((rater.email, "x", *scope), "has no role for read:progress"),
        ((person.email, "x", *scope, "--wave", "none"), "There is no wave none"),
        ((person.email, "x", *scope, "--wave", draft.code), "is a draft"),
        ((person.email, "x", *scope, "--days", "400"), "1 to 366 days"),
        ((person.email, " ", *scope), "Name what the token is for"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("token", "make", *words)
    with pytest.raises(CommandError, match="no token that begins with"):
        call_command("token", "end", "cmpn_")


def test_the_list_of_tokens_asks_the_same_of_many_as_of_few(client):
    signed_in(client, Role.ADMIN)
    asked = []
    for _ in range(2):
        for _ in range(3):
            program_of()
        with CaptureQueriesContext(connection) as statements:
            client.get(reverse("rating:api_tokens"))
        asked.append(len(statements))

    assert asked[0] == asked[1]
