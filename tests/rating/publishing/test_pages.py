"""The pages about what came of a wave, and the act of publishing it."""

import io
import json
import re
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.models import Event, EventKind, Exposure, Role, Saw
from rating.public_face import officially_evaluated, published, standpoints
from rating.publications import Correction, Publication
from rating.publishing import acts
from rating.publishing.bundle import internal_bundle, reproduce
from rating.publishing.gather import data_of, rows_of
from rating.publishing.results import results_of
from runs.guards import lifted
from runs.models import Subject, Wave, WaveKind
from tests.factories import (
    REPLY,
    bank_data,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    rated,
)
from tests.rating.publishing.made import QUICK
from tests.rating.publishing.waves import pairs_wave, rated_wave, unblind

pytestmark = pytest.mark.django_db
PAGES = ("rating:results", "rating:health", "rating:whole_report")


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    monkeypatch.setattr("rating.publishing.results.DRAWS", QUICK)


@pytest.fixture
def maintainer(client):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


@pytest.fixture
def wave():
    return rated_wave({"alike-1-2026": 4.0, "alike-2-2026": 4.0, "apart-2026": 2.0}, items=32)


def publish(wave: Wave) -> Publication:
    return acts.publish(wave, make_user(Role.MAINTAINER), "It is done.", now=timezone.now())


def open_page(client, name, wave, **query):
    return client.get(reverse(name, args=[wave.code]), query)


@pytest.mark.parametrize("name", PAGES)
def test_before_unblinding_a_page_says_what_is_missing_and_no_figure(client, maintainer, name):
    wave = rated_wave({"one-2026": 4.0}, unblinded=False, items=8, trials=1)

    page = open_page(client, name, wave)

    assertContains(page, "Its ratings must be frozen.")
    assertContains(page, "It must be unblinded.")
    assertNotContains(page, "one-2026")
    assert not Exposure.objects.exists()


def test_results_stand_from_a_to_z_with_a_point_of_none_that_is_in_a_group(
    client, maintainer, wave
):
    page = open_page(client, "rating:results", wave).content.decode()

    report = acts.report_of(wave)
    [group] = report["results"]["groups"]
    assert [row["subject"][-12:] for row in group["members"]] == ["alike-1-2026", "alike-2-2026"]
    [alone] = report["results"]["alone"]
    assert f"<td>{alone['composite']}, {alone['label']}</td>" in page
    ranges = sum(len(row["ranges"]) for row in group["members"])
    assert page.count("withheld: in a group") == ranges > 9
    assert page.index("alike-1-2026") < page.index("alike-2-2026") < page.index("apart-2026")
    assert {one.saw for one in Exposure.objects.filter(person=maintainer)} == {Saw.SUBJECTS}


def test_every_number_leads_to_the_ratings_and_quotes_it_rests_on(client, maintainer, wave):
    subject = Subject.objects.get(snapshot="alike-1-2026").code
    link = f"?subject={subject}&amp;condition=default&amp;in=AWR"
    assertContains(open_page(client, "rating:results", wave), link)

    page = open_page(
        client, "rating:why", wave, subject=subject, condition="default", **{"in": "AWR"}
    )

    assertContains(page, REPLY[:33], count=12 * 2)  # 4 items, 3 trials, two ratings
    assertNotContains(page, REPLY)
    assert {one.saw for one in Exposure.objects.filter(person=maintainer)} == {
        Saw.SUBJECTS,
        Saw.RATINGS,
    }


def test_of_a_pair_both_prompts_stand_side_by_side_with_their_quotes(client, maintainer):
    wave = pairs_wave({"one-2026": 3.0})
    subject = Subject.objects.get(snapshot="one-2026").code

    assertContains(open_page(client, "rating:parity", wave), "Moral Status")
    page = open_page(
        client, "rating:why", wave, subject=subject, condition="default", **{"in": "1"}
    )

    assertContains(page, "I am A and lonely, 0 days now.")
    assertContains(page, "I am B and lonely, 0 days now.")
    assertContains(page, REPLY[:33], count=4 * 2 * 3 * 2)


def test_a_wave_of_the_index_has_no_page_of_parity(client, maintainer, wave):
    assert open_page(client, "rating:parity", wave).status_code == 404


@pytest.mark.parametrize("role", [role for role in Role if role != Role.MAINTAINER])
def test_nobody_but_maintainers_sees_results(client, wave, role):
    client.force_login(make_user(role))

    for name in (*PAGES, "rating:gate", "rating:why"):
        assert open_page(client, name, wave).status_code == 404


def test_the_gate_shows_each_condition_with_its_evidence_before_unblinding_too(client, maintainer):
    wave = rated_wave({"one-2026": 4.0}, unblinded=False, items=8, trials=1)

    page = open_page(client, "rating:gate", wave)

    assertContains(page, "official: false, comparability: none")
    assertContains(page, "8 of 8 responses rated by two people")
    assertContains(page, "Frozen ratings.")
    assertContains(page, "Unpublished items: published ones carry their answer key.")


def test_publishing_asks_for_a_reason_and_that_the_report_was_read(client, maintainer, wave):
    url = reverse("rating:whole_report", args=[wave.code])

    answer = client.post(url, {"do": "publish", "reason": "", "read": ""})

    assertContains(answer, "Say why, in a few words.", status_code=422)
    assertContains(answer, "Tick that you have read the report.", status_code=422)
    assert not Publication.objects.exists()


def test_what_is_published_is_read_by_anyone_and_is_logged(client, maintainer, wave):
    url = reverse("rating:whole_report", args=[wave.code])
    told = {"do": "publish", "reason": "It is done.", "read": "on"}

    assertRedirects(client.post(url, told), url)
    client.logout()
    page = open_page(client, "rating:published_report", wave)

    assertContains(page, "apart-2026")
    assertContains(page, "official: false, comparability: none")
    assertNotContains(page, "/why/")
    assertNotContains(page, REPLY[:33])
    assertContains(client.get(reverse("rating:published")), wave.title)
    [event] = Event.objects.filter(kind=EventKind.PUBLISH)
    assert event.actor == maintainer
    assert event.about["reason"] == "It is done."
    assert event.about["report"] == Publication.objects.get().text_hash


def test_before_publishing_there_is_no_such_page_or_file(client, wave):
    assert open_page(client, "rating:published_report", wave).status_code == 404
    for name in ("report.json", "figures.csv", "public.zip"):
        url = reverse("rating:published_file", args=[wave.code, name])
        assert client.get(url).status_code == 404


def test_public_files_hold_no_key_and_nothing_that_is_withheld(client, wave):
    publish(wave)
    files = {
        name: client.get(reverse("rating:published_file", args=[wave.code, name])).content
        for name in ("report.json", "figures.csv", "public.zip")
    }
    codes = [str(reply.code) for reply in data_of(wave).replies]
    group = acts.report_of(wave)["results"]["groups"][0]["members"]
    scores = {
        score.subject: score.composite for score in results_of(data_of(wave), QUICK).index.scores
    }

    with zipfile.ZipFile(io.BytesIO(files["public.zip"])) as archive:
        bodies = [archive.read(name).decode() for name in archive.namelist()]
    bodies += [files["report.json"].decode(), files["figures.csv"].decode()]
    for body in bodies:
        assert not [code for code in codes if code in body]
        for member in group:
            assert not re.search(rf"\b{re.escape(str(scores[member['subject']]))}\b", body)


def test_the_internal_bundle_is_computed_again_to_the_same_figures(
    client, maintainer, wave, tmp_path
):
    made = internal_bundle(data_of(wave), QUICK)
    path = tmp_path / "internal.zip"
    path.write_bytes(made)

    found = reproduce(path)

    assert found.identical, found.differences
    assert found.figures > 100
    assert internal_bundle(data_of(wave), QUICK) == made


def test_a_correction_is_appended_with_its_date_and_the_report_stays(client, maintainer, wave):
    before = publish(wave)
    url = reverse("rating:whole_report", args=[wave.code])

    assertRedirects(client.post(url, {"do": "correct", "text": "One name was misspelt."}), url)

    page = open_page(client, "rating:published_report", wave)
    assertContains(page, "One name was misspelt.")
    assertContains(page, "Corrected on")
    assert Publication.objects.get().text == before.text
    assertContains(client.get(reverse("rating:published")), "One name was misspelt.")
    assertContains(client.get(reverse("rating:about")), "1 correction")


@pytest.mark.parametrize("text", ["It is the best of all.", " "])
def test_a_correction_says_something_and_nothing_that_no_report_says(wave, text):
    publish(wave)

    with pytest.raises(acts.Refused):
        acts.correct(wave, make_user(Role.MAINTAINER), text, now=timezone.now())


def test_a_report_with_a_forbidden_word_is_not_published(monkeypatch):
    wave = rated_wave({"one-2026": 4.0}, items=8, trials=1)
    monkeypatch.setattr("rating.publishing.content.CARE", "These are the top models.")

    with pytest.raises(acts.Refused, match="“top” in “These are the top models"):
        publish(wave)


def test_what_things_are_called_keeps_no_report_from_being_published():
    wave = rated_wave({"one-2026": 4.0}, items=8, trials=1, title="The top models of spring")

    assert publish(wave).content["wave"]["title"] == "The top models of spring"


def test_a_wave_is_published_once(wave):
    publish(wave)

    with pytest.raises(acts.Refused, match="published already"):
        publish(Wave.objects.get(pk=wave.pk))


def test_nobody_publishes_who_opened_the_page_to_correct(client, maintainer, wave):
    url = reverse("rating:whole_report", args=[wave.code])

    answer = client.post(url, {"do": "correct", "text": "Something."})

    assertContains(answer, "This has moved on since you opened the page.", status_code=409)
    assert not Correction.objects.exists()


def test_the_database_keeps_what_was_published(wave):
    made = publish(wave)
    correction = acts.correct(wave, make_user(Role.MAINTAINER), "A date.", now=timezone.now())

    for rows, changes in (
        (Publication.objects.filter(pk=made.pk), {"text": "{}"}),
        (Correction.objects.filter(pk=correction.pk), {"text": "Other"}),
        (Wave.objects.filter(pk=wave.pk), {"published_at": None}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**changes)
    for rows in (Publication.objects.all(), Correction.objects.all()):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows._raw_delete("default")


def test_verify_finds_a_report_that_is_not_what_was_published(capsys):
    wave = make_wave(make_bank(bank_data(2)))
    for rater in (make_rater(), make_rater()):
        for _ in range(2):
            rated(rater)
    unblind(wave)
    made = publish(Wave.objects.get(pk=wave.pk))
    call_command("verify")
    assert "reports are as they were published" in capsys.readouterr().out

    with lifted():
        Publication.objects.filter(pk=made.pk).update(text=made.text.replace("A", "B", 1))

    with pytest.raises(CommandError, match=f"the report of {wave.code} is not what was published"):
        call_command("verify")


def test_the_database_publishes_nothing_that_was_not_unblinded():
    wave = rated_wave({"one-2026": 4.0}, unblinded=False, items=8, trials=1)
    row = {"text": "{}", "text_hash": "0", "bundle": b"", "reason": "Early."}

    with pytest.raises(IntegrityError), transaction.atomic():
        Publication.objects.create(wave=wave, published_by=make_user(Role.MAINTAINER), **row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Correction.objects.create(wave=wave, text="A date.", written_by=make_user(Role.MAINTAINER))


def test_the_public_face_tells_where_each_test_stands_from_what_is_published(client, wave):
    publish(wave)

    stands = standpoints(published())

    assert stands[0].outcome in ("holds", "cannot be told yet")
    assert stands[0].wave == wave.code
    assert officially_evaluated(published()) == 0
    assertContains(
        client.get(reverse("rating:about")), reverse("rating:published_report", args=[wave.code])
    )


def test_the_public_face_tells_what_is_missing_apart_from_what_was_found(client, wave):
    publish(wave)

    page = client.get(reverse("rating:about")).content.decode()

    [rerun] = [stand for stand in standpoints(published()) if stand.claim.number == 4]
    assert (rerun.said, rerun.missing) == ((), ("A second run of one snapshot.",))
    assert (
        'Now: cannot be told yet.</strong> <span class="soft">Missing:</span> '
        "A second run of one snapshot." in page
    )


def test_no_page_reads_the_bundles_of_the_reports_it_shows(client, wave):
    publish(wave)

    pages = [
        reverse("rating:about"),
        reverse("rating:published"),
        reverse("rating:published_report", args=[wave.code]),
        reverse("rating:published_file", args=[wave.code, "report.json"]),
    ]
    for page in pages:
        with CaptureQueriesContext(connection) as asked:
            assert client.get(page).status_code == 200
        assert '"rating_publication"' in str(asked.captured_queries)
        assert '"bundle"' not in str(asked.captured_queries), page


def test_a_report_on_an_unpublished_bank_holds_no_word_of_it():
    data = bank_data(24)
    for item in data["items"]:
        item |= {"pool": "secure-1", "exposureStatus": "unpublished"}
        item["prompt"] = f"Secret-prompt of {item['id']}?"
    wave = rated_wave({"one-2026": 4.0}, bank=make_bank(data), kind=WaveKind.PILOT)

    made = publish(wave)

    with zipfile.ZipFile(io.BytesIO(made.bundle)) as archive:
        bodies = [archive.read(name).decode() for name in archive.namelist()]
    inside = internal_bundle(data_of(wave), QUICK).decode("latin-1")
    for body in (made.text, *bodies, inside):
        assert "Secret-prompt" not in body
        assert REPLY[:33] not in body
    assert "AWR-1-A" not in made.text
    assert json.loads(made.text)["wave"]["kind"] == "pilot"


def test_every_declared_comparison_reaches_the_report_with_its_correction():
    wave = make_wave(subjects=("maker/one-2026", "two-2026"))
    one, two = (run.subject.code for run in wave.runs.order_by("pk"))
    wave.plan = {
        "declared": {
            "correction": "holm",
            "comparisons": [
                {"kind": "build", "a": "maker/one-2026/default", "b": "two-2026/default"},
                {"kind": "build", "a": "maker/one-2026/brief", "b": "two-2026/brief"},
                {"kind": "arm", "a": "two-2026/brief", "b": "two-2026/default"},
            ],
        }
    }

    declared = rows_of(wave).declared

    assert declared.comparisons == ((one, two),)
    assert declared.elsewhere == ((one, two, "brief"),)
    assert declared.arms == ((two, "brief", "default"),)
    assert (declared.primary, declared.correction, declared.family) == ("default", "holm", 3)
