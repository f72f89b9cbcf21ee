"""Raters among each other, and what more work would buy: the figures, the picture, the page."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from hypothesis import given as each
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django.asserts import assertContains, assertNotContains

from rating.charts import NARROW, WIDE
from rating.models import Assignment, Exposure, Quote, Rating, Role, Saw, Slot, User
from rating.queue import lease, rate, restore, void
from rating.severity import PoolEffects, Rated, _rated, effects_by_instrument, pool_effects
from rating.severity_chart import severity_chart
from rating.stats.agreement import generator
from runs.models import Instrument, Response, Wave
from tests.factories import (
    bank_data,
    given,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
)

START = datetime(2026, 9, 1, 12, tzinfo=UTC)
SCALE = (1, 2, 3, 4, 5)
AWAY = {"ann": 0, "bob": 0, "cat": 0, "dan": -1}  # dan is one level more severe


def rated(seed="pool", *, names=AWAY, items=10, trials=2, groups=3) -> list[Rated]:
    """Two of the raters on each response, whose levels lie around that of its item."""
    random = generator(seed)
    rows, response = [], 0
    for group in range(groups):
        for item in range(items):
            usual = random.integers(2, 5)
            for _ in range(trials):
                response += 1
                own = usual + random.integers(-1, 2)
                for name in random.permutation(sorted(names))[:2].tolist():
                    level = int(min(5, max(1, own + names[name] + random.integers(-1, 2))))
                    at = START + timedelta(hours=5 * response)
                    rows.append(Rated(f"g{group}", item, response, name, level, at))
    return rows


# The figures


def test_a_rater_one_level_lower_than_the_others_has_a_severity_below_0():
    found = pool_effects("Model Index", rated(), SCALE)

    severities = {one.pseudonym: one.severity for one in found.raters}
    assert list(severities) == ["ann", "bob", "cat", "dan"]
    # One level below three others is .75 below the mean of four, and less at the scale's ends.
    assert severities["dan"].value == pytest.approx(-0.65, abs=0.3)
    assert severities["dan"].high < 0
    assert sum(one.value for one in severities.values()) == pytest.approx(0, abs=1e-6)
    # In logits the sign turns round, as such models have it.
    assert next(one for one in found.raters if one.pseudonym == "dan").logits.startswith("+")


def test_the_plain_mean_beside_partners_says_the_same():
    found = pool_effects("Model Index", rated(), SCALE)

    assert found.raters[3].beside.value == pytest.approx(-0.85, abs=0.3)
    assert found.raters[3].beside.n == sum(one.rater == "dan" for one in rated())


def test_the_sentence_counts_those_whose_interval_leaves_out_0():
    found = pool_effects("Model Index", rated(), SCALE)

    assert found.sentence == (
        f"{found.apart} of 4 raters {'differs' if found.apart == 1 else 'differ'} from the mean of "
        f"all by more than chance gives 1 rater in 20."
    )
    assert found.apart >= 1


def test_raters_who_share_no_response_are_named_in_groups_and_none_has_a_severity():
    apart = [
        *rated("one", names={"ann": 0, "bob": 0}),
        *(
            Rated(one.group, one.item, one.response + 1000, one.rater, one.level, one.at)
            for one in rated("two", names={"cat": 0, "dan": 0})
        ),
    ]

    found = pool_effects("Model Index", apart, SCALE)

    assert (found.known, len(found.raters)) == (0, 4)
    assert "ann, bob; cat, dan" in found.reason
    assert found.raters[0].severity.in_words.startswith("This number cannot be given. Raters fall")
    # What holds within the groups stays.
    assert found.raters[0].beside.value is not None


def test_the_choices_begin_with_the_work_as_it_was():
    found = pool_effects("Model Index", rated(), SCALE)

    (words, now), *more = found.choices
    assert words == "As it is"
    assert (now.plan.items, now.plan.trials, now.plan.ratings, now.plan.raters) == (10, 2, 2, 4)
    assert all(one.error < now.error for _, one in more)


def test_one_trial_of_each_item_leaves_the_choices_open_and_says_why():
    found = pool_effects("Model Index", rated(trials=1), SCALE)

    assert found.known == 4
    assert found.choices == ()
    assert "No item has two trials" in found.no_choices


def test_no_ratings_are_a_reason_everywhere():
    found = pool_effects("Model Index", [], SCALE)

    assert found.reason == found.no_choices == "There are no ratings."


@hypothesis_settings(max_examples=5, deadline=None)
@each(seed=st.integers(0, 99))
def test_the_order_in_which_ratings_are_read_changes_nothing(seed):
    rows = rated(items=5)
    mixed = [rows[place] for place in generator(str(seed)).permutation(len(rows))]

    assert repr(pool_effects("x", mixed, SCALE)) == repr(pool_effects("x", rows, SCALE))


# The picture


def parts(picture: str, tag: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(picture).iter() if one.tag.endswith(tag)]


@pytest.fixture(scope="module")
def pool() -> PoolEffects:
    everybody = [*rated(), Rated("g0", 0, 1, "eve", 1, START), Rated("g0", 0, 2, "eve", 1, START)]
    return pool_effects("Model Index", everybody, SCALE)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_picture_is_one_image_with_a_name_a_description_and_every_rater(pool, width):
    picture = severity_chart(pool, width=width)

    root = ElementTree.fromstring(picture)
    assert (root.get("role"), root.get("width")) == ("img", str(width))
    [title], [description] = parts(picture, "title"), parts(picture, "desc")
    assert title.text == pool.sentence
    assert "below 0 is more severe" in description.text
    assert "Rows without a number, with the reason in its place: 1." in description.text
    words = [one.text for one in parts(picture, "text")]
    assert [word for word in words if word in ("ann", "bob", "cat", "dan", "eve")] == [
        "ann", "bob", "cat", "dan", "eve",
    ]  # fmt: skip
    assert any("No number." in word for word in words)
    assert "style=" not in picture


def test_the_point_of_the_more_severe_rater_lies_left_of_the_line_at_0(pool):
    picture = severity_chart(pool)

    points = [
        one.get("transform") for one in parts(picture, "path") if "chart-1" in one.get("fill", "")
    ]
    across = [float(re.search(r"translate\(([\d.]+)", one)[1]) for one in points]
    middle = (130 + WIDE - 12) / 2
    assert len(across) == 4
    assert across[3] < middle
    assert across[3] == min(across)


# The page


@pytest.fixture
def maintainer(client, db):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


@pytest.fixture
def raters(db):
    """Three people, two of whom rated each response yesterday; the last gives one level less."""
    return rate_all(make_wave(make_bank(bank_data(16)), trials=2))


def rate_all(wave: Wave) -> list[User]:
    people = [make_rater() for _ in range(3)]
    at = timezone.now() - timedelta(days=1)
    slots = Slot.objects.filter(wave=wave).select_related("response__item")
    cards, ratings = [], []
    for place, slot in enumerate(slots.order_by("response", "number")):
        item, number = slot.response.item, (place // 2 + place % 2 * (1 + place // 2 % 2)) % 3
        usual = 3 + item.position % 3 // 2
        level = usual + (5 * place + 2 * number) % 7 // 4 - (number == 2)
        card = Assignment(
            slot=slot,
            response=slot.response,
            rater=people[number],
            leased_at=at,
            expires_at=at,
            ended_at=at,
            ordinal=place + 1,
            outcome="rated",
        )
        cards.append(card)
        ratings.append(
            Rating(
                response=slot.response,
                rater=people[number],
                assignment=card,
                anchor=item.anchors.get(level=level),
                kind="counted",
                slot=slot.number,
                rated_at=at,
            )
        )
    Assignment.objects.bulk_create(cards)
    with transaction.atomic():
        Quote.objects.bulk_create(Quote(rating_id=one.pk, start=0, end=24) for one in ratings)
        Rating.objects.bulk_create(ratings)
    return people


def test_the_page_shows_severities_by_code_name_and_what_more_would_buy(client, maintainer, raters):
    page = client.get(reverse("rating:effects"))

    assertContains(page, "Raters among each other")
    assertContains(page, "What would one more rater, trial or item buy?")
    assertContains(page, "the mean of all raters is not the truth")
    for rater in raters:
        assertContains(page, rater.pseudonym)
        assertNotContains(page, rater.email)
    [found] = effects_by_instrument(now=timezone.now())
    assertContains(page, found.sentence)
    assertContains(page, found.raters[0].severity.in_words)


def test_of_too_many_ratings_the_responses_with_the_lowest_codes_are_taken(
    pool, raters, monkeypatch
):
    [whole] = effects_by_instrument(now=timezone.now())
    cache.clear()
    monkeypatch.setattr("rating.severity.MOST", whole.n_ratings // 2)

    [drawn] = effects_by_instrument(now=timezone.now())
    shown = {"effects": replace(pool, drawn_from=1_000_000), "charts": ("", "")}
    page = render_to_string("rating/_severity.html", {"pool": shown, "slug": "one"})

    limit = UUID(int=(whole.n_ratings // 2) * 2**128 // whole.n_ratings)
    below = Rating.objects.counted().filter(response__code__lt=limit)
    assert drawn.n_ratings == below.count()
    assert 0 < drawn.n_ratings < whole.n_ratings == drawn.drawn_from
    assert drawn.n_responses == below.values("response").distinct().count()
    assert "drawn from 1,000,000 ratings by the random codes of their responses" in page
    assert whole.drawn_from is None


def test_the_figures_follow_where_one_rating_is_put_back_and_another_taken_out(pool, raters):
    by, now = make_user(Role.ADMIN), timezone.now()
    one, two = Rating.objects.counted().order_by("rated_at")[:2]
    void(two, by, "By mistake.", now=now)
    effects_by_instrument(now=now)
    restore(two, by, "It was the other.", now=now + timedelta(seconds=1))
    void(one, by, "This one.", now=now + timedelta(seconds=2))

    kept = effects_by_instrument(now=now)

    cache.clear()
    assert kept == effects_by_instrument(now=now)


def test_the_page_names_no_subject_item_or_response(client, maintainer, raters):
    page = client.get(reverse("rating:effects"))

    for response in Response.objects.select_related("run__subject", "item"):
        assertNotContains(page, response.run.subject.snapshot)
        assertNotContains(page, response.run.subject.code)
        assertNotContains(page, str(response.code))
        assertNotContains(page, response.item.code)


def test_each_arm_of_a_chamber_has_a_mean_of_its_own(db):
    wave = make_wave(make_bank(pair_bank_data(3)), trials=2)
    rate_all(wave)
    tomorrow = timezone.now() + timedelta(days=1)

    [found] = effects_by_instrument(now=tomorrow)
    rows = _rated(Instrument.UNCONDITIONALITY, tomorrow, total=0)

    run = wave.runs.get().pk
    assert {row.group for row in rows} == {f"{run} 1 A", f"{run} 1 B"}
    assert (found.instrument, found.plan.items, found.plan.trials) == ("Unconditionality", 3, 2)
    assert found.unused == (0, 1)


def test_what_was_rated_today_is_not_in_it_yet(client, maintainer, db, settings):
    settings.CARD_DISTANCE = 0
    make_wave()
    rater = make_rater()
    rate(lease(rater, now=timezone.now()), given(), now=timezone.now())

    assert effects_by_instrument(now=timezone.now()) == []
    assertContains(client.get(reverse("rating:effects")), "No counted ratings from before today.")


def test_who_has_seen_the_figures_of_a_wave_is_put_on_record(client, maintainer, raters):
    client.get(reverse("rating:effects"))

    [seen] = Exposure.objects.filter(person=maintainer, saw=Saw.FIGURES)
    assert seen.wave is not None


def test_unchanged_ratings_are_counted_once(client, maintainer, raters, django_assert_num_queries):
    effects_by_instrument(now=timezone.now())
    ask = partial(effects_by_instrument, now=timezone.now())

    with django_assert_num_queries(3):  # is there any, of either instrument; has it changed
        ask()
