"""How often somebody may try to sign in: counted once for all processes, by account and by sender."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.asserts import assertContains

from compassion.caches import Limits, OneMachineCache
from rating.limits import sender_of, wait_of
from rating.models import Role
from tests.factories import make_user

ROOT = Path(__file__).parents[1]
PASSWORD = "a-quiet-morning-walk"


def sender(forwarded: str = "", remote: str = "10.0.0.1") -> str:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    return sender_of(RequestFactory().get("/", headers=headers, REMOTE_ADDR=remote))


def guess(address: str, password: str = "wrong", **headers: str):
    said = {"login": address, "password": password}
    return Client(headers=headers).post(reverse("account_login"), said)


# Who a sender is


@pytest.mark.parametrize("forwarded", ["192.0.2.7", "192.0.2.7, 192.0.2.8", "anything"])
def test_without_a_proxy_nobody_says_who_they_are(settings, forwarded):
    settings.PROXIES = 0

    assert sender(forwarded) == "10.0.0.1"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "true"),
    [
        (1, "192.0.2.7", "192.0.2.7"),
        (1, "198.51.100.1, 192.0.2.7", "192.0.2.7"),
        (1, "198.51.100.1,203.0.113.5 ,  192.0.2.7", "192.0.2.7"),
        (2, "198.51.100.1, 192.0.2.7, 10.0.0.9", "192.0.2.7"),
        (2, "192.0.2.7", "10.0.0.1"),  # it did not pass both: what it says was not written by them
        (1, "", "10.0.0.1"),
        (1, "192.0.2.7:51234", "192.0.2.7"),
        (1, "[2001:db8::7]:51234", "2001:db8::7"),
        (1, "2001:db8::7", "2001:db8::7"),
        (1, "198.51.100.1, made up", "0.0.0.0"),
    ],
)
def test_behind_proxies_what_they_wrote_is_believed_and_nothing_before_it(
    settings, proxies, forwarded, true
):
    settings.PROXIES = proxies

    assert sender(forwarded) == true


def test_a_sender_without_any_address_is_one_sender():
    assert sender(remote="") == "0.0.0.0"


# Signing in


@pytest.mark.django_db
def test_an_office_behind_one_address_signs_in_all_at_once():
    people = [make_user(Role.RATER, password=PASSWORD) for _ in range(25)]

    for person in people:
        client = Client()
        client.post(reverse("account_login"), {"login": person.email, "password": "a slip"})
        client.post(reverse("account_login"), {"login": person.email, "password": PASSWORD})
        assert "_auth_user_id" in client.session


@pytest.mark.django_db
def test_guessing_one_account_from_many_addresses_meets_its_limit(settings):
    settings.PROXIES = 1
    address = make_user(Role.RATER, password=PASSWORD).email
    told = [
        guess(address, **{"X-Forwarded-For": f"192.0.2.{number}"}).status_code
        for number in range(7)
    ]

    assert told == [200] * 5 + [429] * 2


@pytest.mark.django_db
def test_guessing_one_account_under_other_names_of_the_site_meets_the_same_limit(settings):
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
    person = make_user(Role.RATER, password=PASSWORD)
    names = ["localhost", "LOCALHOST", "localhost.", "localhost:81", "127.0.0.1", "127.0.0.1:82"]

    found = [guess(person.email, Host=name).status_code for name in names]

    assert found == [200] * 5 + [429]


@pytest.mark.django_db
def test_guessing_many_accounts_from_one_address_meets_its_limit_whatever_it_says_it_is(settings):
    settings.PROXIES = 1
    told = [
        guess(
            f"n{number}@example.org", **{"X-Forwarded-For": f"198.51.100.{number}, 192.0.2.7"}
        ).status_code
        for number in range(62)
    ]

    assert told == [200] * 60 + [429] * 2
    elsewhere = guess("n0@example.org", **{"X-Forwarded-For": "192.0.2.8"})
    assert elsewhere.status_code == 200


@pytest.mark.django_db
def test_whoever_tried_too_often_reads_when_to_try_again():
    address = make_user(Role.RATER, password=PASSWORD).email
    for _ in range(5):
        guess(address)

    page = guess(address, PASSWORD)

    assert 290 < int(page["Retry-After"]) <= 300
    assertContains(page, "Try again at", status_code=429)
    assertContains(page, "in 5 minutes", status_code=429)
    assertContains(page, "Nothing on this site tells you which AI", status_code=429)


@pytest.mark.django_db
def test_that_page_is_the_same_for_an_address_without_an_account():
    """Nobody learns from it who has an account."""
    address = make_user(Role.RATER, password=PASSWORD).email
    told = []
    for one in (address, "nobody@example.org"):
        told.append([guess(one).status_code for _ in range(6)])

    assert told[0] == told[1]


@pytest.mark.django_db
def test_the_account_opens_again_once_the_time_is_over(monkeypatch):
    address = make_user(Role.RATER, password=PASSWORD).email
    for _ in range(5):
        guess(address)
    wait = int(guess(address, PASSWORD)["Retry-After"])
    now = time.time()

    monkeypatch.setattr("time.time", lambda: now + wait + 1)

    assert guess(address, PASSWORD).status_code == 302


@pytest.mark.django_db
def test_asking_for_a_new_password_has_a_limit_and_says_when_it_ends(mailoutbox):
    address = make_user(Role.RATER, password=PASSWORD).email
    told = [Client().post(reverse("account_reset_password"), {"email": address}) for _ in range(6)]

    assert [page.status_code for page in told] == [302] * 5 + [429]
    assert len(mailoutbox) == 5
    assert 3500 < int(told[-1]["Retry-After"]) <= 3600


@pytest.mark.django_db
def test_changing_the_password_has_a_limit_by_person(client):
    client.force_login(make_user(Role.RATER, password=PASSWORD))
    path = reverse("account_change_password")
    told = [client.post(path, {"oldpassword": "wrong"}).status_code for _ in range(11)]

    assert told == [200] * 10 + [429]


@pytest.mark.django_db
def test_nobody_waits_who_has_not_tried(rf):
    request = rf.get("/")

    assert wait_of(request, "login_failed", key="me") == 0


# Where it is counted


def test_without_redis_limits_are_counted_where_every_process_sees_them(tmp_path):
    told = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c",
         "from django.core.cache import cache; cache.set('limit:x', 7); cache.set('figure', 7)"],
        cwd=ROOT, env={"PATH": "", "VAR_DIR": str(tmp_path)}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    here = OneMachineCache(tmp_path / "limits", {})

    assert told.returncode == 0, told.stderr
    assert (here.get("limit:x"), here.get("figure")) == (7, None)


def test_of_many_who_add_a_key_at_once_one_does(tmp_path):
    """A code is used once however many send it at the same moment."""
    start = threading.Barrier(16)

    def add(_: int) -> bool:
        mine = OneMachineCache(tmp_path, {})
        start.wait()
        return mine.add("allauth.used", "y", timeout=90)

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(add, range(16))) == 1


def test_of_many_who_count_at_once_each_is_counted(tmp_path):
    OneMachineCache(tmp_path, {}).set("limit:n", 0)

    def count(_: int) -> None:
        for _ in range(5):
            OneMachineCache(tmp_path, {}).incr("limit:n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))

    assert OneMachineCache(tmp_path, {}).get("limit:n") == 40


def test_what_has_ended_is_forgotten_before_what_still_counts(tmp_path):
    limits = Limits(str(tmp_path), {"OPTIONS": {"MAX_ENTRIES": 20}})
    for number in range(19):
        limits.set(f"old{number}", 1, timeout=0.01)
    limits.set("live", 1, timeout=60)
    time.sleep(0.05)

    limits.set("another", 1, timeout=60)

    assert (limits.get("live"), limits.get("another")) == (1, 1)
    assert not limits.has_key("old1")


def test_the_folder_of_limits_is_its_owners_alone(tmp_path):
    OneMachineCache(tmp_path / "limits", {}).set("limit:x", 1)

    assert (tmp_path / "limits").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("key", ["limit:x", "figure"])
def test_either_kind_of_key_does_what_a_cache_does(tmp_path, key):
    one = OneMachineCache(tmp_path, {})

    assert one.add(key, 1)
    assert not one.add(key, 2)
    assert (one.get(key), one.has_key(key), one.incr(key), one.touch(key, 9)) == (1, True, 2, True)
    assert one.get_many([key, "none"]) == {key: 2}
    assert one.delete(key)
    one.set(key, 3)
    one.clear()
    assert one.get(key, "gone") == "gone"
