"""That a worker was there, and what its clock said."""

from django.db import models


class Heartbeat(models.Model):
    """When a worker last looked after the site, by its own clock and by the database's."""

    worker = models.CharField(max_length=200, unique=True)
    seen_at = models.DateTimeField()
    database_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker
