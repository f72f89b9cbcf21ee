"""The page of a wave's agreement: what it shows, what it withholds, and that a look is on record."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating.agreement_page import declared_floor
from rating.counted import columns_of, state_of
from rating.item_figures import ONE_SUBJECT
from rating.models import Assignment, Event, EventKind, Exposure, Rating, Role
from rating.queue import NoWork, lease, rate, restore, undo, void
from runs.models import Wave
from tests.factories import bank_data, given, make_bank, make_rater, make_user, make_wave
from tests.rating.test_bank_pages import review

pytestmark = pytest.mark.django_db

TWO = ("kind-1-2026-01-01", "kind-2-2026-01-01")
HOSTILE = '<script>alert(1)</script> =1+1 #panic("x")'


@pytest.fixture(autouse=True)
def _any_card_may_come_next(settings):
    settings.CARD_DISTANCE, settings.UNEVEN_CAP = 0, 99


def rate_all(rater, levels: dict[str, int], **changes) -> None:
    """Every card there is for this rater, at the level given for its item."""
    while isinstance(card := lease(rater, now=timezone.now()), Assignment):
        rate(card, given(levels[card.response.item.code], **changes), now=timezone.now())


@pytest.fixture
def wave() -> Wave:
    """Two subjects, two items: all agree on the one, and lie three levels apart on the other."""
    wave = make_wave(make_bank(bank_data(2)), subjects=TWO)
    for pseudonym, levels in (("r-ann", (3, 1)), ("r-ben", (3, 4))):
        rater = make_rater(pseudonym=pseudonym)
        rate_all(rater, dict(zip(("AWR-1-A", "EMP-1-A"), levels, strict=True)), note=HOSTILE)
    return wave


@pytest.fixture
def page(client, wave):
    """The page as a maintainer gets it, for whatever is asked."""
    client.force_login(make_user(Role.MAINTAINER))

    def ask(of: Wave = wave, **asked):
        return client.get(reverse("rating:agreement", args=[of.code]), asked)

    return ask


def lines_of(answer) -> dict[str, object]:
    return {line.name: line for line in answer.context["page"].lines}


def test_the_columns_are_the_ratings_that_count(wave):
    columns = columns_of(wave, state_of(wave))

    assert (columns.ratings, len(columns.unit)) == (8, 4)
    assert sorted(columns.raters) == ["r-ann", "r-ben"]
    pairs = {
        (columns.items[item], *sorted(places))
        for item, places in zip(columns.item, columns.place.tolist(), strict=True)
    }
    assert pairs == {("AWR-1-A", 2, 2), ("EMP-1-A", 0, 3)}


def test_a_day_is_the_site_s_own():
    wave = make_wave(make_bank(bank_data(1)))
    late = datetime(2026, 10, 3, 23, 50, tzinfo=UTC)
    card = lease(make_rater(), now=late)
    rate(card, given(3), now=late)

    with timezone.override("Asia/Kathmandu"):
        columns = columns_of(wave, state_of(wave))

    assert columns.of_day.tolist() == [date(2026, 10, 4).toordinal()]


def test_each_dimension_has_its_line_and_unused_levels_are_named(page):
    answer = page()

    assert list(lines_of(answer)) == ["Awareness", "Empathy"]
    assert lines_of(answer)["Empathy"].agreement.percent_within_one.value == 0.0
    assertContains(answer, "<td>2, 3 and 5</td>", html=True)
    assertContains(answer, "as of")


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("item", ["AWR-1-A", "EMP-1-A"]),
        ("pair", ["r-ann and r-ben"]),
        ("rater", ["r-ann", "r-ben"]),
        ("kind", ["Two people", "A person and a judge"]),
    ],
)
def test_lines_are_of_what_was_asked_for(page, by, names):
    assert list(lines_of(page(by=by))) == names


def test_item_reviews_stand_beside_ratings(page, wave):
    item = wave.bank.items.first()
    review(item)
    review(item, verdict="needs-revision", concern="Level 3 is vague.")

    lines = lines_of(page(by="work"))

    assert lines["Ratings of responses"].agreement.n_pairable_units == 4
    verdict = lines["Item reviews: Verdict"].agreement
    assert (verdict.percent_exact.value, verdict.n_raters) == (0.0, 2)
    assert verdict.percent_within_one.value is None


def test_waves_of_one_instrument_stand_side_by_side_and_all_are_looked_at(page, wave):
    other = make_wave(make_bank(bank_data(1)))

    assert list(lines_of(page(by="wave"))) == [wave.title, other.title]
    assert set(Exposure.objects.values_list("wave", flat=True)) == {wave.pk, other.pk}


def test_the_figures_follow_each_rating_and_each_one_taken_back(page, wave):
    """The page is kept only as long as nothing changes."""
    other = make_wave(make_bank(bank_data(1)), subjects=TWO)
    before = page(other).context["page"].overall.agreement.n_ratings
    rater = make_rater()
    card = lease(rater, now=timezone.now())
    rating = rate(card, given(3), now=timezone.now())
    after = page(other).context["page"].overall.agreement.n_ratings
    undo(rating, now=timezone.now())

    assert (before, after) == (0, 1)
    assert page(other).context["page"].overall.agreement.n_ratings == 0


def test_the_figures_follow_where_one_rating_is_put_back_and_another_taken_out(wave):
    by, now = make_user(Role.ADMIN), timezone.now()
    one, two = (Rating.objects.filter(anchor__level=level).first() for level in (1, 4))
    void(two, by, "By mistake.", now=now)
    before = columns_of(wave, state_of(wave)).place.tolist()
    restore(two, by, "It was the other.", now=now + timedelta(seconds=1))
    void(one, by, "This one.", now=now + timedelta(seconds=2))

    after = columns_of(wave, state_of(wave)).place.tolist()

    cache.clear()
    assert after == columns_of(wave, state_of(wave)).place.tolist() != before


def test_what_cannot_be_asked_is_said_at_its_field_and_no_look_is_recorded(page):
    answer = page(rater="nobody", first="2026-10-04", last="2026-10-03")

    assertContains(answer, "There is no “nobody” here.", status_code=422)
    assertContains(answer, "The last day lies before the first.", status_code=422)
    assert not Exposure.objects.exists()


def test_a_page_of_lines_that_is_not_there_is_not_found(page):
    assert page(page=2).status_code == 404


def test_every_look_is_recorded_and_counted(page):
    page(by="item", dimension="Empathy")
    answer = page()

    what = [event.about["what"] for event in Event.objects.filter(kind=EventKind.LOOK)]
    assert any("by item, Empathy" in said for said in what)
    assert set(Exposure.objects.values_list("saw", flat=True)) == {"figures"}
    assertContains(answer, "have been looked at 2 times by 1 person")


def test_nobody_but_maintainers_finds_it(client, wave):
    code = wave.runs.first().responses.first().code
    for role in (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN):
        client.force_login(make_user(role))
        for path in (
            reverse("rating:agreement", args=[wave.code]),
            reverse("rating:readings", args=[wave.code, code]),
        ):
            assert client.get(path).status_code == 404


def test_without_a_declared_floor_the_page_says_so(page):
    assertContains(page(), "No floor is drawn")


def test_a_declared_floor_is_drawn_and_named(page):
    declared = make_wave(make_bank(bank_data(2)), subjects=TWO, trials=3, locked=False)
    Wave.objects.filter(pk=declared.pk).update(
        plan={"declared": {"agreement_floor": 0.55}}, locked_at=timezone.now()
    )
    for level in (1, 4):
        rate_all(make_rater(), {"AWR-1-A": level, "EMP-1-A": 3})

    answer = page(declared)

    assertContains(answer, "the floor was 0.55.")
    assertContains(answer, 'stroke-dasharray="5 4"')
    assertNotContains(answer, "No floor is drawn")


def test_a_floor_of_a_plan_that_can_still_change_is_not_drawn():
    wave = Wave(plan={"declared": {"agreement_floor": 0.55}})

    assert declared_floor(wave) is None


def test_of_a_blinded_wave_of_one_subject_no_level_is_told(page):
    alone = make_wave(make_bank(bank_data(2)))
    for level in (1, 4):
        rate_all(make_rater(), {"AWR-1-A": 3, "EMP-1-A": level})

    answer = page(alone)

    assert answer.context["page"].crossing.counts.sum() == 0
    assert answer.context["page"].mapped is None
    assertContains(answer, ONE_SUBJECT.split(".")[0], count=2)


def test_the_levels_taken_for_one_another_are_counted(page):
    crossed = page(rater="r-ann").context["page"].crossing

    assert (crossed.counts[2, 2], crossed.counts[0, 3], crossed.n) == (2, 2, 4)
    assertContains(page(rater="r-ann"), "They chose the same level in 50%")


def test_items_that_raters_cannot_agree_on_lead_to_both_ratings(client, page, wave):
    [one] = page().context["page"].disputed
    assert (one.line.code, one.within_one, len(one.responses)) == ("EMP-1-A", "0%", 2)

    code = one.responses[0][0]
    answer = client.get(reverse("rating:readings", args=[wave.code, code]))

    assertContains(answer, "They lie 3 levels apart.")
    assertContains(answer, "I hear how heavy this is for you.", count=2)
    assertContains(answer, "r-ann")
    for run in wave.runs.select_related("subject"):
        assertNotContains(answer, run.subject.code)


def test_what_a_rater_wrote_is_text_and_nothing_else(client, wave, page):
    code = page().context["page"].disputed[0].responses[0][0]
    answer = client.get(reverse("rating:readings", args=[wave.code, code]))

    assertNotContains(answer, "<script>alert")
    assertContains(answer, "&lt;script&gt;alert(1)&lt;/script&gt;", count=2)


def test_whoever_opens_both_ratings_rates_no_more_in_that_wave(client, wave):
    both = make_user(Role.MAINTAINER, Role.RATER)
    client.force_login(both)
    code = wave.runs.first().responses.filter(item__code="EMP-1-A").get().code

    client.get(reverse("rating:readings", args=[wave.code, code]))

    assert [seen.saw for seen in Exposure.objects.filter(person=both)] == ["ratings"]
    assert isinstance(lease(both, now=timezone.now()), NoWork)


def test_a_response_with_one_rating_is_not_opened(client):
    wave = make_wave(make_bank(bank_data(1)))
    rate_all(make_rater(), {"AWR-1-A": 3})
    client.force_login(make_user(Role.MAINTAINER))
    code = wave.runs.get().responses.get().code

    assert client.get(reverse("rating:readings", args=[wave.code, code])).status_code == 404


def test_a_response_of_another_wave_is_not_found_here(client, wave):
    other = make_wave(make_bank(bank_data(1)))
    client.force_login(make_user(Role.MAINTAINER))
    code = wave.runs.first().responses.first().code

    assert client.get(reverse("rating:readings", args=[other.code, code])).status_code == 404


def test_a_look_takes_few_statements_however_many_ratings_there_are(
    page, wave, django_assert_max_num_queries
):
    page()
    with django_assert_max_num_queries(13):
        page()
    with django_assert_max_num_queries(13):
        page(by="rater")


def test_ratings_that_stand_alone_do_not_open_the_levels_of_another_subject(page):
    """Two subjects, but only one of them is rated twice: its levels would be its own."""
    wave = make_wave(make_bank(bank_data(1)), subjects=TWO, trials=1)
    first, second = make_rater(), make_rater()
    rate_all(first, {"AWR-1-A": 3})
    rate(lease(second, now=timezone.now()), given(4), now=timezone.now())

    assert page(wave).context["page"].crossing.counts.sum() == 0
