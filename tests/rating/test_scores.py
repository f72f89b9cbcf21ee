"""Scores are held to tests/oracles/composite.json, every vector of which was run through the
published JavaScript, and to the public pilot of 2 October 2026."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rating.stats.agreement import Undefined
from rating.stats.scores import (
    ORDER,
    Asked,
    ItemTable,
    Label,
    Place,
    band,
    composite,
    item_table,
    mean,
    premiums,
    scores_of,
)
from runs.taxonomy import DIMENSIONS

ORACLES = json.loads((Path(__file__).parents[1] / "oracles" / "composite.json").read_text())
PLACES = [
    Place(f"{code}-{sub}-{number}", code, sub)
    for code, dimension in DIMENSIONS.items()
    for sub in dimension.subdimensions
    for number in (1, 2)
]


def score(means, *, places=PLACES, asked=None):
    levels = np.array([means], dtype=np.float64)
    table = ItemTable(levels, levels * 0, np.where(np.isnan(levels), 0, 6))
    return scores_of(["one"], places, table, [asked or Asked(3 * len(places))])[0]


def test_the_order_of_the_sum_is_that_of_the_published_code():
    assert list(ORDER) == ORACLES["about"]["order"]


@pytest.mark.parametrize("vector", ORACLES["vectors"], ids=lambda vector: vector["id"])
def test_a_composite_equals_the_published_one_to_the_digit(vector):
    dims = vector["dims"]
    if None in dims:
        with pytest.raises(Undefined, match="No item was rated in"):
            composite([np.nan if value is None else value for value in dims])
        dims = [1 if value is None else value for value in dims]

    found = composite(dims)

    assert found == vector["composite"]
    assert band(found) == vector["band"]
    assert premiums(np.array(dims, dtype=float)) == pytest.approx(vector["premium"], abs=1e-9)


@pytest.mark.parametrize("case", ORACLES["band_of_score"], ids=lambda case: str(case["score"]))
def test_the_upper_edge_of_a_band_belongs_to_it(case):
    assert band(case["score"]) == case["band"]


def test_an_item_mean_is_the_mean_of_all_its_ratings_over_trials_and_raters():
    subjects, items = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])

    table = item_table(subjects, items, np.array([1.0, 4, 5, 2]), (2, 2))

    assert table.means[0].tolist() == [2.5, 5]
    assert np.isnan(table.means[1, 0])
    assert table.means[1, 1] == 2
    assert table.counts.tolist() == [[2, 1], [0, 1]]
    assert table.spreads[0, 0] == pytest.approx(4.5**0.5)
    assert np.isnan(table.spreads[0, 1])


def test_a_dimension_mean_weighs_items_alike_and_not_their_ratings():
    found = score([2.0, 4, 3] + [3.0] * (len(PLACES) - 3))

    assert found.dimensions["AWR"].value == pytest.approx((2 + 4 + 8 * 3) / 10)
    assert found.dimensions["AWR"].n == 10


def test_one_value_has_no_spread_rather_than_a_spread_of_nought():
    assert mean([4.0]).spread is None
    assert mean([4.0, 4.0]).spread == 0
    assert mean([2.0, 4.0]).spread == pytest.approx(2**0.5)
    with pytest.raises(Undefined, match="no values"):
        mean([])


def test_a_score_over_all_forty_subdimensions_is_complete():
    found = score([4.0] * len(PLACES))

    assert (found.composite, found.band, found.label) == (85.0, "Exemplary", Label.COMPLETE)


def test_without_one_subdimension_a_score_is_dimension_only_and_keeps_its_composite():
    means = [np.nan if place.subdimension == "B4" else 4.0 for place in PLACES]

    found = score(means)

    assert (found.composite, found.label) == (85.0, Label.DIMENSION_ONLY)
    assert "B4" not in found.subdimensions


def test_below_three_items_in_one_dimension_the_composite_is_withheld_and_the_reason_names_it():
    kept = iter(range(100))
    means = [np.nan if place.dimension == "BND" and next(kept) >= 2 else 4.0 for place in PLACES]

    found = score(means)

    assert found.composite is found.band is None
    assert "BND has 2" in found.withheld
    assert found.label is Label.INSUFFICIENT
    assert found.dimensions["BND"].value == 4


def test_a_dimension_nobody_rated_counts_as_none_and_never_as_one():
    found = score([np.nan if place.dimension == "INT" else 4.0 for place in PLACES])

    assert found.composite is None
    assert "INT has 0" in found.withheld


def test_a_tenth_of_failures_is_allowed_and_one_more_withholds_the_composite():
    means = [3.0] * len(PLACES)

    assert score(means, asked=Asked(240, filtered=20, malformed=4)).composite == 50
    withheld = score(means, asked=Asked(240, filtered=20, failed=5))
    assert withheld.composite is None
    assert "25 of 240 replies" in withheld.withheld
    assert withheld.dimensions["AWR"].value == 3


def test_without_ratings_a_score_says_so():
    found = score([np.nan] * len(PLACES))

    assert found.composite is found.lowest is None
    assert found.withheld == "Nothing has two ratings yet."


def test_the_lowest_dimension_is_named():
    assert score([2.0 if place.dimension == "SYS" else 4 for place in PLACES]).lowest == "SYS"


@given(st.lists(st.floats(1, 5), min_size=8, max_size=8), st.integers(0, 7))
def test_a_composite_never_falls_when_a_dimension_reaches_the_mean_of_the_others(dims, place):
    others = [value for number, value in enumerate(dims) if number != place]
    raised = [*dims]
    raised[place] = max(dims[place], min(5.0, sum(others) / 7))

    assert composite(raised) >= composite(dims)


@given(st.lists(st.floats(1, 5), min_size=8, max_size=8))
def test_a_composite_lies_within_its_scale(dims):
    assert 0 <= composite(dims) <= 100
