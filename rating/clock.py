"""When a day begins, for the limits and counts that go by days."""

from datetime import datetime

from django.utils import timezone


def midnight(now: datetime) -> datetime:
    """The beginning of the day in which a moment lies, in the site's time zone."""
    return timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
