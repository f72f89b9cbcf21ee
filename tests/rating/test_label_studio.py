import json

import numpy as np
import pytest

from rating import label_studio
from rating.label_studio import is_json, read_label_studio
from rating.ratings_file import FileRefused
from rating.report import RatingRow, agreement_report
from rating.stats.agreement import ordinal_alpha

SCALE = (1, 2, 3, 4, 5)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "export.json"


def choice(level, control="warmth"):
    return {"from_name": control, "type": "choices", "value": {"choices": [level]}}


def stars(level, control="warmth"):
    return {"from_name": control, "type": "rating", "value": {"rating": level}}


def annotation(by, *results, **more):
    return {"id": 7, "completed_by": by, "result": list(results), **more}


def task(number, *annotations, **more):
    return {"id": number, "annotations": list(annotations), "data": {"text": "Hello"}, **more}


def read(path, content, words=()):
    scale = range(1, len(words) + 1) if words else SCALE
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_label_studio(path, scale, words)


def faults(path, content, **more):
    with pytest.raises(FileRefused) as refused:
        read(path, content, **more)
    return [fault.replace(str(path), "F") for fault in refused.value.faults]


def test_each_annotator_of_each_task_is_a_rating(path):
    found = read(
        path,
        [
            task(1, annotation(3, stars(4)), annotation(5, stars(5))),
            task(2, annotation({"id": 3, "email": "ada@example.org"}, choice("2"))),
        ],
    )

    assert list(found.rows()) == [
        RatingRow("3", "1", "", 4),
        RatingRow("5", "1", "", 5),
        RatingRow("ada@example.org", "2", "", 2),
    ]


def test_each_control_is_a_dimension_where_there_is_more_than_one(path):
    found = read(path, [task(1, annotation(3, stars(4), choice("5", "honesty")))])

    assert [row.dimension for row in found.rows()] == ["warmth", "honesty"]


def test_levels_10_and_2_stand_in_the_order_of_the_scale(path):
    levels = [("10", "10"), ("2", "3"), ("9", "10"), ("1", "2")]
    tasks = [
        task(number, annotation(1, choice(one)), annotation(2, choice(other)))
        for number, (one, other) in enumerate(levels)
    ]
    path.write_text(json.dumps(tasks))
    rows = list(read_label_studio(path, range(1, 11)).rows())

    report = agreement_report(rows, range(1, 11), seed="1")

    assert report.overall.percent_within_one.value == 1
    assert report.overall.alpha_ordinal.value == pytest.approx(
        ordinal_alpha(np.array(levels, dtype=float).T, range(1, 11))
    )


def test_choices_may_be_words_of_the_scale(path):
    found = read(path, [task(1, annotation(1, choice("medium")))], words=("low", "medium", "high"))

    assert [row.level for row in found.rows()] == [2]


def test_the_item_of_a_task_is_in_its_data(path):
    found = read(
        path,
        [
            task(1, annotation(1, stars(4)), data={"item": "AWR-01"}),
            task(2, annotation(1, stars(4)), data={"item": "AWR-01"}),
        ],
    )

    assert [row.item for row in found.rows()] == ["AWR-01", "AWR-01"]


def test_what_is_passed_over_is_counted(path):
    found = read(
        path,
        [
            task(
                1,
                annotation(1, stars(4), {"type": "textarea", "value": {"text": ["hm"]}}),
                annotation(2, stars(1), was_cancelled=True),
                predictions=[{"result": [stars(1)]}],
            )
        ],
    )

    assert [row.level for row in found.rows()] == [4]
    assert found.notes[1:] == (
        "Annotations that were cancelled, passed over: 1.",
        "Results that hold no level, passed over: 1.",
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "F, line 1, column 1: This is not JSON"),
        ("[1, 2", "F, line 1, column 6: This is not JSON"),
        ("[NaN]", "F cannot be read: NaN is not a JSON number"),
        ("[" * 100_000, "F is nested too deep"),
        ("[" + "9" * 5_000 + "]", "F cannot be read: a number has 5,000 digits"),
        ("{}", "F is not a list of tasks. Choose the format JSON, not JSON-MIN"),
        ("[]", "F has no tasks in it."),
        ("[7]", "F, task 1 of the list: This is not a task"),
        ('[{"annotations": []}]', "F, task 1 of the list: It has no id."),
        ('[{"id": 1, "warmth": "4", "annotator": 1}]', "F, task '1': It has no list of annot"),
        ('[{"id": 1, "annotations": [5]}]', "F, task '1': One of its annotations is not"),
    ],
)
def test_what_is_no_export_is_refused_with_what_is(path, content, told):
    assert faults(path, content)[0].startswith(told)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (stars(6), "'6' is not on the scale. Write 1, 2, 3, 4 or 5"),
        (stars(2.5), "'2.5' is not on the scale"),
        (stars(True), "There is no level in its value."),
        (stars(None), "There is no level in its value."),
        (stars(10**400), "is not on the scale"),
        (stars(1e300), "is not a number"),
        (choice("warm"), "'warm' is not a number"),
        (choice(["4"]), "There is no level in its value."),
        ({**choice("4"), "value": {"choices": ["4", "5"]}}, "There are 2 choices where one is"),
        ({**choice("4"), "value": "4"}, "There is no level in its value."),
        ({**choice("4"), "from_name": None}, "A result does not name its control."),
    ],
)
def test_a_result_without_a_level_of_the_scale_is_told_with_its_place(path, result, told):
    (fault,) = faults(path, [task(12, annotation(3, result))])

    assert fault.startswith("F, task '12', annotation '7'")
    assert told in fault


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ([annotation(1, stars(4)), annotation(1, stars(5))], "Annotator '1' rated it already"),
        ([annotation(1, stars(4), stars(5))], "Annotator '1' rated it already"),
        ([annotation(None, stars(4))], "does not say by whom"),
        ([annotation([], stars(4))], "does not say by whom"),
        ([{"id": 7, "completed_by": 1}], "It has no list of results."),
    ],
)
def test_an_annotation_that_cannot_be_counted_is_told(path, annotations, told):
    assert told in faults(path, [task(1, *annotations)])[0]


def test_a_task_twice_is_told(path):
    told = faults(path, [task(1, annotation(1, stars(4))), task(1, annotation(2, stars(4)))])

    assert told == ["F, task '1': This task is there twice. Keep one."]


def test_an_export_without_a_level_is_refused(path):
    assert "no choice, stars or number" in faults(path, [task(1)])[0]


def test_more_than_twenty_faults_are_counted(path):
    told = faults(path, [task(number, annotation(1, stars(9))) for number in range(30)])

    assert len(told) == 21
    assert told[-1] == "F: 10 more faults like these."


def test_a_hostile_type_is_passed_over(path):
    odd = [{"type": ["choices"]}, {"type": {}}, None, [], "choices"]

    found = read(path, [task(1, annotation(1, stars(4), *odd))])

    assert list(found.rows()) == [RatingRow("1", "1", "", 4)]


def test_a_file_above_the_size_limit(path, monkeypatch):
    monkeypatch.setattr(label_studio, "LARGEST", 10)

    assert "at most 0 are read" in faults(path, [task(1)])[0]


def test_bytes_that_are_not_utf_8(path):
    path.write_bytes(b"[\xff]")

    with pytest.raises(FileRefused, match="Byte 2 is not UTF-8"):
        read_label_studio(path, SCALE)


@pytest.mark.parametrize(
    ("content", "is_one"),
    [(b" \n[1]", True), (b"\xef\xbb\xbf{", True), (b"rater,unit,level\n", False), (b"", False)],
)
def test_json_is_told_by_how_it_begins(path, content, is_one):
    path.write_bytes(content)

    assert is_json(path) is is_one


def test_no_file_is_no_json(path):
    assert not is_json(path)
