"""The files of a wave's report: what is in them, what they mean, and that what people write is inert."""

import csv
import hashlib
import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader
from pytest_django.asserts import assertContains, assertNotContains

from rating import exports
from rating.breakdown import By
from rating.dictionary import ANY, ENTRIES, FIGURE, as_markdown
from rating.exports import ALL, FILES, MANIFEST, Exports
from rating.models import Exposure, Role
from rating.publications import Export
from rating.queue import NoWork, lease
from rating.tasks import make_export
from rating.wave_report import key_of
from runs.guards import lifted
from runs.models import Wave
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave
from tests.rating.test_agreement_page import HOSTILE, TWO, rate_all

pytestmark = pytest.mark.django_db

LEAF = {"value", "low", "high", "reason"}


@pytest.fixture
def wave(settings) -> Wave:
    """Three items, two subjects, two raters who write what could do harm elsewhere."""
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99
    wave = make_wave(make_bank(bank_data(3)), subjects=TWO, locked=False)
    Wave.objects.filter(pk=wave.pk).update(title=HOSTILE, locked_at=timezone.now())
    for levels in ((3, 1, 2), (3, 4, 2)):
        codes = ("AWR-1-A", "EMP-1-A", "ACT-1-A")
        rate_all(make_rater(), dict(zip(codes, levels, strict=True)), note=HOSTILE)
    return Wave.objects.select_related("bank").get(pk=wave.pk)


@pytest.fixture
def files(wave) -> dict[str, bytes]:
    return made_of(wave)


def made_of(wave) -> dict[str, bytes]:
    return {name: b"".join(parts) for name, parts in Exports(wave).files()}


def text_of(pdf: bytes) -> str:
    pages = PdfReader(io.BytesIO(pdf)).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def keys_of(value, before=()) -> set[str]:
    """Every key of JSON, by the keys it stands in; those of a figure are said once for all."""
    found = set()
    if isinstance(value, list):
        return set().union(*(keys_of(one, before) for one in value)) if value else found
    if not isinstance(value, dict):
        return found
    for key, one in value.items():
        if key in LEAF and set(value) >= LEAF:
            continue
        named = before[-1:] in (("dimensions",), ("files",), ("verdicts",))
        place = (*before, ANY if named else key)
        found |= ({".".join(place)} if not named else set()) | keys_of(one, place)
    return found


def names_in(file: str) -> set[str]:
    return {entry.name for entry in ENTRIES if entry.file == file}


def test_the_manifest_names_every_other_file_with_its_hash(files):
    manifest = json.loads(files.pop(MANIFEST))

    assert manifest["files"] == {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in files.items()
    }
    assert set(files) == set(FILES)


def test_the_same_ratings_give_the_same_bytes(wave, files):
    assert made_of(wave) == files


def test_it_makes_no_difference_how_many_responses_are_read_together(wave, files, monkeypatch):
    monkeypatch.setattr("runs.models.READ_TOGETHER", 1)

    assert made_of(wave) == files


@pytest.mark.django_db(transaction=True)
def test_the_command_writes_the_same_files_as_of_one_moment(wave, files, tmp_path):
    """Where it is not within a transaction already, it reads in one that refuses to write."""
    call_command("report", wave.code, out=tmp_path)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_every_column_and_key_is_in_the_dictionary_and_nothing_else(files):
    """What is there once a wave is unblinded is named too."""
    unblinded = {
        "ratings.csv": {"subject", "condition", "trial"},
        "report.json": {"blinding.bang.makers.maker", "blinding.bang.makers.n"},
    }
    for file in ("ratings.csv", "ratings_wide.csv", "facets.csv"):
        columns = next(csv.reader(io.StringIO(files[file].decode())))
        named = {ANY if name.startswith("r-") else name for name in columns}
        assert named | unblinded.get(file, set()) == names_in(file)
    for file in ("report.json", MANIFEST):
        found = keys_of(json.loads(files[file]))
        assert found | unblinded.get(file, set()) == names_in(file)


def test_the_key_has_the_columns_that_the_dictionary_names(wave):
    wave.unblinded_at = timezone.now()

    assert set(next(csv.reader(io.StringIO(key_of(wave))))) == names_in("key.csv")


def test_the_document_holds_the_same_dictionary():
    text = Path("docs/data-dictionary.md").read_text(encoding="utf-8")

    assert as_markdown() in text
    assert FIGURE in " ".join(text.split())


def test_a_number_that_cannot_be_given_is_null_with_its_reason(files):
    content = json.loads(files["report.json"], parse_constant=pytest.fail)

    alpha = content["dimensions"]["Awareness"]["alpha_ordinal"]
    assert (alpha["value"], alpha["reason"]) == (None, "All paired ratings are one level.")
    assert content["overall"]["ac2_ordinal"]["value"] > 0


def test_the_pdf_says_what_the_page_says(wave, files):
    text = text_of(files["report.pdf"])

    page = exports.agreement_page(wave, exports.Look(By.DIMENSION), exports.state_of(wave))
    assert page.rows.sentence in text
    assert page.overall.agreement.alpha_ordinal.number() in text
    assert "official: false" in text
    assert "call your local emergency number" in text
    assert "Page 1 of" in text
    for run in wave.runs.select_related("subject"):
        assert run.subject.snapshot not in text


def test_what_people_wrote_is_inert_in_every_file(files):
    """It holds markup of three languages: in the PDF it stands there, letter for letter."""
    assert HOSTILE in text_of(files["report.pdf"])
    assert b"<script>alert" not in files["report.html"]
    [first, *_] = csv.DictReader(io.StringIO(files["ratings.csv"].decode()))
    assert first["note"] == HOSTILE


def test_all_files_are_made_by_a_worker_and_fetched_in_one(client, wave):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    page = reverse("rating:report", args=[wave.code])
    whole = reverse("rating:report_file", args=[wave.code, ALL])

    assert client.get(whole).status_code == 404
    client.post(reverse("rating:report_all", args=[wave.code]))
    assertContains(client.get(page), "Being made since")
    assert client.get(whole).status_code == 404
    make_export(export_id=Export.objects.get().pk)

    answer = client.get(whole)
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert {Path(name).name for name in archive.namelist()} == {*FILES, MANIFEST}
    assertContains(client.get(page), hashlib.sha256(answer.content).hexdigest())
    assertNotContains(client.get(page), "Being made since")
    assert "ratings" in Exposure.objects.filter(person=person).values_list("saw", flat=True)


def test_what_is_waited_for_is_not_asked_for_twice(client, wave):
    client.force_login(make_user(Role.MAINTAINER))
    ask = reverse("rating:report_all", args=[wave.code])

    client.post(ask)
    client.post(ask)
    assert Export.objects.count() == 1
    # Nobody made it for too long: a worker may have lost it.
    with lifted():
        Export.objects.update(asked_at=timezone.now() - timedelta(minutes=11))
    client.post(ask)
    assert Export.objects.count() == 2


def test_making_twice_changes_nothing_and_only_the_newest_is_kept(wave):
    person, now = make_user(Role.MAINTAINER), timezone.now()
    for _ in range(2):
        exports.make(exports.ask(wave, person, now=now).pk, now=now)
    [kept] = Export.objects.all()
    exports.make(kept.pk, now=now + timedelta(hours=1))

    assert Export.objects.get().made_at == now


def test_whoever_fetched_all_files_rates_no_more(client, wave):
    both = make_user(Role.MAINTAINER, Role.RATER)
    exports.make(exports.ask(wave, both, now=timezone.now()).pk, now=timezone.now())
    client.force_login(both)

    client.get(reverse("rating:report_file", args=[wave.code, ALL]))

    assert isinstance(lease(both, now=timezone.now()), NoWork)


def test_nobody_but_maintainers_has_them_made(client, wave):
    client.force_login(make_user(Role.ADMIN))

    assert client.post(reverse("rating:report_all", args=[wave.code])).status_code == 404
    assert not Export.objects.exists()
