"""Invite somebody from the command line: how the first admin comes in."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from rating.models import Role, User
from rating.people import ErasedBefore, invite, link_to


class Command(BaseCommand):
    help = "Invite somebody, and print the link that opens their account."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument(
            "--role", action="append", required=True, choices=Role.values, dest="roles"
        )
        parser.add_argument(
            "--site", default="http://127.0.0.1:8000", help="the address of this installation"
        )
        parser.add_argument(
            "--again", action="store_true", help="though their data were erased, as they wish"
        )

    def handle(
        self, *args: Any, email: str, roles: list[str], site: str, again: bool, **options: Any
    ) -> None:
        try:
            validate_email(email)
        except ValidationError:
            raise CommandError(f"{email!r} is not an address, such as name@example.org.") from None
        if User.objects.filter(email__iexact=email).exists():
            raise CommandError(f"{email} has an account already.")
        try:
            invitation = invite(email, roles, None, again=again)
        except ErasedBefore as why:
            raise CommandError(f"{why} If so, add --again.") from None
        self.stdout.write(site.rstrip("/") + link_to(invitation))
