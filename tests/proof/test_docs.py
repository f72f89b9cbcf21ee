"""The commands of the docs, followed as they are written."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "lend-an-ear"
SHELL = re.compile(r"^```sh\n(.*?)^```", re.M | re.S)
# The parts of the tree that the commands name.
WANTED = (
    "manage.py",
    "fixtures",
    "compassion",
    "runs",
    "rating",
    "templates",
    "static",
    "docs",
    "tests",
)
# What is not followed here: the demo, the suite, the API's example and the servers have tests of their
# own; containers, other people's programs and the folders of one installation are not at hand.
ELSEWHERE = re.compile(
    r"make |docker |npx |curl |.*TOKEN|set -e|cd /srv|SECRET_KEY=|DATABASE_URL="
    r"|VAR_DIR=/tmp|.*(\$file|/srv/|\| age |age --decrypt|gunicorn|tests\.bench)"
)

pytestmark = pytest.mark.proof


class Place:
    """A folder with the product in it, as somebody has who cloned it, and a database of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in WANTED:
            (folder / name).symlink_to(ROOT / name)
        (folder / ".venv").symlink_to(sys.prefix)
        self.environment = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith("DATABASE")
            },
            "VAR_DIR": str(folder / "var"),
            "CELERY_BROKER_URL": "filesystem://",
            "LOG_FORMAT": "plain",
        }

    def run(self, line: str) -> str:
        if line.startswith("manage.py"):
            line = f".venv/bin/python {line}"
        done = subprocess.run(
            line,
            shell=True,
            executable="/bin/bash",
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def manage(self, line: str) -> str:
        return self.run(f"manage.py {line}")


def lines_of(page: str) -> list[str]:
    """The commands of a page, one after the other, without what is said beside them."""
    found = []
    for block in SHELL.findall((ROOT / page).read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            command = shlex.join(shlex.split(line, comments=True)) if "|" not in line else line
            if command and not ELSEWHERE.match(command):
                found.append(line.partition(" #")[0].rstrip())
    return found


def ratings_elsewhere(place: Place) -> None:
    rows = [
        "rater,unit,level",
        *(f"{rater},u{unit},{unit % 4 + 1}" for unit in range(9) for rater in "ab"),
    ]
    (place.folder / "ratings.csv").write_text("\n".join(rows) + "\n")


def a_next_bank(place: Place) -> None:
    bank = json.loads((ROOT / "fixtures" / "model_index.json").read_text())
    bank["meta"]["bankVersion"] = "next"
    bank["items"][0]["prompt"] += " What would you do?"
    (place.folder / "next.json").write_text(json.dumps(bank))
    place.manage("migrate --verbosity 0")


def quotes_elsewhere(place: Place) -> None:
    for name in ("ratings.csv", "conversations.csv"):
        shutil.copy(DATA / name, place.folder)
    (place.folder / "FILE").write_text("text,quote\nI hear how heavy this is.,how heavy this\n")


def migrated(place: Place) -> None:
    place.manage("migrate --verbosity 0")


def somebody(place: Place) -> None:
    migrated(place)
    made = (
        "User.objects.create_user('you@example.org', 'a-long-password-1', name='You', "
        "pseudonym='r-1a2b3c4d')"
    )
    place.manage(f'shell -v0 -c "from rating.models import User; {made}"')


def somebody_with_a_second_factor(place: Place) -> None:
    somebody(place)
    made = "TOTP.activate(User.objects.get(), 'JBSWY3DPEHPK3PXP')"
    place.manage(
        'shell -v0 -c "from allauth.mfa.totp.internal.auth import TOTP; '
        f'from rating.models import User; {made}"'
    )


def a_published_wave(place: Place) -> None:
    migrated(place)
    place.run(".venv/bin/python docs/sample_wave.py")
    place.manage(f"shell -v0 -c {shlex.quote(BUNDLES)}")


BUNDLES = """
from pathlib import Path
from rating.models import Publication
from rating.publishing.acts import bundle_of
made = Publication.objects.get()
Path("FILE").write_bytes(bytes(made.bundle))
Path("w1-internal.zip").write_bytes(bundle_of(made.wave))
"""
PREPARED: dict[str, Callable[[Place], None]] = {
    "README.md": ratings_elsewhere,
    "docs/backup.md": migrated,
    "docs/bank.md": a_next_bank,
    "docs/integrity.md": a_published_wave,
    "docs/operating.md": migrated,
    "docs/personal-data.md": somebody,
    "docs/quotes.md": quotes_elsewhere,
    "docs/reports.md": a_published_wave,
    "docs/signing-in.md": somebody_with_a_second_factor,
}


def pages_with_commands() -> list[str]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(
        str(page.relative_to(ROOT)) for page in pages if lines_of(str(page.relative_to(ROOT)))
    )


@pytest.mark.parametrize("page", pages_with_commands())
def test_every_command_of_a_page_does_what_it_says(page, tmp_path):
    place = Place(tmp_path)
    PREPARED[page](place)
    worker = None
    try:
        for line in lines_of(page):
            if " run start" in line:
                worker = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "celery",
                        "-A",
                        "compassion",
                        "worker",
                        "--pool",
                        "threads",
                    ],
                    cwd=place.folder,
                    env=place.environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            said = place.run(line)
            if " run start" in line:
                place.manage(f"run status {shlex.split(line)[-1]} --follow")
            if " report " in line:
                assert "manifest.json" in os.listdir(place.folder / shlex.split(line)[-1])
            assert said.strip() or " migrate" in line
    finally:
        if worker:
            worker.terminate()
            worker.wait(30)
