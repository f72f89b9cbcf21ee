import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rating.export import (
    ExportRow,
    guarded,
    in_order,
    ratings_csv,
    ratings_wide_csv,
    unguarded,
)

ROW = ExportRow(
    response="resp-b",
    item="item-1",
    dimension="Empathy",
    rater="Robin",
    slot=1,
    kind="counted",
    level=4,
    confidence="sure",
    critical_harm=False,
    quotes=("you are not alone", 'she said "rest", twice'),
    note="",
    rated_at=datetime(2026, 10, 3, 14, 3, tzinfo=UTC),
)


def long_file(rows):
    return "".join(ratings_csv(in_order(rows)))


def wide_file(rows):
    raters = {row.rater for row in rows if row.kind == "counted"}
    return "".join(ratings_wide_csv(in_order(rows), raters))


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_the_long_file_has_a_line_for_each_rating():
    header, line = read(long_file([ROW]))

    assert dict(zip(header, line, strict=True)) == {
        "response": "resp-b",
        "item": "item-1",
        "dimension": "Empathy",
        "rater": "Robin",
        "slot": "1",
        "kind": "counted",
        "level": "4",
        "confidence": "sure",
        "critical_harm": "false",
        "quotes": '["you are not alone", "she said \\"rest\\", twice"]',
        "note": "",
        "rated_at": "2026-10-03T14:03:00+00:00",
    }


def test_a_rating_without_a_slot_has_an_empty_cell():
    _, line = read(long_file([replace(ROW, slot=None, kind="practice")]))

    assert line[4] == ""


def test_times_are_in_utc():
    berlin = timezone(timedelta(hours=2))
    _, line = read(long_file([replace(ROW, rated_at=datetime(2026, 10, 3, 16, tzinfo=berlin))]))

    assert line[-1] == "2026-10-03T14:00:00+00:00"


def test_lines_end_in_cr_lf_and_there_is_no_byte_order_mark():
    text = long_file([ROW])

    assert text.startswith("response,")
    assert text.count("\r\n") == text.count("\n") == 2


def test_texts_of_any_kind_come_back_as_they_were():
    hard = 'a "b", c\r\nd\ne\u2028 🙂 "" ,'

    _, line = read(long_file([replace(ROW, note=hard)]))

    assert line[-2] == hard


def test_the_order_of_lines_does_not_depend_on_the_order_of_rows():
    rows = [
        replace(ROW, response=response, rater=rater)
        for response in ("resp-b", "resp-a")
        for rater in ("Robin", "Alex")
    ]

    assert long_file(rows) == long_file(rows[::-1])
    assert [line[0] + line[3] for line in read(long_file(rows))[1:]] == [
        "resp-aAlex",
        "resp-aRobin",
        "resp-bAlex",
        "resp-bRobin",
    ]


def test_the_wide_file_has_a_line_for_each_response_and_a_column_for_each_rater():
    rows = [
        ROW,
        replace(ROW, rater="Alex", level=2, slot=2),
        replace(ROW, rater="Kim", response="resp-a", level=5),
    ]

    assert read(wide_file(rows)) == [
        ["response", "item", "dimension", "Alex", "Kim", "Robin"],
        ["resp-a", "item-1", "Empathy", "", "5", ""],
        ["resp-b", "item-1", "Empathy", "2", "", "4"],
    ]
    assert wide_file(rows) == wide_file(rows[::-1])


def test_the_wide_file_holds_counted_ratings_only():
    repeat = replace(ROW, kind="repeat", slot=None, level=1)

    assert wide_file([ROW, repeat]) == wide_file([ROW])


def test_two_counted_ratings_of_a_response_by_one_rater_are_refused():
    with pytest.raises(ValueError, match="Robin has two counted ratings of response resp-b"):
        wide_file([ROW, replace(ROW, slot=2)])


def test_a_rater_called_as_a_column_is_refused():
    with pytest.raises(ValueError, match="A rater is called item"):
        wide_file([replace(ROW, rater="item")])


def test_without_rows_there_is_a_header():
    assert len(read(long_file([]))) == 1
    assert read(wide_file([])) == [["response", "item", "dimension"]]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "  =1", "\n=1", "\u00a0=1", "＝1", "＋1",
     "－1", "＠x", " \u200b＝1", "'=1", "''=1"],
)  # fmt: skip
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(text):
    _, line = read(long_file([replace(ROW, note=text)]))

    assert line[-2] == f"'{text}"


@pytest.mark.parametrize("text", ["", "1", "a=b", "'tis", "(=1)", "é", "−1"])
def test_any_other_text_is_left_as_it_is(text):
    assert guarded(text) == text


def test_each_column_of_text_is_guarded_and_numbers_stay_numbers():
    risky = replace(
        ROW, response="=r", item="=i", dimension="=d", rater="=R", confidence="=c", level=-1
    )

    line = dict(zip(*read(long_file([risky])), strict=True))
    wide = read(wide_file([risky]))

    texts = ("response", "item", "dimension", "rater", "confidence")
    assert all(line[name].startswith("'=") for name in texts)
    assert line["level"] == "-1"
    assert wide == [["response", "item", "dimension", "'=R"], ["'=r", "'=i", "'=d", "-1"]]


@given(st.text() | st.text(alphabet="'=+-@\t\r\n ＝a"))
@example("'")
def test_the_apostrophe_can_be_taken_off_again(text):
    assert unguarded(guarded(text)) == text
