"""Severity and drift of each rater, for those who look after them: to help, not to rank."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating.charts import NARROW, WIDE
from rating.effects import Effects, effect_of, rater_effects
from rating.effects_chart import effects_chart
from rating.models import Event, Kind, Role
from rating.queue import hand, pause, rate
from rating.standing import Reading, standing_of
from tests.factories import given, make_rater, make_seeds, make_user

START = datetime(2026, 9, 1, 12, tzinfo=UTC)


def readings(*away: int, days_apart: float = 1) -> list[Reading]:
    return [
        Reading(3 + one, 3, 1, START + timedelta(days=days_apart * place))
        for place, one in enumerate(away)
    ]


def effects(**raters: list[Reading]) -> Effects:
    return Effects(tuple(effect_of(name, given, []) for name, given in sorted(raters.items())), 0.5)


# The figures


def test_a_rater_who_is_one_level_low_half_of_the_time_has_a_severity_of_minus_a_half():
    [rater] = effects(kind=readings(*[0, -1] * 10)).raters

    assert rater.severity.value == pytest.approx(-0.5)
    # Student's t for 19 degrees of freedom is 2.093; the deviation is .5130, over the root of 20.
    assert rater.severity.low == pytest.approx(-0.5 - 2.093 * 0.5130 / 20**0.5, abs=1e-3)
    assert (rater.within.count, rater.within.n) == (20, 20)


def test_the_sentence_counts_those_beyond_the_tolerance_and_names_it():
    found = effects(a=readings(*[0, -1] * 5), b=readings(*[-1, -2] * 5), c=readings(0, 0))

    assert (found.known, found.beyond) == (2, 1)
    assert found.sentence == (
        "1 of 2 raters differ from the agreed level, on average, by more than 0.5 levels."
    )
    assert effects(c=readings(0)).sentence == "No rater has a severity yet."


def test_figures_come_in_blocks_and_the_rest_waits():
    [rater] = effects(a=readings(*[0, 1] * 9)).raters

    assert rater.within.n == 10
    assert sum(day.n for day in rater.days) == 10


def test_a_day_has_the_mean_of_what_was_rated_on_it():
    [rater] = effects(a=readings(1, 1, -1, 0, 0, 0, 0, 0, 0, 0, days_apart=0.25)).raters

    # Noon, evening and midnight: two readings fall on the first day.
    assert [(day.mean, day.n) for day in rater.days][:2] == [(1.0, 2), (-0.25, 4)]


# The picture


def parts(picture: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(picture).iter() if one.tag.endswith(tag)]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_picture_is_one_image_with_a_name_and_a_description(width):
    found = effects(a=readings(*[0, -1] * 10), b=readings(*[-1, -2] * 10), c=readings(0))

    picture = effects_chart(found, width=width)

    root = ElementTree.fromstring(picture)
    assert (root.get("role"), root.get("width")) == ("img", str(width))
    [title], [description] = parts(picture, "title"), parts(picture, "desc")
    assert title.text == found.sentence
    assert "from A to Z" in description.text
    assert "tolerance of 0.5 levels" in description.text
    assert "Rows without a number, with the reason in its place: 1." in description.text
    assert "style=" not in picture


def test_raters_stand_from_a_to_z_and_one_without_a_number_keeps_its_row_and_reason():
    found = effects(b=readings(*[-2, -2, -1] * 10), a=readings(*[0, 1] * 5), c=readings(0))

    picture = effects_chart(found)

    words = [one.text for one in parts(picture, "text")]
    names = [word for word in words if word in ("a", "b", "c")]
    assert names == ["a", "b", "c"]
    assert any("No number." in word for word in words)


def test_nobody_has_a_colour_of_their_own_wherever_they_stand():
    found = effects(a=readings(*[0, 1] * 5), b=readings(*[-2, -2, -1] * 10))
    tokens = {"var(--ink)", "var(--soft)", "var(--grid)", "var(--band)", "var(--chart-1)"}

    picture = effects_chart(found)

    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', picture)) - {"none", "transparent"}
    assert used == tokens
    points = [one for one in parts(picture, "path") if one.get("fill") == "var(--chart-1)"]
    assert len({one.get("fill") for one in points}) == 1


def test_the_band_is_as_wide_as_the_tolerance():
    given_all = readings(*[0, 1] * 5)

    def widths(tolerance: float) -> float:
        found = Effects((effect_of("a", given_all, []),), tolerance)
        picture = effects_chart(found)
        bands = [one for one in parts(picture, "path") if one.get("fill") == "var(--band)"]
        across = re.findall(r"[hH]\s*(-?[\d.]+)", bands[0].get("d"))
        return max(abs(float(one)) for one in across)

    assert widths(0.5) == pytest.approx(2 * widths(0.25))


def test_a_longer_scale_is_shown_whole():
    found = effects(a=readings(*[-3, -2] * 10))

    words = [one.text for one in parts(effects_chart(found), "text")]

    assert {"−3", "0", "+3"} <= set(words)


# The page


@pytest.fixture
def maintainer(client, db):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


def rate_seeds(rater, seeds, level=3, *, days_ago=1.0, apart=0.0):
    for place, seed in enumerate(seeds):
        at = timezone.now() - timedelta(days=days_ago + apart * place)
        rate(hand(rater, seed.response, Kind.SEED, now=at), given(level), now=at)


def test_the_page_gives_each_rater_the_figures_they_see_themselves(client, maintainer):
    seeds = make_seeds(12)
    rater, idle = make_rater(), make_rater()
    rate_seeds(rater, seeds[:6], 2)
    rate_seeds(rater, seeds[6:], 3, days_ago=2)

    found = {one.pseudonym: one for one in rater_effects(now=timezone.now()).raters}

    own = standing_of(rater, now=timezone.now())
    mine = found[rater.pseudonym]
    assert (mine.within, mine.severity, mine.drift, mine.same) == (
        own.within, own.severity, own.drift, own.same,
    )  # fmt: skip
    assert mine.within.n == 10
    page = client.get(reverse("rating:effects"))
    assertContains(page, mine.severity.in_words)
    assertContains(page, "This number cannot be given. It takes at least 10 agreed responses")
    assertContains(page, "may lie up to 0.5 levels from 0")
    assertContains(page, "To help, not to rank.")
    assertContains(page, idle.pseudonym)
    assertNotContains(page, rater.email)
    assertNotContains(page, rater.name)
    assert list(found) == sorted(found)


def test_what_was_rated_today_waits_until_tomorrow(client, maintainer):
    seeds = make_seeds(10)
    rater = make_rater()
    rate_seeds(rater, seeds, days_ago=0.0)

    [mine] = [o for o in rater_effects(now=timezone.now()).raters if o.pseudonym == rater.pseudonym]
    assert mine.within.n == 0
    assertContains(client.get(reverse("rating:effects")), "No rater has a severity yet.")
    tomorrow = timezone.now() + timedelta(days=1)
    assert rater_effects(now=tomorrow).known == 1


def test_pauses_stand_with_their_reason_and_nothing_can_be_sorted(client, maintainer):
    rater = make_rater()
    pause(rater, maintainer, "Let us read some together.", "They stay.", now=timezone.now())

    page = client.get(reverse("rating:effects"))

    assertContains(page, "Let us read some together.")
    assertNotContains(page, "aria-sort")
    assertNotContains(page, "?sort")


def test_the_tolerance_is_a_setting(client, maintainer, settings):
    settings.SEVERITY_TOLERANCE = 0.25

    assertContains(client.get(reverse("rating:effects")), "may lie up to 0.25 levels from 0")


def test_who_looks_is_put_on_record(client, maintainer):
    client.get(reverse("rating:effects"))

    event = Event.objects.get(kind="look")
    assert (event.actor, event.about["what"]) == (maintainer, "severity and drift")


def test_it_asks_one_query_for_each_kind_of_figure_however_many_raters(
    django_assert_num_queries, db
):
    seeds = make_seeds(2)
    for _ in range(4):
        rate_seeds(make_rater(), seeds)
    rated_before = make_rater()
    assert rated_before

    with django_assert_num_queries(4):  # agreed responses, repeats, pauses, people
        rater_effects(now=timezone.now())


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.ADMIN])
def test_only_maintainers_see_it(client, db, role):
    client.force_login(make_user(role))

    assert client.get(reverse("rating:effects")).status_code == 404
