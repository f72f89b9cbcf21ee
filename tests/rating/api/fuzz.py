"""Calls made from the description of the API alone, right ones and wrong ones, all under a seed."""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks

from compassion.wsgi import application
from rating.api.app import description

CHECKS = (
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.positive_data_acceptance,
    checks.missing_required_header,
    checks.unsupported_method,
)


@dataclass
class Fuzzed:
    """What came of it: how many calls there were, by their status and by the call."""

    statuses: Counter[int] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)


def fuzz(
    secret: str,
    real: dict[str, Any],
    *,
    each: int,
    only: Collection[str] = (),
    number: int = 1,
) -> Fuzzed:
    """Make ``each`` calls of every kind, right and wrong, and hold each answer to the description.

    ``real`` are values of parameters that exist, which half of the calls are given. ``only`` names
    the calls that are made, if not all are.
    """
    schema = schemathesis.openapi.from_dict(description())
    schema.app = application
    # What a schema cannot say, such as an item that a wave does not serve, is refused with 422.
    schema.config.checks.positive_data_acceptance.expected_statuses = [
        *("2xx", "304", "404", "409", "413", "422")
    ]
    found = Fuzzed()
    with one_connection():
        for result in schema.get_all_operations():
            operation = result.ok()
            if only and operation.definition.raw["operationId"] not in only:
                continue
            # Any text may stand in an address: there is no wrong one to be made.
            can_be_wrong = operation.query or operation.body
            for mode in GenerationMode if can_be_wrong else [GenerationMode.POSITIVE]:
                _fuzz(operation, mode, secret, real, found, each, number)
    return found


@contextmanager
def one_connection() -> Iterator[None]:
    """Calls go on in the transaction of the test, as those of Django's own client do."""
    ends = (request_started, request_finished)
    for end in ends:
        end.disconnect(close_old_connections)
    try:
        yield
    finally:
        for end in ends:
            end.connect(close_old_connections)


def _fuzz(operation, mode, secret, real, found, each, number) -> None:
    @seed(number)
    @settings(
        max_examples=each,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), given_real=st.booleans())
    def make(case, given_real):
        if given_real and mode is GenerationMode.POSITIVE:
            for name in case.path_parameters or {}:
                case.path_parameters[name] = real[name]
            if isinstance(case.query, dict) and "subject" in case.query:
                case.query["subject"] = real["subject"]
            if isinstance(case.body, dict) and "subject" in case.body:
                case.body |= {"subject": real["subject"], "condition": "default"}
            if isinstance(case.body, dict) and "scale" in case.body:
                # No schema says which level lies on which scale, or that nobody rates a unit twice.
                case.body |= {
                    "scale": "1-5",
                    "ratings": [
                        {"rater": f"r{place}", "unit": "u", "level": 1 + place % 5}
                        for place in range(len(case.body["ratings"]))
                    ],
                }
        answer = case.call(headers={"Authorization": f"Bearer {secret}"})
        case.validate_response(answer, checks=list(CHECKS))
        found.statuses[answer.status_code] += 1
        found.calls[operation.label] += 1

    make()
