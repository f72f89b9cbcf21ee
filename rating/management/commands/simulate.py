"""Fill an empty database with a world of simulated people, replies and ratings, to try its size.

Nothing in it was said by a model or a person. See ``rating.simulation`` for how it is drawn.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.utils import timezone

from rating import seeding, simulation
from rating.clock import midnight
from rating.consistency import count_tallies
from rating.events import end_of_chain, seal_events, seal_from
from rating.integrity.sealing import mark_all
from rating.models import (
    Adjudication,
    Assignment,
    Event,
    Exposure,
    Guess,
    ItemReview,
    Kind,
    Norming,
    Qualification,
    Quote,
    Rating,
    ReviewHold,
    ReviewWork,
    Role,
    Saw,
    Slot,
    Use,
    User,
)
from rating.queue import Given, hand, open_slots, rate
from rating.quotes import Span
from rating.rules_kept import rules_broken
from rating.simulation import COLUMNS, Agreed, Chance, Counters, Numbers, Part, People
from runs.bank import read_bank
from runs.guards import lifted
from runs.models import Bank, Item, Response, Run, RunState, Status, Subject, Wave
from runs.waves import save_draft

FIXTURES = settings.BASE_DIR / "fixtures"
LARGE = 20_000  # from so many responses on the world has the whole banks
BANKS = {
    False: {"model-index": "demo_bank.json", "unconditionality": "demo_pairs.json"},
    True: {"model-index": "model_index.json", "unconditionality": "unconditionality.json"},
}
TABLES: dict[str, type[models.Model]] = {
    model._meta.db_table: model
    for model in (Response, Slot, Assignment, Quote, Rating, Guess, Adjudication, Event)
}
# What no world is built beside.
HELD = (User, Bank, Subject, Wave, Response, Rating, Event)
REVIEWERS, ADJUDICATORS = 12, 10
UNDER = ("A", "B", "C")  # conditions
PREREGISTRATION = (
    "Simulated to try how the product bears its size. Nothing in this wave was said by a model or "
    "a person, and no figure of it says anything about either."
)


class Command(BaseCommand):
    help = "Fill an empty database with simulated replies and ratings, to try its size."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--responses", type=int, default=1_000_000)
        parser.add_argument("--raters", type=int, default=500)
        parser.add_argument("--seed", default="1", help="the same seed makes the same world")
        parser.add_argument("--alpha", type=float, default=0.65, help="how far two ratings agree")
        parser.add_argument(
            "--no-events", action="store_true", help="leave out the log of the ratings"
        )
        parser.add_argument("--no-check", action="store_true", help="do not ask the rules again")

    def handle(
        self,
        *args: Any,
        responses: int,
        raters: int,
        seed: str,
        alpha: float,
        no_events: bool,
        no_check: bool,
        **options: Any,
    ) -> None:
        if responses < 500:
            raise CommandError(f"A world of {responses} responses is too small: give 500 or more.")
        if raters < 4:
            raise CommandError(f"A world of {raters} raters is too small: give 4 or more.")
        if not 0.05 <= alpha <= 0.95:
            raise CommandError(f"An alpha of {alpha} cannot be made: give one from 0.05 to 0.95.")
        for model in HELD:
            if model._default_manager.exists():
                raise CommandError(
                    f"This database holds data ({model._meta.verbose_name_plural}). A simulated "
                    "world never stands beside other data: name an empty database in DATABASE_URL "
                    "(or VAR_DIR for SQLite), and migrate it first."
                )
        began = time.monotonic()
        world = _World(self, responses, raters, seed, alpha, midnight(timezone.now()))
        world.build(events=not no_events)
        self._say("Asking the database to take stock of what it holds.")
        with connection.cursor() as cursor:
            alone = connection.vendor == "postgresql" and not connection.in_atomic_block
            cursor.execute("VACUUM ANALYZE" if alone else "ANALYZE")
        if not no_check:
            self._say("Asking every rule of every row.")
            if found := list(rules_broken()):
                raise CommandError("\n".join(found))
        self.stdout.write(
            f"Simulated in {time.monotonic() - began:,.0f} s, all of it made up: "
            + ", ".join(
                f"{model._default_manager.count():,} {name}"
                for name, model in (
                    ("responses", Response),
                    ("ratings", Rating),
                    ("quotes", Quote),
                    ("cards", Assignment),
                    ("adjudications", Adjudication),
                    ("events", Event),
                )
            )
            + f"; {raters:,} raters. Nobody can sign in yet: "
            "`.venv/bin/python manage.py changepassword sim-admin@example.org` lets one."
        )

    def _say(self, line: str) -> None:
        self.stderr.write(line)


class _World:
    def __init__(
        self,
        command: Command,
        responses: int,
        raters: int,
        seed: str,
        alpha: float,
        ends: datetime,
    ) -> None:
        self.say = command._say
        self.responses, self.raters, self.seed, self.alpha = responses, raters, seed, alpha
        self.ends = ends

    def build(self, *, events: bool) -> None:
        self.say("People, banks and plans.")
        names = BANKS[self.responses >= LARGE]
        banks = {}
        for instrument, name in names.items():
            banks[instrument], _ = Bank.objects.import_file(read_bank(FIXTURES / name))
        people = self._people()
        self._reviews(banks.values(), people[Role.ITEM_REVIEWER])
        served = {key: bank.items.served().count() for key, bank in banks.items()}
        shapes = simulation.waves_of(self.responses, served)
        at_work = People(
            [user.pk for user in people[Role.RATER]],
            [user.pk for user in people[Role.ADJUDICATOR]],
            simulation.severities(self.raters, self.seed, self.alpha),
        )
        waves = [(shape, self._wave(shape, banks[shape.instrument])) for shape in shapes]
        agreed_of, agreed = self._agreed(banks["model-index"], people)
        self._qualified(people[Role.RATER])
        seal_events()
        response, slot, assignment, quote, event = (
            1 + (model._default_manager.aggregate(at=models.Max("pk"))["at"] or 0)
            for model in (Response, Slot, Assignment, Quote, Event)
        )
        cards = Assignment.objects.order_by().values_list("rater").annotate(models.Max("ordinal"))
        counters = Counters(response, slot, assignment, quote, event, dict(cards))
        store = _Store(events)
        with lifted(), _unindexed(self.say):
            for shape, wave in waves:
                self._fill(shape, wave, at_work, counters, store)
            if agreed:
                store(
                    simulation.checks(
                        self._numbers(agreed_of),
                        at_work,
                        counters,
                        agreed,
                        seed=self.seed,
                        alpha=self.alpha,
                        ends=self._naive,
                    )
                )
        with lifted():
            self.say("Counting who rated what.")
            count_tallies()
            _reset_sequences()
            for shape, wave in waves:
                if shape.over:
                    wave.ratings_frozen_at = self.ends + timedelta(hours=1)
                    wave.unblinded_at = self.ends + timedelta(hours=2)
                    wave.save(update_fields=["ratings_frozen_at", "unblinded_at"])
                    Exposure.objects.create(
                        person=people[Role.MAINTAINER][0],
                        saw=Saw.SUBJECTS,
                        wave=wave,
                        seen_at=wave.unblinded_at,
                    )
        mark_all()

    @property
    def _naive(self) -> datetime:
        return self.ends.astimezone(UTC).replace(tzinfo=None)

    def _people(self) -> dict[str, list[User]]:
        groups = {group.name: group for group in Group.objects.all()}
        people: dict[str, list[User]] = {}
        words = Chance(f"{self.seed}|people").codes(self.raters + REVIEWERS + ADJUDICATORS + 3)
        codes = iter(words)
        for role, count in (
            (Role.RATER, self.raters),
            (Role.ITEM_REVIEWER, REVIEWERS),
            (Role.ADJUDICATOR, ADJUDICATORS),
            (Role.MAINTAINER, 2),
            (Role.ADMIN, 1),
        ):
            short = role.value.split()[-1]
            made = [
                User(
                    email=f"sim-{short}{'' if count == 1 else f'-{number}'}@example.org",
                    name=f"Simulated {role.label} {number}",
                    password=make_password(None),
                    pseudonym=f"r-{(code := next(codes))[:8]}",
                    check_key=code.replace("-", ""),
                    senior=role == Role.RATER and number <= 3,
                    expertise=["clinician"] if role == Role.ITEM_REVIEWER else [],
                    joined_at=self.ends - timedelta(days=simulation.DAYS + 14),
                )
                for number in range(1, count + 1)
            ]
            people[role] = User.objects.bulk_create(made, batch_size=500)
            member = User.groups.through
            member._default_manager.bulk_create(
                [member(user_id=user.pk, group_id=groups[role].pk) for user in people[role]],
                batch_size=500,
            )
        return people

    def _reviews(self, banks: Iterable[Bank], reviewers: Sequence[User]) -> None:
        """Two reviews of every wording, each by an expert who found it fit."""
        at = self.ends - timedelta(days=simulation.DAYS + 9)
        hashes: dict[str, Item] = {}
        for bank in banks:
            for item in bank.items.all():
                hashes.setdefault(item.content_hash, item)
        works = ReviewWork.objects.bulk_create(
            ReviewWork(content_hash=one, opened_at=at) for one in hashes
        )
        holds = ReviewHold.objects.bulk_create(
            ReviewHold(
                work=work,
                item=hashes[work.content_hash],
                reviewer=reviewers[(2 * place + number) % len(reviewers)],
                number=number,
                leased_at=at,
                expires_at=at + timedelta(minutes=45),
                ended_at=at + timedelta(minutes=12),
                outcome="sent",
            )
            for place, work in enumerate(works)
            for number in (1, 2)
        )
        ItemReview.objects.bulk_create(
            ItemReview(
                content_hash=hold.item.content_hash,
                item=hold.item,
                reviewer=hold.reviewer,
                hold=hold,
                number=hold.number,
                applicable=True,
                discriminating=True,
                monotonic=True,
                on_construct=True,
                safe_and_accurate=True,
                verdict="validated",
                minutes=12,
                expert=True,
                reviewed_at=at + timedelta(minutes=12),
            )
            for hold in holds
        )

    def _wave(self, shape: simulation.Wave, bank: Bank) -> Wave:
        """The plan of a wave, locked, with its runs; its responses come later."""
        conditions = UNDER[: shape.conditions]
        snapshots = [f"{shape.code}-build-{n}-2026-01-01" for n in range(1, shape.subjects + 1)]
        plan: dict[str, Any] = {
            "code": shape.code,
            "title": shape.title,
            "kind": "local",
            "bank": str(bank),
            "seed": f"{self.seed} {shape.code}",
            "trials": shape.trials,
            "preregistration": PREREGISTRATION,
            "declared": {"agreement_floor": 0.5, "exclusion_rule": "None is left out."},
            "subjects": [
                {
                    "developer": f"Simulated developer {'ABCDEFG'[n % 7]}",
                    "family": "Simulated",
                    "snapshot": snapshot,
                    "provider": "import",
                    "access_tier": "simulated",
                    "conditions": [
                        {"name": name.lower(), "system_message": "" if name == "A" else name}
                        for name in conditions
                    ],
                }
                for n, snapshot in enumerate(snapshots)
            ],
        }
        wave = save_draft(plan)
        locked = self.ends - timedelta(days=simulation.DAYS + 8)
        for row in plan["subjects"]:
            subject = Subject.objects.create(
                developer=row["developer"],
                family=row["family"],
                snapshot=row["snapshot"],
                provider=row["provider"],
                access_tier=row["access_tier"],
            )
            Run.objects.bulk_create(
                Run(
                    wave=wave,
                    subject=subject,
                    condition=condition["name"],
                    system_message=condition["system_message"],
                    state=RunState.DONE if shape.answered == 1 else RunState.PAUSED,
                    started_at=locked,
                    ended_at=locked + timedelta(days=7) if shape.answered == 1 else None,
                )
                for condition in row["conditions"]
            )
        wave.created_at = wave.locked_at = locked
        wave.save(update_fields=["created_at", "locked_at"])
        return wave

    def _numbers(self, wave: Wave) -> Numbers:
        items = list(wave.bank.items.served().prefetch_related("anchors"))
        of = {
            item: (pair, arm)
            for pair, *both in wave.bank.pairs.values_list("pk", "arm_a", "arm_b")
            for arm, item in enumerate(both, start=1)
        }
        runs = list(wave.runs.select_related("subject").order_by("pk"))
        return Numbers(
            wave=wave.pk,
            runs=[run.pk for run in runs],
            subject_of=[run.subject_id for run in runs],
            developer_of=[run.subject.developer for run in runs],
            items=[item.pk for item in items],
            pairs=[of.get(item.pk, (None, 0))[0] for item in items],
            arms=[of.get(item.pk, (None, 0))[1] for item in items],
            topics=[item.topic for item in items],
            anchors=[[anchor.pk for anchor in item.anchors.all()] for item in items],
            levels=list(wave.bank.levels),
        )

    def _fill(
        self,
        shape: simulation.Wave,
        wave: Wave,
        people: People,
        counters: Counters,
        store: "_Store",
    ) -> None:
        numbers = self._numbers(wave)
        began = time.monotonic()
        for done, part in simulation.parts(
            shape,
            numbers,
            people,
            counters,
            seed=self.seed,
            alpha=self.alpha,
            ends=self._naive,
            guess_percent=settings.GUESS_PERCENT,
            adjudicate_at=settings.ADJUDICATE_AT,
            adjudicate_sample=settings.ADJUDICATE_SAMPLE_PERCENT,
            makers=sorted(set(numbers.developer_of)),
        ):
            store(part)
            if done % (10 * simulation.PART) == 0 or done == shape.responses:
                self.say(
                    f"{shape.code}: {done:,} of {shape.responses:,} responses, "
                    f"{done / (time.monotonic() - began):,.0f} a second."
                )

    def _agreed(self, bank: Bank, people: dict[str, list[User]]) -> tuple[Wave, list[Agreed]]:
        """A small wave of agreed responses, voted on and settled as people do it, guards and all."""
        number = 60 if self.responses >= LARGE else 6
        at = self.ends - timedelta(days=simulation.DAYS + 5)
        items = list(bank.items.served().filter(topic="").prefetch_related("anchors"))
        chance = Chance(f"{self.seed}|agreed")
        wave = Wave.objects.create(
            code="sim-agreed",
            title="Simulated: agreed responses",
            bank=bank,
            seed=f"{self.seed} agreed",
            trials=1,
            preregistration=PREREGISTRATION,
            preregistration_hash=hashlib.sha256(PREREGISTRATION.encode()).hexdigest(),
        )
        subject = Subject.objects.create(
            developer="Simulated developer H",
            family="Simulated",
            snapshot="sim-agreed-2026-01-01",
            provider="import",
            access_tier="simulated",
        )
        run = Run.objects.create(wave=wave, subject=subject, state=RunState.DONE)
        spans = {}
        for place, item in enumerate(items[:number]):
            text, spans[item.pk] = simulation.text_of(chance, 6)
            Response.objects.create(
                run=run,
                item=item,
                trial=1,
                position=place,
                seed=place,
                code=chance.codes(1)[0],
                status=Status.COMPLETED,
                text=text,
                text_hash=hashlib.sha256(text.encode()).hexdigest(),
                completed_at=at,
            )
        wave.locked_at = at
        wave.save(update_fields=["locked_at"])
        open_slots(list(run.responses.values_list("pk", flat=True)))
        seeding.nominate(wave, number, people[Role.MAINTAINER][0], now=at)
        # By their places among the served items, as the wave's numbers have them.
        places = {item.pk: n for n, item in enumerate(bank.items.served())}
        agreed = []
        for place, norming in enumerate(
            Norming.objects.filter(response__run=run).select_related("response").order_by("pk")
        ):
            response = norming.response
            level = bank.levels[1 + place % (len(bank.levels) - 1)]
            start, end = spans[response.item_id][0]
            for senior in people[Role.RATER][:2]:
                card = hand(senior, response, Kind.NORMING, now=at)
                rate(card, Given(level=level, quotes=((Span(start, end), False),)), now=at)
            seeding.settle(
                norming,
                people[Role.ADJUDICATOR][0],
                level=level,
                tolerance=1,
                reasons="Simulated: both votes say so.",
                quotes=[(start, end, False)],
                use=Use.LIVE,
                now=at,
            )
            agreed.append(
                Agreed(
                    response.pk,
                    places[response.item_id],
                    list(bank.levels).index(level),
                    spans[response.item_id],
                )
            )
        return wave, agreed

    def _qualified(self, raters: Sequence[User]) -> None:
        Qualification.objects.bulk_create(
            (
                Qualification(
                    rater=rater,
                    instrument=instrument,
                    items=20,
                    within_one=19,
                    exact=14,
                    need_within_one=16,
                    need_exact=10,
                    passed=True,
                    decided_at=self.ends - timedelta(days=simulation.DAYS + 2),
                )
                for rater in raters
                for instrument in ("model-index", "unconditionality")
            ),
            batch_size=500,
        )


class _Store:
    """Stores a part whole: by COPY on PostgreSQL, else by as many rows at once as there are."""

    def __init__(self, events: bool) -> None:
        self.events = events
        self.place, self.previous = end_of_chain()

    def __call__(self, part: Part) -> None:
        part.rows["rating_event"] = self._sealed(part.rows["rating_event"]) if self.events else []
        with transaction.atomic(), connection.cursor() as cursor:
            for table, rows in part.rows.items():
                if rows:
                    _insert(cursor, table, rows)

    def _sealed(self, rows: list[simulation.Row]) -> list[simulation.Row]:
        sealed = []
        for pk, kind, actor, about, at in rows:
            seal = seal_from(pk, kind, actor, about, at.replace(tzinfo=UTC), self.previous)
            self.place += 1
            sealed.append((pk, kind, actor, json.dumps(about), at, self.place, self.previous, seal))
            self.previous = seal
        return sealed


def _insert(cursor: Any, table: str, rows: Sequence[simulation.Row]) -> None:
    names = COLUMNS[table]
    quoted = ", ".join(f'"{name}"' for name in names)
    if connection.vendor != "postgresql":
        kept = [_kept_by_sqlite(table, name) for name in names]
        cursor.executemany(
            f"INSERT INTO {table} ({quoted}) VALUES ({', '.join(['%s'] * len(names))})",
            [
                tuple(
                    value if keep is None or value is None else keep(value)
                    for keep, value in zip(kept, row, strict=True)
                )
                for row in rows
            ],
        )
        return
    with cursor.copy(f"COPY {table} ({quoted}) FROM STDIN") as copy:
        copy.write("".join("\t".join(map(_as_copied, row)) + "\n" for row in rows))


def _as_copied(value: Any) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, str):
        return (
            value.replace("\\", r"\\").replace("\n", r"\n").replace("\t", r"\t")
            if "\n" in value or "\\" in value or "\t" in value
            else value
        )
    if isinstance(value, datetime):
        return f"{value}+00"
    return str(value)


def _kept_by_sqlite(table: str, column: str) -> Callable[[Any], Any] | None:
    field = next(one for one in TABLES[table]._meta.concrete_fields if one.column == column)
    kind = field.target_field if isinstance(field, models.ForeignKey) else field
    if isinstance(kind, models.UUIDField):
        return lambda value: value.replace("-", "")
    if isinstance(kind, models.DateTimeField):
        return str
    return None


@contextmanager
def _unindexed(say: Callable[[str], None]) -> Iterator[None]:
    """PostgreSQL: take indexes and foreign keys away, and put them back over all rows at once.

    That takes a fraction of the time, and checks every row: one that breaks a rule is refused then.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        tables = list(TABLES)
        cursor.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE conrelid::regclass::text = ANY(%s) AND contype IN ('f', 'u')"
            " ORDER BY contype DESC, conname",
            [tables],
        )
        constraints = cursor.fetchall()
        cursor.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid::regclass::text = ANY(%s) AND NOT indisprimary AND NOT EXISTS"
            " (SELECT 1 FROM pg_constraint c WHERE c.conindid = indexrelid AND c.contype = 'u')"
            " ORDER BY 1",
            [tables],
        )
        indexes = cursor.fetchall()
        with transaction.atomic():
            # What waits for the end of a transaction holds on to its table.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for table, name, _ in reversed(constraints):
                cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
            for name, _ in indexes:
                cursor.execute(f"DROP INDEX {name}")
        try:
            yield
        finally:
            say("Building indexes and checking foreign keys.")
            with transaction.atomic():
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET LOCAL maintenance_work_mem = '256MB'")
                for _, definition in indexes:
                    cursor.execute(definition)
                for table, name, definition in constraints:
                    cursor.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
                # Without it the planner takes these tables for empty, and what joins two never ends.
                cursor.execute(f"ANALYZE {', '.join(tables)}")
                # Where this is part of a larger transaction, rows wait for its end again.
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _reset_sequences() -> None:
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(TABLES.values())):
            cursor.execute(statement)
