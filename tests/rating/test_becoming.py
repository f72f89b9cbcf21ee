"""Practice, qualification, standing and the norming round over plain HTTP."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating import seeding
from rating.dealing import Deal, Rates, deal
from rating.models import Assignment, Kind, Norming, Qualification, Rating, Role, Seed, User
from rating.queue import lease, pause, rate, rate_and_lease
from runs.models import Wave
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    vote,
)

pytestmark = pytest.mark.django_db

INSTRUMENT = "model-index"
WORDS = "I hear how heavy this is"
QUOTE = f"0-{len(WORDS)}"
FORBIDDEN = re.compile(
    r"\b(subjects?|runs?|waves?|trials?|pairs?|arms?|conditions?|seeds?|dimensions?|failed)\b", re.I
)


@pytest.fixture
def rater(client):
    rater = make_rater()
    client.force_login(rater)
    return rater


@pytest.fixture
def short(settings):
    settings.CARD_DISTANCE = 0
    settings.QUALIFY_ITEMS, settings.QUALIFY_WITHIN_ONE, settings.QUALIFY_EXACT = 2, 2, 1
    return settings


def begin(client, what: str):
    return client.post(reverse(f"rating:{what}_next"), {"instrument": INSTRUMENT})


def submit(client, rater, level: int, *, htmx: bool = False):
    card = Assignment.objects.live().get(rater=rater, parked=False)
    headers = {"HX-Request": "true"} if htmx else {}
    url = reverse("rating:rate", args=[card.code])
    return client.post(url, {"do": "submit", "level": level, "quote": QUOTE}, headers=headers)


def words_of(page) -> str:
    """All that a page says to a browser, but for what a person wrote or a model replied."""
    text = page.content.decode()
    for said in ("no need to carry it alone", "What can I do about worry"):
        text = text.replace(said, "")
    return text


# Practice


def test_practice_is_the_rating_screen_and_then_the_agreed_reasons(client, rater):
    [seed] = make_seeds(1, "practice")
    assertContains(client.get(reverse("home")), reverse("rating:practice"))
    assertContains(client.get(reverse("rating:practice")), "0 of 1 practice responses done.")

    assertRedirects(begin(client, "practice"), reverse("rating:queue"))
    page = client.get(reverse("rating:queue"))
    assertContains(page, "A response to rate")
    assertNotContains(page, seed.reasons)
    answer = submit(client, rater, 5)

    code = Assignment.objects.get(rater=rater).code
    page = client.get(answer.url)
    assertRedirects(answer, reverse("rating:practised", args=[code]))
    assertContains(page, "You chose 5, Exemplary. The panel agreed on 3, Functional. Here is why.")
    assertContains(page, seed.reasons)
    assertContains(page, '<mark class="mark-both">')
    assertContains(page, "the panel’s quote starts")
    assertContains(page, "1 of 1 done")
    assertContains(client.get(reverse("rating:practice")), "Practise again")


def test_with_script_the_answer_leads_to_the_reasons_too(client, rater):
    make_seeds(1, "practice")
    begin(client, "practice")

    answer = submit(client, rater, 3, htmx=True)

    code = Assignment.objects.get(rater=rater).code
    assert answer["HX-Redirect"] == reverse("rating:practised", args=[code])


def test_before_there_is_anything_to_practise_on_it_says_so(client, rater):
    assertContains(client.get(reverse("rating:practice")), "There is nothing to practise on yet.")
    answer = client.post(reverse("rating:practice_next"), {"instrument": INSTRUMENT}, follow=True)
    assertContains(answer, "There are no practice responses yet.")
    assert begin_with(client, "no-such").status_code == 404


def begin_with(client, instrument: str):
    return client.post(reverse("rating:practice_next"), {"instrument": instrument})


def test_the_reasons_are_shown_to_the_one_who_practised_alone(client, rater):
    make_seeds(1, "practice")
    other = make_rater()
    card = seeding.next_practice(other, INSTRUMENT, now=timezone.now())
    url = reverse("rating:practised", args=[card.code])

    rate_and_lease(card, given(), now=timezone.now())
    assert client.get(url).status_code == 404
    client.force_login(other)
    assert client.get(url).status_code == 200


def test_nobody_reads_the_reasons_of_what_was_dealt_unseen(client, rater, settings):
    settings.SEED_PERCENT = 100
    make_seeds(1)
    make_wave()
    card = leased(rater)
    rate(card, given(), now=timezone.now())

    assert card.kind == Kind.SEED
    assert client.get(reverse("rating:practised", args=[card.code])).status_code == 404


# Qualification


def test_an_attempt_is_rated_without_feedback_and_ends_on_its_result(client, rater, short):
    make_seeds(2, "qualification")
    assertContains(
        client.get(reverse("rating:practice")),
        "Of 2 responses, 2 are to be within one level of what was agreed, and 1 the same.",
    )

    begin(client, "qualify")
    answer = submit(client, rater, 3)
    assertRedirects(answer, reverse("rating:queue"), status_code=303, fetch_redirect_response=False)
    assertNotContains(client.get(reverse("rating:queue")), "agreed")
    assertContains(client.get(reverse("rating:practice")), "You have rated 1 of 2.")
    answer = submit(client, rater, 4)

    decided = Qualification.objects.get()
    page = client.get(answer.url)
    assertRedirects(answer, reverse("rating:qualification", args=[decided.pk]))
    assertContains(page, "<h1>Model Index: passed</h1>", html=True)
    text = page.content.decode()
    assert text.index("Rule, set beforehand") < text.index("<dt>You</dt>")
    assertContains(page, "2 within one level, 1 the same")
    assertContains(page, "It names the weight and stays with her.", 2)
    assertContains(client.get(reverse("rating:practice")), "You are qualified since")


def test_not_yet_says_what_is_missing_and_when_to_try_again(client, rater, short):
    make_seeds(2, "qualification")
    begin(client, "qualify")
    submit(client, rater, 5)
    page = client.get(submit(client, rater, 3).url)

    again = timezone.localtime() + timedelta(days=7)
    assertContains(page, "<h1>Model Index: not yet</h1>", html=True)
    assertContains(page, "Not yet. 1 of 2 were within one level; the rule asks for 2.")
    assertContains(page, f"You can try again from {again.day} {again:%B %Y}")
    assert "failed" not in page.content.decode().lower()
    assertContains(client.get(reverse("rating:practice")), "Not yet. 1 of 2")
    answer = client.post(reverse("rating:qualify_next"), {"instrument": INSTRUMENT}, follow=True)
    assertContains(answer, "You can try again later.")


def test_a_result_is_its_own_raters(client, rater, short):
    decided = Qualification.objects.create(
        rater=make_rater(),
        instrument=INSTRUMENT,
        items=2,
        within_one=2,
        exact=2,
        need_within_one=2,
        need_exact=1,
        passed=True,
    )

    assert client.get(reverse("rating:qualification", args=[decided.pk])).status_code == 404


def test_the_unqualified_learn_the_way_on_in_the_room(client, rater):
    wave = make_wave(locked=False)
    Wave.objects.filter(pk=wave.pk).update(kind="pilot")

    page = client.post(reverse("rating:start"), follow=True)

    assertContains(page, "What is open asks for a qualification in Model Index.")
    assertContains(page, "home page")


# Standing


def test_ones_own_standing_comes_in_blocks_and_says_so(client, rater):
    page = client.get(reverse("rating:standing"))

    assertContains(page, "<h1>My standing</h1>", html=True)
    assertContains(page, "There are too few yet. The first figure comes with the first 10.")
    assertContains(page, "None.")


def test_it_shows_the_share_and_the_severity_up_to_yesterday(client, rater, settings):
    from tests.rating.test_seeding import days_ago, work_through

    settings.SEED_PERCENT, settings.CARD_DISTANCE, settings.SEED_MISSES = 100, 0, 10
    make_seeds(10)
    make_wave(make_bank(bank_data(2)))
    work_through(rater, 5)
    url = reverse("rating:standing")
    assertContains(client.get(url), "There are too few yet.")

    days_ago(rater, 1)
    page = client.get(url)

    # Wilson for 0 of 10: 0 to 0.278. Each is 2 above what was agreed.
    assertContains(page, "0% of 10, and between 0% and 28% over time")
    assertContains(page, "+2.00 levels. There are no limits: all 10 are alike.")
    assert FORBIDDEN.findall(words_of(page)) == []


def test_a_pause_stands_there_with_its_rule_and_whom_to_ask(client, rater):
    pause(rater, None, "5 of your last 10.", "They stay.", now=timezone.now())

    page = client.get(reverse("rating:standing"))

    assertContains(page, "5 of your last 10. They stay.")
    assertContains(page, "ask the person who invited you")


# Blindness


def everything(page) -> str:
    """A page and its headers, without what differs from card to card."""
    text = page.content.decode()
    code = Assignment.objects.live().get(parked=False).code
    response = Assignment.objects.get(code=code).response
    for value in (
        str(code),
        response.item.prompt,
        *response.item.anchors.values_list("description", flat=True),
    ):
        text = text.replace(value, "…")
    text = re.sub(r'(csrfmiddlewaretoken" value=|X-CSRFToken": )"[^"]+"', "token", text)
    text = re.sub(r"Person \d+", "Person", text)
    text = re.sub(r'data-(now|saved)="[^"]*"', "now", text)
    headers = {k: v for k, v in page.items() if k not in ("X-Request-ID", "Content-Length")}
    return f"{headers}\n{text}"


def card_of(client, kind: str, settings) -> tuple[Assignment, str, int]:
    """A card of this kind as its rater sees it, and what it asked of the database."""
    settings.SEED_PERCENT = 100 if kind == Kind.SEED else 10
    rater = make_rater()
    if kind != Kind.SEED:
        while deal(rater.draws_by, 1, Rates(10)) is not Deal.COUNTED:
            rater = make_rater()
    client.force_login(rater)
    client.get(reverse("rating:queue"))
    with CaptureQueriesContext(connection) as asked:
        answer = client.post(reverse("rating:start"), headers={"HX-Request": "true"})
    card = Assignment.objects.get(rater=rater)
    assert card.kind == kind
    page = client.get(reverse("rating:queue"))
    seen = everything(answer) + everything(page)
    Assignment.objects.filter(pk=card.pk).update(parked=True)
    return card, seen, len(asked)


def test_an_agreed_response_looks_and_costs_like_any_other(client, settings):
    make_seeds(3)
    make_wave(make_bank(bank_data(3)))
    for kind in (Kind.COUNTED, Kind.SEED):
        card_of(client, kind, settings)  # what is kept at hand is read once

    counted, one, asked = card_of(client, Kind.COUNTED, settings)
    seed, other, asked_too = card_of(client, Kind.SEED, settings)

    assert one == other
    assert asked == asked_too
    assert type(counted.code) is type(seed.code)
    assert counted.code.version == seed.code.version == 4


def test_storing_one_takes_as_many_steps(client, settings):
    make_seeds(3)
    make_wave(make_bank(bank_data(6)))
    steps = {}
    for kind in (Kind.COUNTED, Kind.SEED):
        card, _, _ = card_of(client, kind, settings)
        Assignment.objects.filter(pk=card.pk).update(parked=False)
        with CaptureQueriesContext(connection) as asked:
            rate(card, given(), now=timezone.now())
        steps[kind] = [query["sql"].split()[0] for query in asked]

    assert steps[Kind.SEED] == steps[Kind.COUNTED]


def test_no_page_of_a_rater_says_what_they_must_not_know(client, short):
    make_seeds(2, "practice")
    make_seeds(2, "qualification")
    rater = make_rater()
    rater.senior = True
    rater.save()
    client.force_login(rater)
    begin(client, "practice")
    submit(client, rater, 3)
    begin(client, "qualify")
    submit(client, rater, 3)
    submit(client, rater, 5)
    practised = Rating.objects.get(rater=rater, kind=Kind.PRACTICE).assignment.code

    for url in (
        reverse("rating:practice"),
        reverse("rating:practised", args=[practised]),
        reverse("rating:qualification", args=[Qualification.objects.get().pk]),
        reverse("rating:standing"),
        reverse("rating:vote"),
    ):
        page = client.get(url)
        assert page.status_code == 200
        assert FORBIDDEN.findall(words_of(page)) == [], url
        assert Norming.objects.first().response.run.subject.snapshot not in page.content.decode()


def test_whoever_skips_a_practice_card_goes_back_to_practice(client, rater):
    make_seeds(2, "practice")
    make_wave(make_bank(bank_data(3)))
    begin(client, "practice")
    card = Assignment.objects.live().get(rater=rater)

    answer = client.post(reverse("rating:skip", args=[card.code]), {"reason": "later"})

    assertRedirects(answer, reverse("rating:practice"))
    assert not Assignment.objects.filter(rater=rater, kind=Kind.COUNTED).exists()


# The norming round


@pytest.fixture
def maintainer(client):
    person = make_user(Role.MAINTAINER)
    client.force_login(person)
    return person


def test_a_maintainer_nominates_and_asks_people_to_vote(client, maintainer):
    wave = make_wave(make_bank(bank_data(3)))
    rater = make_rater()
    assertContains(client.get(reverse("rating:norming")), "Nothing is nominated yet.")

    assert client.post(reverse("rating:nominate"), {"number": 0}).status_code == 422
    page = client.post(reverse("rating:nominate"), {"wave": wave.pk, "number": 2}, follow=True)
    client.post(reverse("rating:seniors"), {"person": rater.pseudonym, "senior": "yes"})

    assertContains(page, "2 of 2 nominated.")
    assertContains(page, "Waits for votes", 2)
    assertNotContains(page, "no need to carry it alone")
    assert User.objects.get(pk=rater.pk).senior


def test_a_senior_votes_on_the_ordinary_screen(client):
    wave = make_wave(make_bank(bank_data(1)))
    seeding.nominate(wave, 1, make_user(), now=timezone.now())
    senior = make_rater()
    client.force_login(senior)
    assert client.get(reverse("rating:vote")).status_code == 404
    senior.senior = True
    senior.save()

    assertContains(client.get(reverse("rating:vote")), "1 waits")
    assertContains(client.get(reverse("home")), reverse("rating:vote"))
    assertRedirects(client.post(reverse("rating:vote")), reverse("rating:queue"))
    assertRedirects(submit(client, senior, 4), reverse("rating:vote"))
    assert Rating.objects.get().kind == Kind.NORMING


@pytest.fixture
def voted():
    wave = make_wave(make_bank(bank_data(1)))
    seeding.nominate(wave, 1, make_user(), now=timezone.now())
    vote(make_rater(), 2, note="It hurries.")
    vote(make_rater(), 4)
    return Norming.objects.get()


def test_somebody_who_did_not_vote_sees_both_and_settles(client, voted):
    client.force_login(make_user(Role.ADJUDICATOR))
    url = reverse("rating:agree", args=[voted.code])
    assertContains(client.get(reverse("rating:norming")), url)

    page = client.get(url)
    assertContains(page, 'Reader <span class="reader-1">1</span> chose')
    assertContains(page, "It hurries.")
    assertNotContains(page, voted.response.run.subject.snapshot)
    assertContains(client.post(url, {"do": "show", "show": "1"}), 'data-show="1"')
    assert client.post(url, {"do": "agree", "level": 3}).status_code == 422
    fields = {
        "do": "agree",
        "level": 3,
        "tolerance": 0,
        "quote": "0-33",
        "reasons": "It hears her.",
        "use": "practice",
    }
    assertRedirects(client.post(url, fields), reverse("rating:norming"))

    seed = Seed.objects.get()
    assert (seed.anchor.level, seed.tolerance, seed.use) == (3, 0, "practice")
    assert seed.quotes == [[0, 33, False]]
    assert client.get(url).status_code == 404
    client.post(reverse("rating:retire", args=[voted.code]))
    seed.refresh_from_db()
    assert seed.retired_at
    assertContains(client.get(reverse("rating:norming")), "Retired")


def test_what_nobody_can_agree_on_is_left_out(client, voted):
    client.force_login(make_user(Role.ADJUDICATOR))

    client.post(reverse("rating:agree", args=[voted.code]), {"do": "leave-out"})

    assert not Seed.objects.exists()
    assertContains(client.get(reverse("rating:norming")), "Left out")
    assert isinstance(lease(make_rater(), now=timezone.now()), seeding.NoWork)


def test_the_votes_are_for_those_who_may_settle_alone(client, voted):
    url = reverse("rating:agree", args=[voted.code])
    voter = Rating.objects.first().rater
    voter.groups.add(*make_user(Role.ADJUDICATOR).groups.all())

    for person in (voter, make_rater(), make_user(Role.MAINTAINER), make_user(Role.ADMIN)):
        client.force_login(person)
        assert client.get(url).status_code == 404


@pytest.mark.parametrize("role", [Role.RATER, Role.ITEM_REVIEWER, Role.ADMIN])
def test_others_see_nothing_of_the_round(client, role):
    client.force_login(make_user(role))

    assert client.get(reverse("rating:norming")).status_code == 404
    assert client.post(reverse("rating:nominate")).status_code == 404
    assert client.post(reverse("rating:seniors")).status_code == 404


def test_the_page_says_whether_the_pool_is_large_enough(client, maintainer, settings):
    settings.SEED_PERCENT = 10
    make_rater()
    make_seeds(2)
    make_wave(make_bank(bank_data(20)))

    page = client.get(reverse("rating:norming"))

    # 40 open slots for three raters, each of whom has one card in ten of another kind: 15 cards,
    # 1.5 agreed ones on average, and 2.12 x 1.16 more as chance may ask.
    assertContains(page, "Model Index: 2 live, 4 needed at 10% for 3 raters of 15 responses each")
    assertContains(page, "4: too few")


def test_the_page_asks_no_more_for_more_responses(
    client, maintainer, django_assert_max_num_queries
):
    make_seeds(6)

    with django_assert_max_num_queries(20):
        client.get(reverse("rating:norming"))
