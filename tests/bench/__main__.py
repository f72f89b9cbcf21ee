"""How fast the queue, the asking and the statistics are, on this machine, now.

    python -m tests.bench [NAME ...] [--responses N] [--raters N ...] [--seconds S]
        [--sizes N ...] [--in-flight N ...] [--no-inspect]

``statistics``: coefficients and severities beside other packages, which are installed for that
alone; ``separation``: the draws behind differences, beside a plain loop. ``fetching``: replies of a
stand-in service, beside a bare loop and Inspect AI, which gets an environment of its own below
``VAR_DIR``. ``raters``: many at once, beside a bare-Django queue; ``sizes``: one rater, from a
thousand responses to a million. They work in a database of their own that is made and dropped:
`DATABASE_URL` says on what.

    python -m tests.bench fortnight | people
        [--raters N ...] [--items N] [--seconds S] [--folder FOLDER]

By name alone: fourteen days of rating with a clock that is set forward, and how many people a site
serves until one page in a hundred takes over a second.

    python -m tests.bench pages [--only TEXT] [--without PAGE ...]

Every page of a simulated world, which `manage.py simulate` has put into the database that
DATABASE_URL names: statements, time, bytes, memory. It reads, and puts on record that it looked.

    python -m tests.bench rates | coverage
        [--studies N] [--processes N] [--keep FILE] [--write FILE]

Asked for by name alone, for they take long: how often verdicts are right, written to
docs/statistics/error-rates.md, and how often intervals hold the truth, over simulated studies. The
latter goes on from what FILE keeps, and writes its table into a document.
"""

import argparse
import os
from pathlib import Path

import django
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from tests.bench import (  # noqa: E402
    coefficients,
    coverage,
    fetching,
    fortnight,
    pages,
    people,
    raters,
    rates,
    separation,
    severity,
    sizes,
)
from tests.bench.machinery import a_database_of_its_own  # noqa: E402


def main() -> None:
    chosen = _chosen()
    for name in chosen.what:
        {**EVERY, **BY_NAME}[name](chosen)


def _statistics(chosen: argparse.Namespace) -> None:
    coefficients.measure()
    severity.measure()


def _separation(chosen: argparse.Namespace) -> None:
    separation.measure()


def _fetching(chosen: argparse.Namespace) -> None:
    for number in chosen.in_flight:
        with a_database_of_its_own():
            fetching.measure(number, inspect=not chosen.no_inspect)


def _raters(chosen: argparse.Namespace) -> None:
    for number in chosen.raters:
        with a_database_of_its_own():
            raters.measure(chosen.responses, number, chosen.seconds)


def _sizes(chosen: argparse.Namespace) -> None:
    for index, size in enumerate(chosen.sizes):
        with a_database_of_its_own():
            sizes.measure(size, heading=not index)


def _rates(chosen: argparse.Namespace) -> None:
    rates.measure(chosen.studies)


def _pages(chosen: argparse.Namespace) -> None:
    pages.measure(chosen.only, chosen.without)


def _coverage(chosen: argparse.Namespace) -> None:
    coverage.measure(chosen.studies, chosen.processes, chosen.keep, chosen.write)


def _fortnight(chosen: argparse.Namespace) -> None:
    with a_database_of_its_own():
        fortnight.measure(chosen.folder, chosen.raters[0], chosen.items)


def _people(chosen: argparse.Namespace) -> None:
    with a_database_of_its_own():
        people.measure(chosen.folder, chosen.raters, chosen.seconds)


EVERY = {
    "statistics": _statistics,
    "separation": _separation,
    "fetching": _fetching,
    "raters": _raters,
    "sizes": _sizes,
}
BY_NAME = {
    "rates": _rates,
    "coverage": _coverage,
    "fortnight": _fortnight,
    "people": _people,
    "pages": _pages,
}


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", default=[*EVERY])
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--raters", type=int, nargs="*", default=[8, 20])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--in-flight", type=int, nargs="*", default=[32, 128])
    parser.add_argument("--no-inspect", action="store_true")
    parser.add_argument("--only", default="", help="pages whose name holds this")
    parser.add_argument("--without", nargs="*", default=[], help="pages of these names")
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--processes", type=int, default=coverage.processors())
    parser.add_argument("--keep", type=Path, default=settings.VAR_DIR / "coverage.jsonl")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--folder", type=Path, default=settings.VAR_DIR / "fortnight")
    chosen = parser.parse_args()
    if unknown := set(chosen.what) - {*EVERY, *BY_NAME}:
        known = ", ".join([*EVERY, *BY_NAME])
        parser.error(f"{', '.join(sorted(unknown))}: choose from {known}.")
    return chosen


if __name__ == "__main__":
    main()
