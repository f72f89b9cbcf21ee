"""Being told once when there is work again, and never more than that."""

from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import tasks
from rating.models import Assignment, Event, Pause, Role, Slot, Tally, User
from rating.notices import (
    ask_for_a_notice,
    could_lease,
    withdraw_the_notice,
    write_to_those_waiting,
)
from rating.queue import pause, skip
from runs import periodic
from tests.factories import (
    bank_data,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    rated,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_site_that_can_write(settings):
    settings.MAIL, settings.SITE_URL = True, "https://rate.example.org"
    settings.CARD_DISTANCE = 0


@pytest.fixture
def now():
    return timezone.now()


def waiting_rater(now) -> User:
    rater = make_rater()
    ask_for_a_notice(rater, now=now)
    rater.refresh_from_db()
    return rater


def test_the_empty_queue_offers_to_write_and_takes_it_back(client, now):
    rater = make_rater()
    client.force_login(rater)
    empty = client.post(reverse("rating:start"))
    assertContains(empty, "There is nothing for you to rate right now.")
    assertContains(empty, "Write to me when there is work")

    answer = client.post(reverse("rating:notice"), {"do": "ask"})
    assertRedirects(answer, reverse("home"))
    rater.refresh_from_db()
    assert rater.write_at_work is not None
    for page in (client.get(reverse("home")), client.post(reverse("rating:start"))):
        assertContains(page, f"We will write to {rater.email} once")
        assertContains(page, "Do not write to me")

    client.post(reverse("rating:notice"), {"do": "withdraw"})
    rater.refresh_from_db()
    assert rater.write_at_work is None
    assertNotContains(client.get(reverse("home")), "We will write to")


@pytest.mark.parametrize(("mail", "site"), [(False, "https://rate.example.org"), (True, "")])
def test_nothing_is_offered_that_could_not_be_sent(client, settings, mail, site):
    settings.MAIL, settings.SITE_URL = mail, site
    rater = make_rater()
    client.force_login(rater)

    assertNotContains(client.post(reverse("rating:start")), "Write to me")
    client.post(reverse("rating:notice"), {"do": "ask"})
    rater.refresh_from_db()
    assert rater.write_at_work is None


def test_a_site_that_sends_mail_but_does_not_know_its_address_is_told(settings):
    settings.SITE_URL = ""

    [fault] = [one for one in run_checks() if one.id == "rating.W001"]
    assert "SITE_URL" in fault.hint


def test_one_plain_mail_is_sent_when_there_is_work_and_no_second(now, mailoutbox):
    rater = waiting_rater(now)
    assert write_to_those_waiting(now) == 0
    make_wave()

    assert write_to_those_waiting(now) == 1
    assert write_to_those_waiting(now) == 0

    [mail] = mailoutbox
    assert mail.to == [rater.email]
    assert mail.subject == "There are responses to rate again"
    assert "https://rate.example.org/rate/" in mail.body
    assert "Nothing more comes unless you ask again." in mail.body
    rater.refresh_from_db()
    assert rater.write_at_work is None


def test_who_asks_again_is_written_to_at_most_once_a_day(now, mailoutbox):
    rater = waiting_rater(now)
    make_wave()
    write_to_those_waiting(now)
    ask_for_a_notice(rater, now=now)

    assert write_to_those_waiting(now) == 0
    assert write_to_those_waiting(now + timedelta(days=1)) == 1
    assert len(mailoutbox) == 2


def test_looking_for_work_leases_nothing_and_leaves_no_trace(now):
    make_wave()
    rater = make_rater()
    before = list(Slot.objects.order_by("pk").values())

    assert could_lease(rater, now)

    assert list(Slot.objects.order_by("pk").values()) == before
    assert not Assignment.objects.exists()
    assert not Tally.objects.exists()
    assert not Event.objects.exists()


def test_nobody_is_written_to_about_work_they_could_not_get(now, settings, mailoutbox):
    make_wave(make_bank(bank_data(1)))
    rater = waiting_rater(now)
    User.objects.filter(pk=rater.pk).update(languages=["fi"])
    assert write_to_those_waiting(now) == 0

    User.objects.filter(pk=rater.pk).update(languages=["en"])
    pause(rater, None, "Let us talk.", "They stay.", now=now)
    assert write_to_those_waiting(now) == 0

    Pause.objects.update(ended_at=now)
    User.objects.filter(pk=rater.pk).update(is_active=False)
    assert write_to_those_waiting(now) == 0

    User.objects.filter(pk=rater.pk).update(is_active=True)
    rater.groups.clear()
    assert write_to_those_waiting(now) == 0
    assert mailoutbox == []


def test_a_rater_at_the_limit_of_the_day_is_not_written_to_that_day(now, settings):
    settings.RATINGS_A_DAY = 1
    make_wave()
    rater = make_rater()
    rated(rater)
    ask_for_a_notice(rater, now=timezone.now())

    assert write_to_those_waiting(timezone.now()) == 0
    assert write_to_those_waiting(timezone.now() + timedelta(days=1)) == 1


def test_a_hard_topic_is_work_for_those_alone_who_turned_them_on(now):
    data = bank_data(1)
    data["items"][0] |= {"sensitivity": "high", "topic": "grief"}
    make_wave(make_bank(data))
    rater = make_rater()

    assert not could_lease(rater, now)
    rater.hard_topics = True
    rater.save()
    assert could_lease(rater, now)


def test_what_a_rater_skipped_is_no_work_for_them(now):
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    skip(leased(rater), "rather-not", "", now=now)

    assert not could_lease(rater, now)


def test_who_has_come_back_by_themselves_is_not_written_to(mailoutbox):
    now = timezone.now()
    rater = waiting_rater(now - timedelta(hours=1))
    make_wave()
    leased(rater)

    assert write_to_those_waiting(now) == 0
    rater.refresh_from_db()
    assert rater.write_at_work is None
    assert mailoutbox == []


def test_a_server_that_takes_no_mail_is_tried_again(now, monkeypatch, mailoutbox):
    rater = waiting_rater(now)
    make_wave()

    def refuse(*_):
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("rating.notices.send_mail", refuse)
        assert write_to_those_waiting(now) == 0
    rater.refresh_from_db()
    assert (rater.write_at_work, rater.work_written_at) == (now, None)

    assert write_to_those_waiting(now) == 1
    assert len(mailoutbox) == 1


def test_what_was_taken_back_meanwhile_is_not_sent(now, monkeypatch, mailoutbox):
    rater = waiting_rater(now)
    make_wave()

    def taken_back(person, _):
        withdraw_the_notice(person)
        return True

    monkeypatch.setattr("rating.notices.could_lease", taken_back)

    assert write_to_those_waiting(now) == 0
    rater.refresh_from_db()
    assert rater.write_at_work is None
    assert mailoutbox == []


def test_the_limit_of_the_day_says_so_and_offers_home_alone(client, settings):
    settings.RATINGS_A_DAY = 1
    make_wave()
    rater = make_rater()
    rated(rater)
    client.force_login(rater)

    page = client.post(reverse("rating:start"))

    assertContains(page, "You have reached the limit for today. Rating opens again tomorrow at")
    assertNotContains(page, "There is nothing for you to rate right now.")
    assertNotContains(page, "Write to me")
    assertNotContains(page, "Look again")


@pytest.mark.parametrize("role", [Role.ADJUDICATOR, Role.MAINTAINER, Role.ADMIN])
def test_only_raters_ask(client, role):
    client.force_login(make_user(role))

    assert client.post(reverse("rating:notice"), {"do": "ask"}).status_code == 404


def test_a_worker_looks_as_soon_as_it_is_ready_and_stops_when_it_ends(monkeypatch):
    looks, seals = [], []
    monkeypatch.setattr(tasks, "write_to_those_waiting", looks.append)
    monkeypatch.setattr(tasks, "seal_rows", lambda lots: seals.append(lots))
    for other in ("beat", "forget_calls"):
        monkeypatch.setattr(tasks, other, lambda now: None)
    for other in ("clear_ended_sessions", "seal_events"):
        monkeypatch.setattr(tasks, other, lambda: None)
    monkeypatch.setattr(periodic, "close_old_connections", lambda: None)
    monkeypatch.setattr(periodic.connections, "close_all", lambda: None)
    monkeypatch.setattr(tasks, "LOOK_SECONDS", 0.01)

    tasks.caretakers.start()
    [caretaker] = tasks.caretakers.running
    for _ in range(500):
        if len(looks) > 1:
            break
        caretaker.stopping.wait(0.01)
    tasks.caretakers.stop()

    assert len(looks) > 1
    assert len(seals) >= len(looks) - 1  # the last look may be the one that was ended
    assert not caretaker.is_alive()
