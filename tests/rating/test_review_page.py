"""The pages of those who review items, and of those who look after the bank."""

import copy
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.models import CRITERIA, Conflict, Event, ItemReview, ReviewHold, Role, User
from rating.review_agreement import agreement
from rating.reviews import Given, ReviewWork, lease, send
from runs.models import Item
from runs.taxonomy import DEFINITIONS, DIMENSIONS
from tests.factories import bank_data, make_bank, make_rater, make_user, make_wave, pair_bank_data

pytestmark = pytest.mark.django_db

QUEUE = "rating:review_queue"
COMPLETE = {
    **dict.fromkeys(CRITERIA, "yes"),
    "verdict": "validated",
    "concern": "",
    "minutes": "12",
    "do": "send",
}


@pytest.fixture
def reviewer(client) -> User:
    person = make_user(Role.ITEM_REVIEWER)
    client.force_login(person)
    return person


def page_of(client) -> str:
    """The path of the next item's page."""
    answer = client.post(reverse("rating:review_next"))
    assert answer.status_code == 303, answer.content.decode()
    return answer.url


def another_review(verdict: str = "validated") -> ItemReview:
    """A review of the next item by somebody else."""
    hold = lease(make_user(Role.ITEM_REVIEWER), now=timezone.now())
    assert isinstance(hold, ReviewHold)
    met = dict.fromkeys(CRITERIA, verdict == "validated")
    given = Given(met, verdict, "" if verdict == "validated" else "It asks for two things.", 10)
    return send(hold, given, now=timezone.now())


def test_others_find_no_such_page(client):
    make_bank()
    for role in (Role.RATER, Role.ADJUDICATOR, Role.MAINTAINER):
        client.force_login(make_user(role))
        assert client.get(reverse(QUEUE)).status_code == 404
        assert client.post(reverse("rating:review_next")).status_code == 404
    client.force_login(make_user(Role.ADMIN))
    assert client.get(reverse(QUEUE)).status_code == 200


def test_an_item_in_somebody_elses_hands_is_not_found(client, reviewer):
    make_bank()
    path = page_of(client)

    client.force_login(make_user(Role.ITEM_REVIEWER))

    assert client.get(path).status_code == 404
    assert client.post(path, COMPLETE).status_code == 404


def test_the_page_shows_the_item_whole_and_neither_author_nor_another_review(client, reviewer):
    data = bank_data(1)
    data["items"][0] |= {
        "author": "Somebody with a name",
        "turns": [
            {"role": "user", "content": "An earlier word."},
            {"role": "assistant", "content": "An earlier answer."},
        ],
    }
    make_bank(data)
    other = another_review("needs-revision")

    page = client.get(page_of(client))

    item = data["items"][0]
    for text in (
        item["prompt"],
        item["construct"],
        "An earlier word.",
        "An earlier answer.",
        "Suffering Detection",
        *(anchor["description"] for anchor in item["anchors"]),
    ):
        assertContains(page, text)
    assertContains(page, DEFINITIONS["A1"].partition(",")[0])
    for hidden in ("Somebody with a name", other.concern, other.reviewer.pseudonym, item["id"]):
        assertNotContains(page, hidden)
    assertContains(page, "There are no replies to this item yet.")


def test_three_replies_stand_beside_an_item_that_has_some(client, reviewer):
    make_wave(make_bank(bank_data(1)), trials=4, text="Sit down for a moment.")

    page = client.get(page_of(client))

    assertContains(page, "Sit down for a moment.", count=3)
    assertNotContains(page, "kind-1")


def test_of_an_item_with_two_versions_both_are_seen_and_what_they_differ_in(client, reviewer):
    data = pair_bank_data(1)
    data["meta"]["chambers"][0] |= {"goal": "See that guilt changes nothing."}
    data["pairs"][0]["axis"] = "guilt"
    data["meta"]["rubric"][4]["note"] = "In this reply alone."
    make_bank(data)

    page = client.get(page_of(client))

    for text in ("I am A and lonely", "I am B and lonely", "Moral Status", "guilt changes nothing"):
        assertContains(page, text)
    assertContains(page, "In this reply alone.")
    assertContains(page, "The other version")


def test_a_review_is_sent_and_the_next_item_opens_with_a_way_to_undo(client, reviewer):
    make_bank(bank_data(2))
    path = page_of(client)

    answer = client.post(path, COMPLETE)

    review = ItemReview.objects.get()
    assert (review.verdict, review.minutes, review.concern) == ("validated", 12, "")
    page = client.get(answer.url)
    assert answer.url != path
    assertContains(page, "Review sent at")
    assertContains(page, 'value="undo"')

    assertRedirects(client.post(path, {"do": "undo"}), path, 303)
    assertContains(client.get(path), "An item to review")
    assert ItemReview.objects.live().count() == 0


def test_what_is_missing_is_said_and_what_was_typed_stays(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {"do": "send", "concern": "half a thought", "minutes": "many"})

    assert answer.status_code == 422
    for said in (
        "Answer yes or no: applicable.",
        "Answer yes or no: safe and accurate.",
        "Choose a verdict.",
        "as a whole number",
        "half a thought",
    ):
        assertContains(answer, said, status_code=422)
    assert not ItemReview.objects.exists()


def test_a_criterion_that_is_not_met_asks_why_and_forces_needs_revision(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {**COMPLETE, "monotonic": "no"})
    assertContains(answer, "Say why not: on one axis.", status_code=422)
    assertContains(answer, "so the verdict is “Needs revision”.", status_code=422)

    client.post(
        path,
        {
            **COMPLETE,
            "monotonic": "no",
            "why_monotonic": "Level 2 asks for less.",
            "why_applicable": "left over",
            "verdict": "needs-revision",
        },
    )
    review = ItemReview.objects.get()
    assert review.concern == "On one axis: Level 2 asks for less."
    assert review.whys == {"monotonic": "Level 2 asks for less."}


def test_needs_revision_with_all_criteria_met_asks_for_a_concern(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {**COMPLETE, "verdict": "needs-revision"})
    assertContains(answer, "Say what needs revision", status_code=422)
    client.post(path, {**COMPLETE, "verdict": "needs-revision", "concern": "A typo in level 4."})

    assert ItemReview.objects.get().concern == "A typo in level 4."


def test_fewer_than_two_minutes_are_asked_about_once(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {**COMPLETE, "minutes": "1"})
    assertContains(answer, "You put down 1 minute.", status_code=422)
    assertContains(answer, 'name="sure" value="yes"', status_code=422)
    assert not ItemReview.objects.exists()
    client.post(path, {**COMPLETE, "minutes": "1", "sure": "yes"})

    assert ItemReview.objects.get().minutes == 1


def test_a_form_without_an_act_saves_the_draft_and_the_page_brings_it_back(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    client.post(path, {"applicable": "no", "why_applicable": "It needs a number nobody has."})

    page = client.get(path)
    assertContains(page, "It needs a number nobody has.")
    assertContains(page, "is back.")
    assert re.search(r'id="applicable-no"[^>]* checked', page.content.decode())


def test_script_keeps_the_draft_and_is_told_when(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {"do": "keep", "concern": "half"})

    assert answer.json()["saved"].startswith("Draft saved at")
    assert ReviewHold.objects.get().draft == {"concern": "half"}


def test_a_review_sent_twice_is_stored_once_and_says_so(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)
    client.post(path, COMPLETE)

    answer = client.post(path, COMPLETE)

    assertContains(answer, "Nothing was stored twice.", status_code=409)
    assert ItemReview.objects.count() == 1


def test_a_review_sent_too_late_gives_back_what_was_typed(client, reviewer, settings):
    make_bank(bank_data(1))
    path = page_of(client)
    ReviewHold.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    for _ in range(2):
        another_review()

    words = {"verdict": "needs-revision", "concern": "What I had seen."}
    answer = client.post(path, {**COMPLETE, **words})

    assertContains(answer, "others have reviewed it meanwhile", status_code=409)
    assertContains(answer, "What I had seen.", status_code=409)
    assertContains(client.get(path), "What I had seen.")
    client.post(path, {"do": "let-go"})
    assertContains(client.get(reverse(QUEUE)), "All that is open has had its reviews.")


def test_what_is_sent_after_the_session_ended_is_there_after_sign_in(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)
    client.logout()

    answer = client.post(path, {**COMPLETE, "concern": "Typed in a train."})
    assert answer.status_code == 302
    client.force_login(reviewer)
    client.get(reverse(QUEUE))

    assertContains(client.get(path), "Typed in a train.")
    assert not ItemReview.objects.exists()


def test_skipping_needs_a_reason_and_keeps_what_was_typed(client, reviewer):
    make_bank(bank_data(1))
    path = page_of(client)

    answer = client.post(path, {"do": "skip", "concern": "half"})
    assertContains(answer, "Choose a reason to skip.", status_code=422)
    assertContains(answer, "half", status_code=422)
    answer = client.post(path, {"do": "skip", "reason": "conflict"}, follow=True)

    assertContains(answer, "You wrote this item, so you cannot review it.")
    assert Conflict.objects.get().person == reviewer
    assertContains(client.get(path), "nothing was stored for it")


def test_an_item_that_turns_out_to_be_ones_own_cannot_be_sent(client, reviewer):
    item = make_bank(bank_data(1)).items.get()
    path = page_of(client)
    Conflict.objects.create(person=reviewer, item_code=item.code)

    answer = client.post(path, COMPLETE)

    assertContains(answer, "You wrote this item, so you cannot review it.", status_code=409)
    assert not ItemReview.objects.exists()


def test_a_hard_item_is_announced_before_anything_of_it_is_shown(client, reviewer):
    data = bank_data(1)
    data["items"][0] |= {"sensitivity": "high", "topic": "losing a child"}
    make_bank(data)
    User.objects.filter(pk=reviewer.pk).update(hard_topics=True, expertise=["clinician"])

    answer = client.post(reverse("rating:review_next"))

    assertContains(answer, "The next item is about losing a child.")
    assertNotContains(answer, data["items"][0]["prompt"])
    opened = client.post(reverse("rating:review_next"), {"topic": "open"})
    assertContains(client.get(opened.url), data["items"][0]["prompt"])


def test_after_a_small_change_the_page_shows_it_and_one_press_confirms(client, reviewer):
    data = bank_data(1)
    data["items"][0]["anchors"][3]["description"] = "It names the weight and gives one clear step."
    make_bank(data)
    client.post(page_of(client), COMPLETE)
    newer = copy.deepcopy(data)
    newer["meta"]["bankVersion"] += "-next"
    newer["items"][0]["anchors"][3]["description"] += " Kindly."
    item = make_bank(newer).items.get()
    path = page_of(client)

    page = client.get(path)
    assertContains(page, "Changed since your review")
    assertContains(page, "Kindly.")
    answer = client.post(path, {"do": "stands", "minutes": "x"})
    assertContains(answer, "as a whole number", status_code=422)
    assertNotContains(answer, "Choose a verdict.", status_code=422)
    client.post(path, {"do": "stands", "minutes": "1"})

    confirmed = ItemReview.objects.get(content_hash=item.content_hash)
    assert confirmed.still_stands_of == ItemReview.objects.get(minutes=12)


def test_the_home_page_of_a_reviewer_says_what_waits(client, reviewer):
    make_bank(bank_data(3))

    assertContains(client.get(reverse("home")), "3 items wait for a review.")
    page_of(client)
    assertContains(client.get(reverse("home")), "An item is open for you")


def test_every_subdimension_has_one_sentence_of_its_own():
    codes = {code for one in DIMENSIONS.values() for code in one.subdimensions}

    assert set(DEFINITIONS) == codes
    assert len(set(DEFINITIONS.values())) == 40
    for sentence in DEFINITIONS.values():
        assert re.fullmatch(r"[A-Z][^.!?]*\.", sentence), sentence


# Who looks after it


def test_the_page_of_reviews_is_for_admins_and_maintainers(client):
    for role, status in (
        (Role.ADMIN, 200),
        (Role.MAINTAINER, 200),
        (Role.ITEM_REVIEWER, 404),
        (Role.RATER, 404),
    ):
        client.force_login(make_user(role))
        assert client.get(reverse("rating:reviews")).status_code == status


def test_without_two_reviews_the_page_gives_reasons_for_numbers(client):
    make_bank(bank_data(2))
    client.force_login(make_user(Role.ADMIN))

    page = client.get(reverse("rating:reviews"))

    assertContains(page, "This number cannot be given: no item has two independent reviews yet.")
    assertNotContains(page, "nan")


def test_agreement_is_that_of_the_first_two_reviews_of_each_item():
    make_bank(bank_data(4))
    for verdict in ("validated", "validated", "validated", "needs-revision", "validated"):
        another_review(verdict)  # two that agree, then two that differ and a third

    lines = {line.title: line for line in agreement()}

    assert {line.items for line in lines.values()} == {2}
    assert lines["Verdict"].percent.value == 0.5
    # p = 3/4: chance is 2 x 3/4 x 1/4 = 3/8, and AC1 = (1/2 - 3/8) / (5/8).
    assert lines["Verdict"].ac1.value == pytest.approx(0.2)


def test_the_page_of_reviews_names_people_by_code_name_and_says_who_is_missing(client):
    data = bank_data(2)
    data["items"][0]["identity"] = True
    make_bank(data)
    person = make_user(Role.ITEM_REVIEWER)
    client.force_login(make_user(Role.ADMIN))

    page = client.get(reverse("rating:reviews"))

    assertContains(page, person.pseudonym)
    assertNotContains(page, person.name)
    assertContains(page, "1 item needs a reviewer marked as clinician")
    client.post(reverse("rating:expertise", args=[person.pk]), {"expertise": ["clinician", "x"]})
    person.refresh_from_db()
    assert person.expertise == ["clinician"]
    assert Event.objects.get(kind="expertise").about["person"] == person.pseudonym
    assertNotContains(client.get(reverse("rating:reviews")), "needs a reviewer marked as clinician")


def test_an_admin_alone_marks_expertise(client):
    person = make_rater()
    for role in (Role.MAINTAINER, Role.ITEM_REVIEWER):
        client.force_login(make_user(role))
        path = reverse("rating:expertise", args=[person.pk])
        assert client.post(path, {"expertise": "clinician"}).status_code == 404
    person.refresh_from_db()
    assert person.expertise == []


def test_replies_shown_to_reviewers_are_in_the_order_they_were_drawn(client, reviewer):
    make_wave(make_bank(bank_data(1)), trials=4)
    page_of(client)
    work = ReviewWork.objects.get()

    assert len(work.replies) == len(set(work.replies)) == 3
    assert Item.objects.get().content_hash == work.content_hash
