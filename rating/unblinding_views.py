"""Freezing and unblinding a wave, its key, and the table of who sees what."""

from typing import Any

from allauth.account.adapter import get_adapter
from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from rating import unblinding as opening
from rating.export import key_lines
from rating.models import Exposure, Role, Saw, Unblinding, User
from rating.visibility import ROLES, rows
from runs.access import role_required
from runs.models import Wave, WaveKind

FROZEN = "Ratings are frozen. None counts from now on that was not there before."
UNBLINDED = "The wave is unblinded. Its key is open to maintainers."
ASKED = "You have asked. A second maintainer must now agree."
TAKEN_BACK = "Your request is taken back. Nothing was opened."
WRONG = "This is not your password. Your reason is still here."
TOO_MANY = "That was tried too often. Wait five minutes, then try again."


class StaffRequest(HttpRequest):
    user: User


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        label="Reason",
        help_text="It is kept in the log, with your name and the time.",
        error_messages={"required": "Say why, in a few words."},
    )


class FreezeForm(ReasonForm):
    read = forms.BooleanField(
        label="I have read what is still open, and it may close",
        error_messages={"required": "Tick that you have read what is still open."},
    )


class SignedForm(ReasonForm):
    """A reason, and the password of whoever gives it: they sign in again."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Sign in again with your password."},
    )

    def __init__(self, request: StaffRequest, *args: Any) -> None:
        super().__init__(*args)
        self.request = request

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if not self.errors:
            self._sign_in_again(said["password"])
        return said

    def _sign_in_again(self, password: str) -> None:
        # Wrong tries count together with those at sign-in, whose limit this is.
        person = self.request.user
        try:
            found = get_adapter(self.request).authenticate(
                self.request, email=person.email, password=password
            )
        except ValidationError:
            self.add_error("password", TOO_MANY)
            return
        if found is None or found.pk != person.pk:
            self.add_error("password", WRONG)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.MAINTAINER)
def freeze(request: StaffRequest, wave: str) -> HttpResponse:
    """Show what is still open, and close it."""
    found = _wave(wave)
    form = FreezeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            opening.freeze(found, request.user, form.cleaned_data["reason"], now=timezone.now())
        except opening.Refused as why:
            form.add_error(None, str(why))
        else:
            messages.info(request, FROZEN)
            return redirect("runs:wave", code=found.code)
    context = {"wave": found, "open": opening.still_open(found), "form": form}
    return render(request, "rating/freeze.html", context, status=422 if form.errors else 200)


@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.MAINTAINER)
def unblind(request: StaffRequest, wave: str) -> HttpResponse:
    """Unblind a local wave; of any other, ask for it, agree to it, or take one's request back."""
    found = _wave(wave)
    standing = opening.request_of(found)
    step = _step(found, standing, request.user)
    data = request.POST if request.method == "POST" else None
    form = ReasonForm(data) if step == "alone" else SignedForm(request, data)
    if data is None:
        return _show(request, found, standing, step, form)
    now = timezone.now()
    try:
        if data.get("do") == "take-back":
            opening.take_back(found, request.user, now=now)
            messages.info(request, TAKEN_BACK)
            return redirect("rating:unblind", wave=found.code)
        # The page may have shown another step: nobody agrees who thought they were the first.
        if data.get("do") != step:
            said = "This has moved on since you opened the page. See how it stands now."
            form = ReasonForm() if step == "alone" else SignedForm(request)
            return _show(request, found, standing, step, form, said=said, status=409)
        if not form.is_valid():
            return _show(request, found, standing, step, form, status=422)
        reason = form.cleaned_data["reason"]
        if step == "alone":
            opening.unblind_alone(found, request.user, reason, now=now)
        elif step == "agree":
            opening.agree(found, request.user, reason, now=now)
        else:
            opening.ask(found, request.user, reason, now=now)
            messages.info(request, ASKED)
            return redirect("rating:unblind", wave=found.code)
    except opening.Refused as why:
        # What stands now may not be what was read above.
        found, standing = _wave(wave), opening.request_of(found)
        step = _step(found, standing, request.user)
        form = ReasonForm() if step == "alone" else SignedForm(request)
        return _show(request, found, standing, step, form, said=str(why), status=409)
    messages.info(request, UNBLINDED)
    return redirect("runs:wave", code=found.code)


@require_safe
@role_required(Role.MAINTAINER)
def key(request: StaffRequest, wave: str) -> HttpResponse:
    """How much came in of each subject, from A to Z, and the way to the key. No level is here."""
    found = _unblinded(wave)
    _record(request, found)
    context = {"wave": found, "lines": opening.key_lines(found)}
    return render(request, "rating/key.html", context)


@require_safe
@role_required(Role.MAINTAINER)
def key_file(request: StaffRequest, wave: str) -> HttpResponseBase:
    """Which response is whose, as a file."""
    found = _unblinded(wave)
    _record(request, found)
    return StreamingHttpResponse(
        key_lines(opening.key_rows(found)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{found.code}-key.csv"'},
    )


@require_safe
@role_required(*Role.values)
def who_sees_what(request: StaffRequest) -> HttpResponse:
    """The table of what each role can see, before and after unblinding."""
    context = {
        "columns": ROLES,
        "states": [
            {"name": "before", "title": "Before unblinding", "rows": rows(unblinded=False)},
            {"name": "after", "title": "After unblinding", "rows": rows(unblinded=True)},
        ],
    }
    return render(request, "rating/who_sees_what.html", context)


def _step(wave: Wave, standing: Unblinding | None, person: User) -> str:
    """What this person could do next: "" for nothing but to wait, or to freeze first."""
    if wave.ratings_frozen_at is None or wave.unblinded_at is not None:
        return ""
    if wave.kind == WaveKind.LOCAL:
        return "alone"
    if standing is None:
        return "ask"
    return "" if standing.asked_by_id == person.pk else "agree"


def _show(
    request: StaffRequest,
    wave: Wave,
    standing: Unblinding | None,
    step: str,
    form: ReasonForm,
    *,
    said: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "wave": wave,
        "standing": standing,
        "mine": standing is not None and standing.asked_by_id == request.user.pk,
        "step": step,
        "form": form,
        "said": said,
    }
    return render(request, "rating/unblind.html", context, status=status)


def _wave(code: str) -> Wave:
    return get_object_or_404(Wave.objects.select_related("bank"), code=code)


def _unblinded(code: str) -> Wave:
    """A wave whose key is open; before that there is no such page."""
    found = _wave(code)
    if found.unblinded_at is None:
        raise Http404
    return found


def _record(request: StaffRequest, wave: Wave) -> None:
    Exposure.objects.create(person=request.user, saw=Saw.SUBJECTS, wave=wave)
