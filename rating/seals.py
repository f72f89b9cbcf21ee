"""What the seals over rows are kept in. See ``rating.integrity``."""

from django.db import models


class Touch(models.Model):
    """A row that was written and is not yet sealed. Triggers leave these, a worker takes them away."""

    table = models.CharField(max_length=60)
    key = models.CharField(max_length=40)

    def __str__(self) -> str:
        return f"{self.table} {self.key}"


class Seal(models.Model):
    """The hashes of a few hundred rows as they were, chained to the seal before it.

    ``content`` holds them, compressed; ``stamp`` is made with a key that the database does not hold.
    """

    number = models.PositiveIntegerField(primary_key=True)
    sealed_at = models.DateTimeField()
    content = models.BinaryField()
    # How far the log was sealed then: the number of its last event, and that one's seal.
    log_event = models.BigIntegerField(default=0)
    log_seal = models.CharField(max_length=64, blank=True)
    previous = models.CharField(max_length=64, blank=True)
    seal = models.CharField(max_length=64)
    key_name = models.CharField(max_length=16)
    stamp = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"seal {self.number}"
