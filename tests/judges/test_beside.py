"""Judges beside people: what the pages show, what they withhold, and that a look is on record."""

import csv
import io
import re

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating import unblinding
from rating.counted import state_of
from rating.dictionary import ENTRIES
from rating.export import SAID_BY
from rating.exports import Exports
from rating.item_figures import ONE_SUBJECT
from rating.judges.beside import ONE_JUDGED, SELF, beside_page, rounds_of
from rating.judges.export import JUDGED_BY, LONG
from rating.judges.overview import UNSAID, rounds
from rating.models import Event, EventKind, Exposure, Judge, Judgement, PanelJudge, Rating, Role
from runs.models import Response, Wave
from tests.factories import (
    answer,
    bank_data,
    make_bank,
    make_judge,
    make_judging,
    make_rater,
    make_user,
    make_wave,
)
from tests.rating.test_agreement_page import TWO, rate_all

pytestmark = pytest.mark.django_db

LEVELS = {"AWR-1-A": (3, 3), "EMP-1-A": (1, 4), "AWR-1-B": (2, 3), "EMP-1-B": (5, 4)}


@pytest.fixture(autouse=True)
def _any_card_may_come_next(settings):
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99


def rated(subjects=TWO, items=4) -> Wave:
    """Every response has two ratings, the same for both subjects."""
    wave = make_wave(make_bank(bank_data(items)), subjects=subjects)
    codes = list(wave.bank.items.values_list("code", flat=True))
    for who in range(2):
        given = [(3, 3), (1, 4), (2, 3), (5, 4)]
        rate_all(make_rater(), {code: given[at % 4][who] for at, code in enumerate(codes)})
    return wave


def near_people(response, judge):
    """A level above the lower rating."""
    return min(rating.anchor.level for rating in Rating.objects.filter(response=response)) + 1


@pytest.fixture
def wave() -> Wave:
    return rated()


@pytest.fixture
def judging(wave):
    return make_judging(wave, judges=2, level=near_people)


@pytest.fixture
def maintainer(client):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


def page_of(wave, judging):
    return beside_page(wave, judging, state_of(wave))


# The figures


def test_figures_of_a_round_are_worked_out_from_its_standing_judgements(wave, judging):
    """The judges give 4, 2, 3 and 5 where people give 3 3, 1 4, 2 3 and 5 4, on each subject.

    The same level in halves of 2: 0, 0, 1 and 1; within one: 2, 1, 2, 2. Less the means 3, 2.5,
    2.5, 4.5 they are 1, -0.5, 0.5 and 0.5 milder.
    """
    found = page_of(wave, judging)

    exact, within_one, *_ = found.overall.rows
    assert (found.judged, found.judged_and_rated, found.overall.n) == (8, 8, 8)
    assert exact.judge.by_item.value == pytest.approx(2 / 8)
    assert exact.people.by_item.value == pytest.approx(1 / 4)
    assert within_one.judge.by_item.value == pytest.approx(7 / 8)
    assert found.overall.leniency.value == pytest.approx(1.5 / 4)
    assert found.between.rows[0].judge.by_item.value == 1


def test_every_line_is_of_its_own_responses_alone(wave, judging):
    found = page_of(wave, judging)

    assert [(line.name, line.n) for line in found.lines] == [
        (line.name, 8 * wave.bank.items.filter(dimension=code).count() // 4)
        for line, code in zip(found.lines, dict.fromkeys(wave.bank.items.values_list("dimension", flat=True)), strict=True)
    ]  # fmt: skip
    assert {line.n for line in found.by_judge} == {8}


def test_a_judge_that_was_left_out_is_in_no_figure(wave):
    out, served = make_judge(), make_judge()
    judging = make_judging(wave, judges=[out, served], answered=False)
    judging.state, judging.started_at = "asking", timezone.now()
    judging.save()
    answer(list(Judgement.objects.of(judging).filter(panel_judge__judge=served)), 2)
    for row in Judgement.objects.of(judging).filter(panel_judge__judge=out):
        row.state, row.answered_at, row.reason = "answered", timezone.now(), "It is kind."
        row.anchor = row.response.item.anchors.get(level=2)
        row.quote_given, row.quote_found = "words that nobody wrote", "none"
        row.save()
    PanelJudge.objects.filter(judging=judging, judge=out).update(
        excluded_at=timezone.now(), reason="8 of 8 quotes are not in the replies."
    )

    found, [page] = page_of(wave, judging), rounds(wave)

    assert [line.name for line in found.by_judge] == [served.name]
    assert found.between.n == 0
    assert found.judged == 8
    assert [line.unfound_percent for line in page.panel] == ["100.0%", "0.0%"]
    assert page.outcome.startswith("One judge is left out")


def test_a_half_rated_response_is_left_out_and_the_judged_are_counted(wave):
    half = make_wave(wave.bank, subjects=TWO)
    rate_all(make_rater(), dict.fromkeys(half.bank.items.values_list("code", flat=True), 3))
    judging = make_judging(half)

    found = page_of(half, judging)

    assert (found.judged, found.judged_and_rated) == (8, 0)
    assert found.overall.reason.startswith("No response here has two ratings by people")
    assert found.responses == ()


def test_the_page_is_made_anew_once_a_judgement_comes(wave):
    judging = make_judging(wave, answered=False)
    judging.state, judging.started_at = "asking", timezone.now()
    judging.save()
    before = page_of(wave, judging)
    answer(list(Judgement.objects.of(judging)[:4]), 3)

    after = page_of(wave, judging)

    assert (before.judged, before.overall.n) == (0, 0)
    assert after.judged > 0


def test_a_round_that_only_bridges_or_has_not_begun_is_not_beside_people(wave, judging):
    make_judging(wave, purpose="bridge", bridge_of=judging)
    make_judging(wave, answered=False)

    assert rounds_of(wave) == [judging]


# What is withheld


def test_of_one_blinded_subject_the_levels_are_not_told(judging):
    alone = rated(subjects=TWO[:1])
    found = page_of(alone, make_judging(alone, level=near_people))

    assert found.levels == ()
    assert found.no_levels == ONE_SUBJECT
    assert found.overall.alpha.judge.by_item.value is not None


def test_a_judge_that_judged_one_subject_alone_has_no_line_while_that_is_hidden(wave):
    """Of two subjects of two families, each judged by the other's kin: a judge is a subject."""
    first = Response.objects.of_wave(wave).first().run.subject_id

    def own(response, judge):
        return 3 if (response.run.subject_id == first) == (judge.number == 1) else None

    judging = make_judging(wave, judges=2, level=own)
    before = page_of(wave, judging)
    unblind(wave)
    after = page_of(Wave.objects.get(pk=wave.pk), judging)

    assert {line.reason for line in before.by_judge} == {ONE_JUDGED}
    assert before.overall.n == 8
    assert [line.n for line in after.by_judge] == [4, 4]


def test_a_line_that_tells_of_one_subject_by_what_it_leaves_out_waits_too():
    """All together less the line of the first judge would be the one subject it did not judge."""
    wave = rated(subjects=(*TWO, "kind-3-2026-01-01"))
    first = Response.objects.of_wave(wave).first().run.subject_id

    def not_the_first(response, judge):
        return None if judge.number == 1 and response.run.subject_id == first else 3

    found = page_of(wave, make_judging(wave, judges=2, level=not_the_first))

    assert [line.reason for line in found.by_judge] == [ONE_JUDGED, ""]
    assert [line.n for line in found.by_judge] == [0, 12]


def test_of_models_that_judge_themselves_there_is_no_line_while_that_is_hidden():
    alone = rated(subjects=TWO[:1])
    itself = Judge.objects.create(name="itself", subject=alone.runs.get().subject)

    found = page_of(alone, make_judging(alone, judges=[itself], configuration="self"))

    assert found.is_self
    assert (found.by_judge, found.no_judges) == ((), SELF)


def unblind(wave):
    one = make_user(Role.MAINTAINER)
    unblinding.freeze(wave, one, "All is rated.", now=timezone.now())
    unblinding.unblind_alone(wave, one, "To report it.", now=timezone.now())


def test_no_page_names_judge_and_response_together_nor_any_subject_while_blinded(
    client, wave, judging, maintainer
):
    addresses = [
        reverse("rating:judges", args=[wave.code]),
        reverse("rating:judges_beside", args=[wave.code]),
        *(
            reverse("rating:judgements", args=[wave.code, judging.code, response.code])
            for response in Response.objects.of_wave(wave)
        ),
    ]
    names = set(judging.panel.values_list("judge__name", flat=True))
    subjects = {run.subject.code for run in wave.runs.select_related("subject")}

    for address in addresses:
        text = client.get(address).content.decode()
        assert not [subject for subject in subjects if subject in text]
        for row in re.findall(r"<tr>.*?</tr>|<section class=\"box.*?</section>", text, re.S):
            with_code = any(str(response.code) in row for response in Response.objects.all())
            is_reading = "judgement-" in row
            assert not ((with_code or is_reading) and any(name in row for name in names))


def test_after_unblinding_the_judge_is_named(client, wave, judging, maintainer):
    unblind(wave)
    response = Response.objects.of_wave(wave).first()

    answer = client.get(reverse("rating:judgements", args=[wave.code, judging.code, response.code]))

    assertContains(answer, judging.panel.first().judge.name)
    assertNotContains(answer, UNSAID)


# The pages


def test_the_page_says_how_judges_stand_with_picture_table_and_words(
    client, wave, judging, maintainer
):
    answer = client.get(reverse("rating:judges_beside", args=[wave.code]))

    assertContains(answer, "Judges agree with people less than people do with each other in")
    assertContains(answer, "<svg", count=2)
    assertContains(answer, "Judges less people, in levels")
    assertContains(answer, "Where judges and people part")
    for response in answer.context["page"].responses:
        assertContains(
            answer, reverse("rating:judgements", args=[wave.code, judging.code, response.code])
        )


def test_a_look_is_on_record_and_opening_one_response_ends_rating_there(
    client, wave, judging, maintainer
):
    response = Response.objects.of_wave(wave).first()

    client.get(reverse("rating:judges", args=[wave.code]))
    client.get(reverse("rating:judges_beside", args=[wave.code]))
    seen = set(Exposure.objects.filter(person=maintainer).values_list("saw", flat=True))
    client.get(reverse("rating:judgements", args=[wave.code, judging.code, response.code]))

    assert seen == {"figures"}
    assert Exposure.objects.filter(person=maintainer, saw="ratings", wave=wave).exists()
    looks = [row.about["what"] for row in Event.objects.filter(kind=EventKind.LOOK).order_by("pk")]
    assert looks == [
        f"judges of {wave.code}",
        f"judges beside people in {wave.code}, round {judging.code}",
        f"judgements of response {response.code}",
    ]


def test_only_maintainers_come_in_and_what_is_not_there_is_not_found(
    client, wave, judging, maintainer
):
    response = Response.objects.of_wave(wave).first()
    other = rated()
    wrong = [
        reverse("rating:judges", args=["nothing"]),
        reverse("rating:judges_beside", args=["nothing"]),
        reverse("rating:judgements", args=[wave.code, "nothing", response.code]),
        reverse("rating:judgements", args=[other.code, judging.code, response.code]),
        reverse(
            "rating:judgements",
            args=[wave.code, judging.code, Response.objects.of_wave(other).first().code],
        ),
    ]
    right = [
        reverse("rating:judges", args=[wave.code]),
        reverse("rating:judges_beside", args=[wave.code]),
        reverse("rating:judgements", args=[wave.code, judging.code, response.code]),
    ]

    assert [client.get(address).status_code for address in wrong] == [404] * 5
    assert client.get(right[1] + "?round=none").status_code == 422
    for role in (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN):
        client.force_login(make_user(role))
        assert {client.get(address).status_code for address in right} <= {403, 404}


def test_without_judges_the_pages_say_so(client, wave, maintainer):
    assertContains(
        client.get(reverse("rating:judges", args=[wave.code])), "No round of judging is planned"
    )
    assertContains(
        client.get(reverse("rating:judges_beside", args=[wave.code])), "No judge has judged here."
    )
    assertContains(
        client.get(reverse("rating:agreement", args=[wave.code])), "No judge has judged here."
    )


def test_the_agreement_page_has_a_line_for_a_person_and_a_judge(client, wave, judging, maintainer):
    answer = client.get(reverse("rating:agreement", args=[wave.code]), {"by": "kind"})

    people, judge = answer.context["page"].lines
    assert (judge.name, judge.agreement.n_pairable_units) == ("A person and a judge", 8)
    assert judge.agreement.percent_exact.value == pytest.approx(2 / 8)
    assert people.agreement.percent_exact.value == pytest.approx(1 / 4)
    assertContains(answer, "How judges stand beside people")


def test_the_rounds_page_counts_loads_quotes_faults_and_who_was_left_out(wave):
    def every_fourth(response, judge):
        return None if judge.number == 1 and response.item.code.startswith("EMP") else 1

    judging = make_judging(wave, judges=2, level=every_fourth)
    emp = wave.bank.items.filter(dimension="EMP").count() * 2

    [found] = rounds(wave)

    first, second = found.panel
    assert (first.given, first.answered, first.faults) == (8, 8 - emp, emp)
    assert (first.validity.as_written, first.validity.unread) == (8 - emp, emp)
    assert (second.answered, second.unfound_percent) == (8, "0.0%")
    assert found.faults == (("not json", emp),)
    assert (found.n_candidates, found.lowest, found.percent) == (8, 1, "5")
    assert found.outcome == "Every judge serves."
    assert judging == found.judging


def test_harm_candidates_stand_by_random_code_in_their_order_and_are_called_hints(
    client, wave, maintainer
):
    judging = make_judging(wave, level=1)

    answer = client.get(reverse("rating:judges", args=[wave.code]))

    codes = [one.code for one in answer.context["rounds"][0].candidates]
    assert codes == sorted(codes)
    assert len(codes) == 8
    assertContains(answer, "These are hints for people and no findings")
    assertContains(answer, reverse("rating:judgements", args=[wave.code, judging.code, codes[0]]))


# The file


def lines_of(wave):
    return list(
        csv.DictReader(io.StringIO(Exports(wave).file("judgements.csv").decode(), newline=""))
    )


def test_the_file_of_judgements_says_before_unblinding_neither_who_judged_nor_whom_nor_when(
    wave, judging
):
    before = lines_of(wave)
    unblind(wave)
    after = lines_of(Wave.objects.get(pk=wave.pk))

    assert list(before[0]) == list(LONG)
    assert len(before) == len(after) == 16
    assert {(row["stands"], row["quote_found"]) for row in before} == {("true", "verbatim")}
    assert {row["judge"] for row in after} == set(
        judging.panel.values_list("judge__name", flat=True)
    )
    assert {row["subject"] for row in after} == {
        run.subject.code for run in wave.runs.select_related("subject")
    }
    assert [row["response"] for row in before] == sorted(row["response"] for row in before)


def test_the_dictionary_has_every_column_of_the_file():
    named = [entry.name for entry in ENTRIES if entry.file == "judgements.csv"]

    assert named == [*LONG, *JUDGED_BY, *SAID_BY]


def test_a_level_a_quote_and_a_fault_come_back_as_they_were_given(wave):
    make_judging(
        wave, judges=1, configuration="cross", level=lambda response, judge: response.pk % 2 or None
    )

    rows = lines_of(wave)

    assert {(row["state"], row["level"], row["fault"]) for row in rows} == {
        ("answered", "1", ""),
        ("malformed", "", "not-json"),
    }
    assert {row["quote"] for row in rows} == {"", Response.objects.of_wave(wave).first().text[:33]}
