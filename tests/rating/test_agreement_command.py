import csv
import json
from collections import defaultdict
from fractions import Fraction
from io import StringIO
from itertools import permutations
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from rating.management.commands.agreement import Command

LEND_AN_EAR = Path(__file__).parents[1] / "data" / "lend-an-ear" / "ratings.csv"
SEVEN = [
    "n_ratings",
    "n_units",
    "n_pairable_units",
    "n_raters",
    "percent_exact",
    "percent_within_one",
    "alpha_ordinal",
]


def agreement(*args):
    out = StringIO()
    call_command("agreement", *map(str, args), stdout=out)
    return out.getvalue()


def as_json(*args):
    return json.loads(agreement(*args, "--json"))


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "ratings.csv"
        path.write_text(text)
        return path

    return write


# The same figures the long way round: exact fractions, pair by pair, straight from the
# definitions in Krippendorff (2011), sharing nothing with the product.


def long_way(units):
    paired = [levels for levels in units if len(levels) >= 2]
    shares = [
        Fraction(sum(a == b for a, b in permutations(levels, 2)), len(levels) * (len(levels) - 1))
        for levels in paired
    ]
    near = [max(levels) - min(levels) <= 1 for levels in paired]
    coincidences = defaultdict(Fraction)
    for levels in paired:
        for pair in permutations(levels, 2):
            coincidences[pair] += Fraction(1, len(levels) - 1)
    margins = defaultdict(Fraction)
    for (level, _), count in coincidences.items():
        margins[level] += count
    n = sum(margins.values())

    def difference(c, k):
        low, high = min(c, k), max(c, k)
        between = sum(count for level, count in margins.items() if low <= level <= high)
        return (between - (margins[c] + margins[k]) / 2) ** 2

    observed = sum(count * difference(c, k) for (c, k), count in coincidences.items()) / n
    expected = sum(
        margins[c] * margins[k] * difference(c, k) for c, k in permutations(margins, 2)
    ) / (n * (n - 1))
    return {
        "percent_exact": float(sum(shares) / len(shares)),
        "percent_within_one": sum(near) / len(near),
        "alpha_ordinal": float(1 - observed / expected),
    }


def lend_an_ear_units():
    units = defaultdict(lambda: defaultdict(list))
    with LEND_AN_EAR.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            units[row["dimension"]][row["unit"]].append(int(row["level"]))
    return {dimension: list(levels.values()) for dimension, levels in units.items()}


@pytest.fixture(scope="module")
def lend_an_ear():
    return as_json(LEND_AN_EAR, "--scale", "1-5")


def test_every_dimension_equals_the_figures_the_long_way_round(lend_an_ear):
    expected = {dimension: long_way(units) for dimension, units in lend_an_ear_units().items()}

    found = {
        dimension: {name: figures[name]["value"] for name in SEVEN[4:]}
        for dimension, figures in lend_an_ear["dimensions"].items()
    }

    assert found.keys() == expected.keys()
    for dimension, figures in expected.items():
        assert found[dimension] == pytest.approx(figures, abs=1e-12)


def test_all_together_pools_the_units_of_all_dimensions(lend_an_ear):
    pooled = long_way([levels for units in lend_an_ear_units().values() for levels in units])

    overall = lend_an_ear["overall"]

    assert {name: overall[name]["value"] for name in pooled} == pytest.approx(pooled, abs=1e-12)


def test_lend_an_ear_gives_these_figures(lend_an_ear):
    def row(figures):
        return [round(figures[name]["value"], 6) for name in SEVEN]

    assert row(lend_an_ear["overall"]) == [2062, 300, 300, 119, 0.34711, 0.176667, 0.35607]
    assert {name: row(figures) for name, figures in lend_an_ear["dimensions"].items()} == {
        "advice_giving": [343, 50, 50, 117, 0.274532, 0.1, 0.250082],
        "demonstrating_understanding": [344, 50, 50, 118, 0.297402, 0.14, 0.139076],
        "dismissing_emotions": [341, 50, 50, 116, 0.432434, 0.28, 0.14984],
        "encouraging_elaboration": [345, 50, 50, 118, 0.303006, 0.14, 0.386744],
        "self_oriented": [343, 50, 50, 117, 0.51144, 0.32, 0.290615],
        "validating_emotions": [346, 50, 50, 119, 0.263845, 0.08, 0.251185],
    }


def test_dimensions_stand_from_a_to_z(lend_an_ear):
    assert list(lend_an_ear["dimensions"]) == sorted(lend_an_ear["dimensions"])


def test_each_interval_holds_its_number_and_has_a_width(lend_an_ear):
    for figures in (lend_an_ear["overall"], *lend_an_ear["dimensions"].values()):
        for name in SEVEN[4:]:
            figure = figures[name]
            assert figure["low"] < figure["value"] < figure["high"]
            assert figure["reason"] is None


def test_each_of_the_seven_is_a_number_a_range_and_a_reason(lend_an_ear):
    for figures in (lend_an_ear["overall"], *lend_an_ear["dimensions"].values()):
        for name in SEVEN:
            assert list(figures[name]) == ["value", "low", "high", "reason"]
        for name in SEVEN[:4]:
            assert list(figures[name].values())[1:] == [None, None, None]


def test_the_table_says_the_same(lend_an_ear):
    page = agreement(LEND_AN_EAR, "--scale", "1-5")

    lines = {line.split("  ")[0]: line for line in page.splitlines()}
    assert "Agreement is above chance in 6 of 6 dimensions." in page
    for name, figures in {
        "All together": lend_an_ear["overall"],
        **lend_an_ear["dimensions"],
    }.items():
        alpha = figures["alpha_ordinal"]
        shown = f"{alpha['value']:.2f} (95% interval {alpha['low']:.2f} to {alpha['high']:.2f})"
        assert shown in lines[name]
        assert f"{figures['percent_exact']['value']:.0%}" in lines[name]
    assert "It does not say how far it would move with other raters." in page
    assert "Seed 1, 2,000 resamples." in page


def test_one_seed_gives_one_output_and_another_seed_other_intervals():
    once = agreement(LEND_AN_EAR, "--scale", "1-5", "--json", "--seed", "a")

    assert agreement(LEND_AN_EAR, "--scale", "1-5", "--json", "--seed", "a") == once
    assert agreement(LEND_AN_EAR, "--scale", "1-5", "--json", "--seed", "b") != once
    assert json.loads(once)["seed"] == "a"


def test_the_number_of_replicates_can_be_chosen():
    assert as_json(LEND_AN_EAR, "--scale", "1-5", "--replicates", "100")["replicates"] == 100


def test_without_a_dimension_column_only_all_together_is_given(file):
    path = file("rater,unit,level\nAda,u1,4\nBen,u1,5\n")

    assert as_json(path, "--scale", "1-5")["dimensions"] == {}
    assert "All together" in agreement(path, "--scale", "1-5")


def test_a_number_that_cannot_be_given_is_null_with_its_reason(file):
    path = file("rater,unit,level\nAda,u1,4\nBen,u2,5\n")

    overall = as_json(path, "--scale", "1-5")["overall"]

    assert overall["alpha_ordinal"] == {
        "value": None,
        "low": None,
        "high": None,
        "reason": "No unit has two ratings.",
    }
    assert (
        "All together, ordinal alpha: This number cannot be given: No unit has two ratings."
        in agreement(path, "--scale", "1-5")
    )


def test_levels_nobody_used_are_named(file):
    path = file("rater,unit,level\nAda,u1,4\nBen,u1,5\n")

    assert as_json(path, "--scale", "0-5")["overall"]["unused_levels"] == [0, 1, 2, 3]
    assert "0, 1, 2 and 3" in agreement(path, "--scale", "0-5")


def test_rows_without_a_level_are_counted(file):
    path = file("rater,unit,level\nAda,u1,4\nBen,u1,\n")

    found = as_json(path, "--scale", "1-5")

    assert found["overall"]["n_ratings"]["value"] == 1
    assert found["n_not_rated"] == 1


def test_a_file_without_any_level_still_gives_reasons(file):
    overall = as_json(file("rater,unit,level\nAda,u1,\n"), "--scale", "1-5")["overall"]

    assert overall["n_ratings"]["value"] == 0
    assert overall["percent_exact"]["reason"] == "There are no ratings."


def test_all_faults_of_a_file_are_told_at_once(file):
    path = file("rater,unit,level\nAda,u1,9\n,u1,x\n")

    with pytest.raises(CommandError) as refused:
        agreement(path, "--scale", "1-5")

    assert [line.split(":")[0] for line in str(refused.value).splitlines()] == [
        f"{path}, line 2, column level",
        f"{path}, line 3, column rater",
        f"{path}, line 3, column level",
    ]


def test_control_characters_never_reach_the_terminal(file):
    path = file("rater,unit,dimension,level\nAda,u1,\x1b[31mred,4\nBen,u1,\x1b[31mred,5\n")

    assert "\x1b" not in agreement(path, "--scale", "1-5")
    assert "\x1b" not in agreement(path, "--scale", "1-5", "--json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale", "5-1"], "levels"),
        (["--scale", "few"], "neither LOW-HIGH"),
        (["--scale", "1-5", "--replicates", "10"], "at least 40, and 1,000,000 at most, not 10"),
        (["--scale", "1-5", "--replicates", "many"], "'many' is not a whole number"),
        ([], "--scale"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused_with_what_can(arguments, message):
    with pytest.raises(CommandError, match=message):
        agreement(LEND_AN_EAR, *arguments)


def test_it_asks_neither_the_database_nor_the_checks():
    # The tests of this file have no database either: pytest-django would refuse a query.
    assert Command.requires_system_checks == []
