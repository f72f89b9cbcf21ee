"""Every page, as each role, on a site where all that anybody could write is hostile.

Links and forms are followed, with hostile words in every parameter and field. No page breaks, none
leads elsewhere, none holds more of a text than its words, and nothing hidden comes back. It takes
about two minutes of one core.
"""

from collections.abc import Iterator
from itertools import cycle

import pytest
from django.test import Client
from django.urls import reverse

from rating import blinding
from rating.models import Role
from tests.hostile.corpus import corpus
from tests.hostile.crawling import Crawl
from tests.hostile.inert import page_faults
from tests.hostile.ways import storable
from tests.hostile.world import ROLES, World, build
from tests.rating.test_blinding import every_path

pytestmark = [pytest.mark.proof, pytest.mark.django_db]

BLIND = (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR)


@pytest.fixture
def world(settings) -> World:
    settings.CARD_DISTANCE, settings.UNEVEN_CAP, settings.UNDO_MINUTES = 0, 99, 0
    return build()


def hidden_from(world: World, role: str) -> frozenset[str]:
    """The marks that this role must not see; its own name it may.

    A reviewer sees what an item is to measure; an adjudicator who has given a level sees what the
    two raters said of theirs.
    """
    if role not in BLIND:
        return frozenset()
    person = world.people[role]
    open_to = {Role.ITEM_REVIEWER: "construct", Role.ADJUDICATOR: "said"}.get(role, "")
    return frozenset(
        mark
        for mark in world.hidden
        if mark not in person.name + person.email
        and mark not in world.shown
        and mark not in world.texts.marks[open_to]
    )


def crawled(world: World, role: str) -> Crawl:
    words = cycle(one.text[:2_000] for one in storable(corpus(2_000, seed="typed", long_every=0)))
    crawl = Crawl(world.client(role), words, hidden_from(world, role))
    crawl.read()
    return crawl


@pytest.mark.parametrize("role", ["", *ROLES])
def test_nothing_that_can_be_reached_breaks_or_leaks(world, role):
    """By links and forms, and then by every address there is, led there or not."""
    crawl = crawled(world, role)
    faults = [*crawl.faults, *faults_of_every_address(world, role)]

    assert not faults, "\n".join(faults[:40])
    print(f"\n{role or 'nobody'}: {len(crawl.seen)} pages, {crawl.posted} forms sent")
    assert len(crawl.seen) > 8


def faults_of_every_address(world: World, role: str) -> Iterator[str]:
    client = world.client(role)
    for wave in (world.open_wave, world.told_wave):
        for path in every_path(world.people[role or Role.RATER], wave):
            if path == "/sign-out/":
                continue
            answer = client.get(path)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            if answer.status_code >= 500:
                yield f"{path}: {answer.status_code}"
            if answer.get("Content-Type", "").startswith("text/html"):
                found = page_faults(body.decode(), styled="report.html" in path)
                yield from (f"{path}: {fault}" for fault in found)


def test_a_leak_would_be_found(world, monkeypatch):
    true = blinding.Card.of.__func__

    def leaking(cls, assignment):
        card = true(cls, assignment)
        object.__setattr__(card, "text", card.text + assignment.response.run.subject.snapshot)
        return card

    monkeypatch.setattr(blinding.Card, "of", classmethod(leaking))

    assert any("which is hidden" in fault for fault in crawled(world, Role.RATER).faults)


def test_words_in_headers_and_cookies_do_nothing(world):
    """Thousands of them, on pages that cost little: none breaks, none comes back in a header."""
    faults = []
    pages = (
        reverse("account_login"),
        reverse("rating:about"),
        "/nothing-here/",
        reverse("rating:token"),
    )
    for number, one in enumerate(storable(corpus(1_200, seed="headers", long_every=0))):
        words = one.text[:500].encode().decode("latin-1")  # as a server hands bytes on
        client = Client(raise_request_exception=False)
        client.cookies["sessionid"] = client.cookies["csrftoken"] = one.mark
        sent = {
            "X-Request-ID": words,
            "Referer": words,
            "Accept-Language": words,
            "HX-Target": words,
        }
        sent |= {"HX-Current-URL": words, "User-Agent": words, "Cookie": f"sessionid={words}"}
        answer = client.generic("GET", pages[number % len(pages)], headers=sent, QUERY_STRING=words)
        if answer.status_code >= 500:
            faults.append(f"{one.kind} {one.mark}: {answer.status_code}")
        # A name for the request that is letters and digits alone is taken over, as is meant.
        told = {name: said for name, said in answer.headers.items() if name != "X-Request-ID"}
        assert len(answer["X-Request-ID"]) <= 64
        assert answer["X-Request-ID"].replace("-", "").isalnum()
        if one.mark in repr(told):
            faults.append(f"{one.kind} {one.mark}: comes back in a header")
        if answer.get("Content-Type", "").startswith("text/html"):
            faults += [
                f"{one.kind} {one.mark}: {fault}" for fault in page_faults(answer.content.decode())
            ]

    assert not faults, "\n".join(faults[:40])
