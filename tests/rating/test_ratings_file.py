import csv
from pathlib import Path

import pytest

from rating import ratings_file
from rating.ratings_file import FileRefused, parse_scale, read_ratings
from rating.report import RatingRow, agreement_report, as_json

SCALE = (1, 2, 3, 4, 5)
GOOD = "rater,unit,dimension,level\nAda,u1,warmth,4\nBen,u1,warmth,5\nAda,u2,warmth,1\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ratings.csv"


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_ratings(path, SCALE)


def faults(path, content):
    with pytest.raises(FileRefused) as refused:
        read(path, content)
    return [fault.replace(str(path), "F") for fault in refused.value.faults]


def test_a_plain_file_is_read_in_its_order(path):
    found = read(path, GOOD)

    assert list(found.rows()) == [
        RatingRow("Ada", "u1", "warmth", 4),
        RatingRow("Ben", "u1", "warmth", 5),
        RatingRow("Ada", "u2", "warmth", 1),
    ]
    assert found.notes == ()


def test_a_file_without_a_dimension_has_none(path):
    found = read(path, "rater,unit,level\nAda,u1,4\n")

    assert list(found.rows()) == [RatingRow("Ada", "u1", "", 4)]


def test_columns_may_stand_in_any_order(path):
    found = read(path, "level,dimension,unit,rater\n4,warmth,u1,Ada\n")

    assert list(found.rows()) == [RatingRow("Ada", "u1", "warmth", 4)]


def test_a_level_may_be_written_with_decimals(path):
    found = read(path, "rater,unit,level\nAda,u1,4.0\nAda,u2, 5 \n")

    assert [row.level for row in found.rows()] == [4, 5]


def test_quotes_may_hold_commas_quotes_and_line_breaks(path):
    found = read(
        path,
        'rater,unit,level,quote\nAda,u1,4,"one, ""two""\n\nthree"\nBen,u1,5,four\n',
    )

    assert [row.rater for row in found.rows()] == ["Ada", "Ben"]
    assert found.notes == ()


def test_lines_are_counted_through_quoted_line_breaks(path):
    told = faults(path, 'rater,unit,level,quote\nAda,u1,4,"one\n\ntwo"\nBen,u1,six,four\n')

    assert told[0].startswith("F, line 5, column level:")


def test_a_blank_level_is_not_rated_and_counted(path):
    found = read(path, "rater,unit,level\nAda,u1,4\nBen,u1,\nCem,u1,  \n")

    assert list(found.rows()) == [RatingRow("Ada", "u1", "", 4)]
    assert found.n_not_rated == 2
    assert found.notes == ("Rows without a level, counted as not rated: 2.",)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda text: b"\xef\xbb\xbf" + text, "byte order mark"),
        (lambda text: text.replace(b"\n", b"\r\n"), "CR LF"),
        (lambda text: text.replace(b"\n", b"\n\n"), "Blank lines passed over: 4"),
        (lambda text: text.rstrip(b"\n"), ""),
    ],
)
def test_other_ways_to_write_the_same_file_give_the_same_figures_and_are_noted(path, change, note):
    plain = agreement_report(read(path, GOOD).rows(), SCALE, seed="1")

    found = read(path, change(GOOD.encode()))

    assert as_json(agreement_report(found.rows(), SCALE, seed="1")) == as_json(plain)
    assert note in " ".join(found.notes)
    assert len(found.notes) == bool(note)


def test_columns_that_are_not_used_are_noted(path):
    found = read(path, "rater,unit,level,age,\nAda,u1,4,30,\n")

    assert found.notes == ("Columns not used: 'age', ''.",)


# What is refused


def test_no_file(path):
    with pytest.raises(FileRefused, match=f"There is no file {path}"):
        read_ratings(path, SCALE)


def test_a_folder(tmp_path):
    with pytest.raises(FileRefused, match="is not a file"):
        read_ratings(tmp_path, SCALE)


def test_a_file_that_may_not_be_read(path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    path.write_text(GOOD)
    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(FileRefused, match="cannot be read: Permission denied"):
        read_ratings(path, SCALE)


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file(path, content):
    assert faults(path, content) == ["F is empty. Its first line names the columns."]


def test_a_header_alone(path):
    assert faults(path, "rater,unit,level\n\n") == ["F has a header but no ratings below it."]


def test_a_missing_column(path):
    assert faults(path, "Rater,unit\nAda,u1\n") == [
        "F, line 1: There is no column rater, only 'Rater', 'unit'. "
        "Name one so, in lower case, and part columns by commas.",
        "F, line 1: There is no column level, only 'Rater', 'unit'. "
        "Name one so, in lower case, and part columns by commas.",
    ]


def test_columns_parted_by_something_else(path):
    assert "part columns by commas" in faults(path, "rater;unit;level\nAda;u1;4\n")[0]


def test_a_column_twice(path):
    assert faults(path, "rater,unit,level,level\nAda,u1,4,5\n") == [
        "F, line 1, column 'level': This column is there twice. Keep one."
    ]


@pytest.mark.parametrize(
    "level", ["six", "nan", "inf", "1e0", "4_0", "+4", "0x4", "٤", "4,5", "1/2", "NA", "-"]
)
def test_a_level_that_is_not_a_number(path, level):
    assert faults(path, f'rater,unit,level\nAda,u1,"{level}"\n') == [
        f"F, line 2, column level: '{level}' is not a number. "
        f"Write 1, 2, 3, 4 or 5, or leave it blank for not rated."
    ]


@pytest.mark.parametrize("level", ["0", "6", "-1", "2.5", "9" * 30])
def test_a_level_off_the_scale(path, level):
    assert faults(path, f"rater,unit,level\nAda,u1,{level}\n") == [
        f"F, line 2, column level: '{level}' is not on the scale. "
        f"Write 1, 2, 3, 4 or 5, or leave it blank for not rated."
    ]


@pytest.mark.parametrize("column", ["rater", "unit", "dimension"])
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_name(path, column, blank):
    row = {"rater": "Ada", "unit": "u1", "dimension": "warmth", column: blank}

    told = faults(path, "rater,unit,dimension,level\n" + ",".join(row.values()) + ",4\n")

    assert told == [f"F, line 2, column {column}: This is blank. Every row needs it."]


def test_a_name_with_a_space_at_its_end(path):
    # "Ada " would otherwise count as another person than "Ada".
    assert faults(path, "rater,unit,level\nAda ,u1,4\n") == [
        "F, line 2, column rater: 'Ada ' begins or ends with a space. Take it out."
    ]


def test_a_rater_twice_in_a_unit(path):
    assert faults(path, GOOD + "Ben,u1,warmth,5\n") == [
        "F, line 5: Rater 'Ben' has unit 'u1' in dimension 'warmth' on line 3 already. "
        "Keep one of the two."
    ]


def test_a_rater_twice_in_a_unit_once_without_a_level(path):
    assert faults(path, "rater,unit,level\nAda,u1,4\nAda,u1,\n") == [
        "F, line 3: Rater 'Ada' has unit 'u1' on line 2 already. Keep one of the two."
    ]


@pytest.mark.parametrize(("row", "n_fields"), [("Ada,u1", 2), ("Ada,u1,4,5", 4), ("   ,", 2)])
def test_a_row_with_too_many_or_too_few_fields(path, row, n_fields):
    assert faults(path, f"rater,unit,level\n{row}\n") == [
        f"F, line 2: There are {n_fields} fields where the header has 3. "
        f"Put a field that holds a comma in double quotes."
    ]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (GOOD.encode() + "Zoë,u1,warmth,4\n".encode("latin-1"), "line 5: Byte 3 (0xeb)"),
        (GOOD.encode("utf-16"), "line 1: Byte 1 (0xff)"),
        (b"rater,unit,level\nAda,u1,\xff\n", "line 2: Byte 8 (0xff)"),
    ],
)
def test_bytes_that_are_not_utf_8(path, content, place):
    assert faults(path, content) == [f"F, {place} is not UTF-8. Save the file as CSV UTF-8."]


def test_a_nul_byte(path):
    assert faults(path, "rater,unit,level\nAda\0,u1,4\nBen,u1,4\n") == [
        "F, line 2: A NUL byte stands in this line. Save the file as CSV UTF-8."
    ]


def test_a_quoted_field_that_never_ends(path):
    told = faults(path, 'rater,unit,level,quote\nAda,u1,4,"and then\nBen,u1,4,fine\n')

    assert told == [
        "F, line 2: A quoted field begins here and never ends. Close it with a double quote."
    ]


def test_a_quoted_field_that_goes_on_after_its_end(path):
    told = faults(path, 'rater,unit,level,quote\nAda,u1,4,"so" she said\n')

    assert told[0].startswith("F, line 2: A quoted field goes on after its closing quote.")


def test_lines_that_end_in_cr_alone(path):
    told = faults(path, GOOD.replace("\n", "\r"))

    assert told == [
        "F, line 1: A line ends in CR alone. Save the file with LF or CR LF at line ends."
    ]


def test_a_field_of_more_than_131072_characters(path):
    told = faults(path, f"rater,unit,level,quote\nAda,u1,4,{'a' * 131_073}\n")

    assert told == ["F, line 2: A field is longer than 131,072 characters. Reading stopped here."]
    assert csv.field_size_limit() == 131_072


def test_a_line_without_end(path):
    told = faults(path, "rater,unit,level\n" + "a," * 600_000)

    assert told == ["F, line 2: This line is longer than 1 MB."]


def test_a_file_above_the_size_limit(path, monkeypatch):
    monkeypatch.setattr(ratings_file, "LARGEST", 2 * 1024 * 1024)
    path.write_bytes(GOOD.encode() + b"\n" * 3 * 1024 * 1024)

    with pytest.raises(FileRefused, match="has 3 MB; at most 2 are read"):
        read_ratings(path, SCALE)


def test_a_file_of_a_hundred_megabytes_is_the_limit():
    assert ratings_file.LARGEST == 100 * 1024 * 1024


def test_up_to_twenty_faults_are_told_at_once_in_the_order_of_lines(path):
    told = faults(path, GOOD + "Ada,u1,warmth,4\n" + ",u3,warmth,six\n" * 2)

    assert [fault.split(":")[0] for fault in told] == [
        "F, line 5",
        "F, line 6, column rater",
        "F, line 6, column level",
        "F, line 7, column rater",
        "F, line 7, column level",
    ]


def test_more_than_twenty_faults_are_counted(path):
    told = faults(path, "rater,unit,level\n" + "".join(f"Ada,u{n},9\n" for n in range(50)))

    assert len(told) == 21
    assert told[-1] == "F: 30 more faults like these."


def test_a_long_value_is_shown_short(path):
    told = faults(path, f"rater,unit,level\nAda,u1,{'9' * 5000}x\n")

    assert len(told[0]) < 200


# The scale


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1-5", (1, 2, 3, 4, 5)),
        ("0-5", (0, 1, 2, 3, 4, 5)),
        ("-2-2", (-2, -1, 0, 1, 2)),
        ("1,1.5,2", (1, 1.5, 2)),
        ("1, 2, 3", (1, 2, 3)),
    ],
)
def test_a_scale_is_a_range_or_a_list(text, levels):
    assert parse_scale(text) == levels


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "neither LOW-HIGH"),
        ("five", "neither LOW-HIGH"),
        ("1-5.5", "neither LOW-HIGH"),
        ("1,,2", "neither LOW-HIGH"),
        ("1,nan", "neither LOW-HIGH"),
        ("5-1", "has 0 levels"),
        ("1-1", "has 1 levels"),
        ("1-999999999", "has 999,999,999 levels"),
        ("3", "has 1"),
        ("2,1", "lowest first"),
        ("1,1,2", "each level once"),
    ],
)
def test_other_scales_are_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        parse_scale(text)
