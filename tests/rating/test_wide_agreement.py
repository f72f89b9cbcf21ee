"""The wider set of coefficients: in a report where it is asked for, and from the command."""

import csv
import json
import math
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from rating.coefficients import KINDS, MOST_PAIRED
from rating.ratings_file import read_ratings
from rating.report import RatingRow, agreement_report, as_json
from rating.stats.agreement import ordinal_alpha
from rating.stats.fixed import cohen
from rating.stats.weights import quadratic

DATA = Path(__file__).parents[1] / "data" / "lend-an-ear"
LEND_AN_EAR = DATA / "ratings.csv"
ONE_TO_FIVE = (1, 2, 3, 4, 5)
ASKED = [
    "alpha_nominal", "alpha_interval", "ac1", "ac2_linear", "ac2_quadratic", "ac2_ordinal",
    "kappa", "kappa_linear", "kappa_quadratic", "fleiss", "conger", "icc_1_1", "icc_2_1",
    "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k", "kendall_w",
]  # fmt: skip


def command(*args):
    out = StringIO()
    call_command("agreement", *map(str, args), stdout=out)
    return out.getvalue()


@pytest.fixture
def file(tmp_path):
    def write(text, name="ratings.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture(scope="module")
def lend_an_ear():
    return json.loads(command(LEND_AN_EAR, "--scale", "1-5", "--json"))


def two_raters(n_units, seed=5):
    random = np.random.default_rng(seed)
    first = random.integers(1, 6, n_units)
    return np.array([first, np.clip(first + random.integers(-1, 2, n_units), 1, 5)], dtype=float)


def rows_of(levels, dimension="", items=None):
    return [
        RatingRow(f"r{rater}", f"u{unit}", dimension, level, items[unit] if items else "")
        for rater, row in enumerate(levels.tolist())
        for unit, level in enumerate(row)
        if not math.isnan(level)
    ]


def wide(rows, **more):
    settings = {"seed": "1", "coefficients": tuple(KINDS), "replicates": 200} | more
    return agreement_report(rows, ONE_TO_FIVE, **settings)


# Lend an Ear


def published():
    with (DATA / "published_kappa.csv").open(newline="") as lines:
        return [
            (row["dimension"], row["rater_a"], row["rater_b"], row["quadratic_weighted_kappa"])
            for row in csv.DictReader(lines)
        ]


@pytest.mark.parametrize(("dimension", "one", "other", "printed"), published())
def test_the_published_kappas_of_the_experts_come_out(lend_an_ear, dimension, one, other, printed):
    pair = pair_of(lend_an_ear["dimensions"][dimension], one, other)

    if (dimension, one, other) == ("self_oriented", "expert1", "expert2"):
        # Printed as 0.82: a level that neither used was dropped from the scale.
        assert printed == "0.82"
        assert pair["kappa_quadratic"]["value"] == pytest.approx(0.786, abs=5e-4)
        assert pair["unused_levels"] == [4]
    else:
        assert f"{pair['kappa_quadratic']['value']:.2f}" == printed
    assert pair["n_units"] == 50


def pair_of(figures, one, other):
    (pair,) = [pair for pair in figures["pairs"] if pair["raters"] == sorted([one, other])]
    return pair


def test_dropping_the_unused_level_gives_the_odd_one_that_was_published():
    with LEND_AN_EAR.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["dimension"] == "self_oriented"]
    both = [
        {row["unit"]: int(row["level"]) for row in rows if row["rater"] == name}
        for name in ("expert1", "expert2")
    ]
    levels = np.array([[one[unit] for unit in sorted(both[0])] for one in both], dtype=float)

    assert f"{cohen(levels, (1, 2, 3, 5), quadratic(4)).value:.2f}" == "0.82"


def test_experts_agree_more_than_the_crowd_does():
    rows = list(read_ratings(LEND_AN_EAR, ONE_TO_FIVE).rows())
    experts = wide([row for row in rows if row.rater.startswith("expert")])
    crowd = wide([row for row in rows if not row.rater.startswith("expert")])

    assert (experts.overall.n_raters, crowd.overall.n_raters) == (3, 116)
    assert experts.overall.n_units == crowd.overall.n_pairable_units == 300
    for name in ("alpha_nominal", "ac2_quadratic", "fleiss", "icc_1_1"):
        one, other = (report.overall.wide.found[name] for report in (experts, crowd))
        assert one.low > other.high
    assert experts.overall.wide.found["icc_2_k"].value > 0.8
    assert "lack a rating" in crowd.overall.wide.found["icc_2_k"].reason


def test_every_coefficient_asked_for_is_a_number_a_range_and_a_reason(lend_an_ear):
    for figures in (lend_an_ear["overall"], *lend_an_ear["dimensions"].values()):
        for name in ASKED:
            figure = figures[name]
            assert list(figure) == ["value", "low", "high", "reason"]
            assert (figure["value"] is None) == (figure["reason"] is not None)
            if figure["value"] is not None:
                assert figure["low"] < figure["value"] < figure["high"]


def test_a_coefficient_says_how_its_interval_comes_about(lend_an_ear):
    methods = lend_an_ear["methods"]

    assert methods.keys() >= set(ASKED)
    assert "Student's t" in methods["ac1"]["interval"]
    assert "raters like these" in methods["icc_2_1"]["interval"]
    assert "these two raters" in methods["kappa"]["interval"]


def test_an_alpha_has_the_interval_of_the_jackknife_beside_that_of_resamples(lend_an_ear):
    overall = lend_an_ear["overall"]

    for name in ("alpha_nominal", "alpha_ordinal", "alpha_interval"):
        beside = overall["intervals"][name]["jackknife"]
        assert beside["value"] == pytest.approx(overall[name]["value"])
        assert beside["low"] == pytest.approx(overall[name]["low"], abs=0.02)
    assert overall["intervals"]["ac1"]["jackknife"] is None
    assert overall["intervals"]["ac1"]["standard_error"] > 0


def test_without_items_a_unit_in_all_dimensions_hangs_together(lend_an_ear):
    overall, warmth = lend_an_ear["overall"], lend_an_ear["dimensions"]["validating_emotions"]
    by_item = overall["intervals"]["alpha_nominal"]["by_item"]

    assert by_item["low"] < overall["alpha_nominal"]["low"]
    assert "No item has two" in warmth["intervals"]["alpha_nominal"]["by_item"]["reason"]


def test_raters_like_these_would_move_the_number_further(lend_an_ear):
    for figures in (lend_an_ear["overall"], *lend_an_ear["dimensions"].values()):
        for name in ("alpha_nominal", "alpha_interval", "ac2_quadratic"):
            wider, these = figures["intervals"][name]["raters_like_these"], figures[name]
            assert wider["high"] - wider["low"] > these["high"] - these["low"]


def test_the_test_against_chance_says_what_chance_within_items_gives(lend_an_ear):
    test = lend_an_ear["overall"]["chance_test"]

    assert test["alpha"] == pytest.approx(lend_an_ear["overall"]["alpha_ordinal"]["value"])
    assert test["p"] == pytest.approx(1 / 2_001)
    assert 0.1 < test["by_chance"] < 0.2  # dimensions differ in level: agreement without hearing


def test_pairs_are_made_of_the_raters_with_the_most_ratings(lend_an_ear):
    overall = lend_an_ear["overall"]

    raters = {rater for pair in overall["pairs"] for rater in pair["raters"]}
    assert {"expert1", "expert2", "expert3"} <= raters
    assert len(raters) <= MOST_PAIRED
    assert overall["raters_in_no_pair"] == 119 - MOST_PAIRED


def test_the_page_has_a_block_for_each_family():
    page = command(LEND_AN_EAR, "--scale", "1-5", "--replicates", "100")

    for heading in (
        "Krippendorff's alpha  ", "Gwet's AC  ", "Kappas of a pool  ",
        "Cohen's kappa of two raters\n", "Intraclass correlation, one rating  ",
        "Kendall's concordance\n", "Ordinal alpha, for  ", "Against chance within items  ",
        "Cohen's kappa of pairs  ",
    ):  # fmt: skip
        assert f"\n\n{heading}" in page
    assert "self_oriented, expert1 and expert2" in page
    assert "0.79 (0.64 to 0.93)   4\n" in page
    assert "no single coefficient" in page.lower()
    assert max(map(len, page.splitlines())) < 320


# What is asked for, and what it says


def test_nothing_is_computed_that_is_not_asked_for():
    report = wide(rows_of(two_raters(40)), coefficients=())

    assert report.overall.wide is None
    assert not as_json(report).keys() & {"methods"}
    assert not as_json(report)["overall"].keys() & {*ASKED, "pairs", "chance_test"}


def test_only_the_coefficients_asked_for_are_given():
    report = wide(rows_of(two_raters(40)), coefficients=("ac1", "kappa"))

    assert list(report.overall.wide.found) == ["ac1", "kappa"]
    assert list(as_json(report)["methods"]) == ["ac1", "kappa"]


def test_the_order_of_rows_changes_nothing():
    rows = rows_of(two_raters(40), "warmth") + rows_of(two_raters(30), "honesty")

    assert as_json(wide(rows[::-1])) == as_json(wide(rows))


def test_two_raters_have_kappas_and_the_page_says_them(file):
    levels = two_raters(40)
    overall = wide(rows_of(levels)).overall.wide

    assert overall.found["kappa_quadratic"].value == pytest.approx(
        cohen(levels, ONE_TO_FIVE, quadratic(5)).value
    )
    assert overall.pairs[0].kappas["kappa"] == overall.found["kappa"]


def test_alpha_among_the_wider_set_is_the_one_of_every_report():
    report = wide(rows_of(two_raters(40)), coefficients=("alpha_ordinal",))

    assert report.overall.wide.found["alpha_ordinal"] == report.overall.alpha_ordinal


def test_items_of_the_file_are_what_responses_hang_together_by(file):
    lines = ["rater,unit,item,level"]
    for unit, (one, other) in enumerate(two_raters(40).T.astype(int)):
        lines += [f"Ada,u{unit},i{unit // 4},{one}", f"Ben,u{unit},i{unit // 4},{other}"]

    found = json.loads(command(file("\n".join(lines) + "\n"), "--scale", "1-5", "--json"))

    by_item = found["overall"]["intervals"]["alpha_ordinal"]["by_item"]
    assert by_item["low"] < found["overall"]["alpha_ordinal"]["value"] < by_item["high"]
    assert found["overall"]["chance_test"]["p"] < 0.01


def test_a_unit_of_two_items_is_refused():
    rows = [RatingRow("Ada", "u1", "", 3, "i1"), RatingRow("Ben", "u1", "", 3, "i2")]

    with pytest.raises(ValueError, match="two items for unit u1: 'i1' and 'i2'"):
        wide(rows)


def test_raters_blind_inside_items_are_above_chance_together_but_not_within():
    random = np.random.default_rng(8)
    of_item = np.repeat([1, 2, 3, 4, 5] * 8, 4)
    levels = np.clip(of_item + random.integers(-1, 2, (2, 160)), 1, 5).astype(float)

    found = as_json(wide(rows_of(levels, items=[f"i{unit // 4}" for unit in range(160)])))[
        "overall"
    ]

    assert found["alpha_ordinal"]["low"] > 0.5
    assert found["chance_test"]["p"] > 0.05
    assert found["chance_test"]["by_chance"] > 0.5


# Each the right number or a reason


def test_all_agree():
    found = as_json(wide(rows_of(np.array([[1, 2, 3, 4, 5.0]] * 3))))["overall"]

    for name in (*ASKED, "alpha_ordinal"):
        if not name.startswith("kappa"):
            assert found[name]["value"] == pytest.approx(1)
            assert found[name]["low"] is None
            assert found[name]["reason"]
    assert "one fixed pair" in found["kappa"]["reason"]


def test_one_unit_one_rater_and_no_overlap_give_reasons():
    one_rater = np.array([[1.0, 2, 3]])
    no_overlap = np.array([[1, math.nan], [math.nan, 2]])
    for levels in (one_rater, no_overlap):
        found = as_json(wide(rows_of(levels)))["overall"]
        assert found["pairs"] == []
        for name in ASKED:
            assert found[name]["value"] is None
            assert found[name]["reason"]
    one_unit = as_json(wide(rows_of(np.array([[2.0], [3]]))))["overall"]
    assert one_unit["ac1"]["value"] is not None
    assert one_unit["ac1"]["low"] is None
    assert "One unit" in one_unit["icc_2_1"]["reason"]


def test_all_of_one_level_is_no_agreement_to_speak_of_but_for_gwet():
    found = as_json(wide(rows_of(np.full((2, 9), 3.0))))["overall"]

    assert found["ac1"]["value"] == 1
    for name in ("alpha_nominal", "kappa", "fleiss", "conger", "icc_1_1", "kendall_w"):
        assert found[name]["value"] is None
    assert found["unused_levels"] == [1, 2, 4, 5]


def test_no_ratings_make_a_report_of_reasons():
    found = as_json(wide([]))

    assert all(found["overall"][name]["reason"] for name in ASKED)
    json.dumps(found, allow_nan=False)


def test_a_scale_from_0_to_5_reads_its_lowest_level(file):
    path = file("rater,unit,level\nA,u1,0\nB,u1,0\nA,u2,5\nB,u2,4\nA,u3,2\nB,u3,2\n")

    found = json.loads(command(path, "--scale", "0-5", "--json"))["overall"]

    assert found["unused_levels"] == [1, 3]
    # A fifth of a scale apart in one of three; by chance 19/9 levels apart, of five.
    assert found["kappa_linear"]["value"] == pytest.approx(1 - (1 / 15) / (19 / 45))


def test_blanks_are_no_level_and_who_has_none_is_counted(file):
    path = file("rater,unit,level\nA,u1,4\nB,u1,4\nC,u1,\nA,u2,3\nB,u2,5\nA,u3,\nB,u3,\n")

    found = json.loads(command(path, "--scale", "1-5", "--json"))

    assert found["overall"]["n_raters"]["value"] == 2
    assert found["overall"]["icc_2_1"]["value"] is not None  # u3 and C are dropped first
    assert (found["n_empty_raters"], found["n_empty_units"]) == (1, 1)
    assert "Raters without any level, left out: 1." in command(path, "--scale", "1-5")


def test_levels_10_and_2_as_text_stand_in_the_order_of_numbers(file):
    levels = np.array([[10, 2, 9, 1, 10], [10, 3, 10, 2, 9]], dtype=float)
    lines = ["rater,unit,level"]
    lines += [
        f'r{rater},u{unit},"{levels[rater, unit]:.0f}"' for rater in (0, 1) for unit in range(5)
    ]

    found = json.loads(command(file("\n".join(lines) + "\n"), "--scale", "1-10", "--json"))

    assert found["overall"]["alpha_ordinal"]["value"] == pytest.approx(
        ordinal_alpha(levels, range(1, 11))
    )


def test_words_are_levels_in_the_order_of_the_scale(file):
    path = file(
        "rater,unit,level\nA,u1,low\nB,u1,low\nA,u2,high\nB,u2,medium\nA,u3,low\nB,u3,low\n"
    )

    found = json.loads(command(path, "--scale", "low,medium,high,utmost", "--json"))

    assert found["scale"] == ["low", "medium", "high", "utmost"]
    assert found["overall"]["unused_levels"] == ["utmost"]
    assert found["overall"]["pairs"][0]["unused_levels"] == ["utmost"]
    assert found["overall"]["percent_within_one"]["value"] == 1
    assert found["overall"]["ac2_ordinal"]["value"] is not None
    assert "words" in found["overall"]["alpha_interval"]["reason"]
    assert "words" in found["overall"]["icc_1_1"]["reason"]
    assert "utmost" in command(path, "--scale", "low,medium,high,utmost")


def test_label_studios_export_is_read_as_it_is(file):
    tasks = [
        {
            "id": unit,
            "annotations": [
                {
                    "id": 10 * unit + rater,
                    "completed_by": rater,
                    "result": [
                        {"from_name": "care", "type": "rating", "value": {"rating": int(level)}}
                    ],
                }
                for rater, level in enumerate(both)
            ],
        }
        for unit, both in enumerate(two_raters(40).T)
    ]

    found = json.loads(command(file(json.dumps(tasks), "x.json"), "--scale", "1-5", "--json"))

    expected = as_json(wide(rows_of(two_raters(40)), replicates=2_000))["overall"]
    for name in ("alpha_ordinal", "ac1", "kappa", "icc_3_1"):
        assert found["overall"][name]["value"] == pytest.approx(expected[name]["value"])
    assert found["overall"]["pairs"][0]["raters"] == ["0", "1"]
