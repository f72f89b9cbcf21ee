"""Who may come in: the admins' page of people, and the page that an invitation opens."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from rating.forms import InviteForm, JoinForm
from rating.models import EventKind, Expertise, Invitation, Role, User
from rating.people import InvitationEnded, invitation_of, invite, join, link_to
from rating.queue import log, writing
from runs.access import role_required


@role_required(Role.ADMIN)
def people(request: HttpRequest) -> HttpResponse:
    """Everybody, and those who are asked. Sending is left to the admin: the link is shown once."""
    form = InviteForm(request.POST or None)
    link = None
    if request.method == "POST" and form.is_valid():
        assert isinstance(request.user, User)
        wanted = form.cleaned_data
        if User.objects.filter(email__iexact=wanted["email"]).exists():
            form.add_error("email", "This address has an account already.")
        else:
            invitation = invite(wanted["email"], wanted["roles"], request.user)
            link = request.build_absolute_uri(link_to(invitation))
            form = InviteForm()
    return render(
        request,
        "rating/people.html",
        {
            "form": form,
            "link": link,
            "invitations": Invitation.objects.filter(accepted_at=None).order_by("email"),
            "expertise": Expertise.values,
            "people": User.objects.prefetch_related("groups").order_by("name", "email"),
        },
        status=422 if form.errors else 200,
    )


@require_POST
@role_required(Role.ADMIN)
def expertise(request: HttpRequest, pk: int) -> HttpResponse:
    """Mark what somebody knows from close by: some items need such a reviewer."""
    person = get_object_or_404(User, pk=pk)
    assert isinstance(request.user, User)
    marked = [one for one in Expertise.values if one in request.POST.getlist("expertise")]
    if marked != person.expertise:
        with writing():
            person.expertise = marked
            person.save(update_fields=["expertise"])
            log(
                EventKind.EXPERTISE,
                request.user.pk,
                person=person.pseudonym,
                expertise=", ".join(marked),
            )
    messages.info(request, f"{person}: {' and '.join(marked) or 'no expertise'}.")
    return redirect("rating:people")


@never_cache
@login_not_required
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Open an account with the link of an invitation."""
    try:
        invitation = invitation_of(token)
        form = JoinForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            name, password = form.cleaned_data["name"], form.cleaned_data["password1"]
            try:
                validate_password(password, User(email=invitation.email, name=name))
            except ValidationError as why:
                form.add_error("password1", why)
            else:
                login(
                    request,
                    join(token, name, password),
                    backend=settings.AUTHENTICATION_BACKENDS[0],
                )
                return redirect("home")
    except InvitationEnded as why:
        return render(request, "rating/join.html", {"problem": str(why)}, status=410)
    context = {"form": form, "address": invitation.email}
    return render(request, "rating/join.html", context, status=422 if form.errors else 200)
