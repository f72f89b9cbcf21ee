"""Who judges what: two of other families, drawn from a seed, with equal loads."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rating.judges.families import Maker, kept_apart
from rating.judges.panel import (
    PanelRefused,
    Place,
    deal,
    deal_to_themselves,
    faults_of,
    left_for,
)

JUDGES = {f"judge-{letter}": Maker(f"model-{letter}", f"Family {letter}") for letter in "abcd"}


def places(subjects, items: int, trials: int) -> list[Place]:
    return [
        Place(f"{subject}/{item}/{trial}", subject, f"item-{item}")
        for subject in subjects
        for item in range(items)
        for trial in range(trials)
    ]


@st.composite
def panels(draw):
    """Judges and subjects of a few families, so that some judges may not serve some subjects."""
    families = st.sampled_from(["One", "Two", "Three", "Four", "Five", "Six"])
    judges = {
        f"judge-{number}": Maker(f"judging-{number}", draw(families))
        for number in range(draw(st.integers(2, 7)))
    }
    subjects = {
        f"subject-{number}": Maker(f"subject-{number}", draw(families))
        for number in range(draw(st.integers(1, 4)))
    }
    each = draw(st.integers(1, 2))
    able = all(
        sum(not kept_apart(judge, subject) for judge in judges.values()) >= each
        for subject in subjects.values()
    )
    return judges, subjects, each, able


@settings(max_examples=60)
@given(panels(), st.integers(1, 5), st.integers(1, 4), st.integers(0, 9))
def test_whoever_may_serve_is_given_an_equal_share_of_each_subject(panel, items, trials, seed):
    judges, subjects, each, able = panel
    todo = places(subjects, items, trials)
    if not able:
        with pytest.raises(PanelRefused):
            deal(todo, judges, subjects, each=each, seed=str(seed))
        return

    dealt = deal(todo, judges, subjects, each=each, seed=str(seed))

    assert faults_of(dealt.judges, todo, judges, subjects, each=each) == []
    assert all(load.spread <= 1 for load in dealt.loads)
    assert sum(dealt.overall.values()) == each * len(todo)
    for subject in subjects:
        for item in {place.item for place in todo}:
            own = [p.key for p in todo if (p.subject, p.item) == (subject, item)]
            uses = Counter(name for key in own for name in dealt.judges[key])
            serving = next(load for load in dealt.loads if load.subject == subject).given
            assert max(uses[name] for name in serving) - min(uses[name] for name in serving) <= 1


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_responses_decides_nothing(random):
    subjects = {"s": Maker("s", "Other")}
    todo = places(subjects, 4, 3)
    shuffled = random.sample(todo, len(todo))

    assert deal(todo, JUDGES, subjects, each=2, seed="7") == deal(
        shuffled, JUDGES, subjects, each=2, seed="7"
    )


def test_another_seed_deals_otherwise():
    subjects = {"s": Maker("s", "Other")}
    todo = places(subjects, 10, 3)

    one, other = (deal(todo, JUDGES, subjects, each=2, seed=seed).judges for seed in "12")

    assert one != other


@pytest.mark.parametrize(
    ("judge", "subject", "why"),
    [
        (Maker("a", "Kind"), Maker("b", " KIND "), "is of the family"),
        (Maker("a", "Kind-2"), Maker("b", "kind 2"), "is of the family"),
        (Maker("a", "Kind"), Maker("a", "Else"), "itself"),
        (Maker("a", "Kind", "sha256:1"), Maker("b", "Else", "sha256:1"), "itself"),
        (Maker("a", "unknown"), Maker("b", "Else"), "The family of a is not known"),
        (Maker("a", " "), Maker("b", "Else"), "The family of a is not known"),
        (Maker("a", "N/A"), Maker("b", "Else"), "The family of a is not known"),
        (Maker("a", "Kind"), Maker("b", "None stated"), "The family of the subject b is not known"),
    ],
)
def test_no_model_judges_its_own_and_what_is_not_known_counts_as_its_own(judge, subject, why):
    assert why in kept_apart(judge, subject)


def test_two_models_of_other_families_are_not_kept_apart():
    assert kept_apart(Maker("a", "Kind", "sha256:1"), Maker("b", "Else", "sha256:2")) == ""


def test_a_panel_that_is_too_small_is_refused_and_every_judge_named():
    judges = {"judge-a": Maker("a", "Kind"), "judge-b": Maker("b", "unknown")}

    with pytest.raises(PanelRefused) as refusal:
        deal(places(["s"], 1, 1), judges, {"s": Maker("s", "kind")}, each=1, seed="7")

    assert refusal.value.faults == (
        "s needs 1 judges of other families, and has 0.",
        "judge-a: a is of the family of the subject s: kind.",
        "judge-b: The family of b is not known, so it could be any subject's own.",
    )


def test_where_families_leave_one_subject_fewer_judges_the_loads_say_who_is_kept_out_and_why():
    judges = JUDGES
    subjects = {"s": Maker("s", "Family a"), "t": Maker("t", "Else")}

    dealt = deal(places(subjects, 6, 1), judges, subjects, each=2, seed="7")

    of_s, of_t = dealt.loads
    assert set(of_s.given) == {"judge-b", "judge-c", "judge-d"}
    assert set(of_s.given.values()) == {4}
    assert list(of_s.kept_out) == ["judge-a"]
    assert (set(of_t.given), of_t.kept_out) == (set(JUDGES), {})
    assert dealt.overall["judge-a"] == 3


def test_the_check_finds_what_is_wrong_without_asking_how_it_was_dealt():
    subjects = {"s": Maker("s", "Family a")}
    todo = places(subjects, 4, 1)
    first, second, third, fourth = (place.key for place in todo)
    dealt = {
        first: ("judge-a", "judge-b"),
        second: ("judge-b", "judge-b"),
        third: ("judge-b", "judge-c"),
        fourth: ("judge-b", "judge-c"),
        "other": ("judge-b", "judge-c"),
    }

    said = "\n".join(faults_of(dealt, todo, JUDGES, subjects, each=2))

    assert f"{first} is given to judge-a, and may not be" in said
    assert f"{second} has 1 judges, and needs 2" in said
    assert "judge-d judges 0 responses of s, where an equal share is" in said
    assert "1 responses are given out that are not to be judged" in said


def test_in_configuration_self_each_is_given_its_own():
    subjects = {"model-a": Maker("model-a", "Family a"), "model-b": Maker("model-b", "Family b")}
    todo = places(subjects, 2, 1)

    dealt = deal_to_themselves(todo, JUDGES, subjects)

    assert {dealt.judges[place.key] for place in todo if place.subject == "model-b"} == {
        ("judge-b",)
    }
    with pytest.raises(PanelRefused, match="add --judge model-z"):
        deal_to_themselves(places(["z"], 1, 1), JUDGES, {"z": Maker("model-z", "Z")})


def test_what_a_judge_leaves_goes_to_the_one_that_is_left_or_to_nobody():
    subject = Maker("s", "Family d")

    assert left_for(JUDGES, subject, excluded=["judge-a"], taken=["judge-b"]) == ("judge-c", "")
    name, why = left_for(JUDGES, subject, excluded=["judge-a", "judge-c"], taken=["judge-b"])
    assert (name, why) == ("", "No other judge of the panel may judge it.")
    name, why = left_for(JUDGES, subject, excluded=["judge-a"], taken=[])
    assert name == ""
    assert why.startswith("2 judges could take it (judge-b, judge-c)")
