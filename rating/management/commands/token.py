"""Make, list and end API tokens at a terminal."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from rating.api import keys
from rating.models import User
from rating.tokens import SCOPES, ApiToken
from runs.models import Wave


class Command(BaseCommand):
    help = "Make, list or end the tokens with which programs come in."

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        make = steps.add_parser("make", help="make a token; its secret is printed once")
        make.add_argument("owner", help="the address of the person it belongs to")
        make.add_argument("name", help="what it is for")
        make.add_argument(
            "--scope", action="append", required=True, choices=list(SCOPES), dest="scopes"
        )
        make.add_argument("--wave", default="", help="the one wave it is for; else all of them")
        make.add_argument("--days", type=int, default=settings.API_TOKEN_DAYS)
        steps.add_parser("list", help="list all tokens, the newest first")
        end = steps.add_parser("end", help="end a token for good")
        end.add_argument("prefix", help="what it begins with, as list shows it")

    def handle(self, *args: Any, step: str, **options: Any) -> None:
        taken = {name: options[name] for name in STEPS[step]}
        getattr(self, f"{step}_")(**taken)

    def make_(self, owner: str, name: str, scopes: list[str], wave: str, days: int) -> None:
        person = User.objects.filter(email__iexact=owner, is_active=True).first()
        if person is None:
            raise CommandError(f"Nobody with the address {owner} has an account that is open.")
        only = Wave.objects.filter(code=wave).first()
        if wave and only is None:
            raise CommandError(f"There is no wave {wave}.")
        try:
            _, secret = keys.make_token(
                person, name, scopes, now=timezone.now(), days=days, wave=only
            )
        except keys.Refused as why:
            raise CommandError(str(why)) from None
        self.stdout.write(secret)

    def list_(self) -> None:
        now = timezone.now()
        for one in ApiToken.objects.select_related("owner", "wave").order_by("-made_at", "-pk"):
            state = "open until" if one.lives(now) else "over since"
            ended = min(filter(None, (one.revoked_at, one.ends_at)))
            self.stdout.write(
                f"{one.prefix} {one.owner.email} {state} {ended:%Y-%m-%d} "
                f"{one.wave or 'all waves'}: {', '.join(one.scopes)} ({one.name})"
            )

    def end_(self, prefix: str) -> None:
        found = list(ApiToken.objects.filter(prefix=prefix))
        if not found:
            raise CommandError(f"There is no token that begins with {prefix}. See: token list")
        ended = [keys.end_token(one, None, now=timezone.now()) for one in found]
        if not any(ended):
            raise CommandError(f"{prefix} was ended before.")
        self.stdout.write(f"{prefix} is ended.")


STEPS = {
    "make": ("owner", "name", "scopes", "wave", "days"),
    "list": (),
    "end": ("prefix",),
}
