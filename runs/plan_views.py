"""Planning a wave on pages: a draft, filled part by part, then locked in a second step."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import maintainer_required
from runs.canonical import digest
from runs.estimate import Estimate, estimate_of
from runs.estimate_text import assumptions, facts
from runs.models import Wave
from runs.plan_file import PlanFileRefused, parse_data
from runs.plan_forms import (
    BasicsForm,
    CostForm,
    FileForm,
    LockForm,
    PreregistrationForm,
    SubjectsForm,
)
from runs.power import TRIALS
from runs.refusals import PlanMoved, WaveRefused
from runs.stages import stages_of
from runs.waves import delete_draft, kept_from_locking, lock_wave, plan_text, save_draft

SAVED = "Saved. It is a draft until its plan is locked."
LOCKED = "The plan is locked. Nothing of it changes from now on."
DO_TWICE = require_http_methods(["GET", "HEAD", "POST"])


@DO_TWICE
@maintainer_required
def new(request: HttpRequest) -> HttpResponse:
    """Begin a wave: with what it is, or with a plan file."""
    form = BasicsForm(_data(request), plan={}, locked_code=False)
    if request.method == "POST" and form.is_valid():
        if Wave.objects.filter(code=form.table["code"]).exists():
            form.add_error("code", "There is a wave of this code already. Take another.")
        elif _save(form, form.table):
            messages.success(request, SAVED)
            return redirect("runs:wave", code=form.table["code"])
    return _page(request, "runs/new.html", form, file=FileForm())


@DO_TWICE
@maintainer_required
def basics(request: HttpRequest, wave: str) -> HttpResponse:
    found = _draft(wave)
    form = BasicsForm(_data(request), plan=found.plan, locked_code=True)
    sent = request.method == "POST" and form.is_valid()
    if sent and _save(form, {**found.plan, **form.table}, on=_read(request, found)):
        return _saved(request, found)
    return _page(request, "runs/basics.html", form, wave=found)


@DO_TWICE
@maintainer_required
def subjects(request: HttpRequest, wave: str) -> HttpResponse:
    """Who is asked, and under which conditions. *Add* gives a longer form and saves nothing."""
    found = _draft(wave)
    add = request.POST.get("add", "")
    form = SubjectsForm(_data(request), plan=found.plan, add=add)
    if request.method == "POST" and not add and form.is_valid():
        plan = {**found.plan, "subjects": form.table}
        if _save(form, _without_strangers(plan), on=_read(request, found)):
            return _saved(request, found)
    return _page(request, "runs/subjects.html", form, wave=found)


@DO_TWICE
@maintainer_required
def preregistration(request: HttpRequest, wave: str) -> HttpResponse:
    found = _draft(wave)
    form = PreregistrationForm(_data(request), plan=found.plan)
    sent = request.method == "POST" and form.is_valid()
    if sent and _save(form, {**found.plan, **form.table}, on=_read(request, found)):
        return _saved(request, found)
    return _page(request, "runs/preregistration.html", form, wave=found)


@DO_TWICE
@maintainer_required
def cost(request: HttpRequest, wave: str) -> HttpResponse:
    found = _draft(wave)
    form = CostForm(_data(request), plan=found.plan)
    sent = request.method == "POST" and form.is_valid()
    if sent and _save(form, {**found.plan, "cost": form.table}, on=_read(request, found)):
        return _saved(request, found)
    return _page(request, "runs/cost.html", form, wave=found)


@require_POST
@maintainer_required
def load(request: HttpRequest) -> HttpResponse:
    """Store a plan file as a draft, or in the place of the draft of its code."""
    file = FileForm(request.POST, request.FILES)
    if file.is_valid():
        try:
            wave = save_draft(parse_data(file.cleaned_data["file"].read()))
        except (PlanFileRefused, WaveRefused) as why:
            for fault in why.faults:
                file.add_error("file", fault)
        else:
            return _saved(request, wave)
    form = BasicsForm(plan={}, locked_code=False)
    return render(request, "runs/new.html", {"form": form, "file": file}, status=422)


@DO_TWICE
@maintainer_required
def lock(request: HttpRequest, wave: str) -> HttpResponse:
    """Show what the plan takes and what it could show, and close it."""
    found = _draft(wave)
    form = LockForm(_data(request))
    if request.method == "POST" and form.is_valid():
        try:
            lock_wave(found, by=request.user.pk, on=_read(request, found))
        except WaveRefused as why:
            for fault in why.faults:
                form.add_error(None, fault)
            if isinstance(why, PlanMoved):
                found, form.moved = _draft(wave), True
        else:
            messages.success(request, LOCKED)
            return redirect("runs:wave", code=wave)
    return _page(
        request,
        "runs/lock.html",
        form,
        wave=found,
        missing=kept_from_locking(found),
        **shown(estimate_of(found.plan, found.bank)),
    )


@DO_TWICE
@maintainer_required
def delete(request: HttpRequest, wave: str) -> HttpResponse:
    """Ask whether a draft may go, and throw it away."""
    found = _draft(wave)
    if request.method == "POST":
        try:
            delete_draft(found, by=request.user.pk)
        except WaveRefused as why:
            messages.error(request, str(why))
            return redirect("runs:wave", code=wave)
        messages.success(request, f"The draft {wave} is deleted.")
        return redirect("runs:waves")
    return render(request, "runs/delete.html", {"wave": found})


@require_safe
@maintainer_required
def file(request: HttpRequest, wave: str) -> HttpResponse:
    """The plan of a wave as its file, to be kept, changed and loaded again."""
    found = get_object_or_404(Wave, code=wave)
    if not found.plan:
        raise Http404
    return HttpResponse(
        plan_text(found),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{found.code}.toml"'},
    )


def draft(request: HttpRequest, wave: Wave) -> HttpResponse:
    """The page of a wave whose plan is still a draft."""
    context = {
        "wave": wave,
        "stages": stages_of(wave),
        "declared": wave.declared,
        "costs": wave.costs,
        "subjects": wave.plan.get("subjects", ()),
        "missing": kept_from_locking(wave),
        "file": FileForm(),
        **shown(estimate_of(wave.plan, wave.bank)),
    }
    return render(request, "runs/draft.html", context)


def shown(told: Estimate) -> dict[str, Any]:
    """What a page shows of an estimate."""
    return {
        "estimate": told,
        "facts": facts(told),
        "assumptions": assumptions(told.spread, of_pairs=told.of_pairs),
        "power_trials": TRIALS,
    }


def _draft(code: str) -> Wave:
    """The draft of this code; a wave that is locked has no such page."""
    wave = get_object_or_404(Wave.objects.select_related("bank"), code=code)
    if not wave.is_draft:
        raise Http404
    return wave


def _data(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _read(request: HttpRequest, wave: Wave) -> str:
    """The hash of the plan that somebody had before them when they opened the page."""
    return request.POST.get("on") or digest(wave.plan)


def _save(form: Any, plan: dict[str, Any], *, on: str = "") -> bool:
    """Store the plan; where that is refused, say why on the form."""
    try:
        save_draft(plan, on=on)
    except WaveRefused as why:
        form.moved = isinstance(why, PlanMoved)
        for fault in why.faults:
            if isinstance(form, SubjectsForm):
                form.faults.append(fault)
            else:
                form.add_error(None, fault)
        return False
    return True


def _saved(request: HttpRequest, wave: Wave) -> HttpResponse:
    messages.success(request, SAVED)
    return redirect("runs:wave", code=wave.code)


def _without_strangers(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan rid of the comparisons and prices of subjects that are no longer in it."""
    snapshots = {row["snapshot"] for row in plan["subjects"]}
    names = {
        f"{row['snapshot']}/{condition['name']}"
        for row in plan["subjects"]
        for condition in row["conditions"]
    }
    plan = dict(plan)
    if "declared" in plan:
        kept = [
            row
            for row in plan["declared"].get("comparisons", ())
            if row["a"] in names and row["b"] in names
        ]
        plan["declared"] = {**plan["declared"], "comparisons": kept}
    if "cost" in plan:
        prices = [row for row in plan["cost"].get("prices", ()) if row["snapshot"] in snapshots]
        plan["cost"] = {**plan["cost"], "prices": prices}
    return plan


def _page(request: HttpRequest, template: str, form: Any, **context: Any) -> HttpResponse:
    status = 422 if request.method == "POST" and form.errors else 200
    if wave := context.get("wave"):
        # Whoever was told that the draft has moved goes on from it as it is now.
        context["on"] = digest(_draft(wave.code).plan) if form.moved else _read(request, wave)
    return render(request, template, {"form": form, **context}, status=status)
