"""That somebody's personal data were erased: who is not asked again by accident."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Erasure(models.Model):
    """An erasure. Of the address a keyed hash is kept, which knows it again and does not tell it."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.PROTECT, related_name="erasure")
    address_hash = models.CharField(max_length=64)
    reason = models.CharField(max_length=300)
    erased_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    erased_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="rating_erasure_has_reason"),
        ]
        indexes = [models.Index(fields=["address_hash"], name="rating_erasure_of_address")]

    def __str__(self) -> str:
        return f"erasure {self.pk}"
