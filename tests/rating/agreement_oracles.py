"""The cases of tests/oracles/agreement.json: published or hand-worked ratings, each value found by
at least one independent package, named there beside it."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "agreement.json").read_text())


def array_of(case):
    """The ratings of a case, shape (raters, units), NaN where there is none."""
    if "recipe" not in case:
        return np.array(
            [[math.nan if level is None else level for level in row] for row in case["ratings"]]
        )
    names = {}
    exec(case["recipe"], names)  # two lines of NumPy, as the oracle file gives them
    levels = names["x"]
    bytes_of_it = np.where(np.isnan(levels), -1, levels).astype(np.int8).tobytes()
    fingerprint = case["recipe_check"]["sha256_of_int8_with_-1_for_missing_C_order"]
    assert hashlib.sha256(bytes_of_it).hexdigest() == fingerprint
    return levels
