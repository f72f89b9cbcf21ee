"""What is held of a person: declared column by column, copied for them, and erased."""

import json
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating import queue
from rating.integrity.checking import Walked, check
from rating.integrity.declared import all_models
from rating.models import (
    Assignment,
    Conflict,
    Event,
    EventKind,
    Expertise,
    Exposure,
    Invitation,
    Rating,
    ReviewHold,
    ReviewWork,
    Role,
    Saw,
    SkipReason,
    User,
)
from rating.people import ErasedBefore, InvitationEnded, invitation_of, invite, join, link_to
from rating.personal.copying import SECTIONS, copy_of
from rating.personal.declared import NOBODY, PERSONAL, Held, may_hold, there
from rating.personal.erasing import EMPTY, CannotErase, erase, erasure_of
from tests.factories import (
    bank_data,
    leased,
    make_bank,
    make_user,
    make_wave,
    rated,
)

pytestmark = pytest.mark.django_db
NOW = timezone.now()
MARK = "Mirabel"  # in whatever is personal


def test_every_table_says_whether_it_holds_anything_of_a_person():
    said = {one.table for one in PERSONAL} | NOBODY.keys()

    assert all_models().keys() - said == set()
    assert {one.table for one in PERSONAL} & NOBODY.keys() == set()
    assert all(NOBODY.values())


def test_every_column_that_may_hold_something_of_a_person_is_declared_once():
    for one, model in there():
        columns = [name for names in one.columns.values() for name in names]
        assert len(columns) == len(set(columns)), one.table
        if not one.deleted:  # there the whole row goes
            assert may_hold(model) - set(columns) == set(), one.table


def test_a_table_without_people_leads_to_none():
    for table in NOBODY:
        if table in all_models():
            fields = all_models()[table]._meta.concrete_fields
            assert not [one for one in fields if one.is_relation and one.related_model is User]


def test_every_column_that_is_to_be_emptied_is():
    told = {(one.table, name) for one in PERSONAL for name in one.of_kind(Held.ERASED)}
    elsewhere = {pair for pair in told if pair[0] in ("rating_user", "rating_invitation")}

    assert told - elsewhere == EMPTY.keys()


@pytest.fixture
def person() -> User:
    """Somebody with a mark in everything that is theirs."""
    made = make_user(Role.RATER, email=f"{MARK.lower()}@example.org", password="x")
    made.name, made.country, made.languages = f"{MARK} Doe", "NZ", ["en", f"{MARK}ese"]
    made.expertise, made.look = [Expertise.CLINICIAN], {"note": MARK}
    made.hard_topics = True
    made.write_at_work = made.last_login = NOW
    made.save()
    make_wave(make_bank(bank_data(4)))
    for _ in range(2):
        rated(made, note="It stays with her.")
    queue.pause(made, None, f"{MARK} is ill.", f"{MARK}: they stay.", now=NOW)
    queue.resume(made, make_user(Role.MAINTAINER), now=NOW)
    queue.skip(leased(made), SkipReason.LATER, f"{MARK} is tired.", now=NOW)
    queue.keep_draft(leased(made), {"note": f"{MARK} draft"}, now=NOW)
    Conflict.objects.create(person=made, developer=f"{MARK} Ltd", reason=f"{MARK} works there.")
    Invitation.objects.create(email=made.email, roles=["rater"], accepted_by=made, accepted_at=NOW)
    invite(made.email.upper(), ["rater"], None)
    item = make_bank(bank_data(1)).items.get()
    ReviewHold.objects.create(
        work=ReviewWork.objects.create(content_hash="1" * 64), item=item, reviewer=made, number=1,
        leased_at=NOW, expires_at=NOW, draft={"concern": f"{MARK} thinks"}, skip_note=MARK,
    )  # fmt: skip
    return made


@pytest.fixture
def admin() -> User:
    return make_user(Role.ADMIN)


def everywhere(mark: str) -> set[str]:
    """The tables in which a text stands anywhere, in whatever case."""
    found = set()
    with connection.cursor() as cursor:
        for table, model in all_models().items():
            for one in model._meta.concrete_fields:
                cursor.execute(
                    f'SELECT COUNT(*) FROM {table} WHERE LOWER(CAST("{one.column}" AS TEXT)) LIKE %s',
                    [f"%{mark.lower()}%"],
                )
                if cursor.fetchone()[0]:
                    found.add(f"{table}.{one.column}")
    return found


def test_after_an_erasure_nothing_personal_stands_anywhere_and_all_that_was_found_does(
    person, admin
):
    ratings = list(Rating.objects.filter(rater=person).order_by("pk").values())
    pseudonym, salt = person.pseudonym, person.check_key
    assert len(everywhere(MARK)) >= 10  # the marks are there to be found

    erase(person, admin, "Asked for it.", now=NOW)

    assert everywhere(MARK) == set()
    assert everywhere(salt) == set()
    assert (
        list(Rating.objects.filter(rater__pseudonym=pseudonym).order_by("pk").values()) == ratings
    )
    person.refresh_from_db()
    assert (person.country, person.languages, person.expertise, person.look) == ("", ["en"], [], {})
    assert [person.hard_topics, person.is_active, person.groups.exists()] == [False] * 3
    assert person.last_login is person.write_at_work is None
    assert not Conflict.objects.exists()


def test_the_log_verifies_before_and_after_and_says_who_did_it(person, admin):
    assert [str(one) for one in check(Walked())] == []

    erase(person, admin, "Asked for it.", now=NOW)

    assert [str(one) for one in check(Walked())] == []
    event = Event.objects.get(kind=EventKind.ERASE)
    assert (event.actor, event.about) == (admin, {"person": person.pseudonym})


def test_nothing_of_a_person_is_in_the_log(person):
    said = json.dumps(list(Event.objects.values_list("about", flat=True)))

    assert MARK.lower() not in said.lower()
    assert {kind for (kind,) in Event.objects.values_list("kind")} >= {
        "rate",
        "skip",
        "pause",
        "invite",
    }


def test_a_mark_of_expertise_is_in_the_log_as_a_salted_hash(client, admin, person):
    client.force_login(admin)
    client.post(reverse("rating:expertise", args=[person.pk]), {"expertise": "lived experience"})

    about = Event.objects.get(kind=EventKind.EXPERTISE).about
    assert "lived" not in json.dumps(about)
    assert len(about["expertise"]) == 64


def test_what_was_held_goes_to_others(person, admin):
    held = Assignment.objects.live().get(rater=person)

    erase(person, admin, "Asked for it.", now=NOW)

    held.refresh_from_db()
    assert (held.outcome, held.slot.state) == ("released", "open")
    assert not ReviewHold.objects.live().filter(reviewer=person).exists()


def test_whoever_is_erased_is_signed_out_and_cannot_sign_in(person, admin):
    inside, other = Client(), Client()
    inside.force_login(person)
    other.force_login(admin)
    assert inside.get(reverse("rating:standing")).status_code == 200

    erase(person, admin, "Asked for it.", now=NOW)

    assert inside.get(reverse("rating:standing")).status_code == 302
    assert Session.objects.count() == 1
    assert other.get(reverse("rating:people")).status_code == 200
    assert not Client().login(email=person.email, password="x")


def test_a_session_that_waits_for_the_code_after_the_password_ends_too(person, admin):
    """It holds the address, and nobody is signed in with it yet."""
    session = Client().session
    session["account_login"] = {"user_pk": str(person.pk), "email": person.email}
    session.save()

    erase(person, admin, "Asked for it.", now=NOW)

    assert not Session.objects.exists()


def test_an_invitation_that_was_not_used_opens_no_account_any_more(person, admin):
    unused = Invitation.objects.get(accepted_by=None)
    erase(person, admin, "Asked for it.", now=NOW)

    with pytest.raises(InvitationEnded):
        invitation_of(link_to(unused).rstrip("/").rpartition("/")[2])


def test_nobody_is_invited_again_by_accident(person, admin, settings):
    address = person.email
    erase(person, admin, "Asked for it.", now=NOW)

    for given in (address, f" {address.upper()} "):
        with pytest.raises(ErasedBefore, match="asked for their data to be erased"):
            invite(given, ["rater"], admin)
    with pytest.raises(CommandError, match="--again"):
        call_command("invite", address, role=["rater"], roles=["rater"])
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "k" * 60
    assert erasure_of(address) is not None
    assert erasure_of("other@example.org") is None


def test_whoever_comes_back_rates_no_wave_a_second_time(person, admin):
    address = person.email
    wave = Rating.objects.filter(rater=person).first().response.run.wave
    erase(person, admin, "Asked for it.", now=NOW)

    invitation = invite(address, ["rater"], admin, again=True)
    again = join(link_to(invitation).rstrip("/").rpartition("/")[2], "Again", "pw")

    assert list(Exposure.objects.filter(person=again).values_list("wave", "saw")) == [
        (wave.pk, Saw.RATINGS)
    ]
    found = queue.lease(again, now=NOW + timedelta(days=1))
    assert not isinstance(found, Assignment)


def test_the_only_admin_and_somebody_erased_are_not_erased(person, admin):
    with pytest.raises(CannotErase, match="the only admin"):
        erase(admin, None, "Asked.", now=NOW)
    with pytest.raises(CannotErase, match="Say why"):
        erase(person, admin, " ", now=NOW)
    erase(person, admin, "Asked.", now=NOW)
    with pytest.raises(CannotErase, match="erased already"):
        erase(person, admin, "Asked.", now=NOW)


# The copy


def test_the_whole_copy_holds_everything_that_is_erased_and_everything_they_found(person):
    text = "".join(copy_of(person, now=NOW))
    told = json.loads(text)

    for one, model in there():
        if not one.of or one.table in ("mfa_authenticator", "account_emailconfirmation"):
            continue
        for row in model._base_manager.filter(**{one.of: person.pk}).values():
            for column in (*one.of_kind(Held.ERASED), *one.of_kind(Held.DELETED)):
                value = row.get(column)
                if (
                    isinstance(value, str)
                    and MARK.lower() in value.lower()
                    and column != "password"
                ):
                    assert value in text, f"{one.table}.{column}"
    assert {one.name for one in SECTIONS} <= told.keys()
    assert [row["level"] for row in told["ratings"]["rows"]] == [3, 3]
    assert told["ratings"]["rows"][0]["quotes"][0]["words"].startswith("I hear how heavy")
    assert all(told[one.name]["about"] for one in SECTIONS)


def test_no_copy_tells_a_key_a_wave_or_a_model(person):
    text = "".join(copy_of(person, now=NOW))
    wave = Rating.objects.filter(rater=person).first().response.run.wave

    for hidden in (person.check_key, person.password, wave.code, wave.title, "kind-1-2026-01-01"):
        assert hidden not in text


def test_a_rater_fetches_their_own_copy_without_levels(client, person):
    client.force_login(person)
    assertContains(client.get(reverse("rating:standing")), "everything.json")

    page = client.get(reverse("rating:own_file", args=["everything.json"]))

    told = json.loads(b"".join(page.streaming_content))
    assert told["account"]["rows"][0]["email"] == person.email
    assert "ratings" not in told
    assert "levels you gave" in told["left_out"]
    assert Event.objects.filter(kind=EventKind.EXPORT, actor=person).count() == 1


def test_the_command_writes_a_copy_and_erases(person, admin, tmp_path, capsys):
    path = tmp_path / "copy.json"
    call_command("person", "export", person.pseudonym, str(path))
    assert json.loads(path.read_text())["account"]["rows"][0]["name"] == person.name
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(CommandError, match="exists"):
        call_command("person", "export", person.email, str(path))

    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("person", "erase", person.email, reason="Asked.", yes="r-other")
    assert User.objects.get(pk=person.pk).name
    call_command("person", "erase", person.email, reason="Asked.", yes=person.pseudonym)
    assert not User.objects.get(pk=person.pk).name
    with pytest.raises(CommandError, match="Nobody here"):
        call_command("person", "export", "nobody@example.org", "-")


# The page


def test_an_admin_erases_in_two_steps(client, person, admin):
    client.force_login(admin)
    address = reverse("rating:erase_person", args=[person.pk])
    page = client.get(address)
    assertContains(page, person.email)
    assertNotContains(page, person.pseudonym)  # no name stands beside a code name
    assertContains(page, "They gave 2 ratings, 2 with a note.")

    wrong = client.post(address, {"address": "other@example.org", "reason": "Asked."})
    assert wrong.status_code == 422
    assert User.objects.get(pk=person.pk).name

    given = {"address": person.email, "reason": "Asked for it."}
    right = client.post(address, given, follow=True)

    assertContains(right, "What they found stays, under a code name.")
    assertNotContains(right, MARK)
    assert client.get(address).status_code == 404


def test_nobody_erases_themselves_and_nobody_else_than_an_admin_does(client, person, admin):
    make_user(Role.ADMIN)
    client.force_login(admin)
    own = client.get(reverse("rating:erase_person", args=[admin.pk]))
    assertContains(own, "nobody erases themselves")
    for role in (Role.RATER, Role.MAINTAINER, Role.ADJUDICATOR, Role.ITEM_REVIEWER):
        client.force_login(make_user(role))
        for ask in (client.get, client.post):
            assert ask(reverse("rating:erase_person", args=[person.pk])).status_code == 404


def test_the_page_of_people_asks_before_somebody_erased_is_invited(client, person, admin):
    address = person.email
    erase(person, admin, "Asked for it.", now=NOW)
    client.force_login(admin)

    page = client.post(reverse("rating:people"), {"email": address, "roles": ["rater"]})
    assertContains(page, "They wish to come back", status_code=422)
    page = client.post(
        reverse("rating:people"), {"email": address, "roles": ["rater"], "again": "on"}
    )
    assertContains(page, "The invitation is ready")


def test_second_factors_are_deleted_where_there_are_any(person, admin):
    if not apps.is_installed("allauth.mfa"):
        return
    factors = apps.get_model("mfa", "Authenticator")
    factors.objects.create(user=person, type="totp", data={"secret": "s"})

    erase(person, admin, "Asked for it.", now=NOW)

    assert not factors.objects.filter(user=person).exists()
