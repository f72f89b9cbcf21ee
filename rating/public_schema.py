"""What the public JSON of a report may hold: a list of keys, and nothing beside it.

A key that is not here is refused, so that what is withheld cannot slip in with a new field. A member of a
group has no key in which a point could stand.
"""

from collections.abc import Mapping
from typing import Any, Final

SCHEMA: Final = "compassion/published-report/1"

TEXT: Final = (str,)
NUMBER: Final = (int, float)
COUNT: Final = (int,)
FLAG: Final = (bool,)
MAYBE_NUMBER: Final = (int, float, type(None))


class ListOf:
    """A list whose every entry is of one shape."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


class MapOf:
    """A mapping from any name to one shape."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


RANGE: Final = {"low": NUMBER, "high": NUMBER}
ALLOWED: Final[dict[str, Any]] = {
    "schema": TEXT,
    "wave": {"code": TEXT, "title": TEXT, "kind": TEXT, "day": TEXT},
    "official": FLAG,
    "comparability": TEXT,
    "care": TEXT,
    "may_be_said": ListOf(TEXT),
    "may_not_be_said": ListOf(TEXT),
    "design": MapOf(TEXT),
    "results": {
        "alone": ListOf(
            {
                "subject": TEXT,
                "label": TEXT,
                "composite": NUMBER,
                "range": RANGE,
                "dimensions": MapOf({"mean": NUMBER, "range": RANGE}),
            }
        ),
        "groups": ListOf(
            {
                "sentence": TEXT,
                "members": ListOf({"subject": TEXT, "label": TEXT, "ranges": MapOf(RANGE)}),
            }
        ),
        "withheld": ListOf({"subject": TEXT, "reason": TEXT}),
        "pairs": ListOf(
            {
                "a": TEXT,
                "b": TEXT,
                "of": TEXT,
                "difference": MAYBE_NUMBER,
                "range": RANGE,
                "separated": FLAG,
                "separated_corrected": FLAG,
                "reason": TEXT,
            }
        ),
        "caption": TEXT,
    },
    "parity": ListOf(
        {
            "subject": TEXT,
            "finding": TEXT,
            "chambers": ListOf(
                {
                    "name": TEXT,
                    "finding": TEXT,
                    "reason": TEXT,
                    "pairs": COUNT,
                    "lost_a": COUNT,
                    "lost_b": COUNT,
                    "mean_a": NUMBER,
                    "mean_b": NUMBER,
                    "gap": NUMBER,
                    "interval": RANGE,
                    "bound": NUMBER,
                }
            ),
        }
    ),
    "agreement": MapOf(TEXT),
    "contamination": ListOf({"subject": TEXT, "finding": TEXT}),
    "tests": ListOf(
        {"claim": TEXT, "outcome": TEXT, "evidence": ListOf(TEXT), "missing": ListOf(TEXT)}
    ),
    "confounds": ListOf({"code": TEXT, "state": TEXT, "sentence": TEXT}),
    "gate": ListOf({"name": TEXT, "evidence": TEXT, "missing": ListOf(TEXT)}),
    "deviations": ListOf(TEXT),
    "hashes": MapOf(TEXT),
    "cite": TEXT,
}


def refuse_unlisted(value: Any, shape: Any = ALLOWED, path: str = "report") -> None:
    """Raise ``ValueError`` for the first key or value that the schema does not list.

    A listed key may be missing: what cannot be given is left out.
    """
    if isinstance(shape, ListOf):
        if not isinstance(value, list):
            raise ValueError(f"{path} is a list, not {type(value).__name__}.")
        for place, entry in enumerate(value):
            refuse_unlisted(entry, shape.shape, f"{path}[{place}]")
    elif isinstance(shape, MapOf):
        for key, entry in _mapping(value, path).items():
            refuse_unlisted(entry, shape.shape, f"{path}.{key}")
    elif isinstance(shape, dict):
        for key, entry in _mapping(value, path).items():
            if key not in shape:
                raise ValueError(f"{path}.{key} is not on the list of what is public.")
            refuse_unlisted(entry, shape[key], f"{path}.{key}")
    elif type(value) not in shape:
        raise ValueError(f"{path} may not hold {type(value).__name__} {value!r}.")
    elif isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError(f"{path} is no number: {value!r}.")


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{path} is an object, not {type(value).__name__}.")
    return value
