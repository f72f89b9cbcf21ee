"""Ratings are frozen for good, and who said what is opened by one person or by two who agree."""

import contextlib
import csv
import io
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import unblinding
from rating.adjudication import open_due
from rating.consistency import faults
from rating.exports import Exports
from rating.models import (
    Assignment,
    Event,
    Exposure,
    Kind,
    Rating,
    Role,
    Saw,
    Slot,
    Unblinding,
)
from rating.queue import (
    NoWork,
    TooLate,
    hand,
    keep_draft,
    lease,
    open_slots,
    rate,
    renew,
    restore,
    undo,
    undoable,
    void,
)
from rating.unblinding import Refused, freeze, still_open
from rating.wave_report import export_rows, key_of
from runs.models import Response, Wave, WaveKind
from runs.signals import responses_completed
from runs.stages import NAMES, stages, stages_of
from runs.waves import WaveRefused, start_wave
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    rated,
)

pytestmark = pytest.mark.django_db

PASSWORD = "a-quiet-morning-walk"


def refused(match: str):
    return pytest.raises(IntegrityError, match=match)


@pytest.fixture
def wave() -> Wave:
    return make_wave(make_bank(bank_data(2)))


@pytest.fixture
def maintainer():
    return make_user(Role.MAINTAINER, password=PASSWORD)


def pilot() -> Wave:
    wave = make_wave(make_bank(bank_data(2)), locked=False)
    Wave.objects.filter(pk=wave.pk).update(kind=WaveKind.PILOT, locked_at=timezone.now())
    return Wave.objects.get(pk=wave.pk)


def frozen(wave: Wave) -> Wave:
    freeze(wave, make_user(Role.MAINTAINER), "All is rated.", now=timezone.now())
    return Wave.objects.get(pk=wave.pk)


def unblinded(wave: Wave) -> Wave:
    wave = frozen(wave)
    unblinding.unblind_alone(wave, make_user(Role.MAINTAINER), "To report it.", now=timezone.now())
    return Wave.objects.get(pk=wave.pk)


# Freezing


def test_what_is_still_open_is_counted(settings):
    settings.UNDO_MINUTES = settings.ADJUDICATE_SAMPLE_PERCENT = 0
    wave = make_wave(make_bank(bank_data(4)))
    first, other = make_rater(), make_rater()
    rated(first, 1)
    rated(first, 3)
    rated(other, 5, critical_harm=True, harm_line="It could.")
    card = leased(make_rater())
    open_due(wave)

    found = still_open(wave)

    assert (found.pending, found.unrated + found.half_rated) == (0, 3)
    assert (found.held, found.held_until) == (1, card.expires_at)
    assert (found.unsettled, found.undecided_harm) == (1, 1)
    assert found.any


def test_freezing_closes_what_is_open_and_says_why_in_the_log(wave, maintainer):
    rated(make_rater())
    card = leased(make_rater())

    freeze(wave, maintainer, "The time is over.", now=timezone.now())

    assert set(Slot.objects.filter(wave=wave).values_list("state", flat=True)) == {
        "rated",
        "closed",
    }
    card.refresh_from_db()
    assert (card.outcome, card.ended_at is not None) == ("expired", True)
    event = Event.objects.get(kind="freeze")
    assert (event.actor, event.about["reason"]) == (maintainer, "The time is over.")
    assert event.about["held"] == "1"
    assert list(faults()) == []


def test_only_a_locked_wave_is_frozen_and_only_once(maintainer):
    with pytest.raises(Refused, match="not locked yet"):
        freeze(make_wave(locked=False), maintainer, "Why not", now=timezone.now())
    wave = frozen(make_wave())
    with pytest.raises(Refused, match="frozen already"):
        freeze(wave, maintainer, "Again", now=timezone.now())
    assert Event.objects.filter(kind="freeze").count() == 1


def test_a_card_held_when_rating_closes_is_kept_as_surplus_and_its_rater_reads_why(client, wave):
    rater = make_rater()
    card = leased(rater)
    keep_draft(card, {"level": 2, "note": "half a thought"}, now=timezone.now())
    frozen(wave)
    client.force_login(rater)

    assertContains(client.get(reverse("rating:queue")), "half a thought")
    page = client.post(
        reverse("rating:rate", args=[card.code]),
        {"do": "submit", "level": "3", "quote": "0-33"},
        follow=True,
    )

    assertContains(page, "it will not be counted, because rating has closed. You did nothing wrong")
    assertContains(page, "Rating has closed.")
    assert Rating.objects.get().kind == Kind.SURPLUS
    assert list(faults()) == []


def test_a_card_that_checks_its_rater_ends_in_the_same_words(client, wave):
    rater = make_rater()
    first = rated(rater)
    card = hand(rater, first.response, Kind.REPEAT, now=timezone.now())
    frozen(wave)
    client.force_login(rater)

    page = client.post(
        reverse("rating:rate", args=[card.code]),
        {"do": "submit", "level": "3", "quote": "0-33"},
        follow=True,
    )

    assertContains(page, "because rating has closed")


def test_a_frozen_wave_has_no_more_work_and_the_room_says_so(wave):
    rater = make_rater()
    rated(rater)
    assert isinstance(lease(rater, now=timezone.now()), Assignment)

    card = Assignment.objects.live().get(rater=rater)
    frozen(wave)

    assert not renew(card, now=timezone.now())
    assert lease(rater, now=timezone.now()) == NoWork("Rating has closed.")


def test_rating_has_not_closed_for_somebody_who_has_another_wave(wave):
    rater = make_rater()
    rated(rater)
    other = make_wave(make_bank(bank_data(1)))
    frozen(wave)

    assert rated(rater).response.run.wave == other
    assert lease(rater, now=timezone.now()) == NoWork("All that is open has had its ratings.")


def test_after_freezing_nothing_is_undone(wave):
    rating = rated(make_rater())
    assert undoable(rating.rater, now=timezone.now()) == [rating]

    frozen(wave)

    assert undoable(rating.rater, now=timezone.now()) == []
    with pytest.raises(TooLate, match="no longer be undone"):
        undo(rating, now=timezone.now())


def test_after_freezing_nothing_is_voided_or_restored(wave):
    by, now = make_user(Role.MAINTAINER), timezone.now()
    gone, stays = rated(make_rater()), rated(make_rater())
    void(gone, by, "By mistake.", now=now)
    frozen(wave)

    with pytest.raises(TooLate, match="Rating has closed, so this rating stays as it is"):
        restore(gone, by, "After all.", now=now)
    with pytest.raises(TooLate, match="Rating has closed, so this rating stays as it is"):
        void(stays, by, "Why not.", now=now)


def test_a_reply_that_comes_after_freezing_is_not_rated(wave):
    Slot.objects.all().delete()
    wave = frozen(wave)
    late = list(Response.objects.of_wave(wave).values_list("pk", flat=True))

    responses_completed.send(sender=Response, response_ids=late)

    assert set(Slot.objects.values_list("state", flat=True)) == {"closed"}
    open_slots(late)
    assert Slot.objects.filter(state="open").count() == 0


def test_nothing_more_is_asked_in_a_frozen_wave(client, wave, maintainer):
    client.force_login(maintainer)
    url = reverse("runs:wave", args=[wave.code])
    assertContains(client.get(url), "Start asking")
    wave = frozen(wave)

    assertNotContains(client.get(url), "Start asking")
    with pytest.raises(WaveRefused, match="are frozen: what is asked now would not be rated"):
        start_wave(wave)


@pytest.mark.django_db(transaction=True)
def test_freezing_in_the_midst_of_rating_loses_nothing_and_lets_nothing_in_later(settings):
    """Six people rate and undo while the wave is frozen under them."""
    settings.CARD_DISTANCE = 0
    settings.UNEVEN_CAP = 99
    wave = make_wave(make_bank(bank_data(20)), trials=2)
    maintainer = make_user(Role.MAINTAINER)
    given_ratings: list[Rating] = []

    def work(rater) -> None:
        try:
            while isinstance(card := lease(rater, now=timezone.now()), Assignment):
                rating = rate(card, given(3), now=timezone.now())
                given_ratings.append(rating)
                if len(given_ratings) % 5 == 0:
                    with contextlib.suppress(TooLate):
                        undo(rating, now=timezone.now())
        finally:
            connection.close()

    def close() -> None:
        try:
            while len(given_ratings) < 12:
                time.sleep(0.01)
            freeze(wave, maintainer, "Time is over.", now=timezone.now())
        finally:
            connection.close()

    raters = [make_rater() for _ in range(6)]
    with ThreadPoolExecutor(7) as pool:
        done = [pool.submit(work, rater) for rater in raters] + [pool.submit(close)]
        for one in done:
            one.result()

    assert list(faults()) == []
    assert not Slot.objects.filter(wave=wave, state__in=["open", "held"]).exists()
    assert not Assignment.objects.live().exists()
    assert Rating.objects.count() == len(given_ratings)
    at = Event.objects.get(kind="freeze").pk
    late = Event.objects.filter(kind__in=["rate", "undo"], pk__gt=at)
    assert all(event.about.get("kind") == "surplus" for event in late)


# What the database refuses


def test_no_counted_rating_is_added_to_a_frozen_wave(wave):
    card = leased(make_rater())
    frozen(wave)
    Assignment.objects.filter(pk=card.pk).update(ended_at=None, outcome="")

    with refused("none is counted from now on"), transaction.atomic():
        rate(card, given(3), now=timezone.now())
    assert Rating.objects.count() == 0


@pytest.mark.parametrize("kind", ["counted", "surplus", "repeat"])
def test_no_rating_of_a_frozen_wave_is_withdrawn_or_superseded_or_put_back(wave, kind):
    rater = make_rater()
    if kind == "counted":
        first, other = rated(rater), rated(rater)
    else:
        card = leased(rater)
        first, other = (
            rate(hand(rater, card.response, apart, now=timezone.now()), given(3), now=timezone.now())
            for apart in (Kind.REPEAT, Kind.BRIDGE)
        )  # fmt: skip
    gone = rated(make_rater())
    Rating.objects.filter(pk=gone.pk).update(withdrawn_at=timezone.now())
    frozen(wave)

    for pk, change in (
        (first.pk, {"withdrawn_at": timezone.now()}),
        (first.pk, {"superseded_by": other}),
        (gone.pk, {"withdrawn_at": None}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Rating.objects.filter(pk=pk).update(**change)
    with refused("taken back, put back or superseded"), transaction.atomic():
        Rating.objects.filter(pk=first.pk).update(withdrawn_at=timezone.now())


@pytest.mark.parametrize("state", ["open", "held"])
def test_no_slot_of_a_frozen_wave_opens_again(wave, state):
    frozen(wave)

    with refused("none of its slots opens again"), transaction.atomic():
        Slot.objects.filter(wave=wave).update(state=state)


def test_a_wave_is_frozen_only_when_locked_and_unblinded_only_when_frozen(wave):
    draft = make_wave(locked=False)
    for pk, change in (
        (draft.pk, {"ratings_frozen_at": timezone.now()}),
        (wave.pk, {"unblinded_at": timezone.now()}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Wave.objects.filter(pk=pk).update(**change)


@pytest.mark.parametrize("kind", [WaveKind.PILOT, WaveKind.OFFICIAL])
def test_a_wave_that_is_not_local_is_not_unblinded_before_two_have_agreed(kind, maintainer):
    wave = make_wave(locked=False)
    Wave.objects.filter(pk=wave.pk).update(kind=kind, locked_at=timezone.now())
    frozen(wave)

    def attempt():
        with refused("Two people must agree"), transaction.atomic():
            Wave.objects.filter(pk=wave.pk).update(unblinded_at=timezone.now())

    attempt()
    unblinding.ask(wave, maintainer, "To report it.", now=timezone.now())
    attempt()
    with pytest.raises(Refused, match="two people who agree"):
        unblinding.unblind_alone(wave, maintainer, "Alone", now=timezone.now())
    unblinding.agree(wave, make_user(Role.MAINTAINER), "Yes.", now=timezone.now())
    assert Wave.objects.get(pk=wave.pk).unblinded_at


def test_a_new_wave_cannot_be_born_unblinded():
    wave = make_wave()
    wave.pk, wave.code, wave.kind = None, "born-open", WaveKind.PILOT
    wave.ratings_frozen_at = wave.unblinded_at = timezone.now()

    with refused("Two people must agree"), transaction.atomic():
        wave.save(force_insert=True)


def test_what_the_table_of_requests_refuses(maintainer):
    wave, other = pilot(), make_user(Role.MAINTAINER)
    rows = Unblinding.objects.filter(wave=wave)
    now = timezone.now()

    def tries(match: str, **fields: object):
        with refused(match), transaction.atomic():
            Unblinding.objects.create(wave=wave, asked_by=maintainer, **fields)

    tries("once ratings are frozen", reason="Too early")
    frozen(wave)
    tries("by one person alone", reason="x", agreed_by=other, agreed_reason="y", agreed_at=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Unblinding.objects.create(wave=wave, asked_by=maintainer, reason="")
    unblinding.ask(wave, maintainer, "To report it.", now=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Unblinding.objects.create(wave=wave, asked_by=other, reason="A second one")
    for change in (
        {"agreed_by": maintainer, "agreed_reason": "Myself", "agreed_at": now},
        {"agreed_by": other, "agreed_at": now},
        {"agreed_by": other, "agreed_reason": "Yes"},
        {"agreed_by": other, "agreed_reason": "Yes", "agreed_at": now, "taken_back_at": now},
        {"reason": "Another"},
        {"asked_by": other},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**change)
    with refused("never deleted"), transaction.atomic():
        rows._raw_delete("default")
    unblinding.take_back(wave, maintainer, now=now)
    for change in (
        {"taken_back_at": None},
        {"agreed_by": other, "agreed_reason": "Yes", "agreed_at": now, "taken_back_at": None},
    ):
        with refused("stays as it is"), transaction.atomic():
            rows.update(**change)


@pytest.mark.parametrize("saw", [Saw.RATINGS, Saw.SUBJECTS])
def test_whoever_has_seen_the_key_or_single_ratings_adds_none_that_counts(wave, saw):
    rater, before = make_rater(), make_rater()
    card = leased(before)
    for person in (rater, before):
        Exposure.objects.create(person=person, saw=saw, wave=wave)

    assert isinstance(lease(rater, now=timezone.now()), NoWork)
    assert rate(card, given(3), now=timezone.now()).kind == Kind.SURPLUS
    Assignment.objects.filter(pk=card.pk).update(outcome="expired")
    with refused("or its key, adds none"), transaction.atomic():
        Rating.objects.create(
            response=card.response,
            rater=before,
            anchor=card.response.item.anchors.first(),
            assignment=card,
            kind="counted",
            slot=1,
        )


# Over HTTP


def post(client, name: str, wave: Wave, **fields: str):
    return client.post(reverse(f"rating:{name}", args=[wave.code]), fields)


def test_freezing_asks_for_a_reason_and_for_having_read_what_is_open(client, wave, maintainer):
    client.force_login(maintainer)
    assertContains(client.get(reverse("rating:freeze", args=[wave.code])), "Cards held now")

    page = post(client, "freeze", wave)
    assertContains(page, "Say why, in a few words.", status_code=422)
    assertContains(page, "Tick that you have read", status_code=422)
    assert Wave.objects.get(pk=wave.pk).ratings_frozen_at is None

    done = post(client, "freeze", wave, reason="The time is over.", read="on")
    assertRedirects(done, reverse("runs:wave", args=[wave.code]))
    assert Wave.objects.get(pk=wave.pk).ratings_frozen_at
    again = post(client, "freeze", wave, reason="Again", read="on")
    assertContains(again, "were frozen on", status_code=422)


def test_a_local_wave_is_unblinded_by_one_person_with_a_reason(client, wave, maintainer):
    client.force_login(maintainer)
    early = post(client, "unblind", wave, do="alone", reason="Now")
    assertContains(early, "Ratings come first.", status_code=409)
    frozen(wave)

    assertContains(post(client, "unblind", wave, do="alone"), "Say why", status_code=422)
    post(client, "unblind", wave, do="alone", reason="To report it.")

    assert Wave.objects.get(pk=wave.pk).unblinded_at
    event = Event.objects.get(kind="unblind")
    assert event.about == {"wave": wave.code, "step": "alone", "reason": "To report it."}


def test_a_pilot_wave_is_unblinded_by_two_who_each_sign_in_again(client, maintainer):
    wave, other = frozen(pilot()), make_user(Role.MAINTAINER, password=PASSWORD)
    client.force_login(maintainer)

    page = post(client, "unblind", wave, do="ask", reason="To report it.", password="wrong")
    assertContains(page, "This is not your password.", status_code=422)
    assertContains(page, "To report it.", status_code=422)
    assertNotContains(page, "wrong", status_code=422)
    assert not Unblinding.objects.exists()
    post(client, "unblind", wave, do="ask", reason="To report it.", password=PASSWORD)

    # The first one is not offered to agree, and refused if they try.
    page = client.get(reverse("rating:unblind", args=[wave.code]))
    assertContains(page, f"Two people must agree to unblind. {maintainer} has agreed at")
    assertNotContains(page, "Agree and unblind")
    page = post(client, "unblind", wave, do="agree", reason="Myself", password=PASSWORD)
    assert page.status_code == 409
    with pytest.raises(Refused, match="Somebody else must agree"):
        unblinding.agree(wave, maintainer, "Myself", now=timezone.now())
    assert Wave.objects.get(pk=wave.pk).unblinded_at is None

    client.force_login(other)
    post(client, "unblind", wave, do="agree", reason="I agree.", password=PASSWORD)

    assert Wave.objects.get(pk=wave.pk).unblinded_at
    steps = [e.about["step"] for e in Event.objects.filter(kind="unblind").order_by("pk")]
    assert steps == ["asked", "agreed"]
    page = client.get(reverse("rating:unblind", args=[wave.code]))
    assertContains(page, "To report it.")
    assertContains(page, "I agree.")


def test_the_first_may_take_the_request_back_and_nobody_else(client, maintainer):
    wave, other = frozen(pilot()), make_user(Role.MAINTAINER, password=PASSWORD)
    unblinding.ask(wave, maintainer, "To report it.", now=timezone.now())

    client.force_login(other)
    assertContains(
        post(client, "unblind", wave, do="take-back"), "no request of yours", status_code=409
    )
    client.force_login(maintainer)
    post(client, "unblind", wave, do="take-back")

    client.force_login(other)
    page = post(client, "unblind", wave, do="agree", reason="I agree.", password=PASSWORD)
    assertContains(page, "This has moved on since you opened the page.", status_code=409)
    assert Wave.objects.get(pk=wave.pk).unblinded_at is None
    assert Event.objects.filter(kind="unblind").latest("pk").about["step"] == "taken back"


def test_after_five_wrong_passwords_the_right_one_waits(client, maintainer):
    wave = frozen(pilot())
    client.force_login(maintainer)
    fields = {"do": "ask", "reason": "To report it."}
    for _ in range(5):
        page = post(client, "unblind", wave, **fields, password="wrong")
        assertContains(page, "This is not your password.", status_code=422)

    page = post(client, "unblind", wave, **fields, password=PASSWORD)

    assertContains(page, "That was tried too often.", status_code=422)
    assert not Unblinding.objects.exists()


def test_the_pages_are_for_maintainers_alone(client, wave):
    wave = unblinded(wave)
    urls = [
        reverse(f"rating:{name}", args=[wave.code])
        for name in ("freeze", "unblind", "key", "key_file")
    ]
    for role in (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN):
        client.force_login(make_user(role))
        for url in urls:
            assert client.get(url).status_code == 404
            assert client.post(url).status_code in (404, 405)


# What opens with it


def test_before_unblinding_there_is_no_key_and_no_column_of_one(client, wave, maintainer):
    rated(make_rater())
    client.force_login(maintainer)
    for state in ("open", "frozen"):
        if state == "frozen":
            wave = frozen(wave)
        for name in ("key", "key_file"):
            assert client.get(reverse(f"rating:{name}", args=[wave.code])).status_code == 404
        with pytest.raises(ValueError, match="not unblinded"):
            key_of(wave)
        subject = wave.runs.get().subject
        text = Exports(wave).file("ratings.csv").decode()
        assert "subject" not in text.splitlines()[0]
        assert subject.code not in text
        assert not any(row.subject or row.condition or row.trial for row in export_rows(wave))
    assert not Exposure.objects.filter(saw=Saw.SUBJECTS).exists()


def test_the_key_says_how_much_came_in_of_each_subject(client, maintainer, settings):
    settings.CARD_DISTANCE = 0
    wave = make_wave(make_bank(bank_data(2)), subjects=["b-2026-01-01", "a-2026-01-01"])
    for _ in range(2):
        rater = make_rater()
        while isinstance(card := lease(rater, now=timezone.now()), Assignment):
            rate(card, given(4), now=timezone.now())
    wave = unblinded(wave)
    client.force_login(maintainer)

    lines = unblinding.key_lines(wave)
    page = client.get(reverse("rating:key", args=[wave.code]))

    assert [line.subject for line in lines] == [
        "dev--kind--a-2026-01-01",
        "dev--kind--b-2026-01-01",
    ]
    assert [(line.responses, line.rated_twice, line.ratings) for line in lines] == [(2, 2, 4)] * 2
    assertContains(page, "dev--kind--a-2026-01-01")
    assert Exposure.objects.get(person=maintainer).saw == Saw.SUBJECTS


def test_the_key_file_and_the_ratings_say_whose_each_response_is(client, wave, maintainer):
    rated(make_rater())
    wave = unblinded(wave)
    client.force_login(maintainer)

    key = client.get(reverse("rating:key_file", args=[wave.code]))
    ratings = client.get(reverse("rating:report_file", args=[wave.code, "ratings.csv"]))

    rows = list(csv.DictReader(io.StringIO(b"".join(key.streaming_content).decode())))
    assert list(rows[0]) == [
        "response",
        "subject",
        "condition",
        "item",
        "trial",
        "words",
        "characters",
        "reading_level",
        "refusal",
        "cut_off",
        "other_script",
    ]
    assert list(rows[0].values())[5:] == ["17", "77", "", "false", "false", "false"]
    responses = {str(r.code): r for r in Response.objects.of_wave(wave).select_related("item")}
    assert {row["response"] for row in rows} == set(responses)
    subject = wave.runs.get().subject.code
    for row in rows:
        assert (row["subject"], row["condition"], row["trial"]) == (subject, "default", "1")
        assert row["item"] == responses[row["response"]].item.code
    [row] = csv.DictReader(io.StringIO(ratings.content.decode()))
    assert (row["subject"], row["condition"], row["trial"]) == (subject, "default", "1")
    seen = Exposure.objects.filter(person=maintainer).values_list("saw", flat=True)
    assert sorted(seen) == ["ratings", "subjects", "subjects"]


def test_the_command_writes_the_columns_once_the_wave_is_unblinded(wave, tmp_path):
    rated(make_rater())
    unblinded(wave)

    call_command("report", wave.code, out=tmp_path, stdout=io.StringIO())

    assert "subject,condition,trial" in (tmp_path / "ratings.csv").read_text().splitlines()[0]


def test_the_wave_page_says_at_which_stage_the_wave_is(client, wave, maintainer):
    client.force_login(maintainer)
    url = reverse("runs:wave", args=[wave.code])

    def now() -> list[str]:
        found = Wave.objects.get(pk=wave.pk)
        return [stage.name for stage in stages_of(found) if stage.current]

    assert now() == ["Rating"]
    assertContains(client.get(url), "Freeze ratings")
    frozen(wave)
    assert now() == ["Frozen"]
    assertContains(client.get(url), "Frozen, now")
    unblinding.unblind_alone(wave, maintainer, "To report it.", now=timezone.now())
    assert now() == ["Unblinded"]
    assertContains(client.get(url), "The key")


def test_the_last_stage_that_was_reached_is_the_current_one():
    moment = timezone.now()

    found = stages([moment, moment, None, None, None, None, None])

    assert [stage.name for stage in found] == list(NAMES)
    assert [stage.current for stage in found] == [False, True, False, False, False, False, False]
