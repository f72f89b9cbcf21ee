"""What a report rests on, in two hashes: its data, and the code that turned them into figures."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from rating.publishing.data import WaveData
from runs.canonical import digest

APPS: Final = Path(__file__).resolve().parents[2]
#: All that has a part in a figure.
MADE_BY: Final = (
    "rating/stats/*.py",
    "rating/publishing/*.py",
    "rating/report.py",
    "rating/blinding_report.py",
    "rating/makers.py",
    "rating/figure.py",
    "rating/gate.py",
    "rating/probe_report.py",
    "runs/taxonomy.py",
)


def data_hash(data: WaveData) -> str:
    """SHA-256 of the rows, written in one way, and worked out once for the rows of a wave."""
    return data.sha256


@lru_cache(maxsize=1)
def code_hash() -> str:
    """SHA-256 over the source that computes figures, by the names of its files."""
    found = sorted({path for pattern in MADE_BY for path in APPS.glob(pattern)})
    return digest(
        [
            (path.relative_to(APPS).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
            for path in found
        ]
    )
