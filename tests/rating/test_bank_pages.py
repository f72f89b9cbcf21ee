"""Where a bank stands and what an item's page says, for those who may know."""

import json
import re
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains

from rating import item_figures
from rating.item_figures import ONE_SUBJECT, Ratings
from rating.models import Exposure, ItemReview, Role
from rating.queue import rate, void
from rating.reviews import Standing, standings
from runs.bank import check_bank
from tests.factories import (
    bank_data as new_bank,
)
from tests.factories import (
    given,
    item_data,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)
from tests.rating.test_becoming import FORBIDDEN

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).parents[2] / "fixtures"
TWO = ("kind-1-2026-01-01", "kind-2-2026-01-01")


def review(item, who=None, verdict="validated", **changes):
    """A review as somebody sends it, in the first place that is free."""
    live = ItemReview.objects.live().filter(content_hash=item.content_hash)
    fields = {
        "number": live.count() + 1,
        "content_hash": item.content_hash,
        "item": item,
        "reviewer": who or make_user(Role.ITEM_REVIEWER),
        "applicable": True,
        "discriminating": verdict == "validated",
        "monotonic": True,
        "on_construct": True,
        "safe_and_accurate": True,
        "verdict": verdict,
        "concern": "" if verdict == "validated" else "Two levels read alike.",
        "minutes": 6,
        **changes,
    }
    return ItemReview.objects.create(**fields)


def item_url(item) -> str:
    return reverse("rating:item", args=[item.bank_id, item.code])


def rate_all(bank, levels, *, subjects=TWO):
    """Both ratings of each response of a one-item bank, the levels in turn."""
    wave = make_wave(bank, subjects=subjects, trials=1)
    first, second = make_rater(), make_rater()
    for one, other in levels:
        rated(first, one)
        rated(second, other)
    return wave


@pytest.fixture
def admin(client):
    admin = make_user(Role.ADMIN)
    client.force_login(admin)
    return admin


@pytest.fixture(autouse=True)
def _any_order(settings):
    settings.CARD_DISTANCE = 0


# Who may come in


@pytest.mark.parametrize("role", [Role.RATER, Role.ADJUDICATOR, Role.ITEM_REVIEWER])
def test_for_others_there_are_no_such_pages(client, role):
    bank = make_bank()
    client.force_login(make_user(role))

    for url in (
        reverse("rating:bank"),
        reverse("rating:bank_of", args=[bank.pk]),
        item_url(bank.items.first()),
        reverse("rating:draft_version", args=[bank.pk]),
        reverse("rating:draft_item", args=[bank.pk, bank.items.first().code]),
    ):
        assert client.get(url).status_code == 404
    assert reverse("rating:bank") not in client.get(reverse("home")).content.decode()


def test_a_maintainer_reads_and_drafts_nothing(client):
    bank = make_bank()
    client.force_login(make_user(Role.MAINTAINER))

    assertContains(client.get(reverse("home")), reverse("rating:bank"))
    assertNotContains(client.get(item_url(bank.items.first())), "Draft a change")
    assert client.get(reverse("rating:draft_version", args=[bank.pk])).status_code == 404


def test_a_reviewer_sees_an_item_once_their_review_is_sent(client):
    data = new_bank(2)
    data["items"][0]["sourceOnlyFields"] = {"title": "A worried evening"}
    bank = make_bank(data)
    first, second = bank.items.all()
    reviewer = make_user(Role.ITEM_REVIEWER)
    client.force_login(reviewer)
    assert client.get(item_url(first)).status_code == 404
    other = make_user(Role.ITEM_REVIEWER)
    review(first, other, "needs-revision", concern="Level 3 is vague.")

    review(first, reviewer)

    page = client.get(item_url(first))
    assertContains(page, "A worried evening")
    assertContains(page, "Level 3 is vague.")
    assertContains(page, other.pseudonym)
    assertNotContains(page, other.name)
    assert client.get(item_url(second)).status_code == 404


def test_what_a_reviewer_sees_names_nothing_that_is_hidden(client):
    bank = make_bank(pair_bank_data(1))
    wave = make_wave(bank, subjects=TWO)
    item = bank.items.first()
    for _ in range(2):
        rated(make_rater())
    reviewer = make_user(Role.ITEM_REVIEWER)
    review(item, reviewer)
    client.force_login(reviewer)

    page = client.get(item_url(item))

    said = re.sub(r"/bank/[^\"]*", "", page.content.decode())  # the address they asked for
    assert FORBIDDEN.findall(said) == []
    assert item.code not in said
    assert wave.title not in said
    assert "What ratings say" not in said
    assert not Exposure.objects.exists()


def test_a_review_of_earlier_words_opens_no_later_ones(client):
    data = new_bank(1)
    bank = make_bank(data)
    reviewer = make_user(Role.ITEM_REVIEWER)
    review(bank.items.get(), reviewer)
    data["meta"]["bankVersion"] = "later"
    data["items"][0]["anchors"][2]["description"] += "."
    later = make_bank(data)
    client.force_login(reviewer)

    assert client.get(item_url(later.items.get())).status_code == 404


# The banks


def test_each_version_is_counted_from_its_items(client, admin):
    data = new_bank(6)
    data["items"][0] |= {
        "validationStatus": "draft",
        "reviewRequired": "All of it.",
        "author": "Somebody",
    }
    data["items"][1] |= {"sensitivity": "high", "topic": "loss"}
    bank = make_bank(data)
    for _ in range(2):
        review(bank.items.get(code=data["items"][2]["id"]))

    page = client.get(reverse("rating:bank"))

    cells = re.findall(r'<td class="number">(\d+)</td>', page.content.decode())
    assert cells == ["6", "5", "4", "1", "1", "0", "0"]
    assertContains(page, "1 of 5, 20%")


@pytest.mark.parametrize("name", ["demo_bank.json", "unconditionality.json"])
def test_a_stored_bank_is_written_with_the_hashes_it_has(name):
    bank = make_bank(json.loads((FIXTURES / name).read_text()))

    file = check_bank(bank.as_data())

    assert [item.content_hash for item in file.items] == list(
        bank.items.values_list("content_hash", flat=True)
    )
    assert [(pair.code, pair.a, pair.b) for pair in file.pairs] == list(
        bank.pairs.order_by("pk").values_list("code", "arm_a__code", "arm_b__code")
    )
    assert (file.name, file.version) == (bank.name, bank.version)


def test_the_map_shows_what_is_empty_and_what_stands_where(client, admin):
    bank = make_bank(new_bank(2))
    first = bank.items.first()
    review(first)

    page = client.get(reverse("rating:bank_of", args=[bank.pk]))

    assertContains(page, "0 of 40 cells have two validated items.")
    assertContains(page, "1 item: 1 single review", count=1)
    assertContains(page, ">empty</td>", count=38)
    assertContains(page, "3 reviews are still needed, for 2 items.")


def test_the_list_is_filtered_by_status(client, admin):
    bank = make_bank(new_bank(3))
    review(bank.items.first())
    url = reverse("rating:bank_of", args=[bank.pk])

    def codes(status):
        return [item.code for item in client.get(url, {"status": status}).context["shown"]]

    assert codes("single review") == [bank.items.first().code]
    assert len(codes("unvalidated")) == 2
    assert codes("validated") == []
    assert len(codes("nonsense")) == 3


def test_who_reviews_next_is_told_by_code_name(client, admin):
    bank = make_bank(new_bank(3))
    reviewer = make_user(Role.ITEM_REVIEWER)
    review(bank.items.first(), reviewer)
    author = make_user(Role.ITEM_REVIEWER)
    author.conflicts.create(item_code=bank.items.last().code)

    page = client.get(reverse("rating:bank_of", args=[bank.pk]))

    people = {one.pseudonym: (one.sent, one.open) for one in page.context["page"].work.people}
    assert people == {
        admin.pseudonym: (0, 3),
        reviewer.pseudonym: (1, 2),
        author.pseudonym: (0, 2),
    }
    assertNotContains(page, reviewer.name)


def questions(client, url) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert client.get(url).status_code == 200
    return len(asked)


def test_a_large_bank_takes_as_many_questions_as_a_small_one(client, admin):
    small, large = make_bank(new_bank(4)), make_bank(new_bank(93))
    pairs, more_pairs = make_bank(pair_bank_data(2)), make_bank(pair_bank_data(80))
    for bank in (large, more_pairs):
        for item in bank.items.all()[:20]:
            review(item)
    make_wave(large)
    for rater in (make_rater(), make_rater()):
        for _ in range(3):
            rated(rater)
    for page in ("bank_of", "item", "draft_item"):
        asked = []
        for bank in (small, large, pairs, more_pairs):
            args = [bank.pk] if page == "bank_of" else [bank.pk, bank.items.first().code]
            cache.clear()
            asked.append(questions(client, reverse(f"rating:{page}", args=args)))
        assert abs(asked[0] - asked[1]) <= 2, (page, asked)  # waves, and the record of the look
        assert asked[2] == asked[3], (page, asked)
        assert max(asked) <= 32, (page, asked)
    assert questions(client, reverse("rating:bank")) <= 12


# One item


def test_both_versions_stand_side_by_side(client, admin):
    bank = make_bank(pair_bank_data(1))

    page = client.get(item_url(bank.items.last()))

    assertContains(page, "Version A")
    assertContains(page, "I am A and lonely, 0 days now.")
    assertContains(page, "I am B and lonely, 0 days now.")
    assertContains(page, "Moral Status")


def test_all_that_the_file_says_for_people_is_there(client, admin):
    data = new_bank(0)
    turns = [
        {"role": "user", "content": "Before <b>"},
        {"role": "assistant", "content": "An answer"},
    ]
    data["items"] = [
        item_data(
            0,
            turns=turns,
            author="Compassion team, drafted with a language model's help",
            dates={"authored": "2026-11-30"},
            culturalAccessibilityNotes="Plain words.",
            sourceOnlyFields={"title": "A title", "whatToObserve": "Who is met first."},
        )
    ]
    bank = make_bank(data)

    page = client.get(item_url(bank.items.get()))

    for said in (
        "Before &lt;b&gt;",
        "An answer",
        "drafted with a language model&#x27;s help",
        "2026-11-30",
        "Plain words.",
        "Who is met first.",
        "Level 4 of 0.",
    ):
        assertContains(page, said)


def test_an_item_that_does_not_exist_is_not_found(client, admin):
    assert client.get(reverse("rating:item", args=[make_bank().pk, "NO-1-A"])).status_code == 404


def test_a_code_with_a_slash_has_a_page_too(client, admin):
    data = new_bank(1)
    data["items"][0]["id"] = "AWR/1 ä?"
    bank = make_bank(data)

    assert client.get(item_url(bank.items.get())).status_code == 200
    assert client.get(reverse("rating:draft_item", args=[bank.pk, "AWR/1 ä?"])).status_code == 200


# What ratings say


def test_the_figures_of_an_item_are_pooled_and_the_look_is_on_record(client, admin):
    bank = make_bank(new_bank(1))
    wave = rate_all(bank, [(2, 3), (5, 5)])

    page = client.get(item_url(bank.items.get()))

    figures = page.context["figures"]
    assert (figures.responses, figures.subjects) == (2, 2)
    assert figures.mean.value == pytest.approx(3.75)
    assert figures.exact.value == 0.5
    assert figures.within_one.value == 1
    assert figures.unused == (1, 4)
    assertContains(page, "Unused: 1, 4.")
    assertContains(page, "no wave of this item is unblinded")
    for snapshot in TWO:
        assertNotContains(page, snapshot)
    assert [(one.wave, one.saw) for one in admin.exposures.all()] == [(wave, "figures")]


def test_nothing_is_put_on_record_where_nothing_is_shown(client, admin):
    bank = make_bank(new_bank(1))

    assertContains(client.get(item_url(bank.items.get())), "has two ratings yet")

    assert not Exposure.objects.exists()


def test_a_figure_that_would_be_one_subjects_waits_for_unblinding(client, admin, monkeypatch):
    bank = make_bank(new_bank(1))
    rate_all(bank, [(5, 5)], subjects=TWO[:1])
    item = bank.items.get()

    page = client.get(item_url(item))

    figures = page.context["figures"]
    assert figures.mean.value is figures.spread.value is None
    assert (figures.mean.reason, figures.use, figures.exact.value) == (ONE_SUBJECT, (), 1)
    assertNotContains(page, "5.00")
    assert page.context["chart"] == ""
    assertNotContains(client.get(reverse("rating:bank_of", args=[bank.pk])), "<circle")
    monkeypatch.setattr(item_figures, "is_unblinded", lambda wave: True)
    assert client.get(item_url(item)).context["figures"].mean.value == 5


def test_only_standing_counted_ratings_enter(client, admin):
    bank = make_bank(new_bank(1))
    wave = rate_all(bank, [(2, 3), (5, 5)])
    rating = wave.runs.first().responses.get().ratings.first()

    void(rating, admin, "by mistake", now=timezone.now())

    figures = client.get(item_url(bank.items.get())).context["figures"]
    assert (figures.responses, figures.half_rated) == (1, 1)


def test_ratings_follow_the_content_of_an_item_into_the_next_version(client, admin):
    data = new_bank(1)
    rate_all(make_bank(data), [(2, 3), (5, 5)])
    data["meta"]["bankVersion"] = "later"
    later = make_bank(data)

    assert client.get(item_url(later.items.get())).context["figures"].responses == 2


def test_discrimination_needs_unblinded_subjects_and_enough_of_them(monkeypatch):
    subjects = [f"kind-{n}-2026-01-01" for n in range(6)]
    data = new_bank(0)
    data["items"] = [item_data(0), item_data(8)]  # both in one dimension
    bank = make_bank(data)
    wave = make_wave(bank, subjects=subjects)
    first, second = make_rater(), make_rater()
    level = {run.pk: 1 + place % 5 for place, run in enumerate(wave.runs.order_by("pk"))}
    for rater in (first, second):
        for _ in range(12):
            card = leased(rater)
            rate(card, given(level[card.response.run_id]), now=timezone.now())
    one, other = bank.items.all()
    monkeypatch.setattr(item_figures, "is_unblinded", lambda wave: True)

    figures = Ratings({one.content_hash, other.content_hash}).figures(
        one.content_hash, bank.levels, [other.content_hash]
    )

    assert figures.discrimination.value == pytest.approx(1)
    alone = Ratings({one.content_hash}).figures(one.content_hash, bank.levels)
    assert "No other item" in alone.discrimination.reason


def test_the_picture_of_items_has_a_table_with_the_same_numbers(client, admin):
    bank = make_bank(new_bank(1))
    rate_all(bank, [(1, 3), (5, 5)])

    page = client.get(reverse("rating:bank_of", args=[bank.pk]))

    assertContains(page, "1 item is outside the declared limits.")
    assertContains(page, "<circle", count=2)  # at both widths
    assertContains(page, "3.50 (95% interval 1.00 to 5.00)")
    assertContains(page, "50% (95% interval")
    assert Exposure.objects.filter(person=admin, saw="figures").count() == 1


def test_a_status_is_derived_from_two_people():
    item = make_bank(new_bank(1)).items.get()

    def status():
        return standings([item.content_hash])[item.content_hash]

    assert status() == Standing.UNVALIDATED
    review(item)
    assert status() == Standing.SINGLE
    review(item)
    assert status() == Standing.VALIDATED
