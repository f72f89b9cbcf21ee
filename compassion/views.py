"""Whether the product is up, and the pages for when something went wrong."""

from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from compassion.requests import CSRF_FIELD
from runs.guards import all_guards, installed


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """This process answers."""
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """This process can do its work: the database answers and is migrated, the cache answers."""
    faults: dict[str, str] = {}
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            faults["database"] = "not migrated: run manage.py migrate"
        elif not {guard.name for guard in all_guards()} <= installed(connection):
            faults["database"] = "its guards are missing: run manage.py migrate"
    except DatabaseError:
        faults["database"] = "does not answer"
    try:
        cache.set("readyz", "ok", 5)
    except Exception:  # every cache has errors of its own, and all mean the same here
        faults["cache"] = "does not answer"
    return JsonResponse(
        {"status": "not ready", "faults": faults} if faults else {"status": "ready"},
        status=503 if faults else 200,
    )


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
    return render(request, "400.html", status=400)
