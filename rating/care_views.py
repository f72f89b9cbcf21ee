"""Care: hours and exposure for those who look after raters, and for each rater their own."""

from collections.abc import Iterable

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from rating import care, notices
from rating.forms import COUNTS_HIDDEN, LOOK
from rating.models import Role, User
from rating.people import save_of
from rating.personal.copying import copy_of, record_copy
from runs.access import role_required

HOURS, EXPOSURE, EVERYTHING = "hours.csv", "exposure.csv", "everything.json"
ASKED = "We will write to you once, when there are responses to rate."
WITHDRAWN = "We will not write to you."


class RaterRequest(HttpRequest):
    user: User


class DaysForm(forms.Form):
    """The days of a file, as the address bar carries them."""

    first = forms.DateField(
        required=False, label="From", widget=forms.DateInput(attrs={"type": "date"})
    )
    last = forms.DateField(
        required=False, label="To", widget=forms.DateInput(attrs={"type": "date"})
    )

    def clean(self) -> dict[str, object]:
        found = super().clean() or {}
        first, last = found.get("first"), found.get("last")
        if first and last and first > last:
            self.add_error("last", "The last day lies before the first. Change one of them.")
        return found

    @property
    def days(self) -> care.Days:
        return care.Days(self.cleaned_data["first"], self.cleaned_data["last"])


@require_safe
@role_required(Role.MAINTAINER, Role.ADMIN)
def show(request: HttpRequest) -> HttpResponse:
    """What there is to fetch, and what is in it."""
    return _show(request, DaysForm())


@require_safe
@role_required(Role.MAINTAINER, Role.ADMIN)
def download(request: RaterRequest, name: str) -> HttpResponseBase:
    """One of the files about everybody, line by line. Who fetches it is put on record."""
    if name not in (HOURS, EXPOSURE):
        raise Http404
    form = DaysForm(request.GET)
    if not form.is_valid():
        return _show(request, form, status=422)
    lines = care.hours_lines if name == HOURS else care.exposure_lines
    if request.method == "GET":
        care.record_look(request.user, name, form.days)
    return _file(name, lines(form.days))


@require_safe
@role_required(Role.RATER)
def own(request: RaterRequest, name: str) -> HttpResponseBase:
    """A rater's own file."""
    if name == HOURS:
        return _file(f"my-{HOURS}", care.hours_lines(only=request.user))
    if name == EXPOSURE:
        return _file(f"my-{EXPOSURE}", care.own_exposure_lines(request.user))
    if name == EVERYTHING:
        if request.method == "GET":
            record_copy(request.user, request.user)
        return StreamingHttpResponse(
            copy_of(request.user, now=timezone.now(), levels=False),
            content_type="application/json; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="my-{EVERYTHING}"'},
        )
    raise Http404


@require_POST
@role_required(Role.RATER)
def notice(request: RaterRequest) -> HttpResponse:
    """Ask to be written to once when there is work, or take that back."""
    if request.POST.get("do") != "ask":
        notices.withdraw_the_notice(request.user)
        messages.info(request, WITHDRAWN)
    elif notices.offered():
        notices.ask_for_a_notice(request.user, now=timezone.now())
        messages.info(request, ASKED)
    return redirect("home")


@require_POST
@role_required(Role.RATER)
def counts(request: RaterRequest) -> HttpResponse:
    """Show or hide the counts of the day on one's home page."""
    person = request.user
    person.look = {**LOOK, **person.look, COUNTS_HIDDEN: request.POST.get("do") == "hide"}
    save_of(person, "look")
    return redirect("home")


def _show(request: HttpRequest, form: DaysForm, *, status: int = 200) -> HttpResponse:
    return render(request, "rating/care.html", {"form": form}, status=status)


def _file(name: str, lines: Iterable[care.Line]) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        care.as_csv(lines),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
