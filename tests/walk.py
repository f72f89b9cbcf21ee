"""Every page there is, as somebody who may see it: what is asked, and what it costs.

Used over a simulated world, of a thousand responses in tests and of a million in the measurement.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from rating.models import (
    Norming,
    Role,
    User,
)
from runs.models import Response, Run, Wave

Args = dict[str, Any]
OVER, PAIRS, RATED, ASKED = "sim-1", "sim-2", "sim-3", "sim-4"


class World:
    """What the addresses of a simulated world are made of, read once."""

    def __init__(self) -> None:
        self.people = {
            role: User.objects.filter(groups__name=role).order_by("pk").last()
            for role in Role.values
        }
        wave = Wave.objects.get(code=RATED)
        self.bank = wave.bank_id
        self.item = wave.bank.items.first().code
        run = Run.objects.filter(wave__code=OVER).select_related("subject").order_by("pk").first()
        self.subject, self.condition = run.subject.code, run.condition
        pairs = Run.objects.filter(wave__code=PAIRS).select_related("subject").first()
        self.pair_subject = pairs.subject.code
        self.chamber = str(pairs.wave.bank.meta["chambers"][0]["code"])
        run = Run.objects.filter(wave=wave).order_by("pk").first()
        first = Response.objects.filter(run=run, status="completed").order_by("pk").first()
        self.response = first.code
        self.norming = Norming.objects.first().code

    def of(self, role: str) -> User:
        return self.people[role]


@dataclass(frozen=True)
class Visit:
    """One page: its name, whoever asks for it, and what its address holds.

    ``grows`` says why its statements may grow with the rows, where they may.
    """

    name: str
    role: str = ""
    args: Callable[[World], Args] = lambda world: {}
    query: Callable[[World], Args] = lambda world: {}
    method: str = "get"
    title: str = ""
    grows: str = ""
    status: tuple[int, ...] = (200,)

    @property
    def said(self) -> str:
        return f"{self.name} {self.title}".strip()

    def address(self, world: World) -> str:
        return reverse(self.name, kwargs=self.args(world))


@dataclass
class Cost:
    """What one visit cost."""

    status: int
    statements: list[str] = field(default_factory=list)
    seconds: float = 0.0
    in_database: float = 0.0
    rows: int = 0
    read: int = 0  # bytes of what came out of the database, as text
    sent: int = 0
    body: bytes = b""


def of(wave: str, **more: Any) -> Callable[[World], Args]:
    return lambda world: {"wave": wave, **more}


M, R, A, J, V = (
    Role.MAINTAINER,
    Role.RATER,
    Role.ADMIN,
    Role.ADJUDICATOR,
    Role.ITEM_REVIEWER,
)
FILES = (
    "report.html", "report.json", "report.pdf", "ratings.csv", "ratings_wide.csv", "facets.csv",
    "facets.txt", "dictionary.csv",
)  # fmt: skip
WHOLE = ("report.json", "figures.csv", "report.pdf", "internal.zip")

VISITS = [
    Visit("healthz"),
    Visit("readyz", status=(200, 503)),
    Visit("account_login"),
    Visit("account_change_password", R, status=(200, 302)),
    Visit("home", status=(302,), title="signed out"),
    *(Visit("home", role, title=role) for role in Role.values),
    Visit("rating:about"),
    Visit("rating:published"),
    Visit("rating:guidelines", R),
    Visit("rating:queue", R),
    Visit("rating:start", R, method="post", title="the next card", status=(200, 303)),
    Visit("rating:pause", R),
    Visit("rating:practice", R),
    Visit("rating:practice_next", R, method="post", status=(404,)),
    Visit("rating:qualify_next", R, method="post", status=(404,)),
    Visit("rating:standing", R),
    Visit("rating:own_file", R, lambda world: {"name": "hours.csv"}),
    Visit("rating:own_file", R, lambda world: {"name": "exposure.csv"}, title="exposure"),
    Visit("rating:vote", R, status=(404,)),
    Visit("rating:token", R),
    Visit("rating:care", M),
    Visit("rating:care_file", M, lambda world: {"name": "hours.csv"}),
    Visit(
        "rating:care_file", M, lambda world: {"name": "exposure.csv"}, title="exposure",
        grows="raters",
    ),
    Visit("rating:norming", M),
    Visit("rating:agree", J, lambda world: {"code": world.norming}, status=(200, 404)),
    Visit("rating:settle_queue", J),
    Visit("rating:settle_next", J, method="post", status=(200, 303)),
    Visit("rating:review_queue", V),
    Visit("rating:review_next", V, method="post", status=(200, 302)),
    Visit("rating:reviews", M, grows="reviewers"),
    Visit("rating:raters", M),
    Visit("rating:effects", M),
    Visit("rating:who_sees_what", R),
    Visit("rating:freeze", M, of(RATED)),
    Visit("rating:unblind", M, of(OVER)),
    Visit("rating:names", M, of(RATED)),
    Visit("rating:key", M, of(OVER)),
    Visit("rating:key_file", M, of(OVER)),
    *(
        Visit("rating:agreement", M, of(wave), lambda world, by=by: {"by": by} if by else {},
              title=f"{wave} {by}".strip())
        for wave in (OVER, RATED)
        for by in ("", "item", "rater", "pair", "day", "wave", "kind", "work")
    ),
    Visit("rating:readings", M, lambda world: {"wave": RATED, "code": world.response}),
    Visit("rating:results", M, of(OVER)),
    Visit("rating:results", M, of(PAIRS), title="pairs"),
    Visit("rating:parity", M, of(PAIRS)),
    Visit("rating:health", M, of(OVER)),
    Visit("rating:gate", M, of(OVER)),
    Visit(
        "rating:why", M, of(OVER),
        lambda world: {"subject": world.subject, "condition": world.condition, "in": "AWR"},
    ),
    Visit(
        "rating:why", M, of(PAIRS),
        lambda world: {"subject": world.pair_subject, "condition": "a", "in": world.chamber},
        title="pairs",
    ),
    Visit("rating:whole_report", M, of(OVER)),
    *(
        Visit("rating:whole_file", M, of(OVER, name=name), title=name) for name in WHOLE
    ),
    Visit("rating:people", A),
    Visit("rating:bank", M),
    Visit("rating:bank_of", M, lambda world: {"pk": world.bank}),
    Visit("rating:item", M, lambda world: {"pk": world.bank, "code": world.item}),
    Visit("rating:draft_version", A, lambda world: {"pk": world.bank}),
    Visit(
        "rating:draft_item", A, lambda world: {"pk": world.bank, "code": world.item},
        status=(200, 302),
    ),
    Visit("rating:report", M, of(OVER)),
    Visit("rating:report", M, of(RATED), title="being rated"),
    *(Visit("rating:report_file", M, of(OVER, name=name), title=name) for name in FILES),
    Visit("runs:waves", M),
    Visit("runs:wave", M, lambda world: {"code": OVER}),
    Visit("runs:wave", M, lambda world: {"code": ASKED}, title="being asked"),
    Visit("runs:new", M),
    Visit("runs:file", M, of(RATED)),
    Visit("subjects:all", M),
    Visit("subjects:one", M, lambda world: {"code": world.subject}),
]  # fmt: skip

# Names that no visit of the walk has, and why.
NOT_WALKED = {
    "account_logout": "ends the session",
    "account_inactive": "a sentence",
    "account_set_password": "for accounts without one",
    "account_reset_password": "sends mail",
    "account_reset_password_done": "a sentence",
    "account_reset_password_from_key_done": "a sentence",
    "account_reset_password_from_key": "needs a link from a mail",
    "rating:join": "needs an invitation",
    "rating:published_report": "a stored text: see the pages of the report",
    "rating:published_file": "a stored text",
    "rating:text": "a card's own text, sent to it and back",
    "rating:rate": "walked as a cycle: submit, and the next card",
    "rating:skip": "walked with the queue's own tests",
    "rating:keep": "saves a draft",
    "rating:undo": "acts on one card",
    "rating:guess": "acts on one card",
    "rating:practised": "one card that was practised",
    "rating:qualification": "one attempt",
    "rating:notice": "acts on one person",
    "rating:counts": "acts on one person",
    "rating:nominate": "acts",
    "rating:seniors": "acts",
    "rating:retire": "acts",
    "rating:settle": "one card",
    "rating:review": "one card",
    "rating:hand_over": "acts",
    "rating:pause_rater": "acts",
    "rating:resume_rater": "acts",
    "rating:cover": "acts",
    "rating:expertise": "acts",
    "rating:access": "acts on one person",
    "rating:erase_person": "acts on one person",
    "rating:factor_anew": "acts on one person",
    "rating:second_factor": "one's own",
    "rating:set_up_factor": "one's own",
    "rating:turn_off_factor": "one's own",
    "rating:recovery_codes": "one's own",
    "rating:recovery_file": "one's own",
    "rating:api": "the same for everybody",
    "rating:api_tokens": "a few tokens",
    "rating:end_api_token": "acts",
    "rating:judges": "no world has judges: tests/judges/test_beside.py",
    "rating:judges_beside": "the same",
    "rating:judgements": "the same",
    "mfa_authenticate": "a form",
    "mfa_reauthenticate": "a form",
    "account_reauthenticate": "a form",
    "rating:report_all": "asks a worker",
    "runs:load": "acts",
    "runs:basics": "of a draft, which has no rows",
    "runs:subjects": "of a draft, which has no rows",
    "runs:preregistration": "of a draft, which has no rows",
    "runs:cost": "of a draft, which has no rows",
    "runs:lock": "of a draft, which has no rows",
    "runs:delete": "of a draft, which has no rows",
    "runs:start": "acts",
    "runs:act": "acts",
    "runs:deviate": "acts",
    "runs:ceiling": "acts",
    "runs:probe": "acts",
}


def all_names(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """Every URL name of a page, with its namespace. What programs call is counted by its own tests."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            if one.namespace == "api":
                continue
            within = f"{prefix}{one.namespace}:" if one.namespace else prefix
            yield from all_names(one.url_patterns, within)
        elif isinstance(one, URLPattern) and one.name:
            yield prefix + one.name


def client_of(world: World, role: str) -> Client:
    client = Client()
    if role:
        client.force_login(world.of(role))
    return client


def visit(client: Client, one: Visit, world: World) -> Cost:
    """Make one visit, and say what it cost."""
    ask = client.post if one.method == "post" else client.get
    with counted() as cost:
        began = time.perf_counter()
        answer = ask(one.address(world), one.query(world))
        cost.body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        cost.seconds = time.perf_counter() - began
    cost.status, cost.sent = answer.status_code, len(cost.body)
    return cost


@contextmanager
def counted() -> Iterator[Cost]:
    """Count what is asked of the database, and what comes back."""
    cost = Cost(0)

    def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        cost.statements.append(sql)
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            cost.in_database += time.perf_counter() - began

    with connection.execute_wrapper(watch):
        yield cost


def kind_of(sql: str) -> str:
    """A statement without its values, to tell statements of one kind together."""
    return re.sub(r"\s+", " ", re.sub(r"(%s(, )?)+", "%s", sql))
