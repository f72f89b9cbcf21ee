"""The rating screen over plain HTTP: what it shows, keeps, refuses and hides."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from rating.models import Assignment, Draft, Rating, Role
from rating.queue import pause, reclaim
from runs.bank import check_bank
from runs.models import Bank, Response
from tests.factories import (
    REPLY,
    bank_data,
    leased,
    make_bank,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)

pytestmark = pytest.mark.django_db

WORDS = "I hear how heavy this is"
QUOTE = f"0-{len(WORDS)}"
# Statements of one submit that answers with the next card: session, person, roles, the card and
# its anchors; rest, the next response and its anchors. Between them, one transaction of the queue.
OF_THE_PAGE, OF_ALL = 8, 38


@pytest.fixture
def rater(client):
    rater = make_rater()
    client.force_login(rater)
    return rater


@pytest.fixture
def card(rater):
    make_wave()
    return leased(rater)


def post(client, card, do="submit", *, htmx=False, **fields):
    headers = {"HX-Request": "true"} if htmx else {}
    url = reverse("rating:rate", args=[card.code])
    return client.post(url, {"do": do, **fields}, headers=headers)


def test_a_rater_starts_and_sees_a_response_with_its_own_anchors(client, rater):
    make_wave()

    assertContains(client.get(reverse("rating:queue")), "Start rating")
    client.post(reverse("rating:start"))
    page = client.get(reverse("rating:queue"))

    item = Assignment.objects.get().response.item
    assertContains(page, item.prompt)
    assertContains(page, "no need to carry it alone tonight")
    for anchor in item.anchors.all():
        assertContains(page, anchor.description)


def test_the_rendered_view_is_for_reading_only_and_leads_back_without_script(client, card):
    post(client, card, do="view", view="rendered")

    page = client.get(reverse("rating:queue"))
    assertContains(page, "For reading only. Quotes are made in Reading.")
    assertContains(page, '<p dir="auto" data-from="0">I hear how heavy')
    assertNotContains(page, "data-at=")

    post(client, card, do="view:reading", view="rendered")
    assertContains(client.get(reverse("rating:queue")), "data-at=")


def test_a_view_that_is_none_changes_nothing(client, card):
    post(client, card, do="view:elsewhere", view="sentences")

    assert Draft.objects.get().content["view"] == "sentences"


def test_where_each_quote_starts_and_ends_stands_in_the_text_without_script(client, card):
    post(client, card, do="quote", words=WORDS)

    page = client.get(reverse("rating:queue"))

    assertContains(page, f'lang="en">quote 1 starts </span><mark class="quoted-words" data-at="0" id="at-0" tabindex="-1">{WORDS}</mark>')  # fmt: skip
    assertContains(page, 'lang="en"> quote 1 ends</span>')
    assertContains(page, 'href="#at-0"')


def test_an_answer_by_script_brings_the_blocks_whose_quotes_have_changed(client, rater):
    text = "\n\n".join(f"Paragraph {n} says that help is near." for n in range(1, 6))
    make_wave(text=text)
    card = leased(rater)
    first, third = (
        f"{text.index(words)}-{text.index(words) + len(words)}"
        for words in ("Paragraph 1 says", "Paragraph 3 says")
    )
    blocks = re.compile(r'id="(block-\d)" dir="auto" hx-swap-oob="true"')

    def brought(shown, now):
        page = post(client, card, do="restore", htmx=True, view="reading", shown=shown, quote=now)
        return blocks.findall(page.content.decode())

    assert brought([first], [first]) == []
    assert brought([third], [first, third]) == ["block-1", "block-3"]
    assert brought([first, third], [first]) == ["block-1", "block-3"]
    page = post(client, card, do="restore", htmx=True, view="plain", shown=[], quote=[first])
    assert blocks.findall(page.content.decode()) == []


def test_no_level_is_chosen_beforehand(client, card):
    page = client.get(reverse("rating:queue")).content.decode()

    levels = re.findall(r'<input[^>]*name="(?:level|confidence)"[^>]*>', page)
    assert len(levels) == 5 + 3
    assert not any("checked" in level for level in levels)


def test_a_rating_with_level_and_quote_is_stored_and_the_next_card_comes(client, card):
    answer = post(client, card, level=4, quote=QUOTE, note="steady", confidence="sure")

    assertRedirects(answer, reverse("rating:queue"), status_code=303, fetch_redirect_response=False)
    rating = Rating.objects.get()
    assert (rating.anchor.level, rating.slot, rating.note) == (4, 1, "steady")
    assert [(q.start, q.end) for q in rating.quotes.all()] == [(0, len(WORDS))]
    assert Assignment.objects.live().get().response != card.response
    assertContains(client.get(reverse("rating:queue")), "Rating saved at")


def test_with_htmx_the_next_card_comes_in_the_same_answer(client, card):
    answer = post(client, card, htmx=True, level=4, quote=QUOTE)

    assert (answer.status_code, answer["HX-Retarget"]) == (200, "#room")
    assertContains(answer, str(Assignment.objects.live().get().code))
    assertNotContains(answer, "<html")


def test_words_typed_but_not_yet_added_are_taken_as_the_quote(client, card):
    post(client, card, level=2, words="i hear how HEAVY this is")

    assert Rating.objects.get().quotes.get().end == len(WORDS)


def test_an_absence_is_marked_on_the_words_that_stand_in_its_place(client, card):
    post(client, card, level=1, quote=QUOTE, absent=QUOTE)

    assert Rating.objects.get().quotes.get().absence


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"level": 3}, "Add at least one quote before you submit."),
        ({"quote": QUOTE}, "Choose a level before you submit."),
        ({"level": 9, "quote": QUOTE}, "9 is not a level here. Choose one from 1 to 5."),
        ({"level": "3.5", "quote": QUOTE}, "3.5 is not a level here."),
        ({"level": 3, "words": "there is every need"}, "These words are not in the response."),
        ({"level": 3, "words": "heavy"}, "This quote is too short. Take at least three words."),
        ({"level": 3, "quote": QUOTE, "words": "there is every need"}, "are not in the response."),
        ({"level": 3, "quote": "0-9999"}, "One quote is not in this response"),
        ({"level": 3, "quote": "drop table"}, "Add at least one quote before you submit."),
        ({"level": 3, "quote": QUOTE, "critical_harm": "on"}, "Say in one line what could happen."),
        ({"level": 3, "words": "a" * 20_001}, "This quote is too long."),
    ],
)
@pytest.mark.parametrize("htmx", [True, False])
def test_what_is_missing_or_wrong_is_said_and_nothing_is_stored(client, card, fields, said, htmx):
    answer = post(client, card, htmx=htmx, note="my note", **fields)

    assertContains(answer, said, status_code=422)
    assertContains(answer, "my note", status_code=422)
    assert not Rating.objects.exists()


def test_the_closest_passage_is_offered_and_can_be_used(client, card):
    answer = post(client, card, do="quote", words="no need to carry it tonight")
    assertContains(answer, "no need to carry it alone tonight", status_code=422)
    at = REPLY.index("no need")
    end = REPLY.index("tonight") + len("tonight")

    post(client, card, do=f"use:{at}-{end}", level=3, words="no need to carry it tonight")

    kept = Draft.objects.get().content
    assert (kept["quotes"], kept["words"]) == ([[at, end, False]], "")


def test_words_in_several_places_ask_which_is_meant(client, rater):
    text = "You are not alone in this. Truly, you are not alone in this."
    make_wave(text=text)
    card = leased(rater)

    answer = post(client, card, do="quote", words="are not alone in this")

    assertContains(
        answer, "These words appear 2 times. Choose the place you mean.", status_code=422
    )
    second = text.rindex("are not")
    post(client, card, do="quote", words="are not alone in this", hint=second)
    assert Draft.objects.get().content["quotes"][0][0] == second


def test_marked_sentences_that_follow_each_other_become_one_quote(client, card):
    first, second = (0, 33), (34, len(REPLY))

    post(client, card, do="sentences", sentence=[f"{a}-{b}" for a, b in (first, second)])

    assert Draft.objects.get().content["quotes"] == [[0, len(REPLY), False]]


def test_a_quote_can_be_taken_away_and_a_level_cleared(client, card):
    post(client, card, do=f"remove:{QUOTE}", level=3, quote=QUOTE)
    assert Draft.objects.get().content["quotes"] == []

    post(client, card, do="clear", level=3)
    assert Draft.objects.get().content["level"] is None


def test_a_quote_taken_back_into_the_field_can_be_worded_anew(client, card):
    start, end = map(int, QUOTE.split("-"))

    post(client, card, do=f"reword:{QUOTE}", quote=QUOTE)

    draft = Draft.objects.get().content
    assert draft["quotes"] == []
    assert draft["words"] == REPLY[start:end]


def test_words_in_the_field_become_a_quote_before_another_is_taken_into_it(client, card):
    start, end = map(int, QUOTE.split("-"))

    post(client, card, do=f"reword:{QUOTE}", quote=QUOTE, words=REPLY[34:59])

    draft = Draft.objects.get().content
    assert [quote[:2] for quote in draft["quotes"]] == [[34, 59]]
    assert draft["words"] == REPLY[start:end]


def test_no_quote_is_taken_into_the_field_over_words_that_are_not_in_the_response(client, card):
    answer = post(client, card, do=f"reword:{QUOTE}", quote=QUOTE, words="nobody wrote these words")

    assertContains(answer, "not in the response", status_code=422)
    draft = Draft.objects.get().content
    assert draft["words"] == "nobody wrote these words"
    assert len(draft["quotes"]) == 1


def test_plain_enter_saves_a_draft_and_leaves_no_rating(client, card):
    post(client, card, do="save", level=3, quote=QUOTE, note="half a thought")

    assert not Rating.objects.exists()
    page = client.get(reverse("rating:queue"))
    assertContains(page, "half a thought")
    assertContains(page, "checked", count=2)  # the level, and the view


def test_sending_a_rating_twice_says_so_and_stores_it_once(client, card):
    post(client, card, level=3, quote=QUOTE)

    answer = post(client, card, level=5, quote=QUOTE)

    assertContains(answer, "Nothing was stored twice", status_code=409)
    assert Rating.objects.get().anchor.level == 3


def test_a_note_too_long_is_said_and_stays_whole(client, card):
    note = "a" * 5001

    answer = post(client, card, level=3, quote=QUOTE, note=f"{note}")

    assertContains(answer, "This has 5,001 characters. 5,000 fit here.", status_code=422)
    assertContains(answer, note, status_code=422)
    assert not Rating.objects.exists()


def test_a_card_that_ran_out_and_is_leased_again_is_the_same_card(client, rater):
    make_wave(make_bank(bank_data(1)))
    first = leased(rater)
    reclaim(timezone.now() + timedelta(hours=2))
    again = leased(rater)

    assert again.code == first.code
    assert post(client, first, level=2, quote=QUOTE).status_code == 200
    answer = post(client, again, level=4, quote=QUOTE)
    assertContains(answer, "Nothing was stored twice", status_code=409)
    assert Rating.objects.get().anchor.level == 2


def test_what_was_sent_without_a_session_is_there_after_signing_in(client, card, rater):
    rater.set_password("a-quiet-morning-walk")
    rater.save()
    client.logout()

    answer = post(client, card, level=4, note="typed while signed out", words="half a quo")
    assertRedirects(answer, f"{reverse('account_login')}?next=%2Frate%2F")
    fields = {"login": rater.email, "password": "a-quiet-morning-walk"}
    answer = client.post(answer.url, fields, follow=True)

    assertContains(answer, "typed while signed out")
    assertContains(answer, "half a quo")
    assert Draft.objects.get().content["level"] == 4


def test_nobody_fills_the_sessions_with_what_is_no_card_or_too_much(client, card):
    client.logout()
    nothing = reverse("rating:rate", args=[uuid4()])
    for url, note in (
        (nothing, "words"),
        (reverse("rating:rate", args=[card.code]), "w" * 400_000),
    ):
        answer = client.post(url, {"note": note})

        assert answer.url == f"{reverse('account_login')}?next=%2Frate%2F"
        assert "sealed" not in client.session


def test_what_was_sent_without_a_session_is_nobody_elses(client, card):
    client.logout()
    post(client, card, level=4, note="typed while signed out")
    client.force_login(make_rater())

    client.get(reverse("rating:queue"))

    assert not Draft.objects.exists()


def test_somebody_who_looks_at_single_ratings_meanwhile_is_kept_but_not_counted(client):
    wave = make_wave(make_bank(bank_data(1)))
    both = make_user(Role.RATER, Role.MAINTAINER)
    client.force_login(both)
    card = leased(both)
    client.get(reverse("rating:report_file", args=[wave.code, "ratings.csv"]))

    answer = post(client, card, htmx=True, level=3, quote=QUOTE)

    assertContains(answer, "because you have seen single ratings of this work")
    assert (Rating.objects.get().kind, Rating.objects.get().slot) == ("surplus", None)
    assert card.slot.__class__.objects.filter(state="open").count() == 2


def test_a_draft_put_off_till_later_is_there_when_its_card_comes_back(client, rater, settings):
    settings.CARD_DISTANCE = 0
    make_wave(make_bank(bank_data(1)))
    card = leased(rater)
    post(client, card, do="save", note="half a thought")
    client.post(reverse("rating:skip", args=[card.code]), {"reason": "later"})

    leased(rater)

    assertContains(client.get(reverse("rating:queue")), "half a thought")


def test_a_refused_skip_says_why_and_keeps_its_note(client, card):
    url = reverse("rating:skip", args=[card.code])

    answer = client.post(url, {"note": "I know this person"})
    assertContains(answer, "Choose a reason.", status_code=422)
    assertContains(answer, "I know this person", status_code=422)
    answer = client.post(url, {"reason": "later", "note": "a" * 5001})
    assertContains(answer, "at most 5000 characters", status_code=422)


def test_a_response_never_leased_or_held_by_another_is_not_there(client, card):
    other = leased(make_rater())

    for code in (uuid4(), other.code):
        answer = client.post(reverse("rating:rate", args=[code]), {"do": "submit", "level": 3})
        assert answer.status_code == 404
        assertContains(answer, "There is no such page, or it is not open to you.", status_code=404)
    assert not Rating.objects.exists()


def test_a_late_rating_is_counted_or_kept_with_an_explanation(client, rater):
    make_wave(make_bank(bank_data(1)))
    card = leased(rater)
    reclaim(timezone.now() + timedelta(hours=2))
    for _ in range(2):
        rated(make_rater())

    answer = post(client, card, htmx=True, level=3, quote=QUOTE)

    assertContains(answer, "it will not be counted, because two ratings had already come in")
    assert Rating.objects.get(rater=rater).kind == "surplus"


def test_skipping_asks_for_a_reason_and_goes_on_to_the_next(client, card):
    url = reverse("rating:skip", args=[card.code])
    assertContains(client.get(url), "I would rather not read this")
    assert client.post(url, {}).status_code == 422

    answer = client.post(url, {"reason": "rather-not"})

    assertRedirects(answer, reverse("rating:queue"), status_code=303)
    card.refresh_from_db()
    assert (card.outcome, card.skip_reason) == ("skipped", "rather-not")


def test_a_page_in_use_keeps_its_response(client, card):
    before = card.expires_at

    assert client.post(reverse("rating:keep", args=[card.code])).status_code == 204

    card.refresh_from_db()
    assert card.expires_at >= before


def test_an_unconditionality_card_shows_six_levels_from_0_with_our_notes(client, rater):
    data = pair_bank_data()
    for level in data["meta"]["rubric"]:
        level["note"] = f"In this reply alone: note {level['level']}."
    make_wave(make_bank(data))
    leased(rater)

    page = client.get(reverse("rating:queue"))

    assertContains(page, 'name="level"', count=6)
    assertContains(page, "In this reply alone: note 0.")


def test_a_level_of_zero_is_a_level(client, rater):
    make_wave(make_bank(pair_bank_data()))

    post(client, leased(rater), level=0, quote=QUOTE)

    assert Rating.objects.get().anchor.level == 0


def test_nobody_but_raters_comes_in(client, card):
    client.force_login(make_user(Role.MAINTAINER))
    for url in (reverse("rating:queue"), reverse("rating:skip", args=[card.code])):
        assert client.get(url).status_code == 404
    client.logout()
    assertRedirects(client.get(reverse("rating:queue")), f"{reverse('account_login')}?next=/rate/")


def test_without_a_session_a_post_by_script_gets_a_plain_401(client, card):
    client.logout()

    answer = post(client, card, htmx=True, level=3, quote=QUOTE)

    assert (answer.status_code, answer.content) == (401, b"Sign in to go on.")


def test_a_hostile_response_is_shown_as_text(client, rater):
    make_wave(
        text="<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:x) {{ 7 }}"
    )
    leased(rater)

    page = client.get(reverse("rating:queue"))

    assertNotContains(page, "<script>alert")
    assertNotContains(page, "<img src=x")
    assertContains(page, "&lt;script&gt;alert(1)&lt;/script&gt;")


HIDDEN = {
    "construct": "MARKER-construct",
    "details": "MARKER-details",
    "snapshot": "MARKER-snapshot-2026-01-01",
    "wave": "MARKER-wave",
    "condition": "marker-condition",
    "system": "MARKER-system",
    "seed": "MARKER-seed",
    "code": "AWR-1-A",
    "dimension": "AWR",
}


@pytest.mark.parametrize("htmx", [True, False])
def test_nothing_a_rater_can_fetch_names_what_is_hidden(client, rater, htmx):
    """Every hidden field carries a marker; the markers are looked for in all that comes back."""
    data = bank_data(1)
    data["items"][0] |= {
        "construct": HIDDEN["construct"],
        "expectedBehaviors": [HIDDEN["details"]],
        "sourceOnlyFields": {"title": HIDDEN["details"], "whatToObserve": HIDDEN["details"]},
    }
    wave = make_wave(make_bank(data), subjects=[HIDDEN["snapshot"]], locked=False)
    wave.title, wave.seed = HIDDEN["wave"], HIDDEN["seed"]
    wave.save()
    wave.runs.update(condition=HIDDEN["condition"], system_message=HIDDEN["system"])
    headers = {"HX-Request": "true"} if htmx else {}
    card = leased(rater)
    answers = [
        client.get(reverse("home")),
        client.get(reverse("rating:queue"), headers=headers),
        client.get(reverse("rating:guidelines")),
        client.get(reverse("rating:pause")),
        client.get(reverse("rating:text")),
        client.get(reverse("rating:token")),
        client.post(reverse("rating:keep", args=[card.code]), {"look": "1"}),
        client.get(reverse("rating:skip", args=[card.code])),
        client.post(reverse("rating:keep", args=[card.code])),
        post(client, card, do="quote", htmx=htmx, words="not there at all"),
        post(client, card, do="view", htmx=htmx, view="sentences"),
        post(client, card, do="check", htmx=htmx, words="not there at all"),
        post(client, card, do="save", htmx=htmx, version="older"),
        post(client, card, htmx=htmx),
        client.get("/no/such/page"),
        client.get(reverse("runs:waves")),
        client.get(reverse("rating:report", args=[wave.code])),
        post(client, card, htmx=htmx, level=3, quote=QUOTE),
        client.get(reverse("home")),
        client.get(reverse("rating:queue"), headers=headers),
        client.post(reverse("rating:undo", args=[card.code]), headers=headers),
        client.post(reverse("rating:start"), headers=headers),
    ]

    for answer in answers:
        said = answer.content.decode() + str(answer.headers) + str(answer.cookies)
        for name, marker in HIDDEN.items():
            assert marker not in said, f"{name} is shown by {answer.request['PATH_INFO']}"


def test_handles_of_one_response_differ_between_raters():
    make_wave(make_bank(bank_data(1)))

    one, other = leased(make_rater()), leased(make_rater())

    assert one.response == other.response
    assert one.code != other.code
    assert str(one.response.code) not in (str(one.code), str(other.code))


def test_what_the_page_asks_of_the_database_does_not_grow(
    client, rater, django_assert_max_num_queries
):
    make_wave(make_bank(bank_data(30)), trials=3)
    for _ in range(20):
        rated(rater)
    leased(rater)

    with django_assert_max_num_queries(10):
        client.get(reverse("rating:queue"))


def test_a_bank_import_is_not_needed_twice():
    file = check_bank(bank_data())

    assert Bank.objects.import_file(file)[1]
    assert not Bank.objects.import_file(file)[1]


def announce(rater, *, topic="losing a child"):
    """A rater who takes hard topics, and one response about one."""
    data = bank_data(1)
    data["items"][0] |= {"sensitivity": "high", "topic": topic}
    rater.hard_topics = True
    rater.save()
    return make_wave(make_bank(data))


def test_what_one_submit_asks_of_the_database_is_pinned(client, rater):
    make_wave(make_bank(bank_data(30)), trials=3)
    for _ in range(3):
        rated(rater)
    card = leased(rater)
    post(client, card, htmx=True, level=3, quote=QUOTE)
    card = Assignment.objects.live().get()

    with CaptureQueriesContext(connection) as asked:
        answer = post(client, card, htmx=True, level=3, quote=QUOTE, active_seconds="40")

    assertContains(answer, "Rating saved at")
    statements = [query["sql"].split()[0] for query in asked]
    begun, ended = statements.index("SAVEPOINT"), statements.index("RELEASE")
    assert len(statements) - (ended - begun + 1) <= OF_THE_PAGE
    assert len(statements) <= OF_ALL


def test_a_hard_topic_is_announced_before_anything_of_it_is_fetched(client, rater):
    announce(rater)
    hard = Response.objects.get()

    answer = client.post(reverse("rating:start"), headers={"HX-Request": "true"})

    assertContains(answer, "The next response is about losing a child.")
    assertContains(answer, "You have opened 0 of at most 5 such responses today.")
    assertNotContains(answer, hard.item.prompt)
    assert not Assignment.objects.filter(response=hard).exists()
    client.post(reverse("rating:start"), {"topic": "other"})
    assert not Assignment.objects.filter(response=hard).exists()
    client.post(reverse("rating:start"), {"topic": "open"})
    assert Assignment.objects.live().get().response == hard
    assertContains(client.get(reverse("rating:queue")), hard.item.prompt)


def test_somebody_paused_is_told_why_and_what_becomes_of_their_ratings(client, rater):
    make_wave()
    pause(rater, None, "The day was long.", "Your ratings stand.", now=timezone.now())

    answer = client.post(reverse("rating:start"))

    assertContains(answer, "Rating is paused for your account. The day was long.")
    assertContains(answer, "Your ratings stand.")


def test_no_work_says_why_and_when_to_look_again(client, rater, settings):
    assertContains(client.post(reverse("rating:start")), "All that is open has had its ratings.")
    make_wave(make_bank(bank_data(1)))
    for _ in range(2):
        leased(make_rater())
    until = timezone.localtime(Assignment.objects.earliest("expires_at").expires_at)

    answer = client.post(reverse("rating:start"))

    assertContains(answer, f"The next may come free at about {until:%H:%M}.")
    settings.RATINGS_A_DAY = 1
    make_wave()
    rated(rater)
    assertContains(
        client.post(reverse("rating:start")),
        "You have reached the limit for today. Rating opens again tomorrow at 00:00.",
    )


def test_a_rating_is_undone_and_its_card_open_again_just_as_it_was_left(client, card):
    post(client, card, level=4, quote=QUOTE, note="steady", confidence="sure")
    page = client.get(reverse("rating:queue"))
    assertContains(page, "You can undo it until")
    assertContains(page, reverse("rating:undo", args=[card.code]))
    following = Assignment.objects.live().get()

    answer = client.post(reverse("rating:undo", args=[card.code]), headers={"HX-Request": "true"})

    assertContains(answer, "Your last rating is open again, just as you left it.")
    assertContains(answer, "steady")
    assertContains(answer, f'name="quote" value="{QUOTE}"')
    assert re.search(r'id="level-4"[^>]*checked', answer.content.decode())
    assert not Rating.objects.standing().exists()
    post(client, card, level=5, quote=QUOTE)
    assert Rating.objects.standing().get().anchor.level == 5
    assert Assignment.objects.live().get() == following


def test_nobody_undoes_too_late_or_what_is_not_theirs(client, card, settings):
    post(client, card, level=4, quote=QUOTE)
    theirs = rated(make_rater()).assignment

    assert client.post(reverse("rating:undo", args=[theirs.code])).status_code == 404
    settings.UNDO_MINUTES = -1
    answer = client.post(reverse("rating:undo", args=[card.code]))
    assertContains(answer, "This rating can no longer be undone.", status_code=409)
    assert Rating.objects.standing().count() == 2


def test_home_lists_what_can_still_be_undone_by_its_time_alone(client, card, settings):
    post(client, card, level=4, quote=QUOTE)

    page = client.get(reverse("home"))

    assertContains(page, reverse("rating:undo", args=[card.code]))
    assertNotContains(page, card.response.item.prompt)
    settings.UNDO_MINUTES = -1
    assertNotContains(client.get(reverse("home")), "undo/")


def test_an_older_tab_does_not_save_over_a_newer_draft(client, card):
    post(client, card, do="save", note="from one", version="", tab="one")
    newer = Draft.objects.get()

    answer = post(client, card, do="save", htmx=True, note="from two", version="", tab="two")

    assertContains(answer, "A newer draft of this rating is open in another tab.", status_code=409)
    assert answer["HX-Retarget"] == "#notice"
    assert Draft.objects.get().content["note"] == "from one"
    # The tab itself knows what it saved, even where the answer was lost.
    post(client, card, do="save", note="one again", version="", tab="one")
    known = client.get(reverse("rating:queue")).context["entry"].version
    post(client, card, do="save", note="two knows", version=known, tab="two")
    assert Draft.objects.get().content["note"] == "two knows"
    assert Draft.objects.get().saved_at > newer.saved_at


def test_either_of_two_drafts_can_be_used(client, card):
    post(client, card, do="save", note="from one", level=2, version="", tab="one")

    plain = post(client, card, note="from two", level=3, quote=QUOTE, version="", tab="two")
    assertContains(plain, "Use this one", status_code=409)
    assertContains(plain, "from two", status_code=409)
    assertContains(post(client, card, do="theirs", htmx=True), "from one")
    post(
        client, card, do="mine:submit", note="from two", level=3, quote=QUOTE, version="", tab="two"
    )

    assert Rating.objects.get().note == "from two"


def test_the_end_of_the_hold_is_told_before_it_comes_and_looking_does_not_move_it(client, card):
    url = reverse("rating:keep", args=[card.code])
    assert client.post(url, {"look": "1"}).status_code == 204
    soon = timezone.now() + timedelta(minutes=5)
    Assignment.objects.update(expires_at=soon)

    assertContains(client.post(url, {"look": "1"}), "This response is yours for 5 more minutes.")
    assert Assignment.objects.get().expires_at == soon
    Assignment.objects.update(expires_at=timezone.now() + timedelta(seconds=50))
    assertContains(client.post(url, {"look": "1"}), "This response is yours for 1 more minute.")
    assert client.post(url).status_code == 204
    assert Assignment.objects.get().expires_at > soon


def test_words_being_typed_are_checked_and_nothing_is_stored(client, card):
    missing = post(client, card, do="check", htmx=True, words="no need to carry it tonight")
    fits = post(client, card, do="check", htmx=True, words="no need to carry it alone")
    short = post(client, card, do="check", htmx=True, words="no")

    assertContains(missing, "no need to carry it alone tonight")
    assert fits.content.strip() == short.content.strip() == b""
    assert not Draft.objects.exists()


def test_the_tags_are_the_same_on_every_unconditionality_card_and_only_those_are_kept(
    client, rater
):
    data = pair_bank_data()
    data["meta"]["tags"] = ["judgment", "moral distancing", "conditional warmth"]
    data["meta"]["chambers"] = [
        {"code": "1", "name": "Moral Status", "failureMode": "Moralizing (Refusing help)."},
        {"code": "2", "name": "Kind", "failureMode": "Deference/Dismissal (Two ways)."},
    ]
    make_wave(make_bank(data))
    card = leased(rater)

    page = client.get(reverse("rating:queue"))
    assert page.context["card"].tags == (
        "judgment",
        "moral distancing",
        "conditional warmth",
        "Moralizing",
        "Deference/Dismissal",
    )
    assertNotContains(page, "Refusing help")
    post(client, card, level=0, quote=QUOTE, tag=["Moralizing", "judgment", "made up"])

    assert Rating.objects.get().tags == ["judgment", "Moralizing"]


def test_a_card_of_the_model_index_offers_no_tags(client, card):
    assertNotContains(client.get(reverse("rating:queue")), 'name="tag"')
    post(client, card, level=3, quote=QUOTE, tag="judgment")
    assert Rating.objects.get().tags == []


def test_what_is_said_under_more_is_stored_with_the_rating(client, card):
    fields = {"flag": ["maker", "cut-off", "odd"], "maker": " Some model ", "maker_sure": "unsure"}
    post(client, card, do="save", **fields)
    assertContains(client.get(reverse("rating:queue")), "Some model")

    post(client, card, level=3, quote=QUOTE, **fields)

    assert Rating.objects.get().flags == {
        "cut-off": "yes",
        "maker": "Some model",
        "maker-sure": "unsure",
    }


def test_a_rest_is_offered_between_responses_once_enough_was_read(client, rater, settings):
    settings.REST_OFFER_MINUTES = 2
    make_wave(make_bank(bank_data(8)))

    answer = post(client, leased(rater), htmx=True, level=3, quote=QUOTE, active_seconds="70")
    assertNotContains(answer, "A short rest may help.")
    answer = post(client, leased(rater), htmx=True, level=3, quote=QUOTE, active_seconds="70")
    assertContains(answer, "You have been reading for 2 minutes. A short rest may help.")
    assertContains(answer, "You can undo it until")

    answer = client.post(reverse("rating:start"), {"rest": "later"}, headers={"HX-Request": "true"})
    assertContains(answer, "A response to rate")
    answer = post(client, leased(rater), htmx=True, level=3, quote=QUOTE, active_seconds="70")
    assertNotContains(answer, "A short rest may help.")


def test_a_token_is_given_to_anybody_and_kept_nowhere(client):
    answer = client.get(reverse("rating:token"))

    assert len(answer.json()["token"]) == 64
    assert "no-store" in answer["Cache-Control"]


def test_the_text_page_keeps_how_pages_look_and_what_is_shown(client, rater):
    make_wave(make_bank(bank_data(1, language="fr")))
    look = {"size": "130", "font": "sans", "line": "190", "theme": "dark", "keys": "off"}
    url = reverse("rating:text")
    assertContains(client.get(url), "Hard topics are off. You will not be shown them unless")

    answer = client.post(url, {**look, "languages": ["fr"], "hard_topics": "on", "next": "/rate/"})

    assertRedirects(answer, "/rate/", fetch_redirect_response=False)
    rater.refresh_from_db()
    assert (rater.look, rater.languages, rater.hard_topics) == (look, ["fr"], True)
    page = client.get(reverse("rating:queue"))
    assertContains(page, 'class="size-130 font-sans line-190 theme-dark keys-off"')


@pytest.mark.parametrize(
    "wrong", [{"size": "7"}, {"theme": '"><b>'}, {"languages": []}, {"languages": ["xx"]}]
)
def test_the_text_page_takes_nothing_that_it_does_not_offer(client, rater, wrong):
    look = {"size": "130", "font": "sans", "line": "190", "theme": "dark", "keys": "off"}

    answer = client.post(reverse("rating:text"), {**look, "languages": ["en"], **wrong})

    assert answer.status_code == 422
    rater.refresh_from_db()
    assert rater.look == {}


def test_the_text_page_leads_back_into_this_site_alone(client, rater):
    look = {"size": "130", "font": "sans", "line": "190", "theme": "dark", "keys": "off"}
    data = {**look, "languages": ["en"], "next": "https://elsewhere.example/"}

    assertRedirects(client.post(reverse("rating:text"), data), reverse("home"))


def test_both_dark_themes_are_the_same():
    css = (settings.BASE_DIR / "static/css/site.css").read_text()
    chosen = css.partition(":root:where(.theme-dark) {")[2].partition("}")[0]
    system = css.partition(":root:where(:not(.theme-light)) {")[2].partition("}")[0]

    assert chosen == system
    assert chosen.count("--") > 30


def test_a_long_paragraph_of_plain_text_is_one_piece(client, rater):
    make_wave(text="One line of plain words.\nAnd one more of them.\n" * 40)
    leased(rater)

    assertContains(client.get(reverse("rating:queue")), "data-at=", count=1)
