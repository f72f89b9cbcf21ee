"""A draft written back as the file it may have come from."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.plan_text import as_toml
from tests.runs.test_drafts import WHOLE

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    TEXTS | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_whatever_is_written_reads_back_as_the_same(tables):
    assert tomllib.loads(as_toml(tables)) == tables


def test_a_plan_is_written_as_a_person_would_write_it():
    written = as_toml(tomllib.loads(WHOLE))

    assert written.startswith('code = "demo"\n')
    assert "\n[[subjects]]\n" in written
    assert "\n[[subjects.conditions]]\n" in written
    assert "\n[declared]\n" in written


def test_lines_of_a_text_are_kept_as_lines():
    assert as_toml({"a": 'One "two"\nthree\\'}) == 'a = """One \\"two\\"\nthree\\\\"""\n'


@pytest.mark.parametrize("wrong", [{"a": None}, {"a": [None]}, {1: "a"}])
def test_what_toml_does_not_know_is_refused(wrong):
    with pytest.raises(ValueError, match="of TOML"):
        as_toml(wrong)
