"""A few calls of every kind from the description alone. The long way is in tests/proof."""

import pytest

from tests.rating.api.fuzz import fuzz
from tests.rating.api.test_doors import ONE_SET
from tests.runs.factories import RunFactory, SubjectFactory

pytestmark = pytest.mark.django_db


def real_ones(program):
    """Values that exist, and somebody who has rated."""
    run = RunFactory(
        subject=SubjectFactory(provider="import"), wave__bank__items=2, wave__trials=2, rows=True
    )
    code = program.post("/elsewhere", ONE_SET).json()["code"]
    return {
        "wave": run.wave.code,
        "subject": run.subject.code,
        "pk": run.wave.bank_id,
        "code": code,
    }


def test_calls_keep_to_their_description(program, settings):
    settings.API_REQUESTS_A_MINUTE = 1_000_000
    only = ("import_responses", "list_reports")

    found = fuzz(program.secret, real_ones(program), each=1, only=only)

    assert len(found.calls) == len(only)
    assert not any(status >= 500 for status in found.statuses)
