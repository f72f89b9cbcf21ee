"""The second factor of one person, from the command line: for an admin whom no other can help."""

from typing import Any

from allauth.mfa.models import Authenticator
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rating.models import User
from rating.second_factor import Refused, codes_left, is_demanded, is_readable, let_set_up_anew


class Command(BaseCommand):
    help = "Say whether somebody's second factor is on, or let them set it up anew."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument(
            "--anew", metavar="REASON", help="take it away, and keep this reason in the log"
        )

    def handle(self, *args: Any, email: str, anew: str | None, **options: Any) -> None:
        person = User.objects.filter(email__iexact=email).first()
        if person is None:
            raise CommandError(f"{email} has no account.")
        if anew is None:
            self.stdout.write(self._standing(person))
            return
        if not anew.strip():
            raise CommandError('Say why: --anew "Lost their phone."')
        try:
            let_set_up_anew(person, None, anew.strip())
        except Refused as why:
            raise CommandError(str(why)) from None
        self.stdout.write(
            f"{email} signs in with the password alone next, and was signed out everywhere."
        )

    def _standing(self, person: User) -> str:
        on = Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).first()
        if on is None:
            asked = ", and is asked to set one up" if is_demanded(person) else ""
            return f"{person.email} has no second factor{asked}."
        if not is_readable(person):
            return (
                f"{person.email} has a second factor that can no longer be read: neither "
                "SECOND_FACTOR_KEY nor SECRET_KEY is the one that hid it."
            )
        return (
            f"{person.email} has a second factor since {on.created_at:%Y-%m-%d}, and "
            f"{len(codes_left(person))} recovery codes."
        )
