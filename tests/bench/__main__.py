"""How fast the queue, the asking and the statistics are, on this machine, now.

    python -m tests.bench [statistics] [fetching] [raters] [sizes]
        [--responses N] [--raters N ...] [--seconds S] [--sizes N ...] [--in-flight N ...]

``fetching``: replies of a stand-in service, beside a bare loop and Inspect AI, which is installed
into an environment of its own below ``VAR_DIR`` (``--no-inspect`` leaves it out). ``raters``: many at once, beside a bare-Django queue; ``sizes``: one rater, from a thousand
responses to a million. Works in a database of its own that is made and dropped: `DATABASE_URL`
says on what.
"""

import argparse
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from tests.bench import coefficients, fetching, raters, sizes  # noqa: E402
from tests.bench.machinery import a_database_of_its_own  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ["statistics", "fetching", "raters", "sizes"]
    parser.add_argument("what", nargs="*", default=every)
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--raters", type=int, nargs="*", default=[8, 20])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--in-flight", type=int, nargs="*", default=[32, 128])
    parser.add_argument("--no-inspect", action="store_true")
    chosen = parser.parse_args()
    if unknown := set(chosen.what) - set(every):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(every)}.")
    if "statistics" in chosen.what:
        coefficients.measure()
    for number in chosen.in_flight if "fetching" in chosen.what else ():
        with a_database_of_its_own():
            fetching.measure(number, inspect=not chosen.no_inspect)
    for number in chosen.raters if "raters" in chosen.what else ():
        with a_database_of_its_own():
            raters.measure(chosen.responses, number, chosen.seconds)
    for index, size in enumerate(chosen.sizes if "sizes" in chosen.what else ()):
        with a_database_of_its_own():
            sizes.measure(size, heading=not index)


if __name__ == "__main__":
    main()
