"""Who comes in, and how."""

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from allauth.account.adapter import get_adapter
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertRedirects

from rating.models import Assignment, Event, Invitation, Role, Slot, User
from rating.people import CannotChange, give_roles, invite, link_to, save_of, set_access
from rating.personal.erasing import erase
from tests.factories import leased, make_rater, make_user, make_wave

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


# What somebody may do, changed afterwards


def change(client, person, roles, *, open=True, reason="They left the team."):
    said = {"roles": roles, "reason": reason} | ({"open": "on"} if open else {})
    return client.post(reverse("rating:access", args=[person.pk]), said)


@pytest.fixture
def admin(client):
    person = make_user(Role.ADMIN)
    client.force_login(person)
    return person


def test_an_admin_gives_and_takes_roles_and_it_is_on_record(client, admin):
    person = make_rater()

    assertRedirects(change(client, person, ["maintainer"]), reverse("rating:people"))

    person = User.objects.get(pk=person.pk)
    assert person.roles == {"maintainer"}
    kept = Event.objects.get(kind="access")
    assert (kept.actor, kept.about["person"]) == (admin, person.pseudonym)
    assert (kept.about["roles"], kept.about["open"]) == ("maintainer", "yes")
    assert kept.about["reason"] == "They left the team."


def test_whose_account_is_closed_is_out_at_once_and_what_they_held_goes_to_others(client, admin):
    make_wave()
    person = make_rater()
    theirs = Client()
    person.set_password(PASSWORD)
    person.save(update_fields=["password"])
    theirs.force_login(person)
    leased(person)

    change(client, person, ["rater"], open=False)

    assert theirs.get(reverse("home")).status_code == 302
    assert authenticate(None, email=person.email, password=PASSWORD) is None
    assert not Slot.objects.filter(state="held").exists()
    assert not Assignment.objects.live().exists()
    assertContains(client.get(reverse("rating:people")), "Closed.")


def test_it_can_be_opened_again(client, admin):
    person = make_rater()
    change(client, person, ["rater"], open=False)
    change(client, person, ["rater"], reason="They are back.")

    assert User.objects.get(pk=person.pk).is_active


@pytest.mark.parametrize("roles", [["rater", "item reviewer", "adjudicator"], ["rater"]])
def test_what_they_hold_in_a_role_they_keep_stays_theirs(client, admin, roles):
    make_wave()
    person = make_rater()
    give_roles(person, ["rater", "item reviewer"])
    card = leased(person)

    change(client, person, roles)

    assert Assignment.objects.live().get() == card


@pytest.mark.parametrize(("roles", "open"), [(["rater"], True), (["admin"], False)])
def test_nobody_shuts_themselves_out_and_there_is_always_an_admin(client, admin, roles, open):
    answer = change(client, admin, roles, open=open)

    assertContains(answer, "nobody shuts themselves out", status_code=422)
    with pytest.raises(CannotChange, match="the only admin"):
        set_access(
            admin, make_user(Role.MAINTAINER), roles, may_come_in=open, reason="x",
            now=timezone.now(),
        )  # fmt: skip
    kept = User.objects.get(pk=admin.pk)
    assert (kept.roles, kept.is_active) == ({"admin"}, True)


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_shut_each_other_out_at_one_moment_one_stays():
    pair = [make_user(Role.ADMIN), make_user(Role.ADMIN)]
    start = Barrier(2)

    def shut_out(number):
        start.wait()
        try:
            set_access(
                pair[1 - number], pair[number], [], may_come_in=False, reason="x",
                now=timezone.now(),
            )  # fmt: skip
        except CannotChange:
            pass
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as both:
        list(both.map(shut_out, range(2)))

    assert User.objects.filter(is_active=True, groups__name=Role.ADMIN).count() == 1


def test_a_change_without_a_reason_changes_nothing_and_keeps_what_was_chosen(client, admin):
    person = make_rater()

    answer = change(client, person, ["adjudicator"], reason=" ")

    assert answer.status_code == 422
    assert re.search('value="adjudicator"[^>]*checked', answer.content.decode())
    assert User.objects.get(pk=person.pk).roles == {"rater"}
    assert not Event.objects.filter(kind="access").exists()


def test_who_was_erased_has_no_such_page(client, admin):
    person = make_rater()
    erase(person, admin, "They asked.", now=timezone.now())

    assert client.get(reverse("rating:access", args=[person.pk])).status_code == 404


@pytest.mark.parametrize("how", ["closed", "erased"])
def test_a_password_set_at_that_moment_opens_no_account_that_was_closed_or_erased(admin, how):
    person = make_rater()
    at_the_form = User.objects.get(pk=person.pk)
    if how == "closed":
        set_access(person, admin, [], may_come_in=False, reason="Left.", now=timezone.now())
    else:
        erase(person, admin, "They asked.", now=timezone.now())
    before = User.objects.filter(pk=person.pk).values().get()

    get_adapter().set_password(at_the_form, "a-quiet-morning-walk")

    assert User.objects.filter(pk=person.pk).values().get() == before


def test_nothing_comes_back_of_who_was_erased_meanwhile(admin):
    person = make_rater()
    at_the_form = User.objects.get(pk=person.pk)
    erase(person, admin, "They asked.", now=timezone.now())
    before = User.objects.filter(pk=person.pk).values().get()

    at_the_form.country = "NZ"
    save_of(at_the_form, "country")
    with pytest.raises(CannotChange, match="erased"):
        set_access(at_the_form, admin, ["rater"], may_come_in=True, reason="x", now=timezone.now())
    with pytest.raises(IntegrityError, match="erased"), transaction.atomic():
        at_the_form.save()

    assert User.objects.filter(pk=person.pk).values().get() == before
