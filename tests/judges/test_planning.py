"""A round is registered whole or not at all, and every refusal says what to do."""

from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from rating.events import seal_events, walk_events
from rating.judges.acts import start
from rating.judges.planning import (
    JudgingRefused,
    plan_bridge,
    plan_judging,
    registration_of,
)
from rating.judges.rounds import bridge_of
from rating.masking import Refused, decide
from rating.models import Judge, Judgement, Judging, PanelJudge, Role
from rating.publishing.confounded import ledger_of
from rating.publishing.gated import gate_of
from rating.publishing.gather import rows_of
from rating.publishing.results import asked_of
from runs.guards import lifted
from runs.models import Response, Subject
from tests.factories import (
    answer,
    bank_data,
    make_bank,
    make_judging,
    make_user,
    make_wave,
)
from tests.judges.rounds import wave_of, work_through

pytestmark = pytest.mark.django_db


def subjects(*families: str, **changes) -> list[str]:
    """The codes of subjects that could judge, one of each family."""
    return [
        Subject.objects.create(
            **{"developer": "Lab", "family": family, "provider": "demo", **changes},
            snapshot=f"{family.lower().replace(' ', '-')}-2026-01-01",
        ).code
        for family in families
    ]


def said(*words: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command("judge", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("judges", "changes", "why"),
    [
        (["Alder"], {}, "Configuration panel needs at least 2 judges, and 1 is named"),
        (["Alder", "Alder"], {}, "Configuration panel needs at least 2 judges, and 1 is named"),
        ([], {"configuration": "cross"}, "Configuration cross needs at least 1 judges"),
        (["Alder", "Birch"], {"seed": " "}, "The seed is empty"),
        (["Alder", "Birch"], {"configuration": "all"}, "There is no configuration 'all'"),
        (["Alder", "Birch"], {"size": 0}, "A sample of 0 is none"),
        (["Alder", "Birch"], {"unfound_percent": 100}, "100% is no exclusion rule"),
        (["Alder", "Birch"], {"code": "No Code"}, "'No Code' is no code"),
        (["Alder", "Kind"], {}, "lab--kind--kind-2026-01-01 is of the family of the subject"),
        (["Alder", "Unknown"], {}, "The family of lab--unknown--unknown-2026-01-01 is not known"),
        (
            ["Alder", "Birch"],
            {"configuration": "self"},
            "No judge is the subject dev--kind--kind-1",
        ),
    ],
)
def test_what_is_refused_says_why_and_stores_nothing(judges, changes, why):
    wave = make_wave()
    subjects("Alder", "Birch", "Kind", "Unknown")
    codes = [f"lab--{name.lower()}--{name.lower()}-2026-01-01" for name in judges]

    with pytest.raises(JudgingRefused) as refusal:
        plan_judging(wave, codes, **{"seed": "7", **changes})

    assert any(why in fault for fault in refusal.value.faults), refusal.value.faults
    assert not Judging.objects.exists()
    assert not Judge.objects.exists()


def test_a_subject_that_is_not_there_or_cannot_be_asked_is_named():
    [brought] = subjects("Brought", provider="import")

    with pytest.raises(JudgingRefused) as refusal:
        plan_judging(make_wave(), ["nobody", brought], seed="7")

    assert refusal.value.faults == (
        "There is no subject nobody: register it, or see `subject list`.",
        f"{brought} cannot be asked: its responses are imported.",
    )


def test_a_wave_that_is_not_locked_has_nothing_to_judge():
    with pytest.raises(JudgingRefused, match="is not locked"):
        plan_judging(make_wave(locked=False), subjects("Alder", "Birch"), seed="7")


def test_what_is_judged_and_what_is_left_out_is_counted():
    data = bank_data(6)
    data["items"][0] |= {"sensitivity": "high", "topic": "grief"}
    wave = make_wave(make_bank(data), locked=False)
    hard, pending, failed, named, *_ = Response.objects.of_wave(wave).order_by("position")
    with lifted():
        for row, changes in (
            (pending, {"status": "pending", "completed_at": None}),
            (failed, {"status": "failed"}),
            (named, {"self_naming": [[0, 3, "Kind"]]}),
        ):
            Response.objects.filter(pk=row.pk).update(**changes)
    type(wave).objects.filter(pk=wave.pk).update(locked_at=timezone.now())
    wave.refresh_from_db()
    judges = subjects("Alder", "Birch")

    planned = plan_judging(wave, judges, seed="7")

    assert planned.responses == 2
    assert planned.left_out == {
        "not come yet": 1,
        "filtered, failed or malformed": 1,
        "naming their maker, undecided": 1,
        "on a hard topic": 1,
    }
    assert not Judgement.objects.filter(response=hard).exists()
    with_them = plan_judging(wave, judges, seed="7", hard_topics=True)
    assert with_them.responses == 3
    assert Judgement.objects.of(with_them.judging).filter(response=hard).count() == 2


def test_names_in_a_reply_are_not_covered_any_more_once_a_judge_was_given_it():
    wave = make_wave(naming=[(0, 1, "I")])
    response = Response.objects.of_wave(wave).first()
    person = make_user(Role.MAINTAINER)
    decide(response, person, cover=True, now=timezone.now())
    plan_judging(wave, subjects("Alder", "Birch"), seed="7")

    with pytest.raises(Refused, match="stays as it is"):
        decide(response, person, cover=False, now=timezone.now())


def test_a_sample_is_drawn_in_equal_parts_from_the_subjects():
    wave = make_wave(make_bank(bank_data(10)), subjects=["a-2026-01-01", "b-2026-01-01"])

    planned = plan_judging(wave, subjects("Alder", "Birch"), seed="7", size=6)

    drawn = {row.response for row in planned.judging.judgements.select_related("response__run")}
    assert set(Counter(response.run_id for response in drawn).values()) == {3}
    assert planned.left_out == {"not drawn for the sample": 14}
    assert planned.judging.rule["sample"] == 6


def test_judges_are_named_in_turn_and_a_subject_keeps_its_name():
    wave = make_wave()
    first = plan_judging(wave, subjects("Alder", "Birch"), seed="7").judging
    birch = Judge.objects.get(name="judge-b").subject

    second = plan_judging(wave, [birch.code, *subjects("Cedar")], seed="7").judging

    assert [one.judge.name for one in first.panel.all()] == ["judge-a", "judge-b"]
    assert [one.judge.name for one in second.panel.all()] == ["judge-b", "judge-c"]
    assert (first.code, second.code) == ("j1", "j2")


def test_the_same_seed_gives_the_same_plan_and_the_hash_is_of_all_of_it():
    wave = make_wave(make_bank(bank_data(12)))
    judges = subjects("Alder", "Birch", "Cedar")

    def places(judging):
        rows = judging.judgements.order_by("response", "number")
        return list(rows.values_list("response", "number", "panel_judge__number", "position"))

    one, same, other = (
        plan_judging(wave, judges, seed=seed, code=code).judging
        for seed, code in (("7", "a"), ("7", "b"), ("8", "c"))
    )

    assert places(one) == places(same) != places(other)
    assert registration_of(one) == one.rule_hash
    assert len({one.rule_hash, same.rule_hash, other.rule_hash}) == 3
    with lifted():
        Judging.objects.filter(pk=one.pk).update(rule={**one.rule, "unfound_percent": 50})
    one.refresh_from_db()
    assert registration_of(one) != one.rule_hash
    assert "This round is not as it was registered" in said("status", wave.code, "a")


def test_the_log_holds_what_was_done_to_a_round_and_its_chain_holds():
    judging = plan_judging(make_wave(), subjects("Alder", "Birch"), seed="7").judging
    start(judging)

    seal_events()

    assert walk_events().broken_at is None


def test_judges_are_never_the_two_people_that_a_response_needs():
    wave = make_wave(make_bank(bank_data(3)))
    make_judging(wave, level=5)

    data = rows_of(wave)
    [ratings] = [
        condition
        for condition in gate_of(data, asked_of(data), None, ledger_of(data)).conditions
        if condition.name.startswith("Two human raters")
    ]

    assert data.ratings == ()
    assert ratings.missing == ("Two ratings of 3 responses.",)


def test_a_whole_round_by_the_command():
    wave = wave_of(4)
    judges = subjects("Alder", "Birch", "Cedar")
    flags = [word for code in judges for word in ("--judge", code)]

    planned = said("plan", wave.code, *flags, "--seed", "7")
    assert f"{wave.code}/j1 is registered: 4 responses, 8 answers, configuration panel." in planned
    assert f"judge-a is {judges[0]}" in planned
    assert f"Begin with: judge start {wave.code} j1" in planned
    assert "8 pending" in said("status", wave.code)
    assert "8 answers are being asked for." in said("start", wave.code)
    assert "is stopped. Go on with" in said("stop", wave.code, "--reason", "Lunch.")
    assert "stopped: Lunch." in said("status", wave.code)
    said("start", wave.code, "j1")

    # The scripted subject is no judge: all it says is prose, which is no answer.
    work_through(Judging.objects.get())

    assert "done: 8 refused" in said("status", wave.code)
    validity = said("validity", wave.code)
    assert "judge-a gave no quote: not measured." in validity
    assert "8  refused: It holds no object" in validity
    assert "8 answers are asked for once more." in said("requote", wave.code)
    assert '"as_registered": true' in said("validity", wave.code, "--json")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("status", "none"), "There is no wave none; the waves are: "),
        (("validity", "WAVE"), "No round of judging is planned for WAVE"),
        (("bridge", "WAVE"), "No bridge is planned for WAVE"),
        (("bridge", "WAVE", "--of", "WAVE/j9"), "No round of judging is planned"),
        (("plan", "WAVE", "--unfound-percent", "many"), "'many' is no percentage"),
        (("plan", "WAVE", "--unfound-percent", "NaN"), "'NaN' is no percentage"),
    ],
)
def test_the_command_says_what_it_cannot_do_and_the_way_on(words, why):
    code = make_wave().code

    with pytest.raises(CommandError) as refusal:
        said(*(word.replace("WAVE", code) for word in words))

    assert why.replace("WAVE", code) in str(refusal.value)


def test_of_several_rounds_one_must_be_named():
    wave = make_wave()
    make_judging(wave, code="one")
    make_judging(wave, code="two")

    with pytest.raises(CommandError, match="has several rounds; name one of: one, two"):
        said("validity", wave.code)
    with pytest.raises(CommandError, match="There is no round three in"):
        said("validity", wave.code, "three")
    with pytest.raises(CommandError, match="See it with: judge validity"):
        said("start", wave.code, "one")


def levels_by(judging, given):
    """Each response's level, by its place in the order of their keys."""
    order = sorted({row.response_id for row in judging.judgements.all()})
    return lambda response, one: given[order.index(response.pk)]


def test_a_bridge_judges_a_sample_of_an_earlier_round_again_and_is_in_no_figure():
    earlier = make_judging(
        make_wave(make_bank(bank_data(4))), configuration="cross", judges=1, answered=False
    )
    Judging.objects.update(state="done", started_at=timezone.now(), ended_at=timezone.now())
    answer(list(earlier.judgements.all()), levels_by(earlier, [3, 2, 5, 1]))
    earlier.refresh_from_db()
    wave = make_wave(earlier.wave.bank, subjects=["kind-2-2026-02-02"])

    bridge = plan_bridge(wave, earlier, size=4, seed="7").judging

    assert (bridge.purpose, bridge.bridge_of, bridge.code) == ("bridge", earlier, "b1")
    assert registration_of(bridge) == bridge.rule_hash
    assert {row.response_id for row in bridge.judgements.all()} == {
        row.response_id for row in earlier.judgements.all()
    }
    Judging.objects.filter(pk=bridge.pk).update(state="asking", started_at=timezone.now())
    answer(list(bridge.judgements.all()), levels_by(bridge, [3, 3, 3, 1]))
    # By hand: new less earlier 0, 1, -2, 0.
    one, every = bridge_of(bridge)
    assert (one.pairs, one.exact, one.mean_absolute, one.largest_absolute, one.signed_mean) == (
        4,
        2,
        0.75,
        2,
        -0.25,
    )
    assert (every.judge, every.pairs) == ("all", 4)
    assert (
        "4 pairs, 2 the same; moved by 0.75 levels on average, by 2 at most; new less earlier -0.25"
        in said("bridge", wave.code)
    )
    assert rows_of(wave).judges == ()


def test_a_bridge_is_drawn_from_a_whole_round_of_the_same_bank():
    earlier, half = make_judging(), make_judging(answered=False)
    other = make_wave()

    with pytest.raises(JudgingRefused, match="levels of two banks are not compared"):
        plan_bridge(other, earlier, size=2, seed="7")
    with pytest.raises(JudgingRefused, match="is planned: a bridge is to a round that is done"):
        plan_bridge(half.wave, half, size=2, seed="7")
    with pytest.raises(JudgingRefused, match="A sample of 0 is none"):
        plan_bridge(earlier.wave, earlier, size=0, seed="7")
    bridge = plan_bridge(earlier.wave, earlier, size=2, seed="7").judging
    Judging.objects.filter(pk=bridge.pk).update(state="done", started_at=timezone.now())
    with pytest.raises(JudgingRefused, match="is a bridge itself"):
        plan_bridge(earlier.wave, Judging.objects.get(pk=bridge.pk), size=2, seed="7")
    with pytest.raises(JudgingRefused, match="is no bridge"):
        bridge_of(earlier)
    assert PanelJudge.objects.filter(judging=bridge).count() == 2
