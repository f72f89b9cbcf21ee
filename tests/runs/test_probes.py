"""The probes of a wave: put once, asked to their end by whoever is there, and scored as they come."""

from collections import Counter
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from runs import probes
from runs.exposure import read_choice
from runs.models import Probe, ProbeKind, Probing, Response, RunState, Status
from runs.probes import ask_probes, begin_probes, materials_of, probed_runs, repeated_item
from runs.providers import RunStopped, Trouble
from runs.replies import Reply
from runs.waves import start_wave
from tests.factories import bank_data, make_bank, pair_bank_data
from tests.runs.factories import RunFactory, SubjectFactory, WaveFactory

pytestmark = pytest.mark.django_db

FORGOT = "I do not recall it."


class Scripted:
    """A subject that says to each question what a function says of it."""

    def __init__(self, say):
        self.say = say
        self.heard = []

    async def ask_once(self, messages, seed):
        self.heard.append((messages, seed))
        said = self.say(messages[-1]["content"])
        return said if isinstance(said, Reply) else Reply("completed", text=said)

    async def close(self):
        pass


@pytest.fixture
def subject(monkeypatch):
    """Has the subjects of a test say what they are told to."""

    def says(say):
        scripted = Scripted(say)
        monkeypatch.setattr("runs.probes.provider_for", lambda subject: scripted)
        return scripted

    return says


def bank_of(items=8, **changes):
    data = bank_data(items)
    for number, item in enumerate(data["items"]):
        item["prompt"] = (
            f"My neighbour number {number} has not opened for days and I am afraid to knock, "
            "what would you do in my place?"
        )
        item["sourceOnlyFields"] = {"title": f"Title {number}", "whatToObserve": "Care."}
        for anchor in item["anchors"]:
            level = anchor["level"]
            anchor["description"] = (
                f"Level {level} of {number} names what he fears and what she can do today."
            )
        item.update(changes)
    return make_bank(data)


def wave_of(bank=None, *, subjects=1, condition="default", **changes):
    wave = WaveFactory(bank=bank or bank_of(), **changes)
    for _ in range(subjects):
        RunFactory(wave=wave, condition=condition, subject=SubjectFactory())
    return wave


def put(wave):
    (run,) = begin_probes(wave)
    return run


def key_of(run):
    """The right answer to each question. Looked up before: subjects answer in another thread."""
    key = {}
    for row in run.probes.exclude(kind="determinism").select_related("item"):
        anchors = dict(row.item.anchors.values_list("level", "description"))
        by_part = {
            "choice": row.expected.get("letter"),
            "anchor": anchors.get(row.expected.get("level")),
        }
        key[row.question] = by_part.get(row.part, row.item.prompt)
    return key


def counted(run):
    return Counter(Probe.objects.filter(run=run).values_list("kind", flat=True))


def test_each_subject_is_asked_all_three_kinds():
    wave = wave_of(subjects=2)

    begun = begin_probes(wave)

    assert len(begun) == 2
    for run in begun:
        assert counted(run) == {"recall": 9, "choice": 6, "determinism": 20}


def test_putting_the_probes_again_puts_nothing_twice():
    wave = wave_of()
    run = put(wave)
    before = list(Probe.objects.order_by("pk").values_list("pk", "question", "seed"))

    assert begin_probes(wave) == [run]

    assert list(Probe.objects.order_by("pk").values_list("pk", "question", "seed")) == before


def test_they_are_put_under_the_condition_that_was_declared_first():
    wave = wave_of(condition="plain")
    first = wave.runs.get()
    RunFactory(wave=wave, subject=first.subject, condition="cold", system_message="Be cold.")

    assert probed_runs(wave) == [first]


def test_a_subject_whose_responses_are_imported_is_not_asked():
    wave = wave_of(subjects=0)
    RunFactory(wave=wave, subject=SubjectFactory(provider="import"))

    assert begin_probes(wave) == []


def test_a_missing_key_is_said_before_anything_is_put(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    wave = wave_of(subjects=0)
    RunFactory(wave=wave, subject=SubjectFactory(provider="openai"))

    with pytest.raises(probes.ProbesRefused, match="set OPENAI_API_KEY"):
        begin_probes(wave)

    assert not Probe.objects.exists()


def test_subjects_of_one_wave_are_asked_about_items_of_their_own_but_repeat_the_same_one():
    wave = wave_of(bank_of(40), subjects=5)
    begin_probes(wave)

    asked = {
        frozenset(run.probes.filter(kind="recall").values_list("item__code", flat=True))
        for run in wave.runs.all()
    }
    repeated = set(Probe.objects.filter(kind="determinism").values_list("item", flat=True))

    assert len(asked) > 1
    assert repeated == {repeated_item(wave).pk}


def test_the_twenty_calls_are_the_same_to_the_last_bit(subject):
    heard = subject(lambda question: FORGOT).heard
    wave = wave_of()
    run = put(wave)
    prompt = repeated_item(wave).prompt

    ask_probes(run_id=run.pk)

    same = [(messages, seed) for messages, seed in heard if messages[-1]["content"] == prompt]
    assert len(same) == 20
    assert all(one == same[0] for one in same)
    assert len(set(run.probes.filter(kind="determinism").values_list("message_hash"))) == 1


def test_every_question_goes_into_a_conversation_of_its_own(subject):
    heard = subject(lambda question: FORGOT).heard
    wave = wave_of()
    run = wave.runs.get()
    run.system_message = "You are kind."
    run.save()
    put(wave)

    ask_probes(run_id=run.pk)

    assert {tuple(m["role"] for m in messages) for messages, _ in heard} == {("system", "user")}
    assert {messages[0]["content"] for messages, _ in heard} == {"You are kind."}


def test_an_answer_is_stored_with_its_score(subject):
    run = put(wave_of())
    key = key_of(run)
    subject(lambda question: key.get(question, "The same."))

    ask_probes(run_id=run.pk)

    rows = run.probes.exclude(kind="determinism")
    assert set(rows.values_list("score", flat=True)) == {1.0}
    assert {row.status for row in run.probes.all()} == {Status.COMPLETED}
    probing = Probing.objects.get(run=run)
    assert (probing.state, probing.ended_at is not None) == (RunState.DONE, True)


def test_an_answer_that_cannot_be_read_is_asked_for_twice_more_and_no_guess_is_made(subject):
    subject(lambda question: "It could be A or B, who knows.")
    run = put(wave_of())

    ask_probes(run_id=run.pk)

    choices = run.probes.filter(kind="choice")
    assert Counter(choices.values_list("ask", flat=True)) == {1: 6, 2: 6, 3: 6}
    assert set(choices.values_list("score", flat=True)) == {None}
    by_question = Counter(choices.values_list("number", "seed"))
    assert max(by_question.values()) == 1  # each asking has a seed of its own


def test_the_first_answer_that_can_be_read_is_the_last_that_is_asked_for(subject):
    run = put(wave_of())
    key, asked = key_of(run), Counter()

    def at_last(question):
        asked[question] += 1
        if "one letter" not in question:
            return FORGOT
        return key[question] if asked[question] == 2 else "Hm."

    subject(at_last)
    ask_probes(run_id=run.pk)

    choices = run.probes.filter(kind="choice")
    assert Counter(choices.values_list("ask", "score")) == {(1, None): 6, (2, 1.0): 6}


def test_outages_are_kept_as_such_and_not_scored(subject):
    subject(lambda question: Reply("filtered", detail="the provider's filter"))
    run = put(wave_of())

    ask_probes(run_id=run.pk)

    assert set(run.probes.values_list("status", "score")) == {(Status.FILTERED, None)}
    assert run.probes.count() == 35


def test_a_task_run_twice_stores_each_answer_once(subject):
    scripted = subject(lambda question: "C" if "one letter" in question else FORGOT)
    run = put(wave_of())

    ask_probes(run_id=run.pk)
    told = list(Probe.objects.order_by("pk").values())
    ask_probes(run_id=run.pk)

    assert list(Probe.objects.order_by("pk").values()) == told
    assert len(scripted.heard) == 35


def test_what_a_killed_task_held_is_asked_by_the_next_one_and_stored_once(subject):
    subject(lambda question: "C" if "one letter" in question else FORGOT)
    run = put(wave_of())
    (killed, *_) = probes._claim(run, "killed", 4)
    Probe.objects.filter(held_by="killed").update(held_until=timezone.now() - timedelta(seconds=1))

    ask_probes(run_id=run.pk)
    late = probes.store(run, "killed", killed, Reply("completed", text="Too late."))

    assert not late
    assert Probe.objects.get(pk=killed.pk).text != "Too late."
    assert not run.probes.pending().exists()


def test_a_task_that_stalled_stores_nothing_in_a_row_that_another_has_taken_over():
    run = put(wave_of())
    (stalled, *_) = probes._claim(run, "stalled", 4)
    Probe.objects.filter(held_by="stalled").update(held_until=timezone.now() - timedelta(seconds=1))
    probes._claim(run, "another", 4)

    assert not probes.store(run, "stalled", stalled, Reply("completed", text="Too late."))

    stalled.refresh_from_db()
    assert (stalled.status, stalled.held_by) == (Status.PENDING, "another")


def test_rows_that_a_living_task_holds_are_left_to_it(subject):
    subject(lambda question: FORGOT)
    run = put(wave_of())
    held = {row.pk for row in probes._claim(run, "another", 4)}

    ask_probes(run_id=run.pk)

    assert set(run.probes.pending().values_list("pk", flat=True)) == held
    assert Probing.objects.get(run=run).state == RunState.ASKING


def test_a_worker_that_was_told_to_end_begins_no_more(subject, monkeypatch):
    scripted = subject(lambda question: FORGOT)
    run = put(wave_of())
    monkeypatch.setattr("runs.probes.is_ending", lambda: len(scripted.heard) >= 4)

    ask_probes(run_id=run.pk)

    assert len(scripted.heard) == run.probes.exclude(status=Status.PENDING).count() < 35
    assert not run.probes.exclude(held_by="").exists()


def test_the_reaper_wakes_somebody_for_probes_that_nobody_puts(monkeypatch):
    run = put(wave_of())
    woken = []
    monkeypatch.setattr(ask_probes, "delay", lambda **ids: woken.append(ids))
    assert probes.wake_what_is_left() == []  # just woken

    Probing.objects.update(woken_at=timezone.now() - timedelta(minutes=1))
    assert probes.wake_what_is_left() == [run.pk]
    assert probes.wake_what_is_left() == []

    assert woken == [{"run_id": run.pk}]


def test_a_wrong_key_stops_the_probes_and_says_why(subject, monkeypatch):
    def refuses(question):
        raise Trouble("stop", "401: wrong key")

    subject(refuses)
    wave = wave_of()
    run = put(wave)

    ask_probes(run_id=run.pk)
    probing = Probing.objects.get(run=run)
    assert (probing.state, probing.stop_reason) == (RunState.STOPPED, "401: wrong key")
    Probing.objects.update(woken_at=timezone.now() - timedelta(minutes=1))
    assert probes.wake_what_is_left() == []

    subject(lambda question: FORGOT)
    begin_probes(wave)
    ask_probes(run_id=run.pk)
    assert Probing.objects.get(run=run).state == RunState.DONE


def test_a_subject_that_cannot_be_asked_stops_its_probes(monkeypatch):
    def nobody(subject):
        raise RunStopped("There is nobody to ask.")

    monkeypatch.setattr("runs.probes.provider_for", nobody)
    run = put(wave_of())

    ask_probes(run_id=run.pk)

    assert Probing.objects.get(run=run).stop_reason == "There is nobody to ask."


def test_no_row_of_a_probe_holds_a_text_of_an_unpublished_item():
    wave = wave_of(bank_of(pool="secret-2026", exposureStatus="unpublished"))
    run = put(wave)

    assert counted(run) == {"recall": 6, "determinism": 20}
    for item in materials_of(wave.bank):
        for row in run.probes.all():
            kept = f"{row.question} {row.expected}"
            assert item.title not in kept
            assert "afraid to knock" not in kept


def test_pairs_are_asked_about_too():
    data = pair_bank_data(12)
    for item in data["items"]:
        item["sourceOnlyFields"] = {"title": f"Title of {item['id']}"}
    run = put(wave_of(make_bank(data)))

    assert counted(run)["choice"] == 6
    assert read_choice("A", run.probes.filter(kind="choice").first().expected["options"]) == "A"


def test_the_same_question_is_never_asked_twice_at_once():
    run = put(wave_of())
    row = run.probes.filter(kind=ProbeKind.CHOICE).first()

    with pytest.raises(IntegrityError), transaction.atomic():
        Probe.objects.create(
            run=run, item=row.item, kind=row.kind, part=row.part, number=row.number, seed=1
        )


def test_starting_a_wave_puts_its_probes():
    wave = WaveFactory(bank=bank_of())
    RunFactory(wave=wave, rows=True, state=RunState.PLANNED)

    start_wave(wave)

    assert Probe.objects.of_wave(wave).count() == 35
    assert Response.objects.of_wave(wave).exists()


def test_the_command_puts_them_to_a_wave_on_its_own(capsys, subject):
    subject(lambda question: "C" if "one letter" in question else FORGOT)
    wave = wave_of()

    call_command("run", "probe", wave.code)
    assert "The probes are put to example-lab--example--" in capsys.readouterr().out
    ask_probes(run_id=wave.runs.get().pk)
    call_command("run", "probe", wave.code)

    assert "has had the probes" in capsys.readouterr().out
    call_command("run", "status", wave.code)
    assert ": done, 35 of 35" in capsys.readouterr().out


def test_the_command_names_the_waves_there_are():
    wave = wave_of()

    with pytest.raises(CommandError, match=f"There is no wave nowhere; the waves are: {wave}"):
        call_command("run", "probe", "nowhere")
