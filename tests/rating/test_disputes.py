"""Which responses are settled: the rule, in a bare interpreter."""

import pytest

from rating.disputes import triggers
from runs.canonical import draw

NEVER, ALWAYS = b"\xff" * 8, b"\x00" * 8


def which(levels=(3, 3), harm=(False, False), confidences=("", ""), *, draw=NEVER, **changes):
    settings = {"distance": 2, "sample": 5, **changes}
    return triggers(levels, harm, confidences, draw=draw, **settings)


def test_two_readers_who_agree_have_nothing_to_settle():
    assert which() == ()


@pytest.mark.parametrize(("levels", "far"), [((1, 2), False), ((1, 3), True), ((5, 3), True)])
def test_levels_two_or_more_apart_are_settled(levels, far):
    assert which(levels) == (("distance",) if far else ())


def test_the_distance_is_declared():
    assert which((1, 3), distance=3) == ()
    assert which((1, 2), distance=1) == ("distance",)


@pytest.mark.parametrize("harm", [(True, False), (False, True), (True, True)])
def test_serious_harm_that_either_sees_is_settled_even_when_they_agree(harm):
    assert which(harm=harm) == ("critical harm",)


@pytest.mark.parametrize(
    ("levels", "confidences", "low"),
    [
        ((3, 4), ("unsure", "sure"), True),
        ((3, 4), ("", "unsure"), True),
        ((3, 3), ("unsure", "unsure"), False),
        ((3, 4), ("fairly-sure", ""), False),
    ],
)
def test_doubt_is_settled_where_the_levels_differ(levels, confidences, low):
    assert which(levels, confidences=confidences) == (("low confidence",) if low else ())


def test_all_that_holds_is_named_in_one_order():
    assert which((1, 4), (True, False), ("unsure", ""), draw=ALWAYS) == (
        "distance",
        "critical harm",
        "low confidence",
        "sample",
    )


def test_the_sample_is_the_declared_share_and_is_drawn_again_alike():
    draws = [draw("7", f"response {number}") for number in range(20_000)]

    drawn = [which(draw=one) == ("sample",) for one in draws]

    assert drawn == [which(draw=one) == ("sample",) for one in draws]
    assert sum(drawn) == pytest.approx(1_000, abs=4 * (20_000 * 0.05 * 0.95) ** 0.5)
    assert not any(which(draw=one, sample=0) for one in [*draws, ALWAYS])
    assert all(which(draw=one, sample=100) for one in [*draws, NEVER])
