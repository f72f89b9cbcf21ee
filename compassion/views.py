"""Whether the product is up, and the pages for when something went wrong.

Those for when something of ours is away are in ``compassion.outages``.
"""

from celery import current_app
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from compassion.outages import AWAY, CSRF_FIELD
from rating.api.problems import Problem
from runs.guards import missing


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """This process answers."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """This process can do its work: the database answers, is migrated and guarded.

    Without broker or cache it still keeps every rating, so that is told but is no reason to send
    people elsewhere: ``ready, but``. Costs three small statements and one trip to Redis.
    """
    faults = {"database": fault} if (fault := _fault_of_database()) else {}
    but = {name: "does not answer" for name, answers in _beside() if not answers}
    status = "not ready" if faults else "ready, but" if but else "ready"
    told = {"status": status, **({"faults": faults | but} if faults or but else {})}
    return JsonResponse(told, status=503 if faults else 200)


# The migrations with which this process last found nothing to do: reading them all from disk
# takes a tenth of a second, and is done once.
_done: set[tuple[str, str]] = set()


def _fault_of_database() -> str:
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
        if not _done or not _done <= applied:
            executor = MigrationExecutor(connection)
            if executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return "not migrated: run manage.py migrate"
            _done.update(applied)
        if missing(connection):
            return "its guards are missing: run manage.py migrate"
    except (DatabaseError, *AWAY):
        return "does not answer"
    return ""


def _beside() -> list[tuple[str, bool]]:
    """What is not the truth, but is missed: a broker in files needs its folder, no more."""
    if settings.CELERY_BROKER_URL.startswith("filesystem"):
        return [("broker", settings.BROKER_DIR.parent.is_dir())]
    answers = getattr(cache, "answers", None)
    if answers is not None:  # the broker is the same Redis
        return [("broker and cache", answers())]
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=0, timeout=1)
    except AWAY:
        return [("broker", False)]
    return []


@login_not_required
def form_too_old(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A post whose token ended: show what was typed, with a fresh form to send it again."""
    # A form that another site sent is not ours to offer again.
    foreign = reason.startswith(("Origin", "Referer"))
    kept = [
        (name, value)
        for name in request.POST
        if not foreign and name != CSRF_FIELD and "password" not in name
        for value in request.POST.getlist(name)
    ]
    context = {"kept": kept, "path": request.path}
    return render(request, "form_too_old.html", context, status=403)


@login_not_required
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "404.html", status=404)


@login_not_required
def not_understood(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if request.path.startswith("/api/v1/"):
        return Problem("bad-request", "The request cannot be taken as it is.").answer()
    if isinstance(exception, (RequestDataTooBig, TooManyFilesSent)):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE / 1_000_000
        return render(request, "413.html", {"most": most}, status=413)
    return render(request, "400.html", status=400)
