"""The second factor: who must have one, how it is set up and used, and what becomes of a lost one."""

import base64
import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import second_factor
from rating.events import seal_events, walk_events
from rating.models import Event, EventKind, Role, User
from rating.people import give_roles, invite, link_to
from rating.second_factor import Adapter, Refused
from tests.factories import leased, make_rater, make_user, make_wave

pytestmark = pytest.mark.django_db

PASSWORD = "a-quiet-morning-walk"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
SIGN_IN = "/sign-in/"
CODE = "/sign-in/code/"
SET_UP = "/second-factor/set-up/"
CODES = "/second-factor/codes/"


@pytest.fixture(autouse=True)
def demanded(settings):
    settings.SECOND_FACTOR = True


def code_of(secret: str = SECRET, steps: int = 0) -> str:
    """What an app shows, so many half minutes from now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def person(*roles: Role, factor: bool = True) -> User:
    made = make_user(*roles, password=PASSWORD)
    if factor:
        with_factor(made)
    return User.objects.get(pk=made.pk)


def with_factor(made: User) -> None:
    # With a code of the step before, so that the present one is still to be used.
    second_factor.set_up(made, SECRET, code_of(steps=-1), now=timezone.now())


def sign_in(client: Client, who: User, next: str = ""):
    said = {"login": who.email, "password": PASSWORD, **({"next": next} if next else {})}
    return client.post(SIGN_IN, said)


def signed_in(who: User) -> Client:
    client = Client()
    sign_in(client, who)
    if Authenticator.objects.filter(user=who).exists():
        assert client.post(CODE, {"code": second_factor.codes_left(who)[0]}).status_code == 302
    assert is_in(client)
    return client


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def secret_on(page) -> str:
    [shown] = re.findall(r'<code class="key-words"[^>]*>([A-Z2-7 ]+)</code>', page.content.decode())
    return shown.replace(" ", "")


# Who must have one


@pytest.mark.parametrize("role", [Role.MAINTAINER, Role.ADMIN])
def test_a_maintainer_or_an_admin_is_led_to_set_one_up_before_any_other_page(role):
    client = signed_in(person(role, factor=False))

    for path in ("/", "/waves/", "/bank/?q=1", "/people/", "/guidelines/", "/second-factor/"):
        page = client.get(path)
        assert page.status_code == 302, path
        assert page.url.startswith(f"{SET_UP}?next=%2F"), path
    for path in (SET_UP, "/about/", "/published/", "/healthz", "/password/change/", "/sign-out/"):
        assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR])
def test_all_others_may_have_one_and_need_not(role):
    client = signed_in(person(role, factor=False))

    assert client.get("/").status_code == 200
    assertContains(client.get("/second-factor/"), 'href="/second-factor/set-up/"')
    assertContains(client.get("/password/change/"), 'href="/second-factor/"')


def test_a_role_given_later_asks_for_it_at_the_next_page():
    rater = person(Role.RATER, factor=False)
    client = signed_in(rater)
    assert client.get("/").status_code == 200

    give_roles(rater, [Role.RATER, Role.MAINTAINER])

    assertRedirects(client.get("/"), f"{SET_UP}?next=%2F", fetch_redirect_response=False)


def test_where_it_is_off_nobody_is_led_anywhere(settings):
    settings.SECOND_FACTOR = False

    assert signed_in(person(Role.ADMIN, factor=False)).get("/people/").status_code == 200


def test_an_invited_admin_sets_it_up_straight_after_joining(client):
    link = link_to(invite("new@example.org", [Role.ADMIN], None))

    page = client.post(link, {"name": "New", "password1": PASSWORD}, follow=True)

    assertContains(page, "<h1>Set up your second factor</h1>", html=True)


def test_a_script_is_told_with_a_plain_401_and_keeps_its_page():
    client = signed_in(person(Role.MAINTAINER, factor=False))

    for method in ("GET", "POST"):
        answer = client.generic(method, "/waves/", headers={"HX-Request": "true"})
        assert (answer.status_code, answer["Content-Type"]) == (401, "text/plain")


def test_a_rating_sent_when_it_is_asked_for_becomes_the_draft_of_its_card():
    make_wave()
    rater = person(Role.RATER, factor=False)
    card = leased(rater)
    client = signed_in(rater)
    give_roles(rater, [Role.RATER, Role.ADMIN])
    sent = {"do": "submit", "level": "3", "note": "what I had typed"}

    answer = client.post(reverse("rating:rate", args=[card.code]), sent)
    assertRedirects(answer, f"{SET_UP}?next=%2Frate%2F", fetch_redirect_response=False)
    page = client.get(answer.url)
    client.post(SET_UP, {"code": code_of(secret_on(page))})
    shown = client.get(CODES)

    assertContains(shown, 'href="/rate/">Go on</a>')
    assertContains(client.get("/rate/"), "what I had typed")


# Setting it up


def test_the_key_is_shown_as_a_picture_and_as_text_and_nothing_comes_from_elsewhere():
    page = signed_in(person(Role.RATER, factor=False)).get(SET_UP)

    assertContains(page, '<svg class="qr"')
    assertContains(page, "otpauth://totp/person")
    assertNotContains(page, "data:")
    assert len(base64.b32decode(secret_on(page))) == 20


def test_a_page_opened_twice_shows_the_same_key():
    client = signed_in(person(Role.RATER, factor=False))

    assert secret_on(client.get(SET_UP)) == secret_on(client.get(SET_UP))


def test_the_picture_says_what_the_link_says():
    """Its squares are laid out as the library lays them out, row by row."""
    from qrcode import QRCode

    url = Adapter().build_totp_url(person(Role.RATER, factor=False), SECRET)
    drawn = second_factor.picture(url)
    code = QRCode(error_correction=0, border=0)
    code.add_data(url)
    dark = {
        (x, y) for y, row in enumerate(code.get_matrix()) for x, square in enumerate(row) if square
    }

    assert {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", drawn["path"])} == dark
    assert f"secret={SECRET}&issuer=Compassion" in url


def test_a_secret_that_can_no_longer_be_read_is_made_anew(settings):
    client = signed_in(person(Role.RATER, factor=False))
    settings.SECOND_FACTOR_KEY = "the first"
    before = secret_on(client.get(SET_UP))

    settings.SECOND_FACTOR_KEY = "the second"

    assert secret_on(client.get(SET_UP)) != before


def test_a_code_that_does_not_fit_turns_nothing_on_and_keeps_the_key():
    who = person(Role.RATER, factor=False)
    client = signed_in(who)
    secret = secret_on(client.get(SET_UP))

    page = client.post(SET_UP, {"code": "000 000"})

    assertContains(page, "This code does not fit.", status_code=422)
    assert secret_on(page) == secret
    assert not Authenticator.objects.exists()


def test_once_set_up_codes_are_shown_with_a_file_and_then_never_again(monkeypatch):
    who = person(Role.RATER, factor=False)
    client = signed_in(who)
    secret = secret_on(client.get(SET_UP))

    page = client.post(SET_UP, {"code": code_of(secret)}, follow=True)

    codes = second_factor.codes_left(who)
    assert len(set(codes)) == 10
    for code in codes:
        assertContains(page, code)
    file = client.get("/second-factor/codes.txt")
    assert file["Content-Disposition"] == 'attachment; filename="recovery-codes.txt"'
    assert set(codes) < set(file.content.decode().splitlines())
    later = timezone.now() + timedelta(minutes=11)
    monkeypatch.setattr("rating.second_factor_views.timezone.now", lambda: later)
    for code in codes:
        assertNotContains(client.get(CODES), code)
    assert client.get("/second-factor/codes.txt").status_code == 404


def test_codes_are_shown_in_the_session_that_made_them_alone():
    who = person(Role.RATER)

    assertNotContains(signed_in(who).get(CODES), second_factor.codes_left(who)[0])


def test_nothing_of_it_lies_readable_in_the_database():
    who = person(Role.RATER)
    client = signed_in(person(Role.RATER, factor=False))
    secret = secret_on(client.get(SET_UP))

    kept = repr(list(Authenticator.objects.values_list("data", flat=True)))
    assert SECRET not in kept
    assert not any(code in kept for code in second_factor.codes_left(who))
    assert secret not in repr(dict(client.session))


def test_the_factor_of_an_account_is_one_in_the_database_too():
    who = person(Role.RATER)

    with pytest.raises(Refused, match="already"):
        second_factor.set_up(who, SECRET, code_of(), now=timezone.now())


def test_setting_up_ends_every_session_but_the_one_it_was_done_in():
    who = person(Role.RATER, factor=False)
    here, elsewhere = signed_in(who), signed_in(who)

    here.post(SET_UP, {"code": code_of(secret_on(here.get(SET_UP)))})

    assert here.get("/second-factor/").status_code == 200
    assert elsewhere.get("/second-factor/").status_code == 302


# Signing in with it


def test_the_password_alone_opens_nothing():
    client = Client()

    answer = sign_in(client, person(Role.MAINTAINER), next="/waves/")

    assertRedirects(answer, CODE, fetch_redirect_response=False)
    assert not is_in(client)
    assert client.get("/waves/").status_code == 302
    answer = client.post(CODE, {"code": code_of()})
    assertRedirects(answer, "/waves/", fetch_redirect_response=False)
    assert is_in(client)


def test_a_code_is_taken_with_spaces_and_half_a_minute_late():
    who = person(Role.RATER, factor=False)
    second_factor.set_up(who, SECRET, code_of(), now=timezone.now())
    client = Client()
    sign_in(client, who)
    late = code_of(steps=-1)

    client.post(CODE, {"code": f" {late[:3]} {late[3:]} "})

    assert is_in(client)


def test_a_code_that_was_used_is_refused():
    who = person(Role.RATER)
    code = code_of()
    first, second = Client(), Client()
    for client in (first, second):
        sign_in(client, who)

    first.post(CODE, {"code": code})
    page = second.post(CODE, {"code": code})

    assert (is_in(first), is_in(second)) == (True, False)
    assertContains(page, "This code does not fit.")


def test_the_code_it_was_set_up_with_is_refused_afterwards():
    who = person(Role.RATER, factor=False)
    code = code_of()
    second_factor.set_up(who, SECRET, code, now=timezone.now())
    client = Client()
    sign_in(client, who)

    client.post(CODE, {"code": code})

    assert not is_in(client)


def test_a_recovery_code_signs_in_once():
    who = person(Role.RATER)
    code = second_factor.codes_left(who)[4]
    first, second = Client(), Client()
    for client in (first, second):
        sign_in(client, who)
        client.post(CODE, {"code": code})

    assert (is_in(first), is_in(second)) == (True, False)
    assert len(second_factor.codes_left(who)) == 9


def test_guessing_codes_is_slowed_down_for_that_account_from_wherever_it_comes(settings):
    settings.PROXIES = 1
    who, other = person(Role.RATER), person(Role.RATER)
    for number in range(5):
        client = Client(headers={"X-Forwarded-For": f"192.0.2.{number}"})
        sign_in(client, who)
        assert client.post(CODE, {"code": "000000"}).status_code == 200

    client = Client(headers={"X-Forwarded-For": "192.0.2.99"})
    sign_in(client, who)
    page = client.post(CODE, {"code": code_of()})

    assert (page.status_code, is_in(client)) == (429, False)
    assert 240 < int(page["Retry-After"]) <= 300
    assertContains(page, "in 5 minutes", status_code=429)
    assert is_in(signed_in(other))


def test_what_fits_does_not_count_against_anybody():
    who = person(Role.RATER)
    for _ in range(7):
        signed_in(who)


def test_a_day_has_a_limit_of_its_own(monkeypatch):
    """Five in five minutes would be 1,440 a day, of a million codes three of which fit."""
    who = person(Role.RATER)
    client = Client()
    start, turned_away = time.time(), 0
    for number in range(30):
        monkeypatch.setattr("time.time", lambda n=number: start + 70 * n)
        sign_in(client, who)
        turned_away += client.post(CODE, {"code": "000000"}).status_code == 429

    assert turned_away == 5


def test_somebody_else_can_sign_in_from_the_page_that_asks_for_a_code():
    client = Client()
    sign_in(client, person(Role.RATER))

    page = client.post("/sign-out/", {"next": SIGN_IN}, follow=True)

    assertContains(page, "<h1>Sign in</h1>", html=True)
    assert client.get(CODE).status_code == 302


# What matters is asked for again


def old(client: Client) -> Client:
    """The same session, an hour later."""
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 3600
    session.save()
    return client


@pytest.mark.parametrize("path", [CODES, "/second-factor/turn-off/"])
def test_whoever_signed_in_long_ago_gives_a_code_again_first(path):
    client = old(signed_in(person(Role.RATER)))

    answer = client.get(path)
    assert answer.url == f"/sign-in/again/code/?next={path.replace('/', '%2F')}"
    assert client.post(answer.url, {"code": "000000"}).status_code == 200
    assertRedirects(client.post(answer.url, {"code": code_of()}), path)


def test_a_password_is_not_enough_where_there_is_a_second_factor():
    client = old(signed_in(person(Role.RATER)))

    page = client.post(f"/sign-in/again/?next={CODES}", {"password": PASSWORD})

    assert page.url.startswith("/sign-in/again/code/")
    assert client.get(CODES).status_code == 302


def test_an_admin_gives_a_code_again_before_another_sets_up_anew():
    lost, client = person(Role.RATER), old(signed_in(person(Role.ADMIN)))
    path = reverse("rating:factor_anew", args=[lost.pk])

    answer = client.post(path, {"reason": "Lost.", "sure": "on"})
    assert answer.url.startswith("/sign-in/again/code/?next=")
    assert Authenticator.objects.filter(user=lost).exists()
    client.post(answer.url, {"code": code_of()})

    # What was sent before is done once the code is there.
    assert not Authenticator.objects.filter(user=lost).exists()


def test_without_one_the_password_is_asked_for_again_before_it_is_set_up():
    client = old(signed_in(person(Role.RATER, factor=False)))

    answer = client.get(SET_UP)
    assert answer.url.startswith("/sign-in/again/?next=")
    assertContains(client.post(answer.url, {"password": "wrong"}), "Error:")
    assertRedirects(client.post(answer.url, {"password": PASSWORD}), SET_UP)


def test_guessing_the_password_again_meets_the_limit_of_signing_in():
    client = old(signed_in(person(Role.RATER, factor=False)))
    answers = [client.post("/sign-in/again/", {"password": "wrong"}) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


def test_a_rater_turns_it_off_and_is_told_so(mailoutbox):
    who = person(Role.RATER)
    client, elsewhere = signed_in(who), signed_in(who)

    page = client.post("/second-factor/turn-off/", follow=True)

    assertContains(page, "Your second factor is off.")
    assert not Authenticator.objects.exists()
    assert elsewhere.get("/text/").status_code == 302
    assert mailoutbox[-1].to == [who.email]


def test_an_admin_cannot_turn_it_off():
    who = person(Role.ADMIN)
    client = signed_in(who)

    assertNotContains(client.get("/second-factor/turn-off/"), 'action="/second-factor/turn-off/"')
    page = client.post("/second-factor/turn-off/")

    assertContains(page, "It stays on.", status_code=409)
    assert Authenticator.objects.filter(user=who, type="totp").exists()


def test_new_recovery_codes_end_the_old_ones():
    who = person(Role.RATER)
    client = signed_in(who)
    before = second_factor.codes_left(who)

    client.post(CODES)

    after = second_factor.codes_left(who)
    assert len(after) == 10
    assert not set(after) & set(before)


# A lost phone


def test_an_admin_lets_somebody_set_up_anew_and_the_log_says_who_and_why(mailoutbox):
    lost, admin = person(Role.MAINTAINER), person(Role.ADMIN)
    theirs, client = signed_in(lost), signed_in(admin)
    path = reverse("rating:factor_anew", args=[lost.pk])
    assertContains(client.get("/people/"), f'href="{path}"')

    client.post(path, {"reason": "Lost it on a train.", "sure": "on"})

    assert not Authenticator.objects.filter(user=lost).exists()
    assert theirs.get("/waves/").url.startswith(SIGN_IN)
    assert signed_in(User.objects.get(pk=lost.pk)).get("/waves/").url.startswith(SET_UP)
    event = Event.objects.filter(kind=EventKind.FACTOR).latest("pk")
    assert event.actor == admin
    assert event.about == {
        "person": lost.pseudonym,
        "did": "let set up anew",
        "reason": "Lost it on a train.",
    }
    assert mailoutbox[-1].to == [lost.email]
    seal_events()
    assert walk_events().broken_at is None


def test_it_wants_a_reason_and_that_they_were_spoken_with():
    lost = person(Role.MAINTAINER)
    client = signed_in(person(Role.ADMIN))

    for said in ({}, {"reason": "Lost."}, {"sure": "on"}):
        answer = client.post(reverse("rating:factor_anew", args=[lost.pk]), said)
        assert answer.status_code == 422
    assert Authenticator.objects.filter(user=lost).exists()


def test_nobody_lets_themselves_set_up_anew():
    admin = person(Role.ADMIN)
    client = signed_in(admin)
    path = reverse("rating:factor_anew", args=[admin.pk])

    page = client.post(path, {"reason": "Mine.", "sure": "on"})

    assertContains(page, "This is your own.", status_code=422)
    assert Authenticator.objects.filter(user=admin).exists()


@pytest.mark.parametrize("role", [one for one in Role if one != Role.ADMIN])
def test_nobody_but_an_admin_does_so(role):
    lost = person(Role.RATER)
    client = signed_in(person(role))
    path = reverse("rating:factor_anew", args=[lost.pk])

    assert client.get(path).status_code == client.post(path).status_code == 404
    assert Authenticator.objects.filter(user=lost).exists()


def test_the_command_helps_the_last_admin(capsys):
    admin = person(Role.ADMIN)
    call_command("second_factor", admin.email)
    assert "has a second factor since" in capsys.readouterr().out

    call_command("second_factor", admin.email.upper(), anew="No other admin.")

    assert not Authenticator.objects.exists()
    assert Event.objects.latest("pk").actor is None
    call_command("second_factor", admin.email)
    assert "is asked to set one up" in capsys.readouterr().out
    for said in ({"anew": " "}, {"anew": "Again."}):
        with pytest.raises(CommandError):
            call_command("second_factor", admin.email, **said)


def test_a_key_that_was_changed_is_said_and_breaks_no_page(settings, capsys):
    who = person(Role.ADMIN)
    inside = signed_in(who)
    settings.SECOND_FACTOR_KEY = "another"
    client = Client()
    sign_in(client, who)
    client.post(CODE, {"code": code_of()})
    assert is_in(client)  # SECRET_KEY hid it, and still reads it

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "changed", [settings.SECRET_KEY]
    assert second_factor.is_readable(who)
    assert inside.get("/second-factor/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []

    assert not second_factor.is_readable(who)
    assert second_factor.codes_left(who) == []
    client = Client()
    sign_in(client, who)
    page = client.post(CODE, {"code": code_of(steps=1)})
    assertContains(page, "This site can no longer read your second factor")
    call_command("second_factor", who.email)
    assert "can no longer be read" in capsys.readouterr().out


def test_the_people_page_says_who_has_one():
    client = signed_in(person(Role.ADMIN))
    rater = make_rater()

    page = client.get("/people/").content.decode()

    [row] = [row for row in page.split("<tr>") if rater.email in row]
    assert "<td>None</td>" in row
    assert page.count("Lost phone") == 1
