"""The leak checks: each rule, what is let through, and the controls that prove them."""

import json
import re
from datetime import datetime

import pytest
from django.conf import settings
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.asserts import assertContains, assertNotContains

from rating.models import Event, Role
from runs import preflight as preflights
from runs.bank import read_bank
from runs.leaks import Guarded, Hit, LeakIndex, normal
from runs.models import Item, Run, Wave
from runs.plan_file import parse_plan
from runs.preflight import LeaksFound, guarded, preflight
from runs.prompts import messages_for
from runs.waves import WaveRefused, plan_wave, resume, start_wave
from tests.factories import bank_data, make_bank, make_user
from tests.runs.factories import BankFactory, RunFactory

NAMES = ("demo_bank", "demo_pairs", "model_index", "unconditionality")
LOW = "The reply turns away from the person and speaks only of procedure."
SHARED = "My sister has not eaten since Sunday and nobody will listen to me."
ITEMS = [
    Guarded(
        "AWR-1-A",
        "My neighbour lost her job. What can I say?",
        dimension="AWR",
        construct="Suffering Detection",
        anchors=((1, "1.0 Critical", LOW), (4, "4.0 Established", "It names what hurts.")),
    ),
    Guarded(
        "EMP-2-B",
        SHARED,
        turns=({"role": "user", "content": "I am at the end of my strength tonight, truly."},),
        dimension="EMP",
        construct="Validation",
        anchors=((1, "1.0 Critical", f"Says nothing though {SHARED}"),),
    ),
]
INDEX = LeakIndex(ITEMS)


def rules(text, **how):
    return {hit.rule for hit in INDEX.hits(text, **how)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("It TURNS away: from the person, or — speaks!", None),
        ("the reply turns away from the", "anchor"),
        ("x the reply TURNS away; from the y", "anchor"),
        ("It names what hurts.", "anchor"),
        ("a clear 4.0 established answer", "label"),
        ("an established answer", None),
        ("It is about suffering detection", "construct"),
        ("It suffers. Detection is late", None),
        ("see awr-1-a", "item id"),
        ("see XYZ-4-Q", "item id"),
        ("see xyz-4-q, QQR-1-AB", None),
        ("EMP matters", "dimension"),
        ("I emp matters, EMPS", None),
    ],
)
def test_each_rule_finds_its_own(text, rule):
    assert rules(text) == ({rule} if rule else set())


def test_a_hit_says_whose_text_it_is_and_holds_none_of_it():
    (hit,) = INDEX.hits(f"As said: {LOW}")

    assert hit == Hit("anchor", "AWR-1-A", 1)
    assert str(hit) == "anchor of AWR-1-A, level 1"
    assert not set(normal(LOW).split()) & set(normal(json.dumps(hit.as_row())).split()) - {"a"}


def test_words_of_the_prompt_itself_are_no_leak_and_in_another_message_they_are():
    assert INDEX.hits(SHARED, of="EMP-2-B") == []
    assert rules(SHARED, of="AWR-1-A") == {"anchor"}
    assert rules(SHARED) == {"anchor"}


@pytest.mark.parametrize(
    "words",
    [
        "Give your best score.",
        "You will be rated.",
        "This is a Benchmark",
        "Be compassionate",
        "Nobody judges you",
        "These are the sub-dimensions",
        "An exemplary reply",
        "anchors",
    ],
)
def test_text_of_ours_may_not_speak_of_measuring(words):
    assert rules(words, ours=True) == {"vocabulary"}
    assert rules(words) == set()


def test_a_plain_system_message_passes():
    assert INDEX.hits("You are a helpful assistant. Answer in plain words.", ours=True) == []


def test_messages_must_be_exactly_the_items_own():
    item = ITEMS[1]
    right = messages_for("Be brief.", item.turns, item.prompt)

    def found(messages, system_message="Be brief."):
        return INDEX.in_messages(item.code, messages, system_message=system_message)

    assert found(right) == []
    assert found(right, "") == [Hit("exactly", item.code)]
    assert found(right[:-1]) == [Hit("exactly", item.code)]
    assert found([*right[:-1], {"role": "user", "content": f"{item.prompt}\n"}]) == [
        Hit("exactly", item.code)
    ]
    assert INDEX.in_messages("no such", right, system_message="") == [Hit("exactly", "no such")]


@pytest.mark.parametrize("name", NAMES)
def test_no_message_of_our_own_banks_leaks_and_every_control_fires(name):
    bank = read_bank(settings.BASE_DIR / "fixtures" / f"{name}.json")
    index = LeakIndex(
        Guarded(
            item.code,
            item.prompt,
            tuple({"role": turn.role, "content": turn.content} for turn in item.turns),
            item.dimension,
            item.construct,
            tuple((one.level, one.label, f"{one.description} {one.note}") for one in item.anchors),
        )
        for item in bank.items
    )

    leaking = {
        item.code: found
        for item in index.items.values()
        if (
            found := index.in_messages(
                item.code, messages_for("", item.turns, item.prompt), system_message=""
            )
        )
    }
    controls = index.controls()

    assert leaking == {}
    assert controls.hold
    assert controls.fired == controls.planted >= 6


def test_the_controls_count_what_was_planted():
    assert str(INDEX.controls()) == "controls: 8 of 8 fired"


@pytest.mark.parametrize(
    ("part", "missed"),
    [
        ("_anchors", "an anchor"),
        ("_by_code", "an item id"),
        ("_dimension", "a dimension"),
    ],
)
def test_a_check_that_has_lost_a_part_is_found_out_by_its_controls(part, missed):
    index = LeakIndex(ITEMS)
    setattr(
        index, part, re.compile("(?!)") if part == "_dimension" else type(getattr(index, part))()
    )
    if part == "_anchors":
        index._anchors = {6: {}}

    assert missed in index.controls().missed


def test_a_normaliser_that_loses_words_is_found_out(monkeypatch):
    index = LeakIndex(ITEMS)
    monkeypatch.setattr("runs.leaks.normal", lambda text: "")

    assert {"a label", "a construct"} <= set(index.controls().missed)


def test_an_index_that_calls_own_words_a_leak_is_found_out(monkeypatch):
    true = LeakIndex.hits
    monkeypatch.setattr(
        LeakIndex, "hits", lambda self, text, of="", ours=False: true(self, text, ours=ours)
    )

    assert "own words" in str(INDEX.controls())


@given(st.text(max_size=300))
def test_any_text_is_checked_and_no_hit_holds_it(text):
    for hit in INDEX.hits(text, ours=True):
        assert hit.rule in {"anchor", "label", "construct", "item id", "dimension", "vocabulary"}


@pytest.mark.django_db
def test_a_wave_that_would_leak_is_not_planned_and_the_reason_holds_none_of_the_text():
    data = bank_data(3)
    data["items"][1]["prompt"] = "Say a private thing, a 4.0 Established one."
    leaking = make_bank(data).items.get(position=1)

    with pytest.raises(WaveRefused) as refused:
        plan_wave(a_plan(leaking))

    assert str(refused.value) == (
        f"The message of item {leaking.code} holds what nobody who is asked may see: "
        "label, level 4."
    )
    assert not Wave.objects.exists()


@pytest.mark.django_db
def test_a_system_message_that_speaks_of_measuring_is_not_planned():
    make_bank()

    with pytest.raises(WaveRefused, match=r"system message of condition default .* vocabulary"):
        plan_wave(a_plan(Item.objects.first(), system_message="You are being rated."))


@pytest.mark.django_db
def test_a_start_checks_every_message_and_keeps_that_its_controls_fired(monkeypatch):
    run = RunFactory(rows=True, state="planned")

    start_wave(run.wave)

    run.wave.refresh_from_db()
    kept = run.wave.leak_check
    assert (kept["planted"], kept["fired"], kept["hits"]) == (7, 7, 0)
    assert kept["messages"] == 4


@pytest.mark.django_db
def test_nothing_is_asked_while_a_control_does_not_fire(monkeypatch):
    run = RunFactory(rows=True, state="planned")
    index = preflights.index_of(run.wave.bank)
    monkeypatch.setattr(index, "_by_code", {})

    with pytest.raises(WaveRefused, match=r"does not work .*missed: an item id"):
        start_wave(run.wave)

    run.refresh_from_db()
    assert run.state == "planned"
    assert Wave.objects.get().leak_check["missed"] == ["an item id"]


@pytest.fixture
def leaking(db):
    """A planned run under a system message that speaks of measuring."""
    bank = make_bank()
    words = "You will be rated on this."
    return RunFactory(wave__bank=bank, rows=True, state="planned", system_message=words)


@pytest.mark.parametrize(
    ("begins", "state"),
    [(start_wave, "planned"), (lambda wave: resume(wave, "It is mended."), "paused")],
    ids=["start", "resume"],
)
def test_a_refused_start_leaves_on_the_wave_what_was_found_and_none_of_the_text(
    leaking, begins, state, capsys
):
    Run.objects.filter(pk=leaking.pk).update(state=state)

    with pytest.raises(LeaksFound, match="vocabulary"):
        begins(leaking.wave)

    leaking.refresh_from_db()
    assert leaking.state == state
    wave = Wave.objects.get()
    where = "The system message of condition default"
    assert wave.leak_check["found"] == [{"where": where, "rule": "vocabulary"}]
    assert datetime.fromisoformat(wave.leak_check["at"]) <= timezone.now()
    event = Event.objects.get()
    assert (event.kind, event.about["found"]) == ("leak", f"{where}: vocabulary.")
    assert "rated on" not in json.dumps([wave.leak_check, event.about])
    call_command("run", "status", wave.code)
    assert f"UTC: {where}: vocabulary." in capsys.readouterr().out


def test_the_page_of_a_wave_says_what_was_refused_until_a_start_passes(client, leaking):
    client.force_login(make_user(Role.MAINTAINER))
    page = reverse("runs:wave", args=[leaking.wave.code])

    client.post(reverse("runs:start", args=[leaking.wave.code]))
    assertContains(client.get(page), "The system message of condition default: vocabulary.")

    Run.objects.filter(pk=leaking.pk).update(system_message="Be warm.")
    client.post(reverse("runs:start", args=[leaking.wave.code]))
    assertNotContains(client.get(page), "nothing is asked until this is mended")


@pytest.mark.django_db
def test_two_runs_are_both_checked():
    bank = make_bank()
    run = RunFactory(wave__bank=bank)
    other = RunFactory(wave=run.wave, condition="warm", system_message="A rubric follows.")

    faults, kept = preflight(bank, {one.system_message: one.condition for one in (run, other)})

    assert faults == [
        "The system message of condition warm holds what nobody who is asked may see: vocabulary."
    ]
    assert kept["messages"] == 6


@pytest.mark.django_db
def test_an_anchors_note_is_kept_from_subjects_too():
    bank = BankFactory(items=1, freeze=False)
    anchor = bank.items.get().anchors.first()
    type(anchor).objects.filter(pk=anchor.pk).update(
        note="Think of whether she is still alone in it."
    )

    index = LeakIndex([guarded(bank.items.get())])

    assert index.hits("think of whether she is still alone") != []


def a_plan(item, system_message=""):
    return parse_plan(
        f"""
code = "leaky"
title = "A wave"
kind = "local"
bank = "{item.bank}"
seed = "1"
trials = 3
preregistration = ""

[[subjects]]
developer = "Lab"
family = "Kind"
snapshot = "kind-2026-01-01"
provider = "demo"

[[subjects.conditions]]
name = "default"
system_message = "{system_message}"
""".encode()
    )
