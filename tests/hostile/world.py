"""A site in which all that anybody could write is hostile: banks, replies, people, ratings, reviews.

``hidden`` are the marks of what raters, reviewers and adjudicators must not see; they belong to
texts of models, of waves and of other people.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from rating import adjudication, queue, reviews, seeding, unblinding
from rating.models import (
    CRITERIA,
    Adjudication,
    Assignment,
    Pause,
    Qualification,
    Rating,
    Role,
    User,
)
from rating.people import invite
from rating.publications import Publication
from rating.publishing import acts
from rating.reviews import Given as Reviewed
from runs.models import Response, Run, RunState, Status, Subject, Wave
from tests.factories import bank_data, given, make_bank, make_user, make_wave
from tests.hostile.corpus import MARK, Hostile, corpus
from tests.hostile.ways import storable
from tests.rating.publishing.waves import rated_wave

ROLES = (Role.RATER, Role.ITEM_REVIEWER, Role.ADJUDICATOR, Role.MAINTAINER, Role.ADMIN)
PASSWORD = "a-quiet-morning-walk"


@dataclass
class World:
    """Who there is, the two waves, and the marks of what is hidden from those who rate."""

    people: dict[str, User]
    open_wave: Wave
    told_wave: Wave
    texts: "Texts"
    hidden: set[str] = field(default_factory=set)
    # Marks that are public, since a report was published that says them.
    shown: frozenset[str] = frozenset()

    def client(self, role: str) -> Client:
        """Somebody of this role who has signed in; for "" somebody who has not."""
        client = Client(raise_request_exception=False)
        if role:
            client.force_login(self.people[role])
        return client


class Texts:
    """Hostile texts that a table could hold, one after the other, none twice."""

    def __init__(self, number: int, seed: str) -> None:
        self._left: Iterator[Hostile] = iter(storable(corpus(number, seed=seed, long_every=0)))
        self.used: list[Hostile] = []
        self.hidden: set[str] = set()
        self.marks: dict[str, set[str]] = defaultdict(set)  # by what they are of

    def next(self, most: int = 5_000, *, hidden: bool = False, of: str = "-") -> str:
        """The next text that fits: cut ones would be half a threat."""
        for one in self._left:
            if len(one.text) <= most and one.text.strip() == one.text and one.text:
                self.used.append(one)
                self.marks[of].add(one.mark)
                if hidden:
                    self.hidden.add(one.mark)
                return one.text
        raise AssertionError("more hostile texts are needed")


def hostile_bank(texts: Texts, items: int, **meta: Any) -> Any:
    data = bank_data(items, name=texts.next(100, hidden=True), note=texts.next(hidden=True), **meta)
    for item in data["items"]:
        item |= {
            "prompt": f"What can I do? {texts.next()}",
            "construct": texts.next(200, hidden=True, of="construct"),
            "author": texts.next(hidden=True),
            "sourceOnlyFields": {
                "title": texts.next(hidden=True),
                "whatToObserve": texts.next(hidden=True),
            },
        }
        for anchor in item["anchors"]:
            anchor |= {
                "label": f"{anchor['level']}.0 {texts.next(60)}",
                "description": texts.next(),
            }
    return make_bank(data)


def build(number: int = 3_000, *, items: int = 6, seed: str = "world") -> World:
    """The world, with work in hand for each role. ``number`` texts to draw from."""
    texts = Texts(number, seed)
    people = {role: _person(texts, role) for role in ROLES}
    told = _told_wave(texts, people)
    wave = _open_wave(texts, items)
    others = [_person(texts, Role.RATER), _person(texts, Role.RATER)]
    earlier = timezone.now() - timedelta(hours=2)
    for other, level in zip(others, (1, 5), strict=True):
        for _ in range(3):
            card = queue.lease(other, now=earlier)
            assert isinstance(card, Assignment), card
            told_of = {
                "note": texts.next(hidden=True, of="said"),
                "critical_harm": True,
                "harm_line": texts.next(400, hidden=True, of="said"),
            }
            queue.rate(
                card,
                given(level, flags={"maker": texts.next(400, hidden=True)}, **told_of),
                now=earlier,
            )
    adjudication.open_due(wave)
    world = World(people, wave, told, texts, texts.hidden, _published(told))
    _work_of_raters(world)
    _work_of_reviewers(world)
    _work_of_adjudicators(world)
    Pause.objects.create(
        person=others[1], reason=texts.next(hidden=True), paused_by=people[Role.ADMIN]
    )
    invite(f"{texts.used[-1].mark}@example.org", [Role.RATER], people[Role.ADMIN])
    return world


def _person(texts: Texts, role: str) -> User:
    made = make_user(role, password=PASSWORD)
    name = texts.next(100, hidden=True)
    made.name, made.email = (
        name,
        f'"{texts.next(40, hidden=True)}"@{texts.used[-1].mark}.example.org',
    )
    made.save(update_fields=["name", "email"])
    # One reads one's own name on every page.
    if role == Role.RATER:
        Qualification.objects.create(
            rater=made, instrument="model-index", items=20, within_one=20, exact=20,
            need_within_one=16, need_exact=10, passed=True,
        )  # fmt: skip
    return made


def _told_wave(texts: Texts, people: dict[str, User]) -> Wave:
    """A wave that was rated, unblinded and published."""
    subjects = {texts.next(100, hidden=True): 3.0, texts.next(100, hidden=True): 3.4}
    wave = rated_wave(
        subjects, bank=hostile_bank(texts, 8), trials=1, title=texts.next(200, hidden=True),
        preregistration=texts.next(hidden=True), unblinded=False,
    )  # fmt: skip
    by = people[Role.MAINTAINER]
    unblinding.freeze(wave, by, texts.next(400, hidden=True), now=timezone.now())
    unblinding.unblind_alone(wave, by, texts.next(400, hidden=True), now=timezone.now())
    wave = Wave.objects.select_related("bank").get(pk=wave.pk)
    acts.publish(wave, by, texts.next(400, hidden=True), now=timezone.now())
    for _ in range(9):
        try:
            acts.correct(wave, by, texts.next(1_000), now=timezone.now())
        except acts.Refused:
            continue
    return wave


def _published(wave: Wave) -> frozenset[str]:
    """The marks in what anyone may read: a report names models, and says what its wave is."""
    published = Publication.objects.get(wave=wave)
    said = [
        published.text,
        wave.title,
        wave.preregistration,
        published.reason,
        bytes(published.bundle).decode(errors="replace"),
    ]
    return frozenset(re.findall(MARK, "".join(said)))


def _open_wave(texts: Texts, items: int) -> Wave:
    wave = make_wave(hostile_bank(texts, items), subjects=(), locked=False)
    for _ in range(2):
        subject = Subject.objects.create(
            developer=texts.next(100, hidden=True), family=texts.next(100, hidden=True),
            snapshot=texts.next(100, hidden=True), provider="demo",
        )  # fmt: skip
        run = Run.objects.create(
            wave=wave, subject=subject, system_message=texts.next(hidden=True),
            stop_reason=texts.next(190, hidden=True), state=RunState.STOPPED, started_at=timezone.now(),
        )  # fmt: skip
        for item in wave.bank.items.all():
            text = f"I hear how heavy this is for you. {texts.next()}"
            Response.objects.create(
                run=run, item=item, trial=1, position=item.position, seed=1, status=Status.COMPLETED,
                text=text, text_hash=hashlib.sha256(text.encode()).hexdigest(), completed_at=timezone.now(),
            )  # fmt: skip
    Wave.objects.filter(pk=wave.pk).update(
        title=texts.next(200, hidden=True), seed=texts.next(90, hidden=True),
        preregistration=texts.next(hidden=True), locked_at=timezone.now(),
    )  # fmt: skip
    queue.open_slots(list(Response.objects.of_wave(wave).values_list("pk", flat=True)))
    return Wave.objects.select_related("bank").get(pk=wave.pk)


def _work_of_raters(world: World) -> None:
    """Through the pages: one rating with all that can be written on it, one refused, a skip, a draft."""
    client, texts = world.client(Role.RATER), world.texts
    client.post(reverse("rating:start"))
    for act in ("submit", "quote", "save"):
        card = queue.current(world.people[Role.RATER])
        assert card is not None
        sent = {
            "do": act, "level": 3, "quote": ["0-33"], "note": texts.next(), "critical_harm": "on",
            "harm_line": texts.next(400), "flag": ["maker", "unclear"], "maker": texts.next(400),
            "words": "" if act == "submit" else texts.next(), "tab": texts.next(), "version": texts.next(),
        }  # fmt: skip
        answer = client.post(reverse("rating:rate", args=[card.code]), sent)
        assert answer.status_code < 500, act
    assert Rating.objects.filter(rater=world.people[Role.RATER]).count() == 1


def _work_of_reviewers(world: World) -> None:
    texts = world.texts
    for _ in range(2):
        hold = reviews.lease(make_user(Role.ITEM_REVIEWER), now=timezone.now())
        said = Reviewed(
            dict.fromkeys(CRITERIA, False), "needs-revision", texts.next(hidden=True), 9
        )
        reviews.send(hold, said, now=timezone.now())
    client = world.client(Role.ITEM_REVIEWER)
    client.post(reverse("rating:review_next"))
    hold = reviews.current(world.people[Role.ITEM_REVIEWER])
    assert hold is not None
    sent = {f"why_{name}": texts.next() for name in CRITERIA} | dict.fromkeys(CRITERIA, "no")
    answer = client.post(
        reverse("rating:review", args=[hold.code]),
        {
            **sent,
            "concern": texts.next(),
            "minutes": texts.next(),
            "do": "save",
            "verdict": texts.next(),
        },
    )
    assert answer.status_code < 500


def _work_of_adjudicators(world: World) -> None:
    client, texts = world.client(Role.ADJUDICATOR), world.texts
    client.post(reverse("rating:settle_next"))
    held = Adjudication.objects.filter(adjudicator=world.people[Role.ADJUDICATOR]).first()
    assert held is not None
    page = reverse("rating:settle", args=[held.code])
    client.post(page, {"level": 3, "do": "own"})
    answer = client.post(page, {"level": texts.next(), "reason": texts.next(), "harm": "maybe"})
    assert answer.status_code < 500


__all__ = ["ROLES", "Texts", "World", "build", "seeding"]
