"""Try the product on this machine: two banks, a scripted subject, one account for each role."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from rating.models import Role, User
from rating.people import give_roles
from runs.bank import read_bank
from runs.models import Bank, Wave
from runs.plan_file import read_plan
from runs.waves import plan_wave, start_wave

FIXTURES = settings.BASE_DIR / "fixtures"
PEOPLE = {
    "rater@example.org": ("Robin", Role.RATER),
    "second-rater@example.org": ("Sam", Role.RATER),
    "reviewer@example.org": ("Noor", Role.ITEM_REVIEWER),
    "adjudicator@example.org": ("Ada", Role.ADJUDICATOR),
    "maintainer@example.org": ("Mika", Role.MAINTAINER),
    "admin@example.org": ("Alex", Role.ADMIN),
}
PATIENCE = 10  # seconds for a process to end by itself


class Command(BaseCommand):
    help = "Try the product: fill the database once, then serve it with a worker beside it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--fill-only", action="store_true", help="fill the database and serve nothing"
        )
        parser.add_argument(
            "--new-passwords", action="store_true", help="give the demo accounts new passwords"
        )

    def handle(
        self, *args: Any, port: int, fill_only: bool, new_passwords: bool, **options: Any
    ) -> None:
        if not fill_only:
            _refuse_a_taken_port(port)
        self.stdout.write("Preparing the database.")
        call_command("migrate", verbosity=0)
        for name in ("demo_bank.json", "demo_pairs.json"):
            Bank.objects.import_file(read_bank(FIXTURES / name))
        for name in ("demo_wave.toml", "demo_pairs_wave.toml"):
            plan = read_plan(FIXTURES / name)
            if not Wave.objects.filter(code=plan.code).exists():
                start_wave(plan_wave(plan))
        self._people(new_passwords)
        if not fill_only:
            call_command("collectstatic", interactive=False, verbosity=0)
            self._serve(port)

    def _people(self, new_passwords: bool) -> None:
        made: list[tuple[str, str, str]] = []
        for email, (name, role) in PEOPLE.items():
            user = User.objects.filter(email=email).first()
            if user and not new_passwords:
                continue
            password = "-".join(secrets.token_hex(2) for _ in range(3))
            if user:
                user.set_password(password)
                user.save(update_fields=["password"])
            else:
                give_roles(User.objects.create_user(email, password, name=name), [role])
            made.append((role.label, email, password))
        if not made:
            self.stdout.write(
                "The accounts and their passwords are those printed at the first start; "
                "`.venv/bin/python manage.py demo --new-passwords` prints new ones."
            )
            return
        self.stdout.write("\nAccounts (printed this once):")
        for label, email, password in made:
            self.stdout.write(f"  {label:14} {email:26} {password}")
        self.stdout.write("\nThis is a demo: no second factor is asked for, and no mail is sent.")

    def _serve(self, port: int) -> None:
        beside = Path(sys.executable).parent
        commands = {
            "worker": [
                str(beside / "celery"), "--app", "compassion", "--quiet", "worker",
                "--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING",
            ],
            "server": [
                str(beside / "gunicorn"), "compassion.wsgi", "--bind", f"127.0.0.1:{port}",
                "--threads", "8", "--log-level", "warning",
            ],
        }  # fmt: skip
        # A shell that starts it in the background has it ignore Ctrl-C, which would end nothing then.
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, _as_interrupt)
        # In sessions of their own, so that Ctrl-C reaches this process alone, which ends both.
        running = {
            name: subprocess.Popen(
                command,
                cwd=settings.BASE_DIR,
                env={**os.environ, "SECOND_FACTOR": "false"},
                start_new_session=True,
            )
            for name, command in commands.items()
        }
        try:
            _wait_until(lambda: _answers(port) or _ended(running) is not None)
            if _ended(running) is None:
                self.stdout.write(f"\nOpen http://127.0.0.1:{port}/ and sign in. Ctrl-C ends it.")
            _wait_until(lambda: _ended(running) is not None, patience=None)
            name = _ended(running)
            raise CommandError(f"The {name} ended by itself with {running[str(name)].returncode}.")
        except KeyboardInterrupt:
            self.stdout.write("\nEnding the server and the worker.")
        finally:
            for process in running.values():
                process.terminate()
            for process in running.values():
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _as_interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _refuse_a_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(
                f"Something else answers on port {port}. End it, or choose another: "
                f".venv/bin/python manage.py demo --port {port + 1}"
            ) from None


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _ended(running: dict[str, "subprocess.Popen[bytes]"]) -> str | None:
    return next((name for name, process in running.items() if process.poll() is not None), None)


def _wait_until(done: Callable[[], bool], *, patience: float | None = 60) -> None:
    ends = None if patience is None else time.monotonic() + patience
    while not done() and (ends is None or time.monotonic() < ends):
        time.sleep(0.1)
