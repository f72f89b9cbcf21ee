"""What else could explain a difference, measured on waves where the truth is known."""

import re
from dataclasses import replace

import pytest

from rating.publishing.confounded import ledger_of
from rating.stats.confounds import State, signed
from tests.rating.publishing.made import index_data, report, run_of


def entry(data, code):
    return next(one for one in ledger_of(data).entries if one.code == code)


def figures(sentence):
    return [float(number) for number in re.findall(r"[+-]\d\.\d\d|\b0\.00", sentence)]


def with_replies(data, change):
    return replace(data, replies=tuple(change(reply) for reply in data.replies))


def test_raters_who_read_one_model_late_have_not_drifted():
    """The second model is two levels lower and was read later: that is no change of a rater."""
    data = index_data({"a": 4.2, "b": 2.2}, items=3)
    late = {one.code for one in data.replies if one.subject == "b"}
    ratings = tuple(
        replace(
            one, rated_at=f"2026-03-{5 + place % 3 + 8 * (one.response in late):02}T10:00:00+00:00"
        )
        for place, one in enumerate(data.ratings)
    )
    data = replace(data, ratings=ratings)

    assert abs(figures(entry(data, "drift").sentence)[0]) < 0.3


def test_raters_who_grow_milder_have_drifted():
    data = index_data({"a": 3.0, "b": 3.0}, items=5)
    ratings = tuple(
        replace(one, level=min(5, one.level + 1)) if one.rated_at > "2026-03-10" else one
        for one in data.ratings
    )

    found = entry(replace(data, ratings=ratings), "drift")

    assert found.state is State.DISCLOSED
    assert figures(found.sentence)[0] > 0.8


def test_a_model_that_writes_more_moves_the_slope_over_all_and_not_the_one_within_it():
    """Both write at random, one twice as much, and its levels are higher by two."""
    data = index_data({"a": 4.5, "b": 2.5}, items=5)
    data = with_replies(
        data, lambda one: replace(one, words=one.words * (2 if one.subject == "a" else 1))
    )

    pooled, within = re.split(r"(?<=items\)\. )", entry(data, "length").sentence)

    assert pooled.startswith("Among all replies to an item")
    assert within.startswith("Among replies of one model to an item")
    assert figures(pooled)[0] > 0.8
    assert abs(figures(within)[0]) < 0.4


def test_both_slopes_of_length_stand_in_the_caption_of_a_difference():
    caption = report(index_data({"a": 4.5, "b": 2.5}, items=3))["results"]["caption"]

    assert "Among all replies to an item: " in caption
    assert "Among replies of one model to an item: " in caption


def named(data, moved):
    """Every third trial of the first model names its maker, and is rated so much higher."""
    data = with_replies(
        data, lambda one: replace(one, naming=int(one.subject == "a" and one.trial == 3))
    )
    flagged = {one.code for one in data.replies if one.naming}
    ratings = tuple(
        replace(one, level=min(5, one.level + moved)) if one.response in flagged else one
        for one in data.ratings
    )
    return replace(data, ratings=ratings, self_naming=len(flagged))


def test_what_naming_the_maker_does_is_measured_with_those_replies_and_without():
    moved = entry(named(index_data({"a": 3.0, "b": 3.0}), 2), "self-naming")

    assert moved.state is State.DISCLOSED
    assert moved.sentence.startswith("40 replies name their maker. Levels of a with them")
    assert 0.4 < figures(moved.sentence)[0] < 0.8
    assert "Levels of b" not in moved.sentence


def test_names_that_move_nothing_are_resolved_with_the_figure():
    data = named(index_data({"a": 3.0, "b": 3.0}, spread=0.2), 0)

    found = entry(data, "self-naming")

    assert found.state is State.RESOLVED
    assert abs(figures(found.sentence)[0]) < 0.1


def test_with_one_trial_nothing_is_left_to_hold_a_name_against():
    data = index_data({"a": 3.0}, trials=1)
    data = with_replies(data, lambda one: replace(one, naming=int(one.position == 0)))

    found = entry(replace(data, self_naming=1), "self-naming")

    assert found.state is State.DISCLOSED
    assert found.sentence.startswith("1 reply names its maker. What they do to the levels of a")


def test_names_under_another_condition_are_disclosed_and_not_measured():
    runs = [run_of("a"), run_of("a", condition="brief")]
    data = with_replies(
        index_data({"a": 3.0}, runs=runs),
        lambda one: replace(one, naming=int(one.condition == "brief")),
    )

    found = entry(replace(data, self_naming=120), "self-naming")

    assert found.state is State.DISCLOSED
    assert "None of them is among the ratings that are compared." in found.sentence


def test_without_a_name_it_is_resolved():
    assert entry(index_data({"a": 3.0}, self_naming=0), "self-naming").state is State.RESOLVED


@pytest.mark.parametrize(("value", "said"), [(-0.001, "0.00"), (0.25, "+0.25"), (-1.0, "-1.00")])
def test_nothing_has_no_sign(value, said):
    assert signed(value) == said
