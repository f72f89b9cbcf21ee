"""Hours and exposure: who worked for how long, and who was shown what."""

import csv
import io
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from types import GeneratorType

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating import care
from rating.care import Days, as_csv, exposure_lines, hours_lines, own_exposure_lines
from rating.clock import midnight
from rating.models import Assignment, Event, Exposure, Kind, Rating, Role, User
from rating.queue import hand, lease, rate, skip, undo, void
from runs.models import Response
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    rated,
)

pytestmark = pytest.mark.django_db

FORBIDDEN = ("subject", "run", "wave", "trial", "pair", "arm", "condition")


@pytest.fixture(autouse=True)
def _any_order(settings):
    settings.CARD_DISTANCE = 0


def read(page) -> list[dict[str, str]]:
    text = b"".join(page.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def as_dicts(lines: Iterator[care.Line]) -> list[dict[str, object]]:
    header, *rest = lines
    return [dict(zip(header, line, strict=True)) for line in rest]


def hours_of(person: User) -> dict[str, object]:
    [line] = as_dicts(hours_lines(only=person))
    return line


def today() -> str:
    return timezone.localdate().isoformat()


# Hours


def test_hours_count_cards_ratings_and_active_minutes_by_person_and_day():
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    rated(rater, active_seconds=90)
    rated(rater, active_seconds=60)
    skip(leased(rater), "rather-not", "", now=timezone.now())

    assert hours_of(rater) == {
        "rater": rater.pseudonym,
        "day": today(),
        "cards_opened": 3,
        "hard_topic_cards": 0,
        "ratings": 2,
        "active_minutes": "2.5",
    }


def test_hard_topic_cards_are_counted_for_themselves():
    data = bank_data(2)
    data["items"][0] |= {"sensitivity": "high", "topic": "grief"}
    make_wave(make_bank(data))
    rater = make_rater()
    rater.hard_topics = True
    rater.save()
    for _ in range(2):
        card = lease(rater, now=timezone.now(), topic="open")
        rate(card, given(3), now=timezone.now())

    line = hours_of(rater)

    assert (line["cards_opened"], line["hard_topic_cards"]) == (2, 1)
    topics = [row["topic"] for row in as_dicts(own_exposure_lines(rater))]
    assert sorted(topics) == ["", "grief"]


def test_a_rating_taken_back_and_given_again_is_there_once_and_one_voided_stays():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    first = rated(rater, active_seconds=60)
    now = timezone.now()
    card = undo(first, now=now)
    again = rate(card, given(2, active_seconds=120), now=now)
    assert (hours_of(rater)["ratings"], hours_of(rater)["active_minutes"]) == (1, "2.0")

    void(again, make_user(Role.MAINTAINER), "A mistake of ours.", now=now)
    assert (hours_of(rater)["ratings"], hours_of(rater)["active_minutes"]) == (1, "2.0")

    rater = make_rater()
    make_wave(make_bank(bank_data(1)))
    undo(rated(rater, active_seconds=60), now=timezone.now())
    assert hours_of(rater)["ratings"] == 0


def test_days_are_those_of_the_site_and_can_be_chosen(settings):
    settings.TIME_ZONE = "Europe/Helsinki"
    make_wave(make_bank(bank_data(2)))
    rater = make_rater()
    late = datetime.fromisoformat("2026-10-03T22:30:00+00:00")  # the fourth, in Helsinki
    with timezone.override("Europe/Helsinki"):
        card = lease(rater, now=late)
        rate(card, given(3, active_seconds=60), now=late)
        [line] = as_dicts(hours_lines(only=rater))
        assert line["day"] == "2026-10-04"
        fourth, third = date(2026, 10, 4), date(2026, 10, 3)
        assert as_dicts(hours_lines(Days(fourth, fourth))) == [line]
        assert as_dicts(hours_lines(Days(last=third))) == []
        assert len(as_dicts(exposure_lines(Days(first=fourth)))) == 1
        assert as_dicts(exposure_lines(Days(last=third))) == []


def test_people_stand_by_code_name_from_a_to_z():
    make_wave(make_bank(bank_data(1)))
    people = [make_rater() for _ in range(2)]
    for person in people:
        rated(person)

    names = [line["rater"] for line in as_dicts(hours_lines())]

    assert names == sorted(person.pseudonym for person in people)


# Exposure


def test_exposure_has_each_card_opened_and_how_it_ended():
    wave = make_wave(make_bank(bank_data(2)))
    rater, now = make_rater(), timezone.now()
    given_one = rated(rater, active_seconds=75)
    open_one = leased(rater)

    first, second = as_dicts(exposure_lines())

    assert first["response"] == str(given_one.response.code)
    assert (first["ended"], first["active_seconds"], first["wave"]) == ("rated", 75, wave.code)
    assert second["response"] == str(open_one.response.code)
    assert (second["ended"], second["ended_at"], second["active_seconds"]) == ("open", "", None)
    opened_at = datetime.fromisoformat(str(second["opened_at"]))
    assert abs(opened_at - now) < timedelta(minutes=1)
    assert {line["person"] for line in (first, second)} == {rater.pseudonym}


def test_exposure_has_who_saw_figures_and_ratings_of_which_wave():
    wave = make_wave()
    person = make_user(Role.MAINTAINER)
    Exposure.objects.create(person=person, wave=wave, saw="figures")
    Exposure.objects.create(person=person, wave=wave, saw="ratings")

    lines = as_dicts(exposure_lines())

    assert [(line["saw"], line["wave"]) for line in lines] == [
        ("pooled figures", wave.code),
        ("single ratings", wave.code),
    ]
    assert all(line["person"] == person.pseudonym for line in lines)


def test_no_file_holds_a_name_an_address_a_level_or_what_was_asked():
    wave = make_wave(subjects=["secret-snapshot-1"])
    rater = make_rater()
    rated(rater, 5, note="a note")
    text = "".join(
        line
        for lines in (hours_lines(), exposure_lines(), own_exposure_lines(rater))
        for line in as_csv(lines)
    )

    hidden = [
        rater.email,
        rater.name,
        "secret-snapshot",
        "Dev",
        "AWR",
        "level",
        "a note",
        "counted",
    ]
    hidden += [item.prompt for item in wave.bank.items.all()]
    assert [word for word in hidden if word in text] == []


def test_no_cell_is_taken_for_a_formula():
    data = bank_data(1)
    data["items"][0] |= {"sensitivity": "high", "topic": '=HYPERLINK("x")'}
    make_wave(make_bank(data))
    rater = make_rater()
    rater.hard_topics = True
    rater.save()
    lease(rater, now=timezone.now(), topic="open")

    [_, line] = as_csv(own_exposure_lines(rater))

    assert "\"'=HYPERLINK(" in line
    assert line.endswith("\r\n")


def test_a_raters_own_file_has_no_handle_that_would_show_what_came_twice():
    make_wave(make_bank(bank_data(1)))
    rater = make_rater()
    first = rated(rater)
    now = timezone.now()
    again = hand(rater, first.response, Kind.REPEAT, now=now)
    rate(again, given(3), now=now)

    lines = as_dicts(own_exposure_lines(rater))

    handles = [line["response"] for line in lines]
    assert handles == [str(first.assignment.code), str(again.code)]
    assert str(first.response.code) not in handles
    assert {line["saw"] for line in lines} == {"response"}


def test_nothing_in_a_raters_own_files_tells_agreed_responses_from_the_others():
    [seed] = make_seeds(1)
    make_wave(make_bank(bank_data(1)))
    rater, now = make_rater(), timezone.now()
    rated(rater)
    rate(hand(rater, seed.response, Kind.SEED, now=now), given(3), now=now)

    plain, checked = as_dicts(own_exposure_lines(rater))

    named = ("response", "opened_at", "ended_at")
    assert {k: v for k, v in plain.items() if k not in named} == {
        k: v for k, v in checked.items() if k not in named
    }


def test_lines_are_made_one_by_one(monkeypatch):
    make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    for _ in range(3):
        rated(rater)
    asked = []
    whole = care._cards_of

    def watched(*args, **kwargs):
        asked.append("cards")
        yield from whole(*args, **kwargs)

    monkeypatch.setattr(care, "_cards_of", watched)
    lines = as_csv(exposure_lines())

    assert isinstance(lines, GeneratorType)
    assert next(lines).startswith("person,saw,response")
    assert asked == []  # not a row before the header is through
    next(lines)
    assert asked == ["cards"]


# The pages


@pytest.mark.parametrize("role", [Role.MAINTAINER, Role.ADMIN])
@pytest.mark.parametrize("name", ["hours.csv", "exposure.csv"])
def test_maintainers_and_admins_fetch_the_files_and_that_is_logged(client, role, name):
    make_wave()
    rater = make_rater()
    rated(rater)
    person = make_user(role)
    client.force_login(person)
    assertContains(client.get(reverse("rating:care")), reverse("rating:care_file", args=[name]))

    page = client.get(reverse("rating:care_file", args=[name]), {"first": today()})

    assert page.streaming
    assert page["Content-Type"] == "text/csv; charset=utf-8"
    assert page["Content-Disposition"] == f'attachment; filename="{name}"'
    assert rater.pseudonym in str(read(page))
    event = Event.objects.get(kind="look")
    assert event.actor == person
    assert event.about == {"what": name, "from": today(), "to": ""}


def test_asking_only_whether_a_file_is_there_is_no_look(client):
    client.force_login(make_user(Role.MAINTAINER))

    assert client.head(reverse("rating:care_file", args=["hours.csv"])).status_code == 200
    assert not Event.objects.exists()


def test_days_that_are_none_or_the_wrong_way_round_are_said_and_nothing_is_sent(client):
    client.force_login(make_user(Role.MAINTAINER))
    url = reverse("rating:care_file", args=["hours.csv"])

    backwards = {"first": "2026-10-04", "last": "2026-10-03"}
    assertContains(client.get(url, backwards), "The last day lies before", status_code=422)
    assert client.get(url, {"first": "soon"}).status_code == 422
    assert not Event.objects.exists()


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR])
def test_for_everybody_else_there_is_no_such_page(client, role):
    client.force_login(make_user(role))

    assert client.get(reverse("rating:care")).status_code == 404
    for name in ("hours.csv", "exposure.csv"):
        assert client.get(reverse("rating:care_file", args=[name])).status_code == 404


def test_a_rater_fetches_their_own_two_files_and_nobody_elses(client):
    make_wave()
    rater, other = make_rater(), make_rater()
    rated(rater)
    rated(other)
    client.force_login(rater)
    page = client.get(reverse("rating:standing"))

    for name in ("hours.csv", "exposure.csv"):
        url = reverse("rating:own_file", args=[name])
        assertContains(page, url)
        rows = read(client.get(url))
        assert len(rows) == 1
        assert rater.pseudonym in str(rows)
        assert other.pseudonym not in str(rows)
        assert not set(rows[0]) & set(FORBIDDEN)
    assert client.get(reverse("rating:own_file", args=["ratings.csv"])).status_code == 404
    assert not Event.objects.filter(kind="look").exists()


@pytest.mark.parametrize("role", [Role.MAINTAINER, Role.ADMIN, Role.ADJUDICATOR])
def test_who_does_not_rate_has_no_files_of_their_own(client, role):
    client.force_login(make_user(role))

    assert client.get(reverse("rating:own_file", args=["hours.csv"])).status_code == 404


# The command


def test_the_command_writes_the_same_lines_and_is_logged(capsys):
    make_wave()
    rated(make_rater())

    call_command("care", "--hours", "--from", today())

    assert capsys.readouterr().out == "".join(as_csv(hours_lines()))
    event = Event.objects.get(kind="look")
    assert (event.actor, event.about["what"]) == (None, "hours.csv")
    call_command("care", "--exposure", "--to", "2020-01-01")
    assert capsys.readouterr().out.splitlines() == [",".join(care.EXPOSURE)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "one of the arguments --hours --exposure is required"),
        (["--hours", "--exposure"], "not allowed with"),
        (["--hours", "--from", "soon"], "'soon' is no day; write it as 2026-10-03."),
        (["--hours", "--from", "2026-10-04", "--to", "2026-10-03"], "lies before 2026-10-04"),
    ],
)
def test_the_command_says_what_is_wrong(args, said):
    with pytest.raises(CommandError, match=said):
        call_command("care", *args)


# Home


def test_home_says_what_one_is_qualified_for_and_how_long_one_read_today(client, settings):
    settings.QUALIFY_ITEMS = 1
    make_wave(make_bank(bank_data(2)))
    rater = make_rater()
    client.force_login(rater)
    assertContains(client.get(reverse("home")), "You are qualified for: nothing yet")

    rater.qualifications.create(
        instrument="model-index", items=1, within_one=1, exact=1, need_within_one=1, need_exact=1,
        passed=True,
    )  # fmt: skip
    rated(rater, active_seconds=3600)
    rated(rater, active_seconds=720)
    page = client.get(reverse("home"))
    assertContains(page, "You are qualified for: Model Index")
    assertContains(page, "Today 2 rated · 1 h 12 min")
    assertContains(page, f'<a href="{reverse("rating:pause")}">Break</a>')


def test_what_was_rated_yesterday_is_not_of_today(client):
    make_wave()
    rater = make_rater()
    yesterday = midnight(timezone.now()) - timedelta(hours=1)
    rate(lease(rater, now=yesterday), given(3, active_seconds=600), now=yesterday)
    client.force_login(rater)

    assertContains(client.get(reverse("home")), "Today 0 rated · 0 min")


def test_the_count_can_be_hidden_for_good_and_shown_again(client):
    rater = make_rater()
    client.force_login(rater)

    client.post(reverse("rating:counts"), {"do": "hide"})
    page = client.get(reverse("home"))
    assertNotContains(page, "Today 0 rated")
    assertContains(page, "Show today’s count")
    look = {"size": "130", "font": "sans", "line": "190", "theme": "dark", "keys": "off"}
    client.post(reverse("rating:text"), {**look, "languages": ["en"]})
    assertNotContains(client.get(reverse("home")), "Today 0 rated")

    client.post(reverse("rating:counts"), {"do": "show"})
    page = client.get(reverse("home"))
    assertContains(page, "Today 0 rated")
    assertContains(page, 'class="size-130 font-sans line-190 theme-dark keys-off"')


def test_every_card_of_the_file_is_one_that_was_opened():
    make_wave(make_bank(bank_data(3)))
    for _ in range(2):
        rater = make_rater()
        for _ in range(3):
            rated(rater)

    lines = as_dicts(exposure_lines())

    assert len(lines) == Assignment.objects.count() == Rating.objects.count() == 6
    codes = {str(code) for code in Response.objects.values_list("code", flat=True)}
    assert {line["response"] for line in lines} == codes
