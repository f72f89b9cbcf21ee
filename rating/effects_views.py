"""The maintainers' page of how raters stand beside what was agreed. Who looks is put on record."""

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from rating.care import record_look
from rating.effects import Effects, rater_effects
from rating.effects_chart import NARROW, WIDE, effects_chart
from rating.models import Role, User
from rating.standing import BLOCK, DRIFT_DAYS
from runs.access import role_required
from runs.canonical import digest


@require_safe
@role_required(Role.MAINTAINER)
def effects(request: HttpRequest) -> HttpResponse:
    """Severity and drift of each rater, by code name, from A to Z."""
    found = rater_effects(now=timezone.now())
    if request.method == "GET":
        assert isinstance(request.user, User)
        record_look(request.user, "severity and drift")
    context = {
        "effects": found,
        "chart": _chart(found, WIDE) if found.known else "",
        "chart_narrow": _chart(found, NARROW) if found.known else "",
        "tens": BLOCK,
        "drift_days": DRIFT_DAYS,
        "misses": settings.SEED_MISSES,
        "checked": settings.SEED_PERCENT > 0,
    }
    return render(request, "rating/effects.html", context)


def _chart(found: Effects, width: int) -> str:
    """The picture, kept until a figure changes: drawing takes far longer than counting."""
    key = "effects:" + digest([repr((found.raters, found.tolerance)), width])
    kept: str | None = cache.get(key)
    if kept is None:
        kept = effects_chart(found, width=width)
        cache.set(key, kept, 86_400)
    return kept
