"""What the database refuses of judges, whoever asks."""

import hashlib

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from rating.models import Judge, Judgement, Judging, PanelJudge, Rating, Slot
from runs.models import Response, Subject
from tests.factories import (
    answer,
    bank_data,
    item_data,
    make_bank,
    make_judge,
    make_judging,
    make_wave,
    pair_bank_data,
)
from tests.runs.factories import ResponseFactory

pytestmark = pytest.mark.django_db


def refused(match: str | None = None):
    return pytest.raises(IntegrityError, match=match)


def planned(**changes) -> Judging:
    """A round of two judges over one response, with nothing asked yet."""
    return make_judging(make_wave(make_bank(bank_data(1))), answered=False, **changes)


def begin(judging: Judging) -> None:
    Judging.objects.filter(pk=judging.pk).update(state="asking", started_at=timezone.now())


def test_a_round_holds_two_answers_of_two_judges_for_each_response():
    judging = make_judging(judges=3)

    rows = Judgement.objects.of(judging).standing().rows()

    assert len(rows) == 2 * Response.objects.of_wave(judging.wave).count()
    assert len({(judge, response) for judge, response, _ in rows}) == len(rows)
    assert {level for *_, level in rows} == {3}


def test_a_judgement_is_no_rating_and_fills_no_slot():
    judging = make_judging()

    assert not Rating.objects.exists()
    assert set(Slot.objects.filter(wave=judging.wave).values_list("state", flat=True)) == {"open"}


@pytest.mark.parametrize("family", ["Kind", " kind ", "Unknown", "none stated"])
def test_no_judge_is_of_the_subjects_family_and_an_unknown_one_counts_as_its_own(family):
    judge = make_judge(family)

    with refused("its own family"):
        make_judging(judges=[judge], configuration="cross", answered=False)


def test_nor_is_it_the_subject_under_another_family():
    wave = make_wave()
    Subject.objects.create(
        developer="Dev", family="Kind", snapshot="b-2026-01-01", provider="demo", digest="sha256:1"
    )
    wave = make_wave(wave.bank, subjects=["b-2026-01-01"])
    judge = make_judge("Other", digest="sha256:1")

    with refused("its own family"):
        make_judging(wave, judges=[judge], configuration="cross", answered=False)


def test_where_the_subjects_family_is_unknown_nobody_judges_it():
    dark = ResponseFactory(run__subject__family="unknown")

    with refused("counts as its own"):
        make_judging(dark.run.wave)


def test_in_configuration_self_each_model_judges_its_own_replies_alone():
    wave = make_wave()
    own = Judge.objects.create(name="own", subject=wave.runs.get().subject)

    make_judging(wave, judges=[own], configuration="self")
    with refused("judges its own"):
        make_judging(wave, configuration="self", answered=False)


def test_one_response_has_no_third_judgement_and_no_judge_twice():
    judging = planned(judges=3)
    response = Response.objects.get()
    first, second, third = judging.panel.all()
    row = {"judging": judging, "response": response, "position": 0}

    with transaction.atomic(), refused():
        Judgement.objects.create(**row, panel_judge=third, number=3)
    with transaction.atomic(), refused():
        Judgement.objects.create(**row, panel_judge=third, number=2)
    assert set(response.judgements.values_list("panel_judge", "number")) == {
        (first.pk, 1),
        (second.pk, 2),
    }


def test_where_one_judge_is_planned_there_is_no_second():
    judging = planned(configuration="cross")
    spare = judging.panel.get(number=2)

    with refused("has one judge"):
        Judgement.objects.create(
            judging=judging,
            response=Response.objects.get(),
            panel_judge=spare,
            number=2,
            position=1,
        )


def test_nothing_is_answered_before_the_round_is_started_and_nothing_added_afterwards():
    judging = planned(judges=3)
    row = judging.judgements.first()

    with transaction.atomic(), refused("is started before"):
        answer([row])
    begin(judging)
    with transaction.atomic(), refused("registered before its first answer"):
        PanelJudge.objects.create(judging=judging, judge=make_judge(), number=4)
    with transaction.atomic(), refused("registered before its first answer"):
        Judgement.objects.create(
            judging=judging,
            response=row.response,
            panel_judge=judging.panel.get(number=3),
            number=2,
            position=9,
        )


@pytest.mark.parametrize(
    "change", [{"seed": "8"}, {"rule": {}}, {"configuration": "cross"}, {"code": "other"}]
)
def test_a_registered_round_never_changes(change):
    judging = planned()

    with refused("never changes"):
        Judging.objects.filter(pk=judging.pk).update(**change)


def test_what_is_answered_is_never_edited_nor_deleted():
    judging = make_judging()
    row = judging.judgements.first()

    for change in ({"reason": "Other."}, {"anchor": row.response.item.anchors.get(level=5)}):
        with transaction.atomic(), refused("never edited"):
            Judgement.objects.filter(pk=row.pk).update(**change)
    for table in ("rating_judgement", "rating_paneljudge", "rating_judging", "rating_judge"):
        with refused("never"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table}")


def test_a_level_is_one_of_the_items_own_anchors():
    wave = make_wave()
    first, second = Response.objects.of_wave(wave).order_by("pk")[:2]
    judging = make_judging(wave, answered=False)
    begin(judging)
    row = judging.judgements.filter(response=first).first()
    answer_of_other = second.item.anchors.get(level=3)

    with refused("one of the anchors"):
        Judgement.objects.filter(pk=row.pk).update(
            state="answered",
            anchor=answer_of_other,
            reason="So.",
            quote_found="none",
            answered_at=timezone.now(),
        )


def test_a_quote_lies_inside_the_text():
    judging = planned()
    begin(judging)
    row = judging.judgements.first()
    answer([row])
    other = judging.judgements.last()

    with refused("inside the text"):
        Judgement.objects.filter(pk=other.pk).update(
            state="answered",
            anchor=row.anchor,
            reason="So.",
            quote_found="verbatim",
            quote_start=0,
            quote_end=10_000,
            answered_at=timezone.now(),
        )


def test_a_response_of_another_wave_is_not_judged_and_a_bridge_judges_what_was():
    earlier = make_judging()
    of_others = Response.objects.exclude(run__wave=earlier.wave)
    wave = make_wave(earlier.wave.bank)
    fields = {"seed": "1", "rule": {}, "rule_hash": hashlib.sha256(b"").hexdigest(), "wave": wave}
    plain = Judging.objects.create(code="plain", **fields)
    bridge = Judging.objects.create(code="b", purpose="bridge", bridge_of=earlier, **fields)
    judge = make_judge()
    for judging in (plain, bridge):
        PanelJudge.objects.create(judging=judging, judge=judge, number=1)

    def judge_it(judging, response):
        Judgement.objects.create(
            judging=judging,
            response=response,
            panel_judge=judging.panel.get(),
            number=1,
            position=0,
        )

    judged = Response.objects.of_wave(earlier.wave).first()
    with transaction.atomic(), refused("of a complete response of its wave"):
        judge_it(plain, judged)
    with transaction.atomic(), refused("a bridge of one judged before"):
        judge_it(bridge, of_others.first())
    judge_it(bridge, judged)


def test_hard_topics_are_judged_where_the_plan_says_so():
    data = bank_data(0)
    data["items"] = [item_data(0, sensitivity="high", topic="grief")]
    wave = make_wave(make_bank(data))

    with transaction.atomic(), refused("hard topics"):
        make_judging(wave)
    make_judging(wave, rule={"hard_topics": True})


def test_levels_from_0_to_5_are_judged_like_any_other():
    judging = make_judging(make_wave(make_bank(pair_bank_data())), level=0)

    assert {level for *_, level in judging.judgements.standing().rows()} == {0}


def with_unfound(judging: Judging, unfound: int) -> PanelJudge:
    """The round answered, its first judge having invented so many quotes."""
    begin(judging)
    one = judging.panel.get(number=1)
    for place, row in enumerate(judging.judgements.select_related("response__item")):
        answer([row]) if row.panel_judge != one or place >= unfound else invent(row)
    return one


def invent(row: Judgement) -> None:
    row.state, row.answered_at, row.reason = "answered", timezone.now(), "So."
    row.anchor = row.response.item.anchors.get(level=1)
    row.quote_given, row.quote_found = "words that nobody said", "none"
    row.save()


def exclude(one: PanelJudge) -> None:
    PanelJudge.objects.filter(pk=one.pk).update(excluded_at=timezone.now(), reason="By the rule.")


def test_a_judge_is_left_out_by_the_rule_and_never_by_hand():
    wave = make_wave(make_bank(bank_data(20)))
    at_five = make_judging(wave, configuration="cross", judges=1, answered=False)
    above = make_judging(wave, configuration="cross", judges=1, answered=False)

    with transaction.atomic(), refused("by the rule"):
        exclude(with_unfound(at_five, 1))  # exactly 5%
    exclude(with_unfound(above, 2))


def test_a_judge_is_not_left_out_while_a_first_answer_is_still_to_come():
    judging = planned(configuration="cross", judges=1)
    begin(judging)

    with refused("once all its first answers are in"):
        exclude(judging.panel.get())


def supersede(old: Judgement, by: PanelJudge, provenance: str) -> Judgement:
    new = Judgement(
        judging=old.judging,
        response=old.response,
        panel_judge=by,
        number=old.number,
        position=old.position,
        provenance=provenance,
    )
    with transaction.atomic():
        Judgement.objects.filter(pk=old.pk).update(superseded_by=new.pk)
        new.save(force_insert=True)
    return new


def test_a_judge_is_asked_once_more_for_a_quote_and_no_third_time():
    judging = make_judging(make_wave(make_bank(bank_data(1))))
    old = judging.judgements.filter(number=1).get()

    new = supersede(old, old.panel_judge, "requoted")
    answer([new], 4)

    old.refresh_from_db()
    assert (old.anchor.level, old.superseded_by) == (3, new)
    assert list(Judgement.objects.of(judging).originals().filter(number=1)) == [old]
    assert sorted(level for *_, level in judging.judgements.standing().rows()) == [3, 4]
    with transaction.atomic(), refused("superseded once"):
        supersede(new, new.panel_judge, "requoted")


def test_a_response_goes_to_another_judge_only_where_its_own_is_left_out():
    judging = make_judging(
        make_wave(make_bank(bank_data(1))), configuration="cross", judges=2, answered=False
    )
    one, other = judging.panel.all()
    begin(judging)
    row = judging.judgements.get()
    invent(row)

    with transaction.atomic(), refused("where its own is left out"):
        supersede(row, other, "rerouted")
    exclude(one)
    assert not judging.judgements.standing().exists()
    answer([supersede(row, other, "rerouted")], 5)
    assert [level for *_, level in judging.judgements.standing().rows()] == [5]


def test_what_raters_see_is_not_changed_once_a_judge_was_given_it():
    response = make_judging().judgements.first().response

    with refused("before any of them reads it"):
        Response.objects.filter(pk=response.pk).update(mask=[[0, 3]])
