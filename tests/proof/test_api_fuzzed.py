"""Every call of the API, made from its description alone, right and wrong: about two minutes.

Each answer is held to what the description says of it: its status, type, headers and shape. Nothing
may end in a fault of ours, whatever is sent.
"""

import pytest

from tests.rating.api.conftest import program_of
from tests.rating.api.fuzz import fuzz
from tests.rating.api.test_fuzzed import real_ones

pytestmark = [pytest.mark.proof, pytest.mark.django_db]


def test_every_call_keeps_to_its_description(settings):
    settings.API_REQUESTS_A_MINUTE = 10_000_000
    settings.API_REQUESTS_A_MINUTE_BY_ADDRESS = 10_000_000
    program = program_of()

    found = fuzz(program.secret, real_ones(program), each=25)

    print(f"{sum(found.statuses.values())} calls: {dict(sorted(found.statuses.items()))}")
    assert len(found.calls) == 18
    assert {200, 201, 404, 409, 422} <= set(found.statuses)
    assert not any(status >= 500 for status in found.statuses)
