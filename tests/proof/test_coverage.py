"""Our 95% intervals hold the truth about as often as they say, in simulated studies.

A hundred studies catch an interval that is too short by much; the two thousand of
``python -m tests.bench coverage`` say how often each does, in docs/statistics/coverage.md.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from rating.stats import chance
from rating.stats.agreement import alpha_for_ordinal as alpha
from rating.stats.agreement import exact_share, tally_rows, value
from rating.stats.alpha import alpha_for_interval, alpha_for_nominal
from rating.stats.fixed import cohen_estimate, tally_ordered_rows
from rating.stats.icc import icc_3
from tests.bench import coverage, intervals, studies
from tests.bench.coverage import count_chunk, totals
from tests.bench.intervals import ROWS, Row
from tests.bench.studies import SCALE, Study

pytestmark = pytest.mark.proof

CHUNKS = 5
CLAIMED = [row for row in ROWS if row.claimed]
BY_CHANCE = 0.001  # how often a good interval fails this test


@pytest.fixture(scope="module")
def counts():
    return totals(
        {chunk: count_chunk(chunk, {row.key for row in CLAIMED}) for chunk in range(CHUNKS)}
    )


@pytest.mark.parametrize("row", CLAIMED, ids=lambda row: row.key)
def test_a_claimed_interval_holds_the_truth_within_a_binomial_band(counts, row):
    found = counts[row.key]

    assert found.none <= 5
    assert found.covered >= binom.ppf(BY_CHANCE, found.given, 0.95)


def test_an_interval_half_as_wide_would_be_caught():
    def half(study: Study) -> tuple[float, float]:
        low, high = intervals._by_response(alpha, study)
        return low + (high - low) / 4, high - (high - low) / 4

    row = Row("half", "", half, lambda study: study.these_items.ordinal_alpha)
    hits = [row.covers(Study.draw(number)) for number in range(CHUNKS * coverage.CHUNK)]

    assert sum(hits) < binom.ppf(BY_CHANCE, len(hits), 0.95)


@pytest.fixture
def endless(monkeypatch):
    monkeypatch.setattr(studies, "TRIALS", 600)
    return Study.draw(1)


@pytest.mark.parametrize(
    ("name", "coefficient"),
    [
        ("exact", exact_share),
        ("ordinal_alpha", alpha),
        ("nominal_alpha", alpha_for_nominal),
        ("interval_alpha", alpha_for_interval),
        ("ac1", chance.coefficient(intervals.GWET, intervals.NAMES)),
        ("ac2", chance.coefficient(intervals.GWET, intervals.SQUARES)),
        ("fleiss", chance.coefficient(intervals.FLEISS, intervals.NAMES)),
    ],
)
def test_a_true_value_is_what_very_many_ratings_give(endless, name, coefficient):
    found = value(coefficient, tally_rows(endless.response, endless.place, SCALE))

    assert found == pytest.approx(getattr(endless.these_items, name), abs=0.015)


def test_the_true_values_of_two_raters_are_what_very_many_ratings_give(endless):
    both = Study.draw(1, raters=2)
    ordered = tally_ordered_rows(both.rater, both.response, both.place, SCALE)

    kappa = cohen_estimate(ordered, intervals.SQUARES).value
    assert kappa == pytest.approx(both.these_items.kappa, abs=0.015)
    assert icc_3(ordered).value == pytest.approx(both.these_items.icc_3, abs=0.015)


def test_the_true_variances_are_what_very_many_ratings_of_many_raters_give():
    random = np.random.default_rng(3)
    item = random.normal(0, studies.OF_ITEM, 1500).repeat(40).reshape(1500, 20, 2)
    response = random.normal(0, studies.OF_RESPONSE, (1500, 20)).repeat(2).reshape(1500, 20, 2)
    rater = random.normal(0, studies.OF_RATER, (1500, 20, 2))
    heaps = studies.shares(item + response - rater).cumsum(axis=-1)
    level = 1 + (heaps < random.random((1500, 20, 2, 1))).sum(axis=-1)

    # Every rating is by a rater of its own, so that theirs is part of the rest here.
    of_item, of_response, of_rater, rest = studies.variances()
    assert level.var() == pytest.approx(of_item + of_response + of_rater + rest, rel=0.02)
    together = np.cov(level[:, :, 0].ravel(), level[:, :, 1].ravel())[0, 1]
    assert together == pytest.approx(of_item + of_response, rel=0.05)
    apart = np.cov(level[:, :10].mean(axis=(1, 2)), level[:, 10:].mean(axis=(1, 2)))[0, 1]
    assert apart == pytest.approx(of_item, rel=0.1)


def test_the_published_table_has_every_row_with_at_least_two_thousand_studies():
    document = Path(__file__).parents[2] / "docs" / "statistics" / "coverage.md"
    lines = [line for line in document.read_text().splitlines() if line.startswith("| ")]

    for row in ROWS:
        [line] = [line for line in lines if line.startswith(f"| {row.name} | {row.against} |")]
        n_studies = int(re.search(r"\| ([\d,]+) \|", line)[1].replace(",", ""))
        assert n_studies >= 2_000


def test_what_was_counted_is_not_counted_again(tmp_path, monkeypatch, capsys):
    keep = tmp_path / "kept.jsonl"
    chosen = tuple(row for row in ROWS if row.name in ("Spread", "Drift in a week"))
    monkeypatch.setattr(coverage, "ROWS", chosen[:1])
    coverage.measure(20, 1, keep)
    keep.write_text(keep.read_text() + '{"chunk": 0, "ro')  # as a run that was stopped leaves it
    monkeypatch.setattr(coverage, "ROWS", chosen)
    asked: list[set[str]] = []
    monkeypatch.setattr(coverage, "_counted", lambda work: (work[0], count_and_note(work, asked)))
    monkeypatch.setattr(coverage, "get_context", lambda _: AtOnce)

    coverage.measure(20, 1, keep)

    assert asked == [{chosen[1].key}]
    assert capsys.readouterr().out.count("| 20 |") == 3


def count_and_note(work, asked):
    asked.append(set(work[1]))
    return count_chunk(*work)


class AtOnce:
    """A pool of one: this process."""

    class Pool:
        def __init__(self, processes: int) -> None: ...

        def __enter__(self):
            return self

        def __exit__(self, *_: object) -> None: ...

        imap_unordered = staticmethod(map)
