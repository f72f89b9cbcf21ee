"""What programs come in with: tokens, what they sent before, and ratings they brought from elsewhere."""

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from runs.models import Wave

#: What a token may be made for: the roles of which its owner must have one, and what it opens.
SCOPES: Final[dict[str, tuple[frozenset[str], str]]] = {
    "read:progress": (frozenset({"maintainer"}), "Waves, their stages, and how far they are"),
    "read:agreement": (
        frozenset({"maintainer"}),
        "Pooled agreement, and what a wave lacks to be official",
    ),
    "read:ratings": (frozenset({"maintainer"}), "Single ratings under random response codes"),
    "read:results": (frozenset({"maintainer"}), "Results by model, once a wave is unblinded"),
    "read:banks": (frozenset({"maintainer", "admin"}), "Banks, items and their anchors"),
    "write:responses": (frozenset({"maintainer"}), "Replies of runs that are imported"),
    "write:ratings": (
        frozenset({"maintainer"}),
        "Ratings made elsewhere, which are kept apart and never count",
    ),
}
LONGEST_LIFE: Final = timedelta(days=366)
CALLS_KEPT: Final = timedelta(hours=48)


def check_scopes(scopes: object) -> None:
    """Raises ``ValidationError`` unless it is a list of scopes, at least one, none twice."""
    if (
        not isinstance(scopes, list)
        or not scopes
        or len(set(scopes)) < len(scopes)
        or not SCOPES.keys() >= set(scopes)
    ):
        raise ValidationError(f"The scopes are: {', '.join(SCOPES)}. Choose one or more.")


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def living(self, now: datetime) -> Self:
        """Those that open something now: not ended, and their owner still has an account."""
        return self.filter(revoked_at=None, ends_at__gt=now, owner__is_active=True)


class ApiToken(models.Model):
    """What a program shows to be let in. Of the secret itself only its hash is kept.

    It never opens more than its owner may see at that moment.
    """

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    # Enough of the secret to know it again by, and far too little to guess it.
    prefix = models.CharField(max_length=20)
    secret_hash = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="api_tokens")
    scopes = models.JSONField(validators=[check_scopes])
    # The one wave it is for; none: all of them.
    wave = models.ForeignKey(Wave, models.PROTECT, null=True, blank=True, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)
    ends_at = models.DateTimeField()
    # To the quarter of an hour: that it is used matters, and not each time.
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("made_at")), name="rating_apitoken_ends_later"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="rating_apitoken_is_named"),
            models.CheckConstraint(condition=~Q(scopes=[]), name="rating_apitoken_has_scopes"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def lives(self, now: datetime) -> bool:
        return self.revoked_at is None and self.ends_at > now

    def opens(self, roles: Collection[str]) -> list[str]:
        """The scopes it has by now, of somebody with these roles."""
        return [scope for scope in self.scopes if not SCOPES[scope][0].isdisjoint(roles)]


class ApiCall(models.Model):
    """A request that was carried out, by the key its sender gave it: sent again, it is answered
    and not done again. Kept for two days."""

    token = models.ForeignKey(ApiToken, models.PROTECT, related_name="calls")
    key = models.CharField(max_length=100)
    request_hash = models.CharField(max_length=64)
    # Drawn by each that tries: whose draw stands here carries the request out.
    draw = models.UUIDField(default=uuid.uuid4)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(default=dict)
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token", "key"], name="rating_apicall_one_per_key"),
        ]
        indexes = [models.Index(fields=["made_at"], name="rating_apicall_made")]

    def __str__(self) -> str:
        return f"{self.token_id} {self.key}"


def forget_calls(now: datetime) -> int:
    """Let go of the requests that nobody sends again; return of how many."""
    return ApiCall.objects.filter(made_at__lt=now - CALLS_KEPT).delete()[0]


class Elsewhere(models.Model):
    """Ratings that were made elsewhere, whole as they were sent. They never count here.

    ``rows`` holds them as ``[rater, unit, level, dimension, item]``.
    """

    code = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=100)
    source = models.CharField(max_length=500)
    scale = models.CharField(max_length=1000)
    rows = models.JSONField()
    row_count = models.PositiveIntegerField()
    raters = models.PositiveIntegerField()
    units = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    brought_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    brought_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(name="") & ~Q(source=""), name="rating_elsewhere_says_whence"
            ),
        ]

    def __str__(self) -> str:
        return self.name
