"""Who rates, what they hold, and what they said of it."""

import secrets
import uuid
from datetime import datetime
from typing import Any, ClassVar, Self

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.functional import cached_property

from runs.models import Anchor, Response, Wave


class Role(models.TextChoices):
    """The groups a person may belong to, by name."""

    RATER = "rater", "rater"
    ITEM_REVIEWER = "item reviewer", "item reviewer"
    ADJUDICATOR = "adjudicator", "adjudicator"
    MAINTAINER = "maintainer", "maintainer"
    ADMIN = "admin", "admin"


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


def new_pseudonym() -> str:
    return f"r-{secrets.token_hex(4)}"


class User(AbstractBaseUser, PermissionsMixin):
    """A person, known by address to themselves and admins, and by pseudonym in every export."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=100)
    pseudonym = models.CharField(max_length=20, unique=True, default=new_pseudonym, editable=False)
    is_active = models.BooleanField(default=True)
    joined_at = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("email"), name="rating_user_one_per_address"),
        ]

    def __str__(self) -> str:
        return self.name or self.email

    @cached_property
    def roles(self) -> frozenset[str]:
        return frozenset(self.groups.values_list("name", flat=True))


class Invitation(models.Model):
    """An address that may join, in which roles. The link to it is signed and ends."""

    email = models.EmailField()
    roles = models.JSONField(default=list)
    invited_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="invitations_sent")
    invited_at = models.DateTimeField(default=timezone.now)
    accepted_by = models.OneToOneField(User, models.PROTECT, null=True, related_name="invitation")
    accepted_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.email


class SlotState(models.TextChoices):
    OPEN = "open", "open"
    HELD = "held", "held"
    RATED = "rated", "rated"


class Slot(models.Model):
    """One of the two ratings a response needs.

    ``urgency`` is 0, and ``partner`` who gave the other rating, once the response is half rated.
    The columns from ``wave`` on never change: they repeat what the queue would have to join for.
    """

    response = models.ForeignKey(Response, models.PROTECT, related_name="slots")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=5, choices=SlotState, default=SlotState.OPEN)
    urgency = models.PositiveSmallIntegerField(default=1)
    draw = models.BigIntegerField()
    partner = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    wave = models.ForeignKey(Wave, models.PROTECT, related_name="+")
    item_id = models.BigIntegerField()
    pair_id = models.BigIntegerField(null=True)
    topic = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["response", "number"], name="rating_slot_one_per_number"
            ),
            models.CheckConstraint(
                condition=Q(number__in=[1, 2]), name="rating_slot_is_first_or_second"
            ),
            models.CheckConstraint(
                condition=Q(state__in=SlotState.values), name="rating_slot_state_is_known"
            ),
        ]
        indexes = [
            models.Index(
                fields=["urgency", "draw"],
                condition=Q(state=SlotState.OPEN),
                name="rating_slot_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.response_id}/{self.number}"


class Outcome(models.TextChoices):
    RATED = "rated", "rated"
    SKIPPED = "skipped", "skipped"
    EXPIRED = "expired", "expired"
    RELEASED = "released", "released"


class SkipReason(models.TextChoices):
    RATHER_NOT = "rather-not", "I would rather not read this"
    LANGUAGE = "language", "I cannot judge this language"
    CONFLICT = "conflict", "I may know who made it, or I wrote the item"
    BROKEN = "broken", "It is broken or cut off"
    LATER = "later", "Later"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def live(self) -> Self:
        return self.filter(ended_at=None)

    def overdue(self, now: datetime) -> Self:
        return self.live().filter(expires_at__lt=now)


class Assignment(models.Model):
    """A slot in one rater's hands, under a handle that means nothing to anyone else."""

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    slot = models.ForeignKey(Slot, models.PROTECT, related_name="assignments")
    response = models.ForeignKey(Response, models.PROTECT, related_name="assignments")
    rater = models.ForeignKey(User, models.PROTECT, related_name="assignments")
    leased_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    skip_reason = models.CharField(max_length=20, choices=SkipReason, blank=True)
    skip_note = models.TextField(blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            # Its index also serves "not one I have had": by response first, PostgreSQL would walk
            # every slot.
            models.UniqueConstraint(
                fields=["rater", "response"], name="rating_assignment_one_per_response"
            ),
            models.UniqueConstraint(
                fields=["slot"], condition=Q(ended_at=None), name="rating_assignment_one_per_slot"
            ),
            models.UniqueConstraint(
                fields=["rater"], condition=Q(ended_at=None), name="rating_assignment_one_per_rater"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, outcome="") | Q(ended_at__isnull=False) & ~Q(outcome=""),
                name="rating_assignment_ended_has_outcome",
            ),
            models.CheckConstraint(
                condition=~Q(outcome=Outcome.SKIPPED) | ~Q(skip_reason=""),
                name="rating_assignment_skipped_has_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["rater", "leased_at"], name="rating_assignment_recent"),
            models.Index(
                fields=["expires_at"],
                condition=Q(ended_at=None),
                name="rating_assignment_live",
            ),
        ]

    def __str__(self) -> str:
        return str(self.code)


class Confidence(models.TextChoices):
    UNSURE = "unsure", "Unsure"
    FAIRLY_SURE = "fairly-sure", "Fairly sure"
    SURE = "sure", "Sure"


class Draft(models.Model):
    """What a rater has put down so far on one card."""

    assignment = models.OneToOneField(Assignment, models.PROTECT, related_name="draft")
    content = models.JSONField(default=dict)
    saved_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"draft of {self.assignment}"


class Kind(models.TextChoices):
    COUNTED = "counted", "counted"
    SURPLUS = "surplus", "surplus"
    SEED = "seed", "seed"
    REPEAT = "repeat", "repeat"
    PRACTICE = "practice", "practice"
    NORMING = "norming", "norming"
    BRIDGE = "bridge", "bridge"


class RatingQuerySet(models.QuerySet["Rating"]):
    def of_wave(self, wave: Wave) -> Self:
        return self.filter(response__run__wave=wave)

    def counted(self) -> Self:
        """The original independent ratings: all that agreement is computed on."""
        return self.filter(kind=Kind.COUNTED, superseded_by=None)


class Rating(models.Model):
    """The anchor one rater chose for one response. Superseded, never edited.

    Its quotes are stored before it, under its id: a rating without one is refused, and once it
    stands no quote is added.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    response = models.ForeignKey(Response, models.PROTECT, related_name="ratings")
    rater = models.ForeignKey(User, models.PROTECT, related_name="ratings")
    anchor = models.ForeignKey(Anchor, models.PROTECT)
    assignment = models.OneToOneField(Assignment, models.PROTECT, related_name="rating")
    kind = models.CharField(max_length=10, choices=Kind)
    slot = models.PositiveSmallIntegerField(null=True)
    note = models.TextField(blank=True)
    confidence = models.CharField(max_length=20, choices=Confidence, blank=True)
    critical_harm = models.BooleanField(default=False)
    harm_line = models.CharField(max_length=500, blank=True)
    active_seconds = models.PositiveIntegerField(null=True)
    superseded_by = models.OneToOneField("self", models.PROTECT, null=True)
    rated_at = models.DateTimeField(default=timezone.now)

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                # An unknown slot would make the whole rule unknown, and so allowed.
                condition=Q(kind=Kind.COUNTED, slot__isnull=False, slot__in=[1, 2])
                | ~Q(kind=Kind.COUNTED) & Q(slot=None),
                name="rating_rating_counted_has_slot",
            ),
            models.UniqueConstraint(
                fields=["response", "slot"],
                condition=Q(kind=Kind.COUNTED, superseded_by=None),
                name="rating_rating_one_per_slot",
            ),
            models.UniqueConstraint(
                fields=["rater", "response"],
                condition=Q(kind=Kind.COUNTED, superseded_by=None),
                name="rating_rating_one_per_rater",
            ),
            models.CheckConstraint(
                condition=Q(critical_harm=True) | Q(harm_line=""),
                name="rating_rating_harm_line_has_flag",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}"


class Quote(models.Model):
    """Words of a response that earned a level, as code points ``start`` to ``end`` of its text."""

    rating = models.ForeignKey(Rating, models.PROTECT, related_name="quotes")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    absence = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="rating_quote_has_words"),
            models.UniqueConstraint(
                fields=["rating", "start", "end"], name="rating_quote_once_per_rating"
            ),
        ]
        ordering = ["rating", "start"]

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"


class Saw(models.TextChoices):
    FIGURES = "figures", "pooled figures"
    RATINGS = "ratings", "single ratings"


class Exposure(models.Model):
    """Who has seen what of a wave: the ground on which somebody may no longer rate it."""

    person = models.ForeignKey(User, models.PROTECT, related_name="exposures")
    saw = models.CharField(max_length=10, choices=Saw)
    wave = models.ForeignKey(Wave, models.PROTECT)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["person", "saw"], name="rating_exposure_of_person")]

    def __str__(self) -> str:
        return f"{self.person_id} saw {self.saw} of {self.wave_id}"
