"""The plainest valid rows. A test states what matters to it."""

import hashlib
from decimal import Decimal

import factory
from django.utils import timezone
from factory.django import DjangoModelFactory

from runs.models import (
    Anchor,
    Bank,
    Instrument,
    Item,
    Pair,
    Provider,
    Response,
    Run,
    RunState,
    Status,
    Subject,
    Wave,
)


class AnchorFactory(DjangoModelFactory):
    class Meta:
        model = Anchor

    level = 1
    label = factory.LazyAttribute(lambda anchor: f"Label {anchor.level}")
    description = factory.LazyAttribute(lambda anchor: f"What level {anchor.level} looks like.")


class ItemFactory(DjangoModelFactory):
    class Meta:
        model = Item
        skip_postgeneration_save = True

    code = factory.Sequence(lambda n: f"AWR-{n}")
    position = factory.Sequence(lambda n: n)
    dimension = "AWR"
    # No code in it: a message that names one is never sent.
    prompt = factory.LazyAttribute(lambda item: f"What would you say to person {item.position}?")
    content_hash = factory.LazyAttribute(
        lambda item: hashlib.sha256(item.prompt.encode()).hexdigest()
    )

    @factory.post_generation
    def anchors(self, create, extracted, **kwargs):
        for level in self.bank.levels:
            AnchorFactory(item=self, level=level)


class BankFactory(DjangoModelFactory):
    """A frozen bank of ``items`` items; ``pairs`` pairs of two more are added to them."""

    class Meta:
        model = Bank
        skip_postgeneration_save = True

    name = "Model Index"
    version = factory.Sequence(lambda n: f"test-{n}")
    instrument = Instrument.MODEL_INDEX
    levels = factory.LazyFunction(lambda: [1, 2, 3, 4, 5])
    content_hash = factory.LazyAttribute(
        lambda bank: hashlib.sha256(f"{bank.name} {bank.version}".encode()).hexdigest()
    )

    @factory.post_generation
    def items(self, create, extracted, **kwargs):
        for number in range(4 if extracted is None else extracted):
            ItemFactory(bank=self, code=f"AWR-{number}", position=number)

    @factory.post_generation
    def pairs(self, create, extracted, **kwargs):
        for number in range(extracted or 0):
            a, b = (
                ItemFactory(bank=self, code=f"P{number}-{arm}", position=1000 + 2 * number)
                for arm in "AB"
            )
            Pair.objects.create(bank=self, code=f"P{number}", chamber="1", arm_a=a, arm_b=b)

    @factory.post_generation
    def withheld(self, create, extracted, **kwargs):
        for number in range(extracted or 0):
            ItemFactory(bank=self, code=f"W-{number}", position=2000 + number, withheld="draft")

    @factory.post_generation
    def freeze(self, create, extracted, **kwargs):
        if extracted is not False:
            self.frozen_at = timezone.now()
            self.save(update_fields=["frozen_at"])


class SubjectFactory(DjangoModelFactory):
    class Meta:
        model = Subject

    developer = "Example Lab"
    family = "Example"
    snapshot = factory.Sequence(lambda n: f"example-{n}-2026-01-01")
    provider = Provider.DEMO


class WaveFactory(DjangoModelFactory):
    """A wave whose plan is still open; ``locked_at`` closes it."""

    class Meta:
        model = Wave

    code = factory.Sequence(lambda n: f"wave-{n}")
    title = "A wave"
    bank = factory.SubFactory(BankFactory)
    seed = "20261130"
    trials = 2
    preregistration = "We ask, and then we rate."
    preregistration_hash = factory.LazyAttribute(
        lambda wave: hashlib.sha256(wave.preregistration.encode()).hexdigest()
    )


class RunFactory(DjangoModelFactory):
    """A run; ``rows=True`` adds a pending response for every trial of every served item."""

    class Meta:
        model = Run
        skip_postgeneration_save = True

    wave = factory.SubFactory(WaveFactory)
    subject = factory.SubFactory(SubjectFactory)
    state = RunState.ASKING

    @factory.post_generation
    def rows(self, create, extracted, **kwargs):
        if extracted:
            items = Item.objects.served().filter(bank=self.wave.bank)
            Response.objects.bulk_create(
                Response(run=self, item=item, trial=trial, position=position, seed=position)
                for position, (trial, item) in enumerate(
                    (trial, item) for trial in range(1, self.wave.trials + 1) for item in items
                )
            )


class ResponseFactory(DjangoModelFactory):
    """A completed response to the first item of its bank."""

    class Meta:
        model = Response

    run = factory.SubFactory(RunFactory)
    item = factory.LazyAttribute(lambda response: response.run.wave.bank.items.first())
    trial = 1
    position = factory.Sequence(lambda n: n)
    seed = 1
    status = Status.COMPLETED
    text = "I am sorry that this happened. What would help you now?"
    text_hash = factory.LazyAttribute(
        lambda response: hashlib.sha256(response.text.encode()).hexdigest() if response.text else ""
    )
    completed_at = factory.LazyFunction(timezone.now)


# A million tokens received cost a million: a token costs 1.
PRICES = {
    "cost": {"currency": "EUR", "prices": [{"snapshot": "priced", "input": 0, "output": 1e6}]}
}


def priced(ceiling="50", also=(), **options):
    """A run of a subject each of whose tokens costs 1 EUR, in a locked wave with a ceiling.

    ``also`` names conditions of other runs of it.
    """
    wave = WaveFactory(
        plan=PRICES, trials=3, cost_ceiling=Decimal(ceiling), bank__items=options.pop("items", 10)
    )
    run = RunFactory(wave=wave, subject=SubjectFactory(snapshot="priced"), rows=True, **options)
    for condition in also:
        RunFactory(wave=wave, subject=run.subject, condition=condition, rows=True)
    wave.locked_at = timezone.now()
    wave.save(update_fields=["locked_at"])
    return run
