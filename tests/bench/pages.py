"""Every page and command over a simulated world: statements, time, memory."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import connection

SLOW = 1.0  # seconds that no page may take


def measure(only: str, without: Sequence[str] = ()) -> None:
    """Walk the world that DATABASE_URL names, each page twice: nothing kept, and kept.

    The cache is emptied before each page, and with it all of its Redis: name one of its own.
    """
    from rating.models import Rating
    from runs.models import Response
    from tests.bench.machinery import load
    from tests.walk import VISITS, World, client_of, visit

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.SECOND_FACTOR = False  # staff are signed in by hand, and none has set one up
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    world = World()
    print(
        f"{connection.vendor}, {Response.objects.count():,} responses, {Rating.objects.count():,} "
        f"ratings (load {load()}). Memory at the beginning: {_rss()} MB."
    )
    print("| page | as | status | statements | first ms | again ms | of it in the database | kB |")
    print("|---|---|---|---:|---:|---:|---:|---:|")
    clients: dict[str, Any] = {}
    visit(client_of(world, ""), VISITS[0], world)  # imports, templates
    for one in VISITS:
        if only not in one.said or one.said in without:
            continue
        client = clients.setdefault(one.role, client_of(world, one.role))
        try:
            cache.clear()
            first = visit(client, one, world)
            again = visit(client, one, world)
        except Exception as why:  # a page that fails is a finding, not an end
            print(f"| {one.said} | {one.role} | {type(why).__name__}: {str(why)[:80]} | | | | | |")
            continue
        flag = " **slow**" if first.seconds > SLOW or again.seconds > SLOW else ""
        odd = "" if first.status in one.status else " **odd**"
        print(
            f"| {one.said} | {one.role or 'anyone'} | {first.status}{odd} | "
            f"{len(first.statements)} | {first.seconds * 1000:,.0f}{flag} | "
            f"{again.seconds * 1000:,.0f} | {first.in_database * 1000:,.0f} | "
            f"{first.sent / 1000:,.0f} |",
            flush=True,
        )
    print(f"Memory at the end: {_rss()} MB.")


def _rss() -> int:
    """Of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
