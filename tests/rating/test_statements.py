"""What may be said of subjects: points only of those that differ from every other."""

import dataclasses
import json

import numpy as np
import pytest

from rating.stats.resampling import Panel
from rating.stats.scores import ORDER, Asked, ItemTable, Place, scores_of
from rating.stats.separation import separate
from rating.stats.statements import Alone, GroupOf, Member, statements
from rating.stats.student import Range

PLACES = [Place(f"{code}-{number}", code, "") for code in ORDER for number in range(6)]
LOW, HIGH, MIDDLE = 1.4, 4.3, 2.7


def study(*levels, names="CBAD", failed=None, seed=3):
    """Subjects at these levels, with some chance by item, and what may be said of them."""
    chance = np.random.default_rng(seed)
    means = np.array(levels)[:, None] + chance.normal(0, 0.12, (len(levels), len(PLACES)))
    table = ItemTable(means, means * 0, np.full(means.shape, 6))
    names = tuple(names[: len(levels)])
    asked = [Asked(144, failed=(failed or {}).get(name, 0)) for name in names]
    scores = scores_of(names, PLACES, table, asked)
    kept = [place for place, score in enumerate(scores) if score.composite is not None]
    panel = Panel(
        tuple(names[place] for place in kept),
        tuple(place.dimension for place in PLACES),
        means[kept],
    )
    found = separate(panel, seed="1", replicates=400) if kept else None
    return scores, statements(scores, found)


def test_a_subject_that_differs_from_all_has_its_point_and_the_others_have_ranges():
    scores, said = study(LOW, MIDDLE, MIDDLE)

    (alone,) = said.alone
    assert (alone.subject, alone.composite) == ("C", scores[0].composite)
    assert alone.dimensions.keys() == set(ORDER)
    (group,) = said.groups
    assert [member.subject for member in group.members] == ["A", "B"]
    assert "not the same as equal" in group.sentence


def test_no_type_of_a_group_has_room_for_a_point():
    """A member holds its name, its label and ranges; a range holds two ends."""
    assert [field.name for field in dataclasses.fields(Member)] == ["subject", "label", "ranges"]
    assert [field.name for field in dataclasses.fields(GroupOf)] == ["members", "sentence"]
    assert [field.name for field in dataclasses.fields(Range)] == ["low", "high"]


def test_no_point_of_a_member_can_be_read_or_rebuilt_from_what_is_said():
    scores, said = study(LOW, MIDDLE, MIDDLE)

    members = {member.subject for group in said.groups for member in group.members}
    for pair in said.pairs:
        assert (pair.difference is None) == bool({pair.a, pair.b} & members)
    printed = json.dumps(dataclasses.asdict(said))
    for score in scores:
        if score.subject not in members:
            continue
        assert f'"composite": {score.composite}' not in printed


def test_pairs_are_alphabetical_and_a_turned_one_has_its_range_mirrored():
    _, said = study(LOW, HIGH)

    pair = next(pair for pair in said.pairs if pair.of == "composite")

    assert (pair.a, pair.b) == ("B", "C")
    assert pair.separated_corrected
    assert pair.difference == pytest.approx(said.alone[0].composite - said.alone[1].composite)
    assert pair.range.low <= pair.difference <= pair.range.high


def test_every_subject_inseparable_leaves_no_point_at_all():
    _, said = study(MIDDLE, MIDDLE, MIDDLE, MIDDLE)

    assert said.alone == ()
    assert [len(group.members) for group in said.groups] == [4]
    assert {pair.difference for pair in said.pairs} == {None}


def test_one_subject_is_said_alone():
    _, said = study(MIDDLE)

    assert isinstance(said.alone[0], Alone)
    assert said.pairs == said.groups == ()


def test_a_subject_above_a_tenth_of_failures_is_named_with_the_reason_and_not_compared():
    _, said = study(LOW, MIDDLE, HIGH, failed={"B": 15})

    assert [(one.subject, one.reason[:17]) for one in said.withheld] == [("B", "15 of 144 replies")]
    assert {name for pair in said.pairs for name in (pair.a, pair.b)} == {"A", "C"}


def test_with_no_composite_there_is_nothing_but_the_reasons():
    _, said = study(LOW, HIGH, failed={"B": 100, "C": 100})

    assert [one.subject for one in said.withheld] == ["B", "C"]
    assert said.alone == said.groups == said.pairs == ()


def test_a_subject_with_a_composite_is_never_left_out_of_the_comparison():
    scores, _ = study(LOW, HIGH)

    with pytest.raises(ValueError, match="see B, C"):
        statements(scores, None)
