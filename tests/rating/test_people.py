"""Who comes in, and how."""

import re

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.urls import reverse
from pytest_django.asserts import assertContains, assertRedirects

from rating.models import Invitation, Role, User
from rating.people import invite, link_to
from tests.factories import make_user

pytestmark = pytest.mark.django_db

PASSWORD = "a-quiet-morning-walk"


@pytest.fixture
def invitation():
    return invite("New@Example.org", [Role.RATER], make_user(Role.ADMIN))


def join(client, invitation, name="New Person", password=PASSWORD):
    return client.post(link_to(invitation), {"name": name, "password1": password})


def test_an_admin_invites_somebody_and_the_link_opens_an_account_in_that_role(client):
    client.force_login(make_user(Role.ADMIN))
    page = client.post(reverse("rating:people"), {"email": "new@example.org", "roles": ["rater"]})
    link = page.context["link"]
    client.logout()

    assertContains(client.get(link), "new@example.org")
    assertRedirects(join(client, Invitation.objects.get()), reverse("home"))

    user = User.objects.get(email="new@example.org")
    assert user.roles == {"rater"}
    assert int(client.session["_auth_user_id"]) == user.pk


def test_a_link_works_once(client, invitation):
    join(client, invitation)
    client.logout()

    assertContains(join(client, invitation), "This link was used already.", status_code=410)
    assert User.objects.filter(email="new@example.org").count() == 1


def test_a_link_ends_after_its_days(client, invitation, settings):
    settings.INVITATION_DAYS = -1

    assertContains(client.get(link_to(invitation)), "This link is older than", status_code=410)


def test_a_link_cut_short_says_so(client, invitation):
    link = link_to(invitation)

    assertContains(client.get(f"{link[:-3]}/"), "This link is not whole.", status_code=410)


def test_a_weak_password_is_refused_and_what_was_typed_stays(client, invitation):
    answer = join(client, invitation, name="Somebody", password="12345678")

    assertContains(answer, "Somebody", status_code=422)
    assert not User.objects.filter(email="new@example.org").exists()


def test_an_address_that_has_an_account_cannot_be_invited(client):
    client.force_login(make_user(Role.ADMIN))
    make_user(email="there@example.org")

    page = client.post(reverse("rating:people"), {"email": "There@example.org", "roles": ["rater"]})

    assertContains(page, "has an account already", status_code=422)
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    "role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.MAINTAINER]
)
def test_only_admins_see_people(client, role):
    client.force_login(make_user(role))

    assert client.get(reverse("rating:people")).status_code == 404


def test_a_forgotten_password_is_set_anew_with_the_link_of_the_mail(client, mailoutbox):
    make_user(Role.RATER, email="me@example.org", password="forgotten-long-ago")
    client.post(reverse("account_reset_password"), {"email": "me@example.org"})

    link = re.search(r"http://testserver(/\S+)", mailoutbox[0].body)[1]
    page = client.get(link, follow=True)
    form = {"password1": PASSWORD, "password2": PASSWORD}
    client.post(page.redirect_chain[-1][0], form)

    assert client.login(email="me@example.org", password=PASSWORD)


def test_an_address_without_an_account_gets_the_same_answer_and_no_mail(client, mailoutbox):
    make_user(Role.RATER, email="me@example.org", password=PASSWORD)
    answers = [
        client.post(reverse("account_reset_password"), {"email": email})
        for email in ("me@example.org", "nobody@example.org")
    ]

    assert {(answer.status_code, answer.url) for answer in answers} == {
        (302, reverse("account_reset_password_done"))
    }
    assert len(mailoutbox) == 1


def test_nobody_signs_themselves_up(client):
    assert client.get("/sign-up/").status_code in (302, 404)
    assert client.get("/accounts/signup/").status_code in (302, 404)


def test_a_person_signs_in_with_address_and_password(client):
    make_user(Role.RATER, email="me@example.org", password=PASSWORD)

    answer = client.post(
        reverse("account_login"), {"login": "ME@example.org", "password": PASSWORD}
    )

    assertRedirects(answer, reverse("home"))


def test_a_wrong_password_says_no_more_than_that_they_do_not_fit(client):
    make_user(Role.RATER, email="me@example.org", password=PASSWORD)

    wrong = client.post(reverse("account_login"), {"login": "me@example.org", "password": "x"})
    unknown = client.post(reverse("account_login"), {"login": "no@example.org", "password": "x"})

    assert wrong.status_code == unknown.status_code == 200
    assert wrong.context["form"].errors == unknown.context["form"].errors


def test_guessing_a_password_is_slowed_down_for_that_account_alone(client):
    make_user(Role.RATER, email="me@example.org", password=PASSWORD)
    make_user(Role.RATER, email="you@example.org", password=PASSWORD)
    for _ in range(6):
        client.post(reverse("account_login"), {"login": "me@example.org", "password": "guess"})

    client.post(reverse("account_login"), {"login": "me@example.org", "password": PASSWORD})
    assert "_auth_user_id" not in client.session
    client.post(reverse("account_login"), {"login": "you@example.org", "password": PASSWORD})
    assert "_auth_user_id" in client.session


def test_the_command_makes_the_first_admin(capsys):
    call_command("invite", "first@example.org", "--role", "admin")

    assert Invitation.objects.get().roles == ["admin"]
    assert "/join/" in capsys.readouterr().out


def test_an_account_that_was_closed_cannot_sign_in(client):
    user = make_user(Role.RATER, email="me@example.org", password=PASSWORD)
    user.is_active = False
    user.save()

    client.post(reverse("account_login"), {"login": "me@example.org", "password": PASSWORD})

    assert "_auth_user_id" not in client.session
    assert authenticate(None, email="me@example.org", password=PASSWORD) is None
