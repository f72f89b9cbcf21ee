"""JSON as it is meant: no key twice, nothing infinite, nothing nested beyond reading."""

import json
from typing import Any, Final

from django.http import HttpRequest
from ninja.parser import Parser

from rating.api.problems import Problem
from runs.plain_json import STRICT, is_too_deep

DEEPEST: Final = 20


class StrictParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        return parsed(request.body)


def parsed(raw: bytes) -> Any:
    """The value in a body. Raises ``Problem``."""
    try:
        found = json.loads(raw.decode("utf-8"), **{**STRICT, "parse_constant": _not_finite})
    except UnicodeDecodeError as why:
        raise Problem("not-json", f"Byte {why.start + 1} is not UTF-8.") from None
    except RecursionError:
        raise Problem("not-json", f"It is nested deeper than {DEEPEST} levels.") from None
    except ValueError as why:
        raise Problem("not-json", f"It is not JSON: {_plain(why)}.") from None
    if is_too_deep(found, DEEPEST):
        raise Problem("not-json", f"It is nested deeper than {DEEPEST} levels.")
    return found


def _not_finite(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _plain(why: ValueError) -> str:
    """The reason, in which no half of a character stands: it could not be written out."""
    return str(why).encode(errors="backslashreplace").decode()[:300]
