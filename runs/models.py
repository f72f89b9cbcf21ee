"""What was asked, of whom, and what came back."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.text import slugify

from runs.bank import BankFile, bank_hash, is_unpublished
from runs.bank_text import item_row, pair_row
from runs.canonical import digest
from runs.declared import Costs, Declared, costs_of, declared_of
from runs.registry import (
    MODERATION,
    PINNED,
    RUNTIMES,
    SURFACES,
    SYSTEM_PROMPTS,
    pinned_by,
)

M = TypeVar("M", bound=models.Model)
READ_TOGETHER = 2000  # responses, where many are gone through: with their rows some megabytes


class Instrument(models.TextChoices):
    MODEL_INDEX = "model-index", "Model Index"
    UNCONDITIONALITY = "unconditionality", "Unconditionality"


class BankManager(models.Manager["Bank"]):
    def import_file(self, file: BankFile) -> tuple["Bank", bool]:
        """Store a bank that passed its checks, whole and frozen; say whether it is new.

        The same content twice is the same bank.
        """
        with transaction.atomic():
            known = self.filter(content_hash=file.content_hash).first()
            if known:
                return known, False
            if self.filter(name=file.name, version=file.version).exists():
                raise ValidationError(
                    f"Bank {file.name} {file.version} exists with other content. "
                    "A bank never changes: give the new one a version of its own."
                )
            bank = self.create(
                name=file.name,
                version=file.version,
                instrument=file.instrument,
                language=file.language,
                levels=list(file.levels),
                meta=file.meta,
                content_hash=file.content_hash,
            )
            items = Item.objects.bulk_create(
                Item(
                    bank=bank,
                    code=item.code,
                    position=position,
                    dimension=item.dimension,
                    subdimension=item.subdimension,
                    construct=item.construct,
                    prompt=item.prompt,
                    turns=[{"role": turn.role, "content": turn.content} for turn in item.turns],
                    language=item.language,
                    pool=item.pool,
                    topic=item.topic,
                    withheld=item.withheld,
                    details=item.details,
                    content_hash=item.content_hash,
                )
                for position, item in enumerate(file.items)
            )
            by_code = {item.code: item for item in items}
            Anchor.objects.bulk_create(
                Anchor(
                    item=by_code[item.code],
                    level=anchor.level,
                    label=anchor.label,
                    description=anchor.description,
                    note=anchor.note,
                )
                for item in file.items
                for anchor in item.anchors
            )
            Pair.objects.bulk_create(
                Pair(
                    bank=bank,
                    code=pair.code,
                    chamber=pair.chamber,
                    arm_a=by_code[pair.a],
                    arm_b=by_code[pair.b],
                    details=pair.details,
                )
                for pair in file.pairs
            )
            bank.frozen_at = timezone.now()
            bank.save(update_fields=["frozen_at"])
        return bank, True


class Bank(models.Model):
    """A versioned set of items with one scale. Frozen once its last row is in."""

    name = models.CharField(max_length=100)
    version = models.CharField(max_length=50)
    instrument = models.CharField(max_length=30, choices=Instrument)
    language = models.CharField(max_length=20, default="en")
    levels = models.JSONField()
    meta = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64, unique=True)
    imported_at = models.DateTimeField(default=timezone.now)
    frozen_at = models.DateTimeField(null=True, blank=True)

    objects = BankManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="runs_bank_one_per_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def as_data(self) -> dict[str, Any]:
        """The bank as its file holds it, the same that was imported.

        Raises
        ------
        ValidationError
            If it cannot be written back exactly, which is so for banks stored before this could be.
        """
        data: dict[str, Any] = {
            "meta": self.meta,
            "items": [item.as_row(self.meta) for item in self.items.prefetch_related("anchors")],
        }
        if pairs := [
            pair.as_row() for pair in self.pairs.select_related("arm_a", "arm_b").order_by("pk")
        ]:
            data["pairs"] = pairs
        if bank_hash(data) != self.content_hash:
            raise ValidationError(
                f"Bank {self} cannot be written back as it was: its rows do not give its hash "
                f"{self.content_hash}. Use the file it was imported from."
            )
        return data


class ItemQuerySet(models.QuerySet["Item"]):
    def served(self) -> Self:
        """Those a plan asks by default: no drafts, no crisis items, nothing retired."""
        return self.filter(withheld="")


class Item(models.Model):
    """One situation, with the prompt that is asked. Everything but prompt and turns is ours."""

    bank = models.ForeignKey(Bank, models.PROTECT, related_name="items")
    code = models.CharField(max_length=50)
    position = models.PositiveIntegerField()
    dimension = models.CharField(max_length=10, blank=True)
    subdimension = models.CharField(max_length=10, blank=True)
    construct = models.CharField(max_length=200, blank=True)
    prompt = models.TextField()
    turns = models.JSONField(default=list)
    language = models.CharField(max_length=20, default="en")
    pool = models.CharField(max_length=50, default="core-public")
    topic = models.CharField(max_length=100, blank=True)
    withheld = models.CharField(max_length=100, blank=True)
    details = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64)

    objects = ItemQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "code"], name="runs_item_one_per_code"),
        ]
        ordering = ["bank", "position"]

    def __str__(self) -> str:
        return self.code

    @property
    def unpublished(self) -> bool:
        """Whether its text may appear only where it must."""
        return is_unpublished(self.pool, self.details)

    @property
    def has_own_anchors(self) -> bool:
        """Whether its levels are described for it alone, not by the bank's common rubric."""
        rubric = self.bank.meta.get("rubric")
        return bool(self.as_row(self.bank.meta).get("anchors", rubric) != rubric)

    def as_row(self, meta: dict[str, Any]) -> dict[str, Any]:
        """The item as a bank file of this meta holds it."""
        return item_row(
            code=self.code,
            prompt=self.prompt,
            turns=self.turns,
            dimension=self.dimension,
            subdimension=self.subdimension,
            construct=self.construct,
            language=self.language,
            pool=self.pool,
            anchors=[(a.level, a.label, a.description, a.note) for a in self.anchors.all()],
            details=self.details,
            meta=meta,
        )


class Anchor(models.Model):
    """What one level looks like for one item."""

    item = models.ForeignKey(Item, models.PROTECT, related_name="anchors")
    level = models.SmallIntegerField()
    label = models.CharField(max_length=100)
    description = models.TextField()
    note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "level"], name="runs_anchor_one_per_level"),
        ]
        ordering = ["item", "level"]

    def __str__(self) -> str:
        return f"{self.item} {self.level}"


class Pair(models.Model):
    """Two items that differ in the person and share the need."""

    bank = models.ForeignKey(Bank, models.PROTECT, related_name="pairs")
    code = models.CharField(max_length=50)
    chamber = models.CharField(max_length=30)
    arm_a = models.OneToOneField(Item, models.PROTECT, related_name="pair_as_a")
    arm_b = models.OneToOneField(Item, models.PROTECT, related_name="pair_as_b")
    details = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "code"], name="runs_pair_one_per_code"),
            models.CheckConstraint(condition=~Q(arm_a=F("arm_b")), name="runs_pair_has_two_arms"),
        ]

    def __str__(self) -> str:
        return self.code

    def as_row(self) -> dict[str, Any]:
        """The pair as a bank file holds it."""
        return pair_row(self.code, self.chamber, self.arm_a.code, self.arm_b.code, self.details)


class Provider(models.TextChoices):
    OPENAI = "openai", "OpenAI-compatible"
    ANTHROPIC = "anthropic", "Anthropic"
    DEMO = "demo", "scripted demo"
    IMPORT = "import", "imported responses"


NOT_STATED = "none stated"


class Subject(models.Model):
    """A pinned model snapshot. Its identity never changes: changed behaviour is a new subject."""

    developer = models.CharField(max_length=100)
    family = models.CharField(max_length=100)
    snapshot = models.CharField(max_length=200)
    # Of the weights: a digest, or the revision of a repository. Read from the runtime, if it has one.
    digest = models.CharField(max_length=100, blank=True)
    pinned_by = models.CharField(max_length=10, default="", editable=False)
    code = models.CharField(max_length=420, unique=True, editable=False)
    aliases = models.JSONField(default=list, blank=True)
    provider = models.CharField(max_length=20, choices=Provider)
    base_url = models.CharField(max_length=300, blank=True)
    runtime = models.CharField(max_length=20, blank=True)
    product_surface = models.CharField(max_length=20, default="api_default")
    access_tier = models.CharField(max_length=100, default=NOT_STATED)
    region = models.CharField(max_length=100, blank=True)
    system_prompt_status = models.CharField(max_length=20, default="unknown")
    moderation_layer = models.CharField(max_length=20, default="unknown")
    tools = models.JSONField(default=list, blank=True)
    sampling = models.JSONField(default=dict)
    quantisation = models.CharField(max_length=100, default=NOT_STATED)
    first_seen_date = models.DateField(null=True, blank=True)
    evidence = models.JSONField(default=list, blank=True)
    predecessor = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="successors"
    )
    change = models.TextField(blank=True)
    registered_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(snapshot__icontains="latest") | ~Q(digest=""),
                name="runs_subject_no_moving_alias",
                violation_error_message=(
                    "This snapshot is an alias that moves. Name a dated snapshot, or give the "
                    "digest it has now."
                ),
            ),
            models.CheckConstraint(
                condition=~Q(developer="") & ~Q(family="") & ~Q(snapshot=""),
                name="runs_subject_is_named",
            ),
            models.CheckConstraint(
                condition=Q(pinned_by__in=PINNED) & (~Q(pinned_by="digest") | ~Q(digest="")),
                name="runs_subject_is_pinned",
                violation_error_message=(
                    "This snapshot may be an alias that moves: it carries no date and no build "
                    "number. Name a dated snapshot, or give the digest or revision it has now."
                ),
            ),
            models.CheckConstraint(
                condition=~Q(access_tier="") & ~Q(quantisation=""),
                name="runs_subject_states_access",
                violation_error_message=(
                    "State the access tier and the quantisation; "
                    f'where nothing is known of one, write "{NOT_STATED}".'
                ),
            ),
            models.CheckConstraint(
                condition=Q(runtime__in=("", *RUNTIMES)), name="runs_subject_runtime_known"
            ),
            models.CheckConstraint(
                condition=Q(product_surface__in=SURFACES), name="runs_subject_surface_known"
            ),
            models.CheckConstraint(
                condition=Q(system_prompt_status__in=SYSTEM_PROMPTS),
                name="runs_subject_system_prompt_known",
            ),
            models.CheckConstraint(
                condition=Q(moderation_layer__in=MODERATION), name="runs_subject_moderation_known"
            ),
            models.CheckConstraint(
                condition=Q(predecessor=None) | ~Q(change=""),
                name="runs_subject_successor_says_why",
                violation_error_message="Say what changed since its predecessor.",
            ),
        ]

    def __str__(self) -> str:
        return self.code

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.settle_identity()
        super().save(*args, **kwargs)

    def settle_identity(self) -> None:
        """Work out what follows from the rest: its code, and what pins it."""
        self.code = self.own_code()
        self.pinned_by = pinned_by(self.snapshot, digest=self.digest, provider=self.provider)

    def own_code(self) -> str:
        """The name that follows from developer, family and snapshot."""
        return "--".join(
            slugify(part.replace(".", "-").replace(":", "-")) or digest(part)[:8]
            for part in (self.developer, self.family, self.snapshot)
        )


class SubjectLimit(models.Model):
    """How fast a subject may be asked, by all workers together, and when it may be asked again.

    No part of its identity: a service changes its limits, and the subject stays the same. Whoever
    claims rows of the subject locks this one first, so that two workers never count alike.
    """

    subject = models.OneToOneField(Subject, models.PROTECT, related_name="limit")
    in_flight = models.PositiveIntegerField(null=True, blank=True)
    requests_a_minute = models.PositiveIntegerField(null=True, blank=True)
    tokens_a_minute = models.PositiveIntegerField(null=True, blank=True)
    attempt_seconds = models.FloatField(null=True, blank=True)
    idle_seconds = models.FloatField(null=True, blank=True)
    # From when on the next request, and the next token, are within the limit.
    requests_free_at = models.DateTimeField(default=timezone.now)
    tokens_free_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"limits of {self.subject_id}"


class WaveKind(models.TextChoices):
    LOCAL = "local", "local"
    PILOT = "pilot", "pilot"
    OFFICIAL = "official", "official"


class Wave(models.Model):
    """A set of runs declared beforehand and analysed together."""

    code = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=WaveKind, default=WaveKind.LOCAL)
    bank = models.ForeignKey(Bank, models.PROTECT)
    seed = models.CharField(max_length=100)
    trials = models.PositiveSmallIntegerField()
    # Where each item is asked once, the report tells ranges and no points.
    ranges_only = models.BooleanField(default=False)
    preregistration = models.TextField(blank=True)
    preregistration_hash = models.CharField(max_length=64)
    # The plan as its file or its pages gave it. A draft has this alone; locking makes the rows.
    plan = models.JSONField(default=dict)
    # What all its runs may cost together. It may be moved, on record, while the plan stays.
    cost_ceiling = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    locked_at = models.DateTimeField(null=True, blank=True)
    # From then on no rating counts that was not there before; then it may be told who said what.
    ratings_frozen_at = models.DateTimeField(null=True, blank=True)
    unblinded_at = models.DateTimeField(null=True, blank=True)
    # From then on anyone may read its report.
    published_at = models.DateTimeField(null=True, blank=True)
    # What the leak checks looked at when asking last began, and that their controls fired.
    leak_check = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(trials__gte=1), name="runs_wave_has_trials"),
            models.CheckConstraint(
                # A wave without its plan was stored before there were drafts.
                condition=Q(plan={}) | Q(trials__gte=3) | Q(trials=1, ranges_only=True),
                name="runs_wave_has_enough_trials",
                violation_error_message=(
                    "Each item is asked at least 3 times, or once where only ranges are told."
                ),
            ),
            models.CheckConstraint(
                condition=Q(ratings_frozen_at=None) | Q(locked_at__isnull=False),
                name="runs_wave_frozen_was_locked",
            ),
            models.CheckConstraint(
                condition=Q(unblinded_at=None) | Q(ratings_frozen_at__isnull=False),
                name="runs_wave_unblinded_was_frozen",
            ),
            models.CheckConstraint(
                condition=Q(published_at=None) | Q(unblinded_at__isnull=False),
                name="runs_wave_published_was_unblinded",
            ),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def is_draft(self) -> bool:
        """Whether its plan may still change: rows are made when it is locked."""
        return bool(self.plan) and self.locked_at is None

    @property
    def declared(self) -> Declared:
        return declared_of(self.plan)

    @property
    def costs(self) -> Costs:
        return costs_of(self.plan)


class Deviation(models.Model):
    """What was done otherwise than registered. Appended under the text, which stays as it was."""

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="deviations")
    number = models.PositiveSmallIntegerField()
    text = models.TextField()
    after_data = models.BooleanField()
    declared_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wave", "number"], name="runs_deviation_one_per_number"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="runs_deviation_says_something"),
        ]
        ordering = ["wave", "number"]

    def __str__(self) -> str:
        return f"D{self.number}"


class RunState(models.TextChoices):
    PLANNED = "planned", "planned"
    ASKING = "asking", "asking"
    STOPPED = "stopped", "stopped"
    PAUSED = "paused", "paused"
    CANCELLED = "cancelled", "cancelled"
    DONE = "done", "done"


class Expected(models.TextChoices):
    LOWER = "lower", "lower"
    HIGHER = "higher", "higher"


class Run(models.Model):
    """One subject under one condition taken through the bank, inside a wave."""

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="runs")
    subject = models.ForeignKey(Subject, models.PROTECT)
    condition = models.SlugField(default="default")
    system_message = models.TextField(blank=True)
    # A condition that alters the subject on purpose: how its levels should move, and why.
    expected = models.CharField(max_length=10, choices=Expected, blank=True)
    expected_why = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=RunState, default=RunState.PLANNED)
    stop_reason = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    woken_at = models.DateTimeField(null=True, blank=True)
    # Each fingerprint that came back, with the moment it first did. More than one is a flag.
    fingerprints = models.JSONField(default=list, blank=True)
    # Kept as replies are stored: what was paid for, and how many in a row brought nothing.
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)
    failures_in_a_row = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["wave", "subject", "condition"], name="runs_run_one_per_condition"
            ),
            models.CheckConstraint(
                condition=Q(expected="", expected_why="") | ~Q(expected="") & ~Q(expected_why=""),
                name="runs_run_expected_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.wave.code}/{self.subject.code}/{self.condition}"


class Status(models.TextChoices):
    PENDING = "pending", "pending"
    COMPLETED = "completed", "completed"
    FILTERED = "filtered", "filtered"
    FAILED = "failed", "failed"
    MALFORMED = "malformed", "malformed"


class AskedQuerySet(models.QuerySet[M]):
    """Rows that workers ask for, of a run, and hold for a while."""

    def of_wave(self, wave: Wave) -> Self:
        return self.filter(run__wave=wave)

    def pending(self) -> Self:
        return self.filter(status=Status.PENDING)

    def unheld(self, now: datetime) -> Self:
        """Pending rows that no living worker holds."""
        return self.pending().filter(Q(held_until=None) | Q(held_until__lt=now))


class ResponseQuerySet(AskedQuerySet["Response"]):
    def undecided(self) -> Self:
        """Those that name their maker, and nobody has said yet whether raters see it."""
        return self.filter(mask_decided_at=None).exclude(self_naming=[])

    def ready_to_rate(self) -> Self:
        """Those that raters may be shown as they are now."""
        return self.filter(Q(self_naming=[]) | Q(mask_decided_at__isnull=False))

    def of_items_of_several(self) -> Self:
        """Those of items that another subject of their wave has answered as well.

        Of the others the item alone tells whose they are, to all who know who has answered what.
        """
        other = Response.objects.filter(
            run__wave=OuterRef("run__wave"), item=OuterRef("item"), status=Status.COMPLETED
        )
        return self.filter(Exists(other.exclude(run__subject=OuterRef("run__subject"))))

    def keys_by_code(self) -> Iterator[list[int]]:
        """Their keys in the order of their random codes, as many as are read together."""
        keys = self.order_by("code").values_list("pk", flat=True).iterator()
        while some := list(islice(keys, READ_TOGETHER)):
            yield some

    def count_by_status(self) -> dict[str, int]:
        counted = dict(self.order_by().values_list("status").annotate(n=models.Count("*")))
        return {status.value: counted.get(status.value, 0) for status in Status}


class Response(models.Model):
    """What the subject said in one trial of one item. Asked afresh, stored once."""

    run = models.ForeignKey(Run, models.PROTECT, related_name="responses")
    item = models.ForeignKey(Item, models.PROTECT)
    trial = models.PositiveSmallIntegerField()
    position = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    text = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64, blank=True)
    raw = models.BinaryField(null=True, blank=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(default=dict)
    attempts = models.JSONField(default=list)
    message_hash = models.CharField(max_length=64, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    held_by = models.CharField(max_length=64, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)
    # What it repeats of what nobody who is asked may see, and where it names its maker.
    leak_hits = models.JSONField(default=list)
    self_naming = models.JSONField(default=list)
    # The code points that raters see as blocks, decided before anybody rates it.
    mask = models.JSONField(default=list)
    mask_decided_at = models.DateTimeField(null=True, blank=True)

    objects = ResponseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "item", "trial"], name="runs_response_one_per_trial"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.COMPLETED) | ~Q(text="") & ~Q(text_hash=""),
                name="runs_response_completed_has_text",
            ),
        ]
        indexes = [
            models.Index(
                fields=["run", "position"],
                condition=Q(status=Status.PENDING),
                name="runs_response_pending",
            ),
            # How far each run is, counted from here alone.
            models.Index(fields=["run", "status"], name="runs_response_by_status"),
            # What came last, and what went wrong last.
            models.Index(fields=["run", "completed_at"], name="runs_response_last"),
            models.Index(fields=["run"], condition=~Q(self_naming=[]), name="runs_response_naming"),
            # What was tried and still waits.
            models.Index(
                fields=["run"],
                condition=Q(status=Status.PENDING) & ~Q(attempts=[]),
                name="runs_response_begun",
            ),
            models.Index(
                fields=["run", "completed_at"],
                condition=Q(status__in=[Status.FILTERED, Status.FAILED, Status.MALFORMED]),
                name="runs_response_no_reply",
            ),
        ]

    def __str__(self) -> str:
        return str(self.code)


class ProbeKind(models.TextChoices):
    RECALL = "recall", "recall"
    CHOICE = "choice", "choice"
    DETERMINISM = "determinism", "identical calls"


class Probing(models.Model):
    """The probes of one run as a piece of work: begun, asked by workers, and at its end."""

    run = models.OneToOneField(Run, models.PROTECT, related_name="probing")
    state = models.CharField(max_length=10, choices=RunState, default=RunState.ASKING)
    stop_reason = models.TextField(blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    woken_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"probes of {self.run}"


class ProbeQuerySet(AskedQuerySet["Probe"]):
    """The questions of probes, by how far they are."""


class Probe(models.Model):
    """One question about the subject and not of the bank, and what came back. Stored once.

    ``number`` counts the questions of a kind; an answer that cannot be read is asked for again in
    a row of its own, whose ``ask`` is one higher. ``question`` is what is sent, empty where it is
    the item's own prompt.
    """

    run = models.ForeignKey(Run, models.PROTECT, related_name="probes")
    item = models.ForeignKey(Item, models.PROTECT)
    kind = models.CharField(max_length=15, choices=ProbeKind)
    part = models.CharField(max_length=15, blank=True)
    number = models.PositiveSmallIntegerField()
    ask = models.PositiveSmallIntegerField(default=1)
    question = models.TextField(blank=True)
    expected = models.JSONField(default=dict)
    seed = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    text = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64, blank=True)
    raw = models.BinaryField(null=True, blank=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    usage = models.JSONField(default=dict)
    attempts = models.JSONField(default=list)
    message_hash = models.CharField(max_length=64, blank=True)
    score = models.FloatField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    held_by = models.CharField(max_length=64, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)

    objects = ProbeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "kind", "number", "ask"], name="runs_probe_one_per_ask"
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.COMPLETED) | ~Q(text="") & ~Q(text_hash=""),
                name="runs_probe_completed_has_text",
            ),
        ]
        indexes = [
            models.Index(
                fields=["run", "kind", "number"],
                condition=Q(status=Status.PENDING),
                name="runs_probe_pending",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} {self.kind} {self.number}"
