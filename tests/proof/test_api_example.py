"""What docs/api.md shows, run as it is written against a server of its own: about a minute."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from rating.api.keys import make_token
from rating.models import Role
from rating.tokens import SCOPES
from runs.models import RunState
from tests.factories import make_user
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = [pytest.mark.proof, pytest.mark.django_db(transaction=True)]

DOCS = Path(settings.BASE_DIR, "docs", "api.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.S)


def test_the_example_of_the_docs_brings_replies_and_reads_on(live_server, tmp_path):
    from django.utils import timezone

    run = RunFactory(
        subject=SubjectFactory(provider="import"),
        state=RunState.PLANNED,
        wave__bank__items=3,
        wave__trials=2,
        rows=True,
    )
    _, secret = make_token(
        make_user(Role.MAINTAINER), "a script", list(SCOPES), now=timezone.now(), days=1
    )
    [script] = blocks("python")
    (tmp_path / "example.py").write_text(script)

    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env=os.environ
        | {
            "SITE": live_server.url,
            "TOKEN": secret,
            "WAVE": run.wave.code,
            "SUBJECT": run.subject.code,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "6 replies stored",
        "6 of 6 replies are there",
        "0 of them rated twice",
        "First: Its plan must be locked.",
        "First: Its ratings must be frozen.",
        "First: It must be unblinded.",
    ]
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_the_first_call_of_the_docs_lists_the_waves(live_server, tmp_path):
    """The very lines, but for the address of the person and of the site."""
    owner = make_user(Role.MAINTAINER, email="you@example.org")
    run = RunFactory()
    first = blocks("sh")[0].replace("http://127.0.0.1:8000", live_server.url)
    first = first.replace(".venv/bin/python", sys.executable)
    (tmp_path / "curl").write_text(
        # Where there is no curl, this stands in for the two options that are used.
        f"#!{sys.executable}\n"
        "import sys, urllib.request\n"
        "name, value = sys.argv[2].split(': ', 1)\n"
        "request = urllib.request.Request(sys.argv[3], headers={name: value})\n"
        "print(urllib.request.urlopen(request).read().decode())\n"
    )
    (tmp_path / "curl").chmod(0o755)
    database = live_server_database()

    done = subprocess.run(
        ["sh", "-euc", first],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": database, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert f'"code": "{run.wave.code}"' in done.stdout
    assert owner.api_tokens.get().scopes == ["read:progress"]


def live_server_database() -> str:
    """The test database, as the environment names one."""
    found = settings.DATABASES["default"]
    if found["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{found['NAME']}"
    host = f"{found['USER']}@{found['HOST']}:{found['PORT'] or 5432}"
    return f"postgres://{host}/{found['NAME']}"
