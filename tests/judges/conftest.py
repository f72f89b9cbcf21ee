"""Judges that answer on a real socket, as a script says, and a worker in this process."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runs.models import Subject
from tests.runs.conftest import _broker_in_memory, stub  # noqa: F401 - fixtures of ours, too
from tests.services import Stub, stand_ins


@pytest.fixture(autouse=True)
def _no_waiting_between_attempts(monkeypatch):
    monkeypatch.setattr("runs.providers.FIRST_WAIT", 0.01)
    monkeypatch.setattr("runs.providers.LONGEST_RETRY_AFTER", 0.01)


class Bench:
    """Judges by number, and what each answers to which reply."""

    def __init__(self, start: Callable[..., Stub], shared: Stub, script: Path) -> None:
        self.start, self.shared, self.file = start, shared, script
        self.subjects: list[Subject] = []
        self.services: list[Stub] = []
        self.scripts: dict[str, Mapping[str, str]] = {}

    def add(self, **options: Any) -> Subject:
        """One more judge, of a family of its own. It answers well until its script says otherwise.

        With options, it has a service of its own.
        """
        number = len(self.subjects)
        service = self.shared
        if options:
            service = self.start(**{"delay": 0, "jitter": 0, **options}, script=self.file)
        subject = Subject.objects.create(
            developer="Lab",
            family=f"Judging {number}",
            snapshot=f"judging-{number}-2026-01-01",
            provider="openai",
            base_url=service.base_url,
        )
        self.subjects.append(subject)
        self.services.append(service)
        return subject

    def script(self, number: int, kinds: Mapping[str, str]) -> None:
        """What is wrong with a judge's answers, by a piece of the reply."""
        self.scripts[self.subjects[number].snapshot] = kinds
        self.file.write_text(json.dumps(self.scripts))


@pytest.fixture(scope="session")
def judging_service(tmp_path_factory) -> Iterator[tuple[Stub, Path]]:
    """One service for the judges of all tests, and the file that says what it answers."""
    script = tmp_path_factory.mktemp("judges") / "script.json"
    script.write_text("{}")
    with stand_ins() as start:
        yield start(delay=0, jitter=0, script=script), script


@pytest.fixture
def bench(stub, judging_service) -> Bench:  # noqa: F811
    shared, script = judging_service
    script.write_text("{}")
    return Bench(stub, shared, script)
