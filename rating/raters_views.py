"""The maintainers' page of those who rate: who works, who is paused, whether they are linked."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from rating import adjudication, queue
from rating.models import Adjudication, Role, User
from rating.raters import links_of, rater_lines
from runs.access import role_required
from runs.models import Wave


class PauseForm(forms.Form):
    """Both are shown to the rater, as written."""

    reason = forms.CharField(max_length=500, label="Why")
    earlier_ratings = forms.CharField(
        max_length=500,
        label="What becomes of earlier ratings",
        initial="Your earlier ratings stay as they are.",
    )


class HandOverForm(forms.Form):
    reason = forms.CharField(max_length=500, label="Why")


@require_safe
@role_required(Role.MAINTAINER)
def raters(request: HttpRequest) -> HttpResponse:
    return _show(request, PauseForm())


@require_POST
@role_required(Role.MAINTAINER)
def pause(request: HttpRequest, pseudonym: str) -> HttpResponse:
    """Give somebody no more work, with the reason they will read."""
    person = get_object_or_404(User, pseudonym=pseudonym)
    form = PauseForm(request.POST)
    if not form.is_valid():
        return _show(request, form, pseudonym, status=422)
    assert isinstance(request.user, User)
    queue.pause(
        person,
        request.user,
        form.cleaned_data["reason"],
        form.cleaned_data["earlier_ratings"],
        now=timezone.now(),
    )
    messages.info(request, f"{pseudonym} is paused.")
    return redirect("rating:raters")


@require_POST
@role_required(Role.MAINTAINER)
def resume(request: HttpRequest, pseudonym: str) -> HttpResponse:
    assert isinstance(request.user, User)
    queue.resume(get_object_or_404(User, pseudonym=pseudonym), request.user, now=timezone.now())
    messages.info(request, f"{pseudonym} gets work again.")
    return redirect("rating:raters")


@require_POST
@role_required(Role.MAINTAINER)
def hand_over(request: HttpRequest, code: UUID) -> HttpResponse:
    """Let somebody else settle what an adjudicator began and does not go on with."""
    assert isinstance(request.user, User)
    begun = get_object_or_404(Adjudication.objects.filter(own_at__isnull=False), code=code)
    form = HandOverForm(request.POST)
    if not form.is_valid():
        return _show(request, PauseForm(), hand_over=form, of=code, status=422)
    reason = form.cleaned_data["reason"]
    if adjudication.hand_over(begun, request.user, reason, now=timezone.now()):
        messages.info(request, "Somebody else can settle it now.")
    else:
        messages.info(request, "Nothing was changed: it is settled, or handed over already.")
    return redirect("rating:raters")


def _show(
    request: HttpRequest,
    form: PauseForm,
    pseudonym: str = "",
    *,
    hand_over: HandOverForm | None = None,
    of: UUID | None = None,
    status: int = 200,
) -> HttpResponse:
    waves = Wave.objects.order_by("title", "code")
    context = {
        "lines": rater_lines(),
        "links": [links_of(wave) for wave in waves],
        "form": form,
        "open": pseudonym,
        "begun": adjudication.begun().select_related("adjudicator").order_by("own_at"),
        "hand_over": hand_over,
        "of": of,
    }
    return render(request, "rating/raters.html", context, status=status)
