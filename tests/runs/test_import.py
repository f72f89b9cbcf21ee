import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from runs.models import Response, RunState, Status
from runs.prompts import message_hash, messages_for
from runs.replies import LARGEST_REPLY
from runs.signals import responses_completed
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    """A run of two items and two trials, whose replies come from a file."""
    return RunFactory(
        subject=SubjectFactory(provider="import"),
        state=RunState.PLANNED,
        wave__bank__items=2,
        rows=True,
    )


@pytest.fixture
def load(run, tmp_path):
    def write(*lines, **options):
        file = tmp_path / "replies.jsonl"
        file.write_bytes(
            b"\n".join(
                line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
            )
        )
        call_command("run", "import", run.wave.code, run.subject.code, str(file), **options)

    return write


def line(item="AWR-0", trial=1, text="Hello", **more):
    return {"item": item, "trial": trial, "text": text, **more}


def test_all_replies_of_a_run_come_from_a_file(run, load, capsys):
    told = []

    def hear(response_ids, **_):
        told.extend(response_ids)

    responses_completed.connect(hear)

    load(
        line(text=" Verbatim\r\n\u2764 ", finish_reason="stop"),
        line(trial=2),
        b"",
        line("AWR-1", text=" "),
        line("AWR-1", trial=2),
    )

    responses_completed.disconnect(hear)
    run.refresh_from_db()
    first = run.responses.get(item__code="AWR-0", trial=1)
    assert "4 responses" in capsys.readouterr().out
    assert (first.text, first.finish_reason, first.status) == (
        " Verbatim\r\n\u2764 ",
        "stop",
        Status.COMPLETED,
    )
    assert first.message_hash == message_hash(messages_for("", [], first.item.prompt))
    assert run.responses.get(item__code="AWR-1", trial=1).status == Status.FAILED
    assert len(told) == 3
    assert (run.state, run.started_at is not None) == (RunState.DONE, True)


def test_a_part_may_come_first_and_the_rest_later(run, load, capsys):
    load(line())
    assert "3 are still missing" in capsys.readouterr().out

    load(line(trial=2), line("AWR-1"), line("AWR-1", trial=2))

    run.refresh_from_db()
    assert run.state == RunState.DONE


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (line("AWR-9"), "'AWR-9' is no item that this wave serves"),
        (line(["AWR-0"]), "is no item that this wave serves"),
        (line(trial=3), "trial 3 is not one of 1 to 2"),
        (line(trial=0), "trial 0 is not one of 1 to 2"),
        (line(trial=True), "trial True is not one of 1 to 2"),
        (line(trial="1"), "trial '1' is not one of 1 to 2"),
        (line(trial=2), "AWR-0 trial 2 stands in the file twice"),
        (line(text="a\x00"), "holds '\\x00'"),
        (line(text="a\ud800"), "holds '\\ud800'"),
        (line(text=7), "the text of AWR-0 trial 1 is no text"),
        (line(text="x" * (LARGEST_REPLY + 1)), "has over 1,000,000 bytes"),
        (line(reply="x"), "there is no key 'reply'; the keys are: item, trial, text"),
        (b"{", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_a_fault_names_its_line_and_nothing_is_stored(run, load, bad, said):
    with pytest.raises(CommandError) as refused:
        load(line(trial=2), b"", bad)

    assert str(refused.value).startswith("line 3: ")
    assert said in str(refused.value)
    assert run.responses.pending().count() == 4


def test_a_stored_reply_is_not_replaced(run, load):
    load(line())
    with pytest.raises(CommandError, match="line 1: AWR-0 trial 1 is stored already"):
        load(line(text="Other"))
    assert run.responses.get(item__code="AWR-0", trial=1).text == "Hello"


def test_every_fault_is_said_up_to_a_hundred(load):
    with pytest.raises(CommandError) as refused:
        load(*[line("X")] * 150)
    assert len(str(refused.value).splitlines()) == 101


def test_only_the_replies_of_an_imported_subject_come_from_a_file(tmp_path):
    run = RunFactory(rows=True)
    with pytest.raises(CommandError, match="is asked by demo"):
        call_command("run", "import", run.wave.code, run.subject.code, str(tmp_path / "x"))


def test_an_unknown_run_is_named_with_those_there_are(run, load):
    with pytest.raises(CommandError, match=f"the runs are: {run.subject.code} .default."):
        load(line(), condition="warm")


def test_an_empty_file_says_so(load):
    with pytest.raises(CommandError, match="holds no responses"):
        load(b"")
    assert not Response.objects.exclude(status=Status.PENDING).exists()


def test_a_key_that_stands_twice_is_refused_by_name(run, load):
    twice = b'{"item": "AWR-0", "trial": 1, "text": "One.", "text": "Other."}'

    with pytest.raises(CommandError, match=r"line 2: not valid JSON: the key 'text' stands twice"):
        load(line(), twice)
    assert not run.responses.filter(status=Status.COMPLETED).exists()
