"""The tables of judges: who may judge, a round of judging, and what each of them answered."""

import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.models import Anchor, Response, Subject, Wave


class Judge(models.Model):
    """A model that judges: a frozen subject, under a short name that tells nothing of it."""

    name = models.SlugField(unique=True)
    subject = models.OneToOneField(Subject, models.PROTECT, related_name="judge")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="rating_judge_is_named"),
        ]

    def __str__(self) -> str:
        return self.name


class Configuration(models.TextChoices):
    """Who judges whose replies."""

    PANEL = "panel", "panel: two judges of other families for each response"
    CROSS = "cross", "cross: one judge of another family for each response"
    SELF = "self", "self: each model judges its own replies, an upper bound"


class Purpose(models.TextChoices):
    JUDGING = "judging", "judging"
    BRIDGE = "bridge", "bridge to an earlier round"


class JudgingState(models.TextChoices):
    PLANNED = "planned", "planned"
    ASKING = "asking", "asking"
    DONE = "done", "done"
    STOPPED = "stopped", "stopped"


class Judging(models.Model):
    """A round of judging over a wave, registered before its first answer. It never changes.

    ``rule`` holds what was decided beforehand, and ``rule_hash`` ties the whole plan to it: the
    rule, the seed, the panel and who judges which response.
    """

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="judgings")
    code = models.SlugField()
    configuration = models.CharField(
        max_length=5, choices=Configuration, default=Configuration.PANEL
    )
    purpose = models.CharField(max_length=7, choices=Purpose, default=Purpose.JUDGING)
    # Of a bridge: the round whose responses are judged again.
    bridge_of = models.ForeignKey("self", models.PROTECT, null=True, related_name="bridges")
    seed = models.CharField(max_length=100)
    rule = models.JSONField(default=dict)
    rule_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=7, choices=JudgingState, default=JudgingState.PLANNED)
    stop_reason = models.TextField(blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    planned_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["wave", "code"], name="rating_judging_one_per_code"),
            models.CheckConstraint(
                condition=~Q(code="") & ~Q(seed="") & ~Q(rule_hash=""),
                name="rating_judging_is_registered",
            ),
            models.CheckConstraint(
                condition=Q(configuration__in=Configuration.values),
                name="rating_judging_configuration_known",
            ),
            models.CheckConstraint(
                condition=Q(purpose=Purpose.JUDGING, bridge_of=None)
                | Q(purpose=Purpose.BRIDGE, bridge_of__isnull=False),
                name="rating_judging_bridge_has_source",
            ),
            models.CheckConstraint(
                condition=Q(state=JudgingState.PLANNED, started_at=None)
                | Q(
                    state__in=[JudgingState.ASKING, JudgingState.DONE, JudgingState.STOPPED],
                    started_at__isnull=False,
                ),
                name="rating_judging_started_is_said",
            ),
            models.CheckConstraint(
                condition=~Q(state=JudgingState.STOPPED) | ~Q(stop_reason=""),
                name="rating_judging_stopped_says_why",
            ),
        ]
        ordering = ["wave", "planned_at", "pk"]

    def __str__(self) -> str:
        return f"{self.wave}/{self.code}"


class PanelJudge(models.Model):
    """A judge in one round. Left out by the rule that was registered, never by hand."""

    judging = models.ForeignKey(Judging, models.PROTECT, related_name="panel")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    excluded_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)
    # The work of workers: who was woken last, what was paid for, how many in a row brought nothing.
    woken_at = models.DateTimeField(null=True)
    tokens_in = models.BigIntegerField(default=0)
    tokens_out = models.BigIntegerField(default=0)
    failures_in_a_row = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judging", "judge"], name="rating_paneljudge_one_per_judge"
            ),
            models.UniqueConstraint(
                fields=["judging", "number"], name="rating_paneljudge_one_per_number"
            ),
            models.CheckConstraint(
                condition=Q(excluded_at=None, reason="")
                | Q(excluded_at__isnull=False) & ~Q(reason=""),
                name="rating_paneljudge_excluded_says_why",
            ),
        ]
        ordering = ["judging", "number"]

    def __str__(self) -> str:
        return f"{self.judge} in {self.judging_id}"


class Answered(models.TextChoices):
    """What came of asking a judge once."""

    PENDING = "pending", "pending"
    ANSWERED = "answered", "answered"
    REFUSED = "refused", "refused"
    MALFORMED = "malformed", "malformed"
    FAILED = "failed", "failed"


class Provenance(models.TextChoices):
    ORIGINAL = "original", "original"
    REQUOTED = "requoted", "asked again for a quote"
    REROUTED = "rerouted", "given to another judge"


class Found(models.TextChoices):
    """How the quote of a judge stands in the response."""

    VERBATIM = "verbatim", "found as written"
    FOLDED = "folded", "found after folding"
    NONE = "none", "not found"


class JudgementQuerySet(models.QuerySet["Judgement"]):
    def of(self, judging: Judging) -> Self:
        return self.filter(judging=judging)

    def originals(self) -> Self:
        """Each first answer, whatever came of it: all that the exclusion rule reads."""
        return self.filter(provenance=Provenance.ORIGINAL)

    def current(self) -> Self:
        """The newest of each place: not superseded, whatever came of it."""
        return self.filter(superseded_by=None)

    def standing(self) -> Self:
        """Answered, not superseded, and of a judge that is not excluded."""
        return self.current().filter(state=Answered.ANSWERED, panel_judge__excluded_at=None)

    def pending(self) -> Self:
        return self.filter(state=Answered.PENDING)

    def unheld(self, now: datetime) -> Self:
        """Pending ones that no living worker holds."""
        return self.pending().filter(Q(held_until=None) | Q(held_until__lt=now))

    def rows(self) -> list[tuple[int, int, int]]:
        """``(judge in the panel, response, level)`` in a fixed order: what the statistics read."""
        columns = ("panel_judge_id", "response_id", "anchor__level")
        return list(
            self.filter(anchor__isnull=False)
            .order_by("response_id", "number", "position", "pk")
            .values_list(*columns)
        )


class Judgement(models.Model):
    """One judge's level for one response, as it answered. Superseded, never edited.

    ``number`` says which of a response's judgements it is, ``position`` when its judge is asked.
    ``quote_start`` and ``quote_end`` are code points of the text as the card shows it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    judging = models.ForeignKey(Judging, models.PROTECT, related_name="judgements")
    response = models.ForeignKey(Response, models.PROTECT, related_name="judgements")
    panel_judge = models.ForeignKey(PanelJudge, models.PROTECT, related_name="judgements")
    number = models.PositiveSmallIntegerField()
    position = models.PositiveIntegerField()
    provenance = models.CharField(max_length=8, choices=Provenance, default=Provenance.ORIGINAL)
    state = models.CharField(max_length=9, choices=Answered, default=Answered.PENDING)
    anchor = models.ForeignKey(Anchor, models.PROTECT, null=True, related_name="+")
    # The object as it was given, where it could be read as one.
    answer = models.JSONField(default=dict)
    quote_given = models.TextField(blank=True)
    quote_found = models.CharField(max_length=8, choices=Found, blank=True)
    quote_start = models.PositiveIntegerField(null=True)
    quote_end = models.PositiveIntegerField(null=True)
    # Found, and long enough by the rule that people are held to.
    quote_valid = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    # The reply of the judge, verbatim; what is no text is kept as bytes.
    text = models.TextField(blank=True)
    raw = models.BinaryField(null=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    fingerprint = models.CharField(max_length=200, blank=True)
    # Why it was not taken: by name, and in a sentence.
    fault_kind = models.CharField(max_length=30, blank=True)
    fault = models.TextField(blank=True)
    attempts = models.JSONField(default=list)
    message_hash = models.CharField(max_length=64, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    held_by = models.CharField(max_length=64, blank=True)
    held_until = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    superseded_by = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="supersedes"
    )

    objects = JudgementQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judging", "response", "number"],
                condition=Q(superseded_by=None),
                name="rating_judgement_one_per_number",
            ),
            models.UniqueConstraint(
                fields=["panel_judge", "response"],
                condition=Q(superseded_by=None),
                name="rating_judgement_one_per_judge",
            ),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2]), name="rating_judgement_is_first_or_second"
            ),
            models.CheckConstraint(
                condition=Q(state__in=Answered.values), name="rating_judgement_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state=Answered.PENDING, answered_at=None)
                | ~Q(state=Answered.PENDING) & Q(answered_at__isnull=False),
                name="rating_judgement_ended_has_moment",
            ),
            models.CheckConstraint(
                condition=Q(state=Answered.ANSWERED, anchor__isnull=False, fault="", fault_kind="")
                & Q(quote_found__in=Found.values)
                & ~Q(reason="")
                | ~Q(state=Answered.ANSWERED) & Q(anchor=None, quote_found="", quote_valid=False),
                name="rating_judgement_answered_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[Answered.PENDING, Answered.ANSWERED])
                | ~Q(fault="") & ~Q(fault_kind=""),
                name="rating_judgement_refused_says_why",
            ),
            models.CheckConstraint(
                condition=Q(quote_start=None, quote_end=None)
                & (Q(quote_found="") | Q(quote_found=Found.NONE, quote_valid=False))
                | Q(quote_found__in=[Found.VERBATIM, Found.FOLDED])
                & Q(quote_start__isnull=False, quote_end__gt=models.F("quote_start")),
                name="rating_judgement_quote_has_place",
            ),
        ]
        indexes = [
            models.Index(
                fields=["panel_judge", "position"],
                condition=Q(state=Answered.PENDING),
                name="rating_judgement_pending",
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)
