"""What the responses of a wave are like, all subjects pooled."""

from typing import Final

from django.core.cache import cache

from runs.canonical import digest
from runs.models import Response, Status, Wave
from runs.properties import VERSION, Pooled, pooled, properties_of

MOST: Final = 500  # responses that are read for a page: half a second of it


def described(wave: Wave) -> Pooled:
    """Of all completed responses, or of ``MOST`` of them, the first by their random codes."""
    completed = Response.objects.of_wave(wave).filter(status=Status.COMPLETED)
    # By what the wave is, not by its number: another database may share the cache.
    key = "described:" + digest([VERSION, wave.code, str(wave.created_at), completed.count()])
    kept: Pooled | None = cache.get(key)
    if kept is None:
        rows = completed.order_by("code").values_list(
            "text", "finish_reason", "item__prompt", "item__language"
        )[:MOST]
        kept = pooled(
            properties_of(text, reason, asked=asked, language=language)
            for text, reason, asked, language in rows.iterator()
        )
        cache.set(key, kept, 3600)
    return kept
