"""What is given out of a wave: its files, and what was published, with what was corrected later."""

import json
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property

from runs.models import Wave


class PublicationQuerySet(models.QuerySet["Publication"]):
    def shown(self) -> Self:
        """Each with its wave, for a page. A bundle holds every rating: it stays where it is."""
        return self.select_related("wave").defer("bundle")


class Publication(models.Model):
    """The public report of a wave, kept whole: every page and file is made from it alone."""

    wave = models.OneToOneField(Wave, models.PROTECT, related_name="publication")
    # JSON as it was written: a column of JSON would put its keys in another order.
    text = models.TextField()
    text_hash = models.CharField(max_length=64)
    # The public bundle, byte for byte.
    bundle = models.BinaryField()
    reason = models.CharField(max_length=500)
    published_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(default=timezone.now)

    objects = PublicationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="rating_publication_has_reason"),
        ]
        indexes = [
            models.Index(fields=["-published_at", "-id"], name="rating_publication_newest"),
        ]

    def __str__(self) -> str:
        return f"report of {self.wave_id}"

    @cached_property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found


class Correction(models.Model):
    """What turned out to be wrong in a published report, and how it is. The report stays."""

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="corrections")
    text = models.TextField()
    written_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    corrected_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(text=""), name="rating_correction_says_something"),
        ]
        ordering = ["wave", "pk"]

    def __str__(self) -> str:
        return f"correction {self.pk} of {self.wave_id}"


class Export(models.Model):
    """All files of a wave's report in one, as a worker made them; not made while ``made_at`` is empty."""

    wave = models.ForeignKey(Wave, models.PROTECT, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(default=timezone.now)
    made_at = models.DateTimeField(null=True)
    content = models.BinaryField(null=True)
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(made_at=None, content=None, sha256="")
                | Q(made_at__isnull=False, content__isnull=False) & ~Q(sha256=""),
                name="rating_export_made_is_whole",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.wave_id} asked {self.asked_at:%Y-%m-%d}"
