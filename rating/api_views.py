"""For people who write programs: what the API offers, and the tokens it is entered with."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rating.api import keys
from rating.api.problems import PROBLEMS
from rating.api.reference import calls
from rating.models import Role, User
from rating.tokens import LONGEST_LIFE, SCOPES, ApiToken
from runs.access import role_required
from runs.models import Wave

STAFF = (Role.MAINTAINER, Role.ADMIN)


class StaffRequest(HttpRequest):
    user: User


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        label="What it is for",
        help_text="Such as the name of the program, and where it runs.",
        error_messages={"required": "Name what the token is for."},
    )
    scopes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    wave = forms.ModelChoiceField(
        Wave.objects.filter(locked_at__isnull=False).only("code").order_by("code"),
        to_field_name="code",
        required=False,
        label="For one wave alone",
        empty_label="All waves",
        error_messages={"invalid_choice": "There is no such wave. Choose one from the list."},
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LIFE.days,
        label="Days it lasts",
        help_text=f"At most {LONGEST_LIFE.days}. You can end it at any time.",
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["scopes"]
        assert isinstance(choice, forms.MultipleChoiceField)
        choice.choices = [
            (scope, f"{scope}: {opens.lower()}") for scope, opens in keys.scopes_for(person).items()
        ]
        if Role.MAINTAINER not in person.roles:
            # Waves are named to maintainers alone.
            del self.fields["wave"]


@require_safe
@login_not_required
def reference(request: HttpRequest) -> HttpResponse:
    """Every call of the API, made from its own description."""
    context = {
        "groups": calls(),
        "scopes": [(scope, opens) for scope, (_, opens) in SCOPES.items()],
        "problems": PROBLEMS,
        "a_minute": settings.API_REQUESTS_A_MINUTE,
        "rows": settings.API_ROWS,
        "megabytes": settings.API_BODY_BYTES // 1_000_000,
        "may_have_tokens": request.user.is_authenticated
        and isinstance(request.user, User)
        and not request.user.roles.isdisjoint(STAFF),
    }
    return render(request, "rating/api.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@role_required(*STAFF)
def tokens(request: StaffRequest) -> HttpResponse:
    """One's own tokens, and for admins everybody's. A new one is shown once."""
    person, secret = request.user, ""
    data = request.POST if request.method == "POST" else None
    initial = {"days": settings.API_TOKEN_DAYS}
    form = TokenForm(person, data, initial=initial)
    if data is not None and form.is_valid():
        said = form.cleaned_data
        try:
            _, secret = keys.make_token(
                person,
                said["name"],
                said["scopes"],
                now=timezone.now(),
                days=said["days"],
                wave=said.get("wave"),
            )
        except keys.Refused as why:
            form.add_error(None, str(why))
        else:
            form = TokenForm(person, initial=initial)
    now = timezone.now()
    context = {
        "form": form,
        "secret": secret,
        "tokens": [
            {
                "token": one,
                "lives": one.lives(now) and one.owner.is_active,
                "closed": sorted(set(one.scopes) - set(one.opens(one.owner.roles))),
            }
            for one in _visible(person)
        ],
        "everybody": Role.ADMIN in person.roles,
    }
    return render(request, "rating/api_tokens.html", context, status=422 if form.errors else 200)


@require_POST
@role_required(*STAFF)
def end(request: StaffRequest, code: Any) -> HttpResponse:
    """End a token for good: one's own, and as an admin anybody's."""
    token = get_object_or_404(_visible(request.user), code=code)
    if keys.end_token(token, request.user, now=timezone.now()):
        messages.info(request, f"{token} is ended. It opens nothing any more.")
    else:
        messages.info(request, f"{token} was ended before.")
    return redirect("rating:api_tokens")


def _visible(person: User) -> Any:
    rows = (
        ApiToken.objects.select_related("owner", "wave")
        .prefetch_related("owner__groups")
        .order_by("-made_at", "-pk")
    )
    return rows if Role.ADMIN in person.roles else rows.filter(owner=person)
