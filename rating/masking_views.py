"""Names in the replies of a wave: shown to maintainers, who cover them before they are rated."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from rating import masking
from rating.models import Exposure, Role, Saw, User
from runs.access import role_required
from runs.models import Wave

COVERED = "The name is covered. Raters can now be shown this response."
AS_IT_IS = "Raters will see this response as it is."


class StaffRequest(HttpRequest):
    user: User


@require_safe
@role_required(Role.MAINTAINER)
def names(request: StaffRequest, wave: str) -> HttpResponse:
    """The responses that name their own maker. Whoever reads them no longer rates this wave."""
    found = get_object_or_404(Wave, code=wave)
    page = masking.named_in(found, request.GET.get("page", "1"))
    if page:
        Exposure.objects.get_or_create(person=request.user, saw=Saw.SUBJECTS, wave=found)
    return render(request, "rating/names.html", {"wave": found, "page": page})


@require_POST
@role_required(Role.MAINTAINER)
def cover(request: StaffRequest, wave: str, code: str) -> HttpResponse:
    """Cover the names of one response, or show it as it is."""
    found = get_object_or_404(Wave, code=wave)
    response = masking.response_of(found, code)
    wanted = request.POST.get("do")
    if response is None or wanted not in ("cover", "show"):
        raise Http404
    try:
        masking.decide(response, request.user, cover=wanted == "cover", now=timezone.now())
    except masking.Refused as why:
        messages.error(request, str(why))
    else:
        messages.info(request, COVERED if wanted == "cover" else AS_IT_IS)
    names = reverse("rating:names", args=[found.code])
    page = request.POST.get("page", "")
    return redirect(f"{names}?page={page}" if page.isdecimal() else names)
