"""The registry at the command line and on its pages."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from pytest_django.asserts import assertContains

from runs.models import Subject
from tests.factories import make_user
from tests.runs.factories import RunFactory, SubjectFactory
from tests.runs.test_registry import FILE

pytestmark = pytest.mark.django_db

LOCAL = """
developer = "Meta"
family = "Llama"
snapshot = "llama3:8b"
provider = "openai"
runtime = "ollama"
base_url = "{address}"
access_tier = "own machine"
quantisation = "Q4_K_M"
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "subject.toml"
        file.write_text(text)
        return file

    return write


def run(capsys, *arguments):
    call_command("subject", *map(str, arguments))
    return capsys.readouterr().out


def test_a_subject_is_added_listed_and_shown(written, capsys):
    assert "There is no subject yet" in run(capsys, "list")
    code = "lab--kind--kind-2026-01-01"

    assert f"{code} is registered: pinned by date (kind-2026-01-01)." in run(
        capsys, "add", written(FILE)
    )

    assert code in run(capsys, "list")
    assert "region: eu" in run(capsys, "show", code)
    assert json.loads(run(capsys, "show", code, "--json"))["evidence"][0]["publisher"] == "Lab"


def test_the_digest_of_a_local_model_is_read_from_its_runtime(written, server, capsys):
    server.said = {"/api/tags": {"models": [{"name": "llama3:8b", "digest": "a" * 64}]}}

    told = run(capsys, "add", written(LOCAL.format(address=server.base_url)))

    assert f"pinned by digest ({'a' * 64})" in told
    assert Subject.objects.get().digest == "a" * 64


def test_a_model_that_is_not_served_is_not_registered(written, server):
    server.said = {"/api/tags": {"models": []}}

    with pytest.raises(CommandError, match="serves no llama3:8b"):
        call_command("subject", "add", written(LOCAL.format(address=server.base_url)))

    assert not Subject.objects.exists()


def test_a_successor_says_what_changed(written, capsys):
    old = SubjectFactory()
    with pytest.raises(CommandError, match="change: missing"):
        call_command("subject", "succeed", old.code, written(FILE))

    told = run(capsys, "succeed", old.code, written(f'change = "Answers shorter."\n{FILE}'))

    assert f"as the successor of {old}" in told
    assert f"lineage: {old} → lab--kind" in run(capsys, "show", "lab--kind--kind-2026-01-01")


def test_limits_are_set_and_lifted(capsys):
    code = SubjectFactory().code

    assert "requests_a_minute 60" in run(capsys, "limits", code, "--requests-a-minute", 60)
    assert "no limits of its own" in run(capsys, "limits", code, "--requests-a-minute", 0)
    with pytest.raises(CommandError, match="above 0"):
        call_command("subject", "limits", code, "--in-flight", "-1")


def test_what_is_not_there_is_named_with_what_is():
    with pytest.raises(CommandError, match="There is no subject x; register one with"):
        call_command("subject", "show", "x")
    known = SubjectFactory()
    with pytest.raises(CommandError, match=f"the subjects are: {known.code}"):
        call_command("subject", "show", "x")


def test_a_maintainer_finds_a_subject_with_its_lineage_runs_and_limits(client):
    first = SubjectFactory()
    second = SubjectFactory(predecessor=first, change="Answers shorter.", region="eu")
    asked = RunFactory(subject=second)
    client.force_login(make_user("maintainer"))

    everything = client.get(reverse("subjects:all"))
    page = client.get(reverse("subjects:one", args=[second.code]))

    assertContains(everything, reverse("subjects:one", args=[first.code]))
    assertContains(page, "Answers shorter.")
    assertContains(page, reverse("subjects:one", args=[first.code]))
    assertContains(page, reverse("runs:wave", args=[asked.wave.code]))
    assertContains(page, "No limits of its own.")
    assertContains(client.get(reverse("subjects:one", args=[first.code])), second.code)
    assert client.get(reverse("subjects:one", args=["none"])).status_code == 404


@pytest.mark.parametrize("role", ["rater", "item reviewer", "adjudicator", "admin"])
def test_nobody_else_sees_who_is_asked(client, role):
    client.force_login(make_user(role))

    assert client.get(reverse("subjects:all")).status_code == 404
    assert client.get(reverse("subjects:one", args=[SubjectFactory().code])).status_code == 404
