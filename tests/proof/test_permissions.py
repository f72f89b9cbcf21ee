"""Every URL x every kind of person x every method x every kind of thing: what the table says.

Each request is made for itself and undone. About 15,000 of them.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.utils import timezone

from compassion.permissions import DOORS, Door, Who, Whose, addresses
from rating import adjudication, reviews, seeding
from rating.api.keys import make_token
from rating.models import (
    Adjudication,
    Assignment,
    Kind,
    Norming,
    Qualification,
    ReviewHold,
    Role,
    User,
)
from rating.people import invite, link_to
from rating.publishing import acts
from rating.queue import hand, rate
from runs.models import Response, Wave
from runs.plan_file import parse_data
from runs.waves import save_draft
from tests.factories import (
    bank_data,
    given,
    leased,
    make_bank,
    make_rater,
    make_seeds,
    make_user,
    make_wave,
    rated,
)
from tests.rating.publishing.waves import pairs_wave
from tests.runs.factories import BankFactory
from tests.runs.test_run_command import DEMO_PLAN
from tests.test_permissions import NOT_THERE, path_of

pytestmark = [pytest.mark.proof, pytest.mark.django_db]

METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE")
KINDS = {
    "nobody": None,
    "inactive": (Role.MAINTAINER, Role.ADMIN),
    "no role": (),
    **{role.value: (role,) for role in Role},
    "rater and item reviewer": (Role.RATER, Role.ITEM_REVIEWER),
    "maintainer and adjudicator": (Role.MAINTAINER, Role.ADJUDICATOR),
    "all five": tuple(Role),
}
MISSING, OTHERS, ENDED, OWN, ANY, DRAFT, UNBLINDED = (
    "missing", "another's", "ended", "own", "any", "draft", "unblinded",
)  # fmt: skip
Thing = tuple[str, dict[str, str]]


@dataclass
class World:
    """What there is, by its handles, for one person."""

    person: User
    other: User
    open: Wave
    draft: Wave
    unblinded: Wave
    names: dict[str, list[Thing]] = field(default_factory=dict)

    def things(self, name: str, parts: list[str]) -> list[Thing]:
        """What an address could name: a label, and the values of its parts."""
        if not parts:
            return [("", {})]
        if name in self.names:
            return [*self.names[name], (MISSING, NOT_THERE)]
        wave = "wave" if "wave" in parts else "code"
        rest = {**NOT_THERE, "name": "report.json"}
        return [
            (ANY, {**rest, wave: self.open.code}),
            (DRAFT, {**rest, wave: self.draft.code}),
            (UNBLINDED, {**rest, wave: self.unblinded.code}),
            (MISSING, NOT_THERE),
        ]


def build(roles: tuple[Role, ...]) -> World:
    """Waves in each state, and work of this person's and of another's wherever there can be some."""
    now = timezone.now()
    me = make_user(*roles, password="a-quiet-morning-walk")
    other = make_rater()
    practice = make_seeds(2, "practice")
    wave = make_wave(make_bank(bank_data(8)))
    for level in (1, 5):
        rater = make_rater()
        for _ in range(3):
            rated(rater, level)
    adjudication.open_due(wave)
    BankFactory(name="Model Index demo", version="demo-1", items=5, pairs=2)
    draft = save_draft(parse_data(DEMO_PLAN.encode()))
    unblinded = pairs_wave({"kind-one-2026-01-01": 3.0, "kind-two-2026-01-01": 2.0}, pairs=2)
    acts.publish(unblinded, make_user(Role.MAINTAINER), "It is done.", now=now)
    world = World(me, other, wave, draft, Wave.objects.get(pk=unblinded.pk))

    cards: list[Thing] = []
    practised: list[Thing] = []
    passed: list[Thing] = []
    for whose, who in ((OWN, me), (OTHERS, other)):
        if Role.RATER not in who.roles:
            continue
        done = rated(who).assignment
        held = leased(who)
        cards += [(whose, {"code": str(held.code)})]
        cards += [(ENDED if whose == OWN else OTHERS, {"code": str(done.code)})]
        card = hand(who, practice[0].response, Kind.PRACTICE, now=now)
        rate(card, given(), now=now)
        practised += [(whose, {"code": str(card.code)})]
        attempt = Qualification.objects.create(
            rater=who,
            instrument="model-index",
            items=20,
            within_one=20,
            exact=20,
            need_within_one=16,
            need_exact=10,
            passed=True,
        )
        passed += [(whose, {"pk": str(attempt.pk)})]
    for name in ("rate", "skip", "keep", "undo", "guess"):
        world.names[f"rating:{name}"] = cards
    world.names["rating:practised"] = practised
    world.names["rating:qualification"] = passed

    settling: list[Thing] = []
    for whose, who in ((OWN, me), (OTHERS, make_user(Role.ADJUDICATOR))):
        if Role.ADJUDICATOR in who.roles:
            held = adjudication.lease(who, now=now + timedelta(hours=1))
            assert isinstance(held, Adjudication), held
            settling += [(whose, {"code": str(held.code)})]
    world.names["rating:settle"] = settling
    [(_, begun), *_] = settling
    world.names["rating:hand_over"] = [(ANY, begun)]

    holds: list[Thing] = []
    for whose, who in ((OWN, me), (OTHERS, make_user(Role.ITEM_REVIEWER))):
        if who.roles & {Role.ITEM_REVIEWER, Role.ADMIN}:
            hold = reviews.lease(who, now=now)
            assert isinstance(hold, ReviewHold), hold
            holds += [(whose, {"code": str(hold.code)})]
    world.names["rating:review"] = holds

    assert seeding.nominate(wave, 1, make_user(Role.MAINTAINER), now=now) in (0, 1)
    norming = {"code": str(Norming.objects.first().code)}
    world.names["rating:agree"] = [(ENDED, norming)]
    world.names["rating:retire"] = [(ANY, norming)]

    item = wave.bank.items.first()
    bank = {"pk": str(wave.bank_id), "code": item.code}
    world.names["rating:bank_of"] = world.names["rating:draft_version"] = [(ANY, bank)]
    world.names["rating:draft_item"] = [(ANY, bank), (MISSING, {**bank, "code": "NO-1-A"})]
    world.names["rating:item"] = world.names["rating:draft_item"]
    if roles in ((Role.ITEM_REVIEWER,), (Role.RATER, Role.ITEM_REVIEWER)):
        world.names["rating:item"] = [(OTHERS, bank)]  # not one they have reviewed
    people = [(ANY, {"pk": str(other.pk)}), (OWN, {"pk": str(me.pk)})]
    world.names["rating:expertise"] = world.names["rating:factor_anew"] = people
    world.names["rating:access"] = people
    world.names["rating:erase_person"] = people
    for name in ("pause_rater", "resume_rater"):
        world.names[f"rating:{name}"] = [(ANY, {"pseudonym": other.pseudonym})]
    for name in ("own_file", "care_file"):
        world.names[f"rating:{name}"] = [(ANY, {"name": "hours.csv"})]
    world.names["subjects:one"] = [(ANY, {"code": wave.runs.get().subject.code})]
    both = Response.objects.of_wave(wave).filter(ratings__slot=2).first()
    assert both is not None
    world.names["rating:readings"] = [
        (ANY, {"wave": wave.code, "code": str(both.code)}),
        (MISSING, {"wave": unblinded.code, "code": str(both.code)}),  # of another wave
        (MISSING, {"wave": wave.code, "code": NOT_THERE["code"]}),
    ]
    world.names["rating:cover"] = [(ENDED, {"wave": wave.code, "code": str(both.code)})]
    world.names["rating:judgements"] = []
    world.names["rating:end_api_token"] = []
    if Role.MAINTAINER in me.roles:
        token, _ = make_token(me, "a program", ["read:progress"], now=now, days=1)
        world.names["rating:end_api_token"] = [(OWN, {"code": str(token.code)})]
    link = link_to(invite("new@example.org", [Role.RATER], None))
    world.names["rating:join"] = [(ANY, {"token": link.split("/")[2]})]
    return world


def allowed(door: Door, method: str, label: str, roles: frozenset[str] | None) -> set[int]:
    """The statuses that the table lets an answer have; ``roles`` none: nobody has signed in."""
    fine = {200, 204, 302, 303, 409, 410, 422, 429}
    if roles is None and door.who not in (Who.ANYONE, Who.TOKEN):
        return {302}
    if method not in door.methods:
        # Of a wrong method by a wrong person either may be said.
        return {405} if roles is None or door.admits(roles) else {404, 405}
    if door.who == Who.TOKEN:
        return {401}
    if not door.admits(roles or frozenset()):
        return {404}
    if label == OTHERS and door.whose == Whose.HELD:
        return {409}
    if label in (OTHERS, MISSING):
        return fine | {404} if door.whose == Whose.NONE else {404}
    if door.only == "a wave whose plan is not locked":
        return fine if label == DRAFT else {404}
    if door.only in ("a wave that is unblinded", "a published wave"):
        return {*fine, 404} if label == UNBLINDED else {404}
    if door.only or label in (DRAFT, ENDED):
        return fine | {404}
    return fine


@pytest.mark.parametrize("kind", KINDS)
def test_every_url_answers_this_person_as_the_table_says(kind, settings, record_property):
    settings.CARD_DISTANCE = 0
    settings.UNEVEN_CAP = 99
    roles = KINDS[kind]
    world = build(roles or ())
    signed_in = roles is not None and kind != "inactive"
    held = frozenset(role.value for role in roles or ()) if signed_in else None
    client = Client(raise_request_exception=False)
    if roles is not None:
        client.force_login(world.person)
    if kind == "inactive":
        User.objects.filter(pk=world.person.pk).update(is_active=False)
    cookies = client.cookies.output(header="", sep=";").strip()
    wrong, asked = [], 0

    for address in addresses():
        door = DOORS[address.name]
        parts = list(address.pattern.pattern.converters) or (
            ["key"] if "(?P" in address.path else []
        )
        things = world.things(address.name, parts)
        for _, (label, values), method in (
            (place, thing, method)
            for (place, thing), method in product(enumerate(things), METHODS)
            # A wrong method is wrong whatever is named: once for each address will do.
            if not place or method in door.methods
        ):
            path = path_of(address.path, address.pattern, {**NOT_THERE, **values})
            client.cookies.clear()
            client.cookies.load(cookies)
            if address.name.startswith(("account", "mfa")):
                cache.clear()  # each is asked for more often than its limit lets anybody
            with transaction.atomic():
                answer = client.generic(method, path)
                b"".join(answer.streaming_content) if answer.streaming else answer.content
                transaction.set_rollback(True)
            asked += 1
            expected = allowed(door, method, label, held)
            if answer.status_code not in expected:
                wrong.append(f"{method} {path} ({label}): {answer.status_code}, not {expected}")

    assert not wrong, "\n".join(wrong)
    assert asked > 900
    record_property("asked", asked)


def test_the_walk_finds_a_door_left_open(monkeypatch):
    """A table that says less than the views let through is told."""
    assert allowed(DOORS["rating:people"], "GET", "", frozenset({"rater"})) == {404}
    maintainer = make_user(Role.MAINTAINER)
    client = Client()
    client.force_login(maintainer)
    shut = Door(frozenset({"GET"}), frozenset({Role.ADMIN.value}))

    status = client.get("/waves/").status_code

    assert status not in allowed(shut, "GET", "", frozenset({Role.MAINTAINER.value}))


def test_each_kind_of_thing_was_there_to_be_asked_for():
    world = build(tuple(Role))

    labels = {label for things in world.names.values() for label, _ in things}
    assert {OWN, OTHERS, ENDED, ANY, MISSING} <= labels
    assert Assignment.objects.filter(rater=world.person, kind=Kind.COUNTED).count() >= 2
