"""The table of who sees what is the behaviour: each cell is held against what comes back.

For each role and each state a wave is built with a marker in whatever can be seen; every URL there
is gets asked for, and each cell of that column must say just what was found.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest
from django.db.models import Avg, Count
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from pytest_django.asserts import assertContains

from rating import adjudication, reviews, unblinding
from rating.events import seal_events
from rating.models import (
    Adjudication,
    Assignment,
    Event,
    Judging,
    Qualification,
    Rating,
    ReviewHold,
    Role,
    User,
)
from rating.queue import keep_draft, lease, open_slots, rate, undo
from rating.visibility import ROLES, THINGS, Sight, as_markdown
from rating.wave_report import wave_report
from runs.models import (
    Probe,
    ProbeKind,
    Probing,
    Response,
    Run,
    RunState,
    Status,
    Subject,
    Wave,
    WaveKind,
)
from tests.factories import (
    REPLY,
    answer,
    bank_data,
    given,
    make_bank,
    make_judge,
    make_judging,
    make_user,
    make_wave,
)
from tests.rating.test_becoming import FORBIDDEN, words_of
from tests.rating.test_blinding import every_path

pytestmark = [pytest.mark.proof, pytest.mark.django_db]

ITEMS = 4
# The two levels of each response that is rated twice. The first pair must be settled.
LEVELS = ((1, 5), (2, 3), (4, 4), (3, 3), (3, 2))
JUDGED = "Judged-mark of a model."
SETTINGS = {
    "CARD_DISTANCE": 0,
    "UNEVEN_CAP": 99,
    "UNDO_MINUTES": 10,
    "ADJUDICATE_SAMPLE_PERCENT": 0,
}
CELLS = [
    pytest.param(thing, role, unblinded, id=f"{thing.name}-{role}-{'after' if unblinded else 'before'}")
    for thing in THINGS
    for role in ROLES
    for unblinded in (False, True)
]  # fmt: skip


@dataclass(frozen=True)
class One:
    """A response, by the marks that could be seen of it."""

    code: str
    prompt: str
    reply: str
    anchor: str
    model: str


@dataclass
class Found:
    """What came back to somebody, and what there was to be found."""

    person: User
    others: list[User]
    asker: User
    all: list[One]
    dealt: list[One] = field(default_factory=list)
    unsent: list[One] = field(default_factory=list)
    settling: list[One] = field(default_factory=list)
    reviewing: list[One] = field(default_factory=list)
    first: list[str] = field(default_factory=list)
    # After an adjudicator has given their own level.
    later: list[str] = field(default_factory=list)
    alpha: str = ""
    counted: tuple[str, int] = ("", 0)
    means: list[str] = field(default_factory=list)
    constructs: list[str] = field(default_factory=list)
    reviewed: str = ""
    seals: list[str] = field(default_factory=list)

    @property
    def bodies(self) -> list[str]:
        return self.first + self.later

    def has(self, *marks: str) -> bool:
        """Whether one answer holds all of these."""
        return together(self.bodies, *marks)


def together(bodies: Iterable[str], *marks: str) -> bool:
    return any(all(mark in body for mark in marks) for body in bodies)


# The world


def build() -> tuple[Wave, list[User]]:
    """A pilot wave of two models; two people rated some of it, and differ by far on a few."""
    data = bank_data(ITEMS)
    for number, item in enumerate(data["items"]):
        item |= {"prompt": f"Prompt-mark-{number} of a person?", "construct": f"Construct-{number}"}
        for anchor in item["anchors"]:
            anchor["description"] = f"Anchor-mark-{number}-{anchor['level']} words."
    wave = make_wave(make_bank(data), subjects=(), locked=False)
    number = count()
    for snapshot in ("Model-mark-one-2026", "Model-mark-two-2026"):
        subject = Subject.objects.create(
            developer="Dev", family="Kind", snapshot=snapshot, provider="demo"
        )
        run = Run.objects.create(
            wave=wave, subject=subject, state=RunState.DONE, started_at=timezone.now()
        )
        for item in wave.bank.items.all():
            text = f"{REPLY} Reply-mark-{next(number)}-end"
            Response.objects.create(
                run=run,
                item=item,
                trial=1,
                position=item.position,
                seed=1,
                # The same each time, so that the same work is dealt and the figures are the same.
                code=uuid5(NAMESPACE_URL, f"{snapshot} {item.position}"),
                status=Status.COMPLETED,
                text=text,
                text_hash=hashlib.sha256(text.encode()).hexdigest(),
                completed_at=timezone.now(),
            )
        Probing.objects.create(run=run, state=RunState.DONE)
        for calls in range(1, 11):
            Probe.objects.create(
                run=run,
                item=item,
                kind=ProbeKind.DETERMINISM,
                number=calls,
                seed=1,
                status=Status.COMPLETED,
                text="word " * 3123,
                text_hash="f" * 64,
            )
    Wave.objects.filter(pk=wave.pk).update(kind=WaveKind.PILOT, locked_at=timezone.now())
    wave = Wave.objects.get(pk=wave.pk)
    open_slots(list(Response.objects.of_wave(wave).values_list("pk", flat=True)))
    others = [person("Low", Role.RATER), person("High", Role.RATER)]
    earlier = timezone.now() - timedelta(hours=2)
    levels: dict[int, tuple[int, int]] = {}
    for who, other in enumerate(others):
        for pair in LEVELS:
            card = lease(other, now=earlier)
            assert isinstance(card, Assignment), card
            level = levels.setdefault(card.response_id, pair)[who]
            rate(card, given(level, note=f"Note-mark-{who}"), now=earlier)
    adjudication.open_due(wave)
    judging = make_judging(wave, judges=[make_judge("Kin-a"), make_judge("Kin-b")], answered=False)
    Judging.objects.update(state="asking", started_at=timezone.now())
    answer(list(judging.judgements.select_related("response__item")), 1, reason=JUDGED)
    Judging.objects.update(state="done", ended_at=timezone.now())
    return wave, others


def person(name: str, *roles: Role) -> User:
    made = make_user(
        *roles,
        password="a-quiet-morning-walk",
        name=f"Name-mark {name}",
        pseudonym=f"r-mark-{name.lower()}",
    )
    if Role.RATER in roles:
        Qualification.objects.create(
            rater=made,
            instrument="model-index",
            items=20,
            within_one=20,
            exact=20,
            need_within_one=16,
            need_exact=10,
            passed=True,
        )
    return made


def one(response: Response) -> One:
    return One(
        code=str(response.code),
        prompt=response.item.prompt,
        reply=response.text.split()[-1],
        anchor=response.item.anchors.get(level=2).description,
        model=response.run.subject.code,
    )


def crawl(client: Client, who: User, wave: Wave) -> list[str]:
    """What comes back from every URL, looked at and sent to."""
    client.force_login(who)
    bodies = []
    for path in every_path(who, wave):
        if path == "/sign-out/":
            continue
        for method in ("GET", "POST"):
            answer = client.generic(method, path)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            text = body.decode(errors="replace") + repr(dict(answer.headers))
            bodies.append(text.replace(path, ""))
    for item in wave.bank.items.all():
        page = client.get(reverse("rating:item", args=[item.bank_id, item.code]))
        bodies.append(page.content.decode())
    return bodies


@cache
def found(role: str, unblinded: bool) -> Found:
    """What a person in this role came to see of a wave, built for them alone."""
    with override_settings(**SETTINGS):
        wave, others = build()
        rows = Response.objects.of_wave(wave).select_related("item", "run__subject")
        who, asker = person("Own", Role(role)), person("Asker", Role.MAINTAINER)
        seen = Found(who, others, asker, all=[one(response) for response in rows])
        if role == Role.RATER:
            _work(seen)
        elif role == Role.ITEM_REVIEWER:
            hold = reviews.lease(who, now=timezone.now())
            assert isinstance(hold, ReviewHold), hold
            seen.reviewing = [one(row) for row in rows.filter(item=hold.item_id)]
            seen.reviewed = hold.item.construct
        if unblinded:
            _freeze_and_ask(wave, asker)
            unblinding.agree(wave, person("Agreed", Role.MAINTAINER), "Yes.", now=timezone.now())
        wave = Wave.objects.select_related("bank").get(pk=wave.pk)
        _note_facts(seen, wave)
        client = Client()
        seen.first = crawl(client, who, wave)
        if role == Role.RATER:
            mine = Rating.objects.filter(rater=who, withdrawn_at=None).first()
            if mine and not unblinded:
                undo(mine, now=timezone.now())
            seen.first.append(client.get(reverse("rating:queue")).content.decode())
        elif role == Role.ADJUDICATOR:
            held = Adjudication.objects.get(adjudicator=who)
            seen.settling = [one(rows.get(pk=held.response_id))]
            adjudication.give_own_level(held, who, 3, now=timezone.now())
            page = client.get(reverse("rating:settle", args=[held.code]))
            seen.later = [page.content.decode()]
        elif role == Role.MAINTAINER and not unblinded:
            # Frozen and asked for is still before.
            _freeze_and_ask(wave, asker)
            seen.first += crawl(client, who, Wave.objects.get(pk=wave.pk))
        return seen


def _work(seen: Found) -> None:
    """The rater has one rating that can be undone, and a card in hand with something on it."""
    now = timezone.now()
    card = lease(seen.person, now=now)
    assert isinstance(card, Assignment), card
    rate(card, given(3, note="Own-mark of mine"), now=now)
    held = lease(seen.person, now=now)
    assert isinstance(held, Assignment), held
    keep_draft(held, {"level": 2, "note": "not sent"}, now=now)
    seen.unsent = [one(held.response)]
    seen.dealt = [one(card.response), *seen.unsent]


def _freeze_and_ask(wave: Wave, asker: User) -> None:
    unblinding.freeze(wave, asker, "All is rated.", now=timezone.now())
    unblinding.ask(wave, asker, "To report it.", now=timezone.now())


def _note_facts(seen: Found, wave: Wave) -> None:
    seal_events()
    seen.seals = list(Event.objects.exclude(seal="").values_list("seal", flat=True))
    assert seen.seals
    seen.alpha = json.dumps(wave_report(wave).agreement.overall.alpha_ordinal.value)
    assert len(seen.alpha) > 10
    seen.constructs = list(wave.bank.items.values_list("construct", flat=True))
    of_model = list(
        Rating.objects.of_wave(wave)
        .counted()
        .order_by()
        .values_list("response__run__subject__code")
        .annotate(Count("pk"), Avg("anchor__level"))
    )
    # A number that no other count of the wave is.
    seen.counted = next((code, n) for code, n, _ in of_model if n not in (0, ITEMS))
    # Those with figures enough that nothing else is likely to look the same.
    odd = [mean for *_, mean in of_model if not f"{mean:.3f}".endswith("00")]
    assert odd
    seen.means = [
        rf"(?<![\d.]){re.escape(text)}(?!\d)"
        for mean in odd
        for text in (f"{mean:.2f}", f"{mean:.3f}", str(mean))
    ]


# What each thing looks like


def shown(seen: Found, *, anchors: bool = False) -> set[One]:
    if anchors:
        return {one for one in seen.all if seen.has(one.anchor)}
    return {one for one in seen.all if seen.has(one.prompt, one.reply)}


def of_texts(seen: Found, sight: Sight) -> bool:
    return shown(seen) == set(expected(seen, sight))


def of_anchors(seen: Found, sight: Sight) -> bool:
    wanted = {one.anchor for one in expected(seen, sight)}
    return {one.anchor for one in shown(seen, anchors=True)} == wanted


def expected(seen: Found, sight: Sight) -> list[One]:
    cards = {
        Sight.NO: [],
        Sight.YES: seen.all,
        Sight.OWN_CARD: seen.dealt,
        Sight.UNSENT: seen.unsent,
        Sight.SETTLING: seen.settling,
        Sight.REVIEWING: seen.reviewing,
    }
    return cards[sight]


def of_own(seen: Found, sight: Sight) -> bool:
    note, chose = "Own-mark of mine", "<dt>You chose</dt>"
    return {
        Sight.NO: not seen.has(note) and not seen.has(chose),
        Sight.WHILE_UNDO: seen.has(note),
        Sight.OWN_LEVEL: together(seen.later, chose) and not together(seen.first, chose),
    }[sight]


def of_others(seen: Found, sight: Sight) -> bool:
    notes = ("Note-mark-0", "Note-mark-1")
    return {
        Sight.NO: not any(seen.has(note) for note in notes),
        Sight.AFTER_OWN: all(
            together(seen.later, note) and not together(seen.first, note) for note in notes
        ),
        Sight.BY_CODE: all(
            seen.has(note, other.pseudonym) and not seen.has(note, other.name)
            for note, other in zip(notes, seen.others, strict=True)
        ),
    }[sight]


def of_judged(seen: Found, sight: Sight) -> bool:
    return {Sight.NO: not seen.has(JUDGED), Sight.YES: seen.has(JUDGED)}[sight]


def of_agreement(seen: Found, sight: Sight) -> bool:
    return {Sight.NO: not seen.has(seen.alpha), Sight.POOLED: seen.has(seen.alpha)}[sight]


def of_models(seen: Found, sight: Sight) -> bool:
    names = {one.model for one in seen.all}
    return {
        Sight.NO: not any(seen.has(name) for name in names),
        Sight.YES: all(seen.has(name) for name in names),
    }[sight]


def of_key(seen: Found, sight: Sight) -> bool:
    lines = [line for body in seen.bodies for line in body.splitlines()]
    return {
        Sight.NO: not any(seen.has(one.code, one.model) for one in seen.all),
        Sight.YES: all(together(lines, one.code, one.model) for one in seen.all),
    }[sight]


def of_figures(seen: Found, sight: Sight) -> bool:
    model, n = seen.counted
    row = re.compile(rf'<tr>(?:(?!</tr>).)*{model}(?:(?!</tr>).)*<td class="number">{n}</td>', re.S)
    counts = any(row.search(body) for body in seen.bodies)
    means = any(re.search(mean, body) for mean in seen.means for body in seen.bodies)
    # The few ratings of this world give no number: then its reason stands by the model's name.
    told = any(seen.has(one.model, "this number cannot be given") for one in seen.all)
    return {Sight.NO: not counts and not means and not told, Sight.YES: counts and told}[sight]


def of_known(seen: Found, sight: Sight) -> bool:
    rows = [row for body in seen.bodies for row in body.split("<tr>")]
    told = [together(rows, one.model, "<td>incomplete</td>") for one in seen.all]
    return {Sight.NO: not any(told), Sight.YES: all(told)}[sight]


def of_itself(seen: Found, sight: Sight) -> bool:
    """Ten of twenty identical calls came back, with one word in 3,123."""
    rows = [row for body in seen.bodies for row in body.split("<tr>")]
    told = [together(rows, one.model, "3123.0") for one in seen.all]
    # Nor is it told without a name.
    pooled = seen.has("3123.0")
    return {Sight.NO: not any(told) and not pooled, Sight.YES: all(told)}[sight]


def of_properties(seen: Found, sight: Sight) -> bool:
    lines = [line for body in seen.bodies for line in body.splitlines()]
    like = f",{len(f'{REPLY} Reply-mark-0-end'.split())},"
    single = [together(lines, one.code, like) for one in seen.all]
    pooled = seen.has("<dt>Look like a refusal</dt>")
    return {
        Sight.NO: not any(single) and not pooled,
        Sight.POOLED: not any(single) and pooled,
        Sight.YES: all(single) and pooled,
    }[sight]


def of_raters(seen: Found, sight: Sight) -> bool:
    codes = any(seen.has(other.pseudonym) for other in seen.others)
    # Admins see names on the page of people: never beside a code name.
    joined = any(seen.has(other.pseudonym, other.name) for other in seen.others)
    return {Sight.NO: not codes, Sight.BY_CODE: codes and not joined}[sight]


def of_people(seen: Found, sight: Sight) -> bool:
    everybody = [*seen.others, seen.asker]
    known = [one for one in everybody if seen.has(one.name) or seen.has(one.email)]
    own = seen.has(seen.person.name)
    return {
        Sight.NO: not known and not own,
        Sight.OWN: own and known == [],
        Sight.OWN_AND_UNBLINDERS: own and known == [seen.asker],
        Sight.YES: all(seen.has(one.name, one.email) for one in everybody),
    }[sight]


def of_construct(seen: Found, sight: Sight) -> bool:
    visible = {construct for construct in seen.constructs if seen.has(construct)}
    return {
        Sight.NO: visible == set(),
        Sight.REVIEWING: visible == {seen.reviewed},
        Sight.YES: visible == set(seen.constructs),
    }[sight]


def of_log(seen: Found, sight: Sight) -> bool:
    visible = [seen.has(seal) for seal in seen.seals]
    return {Sight.NO: not any(visible), Sight.YES: all(visible)}[sight]


FITS = {
    "text": of_texts,
    "anchors": of_anchors,
    "own": of_own,
    "others": of_others,
    "judged": of_judged,
    "agreement": of_agreement,
    "models": of_models,
    "key": of_key,
    "figures": of_figures,
    "known": of_known,
    "itself": of_itself,
    "properties": of_properties,
    "raters": of_raters,
    "people": of_people,
    "construct": of_construct,
    "log": of_log,
}


@pytest.mark.parametrize(("thing", "role", "unblinded"), CELLS)
def test_each_cell_says_what_is_seen_and_nothing_else_does(thing, role, unblinded):
    seen, fits = found(role, unblinded), FITS[thing.name]
    sight = thing.sight(role, unblinded=unblinded)

    assert fits(seen, sight), f"{role} {'after' if unblinded else 'before'}: not {sight}"
    # Had the cell said "no" wrongly, this would have shown it.
    assert sight == Sight.NO or not fits(seen, Sight.NO)


def test_the_table_is_of_every_role_and_every_thing_is_looked_for():
    assert list(ROLES) == list(Role.values)
    assert list(FITS) == [thing.name for thing in THINGS]
    assert all(set(thing.cells) <= set(ROLES) for thing in THINGS)


def test_a_leak_would_be_found(monkeypatch):
    from rating import blinding

    true = blinding.Card.of.__func__

    def leaking(cls, assignment):
        card = true(cls, assignment)
        object.__setattr__(card, "language", assignment.response.run.subject.code)
        return card

    monkeypatch.setattr(blinding.Card, "of", classmethod(leaking))
    # The card is enough: `_work` has one waiting, and `found` looks at it last.
    monkeypatch.setattr(
        "tests.rating.test_visibility.crawl",
        lambda client, who, wave: client.force_login(who) or [],
    )

    seen = found.__wrapped__(Role.RATER.value, False)

    assert not of_models(seen, Sight.NO)


@pytest.mark.parametrize("role", ROLES)
def test_everybody_can_read_the_table_in_words_that_give_nothing_away(client, role):
    client.force_login(make_user(role))

    page = client.get(reverse("rating:who_sees_what"))

    for thing in THINGS:
        assertContains(page, escape(thing.label))
        for unblinded in (False, True):
            assertContains(page, f"<td>{thing.sight(role, unblinded=unblinded).value.capitalize()}")
    if role not in (Role.MAINTAINER, Role.ADMIN):  # whose menu names their own pages
        assert FORBIDDEN.findall(words_of(page)) == []


def test_whoever_has_no_role_has_no_table(client):
    client.force_login(make_user())

    assert client.get(reverse("rating:who_sees_what")).status_code == 404


def test_the_document_holds_the_same_table():
    text = (Path(__file__).parents[2] / "docs" / "who-sees-what.md").read_text()

    for unblinded in (False, True):
        assert as_markdown(unblinded=unblinded) in text
