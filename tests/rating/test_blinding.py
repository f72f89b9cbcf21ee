"""Rule 1: nothing that a rater, reviewer or adjudicator can fetch names what is hidden.

A marker is planted in every hidden field; every URL there is gets asked for, in every way, by each
role; no marker may come back. What people wrote and models replied is the declared exception.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from uuid import uuid4

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from pytest_django.asserts import assertContains

from rating import blinding, guessing, reviews
from rating.judges.tables import Judge, Judging
from rating.models import (
    CRITERIA,
    Adjudication,
    Assignment,
    Rating,
    ReviewHold,
    Role,
    User,
)
from rating.review_card import ReviewCard
from rating.reviews import Given
from runs.models import Probe, Probing, Response, Run, Subject, Wave
from tests.factories import (
    answer,
    leased,
    make_bank,
    make_judging,
    make_rater,
    make_user,
    make_wave,
    pair_bank_data,
    rated,
)

pytestmark = pytest.mark.django_db

MARK = "MARKER"
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
ROLES = (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR)
# What an item is to measure is what its reviewers judge it by.
REVIEWERS_SEE = (f"{MARK} construct", f"{MARK} chamber", f"{MARK} fail")


@pytest.fixture
def wave(settings) -> Wave:
    """A wave in which every hidden field holds a marker of its own, with work for each role."""
    settings.CARD_DISTANCE = 0
    settings.UNDO_MINUTES = 0
    data = pair_bank_data(3)
    data["meta"]["chambers"][0] |= {"name": f"{MARK} chamber", "fail": f"{MARK} fail"}
    data["meta"] |= {"name": f"{MARK} bank", "note": f"{MARK} note"}
    for item in data["items"]:
        item["id"] = f"{MARK}-{item['id']}"
        item |= {
            "construct": f"{MARK} construct",
            "author": f"{MARK} author",
            "expectedBehaviors": [f"{MARK} expected"],
            "sourceOnlyFields": {"title": f"{MARK} title", "whatToObserve": f"{MARK} observe"},
        }
    for pair in data["pairs"]:
        pair |= {
            "id": f"{MARK}-{pair['id']}",
            "a": f"{MARK}-{pair['a']}",
            "b": f"{MARK}-{pair['b']}",
        }
    wave = make_wave(make_bank(data), subjects=[f"{MARK}-snapshot-1"], trials=2, locked=False)
    Wave.objects.filter(pk=wave.pk).update(
        title=f"{MARK} wave",
        code=f"{MARK}-wave",
        seed=f"{MARK} seed",
        preregistration=f"{MARK} plan",
    )
    Run.objects.update(
        condition=f"{MARK}-condition", system_message=f"{MARK} system", stop_reason=f"{MARK} stop"
    )
    run = Run.objects.get()
    Run.objects.update(expected="lower", expected_why=f"{MARK} why")
    Probing.objects.create(run=run, state="done", stop_reason=f"{MARK} stop")
    Probe.objects.create(
        run=run,
        item=wave.bank.items.first(),
        kind="recall",
        part="wording",
        number=1,
        seed=1,
        question=f"{MARK} question",
        text=f"{MARK} answer",
        text_hash="f" * 64,
        status="completed",
        score=1.0,
    )
    _judge(Wave.objects.get(pk=wave.pk))
    return Wave.objects.get(pk=wave.pk)


def _judge(wave: Wave) -> None:
    """Models have judged it, and whatever they are and said holds a marker."""
    Judge.objects.bulk_create(
        Judge(
            name=f"{MARK}-judge-{one}",
            subject=Subject.objects.create(
                developer=f"{MARK} lab",
                family=f"{MARK} kin {one}",
                snapshot=f"{MARK}-judge-{one}-1",
                provider="demo",
            ),
        )
        for one in "ab"
    )
    judges = list(Judge.objects.filter(name__startswith=MARK))
    judging = make_judging(
        wave, judges=judges, code=f"{MARK}-round", seed=f"{MARK} seed", answered=False
    )
    Judging.objects.update(state="asking", started_at=timezone.now())
    answer(
        list(judging.judgements.select_related("response__item")),
        0,
        reason=f"{MARK} reason of a judge",
        text=f"{MARK} reply of a judge",
        fingerprint=f"{MARK} print",
        answer={"level": 0, "reason": f"{MARK} given"},
    )
    Judging.objects.update(state="stopped", stop_reason=f"{MARK} stop")


@pytest.fixture
def people(wave) -> dict[Role, User]:
    """One person in each role, with something in hand; and two others, who differ by far."""
    low, high = make_rater(), make_rater()
    User.objects.filter(pk__in=[low.pk, high.pk]).update(name=f"{MARK} person")
    for level, other in ((0, low), (5, high)):
        for _ in range(3):
            rated(other, level, note=f"{MARK} note of a rater")
    one = {role: make_user(role, password="a-quiet-morning-walk") for role in ROLES}
    leased(one[Role.RATER])
    told = Given(dict.fromkeys(CRITERIA, False), "needs-revision", f"{MARK} concern", 9)
    for _ in range(3):
        hold = reviews.lease(make_user(Role.ITEM_REVIEWER), now=timezone.now())
        reviews.send(hold, told, now=timezone.now())
    assert isinstance(reviews.lease(one[Role.ITEM_REVIEWER], now=timezone.now()), ReviewHold)
    return one


def every_path(person: User, wave: Wave) -> Iterator[str]:
    """Every URL of the site, with each value that its parts could have for this person."""
    codes = [
        *Assignment.objects.filter(rater=person).values_list("code", flat=True),
        *Assignment.objects.exclude(rater=person).values_list("code", flat=True)[:2],
        *Adjudication.objects.values_list("code", flat=True),
        *ReviewHold.objects.values_list("code", flat=True),
        *Response.objects.filter(ratings__slot=2).values_list("code", flat=True)[:1],
        uuid4(),
    ]
    values = {
        "code": [*codes, wave.code, wave.bank.items.first().code],
        "wave": [wave.code],
        "name": [
            "report.html",
            "report.json",
            "figures.csv",
            "internal.zip",
            "public.zip",
            "report.pdf",
            "ratings.csv",
            "facets.txt",
            "key.csv",
            "hours.csv",
            "exposure.csv",
            "judgements.csv",
            "everything.json",
        ],
        "judging": [*Judging.objects.values_list("code", flat=True)[:1], "round"],
        "pseudonym": list(User.objects.values_list("pseudonym", flat=True)[:2]),
        "pk": [1, 2, wave.bank_id],
        "token": ["token"],
        "uidb36": ["1"],
        "key": ["set-password"],
    }

    def walk(patterns, prefix=""):
        for one in patterns:
            if isinstance(one, URLResolver):
                yield from walk(one.url_patterns, prefix + str(one.pattern))
            elif isinstance(one, URLPattern):
                yield prefix, one

    for prefix, pattern in walk(get_resolver().url_patterns):
        parts = list(pattern.pattern.converters) or list(
            getattr(pattern.pattern.regex, "groupindex", {})
        )
        for chosen in product(*(values[part] for part in parts)):
            path = f"/{prefix}{pattern.pattern}"
            for part, value in zip(parts, chosen, strict=True):
                for kind in ("uuid", "slug", "str", "int", "path"):
                    path = path.replace(f"<{kind}:{part}>", str(value))
            if "(?P" not in path and "<" not in path:
                yield path


def leaks(client, person: User, wave: Wave) -> set[str]:
    """Where a marker came back, as method and path."""
    client.force_login(person)
    found = set()
    for path in every_path(person, wave):
        if path in ("/sign-out/",):
            continue
        for method, headers in product(METHODS, ({}, {"HX-Request": "true"})):
            answer = client.generic(method, path, headers=headers)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            said = body.decode(errors="replace") + repr(dict(answer.headers)) + str(answer.cookies)
            said = said.replace(path, "")
            if Role.ITEM_REVIEWER in person.roles:
                for seen in REVIEWERS_SEE:
                    said = said.replace(seen, "")
            if MARK in said:
                found.add(f"{method} {path}")
    return found


@pytest.mark.proof
@pytest.mark.parametrize("role", ROLES)
def test_no_url_shows_what_is_hidden(client, wave, people, role):
    assert leaks(client, people[role], wave) == set()


@pytest.mark.proof
def test_an_adjudicator_in_the_middle_of_settling_sees_nothing_of_it_either(client, wave, people):
    from rating import adjudication

    adjudicator = people[Role.ADJUDICATOR]
    now = timezone.now() + timedelta(hours=1)
    held = adjudication.lease(adjudicator, now=now)
    assert isinstance(held, Adjudication), held
    assert leaks(client, adjudicator, wave) == set()


@pytest.mark.proof
def test_a_rater_who_is_asked_who_made_a_response_is_told_nothing_of_it(
    client, wave, people, settings
):
    """Others' guesses are hidden too; each POST of the crawl asks the question once more."""
    settings.GUESS_PERCENT = 100
    now = timezone.now()
    for rating in Rating.objects.all():
        assert guessing.ask(rating, now=now)
        guessing.answer(rating.guess, f"{MARK} maker", "", now=now)
    rater = people[Role.RATER]
    assert guessing.ask(rated(rater), now=now)
    card = Assignment.objects.get(rater=rater, outcome="rated")

    asked = f"/rate/{card.code}/guess/"
    assert asked in set(every_path(rater, wave))
    client.force_login(rater)
    assertContains(client.post(asked), "Which model do you think wrote", status_code=422)
    assert leaks(client, rater, wave) == set()


@pytest.mark.proof
def test_the_crawl_finds_a_marker_that_is_let_through(client, wave, people, monkeypatch):
    true = blinding.Card.of.__func__

    def leaking(cls, assignment):
        card = true(cls, assignment)
        object.__setattr__(card, "language", assignment.response.run.subject.snapshot)
        return card

    monkeypatch.setattr(blinding.Card, "of", classmethod(leaking))

    assert any(path.startswith("GET /rate/") for path in leaks(client, people[Role.RATER], wave))


@pytest.mark.proof
def test_the_crawl_reads_the_page_of_an_item_reviewer(client, wave, people, monkeypatch):
    reviewer = people[Role.ITEM_REVIEWER]
    hold = ReviewHold.objects.live().get(reviewer=reviewer)
    client.force_login(reviewer)
    assertContains(client.get(f"/review/{hold.code}/"), f"{MARK} construct")
    true = ReviewCard.of.__func__

    def leaking(cls, hold):
        card = true(cls, hold)
        object.__setattr__(card, "part", hold.item.details["author"])
        return card

    monkeypatch.setattr(ReviewCard, "of", classmethod(leaking))

    assert any(path.startswith("GET /review/") for path in leaks(client, reviewer, wave))


def test_the_crawl_knows_every_kind_of_url(people, wave):
    paths = set(every_path(people[Role.RATER], wave))

    assert {"/", "/rate/", "/settle/", "/guidelines/", "/waves/", f"/reports/{wave.code}/"} <= paths
    assert any(path.startswith("/settle/") and path.count("/") == 3 for path in paths)
