"""The maintainers' page of how raters stand beside what was agreed. Who looks is put on record."""

from collections.abc import Callable

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from rating import makers_aside  # noqa: F401 - names what is made aside
from rating.aside import figures
from rating.aside_views import tell, waits
from rating.care import record_look
from rating.effects import Effects
from rating.effects_chart import NARROW, WIDE, effects_chart
from rating.item_figures import record_figures
from rating.models import Role, User
from rating.severity import PoolEffects, waves_behind
from rating.severity_chart import severity_chart
from rating.standing import BLOCK, DRIFT_DAYS
from runs.access import role_required
from runs.canonical import digest


@require_safe
@role_required(Role.MAINTAINER)
@waits
def effects(request: HttpRequest) -> HttpResponse:
    """Severity and drift of each rater, by code name, from A to Z."""
    now = timezone.now()
    worked_out = figures("effects", None)
    found, pools = worked_out.value
    if request.method == "GET":
        assert isinstance(request.user, User)
        record_look(request.user, "severity and drift")
        record_figures(request.user, waves_behind(now=now))
    tell(request, worked_out)
    context = {
        "effects": found,
        "chart": _chart(found, WIDE) if found.known else "",
        "chart_narrow": _chart(found, NARROW) if found.known else "",
        "pools": [
            {
                "effects": pool,
                "charts": [_severity_chart(pool, width) for width in (WIDE, NARROW)]
                if pool.known
                else None,
            }
            for pool in pools
        ],
        "tens": BLOCK,
        "drift_days": DRIFT_DAYS,
        "misses": settings.SEED_MISSES,
        "checked": settings.SEED_PERCENT > 0,
    }
    return render(request, "rating/effects.html", context)


def _chart(found: Effects, width: int) -> str:
    key = repr((found.raters, found.tolerance))
    return _drawn(f"effects {key}", width, lambda: effects_chart(found, width=width))


def _severity_chart(found: PoolEffects, width: int) -> str:
    key = repr((found.instrument, found.rows))
    return _drawn(f"severity {key}", width, lambda: severity_chart(found, width=width))


def _drawn(what: str, width: int, draw: Callable[[], str]) -> str:
    """A picture, kept until a figure changes: drawing takes far longer than counting."""
    key = "effects:" + digest([what, width])
    kept: str | None = cache.get(key)
    if kept is None:
        kept = draw()
        cache.set(key, kept, 86_400)
    return kept
