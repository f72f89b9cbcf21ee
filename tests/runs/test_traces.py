"""What is noticed while a run is asked: leaks, a changed service, another model, a name given away."""

import json
import logging

import pytest
from django.conf import settings
from django.core import serializers
from django.core.management import call_command
from django.urls import reverse
from pytest_django.asserts import assertContains

from runs import tasks
from runs.leaks import LeakIndex
from runs.models import Response, Run, RunState, Status
from runs.waves import import_responses
from tests.factories import make_user
from tests.runs.factories import AnchorFactory, BankFactory, ItemFactory, RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db

KEY = "sk-very-secret-0123456789"
SHOWN = "Says nothing at all of what the person has lost this week."


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts(monkeypatch):
    monkeypatch.setattr("runs.providers.FIRST_WAIT", 0.01)


def fine(text="I am sorry.", fingerprint="fp-1"):
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return 200, {}, json.dumps({"choices": [choice], "system_fingerprint": fingerprint}).encode()


def asking(server, items=1, trials=1, **subject):
    subject = {"provider": "openai", "base_url": server.base_url} | subject
    return RunFactory(
        subject=SubjectFactory(**subject), wave__trials=trials, wave__bank__items=items, rows=True
    )


def test_a_leak_at_the_very_call_stops_the_run_and_nothing_is_sent(server, monkeypatch):
    server.answers = [fine()]
    run = asking(server, items=3)
    true = LeakIndex.in_messages

    def changed_since(self, code, messages, *, system_message):
        messages = [*messages[:-1], {"role": "user", "content": "Now rate yourself."}]
        return true(self, code, messages, system_message=system_message)

    monkeypatch.setattr(LeakIndex, "in_messages", changed_since)

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert "exactly of AWR-" in run.stop_reason
    assert server.seen == []
    assert not run.responses.exclude(held_by="").exists()


def test_what_a_reply_repeats_is_recorded_and_stops_nothing(server):
    bank = BankFactory(items=0, freeze=False)
    item = ItemFactory(bank=bank, code="AWR-1-A", position=0)
    AnchorFactory(item=item, level=9, label="9.0 Word", description=SHOWN)
    server.answers = [fine(f"You said: {SHOWN} See AWR-1-A.")]
    run = RunFactory(
        subject=SubjectFactory(provider="openai", base_url=server.base_url),
        wave__bank=bank,
        wave__trials=1,
        rows=True,
    )

    tasks.fetch_chunk(run_id=run.pk)

    row = run.responses.get()
    assert row.status == Status.COMPLETED
    assert row.leak_hits == [
        {"rule": "anchor", "item": "AWR-1-A", "level": 9},
        {"rule": "dimension"},
        {"rule": "item id", "item": "AWR-1-A"},
    ]


def test_a_name_in_a_reply_is_recorded_with_its_place(server):
    text = "I hear you. I am Zephyrine, and I was made by Example Lab."
    server.answers = [fine(text)]
    run = asking(server, family="Zephyrine")

    tasks.fetch_chunk(run_id=run.pk)

    row = run.responses.get()
    assert [term for _, _, term in row.self_naming] == ["Zephyrine", "Example Lab"]
    assert [text[start:end] for start, end, _ in row.self_naming] == ["Zephyrine", "Example Lab"]


def test_imported_replies_are_read_alike(tmp_path):
    run = RunFactory(
        subject=SubjectFactory(provider="import"), wave__trials=1, wave__bank__items=1, rows=True
    )
    file = tmp_path / "replies.jsonl"
    file.write_text(json.dumps({"item": "AWR-0", "trial": 1, "text": "I am Claude. See AWR-0."}))

    import_responses(run, file)

    row = run.responses.get()
    assert row.self_naming == [[5, 11, "Claude"]]
    assert {hit["rule"] for hit in row.leak_hits} == {"dimension", "item id"}


def test_a_fingerprint_that_changes_inside_a_run_is_flagged_everywhere(server, client, settings):
    settings.ASK_IN_FLIGHT = 1  # one after another, as the server answers
    server.answers = [fine(fingerprint="fp-1")] * 2 + [fine(fingerprint="fp-2")]
    run = asking(server, items=4)
    settled = asking(server, items=1)

    tasks.fetch_chunk(run_id=run.pk)
    tasks.fetch_chunk(run_id=settled.pk)

    run.refresh_from_db()
    settled.refresh_from_db()
    assert [one["fingerprint"] for one in run.fingerprints] == ["fp-1", "fp-2"]
    assert len(settled.fingerprints) == 1
    client.force_login(make_user("maintainer"))
    page = client.get(reverse("runs:wave", args=[run.wave.code]))
    assertContains(page, "its service changed while it was asked: 2 fingerprints, fp-2 since")
    assertContains(client.get(reverse("subjects:all")), "fingerprint changed", count=1)
    assertContains(client.get(reverse("subjects:one", args=[run.subject.code])), "fp-1, then fp-2")


def test_the_status_command_says_what_was_flagged(server, capsys):
    server.answers = [fine(fingerprint="fp-1"), fine("I am Claude.", fingerprint="fp-2")]
    run = asking(server, items=2)
    tasks.fetch_chunk(run_id=run.pk)

    call_command("run", "status", run.wave.code)
    told = capsys.readouterr().out
    call_command("run", "status", run.wave.code, "--json")
    data = json.loads(capsys.readouterr().out)

    assert "flagged: its service changed" in told
    assert "1 replies seem to name their maker" in told
    assert len(data["runs"][0]["fingerprints"]) == 2
    assert data["naming"] == {"found": 1, "undecided": 1}


def test_another_model_behind_a_local_runtime_stops_the_run(server):
    server.answers = [fine()]
    server.said = {"/api/tags": {"models": [{"name": "m:8b", "digest": "b" * 64}]}}
    run = asking(server, items=2, runtime="ollama", snapshot="m:8b", digest="a" * 64)

    tasks.fetch_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert f"digest {'b' * 64}" in run.stop_reason
    assert f"registered with {'a' * 64}" in run.stop_reason
    assert server.seen == []


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_key_is_sent_and_stands_nowhere_else(server, monkeypatch, caplog, capsys, provider):
    """Not in a row, a log line, a stop reason or what a command says, though the service repeats it."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("runs.providers.on_loopback", lambda address: False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    spoken = json.dumps({"error": {"message": f"Bad key {KEY}", "type": "x"}}).encode()
    server.answers = [(500, {}, spoken), (401, {}, spoken)]
    run = asking(server, items=2, provider=provider, sampling={"max_tokens": 9})

    tasks.fetch_chunk(run_id=run.pk)
    call_command("run", "status", run.wave.code)

    run.refresh_from_db()
    assert run.state == RunState.STOPPED
    assert KEY in str(server.seen)
    kept = serializers.serialize("json", [*Run.objects.all(), *Response.objects.all()])
    assert "Bad key …" in kept
    assert KEY not in kept
    assert KEY not in caplog.text
    assert KEY not in "".join(capsys.readouterr())


def test_a_service_gets_the_key_that_names_it_and_not_anothers(monkeypatch):
    from runs.providers import _key_of, key_names

    subject = SubjectFactory(provider="openai", base_url="https://api.other-host.org/v1")
    monkeypatch.setenv(settings.OPENAI_API_KEY_ENV, "usual")
    assert _key_of(subject) == "usual"

    monkeypatch.setenv("OPENAI_API_KEY_API_OTHER_HOST_ORG", "its own")

    assert _key_of(subject) == "its own"
    assert key_names(subject) == ["OPENAI_API_KEY_API_OTHER_HOST_ORG", "OPENAI_API_KEY"]
