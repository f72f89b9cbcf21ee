"""Ratings put together by item, rater, pair, day and kind: each number worked by hand."""

import tracemalloc
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.breakdown import (
    NO_JUDGE,
    By,
    Columns,
    Only,
    breakdown,
    crossing,
    item_lines,
    line_of,
    one_subject,
)
from rating.report import RatingRow, agreement_report

DAY = date(2026, 10, 3).toordinal()
ANN, BEN, CEM = range(3)
#: Response, item, subject, (rater, level, day) twice or once.
RESPONSES = (
    (11, 0, 1, (ANN, 2, DAY), (BEN, 2, DAY)),
    (12, 0, 2, (ANN, 1, DAY), (BEN, 3, DAY + 1)),
    (13, 1, 1, (CEM, 4, DAY + 1), (ANN, 5, DAY + 1)),
    (14, 1, 1, (BEN, 4, DAY + 1)),
)


def columns_of(responses=RESPONSES, scale=(1, 2, 3, 4, 5)) -> Columns:
    sides = [[*ratings, (-1, None, -1)][:2] for _, _, _, *ratings in responses]

    def column(place):
        return np.array([[side[place] for side in both] for both in sides]).reshape(-1, 2)

    steps = {level: place for place, level in enumerate(scale)} | {None: -1}
    levels = [[steps[level] for _, level, _ in both] for both in sides]
    return Columns(
        scale=scale,
        items=("A-1", "B-1", "B-2"),
        dimensions=("Awareness", "Empathy"),
        dimension_of=np.array([0, 1, 1]),
        raters=("r-ann", "r-ben", "r-cem"),
        unit=np.array([one[0] for one in responses], dtype=np.int64),
        item=np.array([one[1] for one in responses], dtype=np.int64),
        subject=np.array([one[2] for one in responses], dtype=np.int64),
        rater=column(0).astype(np.int64),
        place=np.array(levels, dtype=np.int64).reshape(-1, 2),
        day=column(2).astype(np.int64),
    )


def lines_by(by: By, columns: Columns | None = None):
    lines, _ = breakdown(columns or columns_of(), by, seed="1")
    return {line.name: line for line in lines}


def test_each_item_with_a_rating_has_a_line_in_the_order_of_the_bank():
    lines = lines_by(By.ITEM)

    assert list(lines) == ["A-1", "B-1"]
    assert lines["A-1"].agreement.percent_exact.value == 0.5
    assert lines["B-1"].agreement.percent_within_one.value == 1.0
    assert (lines["B-1"].agreement.n_pairable_units, lines["B-1"].half_rated) == (1, 1)


def test_alpha_and_ac2_are_those_worked_by_hand():
    """(2,2) and (1,3): as in the test of the wave report, ordinal alpha is -0.5.

    AC2: ordinal weights of d places on 5 levels are 1 - d(d+1)/20, so levels two apart agree by
    0.7 and the mean is 0.85. Shares are 1/4, 1/2, 1/4 on levels 1 to 3; the sum of p(1 - p) is
    0.625; the weights sum to 5 + 8(.9) + 6(.7) + 4(.4) + 0 = 18; chance is 18/20 x 0.625.
    """
    [line] = [line for name, line in lines_by(By.ITEM).items() if name == "A-1"]

    assert line.agreement.alpha_ordinal.value == pytest.approx(-0.5)
    assert line.ac2.value == pytest.approx((0.85 - 0.5625) / (1 - 0.5625))


def test_a_dimension_without_a_rating_stays_with_the_reason():
    lines = lines_by(By.DIMENSION, Only(dimension="Awareness").of(columns_of()))

    assert list(lines) == ["Awareness", "Empathy"]
    assert lines["Empathy"].agreement.alpha_ordinal.reason == "There are no ratings."


def test_a_rater_is_held_against_all_who_rated_the_same():
    lines = lines_by(By.RATER)

    assert {name: line.agreement.n_pairable_units for name, line in lines.items()} == {
        "r-ann": 3,
        "r-ben": 2,
        "r-cem": 1,
    }
    assert lines["r-ann"].agreement.percent_exact.value == pytest.approx(1 / 3)
    assert lines["r-ann"].agreement.n_raters == 3


def test_a_pair_has_what_both_rated_and_nothing_else():
    lines = lines_by(By.PAIR)

    assert list(lines) == ["r-ann and r-ben", "r-ann and r-cem"]
    assert lines["r-ann and r-ben"].agreement.n_pairable_units == 2
    assert lines["r-ann and r-cem"].agreement.percent_exact.value == 0.0


def test_of_many_thousand_pairs_only_those_shown_are_looked_for():
    """Of 250 people each two share a response, 31,125 in all; a page takes little memory."""
    people = np.stack(np.triu_indices(250, 1), axis=1)
    n = len(people)
    many = replace(
        columns_of(),
        raters=tuple(f"r-{number:03}" for number in range(250)),
        unit=np.arange(n),
        item=np.zeros(n, dtype=np.int64),
        subject=np.ones(n, dtype=np.int64),
        rater=people,
        place=np.full((n, 2), 3),
        day=np.full((n, 2), DAY),
    )
    tracemalloc.start()

    lines, count = breakdown(many, By.PAIR, seed="1", start=50, most=2)

    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == n
    assert [line.name for line in lines] == ["r-000 and r-051", "r-000 and r-052"]
    assert most < 100_000_000, "a mask for each pair would be 1 GB"


def test_a_response_is_of_the_day_of_its_later_rating():
    lines = lines_by(By.DAY)

    assert {name: line.agreement.n_pairable_units for name, line in lines.items()} == {
        "3 October 2026": 1,
        "4 October 2026": 2,
    }


def test_no_judge_is_made_up_where_none_rated():
    lines = lines_by(By.KIND)

    assert lines["Two people"].agreement.n_pairable_units == 3
    assert lines["A person and a judge"].agreement.alpha_ordinal.reason == NO_JUDGE


def test_a_judge_s_ratings_stand_in_a_line_of_their_own():
    lines = lines_by(By.KIND, replace(columns_of(), judges=frozenset({CEM})))

    assert lines["Two people"].agreement.n_pairable_units == 2
    assert lines["A person and a judge"].agreement.percent_within_one.value == 1.0


def test_lines_come_a_page_at_a_time_and_are_counted_in_all():
    lines, count = breakdown(columns_of(), By.RATER, seed="1", start=1, most=1)

    assert ([line.name for line in lines], count) == (["r-ben"], 3)


def test_a_look_is_restricted_by_each_thing_it_names():
    columns = columns_of()

    assert Only(item="A-1").of(columns).unit.tolist() == [11, 12]
    assert Only(rater="r-ben").of(columns).unit.tolist() == [11, 12, 14]
    assert Only(rater="r-ben", other="r-ann").of(columns).unit.tolist() == [11, 12]
    assert Only(first=date(2026, 10, 4)).of(columns).unit.tolist() == [12, 13, 14]
    assert Only(last=date(2026, 10, 3)).of(columns).unit.tolist() == [11]
    assert Only(rater="nobody").of(columns).unit.tolist() == []
    assert Only("Empathy", rater="r-ann").in_words() == "Empathy, by r-ann"


def test_a_named_rater_is_the_row_of_every_response():
    crossed = crossing(columns_of(), Only(rater="r-ann"), seed="1")

    assert crossed.counts[1, 1] == crossed.counts[0, 2] == crossed.counts[4, 3] == 1
    assert (crossed.n, crossed.same, crossed.far) == (3, 1, 1)
    assert (crossed.rows, crossed.columns) == ("r-ann", "the other reader")


def test_pooled_chance_decides_which_rating_is_the_row():
    many = [(number, 0, 1, (ANN, 1, DAY), (BEN, 3, DAY)) for number in range(400)]
    crossed = crossing(columns_of(many), Only(), seed="1")

    assert crossed.counts[0, 2] + crossed.counts[2, 0] == 400
    assert 150 < crossed.counts[0, 2] < 250


def test_the_responses_of_an_item_stand_furthest_apart_first_and_none_that_agree():
    responses = [
        (1, 0, 1, (ANN, 2, DAY), (BEN, 3, DAY)),
        (2, 0, 2, (ANN, 5, DAY), (BEN, 1, DAY)),
        (3, 0, 2, (ANN, 4, DAY), (BEN, 4, DAY)),
    ]
    [line] = item_lines(columns_of(responses), most=5, blinded=True)

    assert line.apart == ((2, 1.0, 5.0), (1, 2.0, 3.0))
    assert (line.within_one, line.same) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert line.mean == pytest.approx(19 / 6)


def test_a_mean_that_would_be_one_subject_s_waits_for_unblinding():
    columns = columns_of([(1, 0, 7, (ANN, 2, DAY), (BEN, 3, DAY))])

    assert one_subject(columns)
    assert item_lines(columns, most=1, blinded=True)[0].mean is None
    assert item_lines(columns, most=1, blinded=False)[0].mean == 2.5


def test_with_no_ratings_there_are_reasons_and_no_pictures_break():
    empty = columns_of([])

    line = line_of("All together", empty, seed="1")
    assert line.agreement.alpha_ordinal.reason == line.ac2.reason == "There are no ratings."
    assert crossing(empty, Only(), seed="1").n == 0
    assert item_lines(empty, most=1, blinded=True) == []
    assert lines_by(By.RATER, empty) == lines_by(By.PAIR, empty) == lines_by(By.DAY, empty) == {}


levels = st.integers(1, 5)
responses = st.lists(
    st.tuples(st.integers(0, 2), levels, st.none() | levels, st.permutations(range(3))),
    min_size=1,
    max_size=25,
)


@settings(max_examples=25, deadline=None)
@given(responses)
def test_the_figures_are_those_of_the_report_from_the_same_seed(drawn):
    columns = columns_of(
        [
            (number, item, 1, (who[0], one, DAY), *([(who[1], two, DAY)] if two else []))
            for number, (item, one, two, who) in enumerate(drawn)
        ]
    )
    rows = [
        RatingRow(columns.raters[rater], str(unit), columns.dimensions[place], 1 + level)
        for unit, place, raters, places in zip(
            columns.unit,
            columns.dimension_of[columns.item],
            columns.rater,
            columns.place,
            strict=True,
        )
        for rater, level in zip(raters, places, strict=True)
        if rater >= 0
    ]
    report = agreement_report(rows, (1, 2, 3, 4, 5), seed="s", dimensions=columns.dimensions)

    lines, _ = breakdown(columns, By.DIMENSION, seed="s")
    said = {line.name: line.agreement for line in lines}
    said["all"] = line_of("all", columns, seed="s|overall").agreement

    for name, expected in [*report.dimensions.items(), ("all", report.overall)]:
        found = said[name]
        for figure in ("alpha_ordinal", "percent_exact", "percent_within_one"):
            same = getattr(found, figure), getattr(expected, figure)
            assert same[0].value == same[1].value, (name, figure)
            assert (same[0].low, same[0].high) == (same[1].low, same[1].high), (name, figure)
        assert found.level_counts == expected.level_counts


def test_a_line_knows_that_it_is_of_one_subject():
    responses = [
        (1, 0, 1, (ANN, 2, DAY), (BEN, 3, DAY)),
        (2, 1, 2, (ANN, 5, DAY)),
    ]
    columns = columns_of(responses)

    assert not line_of("All", columns, seed="1").one_subject
    assert line_of("Twice", columns.at(columns.twice), seed="1").one_subject
