"""Who may come in: the admins' page of people, and the page that an invitation opens."""

from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from rating.forms import AccessForm, EraseForm, InviteForm, JoinForm
from rating.integrity.digests import commitment
from rating.models import EventKind, Expertise, Invitation, Rating, Role, User
from rating.people import (
    CannotChange,
    ErasedBefore,
    InvitationEnded,
    invitation_of,
    invite,
    join,
    link_to,
    save_of,
    set_access,
)
from rating.personal.erasing import GOES, STAYS, CannotErase, erase, erasure_of, why_not
from rating.queue import log, writing
from rating.second_factor import with_factor
from runs.access import role_required


@require_http_methods(["GET", "HEAD", "POST"])
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
            try:
                invitation = invite(
                    wanted["email"], wanted["roles"], request.user, again=wanted["again"]
                )
            except ErasedBefore as why:
                form.add_error("email", str(why))
            else:
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
            "people": with_factor(
                User.objects.filter(erasure=None).prefetch_related("groups")
            ).order_by("name", "email"),
            "erased": User.objects.exclude(erasure=None)
            .select_related("erasure")
            .order_by("-erasure__erased_at"),
            "ask_again": "email" in form.errors
            and bool(form.data.get("email"))
            and erasure_of(form.data["email"]) is not None,
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
            save_of(person, "expertise")
            log(
                EventKind.EXPERTISE,
                request.user.pk,
                person=person.pseudonym,
                # What somebody has lived through is theirs: the log tells it to whoever has the key.
                expertise=commitment(marked, person.check_key),
            )
    messages.info(request, f"{person}: {' and '.join(marked) or 'no expertise'}.")
    return redirect("rating:people")


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.ADMIN)
def access(request: HttpRequest, pk: int) -> HttpResponse:
    """What somebody may do here, and whether they may sign in; changed with a reason."""
    person = get_object_or_404(User.objects.filter(erasure=None), pk=pk)
    assert isinstance(request.user, User)
    now = {"roles": sorted(person.roles), "open": person.is_active}
    form = AccessForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data
        try:
            set_access(
                person,
                request.user,
                wanted["roles"],
                may_come_in=wanted["open"],
                reason=wanted["reason"],
                now=timezone.now(),
            )
        except CannotChange as why:
            form.add_error(None, str(why))
        else:
            messages.info(request, f"Changed what {person} may do.")
            return redirect("rating:people")
    context = {"form": form, "person": person}
    return render(request, "rating/access.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@role_required(Role.ADMIN)
def erase_person(request: HttpRequest, pk: int) -> HttpResponse:
    """What goes and what stays of somebody; and, once their address is typed, the erasure."""
    person = get_object_or_404(User.objects.filter(erasure=None), pk=pk)
    assert isinstance(request.user, User)
    form = EraseForm(request.POST or None, person=person)
    problem = why_not(person)
    if person.pk == request.user.pk:
        problem = problem or "Another admin does this for you: nobody erases themselves."
    if request.method == "POST" and not problem and form.is_valid():
        try:
            erase(person, request.user, form.cleaned_data["reason"], now=timezone.now())
        except CannotErase as why:
            problem = str(why)
        else:
            messages.info(request, "Erased. What they found stays, under a code name.")
            return redirect("rating:people")
    context = {
        "form": form,
        "person": person,
        "problem": problem,
        "goes": GOES,
        "stays": STAYS,
        "ratings": Rating.objects.filter(rater=person).count(),
        "notes": Rating.objects.filter(rater=person).exclude(note="", harm_line="").count(),
    }
    return render(
        request,
        "rating/erase.html",
        context,
        status=422 if form.errors or (problem and request.POST) else 200,
    )


@never_cache
@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
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
                person = join(token, name, password)
                login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
                record_authentication(request, person, "password")
                return redirect("home")
    except InvitationEnded as why:
        return render(request, "rating/join.html", {"problem": str(why)}, status=410)
    shortest = settings.PASSWORD_LENGTH
    context = {"form": form, "address": invitation.email, "shortest": shortest}
    return render(request, "rating/join.html", context, status=422 if form.errors else 200)
