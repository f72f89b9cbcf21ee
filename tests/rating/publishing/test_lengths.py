"""What the length of replies would account for in a difference: told where the difference is."""

from dataclasses import replace
from math import log

import pytest

from rating.publishing import schema
from rating.publishing.files import figures_csv
from rating.publishing.lengths import length_effect, measured
from tests.rating.publishing.made import index_data, report


@pytest.fixture(scope="module")
def data():
    """The first writes twice as much as the others."""
    made = index_data({"a-apart": 2.0, "b-alike": 4.0, "c-alike": 4.0})
    return replace(
        made,
        replies=tuple(
            replace(one, words=one.words * (2 if one.subject == "a-apart" else 1))
            for one in made.replies
        ),
    )


@pytest.fixture(scope="module")
def content(data):
    return report(data)


def test_it_is_the_slope_times_the_difference_in_log_length(data):
    _, lengths = measured(data)

    assert lengths["a-apart", "AWR"] - lengths["b-alike", "AWR"] == pytest.approx(log(2), abs=0.2)
    two = {(one, code): value for one, value in (("a", log(200)), ("b", log(100))) for code in "xy"}
    assert length_effect(0.5, two, "a", "b", "x") == pytest.approx(0.5 * log(2))
    assert length_effect(0.5, two, "a", "b", "composite") == pytest.approx(12.5 * log(2))
    assert length_effect(0.5, two, "b", "a", "x") == pytest.approx(-0.5 * log(2))


def test_without_a_slope_or_a_length_there_is_none():
    assert length_effect(None, {("a", "x"): 1.0, ("b", "x"): 2.0}, "a", "b", "x") is None
    assert length_effect(0.5, {("a", "x"): 1.0}, "a", "b", "x") is None


def test_it_is_told_where_the_difference_is_and_nowhere_else(content):
    pairs = content["results"]["pairs"]
    apart = report(index_data({"a": 2.0, "b": 3.0, "c": 4.2}))["results"]["pairs"]

    assert any(pair["length_effect"] is None for pair in pairs)
    assert any(pair["length_effect"] is not None for pair in apart)
    for pair in (*pairs, *apart):
        assert (pair["length_effect"] is None) == (pair["difference"] is None)
    assert "\r\nlength effect," in figures_csv(content)


def test_a_length_effect_of_a_model_in_a_group_is_refused(content):
    pair = next(one for one in content["results"]["pairs"] if one["difference"] is None)
    planted = {**pair, "length_effect": 0.1}
    results = {**content["results"], "pairs": [planted]}

    with pytest.raises(schema.NotPublic, match="not told apart"):
        schema.check({**content, "results": results})
