"""An answer is as asked for in every part, or not used; and the reason has a name."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.judges.answers import FAULTS, NotTaken, read_answer
from rating.judges.prompt import Sent

ASKED = Sent((), "r-0123456789", ((1, "Critical"), (2, "Not yet  kind"), (3, "Kind")), "The reply.")
RIGHT = {
    "response_id": "r-0123456789",
    "level": 3,
    "anchor_label": "Kind",
    "quote": "I am here",
    "reason": "It stays with her.",
}


def fault(text: str, finish: str = "stop") -> str:
    with pytest.raises(NotTaken) as why:
        read_answer(text, finish, ASKED)
    assert why.value.fault == str(why.value)
    return why.value.kind


def written(**changes) -> str:
    return json.dumps(RIGHT | changes)


def without(key: str) -> str:
    return json.dumps({name: value for name, value in RIGHT.items() if name != key})


def test_an_answer_as_asked_for_is_taken_whole():
    answer = read_answer(f"\n {written()} \n", "stop", ASKED)

    assert (answer.level, answer.label, answer.quote) == (3, "Kind", "I am here")
    assert answer.reason == "It stays with her."
    assert answer.given == RIGHT


@pytest.mark.parametrize("label", ["kind", " KIND ", "Kind\t"])
def test_case_and_space_of_the_label_do_not_matter(label):
    assert read_answer(written(anchor_label=label), "stop", ASKED).level == 3


def test_a_run_of_space_in_it_counts_as_one():
    text = written(level=2, anchor_label="not  YET kind")

    assert read_answer(text, "stop", ASKED).level == 2


@pytest.mark.parametrize("label", ["Not kind", "3 Kind", "Kind.", "Kin", "Critical", "", None, 3])
def test_a_label_that_holds_the_right_one_is_not_the_right_one(label):
    assert fault(written(anchor_label=label)) == "wrong-label"


@pytest.mark.parametrize("key", RIGHT)
def test_every_key_is_needed(key):
    assert fault(without(key)) == "missing-key"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (written(confidence=1), "unknown-key"),
        (written()[:-1] + ', "level": 2}', "duplicate-key"),
        (written(quote={"a": 1})[:-1] + ', "quote": "x"}', "duplicate-key"),
        (written(response_id="r-9999999999"), "wrong-id"),
        (written(response_id=None), "wrong-id"),
        (written(level="3"), "level-not-whole"),
        (written(level=3.0), "level-not-whole"),
        (written(level=True), "level-not-whole"),
        (written(level=None), "level-not-whole"),
        (written(level=[3]), "level-not-whole"),
        (written(level=4), "level-outside"),
        (written(level=0), "level-outside"),
        (written(level=-1), "level-outside"),
        (written(level=10**30), "level-outside"),
        (written(quote=""), "no-quote"),
        (written(quote=" \n"), "no-quote"),
        (written(quote=["I am here"]), "no-quote"),
        (written(quote="x" * 20_001), "quote-too-long"),
        (written(reason=""), "no-reason"),
        (written(reason=7), "no-reason"),
        (written(reason="One.\nTwo."), "reason-too-long"),
        (written(reason="One.\u2028Two."), "reason-too-long"),
        (written(reason="x" * 501), "reason-too-long"),
        (f"```json\n{written()}\n```", "fenced"),
        (f"Here it is: {written()}", "text-before"),
        (f"\ufeff{written()}", "text-before"),
        (f"{written()}\nI hope this helps.", "text-after"),
        (f"{written()}{written()}", "text-after"),
        (f"[{written()}]", "list"),
        (f"[{written()}, {written()}]", "list"),
        (written(quote="one\ntwo").replace("\\n", "\n"), "raw-control"),
        (written(quote="one\ttwo").replace("\\t", "\t"), "raw-control"),
        (written(quote="\ud800"), "not-text"),
        (written(quote="a\x00b"), "not-text"),
        (
            written(level=7).replace("7", "NaN").replace("r-0123456NaN89", "r-0123456789"),
            "not-json",
        ),
        (written()[:-10], "not-json"),
        (written().replace('"', "'"), "not-json"),
        ('{"level": ' + "9" * 5000 + "}", "not-json"),
        ('{"a":' * 100_000, "too-long"),
        ('{"a":' * 19_000, "not-json"),
        ("x" * 100_001, "too-long"),
        ("I cannot judge this.", "refused"),
        ("3", "refused"),
        ("", "refused"),
    ],
)
def test_anything_else_is_refused_by_name(text, kind):
    assert fault(text) == kind


def test_what_was_cut_off_is_not_used_even_where_it_reads_well():
    assert fault(written(), "length") == "truncated"


def test_a_fault_shows_what_it_is_about_and_no_more_of_it_than_fits_a_line():
    with pytest.raises(NotTaken) as why:
        read_answer(written(anchor_label="a\nb" + "x" * 500), "stop", ASKED)

    assert "a b" in why.value.fault
    assert len(why.value.fault) < 200


def came_of(text: str):
    """The answer, or the name of its fault."""
    try:
        return read_answer(text, "stop", ASKED)
    except NotTaken as why:
        return why.kind


@settings(max_examples=50)
@given(st.text(max_size=100))
def test_whatever_a_judge_writes_is_refused_by_a_known_name(text):
    assert came_of(text) in FAULTS


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from([*RIGHT, "other"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    )
)
def test_no_object_is_repaired(changes):
    came = came_of(json.dumps(RIGHT | changes))

    assert came in FAULTS if isinstance(came, str) else came.given == RIGHT | changes
