"""The looks, one by one. None of them changes anything, and none tells a secret."""

import json
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.db.models import Min
from django.utils import timezone

from compassion.celery import app
from rating.backups.form import not_migrated
from rating.backups.making import STAMP
from rating.doctor.beats import database_now
from rating.doctor.lines import Line, look, ok, wrong
from rating.heartbeats import Heartbeat
from rating.models import Event, Role, User
from rating.seals import Seal, Touch
from rating.support import BadLines, read_lines
from runs.guards import missing
from runs.models import Response, Run, RunState, Status
from runs.providers import key_names

LOCAL: Final = {"127.0.0.1", "localhost", "[::1]", "::1"}
HERE: Final = "the environment of web and worker"
PYTHON: Final = (3, 11)
LEAST_POSTGRESQL: Final = 140_000
LEAST_SQLITE: Final = (3, 31, 0)
#: Beyond these, SQLite serves badly: one writes at a time, and a look takes in more and more.
MANY_PEOPLE, MANY_RESPONSES = 12, 100_000
LITTLE_SPACE, NO_SPACE = 2_000_000_000, 300_000_000  # bytes
HEARTBEAT: Final = timedelta(minutes=12)  # two looks of a caretaker and a little
UNSEALED: Final = timedelta(minutes=30)
OLD_BACKUP, VERY_OLD_BACKUP = timedelta(days=1, hours=2), timedelta(days=7)
SKEW, MUCH_SKEW = 2.0, 30.0  # seconds
KEY_LENGTH: Final = 50
FREE_CONNECTIONS: Final = 10
WAIT: Final = 3.0  # seconds that a service may take to answer

Look = Callable[[datetime], Iterator[Line]]


def python(now: datetime) -> Iterator[Line]:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON:
        yield wrong("Python", found, "3.11 or newer is needed.", "make PYTHON=python3.12 setup")
    else:
        yield ok("Python", found)


def database(now: datetime) -> Iterator[Line]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            yield from _postgresql(cursor)
        else:
            yield from _sqlite(cursor)


def _postgresql(cursor: Any) -> Iterator[Line]:
    def asked(question: str) -> Any:
        cursor.execute(question)
        return cursor.fetchone()[0]

    version = int(asked("SHOW server_version_num"))
    said = asked("SHOW server_version")
    if version < LEAST_POSTGRESQL:
        yield wrong(
            "Database", f"PostgreSQL {said}", "14 or newer is needed.", "upgrade PostgreSQL"
        )
    else:
        yield ok("Database", f"PostgreSQL {said}")
    level = asked("SHOW default_transaction_isolation")
    if level != "read committed":
        yield wrong(
            "Isolation", level, "The queue locks rows as read committed has it.",
            "ALTER DATABASE … SET default_transaction_isolation TO 'read committed'",
        )  # fmt: skip
    most, used = (
        int(asked("SHOW max_connections")),
        int(asked("SELECT count(*) FROM pg_stat_activity")),
    )
    if most - used < FREE_CONNECTIONS:
        yield look(
            "Connections", f"{used} of {most} are in use",
            "Each thread of web and worker keeps one.", "raise max_connections, or run fewer threads",
        )  # fmt: skip
    else:
        yield ok("Connections", f"{used} of {most} are in use")
    if asked("SHOW synchronous_commit") == "off" or asked("SHOW fsync") == "off":
        yield wrong(
            "Durability", "synchronous_commit or fsync is off",
            "A rating that was thanked for could be lost.", "turn both on in postgresql.conf",
        )  # fmt: skip


def _sqlite(cursor: Any) -> Iterator[Line]:
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        yield wrong(
            "Database", f"SQLite {sqlite3.sqlite_version}", "3.31 or newer is needed.",
            "use a newer Python",
        )  # fmt: skip
    else:
        yield ok("Database", f"SQLite {sqlite3.sqlite_version}")
    cursor.execute("PRAGMA journal_mode")
    mode = cursor.fetchone()[0]
    if mode != "wal" and not connection.is_in_memory_db():  # type: ignore[attr-defined]
        yield wrong(
            "Journal", mode, "Without WAL whoever reads waits for whoever writes.",
            "keep the database on a local disk, where WAL works",
        )  # fmt: skip
    people = User.objects.filter(is_active=True).count()
    responses = Response.objects.count()
    if people > MANY_PEOPLE or responses > MANY_RESPONSES:
        yield look(
            "Size", f"{people} people and {responses:,} responses on SQLite",
            "It has one writer at a time: it is for a few raters.",
            "manage.py backup FILE, then restore it into PostgreSQL: docs/backup.md",
        )  # fmt: skip


def migrations(now: datetime) -> Iterator[Line]:
    if waiting := not_migrated():
        yield wrong(
            "Migrations", f"{len(waiting)} wait, first {waiting[0]}",
            "Tables are not those the program takes them for.", "manage.py migrate",
        )  # fmt: skip
    else:
        yield ok("Migrations", "all are done")


def triggers(now: datetime) -> Iterator[Line]:
    if gone := missing(connection):
        yield wrong(
            "Triggers", f"{len(gone)} are missing, first {gone[0]}",
            "The database does not refuse what it should.",
            "manage.py migrate, then manage.py verify: somebody took them away",
        )  # fmt: skip
    else:
        yield ok("Triggers", "all stand")


def broker(now: datetime) -> Iterator[Line]:
    where = urlsplit(settings.CELERY_BROKER_URL)
    name = f"{where.scheme} at {where.hostname or settings.BROKER_DIR}"
    try:
        with app.connection_for_write(connect_timeout=WAIT) as line:
            line.ensure_connection(max_retries=1, timeout=round(WAIT))
    except Exception as why:  # every transport has errors of its own, and all mean the same here
        yield wrong(
            "Broker", f"{name} does not answer ({type(why).__name__})",
            "Workers get no work.", "start it, or correct CELERY_BROKER_URL",
        )  # fmt: skip
        return
    yield ok("Broker", f"{name} answers")


def worker(now: datetime) -> Iterator[Line]:
    last = Heartbeat.objects.order_by("-seen_at").first()
    waiting = Response.objects.filter(status=Status.PENDING, run__state=RunState.ASKING).count()
    if last is None or now - last.database_at > HEARTBEAT:
        found = (
            "none was ever seen"
            if last is None
            else f"the last was seen at {last.database_at:%H:%M on %d %b}"
        )
        backlog = f"; {waiting:,} responses wait to be asked for" if waiting else ""
        yield wrong(
            "Worker", found + backlog, "Nobody asks subjects, seals the log or makes files.",
            "make worker, or docker compose up --detach worker",
        )  # fmt: skip
        return
    yield ok(
        "Worker", f"seen at {last.database_at:%H:%M}; {waiting:,} responses wait to be asked for"
    )


def clocks(now: datetime) -> Iterator[Line]:
    skews = [("web", abs((timezone.now() - database_now()).total_seconds()))]
    skews += [
        (f"worker {one.worker}", abs((one.seen_at - one.database_at).total_seconds()))
        for one in Heartbeat.objects.filter(database_at__gte=now - HEARTBEAT)
    ]
    name, most = max(skews, key=lambda pair: pair[1])
    found = f"{name} and database differ by {most:.1f} s"
    why, fix = "Leases, undo and sign-in go by the clock.", "run an NTP client on every machine"
    if most > MUCH_SKEW:
        yield wrong("Clocks", found, why, fix)
    elif most > SKEW:
        yield look("Clocks", found, why, fix)
    else:
        yield ok("Clocks", found)


def caching(now: datetime) -> Iterator[Line]:
    try:
        cache.set("doctor", "ok", 5)
        answers = cache.get("doctor") == "ok"
    except Exception:  # every cache has errors of its own, and all mean the same here
        answers = False
    if not answers:
        yield wrong(
            "Cache",
            "does not answer",
            "Sign-in is counted in it.",
            "start Redis, or correct CELERY_BROKER_URL",
        )
    elif (
        "locmem" in str(settings.CACHES["default"]["BACKEND"]) and connection.vendor == "postgresql"
    ):
        yield wrong(
            "Cache", "each process has its own", "Limits on signing in hold for each process alone.",
            "let CELERY_BROKER_URL name a Redis",
        )  # fmt: skip
    else:
        yield ok("Cache", "answers")


def disk(now: datetime) -> Iterator[Line]:
    folder: Path = settings.VAR_DIR
    if not os.access(folder, os.W_OK):
        if connection.vendor == "sqlite":
            yield wrong(
                "Folder", f"{folder} cannot be written", "The database is in it.",
                f"chown it to whoever runs this: sudo chown $(id -un) {folder}",
            )  # fmt: skip
        else:
            yield ok("Folder", f"{folder} is not written to")
        return
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB are free at {folder}"
    why, fix = "A full disk stops everything, and no backup fits.", "make room, or move VAR_DIR"
    if free < NO_SPACE:
        yield wrong("Disk", found, why, fix)
    elif free < LITTLE_SPACE:
        yield look("Disk", found, why, fix)
    else:
        yield ok("Disk", found)
    for file in ("secret_key", "db.sqlite3"):
        path = folder / file
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & (
            0o077 if file == "secret_key" else 0o007
        ):
            yield wrong(
                "Rights", f"others on this machine can read {path}", "It is everything there is to hide.",
                f"chmod 600 {path}",
            )  # fmt: skip


def secret_key(now: datetime) -> Iterator[Line]:
    key = settings.SECRET_KEY
    if len(key) < KEY_LENGTH or len(set(key)) < 12 or key.startswith("django-insecure"):
        yield wrong(
            "SECRET_KEY", f"is weak: {len(key)} characters, {len(set(key))} different ones",
            "Sessions, invitations and seals are signed with it.",
            "python3 -c 'import secrets; print(secrets.token_urlsafe(50))', and the old one into "
            "SECRET_KEY_FALLBACKS",
        )  # fmt: skip
    else:
        yield ok("SECRET_KEY", "is long and random enough")


def addresses(now: datetime) -> Iterator[Line]:
    hosts, origins = settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS
    public = [host for host in hosts if host not in LOCAL]
    if settings.DEBUG and public:
        yield wrong(
            "DEBUG", "is on, and the site has public names", "Error pages show settings and texts.",
            f"take DEBUG out of {HERE}",
        )  # fmt: skip
    if "*" in hosts:
        yield wrong(
            "ALLOWED_HOSTS", "allows any name", "Links in mails can be forged.", "name yours"
        )
    if public and not settings.HTTPS:
        yield wrong(
            "HTTPS", f"is off, and the site is {public[0]}", "Passwords and replies travel in clear.",
            "HTTPS=true, behind a proxy that speaks it, with BEHIND_PROXY=true",
        )  # fmt: skip
    for origin in origins:
        parts = urlsplit(origin)
        if settings.HTTPS and parts.scheme != "https":
            yield wrong(
                "CSRF_TRUSTED_ORIGINS", f"{origin} is not https", "Forms from it are refused.",
                f"write https://{parts.netloc or parts.path}",
            )  # fmt: skip
        elif not _allowed(parts.hostname or "", hosts):
            yield wrong(
                "CSRF_TRUSTED_ORIGINS", f"{origin} is not in ALLOWED_HOSTS", "Its pages are refused.",
                f"add {parts.hostname} to ALLOWED_HOSTS",
            )  # fmt: skip
    if public and settings.HTTPS and not origins:
        yield look(
            "CSRF_TRUSTED_ORIGINS", "is empty", "Behind a proxy, forms may be refused.",
            f"CSRF_TRUSTED_ORIGINS=https://{public[0].lstrip('.')}",
        )  # fmt: skip
    if not public:
        yield ok("Addresses", f"{', '.join(hosts)}: for this machine alone")
    elif settings.HTTPS:
        yield ok("Addresses", f"{', '.join(public)} over HTTPS")


def _allowed(host: str, hosts: list[str]) -> bool:
    return any(
        one in ("*", host) or (one.startswith(".") and (host.endswith(one) or host == one[1:]))
        for one in hosts
    )


def mail(now: datetime) -> Iterator[Line]:
    if not settings.MAIL:
        yield look(
            "Mail", "no server is named", "Nobody can ask for a new password, or be told of work.",
            "set EMAIL_HOST; until then manage.py changepassword ADDRESS",
        )  # fmt: skip
        return
    try:
        line = get_connection(timeout=WAIT)
        line.open()
        line.close()
    except Exception as why:  # from the name of the server to its certificate
        yield wrong(
            "Mail", f"{settings.EMAIL_HOST} does not take it ({type(why).__name__})",
            "No mail goes out.", "correct EMAIL_HOST, EMAIL_PORT, EMAIL_HOST_USER and its password",
        )  # fmt: skip
        return
    yield ok("Mail", f"{settings.EMAIL_HOST} takes it")
    if not settings.SITE_URL:
        yield look(
            "SITE_URL", "is empty", "Mails that no page asked for lead nowhere.", "set SITE_URL"
        )


def support(now: datetime) -> Iterator[Line]:
    import tomllib

    path = settings.SUPPORT_LINES_FILE
    try:
        lines = read_lines(path)
        checked = tomllib.loads(path.read_text("utf-8")).get("checked")
    except (BadLines, OSError, ValueError) as why:
        yield wrong("Support lines", str(why), "No page shows whom to call.", f"correct {path}")
        return
    age = (now.date() - datetime.fromisoformat(str(checked)).date()).days if checked else None
    if age is None or age > 366:
        yield look(
            "Support lines", f"{len(lines)} countries, last checked {checked or 'at no stated time'}",
            "A number that no longer answers is worse than none.", f"call them, and date them in {path}",
        )  # fmt: skip
    else:
        yield ok("Support lines", f"{len(lines)} countries, checked {checked}")
    if not settings.SUPPORT_LINE and not lines:
        yield wrong("Support line", "there is none", "It stands on every page.", "set SUPPORT_LINE")


def pictures(now: datetime) -> Iterator[Line]:
    fonts = list((settings.BASE_DIR / "static" / "fonts").glob("*"))
    gone = [name for name in ("typst", "vl_convert") if not _there(name)]
    if not fonts or gone:
        found = f"{', '.join(gone)} missing" if gone else "the fonts are missing"
        yield wrong(
            "Reports", found, "No PDF and no chart can be made.", "make setup, in a whole copy"
        )
    else:
        yield ok("Reports", "fonts, typst and vl-convert are there")


def _there(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def keys(now: datetime) -> Iterator[Line]:
    """The keys of the subjects that are still asked, by the names of their variables."""
    open_runs = Run.objects.exclude(state__in=[RunState.DONE, RunState.CANCELLED]).filter(
        wave__locked_at__isnull=False
    )
    gone = {}
    for run in open_runs.select_related("subject"):
        names = [name for name in key_names(run.subject) if name]
        if names and not any(os.environ.get(name, "").strip() for name in names):
            gone[run.subject.code] = " or ".join(names)
    for subject, wanted in sorted(gone.items()):
        yield look(
            "Provider key", f"{subject} has none here", "It cannot be asked, if it asks for one.",
            f"set {wanted} in the environment of the worker",
        )  # fmt: skip
    if not gone:
        yield ok("Provider keys", "every subject that is still asked has what it needs")


def second_factor(now: datetime) -> Iterator[Line]:
    public = [host for host in settings.ALLOWED_HOSTS if host not in LOCAL]
    if not apps.is_installed("allauth.mfa") or not getattr(settings, "SECOND_FACTOR", False):
        state = wrong if public else look
        yield state(
            "Second factor", "is off", "A password alone opens everything to a maintainer or admin.",
            f"SECOND_FACTOR=true in {HERE}",
        )  # fmt: skip
        return
    factors = apps.get_model("mfa", "Authenticator")._base_manager
    staff = User.objects.filter(is_active=True, groups__name__in=[Role.MAINTAINER, Role.ADMIN])
    without = staff.exclude(pk__in=factors.values("user")).distinct().count()
    if without:
        yield look(
            "Second factor", f"{without} of the maintainers and admins have none yet",
            "They are asked for one when they next sign in.", "ask them to sign in once",
        )  # fmt: skip
    else:
        yield ok("Second factor", "every maintainer and admin has one")


def sealing(now: datetime) -> Iterator[Line]:
    waiting = Touch.objects.count()
    oldest = Event.objects.filter(seal="").aggregate(at=Min("happened_at"))["at"]
    last = Seal.objects.order_by("-number").values_list("sealed_at", flat=True).first()
    if (oldest and now - oldest > UNSEALED) or (waiting and last and now - last > UNSEALED):
        yield wrong(
            "Seals", f"{waiting:,} rows and events since {oldest or last:%H:%M on %d %b} are not sealed",
            "What is not sealed can be changed unseen.", "start a worker, or manage.py verify",
        )  # fmt: skip
    else:
        yield ok("Seals", f"{waiting:,} rows wait to be sealed")


def backups(now: datetime) -> Iterator[Line]:
    why, fix = "What is in no backup is lost with the disk.", "manage.py backup FILE, each night"
    try:
        said = json.loads((settings.VAR_DIR / STAMP).read_text("utf-8"))
        at = datetime.fromisoformat(said["made_at"])
    except (OSError, ValueError, KeyError, TypeError):
        yield look("Backup", "none is known of here", why, fix)
        return
    found = f"the last is of {at:%H:%M on %d %b %Y}: {said.get('file', '')}"
    if now - at > VERY_OLD_BACKUP:
        yield wrong("Backup", found, why, fix)
    elif now - at > OLD_BACKUP:
        yield look("Backup", found, why, fix)
    else:
        yield ok("Backup", found)


def static_files(now: datetime) -> Iterator[Line]:
    if settings.DEBUG:
        yield ok("Static files", "are served as they lie, since DEBUG is on")
    elif not (settings.STATIC_ROOT / "staticfiles.json").exists():
        yield wrong(
            "Static files", f"are not in {settings.STATIC_ROOT}", "Pages come without style.",
            "manage.py collectstatic --noinput",
        )  # fmt: skip
    else:
        yield ok("Static files", "are collected")


def admins(now: datetime) -> Iterator[Line]:
    if User.objects.filter(is_active=True, groups__name=Role.ADMIN).exists():
        yield ok("Admins", "there is one at least")
    else:
        yield wrong(
            "Admins", "there is none", "Nobody can invite anybody.",
            "manage.py invite ADDRESS --role admin",
        )  # fmt: skip


#: The looks that need no table, and those that do.
FIRST: Final[tuple[Look, ...]] = (
    python,
    secret_key,
    addresses,
    caching,
    broker,
    disk,
    mail,
    support,
    pictures,
    static_files,
    backups,
    database,
    migrations,
)
THEN: Final[tuple[Look, ...]] = (
    triggers,
    worker,
    clocks,
    keys,
    second_factor,
    sealing,
    admins,
)


def all_looks(now: datetime) -> Iterator[Line]:
    """Every line, the tables' own only where there are all tables."""
    whole = True
    for one in FIRST:
        try:
            found = list(one(now))
        except DatabaseError as why:
            found = [_silent(why)]
        except Exception as why:
            found = [_unlooked(one, why)]
        whole = whole and not any(
            line.what in ("Database", "Migrations") and line.state == "wrong" for line in found
        )
        yield from found
        if not whole and one is database:
            return
    for one in THEN if whole else ():
        try:
            yield from one(now)
        except DatabaseError as why:
            yield _silent(why)
        except Exception as why:
            yield _unlooked(one, why)


def _unlooked(one: Look, why: Exception) -> Line:
    """What a look broke off at: the next is looked at all the same."""
    return wrong(
        one.__name__.replace("_", " ").capitalize(),
        f"could not be looked at: {type(why).__name__}: {why}",
        "What is set there cannot be read.",
        "correct it, and ask again",
    )


def _silent(why: DatabaseError) -> Line:
    where = connection.settings_dict
    name = f"{connection.vendor} {where['NAME']} at {where.get('HOST') or 'this machine'}"
    said = str(why).strip().splitlines()[0] if str(why).strip() else type(why).__name__
    return wrong(
        "Database",
        f"{name} does not answer: {said}",
        "It is the only truth.",
        "start it, or correct DATABASE_URL",
    )
