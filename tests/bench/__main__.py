"""How fast the queue and the statistics are, on this machine, now.

    python -m tests.bench [statistics] [separation] [raters] [sizes] [rates]
        [--responses N] [--raters N ...] [--seconds S] [--sizes N ...] [--studies N]

``rates`` is asked for by name alone: it writes docs/statistics/error-rates.md.
``statistics``: coefficients beside other packages, which are installed for that alone;
``raters``: many at once, beside a bare-Django queue; ``sizes``: one rater, from a thousand
responses to a million. Works in a database of its own that is made and dropped: `DATABASE_URL`
says on what.
"""

import argparse
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "compassion.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from tests.bench import coefficients, raters, rates, separation, sizes  # noqa: E402
from tests.bench.machinery import a_database_of_its_own  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every = ["statistics", "separation", "raters", "sizes"]
    parser.add_argument("what", nargs="*", default=every)
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--raters", type=int, nargs="*", default=[8, 20])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--studies", type=int, default=2_000)
    chosen = parser.parse_args()
    if unknown := set(chosen.what) - {*every, "rates"}:
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(every)}, rates.")
    if "statistics" in chosen.what:
        coefficients.measure()
    if "separation" in chosen.what:
        separation.measure()
    if "rates" in chosen.what:
        rates.measure(chosen.studies)
    for number in chosen.raters if "raters" in chosen.what else ():
        with a_database_of_its_own():
            raters.measure(chosen.responses, number, chosen.seconds)
    for index, size in enumerate(chosen.sizes if "sizes" in chosen.what else ()):
        with a_database_of_its_own():
            sizes.measure(size, heading=not index)


if __name__ == "__main__":
    main()
