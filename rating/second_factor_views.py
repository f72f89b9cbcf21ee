"""The pages of the second factor: one's own, and an admin's who lets somebody set up anew."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.core.mail import send_mail
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from rating import second_factor
from rating.models import Role, User
from rating.second_factor import Adapter, Refused
from rating.sign_in_forms import code_field
from runs.access import role_required

# Where a session keeps, hidden, the secret that is being set up, and until when its recovery
# codes can be read; and where somebody was going when they were led here.
SECRET: Final = "second_factor_secret"
CODES_UNTIL: Final = "second_factor_codes_until"
BACK: Final = "second_factor_back"
CODES_MINUTES: Final = 10

SET_UP: Final = "Your second factor is on. Keep the codes below where you will find them."
TURNED_OFF: Final = "Your second factor is off. You sign in with your password alone."
CHANGED: Final = """Hello,

{what}

If this was not you, or not asked for by you, write to those who run this site at once.
"""

View = Callable[..., HttpResponse]
signed_in_lately: Callable[[View], View] = reauthentication_required(app="allauth.mfa")
form_page = require_http_methods(["GET", "HEAD", "POST"])


class OwnRequest(HttpRequest):
    user: User


class SetUpForm(forms.Form):
    code = code_field("Code from the app", "Six digits. The app shows new ones every half minute.")


class AnewForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        label="Reason",
        help_text="It is kept in the log, with your name and the time.",
        error_messages={"required": "Say why, in a few words."},
    )
    sure = forms.BooleanField(
        label="I have spoken with this person, and it was they who asked",
        error_messages={"required": "Tick that you have spoken with them: a mail is not enough."},
    )


@never_cache
@require_safe
def standing(request: OwnRequest) -> HttpResponse:
    """Whether one's second factor is on, and what can be done about it."""
    person = request.user
    on = Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).first()
    readable = second_factor.is_readable(person)
    context = {
        "on": on,
        "readable": readable,
        "left": len(second_factor.codes_left(person)) if on and readable else 0,
        "of": second_factor.CODES,
        "demanded": second_factor.is_demanded(person),
    }
    return render(request, "rating/second_factor.html", context)


@never_cache
@sensitive_post_parameters("code")
@form_page
@signed_in_lately
def set_up(request: OwnRequest) -> HttpResponse:
    """Show the secret to give to an app, and take the first code it makes of it."""
    person = request.user
    _note_where_they_were_going(request)
    if person.second_factor:
        return redirect("rating:second_factor")
    secret = _secret(request)
    form = SetUpForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            second_factor.set_up(person, secret, form.cleaned_data["code"], now=timezone.now())
        except Refused as why:
            form.add_error("code", str(why))
        else:
            del request.session[SECRET]
            update_session_auth_hash(request, person)
            record_authentication(request, person, "mfa", type=Authenticator.Type.TOTP)
            _show_codes_for_a_while(request)
            _write_to(person, "A second factor was set up for your account.")
            messages.info(request, SET_UP)
            return redirect("rating:recovery_codes")
    context = {
        "form": form,
        "secret": [secret[at : at + 4] for at in range(0, len(secret), 4)],
        "picture": second_factor.picture(Adapter().build_totp_url(person, secret)),
        "link": Adapter().build_totp_url(person, secret),
        "demanded": second_factor.is_demanded(person),
    }
    return render(request, "rating/set_up_factor.html", context, status=422 if form.errors else 200)


@form_page
@signed_in_lately
def turn_off(request: OwnRequest) -> HttpResponse:
    """Ask whether it is meant; then ask for the password alone at sign-in."""
    person = request.user
    if not person.second_factor:
        return redirect("rating:second_factor")
    said = ""
    if request.method == "POST":
        try:
            second_factor.turn_off(person)
        except Refused as why:
            said = str(why)
        else:
            update_session_auth_hash(request, person)
            # They gave a code a moment ago: the password is not asked for on top of it.
            record_authentication(request, person, "password")
            _write_to(person, "The second factor of your account was turned off.")
            messages.info(request, TURNED_OFF)
            return redirect("rating:second_factor")
    context = {"said": said, "demanded": second_factor.is_demanded(person)}
    return render(request, "rating/turn_off_factor.html", context, status=409 if said else 200)


@never_cache
@form_page
@signed_in_lately
def codes(request: OwnRequest) -> HttpResponse:
    """Recovery codes: shown for a while where they were made, and never again. POST: new ones."""
    person = request.user
    if not person.second_factor:
        raise Http404
    if request.method == "POST":
        second_factor.new_codes(person)
        _show_codes_for_a_while(request)
        _write_to(person, "New recovery codes were made for your account.")
        return redirect("rating:recovery_codes")
    left = second_factor.codes_left(person)
    context = {
        "codes": left if _may_see_codes(request) else None,
        "left": len(left),
        "of": second_factor.CODES,
        "minutes": CODES_MINUTES,
        "back": request.session.get(BACK, ""),
    }
    return render(request, "rating/recovery_codes.html", context)


@never_cache
@require_safe
def codes_file(request: OwnRequest) -> HttpResponse:
    """The codes as a file, for as long as they are shown."""
    if not request.user.second_factor or not _may_see_codes(request):
        raise Http404
    lines = [
        "Recovery codes for Compassion",
        f"{request.user.email}, {timezone.localtime():%d %B %Y}",
        "Each signs you in once, in place of a code from your app.",
        "",
        *second_factor.codes_left(request.user),
    ]
    return HttpResponse(
        "\n".join(lines) + "\n",
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="recovery-codes.txt"'},
    )


@form_page
@role_required(Role.ADMIN)
def anew(request: OwnRequest, pk: int) -> HttpResponse:
    """Let somebody who lost their phone set up anew, with a reason that is kept in the log."""
    person = get_object_or_404(User, pk=pk)
    raise_if_reauthentication_required(request, app="allauth.mfa")
    form = AnewForm(request.POST if request.method == "POST" else None)
    own = person.pk == request.user.pk
    if request.method == "POST" and form.is_valid():
        try:
            second_factor.let_set_up_anew(person, request.user, form.cleaned_data["reason"])
        except Refused as why:
            form.add_error(None, str(why))
        else:
            _write_to(person, "An admin lets you set up your second factor anew.")
            messages.info(request, f"{person} can set up anew. They were signed out everywhere.")
            return redirect("rating:people")
    context = {"form": form, "person": person, "own": own}
    return render(request, "rating/factor_anew.html", context, status=422 if form.errors else 200)


def _secret(request: OwnRequest) -> str:
    """The secret being set up: the same until it is, so that a page opened twice does no harm."""
    with suppress(KeyError, InvalidToken):
        return Adapter().decrypt(request.session[SECRET])
    secret = second_factor.new_secret()
    request.session[SECRET] = Adapter().encrypt(secret)
    return secret


def _show_codes_for_a_while(request: OwnRequest) -> None:
    request.session[CODES_UNTIL] = timezone.now().timestamp() + CODES_MINUTES * 60


def _may_see_codes(request: OwnRequest) -> bool:
    until: float = request.session.get(CODES_UNTIL, 0)
    return timezone.now().timestamp() < until


def _note_where_they_were_going(request: OwnRequest) -> None:
    to = request.GET.get("next", "")
    if to and url_has_allowed_host_and_scheme(to, {request.get_host()}, request.is_secure()):
        request.session[BACK] = to


def _write_to(person: User, what: str) -> None:
    """Tell the person at their address, where mail can be sent: a thief's act does not stay unseen."""
    if settings.MAIL:
        letter = CHANGED.format(what=what)
        send_mail("Signing in to Compassion", letter, None, [person.email], fail_silently=True)
