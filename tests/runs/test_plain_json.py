"""JSON is read to the depth that is said, and no further."""

import pytest

from runs.plain_json import DEEPEST, is_too_deep, read_plain


def inside_each_other(many: int) -> bytes:
    return b"[" * many + b"]" * many


def test_as_many_lists_as_are_said_may_stand_inside_each_other():
    assert read_plain(inside_each_other(DEEPEST))

    with pytest.raises(ValueError, match="at most 64"):
        read_plain(inside_each_other(DEEPEST + 1))


@pytest.mark.parametrize(("many", "deep"), [(1, False), (3, False), (4, True)])
def test_any_depth_can_be_asked_about(many, deep):
    value: object = 1
    for _ in range(many):
        value = {"in": value}

    assert is_too_deep(value, 3) is deep
