"""The forms of signing in: allauth's, which tell somebody who tried too often when to try again."""

from typing import Any, NoReturn

from allauth.account.adapter import get_adapter
from allauth.account.forms import LoginForm as BaseLoginForm
from allauth.account.forms import ReauthenticateForm as BasePasswordAgainForm
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal import ratelimit
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from cryptography.fernet import InvalidToken
from django import forms
from django.core.exceptions import ValidationError

from rating.limits import APP, turn_away, wait_of
from rating.models import User
from rating.second_factor import KEY_CHANGED, WRONG_CODE


class LoginForm(BaseLoginForm):  # type: ignore[misc]
    """An address and its password."""

    def clean(self) -> Any:
        try:
            return super().clean()
        except ValidationError as why:
            _turn_away_if_too_often(why, self.cleaned_data.get("login", ""))
            raise


class PasswordAgainForm(BasePasswordAgainForm):  # type: ignore[misc]
    """The password of somebody who is signed in, before they do what matters."""

    def clean_password(self) -> str:
        try:
            password: str = super().clean_password()
        except ValidationError as why:
            _turn_away_if_too_often(why, self.user.email)
            raise
        return password


class _CodeAtLimit(forms.Form):
    """A code, of which only so many may be tried for one account, from wherever they come."""

    user: User

    def clean_code(self) -> str:
        key = f"second-factor-{self.user.pk}"
        tried = ratelimit.consume(context.request, app=APP, action="second_factor", key=key)
        if not tried:
            _turn_away("second_factor", key)
        code: str = self.cleaned_data["code"]
        for one in Authenticator.objects.filter(user=self.user).order_by("-type"):
            try:
                fits = one.wrap().validate_code(code)
            except InvalidToken:
                raise ValidationError(KEY_CHANGED) from None
            if fits:
                one.user = self.user
                self.authenticator = one
                # Only what did not fit counts; and what did not before still does.
                tried.rollback()
                return code
        raise ValidationError(WRONG_CODE)


class CodeForm(_CodeAtLimit, AuthenticateForm):  # type: ignore[misc]
    """The code that follows the password."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        _as_ours(self)


class CodeAgainForm(_CodeAtLimit, ReauthenticateForm):  # type: ignore[misc]
    """A code of somebody who is signed in, before they do what matters."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        _as_ours(self)


def _as_ours(form: Any) -> None:
    form.fields["code"] = code_field("Code", "From your app, or one of your recovery codes.")


def code_field(label: str, help_text: str = "") -> forms.CharField:
    """Where a code is typed or pasted, with or without its spaces."""
    return forms.CharField(
        label=label,
        max_length=40,
        help_text=help_text,
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "autocapitalize": "off",
                "spellcheck": "false",
            }
        ),
        error_messages={"required": "Type the code."},
    )


def _turn_away_if_too_often(why: ValidationError, email: str) -> None:
    if why.code == "too_many_login_attempts":
        key = get_adapter()._get_login_attempts_cache_key(context.request, email=email)
        _turn_away("login_failed", key)


def _turn_away(action: str, key: str) -> NoReturn:
    request = context.request
    raise ImmediateHttpResponse(turn_away(request, wait_of(request, action, key=key)))
