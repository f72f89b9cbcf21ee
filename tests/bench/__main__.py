"""How fast the queue and the statistics are, on this machine, now.

    python -m tests.bench [statistics] [raters] [sizes] [coverage]
        [--responses N] [--raters N ...] [--seconds S] [--sizes N ...]
        [--studies N] [--processes N] [--keep FILE] [--write FILE]

``raters``: many at once, beside a bare-Django queue; ``sizes``: one rater, from a thousand
responses to a million. Works in a database of its own that is made and dropped: `DATABASE_URL`
says on what. ``coverage``, when it is asked for: how often our intervals hold the truth, over
simulated studies; it goes on from what FILE keeps, and writes its table into a document.
"""

import argparse
import os
from pathlib import Path

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from tests.bench import coefficients, coverage, raters, severity, sizes  # noqa: E402
from tests.bench.machinery import a_database_of_its_own  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ["statistics", "raters", "sizes"]
    parser.add_argument("what", nargs="*", default=every)
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--raters", type=int, nargs="*", default=[8, 20])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--processes", type=int, default=coverage.processors())
    parser.add_argument("--keep", type=Path, default=settings.VAR_DIR / "coverage.jsonl")
    parser.add_argument("--write", type=Path)
    chosen = parser.parse_args()
    known = [*every, "coverage"]
    if unknown := set(chosen.what) - set(known):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(known)}.")
    if "coverage" in chosen.what:
        coverage.measure(chosen.studies, chosen.processes, chosen.keep, chosen.write)
    if "statistics" in chosen.what:
        coefficients.measure()
        severity.measure()
    for number in chosen.raters if "raters" in chosen.what else ():
        with a_database_of_its_own():
            raters.measure(chosen.responses, number, chosen.seconds)
    for index, size in enumerate(chosen.sizes if "sizes" in chosen.what else ()):
        with a_database_of_its_own():
            sizes.measure(size, heading=not index)


if __name__ == "__main__":
    main()
